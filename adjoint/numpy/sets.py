"""Arrays as sets of numbers: distinct elements, intersection, difference.

The sizes of the results of `unique`, `intersect1d`, `setdiff1d` and `argwhere` depend on values: raise RuntimeError while a graph is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.sort import SearchSorted
from adjoint.ir.types import BOOL, I32, I64
from adjoint.numpy.conversion import array_like, joined
from adjoint.ops import arithmetic, picking
from adjoint.ops.arguments import flag, operand
from adjoint.ops.creation import zeros
from adjoint.ops.ordering import sort
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.run_time_checks import needs_values
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["argwhere", "in1d", "intersect1d", "isin", "setdiff1d", "unique"]


def unique(x: Any, return_inverse: bool = False) -> Any:
    """Return the distinct elements of the flattened array, in the order of their first occurrence.

    return_inverse  return also the index of each element among them (Int32)
    """
    line = reshape(operand("unique", x, "x"), (-1,))
    needs_values("unique", "it has as many elements as there are different ones")
    first, inverse = _first_places(line)
    found = picking.gathered("unique", line, Tensor(first, I64), 0)
    return (found, Tensor(inverse, I32)) if flag("unique", "return_inverse", return_inverse) else found


def _first_places(line: Tensor) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the index of the first occurrence of each distinct element, in that order, and for each element which of them it equals."""
    _, first, inverse = np.unique(line.asnumpy(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[inverse.reshape(-1)]


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """Return whether each element of the flattened `ar1` is in `ar2`; with `invert`, whether it is not."""
    line = reshape(array_like("in1d", ar1, "ar1"), (-1,))
    return isin(line, ar2, invert)


def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """Return whether each element is in `test_elements`; with `invert`, whether it is not.  NaN is never in them."""
    x = array_like("isin", element, "element")
    given, known = joined(x, reshape(array_like("isin", test_elements, "test_elements"), (-1,)))
    if known.size == 0:
        found = zeros(x.shape, BOOL)
    elif given.dtype is BOOL:
        found = arithmetic.where(given, known.any(), arithmetic.logical_not(known).any())
    else:
        row = sort(known)[0]
        places = apply(made(SearchSorted), row, reshape(given, (-1,)))
        there = picking.gathered("isin", row, arithmetic.minimum(places, row.size - 1), 0)
        found = arithmetic.equal(reshape(there, given.shape), given)
    return arithmetic.logical_not(found) if flag("isin", "invert", invert) else found


def argwhere(a: Any) -> Tensor:
    """Return the coordinates of the nonzero elements, Int64[n, rank]."""
    return picking.nonzero(array_like("argwhere", a, "a"))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """Return the elements of `ar1` that are not in `ar2`: each once and sorted, or in their order with `assume_unique`."""
    line = reshape(array_like("setdiff1d", ar1, "ar1"), (-1,))
    if not flag("setdiff1d", "assume_unique", assume_unique):
        line = sort(unique(line))[0]
    return picking.masked_select(line, isin(line, ar2, invert=True))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the elements that are in both arrays, each once and sorted.

    assume_unique   True if no array contains an element twice, which is not checked
    return_indices  True to return also the first indices (Int32) in both flattened arrays
    """
    lines = [reshape(array_like("intersect1d", x, name), (-1,)) for x, name in ((ar1, "ar1"), (ar2, "ar2"))]
    flag("intersect1d", "assume_unique", assume_unique)
    needs_values("intersect1d", "it has as many elements as both arrays have")
    first, second = (x.asnumpy() for x in joined(*lines))
    _, one, two = np.intersect1d(first, second, assume_unique=assume_unique, return_indices=True)
    found = picking.gathered("intersect1d", joined(*lines)[0], Tensor(one, I64), 0)
    return (found, Tensor(one, I32), Tensor(two, I32)) if flag("intersect1d", "return_indices", return_indices) else found
