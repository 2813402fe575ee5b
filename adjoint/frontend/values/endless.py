"""Iterators that do not end: what goes through all items at once would not come back."""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["is_endless"]

_ALL_OF = (zip, map)
"""Iterators that end with the first of those they are made of."""

_PARTS_OF = (enumerate, filter, itertools.chain, itertools.accumulate, itertools.starmap, itertools.filterfalse, itertools.dropwhile,
             itertools.zip_longest, itertools.pairwise, itertools.compress, types.GeneratorType)
"""Iterators that go on as long as one of those they are made of."""


def is_endless(x: Any, made_of: Callable[[Any], Iterable[Any]]) -> bool:
    """Return whether an iterator is one of Python's that is known not to end.

    made_of  gives the object whose method made an iterator, or None, and the arguments of that call
    """
    if isinstance(x, (itertools.count, itertools.cycle)):
        return True
    if isinstance(x, itertools.repeat):
        return operator.length_hint(x, -1) < 0
    parts = [part for part in made_of(x) if hasattr(part, "__iter__")]
    if isinstance(x, _ALL_OF):
        return bool(parts) and all(is_endless(part, made_of) for part in parts)
    if isinstance(x, itertools.islice):
        _, source, *bounds = made_of(x) or (None, (), 0)
        return (bounds[1] if len(bounds) > 1 else bounds[0]) is None and is_endless(source, made_of)
    return isinstance(x, _PARTS_OF) and any(is_endless(part, made_of) for part in parts)
