"""Steps of optimisers that divide by statistics of past gradients: RMSProp, Adagrad, Adadelta, AdaMax, FTRL, and the direction of Lamb.

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

__all__ = [
    "AdadeltaUpdate", "AdagradUpdate", "AdagradV2Update", "AdamaxUpdate", "CenteredRmsPropUpdate", "FtrlUpdate", "LambDirection",
    "RmsPropUpdate",
]

_WEIGHTS, _SCALAR = tensor(F32, (3, 37)), tensor(F32, ())
_SIGNED, _POSITIVE, _FRACTION, _TINY = (-2.0, 2.0), (0.5, 2.0), (0.1, 0.9), (1e-3, 1e-2)
_DECAYING = ((0.0, 0.1), (0.25, 1.0))


@operation
class RmsPropUpdate(Update):
    """A step of RMSProp (Hinton 2012).

    operands parameter      T[s], T a floating point type
             mean_square    T[s]
             moment         T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             decay          C
             momentum       C
             epsilon        C
             weight_decay   C
             scale          C
    result   parameter - a
             q = decay * mean_square + (1 - decay) * g * g
             a = momentum * moment + learning_rate * g / sqrt(q + epsilon)
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = (
        "parameter", "mean_square", "moment", "gradient", "learning_rate", "decay", "momentum", "epsilon", "weight_decay", "scale")
    tensors = 4
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 6,
                      domain=(_SIGNED, _POSITIVE, _SIGNED, _SIGNED, *(_FRACTION,) * 3, _TINY, *_DECAYING)),)

    def reference(
        self, parameter: Array, mean_square: Array, moment: Array, gradient: Array, learning_rate: Array, decay: Array, momentum: Array,
        epsilon: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        q = decay * mean_square + rest_of(decay) * (g * g)
        a = momentum * moment + learning_rate * g / np.sqrt(q + epsilon)
        return parameter - a, q, a

    def lower(
        self, k: Kernel, parameter: Buffer, mean_square: Buffer, moment: Buffer, gradient: Buffer, learning_rate: Buffer, decay: Buffer,
        momentum: Buffer, epsilon: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, rho: Expr, m: Expr, tiny: Expr) -> Sequence[Expr]:
            q = k.let(rho * mean_square[i] + (1.0 - rho) * (g * g), "q")
            a = k.let(m * moment[i] + rate * g / k.call("sqrt", q + tiny), "a")
            return before - a, q, a

        scalars = ((learning_rate, "rate"), (decay, "rho"), (momentum, "m"), (epsilon, "tiny"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class CenteredRmsPropUpdate(Update):
    """A step of RMSProp that divides by the standard deviation of the gradients (Graves 2013).

    operands parameter      T[s], T a floating point type
             mean_gradient  T[s]
             mean_square    T[s]
             moment         T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             decay          C
             momentum       C
             epsilon        C
             weight_decay   C
             scale          C
    result   parameter - a
             e = decay * mean_gradient + (1 - decay) * g
             q = decay * mean_square + (1 - decay) * g * g
             a = momentum * moment + learning_rate * g / sqrt(q - e * e + epsilon)
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = (
        "parameter", "mean_gradient", "mean_square", "moment", "gradient", "learning_rate", "decay", "momentum", "epsilon",
        "weight_decay", "scale")
    tensors = 5
    samples = (sample(*(_WEIGHTS,) * 5, *(_SCALAR,) * 6,
                      domain=(_SIGNED, (-0.5, 0.5), (1.0, 2.0), _SIGNED, _SIGNED, *(_FRACTION,) * 3, _TINY, *_DECAYING)),)

    def reference(
        self, parameter: Array, mean_gradient: Array, mean_square: Array, moment: Array, gradient: Array, learning_rate: Array,
        decay: Array, momentum: Array, epsilon: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        e = decay * mean_gradient + rest_of(decay) * g
        q = decay * mean_square + rest_of(decay) * (g * g)
        a = momentum * moment + learning_rate * g / np.sqrt(q - e * e + epsilon)
        return parameter - a, e, q, a

    def lower(
        self, k: Kernel, parameter: Buffer, mean_gradient: Buffer, mean_square: Buffer, moment: Buffer, gradient: Buffer,
        learning_rate: Buffer, decay: Buffer, momentum: Buffer, epsilon: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, rho: Expr, m: Expr, tiny: Expr) -> Sequence[Expr]:
            e = k.let(rho * mean_gradient[i] + (1.0 - rho) * g, "e")
            q = k.let(rho * mean_square[i] + (1.0 - rho) * (g * g), "q")
            a = k.let(m * moment[i] + rate * g / k.call("sqrt", q - e * e + tiny), "a")
            return before - a, e, q, a

        scalars = ((learning_rate, "rate"), (decay, "rho"), (momentum, "m"), (epsilon, "tiny"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class AdagradUpdate(Update):
    """A step of Adagrad (Duchi, Hazan and Singer 2011).

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             weight_decay   C
             scale          C
    result   parameter - learning_rate * g / sqrt(a)
             a = accumulator + g * g, without `update_slots` accumulator
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    update_slots: bool = True
    names = ("parameter", "accumulator", "gradient", "learning_rate", "weight_decay", "scale")
    tensors = 3
    samples = tuple(
        sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 3, domain=(_SIGNED, _POSITIVE, _SIGNED, _FRACTION, *_DECAYING), update_slots=slots)
        for slots in (True, False))

    def reference(
        self, parameter: Array, accumulator: Array, gradient: Array, learning_rate: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        a = accumulator + g * g if self.update_slots else accumulator
        return parameter - learning_rate * g / np.sqrt(a), a

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, gradient: Buffer, learning_rate: Buffer, weight_decay: Buffer,
        scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr) -> Sequence[Expr]:
            a = k.let(accumulator[i] + g * g if self.update_slots else accumulator[i], "a")
            return before - rate * g / k.call("sqrt", a), a

        self.each(k, parameter, gradient, ((learning_rate, "rate"),), outs, step, scale=scale, decay=weight_decay)


@operation
class AdagradV2Update(Update):
    """A step of Adagrad whose denominator has an epsilon.

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             epsilon        C
             weight_decay   C
             scale          C
    result   parameter - learning_rate * g / (sqrt(a) + epsilon)
             a = accumulator + g * g, without `update_slots` accumulator
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    update_slots: bool = True
    names = ("parameter", "accumulator", "gradient", "learning_rate", "epsilon", "weight_decay", "scale")
    tensors = 3
    samples = tuple(
        sample(*(_WEIGHTS,) * 3, *(_SCALAR,) * 4, domain=(_SIGNED, _POSITIVE, _SIGNED, _FRACTION, _TINY, *_DECAYING), update_slots=slots)
        for slots in (True, False))

    def reference(
        self, parameter: Array, accumulator: Array, gradient: Array, learning_rate: Array, epsilon: Array, weight_decay: Array,
        scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        a = accumulator + g * g if self.update_slots else accumulator
        return parameter - learning_rate * g / (np.sqrt(a) + epsilon), a

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, gradient: Buffer, learning_rate: Buffer, epsilon: Buffer,
        weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, tiny: Expr) -> Sequence[Expr]:
            a = k.let(accumulator[i] + g * g if self.update_slots else accumulator[i], "a")
            return before - rate * g / (k.call("sqrt", a) + tiny), a

        scalars = ((learning_rate, "rate"), (epsilon, "tiny"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class AdadeltaUpdate(Update):
    """A step of Adadelta (Zeiler 2012).

    operands parameter      T[s], T a floating point type
             mean_square    T[s]
             mean_step      T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             decay          C
             epsilon        C
             weight_decay   C
             scale          C
    result   parameter - learning_rate * u
             q = decay * mean_square + (1 - decay) * g * g
             decay * mean_step + (1 - decay) * u * u
             u = sqrt(mean_step + epsilon) * g / sqrt(q + epsilon)
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = ("parameter", "mean_square", "mean_step", "gradient", "learning_rate", "decay", "epsilon", "weight_decay", "scale")
    tensors = 4
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 5,
                      domain=(_SIGNED, _POSITIVE, _POSITIVE, _SIGNED, *(_FRACTION,) * 2, _TINY, *_DECAYING)),)

    def reference(
        self, parameter: Array, mean_square: Array, mean_step: Array, gradient: Array, learning_rate: Array, decay: Array,
        epsilon: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        q = decay * mean_square + rest_of(decay) * (g * g)
        u = np.sqrt(mean_step + epsilon) * g / np.sqrt(q + epsilon)
        return parameter - learning_rate * u, q, decay * mean_step + rest_of(decay) * (u * u)

    def lower(
        self, k: Kernel, parameter: Buffer, mean_square: Buffer, mean_step: Buffer, gradient: Buffer, learning_rate: Buffer,
        decay: Buffer, epsilon: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, rho: Expr, tiny: Expr) -> Sequence[Expr]:
            q, old = k.let(rho * mean_square[i] + (1.0 - rho) * (g * g), "q"), k.let(mean_step[i], "old")
            u = k.let(k.call("sqrt", old + tiny) * g / k.call("sqrt", q + tiny), "u")
            return before - rate * u, q, rho * old + (1.0 - rho) * (u * u)

        scalars = ((learning_rate, "rate"), (decay, "rho"), (epsilon, "tiny"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class FtrlUpdate(Update):
    """A step of FTRL, follow the regularised leader (McMahan and Streeter 2010).

    operands parameter      T[s], T a floating point type
             accumulator    T[s]
             linear         T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             l1             C
             l2             C
             lr_power       C
             weight_decay   C
             scale          C
    result   (sign(u) * l1 - u) / (a**-lr_power / learning_rate + 2 * l2) where |u| > l1, else 0
             a = accumulator + g * g
             u = linear + g - (a**-lr_power - accumulator**-lr_power) / learning_rate * parameter
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = (
        "parameter", "accumulator", "linear", "gradient", "learning_rate", "l1", "l2", "lr_power", "weight_decay", "scale")
    tensors = 4
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 6,
                      domain=(_SIGNED, _POSITIVE, _SIGNED, _SIGNED, *(_FRACTION,) * 3, (-0.9, -0.1), *_DECAYING)),)

    def reference(
        self, parameter: Array, accumulator: Array, linear: Array, gradient: Array, learning_rate: Array, l1: Array, l2: Array,
        lr_power: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        a = accumulator + g * g
        before, after = accumulator**-lr_power, a**-lr_power
        u = linear + g - (after - before) / learning_rate * parameter
        moved = (np.sign(u) * l1 - u) / (after / learning_rate + 2 * l2)
        return np.where(np.abs(u) <= l1, 0, moved).astype(parameter.dtype), a, u

    def lower(
        self, k: Kernel, parameter: Buffer, accumulator: Buffer, linear: Buffer, gradient: Buffer, learning_rate: Buffer, l1: Buffer,
        l2: Buffer, lr_power: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, first: Expr, second: Expr, power: Expr) -> Sequence[Expr]:
            old = k.let(accumulator[i], "old")
            a = k.let(old + g * g, "a")
            root, old_root = k.let(k.call("pow", a, -power), "root"), k.let(k.call("pow", old, -power), "old_root")
            u = k.let(linear[i] + g - (root - old_root) / rate * before, "u")
            # A NaN takes the branch for |u| > l1, and so stays NaN.
            beyond = k.either(k.greater(k.call("fabs", u), first), k.not_equal(u, u))
            return k.select(beyond, (k.call("copysign", first, u) - u) / (root / rate + 2.0 * second), 0), a, u

        scalars = ((learning_rate, "rate"), (l1, "first"), (l2, "second"), (lr_power, "power"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class AdamaxUpdate(Update):
    """A step of AdaMax (Kingma and Ba 2014): Adam with the largest absolute gradient instead of the mean square.

    operands parameter      T[s], T a floating point type
             m              T[s]
             v              T[s]
             gradient       T[s]
             learning_rate  C, which T computes in
             beta1          C
             beta2          C
             epsilon        C
             beta1_power    C, beta1 to the power of the number of steps, this one included
             weight_decay   C
             scale          C
    result   parameter - learning_rate / (1 - beta1_power) * m' / (v' + epsilon)
             m' = beta1 * m + (1 - beta1) * g
             v' = max(beta2 * v, |g|)
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = (
        "parameter", "m", "v", "gradient", "learning_rate", "beta1", "beta2", "epsilon", "beta1_power", "weight_decay", "scale")
    tensors = 4
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 7,
                      domain=(_SIGNED, _SIGNED, _POSITIVE, _SIGNED, *(_FRACTION,) * 3, _TINY, _FRACTION, *_DECAYING)),)

    def reference(
        self, parameter: Array, m: Array, v: Array, gradient: Array, learning_rate: Array, beta1: Array, beta2: Array, epsilon: Array,
        beta1_power: Array, weight_decay: Array, scale: Array,
    ) -> tuple[Array, ...]:
        g = self.gradient(parameter, gradient, weight_decay, scale)
        m, v = beta1 * m + rest_of(beta1) * g, np.maximum(beta2 * v, np.abs(g))
        return parameter - learning_rate / rest_of(beta1_power) * m / (v + epsilon), m, v

    def lower(
        self, k: Kernel, parameter: Buffer, m: Buffer, v: Buffer, gradient: Buffer, learning_rate: Buffer, beta1: Buffer, beta2: Buffer,
        epsilon: Buffer, beta1_power: Buffer, weight_decay: Buffer, scale: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, rate: Expr, b1: Expr, b2: Expr, tiny: Expr, power: Expr) -> Sequence[Expr]:
            next_m = k.let(b1 * m[i] + (1.0 - b1) * g, "next_m")
            faded, size = k.let(b2 * v[i], "faded"), k.let(k.call("fabs", g), "size")
            next_v = k.let(k.select(k.either(k.greater(faded, size), k.not_equal(faded, faded)), faded, size), "next_v")
            return before - rate / (1.0 - power) * next_m / (next_v + tiny), next_m, next_v

        scalars = ((learning_rate, "rate"), (beta1, "b1"), (beta2, "b2"), (epsilon, "tiny"), (beta1_power, "power"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=scale, decay=weight_decay)


@operation
class LambDirection(Update):
    """The direction of a step of Lamb, before it is scaled to the norm of the parameter (You et al. 2019).

    operands parameter     T[s], T a floating point type
             m             T[s], first moment
             v             T[s], second moment
             gradient      T[s]
             beta1         C, which T computes in
             beta2         C
             epsilon       C
             beta1_power   C, beta1 to the power of the number of steps, this one included
             beta2_power   C
             weight_decay  C
    result   m' / (1 - beta1_power) / (sqrt(v' / (1 - beta2_power)) + epsilon) + weight_decay * parameter
             m' = beta1 * m + (1 - beta1) * gradient
             v' = beta2 * v + (1 - beta2) * gradient * gradient
    gradient none: optimiser steps are not differentiated
    errors   ValueError: operands whose types do not fit; TypeError: parameter not floating point
    """

    names = (
        "parameter", "m", "v", "gradient", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power", "weight_decay")
    tensors = 4
    in_place = {1: 1, 2: 2}
    samples = (sample(*(_WEIGHTS,) * 4, *(_SCALAR,) * 6,
                      domain=(_SIGNED, _SIGNED, _POSITIVE, _SIGNED, *(_FRACTION,) * 2, _TINY, *(_FRACTION,) * 2, (0.0, 0.1))),)

    def reference(
        self, parameter: Array, m: Array, v: Array, gradient: Array, beta1: Array, beta2: Array, epsilon: Array, beta1_power: Array,
        beta2_power: Array, weight_decay: Array,
    ) -> tuple[Array, ...]:
        m, v = beta1 * m + rest_of(beta1) * gradient, beta2 * v + rest_of(beta2) * (gradient * gradient)
        return m / rest_of(beta1_power) / (np.sqrt(v / rest_of(beta2_power)) + epsilon) + weight_decay * parameter, m, v

    def lower(
        self, k: Kernel, parameter: Buffer, m: Buffer, v: Buffer, gradient: Buffer, beta1: Buffer, beta2: Buffer, epsilon: Buffer,
        beta1_power: Buffer, beta2_power: Buffer, weight_decay: Buffer, *outs: Buffer,
    ) -> None:
        def step(i: Expr, before: Expr, g: Expr, *values: Expr) -> Sequence[Expr]:
            b1, b2, tiny, power1, power2, share = values
            next_m = k.let(b1 * m[i] + (1.0 - b1) * g, "next_m")
            next_v = k.let(b2 * v[i] + (1.0 - b2) * (g * g), "next_v")
            return next_m / (1.0 - power1) / (k.call("sqrt", next_v / (1.0 - power2)) + tiny) + share * before, next_m, next_v

        scalars = (
            (beta1, "b1"), (beta2, "b2"), (epsilon, "tiny"), (beta1_power, "power1"), (beta2_power, "power2"), (weight_decay, "share"))
        self.each(k, parameter, gradient, scalars, outs, step, scale=None, decay=None)
