"""Unrolling: the loops of a kernel done in advance, for a few numbers whose places are all known.

    for (int64_t i = begin; i < end; i++) {          const float out_0 = x_0 * y_0;
        out[i] = x[i] * y[i];                        const float out_1 = x_1 * y_1;
    }

An op describes its kernel once, by `lower`.  For operands of known small shapes, an `Unroller` goes through these statements as a processor
would: sizes and indices are numbers, an element of a buffer is a local variable of C, and what is left is one statement for each number
that is computed.  So any op unrolls whose loops, indices and branches depend on sizes only, with its own order of operations, and without a
method for that.  One whose indices depend on elements, or that calls a function on memory, does not.

An operation that changes no bits is left out: a product with 1, and a sum with 0 if the other term cannot be -0.0.  Gradients of slices add
many zeros.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from adjoint.ir.kernel.c_ast import (
    Assign,
    Binary,
    Block,
    Call,
    CastTo,
    Comment,
    Conditional,
    Declare,
    DeclareArray,
    DeclarePointer,
    Expr,
    For,
    If,
    Increment,
    Index,
    Integer,
    Name,
    Real,
    Return,
    Statement,
    Unary,
    While,
    binary,
    wrapped,
)
from adjoint.ir.kernel.conversion import cast
from adjoint.ir.kernel.kernel import BEGIN, END, Kernel
from adjoint.ir.kernel.operands import Buffer
from adjoint.ir.types import BOOL, I64, DType

__all__ = ["CannotUnroll", "Unroller"]

_ROUNDS: Final = 4096
"""The limit for the statements of one kernel that are gone through; one with more is for more than a few numbers."""

_NUMBERS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "&&": lambda a, b: int(bool(a and b)), "||": lambda a, b: int(bool(a or b)),
}
"""What C's operators do with two integers; a quotient is rounded towards zero, see `_quotient`."""

_FUNCTION: Final = 16
"""The cost of a call of a function such as `adjoint_exp_f32`, which is written out where it is called, in additions."""

_TERMS: Final = ("adjoint_term_", "adjoint_next_term_")
"""Functions that are one instruction."""


class CannotUnroll(Exception):
    """A kernel is not unrolled, since what it does depends on numbers, or is too much."""


class _Memory(list[Any]):
    """The elements of a buffer or of a local array, each as it is stored; None for one that was not written yet."""


class _Pointer:
    """A pointer to an element of a memory."""

    __slots__ = ("memory", "offset")

    def __init__(self, memory: _Memory, offset: int):
        self.memory, self.offset = memory, offset


