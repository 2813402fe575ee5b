"""Find the rule that makes a gradient wrong: of an operator, of a cell's own `bprop`, or a hook that changes gradients.

Each node of a recorded function is differentiated alone, by its own rule, at the numbers that it was given, and compared with differences
of the same node.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, At, Loc, placed, user_place
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Value, free_of
from adjoint.ir.interpret import Interpreter
from adjoint.ir.op import NotDifferentiable, Op
from adjoint.ir.ops.control import Cell
from adjoint.ir.ops.host import Attach, Bprop, Hook, Outputs
from adjoint.ir.types import TensorType
from adjoint.passes.activity import differentiable_by_default
from adjoint.passes.autodiff import Grad
from adjoint.runtime.hooks.handles import described
from adjoint.testing.in_float64 import Execution, InFloat64, is_opaque
from adjoint.testing.recording import Array, HostRun, line_of_def
from adjoint.testing.slopes import Finding, Projection, Tolerance, compared

__all__ = ["Culprit", "Kink", "changing_hooks", "kink_between", "wrong_bprops", "wrong_operators"]

_WHOLE = 256
"""An argument of at most so many elements is compared as a whole, to say how its gradient differs."""
_EXACT = Tolerance(1e-5, 1e-7)
"""For the rules of operators, which are computed in float64."""


@dataclass(frozen=True)
class Culprit:
    """A rule of a gradient that is wrong, or a hook that changes a gradient.

    kind  "operator", "bprop" or "hook"
    name  the operator's name in the IR, or the function with its file and line
    text  what is wrong, as a sentence
    loc   its location in the user's program: of an operator where it is called, of a function where it is defined
    """

    kind: str
    name: str
    text: str
    loc: Loc

    @property
    def place(self) -> At | None:
        """The file, line and column of its location; None if it is not known."""
        return user_place(self.loc)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.text, placed(self.loc))))


@dataclass(frozen=True)
class Kink:
    """A point at which an operator has two slopes.

    kind     "kink", or "tie" where an operator chooses between equal numbers
    op       the operator's name in the IR
    element  the index of the result's element
    loc      its location
    """

    kind: str
    op: str
    element: tuple[int, ...]
    loc: Loc

    def __str__(self) -> str:
        place = user_place(self.loc)
        element = f" at {list(self.element)}" if self.element else ""
        line = "" if place is None else f" in {place.file}:{place.line}  {linecache.getline(place.file, place.line).strip()}"
        return f"a {self.kind} of `{self.op}`{element}{line}"


def _at(element: tuple[int, ...] | None) -> str:
    return f" at {list(element)}" if element else ""


def changing_hooks(calls: Sequence[HostRun]) -> Iterator[Culprit]:
    """Yield the hooks that changed a gradient."""
    for call in calls:
        if call.changed:
            i, old, new = next((i, old, new) for i, (old, new) in enumerate(zip(call.given, call.made, strict=False))
                               if old.tobytes() != new.tobytes())
            where = np.unravel_index(int(np.argmax((old != new) & ~(np.isnan(old) & np.isnan(new)))), old.shape)
            which = f"gradient {i + 1} of {len(call.made)}" if len(call.made) > 1 else "the gradient"
            text = (f"The hook {call.text} changes {which}{_at(tuple(map(int, where)))} from {old[where]:.7g} to {new[where]:.7g}.")
            yield Culprit("hook", call.text, text, call.loc)


def wrong_bprops(program: InFloat64, log: Sequence[Execution], calls: Sequence[HostRun], tolerance: Tolerance,
                 rng: np.random.Generator) -> Iterator[Culprit]:
    """Yield the cells whose `bprop` does not fit their construct.

    log        the executions of the function's nodes
    calls      the calls of bprops while the gradient was computed
    tolerance  for the dtype in which bprops compute
    """
    cells = {e.node.op.rule: (e, e.node.op.title) for e in log if isinstance(e.node.op, Cell)}
    for call in calls:
        op = call.node.op
        if not isinstance(op, Bprop) or op.symbol not in cells:
            continue
        execution, title = cells[op.symbol]
        text = _of_bprop(program, execution, call, op, tolerance, rng)
        if text:
            yield Culprit("bprop", call.text, f"{call.text}, the gradient of cell '{title}', {text}",
                          execution.node.loc if call.loc is UNKNOWN else call.loc)


def _of_bprop(program: InFloat64, execution: Execution, call: HostRun, op: Bprop, tolerance: Tolerance, rng: np.random.Generator) -> str:
    """Return how the gradients that a bprop returned are wrong; "" if they are right."""
    node = execution.node
    arguments = [_wide(x) for x in call.given[: op.inputs]]
    rest = iter(call.given[op.inputs + op.outputs:])
    cotangents = [_wide(next(rest)) if there else None for there in op.present]

    def compute(moved: Mapping[int, Array]) -> list[Array]:
        return program.of_cell(node, [moved.get(i, x) for i, x in enumerate(arguments)])

    projection = Projection(compute, arguments, [c if c is not None and c.dtype.kind == "f" else None for c in cotangents])
    gradients = [_wide(x) if x.dtype.kind == "f" else None for x in call.made]
    text = _wrong_argument(projection, gradients, _scaled(tolerance, gradients), rng, program.recorded.rules[op.symbol].parameters())
    return text or _reads_parameter(program, execution, projection)


def _reads_parameter(program: InFloat64, execution: Execution, projection: Projection) -> str:
    """Return which leaf a cell with a bprop reads besides its arguments, since no gradient flows to it; "" if there is none."""
    node = execution.node
    if is_opaque(node):
        return ""
    for value in free_of(node.regions[0]):
        if value not in program.leaves or value in node.operands or not differentiable_by_default(value.type):
            continue
        start = program.outside[value]
        moved = Projection(lambda at, value=value: program.of_cell(node, projection.arguments, {value: at[0]}), [start],
                           projection.cotangents)
        slope, _, noise = moved.slope(0, np.ones(start.shape))
        if not abs(slope) <= 10 * noise + _EXACT.absolute:
            return f"is wrong: construct reads '{program.name(value)}', which is not an argument, so that its gradient stays zero."
    return ""


def wrong_operators(log: Sequence[Execution], rng: np.random.Generator) -> Iterator[Culprit]:
    """Yield the operators whose own gradient differs from differences of the operator."""
    seen: set[tuple[Any, ...]] = set()
    for execution in log:
        node = execution.node
        key = node.op, tuple(x.type for x in node.operands), str(node.loc)
        if isinstance(node.op, (Attach, Cell, Hook, Outputs)) or key in seen or node.ends_gradients:
            continue
        text = _of_operator(execution, rng)
        if text:
            seen.add(key)
            bprop, place = _own_bprop(node.op), user_place(node.loc)
            if bprop is None:
                yield Culprit("operator", node.op.name, f"The gradient of the operator `{node.op.name}` {text}", node.loc)
            else:
                called = "" if place is None else f", which is called at {place.file}:{place.line},"
                yield Culprit("operator", node.op.name, f"{described(bprop)}, the gradient of the operator `{node.op.name}`{called} {text}",
                              line_of_def(bprop))


def _own_bprop(op: Op) -> Any:
    """Return the `bprop` of an operator of the user's own; None for an operator of the library."""
    pull = getattr(type(op), "pull", None) or getattr(getattr(op, "foreign", None), "pull", None)
    return getattr(pull, "__wrapped__", None)


