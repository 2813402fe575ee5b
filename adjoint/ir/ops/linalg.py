"""Matrix products and convolutions.

    C = A @ B         A' = C' @ B^T                      B' = A^T @ C'
    C = x y^T         an outer product: a matrix product, element by element
    y = x * w         x' = input_gradient(y', w)         w' = weight_gradient(x, y')

The three convolution ops are linear in each operand, and each is a gradient of the others, so gradients of any order exist.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching, complex_arithmetic, panels
from adjoint.ir.ops.elementwise import NUMBERS, Binary, on_integers, smooth_binary
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD, collapsed, row_major
from adjoint.ir.types import F32, I32, I64, Dim, DType, TensorType, broadcast_shapes, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["Convolution", "ConvolutionInputGradient", "ConvolutionWeightGradient", "MatMul", "OuterProduct"]

Array = Any
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]
Shape = tuple[int, ...]
Shapes = tuple[Shape, Shape, Shape]
Layout = tuple[int, int, int, list[int], list[list[int]]]
UNPADDED: Padding = ((0, 0), (0, 0))

PRODUCTS_PER_THREAD = 65536
"""The number of multiply-adds of a matrix product that a thread must get to be worth waking."""
UNIT_ROWS = 4
"""The number of rows in a unit of work: few, so that all threads have about equal shares; a tile computes several units together."""
VECTOR_BYTES = 64
"""Bytes of the longest vector, which is the width of a unit of work that is made of columns."""
LARGE_ROWS = 168
"""Rows of `a` above which copying a `b` that is not in a near cache costs little compared with the product."""
PLAIN_SPEED = 16
"""How many multiply-adds the plain form of a matrix product does in the time of one of another op's plain form, at least."""
DEPTH = 512
SHARE = 32
"""The rows of `b` in a block, and the columns in a unit of copying it; the same number as in `matmul.h`."""
FEW_CHAINS = 4
"""The largest number of blocks for which `adjoint_few_chains` computes the product of two vectors; ADJOINT_FEW_CHAINS in `chains.h`."""
NEAR_BYTES = 262144
"""Bytes: an operand of at most this size stays in a near cache whatever its layout."""
LEVEL_2_BYTES = 786432
"""Bytes of `b` up to which reading it in place is faster than copying it: about a level-2 cache."""
MEET_BYTES = 2048
"""Rows that are a multiple of this many bytes apart compete for the same few sets of a cache; the same number as in `vectors.h`."""


def _matrix(b: Builder, x: Atom) -> Atom:
    """Return the tensor with its leading axes merged into one."""
    assert isinstance(x.type, TensorType)
    return b.reshape(x, to=x.type.with_shape((math.prod(x.type.shape[:-1]), x.type.shape[-1])))


