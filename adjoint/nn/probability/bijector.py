"""Bijectors: smooth invertible functions of one number, with the logarithm of their slope.

They turn the numbers of a distribution into those of another one, whose density follows from the slope:
`distribution.TransformedDistribution`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.types import F32, DType
from adjoint.nn.probability.parameters import Parameterised, above_zero
from adjoint.ops import activations
from adjoint.ops.arithmetic import abs, log, where
from adjoint.ops.generated import exp, expm1, log1p
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]


class Bijector(Parameterised):
    """Base class: a subclass defines `_forward`, `_inverse`, `_forward_log_jacobian` and `_inverse_log_jacobian`.

    is_constant_jacobian  True if the slope is the same everywhere
    is_injective          True if different numbers have different results
    name                  a name for messages
    dtype                 the floating point type of the arguments; None: that of each argument
    param                 the arguments of the subclass's `__init__`, with a dict `param_dict` of the parameters among them

    A call with the name of a method and its arguments calls that; a call with a distribution returns the distribution of the results.
    Arguments are Tensors of a floating point type, in which parameters take part. Raises TypeError for others, and NotImplementedError
    where the subclass defines nothing.
    """

    def __init__(self, is_constant_jacobian: bool = False, is_injective: bool = True, name: str | None = None, dtype: DType | None = None,
                 param: dict[str, Any] | None = None):
        super().__init__(name, dtype, {} if param is None else param)
        for argument, value in (("is_constant_jacobian", is_constant_jacobian), ("is_injective", is_injective)):
            if not isinstance(value, bool):
                raise TypeError(f"For '{type(self).__name__}', the argument '{argument}' must be a bool, but got {value!r}.")
        self._is_constant_jacobian, self._is_injective = is_constant_jacobian, is_injective

    @property
    def is_constant_jacobian(self) -> bool:
        return self._is_constant_jacobian

    @property
    def is_injective(self) -> bool:
        return self._is_injective

    def _add_parameter(self, value: Any, name: str) -> Tensor | None:
        """Return a parameter as a Tensor of its own floating point type, Float32 for Python's numbers."""
        dtype = value.dtype if isinstance(value, (Tensor, np.ndarray, np.generic)) else np.asarray(value).dtype
        if not isinstance(value, Tensor) and dtype.kind not in "fiu":  # texts and the like
            return super()._add_parameter(value, name)
        if not (dtype.is_float if isinstance(dtype, DType) else dtype.kind == "f"):
            raise TypeError(f"For '{type(self).__name__}', the argument '{name}' must be of a floating point type, but got {value!r}.")
        self.parameter_type = dtype if isinstance(dtype, DType) else F32
        if any(kept is not None and kept.dtype is not self.parameter_type for kept in self.default_parameters):
            raise TypeError(f"For '{type(self).__name__}', the argument '{name}' must have the dtype of the other parameters, "
                            f"but got {dtype}.")
        return super()._add_parameter(value, name)

    def _check_value_dtype(self, value: Any) -> Tensor:
        """Return an argument; raise TypeError unless it is a Tensor of a floating point type."""
        if not isinstance(value, Tensor) or not value.dtype.is_float:
            got = value if isinstance(value, Tensor) else f"{value!r} of type {type(value).__name__}"
            raise TypeError(f"For '{type(self).__name__}', the argument must be a Tensor of a floating point type, but got {got}.")
        return value if self.dtype is None else value.astype(self.dtype, copy=False)

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """Return a parameter in the type of an argument."""
        return para.astype(value.dtype, copy=False)

    def _defined(self, /, name: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        method = getattr(self, f"_{name}", None)
        if method is None:
            raise NotImplementedError(f"For '{type(self).__name__}', {name} is not defined.")
        return method(value, *args, **kwargs)

    def forward(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the function of `value`, element by element."""
        return self._defined("forward", value, *args, **kwargs)

    def inverse(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the number whose function is `value`."""
        return self._defined("inverse", value, *args, **kwargs)

    def forward_log_jacobian(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of the absolute slope of the function at `value`."""
        return self._defined("forward_log_jacobian", value, *args, **kwargs)

    def inverse_log_jacobian(self, /, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of the absolute slope of the inverse at `value`."""
        return self._defined("inverse_log_jacobian", value, *args, **kwargs)

    def falls(self) -> Tensor | None:
        """Return where the function falls, as a Tensor of bools; None: nowhere."""
        return None

    def construct(self, /, name: str, *args: Any, **kwargs: Any) -> Any:
        if name not in ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian"):
            raise NotImplementedError(f"For '{type(self).__name__}', there is no method {name!r}.")
        return getattr(self, name)(*args, **kwargs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Transformable):
            return args[0].transformed_by(self)
        return super().__call__(*args, **kwargs)


class Transformable(Parameterised):
    """Base class of distributions, which bijectors transform."""

    def transformed_by(self, bijector: Bijector) -> Cell:
        """Return the distribution of the bijector's results."""
        raise NotImplementedError


class PowerTransform(Bijector):
    """(1 + power x)^(1 / power), which is exp(x) for a power of 0; the inverse is (y^power - 1) / power, or log(y).

    power  numbers of a floating point type, at least 0; ValueError otherwise
    """

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform"):
        super().__init__(name=name, param={"power": power, "name": name, "param_dict": {"power": power}})
        self._power = self._add_parameter(power, "power")
        self._is_exponential = isinstance(power, float) and power == 0
        if self._power is not None and (self._power.asnumpy() < 0).any():
            raise ValueError(f"For '{type(self).__name__}', the argument 'power' must be at least 0, but got {power!r}.")

    @property
    def power(self) -> Any:
        return self._power

    def extend_repr(self) -> str:
        return self._shown(power=self._power)

    def _parts(self, value: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the argument, the power, where that is 0, and a power that can be divided by."""
        x = self._check_value_dtype(value)
        power = self.cast_param_by_value(x, self.power)
        zero = power == 0
        return x, power, zero, zero.astype(x.dtype) + power

    def _forward(self, x: Any) -> Tensor:
        if self._is_exponential:
            return exp(self._check_value_dtype(x))
        x, power, zero, divisor = self._parts(x)
        return exp(where(zero, x, log1p(power * x) / divisor))

    def _inverse(self, y: Any) -> Tensor:
        if self._is_exponential:
            return log(self._check_value_dtype(y))
        y, power, zero, divisor = self._parts(y)
        return where(zero, log(y), expm1(power * log(y)) / divisor)

    def _forward_log_jacobian(self, x: Any) -> Tensor:
        if self._is_exponential:
            return self._check_value_dtype(x)
        x, power, zero, divisor = self._parts(x)
        return where(zero, x, (1 / divisor - 1) * log1p(power * x))

    def _inverse_log_jacobian(self, y: Any) -> Tensor:
        if self._is_exponential:
            return -log(self._check_value_dtype(y))
        y, power, _, _ = self._parts(y)
        return (power - 1) * log(y)


class Exp(PowerTransform):
    """exp(x), whose inverse is log(y)."""

    def __init__(self, name: str = "Exp"):
        super().__init__(0.0, name)

    def extend_repr(self) -> str:
        return "exp"


class ScalarAffine(Bijector):
    """scale x + shift.

    scale, shift  numbers of one floating point type
    """

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine"):
        given = {"scale": scale, "shift": shift}
        super().__init__(is_constant_jacobian=True, name=name, param={**given, "name": name, "param_dict": given})
        self._scale, self._shift = self._add_parameter(scale, "scale"), self._add_parameter(shift, "shift")

    @property
    def scale(self) -> Any:
        return self._scale

    @property
    def shift(self) -> Any:
        return self._shift

    def extend_repr(self) -> str:
        return self._shown(scale=self._scale, shift=self._shift)

    def _parts(self, value: Any) -> tuple[Tensor, Tensor, Tensor]:
        x = self._check_value_dtype(value)
        return x, self.cast_param_by_value(x, self.scale), self.cast_param_by_value(x, self.shift)

    def _forward(self, x: Any) -> Tensor:
        x, scale, shift = self._parts(x)
        return scale * x + shift

    def _inverse(self, y: Any) -> Tensor:
        y, scale, shift = self._parts(y)
        return (y - shift) / scale

    def _forward_log_jacobian(self, x: Any) -> Tensor:
        return log(abs(self._parts(x)[1]))

    def _inverse_log_jacobian(self, y: Any) -> Tensor:
        return -log(abs(self._parts(y)[1]))

    def falls(self) -> Tensor | None:
        return self.scale < 0


class Softplus(Bijector):
    """log(1 + exp(sharpness x)) / sharpness, whose inverse is log(exp(sharpness y) - 1) / sharpness.

    sharpness  numbers of a floating point type, not 0
    """

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus"):
        super().__init__(name=name, param={"sharpness": sharpness, "name": name, "param_dict": {"sharpness": sharpness}})
        self._sharpness = self._add_parameter(sharpness, "sharpness")

    @property
    def sharpness(self) -> Any:
        return self._sharpness

    def extend_repr(self) -> str:
        return self._shown(sharpness=self._sharpness)

    def _parts(self, value: Any) -> tuple[Tensor, Tensor]:
        """Return sharpness * x, and the sharpness."""
        x = self._check_value_dtype(value)
        sharpness = self.cast_param_by_value(x, self.sharpness)
        return sharpness * x, sharpness

    def _forward(self, x: Any) -> Tensor:
        scaled, sharpness = self._parts(x)
        return -activations.logsigmoid(-scaled) / sharpness

    def _inverse(self, y: Any) -> Tensor:
        # log(exp(y) - 1) = y + log(1 - exp(-y)), which does not overflow.
        scaled, sharpness = self._parts(y)
        return (scaled + log(-expm1(-scaled))) / sharpness

    def _forward_log_jacobian(self, x: Any) -> Tensor:
        return activations.logsigmoid(self._parts(x)[0])

    def _inverse_log_jacobian(self, y: Any) -> Tensor:
        return -log(-expm1(-self._parts(y)[0]))


class GumbelCDF(Bijector):
    """exp(-exp(-(x - loc) / scale)), the cumulative distribution function of the Gumbel distribution.

    loc, scale  numbers of one floating point type; ValueError if a scale is not above 0
    """

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF"):
        given = {"loc": loc, "scale": scale}
        super().__init__(name=name, param={**given, "name": name, "param_dict": given})
        self._loc, self._scale = self._add_parameter(loc, "loc"), self._add_parameter(scale, "scale")
        above_zero("GumbelCDF", "scale", self._scale)

    @property
    def loc(self) -> Any:
        return self._loc

    @property
    def scale(self) -> Any:
        return self._scale

    def extend_repr(self) -> str:
        return self._shown(loc=self._loc, scale=self._scale)

    def _parts(self, value: Any) -> tuple[Tensor, Tensor, Tensor]:
        x = self._check_value_dtype(value)
        return x, self.cast_param_by_value(x, self.loc), self.cast_param_by_value(x, self.scale)

    def _forward(self, x: Any) -> Tensor:
        x, loc, scale = self._parts(x)
        return exp(-exp(-(x - loc) / scale))

    def _inverse(self, y: Any) -> Tensor:
        y, loc, scale = self._parts(y)
        return loc - scale * log(-log(y))

    def _forward_log_jacobian(self, x: Any) -> Tensor:
        x, loc, scale = self._parts(x)
        z = (x - loc) / scale
        return -z - exp(-z) - log(scale)

    def _inverse_log_jacobian(self, y: Any) -> Tensor:
        y, _, scale = self._parts(y)
        return log(scale) - log(y) - log(-log(y))


class Invert(Bijector):
    """The inverse of a bijector.

    name  if it is empty, 'Invert' and the name of the other bijector
    """

    def __init__(self, bijector: Bijector, name: str = ""):
        if not isinstance(bijector, Bijector):
            raise TypeError(f"For 'Invert', the argument 'bijector' must be a Bijector, "
                            f"but got {bijector!r} of type {type(bijector).__name__}.")
        name = name or f"Invert{bijector.name}"
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name, bijector.dtype, {"bijector": bijector, "name": name})
        self._bijector = bijector
        self._batch_shape, self._kept = bijector._batch_shape, bijector._kept

    @property
    def bijector(self) -> Bijector:
        return self._bijector

    def inverse(self, /, y: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.forward(y, *args, **kwargs)

    def forward(self, /, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.inverse(x, *args, **kwargs)

    def inverse_log_jacobian(self, /, y: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.forward_log_jacobian(y, *args, **kwargs)

    def forward_log_jacobian(self, /, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.inverse_log_jacobian(x, *args, **kwargs)

    def falls(self) -> Tensor | None:
        return self._bijector.falls()
