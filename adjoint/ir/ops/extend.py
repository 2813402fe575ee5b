"""Tensors continued beyond their ends along axes, by the elements that they have: mirrored, repeated or from the other side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.segments import Segment, emit_segments
from adjoint.ir.ops.shape import check_axis, check_tensor, zero_of
from adjoint.ir.types import BOOL, F16, F32, F64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]

F32_34 = tensor(F32, (3, 4))
F32_234 = tensor(F32, (2, 3, 4))

COLUMNS = 64
"""The number of columns of which one unit of the gradient adds all rows, so that no two units write to the same element."""

_NUMPY: dict[str, Any] = {"reflect": "reflect", "symmetric": "symmetric", "edge": "edge", "circular": "wrap"}
"""For each word for what is beyond the ends, NumPy's word for it in `pad`."""


def _check(op: Op, axis: int, length: int, low: int, high: int, beyond: str) -> None:
    """Check the numbers of elements before and after an axis of so many elements."""
    if beyond not in _NUMPY:
        raise mistake(op, "beyond", " or ".join(_NUMPY), repr(beyond))
    most = length - 1 if beyond == "reflect" else length if beyond != "edge" or length == 0 else max(low, high)
    if not (max(low, high) <= max(0, most) and max(0, -low) + max(0, -high) <= length):
        raise mistake(op, "low", f"at most {most} elements on a side of axis {axis}, and no more taken away than there are", (low, high))


def _segments(length: int, low: int, high: int, beyond: str) -> list[Segment]:
    """Return the parts of the operand of which the result consists along an axis; negative numbers take elements away."""
    first, end = max(0, -low), length - max(0, -high)
    match beyond:
        case "edge":
            before, after, step = 0, length - 1, 0
        case "circular":
            before, after, step = length - low, 0, 1
        case _:
            apart = 1 if beyond == "reflect" else 0  # the element at the end is not repeated
            before, after, step = low - 1 + apart, length - 1 - apart, -1
    return [Segment(max(0, low), before, step), Segment(end - first, first), Segment(max(0, high), after, step)]


