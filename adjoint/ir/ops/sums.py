"""Sums, means and products over axes, and whether all or any elements are true: reductions as in `reduce.py`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.ops import complex_arithmetic
from adjoint.ir.ops.reduce import F32_23, F32_2345, I32_23, NUMBERS, SHAPES, Reduction, kept_shape
from adjoint.ir.types import BOOL, COMPLEX, F32, F64, FLOATS, U8, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Expr, Kernel

__all__ = ["All", "Any_", "Mean", "Prod", "Sum", "SumOfSquares"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

BOOL_23 = tensor(BOOL, (2, 3))


def _spread(b: Builder, ct: Atom, type_: TensorType, axes: tuple[int, ...]) -> Atom:
    """Return the cotangent of a reduction broadcast to each element that was reduced."""
    kept = kept_shape(b, ct, type_, axes)
    return kept if kept.type is type_ else b.broadcast(kept, to=type_)


def _negative_zero(dtype: DType) -> float | complex:
    """Return the number of a floating point or complex type that changes no other when it is added, not even 0 or -0."""
    return complex(-0.0, -0.0) if dtype.is_complex else -0.0


def _wide(dtype: np.dtype[Any]) -> Any:
    """Return the dtype in which a reference adds and multiplies."""
    return {"f": np.float64, "c": np.complex128}.get(dtype.kind, dtype)


@operation
class Sum(Reduction):
    """The sum over `axes`, 0 over nothing; for bools whether one is true.

    x         T[s], any dtype
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct for every element of its group
    errors    TypeError: not a tensor; ValueError: axes out of range or not sorted
    """

    accepts = (BOOL, *NUMBERS, *COMPLEX)
    lanes = "sum"
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
        sample(BOOL_23, axes=(1,), smooth=False, note="bools"),
    )

    def neutral(self, dtype: DType) -> bool | int | float | complex:
        return False if dtype is BOOL else _negative_zero(dtype) if dtype.is_inexact else 0

    def empty(self, dtype: DType) -> bool | int | float:
        return False if dtype is BOOL else 0

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return a | b if a.dtype is BOOL else a + b

    def reference(self, x: Array) -> Array:
        if x.dtype.kind == "b":
            return np.any(x, axis=self.axes, keepdims=self.keepdims)
        return np.sum(x, axis=self.axes, keepdims=self.keepdims, dtype=_wide(x.dtype)).astype(x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (_spread(b, ct, tensor_type(x), self.axes),)


@operation
class SumOfSquares(Reduction):
    """The sum of the squares over `axes`, each computed in the dtype `to`: one that is wide enough holds the square of every element.

    x         T[s], T a floating point type
    result    to[s without axes], the axes as 1 if keepdims
    gradient  2 * x * ct, computed in `to`
    errors    TypeError: not floating point, `to` not one of f32 and f64 or narrower than T; ValueError: axes out of range or not sorted
    """

    to: DType = F32
    accepts = FLOATS
    lanes = "sum"
    forms = Reduction.forms[:2]
    samples = (
        sample(F32_23, axes=(0,)),
        sample(F32_23, axes=(1,), keepdims=True, to=F64),
        sample(F32_23, axes=(), to=F64),
        sample(tensor(F32), axes=(), to=F64),
        sample(tensor(F64, (4, 3)), axes=(1,), to=F64),
        sample(F32_2345, axes=(1, 3), to=F64),
        sample(tensor(F32, (0, 3)), axes=(0,), to=F64),
        sample(tensor(F32, (3, 101)), axes=(1,)),
        sample(tensor(F32, (3, 101)), axes=(0, 1), to=F64),
        sample(tensor(F32, (2, 3)), axes=(1,), to=F64, values={0: [[3e38, -1e-30, 0.0], [math.inf, -math.inf, math.nan]]}, smooth=False,
               note="squares beyond the range of float32"),
    )

    def infer(self, x: Any) -> TensorType:
        result = super().infer(x)
        if self.to not in (F32, F64) or self.to.size < x.dtype.size:
            raise mistake(self, "to", f"Float32 or Float64, and not narrower than {x.dtype}", self.to, TypeError)
        return result

    def wide(self, dtype: DType) -> DType:
        return self.to

    def term(self, k: Kernel, x: Expr) -> Expr:
        value = k.let(k.cast(x, self.to), "value")
        return value * value

    def neutral(self, dtype: DType) -> float:
        return -0.0

    def empty(self, dtype: DType) -> float:
        return 0.0

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return a + b

    def reference(self, x: Array) -> Array:
        terms = x.astype(self.to.array)
        return np.sum((terms * terms).astype(np.float64), axis=self.axes, keepdims=self.keepdims).astype(self.to.array)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_ = tensor_type(x)
        given = x if type_.dtype is self.to else b.cast(x, to=self.to)
        slope = b.mul(_spread(b, ct, tensor(self.to, type_.shape), self.axes), b.add(given, given))
        return (slope if type_.dtype is self.to else b.cast(slope, to=type_.dtype),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for shape, axes in cls.forms if dtype is F32 else ():
            yield cls(axes=axes, to=F64), (tensor(dtype, shape),)


@operation
class Mean(Reduction):
    """The sum over `axes` divided by the number of elements; NaN over nothing.

    x         T[s], T a floating point or complex type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct / n for every element of its group of n
    errors    TypeError: neither floating point nor complex; ValueError: axes out of range or not sorted
    """

    accepts = (*FLOATS, *COMPLEX)
    lanes = "sum"
    samples = (
        *SHAPES,
        sample(F32_2345, axes=(0, 2, 3), keepdims=True),
        sample(tensor(F32, (3, 0)), axes=(0,)),
        sample(tensor(F32, (0, 3)), axes=(0,), smooth=False, note="NaN: the mean of nothing"),
    )

    def neutral(self, dtype: DType) -> float | complex:
        return _negative_zero(dtype)

    def empty(self, dtype: DType) -> float | complex:
        return complex(math.nan, math.nan) if dtype.is_complex else math.nan

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return a + b

    def finished(self, k: Kernel, total: Expr, count: Expr | None) -> Expr:
        if count is None:
            return total
        if not total.dtype.is_complex:
            return total / k.cast(count, total.dtype)
        total = k.let(total, "total")
        real, imag = (k.part_of(total, part) / k.cast(count, total.dtype.part) for part in ("real", "imag"))
        return k.complex_of(real, imag, total.dtype)

    def reference(self, x: Array) -> Array:
        total = np.sum(x, axis=self.axes, keepdims=self.keepdims, dtype=_wide(x.dtype))
        count = np.float64(math.prod(x.shape[axis] for axis in self.axes))
        if x.dtype.kind == "c":
            return complex_arithmetic.complex_number(total.real / count, total.imag / count).astype(x.dtype)
        return (total / count).astype(x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_ = tensor_type(x)
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
    gradient  ct times the conjugate of the product of the other elements of the group, right where elements are 0; it is built as the
              gradient of a balanced tree of products, so it has gradients of any order
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted
    """

    accepts = (*NUMBERS, *COMPLEX)
    pack = ""
    samples = (
        *SHAPES,
        sample(F32_2345, axes=(0, 2), domain=(0.5, 1.5)),
        sample(tensor(F32, (2, 5)), axes=(1,)),
        sample(tensor(F32, (2, 3)), axes=(1,), values={0: [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0]]}),
        sample(tensor(F32, (0, 3)), axes=(0,)),
        sample(I32_23, axes=(1,), domain=(-9, 9), smooth=False, note="integers"),
    )

    def neutral(self, dtype: DType) -> int | float:
        return 1

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return a * b

    def reference(self, x: Array) -> Array:
        return np.prod(x, axis=self.axes, keepdims=self.keepdims, dtype=_wide(x.dtype)).astype(x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_ = tensor_type(x)
        if type_.is_static and type_.count == 0:
            return (b.zeros(type_),)
        kept = tuple(axis for axis in range(type_.rank) if axis not in self.axes)
        shape = tuple(type_.shape[axis] for axis in kept)
        count = math.prod(type_.shape[axis] for axis in self.axes)
        if not isinstance(count, int):
            raise NotDifferentiable(f"the gradient of prod needs known dimensions, but got {type_}")
        dtype = type_.dtype

        permutation = (*kept, *self.axes)
        moved = b.transpose(x, permutation=permutation)
        product = b.reshape(moved, to=tensor(dtype, (*shape, count)))
        halves: list[tuple[Atom, Atom, int]] = []
        while count > 1:
            half = (count + 1) // 2
            if count % 2:
                product = _padded(b, product, one=1.0 if dtype.is_inexact else 1)
            left, right = _part(b, product, 0, half), _part(b, product, half, 2 * half)
            halves.append((left, right, count))
            product, count = b.mul(left, right), half
        cotangent = b.reshape(ct, to=tensor(dtype, (*shape, 1)))
        for left, right, count in reversed(halves):
            cotangent = b.concat(b.mul(cotangent, b.conj(right)), b.mul(cotangent, b.conj(left)), axis=len(shape))
            cotangent = _part(b, cotangent, 0, count)
        back = b.reshape(cotangent, to=moved.type)
        return (b.transpose(back, permutation=tuple(permutation.index(axis) for axis in range(type_.rank))),)


def _padded(b: Builder, x: Atom, one: float) -> Atom:
    """Return `x` with a 1 added along its last axis."""
    rank = tensor_type(x).rank
    return b.pad(x, low=(0,) * rank, high=(*(0,) * (rank - 1), 1), interior=(0,) * rank, value=one)


def _part(b: Builder, x: Atom, start: int, stop: int) -> Atom:
    """Return `x[..., start:stop]`."""
    *outer, last = tensor_type(x).shape
    if (start, stop) == (0, last):
        return x
    ends = [size if isinstance(size, int) else None for size in outer]
    return b.slice(x, start=(*(0,) * len(outer), start), stop=(*ends, stop), step=(1,) * (len(outer) + 1))


class Quantifier(Reduction):
    """A statement about all elements of a group."""

    accepts = (BOOL,)
    forms = Reduction.forms[:2]
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

    def neutral(self, dtype: DType) -> bool:
        return True

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return a & b

    def reference(self, x: Array) -> Array:
        return np.all(x, axis=self.axes, keepdims=self.keepdims)


@operation
class Any_(Quantifier):
    """Whether any element over `axes` is true; false over nothing.

    x         bool[s]
    result    bool[s without axes], the axes as 1 if keepdims
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: axes out of range or not sorted
    """

    name = "any"
    cuts = "bools have no gradient"

    def neutral(self, dtype: DType) -> bool:
        return False

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return a | b

    def reference(self, x: Array) -> Array:
        return np.any(x, axis=self.axes, keepdims=self.keepdims)
