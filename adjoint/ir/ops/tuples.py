"""Tuples as values, which pass through a call or a dynamic choice as a whole.

    t: tuple<f32, i64> = group(x, n)
    x: f32 = item(t, index=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from adjoint.ir.op import NotDifferentiable, Op, mistake, operation
from adjoint.ir.types import TensorType, TupleType, Type, tuple_of

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node


@operation
class Group(Op):
    """The tuple of its operands.

    operands values of any types
    result   tuple<..> of them
    gradient the items of the cotangent
    errors   none
    """

    variadic: ClassVar[bool] = True

    def infer(self, *items: Type) -> Type:
        return tuple_of(items)

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        (ct,) = cotangents
        assert ct is not None
        if not all(isinstance(x.type, (TensorType, TupleType)) for x in node.operands):
            raise NotDifferentiable("a tuple of other things than tensors and tuples has no gradient")
        bools = [isinstance(x.type, TensorType) and x.type.dtype.kind == "b" for x in node.operands]
        return [None if is_bool else b.item(ct, index=i) for i, is_bool in enumerate(bools)]


@operation
class Item(Op):
    """One item of a tuple.

    t        tuple<..>
    index    which, from 0
    result   the item
    gradient a tuple with the cotangent in its place and zeros elsewhere
    errors   TypeError when `t` is not a tuple, ValueError when it has no such item
    """

    index: int

    def infer(self, t: Type) -> Type:
        if not isinstance(t, TupleType):
            raise mistake(self, "t", "a tuple", t, TypeError)
        if not 0 <= self.index < len(t.items):
            raise mistake(self, "index", f"in 0..{len(t.items) - 1}", self.index)
        return t.items[self.index]

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        (ct,) = cotangents
        assert ct is not None
        (t,) = node.operands
        assert isinstance(t.type, TupleType)
        return (b.group(*(ct if i == self.index else b.nothing(item) for i, item in enumerate(t.type.items))),)
