"""The reference count that Python reports for an object with one owner: memory with a single owner may be written in place.

    sys.getrefcount(tensor.memory) <= OF_ATTRIBUTE      only the tensor holds its memory
    sys.getrefcount(found) <= OF_VARIABLE               only the variable holds the object

Each additional owner in the asking code itself, such as a second variable or a list, adds one.

The count that a call of `getrefcount` adds depends on Python: up to 3.13 its argument counts; from 3.14 on a variable that is an argument
lends its reference.  So it is measured, on objects whose owners are known, before and after Python has specialised the code.  If the counts
do not follow the owners, which is possible in a Python without a global lock, both numbers are 0: then no object counts as having one
owner, and nothing is done in place.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount

__all__ = ["OF_ATTRIBUTE", "OF_VARIABLE", "holders", "measured"]

holders = getrefcount
"""A function that returns the reference count of an object (`sys.getrefcount`); generated code of graphs calls it by this name."""

_RUNS = 200
"""The number of calls of the measuring code: Python specialises it after some tens."""


class _Owner:
    """Holds an object in an attribute, as a tensor holds its memory."""

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
    """Return the reference count that Python reports for an object with one owner; 0 if the counts do not follow the number of owners.

    count_with  returns the count of an object with one owner and a given number of others
    """
    counts = [[count_with(others) for others in range(3)] for _ in range(_RUNS)]
    one = counts[0][0]
    return one if all(found == [one, one + 1, one + 2] for found in counts) else 0


OF_ATTRIBUTE, OF_VARIABLE = measured(_of_attribute), measured(_of_variable)
