"""Activations as cells."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32, DType
from adjoint.mint.nn import functional
from adjoint.nn.activation import Identity, ReLU
from adjoint.nn.checks import boolean, integer, number, positive
from adjoint.nn.linear import first_values
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LogSigmoid", "LogSoftmax", "Mish", "PReLU",
    "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softshrink", "Tanh", "Threshold",
]


class _InPlace(Cell):
    """Base class of activations that can write the result into their input."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = boolean(self, "inplace", inplace)


class ReLU6(_InPlace):
    """min(max(x, 0), 6)."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.relu6(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x)."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.silu(input, self.inplace)


class ELU(Cell):
    """x if positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha, self.inplace = number(self, "alpha", alpha), boolean(self, "inplace", inplace)

    def construct(self, input: Tensor) -> Tensor:
        return functional.elu(input, self.alpha, self.inplace)


class Hardtanh(Cell):
    """x clipped to an interval."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__()
        self.min_val, self.max_val = number(self, "min_val", min_val), number(self, "max_val", max_val)
        self.inplace = boolean(self, "inplace", inplace)

    def construct(self, input: Tensor) -> Tensor:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(Cell):
    """x if above the threshold, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold, self.value = number(self, "threshold", threshold), number(self, "value", value)
        self.inplace = boolean(self, "inplace", inplace)

    def construct(self, input: Tensor) -> Tensor:
        return functional.threshold(input, self.threshold, self.value, self.inplace)


class GELU(Cell):
    """x times the normal distribution function of x; approximated by tanh if `approximate` is "tanh"."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def construct(self, input: Tensor) -> Tensor:
        return functional.gelu(input, approximate=self.approximate)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.sigmoid(input)


class Tanh(Cell):
    """The hyperbolic tangent."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.tanh(input)


class LogSigmoid(Cell):
    """log(sigmoid(x)), without overflow."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.logsigmoid(input)


class Mish(Cell):
    """x * tanh(softplus(x))."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.mish(input)


class SELU(Cell):
    """The exponential linear unit that keeps mean and variance (Klambauer et al. 2017)."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.selu(input)


class Hardsigmoid(Cell):
    """min(max(x / 6 + 1 / 2, 0), 1)."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.hardsigmoid(input)


class Hardswish(Cell):
    """x * hardsigmoid(x)."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.hardswish(input)


class Hardshrink(Cell):
    """x if outside of [-lambd, lambd], else 0."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = number(self, "lambd", lambd)

    def construct(self, input: Tensor) -> Tensor:
        return functional.hardshrink(input, self.lambd)


class Softshrink(Cell):
    """x moved towards 0 by `lambd`; 0 within [-lambd, lambd]."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = number(self, "lambd", lambd)

    def construct(self, input: Tensor) -> Tensor:
        return functional.softshrink(input, self.lambd)


class GLU(Cell):
    """The first half along an axis times the sigmoid of the second half."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = integer(self, "dim", dim)

    def construct(self, input: Tensor) -> Tensor:
        return functional.glu(input, self.dim)


class Softmax(Cell):
    """exp(x) divided by its sum along an axis."""

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = None if dim is None else integer(self, "dim", dim)

    def construct(self, input: Tensor) -> Tensor:
        return functional.softmax(input, self.dim)


class LogSoftmax(Cell):
    """The logarithm of `Softmax`."""

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = None if dim is None else integer(self, "dim", dim)

    def construct(self, input: Tensor) -> Tensor:
        return functional.log_softmax(input, self.dim)


class PReLU(Cell):
    """x if positive, else weight * x, where the weight is trained.

    num_parameters  how many weights: 1, or one for each channel (axis 1)
    init            their initial value
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: DType | None = None):
        super().__init__()
        self.num_parameters, self.init = positive(self, "num_parameters", num_parameters), number(self, "init", init)
        first: Any = first_values("PReLU", "init", self.init, (self.num_parameters,), F32 if dtype is None else dtype)
        self.weight = Parameter(first, name="weight")

    def construct(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)
