"""Which values that change from call to call are inputs of a graph: those that had some values, and for which a graph can be made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

__all__ = ["Changing"]

_VALUES = 3
"""So many values make something an input."""


class Changing:
    """What is known of some things that change, by key.

    values   the keys of the values that each had when graphs were made; no more are added when there are enough
    chosen   those that are inputs
    refused  those that have to be constants
    """

    __slots__ = ("chosen", "refused", "values")

    def __init__(self) -> None:
        self.values: dict[Hashable, set[Hashable]] = {}
        self.chosen: frozenset[Hashable] = frozenset()
        self.refused: frozenset[Hashable] = frozenset()

    def saw(self, thing: Hashable, value: Hashable) -> None:
        """Add a value that a thing has had."""
        values = self.values.setdefault(thing, set())
        if len(values) < _VALUES:
            values.add(value)

    def forget(self, thing: Hashable) -> None:
        """Forget a thing that is no more, or that has another kind of value."""
        self.values.pop(thing, None)
        self.chosen -= {thing}

    def tried(self, make: Callable[[frozenset[Hashable]], Any]) -> Any:
        """Return a new graph with inputs; None if everything is a constant.

        make  returns the graph with these inputs, or None if there is none.  It is asked for the inputs that are, each time with one
              more; without one more only if there is none.
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
