"""Patches of images: the elements under a window at each of its positions, and the sum of patches at their positions.

A window of `kernel` elements, `dilation` apart, moves by `stride` over each plane; `padding` ((top, bottom), (left, right)) surrounds the
plane with zeros.  The two ops are linear and are gradients of each other, so gradients of any order exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD, grain_of
from adjoint.ir.ops.windows import UNPADDED, Padding, Pair
from adjoint.ir.types import F32, I32, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["Fold", "Unfold"]

Array = Any


class _Patches(Op):
    """The geometry of patches."""

    kernel: Pair
    stride: Pair
    padding: Padding
    dilation: Pair
    batch = batching.of_items

    def patches(self, x: Any) -> TensorType:
        """Return the type of the patches of planes of type x."""
        for name, sizes in (("kernel", self.kernel), ("stride", self.stride), ("dilation", self.dilation)):
            if min(sizes) < 1:
                raise mistake(self, name, "positive", sizes)
        if min(min(side) for side in self.padding) < 0:
            raise mistake(self, "padding", "non-negative", self.padding)
        if not isinstance(x, TensorType) or x.dtype.kind == "b":
            raise mistake(self, "x", "a tensor of numbers", x, TypeError)
        if x.rank != 4:
            raise mistake(self, "x", "of shape [n, c, h, w]", x)
        places = [
            (size + before + after - apart * (kernel - 1) - 1) // step + 1
            for size, (before, after), apart, kernel, step in zip(
                x.sizes[2:], self.padding, self.dilation, self.kernel, self.stride, strict=True)]
        if min(places) < 1:
            raise mistake(self, "x", f"at least as large as a window of {self.kernel}, padding included", x)
        return x.with_shape((*x.shape[:2], *self.kernel, *places))

    def at(self, framed: Array, places: Sequence[int], a: int, b: int) -> Array:
        """Return the view of the padded planes at one position within every window."""
        rows, columns = (
            slice(place * apart, place * apart + (count - 1) * step + 1, step)
            for place, apart, count, step in zip((a, b), self.dilation, places, self.stride, strict=True))
        return framed[:, :, rows, columns]

    def geometry(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "stride": self.stride, "padding": self.padding, "dilation": self.dilation}


class _Rows:
    """The rows of patches in C: one for each plane, each position in the window and each row of windows.

    height, width   of a plane
    rows, columns   of windows
    """

    def __init__(self, k: Kernel, op: _Patches, plane: Sequence[int], patches: Sequence[int]):
        self.k = k
        self.height, self.width = k.size(plane[2], "h"), k.size(plane[3], "w")
        self.kernel = k.size(op.kernel[0], "kernel_h"), k.size(op.kernel[1], "kernel_w")
        self.rows, self.columns = k.size(patches[4], "rows"), k.size(patches[5], "columns")
        across = op.stride[1]
        self.stride = k.size(op.stride[0], "stride_h"), across if across <= 2 else k.size(across, "stride_w")
        self.before = k.size(op.padding[0][0], "top"), k.size(op.padding[1][0], "left")
        self.dilation = k.size(op.dilation[0], "dilation_h"), k.size(op.dilation[1], "dilation_w")

    def inside(self, a: Expr, b: Expr, row: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Return where a row of windows has its elements: row and first column in the plane, and the windows that have one there."""
        k = self.k
        y = k.let(row * self.stride[0] - self.before[0] + a * self.dilation[0], "y")
        x = k.let(b * self.dilation[1] - self.before[1], "x_start")
        step = self.stride[1]
        first = k.let(k.select(k.less(x, 0), (step - 1 - x) / step, 0), "first_inside")
        behind = k.let(k.select(k.less(x, self.width), (self.width - x + (step - 1)) / step, 0), "behind_inside")
        begin = k.let(k.minimum_of(first, self.columns), "begin_window")
        end = k.let(k.minimum_of(behind, self.columns), "end_window")
        return y, x, begin, k.let(k.maximum_of(begin, end), "last_window")

    def when_inside(self, y: Expr) -> Any:
        return self.k.when(self.k.both(self.k.greater_equal(y, 0), self.k.less(y, self.height)))