@operation
class MatMul(Op):
    """The matrix product of the last two axes; the axes before them are broadcast.

    operands a  T[..., m, k], or T[..., k, m] with `ta`; T any number type
             b  T[..., k, n], or T[..., n, k] with `tb`
    result   T[..., m, n]: sums over k, of two-byte floats in float32, rounded once; of complex numbers four products of their parts
    gradient a receives ct @ conj(b)^T, b receives conj(a)^T @ ct, summed over broadcast axes
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
        sample(tensor(F32, (2, 3, 5, 4)), tensor(F32, (4, 2))),
        sample(tensor(F32, (3, 4, 2)), tensor(F32, (3, 5, 4)), ta=True, tb=True),
        sample(tensor(I32, (3, 4)), tensor(I32, (5, 4)), tb=True),
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
            lines, left = "columns" if self.tb else "rows", f"the transpose of {a}" if self.ta else f"{a}"
            raise mistake(self, "b", f"a matrix with {inner} {lines} to be multiplied by {left}", b)
        try:
            lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise mistake(self, "b", f"of leading dimensions that broadcast with those of {a}", b) from None
        return tensor(a.dtype, (*lead, m, n))

    def reference(self, a: Array, b: Array) -> Array:
        a, b = a.swapaxes(-1, -2) if self.ta else a, b.swapaxes(-1, -2) if self.tb else b
        if a.dtype.kind != "c":
            return np.matmul(a, b)
        by_real, by_imag = (np.matmul(a.real, part) for part in (b.real, b.imag))
        crossed, squared = (np.matmul(a.imag, part) for part in (b.real, b.imag))
        return complex_arithmetic.complex_number(by_real - squared, by_imag + crossed)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        one, ranks = tensor_type(node.result), [tensor_type(x).rank for x in node.operands]
        first = mapped[0]
        if not all(mapped) and ranks == [2, 2] and one.shape[0 if first else 1] == 1:
            # A row, or a column, of each example by a matrix that is the same for all: the rows of all examples are one matrix.
            given, matrix = operands if first else operands[::-1]
            inner = max(tensor_type(given).shape[1:], key=lambda dim: dim != 1)
            rows = b.reshape(given, to=one.with_shape((size, inner)))
            found = b.matmul(rows, matrix, ta=False, tb=self.tb if first else not self.ta)
            return [b.reshape(found, to=one.with_shape((size, *one.shape)))]
        return [b.matmul(*(batching.padded(b, x, max(ranks)) if is_mapped else x for x, is_mapped in zip(operands, mapped, strict=True)),
                         ta=self.ta, tb=self.tb)]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, y = (b.conj(x) for x in node.operands)
        assert isinstance(x.type, TensorType) and isinstance(y.type, TensorType)
        by_x = b.matmul(y, ct, ta=self.tb, tb=True) if self.ta else b.matmul(ct, y, ta=False, tb=not self.tb)
        if y.type.rank == 2 and x.type.rank > 2 and not self.ta:  # one product that sums over the leading axes too
            x, ct = _matrix(b, x), _matrix(b, ct)
        by_y = b.matmul(ct, x, ta=True, tb=self.ta) if self.tb else b.matmul(x, ct, ta=not self.ta, tb=False)
        return b.unbroadcast(by_x, to=node.operands[0].type), b.unbroadcast(by_y, to=y.type)

    def lower(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer) -> None:
        dtype = out.dtype.compute
        if dtype.is_complex:
            self._product_of_complex(k, a, b, out, (a.shape, b.shape, out.shape))
            return
        product = self._product_of_floats if dtype.is_float else self._product_of_integers
        if dtype is out.dtype:
            product(k, a, b, out, (a.shape, b.shape, out.shape))
            return
        wide = [k.scratch(dtype, buffer.count, f"wide_{buffer.name}") for buffer in (a, b, out)]
        for buffer, widened in zip((a, b), wide, strict=False):
            with k.stage(buffer.count, ELEMENTS_PER_THREAD) as i:
                k.store(widened, i, buffer[i])
        product(k, wide[0], wide[1], wide[2], (a.shape, b.shape, out.shape))
        with k.stage(out.count, ELEMENTS_PER_THREAD) as i:
            k.store(out, i, wide[-1][i])

    def _product_of_complex(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer, shapes: Shapes) -> None:
        """Emit the product of complex matrices: four products of the parts, and their difference and sum."""
        if k.unrolls:
            self._product_of_few(k, a, b, out, self._layout(shapes))
            return
        names, part = ("real", "imag"), out.dtype.part
        left, right, *products = ([k.scratch(part, x.count, f"{name}_{x.name}") for name in names] for x in (a, b, out, out))
        for buffer, parts in ((a, left), (b, right)):
            with k.stage(buffer.count, ELEMENTS_PER_THREAD) as i:
                number = k.let(buffer[i], "number")
                for name, target in zip(names, parts, strict=True):
                    k.store(target, i, k.part_of(number, name))
        for one, terms in zip(left, products, strict=True):
            for other, term in zip(right, terms, strict=True):
                self._product_of_floats(k, one, other, term, shapes)
        (by_real, by_imag), (crossed, squared) = products
        with k.stage(out.count, ELEMENTS_PER_THREAD) as i:
            k.store(out, i, k.complex_of(by_real[i] - squared[i], by_imag[i] + crossed[i], out.dtype))

    def _product_of_floats(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer, shapes: Shapes) -> None:
        """Emit one of two algorithms, chosen by the shapes: each thread copies the part of `b` that it needs, or a stage of its own copies
        all of `b` for all threads. See `matmul.h`.

        Threads share the rows if there are many, so that each copies its own rows of `a`; else the columns, if there are more of them.
        """
        layout = m, n, inner, lead, _ = self._layout(shapes)
        if k.unrolls:
            self._product_of_few(k, a, b, out, layout)
            return
        if k.takes_plain_form(math.prod(lead) * m * n * inner // PLAIN_SPEED):
            self._plain_product(k, a, b, out, layout)
            return
        if m == n == 1 and not lead and inner:
            self._product_of_vectors(k, a, b, out, inner)
            return
        row = n * out.dtype.size
        large = m > LARGE_ROWS and n >= 2 * SHARE and inner * row > NEAR_BYTES
        lies_well = not self.tb and row % VECTOR_BYTES == 0 and row % MEET_BYTES != 0 and inner * row <= LEVEL_2_BYTES
        shared = large and not lies_well
        by_columns = n >= m and not large
        unit = VECTOR_BYTES // out.dtype.size if by_columns else UNIT_ROWS
        units = max(1, -(-(n if by_columns else m) // unit)) if m and n else 0
        grain = max(1, PRODUCTS_PER_THREAD * units // max(1, m * n * inner))
        dtype = out.dtype.name
        rows, columns, depth, transpose_a, transpose_b, along, step = (k.size(value, name) for name, value in (
            ("m", m), ("n", n), ("k", inner), ("transpose_a", int(self.ta)), ("transpose_b", int(self.tb)),
            ("by_columns", int(by_columns)), ("unit", unit)))
        if not (k.specialized and shared):
            with self._units(k, layout, 0 if shared else units, grain) as (places, first, last):
                k.run(f"adjoint_matmul_{dtype}", *(x.at(place) for x, place in zip((a, b, out), places, strict=True)),
                      rows, columns, depth, transpose_a, transpose_b, along, step, first, last)
        if k.specialized and not shared:
            return
        matrices, blocks, shares = math.prod(shapes[1][:-2]), -(-inner // DEPTH), -(-n // SHARE)
        panels = k.scratch(out.dtype, matrices * inner * shares * SHARE if shared else 0, "panels")
        with k.stage_range(matrices * blocks * shares if shared else 0, 1) as (first, last):
            k.run(f"adjoint_matmul_panels_{dtype}", b, panels, columns, depth, transpose_b, first, last)
        with self._units(k, layout, units if shared else 0, grain) as (places, first, last):
            place = places[1] / columns * k.size(shares * SHARE, "width") if layout[3] else 0
            k.run(f"adjoint_matmul_shared_{dtype}", a.at(places[0]), panels.at(place), out.at(places[2]), rows, columns, depth,
                  transpose_a, step, first, last)

    def _plain_product(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer, layout: Layout) -> None:
        """Emit the product in its plain form; units are rows of the result."""
        m, n, inner, _, _ = layout
        rows, columns, depth, transpose_a, transpose_b = (k.size(value, name) for name, value in (
            ("m", m), ("n", n), ("k", inner), ("transpose_a", int(self.ta)), ("transpose_b", int(self.tb))))
        with self._units(k, layout, m if n else 0, max(1, PRODUCTS_PER_THREAD // max(1, n * inner))) as (places, first, last):
            k.run(f"adjoint_plain_product_{out.dtype.name}", *(x.at(place) for x, place in zip((a, b, out), places, strict=True)),
                  rows, columns, depth, transpose_a, transpose_b, first, last)

    def _product_of_few(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer, layout: Layout) -> None:
        """Emit the product of matrices of a few numbers, for a kernel that will be unrolled; no sum is longer than a chain."""
        m, n, inner, _, _ = layout
        a_row, a_step = (1, m) if self.ta else (inner, 1)
        b_row, b_step = (1, inner) if self.tb else (n, 1)
        with self._units(k, layout, m, 1) as (places, first, last), k.loop(first, last, "row") as row, k.loop(0, n) as j:
            part = out.dtype.part
            totals = [k.local(0, out.name, part) for _ in range(4 if out.dtype.is_complex else 1)]
            with k.loop(0, inner, "p") as p:
                factors = a[places[0] + row * a_row + p * a_step], b[places[1] + p * b_row + j * b_step]
                left, right = ([k.part_of(x, name) for name in ("real", "imag")] if out.dtype.is_complex else [x] for x in factors)
                for total, (one, other) in zip(totals, itertools.product(left, right), strict=True):
                    k.set(total, k.call("next_term", one, other, total))
            result = totals[0]
            if out.dtype.is_complex:
                result = k.complex_of(totals[0] - totals[3], totals[1] + totals[2], out.dtype)
            k.store(out, places[2] + row * n + j, result)

    def _product_of_vectors(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer, inner: int) -> None:
        """Emit the product of a row and a column: the sums of blocks, which are computed side by side, and added in order.

        Where one thread computes all blocks, that is one stage.
        """
        depth, blocks, dtype = k.size(inner, "k"), -(-inner // DEPTH), out.dtype
        count, grain = k.size(blocks, "blocks"), PRODUCTS_PER_THREAD // DEPTH
        sums: Any = k.scratch(dtype, blocks, "block_sum") if blocks > grain else None
        if sums is not None:
            with k.stage_range(blocks, grain) as (begin, end):
                k.run(f"adjoint_chains_{dtype.name}", a, b, sums, depth, begin, end)
        with k.stage(1, 1):
            if sums is None and blocks <= FEW_CHAINS:
                sums = k.array(dtype, FEW_CHAINS, "block_sum")
                k.run(f"adjoint_few_chains_{dtype.name}", a, b, sums, depth)
            elif sums is None:
                sums = k.array(dtype, grain, "block_sum")
                k.run(f"adjoint_chains_{dtype.name}", a, b, sums, depth, 0, count)
            total = k.local(sums[0], "total")
            with k.loop(1, count, "block") as block:
                k.set(total, total + sums[block])
            k.store(out, 0, total)

    @contextmanager
    def _units(self, k: Kernel, layout: Layout, units: int, grain: int) -> Iterator[tuple[list[Any], Any, Any]]:
        """Begin a stage over `units` units of each matrix of the result; yield where the matrices of `a`, `b` and the result begin, and
        which units to compute."""
        m, n, _, lead, strides = layout
        if not lead:
            with k.stage_range(units, grain) as (begin, end):
                yield [0, 0, 0], begin, end
            return
        per_matrix = k.size(max(1, units), "units")
        dims = [k.size(dim, "batch") for dim in lead]
        steps = [[k.size(step, f"{name}_step") for step in own] for name, own in zip("ab", strides, strict=True)]
        with (
            k.stage_range(units * math.prod(lead), grain) as (begin, end),
            k.loop(begin / per_matrix, (end + per_matrix - 1) / per_matrix, "matrix") as matrix,
        ):
            places = [*self._places(k, matrix, dims, steps), matrix * k.size(m * n, "area")]
            skipped = k.let(matrix * per_matrix, "skipped")
            yield places, k.maximum_of(begin - skipped, k.literal(0, I64)), k.minimum_of(end - skipped, per_matrix)

    def _product_of_integers(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer, shapes: Shapes) -> None:
        """Emit the product of integers; units are rows of the result."""
        m, n, inner, lead, strides = self._layout(shapes)
        rows, columns, depth = k.size(m, "m"), k.size(n, "n"), k.size(inner, "k")
        a_row, a_step = (k.size(x, name) for x, name in zip((1, m) if self.ta else (inner, 1), ("a_row", "a_column"), strict=True))
        b_row, b_step = (k.size(x, name) for x, name in zip((1, inner) if self.tb else (n, 1), ("b_row", "b_column"), strict=True))
        dims = [k.size(dim, "batch") for dim in lead]
        steps = [[k.size(step, f"{name}_step") for step in own] for name, own in zip("ab", strides, strict=True)]
        grain = max(1, ELEMENTS_PER_THREAD // max(1, n * inner))
        with k.stage(math.prod(lead) * m if n else 0, grain, "row") as row:
            places = self._places(k, k.let(row / rows, "matrix"), dims, steps) if lead else (0, 0)
            left = k.let(places[0] + row % rows * a_row, "left")
            with k.loop(0, columns, "j") as j:
                k.store(out, row * columns + j, k.literal(0, out.dtype))
            with k.loop(0, depth, "p") as p:
                factor = k.let(a[left + p * a_step], "factor")
                right = k.let(places[1] + p * b_row, "right")
                with k.loop(0, columns, "j") as j:
                    k.store(out, row * columns + j, out[row * columns + j] + factor * b[right + j * b_step])

    def _layout(self, shapes: Shapes) -> Layout:
        """Return m, n, k of the matrices; the axes before them, and the steps of `a` and `b` along each of these.

        With a single `b`, the matrices of `a` form one matrix, one below the other.
        """
        a, b, out = shapes
        *lead, m, n = out
        inner = a[-2] if self.ta else a[-1]
        if math.prod(b[:-2]) == 1 and not self.ta:
            return math.prod(lead) * m, n, inner, [], [[], []]
        if math.prod(lead) == 1:
            return m, n, inner, [], [[], []]
        walks = []
        for shape in (a, b):
            steps = [0 if dim == 1 else step for dim, step in zip(shape, row_major(shape), strict=True)][:-2]
            walks.append([0] * (len(lead) - len(steps)) + steps)
        dims, strides = collapsed(lead, walks)
        return m, n, inner, dims, strides

    @staticmethod
    def _places(k: Kernel, matrix: Any, dims: Sequence[Any], steps: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the offsets, in elements, of the `a` and the `b` of matrix number `matrix` of the result."""
        indices: list[Any] = []
        rest = matrix
        for dim in reversed(dims[1:]):
            indices.insert(0, rest % dim)
            rest = k.let(rest / dim, "rest")
        indices.insert(0, rest)
        return [
            k.let(sum((index * step for index, step in zip(indices[1:], own[1:], strict=True)), indices[0] * own[0]), name)
            for name, own in zip(("a_place", "b_place"), steps, strict=True)
        ]


