"""Choose which values that change from call to call become inputs of a graph: those that had three values, if the graph can be made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

__all__ = ["Changing"]

_VALUES = 3
"""A value becomes an input after this many different values."""


class Changing:
    """The history of things of one kind that may change from call to call, such as numbers among the arguments, by their keys.

    values   for each thing, the keys of the values that it had when graphs were made, up to the number that makes it an input
    chosen   the things that are inputs
    refused  the things that have to be constants
    """

    __slots__ = ("chosen", "refused", "values")

    def __init__(self) -> None:
        self.values: dict[Hashable, set[Hashable]] = {}
        self.chosen: frozenset[Hashable] = frozenset()
        self.refused: frozenset[Hashable] = frozenset()

    def saw(self, thing: Hashable, value: Hashable) -> None:
        """Add a value that a thing had when a graph was made."""
        values = self.values.setdefault(thing, set())
        if len(values) < _VALUES:
            values.add(value)

    def forget(self, thing: Hashable) -> None:
        """Forget a thing that does not exist any more, or has a value of another kind now."""
        self.values.pop(thing, None)
        self.chosen -= {thing}

    def tried(self, make: Callable[[frozenset[Hashable]], Any]) -> Any:
        """Return a new graph with inputs; None if everything is a constant.

        make  returns the graph with the given inputs, or None if it cannot be made.  It is tried with the present inputs and one more; with
              the present inputs alone only if no further one is possible
        """
        made = None
        for thing in self._ready():
            if (found := make(self.chosen | {thing})) is None:
                self.refused |= {thing}
            else:
                made, self.chosen = found, self.chosen | {thing}
        if made is None and self.chosen and (made := make(self.chosen)) is None:
            self.refused, self.chosen = self.refused | self.chosen, frozenset()
        return made

    def _ready(self) -> Sequence[Hashable]:
        return [thing for thing, values in self.values.items()
                if len(values) >= _VALUES and thing not in self.chosen and thing not in self.refused]
