"""Products of vectors and matrices, and distances."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.arithmetic import Sub
from adjoint.numpy import products
from adjoint.ops import distances, linear
from adjoint.ops.arguments import axis_argument, operand, real, wrong
from adjoint.ops.floats import conj
from adjoint.ops.linear import addbmm, addmm, addmv, einsum, matmul, mm, outer
from adjoint.ops.linear_systems import triangular_solve
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import promoted
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["addbmm", "addmm", "addmv", "baddbmm", "bmm", "cdist", "cross", "dot", "einsum", "matmul", "mm", "mv", "outer",
           "triangular_solve", "vdot"]

_SUB = Sub()


@fusible
def bmm(input: Any, mat2: Any) -> Tensor:
    """Return the products of two stacks of matrices, [b, n, k] and [b, k, m]."""
    for name, x in (("input", input), ("mat2", mat2)):
        if isinstance(x, Tensor) and x.ndim != 3:
            raise wrong("BatchMatMulExt", name, "of 3 dimensions", x)
    return linear.bmm(input, mat2)


@fusible
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * (batch1 @ batch2), for each matrix of the batch."""
    return linear.baddbmm(input, batch1, batch2, beta, alpha)


@fusible
def mv(input: Any, vec: Any) -> Tensor:
    """Return the product of a matrix and a vector."""
    return linear.mv(input, vec)


@fusible
def dot(input: Any, other: Any) -> Tensor:
    """Return the inner product of two vectors of the same length."""
    a, b = operand("Dot", input), operand("Dot", other, "other")
    if a.ndim != 1 or a.shape != b.shape:
        raise wrong("Dot", "other", f"of one dimension and the size of 'input', {a.shape}", b)
    return linear.matmul(a, b)


@fusible
def vdot(input: Any, other: Any) -> Tensor:
    """Return the product of two vectors, of complex ones that of the conjugate of the first."""
    return dot(conj(input) if isinstance(input, Tensor) else input, other)


@fusible
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors of 3 along an axis; by default the first axis of size 3."""
    a, b = operand("Cross", input), operand("Cross", other, "other")
    if dim is None:
        found = [axis for axis, size in enumerate(a.shape) if size == 3]
        if not found:
            raise wrong("Cross", "input", "of 3 elements along an axis", a)
        dim = found[0]
    if a.ndim != b.ndim or a.shape[axis_argument("Cross", dim, a.ndim, "dim")] != 3:
        raise wrong("Cross", "dim", "an axis of 3 elements, of tensors of one rank", (a.shape, b.shape))
    return products.cross(a, b, axis=dim)


@fusible
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the distance of each row of [..., n, k] from each of [..., m, k]: (sum |d|**p)**(1/p); the maximum of |d| for inf, the number
    of nonzero d for 0.

    compute_mode  accepted; distances are always computed from the differences, which loses no digits.  The gradient of a distance of 0
                  is 0.
    """
    a, b = operand("Cdist", x1, "x1"), operand("Cdist", x2, "x2")
    return distances.distances("Cdist", *promoted(_SUB, a, b), real("Cdist", "p", p))
