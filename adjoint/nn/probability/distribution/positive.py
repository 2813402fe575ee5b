"""Distributions of positive numbers, and of numbers between 0 and 1.

The formulas are those of Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions; digamma is the derivative of log gamma.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from adjoint.ir.op import made
from adjoint.ir.ops.rejection import RandomGamma
from adjoint.ir.types import F32, DType, tensor
from adjoint.nn.probability.bijector import Exp
from adjoint.nn.probability.distribution.base import Distribution, TransformedDistribution
from adjoint.nn.probability.distribution.real import Normal, open_uniform
from adjoint.nn.probability.parameters import above_zero, float_dtype
from adjoint.ops import creation
from adjoint.ops.arithmetic import log, where, xlogy
from adjoint.ops.generated import digamma, exp, expm1, igamma, igammac, lgamma, sqrt, square
from adjoint.ops.special import log_beta
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["Beta", "Exponential", "Gamma", "HalfNormal", "LogNormal", "Rated", "not_a_number", "not_below"]


def not_below(x: Tensor, below: Tensor, least: float = 0.0) -> Tensor:
    """Return `x`, and `least` where it is outside of a distribution; unlike `maximum` it passes the whole gradient at the border."""
    return where(below, least, x)


def not_a_number(owner: str, name: str, value: Any) -> None:
    """Raise TypeError for a parameter that must be a list or a Tensor with dimensions."""
    if isinstance(value, (int, float)):
        raise TypeError(f"For '{owner}', the argument '{name}' must have at least one dimension, such as [{value}], but got {value}.")


def _standard_gamma(sizes: tuple[int, ...], shape: Tensor, seed: int) -> Tensor:
    """Return numbers of the gamma distribution of rate 1, [*sizes, *shape.shape]."""
    return apply(made(RandomGamma, tensor(shape.dtype, (*sizes, *shape.shape))), next_key(seed), shape)


class Rated(Distribution):
    """Distributions whose parameter is a rate above 0, `rate`."""

    kind: ClassVar[str]

    def __init__(self, rate: Any, seed: int | None, dtype: DType, name: str):
        given = {"rate": rate}
        super().__init__(seed, dtype, name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        self._rate = self._add_parameter(rate, "rate")
        above_zero(self.kind, "rate", self._rate)

    @property
    def rate(self) -> Any:
        return self._rate

    def _get_dist_type(self) -> str:
        return self.kind

    def _get_dist_args(self, rate: Any = None) -> tuple[Tensor]:
        return (self._check_param_type(rate),)

    def extend_repr(self) -> str:
        return self._shown(rate=self._rate)


class Exponential(Rated):
    """The exponential distribution, rate exp(-rate value) for values from 0.

    rate  numbers or Tensors, kept; None: given with each call. ValueError if one that is kept is not above 0

    kl_loss(b) = log(rate / rate_b) + rate_b / rate - 1
    """

    kind = "Exponential"

    def __init__(self, rate: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Exponential"):
        super().__init__(rate, seed, float_dtype("Exponential", dtype), name)

    def _log_prob(self, value: Any, rate: Any = None) -> Tensor:
        x, rate = self._check_value(value, "value"), self._check_param_type(rate)
        return where(x < 0, -math.inf, log(rate) - rate * x)

    def _cdf(self, value: Any, rate: Any = None) -> Tensor:
        x, rate = self._check_value(value, "value"), self._check_param_type(rate)
        return -expm1(-rate * not_below(x, x < 0))

    def _log_survival(self, value: Any, rate: Any = None) -> Tensor:
        x, rate = self._check_value(value, "value"), self._check_param_type(rate)
        return where(x < 0, 0.0, -rate * x)

    def _mean(self, rate: Any = None) -> Tensor:
        return 1.0 / self._check_param_type(rate)

    _sd = _mean

    def _mode(self, rate: Any = None) -> Tensor:
        return creation.zeros_like(self._check_param_type(rate))

    def _entropy(self, rate: Any = None) -> Tensor:
        return 1.0 - log(self._check_param_type(rate))

    def _kl_loss(self, dist: str, rate_b: Any, rate: Any = None) -> Tensor:
        self._same(dist)
        (rate_b,), rate = self._given_parameters(("rate_b", rate_b)), self._check_param_type(rate)
        return log(rate / rate_b) + rate_b / rate - 1.0

    def _sample(self, shape: Any = (), rate: Any = None) -> Tensor:
        sizes, rate = self._sizes(shape), self._check_param_type(rate)
        return -log(open_uniform((*sizes, *rate.shape), self.seed)).astype(rate.dtype) / rate


class Gamma(Distribution):
    """The gamma distribution, rate^a x^(a - 1) exp(-rate x) / gamma(a), where a is the concentration and x the value.

    concentration, rate  lists or Tensors with dimensions, kept, TypeError for numbers; None: given with each call. ValueError if one that
                         is kept is not above 0

    The mode is NaN for concentrations up to 1, and probabilities are NaN for negative values. Samples have no gradient by the
    concentration.

    kl_loss(b) = (a - a_b) digamma(a) - log gamma(a) + log gamma(a_b) + a_b log(rate / rate_b) + a (rate_b / rate - 1)
    """

    def __init__(self, concentration: Any = None, rate: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Gamma"):
        given = {"concentration": concentration, "rate": rate}
        for argument, value in given.items():
            not_a_number("Gamma", argument, value)
        dtype = float_dtype("Gamma", dtype)
        super().__init__(seed, dtype, name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        self._concentration, self._rate = self._add_parameter(concentration, "concentration"), self._add_parameter(rate, "rate")
        above_zero("Gamma", "concentration", self._concentration)
        above_zero("Gamma", "rate", self._rate)

    @property
    def concentration(self) -> Any:
        return self._concentration

    @property
    def rate(self) -> Any:
        return self._rate

    def _get_dist_type(self) -> str:
        return "Gamma"

    def _get_dist_args(self, concentration: Any = None, rate: Any = None) -> tuple[Tensor, Tensor]:
        a, rate = self._check_param_type(concentration, rate)
        return a, rate

    def extend_repr(self) -> str:
        return self._shown(concentration=self._concentration, rate=self._rate)

    def _log_prob(self, value: Any, concentration: Any = None, rate: Any = None) -> Tensor:
        x, (a, rate) = self._check_value(value, "value"), self._get_dist_args(concentration, rate)
        return a * log(rate) + xlogy(a - 1.0, x) - rate * x - lgamma(a)

    def _cdf(self, value: Any, concentration: Any = None, rate: Any = None) -> Tensor:
        x, (a, rate) = self._check_value(value, "value"), self._get_dist_args(concentration, rate)
        return igamma(a, rate * x)

    def _survival_function(self, value: Any, concentration: Any = None, rate: Any = None) -> Tensor:
        x, (a, rate) = self._check_value(value, "value"), self._get_dist_args(concentration, rate)
        return igammac(a, rate * x)

    def _mean(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._get_dist_args(concentration, rate)
        return a / rate

    def _sd(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._get_dist_args(concentration, rate)
        return sqrt(a) / rate

    def _var(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._get_dist_args(concentration, rate)
        return a / square(rate)

    def _mode(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._get_dist_args(concentration, rate)
        return where(a > 1.0, (a - 1.0) / rate, math.nan)

    def _entropy(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._get_dist_args(concentration, rate)
        return a - log(rate) + lgamma(a) + (1.0 - a) * digamma(a)

    def _kl_loss(self, dist: str, concentration_b: Any, rate_b: Any, concentration_a: Any = None, rate_a: Any = None) -> Tensor:
        self._same(dist)
        (b, rate_b) = self._given_parameters(("concentration_b", concentration_b), ("rate_b", rate_b))
        a, rate = self._get_dist_args(concentration_a, rate_a)
        return (a - b) * digamma(a) - lgamma(a) + lgamma(b) + b * log(rate / rate_b) + a * (rate_b / rate - 1.0)

    def _sample(self, shape: Any = (), concentration: Any = None, rate: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        a, rate = self._get_dist_args(concentration, rate)
        return _standard_gamma(sizes, a, self.seed) / rate


class Beta(Distribution):
    """The beta distribution, x^(a - 1) (1 - x)^(b - 1) / B(a, b), where a is concentration1, b concentration0 and x the value.

    concentration1, concentration0  lists or Tensors with dimensions, kept, TypeError for numbers; None: given with each call. ValueError
                                    if one that is kept is not above 0

    The mode is NaN unless both concentrations are above 1, and probabilities are NaN outside of 0..1. Samples have no gradient.

    kl_loss(c) = log(B(a_c, b_c) / B(a, b)) + (a - a_c) digamma(a) + (b - b_c) digamma(b) + (a_c - a + b_c - b) digamma(a + b)
    """

    def __init__(self, concentration1: Any = None, concentration0: Any = None, seed: int | None = None, dtype: DType = F32,
                 name: str = "Beta"):
        given = {"concentration1": concentration1, "concentration0": concentration0}
        for argument, value in given.items():
            not_a_number("Beta", argument, value)
        dtype = float_dtype("Beta", dtype)
        super().__init__(seed, dtype, name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        self._concentration1 = self._add_parameter(concentration1, "concentration1")
        self._concentration0 = self._add_parameter(concentration0, "concentration0")
        above_zero("Beta", "concentration1", self._concentration1)
        above_zero("Beta", "concentration0", self._concentration0)

    @property
    def concentration1(self) -> Any:
        return self._concentration1

    @property
    def concentration0(self) -> Any:
        return self._concentration0

    def _get_dist_type(self) -> str:
        return "Beta"

    def _get_dist_args(self, concentration1: Any = None, concentration0: Any = None) -> tuple[Tensor, Tensor]:
        a, b = self._check_param_type(concentration1, concentration0)
        return a, b

    def extend_repr(self) -> str:
        return self._shown(concentration1=self._concentration1, concentration0=self._concentration0)

    def _log_prob(self, value: Any, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        x, (a, b) = self._check_value(value, "value"), self._get_dist_args(concentration1, concentration0)
        return xlogy(a - 1.0, x) + xlogy(b - 1.0, 1.0 - x) - log_beta(a, b)

    def _mean(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._get_dist_args(concentration1, concentration0)
        return a / (a + b)

    def _var(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._get_dist_args(concentration1, concentration0)
        return a / (a + b) * (b / (a + b)) / (a + b + 1.0)

    def _mode(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._get_dist_args(concentration1, concentration0)
        return where((a > 1.0).logical_and(b > 1.0), (a - 1.0) / (a + b - 2.0), math.nan)

    def _entropy(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._get_dist_args(concentration1, concentration0)
        return log_beta(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + (a + b - 2.0) * digamma(a + b)

    def _kl_loss(self, dist: str, concentration1_b: Any, concentration0_b: Any, concentration1_a: Any = None,
                 concentration0_a: Any = None) -> Tensor:
        self._same(dist)
        other1, other0 = self._given_parameters(("concentration1_b", concentration1_b), ("concentration0_b", concentration0_b))
        a, b = self._get_dist_args(concentration1_a, concentration0_a)
        mixed = (other1 - a + other0 - b) * digamma(a + b)
        return log_beta(other1, other0) - log_beta(a, b) + (a - other1) * digamma(a) + (b - other0) * digamma(b) + mixed

    def _sample(self, shape: Any = (), concentration1: Any = None, concentration0: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        a, b = self._get_dist_args(concentration1, concentration0)
        one, other = (_standard_gamma(sizes, part, self.seed) for part in (a, b))
        return one / (one + other)


class HalfNormal(Distribution):
    """Twice the density of the normal distribution for values from 0, and 0 below; its density alone.

    mean, sd  numbers or Tensors, kept; None: given with each call. ValueError if a deviation that is kept is not above 0
    """

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "HalfNormal"):
        given = {"mean": mean, "sd": sd}
        dtype = float_dtype("HalfNormal", dtype)
        super().__init__(seed, dtype, name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        self._mean_value, self._sd_value = self._add_parameter(mean, "mean"), self._add_parameter(sd, "sd")
        above_zero("HalfNormal", "sd", self._sd_value)

    def extend_repr(self) -> str:
        return self._shown(mean=self._mean_value, sd=self._sd_value)

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Tensor:
        x, (mean, sd) = self._check_value(value, "value"), self._check_param_type(mean, sd)
        return where(x < 0, -math.inf, -0.5 * square((x - mean) / sd) - log(sd) + 0.5 * math.log(2 / math.pi))


class LogNormal(TransformedDistribution):
    """The distribution of exp(x) for a normal x with the mean `loc` and the deviation `scale`.

    loc, scale  numbers or Tensors, kept; None: given with each call. ValueError if a scale that is kept is not above 0

    The mean is exp(loc + scale^2 / 2), the mode exp(loc - scale^2), the variance (exp(scale^2) - 1) exp(2 loc + scale^2). `kl_loss` is that
    of the normal distributions.
    """

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = 0, dtype: DType = F32, name: str = "LogNormal"):
        super().__init__(Exp(), Normal(loc, scale, seed, dtype), seed, name)
        self.parameter_names = ["loc", "scale"]

    @property
    def loc(self) -> Any:
        return self.default_parameters[0]

    @property
    def scale(self) -> Any:
        return self.default_parameters[1]

    def _get_dist_type(self) -> str:
        return "LogNormal"

    def _get_dist_args(self, loc: Any = None, scale: Any = None) -> tuple[Tensor, Tensor]:
        loc, scale = self._check_param_type(loc, scale)
        return loc, scale

    def extend_repr(self) -> str:
        return self._shown(loc=self.loc, scale=self.scale)

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        x = self._check_value(value, "value")
        logarithm = log(not_below(x, x <= 0, 1.0))
        return where(x <= 0, -math.inf, self._distribution.log_prob(logarithm, *self._get_dist_args(loc, scale)) - logarithm)

    def _below(self, value: Any, below: str, above: str, loc: Any = None, scale: Any = None) -> Tensor:
        x = self._check_value(value, "value")
        logarithm = where(x <= 0, -math.inf, log(not_below(x, x <= 0, 1.0)))
        return getattr(self._distribution, below)(logarithm, *self._get_dist_args(loc, scale))

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._get_dist_args(loc, scale)
        return exp(loc + 0.5 * square(scale))

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._get_dist_args(loc, scale)
        return exp(loc - square(scale))

    def _var(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._get_dist_args(loc, scale)
        return expm1(square(scale)) * exp(2.0 * loc + square(scale))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._get_dist_args(loc, scale)
        return loc + log(scale) + 0.5 * math.log(2 * math.pi * math.e)

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None) -> Tensor:
        self._same(dist)
        loc_b, scale_b = self._given_parameters(("loc_b", loc_b), ("scale_b", scale_b))
        return self._distribution.kl_loss("Normal", loc_b, scale_b, *self._get_dist_args(loc_a, scale_a))

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        return exp(self._distribution.sample(sizes, *self._get_dist_args(loc, scale)))
