"""Results that grow along one axis: cumulative sums, products and extremes, and the recurrence that is the gradient of a product.

    sums        y[i] = y[i - 1] + x[i]
    products    y[i] = y[i - 1] * x[i]
    recurrence  h[i] = b[i] + a[i] * h[i - 1]
    extremes    y[i] = x[i] if x[i] >= y[i - 1], else y[i - 1]

Each is computed in this order, element by element: a row by one thread, and rows that are not adjacent side by side.  f16 and bf16 are
computed in float32, and each result is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, family, mistake, mistyped, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.arithmetic import Mul
from adjoint.ir.ops.elementwise import ALL_NUMBERS
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.reduce import COLUMNS, NUMBERS
from adjoint.ir.types import F32, F64, I32, I64, U8, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["CumMax", "CumMin", "CumProd", "CumSum", "LinearRecurrence"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]
ElementStep = Callable[[Sequence["Expr"], "Expr", "Expr | None", "Expr | None"], None]
"""Appends the C code of one element.

It is given the locals that are carried along, the place of the element, that of the element before it, and how many elements are before it.
The last two are None for the first element of a row, where the locals are not set yet.
"""

F32_23 = tensor(F32, (2, 3))
I32_23 = tensor(I32, (2, 3))


@family
class Cumulative(Op):
    """An op on the elements along `axis`, in order."""

    axis: int
    batch = batching.along_axes

    def check_operand(self, name: str, x: Any, accepts: Sequence[DType], kinds: str) -> None:
        """Raise an exception if the operand `name` has not one of the dtypes, or lacks the axis."""
        if not isinstance(x, TensorType) or x.dtype not in accepts:
            raise mistake(self, name, f"a tensor of {kinds}", x, TypeError)
        if not 0 <= self.axis < x.rank:
            raise mistake(self, "axis", f"in 0..{x.rank - 1}", self.axis)

    def walk(self, k: Kernel, x: Buffer, carried: Sequence[DType], step: ElementStep, *, reverse: bool = False) -> None:
        """Emit loops over all rows along the axis, with locals of the dtypes `carried`; from the end if `reverse`."""
        outer, length, inner = math.prod(x.shape[: self.axis]), x.shape[self.axis], math.prod(x.shape[self.axis + 1 :])
        n = k.size(length, "n")
        zeros = [k.literal(0, dtype) for dtype in carried]
        if inner == 1:
            with k.stage(outer if length else 0, grain_of(4 * length), "row") as row:
                first = k.let(row * n + (n - 1 if reverse else 0), "first")
                held = [k.local(zero, "held") for zero in zeros]
                step(held, first, None, None)
                with k.loop(1, n, "i") as i:
                    place = k.let(first - i if reverse else first + i, "place")
                    step(held, place, place + 1 if reverse else place - 1, i)
            return
        m, chunks = k.size(inner, "m"), -(-inner // COLUMNS)
        per_row = k.size(chunks, "chunks")
        with k.stage(outer * chunks if length else 0, grain_of(2 * length * min(inner, COLUMNS)), "unit") as unit:
            left = k.let(unit % per_row * COLUMNS, "left")
            width = k.let(k.minimum_of(m - left, k.literal(COLUMNS, I64)), "width")
            first = k.let((unit / per_row * n + (n - 1 if reverse else 0)) * m + left, "first")
            arrays = [k.array(dtype, COLUMNS, "held") for dtype in carried]
            with k.loop(0, width, "j") as j:
                step([array[j] for array in arrays], first + j, None, None)
            with k.loop(1, n, "i") as i:
                start = k.let(first - i * m if reverse else first + i * m, "start")
                with k.loop(0, width, "j") as j:
                    place = start + j
                    step([array[j] for array in arrays], place, place + m if reverse else place - m, i)

    def before(self, b: Builder, x: Atom, first: float, *, reverse: bool = False) -> Atom:
        """Emit `x` moved by one place along the axis, to each element the one before it; the number `first` comes to the first one."""
        type_ = tensor_type(x)
        if not type_.is_static:
            raise NotDifferentiable(f"the gradient of {self.name} needs known dimensions, but got {type_}")
        sizes, length = type_.sizes, type_.sizes[self.axis]
        start = tuple(1 if reverse and a == self.axis else 0 for a in range(len(sizes)))
        stop = tuple(d - 1 if not reverse and a == self.axis else d for a, d in enumerate(sizes))
        end = tensor(type_.dtype, tuple(min(1, length) if a == self.axis else d for a, d in enumerate(sizes)))
        number = b.broadcast(b.constant(first if type_.dtype.is_float else int(first), type_.dtype), to=end)
        if length < 2:
            return number
        rest = b.slice(x, start=start, stop=stop, step=(1,) * len(sizes))
        return b.concat(*((rest, number) if reverse else (number, rest)), axis=self.axis)


@operation
class CumSum(Cumulative):
    """Cumulative sums along `axis`, in order; f16 and bf16 are added in float32.

    `exclusive`: each sum excludes its own element.  `reverse`: from the end.

    x         T[s], T a number type
    result    T[s]
    gradient  the running sums of ct from the other end
    errors    TypeError: not numbers; ValueError: axis out of range
    """

    axis: int
    exclusive: bool = False
    reverse: bool = False
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
        self.check_operand("x", x, ALL_NUMBERS, "a number type")
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

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        dtype = x.dtype.compute

        def add(held: Sequence[Expr], place: Expr, before: Expr | None, count: Expr | None) -> None:
            (total,) = held
            if self.exclusive:
                k.store(out, place, k.literal(0, dtype) if before is None else total)
                k.set(total, (k.literal(0, dtype) if before is None else total) + x[place])
                return
            k.set(total, x[place] if before is None else total + x[place])
            k.store(out, place, total)

        self.walk(k, x, (dtype,), add, reverse=self.reverse)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.cum_sum(ct, axis=self.axis, exclusive=self.exclusive, reverse=not self.reverse),)


@operation
class CumProd(Cumulative):
    """Cumulative products along `axis`, in order; f16 and bf16 are multiplied in float32.

    x         T[s], T a number type
    result    T[s]
    gradient  conj(the product of the elements before), times h[i] = ct[i] + conj(x[i + 1]) * h[i + 1]: nothing is divided, so it is
              right at 0
    errors    TypeError: not numbers; ValueError: axis out of range
    """

    axis: int
    samples = (
        sample(F32_23, axis=0),
        sample(tensor(F32, (3, 4)), axis=1),
        sample(tensor(F64, (2, 3, 4)), axis=1),
        sample(F32_23, axis=1, values={0: [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0]]}),
        sample(tensor(F32, (3, 1)), axis=1),
        sample(tensor(F32, (3, 0)), axis=1),
        sample(I32_23, axis=1, domain=(-9, 9), smooth=False, note="integers"),
    )

    def infer(self, x: Any) -> TensorType:
        self.check_operand("x", x, ALL_NUMBERS, "a number type")
        return x

    def reference(self, x: Array) -> Array:
        return np.cumprod(x, axis=self.axis, dtype=x.dtype)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:

        def multiply(held: Sequence[Expr], place: Expr, before: Expr | None, count: Expr | None) -> None:
            (product,) = held
            k.set(product, x[place] if before is None else product * x[place])
            k.store(out, place, product)

        self.walk(k, x, (x.dtype.compute,), multiply)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        products = self.before(b, node.result, 1.0)
        return (b.mul(b.conj(products), b.linear_recurrence(b.conj(x), ct, axis=self.axis, reverse=True)),)


@operation
class LinearRecurrence(Cumulative):
    """h[i] = b[i] + a[i] * h[i - 1] along `axis`, and h = b at the first place; with `reverse`, h[i] = b[i] + a[i + 1] * h[i + 1].

    a, b      T[s], T a number type; in a row the first element of `a` is not read
    result    T[s]
    gradient  g, the recurrence of ct with conj(a) from the other end, is that of b; that of a is, in both directions, the result of the
              recurrence that goes up, at i - 1, times that of the one that goes down, at i, where the op's own result is conjugate
    errors    TypeError: not numbers, dtypes or shapes that differ; ValueError: axis out of range
    """

    axis: int
    reverse: bool = False
    samples = (
        sample(F32_23, F32_23, axis=0),
        sample(tensor(F32, (3, 4)), tensor(F32, (3, 4)), axis=1),
        sample(tensor(F32, (3, 4)), tensor(F32, (3, 4)), axis=1, reverse=True),
        sample(tensor(F64, (2, 3, 4)), tensor(F64, (2, 3, 4)), axis=1, reverse=True),
        sample(F32_23, F32_23, axis=1, values={0: [[math.nan, 0.0, 3.0], [math.inf, -0.0, 0.0]]}, smooth=False,
               note="the first factor is not read"),
        sample(tensor(F32, (3, 1)), tensor(F32, (3, 1)), axis=1),
        sample(tensor(F32, (3, 0)), tensor(F32, (3, 0)), axis=1),
        sample(I32_23, I32_23, axis=1, domain=(-9, 9), smooth=False, note="integers"),
    )

    def infer(self, a: Any, b: Any) -> TensorType:
        self.check_operand("a", a, ALL_NUMBERS, "a number type")
        if b is not a:
            raise mistyped(self, "b", a, b)
        return a

    def reference(self, a: Array, b: Array) -> Array:
        factors, terms = np.moveaxis(a, self.axis, 0), np.moveaxis(b, self.axis, 0)
        result = np.array(terms)
        places = range(len(result))
        if self.reverse:
            for i in reversed(places[:-1]):
                result[i] = terms[i] + Mul().reference(factors[i + 1], result[i + 1])
        else:
            for i in places[1:]:
                result[i] = terms[i] + Mul().reference(factors[i], result[i - 1])
        return np.moveaxis(result, 0, self.axis)

    def lower(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer) -> None:

        def go_on(held: Sequence[Expr], place: Expr, before: Expr | None, count: Expr | None) -> None:
            (h,) = held
            k.set(h, b[place] if before is None else b[place] + a[before if self.reverse else place] * h)
            k.store(out, place, h)

        self.walk(k, a, (a.dtype.compute,), go_on, reverse=self.reverse)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        a, _ = node.operands
        found, result = b.linear_recurrence(b.conj(a), ct, axis=self.axis, reverse=not self.reverse), b.conj(node.result)
        up, down = (found, result) if self.reverse else (result, found)
        return b.mul(self.before(b, up, 0.0), down), found


class _CumulativeExtreme(Cumulative):
    """The most extreme element so far, and where it is: of equal ones the last, and a NaN stays until a later NaN replaces it."""

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        self.check_operand("x", x, NUMBERS, "a real number type")
        return x, x.with_dtype(I64)

    def takes(self, k: Kernel, value: Expr, best: Expr) -> Expr:
        """Return the C condition that `value` replaces `best`, if neither is NaN."""
        raise NotImplementedError(f"{type(self).__name__}.takes")

    def lower(self, k: Kernel, x: Buffer, values: Buffer, places: Buffer) -> None:

        def meet(held: Sequence[Expr], place: Expr, before: Expr | None, count: Expr | None) -> None:
            best, at = held
            value = k.let(x[place], "value")
            if count is None:
                k.set(best, value)
                k.set(at, k.literal(0, I64))
            else:
                takes = self.takes(k, value, best)
                if value.dtype.is_float:
                    takes = takes | k.not_equal(value, value)
                takes = k.let(takes, "taken")
                k.set(best, k.select(takes, value, best))
                k.set(at, k.select(takes, count, at))
            k.store(values, place, best)
            k.store(places, place, at)

        self.walk(k, x, (x.dtype.compute, I64), meet)

    def found(self, x: Array, running: Array) -> tuple[Array, Array]:
        """Return the results, given the running extremes."""
        taken = (x == running) | (x != x)
        steps = np.arange(x.shape[self.axis]).reshape([-1 if a == self.axis else 1 for a in range(x.ndim)])
        return running, np.maximum.accumulate(np.where(taken, steps, 0), axis=self.axis)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        ct, type_ = cotangents[0], tensor_type(node.operands[0])
        if ct is None:
            return (None,)
        if not type_.is_static:
            raise NotDifferentiable(f"the gradient of {self.name} needs known dimensions, but got {type_}")
        flat = node.results[1]
        stride = math.prod(type_.sizes[self.axis + 1 :])
        if stride > 1:
            flat = b.mul(flat, b.constant(stride, I64))
        for axis, size in enumerate(type_.sizes):
            if axis != self.axis and size > 1:
                counted = b.iota(to=tensor(I64, tuple(size if a == axis else 1 for a in range(type_.rank))), axis=axis)
                step = math.prod(type_.sizes[axis + 1 :])
                flat = b.add(flat, b.mul(counted, b.constant(step, I64)))
        line = (type_.count,)
        scattered = b.gather_gradient(b.reshape(ct, to=tensor(type_.dtype, line)), b.reshape(flat, to=tensor(I64, line)), axis=0,
                                      to=tensor(type_.dtype, line))
        return (b.reshape(scattered, to=type_),)


_EXTREMES = (
    sample(F32_23, axis=0),
    sample(tensor(F32, (2, 3, 4)), axis=1),
    sample(tensor(F32, (3, 4)), axis=1),
    sample(tensor(F32, (2, 6)), axis=1, values={0: [[1.0, 3.0, 3.0, 1.0, 3.0, 0.0], [2.0, math.nan, 3.0, math.inf, math.nan, 1.0]]},
           smooth=False, note="ties and NaN"),
    sample(tensor(F32, (6, 2)), axis=0,
           values={0: [[1.0, math.nan], [-3.0, 2.0], [-3.0, -math.inf], [4.0, math.nan], [4.0, math.inf], [0.0, -0.0]]},
           smooth=False, note="ties and NaN in columns"),
    sample(tensor(F32, (3, 0)), axis=1),
    sample(I32_23, axis=1, domain=(-9, 9), smooth=False, note="integers"),
    sample(tensor(U8, (4, 3)), axis=0, domain=(0, 4), smooth=False, note="integers"),
)


@operation
class CumMax(_CumulativeExtreme):
    """The largest element so far along `axis`, the last of equal ones, and its index; a NaN stays until a later NaN replaces it.

    x         T[s], T a number type
    result    T[s], the elements, and i64[s], their positions along the axis
    gradient  each ct is added to the element that was the largest; none by the positions
    errors    TypeError: not numbers; ValueError: axis out of range
    """

    axis: int
    samples = _EXTREMES

    def takes(self, k: Kernel, value: Expr, best: Expr) -> Expr:
        return k.greater_equal(value, best)

    def reference(self, x: Array) -> tuple[Array, Array]:
        return self.found(x, np.maximum.accumulate(x, axis=self.axis))


@operation
class CumMin(_CumulativeExtreme):
    """The smallest element so far along `axis`, the last of equal ones, and its index; a NaN stays until a later NaN replaces it.

    x         T[s], T a number type
    result    T[s], the elements, and i64[s], their positions along the axis
    gradient  each ct is added to the element that was the smallest; none by the positions
    errors    TypeError: not numbers; ValueError: axis out of range
    """

    axis: int
    samples = _EXTREMES

    def takes(self, k: Kernel, value: Expr, best: Expr) -> Expr:
        return k.less_equal(value, best)

    def reference(self, x: Array) -> tuple[Array, Array]:
        return self.found(x, np.minimum.accumulate(x, axis=self.axis))
