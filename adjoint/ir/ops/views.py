"""Views: where the elements of a value are among those of another, for ops that only select elements or give them another order.

    y = x[2:, ::-1]     x: f32[8, 6]     y[i, j] is element 17 + 6 i - j of x: sizes (6, 6), strides (6, -1), offset 17

A fused kernel reads the elements where they are, in place of a copy of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.op import Op
from adjoint.ir.ops.loops import StridedAccess, collapsed, row_major

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer

__all__ = ["View", "ViewOp"]


@dataclass(frozen=True)
class View:
    """Where the elements of a value are in the memory of another: the first one, and the stride in elements along each axis.

    sizes    the shape of the value
    strides  one for each axis; that of an axis of one element means nothing
    offset   the index of the first element; None if it is 0, which the C code then assumes
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int | None = None

    @classmethod
    def whole(cls, sizes: Sequence[int]) -> View:
        """Return the view of all elements in their order."""
        return cls(tuple(sizes), row_major(sizes))

    def access(self, buffer: Buffer, shape: Sequence[int]) -> StridedAccess:
        """Return the access pattern by which the value is read in a buffer as if it were broadcast to `shape`."""
        strides = tuple([0 if size == 1 else stride for size, stride in zip(self.sizes, self.strides, strict=True)])
        return StridedAccess(buffer, (*(0,) * (len(shape) - len(strides)), *strides), self.offset)

    def sliced(self, starts: Sequence[int], steps: Sequence[int], sizes: Sequence[int]) -> View:
        """Return the view of `sizes` elements along each axis, from an index on, with a step that may be negative."""
        offset: Any = 0 if self.offset is None else self.offset
        if math.prod(sizes):
            offset = offset + sum(stride * start for stride, start in zip(self.strides, starts, strict=True))
        return View(tuple(sizes), tuple([stride * step for stride, step in zip(self.strides, steps, strict=True)]), offset)

    def transposed(self, permutation: Sequence[int]) -> View:
        """Return the view whose axis i is the axis permutation[i] of this one."""
        return View(tuple([self.sizes[axis] for axis in permutation]), tuple([self.strides[axis] for axis in permutation]), self.offset)

    def reshaped(self, sizes: Sequence[int]) -> View | None:
        """Return the view of the same elements in the same order with another shape; None if no strides describe it."""
        dims, (steps,) = collapsed(self.sizes, [self.strides])
        strides: list[int] = []
        left: Any = 1
        step: Any = 0
        for size in reversed(sizes):
            if size == 1:
                strides.append(0)
                continue
            if left == 1:
                left, step = dims.pop(), steps.pop()
            if left % size != 0:
                return None
            strides.append(step)
            left, step = left // size, step * size
        return View(tuple(sizes), tuple(reversed(strides)), self.offset)


class ViewOp(Op):
    """An op whose result has elements of its only operand, where strides lead to: a kernel may read them there, in place of a copy."""

    def view(self, of: View) -> View | None:
        """Return where the elements of the result are, if those of the operand are where `of` says; None if no strides describe it."""
        raise NotImplementedError(f"{type(self).__name__}.view")
