"""Ops on positions: gather, scatter, and one-hot and index patterns.

They compute nothing but sums, where several elements have the same position; these are added in the order of the indices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, Sample, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD, advance, emit_fill, grain_of, row_counters
from adjoint.ir.ops.shape import check_axis, check_tensor, zero_of
from adjoint.ir.types import BOOL, F32, I32, I64, Dim, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

F32_23 = tensor(F32, (2, 3))
F32_234 = tensor(F32, (2, 3, 4))
I32_23 = tensor(I32, (2, 3))
BOOL_23 = tensor(BOOL, (2, 3))


def _check_indices(op: Op, indices: Any) -> None:
    if not isinstance(indices, TensorType) or not indices.dtype.is_integer:
        raise mistake(op, "indices", "a tensor of an integer type", indices, TypeError)


def check_range(op: Op, indices: Array, size: int) -> None:
    """Check that indices are from -size to size - 1; raise IndexError that names the first that is not."""
    outside = (indices < -size) | (indices >= size)
    if outside.any():
        raise mistake(op, "indices", f"in {-size}..{size - 1}", int(indices[outside].flat[0]), IndexError)


def _gathered(shape: tuple[Dim, ...], indices: tuple[Dim, ...], axis: int) -> tuple[Dim, ...]:
    """Return `shape` with the dimension at `axis` replaced by those of `indices`."""
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def _add_at(target: Array, indices: Array, updates: Array, axis: int) -> None:
    """Add each slice of `updates` to the slice of `target` at its index, in the order of the indices."""
    lead, rank = updates.shape[:axis], indices.ndim
    flat = updates.reshape(*lead, indices.size, *updates.shape[axis + rank :])
    np.add.at(np.moveaxis(target, axis, 0), indices.reshape(-1), np.moveaxis(flat, axis, 0))


def _three(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """Return three numbers of elements of a shape: of all axes before `axis`, along it, and of all axes after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def emit_place(k: Kernel, indices: Buffer, i: Any, n: Any) -> Any:
    """Return the position given by index number i; the kernel fails with status 1 if it is out of range for n."""
    index = k.let(k.cast(indices[i], I64), "index")
    place = index if indices.dtype.kind == "u" else k.let(k.select(k.less(index, 0), index + n, index), "place")
    with k.when(k.either(k.less(place, 0), k.greater_equal(place, n))):
        k.fail(1)
    return place


COLUMNS = 64
"""The number of columns that one unit of work of a scatter adds, so that no two units write to the same element."""


