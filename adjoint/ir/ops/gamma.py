"""The gamma function's logarithm and its derivatives, zeta, the incomplete gamma and beta functions.

The kernels are in `codegen/c/special.h`: float64, from which smaller floats are rounded once; those that are taken most have forms of
float32 in `special_f32.h`, which vectorise. The references are other formulas, in `special_values`. "DLMF 5.4.12" is a number of the
Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.ops import batching, special_values
from adjoint.ir.ops.elementwise import F32_23, Array, Cotangents, Elementwise, Unary, dtype_of, smooth_unary
from adjoint.ir.ops.loops import broadcast_access, emit_map, grain_of
from adjoint.ir.public import Public
from adjoint.ir.types import F32, F64, FLOATS, I32, I64, DType, TensorType, broadcast_shapes, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = [
    "Betainc", "BetaincDerivative", "Digamma", "Igamma", "IgammaDerivative", "Igammac", "Lgamma", "LogBeta", "Mvlgamma", "Polygamma",
    "Trigamma", "Zeta", "ZetaDerivative", "special",
]

HIGHEST_ORDER = 8
"""The highest derivative by a parameter that the kernels compute."""


def special(k: Kernel, name: str, x: Expr) -> Expr:
    """Return the call of a function of double in `special.h`, in the dtype of its argument."""
    return k.cast(k.call(f"adjoint_{name}_f64", k.cast(x, F64)), x.dtype)


def trigamma(k: Kernel, x: Expr) -> Expr:
    """Return the call of the derivative of digamma, in the dtype of its argument."""
    return k.call("trigamma", x) if x.dtype is F32 else k.call("adjoint_polygamma_f64", k.literal(1, I64), x, dtype=F64)


# The gamma function -----------------------------------------------------------------------------------------------------


@operation
class Lgamma(Unary):
    """The logarithm of |gamma(x)|; infinite at 0, -1, -2, ...

    A polynomial on [1/2, 9], in float32 up to 3, Stirling's series beyond (DLMF 5.11.1), reflection below 0 (DLMF 5.5.3). The
    error is below 3 units in the last place for x > 0; below 0 it is that of the larger of the terms, as the logarithm has a
    zero between each two poles.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * digamma(x)
    errors    TypeError: not floating point
    """

    public = Public("lgamma(input)", operands="to floats")
    cost = 60
    samples = (*smooth_unary((2.5, 6.0), (0.3, 0.8), (-0.8, -0.6)),
               sample(tensor(F32, (8,)), values={0: [-1, -2.5, -30.25, 1, 2, 9, 1e3, 1e30]}, smooth=False,
                      note="poles, zeros, ends of intervals"))

    def reference(self, x: Array) -> Array:
        return special_values.log_gamma(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("lgamma", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.digamma(node.operands[0])),)


@operation
class Digamma(Unary):
    """The derivative of the logarithm of gamma(x); -infinity at 0, infinity at -0, NaN at -1, -2, ... and at -infinity.

    A polynomial on [1/2, 9], from which the zero at 1.4616 is divided out, the asymptotic series beyond (DLMF 5.11.2), reflection below 0
    (DLMF 5.5.4). The error is below 3 units in the last place for x > 0; below 0 it is that of the larger of the terms.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * polygamma(1, x)
    errors    TypeError: not floating point
    """

    public = Public("digamma(input)")
    cost = 60
    samples = (*smooth_unary((2.0, 6.0), (0.3, 0.8), (-0.8, -0.6)),
               sample(tensor(F32, (8,)), values={0: [-1, -2.25, -30.25, 0, -0.0, 9, 1e3, 1e30]}, smooth=False,
                      note="poles, ends of intervals"))

    def reference(self, x: Array) -> Array:
        return special_values.digamma(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return special(k, "digamma", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.trigamma(node.operands[0])),)


@operation
class Trigamma(Unary):
    """The derivative of digamma; infinite at 0, -1, -2, ... and at -infinity.

    In float32 four terms of the series (DLMF 5.15.5), the asymptotic one beyond (DLMF 5.15.8), reflection below 0 (DLMF 5.15.6); in float64
    `polygamma`. The error is below 3 units in the last place for x > 0.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * polygamma(2, x)
    errors    TypeError: not floating point
    """

    cost = 30
    samples = (*smooth_unary((2.0, 6.0), (0.3, 0.8), (-0.8, -0.6)),
               sample(tensor(F32, (8,)), values={0: [-1, -2.25, -30.25, 0, -0.0, 8, 1e3, 1e30]}, smooth=False,
                      note="poles, ends of intervals"))

    def reference(self, x: Array) -> Array:
        return special_values.polygamma(np.ones(x.shape, np.int64), x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return trigamma(k, x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.mul(ct, b.polygamma(b.constant(2, I64), x)),)


@operation
class Mvlgamma(Unary):
    """The logarithm of the multivariate gamma function of dimension p.

    It is p (p - 1) / 4 ln(pi) and the sum of lgamma(x - j / 2) over 0 <= j < p, DLMF 35.3.4; the sum is compensated.
    It is infinite where a term is, and for x below (p - 1) / 2 the sum of the logarithms of |gamma|.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct times the sum of digamma(x - j / 2) over 0 <= j < p
    errors    TypeError: not floating point; ValueError: p < 1
    """

    p: int = 1
    cost = 120
    samples = (*(sample(type_, domain=(2.5, 6.0), p=3) for type_ in (F32_23, tensor(F32), tensor(F32, (0, 3)), tensor(F64, (5,)))),
               sample(F32_23, domain=(0.3, 0.8)), sample(F32_23, domain=(1.2, 3.0), p=2))

    def __post_init__(self) -> None:
        if self.p < 1:
            raise mistake(self, "p", "at least 1", self.p)

    def reference(self, x: Array) -> Array:
        wide = np.asarray(x, np.float64)
        total = sum((special_values.log_gamma(wide - j / 2) for j in range(self.p)), 0.0 * wide)
        total = np.where(np.isnan(wide), np.nan, np.where(np.isinf(wide), np.inf, total))
        return (total + self.p * (self.p - 1) / 4 * math.log(math.pi)).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.cast(k.call("adjoint_mvlgamma_f64", k.cast(x, F64), k.literal(self.p, I64), dtype=F64), x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        total = b.digamma(x)
        for j in range(1, self.p):
            total = b.add(total, b.digamma(b.sub(x, b.constant(j / 2, dtype_of(x)))))
        return (b.mul(ct, total),)


# Functions with parameters ----------------------------------------------------------------------------------------------


class Parametric(Op):
    """A function of numbers and parameters, element by element, whose shapes broadcast: hundreds of operations for each element."""

    takes: ClassVar[tuple[str, ...]] = ()
    accepts: ClassVar[tuple[DType, ...]] = (F32, F64)
    function: ClassVar[str] = ""
    """The name of the function in `special.h` that computes the op."""
    single: ClassVar[bool] = False
    """True: there is one for float32, too, which is quicker."""
    cost: ClassVar[int] = 1000

    elementwise = Elementwise.infer
    broadcast = Elementwise.broadcast
    batch = batching.broadcasting
    yields: ClassVar[DType | None] = None

    def orders(self) -> tuple[int, ...]:
        """Return the orders of the derivative that follow the operands in the call."""
        return ()

    def loops(self, k: Kernel, operands: Sequence[Buffer], out: Buffer) -> None:
        """Emit the kernel: a call of the function for each element."""
        accesses = [broadcast_access(buffer, out.shape) for buffer in operands]
        emit_map(k, out, accesses, lambda elements: self.call(k, elements), self.cost, uniform=False)

    def call(self, k: Kernel, elements: Sequence[Any]) -> Any:
        """Return the call of the function for an element of each operand."""
        if self.single and elements[-1].dtype is F32:
            return k.call(self.function, *elements)
        wide = [k.cast(x, F64) if x.dtype.is_float else k.cast(x, I64) for x in elements]
        orders = [k.literal(order, I64) for order in self.orders()]
        return k.cast(k.call(f"adjoint_{self.function}_f64", *wide, *orders, dtype=F64), elements[-1].dtype)


class _Pair(Parametric):
    """A function of two operands."""

    def infer(self, a: Any, x: Any) -> TensorType:
        return self.elementwise(a, x)

    def lower(self, k: Kernel, a: Buffer, x: Buffer, out: Buffer) -> None:
        self.loops(k, (a, x), out)


def _samples(count: int, *domains: tuple[float, float], **attributes: Any) -> tuple[Any, ...]:
    """Return samples with operands of equal shapes, and with each one in turn a number or a row."""
    whole, row = tensor(F32, (3, 3)), tensor(F32, (3,))
    return (
        sample(*(F32_23,) * count, domain=domains, **attributes),
        sample(*(tensor(F32),) * count, domain=domains, **attributes),
        sample(*(tensor(F32, (0, 3)),) * count, domain=domains, **attributes),
        sample(*(tensor(F64, (5,)),) * count, domain=domains, **attributes),
        *(sample(*(row if i == place else whole for i in range(count)), domain=domains, **attributes) for place in range(count)),
    )


def _polygamma(b: Builder, n: int, x: Atom) -> Atom:
    return b.digamma(x) if n == 0 else b.polygamma(b.constant(n, I64), x)


@operation
class Polygamma(Parametric):
    """The derivative of digamma of order n, (-1)^(n + 1) n! zeta(n + 1, x): DLMF 5.15.1. NaN for n < 0.

    Below 0 the two-sided sum over the poles. The error is below 3 units in the last place for x > 0 and n up to 20; for large n that of n!.

    n         I[t], I int32 or int64
    x         T[s], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * polygamma(n + 1, x) for x, summed over the axes along which it was broadcast
    errors    TypeError: n is not int32 or int64, or x not floating point; ValueError: shapes do not broadcast
    """

    takes = ("n", "x")
    function = "polygamma"
    samples = (
        sample(tensor(I32), F32_23, domain=((1, 3), (0.5, 4.0))),
        sample(tensor(I64), F32_23, domain=((0, 2), (-0.8, -0.3))),
        sample(tensor(I64, (2, 3)), F32_23, domain=((0, 4), (1.0, 4.0))),
        sample(tensor(I64, (2, 1)), tensor(F32, (3,)), domain=((0, 4), (1.0, 4.0))),
        sample(tensor(I64), tensor(F32, (0, 3)), domain=((0, 4), (1.0, 4.0))),
        sample(tensor(I64, (6,)), tensor(F64, (6,)), values={0: [-1, 1, 2, 1, 3, 20], 1: [1, 0, -1, math.inf, 1e4, 20]}, smooth=False,
               note="no such order, poles, large arguments"),
    )

    def infer(self, n: Any, x: Any) -> TensorType:
        if not isinstance(n, TensorType) or n.dtype not in (I32, I64):
            raise mistake(self, "n", "a tensor of Int32 or Int64", n, TypeError)
        if not isinstance(x, TensorType) or x.dtype not in FLOATS:
            raise mistake(self, "x", "a tensor of a floating point type", x, TypeError)
        try:
            return tensor(x.dtype, broadcast_shapes(n.shape, x.shape))
        except ValueError:
            raise mistake(self, "x", f"of a shape that broadcasts with [{', '.join(map(str, n.shape))}]", x) from None

    def reference(self, n: Array, x: Array) -> Array:
        return special_values.polygamma(n, x).astype(x.dtype)

    def call(self, k: Kernel, elements: Sequence[Any]) -> Any:
        n, x = elements
        return k.select(k.equal(n, 1), trigamma(k, x), super().call(k, elements)) if x.dtype is F32 else super().call(k, elements)

    def lower(self, k: Kernel, n: Buffer, x: Buffer, out: Buffer) -> None:
        if n.count > 1 or x.dtype.compute is not F32:
            self.loops(k, (n, x), out)
            return
        # One order for all elements: a loop without a branch for the one that is taken most.
        with k.stage_range(out.count, grain_of(Trigamma.cost)) as (begin, end):
            with k.when(k.equal(n[0], 1)), k.loop(begin, end, "i") as i:
                k.store(out, i, trigamma(k, x[i]))
            with k.otherwise(), k.loop(begin, end, "i") as i:
                k.store(out, i, super().call(k, (n[0], x[i])))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        n, x = node.operands
        slope = b.polygamma(b.add(n, b.constant(1, dtype_of(n))), x)
        return None, b.unbroadcast(b.mul(ct, slope), to=x.type)


@operation
class Zeta(_Pair):
    """Hurwitz's zeta function, the sum of (q + k)^-s over k >= 0, for s > 1.

    Euler's and Maclaurin's formula, DLMF 25.11.5. Infinite at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for q < 0 unless s is an
    integer. The error is below 3 units in the last place.

    s, q      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct times the derivative by s, and -ct * s * zeta(s + 1, q) for q; each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast
    """

    takes = ("s", "q")
    function = "zeta"
    samples = (
        *_samples(2, (1.5, 6.0), (0.3, 6.0)),
        sample(tensor(F32, (8,)), tensor(F32, (8,)), smooth=False, note="the pole, poles in q, an integer s, and none",
               values={0: [1, 0.5, 2, 3, 2.5, 2, math.inf, 30], 1: [2, 2, -2, -1.5, -1.5, math.inf, 2, 40]}),
    )

    def reference(self, s: Array, q: Array) -> Array:
        return special_values.zeta(s, q).astype(s.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        s, q = node.operands
        slope = b.neg(b.mul(s, b.zeta(b.add(s, b.constant(1.0, dtype_of(s))), q)))
        return b.unbroadcast(b.mul(ct, b.zeta_derivative(s, q)), to=s.type), b.unbroadcast(b.mul(ct, slope), to=q.type)


def _check_order(op: Op, *orders: int) -> None:
    if min(orders) < 0 or not 1 <= sum(orders) <= HIGHEST_ORDER:
        raise mistake(op, "order", f"in 1..{HIGHEST_ORDER}", sum(orders))


def _no_higher(op: Op, *orders: int) -> None:
    """Raise NotDifferentiable where the next derivative by a parameter is one too many."""
    if sum(orders) >= HIGHEST_ORDER:
        raise NotDifferentiable(f"{op.name} is computed up to order {HIGHEST_ORDER}, and "
                                f"its gradient would be of order {HIGHEST_ORDER + 1}")


@operation
class ZetaDerivative(_Pair):
    """The derivative of zeta(s, q) by s, of an order up to 8, for q > 0; NaN for q < 0.

    The terms of `Zeta` as Taylor series in s.

    s, q      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct times that of the next order for s, -ct * (s d(s + 1, q) + order d'(s + 1, q)) for q, where d' is of the order before
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast, an order that is not in 1..8
    """

    order: int = 1
    takes = ("s", "q")
    function = "zeta_derivative"
    samples = (*_samples(2, (2.5, 6.0), (0.5, 3.0)), *_samples(2, (2.5, 6.0), (0.5, 3.0), order=2)[:1])

    def __post_init__(self) -> None:
        _check_order(self, self.order)

    def orders(self) -> tuple[int, ...]:
        return (self.order,)

    def reference(self, s: Array, q: Array) -> Array:
        return special_values.zeta(s, q, self.order).astype(s.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        s, q = node.operands
        _no_higher(self, self.order)
        above, count = b.add(s, b.constant(1.0, dtype_of(s))), b.constant(float(self.order), dtype_of(s))
        before = b.zeta(above, q) if self.order == 1 else b.zeta_derivative(above, q, order=self.order - 1)
        slope = b.neg(b.add(b.mul(s, b.zeta_derivative(above, q, order=self.order)), b.mul(count, before)))
        by_s = b.mul(ct, b.zeta_derivative(s, q, order=self.order + 1))
        return b.unbroadcast(by_s, to=s.type), b.unbroadcast(b.mul(ct, slope), to=q.type)


# Incomplete gamma and beta functions -------------------------------------------------------------------------------------


def _gamma_density(b: Builder, a: Atom, x: Atom) -> Atom:
    """Return x^(a - 1) e^-x / gamma(a)."""
    return b.exp(b.sub(b.sub(b.xlog_y(b.sub(a, b.constant(1.0, dtype_of(a))), x), x), b.lgamma(a)))


def _gamma_moment(b: Builder, a: Atom, x: Atom, order: int) -> Atom:
    """Return the derivative of the density by a, over the density: Bell's polynomial in ln x - digamma(a), -polygamma(1, a), ..."""
    slopes = [b.sub(b.log(x), b.digamma(a)), *(b.neg(_polygamma(b, k, a)) for k in range(1, order))]
    moments = [b.constant(1.0, dtype_of(a))]
    for n in range(order):
        terms = [b.mul(b.constant(float(math.comb(n, k)), dtype_of(a)), b.mul(moments[n - k], slopes[k])) for k in range(n + 1)]
        total = terms[0]
        for term in terms[1:]:
            total = b.add(total, term)
        moments.append(total)
    return moments[order]


@operation
class Igamma(_Pair):
    """The regularised lower incomplete gamma function: the integral of t^(a - 1) e^-t from 0 to x, over gamma(a). DLMF 8.2.4.

    The power series up to 1.5 (DLMF 8.7.3); beyond, the trapezoidal rule after an exponential change of variable, from x away from the
    mean; in float32 a series or a continued fraction (DLMF 8.11.4, 8.9.2), where a is below 400. The error is below 16 units in the last
    place of float64 where the result is above 0.01; where it is smaller, below 16 and 3 for each unit of its logarithm.
    NaN for a < 0, for x < 0, and where both are 0 or both infinite.

    a, x      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct times the derivative by a, ct * x^(a - 1) e^-x / gamma(a) for x; each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast
    """

    public = Public("igamma(input, other)")
    takes = ("a", "x")
    function = "igamma"
    single = True
    samples = (
        *_samples(2, (0.5, 4.0), (0.3, 5.0)),
        sample(tensor(F32, (8,)), tensor(F32, (8,)), smooth=False, note="ends, and outside",
               values={0: [0, 1, 1, math.inf, 0, -1, 2, 50], 1: [1, 0, math.inf, 2, 0, 1, -1, 48]}),
    )

    def reference(self, a: Array, x: Array) -> Array:
        return special_values.gamma_distribution(a, x).astype(a.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        a, x = node.operands
        by_a, by_x = b.mul(ct, b.igamma_derivative(a, x)), b.mul(ct, _gamma_density(b, a, x))
        return b.unbroadcast(by_a, to=a.type), b.unbroadcast(by_x, to=x.type)


@operation
class Igammac(_Pair):
    """The regularised upper incomplete gamma function, 1 - igamma(a, x), accurate where it is small. DLMF 8.2.4.

    a, x      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  that of igamma, negative
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast
    """

    public = Public("igammac(input, other)")
    takes = ("a", "x")
    function = "igammac"
    single = True
    samples = Igamma.samples

    def reference(self, a: Array, x: Array) -> Array:
        return special_values.gamma_distribution(a, x, upper=True).astype(a.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        a, x = node.operands
        by_a, by_x = b.neg(b.mul(ct, b.igamma_derivative(a, x))), b.neg(b.mul(ct, _gamma_density(b, a, x)))
        return b.unbroadcast(by_a, to=a.type), b.unbroadcast(by_x, to=x.type)


@operation
class IgammaDerivative(_Pair):
    """The derivative of igamma(a, x) by a, of an order up to 8.

    The integral of the density's derivative, by the rule of `Igamma`, on the side of the mean on which it cancels less.

    a, x      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct times that of the next order for a, ct times the density's derivative by a for x
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast, an order that is not in 1..8
    """

    order: int = 1
    takes = ("a", "x")
    function = "igamma_derivative"
    cost = 20000
    samples = (*_samples(2, (0.8, 4.0), (0.5, 5.0)), *_samples(2, (0.8, 4.0), (0.5, 5.0), order=2)[:1])

    def __post_init__(self) -> None:
        _check_order(self, self.order)

    def orders(self) -> tuple[int, ...]:
        return (self.order,)

    def reference(self, a: Array, x: Array) -> Array:
        return special_values.gamma_distribution(a, x, self.order).astype(a.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        a, x = node.operands
        _no_higher(self, self.order)
        by_a = b.mul(ct, b.igamma_derivative(a, x, order=self.order + 1))
        by_x = b.mul(ct, b.mul(_gamma_density(b, a, x), _gamma_moment(b, a, x, self.order)))
        return b.unbroadcast(by_a, to=a.type), b.unbroadcast(by_x, to=x.type)


@operation
class LogBeta(_Pair):
    """The logarithm of the beta function: lgamma(a) + lgamma(b) - lgamma(a + b), DLMF 5.12.1.

    Where one of them is above 9, what cancels in Stirling's series is left out. The error is below 3 units in the last place of the
    largest term.

    a, b      T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * (digamma(a) - digamma(a + b)), and the same for b; each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    takes = ("a", "b")
    accepts = FLOATS
    function = "log_beta"
    samples = (*_samples(2, (0.5, 6.0), (0.5, 6.0)), sample(F32_23, F32_23, domain=((1.0, 20.0), (100.0, 1000.0))))

    def reference(self, a: Array, b: Array) -> Array:
        return special_values.log_beta(a, b).astype(a.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        first, second = node.operands
        both = b.digamma(b.add(first, second))
        return tuple(b.unbroadcast(b.mul(ct, b.sub(b.digamma(x), both)), to=x.type) for x in (first, second))


class _Triple(Parametric):
    """A function of three operands."""

    takes = ("a", "b", "x")
    cost = 5000

    def infer(self, a: Any, b: Any, x: Any) -> TensorType:
        return self.elementwise(a, b, x)

    def lower(self, k: Kernel, a: Buffer, b: Buffer, x: Buffer, out: Buffer) -> None:
        self.loops(k, (a, b, x), out)


@operation
class Betainc(_Triple):
    """The regularised incomplete beta function: the integral of t^(a - 1) (1 - t)^(b - 1) from 0 to x, over that to 1. DLMF 8.17.2.

    The trapezoidal rule after an exponential change of variable, from x away from the mean. The error is below 32 units in the last place
    of float64 where the result is above 0.01 and a and b are below 1000; where it is smaller, 3 more for each unit of its logarithm.
    NaN unless a and b are positive and finite, and 0 <= x <= 1.

    a, b, x   T[s], T[t] and T[u], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct times the derivatives by a and b, ct * x^(a - 1) (1 - x)^(b - 1) / B(a, b) for x; each summed over the axes along
              which it was broadcast
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast
    """

    function = "betainc"
    samples = (
        *_samples(3, (0.5, 4.0), (0.5, 4.0), (0.1, 0.9)),
        sample(*(tensor(F32, (7,)),) * 3, smooth=False, note="ends, and outside",
               values={0: [1, 1, 0, -1, 1, 2, 50], 1: [2, 2, 1, 1, math.inf, 2, 60], 2: [0, 1, 0.5, 0.5, 0.5, 1.5, 0.5]}),
    )

    def reference(self, a: Array, b: Array, x: Array) -> Array:
        return special_values.beta_distribution(a, b, x).astype(a.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        first, second, x = node.operands
        slopes = (b.betainc_derivative(first, second, x, by_a=1, by_b=0), b.betainc_derivative(first, second, x, by_a=0, by_b=1),
                  _beta_density(b, first, second, x))
        return tuple(b.unbroadcast(b.mul(ct, slope), to=atom.type) for slope, atom in zip(slopes, node.operands, strict=True))


def _beta_density(b: Builder, first: Atom, second: Atom, x: Atom) -> Atom:
    """Return x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""
    one = b.constant(1.0, dtype_of(x))
    powers = b.add(b.xlog_y(b.sub(first, one), x), b.xlog_y(b.sub(second, one), b.sub(one, x)))
    return b.exp(b.sub(powers, b.log_beta(first, second)))


@operation
class BetaincDerivative(_Triple):
    """The derivative of betainc(a, b, x), so many times by a and by b, together at most 8 times.

    The integral of the density's derivative, by the rule of `Betainc`.

    a, b, x   T[s], T[t] and T[u], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct times those with one more by a and by b, ct times the density's derivative for x
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast, orders that are not 1..8 together
    """

    by_a: int = 1
    by_b: int = 0
    function = "betainc_derivative"
    cost = 20000
    samples = (
        *_samples(3, (0.8, 4.0), (0.8, 4.0), (0.2, 0.8)), *_samples(3, (0.8, 4.0), (0.8, 4.0), (0.2, 0.8), by_a=0, by_b=1)[:1],
        *_samples(3, (0.8, 4.0), (0.8, 4.0), (0.2, 0.8), by_a=1, by_b=1)[1:2],
    )

    def __post_init__(self) -> None:
        _check_order(self, self.by_a, self.by_b)

    def orders(self) -> tuple[int, ...]:
        return (self.by_a, self.by_b)

    def reference(self, a: Array, b: Array, x: Array) -> Array:
        return special_values.beta_distribution(a, b, x, self.by_a, self.by_b).astype(a.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        first, second, x = node.operands
        _no_higher(self, self.by_a, self.by_b)
        slopes = (b.betainc_derivative(first, second, x, by_a=self.by_a + 1, by_b=self.by_b),
                  b.betainc_derivative(first, second, x, by_a=self.by_a, by_b=self.by_b + 1),
                  b.mul(_beta_density(b, first, second, x), _beta_moment(b, first, second, x, self.by_a, self.by_b)))
        return tuple(b.unbroadcast(b.mul(ct, slope), to=atom.type) for slope, atom in zip(slopes, node.operands, strict=True))


def _beta_moment(b: Builder, first: Atom, second: Atom, x: Atom, by_a: int, by_b: int) -> Atom:
    """Return the derivative of the density by a and b, over the density: Bell's polynomial in the derivatives of its logarithm."""
    dtype = dtype_of(x)
    both, rest = b.add(first, second), b.sub(b.constant(1.0, dtype), x)
    slopes: dict[tuple[int, int], Atom] = {}
    moments: dict[tuple[int, int], Atom] = {}

    def slope(i: int, j: int) -> Atom:
        """Return the derivative of the density's logarithm."""
        if (i, j) not in slopes:
            value = _polygamma(b, i + j - 1, both)
            value = b.sub(value, _polygamma(b, i - 1, first)) if j == 0 else value
            value = b.sub(value, _polygamma(b, j - 1, second)) if i == 0 else value
            value = b.add(value, b.log(x if i else rest)) if i + j == 1 else value
            slopes[i, j] = value
        return slopes[i, j]

    def moment(i: int, j: int) -> Atom:
        """Return the derivative of the density, over it: one derivative goes to its logarithm, the others to either factor."""
        if i + j == 0:
            return b.constant(1.0, dtype)
        if (i, j) not in moments:
            p, q = (i - 1, j) if i else (i, j - 1)
            total: Atom | None = None
            for r in range(p + 1):
                for s in range(q + 1):
                    count = b.constant(float(math.comb(p, r) * math.comb(q, s)), dtype)
                    term = b.mul(count, b.mul(moment(p - r, q - s), slope(r + (i > 0), s + (i == 0))))
                    total = term if total is None else b.add(total, term)
            assert total is not None
            moments[i, j] = total
        return moments[i, j]

    return moment(by_a, by_b)
