"""Layers that look up indices."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32, DType
from adjoint.nn.checks import boolean, choice, integer, positive, positive_number
from adjoint.nn.linear import first_values
from adjoint.nn.normalization import shortened
from adjoint.ops import linear, picking, shapes
from adjoint.ops.arguments import filler
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.conversion import dtype_argument
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["Embedding", "EmbeddingLookup", "OneHot"]


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


class EmbeddingLookup(Cell):
    """Rows of a table: indices of shape s give [s, embedding_size]; an index out of range gives zeros.

    max_norm             rows longer than this are shortened to it
    target, slice_mode,  where the table lies and how it is cut on many devices: without meaning on a CPU
    manual_shapes
    sparse               True where `target` is "CPU"
    """

    BATCH_SLICE, FIELD_SLICE, TABLE_ROW_SLICE, TABLE_COLUMN_SLICE = "batch_slice", "field_slice", "table_row_slice", "table_column_slice"

    def __init__(
        self, vocab_size: int, embedding_size: int, param_init: Any = "normal", target: str = "CPU", slice_mode: str = "batch_slice",
        manual_shapes: tuple[int, ...] | None = None, max_norm: float | None = None, sparse: bool = True, dtype: DType = F32,
    ):
        super().__init__()
        self.vocab_size, self.embedding_size = positive(self, "vocab_size", vocab_size), positive(self, "embedding_size", embedding_size)
        self.target, self.sparse = choice(self, "target", target, ("CPU", "DEVICE")), boolean(self, "sparse", sparse)
        if not sparse and target == "CPU":
            raise ValueError("For 'EmbeddingLookup', the argument 'sparse' must be True where 'target' is 'CPU', but got False.")
        self.max_norm = None if max_norm is None else constant(positive_number(self, "max_norm", max_norm), F32)
        table = first_values("EmbeddingLookup", "param_init", param_init, (self.vocab_size, self.embedding_size), dtype)
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, indices: Tensor) -> Tensor:
        places = picking.indices_argument("EmbeddingLookup", "indices", indices)
        rows = picking.looked_up("EmbeddingLookup", self.embedding_table, places, 0)
        return rows if self.max_norm is None else shortened(rows.astype(F32, copy=False), self.max_norm, indices.ndim)


class OneHot(Cell):
    """For each index `depth` elements along a new axis: `on_value` at the index, `off_value` elsewhere; all off if out of range.

    dtype  of the result
    """

    def __init__(self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0, dtype: DType = F32):
        super().__init__()
        self.axis, self.depth, self.dtype = integer(self, "axis", axis), integer(self, "depth", depth), dtype_argument(dtype)
        self.on_value = filler("OneHot", "on_value", on_value, self.dtype)
        self.off_value = filler("OneHot", "off_value", off_value, self.dtype)

    def construct(self, indices: Tensor) -> Tensor:
        return picking.one_hot(indices, self.depth, self.on_value, self.off_value, self.axis)
