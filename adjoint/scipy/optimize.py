"""`mindspore.scipy.optimize`: assignments.  What minimises functions is not here."""

from __future__ import annotations

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.op import made
from adjoint.ir.ops.assignment import LinearSumAssignment
from adjoint.ir.types import BF16, F64, I64
from adjoint.ops.arguments import flag, operand, wrong
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["linear_sum_assignment"]

INSTEAD = {
    "minimize": "an optimizer of `nn` with `value_and_grad`, or `scipy.optimize.minimize` of SciPy with a function of `x.asnumpy()`",
    "line_search": "`scipy.optimize.line_search` of SciPy, with functions of `x.asnumpy()`",
}
"""What to write instead of functions of MindSpore that are missing here."""


def linear_sum_assignment(cost_matrix: Tensor, maximize: bool, dimension_limit: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the rows and the columns of the pairs with the least sum of costs, no row and no column twice, as many as there can be.

    cost_matrix      (m, n), real numbers or bools; computed in Float64; infinity forbids a pair
    maximize         True for the largest sum, where minus infinity forbids a pair
    dimension_limit  only so many columns are used: an Int64 Tensor of one element, from 1 to n; None for all

    Both are Int64, of min(m, n) elements, rows ascending; where the limit leaves fewer pairs, the last elements are -1.  RuntimeError for a
    limit out of range, for NaN, and if too few pairs are not forbidden.
    """
    op = "LinearSumAssignment"
    cost, largest = operand(op, cost_matrix, "cost_matrix"), flag(op, "maximize", maximize)
    if cost.dtype.is_complex or cost.dtype is BF16:
        raise wrong(op, "cost_matrix", "a Tensor of real numbers or bools, and not of BFloat16", cost, TypeError)
    if cost.ndim != 2:
        raise wrong(op, "cost_matrix", "of 2 dimensions", cost)
    if dimension_limit is None:
        limit = Tensor(cost.shape[1], I64)
    else:
        limit = operand(op, dimension_limit, "dimension_limit")
        if limit.dtype is not I64:
            raise wrong(op, "dimension_limit", "a Tensor of Int64", limit, TypeError)
        if limit.size != 1:
            raise wrong(op, "dimension_limit", "of one element", limit)
        limit = reshape(limit, ())
    return apply(made(LinearSumAssignment, largest), cost.astype(F64, copy=False), limit)


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
