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

__all__ = ["BiDense", "Dense", "Flatten", "MatMul", "Unflatten"]


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


class BiDense(Cell):
    """x1^T W x2 + b over the last axes of both operands; W [out, in1, in2], b [out].

    in1_channels, in2_channels, out_channels  sizes of the last axes before and after
    weight_init, bias_init                    as for `initializer`; default uniform in +-1/sqrt(in1)
    """

    def __init__(
        self, in1_channels: int, in2_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, dtype: DType = F32,
    ):
        super().__init__()
        self.in1_channels, self.in2_channels = positive(self, "in1_channels", in1_channels), positive(self, "in2_channels", in2_channels)
        self.out_channels, self.has_bias = positive(self, "out_channels", out_channels), boolean(self, "has_bias", has_bias)
        default, shape = Uniform(1 / math.sqrt(in1_channels)), (self.out_channels, self.in1_channels, self.in2_channels)
        self.weight = Parameter(first_values("BiDense", "weight_init", weight_init, shape, dtype, default), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(first_values("BiDense", "bias_init", bias_init, shape[:1], dtype, default), name="bias")

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        for argument, x, size in (("input1", input1, self.in1_channels), ("input2", input2, self.in2_channels)):
            if not tensor_argument(self, argument, x).ndim or x.shape[-1] != size:
                raise ValueError(f"For 'BiDense', the last dimension of '{argument}' must be {size}, but got shape {x.shape}.")
        before = input1.shape[:-1]
        if before != input2.shape[:-1]:
            raise ValueError("For 'BiDense', the arguments 'input1' and 'input2' must have the same dimensions but the last, "
                             f"but got shapes {input1.shape} and {input2.shape}.")
        rows = linear.matmul(shapes.reshape(input1, (-1, self.in1_channels)),
                             shapes.reshape(shapes.transpose(self.weight, (1, 2, 0)), (self.in1_channels, -1)))
        pairs = shapes.reshape(rows, (-1, self.in2_channels, self.out_channels))
        y = (pairs * shapes.reshape(input2, (-1, self.in2_channels, 1))).sum(1)
        return shapes.reshape(y if self.bias is None else linear.bias_add(y, self.bias), (*before, self.out_channels))

    def extend_repr(self) -> str:
        text = f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, output_channels={self.out_channels}"
        return f"{text}, has_bias={self.has_bias}" if self.has_bias else text


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


class Unflatten(Cell):
    """Splits one axis into several of these sizes, of which one may be -1."""

    def __init__(self, axis: int, unflattened_size: tuple[int, ...] | list[int]):
        super().__init__()
        self.axis = integer(self, "axis", axis)
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"For 'Unflatten', the argument 'unflattened_size' must be a tuple or a list of ints, but got "
                            f"{unflattened_size!r} of type {type(unflattened_size).__name__}.")
        self.unflattened_size = tuple(integer(self, "unflattened_size", size) for size in unflattened_size)

    def construct(self, input_x: Tensor) -> Tensor:
        shape = tensor_argument(self, "input_x", input_x).shape
        if not -len(shape) <= self.axis < len(shape):
            raise ValueError(f"For 'Unflatten', the argument 'axis' must be in [{-len(shape)}, {len(shape)}) for a Tensor of shape "
                             f"{shape}, but got {self.axis}.")
        after = shape[self.axis + 1 :] if self.axis != -1 else ()
        return shapes.reshape(input_x, (*shape[: self.axis], *self.unflattened_size, *after))
