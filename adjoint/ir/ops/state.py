"""State: parameters of the module, named by symbol.  `read @w` reads the current value, `write! @w(v)` sets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from adjoint.ir.op import Effect, Op, mistake, operation
from adjoint.ir.types import TensorType, Type

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node


@operation
class Read(Op):
    """The value of a parameter: `w: f32[4, 3] = read @w`.

    result   the parameter's type
    gradient when `@w` is differentiated, all its reads are one value: its cotangent is one sum over all uses of all reads
    errors   TypeError when the result is not one tensor
    """

    symbol: str
    results: tuple[Type, ...]

    effect: ClassVar[Effect] = Effect.READS

    def infer(self) -> tuple[Type, ...]:
        if len(self.results) != 1 or not isinstance(self.results[0], TensorType):
            raise mistake(self, "results", "one tensor type", self.results, TypeError)
        return self.results

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return ()


@operation
class Write(Op):
    """Sets a parameter: `write! @w(v)`.  Values read before do not change.

    v        the parameter's type
    result   none
    gradient none: the pass `lift-state` removes writes before a function is differentiated
    errors   TypeError when `v` is not a tensor
    """

    symbol: str

    name: ClassVar[str] = "write!"
    effect: ClassVar[Effect] = Effect.WRITES

    def infer(self, v: Type) -> tuple[Type, ...]:
        if not isinstance(v, TensorType):
            raise mistake(self, "v", "a tensor", v, TypeError)
        return ()

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return (None,)
