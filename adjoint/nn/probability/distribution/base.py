"""The base class of distributions: it derives what a subclass does not define from what it defines; and transformed distributions."""

from __future__ import annotations

from typing import Any, NoReturn

from adjoint.ir.types import DType
from adjoint.nn.probability.bijector import Bijector, Transformable
from adjoint.nn.probability.parameters import float_dtype
from adjoint.ops.arguments import sizes_argument
from adjoint.ops.arithmetic import log, where
from adjoint.ops.generated import exp, sqrt, square
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Distribution", "TransformedDistribution"]


class Distribution(Transformable):
    """Base class of distributions with parameters, which are kept or given with each call, after the other arguments.

    seed   a seed of its own for samples; None or 0: the global one (`set_seed`)
    dtype  of the samples; results that are not samples have it too if it is a floating point type, and are Float32 otherwise
    name   a name for messages
    param  the arguments of the subclass's `__init__`, with a dict `param_dict` of the parameters among them

    Values and parameters of calls are Tensors, which broadcast with the parameters that are kept. A subclass defines methods with an
    underscore before their names: `_log_prob` or `_prob`; `_cdf`, `_log_cdf`, `_survival_function` or `_log_survival`; `_sd` or `_var`;
    `_mean`, `_mode`, `_entropy`, `_kl_loss`, `_cross_entropy`, `_sample`. In them `_check_value` and `_check_param_type` return the
    arguments.

    Raises TypeError for an argument that is not a Tensor and for a parameter that is neither kept nor given, ValueError for parameters
    that do not fit, and NotImplementedError for what can neither be called nor derived.
    """

    def __init__(self, seed: int | None, dtype: DType, name: str, param: dict[str, Any]):
        super().__init__(name, dtype, param)
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise TypeError(f"For '{type(self).__name__}', the argument 'seed' must be an int, "
                            f"but got {seed!r} of type {type(seed).__name__}.")
        if seed is not None and not 0 <= seed < 2**63:
            raise ValueError(f"For '{type(self).__name__}', the argument 'seed' must be in [0, 2**63), but got {seed}.")
        self._seed = seed or 0
        self._broadcast_shape = self._batch_shape

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def broadcast_shape(self) -> Any:
        """The shape that samples have after that which is asked for, if all parameters are kept."""
        return self._broadcast_shape

    def transformed_by(self, bijector: Bijector) -> TransformedDistribution:
        return TransformedDistribution(bijector, self, name=f"{bijector.name}{self.name}")

    # What a subclass defines -------------------------------------------------------------------------------------------

    def _missing(self, name: str) -> NoReturn:
        raise NotImplementedError(f"For '{type(self).__name__}', {name} is not defined.")

    def _defines(self, name: str) -> bool:
        return hasattr(type(self), f"_{name}")

    def _defined(self, /, name: str, *args: Any, **kwargs: Any) -> Any:
        if not self._defines(name):
            self._missing(name)
        return getattr(self, f"_{name}")(*args, **kwargs)

    def _same(self, dist: Any) -> None:
        """Raise ValueError unless the other distribution, given by its name, is of this kind."""
        if dist != self.get_dist_type():
            raise ValueError(f"For '{type(self).__name__}', the argument 'dist' must be {self.get_dist_type()!r}, but got {dist!r}.")

    def _given_parameters(self, *arguments: tuple[str, Any]) -> list[Tensor]:
        """Return the parameters of the other distribution."""
        return [self._check_value(value, name) for name, value in arguments]

    def _sizes(self, shape: Any) -> tuple[int, ...]:
        if not isinstance(shape, tuple):
            raise TypeError(f"For '{type(self).__name__}', the argument 'shape' must be a tuple, "
                            f"but got {shape!r} of type {type(shape).__name__}.")
        return sizes_argument(type(self).__name__, "shape", shape)

    # Probabilities -----------------------------------------------------------------------------------------------------

    def prob(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the density at `value`, or the probability of a whole number."""
        if self._defines("prob"):
            return self._defined("prob", value, *args, **kwargs)
        return exp(self._defined("log_prob", value, *args, **kwargs)) if self._defines("log_prob") else self._missing("prob")

    def log_prob(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of `prob`."""
        if self._defines("log_prob"):
            return self._defined("log_prob", value, *args, **kwargs)
        return log(self._defined("prob", value, *args, **kwargs)) if self._defines("prob") else self._missing("log_prob")

    def cdf(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the probability of numbers up to `value`."""
        if self._defines("cdf"):
            return self._defined("cdf", value, *args, **kwargs)
        if self._defines("log_cdf"):
            return exp(self._defined("log_cdf", value, *args, **kwargs))
        if self._defines("survival_function") or self._defines("log_survival"):
            return 1.0 - self.survival_function(value, *args, **kwargs)
        return self._missing("cdf")

    def log_cdf(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of `cdf`."""
        if self._defines("log_cdf"):
            return self._defined("log_cdf", value, *args, **kwargs)
        return log(self.cdf(value, *args, **kwargs))

    def survival_function(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the probability of numbers above `value`."""
        if self._defines("survival_function"):
            return self._defined("survival_function", value, *args, **kwargs)
        if self._defines("log_survival"):
            return exp(self._defined("log_survival", value, *args, **kwargs))
        if self._defines("cdf") or self._defines("log_cdf"):
            return 1.0 - self.cdf(value, *args, **kwargs)
        return self._missing("survival_function")

    def log_survival(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of `survival_function`."""
        if self._defines("log_survival"):
            return self._defined("log_survival", value, *args, **kwargs)
        return log(self.survival_function(value, *args, **kwargs))

    # Moments and information -------------------------------------------------------------------------------------------

    def mean(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the mean."""
        return self._defined("mean", *args, **kwargs)

    def mode(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the number that is the most likely."""
        return self._defined("mode", *args, **kwargs)

    def sd(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the standard deviation."""
        if self._defines("sd"):
            return self._defined("sd", *args, **kwargs)
        return sqrt(self._defined("var", *args, **kwargs)) if self._defines("var") else self._missing("sd")

    def var(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the variance."""
        if self._defines("var"):
            return self._defined("var", *args, **kwargs)
        return square(self._defined("sd", *args, **kwargs)) if self._defines("sd") else self._missing("var")

    def entropy(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the mean of -log_prob, in nats."""
        return self._defined("entropy", *args, **kwargs)

    def kl_loss(self, /, dist: str, *args: Any, **kwargs: Any) -> Any:
        """Return the Kullback-Leibler divergence from a distribution of the same kind: the mean of log_prob less its log_prob.

        dist  the name of the kind
        args  the parameters of the other distribution, then those of this one, if they are not kept

        Raises ValueError for another kind.
        """
        return self._defined("kl_loss", dist, *args, **kwargs)

    def cross_entropy(self, /, dist: str, *args: Any, **kwargs: Any) -> Any:
        """Return the mean of the other distribution's -log_prob; arguments as of `kl_loss`."""
        if self._defines("cross_entropy"):
            return self._defined("cross_entropy", dist, *args, **kwargs)
        # The parameters of this distribution stand after those of the other one, of which there are as many.
        own = {name: value for name, value in kwargs.items() if not name.endswith("_b")}
        return self.kl_loss(dist, *args, **kwargs) + self.entropy(*args[len(self.parameter_names):], **own)

    def sample(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return random numbers: sample(shape=(), ...), of the requested shape followed by that of the parameters.

        Gradients reach the parameters where a sample is a smooth function of them and of numbers without parameters.
        """
        return self._defined("sample", *args, **kwargs)

    def get_dist_type(self) -> str:
        """Return the name of the kind, as `kl_loss` takes it."""
        return self._defined("get_dist_type")

    def get_dist_args(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the parameters, as a tuple of Tensors."""
        return self._defined("get_dist_args", *args, **kwargs)

    def construct(self, /, name: str, *args: Any, **kwargs: Any) -> Any:
        if name not in _METHODS:
            self._missing(str(name))
        return getattr(self, name)(*args, **kwargs)


_METHODS = {
    "cdf", "cross_entropy", "entropy", "get_dist_args", "get_dist_type", "kl_loss", "log_cdf", "log_prob", "log_survival", "mean", "mode",
    "prob", "sample", "sd", "survival_function", "var",
}
"""What a distribution can be called with the name of."""


class TransformedDistribution(Distribution):
    """The distribution of a bijector's results: prob(y) = distribution.prob(x) |dx/dy| for y = bijector(x).

    bijector, distribution  of Float types; calls give the parameters of the distribution, if it does not keep them
    """

    def __init__(self, bijector: Bijector, distribution: Distribution, seed: int | None = None, name: str = "transformed_distribution"):
        for argument, value, kind in (("bijector", bijector, Bijector), ("distribution", distribution, Distribution)):
            if not isinstance(value, kind):
                raise TypeError(f"For 'TransformedDistribution', the argument '{argument}' must be a {kind.__name__}, "
                                f"but got {value!r} of type {type(value).__name__}.")
        dtype = float_dtype("TransformedDistribution", distribution.dtype, "distribution.dtype")
        super().__init__(seed, dtype, name, {"bijector": bijector, "distribution": distribution, "seed": seed, "name": name})
        self._bijector, self._distribution = bijector, distribution
        self.parameter_names, self.default_parameters = distribution.parameter_names, distribution.default_parameters
        self._kept = {**bijector._kept, **distribution._kept}
        self._batch_shape = distribution.batch_shape
        self._broadcast_shape = self._broadcast(bijector.batch_shape, distribution.broadcast_shape)
        if self._broadcast_shape != distribution.broadcast_shape and not distribution.is_scalar_batch:
            raise ValueError(f"For 'TransformedDistribution', the bijector's batch shape {bijector.batch_shape} must broadcast to the "
                             f"distribution's, but got {distribution.broadcast_shape}.")

    @property
    def bijector(self) -> Bijector:
        return self._bijector

    @property
    def distribution(self) -> Distribution:
        return self._distribution

    @property
    def is_linear_transformation(self) -> bool:
        return self._bijector.is_constant_jacobian

    def _log_prob(self, /, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        value = self._check_value(value, "value")
        return self._distribution.log_prob(self._bijector.inverse(value), *args, **kwargs) + self._bijector.inverse_log_jacobian(value)

    def _below(self, /, value: Any, below: str, above: str, *args: Any, **kwargs: Any) -> Tensor:
        """Return a probability of the distribution: the first one where the bijector rises, the second one where it falls."""
        x = self._bijector.inverse(self._check_value(value, "value"))
        rising = getattr(self._distribution, below)(x, *args, **kwargs)
        falls = self._bijector.falls()
        return rising if falls is None else where(falls, getattr(self._distribution, above)(x, *args, **kwargs), rising)

    def _cdf(self, /, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        return self._below(value, "cdf", "survival_function", *args, **kwargs)

    def _log_cdf(self, /, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        return self._below(value, "log_cdf", "log_survival", *args, **kwargs)

    def _survival_function(self, /, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        return self._below(value, "survival_function", "cdf", *args, **kwargs)

    def _log_survival(self, /, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        return self._below(value, "log_survival", "log_cdf", *args, **kwargs)

    def _mean(self, /, *args: Any, **kwargs: Any) -> Tensor:
        if not self.is_linear_transformation:
            raise ValueError(f"For '{type(self).__name__}', the mean is known only of linear bijectors, but got {self._bijector.name!r}.")
        return self._bijector.forward(self._distribution.mean(*args, **kwargs))

    def _sample(self, shape: Any = (), *args: Any, **kwargs: Any) -> Tensor:
        sizes = self._sizes(shape)
        if self._broadcast_shape != self._distribution.broadcast_shape:
            sizes = (*sizes, *self._broadcast_shape)  # a number for each element of the bijector's parameters
        return self._bijector.forward(self._distribution.sample(sizes, *args, **kwargs))
