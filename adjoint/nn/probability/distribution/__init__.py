"""`mindspore.nn.probability.distribution`: densities, moments, divergences and samples of common distributions."""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.nn.probability.distribution.base import Distribution, TransformedDistribution
from adjoint.nn.probability.distribution.discrete import Bernoulli, Categorical, Geometric, Poisson
from adjoint.nn.probability.distribution.positive import Beta, Exponential, Gamma, HalfNormal, LogNormal
from adjoint.nn.probability.distribution.real import Cauchy, Gumbel, Laplace, Logistic, Normal, StudentT, Uniform

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel", "HalfNormal", "Laplace",
    "LogNormal", "Logistic", "Normal", "Poisson", "StudentT", "TransformedDistribution", "Uniform",
]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
