"""`compare`: run a function in each mode, and name the first operator whose numbers differ.

    eager            operator by operator, as Python runs the function
    plain kernels    each of these operators by its plain kernel, which a program has until the tuned one is compiled
    graph            the function under `jit`
    fused kernels    the same, with fused kernels
    interpreter      each of the operators by its definition in NumPy

All but the interpreter must give the same bits.  Where one does not, each of its operators is computed again in eager mode, from the
operands that it was given: the first one that differs is the cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.codegen.emit import KernelText
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, At, CompileError, Loc, placed, user_place
from adjoint.ir.op import Effect, Sample
from adjoint.ir.ops.fused import Fused, FusedKernel, held_ops
from adjoint.ir.storage import to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.jit import jit
from adjoint.runtime.memory.machine import array_of, machine
from adjoint.runtime.process.context import background_compile, set_context
from adjoint.runtime.process.jitted import MARK
from adjoint.runtime.process.tracer import eagerly, state
from adjoint.runtime.tensor.structure import emptied, leaves
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.testing.agreement import Tolerance, assert_agree
from adjoint.testing.calls import Repeated, name_of
from adjoint.testing.cases import Case
from adjoint.testing.kernels import Kernels, kernel_text
from adjoint.testing.launches import Computed, launches_of, parts_of
from adjoint.testing.recording import Array

__all__ = ["ModeDifference", "ModeReport", "compare"]

_ULPS = 8.0
"""How far a kernel may be from its definition in NumPy, in units in the last place of the largest of the result and the operands; for an
operator that sums, times the square root of the number of summands."""


@dataclass(frozen=True)
class ModeDifference:
    """A mode that gives other numbers than eager mode.

    mode      "plain kernels", "graph", "fused kernels" or "interpreter"
    operator  the first operator that differs, by its name in the IR; "" if only results of the function differ
    element   the index of the first number that differs, in a result of the operator or of the function
    eager     that number in eager mode
    other     that number in the other mode
    text      the same as a sentence
    loc       the operator's location
    """

    mode: str
    operator: str
    element: tuple[int, ...]
    eager: Any
    other: Any
    text: str
    loc: Loc = UNKNOWN

    @property
    def place(self) -> At | None:
        """The file, line and column of the operator; None if it is not known."""
        return user_place(self.loc)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.text, placed(self.loc))))


@dataclass(frozen=True)
class ModeReport:
    """What `compare` has found; `print` shows it, and it is true if all modes agree.

    subject      the function
    modes        what was compared, each as a line
    differences  the first difference of each mode that has one
    left_out     what was not compared, and why
    """

    subject: str
    modes: tuple[str, ...]
    differences: tuple[ModeDifference, ...]
    left_out: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if no mode differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.ok

    def raise_if_different(self) -> None:
        """Raise AssertionError with the text of the report if a mode differs."""
        if not self.ok:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        verdict = "all modes agree" if self.ok else f"{', '.join(x.mode for x in self.differences)}: other numbers than in eager mode"
        lines = [f"{self.subject}: {verdict}", *(f"    {line}" for line in self.modes)]
        lines += [f"    not compared: {line}" for line in self.left_out]
        return "\n".join([*lines, *(f"{x.mode}: {x}" for x in self.differences)])


def compare(fn: Any, *inputs: Any) -> ModeReport:
    """Run a function in each mode, and name the first operator whose numbers differ.

    fn      a function or a Cell, under `jit` or not; also a function that takes gradients, such as `ms.grad(net)`
    inputs  its arguments

    Compared are, to the bit: eager mode with the function under `jit`, without and with fused kernels, in their results and in what they
    write to the Parameters of Cells; each operator's tuned kernel with its plain one.  Each operator is compared with its definition in
    NumPy within 8 units in the last place of the largest number, for sums times the square root of the number of summands.  Random draws
    give the same numbers in each run, and Parameters that the function writes are restored after each.  The function runs about eight
    times.

    TypeError if `fn` is not callable.  ValueError if two runs in eager mode differ.  RuntimeError inside of a gradient or of a function
    under `jit`.  An exception of the function in eager mode is passed on; that of another mode is a difference.
    """
    if not callable(fn):
        raise TypeError(f"For 'compare', the argument 'fn' must be a function or a Cell, but got {fn!r} of type {type(fn).__name__}.")
    if state.tracer is not None:
        raise RuntimeError("'compare' runs the function in each mode: call it outside of gradients and of functions under `jit`.")
    comparison = _Comparison(fn, inputs)
    comparison.run()
    return ModeReport(name_of(fn), tuple(comparison.modes), tuple(comparison.differences), tuple(comparison.left_out))


class _Comparison:
    """One call of `compare`; collects what the report shows."""

    def __init__(self, fn: Any, inputs: tuple[Any, ...]):
        self.fn, self.calls = fn, Repeated(fn, inputs)
        self.modes: list[str] = []
        self.differences: list[ModeDifference] = []
        self.left_out: list[str] = []

    def run(self) -> None:
        self.result, self.written, self.eager = self.observed(self.eagerly)
        again = self.observed(self.eagerly)
        if self.difference(*again[:2]) is not None:
            raise ValueError("For 'compare', the function must give the same result for the same inputs, but two runs in eager mode "
                             "differ: it depends on something that the runs change, or draws random numbers of NumPy's or Python's.")
        self.modes.append(f"eager: {len(self.eager)} operators")
        self.with_plain_kernels()
        self.with_interpreter()
        jitted = self.jitted()
        if jitted is not None:
            self.in_graph("graph", jitted, False)
            self.in_graph("fused kernels", jitted, "wait")

    def eagerly(self) -> Any:
        return eagerly(self.fn, *self.calls.arguments())

    def observed(self, call: Callable[[], Any]) -> tuple[Any, list[Array], list[Computed]]:
        """Make a call; return its result, the numbers that it left in the Parameters, and the operators that it computed."""
        with self.calls.repeatable():
            result, launches = launches_of(call)
            return result, [_numbers(p).copy() for p in self.calls.written], launches

    def difference(self, result: Any, written: Sequence[Array]) -> tuple[str, tuple[int, ...], Any, Any] | str | None:
        """Return where a call differs from that in eager mode: a result or a Parameter, the index, and both numbers; a text if the
        structures differ, None if all is the same.

        written  the numbers that the call left in the Parameters
        """
        tensors, others = leaves(self.result, Tensor), leaves(result, Tensor)
        if len(tensors) != len(others) or [x.type for x in tensors] != [x.type for x in others]:
            return f"it returns {_types(others)}, eager mode {_types(tensors)}"
        for i, (one, other) in enumerate(zip(tensors, others, strict=True)):
            found = _first(_numbers(one), _numbers(other), one.type)
            if found is not None:
                return f"Result {i + 1}", *found
        for parameter, before, after in zip(self.calls.written, self.written, written, strict=True):
            found = _first(before, after, parameter.type)
            if found is not None:
                return f"Parameter '{parameter.name}' after the call", *found
        one, other = emptied(self.result, Tensor), emptied(result, Tensor)
        return None if repr(one) == repr(other) else f"it returns {other!r}, eager mode {one!r}"

    # -- kernels of single operators -------------------------------------------------------------------------------------
    def distinct(self) -> Iterator[Computed]:
        """Yield the operators that eager mode computed, the first of each op, operand types and line."""
        seen: set[Any] = set()
        for x in self.eager:
            key = x.op, x.types, user_place(x.loc)
            known = all(a is not None for a in x.operands) and x.op.effect is Effect.PURE
            if key not in seen and known and not isinstance(x.op, (Fused, FusedKernel)):
                seen.add(key)
                yield x

    def with_plain_kernels(self) -> None:
        if machine().kernels is None:
            self.left_out.append("plain kernels: there is no C compiler")
            return
        kernels, texts, chosen = Kernels(), list[KernelText](), list[Computed]()
        for x in self.distinct():
            if x.op.can_lower and not x.op.in_python:
                texts += [kernel_text(x.op, x.types, x.result_types, plain) for plain in (False, True)]
                chosen.append(x)
        kernels.compile(texts)
        for x in chosen:
            for plain in (False, True):
                made = kernels.run(_case(x), [a for a in x.operands if a is not None], plain=plain)
                if self.differs("plain kernels", x, made, f"its {'plain' if plain else 'tuned'} kernel gives"):
                    return
        self.modes.append(f"plain kernels: the same bits, {len(chosen)} kernels")

    def with_interpreter(self) -> None:
        count = 0
        for x in self.distinct():
            operands = [to_compute(a, t.dtype) for a, t in zip(x.operands, x.types, strict=True) if a is not None]
            wide = [a.astype(np.float64) if t.dtype.is_float else a for a, t in zip(operands, x.types, strict=True)]
            with np.errstate(all="ignore"):
                made = x.op.reference(*(operands if x.op.cuts else wide))
            count += 1
            for got, expected, type_ in zip(x.results, made if len(x.results) != 1 else (made,), x.result_types, strict=True):
                try:
                    _agree(x, got, np.asarray(expected), type_, operands)
                except AssertionError:
                    wrong = np.asarray(expected).astype(type_.dtype.compute.array)
                    _, element, one, other = _far(to_compute(got, type_.dtype), wrong)
                    self.add("interpreter", x, element, one, other, "its definition in NumPy gives")
                    return
        self.modes.append(f"interpreter: within its bounds, {count} operators")

    def differs(self, mode: str, x: Computed, made: Sequence[Array], words: str) -> bool:
        for got, other, type_ in zip(x.results, made, x.result_types, strict=True):
            found = _first(got, other, type_)
            if found is not None:
                self.add(mode, x, *found, words)
                return True
        return False

    def add(self, mode: str, x: Computed, element: tuple[int, ...], eager: Any, other: Any, words: str) -> None:
        at = f" at {list(element)}" if element else ""
        text = f"The operator `{x.name}` gives {_shown(eager)}{at} in eager mode, {words} {_shown(other)}."
        self.differences.append(ModeDifference(mode, x.name, element, eager, other, text, x.loc))

    # -- graphs ----------------------------------------------------------------------------------------------------------
    def jitted(self) -> Callable[..., Any] | None:
        """Return the function under `jit`; None if it cannot be."""
        fn: Any = self.fn
        if not isinstance(fn, Cell) and hasattr(fn, MARK):
            return fn
        try:
            return jit(fn)
        except TypeError as reason:
            self.left_out.append(f"graphs: {reason}")
            return None

    def in_graph(self, mode: str, jitted: Callable[..., Any], compiling: bool | str) -> None:
        """Compare the results of the graph; where they differ, name an operator.

        compiling  the setting `background_compile`
        """
        def call() -> Any:
            return jitted(*self.calls.arguments())

        with _compiled(compiling):
            try:
                self.observed(call)  # the first run makes the graph, and perhaps its kernels
                result, written, launches = self.observed(call)
            except CompileError as reason:
                self.left_out.append(f"{mode}: {str(reason).splitlines()[0]}")
                return
            except Exception as raised:
                text = f"It raises {type(raised).__name__}: {raised}; eager mode returns."
                self.differences.append(ModeDifference(mode, "", (), None, None, text))
                return
        found = self.difference(result, written)
        if found is None:
            fused = sum(isinstance(x.op, Fused) for x in launches)
            self.modes.append(f"{mode}: the same bits, {len(launches)} launches, {fused} of them fused")
        elif not self.wrong_operator(mode, launches) and not self.other_operator(mode, launches):
            if isinstance(found, str):
                self.differences.append(ModeDifference(mode, "", (), None, None, f"{found[0].upper()}{found[1:]}."))
            else:
                what, element, eager, other = found
                at = f" at {list(element)}" if element else ""
                text = f"{what} is {_shown(other)}{at}, but {_shown(eager)} in eager mode."
                self.differences.append(ModeDifference(mode, "", element, eager, other, text))

    def wrong_operator(self, mode: str, launches: Sequence[Computed]) -> bool:
        """Find the first operator of a graph that gives other numbers than eager mode from the same operands."""
        for x in launches:
            parts = list(parts_of(x))
            if not parts:
                continue
            if not isinstance(x.op, Fused):
                (alone,) = parts
                for got, other, type_ in zip(alone.results, x.results, x.result_types, strict=True):
                    if (found := _first(got, other, type_)) is not None:
                        self.add(mode, x, *found, "in the graph")
                        return True
                continue
            assert x.node is not None
            by_value = {value: (part, i) for part in parts if part.node is not None for i, value in enumerate(part.node.results)}
            for atom, other, type_ in zip(x.node.regions[0].results, x.results, x.result_types, strict=True):
                if atom not in by_value:
                    continue
                part, i = by_value[atom]
                if (found := _first(part.results[i], other, type_)) is not None:
                    names = held_ops([each.name for each in parts])
                    self.add(mode, part, *found, f"in the fused kernel of ({names})")
                    return True
        return False

    def other_operator(self, mode: str, launches: Sequence[Computed]) -> bool:
        """Find the first operator of a graph on a line where eager mode computes the same operator with other numbers."""
        lines: dict[Any, list[Computed]] = {}
        for x in self.eager:
            lines.setdefault((x.name, x.result_types, user_place(x.loc)), []).append(x)
        for x in launches:
            for part in parts_of(x):
                same = lines.get((part.name, part.result_types, user_place(part.loc)), [])
                if not same or any(_equal(part, one) for one in same):
                    continue
                found = next(found for got, other, type_ in zip(same[0].results, part.results, part.result_types, strict=True)
                             if (found := _first(got, other, type_)) is not None)
                self.add(mode, part, *found, "from other operands in the graph")
                return True
        return False


@contextmanager
def _compiled(setting: bool | str) -> Iterator[None]:
    """Within a `with` statement, compile kernels as this value of `background_compile` says."""
    before = background_compile()
    set_context(background_compile=setting)
    try:
        yield
    finally:
        set_context(background_compile=before)


def _numbers(x: Tensor) -> Array:
    return array_of(x.memory, x.type)


def _first(one: Array, other: Array, type_: TensorType) -> tuple[tuple[int, ...], Any, Any] | None:
    """Return the index of the first element with other bits, and both numbers; None if all are the same.  All NaN count as the same.

    one, other  numbers of one type, as they are stored
    """
    if one.tobytes() == other.tobytes():
        return None
    a, b = to_compute(one, type_.dtype), to_compute(other, type_.dtype)
    same = a == b
    if type_.dtype.is_float:
        same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    if np.all(same):
        return None
    where = np.unravel_index(int(np.argmin(same)), np.shape(same))
    return tuple(map(int, where)), a[where].item(), b[where].item()


def _equal(one: Computed, other: Computed) -> bool:
    return all(_first(a, b, t) is None for a, b, t in zip(one.results, other.results, one.result_types, strict=True))


def _far(one: Array, other: Array) -> tuple[float, tuple[int, ...], Any, Any]:
    """Return the largest distance of two arrays, its index, and both numbers."""
    with np.errstate(all="ignore"):
        distance = np.abs(one.astype(np.float64) - other.astype(np.float64))
        distance = np.where(np.isnan(distance), np.where(np.isnan(one) & np.isnan(other), 0.0, np.inf), distance)
    where = np.unravel_index(int(np.argmax(distance)), distance.shape)
    return float(distance[where]), tuple(map(int, where)), one[where].item(), other[where].item()


def _agree(x: Computed, got: Array, expected: Array, type_: TensorType, operands: Sequence[Array]) -> None:
    """Raise AssertionError if a result is not within its bounds of its definition."""
    if not type_.dtype.is_float:
        assert_agree(_case(x), got, expected, type_, Tolerance())
        return
    largest = [float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in operands if a.dtype.kind == "f"]
    finite = expected[np.isfinite(expected)]
    size = max([float(np.abs(finite).max(initial=0.0)), *largest])
    summands = max([a.size / max(expected.size, 1) for a in operands], default=1.0)
    tolerance = Tolerance(_ULPS * math.sqrt(max(1.0, summands)), "largest" if summands > 1 else "sizes")  # a sum of zeros has any sign
    assert_agree(_case(x), got, expected, type_, tolerance, sizes=np.full(type_.sizes, size))


def _case(x: Computed) -> Case:
    return Case(x.op, Sample(x.types), x.types, x.result_types, x.name)


def _types(tensors: Sequence[Tensor]) -> str:
    return ", ".join(str(x.type) for x in tensors) or "no Tensor"


def _shown(number: Any) -> str:
    return f"{number:.9g}" if isinstance(number, float) else str(number)
