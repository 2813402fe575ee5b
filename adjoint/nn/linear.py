"""Dense layers and what goes with them."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.types import F32, DType
from adjoint.nn.activation import get_activation
from adjoint.nn.checks import boolean, integer, number, positive, tensor_argument
from adjoint.ops import activations, linear, picking, shapes
from adjoint.ops.primitive import Primitive
from adjoint.runtime.cell import Cell
from adjoint.runtime.conversion import dtype_argument
from adjoint.runtime.initializer import Uniform, initializer
from adjoint.runtime.parameter import Parameter
from adjoint.runtime.tensor import Tensor, constant

__all__ = ["Dense", "Dropout", "Embedding", "Flatten", "MatMul", "first_values"]


class Dense(Cell):
    """x W^T + b over the last axis of x; W [out, in], b [out].

    in_channels, out_channels  sizes of the last axis before and after
    weight_init, bias_init     as for `initializer`; default uniform in +-1/sqrt(in)
    activation                 a name ("relu"), a Cell, a Primitive, or None
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

    def construct(self, x: Tensor) -> Tensor:
        y = linear.dense(x, self.weight, self.bias)
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        return text if self.activation is None else f"{text}, activation={self.activation}"


def first_values(layer: str, argument: str, init: Any, shape: tuple[int, ...], dtype: DType, default: Any = None) -> Tensor:
    """First values of a parameter, by `default` where `init` is None; the initialiser's errors, naming layer and argument."""
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
    """Joins the axes from `start_dim` to `end_dim`."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = integer(self, "start_dim", start_dim), integer(self, "end_dim", end_dim)

    def construct(self, x: Tensor) -> Tensor:
        return shapes.joined("Flatten", tensor_argument(self, "x", x), self.start_dim, self.end_dim)


class Dropout(Cell):
    """In training each element is dropped with probability `p` and the others are divided by 1 - p; else nothing happens.

    keep_prob  the older way to say 1 - p
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = F32):
        super().__init__()
        dtype_argument(dtype)
        if p is None:
            keep = number(self, "keep_prob", keep_prob)
            if not 0.0 < keep <= 1.0:
                raise ValueError(f"For 'Dropout', the argument 'keep_prob' must be in (0.0, 1.0], but got {keep_prob}.")
        else:
            keep = 1.0 - number(self, "p", p)
            if not 0.0 < keep <= 1.0:
                raise ValueError(f"For 'Dropout', the argument 'p' must be in [0.0, 1.0), but got {p}.")
        self.keep_prob, self.p = keep, p

    def construct(self, x: Tensor) -> Tensor:
        tensor_argument(self, "x", x)
        return activations.dropout(x, 1.0 - self.keep_prob) if self.training and self.keep_prob != 1.0 else x

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class Embedding(Cell):
    """Rows of a table: indices of shape s give [s, embedding_size].

    padding_idx  a row that is zeros at first
    """

    def __init__(
        self, vocab_size: int, embedding_size: int, use_one_hot: bool = False, embedding_table: Any = "normal", dtype: DType = F32,
        padding_idx: int | None = None,
    ):
        super().__init__()
        self.vocab_size, self.embedding_size = positive(self, "vocab_size", vocab_size), positive(self, "embedding_size", embedding_size)
        self.use_one_hot, self.padding_idx = boolean(self, "use_one_hot", use_one_hot), padding_idx
        table = first_values("Embedding", "embedding_table", embedding_table, (self.vocab_size, self.embedding_size), dtype)
        if padding_idx is not None:
            if not 0 <= integer(self, "padding_idx", padding_idx) < vocab_size:
                raise ValueError(f"For 'Embedding', the argument 'padding_idx' must be in [0, {vocab_size}), but got {padding_idx}.")
            rows = table.asnumpy().copy()
            rows[padding_idx] = 0
            table = Tensor(rows, dtype)
        self.embedding_table = Parameter(table, name="embedding_table")
        self.dtype = dtype

    def construct(self, ids: Tensor) -> Tensor:
        picking.indices_argument("Embedding", "ids", ids)
        if not self.use_one_hot:
            return picking.gathered("Embedding", self.embedding_table, ids, 0, "ids")
        one, zero = constant(1.0, self.dtype), constant(0.0, self.dtype)
        chosen = picking.one_hot(shapes.reshape(ids, (ids.size,)), self.vocab_size, one, zero)
        return shapes.reshape(linear.matmul(chosen, self.embedding_table), (*ids.shape, self.embedding_size))

    def extend_repr(self) -> str:
        return (f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
                f"embedding_table={self.embedding_table}, dtype={self.dtype}, padding_idx={self.padding_idx}")
