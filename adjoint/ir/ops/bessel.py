"""Bessel functions of orders 0 and 1, of both kinds, and the modified ones, also with an exponential divided out.

The kernels are in `codegen/c/special.h`: float64, from which smaller floats are rounded once. The references are integral
representations, in `special_values`. "DLMF 10.6.2" is a number of the Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from adjoint.ir.op import Sample, mistake, operation, sample
from adjoint.ir.ops import special_values
from adjoint.ir.ops.elementwise import Array, Cotangents, Unary, dtype_of, smooth_unary
from adjoint.ir.ops.gamma import special
from adjoint.ir.public import Public
from adjoint.ir.types import F32, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Expr, Kernel

__all__ = [
    "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e",
    "BesselSeries", "BesselY0", "BesselY1",
]


class _Bessel(Unary):
    """A Bessel function, which `special.h` has under the name of the op.

    integral  the integral representation, of float64
    """

    integral: ClassVar[Callable[[Array], Array]]
    cost = 60

    def reference(self, x: Array) -> Array:
        return type(self).integral(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return special(k, self.name, x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, self.slope(b, node.operands[0], node.result)),)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        """Return the derivative at x, where the function is `result`."""
        raise NotImplementedError


def _inside(*domains: tuple[float, float], edges: tuple[float, ...]) -> tuple[Sample, ...]:
    """Return samples on each of the domains, and at the ends of the intervals on which the function is one formula."""
    return (*smooth_unary(*domains), sample(tensor(F32, (len(edges),)), values={0: list(edges)}, smooth=False, note="ends of intervals"))


EVERYWHERE = _inside((-2.0, 2.0), (5.0, 12.0), edges=(0, -0.0, 1, 2, 4, 8, 16, -32, 1e3, -1e-3))
ABOVE_ZERO = _inside((0.3, 3.0), (5.0, 12.0), edges=(0, -0.0, -1, 1, 2, 4, 8, 16, 32, 1e-3))


@operation
class BesselSeries(Unary):
    """I_n(x) / x^n, or J_n(x) / x^n if `alternating`, near 0: ten terms of the power series of DLMF 10.25.2 and 10.2.2.

    In [-1, 1] what is left out is below 1e-20 of the result.  At 0 derivatives of all orders are exact.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * x * bessel_series(x) of order n + 1, negative if alternating: DLMF 10.29.4 and 10.6.6
    errors    TypeError: not floating point; ValueError: an order below 0
    """

    order: int = 1
    alternating: bool = False
    samples = tuple(
        made for order, alternating in ((1, False), (1, True), (3, True)) for made in (
            sample(tensor(F32, (2, 3)), domain=((-1.0, 1.0),), order=order, alternating=alternating),
            sample(tensor(F32, (4,)), values={0: [0.0, -0.0, 1.0, -1e-3]}, order=order, alternating=alternating)))

    def __post_init__(self) -> None:
        if self.order < 0:
            raise mistake(self, "order", "at least 0", self.order)

    @property
    def coefficients(self) -> list[float]:
        """Return the coefficients of the powers of x^2, beginning with the constant one."""
        n = self.order
        return [(-1 if self.alternating else 1) ** k / (2 ** (2 * k + n) * math.factorial(k) * math.factorial(k + n)) for k in range(10)]

    def reference(self, x: Array) -> Array:
        *rest, total = (x.dtype.type(c) for c in self.coefficients)
        square = x * x
        for c in reversed(rest):
            total = total * square + c
        return total

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        *rest, last = (k.literal(c, x.dtype) for c in self.coefficients)
        square, total = k.let(x * x, "square"), last
        for c in reversed(rest):
            total = k.let(total * square + c, "total")
        return total

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        slope = b.mul(x, b.bessel_series(x, order=self.order + 1, alternating=self.alternating))
        return (b.mul(ct, b.neg(slope) if self.alternating else slope),)


def _divided(b: Builder, value: Atom, x: Atom, *, alternating: bool = False, scaled: bool = False) -> Atom:
    """Return `value` / x, which is I1(x) or, if alternating, J1(x), times e^-|x| if scaled; by the series near 0."""
    zero, one = b.constant(0.0, dtype_of(x)), b.constant(1.0, dtype_of(x))
    near = b.less(b.abs(x), one)
    series = b.bessel_series(b.select(near, x, zero), order=1, alternating=alternating)
    if scaled:
        series = b.mul(series, b.exp(b.neg(b.abs(x))))
    return b.select(near, series, b.div(value, b.select(near, one, x)))


@operation
class BesselI0(_Bessel):
    """The modified Bessel function of the first kind of order 0.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * bessel_i1(x)
    errors    TypeError: not floating point
    """

    public = (Public("bessel_i0(x)", methods=""), Public("i0(input)", primitives=""))
    samples = EVERYWHERE
    integral = partial(special_values.bessel_i, 0, scaled=False)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.bessel_i1(x)


@operation
class BesselI0e(_Bessel):
    """The modified Bessel function of the first kind of order 0, times e^-|x|.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_i1e(x) - sign(x) bessel_i0e(x))
    errors    TypeError: not floating point
    """

    public = Public("bessel_i0e(x)", methods="")
    samples = EVERYWHERE
    integral = partial(special_values.bessel_i, 0, scaled=True)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(b.bessel_i1e(x), b.mul(b.sign(x), result))


@operation
class BesselI1(_Bessel):
    """The modified Bessel function of the first kind of order 1.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_i0(x) - bessel_i1(x) / x), ct / 2 at 0: DLMF 10.29.2
    errors    TypeError: not floating point
    """

    public = Public("bessel_i1(x)", methods="")
    samples = EVERYWHERE
    integral = partial(special_values.bessel_i, 1, scaled=False)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(b.bessel_i0(x), _divided(b, result, x))


@operation
class BesselI1e(_Bessel):
    """The modified Bessel function of the first kind of order 1, times e^-|x|.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_i0e(x) - bessel_i1e(x) (1 / x + sign(x))), ct / 2 at 0.  There the second derivative jumps from 1 to -1,
              and sign is 0: it is taken as 0, and those that follow as those of bessel_i1
    errors    TypeError: not floating point
    """

    public = Public("bessel_i1e(x)", methods="")
    samples = EVERYWHERE
    integral = partial(special_values.bessel_i, 1, scaled=True)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(b.sub(b.bessel_i0e(x), _divided(b, result, x, scaled=True)), b.mul(b.sign(x), result))


@operation
class BesselJ0(_Bessel):
    """The Bessel function of the first kind of order 0.

    Polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF 10.17.3). The error is below 3 units in
    the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * bessel_j1(x)
    errors    TypeError: not floating point
    """

    public = Public("bessel_j0(x)", methods="")
    samples = EVERYWHERE
    integral = partial(special_values.bessel_j, 0)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.neg(b.bessel_j1(x))


@operation
class BesselJ1(_Bessel):
    """The Bessel function of the first kind of order 1.

    Polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF 10.17.3). The error is below 3 units in
    the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_j0(x) - bessel_j1(x) / x), ct / 2 at 0: DLMF 10.6.2
    errors    TypeError: not floating point
    """

    public = Public("bessel_j1(x)", methods="")
    samples = EVERYWHERE
    integral = partial(special_values.bessel_j, 1)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(b.bessel_j0(x), _divided(b, result, x, alternating=True))


@operation
class BesselY0(_Bessel):
    """The Bessel function of the second kind of order 0; -infinity at 0 and below.

    The series of DLMF 10.8 up to 1, polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF 10.17.4).
    The error is below 3 units in the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * bessel_y1(x)
    errors    TypeError: not floating point
    """

    public = Public("bessel_y0(x)", methods="")
    samples = ABOVE_ZERO
    integral = partial(special_values.bessel_y, 0)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.neg(b.bessel_y1(x))


@operation
class BesselY1(_Bessel):
    """The Bessel function of the second kind of order 1; -infinity at 0 and below.

    The series of DLMF 10.8 up to 1, polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF 10.17.4).
    The error is below 3 units in the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_y0(x) - bessel_y1(x) / x): DLMF 10.6.2
    errors    TypeError: not floating point
    """

    public = Public("bessel_y1(x)", methods="")
    samples = ABOVE_ZERO
    integral = partial(special_values.bessel_y, 1)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(b.bessel_y0(x), b.div(result, x))


@operation
class BesselK0(_Bessel):
    """The modified Bessel function of the second kind of order 0; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * bessel_k1(x)
    errors    TypeError: not floating point
    """

    public = Public("bessel_k0(x)", methods="")
    samples = ABOVE_ZERO
    integral = partial(special_values.bessel_k, 0, scaled=False)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.neg(b.bessel_k1(x))


@operation
class BesselK0e(_Bessel):
    """The modified Bessel function of the second kind of order 0, times e^x; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_k0e(x) - bessel_k1e(x))
    errors    TypeError: not floating point
    """

    public = Public("bessel_k0e(x)", methods="")
    samples = ABOVE_ZERO
    integral = partial(special_values.bessel_k, 0, scaled=True)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(result, b.bessel_k1e(x))


@operation
class BesselK1(_Bessel):
    """The modified Bessel function of the second kind of order 1; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * (bessel_k0(x) + bessel_k1(x) / x): DLMF 10.29.2
    errors    TypeError: not floating point
    """

    public = Public("bessel_k1(x)", methods="")
    samples = ABOVE_ZERO
    integral = partial(special_values.bessel_k, 1, scaled=False)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.neg(b.add(b.bessel_k0(x), b.div(result, x)))


@operation
class BesselK1e(_Bessel):
    """The modified Bessel function of the second kind of order 1, times e^x; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (bessel_k1e(x) (1 - 1 / x) - bessel_k0e(x))
    errors    TypeError: not floating point
    """

    public = Public("bessel_k1e(x)", methods="")
    samples = ABOVE_ZERO
    integral = partial(special_values.bessel_k, 1, scaled=True)

    def slope(self, b: Builder, x: Atom, result: Atom) -> Atom:
        return b.sub(b.sub(result, b.div(result, x)), b.bessel_k0e(x))