def _emit_scatter(k: Kernel, x: Buffer | None, indices: Buffer, updates: Buffer, out: Buffer, axis: int) -> None:
    """Emit `out` = `x`, or zeros, with the slices of `updates` added in the order of the indices."""
    outer, length, inner = _three(out.shape, axis)
    wide = out.dtype.compute is not out.dtype
    total = k.scratch(out.dtype.compute, out.count, "total") if wide else out
    if x is None:
        emit_fill(k, total, zero_of(out.dtype))
    else:
        with k.stage(out.count, ELEMENTS_PER_THREAD) as i:
            k.store(total, i, x[i])
    n, count = k.size(length, "n"), k.size(indices.count, "count")

    def add(target: Any, source: Any) -> None:
        if out.dtype is BOOL:
            k.set(total[target], total[target] | updates[source])
        else:
            k.increment(total[target], updates[source])

    if inner == 1:
        with k.stage(outer, grain_of(indices.count), "o") as o, k.loop(0, count, "i") as i:
            add(k.let(o * n + emit_place(k, indices, i, n), "target"), o * count + i)
    else:
        m, blocks = k.size(inner, "m"), -(-inner // COLUMNS)
        per_row = k.size(blocks, "blocks")
        with k.stage(outer * blocks, grain_of(indices.count * min(inner, COLUMNS)), "unit") as unit:
            first = k.let(unit % per_row * COLUMNS, "first")
            last = k.let(k.minimum_of(first + COLUMNS, m), "last")
            o = k.let(unit / per_row, "o")
            with k.loop(0, count, "i") as i:
                target = k.let((o * n + emit_place(k, indices, i, n)) * m, "target")
                source = k.let((o * count + i) * m, "source")
                with k.loop(first, last, "j") as j:
                    add(target + j, source + j)
    if wide:
        with k.stage(out.count, ELEMENTS_PER_THREAD) as i:
            k.store(out, i, total[i])


def _out_of_range(op: Op, axis: int) -> Exception:
    """Return the error for status 1 of a kernel; the reference, run on the same operands, names the index."""
    return mistake(op, "indices", f"in range along axis {axis}", "an index out of range", IndexError)


GATHERS: tuple[Sample, ...] = (
    sample(F32_23, tensor(I32, (4,)), values={1: [0, 2, 2, -1]}, axis=1),
    sample(F32_23, tensor(I64, (2, 2)), values={1: [[0, 1], [1, -2]]}, axis=0),
    sample(F32_234, tensor(I32, (2, 1)), values={1: [[2], [0]]}, axis=1),
    sample(F32_23, tensor(I32), values={1: 1}, axis=0),
    sample(F32_23, tensor(I32, (0,)), axis=0),
)


class _Indexed(Op):
    """An op with indices along an axis."""

    axis: int

    def places(self, b: Builder, x: TensorType, indices: Atom, size: Dim) -> Atom | None:
        """Return mapped indices along the axis of `x` as indices of the rows of all examples; None if the axis has no size yet."""
        length = x.shape[self.axis]
        if not isinstance(length, int):
            return None
        return batching.rows_of_one(b, indices, True, size, x.shape[: self.axis], length)


@operation
class Gather(_Indexed):
    """The slices of `x` along `axis` at the given indices; a negative index counts from the end.

    x         T[s]
    indices   I[r], I an integer type
    result    T[s with the dimension at axis replaced by r]
    gradient  each slice of ct added where it was taken from, in the order of the indices; none for the indices
    errors    TypeError: indices are not integers; ValueError: axis out of range; IndexError when run: an index is out of
              range (the kernel says so, the reference says which)
    """

    axis: int
    pack = "gather"
    samples = (*GATHERS, sample(I32_23, tensor(I32, (2,)), values={1: [1, 0]}, axis=0, smooth=False, note="integers"))

    def infer(self, x: Any, indices: Any) -> TensorType:
        check_tensor(self, "x", x)
        _check_indices(self, indices)
        check_axis(self, self.axis, x.rank)
        return x.with_shape(_gathered(x.shape, indices.shape, self.axis))

    def reference(self, x: Array, indices: Array) -> Array:
        check_range(self, indices, x.shape[self.axis])
        if not indices.size:
            return np.zeros((*x.shape[: self.axis], *indices.shape, *x.shape[self.axis + 1 :]), x.dtype)
        return np.take(x, indices, axis=self.axis)

    def lower(self, k: Kernel, x: Buffer, indices: Buffer, out: Buffer) -> None:
        outer, length, inner = _three(x.shape, self.axis)
        n, m = k.size(length, "n"), k.size(inner, "m") if inner != 1 else None
        bounds = [k.size(outer, "outer"), k.size(indices.count, "count")] if outer != 1 else []
        with k.stage_range(outer * indices.count, grain_of(inner + 4)) as (begin, end):
            counters = row_counters(k, begin, bounds)
            with k.loop(begin, end, "row") as row:
                place = emit_place(k, indices, counters[1] if counters else row, n)
                source = place if not counters else counters[0] * n + place
                if m is None:
                    k.store(out, row, x[source])
                else:
                    with k.loop(0, m, "j") as j:
                        k.store(out, row * m + j, x[source * m + j])
                advance(k, counters, bounds)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        if all(mapped):
            found = self.places(b, tensor_type(node.operands[0]), operands[1], size)
            return None if found is None else [b.gather(batching.rows_of_all(b, operands[0], self.axis + 1), found, axis=0)]
        if mapped[0]:
            return [b.gather(*operands, axis=self.axis + 1)]
        return [batching.moved(b, b.gather(*operands, axis=self.axis), self.axis, 0)]

    def failure(self, status: int) -> Exception:
        return _out_of_range(self, self.axis)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, indices = node.operands
        return b.gather_gradient(ct, indices, axis=self.axis, to=x.type), None

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for index in (I32, I64):
            yield cls(0), (tensor(dtype, (4, 8)), tensor(index, (3,)))
            yield cls(1), (tensor(dtype, (4, 8)), tensor(index, (3,)))


@operation
class GatherGradient(_Indexed):
    """The cotangent of gather's operand: zeros of type `to`, with each slice of ct added at its index.

    Slices of one index are added in the order of the indices, f16 and bf16 in float32.

    ct        T[s with the dimension at axis replaced by r]
    indices   I[r], I an integer type
    result    to, a T[s]
    gradient  the slices of its cotangent that the indices name; none for the indices
    errors    TypeError: indices are not integers; ValueError: shapes do not fit; IndexError when run: an index is out of range
    """

    axis: int
    to: TensorType
    pack = "gather"
    samples = (
        sample(tensor(F32, (2, 4)), tensor(I32, (4,)), values={1: [0, 2, 2, -1]}, axis=1, to=F32_23),
        sample(tensor(F32, (2, 2, 3)), tensor(I64, (2, 2)), values={1: [[0, 1], [1, -2]]}, axis=0, to=F32_23),
        sample(tensor(F32, (2, 2, 1, 4)), tensor(I32, (2, 1)), values={1: [[2], [0]]}, axis=1, to=F32_234),
        sample(tensor(F32, (0, 3)), tensor(I32, (0,)), axis=0, to=F32_23),
    )

    def infer(self, ct: Any, indices: Any) -> TensorType:
        check_tensor(self, "ct", ct)
        _check_indices(self, indices)
        check_axis(self, self.axis, self.to.rank)
        if ct is not tensor(self.to.dtype, _gathered(self.to.shape, indices.shape, self.axis)):
            raise mistake(self, "ct", f"of the shape that gathering from {self.to} by {indices} gives", ct)
        return self.to

    def reference(self, ct: Array, indices: Array) -> Array:
        check_range(self, indices, self.to.sizes[self.axis])
        result = np.zeros(self.to.sizes, ct.dtype)
        _add_at(result, indices, ct, self.axis)
        return result

    def lower(self, k: Kernel, ct: Buffer, indices: Buffer, out: Buffer) -> None:
        _emit_scatter(k, None, indices, ct, out, self.axis)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        if mapped[1]:
            found, ct = self.places(b, self.to, operands[1], size), batching.for_all(b, operands, mapped, size)[0]
            if found is None:
                return None
            shape = (size, *self.to.shape)
            rows = tensor_type(batching.rows_of_all(b.inner(), b.zeros(self.to.with_shape(shape)), self.axis + 1))
            return [b.reshape(b.gather_gradient(ct, found, axis=0, to=rows), to=self.to.with_shape(shape))]
        return [b.gather_gradient(*operands, axis=self.axis + 1, to=self.to.with_shape((size, *self.to.shape)))]

    def failure(self, status: int) -> Exception:
        return _out_of_range(self, self.axis)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return b.gather(ct, node.operands[1], axis=self.axis), None

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for index in (I32, I64) if dtype.is_float else ():
            yield cls(0, tensor(dtype, (4, 8))), (tensor(dtype, (3, 8)), tensor(index, (3,)))


@operation
class ScatterAdd(_Indexed):
    """`x` with each slice of `updates` added along `axis` at its index, in the order of the indices.

    x         T[s], T any dtype but bool
    indices   I[r], I an integer type; a negative index counts from the end
    updates   T[s with the dimension at axis replaced by r]
    result    T[s]
    gradient  ct for x, the slices of ct that the indices name for updates; none for the indices
    errors    TypeError: indices are not integers; ValueError: shapes do not fit; IndexError when run: an index is out of range
    """

    axis: int
    samples = (
        sample(F32_23, tensor(I32, (4,)), tensor(F32, (2, 4)), values={1: [0, 2, 2, -1]}, axis=1),
        sample(F32_23, tensor(I64, (2, 2)), tensor(F32, (2, 2, 3)), values={1: [[0, 1], [1, -2]]}, axis=0),
        sample(F32_23, tensor(I32, (0,)), tensor(F32, (0, 3)), axis=0),
    )

    def infer(self, x: Any, indices: Any, updates: Any) -> TensorType:
        check_tensor(self, "x", x)
        _check_indices(self, indices)
        check_axis(self, self.axis, x.rank)
        if x.dtype is BOOL:
            raise mistake(self, "x", "a tensor of numbers", x, TypeError)
        if updates is not x.with_shape(_gathered(x.shape, indices.shape, self.axis)):
            raise mistake(self, "updates", f"of the shape that gathering from {x} by {indices} gives", updates)
        return x

    def reference(self, x: Array, indices: Array, updates: Array) -> Array:
        check_range(self, indices, x.shape[self.axis])
        result = np.array(x)
        _add_at(result, indices, updates, self.axis)
        return result

    def lower(self, k: Kernel, x: Buffer, indices: Buffer, updates: Buffer, out: Buffer) -> None:
        _emit_scatter(k, x, indices, updates, out, self.axis)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        x, updates = batching.for_all(b, operands[::2], mapped[::2], size)
        if mapped[1]:
            found = self.places(b, tensor_type(node.operands[0]), operands[1], size)
            if found is None:
                return None
            added = b.scatter_add(batching.rows_of_all(b, x, self.axis + 1), found, updates, axis=0)
            return [b.reshape(added, to=tensor_type(x))]
        return [b.scatter_add(x, operands[1], updates, axis=self.axis + 1)]

    def failure(self, status: int) -> Exception:
        return _out_of_range(self, self.axis)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return ct, None, b.gather(ct, node.operands[1], axis=self.axis)


@operation
class OneHot(Op):
    """For each index, `depth` numbers along a new axis at `axis`: `on` at the index, `off` elsewhere.

    An index outside 0..depth-1 gives `off` everywhere.

    indices   I[r], I an integer type
    result    to[r with depth at axis]
    gradient  none: piecewise constant
    errors    TypeError: indices are not integers; ValueError: axis out of range, depth negative
    """

    depth: int
    axis: int
    to: DType
    on: bool | int | float = 1.0
    off: bool | int | float = 0.0
    batch = batching.along_axes
    cuts = "one_hot is piecewise constant"
    pack = "gather"
    samples = (
        sample(tensor(I32, (4,)), values={0: [0, 2, -1, 5]}, depth=3, axis=1, to=F32, smooth=False, note="indices"),
        sample(tensor(I64, (2, 2)), values={0: [[0, 1], [2, 1]]}, depth=3, axis=0, to=F32, on=2.0, off=-1.0, smooth=False,
               note="indices"),
        sample(tensor(I64, (2, 2)), values={0: [[0, 1], [2, 1]]}, depth=3, axis=1, to=BOOL, on=True, off=False, smooth=False,
               note="indices"),
        sample(tensor(I32), values={0: 1}, depth=3, axis=0, to=I32, on=1, off=0, smooth=False, note="indices"),
        sample(tensor(I32, (0,)), depth=3, axis=1, to=F32, smooth=False, note="indices"),
    )

    def infer(self, indices: Any) -> TensorType:
        _check_indices(self, indices)
        check_axis(self, self.axis, indices.rank + 1)
        if self.depth < 0:
            raise mistake(self, "depth", "non-negative", self.depth)
        return tensor(self.to, (*indices.shape[: self.axis], self.depth, *indices.shape[self.axis :]))

    def reference(self, indices: Array) -> Array:
        places = np.arange(self.depth).reshape(-1, *(1,) * (indices.ndim - self.axis))
        chosen = np.expand_dims(indices, self.axis) == places
        values = self.to.compute.array.type
        return np.where(chosen, values(self.on), values(self.off))

    def lower(self, k: Kernel, indices: Buffer, out: Buffer) -> None:
        outer, length, inner = _three(out.shape, self.axis)
        depth, m = k.size(length, "depth"), k.size(inner, "m")
        on, off = k.literal(self.on, self.to), k.literal(self.off, self.to)
        if inner == 1:
            with k.stage(outer, grain_of(length), "row") as row:
                index = k.let(k.cast(indices[row], I64), "index")
                with k.loop(0, depth, "j") as j:
                    k.store(out, row * depth + j, k.select(k.equal(index, j), on, off))
            return
        with k.stage(outer * length, grain_of(inner), "row") as row:
            place = k.let(row % depth, "place")
            start = k.let(row / depth * m, "start")
            with k.loop(0, m, "j") as j:
                k.store(out, row * m + j, k.select(k.equal(k.cast(indices[start + j], I64), place), on, off))

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for index in (I32, I64):
            if dtype.is_float:
                yield cls(depth=4, axis=1, to=dtype), (tensor(index, (3,)),)


@operation
class Iota(Op):
    """Each element's index along `axis`; in a float type the nearest number to it.

    result    to, a tensor type of numbers
    gradient  none: there is no operand
    errors    TypeError: bool; ValueError: axis out of range
    """

    to: TensorType
    axis: int = 0
    samples = (
        sample(to=tensor(I64, (5,)), smooth=False, note="no operand"),
        sample(to=tensor(F32, (2, 3)), axis=1, smooth=False, note="no operand"),
        sample(to=tensor(I32, (2, 3, 4)), axis=1, smooth=False, note="no operand"),
        sample(to=tensor(F32, (0,)), smooth=False, note="no operand"),
    )

    def infer(self) -> TensorType:
        if self.to.dtype is BOOL:
            raise mistake(self, "to", "a tensor of numbers", self.to, TypeError)
        check_axis(self, self.axis, self.to.rank)
        return self.to

    def reference(self) -> Array:
        sizes = self.to.sizes
        along = np.arange(sizes[self.axis]).astype(self.to.dtype.compute.array)
        return np.broadcast_to(along.reshape(-1, *(1,) * (len(sizes) - self.axis - 1)), sizes)

    def lower(self, k: Kernel, out: Buffer) -> None:
        outer, length, inner = _three(out.shape, self.axis)
        dtype = out.dtype.compute
        if outer == inner == 1:
            with k.stage(length, ELEMENTS_PER_THREAD) as i:
                k.store(out, i, k.cast(i, dtype))
            return
        n = k.size(length, "n")
        if inner == 1:
            with k.stage(outer, grain_of(length), "row") as row, k.loop(0, n, "j") as j:
                k.store(out, row * n + j, k.cast(j, dtype))
            return
        m = k.size(inner, "m")
        with k.stage(outer * length, grain_of(inner), "row") as row:
            place = k.let(k.cast(row % n, dtype), "place")
            with k.loop(0, m, "j") as j:
                k.store(out, row * m + j, place)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return ()
