"""Dense layers and what goes with them."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.types import F32, DType
from adjoint.nn.activation import get_activation
from adjoint.nn.checks import boolean, integer, positive, tensor_argument
from adjoint.ops import linear, shapes
from adjoint.ops.primitive import Primitive
from adjoint.ops.primitives.network import BiasAdd
from adjoint.ops.primitives.network import MatMul as MatMulOperator
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.initializer import Uniform
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, initializer

__all__ = ["Dense", "Flatten", "MatMul"]


class Dense(Cell):
    """x W^T + b over the last axis of x; W [out, in], b [out].

    in_channels, out_channels  sizes of the last axis before and after
    weight_init, bias_init     as for `initializer`; default uniform in +-1/sqrt(in)
    activation                 a name ("relu"), a Cell, a Primitive, or None

    `matmul` and `bias_add` are the operators of its steps, for a subclass with a construct of its own.
    """

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None, has_bias: bool = True,
        activation: Any = None, dtype: DType = F32,
    ):
        super().__init__()
        self.in_channels, self.out_channels = positive(self, "in_channels", in_channels), positive(self, "out_channels", out_channels)
        self.has_bias = boolean(self, "has_bias", has_bias)
        bound, shape = 1 / math.sqrt(in_channels), (self.out_channels, self.in_channels)
        self.weight = Parameter(first_values("Dense", "weight_init", weight_init, shape, dtype, Uniform(bound)), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(first_values("Dense", "bias_init", bias_init, shape[:1], dtype, Uniform(bound)), name="bias")
        if activation is not None and not isinstance(activation, (str, Cell, Primitive)):
            raise TypeError(f"For 'Dense', the argument 'activation' must be a str, a Cell or a Primitive, "
                            f"but got {activation!r} of type {type(activation).__name__}.")
        self.activation = get_activation(activation, "Dense") if isinstance(activation, str) else activation
        self.matmul, self.bias_add = MatMulOperator(transpose_b=True), BiasAdd()

    def construct(self, x: Tensor) -> Tensor:
        y = linear.dense(x, self.weight, self.bias)
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        return text if self.activation is None else f"{text}, activation={self.activation}"


def first_values(layer: str, argument: str, init: Any, shape: tuple[int, ...], dtype: DType, default: Any = None) -> Tensor:
    """Return the initial values of a parameter, by `default` if init is None; an initialiser's errors name layer and argument."""
    try:
        return initializer(default if init is None else init, shape, dtype)
    except (TypeError, ValueError, MemoryError) as wrong:
        kind = MemoryError if isinstance(wrong, MemoryError) else type(wrong)  # NumPy's own takes other arguments
        raise kind(f"For '{layer}', the argument '{argument}' does not fit: {wrong}") from None


class MatMul(Cell):
    """The matrix product as a layer; two vectors give a 0-d tensor.

    transpose_x1, transpose_x2  whether the last two axes of an operand are exchanged first
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False):
        super().__init__()
        self.transpose_x1, self.transpose_x2 = boolean(self, "transpose_x1", transpose_x1), boolean(self, "transpose_x2", transpose_x2)

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        a, b = tensor_argument(self, "x1", x1), tensor_argument(self, "x2", x2)
        return linear.of_any_rank("MatMul", a, b, ta=self.transpose_x1, tb=self.transpose_x2)


class Flatten(Cell):
    """Merges the axes from `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = integer(self, "start_dim", start_dim), integer(self, "end_dim", end_dim)

    def construct(self, x: Tensor) -> Tensor:
        return shapes.joined("Flatten", tensor_argument(self, "x", x), self.start_dim, self.end_dim)
