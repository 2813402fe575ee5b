"""Activations as cells."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32
from adjoint.nn.checks import floating, integer, number, positive
from adjoint.ops import activations, arithmetic, creation, random_numbers
from adjoint.ops.primitives.network import LogSoftmax as LogSoftmaxOperator
from adjoint.ops.primitives.network import Softmax as SoftmaxOperator
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "CELU", "ELU", "FastGelu", "GELU", "GLU", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "Identity", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softmax", "Softmax2d", "Softmin",
    "Softplus", "Softsign", "Tanh", "Tanhshrink", "Threshold", "get_activation",
]


class ReLU(Cell):
    """max(x, 0); the gradient at 0 is 0."""

    def construct(self, input: Tensor) -> Tensor:
        return activations.relu(input)


class ReLU6(Cell):
    """min(max(x, 0), 6)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.relu6(x)


class LeakyReLU(Cell):
    """x where x >= 0, else alpha * x."""

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = number("LeakyReLU", "alpha", alpha)

    def construct(self, x: Tensor) -> Tensor:
        return activations.leaky_relu(x, self.alpha)


class RReLU(Cell):
    """x where x > 0, else x times a random slope from `lower` to `upper`, another one for each element and call."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3):
        super().__init__()
        self.lower, self.upper = number(self, "lower", lower), number(self, "upper", upper)
        if not self.lower <= self.upper:
            raise ValueError(f"For 'RReLU', the argument 'upper' must be at least 'lower', {lower}, but got {upper}.")

    def construct(self, x: Tensor) -> Tensor:
        return random_numbers.rrelu(floating(self, "x", x), self.lower, self.upper)


class PReLU(Cell):
    """x where x >= 0, else w * x, where w is trained.

    channel  how many weights: 1, or one for each channel (axis 1)
    w        their first values: a number, a list or a Tensor of so many
    """

    def __init__(self, channel: int = 1, w: Any = 0.25):
        super().__init__()
        count = positive(self, "channel", channel)
        if isinstance(w, (list, Tensor)):
            first = w if isinstance(w, Tensor) else Tensor([number(self, "w", item) for item in w], F32)
            if first.shape != (count,):
                raise ValueError(f"For 'PReLU', the argument 'w' must have the shape ({count},) of 'channel', but got {first.shape}.")
            floating(self, "w", first)
        else:
            first = creation.full((count,), number(self, "w", w), dtype=F32)
        self.w = Parameter(first, name="a")

    def construct(self, x: Tensor) -> Tensor:
        return activations.prelu(floating(self, "x", x), self.w.astype(x.dtype, copy=False))


class HSwish(Cell):
    """x * min(max(x + 3, 0), 6) / 6."""

    def construct(self, input: Tensor) -> Tensor:
        return activations.hardswish(input)


class HSigmoid(Cell):
    """min(max(x + 3, 0), 6) / 6."""

    def construct(self, input: Tensor) -> Tensor:
        return activations.hardsigmoid(input)


class ELU(Cell):
    """x where x > 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = number("ELU", "alpha", alpha)

    def construct(self, x: Tensor) -> Tensor:
        return activations.elu(x, self.alpha)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def construct(self, x: Tensor) -> Tensor:
        return arithmetic.sigmoid(x)


class SiLU(Cell):
    """x * sigmoid(x)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.silu(x)


class Softplus(Cell):
    """log(1 + exp(x)), without overflow."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.softplus(x)


class Tanh(Cell):
    """The hyperbolic tangent."""

    def construct(self, x: Tensor) -> Tensor:
        return arithmetic.tanh(x)


class GELU(Cell):
    """x * Phi(x): with the tanh approximation (default), or exact by erf (Hendrycks and Gimpel 2016)."""

    def __init__(self, approximate: bool = True):
        super().__init__()
        if not isinstance(approximate, bool):
            raise TypeError(f"For 'GELU', the argument 'approximate' must be a bool, but got {approximate!r}.")
        self.approximate = approximate

    def construct(self, x: Tensor) -> Tensor:
        return activations.gelu(x, "tanh" if self.approximate else "none")


class Softmax(Cell):
    """exp(x) divided by its sum along `axis`, an int or a tuple of one.

    `softmax` is the operator, for a subclass with a construct of its own; so is `log_softmax` of LogSoftmax.
    """

    def __init__(self, axis: int | tuple[int] = -1):
        super().__init__()
        self.axis = integer("Softmax", "axis", axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis)
        self.softmax = SoftmaxOperator(self.axis)

    def construct(self, input: Tensor) -> Tensor:
        return activations.softmax(input, self.axis)


