"""Control: ops with regions.  A region may use any value of the regions around it; values that change are carried.

    y = if c { ... yield y1 } else { ... yield y2 }
    y = for i in range(start, stop, step) carry (a = a0) { ... yield a1 }
    y = while carry (a = a0) test { ... yield c } do { ... yield a1 }
    y = cell "relu" with @relu carry (x = a) { ... yield y1 }
    y = call @f(x)
    y, x' = gradient of=1 carry (x = a) { ... yield y1 }
    y, t = record of=1 carry (x = a) { ... yield y1 }
    x' = pull!(t, y')
    y' = along!(t, x')
    y, y' = tangent of=1 with (x') carry (x = a) { ... yield y1 }
    y = batch carry (x = xs) { ... yield y1 }

Their gradients are transforms of regions; see `passes/autodiff_regions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from adjoint.ir.core import Literal
from adjoint.ir.op import Effect, NotDifferentiable, Op, family, mistake, operation
from adjoint.ir.types import BOOL, I64, TensorType, TraceType, Type, scalar, trace_of

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node, Region

__all__ = [
    "Along", "Batch", "Call", "Cell", "Differentiated", "For", "Gradient", "If", "OfTrace", "Pull", "Record", "RegionOp", "Tangent",
    "While", "known_rounds",
]


class RegionOp(Op):
    """An op whose gradient is a transform of its regions, made by the `grad` pass."""

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        raise NotDifferentiable(f"the gradient of {self.name} is made by the grad pass")


@operation
class If(RegionOp):
    """One of two regions: `y: f32 = if c { ... yield a } else { ... yield b }`.

    c        bool
    regions  two, without parameters, yielding the same types
    result   what the selected region yields
    gradient an `if` on the same condition over the gradients of the regions; the region not taken leaves no cotangent
    errors   TypeError when the condition is not a bool or the regions yield different types
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        if len(operands) != 1 or operands[0] is not scalar(BOOL):
            raise mistake(self, "condition", "one bool", operands, TypeError)
        _expect_regions(self, regions, 2)
        first, second = regions
        if first.params or second.params:
            raise mistake(self, "regions", "without parameters", [*first.params, *second.params], TypeError)
        _expect_types(self, "yield", [a.type for a in first.results], [a.type for a in second.results])
        return tuple(atom.type for atom in first.results)


@operation
class For(RegionOp):
    """A region run for each index: `y: f32 = for i in range(0, 3, 1) carry (a: f32 = x) { ... yield a.1 }`.

    operands start, stop, step (i64, step not 0; Python's range), then the initial carried values
    region   parameters: the index (i64), the carried values; yields the carried values of the next iteration
    result   the carried values after the last iteration
    gradient a `for` that runs the iterations backwards; it reads residuals from stacks that the forward loop filled
    errors   TypeError when the bounds are not i64, or the yielded types are not the carried ones; ValueError when it runs with step 0
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        if len(operands) < 3 or any(bound is not scalar(I64) for bound in operands[:3]):
            raise mistake(self, "range", "three numbers of type i64", operands[:3], TypeError)
        _expect_regions(self, regions, 1)
        (body,) = regions
        carried = list(operands[3:])
        _expect_types(self, "parameters", [scalar(I64), *carried], [p.type for p in body.params])
        _expect_types(self, "yield", carried, [a.type for a in body.results])
        return tuple(carried)


def known_rounds(bounds: Sequence[Atom]) -> range | None:
    """Return the indices of a `for` whose bounds are literals; None if they are not, or if the step is 0, which raises at run time."""
    numbers = [int(bound.value) for bound in bounds if isinstance(bound, Literal) and not isinstance(bound.value, complex)]
    return range(*numbers) if len(numbers) == 3 and numbers[2] != 0 else None


@operation
class While(RegionOp):
    """A region run while a test yields true: `y: f32 = while carry (a: f32 = x) test { yield c } do { yield a.1 }`.

    operands the initial carried values
    regions  test and body; both have the carried values as parameters, and these are the same values; the test yields
             one bool, the body the carried values of the next iteration
    result   the carried values when the test has yielded false
    gradient the forward loop counts its iterations and fills stacks; the gradient is a `for` over the iterations, backwards
    errors   TypeError when the test does not yield one bool, or the yielded types are not the carried ones
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        _expect_regions(self, regions, 2)
        test, body = regions
        if test.params != body.params:
            raise mistake(self, "regions", "of the same carried types", [*test.params, *body.params], TypeError)
        _expect_types(self, "parameters", list(operands), [p.type for p in body.params])
        _expect_types(self, "test", [scalar(BOOL)], [a.type for a in test.results])
        _expect_types(self, "yield", list(operands), [a.type for a in body.results])
        return tuple(operands)


