"""The largest and the smallest elements over axes: reductions as in `reduce.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import mistake, operation, sample
from adjoint.ir.ops.reduce import F32_2345, I32_23, SHAPES, Reduction, kept_shape
from adjoint.ir.types import F32, F64, U8, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Expr, Kernel

__all__ = ["ReduceMax", "ReduceMin"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]


def _with_nan(rows: int, columns: int, every: int) -> list[list[float]]:
    """Return numbers with ties, of which one in `every` is NaN: some rows and columns hold one, some none."""
    return [[math.nan if (i * columns + j) % every == every - 1 else float((5 * i + 3 * j) % 7 - 3) for j in range(columns)]
            for i in range(rows)]


class Extremum(Reduction):
    """The largest or the smallest element."""

    forms = Reduction.forms[:2]
    samples = (
        *SHAPES,
        sample(F32_2345, axes=(1, 3)),
        sample(tensor(F32, (3, 0)), axes=(0,)),
        sample(tensor(F32, (2, 4)), axes=(1,), values={0: [[3.0, 1.0, 3.0, 1.0], [2.0, math.nan, 1.0, 3.0]]}, smooth=False,
               note="a tie and NaN"),
        sample(tensor(F32, (18, 5)), axes=(0,), values={0: _with_nan(18, 5, 31)}, smooth=False, note="NaN in columns"),
        sample(tensor(F32, (3, 70)), axes=(1,), values={0: _with_nan(3, 70, 120)}, smooth=False, note="NaN in lanes"),
        sample(I32_23, axes=(1,), domain=(-9, 9), smooth=False, note="integers"),
        sample(tensor(U8, (9, 9)), axes=(0, 1), domain=(0, 9), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        result = super().infer(x)
        if any(x.shape[axis] == 0 for axis in self.axes):
            raise mistake(self, "x", f"of at least one element along axes {self.axes}", x)
        return result

    def beats(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        """Return the C condition that number `a` is more extreme than number `b`."""
        raise NotImplementedError(f"{type(self).__name__}.beats")

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        if not a.dtype.is_float:
            return k.select(self.beats(k, b, a), b, a)
        # Two statements, each of which is one instruction: of a single choice, or one by more conditions, compilers make branches.
        element = k.let(b, "element")
        extreme = k.let(k.select(self.beats(k, element, a), element, a), "extreme")
        return k.select(k.not_equal(element, element), element, extreme)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_ = tensor_type(x)
        dtype = type_.dtype
        chosen = b.equal(x, kept_shape(b, node.result, type_, self.axes))
        if dtype.is_float:
            count = b.sum(b.cast(chosen, to=dtype), axes=self.axes, keepdims=True)
            share = b.div(kept_shape(b, ct, type_, self.axes), count)
        else:
            count = b.sum(b.cast(chosen, to=F64), axes=self.axes, keepdims=True)
            share = b.cast(b.div(b.cast(kept_shape(b, ct, type_, self.axes), to=F64), count), to=dtype)
        return (b.select(chosen, share, b.constant(0.0 if dtype.is_float else 0, dtype)),)


@operation
class ReduceMax(Extremum):
    """The largest element over `axes`; NaN if one is NaN.

    x         T[s], T a number type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct to the largest element, shared equally among equal ones (truncated for integers); none where it is NaN
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted, no elements
    """

    lanes = "maximum"

    def neutral(self, dtype: DType) -> int | float:
        return -math.inf if dtype.is_float else int(np.iinfo(dtype.array).min)

    def beats(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return k.greater(a, b)

    def reference(self, x: Array) -> Array:
        return np.max(x, axis=self.axes, keepdims=self.keepdims)


@operation
class ReduceMin(Extremum):
    """The smallest element over `axes`; NaN if one is NaN.

    x         T[s], T a number type
    result    T[s without axes], the axes as 1 if keepdims
    gradient  ct to the smallest element, shared equally among equal ones (truncated for integers); none where it is NaN
    errors    TypeError: not numbers; ValueError: axes out of range or not sorted, no elements
    """

    lanes = "minimum"

    def neutral(self, dtype: DType) -> int | float:
        return math.inf if dtype.is_float else int(np.iinfo(dtype.array).max)

    def beats(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return k.less(a, b)

    def reference(self, x: Array) -> Array:
        return np.min(x, axis=self.axes, keepdims=self.keepdims)
