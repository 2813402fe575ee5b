"""Ops that move elements: reshape, transpose, concatenate, slice, pad and others.  They compute nothing, but a slice's gradient adds 0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import (
    ELEMENTS_PER_THREAD,
    StridedAccess,
    advance,
    broadcast_access,
    collapsed,
    emit_fill,
    emit_map,
    row_counters,
    row_major,
)
from adjoint.ir.ops.segments import Segment, emit_segments
from adjoint.ir.ops.views import View, ViewOp
from adjoint.ir.types import BOOL, F16, F32, I32, I64, Dim, DType, TensorType, broadcast_shapes, tensor

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


def check_tensor(op: Op, name: str, type_: Any) -> None:
    if not isinstance(type_, TensorType):
        raise mistake(op, name, "a tensor", type_, TypeError)


def check_axis(op: Op, axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise mistake(op, "axis", f"in 0..{rank - 1}", axis)


def _first(elements: list[Any]) -> Any:
    return elements[0]


TILE = 16
"""The side of the squares in which a transpose moves elements one by one: a cache line of float32."""
BLOCK = 128
"""The side of the squares that a transpose moves through vectors: two of them stay in a cache."""


NARROW = 128
"""Rows of so many elements are padded by filling the result first: their ends are too short for loops of their own."""


def _emit_tiled(k: Kernel, x: Buffer, out: Buffer, dims: Sequence[int], strides: Sequence[int]) -> None:
    """Emit a transpose: `x` is read with these strides over the axes `dims` of the contiguous `out`; the last stride is not 1.

    Squares in the plane of two axes are moved, the last axis of `out` and the last of `x`, so that both are accessed along their
    cache lines.  A unit is a square.
    """
    steps = row_major(dims)
    across = strides.index(1)
    outer = [axis for axis in range(len(dims) - 1) if axis != across]
    k.describe(x, "..., n, ..., m" if outer else "n, m")
    k.describe(out, "..., m, ..., n" if outer else "m, n")
    m, n = k.size(dims[across], "m"), k.size(dims[-1], "n")
    x_row, out_row = k.size(strides[-1], "x_row"), k.size(steps[across], "out_row")
    sizes = [k.size(dims[axis], f"n{axis}") for axis in outer]
    x_steps = [k.size(strides[axis], f"x_s{axis}") for axis in outer]
    out_steps = [k.size(steps[axis], f"out_s{axis}") for axis in outer]

    wide = out.dtype.size in _VECTORS
    side = BLOCK if wide else TILE
    down, right = -(-dims[across] // side), -(-dims[-1] // side)
    units = math.prod(dims[axis] for axis in outer) * down * right
    area = math.prod(dims) // max(1, units)
    with k.stage_range(units, max(1, ELEMENTS_PER_THREAD // (4 * max(1, area)))) as (begin, end):
        bounds = [*sizes, k.size(down, "squares_down"), k.size(right, "squares_right")]
        counters = row_counters(k, begin, bounds)
        with k.loop(begin, end, "unit"):
            x_at: Any = 0
            out_at: Any = 0
            for counter, x_step, out_step in zip(counters, x_steps, out_steps, strict=False):
                x_at, out_at = x_at + counter * x_step, out_at + counter * out_step
            if sizes:
                x_at, out_at = k.let(x_at, "x_at"), k.let(out_at, "out_at")
            top, left = k.let(counters[-2] * side, "top"), k.let(counters[-1] * side, "left")
            height, width = k.let(k.minimum_of(m - top, side), "height"), k.let(k.minimum_of(n - left, side), "width")
            x_at, out_at = x_at + left * x_row + top, out_at + top * out_row + left
            if wide:
                function = f"adjoint_transpose_block_{_VECTORS[out.dtype.size]}"
                k.run(function, x.at(x_at), x_row, out.at(out_at), out_row, height, width)
            else:
                x_at, out_at = k.let(x_at, "x_from"), k.let(out_at, "out_from")
                with k.loop(0, height, "i") as i, k.loop(0, width, "j") as j:
                    k.store(out, out_at + i * out_row + j, x[x_at + j * x_row + i])
            advance(k, counters, bounds)


_VECTORS = {4: "f32", 8: "f64"}
"""For elements of so many bytes, the form of `transpose.h` that moves them."""


@operation
class Reshape(ViewOp):
    """The same elements in the same order with another shape; the result shares the operand's memory.

    x         T[s]
    result    to, a T[t] of as many elements
    gradient  ct reshaped to s
    errors    TypeError: `to` has another dtype; ValueError: `to` has another number of elements
    """

    to: TensorType
    batch = batching.along_axes
    aliases: ClassVar[bool] = True
    samples = (
        sample(F32_23, to=tensor(F32, (3, 2))),
        sample(F32_23, to=tensor(F32, (6,))),
        sample(tensor(F32, (1, 1)), to=tensor(F32)),
        sample(tensor(F32, (0, 3)), to=tensor(F32, (2, 0))),
        sample(I32_23, to=tensor(I32, (6,)), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        if x.dtype is not self.to.dtype:
            raise mistake(self, "x", f"a tensor of {self.to.dtype}", x, TypeError)
        if math.prod(x.shape) != math.prod(self.to.shape):
            raise mistake(self, "to", f"a shape of as many elements as {x}", self.to)
        return self.to

    def reference(self, x: Array) -> Array:
        return np.reshape(x, self.to.sizes)

    def view(self, of: View) -> View | None:
        return of.reshaped(self.to.sizes)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        emit_map(k, out, [StridedAccess(x, row_major(out.shape))], _first)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.reshape(ct, to=node.operands[0].type),)


@operation
class Broadcast(Op):
    """The elements repeated along new axes and along axes of size 1, as NumPy broadcasts.

    x         T[s]
    result    to, a T[t] that s broadcasts to
    gradient  ct summed over the axes along which x was repeated
    errors    TypeError: `to` has another dtype; ValueError: s does not broadcast to t
    """

    to: TensorType
    pack = "shape"
    samples = (
        sample(tensor(F32), to=F32_23),
        sample(tensor(F32, (3,)), to=F32_23),
        sample(tensor(F32, (2, 1)), to=F32_23),
        sample(tensor(F32, (3,)), to=tensor(F32, (3, 3))),
        sample(F32_23, to=F32_23),
        sample(tensor(F32, (1, 3, 1)), to=F32_234),
        sample(tensor(F32, (1, 3)), to=tensor(F32, (0, 3))),
        sample(tensor(BOOL), to=BOOL_23, smooth=False, note="bools"),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        if x.dtype is not self.to.dtype:
            raise mistake(self, "x", f"a tensor of {self.to.dtype}", x, TypeError)
        try:
            fits = broadcast_shapes(x.shape, self.to.shape) == self.to.shape
        except ValueError:
            fits = False
        if not fits:
            raise mistake(self, "x", f"of a shape that broadcasts to [{', '.join(map(str, self.to.shape))}]", x)
        return self.to

    def reference(self, x: Array) -> Array:
        return np.broadcast_to(x, self.to.sizes)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        emit_map(k, out, [broadcast_access(x, out.shape)], _first)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        x = batching.padded(b, operands[0], self.to.rank)
        return [b.broadcast(x, to=self.to.with_shape((size, *self.to.shape)))]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.unbroadcast(ct, to=node.operands[0].type),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for shape, to in (((), (4, 8)), ((8,), (4, 8)), ((4, 1), (4, 8)), ((1, 3, 1, 1), (2, 3, 4, 4))):
            yield cls(tensor(dtype, to)), (tensor(dtype, shape),)


@operation
class Transpose(ViewOp):
    """The axes in another order: axis i of the result is axis permutation[i] of the operand.

    x         T[s]
    result    T[s permuted]
    gradient  ct permuted back
    errors    TypeError: not a tensor; ValueError: not a permutation of the axes
    """

    permutation: tuple[int, ...]
    pack = "shape"
    samples = (
        sample(F32_23, permutation=(1, 0)),
        sample(F32_234, permutation=(2, 0, 1)),
        sample(F32_234, permutation=(1, 0, 2)),
        sample(F32_234, permutation=(0, 2, 1)),
        sample(F32_234, permutation=(2, 1, 0)),
        sample(F32_23, permutation=(0, 1)),
        sample(tensor(F32), permutation=()),
        sample(tensor(F32, (0, 3)), permutation=(1, 0)),
        sample(tensor(F32, (2, 3, 4, 5)), permutation=(0, 2, 3, 1)),
        sample(tensor(F32, (17, 33)), permutation=(1, 0), note="overlapping vectors"),
        sample(tensor(F32, (130, 15)), permutation=(1, 0), note="several squares, the last of them narrow"),
        sample(tensor(I64, (9, 17)), permutation=(1, 0), smooth=False, note="wide integers"),
        sample(tensor(F16, (17, 18)), permutation=(1, 0), smooth=False, note="half floats"),
        sample(BOOL_23, permutation=(1, 0), smooth=False, note="bools"),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        if sorted(self.permutation) != list(range(x.rank)):
            raise mistake(self, "permutation", f"a permutation of the axes 0..{x.rank - 1}", self.permutation)
        return x.with_shape(tuple(x.shape[axis] for axis in self.permutation))

    def reference(self, x: Array) -> Array:
        return np.transpose(x, self.permutation)

    def view(self, of: View) -> View:
        return of.transposed(self.permutation)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        view = self.view(View.whole(x.shape))
        dims, (merged,) = collapsed(view.sizes, [view.strides])
        if merged[-1] == 1 or k.unrolls:
            emit_map(k, out, [view.access(x, out.shape)], _first)
        else:
            _emit_tiled(k, x, out, dims, merged)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        return [b.transpose(*operands, permutation=(0, *(axis + 1 for axis in self.permutation)))]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        inverse = tuple(self.permutation.index(axis) for axis in range(len(self.permutation)))
        return (b.transpose(ct, permutation=inverse),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for permutation in ((1, 0), (0, 2, 1), (0, 2, 1, 3), (0, 2, 3, 1)):
            yield cls(permutation), (tensor(dtype, (2, 3, 4, 5)[: len(permutation)]),)


@operation
class Concat(Op):
    """The operands concatenated along `axis`.

    x_i       T[s_i], at least one, equal but for the length along axis
    result    T[s], with the lengths along axis added
    gradient  the part of ct that came from each
    errors    TypeError: dtypes differ; ValueError: shapes differ, axis out of range
    """

    axis: int
    batch = batching.along_axes
    variadic = True
    pack = "shape"
    samples = (
        sample(F32_23, F32_23, axis=0),
        sample(F32_23, tensor(F32, (2, 1)), tensor(F32, (2, 2)), axis=1),
        sample(F32_23, axis=1),
        sample(F32_234, tensor(F32, (2, 0, 4)), F32_234, axis=1),
        sample(tensor(BOOL, (2,)), tensor(BOOL, (1,)), axis=0, smooth=False, note="bools"),
    )

    def infer(self, *operands: Any) -> TensorType:
        if not operands:
            raise mistake(self, "operands", "at least one tensor", ())
        first = operands[0]
        length: Dim = 0
        for position, type_ in enumerate(operands):
            name = f"x_{position}"
            check_tensor(self, name, type_)
            check_axis(self, self.axis, first.rank)
            if type_.dtype is not first.dtype:
                raise mistake(self, name, f"of the same dtype as the first tensor, {first.dtype}", type_, TypeError)
            if _with(type_.shape, self.axis, 0) != _with(first.shape, self.axis, 0):
                raise mistake(self, name, f"of the same shape as {first}, except along axis {self.axis}", type_)
            length = length + type_.shape[self.axis]
        return first.with_shape(_with(first.shape, self.axis, length))

    def reference(self, *operands: Array) -> Array:
        return np.concatenate(operands, axis=self.axis)

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        *operands, out = buffers
        outer = math.prod(out.shape[: self.axis])
        inner = math.prod(out.shape[self.axis + 1 :])
        row = out.shape[self.axis] * inner
        at = 0
        for x in operands:
            chunk = x.shape[self.axis] * inner
            target = StridedAccess(out, (row, 1), at)
            emit_map(k, out, [StridedAccess(x, (chunk, 1))], _first, onto=((outer, chunk), target))
            at += chunk

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        parts: list[Atom] = []
        at = 0
        for operand in node.operands:
            shape = tensor_type(operand).shape
            length: Any = shape[self.axis]
            if not isinstance(length, int):
                length = tensor_type(operand).sizes[self.axis]  # there is no number: NamedSizes
            end = at + length
            start, stop = _with((0,) * len(shape), self.axis, at), _with(shape, self.axis, end)
            stop = tuple([size if isinstance(size, int) else None for size in stop])
            parts.append(b.slice(ct, start=start, stop=stop, step=(1,) * len(shape)))
            at = end
        return parts

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for axis in (0, 1):
            yield cls(axis), (tensor(dtype, (4, 8)), tensor(dtype, (4, 8)))


def _with(shape: tuple[Any, ...], axis: int, dim: Any) -> tuple[Any, ...]:
    """Return `shape` with another entry at `axis`; unchanged if there is no such axis."""
    return (*shape[:axis], dim, *shape[axis + 1 :]) if axis < len(shape) else shape


def _length(start: int, stop: int, step: int) -> int:
    """Return the length of a `range`; of sizes that are recorded, it is one as well."""
    return -(-(stop - start) // step) if (start < stop) == (step > 0) else 0


@operation
class Slice(ViewOp):
    """Along each axis the elements at start, start + step, ... before stop, like Python's range.

    Indices count from the front; going down to the first element, stop is -1.  With the stop `none`, which needs a step of 1, they go up to
    the last one; that is the only stop along an axis whose size has a name.

    x         T[s]
    result    T[the numbers of elements]
    gradient  ct added to zeros at the places it was taken from, as for `gather`
    errors    TypeError: not a tensor; ValueError: a bound for each axis is missing, step is 0, an index is out of range
    """

    start: tuple[int, ...]
    stop: tuple[int | None, ...]
    step: tuple[int, ...]
    pack = "shape"
    samples = (
        sample(F32_23, start=(0, 1), stop=(2, 3), step=(1, 1)),
        sample(F32_23, start=(1, 0), stop=(2, 3), step=(1, 2)),
        sample(F32_23, start=(1, 2), stop=(-1, -1), step=(-1, -2)),
        sample(tensor(F32, (10,)), start=(8,), stop=(1,), step=(-3,)),
        sample(F32_234, start=(0, 1, 0), stop=(2, 3, 4), step=(1, 1, 1)),
        sample(F32_23, start=(0, 1), stop=(2, 1), step=(1, 1)),
        sample(F32_23, start=(1, 0), stop=(None, 2), step=(1, 1), note="to the end"),
        sample(tensor(F32, (2, 37)), start=(0, 36), stop=(2, -1), step=(1, -2), note="every second element backwards"),
        sample(tensor(F32), start=(), stop=(), step=()),
        sample(BOOL_23, start=(0, 1), stop=(2, 3), step=(1, 1), smooth=False, note="bools"),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        for name in ("start", "stop", "step"):
            if len(getattr(self, name)) != x.rank:
                raise mistake(self, name, f"one number for each of {x.rank} axes", getattr(self, name))
        if 0 in self.step:
            raise mistake(self, "step", "not 0", self.step)
        shape: list[Dim] = []
        for axis, (dim, start, stop, step) in enumerate(zip(x.shape, self.start, self.stop, self.step, strict=True)):
            if stop is None and step != 1:
                raise mistake(self, "step", f"1 along axis {axis}, where there is no stop", step)
            if not isinstance(dim, int):
                # A size that has a name is at least 2.
                if stop is not None or not 0 <= start <= 2:
                    raise mistake(self, "x", f"of known length along axis {axis}", x)
                shape.append(dim - start)
                continue
            length = _length(start, dim if stop is None else stop, step)
            if length and not (0 <= start < dim and 0 <= start + (length - 1) * step < dim):
                raise mistake(self, "start", f"a range inside 0..{dim - 1} along axis {axis}", start)
            shape.append(length)
        return x.with_shape(tuple(shape))

    def bounds(self, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return start, stop and step along each axis of a tensor of this shape."""
        return [(start, size if stop is None else stop, step)
                for size, start, stop, step in zip(sizes, self.start, self.stop, self.step, strict=True)]

    def reference(self, x: Array) -> Array:
        ranges = [range(*bounds) for bounds in self.bounds(x.shape)]
        return x[tuple(slice(r.start, None if r.stop < 0 else r.stop, r.step) if r else slice(0, 0) for r in ranges)]

    def view(self, of: View) -> View:
        return of.sliced(self.start, self.step, [_length(*bounds) for bounds in self.bounds(of.sizes)])

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        emit_map(k, out, [self.view(View.whole(x.shape)).access(x, out.shape)], _first)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        end = size if isinstance(size, int) else None
        return [b.slice(*operands, start=(0, *self.start), stop=(end, *self.stop), step=(1, *self.step))]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        downward = tuple(axis for axis, step in enumerate(self.step) if step < 0)
        if downward:
            ct = b.reverse(ct, axes=downward)
        low, high, interior = [], [], []
        type_ = tensor_type(x)
        for dim, start, stop, step in zip(type_.shape, self.start, self.stop, self.step, strict=True):
            if stop is None or not isinstance(dim, int):
                low.append(start)
                high.append(0)
                interior.append(0)
                continue
            taken = range(start, stop, step)
            ends = (min(taken[0], taken[-1]), max(taken[0], taken[-1])) if taken else (0, -1)
            low.append(ends[0])
            high.append(dim - 1 - ends[1])
            interior.append(abs(taken.step) - 1)
        return (b.slice_gradient(ct, low=tuple(low), high=tuple(high), interior=tuple(interior)),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for stop in ((4, 5), (2, 8)):
            yield cls((0, 0), stop, (1, 1)), (tensor(dtype, (4, 8)),)


def zero_of(dtype: DType) -> bool | int | float:
    return False if dtype is BOOL else 0.0 if dtype.is_inexact else 0


class _Spread(Op):
    """An op whose result has the elements of x with those of one value around and between them."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    batch = batching.along_axes
    pack = "shape"

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        for name in ("low", "high", "interior"):
            numbers = getattr(self, name)
            if len(numbers) != x.rank or any(n < 0 for n in numbers):
                raise mistake(self, name, f"one non-negative number for each of {x.rank} axes", numbers)
        return x.with_shape(tuple(
            dim + low + high + (interior * (dim - 1) if dim != 0 else 0)
            for dim, low, high, interior in zip(x.shape, self.low, self.high, self.interior, strict=True)
        ))

    def reference(self, x: Array) -> Array:
        result = np.full(self.infer(tensor(F32, x.shape)).sizes, self.around(), dtype=x.dtype)
        if x.size:
            result[self._places(x.shape)] = self.element(x)
        return result

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        if x.count == 0:
            emit_fill(k, out, self.around())
            return
        if not any(self.interior) and x.rank and out.shape[-1] > NARROW:
            ends = zip(x.shape, self.low, self.high, strict=True)
            emit_segments(k, x, out, [[Segment(low, None), Segment(n, 0), Segment(high, None)] for n, low, high in ends], self.around(),
                          self.element)
            return
        if x.count != out.count:
            emit_fill(k, out, self.around())
        own = row_major(out.shape)
        strides = tuple(stride * (interior + 1) for stride, interior in zip(own, self.interior, strict=True))
        offset = sum(stride * low for stride, low in zip(own, self.low, strict=True))
        emit_map(k, out, [StridedAccess(x, row_major(x.shape))], self._of_one, onto=(x.shape, StridedAccess(out, strides, offset)))

    def around(self) -> bool | int | float:
        """Return the value of the elements that are not of x."""
        return 0

    def element(self, x: Any) -> Any:
        """Return what an element of x, or an array of them, becomes in the result."""
        return x

    def _of_one(self, elements: list[Any]) -> Any:
        return self.element(elements[0])

    def _places(self, sizes: tuple[int, ...]) -> tuple[slice, ...]:
        """Return the positions of the elements of x in the result, for `sizes` without 0."""
        return tuple(
            slice(low, low + (size - 1) * (interior + 1) + 1, interior + 1)
            for size, low, interior in zip(sizes, self.low, self.interior, strict=True)
        )

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        type_ = tensor_type(node.operands[0])
        if not type_.is_static and not any(self.high) and not any(self.interior):
            stop = tuple([low + size if isinstance(size, int) else None for low, size in zip(self.low, type_.shape, strict=True)])
            return (b.slice(ct, start=self.low, stop=stop, step=(1,) * type_.rank),)
        if type_.count == 0:
            return (b.zeros(type_),)
        places = self._places(type_.sizes)
        start, stop, step = zip(*((p.start, p.stop, p.step) for p in places), strict=True) if places else ((), (), ())
        return (b.slice(ct, start=start, stop=stop, step=step),)


@operation
class Pad(_Spread):
    """Along each axis, `low` elements added before, `high` after and `interior` between any two, all of one value.

    x         T[s]
    result    T[s + low + high + interior * (s - 1)], along axes of no elements low + high
    gradient  the elements of ct that came from x
    errors    TypeError: not a tensor; ValueError: a number for each axis is missing or negative
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    value: bool | int | float = 0.0
    samples = (
        sample(F32_23, low=(1, 0), high=(0, 2), interior=(0, 0)),
        sample(F32_23, low=(0, 1), high=(0, 1), interior=(1, 2), value=-1.5),
        sample(tensor(F32, (0, 3)), low=(2, 0), high=(1, 0), interior=(3, 0)),
        sample(tensor(F32), low=(), high=(), interior=()),
        sample(F32_23, low=(0, 0), high=(0, 0), interior=(0, 0)),
        sample(F32_234, low=(0, 1, 1), high=(0, 1, 1), interior=(0, 0, 0)),
        sample(F32_234, low=(1, 0, 0), high=(0, 2, 0), interior=(0, 0, 0), value=2.5),
        sample(tensor(F32, (135,)), low=(3,), high=(18,), interior=(0,), value=-0.0, note="one wide axis, negative zeros"),
        sample(tensor(F32, (2, 2, 131)), low=(0, 1, 0), high=(0, 2, 1), interior=(0, 0, 0), value=1.0, note="wide rows"),
        sample(tensor(F32, (2, 0)), low=(1, 0), high=(0, 3), interior=(0, 0), value=1.0, note="nothing but padding"),
        sample(tensor(F32, (3,)), low=(1,), high=(0,), interior=(0,), value=-math.inf, smooth=False, note="infinite"),
        sample(BOOL_23, low=(1, 0), high=(0, 2), interior=(0, 0), value=True, smooth=False, note="bools"),
        sample(I32_23, low=(1, 0), high=(0, 2), interior=(0, 0), value=7, smooth=False, note="integers"),
    )

    def around(self) -> bool | int | float:
        return self.value

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for low, high in (((0, 0), (0, 3)), ((0, 0), (2, 0)), ((0, 0, 1, 1), (0, 0, 1, 1))):
            value = False if dtype is BOOL else 0.0 if dtype.is_inexact else 0
            yield cls(low, high, (0,) * len(low), value), (tensor(dtype, (2, 3, 4, 4)[: len(low)]),)


@operation
class SliceGradient(_Spread):
    """The cotangent of slice's operand: zeros, with x added at the places that a slice takes.

    A slice of one element along an axis is what `gather` takes for its index, and so has the same gradient: 0 + -0 is 0.  Where the index
    is a number of Python, `x[i]` is a slice, and in a loop of a graph, it is a gather.

    x         T[s], T any dtype but bool
    result    T[s + low + high + interior * (s - 1)], along axes of no elements low + high
    gradient  the elements of ct that came from x
    errors    TypeError: not a tensor of numbers; ValueError: a number for each axis is missing or negative
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    samples = (
        sample(F32_23, low=(1, 0), high=(0, 2), interior=(0, 0)),
        sample(F32_23, low=(0, 1), high=(0, 1), interior=(1, 2)),
        sample(tensor(F32, (3,)), values={0: [-0.0, 0.0, -1.0]}, low=(1,), high=(0,), interior=(0,), note="a negative zero"),
        sample(tensor(F32, (2, 135)), low=(1, 3), high=(0, 18), interior=(0, 0), note="wide rows"),
        sample(tensor(F32, (0, 3)), low=(2, 0), high=(1, 0), interior=(3, 0)),
        sample(tensor(F32), low=(), high=(), interior=()),
        sample(F32_23, low=(0, 0), high=(0, 0), interior=(0, 0)),
        sample(I32_23, low=(1, 0), high=(0, 2), interior=(0, 0), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        if super().infer(x).dtype is BOOL:
            raise mistake(self, "x", "a tensor of numbers", x, TypeError)
        return super().infer(x)

    def element(self, x: Any) -> Any:
        return x + 0

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for low, high in (((0, 0), (0, 3)), ((0, 0), (2, 0))) if dtype.is_float else ():
            yield cls(low, high, (0,) * len(low)), (tensor(dtype, (2, 3)),)


@operation
class Reverse(ViewOp):
    """The elements in reverse order along each of `axes`.

    x         T[s]
    result    T[s]
    gradient  ct reversed along the same axes
    errors    TypeError: not a tensor; ValueError: axes out of range or not sorted
    """

    axes: tuple[int, ...]
    batch = batching.along_axes
    samples = (
        sample(F32_23, axes=(0,)),
        sample(F32_23, axes=(0, 1)),
        sample(F32_234, axes=(1,)),
        sample(tensor(F32, (3, 17)), axes=(1,), note="more than a vector"),
        sample(tensor(F16, (3, 5)), axes=(1,), smooth=False, note="half floats"),
        sample(F32_23, axes=()),
        sample(tensor(F32, (0, 3)), axes=(0, 1)),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        for before, axis in zip((-1, *self.axes), self.axes, strict=False):
            if not before < axis < x.rank:
                raise mistake(self, "axes", f"sorted axes in 0..{x.rank - 1}", self.axes)
        return x

    def reference(self, x: Array) -> Array:
        return np.flip(x, self.axes)

    def view(self, of: View) -> View:
        turned = [(size - 1, -1) if axis in self.axes else (0, 1) for axis, size in enumerate(of.sizes)]
        return of.sliced([start for start, _ in turned], [step for _, step in turned], of.sizes)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        emit_map(k, out, [self.view(View.whole(x.shape)).access(x, out.shape)], _first)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.reverse(ct, axes=self.axes),)


@operation
class Roll(Op):
    """The elements moved by `shifts` along each axis; those that leave at the end come in at the beginning.

    x         T[s]
    result    T[s]
    gradient  ct moved back
    errors    TypeError: not a tensor; ValueError: a number for each axis is missing
    """

    shifts: tuple[int, ...]
    batch = batching.along_axes
    pack = "shape"
    samples = (
        sample(F32_23, shifts=(0, 1)),
        sample(F32_23, shifts=(1, -1)),
        sample(F32_234, shifts=(1, 0, 0)),
        sample(F32_234, shifts=(1, 5, 2)),
        sample(tensor(F32, (37,)), shifts=(18,), note="one axis"),
        sample(F32_23, shifts=(2, 0), note="nothing moves"),
        sample(tensor(F32, (0, 3)), shifts=(1, 1)),
        sample(tensor(F32), shifts=()),
        sample(BOOL_23, shifts=(1, 1), smooth=False, note="bools"),
    )

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        if len(self.shifts) != x.rank:
            raise mistake(self, "shifts", f"one number for each of {x.rank} axes", self.shifts)
        return x

    def reference(self, x: Array) -> Array:
        return np.roll(x, self.shifts, tuple(range(x.ndim))) if x.ndim else x

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        axes: list[list[Segment]] = []
        for dim, shift in zip(x.shape, self.shifts, strict=True):
            moved = shift % dim if dim else 0
            axes.append([Segment(dim, 0)] if moved == 0 else [Segment(moved, dim - moved), Segment(dim - moved, 0)])
        emit_segments(k, x, out, axes)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.roll(ct, shifts=tuple(-shift for shift in self.shifts)),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for shifts in ((0, 3), (2, 0)):
            yield cls(shifts), (tensor(dtype, (4, 8)),)
