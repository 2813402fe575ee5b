"""Steps of optimisers that look at signs or shrink towards zero: AddSign, PowerSign, and steps with L1 and L2 regularisation.

All steps use the definition in `optimizers.py`: g = gradient * scale + weight_decay * parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops.optimizers import Update, rest_of
from adjoint.ir.types import F32, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = ["AddSignUpdate", "DualAveragingUpdate", "PowerSignUpdate", "ProximalAdagradUpdate", "ProximalUpdate"]

_WEIGHTS, _SCALAR = tensor(F32, (3, 37)), tensor(F32, ())
_SIGNED, _POSITIVE, _FRACTION = (-2.0, 2.0), (0.5, 2.0), (0.1, 0.9)
_DECAYING = ((0.0, 0.1), (0.25, 1.0))


def _sign(k: Kernel, x: Expr) -> Expr:
    """Return -1, 0, 1 or NaN."""
    return k.select(k.greater(x, 0), 1, k.select(k.less(x, 0), -1, k.select(k.equal(x, 0), 0, x)))


class _Signed(Update):
    """Steps that are longer where the gradient and the moment agree in sign."""

    tensors = 3

    def reference(
        self, parameter: Array, moment: Array, gradient: Array, learning_rate: Array, base: Array, sign_decay: Array, beta: Array,
        weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        m = beta * moment + rest_of(beta) * g
        return parameter - learning_rate * (self.factor_of(base, sign_decay * (np.sign(g) * np.sign(m))) * g), m

    def factor_of(self, base: Array, agreement: Array) -> Array:
        """Return the factor of g, from agreement: sign_decay times 1, 0 or -1."""
        raise NotImplementedError

    def factor(self, k: Kernel, base: Expr, agreement: Expr) -> Expr:
        """Return the C of `factor_of`."""
        raise NotImplementedError

    def lower(
        self, k: Kernel, parameter: Buffer, moment: Buffer, gradient: Buffer, learning_rate: Buffer, base: Buffer, sign_decay: Buffer,
        beta: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, first: Expr, share: Expr, b: Expr) -> Sequence[Expr]:
            m = k.let(b * moment[i] + (1.0 - b) * g, "m")
            agreement = k.let(share * (_sign(k, g) * _sign(k, m)), "agreement")
            return before - rate * (self.factor(k, first, agreement) * g), m

        scalars = ((learning_rate, "rate"), (base, "first"), (sign_decay, "share"), (beta, "b"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class AddSignUpdate(_Signed):
    """A step of AddSign (Bello et al. 2017).

    operands parameter      T[s], T a floating point type
             moment         T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             alpha          C
             sign_decay     C
             beta           C
             weight_decay   C
             scale          C
    result   parameter - learning_rate * (alpha + sign_decay * sign(g) * sign(m)) * g
             m = beta * moment + (1 - beta) * g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "moment", "gradient", "learning_rate", "alpha", "sign_decay", "beta", "weight_decay", "scale")
    samples = (sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 6, domain=(*(_SIGNED,) * 3, *(_FRACTION,) * 4, *_DECAYING)),)

    def factor_of(self, base: Array, agreement: Array) -> Array:
        return base + agreement

    def factor(self, k: Kernel, base: Expr, agreement: Expr) -> Expr:
        return base + agreement


