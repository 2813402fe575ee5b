"""Operators of `mint` as objects, by MindSpore's names in `ops.auto_generate`: `AddExt()(x, y, alpha)`."""

from __future__ import annotations

from typing import Any

from adjoint import mint
from adjoint.ops.primitive import Plain, plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "AddExt", "BatchMatMulExt", "CumsumExt", "FmodScalar", "IndexSelect", "MatMulExt", "MeanExt", "Outer", "Scatter", "SiLU", "SortExt",
    "SplitTensor", "SplitWithSize", "StackExt", "SubExt", "SumExt", "Swiglu", "TopkExt", "ZerosLikeExt",
]


def _added(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    return mint.add(input, other, alpha=alpha)


def _subtracted(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    return mint.sub(input, other, alpha=alpha)


def _total(input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    return mint.sum(input, dim, keepdim, dtype=dtype)


def _average(input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    return mint.mean(input, dim, keepdim, dtype=dtype)


def _sums(input: Any, dim: int, dtype: Any = None) -> Tensor:
    return mint.cumsum(input, dim, dtype)


def _sorted(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return mint.sort(input, dim=dim, descending=descending, stable=stable)


def _written(input: Any, dim: int, index: Any, src: Any, reduce: str = "none") -> Tensor:
    writing = {"none": mint.scatter, "add": mint.scatter_add}.get(reduce)
    if writing is None:
        raise ValueError(f"For 'Scatter', the argument 'reduce' must be 'none' or 'add', but got {reduce!r}.")
    return writing(input, dim, index, src)


def _gated(input: Any, dim: int = -1) -> Tensor:
    gate, values = mint.chunk(input, 2, dim)
    return mint.nn.functional.silu(gate) * values


AddExt, SubExt, SumExt, MeanExt = plain("AddExt", _added), plain("SubExt", _subtracted), plain("SumExt", _total), plain("MeanExt", _average)
CumsumExt, SortExt, TopkExt = plain("CumsumExt", _sums), plain("SortExt", _sorted), plain("TopkExt", mint.topk)
SplitWithSize, SplitTensor = plain("SplitWithSize", mint.split), plain("SplitTensor", mint.split)
BatchMatMulExt, MatMulExt, Outer = plain("BatchMatMulExt", mint.bmm), plain("MatMulExt", mint.matmul), plain("Outer", mint.outer)
IndexSelect, SiLU = plain("IndexSelect", mint.index_select), plain("SiLU", mint.nn.functional.silu)
ZerosLikeExt, FmodScalar = plain("ZerosLikeExt", mint.zeros_like), plain("FmodScalar", mint.fmod)
Scatter, Swiglu = plain("Scatter", _written), plain("Swiglu", _gated)


class StackExt(Plain):
    """Tensors of one shape, along a new axis.

    dim  where the axis is
    """

    def __init__(self, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim

    def __call__(self, tensors: Any) -> Tensor:
        return mint.stack(tensors, self.dim)