@operation
class Unfold(_Patches):
    """The elements under a window at each of its positions.

    x         T[n, c, h, w], T any number type; h and w known
    result    T[n, c, kh, kw, h', w'], h' = (h + top + bottom - dilation (kh - 1) - 1) / stride + 1, rounded down
    gradient  fold(ct)
    errors    ValueError: x not of rank 4 or smaller than a window, a size below 1, negative padding; TypeError: bool
    """

    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    samples = (
        sample(tensor(F32, (2, 3, 4, 5)), kernel=(2, 3)),
        sample(tensor(F32, (1, 2, 5, 6)), kernel=(3, 2), stride=(2, 3), padding=((1, 0), (2, 1)), dilation=(1, 2)),
        sample(tensor(F32, (1, 1, 2, 2)), kernel=(1, 1), padding=((3, 3), (4, 0)), stride=(2, 2)),
        sample(tensor(F32, (0, 2, 3, 3)), kernel=(2, 2)),
        sample(tensor(I32, (1, 1, 3, 3)), kernel=(2, 2), padding=((1, 1), (0, 0)), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        return self.patches(x)

    def reference(self, x: Array) -> Array:
        framed = np.pad(x, ((0, 0), (0, 0), *self.padding))
        shape = self.patches(tensor(I64, x.shape)).sizes
        result = np.zeros(shape, x.dtype)
        for a, b in np.ndindex(self.kernel):
            result[:, :, a, b] = self.at(framed, shape[4:], a, b)
        return result

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        s = _Rows(k, self, x.shape, out.shape)
        zero = k.literal(0.0 if out.dtype.is_float else 0, out.dtype.compute)
        units = out.count // max(1, out.shape[5])
        with k.stage(units, grain_of(out.shape[5] + 8), "unit") as unit:
            row, place = k.let(unit % s.rows, "row"), k.let(unit / s.rows, "place")
            b, a = k.let(place % s.kernel[1], "b"), k.let(place / s.kernel[1] % s.kernel[0], "a")
            plane = k.let(place / (s.kernel[0] * s.kernel[1]), "plane")
            target = k.let(unit * s.columns, "target")
            y, start, begin, end = s.inside(a, b, row)
            with s.when_inside(y):
                source = k.let((plane * s.height + y) * s.width + start, "source")
                with k.loop(0, begin, "c") as c:
                    k.store(out, target + c, zero)
                with k.loop(begin, end, "c") as c:
                    k.store(out, target + c, x[source + c * s.stride[1]])
                with k.loop(end, s.columns, "c") as c:
                    k.store(out, target + c, zero)
            with k.otherwise(), k.loop(0, s.columns, "c") as c:
                k.store(out, target + c, zero)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return (b.fold(ct, to=node.operands[0].type, **self.geometry()),)


@operation
class Fold(_Patches):
    """The sum of patches at their positions: what `unfold` takes from a plane is added there again; elements in the padding are dropped.

    x         T[n, c, kh, kw, h', w'], T any number type: patches of `to`
    to        the type of the planes, T[n, c, h, w]
    result    of type `to`; patches are added in the order of their elements, row by row, two-byte floats in float32
    gradient  unfold(ct)
    errors    ValueError: x not of the type of the patches of `to`, geometry as in unfold; TypeError: bool
    """

    to: TensorType
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    samples = (
        sample(tensor(F32, (2, 3, 2, 3, 3, 3)), to=tensor(F32, (2, 3, 4, 5)), kernel=(2, 3)),
        sample(tensor(F32, (1, 2, 3, 2, 2, 3)), to=tensor(F32, (1, 2, 5, 6)), kernel=(3, 2), stride=(2, 3), padding=((1, 0), (2, 1)),
               dilation=(1, 2)),
        sample(tensor(F32, (1, 1, 1, 1, 4, 3)), to=tensor(F32, (1, 1, 2, 2)), kernel=(1, 1), padding=((3, 3), (4, 0)), stride=(2, 2)),
        sample(tensor(F32, (0, 2, 2, 2, 2, 2)), to=tensor(F32, (0, 2, 3, 3)), kernel=(2, 2)),
    )

    def infer(self, x: Any) -> TensorType:
        if self.patches(self.to) is not x:
            raise mistake(self, "x", f"of type {self.patches(self.to)}, that of the patches of {self.to}", x)
        return self.to

    def reference(self, x: Array) -> Array:
        n, c, h, w = self.to.sizes
        (top, bottom), (left, right) = self.padding
        framed = np.zeros((n, c, h + top + bottom, w + left + right), x.dtype)
        for a, b in np.ndindex(self.kernel):
            self.at(framed, x.shape[4:], a, b)[...] += x[:, :, a, b]
        return framed[:, :, top : top + h, left : left + w]

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        s = _Rows(k, self, out.shape, x.shape)
        dtype, planes, area = out.dtype.compute, out.shape[0] * out.shape[1], out.shape[2] * out.shape[3]
        narrow = out.dtype is not dtype
        total = k.scratch(dtype, out.count, "total") if narrow else out
        zero = k.literal(0.0 if dtype.is_float else 0, dtype)
        work = x.count // max(1, planes) + area
        with k.stage(planes, max(1, ELEMENTS_PER_THREAD // max(1, work)), "plane") as plane:
            first, patch = k.let(plane * s.height * s.width, "first"), k.let(
                plane * s.kernel[0] * s.kernel[1] * s.rows * s.columns, "patch")
            with k.loop(0, s.height * s.width, "i") as i:
                k.store(total, first + i, zero)
            with k.loop(0, s.kernel[0], "a") as a, k.loop(0, s.kernel[1], "b") as b, k.loop(0, s.rows, "row") as row:
                y, start, begin, end = s.inside(a, b, row)
                with s.when_inside(y):
                    source = k.let(patch + ((a * s.kernel[1] + b) * s.rows + row) * s.columns, "source")
                    target = k.let(first + y * s.width + start, "target")
                    with k.loop(begin, end, "c") as c:
                        k.increment(total[target + c * s.stride[1]], x[source + c])
            if narrow:
                with k.loop(0, s.height * s.width, "i") as i:
                    k.store(out, first + i, total[first + i])

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return (b.unfold(ct, **self.geometry()),)
