"""Lists and dicts in attributes and variables outside, which parsed code stores there or finds there, and changes.

    self.kept = []          apply! @Net.kept.write
    self.kept.append(x)     apply! @Net.kept.change(x)
    self.kept[0] = y        apply! @Net.kept.change_1(y)

There are two such lists: the one that parsed code changes while the graph is made, and in each run the one that the attribute then holds.
A change of the first becomes a node that makes the same change of the second.  The node stands before the next node of any kind, so hooks,
prints and exceptions find the list as in eager mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend.changes.journal import ContentsPlace, Journal, OutsidePlace
from adjoint.runtime.graphs.guards.constants import described
from adjoint.runtime.graphs.inputs.outline import Remade
from adjoint.runtime.graphs.inputs.python_state import STORABLE, get_of
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.tensor.structure import items, keys, like

__all__ = ["Change", "Route", "StoredContainers", "containers_in", "making", "put_contents"]


class Route(NamedTuple):
    """How to find a container when the graph runs.

    place  the attribute or variable in which the search begins
    steps  the indices and keys that lead from there to the container
    """

    place: OutsidePlace
    steps: tuple[Any, ...]

    def finder(self, kind: type) -> Callable[[], Any]:
        """Return the function that finds the container; it raises TypeError if there is something of another class than `kind` by now."""
        get, steps = get_of(self.place.over(None)), self.steps

        def find() -> Any:
            found = get()
            for step in steps:
                found = found[step]
            if type(found) is not kind:
                raise TypeError(f"a {kind.__name__} was kept here when the graph was made, which changes it; now it is {described(found)}.")
            return found

        return find


class Change(NamedTuple):
    """A change of a container that the graph has to make.

    container  the one that stands for it in parsed code
    route      leads to it when the graph runs, as it is before the change
    parts      the new contents, in which containers are `Remade`: all items of a list from `start` on, or the new values of a dict by key
    start      the index of the first changed item of a list; for a dict, 0 if it is to be emptied first, else 1
    """

    container: Any
    route: Route
    parts: Any
    start: int


def making(changes: Sequence[Change]) -> Callable[[Any], None]:
    """Return the function that makes changes when the graph runs; it takes the filled parts of each.

    The routes lead through the containers as they are before all changes.  The function keeps no Cell alive, nor what parsed code has made.
    """
    finders, starts = [change.route.finder(type(change.container)) for change in changes], [change.start for change in changes]

    def make(parts: Any) -> None:
        found = [find() for find in finders]
        for container, part, start in zip(found, parts, starts, strict=True):
            if isinstance(container, list):
                container[start:] = part
                continue
            if not start:
                container.clear()
            container.update(part)

    return make


class _Before(NamedTuple):
    """A container of the run before changes that have no nodes yet.

    container  the one that stands for it in parsed code
    route      how the graph finds it
    parts      its items, or the pairs of a dict
    """

    container: Any
    route: Route
    parts: Sequence[Any]


class StoredContainers:
    """Knows the lists and dicts that parsed code has stored in attributes and variables, or has found there, and what the graph must do so
    that those of a run change like them.

    After each node, what parsed code finds from the places on has the structure of what a run finds: `route` tells how to find a container.
    Between a change and the next node this holds for the containers before the change.

    regions    the open regions
    journal    records changes, so that they can be undone
    structure  returns what must be the same of a container at the beginning and the end of a call, for otherwise each call would need a
        graph of its own
    """

    def __init__(self, regions: Regions, journal: Journal, structure: Callable[[Any], Any]):
        self._regions, self._journal, self._structure = regions, journal, structure
        self._places: dict[tuple[Any, ...], OutsidePlace] = {}
        """The places whose values may hold such containers, by key."""
        self._before: dict[int, _Before] = {}
        """If there are changes without a node, the containers before them, by id."""
        self._changed: dict[int, Loc] = {}
        """For the id of each container that has changed since the last node, or is about to, the line that changes it."""
        self._repeated: dict[int, Any] = {}
        """The containers all of whose changes the graph makes, by id."""
        self._refused: dict[int, Any] = {}
        """Those in which parsed code has put what a graph cannot store, by id."""
        self._first: dict[int, tuple[Any, Any]] = {}
        """For the id of each container that each run reads when it begins: the container, and its structure then."""
        self._found: dict[int, tuple[OutsidePlace, Any]] = {}
        """For the id of each container that is a constant of the graph: the place in which parsed code has found it, and the container."""
        self.wanted: dict[tuple[Any, ...], OutsidePlace] = {}
        """The places in whose containers parsed code has changed something that the graph takes for a constant, by key."""

    # -- where containers are ---------------------------------------------------------------------------------------------
    def hold(self, place: OutsidePlace, value: Any) -> None:
        """Record that a place gets a value, or has it when the graph begins: the containers in it are those of the run."""
        if any(containers_in(value)):
            self._places[place.key] = place

    def begin(self, place: OutsidePlace, value: Any) -> None:
        """Record that each run reads a value from a place when it begins."""
        self.hold(place, value)
        for container, _ in containers_in(value):
            self._first[id(container)] = container, self._structure(container)

    def found(self, place: OutsidePlace, value: Any) -> None:
        """Record that parsed code has found a container in an attribute or a variable from outside."""
        if type(value) in STORABLE and self.route(value) is None:
            self._found[id(value)] = place, value

    def route(self, x: Any) -> Route | None:
        """Return how the graph finds a container when it runs; None if no place is known to hold it."""
        if not self._places or type(x) not in STORABLE:
            return None
        if self._before:
            return self._before[id(x)].route if id(x) in self._before else None
        return next((Route(place, steps) for place, container, steps in self._all() if container is x), None)

    def _all(self) -> Iterator[tuple[OutsidePlace, Any, tuple[Any, ...]]]:
        for place in self._places.values():
            for container, steps in containers_in(place.get()):
                yield place, container, steps

    # -- changes ----------------------------------------------------------------------------------------------------------
    def change(self, x: Any, add: Callable[[Sequence[Change]], None]) -> None:
        """Prepare for a change that parsed code is about to make of a container: the graph will make it too, if it finds the container.

        add  adds the node for changes; kept only until the next node is added
        """
        if not self._places or type(x) not in STORABLE:
            return
        if not self._before:
            for place, container, steps in self._all():
                self._before.setdefault(id(container), _Before(container, Route(place, steps), _contents(container)))
        if id(x) in self._before:
            self._repeated[id(x)] = x
            self._changed.setdefault(id(x), self._regions.loc)
            self._regions.due = partial(self._write, add)
        elif not self._changed:
            self._before = {}
        if id(x) not in self._before:
            self._repeated.pop(id(x), None)

    def refuse(self, container: Any) -> None:
        """Record that the graph cannot make a change of a container."""
        self._refused[id(container)] = container

    def want(self, container: Any, before: Any, after: Any) -> None:
        """Record that the graph must find a container when it runs, since parsed code has changed it, and it may.

        before, after  a copy of its contents before the first change, and after the last
        """
        for place, value in self._found.values() if self._may_become(before, self._structure(before), after) else ():
            if any(each is container for each, _ in containers_in(value)):
                self.wanted[place.key] = place

    def _write(self, add: Callable[[Sequence[Change]], None]) -> None:
        """Add the node for the changes since the last node, at the first line that makes one."""
        loc, made = self._regions.loc, dict[int, Any]()
        changes = [change for which in self._changed if (change := self._change_of(self._before[which], made)) is not None]
        lines = [*self._changed.values()]
        if changes:
            self._regions.loc = lines[0]
            add(changes)
            self._regions.loc = loc
        self._before, self._changed = {}, {}

    def _change_of(self, before: _Before, made: dict[int, Any]) -> Change | None:
        """Return what has changed in a container since the last node; None if nothing has.

        made  the patterns of containers in the changes so far, by id
        """
        container, route, parts = before
        now = _contents(container)
        if isinstance(container, list):
            start = next((i for i, (a, b) in enumerate(zip(parts, now, strict=False)) if a is not b), min(len(parts), len(now)))
            if start == len(parts) == len(now):
                return None
            return Change(container, route, [self.pattern(part, made) for part in now[start:]], start)
        names = [name for name, _ in parts]
        grows = names == [name for name, _ in now[: len(names)]]
        changed = {name: part for i, (name, part) in enumerate(now) if not (grows and i < len(names) and parts[i][1] is part)}
        if grows and not changed:
            return None
        return Change(container, route, {name: self.pattern(part, made) for name, part in changed.items()}, int(grows))

    def repeats(self, place: ContentsPlace) -> bool:
        """Return True if the graph makes all changes of a container, and the next call finds one of the same structure."""
        x = place.container
        if id(x) not in self._repeated or id(x) in self._refused:
            return False
        return id(x) not in self._first or self._may_become(x, self._first[id(x)][1], x)

    def _may_become(self, kind: Any, before: Any, after: Any) -> bool:
        """Return True if the graph may change a container that it finds when it begins.  A list must keep its structure: one that grows in
        each call would need a graph for each.  A dict seldom does: its keys are constants of the program.

        kind    a container of its class
        before  its structure at the beginning of a call
        after   its contents at the end
        """
        return isinstance(kind, dict) or before == self._structure(after)

    # -- values -----------------------------------------------------------------------------------------------------------
    def pattern(self, value: Any, made: dict[int, Any] | None = None) -> Any:
        """Return a value with a `Remade` in place of each list and dict: a new one in each run, or the one that the run has stored.

        made  the patterns of containers seen so far, by id
        """
        made = {} if made is None else made
        if id(value) in made:
            return made[id(value)]
        if isinstance(value, tuple):
            return like(value, [self.pattern(part, made) for part in items(value) or ()])
        if type(value) not in STORABLE:
            return value
        route = self.route(value)
        if route is not None:
            made[id(value)] = found = Remade(begin=route.finder(type(value)))
            return found
        made[id(value)] = new = Remade(begin=type(value), end=put_contents)
        parts = [self.pattern(part, made) for part in items(value) or ()]
        new.parts = like(value, parts)
        return new

    def renewed(self, held: Any, value: Any) -> Any:
        """Return `value`, which the graph has read again from a place, with the containers of `held`, what parsed code knows of the place,
        in place of equal ones.  They get the new contents.
        """
        if isinstance(held, tuple):
            return like(held, [self.renewed(a, b) for a, b in zip(items(held) or (), items(value) or (), strict=True)])
        if type(held) not in STORABLE:
            return value
        parts = [self.renewed(a, b) for a, b in zip(items(held) or (), items(value) or (), strict=True)]
        self._journal.touch(ContentsPlace(held))
        return put_contents(held, like(held, parts))


def containers_in(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the lists and dicts in a value, with the indices and keys that lead to each."""
    kind = type(value)
    if kind in STORABLE:
        yield value, steps
    elif not isinstance(value, tuple):
        return
    parts = value.items() if isinstance(value, dict) else enumerate(items(value) or ())
    for step, part in parts:
        if type(part) in STORABLE or isinstance(part, tuple):
            yield from containers_in(part, (*steps, step))


def put_contents(container: Any, parts: Any) -> Any:
    """Give a list or dict new contents, and return it."""
    if isinstance(container, list):
        container[:] = parts
    elif keys(container) == keys(parts):
        container.update(parts)
    else:
        container.clear()
        container.update(parts)
    return container


def _contents(container: Any) -> list[Any]:
    return list(container.items()) if isinstance(container, dict) else list(container)
