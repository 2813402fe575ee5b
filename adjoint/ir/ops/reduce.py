"""Reductions over axes, the positions of extremes, and running sums.

The order in which a reduction combines its elements is part of its meaning, so that a result does not depend on the number
of threads, on the shape's layout in memory or on the kernel: see `lower`.  Integers wrap around and keep their dtype; f16
and bf16 are added in float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.types import BOOL, F32, F64, FLOATS, I32, I64, INTEGERS, U8, Dim, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node

__all__ = ["Reduction"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

NUMBERS = (*INTEGERS, *FLOATS)

F32_23 = tensor(F32, (2, 3))
F32_2345 = tensor(F32, (2, 3, 4, 5))
I32_23 = tensor(I32, (2, 3))
BOOL_23 = tensor(BOOL, (2, 3))

SHAPES = (
    sample(F32_23, axes=(0,)),
    sample(F32_23, axes=(1,), keepdims=True),
    sample(F32_23, axes=(0, 1)),
    sample(F32_23, axes=()),
    sample(tensor(F32), axes=()),
    sample(tensor(F64, (4, 3)), axes=(1,)),
)
"""Forms of reduction that every op is tried on."""


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Op):
    """Combines the elements along `axes`, which are sorted; they stay as 1 if `keepdims`."""

    axes: tuple[int, ...]
    keepdims: bool = False
    accepts: ClassVar[tuple[DType, ...]] = NUMBERS
    """Dtypes of the operand."""
    pack = "reduce"

    def infer(self, x: Any) -> TensorType:
        if not isinstance(x, TensorType) or x.dtype not in self.accepts:
            raise mistake(self, "x", f"a tensor of {_listed(self.accepts)}", x, TypeError)
        for before, axis in zip((-1, *self.axes), self.axes, strict=False):
            if not before < axis < x.rank:
                raise mistake(self, "axes", f"sorted axes in 0..{x.rank - 1}", self.axes)
        return x.with_shape(reduced_shape(x.shape, self.axes, keepdims=self.keepdims))


def _listed(dtypes: Sequence[DType]) -> str:
    match dtypes:
        case _ if dtypes == NUMBERS:
            return "a number type"
        case _ if dtypes == FLOATS:
            return "a floating point type"
        case _:
            return " or ".join(d.long_name for d in dtypes)


def reduced_shape(shape: tuple[Dim, ...], axes: tuple[int, ...], *, keepdims: bool) -> tuple[Dim, ...]:
    """`shape` without `axes`, or with 1 for each."""
    if keepdims:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _kept(b: Builder, x: Atom, type_: TensorType, axes: tuple[int, ...]) -> Atom:
    """A result of a reduction of something of `type_`, with the reduced axes as 1."""
    to = tensor(x.type.dtype, reduced_shape(type_.shape, axes, keepdims=True))  # type: ignore[union-attr]
    return x if x.type is to else b.reshape(x, to=to)


def _spread(b: Builder, ct: Atom, type_: TensorType, axes: tuple[int, ...]) -> Atom:
    """A cotangent of a reduction for each element that was reduced."""
    kept = _kept(b, ct, type_, axes)
    return kept if kept.type is type_ else b.broadcast(kept, to=type_)


@operation
class Sum(Reduction):
    """The sum over `axes`; 0 over nothing.

    x         T[s], T a number type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct for every element of its group
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted
    """

    samples = (
        *SHAPES,
        sample(F32_2345, axes=(0, 2, 3)),
        sample(F32_2345, axes=(1,), keepdims=True),
        sample(F32_2345, axes=(1, 3)),
        sample(tensor(F32, (0, 3)), axes=(0,)),
        sample(tensor(F32, (3, 0)), axes=(0,)),
        sample(tensor(F32, (2, 300)), axes=(1,)),
        sample(tensor(F32, (300, 7)), axes=(0,)),
        sample(I32_23, axes=(1,), domain=(-9, 9), smooth=False, note="integers"),
        sample(tensor(U8, (9, 9)), axes=(0, 1), domain=(0, 9), smooth=False, note="integers, that wrap"),
    )

    def reference(self, x: Array) -> Array:
        wide = np.float64 if x.dtype.kind == "f" else x.dtype
        return np.sum(x, axis=self.axes, keepdims=self.keepdims, dtype=wide).astype(x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (_spread(b, ct, x.type, self.axes),)  # type: ignore[arg-type]


@operation
class Mean(Reduction):
    """The sum over `axes` divided by the number of elements; NaN over nothing.

    x         T[s], T a floating point type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct / n for every element of its group of n
    errors    TypeError: not floating point; ValueError: axes out of range or not sorted
    """

    accepts = FLOATS
    samples = (
        *SHAPES,
        sample(F32_2345, axes=(0, 2, 3), keepdims=True),
        sample(tensor(F32, (3, 0)), axes=(0,)),
        sample(tensor(F32, (0, 3)), axes=(0,), smooth=False, note="NaN: the mean of nothing"),
    )

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            total = np.sum(x, axis=self.axes, keepdims=self.keepdims, dtype=np.float64)
            return (total / np.float64(math.prod(x.shape[axis] for axis in self.axes))).astype(x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_: TensorType = x.type  # type: ignore[assignment]
        dims = tuple(type_.shape[axis] for axis in self.axes)
        count = math.prod(dims)
        if isinstance(count, int):
            number = b.constant(float(count), type_.dtype)
        else:
            ones = b.broadcast(b.constant(1.0, type_.dtype), to=tensor(type_.dtype, dims))
            number = b.sum(ones, axes=tuple(range(len(dims))), keepdims=False)
        return (_spread(b, b.div(ct, number), type_, self.axes),)


@operation
class Prod(Reduction):
    """The product over `axes`; 1 over nothing.

    x         T[s], T a number type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct times the product of the other elements of the group, right where elements are 0; it is built as the
              gradient of a balanced tree of products, so it has gradients of any order
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted
    """

    samples = (
        *SHAPES,
        sample(F32_2345, axes=(0, 2), domain=(0.5, 1.5)),
        sample(tensor(F32, (2, 5)), axes=(1,)),
        sample(tensor(F32, (2, 3)), axes=(1,), values={0: [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0]]}),
        sample(tensor(F32, (0, 3)), axes=(0,)),
        sample(I32_23, axes=(1,), domain=(-9, 9), smooth=False, note="integers"),
    )

    def reference(self, x: Array) -> Array:
        wide = np.float64 if x.dtype.kind == "f" else x.dtype
        with np.errstate(all="ignore"):
            return np.prod(x, axis=self.axes, keepdims=self.keepdims, dtype=wide).astype(x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_: TensorType = x.type  # type: ignore[assignment]
        if not type_.is_static:
            raise NotDifferentiable(f"prod of {type_}: the tree of products needs known dimensions")
        if type_.count == 0:
            return (b.zeros(type_),)
        kept = tuple(axis for axis in range(type_.rank) if axis not in self.axes)
        shape = tuple(type_.sizes[axis] for axis in kept)
        count = math.prod(type_.sizes[axis] for axis in self.axes)
        dtype = type_.dtype

        permutation = (*kept, *self.axes)
        moved = b.transpose(x, permutation=permutation)
        product = b.reshape(moved, to=tensor(dtype, (*shape, count)))
        halves: list[tuple[Atom, Atom, int]] = []
        while count > 1:
            half = (count + 1) // 2
            if count % 2:
                product = _padded(b, product, one=1.0 if dtype.is_float else 1)
            left, right = _part(b, product, 0, half), _part(b, product, half, 2 * half)
            halves.append((left, right, count))
            product, count = b.mul(left, right), half
        cotangent = b.reshape(ct, to=tensor(dtype, (*shape, 1)))
        for left, right, count in reversed(halves):
            cotangent = b.concat(b.mul(cotangent, right), b.mul(cotangent, left), axis=len(shape))
            cotangent = _part(b, cotangent, 0, count)
        back = b.reshape(cotangent, to=moved.type)
        return (b.transpose(back, permutation=tuple(permutation.index(axis) for axis in range(type_.rank))),)


def _padded(b: Builder, x: Atom, one: float) -> Atom:
    """`x` with a 1 more along its last axis."""
    rank: int = x.type.rank  # type: ignore[union-attr]
    return b.pad(x, low=(0,) * rank, high=(*(0,) * (rank - 1), 1), interior=(0,) * rank, value=one)


def _part(b: Builder, x: Atom, start: int, stop: int) -> Atom:
    """`x[..., start:stop]`"""
    sizes: tuple[int, ...] = x.type.sizes  # type: ignore[union-attr]
    if (start, stop) == (0, sizes[-1]):
        return x
    lead = len(sizes) - 1
    return b.slice(x, start=(*(0,) * lead, start), stop=(*sizes[:-1], stop), step=(1,) * (lead + 1))


class Extremum(Reduction):
    """The largest or the smallest element."""

    samples = (
        *SHAPES,
        sample(F32_2345, axes=(1, 3)),
        sample(tensor(F32, (3, 0)), axes=(0,)),
        sample(tensor(F32, (2, 4)), axes=(1,), values={0: [[3.0, 1.0, 3.0, 1.0], [2.0, math.nan, 1.0, 3.0]]}, smooth=False,
               note="a tie and NaN"),
        sample(I32_23, axes=(1,), domain=(-9, 9), smooth=False, note="integers"),
        sample(tensor(U8, (9, 9)), axes=(0, 1), domain=(0, 9), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        result = super().infer(x)
        if any(x.shape[axis] == 0 for axis in self.axes):
            raise mistake(self, "x", f"of at least one element along axes {self.axes}", x)
        return result

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_: TensorType = x.type  # type: ignore[assignment]
        dtype = type_.dtype
        chosen = b.equal(x, _kept(b, node.result, type_, self.axes))
        if dtype.is_float:
            count = b.sum(b.cast(chosen, to=dtype), axes=self.axes, keepdims=True)
            share = b.div(_kept(b, ct, type_, self.axes), count)
        else:
            count = b.sum(b.cast(chosen, to=F64), axes=self.axes, keepdims=True)
            share = b.cast(b.div(b.cast(_kept(b, ct, type_, self.axes), to=F64), count), to=dtype)
        return (b.select(chosen, share, b.constant(0.0 if dtype.is_float else 0, dtype)),)


@operation
class ReduceMax(Extremum):
    """The largest element over `axes`; NaN if one is NaN.

    x         T[s], T a number type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct to the largest element, shared equally among equal ones (truncated for integers); none where it is NaN
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted, nothing to choose from
    """

    def reference(self, x: Array) -> Array:
        return np.max(x, axis=self.axes, keepdims=self.keepdims)


@operation
class ReduceMin(Extremum):
    """The smallest element over `axes`; NaN if one is NaN.

    x         T[s], T a number type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct to the smallest element, shared equally among equal ones (truncated for integers); none where it is NaN
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted, nothing to choose from
    """

    def reference(self, x: Array) -> Array:
        return np.min(x, axis=self.axes, keepdims=self.keepdims)


class Quantifier(Reduction):
    """A statement about all elements of a group."""

    accepts = (BOOL,)
    samples = (
        sample(BOOL_23, axes=(0,), smooth=False, note="bools"),
        sample(BOOL_23, axes=(1,), keepdims=True, smooth=False, note="bools"),
        sample(tensor(BOOL, (2, 2)), axes=(1,), values={0: [[True, True], [False, True]]}, smooth=False, note="bools"),
        sample(tensor(BOOL, (2, 40)), axes=(0, 1), smooth=False, note="bools"),
        sample(tensor(BOOL, (0, 3)), axes=(0,), smooth=False, note="bools"),
    )


@operation
class All(Quantifier):
    """Whether all elements over `axes` are true; true over nothing.

    x         bool[s]
    result    bool[s without axes], the axes as 1 if keepdims
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: axes out of range or not sorted
    """

    cuts = "bools have no gradient"

    def reference(self, x: Array) -> Array:
        return np.all(x, axis=self.axes, keepdims=self.keepdims)


@operation
class Any_(Quantifier):
    """Whether an element over `axes` is true; false over nothing.

    x         bool[s]
    result    bool[s without axes], the axes as 1 if keepdims
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: axes out of range or not sorted
    """

    name = "any"
    cuts = "bools have no gradient"

    def reference(self, x: Array) -> Array:
        return np.any(x, axis=self.axes, keepdims=self.keepdims)


@dataclass(frozen=True, eq=False, repr=False)
class Position(Op):
    """The index of an extreme along `axis`, as an integer of dtype `to`."""

    axis: int
    to: DType = I64
    pack = "reduce"
    samples = (
        sample(F32_23, axis=0, smooth=False, note="an index"),
        sample(F32_23, axis=1, to=I32, smooth=False, note="an index"),
        sample(tensor(F32, (2, 3, 4)), axis=1, smooth=False, note="an index"),
        sample(tensor(F32, (2, 4)), axis=1, values={0: [[1.0, 3.0, 3.0, 1.0], [2.0, 3.0, math.nan, math.nan]]},
               smooth=False, note="ties and NaN"),
        sample(tensor(F32, (3, 0)), axis=0, smooth=False, note="an index"),
        sample(I32_23, axis=1, domain=(-9, 9), smooth=False, note="an index"),
    )

    def infer(self, x: Any) -> TensorType:
        if not isinstance(x, TensorType) or x.dtype not in NUMBERS:
            raise mistake(self, "x", "a tensor of a number type", x, TypeError)
        if self.to not in (I32, I64):
            raise mistake(self, "to", "Int32 or Int64", self.to, TypeError)
        if not 0 <= self.axis < x.rank:
            raise mistake(self, "axis", f"in 0..{x.rank - 1}", self.axis)
        if x.shape[self.axis] == 0:
            raise mistake(self, "x", f"of at least one element along axis {self.axis}", x)
        return tensor(self.to, reduced_shape(x.shape, (self.axis,), keepdims=False))


@operation
class ArgMax(Position):
    """The index of the largest element along `axis`, the first of equal ones; NaN counts as the largest.

    x         T[s], T a number type
    result    to[s without axis], to i32 or i64
    gradient  none: an index has none
    errors    TypeError: not numbers; ValueError: axis out of range, nothing to choose from
    """

    cuts = "an index has no gradient"

    def reference(self, x: Array) -> Array:
        return np.argmax(x, axis=self.axis).astype(self.to.array)


@operation
class ArgMin(Position):
    """The index of the smallest element along `axis`, the first of equal ones; NaN counts as the smallest.

    x         T[s], T a number type
    result    to[s without axis], to i32 or i64
    gradient  none: an index has none
    errors    TypeError: not numbers; ValueError: axis out of range, nothing to choose from
    """

    cuts = "an index has no gradient"

    def reference(self, x: Array) -> Array:
        return np.argmin(x, axis=self.axis).astype(self.to.array)


@operation
class CumSum(Op):
    """Running sums along `axis`, in order; f16 and bf16 are added in float32.

    `exclusive`: of the elements before, without the element itself.  `reverse`: from the end.

    x         T[s], T a number type
    result    T[s]
    gradient  the running sums of ct from the other end
    errors    TypeError: not numbers; ValueError: axis out of range
    """

    axis: int
    exclusive: bool = False
    reverse: bool = False
    pack = "reduce"
    samples = (
        sample(F32_23, axis=0),
        sample(F32_23, axis=1),
        sample(tensor(F32, (2, 3, 4)), axis=1, exclusive=True),
        sample(F32_23, axis=1, reverse=True),
        sample(F32_23, axis=1, exclusive=True, reverse=True),
        sample(tensor(F32, (3, 0)), axis=1),
        sample(I32_23, axis=1, domain=(-9, 9), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        if not isinstance(x, TensorType) or x.dtype not in NUMBERS:
            raise mistake(self, "x", "a tensor of a number type", x, TypeError)
        if not 0 <= self.axis < x.rank:
            raise mistake(self, "axis", f"in 0..{x.rank - 1}", self.axis)
        return x

    def reference(self, x: Array) -> Array:
        along = np.moveaxis(x, self.axis, 0)
        if self.reverse:
            along = along[::-1]
        total = np.cumsum(along, axis=0, dtype=x.dtype)
        if self.exclusive:
            total = np.concatenate([np.zeros_like(total[:1]), total[:-1]])
        if self.reverse:
            total = total[::-1]
        return np.moveaxis(total, 0, self.axis)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.cum_sum(ct, axis=self.axis, exclusive=self.exclusive, reverse=not self.reverse),)
