"""Dense layers, embeddings, and layers used with them."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.types import F32, DType
from adjoint.mint.nn import functional
from adjoint.nn.checks import boolean, integer, number, positive
from adjoint.nn.linear import first_values
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.initializer import Normal, Uniform
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Dropout", "Dropout2d", "Embedding", "Flatten", "Linear"]


class Linear(Cell):
    """x W^T + b over the last axis of x; W [out, in], b [out].

    weight_init, bias_init  as for `initializer`; default uniform in +-1/sqrt(in)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, weight_init: Any = None, bias_init: Any = None,
        dtype: DType | None = None,
    ):
        super().__init__()
        self.in_features, self.out_features = positive(self, "in_features", in_features), positive(self, "out_features", out_features)
        bound, shape, kind = Uniform(1 / math.sqrt(in_features)), (self.out_features, self.in_features), F32 if dtype is None else dtype
        self.weight = Parameter(first_values("Linear", "weight_init", weight_init, shape, kind, bound), name="weight")
        self.bias = None
        if boolean(self, "bias", bias):
            self.bias = Parameter(first_values("Linear", "bias_init", bias_init, shape[:1], kind, bound), name="bias")

    def construct(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extend_repr(self) -> str:
        return f"input_features={self.in_features}, output_features={self.out_features}, has_bias={self.bias is not None}"


class Embedding(Cell):
    """The rows of a table [num_embeddings, embedding_dim] selected by their indices.

    padding_idx  a row that is initially 0 and receives no gradient
    sparse       False; gradients are dense, as in MindSpore
    _weight      the table, a Tensor; default: normally distributed numbers
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None, _freeze: bool = False,
        dtype: DType | None = None,
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim = positive(self, "num_embeddings", num_embeddings), positive(
            self, "embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else integer(self, "padding_idx", padding_idx)
        if self.padding_idx is not None and not -num_embeddings <= self.padding_idx < num_embeddings:
            raise ValueError(f"For 'Embedding', the argument 'padding_idx' must be in [{-num_embeddings}, {num_embeddings}), "
                             f"but got {padding_idx}.")
        if boolean(self, "sparse", sparse):
            raise ValueError("For 'Embedding', the argument 'sparse' must be False, since gradients are dense, but got True.")
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        first = first_values("Embedding", "_weight", _weight, (num_embeddings, embedding_dim), F32 if dtype is None else dtype, Normal(1.0))
        if self.padding_idx is not None and _weight is None:
            first[self.padding_idx] = 0.0
        self.weight = Parameter(first, name="weight", requires_grad=not boolean(self, "_freeze", _freeze))

    def construct(self, input: Tensor) -> Tensor:
        return functional.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)


class Flatten(Cell):
    """Merges the axes from `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = integer(self, "start_dim", start_dim), integer(self, "end_dim", end_dim)

    def construct(self, input: Tensor) -> Tensor:
        return functional.flatten(input, self.start_dim, self.end_dim)


class Dropout(Cell):
    """In training, drops each element with probability `p` and divides the others by 1 - p; otherwise returns the input."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p, self.inplace = number(self, "p", p), boolean(self, "inplace", inplace)

    def construct(self, input: Tensor) -> Tensor:
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """In training, drops each channel of [n, c, h, w] with probability `p` and divides the others by 1 - p; otherwise returns the input."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.dropout2d(input, self.p, self.training, self.inplace)
