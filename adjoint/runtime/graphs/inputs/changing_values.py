"""Choose which values that change from call to call become inputs of a graph: those that had three values, if the graph can be made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

__all__ = ["Changing"]

_VALUES = 3
"""The number of different values after which a number or tensor becomes an input of graphs instead of a constant."""


class Changing:
    """Decides which things that change from call to call (numbers among the arguments, or attributes) become inputs of a function's graphs.

    A thing becomes an input after several different values, if the graph can be made that way.  Things are given by hashable keys.

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
        """Note that a thing (a number among the arguments, or an attribute) had this value when a graph was made.

        thing, value  hashable keys
        """
        values = self.values.setdefault(thing, set())
        if len(values) < _VALUES:
            values.add(value)

    def forget(self, thing: Hashable) -> None:
        """Forget what is known of a thing that does not exist any more, or whose present value can only be a constant."""
        self.values.pop(thing, None)
        self.chosen -= {thing}

    def tried(self, make: Callable[[frozenset[Hashable]], Any]) -> Any:
        """Make a graph in which things that change are inputs, and return it; None if none can be made, so that all are constants.

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