def _of_operator(execution: Execution, rng: np.random.Generator) -> str:
    """Return how the gradient of one node is wrong; "" if it is right or has none."""
    node = execution.node
    if not node.operands or not all(isinstance(x.type, TensorType) for x in (*node.operands, *node.results)):
        return ""
    params = [None if isinstance(x, Literal) else Value(x.type, "x") for x in node.operands]
    b = Builder()
    atoms: list[Atom] = [x if p is None else p for x, p in zip(node.operands, params, strict=True)]
    made = b.emit_node(node.op, atoms, regions=node.regions)
    inputs = [p for p in params if p is not None]
    arrays = [np.asarray(x) for x, p in zip(execution.operands, params, strict=True) if p is not None]
    module = Module({}, {}, {"f": Function("f", b.finish(made.results, inputs))})
    try:
        (gradient,) = Grad().on_module(module).functions.values()
    except NotDifferentiable:
        return ""
    floats = [differentiable_by_default(x.type) for x in inputs]
    cotangents = [rng.uniform(0.5, 1.5, np.shape(x)) if differentiable_by_default(v.type) else None
                  for x, v in zip(execution.results, made.results, strict=True)]
    if not any(floats) or all(c is None for c in cotangents):
        return ""
    with np.errstate(all="ignore"):
        found = iter(Interpreter(Module()).call(gradient, [*arrays, *(c for c in cotangents if c is not None)]))
    function = module.functions["f"]

    def compute(moved: Mapping[int, Array]) -> Sequence[Array]:
        return Interpreter(module).call(function, [moved.get(i, x) for i, x in enumerate(arrays)])

    return _wrong_argument(Projection(compute, arrays, cotangents), [next(found) if f else None for f in floats], _EXACT, rng)