@operation
class Cell(RegionOp):
    """A call of a user's cell: `y: f32 = cell "net.relu" with @relu carry (x: f32 = a) { ... yield y1 }`.

    It computes what its region computes.  Its parameters are new values: the cotangents inside are summed before they are added to those
    outside, with or without hooks.

    title      the cell's name, for display
    symbol     the slot of its backward hooks, or empty; when not empty, its gradient ends in `backward! @symbol`
    rule       host symbol of its own `bprop`, or empty; it replaces the region's gradient: `bprop! @rule(x, out, dout)`
    residuals  how many of the last results are not outputs of the cell but residuals for its gradient
    operands   the cell's tensor arguments
    region     parameters: the arguments; yields the outputs
    result     the outputs
    gradient   that of the region, or the rule's
    errors     TypeError when the parameters do not have the operands' types
    """

    title: str
    symbol: str = ""
    rule: str = ""
    residuals: int = 0

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        _expect_regions(self, regions, 1)
        (body,) = regions
        _expect_types(self, "parameters", list(operands), [p.type for p in body.params])
        return tuple(atom.type for atom in body.results)


@operation
class Call(RegionOp):
    """A call of a function of the module: `y: f32[b] = call @f(x)`.

    operands the arguments
    result   the function's results; their types are given at the binders
    gradient `call @f.bwd` after `call @f.fwd`, made from the function; or the function it names as its `vjp`
    errors   TypeError by the verifier when arguments or results are not the function's
    """

    symbol: str
    results: tuple[Type, ...]

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        _expect_regions(self, regions, 0)
        return self.results


