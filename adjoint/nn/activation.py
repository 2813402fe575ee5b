"""Activations as cells."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32
from adjoint.nn.checks import floating, integer, number, positive
from adjoint.ops import activations, creation
from adjoint.runtime.cell import Cell
from adjoint.runtime.parameter import Parameter
from adjoint.runtime.tensor import Tensor

__all__ = [
    "ELU", "GELU", "HSigmoid", "HSwish", "Identity", "LeakyReLU", "LogSoftmax", "PReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax",
    "Softplus", "Tanh", "get_activation",
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
        return activations.sigmoid(x)


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
        return activations.tanh(x)


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
    """exp(x) divided by its sum along `axis`, an int or a tuple of one."""

    def __init__(self, axis: int | tuple[int] = -1):
        super().__init__()
        self.axis = integer("Softmax", "axis", axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis)

    def construct(self, input: Tensor) -> Tensor:
        return activations.softmax(input, self.axis)


class LogSoftmax(Cell):
    """The logarithm of softmax along `axis`."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = integer("LogSoftmax", "axis", axis)

    def construct(self, x: Tensor) -> Tensor:
        return activations.log_softmax(x, self.axis)


class Identity(Cell):
    """Returns its argument."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


_ACTIVATIONS: dict[str, type[Cell]] = {
    "relu": ReLU, "relu6": ReLU6, "leakyrelu": LeakyReLU, "elu": ELU, "sigmoid": Sigmoid, "silu": SiLU, "softplus": Softplus,
    "tanh": Tanh, "gelu": GELU, "softmax": Softmax, "logsoftmax": LogSoftmax, "prelu": PReLU, "hswish": HSwish, "hsigmoid": HSigmoid,
}


def get_activation(name: Any, prim_name: str | None = None) -> Cell | None:
    """The activation of that name, or None for none; KeyError for an unknown name."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise KeyError(f"For '{prim_name or 'get_activation'}', the activation must be one of {list(_ACTIVATIONS)}, but got {name!r}.")
    return _ACTIVATIONS[name]()