@operation
class Extend(Op):
    """The elements continued along each axis: `low` before and `high` after; of a negative number so many are taken away.

    With [1, 2, 3], low = 2, high = 1, before and after it are, by `beyond`: "reflect", mirrored without the end, 3 2 and 2; "symmetric",
    mirrored, 2 1 and 3; "edge", the end repeated, 1 1 and 3; "circular", from the other side, 2 3 and 1.

    x         T[s]
    result    T[s + low + high]
    gradient  for each element the sum of ct at the places where it is, axis by axis from the last, in the order of the places
    errors    TypeError: not a tensor; ValueError: another word, a number for each axis is missing, or more than the axis has
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    beyond: str
    batch = batching.along_axes
    samples = (
        sample(F32_34, low=(0, 3), high=(0, 2), beyond="reflect"),
        sample(F32_34, low=(2, 1), high=(1, 3), beyond="reflect"),
        sample(F32_34, low=(3, 4), high=(3, 0), beyond="symmetric"),
        sample(F32_34, low=(5, 1), high=(0, 7), beyond="edge"),
        sample(F32_34, low=(3, 1), high=(2, 4), beyond="circular"),
        sample(F32_234, low=(1, 0, 0), high=(0, 2, 0), beyond="reflect"),
        sample(F32_34, low=(-1, 2), high=(2, -1), beyond="reflect", note="some taken away"),
        sample(F32_34, low=(-2, -4), high=(-1, 0), beyond="edge", note="nothing left"),
        sample(tensor(F32, (37,)), low=(19,), high=(36,), beyond="reflect", note="one axis"),
        sample(tensor(F64, (2, 67)), low=(1, 33), high=(0, 17), beyond="symmetric", note="more than a vector"),
        sample(tensor(F32, (0, 3)), low=(0, 1), high=(0, 1), beyond="circular"),
        sample(tensor(F32), low=(), high=(), beyond="edge"),
        sample(tensor(F16, (3, 5)), low=(1, 2), high=(1, 2), beyond="reflect", smooth=False, note="half floats"),
        sample(tensor(BOOL, (2, 3)), low=(1, 1), high=(0, 2), beyond="edge", smooth=False, note="bools"),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        for name in ("low", "high"):
            if len(getattr(self, name)) != x.rank:
                raise mistake(self, name, f"one number for each of {x.rank} axes", getattr(self, name))
        ends = list(zip(x.shape, self.low, self.high, strict=True))
        for axis, (length, low, high) in enumerate(ends):
            _check(self, axis, length, low, high, self.beyond)
        return x.with_shape(tuple(length + low + high for length, low, high in ends))

    def reference(self, x: Array) -> Array:
        for axis, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            widths = [(0, 0)] * x.ndim
            widths[axis] = max(0, low), max(0, high)
            wide = np.pad(x, widths, mode=_NUMPY[self.beyond])
            x = np.take(wide, range(max(0, -low), wide.shape[axis] - max(0, -high)), axis)
        return x

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        ends = zip(x.shape, self.low, self.high, strict=True)
        emit_segments(k, x, out, [_segments(length, low, high, self.beyond) for length, low, high in ends])

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Any]:
        sizes = list(tensor_type(node.result).sizes)
        before = tensor_type(node.operands[0])
        for axis in reversed(range(len(sizes))):
            low, high = self.low[axis], self.high[axis]
            if (low, high) != (0, 0):
                sizes[axis] = before.sizes[axis]
                ct = b.extend_gradient(ct, axis=axis, low=low, high=high, beyond=self.beyond, to=tensor(before.dtype, sizes))
        return (ct,)


@operation
class ExtendGradient(Op):
    """The cotangent of the operand of `extend` along one axis: to each of its elements those of ct are added that are copies of it.

    They are added in their order, f16 and bf16 in float32.

    ct        T[s, with low + high more along axis]
    result    to, a T[s]
    gradient  its cotangent, extended as the operand was
    errors    TypeError: not a tensor; ValueError: `axis`, `low`, `high` or `beyond` is not one of `extend` for `to`, another shape of ct
    """

    axis: int
    low: int
    high: int
    beyond: str
    to: TensorType
    batch = batching.along_axes
    samples: ClassVar[Any] = (
        sample(tensor(F32, (3, 9)), axis=1, low=3, high=2, beyond="reflect", to=F32_34),
        sample(tensor(F32, (6, 4)), axis=0, low=2, high=1, beyond="symmetric", to=F32_34),
        sample(tensor(F32, (2, 9, 4)), axis=1, low=5, high=1, beyond="edge", to=F32_234),
        sample(tensor(F32, (2, 3, 10)), axis=2, low=4, high=2, beyond="circular", to=F32_234),
        sample(tensor(F32, (2, 4)), axis=0, low=-2, high=1, beyond="reflect", to=F32_34),
        sample(tensor(F32, (3, 0)), axis=1, low=-4, high=0, beyond="edge", to=F32_34),
        sample(tensor(F64, (2, 90)), axis=1, low=33, high=-10, beyond="reflect", to=tensor(F64, (2, 67)), note="more than a vector"),
        sample(tensor(F32, (5, 70)), axis=0, low=1, high=1, beyond="reflect", to=tensor(F32, (3, 70)), note="several blocks of columns"),
        sample(tensor(F32, (0, 5)), axis=1, low=1, high=1, beyond="circular", to=tensor(F32, (0, 3))),
        sample(tensor(F16, (3, 9)), axis=1, low=3, high=2, beyond="reflect", to=tensor(F16, (3, 4)), smooth=False, note="half floats"),
    )

    def infer(self, ct: Any) -> TensorType:
        check_tensor(self, "ct", ct)
        check_axis(self, self.axis, self.to.rank)
        length = self.to.sizes[self.axis]
        _check(self, self.axis, length, self.low, self.high, self.beyond)
        longer = (*self.to.sizes[: self.axis], length + self.low + self.high, *self.to.sizes[self.axis + 1 :])
        if ct is not tensor(self.to.dtype, longer):
            raise mistake(self, "ct", f"of type {tensor(self.to.dtype, longer)}", ct)
        return self.to

    def reference(self, ct: Array) -> Array:
        length = self.to.sizes[self.axis]
        places = Extend((self.low,), (self.high,), self.beyond).reference(np.arange(length)) if length else np.zeros(0, np.int64)
        result = np.zeros(self.to.sizes, ct.dtype)
        np.add.at(np.moveaxis(result, self.axis, 0), places, np.moveaxis(ct, self.axis, 0))
        return result

    def lower(self, k: Kernel, ct: Buffer, out: Buffer) -> None:
        outer, length, inner = math.prod(out.shape[: self.axis]), out.shape[self.axis], math.prod(out.shape[self.axis + 1 :])
        wide = out.dtype.compute is not out.dtype
        total = k.scratch(out.dtype.compute, out.count, "total") if wide else out
        n, count = k.size(length, "n"), k.size(ct.shape[self.axis], "count")
        m = k.size(inner, "m") if inner != 1 else 1
        blocks = -(-inner // COLUMNS)
        per_row = k.size(blocks, "blocks") if inner != 1 else 1
        with k.stage(outer * blocks, grain_of(ct.shape[self.axis] * min(inner, COLUMNS)), "unit") as unit:
            row: Any = unit
            columns = None
            if inner != 1:
                row = k.let(unit / per_row, "o")
                first = k.let(unit % per_row * COLUMNS, "first")
                columns = first, k.let(k.minimum_of(first + COLUMNS, m), "last")
            target, source = k.let(row * n, "target"), k.let(row * count, "source")

            def each(length: Any, body: Callable[[Any, Any], None]) -> None:
                """Do `body` for each of so many slices, with its number and a column."""
                with k.loop(0, length, "i") as i:
                    if columns is None:
                        body(i, 0)
                    else:
                        with k.loop(*columns, "j") as j:
                            body(i, j)

            each(n, lambda i, j: k.store(total, (target + i) * m + j, zero_of(out.dtype)))
            taken: Any = 0
            for number, (segment, start, step) in enumerate(_segments(length, self.low, self.high, self.beyond)):
                size = k.size(segment, f"size{number}")
                place = target + k.size(start or 0, f"start{number}")
                here = k.let(source + taken, "from") if number else source

                def add(i: Any, j: Any, place: Any = place, here: Any = here, step: int = step) -> None:
                    to = place if step == 0 else place - i if step < 0 else place + i
                    k.increment(total[to * m + j], ct[(here + i) * m + j])

                each(size, add)
                taken = taken + size
            if wide:
                each(n, lambda i, j: k.store(out, (target + i) * m + j, total[(target + i) * m + j]))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Any]:
        rank = self.to.rank
        low, high = (tuple(number if axis == self.axis else 0 for axis in range(rank)) for number in (self.low, self.high))
        return (b.extend(ct, low=low, high=high, beyond=self.beyond),)
