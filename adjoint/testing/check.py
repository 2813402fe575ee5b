"""`check_operator`: all that the suite of this package asks of an op, for one op."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.codegen.emit import KernelText, lower
from adjoint.codegen.toolchain import Toolchain
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.build import Builder
from adjoint.ir.core import Node, Value
from adjoint.ir.interpret import Interpreter
from adjoint.ir.op import Op
from adjoint.ir.ops.arithmetic import Add, Neg
from adjoint.ir.ops.defined import Defined
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.fused import Fused, is_map, kernel_op
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import F64, INTEGERS, TensorType
from adjoint.ops.own_operators import operator_class
from adjoint.runtime.execution.text import load_ir
from adjoint.runtime.memory.machine import array_of, memory_of
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.tensor.tensor import wrap
from adjoint.testing.agreement import Tolerance, assert_agree
from adjoint.testing.cases import (
    Array,
    Case,
    case_of,
    dtypes_of,
    gradient_cases,
    has_floats,
    module_of,
    reference,
    samples_of,
    special_arrays,
    strided,
    vector_cases,
)
from adjoint.testing.gradients import check_gradient
from adjoint.testing.kernels import Kernels, lowered_cases

__all__ = ["OperatorReport", "check_operator"]

ULPS = 8.0
"""How far C may be from the definition in NumPy by default: as much as a few functions and sums, each rounded, may give."""


@dataclass(frozen=True)
class OperatorReport:
    """What `check_operator` has checked; `str` shows it.

    operator  the name of the operator
    cases     how many combinations of shapes, dtypes and attributes
    checks    what was checked, each as a line
    left_out  what was not, and why
    """

    operator: str
    cases: int
    checks: tuple[str, ...]
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.operator}: {self.cases} cases", *(f"    {line}" for line in self.checks)]
        return "\n".join([*lines, *(f"    not checked: {line}" for line in self.left_out)])


def check_operator(op: Any, *, ulps: float = ULPS) -> OperatorReport:
    """Check an operator on its samples, in all dtypes that it accepts, and return a report of what was checked.

    op    a function that `adjoint.operator` has made, or the name of an op
    ulps  how far C may be from the definition in NumPy, in units in the last place of the largest of the result and the operands, in each
          element; those of a two-byte float are larger

    Checked are: inference against the definition; the text of graphs; C against the definition, on the samples, empty and broadcast
    shapes, and -0, NaN, infinity and subnormals; that C neither writes elsewhere nor depends on the threads or on where an element is;
    that eager mode, graphs and fused kernels give the same bits; the gradient, and that of the gradient, against finite differences in
    float64.

    AssertionError with all that is wrong; TypeError if `op` is no operator, ValueError if it has no samples.
    """
    kind = operator_class(op)
    if not kind.samples:
        raise ValueError(f"For '{kind.name}', give `samples=` to `operator`: an attribute has no default, so that the operator cannot be "
                         "called without.")
    suite = _Suite(kind, ulps)
    suite.run()
    if suite.failures:
        raise AssertionError(f"{kind.name}: {len(suite.failures)} of the checks fail\n" + "\n".join(suite.failures))
    return OperatorReport(kind.name, len(suite.cases), tuple(suite.checks), tuple(suite.left_out))


class _Suite:
    """The checks of one operator; `failures` collects what is wrong."""

    def __init__(self, kind: type[Op], ulps: float):
        self.kind, self.ulps = kind, ulps
        self.failures: list[str] = []
        self.checks: list[str] = []
        self.left_out: list[str] = []
        self.cases = list(_cases(kind))
        self.kernels = Kernels()

    def run(self) -> None:
        compiles = Toolchain.find() is not None and self.kind.lower is not Op.lower
        vectors = list(vector_cases(self.kind, self.kind.name, 17)) if issubclass(self.kind, Elementwise) else []
        if compiles:  # all at once, since that takes a third of the time
            self.kernels.compile([*lowered_cases([*self.cases, *vectors]), *self.neighbours()])
        self.check("the type of the result, that of the definition", self.cases, self.inference)
        self.check("text of graphs, which reads back", self.cases, self.text)
        self.check("eager mode and graphs, to the bit; the interpreter", self.cases, self.ways)
        if compiles:
            self.check("C against the definition", self.cases, self.agreement)
            self.check("C alone: memory around it, other threads, a second call", self.cases, self.repeated)
            self.check("special values: -0, NaN, infinity, subnormals", vectors or self.cases, self.special)
            if vectors:
                self.check("each element, wherever it is in a vector", vectors, self.placed)
                self.check("fused with its neighbours, to the bit", self.cases, self.fused)
        else:
            why = "there is no C compiler" if Toolchain.find() is None else "it was defined without C"
            self.left_out.append(f"kernels: {why}")
        if self.kind.cuts:
            self.left_out.append(f"gradients: {self.kind.cuts}")
        elif issubclass(self.kind, Defined) and self.kind.pull is None:
            self.left_out.append("gradients: it was defined without `bprop`")
        else:
            smooth = [case for case in gradient_cases(self.kind, self.kind.name) if case.sample.smooth]
            self.check("gradients of order one and two, against finite differences", smooth, self.gradient)

    def neighbours(self) -> Iterator[KernelText]:
        """Yield the kernels of the op among its neighbours, and of the neighbours alone."""
        if not issubclass(self.kind, Elementwise):
            return
        for case in self.cases:
            with contextlib.suppress(Exception):  # what is wrong with it, the check will say
                node = _among_neighbours(case)
                if node is not None:
                    yield lower(kernel_op(node), case.types, [x.type for x in node.results])
                    yield from (lower(Add(), (t, t), (t,)) for t in case.types if t.shape == case.results[0].shape)
                    yield lower(Neg(), case.results, case.results)

    def check(self, title: str, cases: Sequence[Case], one: Callable[[Case], None]) -> None:
        """Run one check on each case; note the first mistake."""
        for case in cases:
            try:
                one(case)
            except AssertionError as wrong:
                self.failures.append(f"    {title}: {wrong}")
                return
            except Exception as wrong:  # of the user's functions, or a fault of this package: both are to be seen
                self.failures.append(f"    {title}: {case.name} raises {type(wrong).__name__}: {wrong}")
                return
        self.checks.append(f"{title} ({len(cases)})")

    # -- the checks of one case
    def inference(self, case: Case) -> None:
        results = reference(case, case.arrays())
        _demand(len(results) == len(case.results), f"{case.name}: {len(results)} results, but {len(case.results)} types")
        for array, type_ in zip(results, case.results, strict=True):
            _demand(np.shape(array) == type_.sizes, f"{case.name}: the definition gives the shape {list(np.shape(array))} for operands of "
                                                    f"{_shown(case.types)}, but the type of the result is {type_}")
            dtype = np.asarray(array).dtype
            _demand(dtype == type_.dtype.compute.array, f"{case.name}: the definition gives {dtype}, but the type of the result is {type_}")

    def text(self, case: Case) -> None:
        printed = print_module(module_of(case))
        again = parse_module(printed)
        (node,) = again.functions["f"].body.nodes
        _demand(print_module(again) == printed and node.op is case.op, f"{case.name}: its text reads back as another op\n{printed}")

    def ways(self, case: Case) -> None:
        module, arrays = module_of(case), case.arrays()
        eager = _run(case.op, case.types, arrays)
        run = load_ir(print_module(module))
        for _ in range(2):
            made = run(*[wrap(t, memory_of(np.ascontiguousarray(x))) for x, t in zip(arrays, case.types, strict=True)])
            graphs = [array_of(x.memory, x.type) for x in (made if isinstance(made, tuple) else (made,))]
            _same(f"{case.name}: a graph gives other bits than eager mode", eager, graphs)
        interpreted = Interpreter(module).call(module.functions["f"], arrays)
        for got, expected, type_ in zip(eager, interpreted, case.results, strict=True):
            self.near(case, got, to_compute(np.asarray(expected), type_.dtype), type_, arrays)

    def agreement(self, case: Case) -> None:
        for seed in range(2):
            arrays = case.arrays(seed)
            self.compared(case, self.kernels.run(case, arrays), arrays)

    def repeated(self, case: Case) -> None:
        arrays = case.arrays()
        once = self.kernels.run(case, arrays, fill=0xFF)
        _same(f"{case.name}: a second call gives other bits", once, self.kernels.run(case, [strided(x) for x in arrays], fill=0x55))
        pieces = self.kernels.run(case, arrays, fill=0x00, cuts=range(1, 50, 3))
        _same(f"{case.name}: cut into ranges it gives other bits", once, pieces)

    def special(self, case: Case) -> None:
        if issubclass(self.kind, Elementwise):
            whole, arrays = special_arrays(case)
            got = self.kernels.run(whole, arrays)
            try:
                self.compared(whole, got, arrays)
            except AssertionError:
                # Some functions of NumPy, such as `fmin`, choose between 0 and -0 by the place of an element in a vector.
                alone = [np.concatenate(each) for each in zip(*_one_by_one(whole, arrays), strict=True)]
                for x, expected, type_ in zip(got, alone, whole.results, strict=True):
                    self.near(whole, x, expected, type_, arrays)
            return
        for value in (np.nan, np.inf, -np.inf, -0.0):
            arrays = [x.copy() for x in case.arrays()]
            rng = np.random.default_rng(0)
            for position, (array, type_) in enumerate(zip(arrays, case.types, strict=True)):
                if type_.dtype.is_float and position not in case.sample.values:
                    array[rng.random(array.shape) < 0.2] = from_compute(np.asarray(value, type_.dtype.compute.array), type_.dtype)
            self.compared(case, self.kernels.run(case, arrays), arrays)

    def placed(self, case: Case) -> None:
        (long,) = (each for each in vector_cases(self.kind, self.kind.name, 1000) if each.name == case.name)
        arrays = long.arrays()
        (whole,) = self.kernels.run(long, arrays)
        for start in (0, 5, 983):
            (part,) = self.kernels.run(case, [x[start : start + 17] for x in arrays])
            _same(f"{case.name}: an element depends on its place", [whole[start : start + 17]], [part])

    def fused(self, case: Case) -> None:
        node = _among_neighbours(case)
        if node is None:
            return
        arrays, shape = case.arrays(), case.results[0].shape
        doubled = [_apply(Add(), [x, x], t)[0] if t.shape == shape else x for x, t in zip(arrays, case.types, strict=True)]
        result = _run(case.op, case.types, doubled)
        if case.results[0].dtype.is_float:
            result = _apply(Neg(), result, case.results[0])
        _same(f"{case.name}: fused with its neighbours it gives other bits", result, _run(kernel_op(node), case.types, arrays))

    def gradient(self, case: Case) -> None:
        check_gradient(module_of(case), case, orders=2)

    # -- comparing
    def compared(self, case: Case, got: Sequence[Array], arrays: Sequence[Array]) -> None:
        """Compare a kernel's results with those of the definition: in the dtype itself, or else computed in float64."""
        try:
            for x, expected, type_ in zip(got, reference(case, arrays), case.results, strict=True):
                self.near(case, x, expected, type_, arrays)
        except AssertionError:
            if any(type_.dtype is F64 for type_ in case.types):
                raise
            for x, expected, type_ in zip(got, reference(case, arrays, wide=True), case.results, strict=True):
                self.near(case, x, expected, type_, arrays)

    def near(self, case: Case, got: Array, expected: Array, type_: TensorType, arrays: Sequence[Array]) -> None:
        if not type_.dtype.is_float:
            assert_agree(case, got, expected, type_, Tolerance())
            return
        computed = [np.abs(to_compute(x, t.dtype).astype(np.float64)) for x, t in zip(arrays, case.types, strict=True)]
        try:
            sizes = np.broadcast_to(np.max(np.broadcast_arrays(*computed), axis=0), type_.sizes)
        except ValueError:  # the operands do not broadcast to the result
            largest = [x[np.isfinite(x)] for x in computed]
            sizes = np.full(type_.sizes, max([float(x.max()) for x in largest if x.size], default=0.0))
        assert_agree(case, got, expected, type_, Tolerance(self.ulps, "sizes"), sizes=sizes)