def _wrong_argument(projection: Projection, gradients: Sequence[Array | None], tolerance: Tolerance, rng: np.random.Generator,
                    names: Sequence[str] = ()) -> str:
    """Return which argument has a wrong gradient, and how it differs; "" if all are right.

    names  the names of the arguments; empty if they have none
    """
    names = [f"'{name}'" for name in names] if len(names) == len(gradients) else [f"operand {i + 1}" for i in range(len(gradients))]
    for i, gradient in enumerate(gradients):
        if gradient is None:
            continue
        finding = compared(projection, i, gradient, tolerance, rng)
        if finding is None or not finding.wrong:
            continue
        which = f"for {names[i]} it" if len(gradients) > 1 else "it"
        if not np.isfinite(finding.gradient):
            return f"is not finite: {which} gives {finding.gradient:.7g}{_at(finding.element)}."
        how = _how(projection, i, gradients, finding, names)
        return (f"is wrong: {which} gives {finding.gradient:.7g}{_at(finding.element)} where differences give "
                f"{finding.difference:.7g}{f': {how}' if how else ''}.")
    return ""


def _how(projection: Projection, index: int, gradients: Sequence[Array | None], finding: Finding, names: Sequence[str]) -> str:
    """Return in what a wrong gradient differs from the right one, in a few words; "" if nothing simple is found."""
    gradient = gradients[index]
    assert gradient is not None
    if gradient.size > _WHOLE or not np.isfinite(gradient).all():
        return ratio_text(finding.ratio)
    right = np.zeros(gradient.size)
    for k in range(gradient.size):
        way = np.zeros(gradient.size)
        way[k] = 1.0
        right[k] = projection.slope(index, way.reshape(gradient.shape))[0]
    right = right.reshape(gradient.shape)
    size = float(np.abs(right).max(initial=0.0))

    def same(a: Array, b: Array) -> bool:
        return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-3, atol=1e-5 * size))

    if not gradient.any():
        return "it is zero"
    at = int(np.argmax(np.abs(right)))
    if size and same(gradient, right * (ratio := float(gradient.flat[at] / right.flat[at]))):
        return ratio_text(ratio)
    if gradient.ndim == 2 and same(gradient, right.T):
        return "it is the transpose of the right one"
    if gradient.ndim and gradient.size > 1:
        for axis in range(gradient.ndim):
            if gradient.shape[axis] > 1 and same(gradient, np.broadcast_to(right.mean(axis, keepdims=True), gradient.shape)):
                return f"it is the same along axis {axis}, the mean of the right one"
    for k, other in enumerate(gradients):
        if k != index and other is not None and same(other, right):
            return f"the right one is returned for {names[k]}"
    return ""


def ratio_text(ratio: float) -> str:
    """Return how a wrong gradient relates to the right one, given their ratio; "" for nan."""
    if np.isnan(ratio):
        return ""
    return "it has the opposite sign" if abs(ratio + 1) < 1e-3 else "it is zero" if ratio == 0 else f"it is {ratio:.4g} times the right one"


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def _scaled(tolerance: Tolerance, gradients: Sequence[Array | None]) -> Tolerance:
    """Return a tolerance whose absolute part is relative to the largest of some gradients."""
    sizes = [float(np.sqrt(np.mean(np.square(g)))) for g in gradients if g is not None and g.size and np.isfinite(g).all()]
    return Tolerance(tolerance.relative, tolerance.absolute * max(sizes, default=1.0))


_CHOOSING = ("maximum", "minimum", "reduce_max", "reduce_min", "max_pool", "cum_max", "cum_min", "sort", "top_k")
"""Operators that choose between numbers: where two are equal there is a tie."""


def kink_between(program: InFloat64, leaf: int, element: int) -> Kink | None:
    """Return the first operator whose result has two slopes where one element of a leaf is moved to both sides; None if none is found."""
    x = program.outside[program.leaves[leaf]]
    h = 1e-6
    logs: list[list[Execution]] = [[], [], []]
    for log, step in zip(logs, (-h, 0.0, h), strict=True):
        moved = x.copy()
        moved.flat[element] += step
        program.at({leaf: moved}, log=log)
    for before, at, after in zip(*logs, strict=True):
        for left, middle, right in zip(before.results, at.results, after.results, strict=True):
            if np.asarray(middle).dtype.kind != "f":
                continue
            with np.errstate(all="ignore"):
                one, other = (np.asarray(middle - left)) / h, (np.asarray(right - middle)) / h
                differs = ~(np.abs(one - other) <= 1e-3 * (np.abs(one) + np.abs(other)) + 1e-6)
            if differs.any():
                where = np.unravel_index(int(np.argmax(differs)), differs.shape)
                kind = "tie" if at.node.op.name.startswith(_CHOOSING) else "kink"
                return Kink(kind, at.node.op.name, tuple(map(int, where)), at.node.loc)
    return None
