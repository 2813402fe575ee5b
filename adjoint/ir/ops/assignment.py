"""Assignments of rows to columns with the least sum of costs.  The C is in `assignment.h`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import F64, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]

__all__ = ["LinearSumAssignment"]

_COSTS = [[4.0, 1.0, 3.0, 2.5], [2.0, 0.0, 5.0, -1.0], [3.0, 2.0, 2.0, 0.5]]
_TURNED = [[4.0, 2.0, 3.0], [1.0, 0.0, 2.0], [3.0, 5.0, 2.0], [2.5, -1.0, 0.5]]


@operation
class LinearSumAssignment(Op):
    """The rows and the columns of the pairs with the least sum of costs, no row and no column twice, as many as there can be.

    The algorithm is that of SciPy, and so are the pairs where several have that sum.

    operands cost   f64[m, n]; infinity forbids a pair
             limit  i64[]: only so many columns are used, from 1 to n, or 0 if there are none
    result   two i64[min(m, n)], rows ascending; if the limit leaves fewer pairs, -1 at the end
    gradient none: whole numbers
    errors   TypeError: other dtypes; ValueError: other numbers of dimensions; RuntimeError when run: a limit out of range, NaN, or too few
             pairs that are not forbidden

    maximize  True for the largest sum; minus infinity forbids a pair
    """

    maximize: bool = False
    cuts = "an assignment is piecewise constant"
    samples = (
        sample(tensor(F64, (3, 4)), tensor(I64), values={0: _COSTS, 1: 4}),
        sample(tensor(F64, (4, 3)), tensor(I64), values={0: _TURNED, 1: 3}),
        sample(tensor(F64, (3, 4)), tensor(I64), values={0: _COSTS, 1: 2}, maximize=True),
        sample(tensor(F64, (4, 3)), tensor(I64), values={0: _TURNED, 1: 2}),
        sample(tensor(F64, (5, 5)), tensor(I64), values={1: 5}, maximize=True),
        sample(tensor(F64, (3, 3)), tensor(I64), values={0: [[0.0] * 3] * 3, 1: 3}, note="equal costs"),
        sample(tensor(F64, (2, 2)), tensor(I64), values={0: [[math.inf, 1.0], [2.0, 3.0]], 1: 2}, note="a forbidden pair"),
        sample(tensor(F64, (2, 0)), tensor(I64), values={1: 0}),
        sample(tensor(F64, (0, 2)), tensor(I64), values={1: 2}),
    )

    def infer(self, cost: Any, limit: Any) -> tuple[TensorType, TensorType]:
        if not isinstance(cost, TensorType) or cost.dtype is not F64:
            raise mistake(self, "cost_matrix", "a tensor of Float64", cost, TypeError)
        if cost.rank != 2:
            raise mistake(self, "cost_matrix", "of 2 dimensions", cost)
        if not isinstance(limit, TensorType) or limit.dtype is not I64:
            raise mistake(self, "dimension_limit", "a tensor of Int64", limit, TypeError)
        if limit.rank:
            raise mistake(self, "dimension_limit", "of 0 dimensions", limit)
        found = tensor(I64, (min(cost.sizes),))
        return found, found

    def failure(self, status: int) -> Exception:
        if status == 1:
            return mistake(self, "dimension_limit", "from 1 to the number of columns", "another number", RuntimeError)
        return mistake(self, "cost_matrix", "numbers other than NaN, with a finite sum for some pairs", "others", RuntimeError)

    def reference(self, cost: Array, limit: Array) -> tuple[Array, Array]:
        used, most = int(limit), min(cost.shape)
        if not min(1, cost.shape[1]) <= used <= cost.shape[1]:
            raise self.failure(1)
        costs = (-cost if self.maximize else cost)[:, :used]
        turned = costs.shape[0] > costs.shape[1]
        row_of = _assigned(costs.T if turned else costs)
        if row_of is None:
            raise self.failure(2)
        pairs = sorted((column, row) if turned else (row, column) for column, row in enumerate(row_of) if row >= 0)
        found = np.full((2, most), -1, np.int64)
        for place, pair in enumerate(pairs):
            found[:, place] = pair
        return found[0], found[1]

    def lower(self, k: Kernel, cost: Buffer, limit: Buffer, rows: Buffer, columns: Buffer) -> None:
        m, n = cost.shape
        n_rows, n_columns, most = k.size(m, "m"), k.size(n, "n"), k.size(min(m, n), "most")
        numbers, places = k.scratch(F64, 2 * (m + n), "numbers"), k.scratch(I64, 5 * (m + n), "places")
        k.describe(cost, "m, n")
        with k.stage(1, 1, "unit"):
            used = k.let(limit[0], "used")
            with k.when(k.either(k.less(used, k.minimum_of(n_columns, k.literal(1, I64))), k.greater(used, n_columns))):
                k.fail(1)
            turned = k.let(k.greater(n_rows, used), "turned")
            short, long = k.let(k.minimum_of(n_rows, used), "short_side"), k.let(k.maximum_of(n_rows, used), "long_side")
            one = k.literal(1, I64)
            row_step = k.let(k.select(turned, one, n_columns), "row_step")
            column_step = k.let(k.select(turned, n_columns, one), "column_step")
            status = k.let(k.call(
                "adjoint_assign", cost.at(0), short, long, row_step, column_step, k.literal(-1.0 if self.maximize else 1.0, F64),
                numbers.at(0), places.at(0), dtype=I64), "status")
            with k.when(k.not_equal(status, 0)):
                k.fail(2)
            with k.loop(0, most, "i") as i:
                k.store(rows, i, -1)
                k.store(columns, i, -1)
            place = k.local(0, "place", I64)
            # The partners of the longer side come first in `places`, those of the shorter one behind four times as many.
            first = k.let(k.select(turned, 0, long * 4), "first")
            with k.loop(0, n_rows, "row") as row:
                column = k.let(places[first + row], "column")
                with k.when(k.greater_equal(column, 0)):
                    k.store(rows, place, row)
                    k.store(columns, place, column)
                    k.increment(place, 1)


def _assigned(cost: Array) -> list[int] | None:
    """Return the row of each column, -1 for a column without one; None if every assignment has an infinite sum.

    The steps are those of `assignment.h`.
    """
    rows, columns = cost.shape
    if not np.all(cost > -math.inf):
        return None
    row_price, column_price = [0.0] * rows, [0.0] * columns
    row_of, column_of, path = [-1] * columns, [-1] * rows, [0] * columns
    for first in range(rows):
        left, shortest = list(range(columns))[::-1], [math.inf] * columns
        done: set[int] = set()
        seen, i, least, sink = {first}, first, 0.0, -1
        while sink < 0:
            seen.add(i)
            best, lowest = -1, math.inf
            for at, j in enumerate(left):
                length = least + float(cost[i, j]) - row_price[i] - column_price[j]
                if length < shortest[j]:
                    path[j], shortest[j] = i, length
                if shortest[j] < lowest or (shortest[j] == lowest and row_of[j] < 0):
                    best, lowest = at, shortest[j]
            if lowest == math.inf:
                return None
            least, j = lowest, left[best]
            done.add(j)
            left[best] = left[-1]
            left.pop()
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
        row_price[first] += least
        for k in seen - {first}:
            row_price[k] += least - shortest[column_of[k]]
        for j in done:
            column_price[j] -= least - shortest[j]
        j = sink
        while True:
            i = path[j]
            row_of[j], before = i, column_of[i]
            column_of[i] = j
            if i == first:
                break
            j = before
    return row_of
