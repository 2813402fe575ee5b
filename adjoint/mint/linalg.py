"""Norms of vectors and matrices, inverses and orthogonal factors."""

from __future__ import annotations

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.types import DType
from adjoint.ops import linear_systems, matrices, reduction
from adjoint.ops.arguments import axes_argument, dtype_or, flag, floating, operand
from adjoint.ops.creation import zeros
from adjoint.ops.norms import norm_of_vectors
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]


@fusible
def inv(input: Any) -> Tensor:
    """Return the inverses of square matrices: see `ops.inverse`."""
    return matrices.inverse(input)


@fusible
def qr(A: Any, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Return orthogonal columns and upper triangles whose products are the matrices: see `ops.qr`.

    mode  "reduced", "complete", or "r": the triangles of "reduced", and an empty tensor in place of the columns
    """
    if mode == "r":
        triangles = linear_systems.qr(A)[1]
        return zeros((0,), triangles.dtype), triangles
    return linear_systems.qr(A, mode)


@fusible
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the norm of vectors over axes; without `dim`, of all elements as one vector: see `ops.norm`."""
    given = floating(operand("VectorNorm", x, "x"))
    given = given.astype(dtype_or("VectorNorm", dtype, given.dtype), copy=False)
    axes = axes_argument("VectorNorm", dim, given.ndim, "dim")
    return norm_of_vectors("VectorNorm", given, ord, axes, flag("VectorNorm", "keepdim", keepdim))


@fusible
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the norm of matrices, which span two axes: see `ops.norm`."""
    return reduction.norm(A, ord, dim, keepdim, dtype=dtype)


@fusible
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the norm of vectors along one axis or of matrices in two; without `ord` and `dim`, of all elements as one vector: see
    `ops.norm`."""
    return reduction.norm(A, ord, dim, keepdim, dtype=dtype)


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