class LogSoftmax(Cell):
    """The logarithm of softmax along `axis`."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = integer("LogSoftmax", "axis", axis)
        self.log_softmax = LogSoftmaxOperator(self.axis)

    def construct(self, x: Tensor) -> Tensor:
        return activations.log_softmax(x, self.axis)


class CELU(Cell):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = number("CELU", "alpha", alpha)

    def construct(self, x: Tensor) -> Tensor:
        return activations.celu(x, self.alpha)


class SeLU(Cell):
    """scale * x where x > 0, else scale * alpha * (exp(x) - 1), with the scale and alpha of Klambauer et al. 2017."""

    def construct(self, input_x: Tensor) -> Tensor:
        return activations.selu(input_x)


class GLU(Cell):
    """The first half along `axis` times the sigmoid of the second."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = integer("GLU", "axis", axis)

    def construct(self, x: Tensor) -> Tensor:
        return activations.glu(x, self.axis)


class Mish(Cell):
    """x * tanh(log(1 + exp(x)))."""

    def construct(self, input_x: Tensor) -> Tensor:
        return activations.mish(input_x)


class FastGelu(Cell):
    """x * sigmoid(1.702 * x), by the formula of `ops.fast_gelu`."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.fast_gelu(x)


class LogSigmoid(Cell):
    """log(1 / (1 + exp(-x)))."""

    def construct(self, input_x: Tensor) -> Tensor:
        return activations.logsigmoid(input_x)


class Softsign(Cell):
    """x / (1 + |x|)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.softsign(x)


class Softmin(Cell):
    """Softmax of -x along `axis`."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = integer("Softmin", "axis", axis)

    def construct(self, x: Tensor) -> Tensor:
        return activations.softmin(x, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of [n, c, h, w] or [c, h, w]."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.softmax(floating(self, "x", x, (3, 4)), -3)


class HShrink(Cell):
    """x, or 0 where |x| <= lambd."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = number("HShrink", "lambd", lambd)

    def construct(self, input: Tensor) -> Tensor:
        return activations.hardshrink(input, self.lambd)


class SoftShrink(Cell):
    """x moved toward 0 by lambd, and 0 where |x| <= lambd."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = number("SoftShrink", "lambd", lambd)

    def construct(self, input: Tensor) -> Tensor:
        return activations.softshrink(input, self.lambd)


class Tanhshrink(Cell):
    """x - tanh(x)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.tanhshrink(x)


class Hardtanh(Cell):
    """x clipped to `min_val` and `max_val`."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        super().__init__()
        self.min_val, self.max_val = number("Hardtanh", "min_val", min_val), number("Hardtanh", "max_val", max_val)
        if not min_val < max_val:
            raise ValueError(f"For 'Hardtanh', the argument 'max_val' must be greater than min_val={min_val}, but got {max_val}.")

    def construct(self, x: Tensor) -> Tensor:
        return activations.hardtanh(x, self.min_val, self.max_val)


class Threshold(Cell):
    """x where x > threshold, else `value`."""

    def __init__(self, threshold: float, value: float):
        super().__init__()
        self.threshold, self.value = number("Threshold", "threshold", threshold), number("Threshold", "value", value)

    def construct(self, input_x: Tensor) -> Tensor:
        return activations.threshold(input_x, self.threshold, self.value)


class Identity(Cell):
    """Returns its argument."""

    def __init__(self, /, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


_ACTIVATIONS: dict[str, type[Cell]] = {
    "relu": ReLU, "relu6": ReLU6, "leakyrelu": LeakyReLU, "elu": ELU, "sigmoid": Sigmoid, "silu": SiLU, "softplus": Softplus,
    "tanh": Tanh, "gelu": GELU, "softmax": Softmax, "logsoftmax": LogSoftmax, "prelu": PReLU, "hswish": HSwish, "hsigmoid": HSigmoid,
    "softmin": Softmin, "softsign": Softsign, "logsigmoid": LogSigmoid, "softshrink": SoftShrink, "hshrink": HShrink, "mish": Mish,
    "softmax2d": Softmax2d, "tanhshrink": Tanhshrink, "hardtanh": Hardtanh, "fast_gelu": FastGelu, "rrelu": RReLU,
}


def get_activation(name: Any, prim_name: str | None = None) -> Cell | None:
    """Return the activation of that name, or None for none; raise KeyError for an unknown name."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise KeyError(f"For '{prim_name or 'get_activation'}', the activation must be one of {list(_ACTIVATIONS)}, but got {name!r}.")
    return _ACTIVATIONS[name]()