def _cases(kind: type[Op]) -> Iterator[Case]:
    """Yield the samples of an op in the dtypes of `dtypes_of`, the first also, if it takes them, in integers."""
    for position, sample in enumerate(samples_of(kind)):
        for dtype in dtypes_of(sample, position):
            case = case_of(kind, sample, dtype, f"{kind.name}-{position}")
            if case is not None:
                yield case
        if position or not issubclass(kind, Defined) or not has_floats(sample) or sample.values:
            continue
        for dtype in (dtype for dtype in INTEGERS if dtype in kind.accepts):
            try:
                case = case_of(kind, sample, dtype, f"{kind.name}-{position}")
            except CompileError:  # a number of the formula is out of the range of the dtype, which is an error of the call
                continue
            if case is not None:
                yield case


def _among_neighbours(case: Case) -> Node | None:
    """Return a fused node that adds each operand of the result's shape to itself, applies the op, and negates floats; None if the op does
    not fuse.
    """
    inner, shape = Builder(), case.results[0].shape
    params = [Value(t, "x") for t in case.types]
    made = inner.emit_node(case.op, [inner.add(x, x) if t.shape == shape else x for x, t in zip(params, case.types, strict=True)])
    if not is_map(made):
        return None
    last = inner.neg(made.results[0]) if case.results[0].dtype.is_float else made.results[0]
    return Builder().emit_node(Fused(), [Value(t, "a") for t in case.types], regions=[inner.finish([last], params)])


def _one_by_one(case: Case, arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """Yield the results of the definition on each element of vectors, alone."""
    for i in range(case.types[0].count):
        yield reference(case, [x[i : i + 1] for x in arrays])


def _run(op: Op, types: Sequence[TensorType], arrays: Sequence[Array]) -> list[Array]:
    plan = plan_for(op, types)
    made = plan.run(*[memory_of(np.ascontiguousarray(x)) for x in arrays])
    return [array_of(m, t).copy() for m, t in zip(made if len(plan.types) > 1 else (made,), plan.types, strict=True)]


def _apply(op: Op, arrays: Sequence[Array], type_: TensorType) -> list[Array]:
    """Run an op on operands of one type."""
    return _run(op, [type_] * len(arrays), arrays)


def _same(label: str, one: Sequence[Array], other: Sequence[Array]) -> None:
    for a, b in itertools.zip_longest(one, other):
        _demand(a is not None and b is not None and a.tobytes() == np.ascontiguousarray(b).tobytes(), label)


def _demand(holds: bool, label: str) -> None:
    if not holds:
        raise AssertionError(label)


def _shown(types: Sequence[TensorType]) -> str:
    return ", ".join(map(str, types))