@operation
class PowerSignUpdate(_Signed):
    """A step of PowerSign (Bello et al. 2017).

    operands parameter      T[s], T a floating point type
             moment         T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             logbase        C
             sign_decay     C
             beta           C
             weight_decay   C
             scale          C
    result   parameter - learning_rate * exp(logbase * sign_decay * sign(g) * sign(m)) * g
             m = beta * moment + (1 - beta) * g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "moment", "gradient", "learning_rate", "logbase", "sign_decay", "beta", "weight_decay", "scale")
    samples = (sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 6, domain=(*(_SIGNED,) * 3, _FRACTION, _POSITIVE, *(_FRACTION,) * 2, *_DECAYING)),)

    def factor_of(self, base: Array, agreement: Array) -> Array:
        return np.exp(base * agreement)

    def factor(self, k: Kernel, base: Expr, agreement: Expr) -> Expr:
        return k.call("exp", base * agreement)


def _shrunk(x: Array, threshold: Array) -> Array:
    """Return x moved towards 0 by the threshold, at most to 0; NaN stays NaN."""
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


def _shrunk_c(k: Kernel, x: Expr, threshold: Expr) -> Expr:
    rest = k.let(k.call("fabs", x) - threshold, "rest")
    return _sign(k, x) * k.select(k.less(rest, 0), 0, rest)


@operation
class ProximalUpdate(Update):
    """A step of gradient descent with L1 and L2 regularisation: forward-backward splitting (Duchi and Singer 2009).

    operands parameter      T[s], T a floating point type
             gradient       T[s]
             learning_rate  C, which T computes in
             l1             C
             l2             C
             weight_decay   C
             scale          C
    result   sign(p) * max(|p| - learning_rate * l1, 0) / (1 + learning_rate * l2), where l1 below 0 counts as 0
             p = parameter - learning_rate * g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "gradient", "learning_rate", "l1", "l2", "weight_decay", "scale")
    samples = tuple(
        sample(*(_WEIGHTS,) * 2, *(_SCALAR,) * 5, domain=(*(_SIGNED,) * 2, _FRACTION, l1, _FRACTION, *_DECAYING), note=note)
        for l1, note in (((0.1, 0.9), "shrinking"), ((-0.9, -0.1), "without L1")))

    def reference(
        self, parameter: Array, gradient: Array, learning_rate: Array, l1: Array, l2: Array, weight_decay: Array, scale: Array,
    ) -> Array:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        return _proximal(parameter - learning_rate * g, learning_rate, l1, l2)

    def lower(
        self, k: Kernel, parameter: Buffer, gradient: Buffer, learning_rate: Buffer, l1: Buffer, l2: Buffer, weight_decay: Buffer,
        scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, first: Expr, second: Expr) -> Sequence[Expr]:
            return (_proximal_c(k, before - rate * g, rate, first, second),)

        scalars = ((learning_rate, "rate"), (l1, "first"), (l2, "second"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


def _proximal(moved: Array, rate: Array, l1: Array, l2: Array) -> Array:
    """Return sign(moved) * max(|moved| - rate * l1, 0) / (1 + rate * l2), where l1 below 0 counts as 0."""
    return _shrunk(moved, rate * np.where(l1 > 0, l1, l1.dtype.type(0))) / (l2.dtype.type(1) + rate * l2)


def _proximal_c(k: Kernel, moved: Expr, rate: Expr, l1: Expr, l2: Expr) -> Expr:
    threshold = rate * k.select(k.greater(l1, 0), l1, 0)
    return _shrunk_c(k, k.let(moved, "moved"), k.let(threshold, "threshold")) / (1.0 + rate * l2)


@operation
class ProximalAdagradUpdate(Update):
    """A step of Adagrad with L1 and L2 regularisation: forward-backward splitting (Duchi and Singer 2009).

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             l1             C
             l2             C
             weight_decay   C
             scale          C
    result   sign(p) * max(|p| - rate * l1, 0) / (1 + rate * l2), where l1 below 0 counts as 0
             a = accumulator + g * g
             rate = learning_rate / sqrt(a)
             p = parameter - rate * g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "accumulator", "gradient", "learning_rate", "l1", "l2", "weight_decay", "scale")
    tensors = 3
    samples = (sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 5, domain=(_SIGNED, _POSITIVE, _SIGNED, *(_FRACTION,) * 3, *_DECAYING)),)

    def reference(
        self, parameter: Array, accumulator: Array, gradient: Array, learning_rate: Array, l1: Array, l2: Array, weight_decay: Array,
        scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        a = accumulator + g * g
        rate = learning_rate / np.sqrt(a)
        return _proximal(parameter - rate * g, rate, l1, l2), a

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, gradient: Buffer, learning_rate: Buffer, l1: Buffer, l2: Buffer,
        weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, speed: Expr, first: Expr, second: Expr) -> Sequence[Expr]:
            a = k.let(accumulator[i] + g * g, "a")
            rate = k.let(speed / k.call("sqrt", a), "rate")
            return _proximal_c(k, before - rate * g, rate, first, second), a

        scalars = ((learning_rate, "speed"), (l1, "first"), (l2, "second"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class DualAveragingUpdate(Update):
    """A step of Adagrad by dual averaging, with L1 and L2 regularisation (Duchi, Hazan and Singer 2011).

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             squares        T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             l1             C
             l2             C
             count          C, the number of steps
             weight_decay   C
             scale          C
    result   -learning_rate * sign(a) * max(|a| - l1 * count, 0) / (l2 * count * learning_rate + sqrt(q)), where l1 below 0 counts as 0
             a = accumulator + g
             q = squares + g * g
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "accumulator", "squares", "gradient", "learning_rate", "l1", "l2", "count", "weight_decay", "scale")
    tensors = 4
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 6,
                      domain=(_SIGNED, _SIGNED, _POSITIVE, _SIGNED, *(_FRACTION,) * 3, (1.0, 2.0), *_DECAYING)),)

    def reference(
        self, parameter: Array, accumulator: Array, squares: Array, gradient: Array, learning_rate: Array, l1: Array, l2: Array,
        count: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        a, q = accumulator + g, squares + g * g
        kept = _shrunk(a, np.where(l1 > 0, l1, l1.dtype.type(0)) * count)
        return -learning_rate * kept / (l2 * count * learning_rate + np.sqrt(q)), a, q

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, squares: Buffer, gradient: Buffer, learning_rate: Buffer, l1: Buffer,
        l2: Buffer, count: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, first: Expr, second: Expr, steps: Expr) -> Sequence[Expr]:
            a, q = k.let(accumulator[i] + g, "a"), k.let(squares[i] + g * g, "q")
            threshold = k.let(k.select(k.greater(first, 0), first, 0) * steps, "threshold")
            return -rate * _shrunk_c(k, a, threshold) / (second * steps * rate + k.call("sqrt", q)), a, q

        scalars = ((learning_rate, "rate"), (l1, "first"), (l2, "second"), (count, "steps"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)