@family
class Differentiated(RegionOp):
    """A region that is run to be differentiated.

    of       how many of the first values that the region yields are differentiated; the others are only returned
    by       symbols of parameters by which the region is also differentiated, as in `by=[@w]`
    weights  their types
    """

    of: int
    by: tuple[str, ...] = ()
    weights: tuple[TensorType, ...] = ()

    def _checked(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[list[Type], list[Type]]:
        """Return the types of the region's parameters and of what it yields."""
        _expect_regions(self, regions, 1)
        (body,) = regions
        params, outputs = [p.type for p in body.params], [a.type for a in body.results]
        if not 1 <= self.of <= len(outputs):
            raise mistake(self, "of", f"in 1..{len(outputs)}", self.of)
        if len(set(self.by)) != len(self.by) or len(self.weights) != len(self.by):
            raise mistake(self, "by", "different symbols, each with its type", f"{self.by} of {_typed(self.weights)}")
        if not all(isinstance(t, TensorType) for t in (*params, *outputs[: self.of])):
            raise mistake(self, "region", "a function of tensors", _typed([*params, *outputs[: self.of]]), TypeError)
        _expect_types(self, "parameters", list(operands[: len(params)]), params)
        return params, outputs


@operation
class Gradient(Differentiated):
    """A region and its gradient: `y: f32, x': f32[3] = gradient of=1 sens (s) carry (x: f32[3] = a) { ... yield y1 }`.

    The pass `differentiate` replaces it by the nodes of the region and of its adjoint.  Values of outer regions are constants for it;
    to differentiate by one, pass it as an argument.

    of       how many of the first values that the region yields are differentiated; the others are only returned
    by       symbols of parameters by which the region is also differentiated, as in `by=[@w]`
    weights  their types; in text they are given only at the last binders
    operands the arguments it is differentiated by, tensors; then either none, or the cotangents of the `of` first values in
             their types (`sens`): without them ones
    region   parameters: the arguments; yields the outputs
    result   all that the region yields, then for each argument and each symbol of `by` its gradient; zeros where nothing flows
    gradient that of the nodes that replace it: it may be inside another one
    errors   TypeError when the parameters do not have the operands' types, or no tensors are differentiated; ValueError when
             `of` is not in 1..outputs, when a symbol is in `by` twice or without its type
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        params, outputs = self._checked(operands, regions)
        if len(operands) != len(params):
            _expect_types(self, "sens", outputs[: self.of], list(operands[len(params) :]))
        return (*outputs, *params, *self.weights)


@operation
class Record(Differentiated):
    """A region run now, whose adjoint runs when it is pulled: `y: f32, t: trace<f32 -> f32[3]> = record of=1 carry (x: f32[3] = a) { .. }`.

    Effects of the region happen once, hooks of its gradient at every `pull!`.  The pass `differentiate` replaces it by
    the nodes of the region.  Only `pull!` and `along!` use a trace: no region yields it, and no loop carries it.

    of       how many of the first values that the region yields are differentiated; the others are only returned
    by       symbols of parameters by which the region is also differentiated, as in `by=[@w]`
    weights  their types; in text they are given in the type of the trace
    operands the arguments it is differentiated by, tensors
    region   parameters: the arguments; yields the outputs
    result   all that the region yields, then the trace
    gradient that of the nodes that replace it
    errors   as those of `gradient`
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        params, outputs = self._checked(operands, regions)
        _expect_types(self, "operands", params, list(operands))
        return (*outputs, trace_of(outputs[: self.of], (*params, *self.weights)))


class OfTrace(RegionOp):
    """An op that asks for derivatives of a region that has run, by the trace of it."""

    effect: ClassVar[Effect] = Effect.HOST
    variadic: ClassVar[bool] = True

    def _trace(self, operands: Sequence[Type], regions: Sequence[Region]) -> TraceType:
        """Return the type of the trace, which is the first operand."""
        _expect_regions(self, regions, 0)
        if not operands or not isinstance(operands[0], TraceType):
            raise mistake(self, "t", "a trace", operands[0] if operands else (), TypeError)
        return operands[0]


@operation
class Pull(OfTrace):
    """The gradients of a region that has run: `x': f32[3], w': f32[3] = pull!(t, s)`.

    The pass `differentiate` replaces it by the adjoint of the recorded region.  A trace may be pulled several times, and in regions
    inside the one that has recorded it.

    t        the trace that a `record` gives
    operands then a cotangent for each value that it differentiates
    result   the gradient by each argument and each symbol of `by`; zeros where nothing flows
    gradient that of the nodes that replace it
    errors   TypeError when `t` is no trace, or the cotangents are not of the types of its values
    """

    name: ClassVar[str] = "pull!"

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        trace = self._trace(operands, regions)
        _expect_types(self, "cotangents", trace.outputs, operands[1:])
        return trace.leaves


@operation
class Along(OfTrace):
    """The derivative along a direction of a region that has run: `y': f32 = along!(t, s)`.

    The pass `differentiate` replaces it by the nodes that compute the tangents of the recorded region (`passes/forward.py`); a branch or
    loop is run again with its tangents, unless it must run once.  Where it cannot, a run computes them along its path.  Hooks on gradients
    are not called for it.
    A trace may be used several times, and in regions inside the one that has recorded it.

    t        the trace that a `record` without `by` gives
    operands then a tangent for each argument that it differentiates by
    result   the tangent of each value that it differentiates; zeros for one that does not depend on an argument
    gradient that of the nodes that replace it
    errors   TypeError when `t` is not a trace, or a tangent does not have the type of its argument
    """

    name: ClassVar[str] = "along!"

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        trace = self._trace(operands, regions)
        _expect_types(self, "tangents", trace.leaves, operands[1:])
        return trace.outputs


@operation
class Tangent(Differentiated):
    """A region and its derivative along a direction: `y: f32, y': f32 = tangent of=1 with (s) carry (x: f32[3] = a) { ... yield y1 }`.

    The pass `differentiate` replaces it by the nodes of the region, and those of the tangents beside them (`passes/forward.py`).  Values of
    outer regions are constants for it.  Hooks on gradients are not called for it.

    of       how many of the first values that the region yields have a tangent among the results; the others are only returned
    by       none: parameters of the module are constants
    weights  none
    operands the arguments, tensors; then for each of them its tangent, of its type
    region   parameters: the arguments; yields the outputs
    result   all that the region yields, then the tangents of the `of` first values; zeros for one that does not depend on an argument
    gradient that of the nodes that replace it: it may be inside a `gradient`
    errors   TypeError when the parameters do not have the operands' types, a tangent not the type of its argument, or no tensors are
             differentiated; ValueError when `of` is not in 1..outputs, or there is a symbol in `by`
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        if self.by:
            raise mistake(self, "by", "empty", self.by)
        params, outputs = self._checked(operands, regions)
        _expect_types(self, "with", params, list(operands[len(params) :]))
        return (*outputs, *outputs[: self.of])


@operation
class Batch(RegionOp):
    """A region for each example of a batch: `y: f32[8] = batch carry (x: f32[3] = xs) { ... yield y1 }`, where `xs` is f32[8, 3].

    It means the loop over the examples, and the results of all examples in the order of the examples.  The pass `differentiate`
    replaces it by nodes that compute the examples at once.  Values of outer regions are the same for all examples.

    operands tensors with the examples along their first axis
    region   parameters: one example of each; yields the results of one example, tensors
    result   for each of them the results of all examples, along a new first axis
    gradient that of the nodes that replace it: it may be inside a `gradient`
    errors   TypeError when something is not a tensor, or the parameters are not one example of the operands; ValueError when there
             is no operand, or the numbers of examples differ
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        _expect_regions(self, regions, 1)
        (body,) = regions
        given = [x for x in operands if isinstance(x, TensorType) and x.rank]
        if not given or len(given) != len(operands):
            raise mistake(self, "operands", "tensors of at least 1 dimension", _typed(operands), TypeError)
        if len({x.shape[0] for x in given}) != 1:
            raise mistake(self, "operands", "of one size along their first axis", _typed(operands))
        _expect_types(self, "parameters", [x.with_shape(x.shape[1:]) for x in given], [p.type for p in body.params])
        found = [a.type for a in body.results]
        results = [x.with_shape((given[0].shape[0], *x.shape)) for x in found if isinstance(x, TensorType)]
        if len(results) != len(found):
            raise mistake(self, "yield", "tensors", _typed(found), TypeError)
        return tuple(results)


def _expect_regions(op: Op, regions: Sequence[Region], count: int) -> None:
    if len(regions) != count:
        raise mistake(op, "regions", f"{count} regions", len(regions), TypeError)


def _expect_types(op: Op, what: str, expected: Sequence[Type], got: Sequence[Type]) -> None:
    if list(expected) != list(got):
        raise mistake(op, what, _typed(expected), _typed(got), TypeError)


def _typed(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"
