"""How many references Python counts to an object that has one owner: memory that nobody else holds may be written in place.

    sys.getrefcount(tensor.memory) <= OF_ATTRIBUTE      the tensor alone holds its memory
    sys.getrefcount(found) <= OF_VARIABLE               the variable alone holds the object

Each further owner that the asking code itself is, such as a second variable or a list, counts as one more.

What the call of `getrefcount` adds depends on Python: up to 3.13 its argument counts, from 3.14 on a variable that is an argument lends
its reference.  So it is measured, on objects of which the owners are known, before and after Python has specialised the code.  Where
the counts do not follow the owners, as they need not in a Python without a global lock, both numbers are 0: no object has one owner then,
and nothing is done in place.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount

__all__ = ["OF_ATTRIBUTE", "OF_VARIABLE", "measured"]

_RUNS = 200
"""Calls of the measuring code: after some tens Python specialises it."""


class _Owner:
    """Holds an object as a tensor holds its memory."""

    def __init__(self, held: object) -> None:
        self.held = held


def _of_attribute(others: int) -> int:
    owner = _Owner(object())
    more = [owner.held] * others
    count = getrefcount(owner.held)
    del more
    return count


def _of_variable(others: int) -> int:
    held = object()
    more = [held] * others
    count = getrefcount(held)
    del more
    return count


def measured(count_with: Callable[[int], int]) -> int:
    """Return the count of references to an object that has one owner; 0 if counts do not follow owners.

    count_with  returns the count of an object that has one owner and so many others
    """
    counts = [[count_with(others) for others in range(3)] for _ in range(_RUNS)]
    one = counts[0][0]
    return one if all(found == [one, one + 1, one + 2] for found in counts) else 0


OF_ATTRIBUTE, OF_VARIABLE = measured(_of_attribute), measured(_of_variable)
