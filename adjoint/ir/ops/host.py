"""The host: nodes at which the user's Python code runs.

A symbol names a slot (the hooks of a cell of one kind, or a hook function); its contents are looked up when the node runs.

Emitted by the frontend or the tape; identities that take part in gradients:

    a, b = hook @h(x, y)       the gradient calls `callback! @h` on the cotangents of a and b
    y = outputs @h(y0)         the same for hooks of a cell on the gradients of its result, such as backward pre hooks
    attach! @h(x)              when the cotangent of x is complete, `callback! @h` sees it
    pack! @h(y, a, b)          the gradient of the op that has computed y reads what `unpack! @h` gives in their place

Emitted where a graph is made fast: `observe!`, a forward hook that is expected to change nothing.
Emitted by gradients: `callback!`, `backward!` (the backward hooks of a cell), `bprop!` (a cell's own bprop), `unpack!`.
Emitted by both: `apply!`, any Python function on tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Effect, NotDifferentiable, Op, mistake, operation
from adjoint.ir.types import Type

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node

__all__ = ["Apply", "Attach", "Bprop", "Callback", "CellCallback", "GradientHost", "Hook", "NumberAccess", "Observe", "Outputs",
           "Pack", "Unpack"]

_OPERATORS = ("value", "gradient")
_KINDS = (*_OPERATORS, "tensor", "output")


class _HostCall(Op):
    """Python code that runs within a gradient: only a tape that records what it computes can differentiate it."""

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        raise NotDifferentiable(
            f"{self.name} @{self.symbol} calls Python, which has no gradient in IR: take the gradient in Python, with `grad`")


class GradientHost(_HostCall):
    """Python code that sees values in tensors of its own: what a gradient calls with cotangents, and hooks that only observe."""


@operation
class Hook(Op):
    """An identity on any number of values whose cotangents a callback sees: `a: f32, b: f32 = hook @h(x, y)`.

    operands tensors
    result   the operands
    kind     "value" (HookBackward) or "gradient" (InsertGradientOf)
    gradient `callback! @h` on the cotangents of the results, zeros for one that has none
    errors   ValueError for another kind
    """

    symbol: str
    kind: str = "value"

    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.READS

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        if self.kind not in _OPERATORS:
            raise mistake(self, "kind", " or ".join(map(repr, _OPERATORS)), self.kind)
        return operands

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        given = [b.zeros(tensor_type(x)) if ct is None else ct for x, ct in zip(node.operands, cotangents, strict=True)]
        return b.emit_node(Callback(self.symbol, self.kind, (True,) * len(given)), given).results


@operation
class Outputs(Op):
    """An identity on the results of a cell, for hooks on their gradients: `y: f32 = outputs @relu.pre(y0)`.

    operands tensors
    result   the operands
    gradient `callback! @relu.pre` of kind "output" on the cotangents there are; the slot of the symbol says which hooks these are
    errors   none
    """

    symbol: str

    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.READS

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        return operands

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        present = tuple(ct is not None for ct in cotangents)
        given = [ct for ct in cotangents if ct is not None]
        seen = iter(b.emit_node(Callback(self.symbol, "output", present), given).results)
        return [next(seen) if there else None for there in present]


@operation
class Attach(Op):
    """Attaches callbacks to a value: `attach! @h(x)`.

    x        a tensor
    result   none
    gradient when the cotangent of `x` is complete, `callback! @h` sees it; several run in the order they were attached
    errors   none
    """

    symbol: str

    name: ClassVar[str] = "attach!"
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, x: Type) -> tuple[Type, ...]:
        return ()

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return (None,)


@operation
class Pack(Op):
    """Gives the tensors that the gradient of an op reads to a hook, which packs them: `pack! @h(y, a, b, places=[0, 1])`.

    operands a result of the op, whose gradient this concerns; then the tensors that are packed
    places   the place of each packed tensor among the op's operands, followed by its results
    result   none
    gradient none of its own: that of the op reads what `unpack! @h` returns in the place of these tensors
    errors   ValueError when `places` does not fit the operands
    """

    symbol: str
    places: tuple[int, ...]

    name: ClassVar[str] = "pack!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        if len(operands) != 1 + len(self.places):
            raise mistake(self, "places", f"{len(operands) - 1} numbers", self.places)
        return ()

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return tuple(None for _ in node.operands)


@operation
class Unpack(GradientHost):
    """Asks a hook for tensors that it has packed: `a: f32, b: f32 = unpack! @h(a0, b0)`.

    operands the tensors that `pack! @h` was given
    result   for each operand what the hook returns in its place, of its type
    gradient ct, for the operand itself: the hook says which numbers a gradient reads, not what they depend on
    errors   none
    """

    symbol: str

    name: ClassVar[str] = "unpack!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        return operands

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return cotangents


@operation
class Callback(GradientHost):
    """Calls Python on cotangents: `y: f32 = callback! @h(ct, kind="value")`.

    operands the cotangents there are
    kind     "value" (HookBackward), "tensor" (register_hook), "gradient" (InsertGradientOf), "output" (hooks of a cell on its results)
    present  for each value the callback is about, whether it has a cotangent
    result   one for each operand, of its type; the callback's None means unchanged
    gradient none in the IR
    errors   ValueError for another kind, or when `present` does not fit the operands
    """

    symbol: str
    kind: str = "tensor"
    present: tuple[bool, ...] = (True,)

    name: ClassVar[str] = "callback!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        if self.kind not in _KINDS:
            raise mistake(self, "kind", f"one of {', '.join(_KINDS)}", self.kind)
        if sum(self.present) != len(operands):
            raise mistake(self, "present", f"true {len(operands)} times", self.present)
        return operands


@operation
class CellCallback(GradientHost):
    """Calls a cell's backward hooks: `gx: f32 = backward! @relu(gx0, gy)`.

    operands the cotangents of the cell's inputs there are, then those of its outputs
    inputs   for each input, whether it has a cotangent
    outputs  the same for each output
    result   the new cotangents of the inputs, as many as there were
    gradient none in the IR
    errors   ValueError when `inputs` and `outputs` do not fit the operands
    """

    symbol: str
    inputs: tuple[bool, ...] = (True,)
    outputs: tuple[bool, ...] = (True,)

    name: ClassVar[str] = "backward!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        if sum(self.inputs) + sum(self.outputs) != len(operands):
            raise mistake(self, "operands", f"{sum(self.inputs)} and {sum(self.outputs)} tensors", len(operands))
        return operands[: sum(self.inputs)]


@operation
class Bprop(GradientHost):
    """Calls a cell's own bprop: `gx: f32 = bprop! @net.bprop(x, out, dout)`.

    operands the cell's inputs, its outputs, then the cotangents of its outputs there are
    inputs   number of inputs
    outputs  number of outputs
    present  for each output, whether it has a cotangent; bprop sees zeros for one that has none
    result   one cotangent for each input, of its type
    gradient none in the IR
    errors   ValueError when the counts do not fit the operands
    """

    symbol: str
    inputs: int = 1
    outputs: int = 1
    present: tuple[bool, ...] = (True,)

    name: ClassVar[str] = "bprop!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        if len(self.present) != self.outputs or self.inputs + self.outputs + sum(self.present) != len(operands):
            raise mistake(self, "operands", f"{self.inputs} inputs, {self.outputs} outputs and their cotangents", len(operands))
        return operands[: self.inputs]


@operation
class Apply(_HostCall):
    """Calls Python on tensors: `y: f32 = apply! @h(x)`: forward hooks, prints.

    operands any values
    result   what Python returns; the types are given at the binders
    gradient none in the IR
    errors   none
    """

    symbol: str
    results: tuple[Type, ...]

    name: ClassVar[str] = "apply!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        return self.results


@operation
class Observe(GradientHost):
    """Calls forward hooks that are expected to return what they are given: `observe! @h(a, y)`.

    operands the arguments of the cell, then, for hooks after `construct`, its results
    result   none: what follows uses the operands
    gradient none: what the operands are used for besides is differentiated
    errors   none
    """

    symbol: str

    name: ClassVar[str] = "observe!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        return ()

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return tuple(None for _ in node.operands)


class NumberAccess(Apply):
    """An `apply!` that only reads or writes numbers which Python holds: it runs none of the user's code and keeps no tensor.

    In text it is an `apply!`.
    """
