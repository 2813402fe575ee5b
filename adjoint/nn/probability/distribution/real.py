"""Distributions of all real numbers, or of an interval.

The formulas are those of Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, except where a class gives another source.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from adjoint.ir.types import F32, DType
from adjoint.nn.probability.bijector import GumbelCDF, Invert
from adjoint.nn.probability.distribution.base import Distribution, TransformedDistribution
from adjoint.nn.probability.parameters import above_zero, float_dtype
from adjoint.ops import activations, creation
from adjoint.ops.arithmetic import abs, clamp, log, where
from adjoint.ops.generated import atan2, erfc, exp, expm1, lgamma, log1p, sigmoid, square, tan
from adjoint.ops.random_numbers import drawn_uniform, standard_normal
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Cauchy", "Gumbel", "Laplace", "Logistic", "Normal", "StudentT", "Uniform"]

EULER = 0.5772156649015329
"""Euler's constant, -digamma(1)."""


def open_uniform(sizes: tuple[int, ...], seed: int) -> Tensor:
    """Return uniformly random Float32 numbers in (0, 1), neither 0 nor 1, whose logarithms are finite."""
    return drawn_uniform(sizes, F32, seed) * (1 - 2.0**-23) + 2.0**-24


class _Located(Distribution):
    """Distributions with a parameter of place and a positive one of width, under names of their own."""

    _titles: tuple[str, str]

    def __init__(self, seed: int | None, dtype: DType, name: str, given: dict[str, Any]):
        kind = type(self).__name__
        super().__init__(seed, float_dtype(kind, dtype), name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        (place, center), (width, spread) = list(given.items())[-2:]
        if "df" in given:
            self._df = self._add_parameter(given["df"], "df")
            above_zero(kind, "df", self._df)
        self._place, self._width = self._add_parameter(center, place), self._add_parameter(spread, width)
        above_zero(kind, width, self._width)

    def _get_dist_type(self) -> str:
        return type(self).__name__

    def _get_dist_args(self, /, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self._both(*args, **kwargs)

    def _both(self, place: Any = None, width: Any = None) -> tuple[Tensor, Tensor]:
        place, width = self._check_param_type(place, width)
        return place, width

    def _standard(self, value: Any, place: Any, width: Any) -> tuple[Tensor, Tensor]:
        """Return the value in units of the width from the place, and the width."""
        value = self._check_value(value, "value")
        place, width = self._both(place, width)
        return (value - place) / width, width

    def extend_repr(self) -> str:
        return self._shown(**dict(zip(self._titles, (self._place, self._width), strict=True)))


class _Loc(_Located):
    """Distributions whose parameters are called `loc` and `scale`."""

    _titles = ("location", "scale")

    @property
    def loc(self) -> Any:
        return self._place

    @property
    def scale(self) -> Any:
        return self._width

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        return self._both(loc, scale)[0]


class Normal(_Located):
    """The normal distribution, exp(-z^2 / 2) / (sd sqrt(2 pi)) with z = (value - mean) / sd.

    mean, sd  numbers or Tensors, kept; None: given with each call. ValueError if a deviation that is kept is not above 0

    kl_loss(b) = log(sd_b / sd) + (sd^2 + (mean - mean_b)^2) / (2 sd_b^2) - 1/2
    """

    _titles = ("mean", "standard_deviation")

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Normal"):
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Tensor:
        z, width = self._standard(value, mean, sd)
        return -0.5 * square(z) - log(width) - 0.5 * math.log(2 * math.pi)

    def _cdf(self, value: Any, mean: Any = None, sd: Any = None) -> Tensor:
        return 0.5 * erfc(self._standard(value, mean, sd)[0] * -math.sqrt(0.5))

    def _survival_function(self, value: Any, mean: Any = None, sd: Any = None) -> Tensor:
        return 0.5 * erfc(self._standard(value, mean, sd)[0] * math.sqrt(0.5))

    def _mean(self, mean: Any = None, sd: Any = None) -> Tensor:
        return self._both(mean, sd)[0]

    _mode = _mean

    def _sd(self, mean: Any = None, sd: Any = None) -> Tensor:
        return self._both(mean, sd)[1]

    def _entropy(self, mean: Any = None, sd: Any = None) -> Tensor:
        return log(self._both(mean, sd)[1]) + 0.5 * math.log(2 * math.pi * math.e)

    def _kl_loss(self, dist: str, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None) -> Tensor:
        self._same(dist)
        (center_b, width_b), (center, width) = self._given_parameters(("mean_b", mean_b), ("sd_b", sd_b)), self._both(mean, sd)
        return 0.5 * (square(width / width_b) + square((center - center_b) / width_b) - 1.0) - log(width / width_b)

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        center, width = self._both(mean, sd)
        return center + width * standard_normal((*sizes, *center.shape), self.seed).astype(center.dtype)


class Laplace(_Located):
    """The Laplace distribution, exp(-|value - mean| / sd) / (2 sd); its density alone.

    mean, sd  numbers or Tensors, kept; None: given with each call. ValueError if an `sd` that is kept is not above 0
    """

    _titles = ("mean", "sd")

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Laplace"):
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Tensor:
        z, width = self._standard(value, mean, sd)
        return -abs(z) - log(2.0 * width)


class StudentT(_Located):
    """Student's t distribution of (value - mean) / sd with `df` degrees of freedom; its density alone.

    gamma((df + 1) / 2) / (gamma(df / 2) sqrt(pi df) sd) (1 + z^2 / df)^(-(df + 1) / 2)

    df, mean, sd  numbers or Tensors, kept; None: given with each call. ValueError if a `df` or `sd` that is kept is not above 0
    """

    _titles = ("mean", "sd")

    def __init__(self, df: Any = None, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: DType = F32,
                 name: str = "StudentT"):
        super().__init__(seed, dtype, name, {"df": df, "mean": mean, "sd": sd})

    def _get_dist_args(self, df: Any = None, mean: Any = None, sd: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        df, mean, sd = self._check_param_type(df, mean, sd)
        return df, mean, sd

    def _log_prob(self, value: Any, df: Any = None, mean: Any = None, sd: Any = None) -> Tensor:
        value = self._check_value(value, "value")
        df, mean, sd = self._get_dist_args(df, mean, sd)
        half = 0.5 * (df + 1.0)
        scaled = square((value - mean) / sd) / df
        return lgamma(half) - lgamma(0.5 * df) - 0.5 * log(math.pi * df) - log(sd) - half * log1p(scaled)


class Cauchy(_Loc):
    """The Cauchy distribution, 1 / (pi scale (1 + z^2)) with z = (value - loc) / scale. It has no mean and no variance: ValueError.

    loc, scale  numbers or Tensors, kept; None: given with each call. ValueError if a scale that is kept is not above 0

    kl_loss(b) = log(((scale + scale_b)^2 + (loc - loc_b)^2) / (4 scale scale_b)); Chyzak and Nielsen, 2019, arXiv:1905.10965
    """

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Cauchy"):
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        z, width = self._standard(value, loc, scale)
        return -log1p(square(z)) - log(math.pi * width)

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        # 1/2 + atan(z) / pi, accurate in the tail as well.
        z = self._standard(value, loc, scale)[0]
        return atan2(creation.ones_like(z), -z) / math.pi

    def _survival_function(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        z = self._standard(value, loc, scale)[0]
        return atan2(creation.ones_like(z), z) / math.pi

    def _undefined(self, what: str) -> NoReturn:
        raise ValueError(f"For 'Cauchy', there is no {what}: its integral does not converge.")

    def _mean(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        self._undefined("mean")

    def _sd(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        self._undefined("standard deviation")

    def _var(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        self._undefined("variance")

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        return log(4 * math.pi * self._both(loc, scale)[1])

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None) -> Tensor:
        self._same(dist)
        (center_b, width_b), (center, width) = self._given_parameters(("loc_b", loc_b), ("scale_b", scale_b)), self._both(loc_a, scale_a)
        return log((square(width + width_b) + square(center - center_b)) / (4.0 * width * width_b))

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        center, width = self._both(loc, scale)
        drawn = tan((open_uniform((*sizes, *center.shape), self.seed) - 0.5) * math.pi)
        return center + width * drawn.astype(center.dtype)


class Logistic(_Loc):
    """The logistic distribution, exp(-z) / (scale (1 + exp(-z))^2) with z = (value - loc) / scale.

    loc, scale  numbers or Tensors, kept; None: given with each call. ValueError if a scale that is kept is not above 0
    """

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Logistic"):
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        z, width = self._standard(value, loc, scale)
        return activations.logsigmoid(z) + activations.logsigmoid(-z) - log(width)

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        return sigmoid(self._standard(value, loc, scale)[0])

    def _log_cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        return activations.logsigmoid(self._standard(value, loc, scale)[0])

    def _survival_function(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        return sigmoid(-self._standard(value, loc, scale)[0])

    def _log_survival(self, value: Any, loc: Any = None, scale: Any = None) -> Tensor:
        return activations.logsigmoid(-self._standard(value, loc, scale)[0])

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        return self._both(loc, scale)[0]

    def _sd(self, loc: Any = None, scale: Any = None) -> Tensor:
        return self._both(loc, scale)[1] * (math.pi / math.sqrt(3.0))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        return log(self._both(loc, scale)[1]) + 2.0

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        center, width = self._both(loc, scale)
        drawn = open_uniform((*sizes, *center.shape), self.seed)
        return center + width * (log(drawn) - log1p(-drawn)).astype(center.dtype)


class Uniform(Distribution):
    """The uniform distribution, 1 / (high - low) from `low` to `high`, both included.

    low, high  numbers or Tensors, kept; None: given with each call. ValueError if a `low` that is kept is not below `high`

    kl_loss is infinite unless the other interval contains this one.
    """

    def __init__(self, low: Any = None, high: Any = None, seed: int | None = None, dtype: DType = F32, name: str = "Uniform"):
        given, dtype = {"low": low, "high": high}, float_dtype("Uniform", dtype)
        super().__init__(seed, dtype, name, {**given, "seed": seed, "dtype": dtype, "name": name, "param_dict": given})
        self._low, self._high = self._add_parameter(low, "low"), self._add_parameter(high, "high")
        if self._low is not None and self._high is not None:
            checked_on_host(_ordered, self._low, self._high, conditions=lambda: [((low >= high).logical_not(), TRUE)
                                                                                 for low, high in [self._both()]])

    @property
    def low(self) -> Any:
        return self._low

    @property
    def high(self) -> Any:
        return self._high

    def _get_dist_type(self) -> str:
        return "Uniform"

    def extend_repr(self) -> str:
        return self._shown(low=self._low, high=self._high)

    def _both(self, low: Any = None, high: Any = None) -> tuple[Tensor, Tensor]:
        low, high = self._check_param_type(low, high)
        return low, high

    def _get_dist_args(self, low: Any = None, high: Any = None) -> tuple[Tensor, Tensor]:
        return self._both(low, high)

    def _log_prob(self, value: Any, low: Any = None, high: Any = None) -> Tensor:
        x, (low, high) = self._check_value(value, "value"), self._both(low, high)
        return where((x < low).logical_or(x > high), -math.inf, 0.0 - log(high - low))

    def _cdf(self, value: Any, low: Any = None, high: Any = None) -> Tensor:
        x, (low, high) = self._check_value(value, "value"), self._both(low, high)
        return clamp((x - low) / (high - low), 0.0, 1.0)

    def _survival_function(self, value: Any, low: Any = None, high: Any = None) -> Tensor:
        x, (low, high) = self._check_value(value, "value"), self._both(low, high)
        return clamp((high - x) / (high - low), 0.0, 1.0)

    def _mean(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._both(low, high)
        return 0.5 * (low + high)

    def _var(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._both(low, high)
        return square(high - low) / 12.0

    def _entropy(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._both(low, high)
        return log(high - low)

    def _kl_loss(self, dist: str, low_b: Any, high_b: Any, low: Any = None, high: Any = None) -> Tensor:
        self._same(dist)
        (low_b, high_b), (low, high) = self._given_parameters(("low_b", low_b), ("high_b", high_b)), self._both(low, high)
        return where((low_b <= low).logical_and(high <= high_b), log((high_b - low_b) / (high - low)), math.inf)

    def _sample(self, shape: Any = (), low: Any = None, high: Any = None) -> Tensor:
        sizes = self._sizes(shape)
        low, high = self._both(low, high)
        return low + (high - low) * drawn_uniform((*sizes, *low.shape), F32, self.seed).astype(low.dtype)


def _ordered(low: Tensor, high: Tensor) -> None:
    if (low.asnumpy() >= high.asnumpy()).any():
        raise ValueError(f"For 'Uniform', the argument 'low' must be less than 'high', but got {low.asnumpy().tolist()} "
                         f"and {high.asnumpy().tolist()}.")


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of maxima, exp(-z - exp(-z)) / scale with z = (value - loc) / scale.

    loc, scale  numbers or Tensors of a floating point type; ValueError if a scale is not above 0

    kl_loss(b) = log(scale_b / scale) + (loc - loc_b) / scale_b + Euler (scale / scale_b - 1)
                 + exp((loc_b - loc) / scale_b) gamma(1 + scale / scale_b) - 1
    """

    def __init__(self, loc: Any, scale: Any, seed: int | None = 0, dtype: DType = F32, name: str = "Gumbel"):
        kind = float_dtype("Gumbel", dtype)
        bijector = GumbelCDF(loc, scale)
        super().__init__(Invert(bijector), Uniform(0.0, 1.0, dtype=kind), seed, name)
        self.parameter_names, self.default_parameters = [], []
        self._loc, self._scale = self._add_parameter(loc, "loc"), self._add_parameter(scale, "scale")

    @property
    def loc(self) -> Any:
        return self._loc

    @property
    def scale(self) -> Any:
        return self._scale

    def _get_dist_type(self) -> str:
        return "Gumbel"

    def _get_dist_args(self, loc: Any = None, scale: Any = None) -> tuple[Tensor, Tensor]:
        loc, scale = self._check_param_type(loc, scale)
        return loc, scale

    def extend_repr(self) -> str:
        return self._shown(loc=self._loc, scale=self._scale)

    def _standard(self, value: Any) -> tuple[Tensor, Tensor]:
        loc, scale = self._get_dist_args()
        return (self._check_value(value, "value") - loc) / scale, scale

    def _log_prob(self, value: Any) -> Tensor:
        z, scale = self._standard(value)
        return -(z + exp(-z)) - log(scale)

    def _log_cdf(self, value: Any) -> Tensor:
        return -exp(-self._standard(value)[0])

    def _cdf(self, value: Any) -> Tensor:
        return exp(self._log_cdf(value))

    def _survival_function(self, value: Any) -> Tensor:
        return -expm1(self._log_cdf(value))

    def _log_survival(self, value: Any) -> Tensor:
        return log(self._survival_function(value))

    def _mean(self) -> Tensor:
        loc, scale = self._get_dist_args()
        return loc + EULER * scale

    def _mode(self) -> Tensor:
        return self._get_dist_args()[0]

    def _sd(self) -> Tensor:
        return self._get_dist_args()[1] * (math.pi / math.sqrt(6.0))

    def _entropy(self) -> Tensor:
        return log(self._get_dist_args()[1]) + (1.0 + EULER)

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any) -> Tensor:
        self._same(dist)
        (loc_b, scale_b), (loc, scale) = self._given_parameters(("loc_b", loc_b), ("scale_b", scale_b)), self._get_dist_args()
        ratio = scale / scale_b
        return (loc - loc_b) / scale_b - log(ratio) + EULER * (ratio - 1.0) + exp((loc_b - loc) / scale_b + lgamma(1.0 + ratio)) - 1.0

    def _sample(self, shape: Any = ()) -> Tensor:
        sizes = self._sizes(shape)
        loc, scale = self._get_dist_args()
        return loc - scale * log(-log(open_uniform((*sizes, *loc.shape), self.seed))).astype(loc.dtype)