@operation
class OuterProduct(Binary):
    """x * y with the bits of a matrix product whose inner size is 1, of a column x and a row y: one term, added to 0.

    x, y      T[s] and T[t], T any number type, shapes that broadcast
    result    T[broadcast]: x * y, but 0 for -0, unless that is a product that underflows on a processor with fused multiply-add
    gradient  ct * y for x, ct * x for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ, or bool; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    samples = (*smooth_binary(), *on_integers(2, I32))

    def reference(self, x: Array, y: Array) -> Array:
        return np.where((x == 0) | (y == 0), x * y + x.dtype.type(0), x * y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.call("term", x, y) if x.dtype.is_float else x * y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, y = node.operands
        return b.unbroadcast(b.mul(ct, y), to=x.type), b.unbroadcast(b.mul(ct, x), to=y.type)


class _Convolution(Op):
    """The geometry of a convolution of [n, c, h, w] with [o, c / groups, kh, kw]."""

    stride: Pair
    padding: Padding
    dilation: Pair
    groups: int
    filters: ClassVar[int] = 1
    """The position of the filters among operands and result; the others are images."""
    pack = "convolution"

    def output(self, x: TensorType, w: TensorType) -> TensorType:
        """Return the type of the result; raise ValueError or TypeError if x and w do not fit."""
        for name, t in (("x", x), ("w", w)):
            if not isinstance(t, TensorType) or not t.dtype.is_float:
                raise mistake(self, name, "a tensor of floating point numbers", t, TypeError)
            if t.rank != 4:
                raise mistake(self, name, "of 4 dimensions", t)
        if x.dtype is not w.dtype:
            raise mistake(self, "w", f"of dtype {x.dtype}, as 'x'", w, TypeError)
        if min(self.stride) < 1 or min(self.dilation) < 1 or self.groups < 1:
            raise mistake(self, "stride", "positive, and so must dilation and groups", (self.stride, self.dilation, self.groups))
        if min(min(side) for side in self.padding) < 0:
            raise mistake(self, "padding", "non-negative", self.padding)
        if x.shape[1] != w.shape[1] * self.groups:
            channels = f"i * groups = {x.shape[1]}, the channels of x, where groups={self.groups}"
            raise mistake(self, "w", f"of shape [o, i, kh, kw] with {channels}", w)
        if w.sizes[0] % self.groups:
            raise mistake(self, "groups", f"a divisor of the {w.shape[0]} output channels", self.groups)
        sizes: list[Any] = []
        for size, kernel, stride, (before, after), dilation in zip(
            x.shape[2:], w.shape[2:], self.stride, self.padding, self.dilation, strict=True
        ):
            room = size + before + after - dilation * (kernel - 1) - 1
            if isinstance(room, int) and room < 0:
                raise mistake(self, "w", f"no larger than {x} with its padding", w)
            if stride == 1:
                sizes.append(room + 1)
            elif isinstance(room, int):
                sizes.append(room // stride + 1)
            else:
                raise mistake(self, "x", "of known height and width for a stride other than 1", x)
        return tensor(x.dtype, (x.shape[0], w.shape[0], *sizes))

    def windows(self, x: Array, kernel: Pair) -> Array:
        """Return x[n, c, i, j] under each element of the kernel: [n, c, i', j', kh, kw]."""
        padded = np.pad(x, ((0, 0), (0, 0), *self.padding))
        spread = [self.dilation[axis] * (kernel[axis] - 1) + 1 for axis in (0, 1)]
        seen = sliding_window_view(padded, spread, axis=(2, 3))
        return seen[:, :, :: self.stride[0], :: self.stride[1], :: self.dilation[0], :: self.dilation[1]]

    def axes(self, image: Shape, result: Shape, kernel: Shape, *, backward: bool = False) -> tuple[panels.Axis, panels.Axis]:
        y, x = (
            panels.Axis(image[axis + 2], result[axis + 2], kernel[axis + 2], self.stride[axis], self.dilation[axis], backward)
            for axis in (0, 1)
        )
        return y, x

    def sizes(self, k: Kernel, image: Shape, result: Shape, kernel: Shape) -> list[Expr]:
        """Return the sizes of a convolution as the functions in C take them."""
        return [k.size(value, name) for name, value in (
            ("groups", self.groups), ("channels", kernel[1]), ("filters", kernel[0] // self.groups), ("h", image[2]),
            ("w", image[3]), ("rows", result[2]), ("columns", result[3]), ("kernel_h", kernel[2]), ("kernel_w", kernel[3]),
            ("stride_h", self.stride[0]), ("stride_w", self.stride[1]), ("top", self.padding[0][0]),
            ("left", self.padding[1][0]), ("dilation_h", self.dilation[0]), ("dilation_w", self.dilation[1]))]

    def geometry(self, k: Kernel, image: Shape, result: Shape, kernel: Shape, *, backward: bool, dtype: DType) -> Expr:
        """Return the `struct adjoint_convolution` in C."""
        return k.call(f"adjoint_convolution_of_{dtype.name}", k.literal(int(backward), I64), *self.sizes(k, image, result, kernel))

    def convolve(self, k: Kernel, source: Buffer, w: Buffer, out: Buffer, shapes: Shapes, *, backward: bool) -> None:
        """Emit a convolution; `shapes` are those of the images, the result and the filters."""
        image, result, kernel = shapes
        filters, dtype = kernel[0] // self.groups, out.dtype
        work = math.prod(result) * math.prod(kernel[1:])
        if k.takes_plain_form(work):
            function = f"adjoint_plain_convolve{'_back' * backward}_{dtype.name}"
            geometry = k.call("adjoint_plain_convolution_of", *self.sizes(k, image, result, kernel))
            planes = math.prod((image if backward else result)[:2])
            with k.stage_range(planes if out.count else 0, max(1, panels.PRODUCTS * planes // max(1, work))) as units:
                k.run(function, source, w, out, geometry, *units)
            return
        sources, results = (filters, kernel[1]) if backward else (kernel[1], filters)
        plan = panels.convolved(
            image[0], self.groups, sources, results, *self.axes(image, result, kernel, backward=backward), dtype.size)
        geometry = self.geometry(k, image, result, kernel, backward=backward, dtype=dtype)
        block = k.size(plan.channels, "channel_block")
        parts = [k.size(value, name) for name, value in (
            ("images", image[0]), ("image_block", plan.parts.images), ("row_block", plan.parts.rows),
            ("column_block", plan.parts.columns), ("shared", int(plan.parts.shared)))]
        strips = k.scratch(dtype, w.count // max(1, results) * (results if results == 1 else results + results % 2), "strips")
        fillings = self.groups * -(-sources // panels.SOURCES)
        with k.stage_range(fillings, max(1, ELEMENTS_PER_THREAD * fillings // max(1, w.count))) as units:
            k.run(f"adjoint_convolution_strips_{dtype.name}", w, strips, geometry, block, *units)
        with k.stage_range(plan.units if out.count else 0, plan.grain) as units:
            k.run(f"adjoint_convolve_{dtype.name}", source, strips, out, geometry, block, *parts, *units)

    def correlate(self, k: Kernel, x: Buffer, ct: Buffer, out: Buffer, shapes: Shapes) -> None:
        """Emit the gradient by the filters; `shapes` are those of the images, the result and the filters."""
        image, result, kernel = shapes
        filters, dtype = kernel[0] // self.groups, out.dtype
        plan = panels.correlated(image[0], self.groups, kernel[1], filters, *self.axes(image, result, kernel), dtype.size)
        work = math.prod(result) * math.prod(kernel[1:])
        if k.takes_plain_form(work):
            geometry = k.call("adjoint_plain_convolution_of", *self.sizes(k, image, result, kernel))
            cuts = [k.size(value, name) for name, value in (
                ("images", image[0]), ("image_block", plan.parts.images), ("row_block", plan.parts.rows),
                ("column_block", plan.parts.columns), ("blocks", plan.blocks), ("shared", int(plan.parts.shared)),
                ("wide", int(plan.wide)))]
            rows = out.count // max(1, kernel[3])
            with k.stage_range(rows, max(1, panels.PRODUCTS * rows // max(1, work))) as units:
                k.run(f"adjoint_plain_correlate_{dtype.name}", x, ct, out, geometry, *cuts, *units)
            return
        geometry = self.geometry(k, image, result, kernel, backward=False, dtype=dtype)
        sizes = [k.size(value, name) for name, value in (
            ("images", image[0]), ("image_block", plan.parts.images), ("row_block", plan.parts.rows),
            ("column_block", plan.parts.columns), ("filter_block", plan.results), ("cuts", plan.cuts), ("blocks", plan.blocks),
            ("shared", int(plan.parts.shared)), ("wide", int(plan.wide)))]
        sums = k.scratch(dtype, plan.blocks * out.count, "sums")
        with k.stage_range(plan.units if out.count else 0, plan.grain) as units:
            k.run(f"adjoint_correlate_{dtype.name}", x, ct, sums, geometry, *sizes, *units)
        groups, n = (self.groups, filters) if plan.wide else (1, 1)
        rows = out.count // max(1, groups * n)
        totals = [k.size(value, name) for name, value in (("sum_groups", groups), ("sum_rows", rows), ("n", n))]
        squares = groups * -(-rows // panels.SQUARE)
        grain = max(1, ELEMENTS_PER_THREAD * squares // max(1, out.count * plan.blocks))
        with k.stage_range(squares if out.count else 0, grain) as units:
            k.run(f"adjoint_add_blocks_{dtype.name}", sums, out, *totals, sizes[6], *units)

    @staticmethod
    def widely(k: Kernel, operands: Sequence[Buffer], out: Buffer, body: Callable[..., None]) -> None:
        """Do `body` for the operands and the result; two-byte floats are converted to float."""
        dtype = out.dtype.compute
        if dtype is out.dtype:
            body(*operands, out)
            return
        wide = [k.scratch(dtype, buffer.count, f"wide_{buffer.name}") for buffer in (*operands, out)]
        for buffer, widened in zip(operands, wide, strict=False):
            with k.stage(buffer.count, ELEMENTS_PER_THREAD) as i:
                k.store(widened, i, buffer[i])
        body(*wide)
        with k.stage(out.count, ELEMENTS_PER_THREAD) as i:
            k.store(out, i, wide[-1][i])

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        one, to = tensor_type(node.result), getattr(self, "to", None)
        if not mapped[1] and self.filters == 1:  # the images of all examples are one list
            changed = {"to": to.with_shape((to.shape[0] * size, *to.shape[1:]))} if to is not None else {}
            found = b.emit(dataclasses.replace(self, **changed), batching.merged(b, operands[0]), operands[1])
            return [batching.split(b, found, size, one)]
        if not isinstance(size, int):
            return None
        # Each example is a group, with channels of its own.
        sides = [batching.merged(b, x) if place == self.filters else batching.merged(b, batching.moved(b, x, 0, 1), 1)
                 for place, x in enumerate(batching.for_all(b, operands, mapped, size))]
        at = 0 if self.filters == 2 else 1
        changed = {"to": to.with_shape((*to.shape[:at], to.shape[at] * size, *to.shape[at + 1:]))} if to is not None else {}
        found = b.emit(dataclasses.replace(self, groups=self.groups * size, **changed), *sides)
        apart = b.reshape(found, to=one.with_shape((*one.shape[:at], size, *one.shape[at:])))
        return [batching.moved(b, apart, at, 0)]

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

    def lower(self, k: Kernel, x: Buffer, w: Buffer, out: Buffer) -> None:
        shapes = x.shape, out.shape, w.shape
        self.widely(k, (x, w), out, lambda x, w, out: self.convolve(k, x, w, out, shapes, backward=False))

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
        sample(tensor(F32, (0, 4, 4, 6)), tensor(F32, (4, 3, 3, 2)), to=tensor(F32, (0, 3, 6, 7))),
    )

    def infer(self, ct: TensorType, w: TensorType) -> TensorType:
        if self.output(self.to, w) is not ct:
            raise mistake(self, "ct", f"of type {self.output(self.to, w)}, the result of convolving {self.to} with {w}", ct)
        return self.to

    def reference(self, ct: Array, w: Array) -> Array:
        n, c, height, width = self.to.sizes
        g, (kh, kw) = self.groups, w.shape[2:]
        (top, _), (left, _) = self.padding
        # The cotangent is padded with zeros that are multiplied, like the padding of the convolution: as many on
        # each side as contribute to any element of the images.
        before = [-(-dilation * (size - 1) // stride) for dilation, size, stride in zip(self.dilation, (kh, kw), self.stride, strict=True)]
        after = [max(0, (size - 1 + lead) // stride - places + 1) for size, lead, stride, places in zip(
            (height, width), (top, left), self.stride, ct.shape[2:], strict=True)]
        if np.isfinite(w).all():
            before = after = [0, 0]  # only zeros would be added
        ct = np.pad(ct, ((0, 0), (0, 0), (before[0], after[0]), (before[1], after[1])))
        rows, columns = ct.shape[2:]
        start = [stride * places for stride, places in zip(self.stride, before, strict=True)]
        ends = [stride * (places - 1) + dilation * (size - 1) + 1 for stride, places, dilation, size in zip(
            self.stride, (rows, columns), self.dilation, (kh, kw), strict=True)]
        padded = np.zeros((n, c, max(ends[0], start[0] + top + height), max(ends[1], start[1] + left + width)), ct.dtype)
        split = ct.reshape(n, g, ct.shape[1] // g, rows, columns)
        filters = w.reshape(g, w.shape[0] // g, *w.shape[1:])
        for i in range(kh):
            for j in range(kw):
                part = np.einsum("ngoij,goc->ngcij", split, filters[..., i, j], optimize=True).reshape(n, c, rows, columns)
                y, x = i * self.dilation[0], j * self.dilation[1]
                padded[:, :, y : y + rows * self.stride[0] : self.stride[0], x : x + columns * self.stride[1] : self.stride[1]] += part
        top, left = top + start[0], left + start[1]
        return padded[:, :, top : top + height, left : left + width]

    def lower(self, k: Kernel, ct: Buffer, w: Buffer, out: Buffer) -> None:
        shapes = out.shape, ct.shape, w.shape
        self.widely(k, (ct, w), out, lambda ct, w, out: self.convolve(k, ct, w, out, shapes, backward=True))

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
    filters = 2
    samples = (
        sample(tensor(F32, (2, 3, 6, 7)), tensor(F32, (2, 4, 4, 6)), to=tensor(F32, (4, 3, 3, 2))),
        sample(tensor(F32, (1, 4, 7, 7)), tensor(F32, (1, 6, 4, 7)), to=tensor(F32, (6, 2, 3, 3)), stride=(2, 1),
               padding=((1, 1), (1, 1)), groups=2),
        sample(tensor(F32, (1, 2, 9, 9)), tensor(F32, (1, 2, 5, 2)), to=tensor(F32, (2, 2, 3, 3)), dilation=(2, 3), stride=(1, 2)),
    )

    def infer(self, x: TensorType, ct: TensorType) -> TensorType:
        if self.output(x, self.to) is not ct:
            raise mistake(self, "ct", f"of type {self.output(x, self.to)}, the result of convolving {x} with {self.to}", ct)
        return self.to

    def reference(self, x: Array, ct: Array) -> Array:
        n, g = x.shape[0], self.groups
        seen = self.windows(x, (self.to.sizes[2], self.to.sizes[3]))
        split = seen.reshape(n, g, x.shape[1] // g, *seen.shape[2:])
        made = np.einsum("ngcijkl,ngoij->gockl", split, ct.reshape(n, g, ct.shape[1] // g, *ct.shape[2:]), optimize=True)
        return made.reshape(self.to.sizes)

    def lower(self, k: Kernel, x: Buffer, ct: Buffer, out: Buffer) -> None:
        shapes = x.shape, ct.shape, out.shape
        self.widely(k, (x, ct), out, lambda x, ct, out: self.correlate(k, x, ct, out, shapes))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, inner = node.operands
        by_x = b.convolution_input_gradient(inner, ct, to=x.type, **self.settings())
        return by_x, b.convolution(x, ct, **self.settings())
