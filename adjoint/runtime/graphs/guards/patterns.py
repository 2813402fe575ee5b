"""Guards of places whose numbers and tensors a graph takes anew at each run: it depends on their types alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from adjoint.runtime.graphs.guards.places import OwnAttribute, Place, Watch
from adjoint.runtime.graphs.guards.references import Watched

__all__ = ["Pattern", "PatternKey"]

PatternKey = Callable[[Any, Callable[[object], None]], Hashable]
"""Returns a key that is equal for values of one pattern; the second argument is called with each object that it identifies by its id."""


class Pattern(Place):
    """A place, of which the pattern of its value is compared."""

    __slots__ = ("_pattern_key", "_place")

    def __init__(self, place: Place, pattern_key: PatternKey):
        super().__init__(place.label)
        self._place, self._pattern_key = place, pattern_key

    def address(self) -> Hashable:
        return Pattern, self._place.address()

    def holder(self) -> Any:
        return self._place.holder()

    def parts(self) -> list[Place]:
        return [Pattern(part, self._pattern_key) for part in self._place.parts()]

    def read(self) -> Any:
        return self._place.read()

    def watch(self, value: Any) -> Watch:
        # A cell tells of each write of an attribute, and the type of a tensor moves the epoch.
        return "epoch" if isinstance(self._place, OwnAttribute) else "value"

    def take(self, value: Any, watched: Watched) -> None:
        kept: list[object] = []

        def hold(held: object) -> None:
            if not watched.add(held):
                kept.append(held)

        self.key, self.was, self.kept = self._pattern_key(value, hold), self.shown(value), tuple(kept)

    def holds(self, watched: Watched) -> bool:
        return self._pattern_key(self._place.read(), _ignore) == self.key

    def difference(self) -> str:
        value = self.read()
        if self._pattern_key(value, _ignore) == self.key:
            return ""
        return f"{self.label} was {self.was}, is {self.shown(value)}, which is of another type"


def _ignore(held: object) -> None:
    """Keep no reference: the key is compared at once."""
