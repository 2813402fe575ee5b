"""What the user's code changes in the middle of a run of what the graph was made of.

A graph has one value of each place that parsed code reads.  If a hook changes the place, eager mode has two: the one that is read before
the hook, and the one that is read after it.  So the order of reads is kept.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence

from adjoint.runtime.graphs.guards.check import GuardConditions, compiled_check
from adjoint.runtime.graphs.guards.constants import ignore
from adjoint.runtime.graphs.guards.objects import CellState, HookSlots
from adjoint.runtime.graphs.guards.patterns import Pattern
from adjoint.runtime.graphs.guards.places import Place
from adjoint.runtime.graphs.guards.references import Life, Watched

__all__ = ["ReadPlace", "difference", "may_be_changed", "none_has_changed"]


def may_be_changed(place: Place) -> bool:
    """Return True if it has to be looked at whether hooks change what a place contains.

    False for what is read when the graph runs, for hooks that are added, which take part when their turn comes, and for the state of the
    library's cells: hooks keep what they like in their attributes, of which these cells read few.
    """
    return not isinstance(place, (CellState, HookSlots, Pattern))


class ReadPlace:
    """A place, and when it is read: what a clock of reads showed at the first and at the last one."""

    __slots__ = ("first", "last", "place")

    def __init__(self, place: Place):
        self.place, self.first, self.last = place, -1, -1

    def at(self, first: int, last: int) -> None:
        """Add reads from the first to the last one."""
        self.first, self.last = first if self.first < 0 else min(self.first, first), max(self.last, last)


def none_has_changed(reads: Sequence[ReadPlace], kinds: Mapping[int, str], watched: Watched) -> Callable[[], bool]:
    """Return what returns True if no place has been changed.

    kinds  by the id of a place, "identity" if it is compared by identity, "epoch" if each change of it moves the epoch
    """
    conditions, by_epoch, by_value = GuardConditions(), list[Place](), list[Place]()
    for place in [each.place for each in reads]:
        match kinds.get(id(place)):
            case "identity":
                if not (isinstance(place.value, _OF_PROGRAMS) and isinstance(place.holder(), _PROGRAMS)):
                    conditions.expressions.append(place.condition(conditions))
            case "epoch":
                by_epoch.append(place)
            case _:
                by_value.append(place)
    return compiled_check(conditions, Life(), watched, by_epoch, by_value, lambda: False)


_PROGRAMS = (type, types.ModuleType, types.FunctionType, type(None))
"""Classes of the holders of names of programs; a global name has none."""
_OF_PROGRAMS = (types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.ModuleType, type, type(None))
"""Classes of what most of these names stand for: if hooks change one, the next call sees it."""


def difference(reads: Sequence[ReadPlace], before: int, after: int) -> tuple[str, bool]:
    """See `Guards.changed`."""
    for each in reads:
        if each.last > after and _is_steady(each.place) and (found := each.place.difference()):
            return found, each.first <= before
    return "", False


def _is_steady(place: Place) -> bool:
    """Return False for a place that gives another value each time it is read, such as a property that makes an object."""
    one, other = place.read(), place.read()
    return one is other or place.key_of(one, ignore) == place.key_of(other, ignore)
