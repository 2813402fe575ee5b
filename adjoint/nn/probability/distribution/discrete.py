"""Distributions of whole numbers.

Results that are not samples are of a floating point type: that of the distribution, Float32 if it is not one.  The formulas are those of
Johnson, Kemp and Kotz, Univariate Discrete Distributions.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.rejection import RandomPoisson
from adjoint.ir.types import F32, I32, DType, tensor
from adjoint.nn.probability.distribution.base import Distribution
from adjoint.nn.probability.distribution.positive import Rated, not_a_number, not_below
from adjoint.nn.probability.distribution.real import open_uniform
from adjoint.nn.probability.parameters import above_zero, number_dtype
from adjoint.ops import creation, picking, reduction, shapes
from adjoint.ops.arithmetic import log, where, xlogy
from adjoint.ops.creation import arange
from adjoint.ops.generated import expm1, floor, igammac, lgamma, log1p, square
from adjoint.ops.random_numbers import drawn_uniform, multinomial
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["Bernoulli", "Categorical", "Geometric", "Poisson"]


class _Probabilities(Distribution):
    """Distributions whose parameter is a probability, `probs`."""

    def __init__(self, probs: Any, seed: int | None, dtype: DType, name: str):
        kind, given = type(self).__name__, {"probs": probs}
        dtype = number_dtype(kind, dtype)
        super().__init__(seed, dtype, name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        self._probs = self._add_parameter(probs, "probs")
        above_zero(kind, "probs", self._probs, below=1.0)

    @property
    def probs(self) -> Any:
        return self._probs

    def _get_dist_type(self) -> str:
        return type(self).__name__

    def extend_repr(self) -> str:
        return self._shown(probs=self._probs)


class Bernoulli(_Probabilities):
    """1 with the probability p, 0 otherwise.

    probs  p: numbers or Tensors, kept; None: given with each call. ValueError if one that is kept is not in (0, 1)

    kl_loss(b) = p log(p / p_b) + (1 - p) log((1 - p) / (1 - p_b)). The mode is 1 where p is above 1/2.
    """

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: DType = I32, name: str = "Bernoulli"):
        super().__init__(probs, seed, dtype, name)

    def _get_dist_args(self, probs1: Any = None) -> tuple[Tensor]:
        return (self._check_param_type(probs1),)

    def _log_prob(self, value: Any, probs1: Any = None) -> Tensor:
        x, p = self._check_value(value, "value"), self._check_param_type(probs1)
        return xlogy(x, p) + xlogy(1.0 - x, 1.0 - p)

    def _cdf(self, value: Any, probs1: Any = None) -> Tensor:
        x, p = self._check_value(value, "value"), self._check_param_type(probs1)
        return where(x < 0, 0.0, where(x < 1, 1.0 - p, 1.0))

    def _survival_function(self, value: Any, probs1: Any = None) -> Tensor:
        x, p = self._check_value(value, "value"), self._check_param_type(probs1)
        return where(x < 0, 1.0, where(x < 1, p, 0.0))

    def _mean(self, probs1: Any = None) -> Tensor:
        return self._check_param_type(probs1)

    def _var(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return p * (1.0 - p)

    def _mode(self, probs1: Any = None) -> Tensor:
        return (self._check_param_type(probs1) > 0.5).astype(self.dtype)

    def _entropy(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return -xlogy(p, p) - xlogy(1.0 - p, 1.0 - p)

    def _kl_loss(self, dist: str, probs1_b: Any, probs1: Any = None) -> Tensor:
        self._same(dist)
        (q,), p = self._given_parameters(("probs1_b", probs1_b)), self._check_param_type(probs1)
        return xlogy(p, p / q) + xlogy(1.0 - p, (1.0 - p) / (1.0 - q))

    def _sample(self, shape: Any = (), probs1: Any = None) -> Tensor:
        sizes, p = self._sizes(shape), self._check_param_type(probs1)
        return (drawn_uniform((*sizes, *p.shape), F32, self.seed).astype(p.dtype) < p).astype(self.dtype)


class Geometric(_Probabilities):
    """The number of failures before the first success, (1 - p)^k p, where k is the value rounded down.

    probs  p: numbers or Tensors, kept; None: given with each call. ValueError if one that is kept is not in (0, 1)

    kl_loss(b) = log(p / p_b) + (1 - p) / p log((1 - p) / (1 - p_b))
    """

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: DType = I32, name: str = "Geometric"):
        super().__init__(probs, seed, dtype, name)

    def _get_dist_args(self, probs1: Any = None) -> tuple[Tensor]:
        return (self._check_param_type(probs1),)

    def _count(self, value: Any, probs1: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Return whether the value is negative, the value as a number of failures, and the probability."""
        x = self._check_value(value, "value")
        return x < 0, floor(not_below(x, x < 0)), self._check_param_type(probs1)

    def _log_prob(self, value: Any, probs1: Any = None) -> Tensor:
        below, k, p = self._count(value, probs1)
        return where(below, -math.inf, k * log1p(-p) + log(p))

    def _cdf(self, value: Any, probs1: Any = None) -> Tensor:
        below, k, p = self._count(value, probs1)
        return where(below, 0.0, -expm1((k + 1.0) * log1p(-p)))

    def _log_survival(self, value: Any, probs1: Any = None) -> Tensor:
        below, k, p = self._count(value, probs1)
        return where(below, 0.0, (k + 1.0) * log1p(-p))

    def _mean(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return (1.0 - p) / p

    def _var(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return (1.0 - p) / square(p)

    def _mode(self, probs1: Any = None) -> Tensor:
        return creation.zeros_like(self._check_param_type(probs1)).astype(self.dtype)

    def _entropy(self, probs1: Any = None) -> Tensor:
        p = self._check_param_type(probs1)
        return -(xlogy(1.0 - p, 1.0 - p) + xlogy(p, p)) / p

    def _kl_loss(self, dist: str, probs1_b: Any, probs1: Any = None) -> Tensor:
        self._same(dist)
        (q,), p = self._given_parameters(("probs1_b", probs1_b)), self._check_param_type(probs1)
        return log(p / q) + xlogy(1.0 - p, (1.0 - p) / (1.0 - q)) / p

    def _sample(self, shape: Any = (), probs1: Any = None) -> Tensor:
        # The quantile of a uniform number.
        sizes, p = self._sizes(shape), self._check_param_type(probs1)
        return floor(log(open_uniform((*sizes, *p.shape), self.seed)).astype(p.dtype) / log1p(-p)).astype(self.dtype)


class Categorical(_Probabilities):
    """The numbers 0..n-1 with the probabilities in the last axis of `probs`, which the sum of must be 1.

    probs  lists or Tensors with dimensions, kept; None: given with each call. ValueError if those that are kept have no dimension, are
           not in (0, 1) or do not add up to 1

    A value is rounded down; it broadcasts with the other axes of `probs`. Probabilities of values that are not in 0..n-1 are NaN. The mean
    and the variance keep the last axis, of size 1.

    kl_loss(b) = sum of p log(p / p_b)
    """

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: DType = I32, name: str = "Categorical"):
        super().__init__(probs, seed, dtype, name)
        if self._probs is not None:
            if not self._probs.ndim:
                raise ValueError(f"For 'Categorical', the argument 'probs' must have at least 1 dimension, but got {probs!r}.")
            checked_on_host(_adds_up, self._probs,
                            conditions=lambda: [((reduction.sum(self._probs, -1) - 1.0).abs() <= 1e-5, TRUE)])
        self._broadcast_shape = self._batch_shape[:-1]
        self._kept = {"probs": self._broadcast_shape}

    def _get_dist_args(self, probs: Any = None) -> tuple[Tensor]:
        return (self._check_param_type(probs),)

    def _picked(self, value: Any, table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return for each value whether it is below 0, whether it is above n - 1, and its number in the table, or the first one."""
        x, classes = self._check_value(value, "value"), table.shape[-1]
        index = floor(x)
        below, above = x < 0, index > classes - 1
        inside = where(below.logical_or(above), 0.0, index).astype(I32)
        if table.ndim == 1:
            return below, above, picking.gather(table, inside, 0)
        sizes = self._broadcast(inside.shape, table.shape[:-1])
        rows = shapes.broadcast_to(table, (*sizes, classes))
        return below, above, picking.gather_elements(rows, -1, shapes.broadcast_to(inside, sizes).expand_dims(-1)).squeeze(-1)

    def _log_prob(self, value: Any, probs: Any = None) -> Tensor:
        below, above, p = self._picked(value, self._check_param_type(probs))
        return where(below.logical_or(above), math.nan, log(p))

    def _cdf(self, value: Any, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        below, _, upto = self._picked(value, reduction.cumsum(p, -1))
        last = self._check_value(value, "value") >= p.shape[-1] - 1
        return where(below, 0.0, where(last, 1.0, upto))

    def _mean(self, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        return reduction.sum(p * arange(p.shape[-1]), -1, True)

    def _var(self, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        return reduction.sum(p * square(arange(p.shape[-1]) - self._mean(p)), -1, True)

    def _mode(self, probs: Any = None) -> Tensor:
        return reduction.argmax(self._check_param_type(probs), -1).astype(self.dtype)

    def _entropy(self, probs: Any = None) -> Tensor:
        p = self._check_param_type(probs)
        return 0.0 - reduction.sum(xlogy(p, p), -1)

    def _kl_loss(self, dist: str, probs_b: Any, probs: Any = None) -> Tensor:
        self._same(dist)
        (q,), p = self._given_parameters(("probs_b", probs_b)), self._check_param_type(probs)
        return reduction.sum(xlogy(p, p) - xlogy(p, q), -1)

    def _sample(self, shape: Any = (), probs: Any = None) -> Tensor:
        sizes, p = self._sizes(shape), self._check_param_type(probs)
        count, batch = math.prod(sizes), p.shape[:-1]
        if not count or not math.prod(batch):
            return creation.zeros((*sizes, *batch), self.dtype)
        drawn = multinomial(p.reshape((-1, p.shape[-1])), count, True, self.seed)
        return drawn.swapaxes(0, 1).reshape((*sizes, *batch)).astype(self.dtype)


def _adds_up(probs: Tensor) -> None:
    sums = probs.asnumpy().astype(float).sum(-1)
    if (abs(sums - 1.0) > 1e-5).any():
        raise ValueError(f"For 'Categorical', the argument 'probs' must add up to 1 along the last axis, but got {sums.tolist()}.")


class Poisson(Rated):
    """The Poisson distribution, rate^value exp(-rate) / gamma(value + 1) for values from 0.

    rate  lists or Tensors with dimensions, kept, TypeError for numbers; None: given with each call. ValueError if one that is kept is not
          above 0

    Values between whole numbers are not rounded. Samples have no gradient.
    """

    kind = "Poisson"

    def __init__(self, rate: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Poisson"):
        not_a_number("Poisson", "rate", rate)
        super().__init__(rate, seed, number_dtype("Poisson", dtype), name)

    def _log_prob(self, value: Any, rate: Any = None) -> Tensor:
        x, rate = self._check_value(value, "value"), self._check_param_type(rate)
        from_zero = not_below(x, x < 0)
        return where(x < 0, -math.inf, xlogy(from_zero, rate) - rate - lgamma(from_zero + 1.0))

    def _cdf(self, value: Any, rate: Any = None) -> Tensor:
        x, rate = self._check_value(value, "value"), self._check_param_type(rate)
        return where(x < 0, 0.0, igammac(not_below(x, x < 0) + 1.0, rate))

    def _mean(self, rate: Any = None) -> Tensor:
        return self._check_param_type(rate)

    _var = _mean

    def _mode(self, rate: Any = None) -> Tensor:
        return floor(self._check_param_type(rate))

    def _sample(self, shape: Any = (), rate: Any = None) -> Tensor:
        sizes, rate = self._sizes(shape), self._check_param_type(rate)
        return apply(made(RandomPoisson, tensor(F32, (*sizes, *rate.shape))), next_key(self.seed), rate).astype(self.dtype)
