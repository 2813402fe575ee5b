"""Matrix products and convolutions.

    C = A @ B         A' = C' @ B^T                      B' = A^T @ C'
    y = x * w         x' = input_gradient(y', w)         w' = weight_gradient(x, y')

The three convolution ops are linear in each operand and one another's gradients, so gradients of any order exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import F32, TensorType, broadcast_shapes, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node

__all__ = ["Convolution", "ConvolutionInputGradient", "ConvolutionWeightGradient", "MatMul"]

Array = Any
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]
UNPADDED: Padding = ((0, 0), (0, 0))


@operation
class MatMul(Op):
    """The matrix product of the last two axes; the axes before them are broadcast.

    operands a  T[..., m, k], or T[..., k, m] with `ta`; T any number type
             b  T[..., k, n], or T[..., n, k] with `tb`
    result   T[..., m, n]: sums over k, of two-byte floats in float32, rounded once
    gradient a receives ct @ b^T, b receives a^T @ ct, summed over broadcast axes
    errors   ValueError: rank below 2, inner sizes that differ, axes that do not broadcast; TypeError: dtypes that differ, bool
    """

    ta: bool = False
    tb: bool = False
    name = "matmul"
    pack = "matmul"
    samples = (
        sample(tensor(F32, (3, 4)), tensor(F32, (4, 5))),
        sample(tensor(F32, (4, 3)), tensor(F32, (4, 5)), ta=True),
        sample(tensor(F32, (3, 4)), tensor(F32, (5, 4)), tb=True),
        sample(tensor(F32, (4, 3)), tensor(F32, (5, 4)), ta=True, tb=True),
        sample(tensor(F32, (2, 1, 3, 4)), tensor(F32, (5, 4, 2))),
        sample(tensor(F32, (1, 7)), tensor(F32, (7, 1))),
        sample(tensor(F32, (0, 4)), tensor(F32, (4, 5))),
        sample(tensor(F32, (3, 0)), tensor(F32, (0, 5))),
    )

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        for name, x in (("a", a), ("b", b)):
            if not isinstance(x, TensorType) or x.dtype.kind == "b":
                raise mistake(self, name, "a tensor of numbers", x, TypeError)
            if x.rank < 2:
                raise mistake(self, name, "of at least 2 dimensions", x)
        if a.dtype is not b.dtype:
            raise mistake(self, "b", f"of dtype {a.dtype}, as 'a'", b, TypeError)
        m, inner = (a.shape[-1], a.shape[-2]) if self.ta else (a.shape[-2], a.shape[-1])
        again, n = (b.shape[-1], b.shape[-2]) if self.tb else (b.shape[-2], b.shape[-1])
        if inner != again:
            raise mistake(self, "b", f"a matrix with {inner} rows{' (transposed)' if self.tb else ''}, to multiply {a}", b)
        try:
            lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise mistake(self, "b", f"of leading dimensions that broadcast with those of {a}", b) from None
        return tensor(a.dtype, (*lead, m, n))

    def reference(self, a: Array, b: Array) -> Array:
        return np.matmul(a.swapaxes(-1, -2) if self.ta else a, b.swapaxes(-1, -2) if self.tb else b)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, y = node.operands
        by_x = b.matmul(y, ct, ta=self.tb, tb=True) if self.ta else b.matmul(ct, y, ta=False, tb=not self.tb)
        by_y = b.matmul(ct, x, ta=True, tb=self.ta) if self.tb else b.matmul(x, ct, ta=not self.ta, tb=False)
        return b.unbroadcast(by_x, to=x.type), b.unbroadcast(by_y, to=y.type)


class _Convolution(Op):
    """The geometry of a convolution of [n, c, h, w] with [o, c / groups, kh, kw]."""

    stride: Pair
    padding: Padding
    dilation: Pair
    groups: int
    pack = "convolution"

    def output(self, x: TensorType, w: TensorType) -> TensorType:
        """The type of the result; ValueError or TypeError when x and w do not fit."""
        for name, t in (("x", x), ("w", w)):
            if not isinstance(t, TensorType) or not t.dtype.is_float:
                raise mistake(self, name, "a tensor of floating point numbers", t, TypeError)
            if t.rank != 4:
                raise mistake(self, name, "of 4 dimensions", t)
        if x.dtype is not w.dtype:
            raise mistake(self, "w", f"of dtype {x.dtype}, as 'x'", w, TypeError)
        if min(self.stride) < 1 or min(self.dilation) < 1 or self.groups < 1:
            raise mistake(self, "stride", "positive, as dilation and groups", (self.stride, self.dilation, self.groups))
        if min(min(side) for side in self.padding) < 0:
            raise mistake(self, "padding", "not negative", self.padding)
        if x.shape[1] != w.shape[1] * self.groups:  # type: ignore[operator]
            raise mistake(self, "w", f"[o, {x.shape[1]} / groups={self.groups}, kh, kw] for {x}", w)
        if w.shape[0] % self.groups:  # type: ignore[operator]
            raise mistake(self, "groups", f"a divisor of the {w.shape[0]} output channels", self.groups)
        sizes: list[Any] = []
        for size, kernel, stride, (before, after), dilation in zip(
            x.shape[2:], w.shape[2:], self.stride, self.padding, self.dilation, strict=True
        ):
            room = size + before + after - dilation * (kernel - 1) - 1  # type: ignore[operator]
            if isinstance(room, int) and room < 0:
                raise mistake(self, "w", f"no larger than the padded {x}", w)
            sizes.append(room // stride + 1 if stride != 1 else room + 1)
        return tensor(x.dtype, (x.shape[0], w.shape[0], *sizes))

    def windows(self, x: Array, kernel: Pair) -> Array:
        """x[n, c, i, j] under each element of the kernel: [n, c, i', j', kh, kw]."""
        padded = np.pad(x, ((0, 0), (0, 0), *self.padding))
        spread = [self.dilation[axis] * (kernel[axis] - 1) + 1 for axis in (0, 1)]
        seen = sliding_window_view(padded, spread, axis=(2, 3))
        return seen[:, :, :: self.stride[0], :: self.stride[1], :: self.dilation[0], :: self.dilation[1]]

    def settings(self) -> dict[str, Any]:
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}


@operation
class Convolution(_Convolution):
    """Cross-correlation of images with filters.

    operands x  T[n, c, h, w], T a floating point type
             w  T[o, c / groups, kh, kw]
    result   T[n, o, h', w'], h' = (h + padding - dilation (kh - 1) - 1) / stride + 1, rounded down
    gradient x receives convolution_input_gradient(ct, w), w receives convolution_weight_gradient(x, ct)
    errors   ValueError: ranks, channels or geometry that do not fit; TypeError: not floating point, dtypes that differ
    """

    stride: Pair = (1, 1)
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    groups: int = 1
    samples = (
        sample(tensor(F32, (2, 3, 6, 7)), tensor(F32, (4, 3, 3, 2))),
        sample(tensor(F32, (2, 1, 8, 8)), tensor(F32, (3, 1, 5, 5)), padding=((2, 1), (0, 2))),
        sample(tensor(F32, (1, 4, 7, 7)), tensor(F32, (6, 2, 3, 3)), stride=(2, 1), padding=((1, 1), (1, 1)), groups=2),
        sample(tensor(F32, (1, 2, 9, 9)), tensor(F32, (2, 2, 3, 3)), dilation=(2, 3), stride=(1, 2)),
        sample(tensor(F32, (1, 3, 5, 5)), tensor(F32, (3, 1, 3, 3)), groups=3),
        sample(tensor(F32, (0, 2, 5, 5)), tensor(F32, (3, 2, 3, 3))),
    )

    def infer(self, x: TensorType, w: TensorType) -> TensorType:
        return self.output(x, w)

    def reference(self, x: Array, w: Array) -> Array:
        n, o, g = x.shape[0], w.shape[0], self.groups
        seen = self.windows(x, w.shape[2:])
        split = seen.reshape(n, g, x.shape[1] // g, *seen.shape[2:])
        made = np.einsum("ngcijkl,gockl->ngoij", split, w.reshape(g, o // g, *w.shape[1:]), optimize=True)
        return made.reshape(n, o, *made.shape[3:])

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, w = node.operands
        by_x = b.convolution_input_gradient(ct, w, to=x.type, **self.settings())
        return by_x, b.convolution_weight_gradient(x, ct, to=w.type, **self.settings())


@operation
class ConvolutionInputGradient(_Convolution):
    """The gradient of a convolution by its images.

    operands ct  T[n, o, h', w'], the cotangent of the result
             w   T[o, c / groups, kh, kw]
    to       the type of the images, T[n, c, h, w]
    result   of type `to`
    gradient for a cotangent v: ct receives convolution(v, w), w receives convolution_weight_gradient(v, ct)
    errors   ValueError: ct not of the type of the convolution of `to` with w; TypeError as for convolution
    """

    to: TensorType
    stride: Pair = (1, 1)
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    groups: int = 1
    samples = (
        sample(tensor(F32, (2, 4, 4, 6)), tensor(F32, (4, 3, 3, 2)), to=tensor(F32, (2, 3, 6, 7))),
        sample(tensor(F32, (1, 6, 4, 7)), tensor(F32, (6, 2, 3, 3)), to=tensor(F32, (1, 4, 7, 7)), stride=(2, 1),
               padding=((1, 1), (1, 1)), groups=2),
        sample(tensor(F32, (1, 2, 5, 2)), tensor(F32, (2, 2, 3, 3)), to=tensor(F32, (1, 2, 9, 9)), dilation=(2, 3), stride=(1, 2)),
    )

    def infer(self, ct: TensorType, w: TensorType) -> TensorType:
        if self.output(self.to, w) is not ct:
            raise mistake(self, "ct", f"{self.output(self.to, w)}, as the convolution of {self.to} with {w}", ct)
        return self.to

    def reference(self, ct: Array, w: Array) -> Array:
        n, c, height, width = self.to.sizes
        g, (kh, kw) = self.groups, w.shape[2:]
        (top, bottom), (left, right) = self.padding
        padded = np.zeros((n, c, height + top + bottom, width + left + right), ct.dtype)
        rows, columns = ct.shape[2:]
        split = ct.reshape(n, g, ct.shape[1] // g, rows, columns)
        filters = w.reshape(g, w.shape[0] // g, *w.shape[1:])
        for i in range(kh):
            for j in range(kw):
                part = np.einsum("ngoij,goc->ngcij", split, filters[..., i, j], optimize=True).reshape(n, c, rows, columns)
                y, x = i * self.dilation[0], j * self.dilation[1]
                padded[:, :, y : y + rows * self.stride[0] : self.stride[0], x : x + columns * self.stride[1] : self.stride[1]] += part
        return padded[:, :, top : top + height, left : left + width]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        inner, w = node.operands
        by_inner = b.convolution(ct, w, **self.settings())
        return by_inner, b.convolution_weight_gradient(ct, inner, to=w.type, **self.settings())


@operation
class ConvolutionWeightGradient(_Convolution):
    """The gradient of a convolution by its filters.

    operands x   T[n, c, h, w]
             ct  T[n, o, h', w'], the cotangent of the result
    to       the type of the filters, T[o, c / groups, kh, kw]
    result   of type `to`: sums over images and places, in fixed blocks
    gradient for a cotangent v: x receives convolution_input_gradient(ct, v), ct receives convolution(x, v)
    errors   ValueError: ct not of the type of the convolution of x with `to`; TypeError as for convolution
    """

    to: TensorType
    stride: Pair = (1, 1)
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    groups: int = 1
    samples = (
        sample(tensor(F32, (2, 3, 6, 7)), tensor(F32, (2, 4, 4, 6)), to=tensor(F32, (4, 3, 3, 2))),
        sample(tensor(F32, (1, 4, 7, 7)), tensor(F32, (1, 6, 4, 7)), to=tensor(F32, (6, 2, 3, 3)), stride=(2, 1),
               padding=((1, 1), (1, 1)), groups=2),
        sample(tensor(F32, (1, 2, 9, 9)), tensor(F32, (1, 2, 5, 2)), to=tensor(F32, (2, 2, 3, 3)), dilation=(2, 3), stride=(1, 2)),
    )

    def infer(self, x: TensorType, ct: TensorType) -> TensorType:
        if self.output(x, self.to) is not ct:
            raise mistake(self, "ct", f"{self.output(x, self.to)}, as the convolution of {x} with {self.to}", ct)
        return self.to

    def reference(self, x: Array, ct: Array) -> Array:
        n, g = x.shape[0], self.groups
        seen = self.windows(x, self.to.sizes[2:])
        split = seen.reshape(n, g, x.shape[1] // g, *seen.shape[2:])
        made = np.einsum("ngcijkl,ngoij->gockl", split, ct.reshape(n, g, ct.shape[1] // g, *ct.shape[2:]), optimize=True)
        return made.reshape(self.to.sizes)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, inner = node.operands
        by_x = b.convolution_input_gradient(inner, ct, to=x.type, **self.settings())
        return by_x, b.convolution(x, ct, **self.settings())
