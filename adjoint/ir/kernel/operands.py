"""The operands of a kernel: the buffers it is given, and arrays on its stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Protocol

from adjoint.ir.kernel.c_ast import Expr, Index, Integer, Name, Operand, address, expression
from adjoint.ir.kernel.conversion import widened
from adjoint.ir.types import I64, DType, TensorType

__all__ = ["Buffer", "LocalArray", "StageWriter"]


class StageWriter(Protocol):
    """The part of a kernel that a buffer needs, to write a stage over its rows."""

    def stage(self, units: Operand, grain: int, name: str = "i") -> AbstractContextManager[Expr]: ...

    def let(self, value: Operand, name: str = "t", dtype: DType | None = None) -> Expr: ...


class Buffer:
    """An operand: `shape` elements of `dtype`, contiguous, row-major, indexed by one number.

    `x[i]` is an element in the dtype it is computed in; `x.raw(i)` is the element as it is stored, which can only be copied.
    """

    __slots__ = ("alone", "dtype", "name", "pointer", "position", "staged", "type", "written")

    def __init__(self, type_: TensorType, name: str, position: int, *, written: bool):
        self.type = type_
        self.dtype = type_.dtype
        self.name = name
        self.position = position
        """The index of this operand in the array of operands that the kernel is given."""
        self.written = written
        self.alone = True
        """True if no other operand shares its memory; operands that are only read may share."""
        self.staged = False
        """True if the elements are computed as they are read: they can be read only through `window`, each once."""
        self.pointer = Name(name, type_.dtype)

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.sizes

    @property
    def rank(self) -> int:
        return self.type.rank

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return prod(self.type.sizes)

    def window(self, start: Operand, count: Operand, most: int, whole: Sequence[int] = ()) -> tuple[Buffer | LocalArray, Operand]:
        """Make a part of the buffer readable, and return a buffer or array that holds it, with the index of its first element there.

        start, count  the part: `count` elements from `start` on
        most          a number that `count` never exceeds
        whole         numbers, sums of multiples of which `start` and `count` are; none if that is not known
        """
        return self, start

    @property
    def has_rows(self) -> bool:
        """True if `short_rows` can go over the rows of its last axis."""
        return not self.staged

    def short_rows(self, k: StageWriter, rows: int, n: int, grain: int, each: Callable[[Expr, list[Expr]], None]) -> None:
        """Append a stage that does `each` for every row of the buffer, given the row's index and its elements.

        rows, n  the number of rows, and of elements in a row, which the C code is made for
        grain    the rows that a thread must get to be worth waking
        """
        with k.stage(rows, grain, "row") as row:
            each(row, [k.let(self[row * n + j], f"{self.name}_{j}") for j in range(n)])

    def raw(self, index: Operand) -> Index:
        """Return the element as it is stored."""
        return Index(self.pointer, expression(index, I64), self.dtype)

    def __getitem__(self, index: Operand) -> Expr:
        return widened(Index(self.pointer, expression(index, I64), self.dtype))

    def at(self, index: Operand) -> Expr:
        """Return a pointer to the element, to pass to a function."""
        index = expression(index, I64)
        if isinstance(index, Integer) and index.value == 0:
            return self.pointer
        return address(Index(self.pointer, index, self.dtype))


class LocalArray:
    """An array on the stack of the thread that computes."""

    __slots__ = ("dtype", "length", "name", "pointer")
    staged = False

    def __init__(self, dtype: DType, length: int, name: str):
        self.dtype, self.length, self.name = dtype, length, name
        self.pointer = Name(name, dtype)

    def __getitem__(self, index: Operand) -> Expr:
        return widened(Index(self.pointer, expression(index, I64), self.dtype))

    def window(self, start: Operand, count: Operand, most: int, whole: Sequence[int] = ()) -> tuple[Buffer | LocalArray, Operand]:
        """Return itself and `start`: see `Buffer.window`."""
        return self, start
