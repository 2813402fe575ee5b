"""Guards on values that each run reads again, such as a counter: the graph depends on their types alone.

A *pattern* is the structure of such a value with slots for its tensors and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.runtime.graphs.guards.check import GuardConditions
from adjoint.runtime.graphs.guards.constants import ignore
from adjoint.runtime.graphs.guards.places import OwnAttribute, Place, Watch
from adjoint.runtime.graphs.guards.references import Watched

__all__ = ["NumberPattern", "Pattern", "PatternKey"]

PatternKey = Callable[[Any, Callable[[object], None]], Hashable]
"""A function `f(value, hold)` that returns a key, equal for values of one pattern; it calls `hold` with each object that the key identifies
by its id.
"""


@dataclass(frozen=True)
class NumberPattern:
    """A condition on the Python number that a graph reads from an attribute or variable each time it runs: one type, and for ints a bound.

    kind   int or float
    bound  the largest absolute value of an int; not used for a float
    """

    kind: type
    bound: int = 0

    def fits(self, value: Any) -> bool:
        """Return True if a value is a number of this type and within the bound."""
        return type(value) is self.kind and (self.kind is float or -self.bound <= value <= self.bound)

    def condition(self, value: str) -> str:
        """Return a Python expression that is true if `value`, itself an expression, has a value that fits."""
        if self.kind is float:
            return f"type({value}) is float"
        return f"type(number := {value}) is int and -{self.bound} <= number <= {self.bound}"


class Pattern(Place):
    """Guards a place whose value may change as long as its pattern stays: only the structure and types are compared.

    place        the variable or attribute
    pattern_key  returns the key of a value's pattern
    """

    __slots__ = ("_pattern_key", "place")

    def __init__(self, place: Place, pattern_key: PatternKey):
        super().__init__(place.label)
        self.place, self._pattern_key = place, pattern_key

    def address(self) -> Hashable:
        return Pattern, self.place.address()

    def holder(self) -> Any:
        return self.place.holder()

    def parts(self) -> list[Place]:
        return [self.like(part) for part in self.place.parts()]

    def like(self, place: Place) -> Pattern:
        """Return a new guard of this kind, without a snapshot, for another place."""
        return Pattern(place, self._pattern_key)

    def read(self) -> Any:
        return self.place.read()

    def watch(self, value: Any) -> Watch:
        # A cell moves the epoch at each write of an attribute, and a tensor at each change of its type.
        if isinstance(self.place, OwnAttribute):
            return "epoch"
        return self.place.watch(value) if isinstance(self.key_of(value, ignore), NumberPattern) else "value"

    def take(self, value: Any, watched: Watched) -> None:
        kept: list[object] = []

        def hold(held: object) -> None:
            if not watched.add(held):
                kept.append(held)

        self.key, self.was, self.kept = self.key_of(value, hold), self.shown(value), tuple(kept)

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        return self._pattern_key(value, hold)

    def expression(self, conditions: GuardConditions) -> str:
        return self.place.expression(conditions)

    def condition(self, conditions: GuardConditions) -> str:
        assert isinstance(self.key, NumberPattern)
        return self.key.condition(self.expression(conditions))

    def holds(self, watched: Watched) -> bool:
        return self.key_of(self.place.read(), ignore) == self.key

    def difference(self) -> str:
        value = self.read()
        if self.key_of(value, ignore) == self.key:
            return ""
        return f"{self.label} was {self.was}, is {self.shown(value)}, which is of another type"
