"""Infinite iterators: code that takes all their items at once would never return."""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["is_endless"]

_ALL_OF = (zip, map)
"""Types of iterators that end with the shortest of their sources, so that they are infinite only if all of these are."""

_PARTS_OF = (enumerate, filter, itertools.chain, itertools.accumulate, itertools.starmap, itertools.filterfalse, itertools.dropwhile,
             itertools.zip_longest, itertools.pairwise, itertools.compress, types.GeneratorType)
"""Types of iterators that are infinite if one of their sources is."""


def is_endless(x: Any, made_of: Callable[[Any], Iterable[Any]]) -> bool:
    """Return True if `x` is an iterator of Python that is known to be infinite, such as `itertools.count()` or a `zip` of two of them.

    made_of  called with an iterator, returns the object whose method created it (None for a function) and the arguments of that call; an
        empty sequence if these are not known
    """
    if isinstance(x, (itertools.count, itertools.cycle)):
        return True
    if isinstance(x, itertools.repeat):
        return operator.length_hint(x, -1) < 0
    parts = [part for part in made_of(x) if hasattr(type(part), "__iter__")]
    if isinstance(x, _ALL_OF):
        return bool(parts) and all(is_endless(part, made_of) for part in parts)
    if isinstance(x, itertools.islice):
        _, source, *bounds = made_of(x) or (None, (), 0)
        return (bounds[1] if len(bounds) > 1 else bounds[0]) is None and is_endless(source, made_of)
    return isinstance(x, _PARTS_OF) and any(is_endless(part, made_of) for part in parts)
