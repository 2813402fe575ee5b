"""Stacks: last in, first out; a loop saves the residuals of its gradient on them; and `undef`, a value that is never read.

`push` and `pop` are each other's gradient, so the gradient of a loop is a loop that is itself differentiable:

    s.1 = push(s, x)        s', x' = pop(s.1')
    s.1, x = pop(s)         s' = push(s.1', x')

The cotangent of a stack is the stack of the cotangents.  A stack value is used at most once on any path, so C updates it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjoint.ir.op import Op, mistake, operation
from adjoint.ir.types import StackType, Type

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node


@operation
class Stack(Op):
    """An empty stack: `s: stack<f32> = stack()`.

    result   stack<T>, T from the binder
    gradient none: it is empty
    errors   TypeError when the result is not a stack
    """

    results: tuple[Type, ...]

    def infer(self) -> tuple[Type, ...]:
        if len(self.results) != 1 or not isinstance(self.results[0], StackType):
            raise mistake(self, "results", "one stack type", self.results, TypeError)
        return self.results

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return ()


@operation
class Push(Op):
    """The stack `s` with `x` on top.

    s        stack<T>, not used again
    x        T
    result   stack<T>
    gradient `pop` of the cotangent
    errors   TypeError when `x` is not of the stack's item type
    """

    def infer(self, s: Type, x: Type) -> Type:
        if not isinstance(s, StackType):
            raise mistake(self, "s", "a stack", s, TypeError)
        if s.item is not x:
            raise mistake(self, "x", f"{s.item}", x, TypeError)
        return s

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return b.pop(cotangents[0])


@operation
class Pop(Op):
    """The stack without its top, and the top: `s.1: stack<f32>, x: f32 = pop(s)`.

    s        stack<T>, not empty, not used again
    result   stack<T>, T
    gradient `push` on the cotangent of the remaining stack; an item without a cotangent counts as zeros
    errors   TypeError when `s` is not a stack; popping an empty stack is a fault of the compiler
    """

    def infer(self, s: Type) -> tuple[Type, ...]:
        if not isinstance(s, StackType):
            raise mistake(self, "s", "a stack", s, TypeError)
        return s, s.item

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        rest, item = cotangents
        if rest is None:
            rest = b.stack(results=(node.results[0].type,))
        if item is None:
            type_ = node.results[1].type
            item = b.nothing(type_)
        return (b.push(rest, item),)


@operation
class Undef(Op):
    """A value that is never read, for a region that must yield a value on a path without one.

    result   one value of any type, from the binder
    gradient none
    errors   TypeError when there is not exactly one result
    """

    results: tuple[Type, ...]

    def infer(self) -> tuple[Type, ...]:
        if len(self.results) != 1:
            raise mistake(self, "results", "one type", self.results, TypeError)
        return self.results

    def vjp(self, b: Builder, node: Node, *cotangents: Atom | None) -> Sequence[Atom | None]:
        return ()
