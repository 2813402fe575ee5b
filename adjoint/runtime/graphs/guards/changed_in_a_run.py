"""Detect what hooks and other user code change, during a run, of what the graph was made from.

A graph has one value of each place (a variable, an attribute) that parsed code reads.  If a hook changes the place, eager mode has two
values: the one read before the hook, and the one read after it.  So the order of reads is recorded.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.frontend.changes import purity
from adjoint.runtime.graphs.guards.check import GuardConditions, compiled_check
from adjoint.runtime.graphs.guards.constants import ignore
from adjoint.runtime.graphs.guards.objects import CellState, HookSlots
from adjoint.runtime.graphs.guards.patterns import Pattern
from adjoint.runtime.graphs.guards.places import Place
from adjoint.runtime.graphs.guards.references import Life, Watched
from adjoint.runtime.tensor.structure import items

__all__ = ["ReadPlace", "difference", "difference_before", "is_held", "last_look", "may_be_changed", "none_has_changed"]


def may_be_changed(place: Place) -> bool:
    """Return True if, while a graph runs, it must be checked whether hooks change what a place (a variable, an attribute) contains.

    False for what is read when the graph runs; for hook slots, since hooks that are added run when their turn comes; and for a user's cell
    as a whole, since hooks keep things in its attributes and the graph itself may write them.
    """
    if isinstance(place, CellState):
        return not place.covers_every_name()
    return not isinstance(place, (HookSlots, Pattern))


def is_held(holder: Any) -> bool:
    """Return True if an object, in which variables or attributes were read, must be kept alive while a graph runs.

    Classes, modules and functions need not be: the program that calls them keeps them alive.

    holder  the object
    """
    return holder is not None and not isinstance(holder, _PROGRAMS)


class ReadPlace:
    """A variable or attribute that the graph was made from, with the numbers of the first and the last read of it, counted over all reads;
    -1 if it was not read yet.
    """

    __slots__ = ("first", "last", "place")

    def __init__(self, place: Place):
        self.place, self.first, self.last = place, -1, -1

    def at(self, first: int, last: int) -> None:
        """Note reads of this place: `first` is the number of the first one, `last` that of the last one."""
        self.first, self.last = first if self.first < 0 else min(self.first, first), max(self.last, last)


def last_look(value: Any, looked: Mapping[int, int]) -> int:
    """Return the number of the last read of items of any container inside a value; -1 if there was none.

    looked  the number of the last such read of each container, by the container's id
    """
    pending, seen, last = [value], set[int](), -1
    while pending:
        x = pending.pop()
        if id(x) not in seen:
            seen.add(id(x))
            last = max(last, looked.get(id(x), -1))
            pending += items(x) or ()
    return last


def none_has_changed(reads: Sequence[ReadPlace], kinds: Mapping[int, str], watched: Watched) -> Callable[[], bool]:
    """Return a function that returns True if none of these places contains another value than when the graph was made.

    reads    the places (variables, attributes)
    kinds    how each place is compared, by its id: "identity", or "epoch" if each change of it is reported; by value if neither
    watched  weak references to the objects compared by identity
    """
    conditions, by_epoch, by_value = GuardConditions(), list[Place](), list[Place]()
    for place in [each.place for each in reads]:
        match kinds.get(id(place)):
            case "identity":
                if not _is_of_program(place):
                    conditions.expressions.append(place.condition(conditions))
            case "epoch":
                by_epoch.append(place)
            case _:
                by_value.append(place)
    return compiled_check(conditions, Life(), watched, by_epoch, by_value, lambda: False)


_PROGRAMS = (type, types.ModuleType, types.FunctionType)
"""Classes of objects whose attributes are definitions of a program, such as functions, rather than data: classes, modules, functions."""
_OF_PROGRAMS = (types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.ModuleType, type, type(None))
"""Classes of the values that such attributes usually have: functions, classes, modules, code and None."""


def _is_of_program(place: Place) -> bool:
    """Return True for a name that hooks are trusted not to change, so that it is not compared while a graph runs.

    Such names are attributes of functions, names of modules and built-in functions, and names of functions and
    classes in installed packages.

    Everything else that a class or a module holds is compared, since a hook may replace a method.
    """
    holder = place.holder()
    if not isinstance(place.value, _OF_PROGRAMS) or not (holder is None or isinstance(holder, _PROGRAMS)):
        return False
    if isinstance(holder, types.FunctionType) or isinstance(place.value, (types.ModuleType, types.BuiltinFunctionType)):
        return True
    module = place.value if holder is None else holder
    name = module.__name__ if isinstance(module, types.ModuleType) else getattr(module, "__module__", None) or "builtins"
    return name.partition(".")[0] == __name__.partition(".")[0] or purity.is_installed_module(name)


def difference(reads: Sequence[ReadPlace], before: int, after: int) -> tuple[str, bool]:
    """Describe a changed place that the graph reads after the read number `after`; "" if there is none.

    The bool is True if the place (a variable, attribute or the like) is also read up to the read number `before`: see `Guards.changed`.
    """
    for each in reads:
        if each.last > after and _is_steady(each.place) and (found := each.place.difference()):
            return found, each.first <= before
    return "", False


def difference_before(reads: Sequence[ReadPlace], before: float) -> str:
    """Describe a changed place that the graph reads up to the read number `before`; "" if there is none."""
    return next((found for each in reads if each.first <= before and _is_steady(each.place) and (found := each.place.difference())), "")


def _is_steady(place: Place) -> bool:
    """Return False for a place that gives another value each time it is read, such as a property that makes an object: whether a hook has
    changed it cannot be seen.
    """
    one, other = place.read(), place.read()
    return one is other or place.key_of(one, ignore) == place.key_of(other, ignore)