class Unroller:
    """Goes through the statements of a kernel, and writes what is left of them into another one.

    into  the kernel that is written to: its stage is open
    """

    def __init__(self, into: Kernel):
        self._into = into
        self._known: dict[str, Expr | _Pointer] = {}
        self._left = 0
        self._not_minus_zero: set[Expr] = set()
        self.cost = 0
        """How many operations of C were written so far; a function that is not one of C's own counts as `_FUNCTION`."""

    def run(self, kernel: Kernel, buffers: Sequence[Buffer], elements: Sequence[Sequence[Expr | None]]) -> list[_Memory]:
        """Do what a kernel does, and return the elements of its buffers afterwards.

        kernel    what `lower` has described, for fixed sizes
        buffers   its operands and results
        elements  for each, its elements as they are stored; None for those that are yet to be written

        CannotUnroll if it does not only depend on sizes which statements are done, and on which elements.
        """
        self._left = _ROUNDS
        memories = [_Memory(each) for each in elements]
        given = {buffer.name: memory for buffer, memory in zip(buffers, memories, strict=True)}
        scratch = {buffer.name: _Memory([None] * buffer.count) for buffer in kernel.scratch_buffers()}
        for units, body in kernel.stages():
            if not units:
                continue
            self._known = {name: _Pointer(memory, 0) for name, memory in (given | scratch).items()}
            self._known |= {BEGIN.name: Integer(0, I64), END.name: Integer(units, I64)}
            if not self._all(body):
                raise CannotUnroll("a stage without an end")
        return memories

    # -- statements
    def _all(self, body: Sequence[Statement]) -> bool:
        """Go through statements; return True if one of them ended the kernel without a failure."""
        return any(self._one(statement) for statement in body)

    def _one(self, statement: Statement) -> bool:
        self._left -= 1
        if self._left < 0:
            raise CannotUnroll("too many statements")
        match statement:
            case Declare(name, _, value):
                self._known[name] = self._named(self.value(value), name)
            case DeclareArray(name, dtype, length, zeroed):
                first = cast(0, dtype) if zeroed else None
                self._known[name] = _Pointer(_Memory([first] * length), 0)
            case DeclarePointer(name, _, value):
                self._known[name] = self._pointer(value)
            case Assign(target, value):
                self._assign(target, self.value(value))
            case Increment(target, value):
                self._assign(target, binary("+", self.value(target), self.value(value)))
            case For(variable, start, stop, step, body):
                i, end = self._number(start), self._number(stop)
                while i < end:
                    self._known[variable] = Integer(i, I64)
                    if self._all(body):
                        return True
                    i += step
            case While(condition, body):
                while self._number(condition):
                    if self._all(body):
                        return True
            case If(condition, body, otherwise):
                return self._all(body if self._number(condition) else otherwise)
            case Block(body):
                return self._all(body)
            case Return(Integer(0)):
                return True
            case Comment():
                pass
            case _:
                raise CannotUnroll(f"{type(statement).__name__} has an effect of its own")
        return False

    def _assign(self, target: Expr, value: Expr) -> None:
        if isinstance(target, Name):
            self._known[target.name] = self._named(value, target.name)
            return
        assert isinstance(target, Index)
        place = self._place(target)
        name = target.base.name if isinstance(target.base, Name) else "t"
        place.memory[place.offset] = self._named(value, f"{name}_{place.offset}" if len(place.memory) > 1 else name)

    def _named(self, value: Expr, name: str) -> Expr:
        """Return an expression that may be used several times: a literal or a local that holds the value."""
        if isinstance(value, (Name, Integer, Real)):
            return value
        self.cost += 1
        made = self._into.let(value, name)
        if self._is_not_minus_zero(value):
            self._not_minus_zero.add(made)
        return made

    def _is_not_minus_zero(self, value: Expr) -> bool:
        """Return True for a float that is known not to be -0.0: a sum is -0.0 only if both of its terms are."""
        match value:
            case Real(number):
                return number != 0 or math.copysign(1, number) > 0
            case Binary("+", left, right):
                return self._is_not_minus_zero(left) or self._is_not_minus_zero(right)
            case _:
                return value in self._not_minus_zero

    def _simpler(self, e: Binary) -> Expr:
        """Return a product with 1, or a sum with 0, as its other operand, where that has the same bits; another expression as it is."""
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if isinstance(one, Real) and ((e.operator == "*" and one.value == 1) or (
                    e.operator == "+" and one.value == 0 and (math.copysign(1, one.value) < 0 or self._is_not_minus_zero(other)))):
                return other
        return e

    # -- expressions
    def value(self, expression: Expr) -> Expr:
        """Return an expression in terms of the locals of the kernel that is written, with what is known of it computed."""
        match expression:
            case Integer() | Real():
                return expression
            case Name(name):
                known = self._known.get(name)
                if not isinstance(known, Expr):
                    raise CannotUnroll(f"`{name}` has no value, or is a pointer")
                return known
            case Index():
                return self._element(expression)
            case Binary("!=", Index(dtype=dtype) as element, Integer(0)) if dtype is BOOL:
                return self._element(element)
            case Binary():
                made = _binary(expression.operator, self.value(expression.left), self.value(expression.right), expression.dtype)
                return self._simpler(made) if isinstance(made, Binary) else made
            case Unary("!", operand):
                given = self.value(operand)
                return Integer(int(not given.value), BOOL) if isinstance(given, Integer) else Unary("!", given, BOOL)
            case Unary("-" | "~" as symbol, operand, dtype):
                given = self.value(operand)
                return -given if symbol == "-" and isinstance(given, (Integer, Real)) else Unary(symbol, given, dtype)
            case Conditional(condition, then, otherwise, dtype):
                chosen = self.value(condition)
                if isinstance(chosen, Integer):
                    return self.value(then if chosen.value else otherwise)
                return Conditional(chosen, self.value(then), self.value(otherwise), dtype)
            case CastTo(operand, dtype):
                given = self.value(operand)
                return cast(given, dtype) if isinstance(given, Integer) and given.dtype is not BOOL else CastTo(given, dtype)
            case Call(function, arguments, dtype):
                self.cost += _FUNCTION if function.startswith("adjoint_") and not function.startswith(_TERMS) else 1
                return Call(function, tuple([self.value(each) for each in arguments]), dtype)
            case _:
                raise CannotUnroll(f"an expression of another kind, {type(expression).__name__}")

    def _number(self, expression: Expr) -> int:
        """Return an integer that depends on sizes only."""
        match self.value(expression):
            case Integer(value=value):
                return value
            case _:
                raise CannotUnroll("what is done depends on elements")

    def _pointer(self, expression: Expr) -> _Pointer:
        match expression:
            case Name(name) if isinstance(known := self._known.get(name), _Pointer):
                return known
            case Unary("&", Index() as element):
                return self._place(element, after=True)
            case _:
                raise CannotUnroll("a pointer to something else than elements")

    def _place(self, element: Index, *, after: bool = False) -> _Pointer:
        """Return where an element is.

        after  True: it may also be the place after the last element
        """
        base = self._pointer(element.base)
        place = base.offset + self._number(element.index)
        if not 0 <= place < len(base.memory) + after:
            raise CannotUnroll("an element outside of its buffer")
        return _Pointer(base.memory, place)

    def _element(self, element: Index) -> Expr:
        place = self._place(element)
        value = place.memory[place.offset]
        if value is None:
            raise CannotUnroll("an element that was not written")
        return value


def _binary(symbol: str, left: Expr, right: Expr, dtype: DType) -> Expr:
    """Return `left symbol right`, as a literal if both are integers."""
    if isinstance(left, Integer) and isinstance(right, Integer):
        if symbol in "/%":
            if right.value == 0:
                raise CannotUnroll("a division by zero")
            quotient = _quotient(left.value, right.value)
            return Integer(quotient if symbol == "/" else left.value - quotient * right.value, dtype)
        return Integer(wrapped(int(_NUMBERS[symbol](left.value, right.value)), dtype), dtype)
    match symbol, left, right:
        case ("&&", Integer(value=0), _) | ("||", Integer(value=1), _):
            return left
        case ("&&" | "||", Integer(), _):
            return right
        case ("&&" | "||", _, Integer()) if right.value == (symbol == "&&"):
            return left
    return Binary(symbol, left, right, dtype)


def _quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
