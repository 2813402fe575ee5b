"""Guards: what a graph was made of, and the check that none of it has changed.

While a function is made into a graph, every constant that it reads from outside is recorded as a *place*: a global, a variable of an
enclosing function, an attribute (`places`), or an object as a whole (`objects`).  `freeze` takes a snapshot, the contents of all places
(`constants` defines when two values are the same), and compiles one function, `holds`, that compares the places with it (`check`).

How often a place is compared depends on whether a change would be reported.  The *epoch* is a number that rises with each reported change:

    when the epoch has moved   what cells contain, their hook slots, the types of tensors, settings; a write by
                               `object.__setattr__` into a cell is not seen
    at every call              everything else: by identity where the value cannot change while it is the same object, by value where
                               equal objects are put there again and again, item by item in containers, arrays and computed attributes

Guards keep an object that they compare by identity alive only if it does not support weak references, or cannot lead to a cell.  A graph
that belongs to a cell therefore does not keep the cell alive.  Once something that it depends on has been freed, the graph never holds
again.
"""

from __future__ import annotations

import math
import types
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from adjoint.foundation.diagnostics import UNKNOWN, Loc
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.call_results import CallResult
from adjoint.runtime.graphs.guards.changed_in_a_run import (
    ReadPlace,
    difference,
    difference_before,
    is_held,
    last_look,
    may_be_changed,
    none_has_changed,
)
from adjoint.runtime.graphs.guards.check import GuardConditions, Guarded, check_text, compiled_check
from adjoint.runtime.graphs.guards.constants import ignore
from adjoint.runtime.graphs.guards.disturbances import Disturbances, seen_parts
from adjoint.runtime.graphs.guards.objects import CellState, CellStructure, HookSlots, Numbers, Object, TypeOfTensor
from adjoint.runtime.graphs.guards.patterns import NumberPattern, Pattern, PatternKey
from adjoint.runtime.graphs.guards.places import Attribute, ClosureVariable, Global, Held, OwnAttribute, Place, Setting, Watch, named
from adjoint.runtime.graphs.guards.references import Life, Watched, address_of, reference
from adjoint.runtime.tensor.structure import items
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Guards"]


_RENEWALS = 3
"""How often a place may get another object of equal value before it is compared by value instead of by identity."""


class Guards:
    """Records what one graph is made from, and checks before each call that nothing of it has changed.

    `of_...` record what the graph depends on, `freeze` takes the snapshot of it, `holds` and `broken` compare with the snapshot.

    holds  returns True if every place contains what it contained when the snapshot was taken; returns False before there is a snapshot
    unchanged  the same check, made in the middle of a call, for the places that are read after code of the user's has been called
    clock  the number of reads so far
    is_disturbed  True after `freeze` if another thread has changed something while it was read

    is_shared  True if other threads may change what is read before `freeze`
    where      returns the line of the user's program that is being turned into the graph

    In the methods below `label` is the text by which the user's code refers to what was read, such as `self.rate`.
    """

    def __init__(self, is_shared: bool = False, where: Callable[[], Loc] | None = None) -> None:
        self.is_disturbed = False
        self._where = where or _nowhere
        self._read_at: dict[Hashable, Loc] = {}
        """The line of the user's program that first reads a place or a part of a place, by its address."""
        self._disturbances = Disturbances() if is_shared else None
        self._seen: dict[Hashable, tuple[Any, bool]] = {}
        """The value that the first read of a place found, by its address, with False if the object has it from its class."""
        self.holds: Callable[[], bool] = _without_snapshot
        self.unchanged: Callable[[], bool] = _without_snapshot
        self._recorded: dict[Hashable, Place] = {}
        """The places to compare, by their addresses."""
        self.clock = 0
        self._read: dict[Hashable, tuple[int, int]] = {}
        """For each place (variable or attribute), by its address: the times (counts of all reads) of its first and its last read."""
        self._looked: dict[int, tuple[object, int]] = {}
        """The containers whose items were read, by id, each with the time (a count of all reads) of the last such read."""
        self._reads: list[ReadPlace] = []
        """The places (variables, attributes) that the user's code, called in the middle of the graph, might change."""
        self._called: int | None = None
        """The time (a count of all reads) at which the graph first calls the user's code; None if it never does."""
        self._marks: dict[Hashable, float] = {}
        """For each site (the key of one call of hooks), after which a call may have to be continued in another graph: the number of reads
        made before it; infinity in loops and branches, where reads come before and after.
        """
        self._holders: tuple[Callable[[], Any], ...] = ()
        """References to the objects that are kept alive while the graph runs, since user's code is called in the middle of it."""
        self._places: list[Place] = []
        """The places of the snapshot."""
        self._conditions = GuardConditions()
        self._life = Life(lasts=False)
        self._watched = Watched(self._life)
        """Weak references to objects compared by identity, and to cells that contain places: when one is freed, the life ends at once."""
        self._by_epoch: list[Place] = []
        self._by_identity: list[Place] = []
        self._by_value: list[Guarded] = []
        self._renewals: Counter[Place] = Counter()
        """For each place that is compared by identity: how often it was found to hold a new object that equals the old one."""
        self._themselves: dict[int, object] = {}
        """The containers, by id, for which the graph depends on which object they are, and not only on their contents."""
        self._containing: list[_SameContainers] = []

    def begin(self) -> None:
        """Record which objects other threads change, from now until `end`; if the graph reads one, it is made again."""
        if self._disturbances is not None:
            self._disturbances.begin()

    # -- recording ----------------------------------------------------------------------------------------------------
    def of_name(self, namespace: dict[str, Any], name: str) -> None:
        """Record a read of a global variable or a builtin.

        namespace  the globals of the module
        name       the name of the variable
        """
        self._record(Global(namespace, name))

    def of_closure(self, cell: types.CellType, label: str = "") -> None:
        """Record a read of a variable of an enclosing function.

        cell  the Python cell that holds the variable
        """
        self._record(ClosureVariable(cell, label or "a variable of a function around"))

    def of_attribute(self, holder: object, name: str, label: str = "") -> None:
        """Record what `getattr(holder, name)` returns, or that it raises.  A property runs once at each comparison.

        holder  the object with the attribute
        """
        self._record(Attribute(reference(holder), name, label or f"{named(holder)}.{name}"))

    def of_cell(self, cell: Cell) -> None:
        """Record a whole built-in cell (one that this package defines) by one guard: all attributes, parameters and sub-cells that its code
        may read.
        """
        self._record(CellState(reference(cell), named(cell)))

    def of_structure(self, cell: Cell) -> None:
        """Record the sub-cells, parameters and buffers of a cell, and whatever else its class in the library reads, by one guard."""
        self._record(CellStructure(reference(cell), named(cell)))

    def of_pattern(self, place: Place, pattern_key: PatternKey, value: Any) -> None:
        """Record a place whose value is read again each time the graph runs, so that the graph depends only on the value's structure and
        types (its pattern).

        place        the variable or attribute
        pattern_key  returns the key of the pattern of a value
        value        what the place contains now
        """
        pattern = Pattern(place, pattern_key)
        self._record(pattern)
        self._seen[pattern.address()] = value, True

    def of_slots(self, cell: Cell) -> None:
        """Record which kinds of hooks a cell has, as a condition of the graph.  Call it before the hooks are read."""
        self._record(HookSlots(reference(cell), f"hooks of {named(cell)}"))

    def of_object(self, holder: object) -> None:
        """Record all attributes of an object, because Python itself calls one of its methods, as for `len(x)`, `x[0]` or `x + 1`."""
        self._record(Object(reference(holder), named(holder)))

    def of_outcome(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record what a Python function returns for objects from outside of the graph.  Each check calls the function again."""
        self._record(CallResult(function, arguments))

    def of_numbers(self, tensor: Tensor) -> None:
        """Record the numbers in a tensor from outside of the graph that Python has read."""
        self._record(Numbers(reference(tensor), f"the numbers of {named(tensor)}"))

    def of_setting(self, read: Callable[[str], Any], name: str) -> None:
        """Record a setting that was read; `read(name)` returns it.  It is compared only after a change, since any change of a setting is
        reported.
        """
        self._record(Setting(read, name))

    def of_tensor_type(self, tensor: Tensor) -> None:
        """Record the dtype and shape of a parameter or of another tensor from outside of the graph."""
        self._record(TypeOfTensor(reference(tensor), f"the type of {named(tensor)}"))

    def of_identity(self, x: object) -> None:
        """Record that a container must stay the same object: another container with the same contents in its place makes the check fail."""
        self._themselves[id(x)] = x

    def saw(self, place: Place, value: Any, is_own: bool) -> None:
        """Record the value that the first read of a place found: the snapshot holds it, even if other threads have written since.

        is_own  False if an attribute was found in the object's class, not in the object itself
        """
        self._seen.setdefault(place.address(), (value, is_own))

    def constants_at(self, addresses: Collection[Hashable]) -> Iterator[tuple[Place, Loc]]:
        """Yield the places with these addresses whose values the graph takes for constants, each with the line that first reads it."""
        for place in self._recorded.values():
            for part in place.parts():
                if part.address() in addresses:
                    yield place, self._read_at.get(part.address()) or self._read_at.get(place.address(), UNKNOWN)

    def _record(self, place: Place) -> None:
        address = place.address()
        if self._disturbances is not None and address not in self._recorded:
            self._disturbances.before(place)
        self.clock += 1
        if address not in self._recorded:
            self._recorded[address], self._read_at[address] = place, self._where()
        self._read[address] = self._read.get(address, (self.clock,))[0], self.clock

    def look_into(self, container: object) -> None:
        """Record that parsed code reads the items of a container from outside; the place in which it was found is recorded separately."""
        self.clock += 1
        self._looked[id(container)] = container, self.clock

    def count(self) -> int:
        """Return how many places (variables, attributes, objects) have been recorded so far.  Two such numbers tell `forget` which places
        to drop.
        """
        return len(self._recorded)

    def called(self, after: int) -> None:
        """Record that the graph calls the user's code, which may change what was read before.

        after  the number of reads (`clock`) that come before this call
        """
        self._called = after if self._called is None else min(self._called, after)

    def mark(self, site: Hashable, repeated: bool) -> None:
        """Record how many reads the graph makes before a site (the key of one call of hooks).

        A call may have to be continued in another graph after this site.  `changed_before` then compares what the graph has read up to
        here.

        repeated  True in a loop, or in a branch that a tensor decides: reads may come before and after the site, so all are compared
        """
        self._marks[site] = math.inf if repeated else self.clock

    def forget(self, since: int, until: int) -> None:
        """Drop the places that were recorded between two values of `count`, since the graph does not depend on them after all.

        since, until  the results of `count` before and after these reads
        """
        for recorded in [*self._recorded][since:until]:
            del self._recorded[recorded]

    # -- the snapshot -------------------------------------------------------------------------------------------------
    def freeze(self, as_found: Callable[[Any], Any] = lambda value: value) -> None:
        """Take the snapshot: what each place contained when it was first read, or what it contains now if the first read was not recorded.

        Places in objects that have been freed already are dropped: making the graph made these objects, and nothing can change them.

        as_found  returns a value in which containers have the contents that were read
        """
        life = Life()
        watched = Watched(life)
        parts: dict[Hashable, Place] = {}
        seen: dict[Hashable, Any] = {}
        reads: dict[Hashable, ReadPlace] = {}
        looked = {i: at for i, (_, at) in self._looked.items() if self._called is not None and at > self._called}
        for recorded, place in self._recorded.items():
            given, found = seen_parts(place, *self._seen[recorded]) if recorded in self._seen else (place.parts(), {})
            for part in given:
                address = part.address()
                part = parts.setdefault(address, part)  # cells of one class share the attributes of the class
                self._read_at.setdefault(address, self._read_at.get(recorded, UNKNOWN))
                if address in found:
                    value = found[address]
                    if address in seen and part.key_of(seen[address], ignore) != part.key_of(value, ignore):
                        self.is_disturbed = True
                    seen[address] = value
                if self._called is not None and may_be_changed(place):
                    first, last = self._read[recorded]
                    if looked:
                        last = max(last, last_look(self._seen[recorded][0] if recorded in self._seen else part.read(), looked))
                    reads.setdefault(address, ReadPlace(part)).at(first, last)
        self._reads = [*reads.values()]
        if self._called is not None:
            held = {address_of(part.held): part.held for part in parts.values() if isinstance(part, Held) and is_held(part.held())}
            self._holders = tuple(held.values())
        by: dict[Watch, list[Place]] = {"epoch": [], "identity": [], "value": []}
        for address, part in parts.items():
            value = as_found(seen[address] if address in seen else part.read())
            if address not in seen and self._disturbances is not None and self._disturbances.concern(part):
                self.is_disturbed = True
            part.take(value, watched)
            by[part.watch(value)].append(part)
        self._places = [*parts.values()]
        # Settings first: they are quick to compare, and graphs may differ in nothing else.
        self._by_epoch = sorted(by["epoch"], key=lambda place: not isinstance(place, Setting))
        self._by_identity = by["identity"]
        if self._themselves:
            containing = [_SameContainers(part, self._themselves) for part in (*self._by_epoch, *by["value"])]
            self._containing = [same for same in containing if same.ids]
        self._by_value = [*by["value"], *self._containing]
        for part in self._places:
            if isinstance(holder := part.holder(), Cell):
                watched.add(holder)
        self._life, self._watched = life, watched
        self._read_at = {address: self._read_at[address] for address in parts}
        self._seen, self._looked, self._disturbances, self._where = {}, {}, None, _nowhere  # they keep objects alive
        self._compile()

    @property
    def others_changed(self) -> bool:
        """Return True if another thread has changed a cell, a tensor's type or a setting since `begin`."""
        return self._disturbances is not None and self._disturbances.any

    def changed_by_others(self, cell: Cell, name: str) -> bool:
        """Return True if another thread has changed an attribute of a cell since `begin`."""
        return self._disturbances is not None and self._disturbances.has(cell, name)

    def end(self) -> None:
        """Stop recording what other threads change."""
        if self._disturbances is not None:
            self._disturbances.end()

    def give_up(self) -> None:
        """Make the check fail from now on, so that the graph serves only the call for which it was made."""
        self._life.end(None)

    def _compile(self) -> None:
        conditions = GuardConditions()
        for place in self._by_identity:
            conditions.expressions.append(place.condition(conditions))
        if self._called is not None:
            of = {id(place): kind for kind, places in (("identity", self._by_identity), ("epoch", self._by_epoch)) for place in places}
            called = self._called
            self.unchanged = none_has_changed([read for read in self._reads if read.last > called], of, self._watched)
        # The function must not keep its guards alive: they would be freed only by the garbage collector.
        renew = partial(_renewed, weakref.ref(self))
        self._conditions = conditions
        self.holds = compiled_check(conditions, self._life, self._watched, self._by_epoch, self._by_value, renew)

    def renew(self) -> bool:
        """Check by value the places that are compared by identity; return True if all contain values equal to those of the snapshot.

        If so, compare with their present objects from now on.  A place that often has another object of equal value is compared by value
        from then on.
        """
        values: list[Any] = []
        for place in self._by_identity:
            value = place.read()
            if place.key_of(value, ignore) != place.key:
                return False
            values.append(value)
        for place, value in zip(self._by_identity, values, strict=True):
            if id(value) != place.value_id:
                place.take(value, self._watched)
                self._renewals[place] += 1
        often = [place for place in self._by_identity if self._renewals[place] > _RENEWALS]
        if often:
            self._by_identity = [place for place in self._by_identity if place not in often]
            self._by_value = [*often, *self._by_value]
        self._compile()
        return True

    # -- asking -------------------------------------------------------------------------------------------------------
    def as_text(self) -> tuple[list[str], dict[str, Any]]:
        """Return the check as source text, to become a part of the function that does a whole call, and the values of its variables.

        The statements return NOT_RUN from that function unless the guards (conditions for running a graph again) hold.
        """
        if self._by_value:
            return ["if not guards.holds(): return NOT_RUN"], {"guards": self}
        statements, objects = check_text(self._conditions, self._life)
        return statements, {**objects, "guards": self}

    def life_beyond(self, cell: Cell, name: str) -> tuple[Life, NumberPattern] | None:
        """Return what a fast write of a number to an attribute of a cell needs to know; None if the graph does not allow such a write.

        That is the `Life` of the guards (conditions for running a graph again), and the pattern (type and bound) of the number: the guards
        stay valid if any number of this pattern is written.  The graph does not allow it if it depends on the attribute in another way than
        through one such pattern.
        """
        concerned = [place for place in self._by_epoch if place.holder() is cell and not _is_other(place, name)]
        patterns = [place.key for place in concerned if isinstance(place, Pattern)]
        if len(patterns) != 1 or len(concerned) != 1 or not isinstance(patterns[0], NumberPattern):
            return None
        return self._life, patterns[0]

    def variables(self) -> Iterator[Place]:
        """Yield the attributes and variables whose values the graph depends on."""
        return (place for place in self._places if isinstance(place, (Attribute, OwnAttribute, Global, ClosureVariable)))

    def compares_all_of(self, holder: object, name: str) -> bool:
        """Return True if one guard compares all attributes of an object, the one of this name among them: then the graph cannot read it
        each time it runs.

        holder  the object
        """
        return any(isinstance(place, (CellState, Object)) and place.holder() is holder and place.covers(name) for place in self._places)

    def when_gone(self, call: Callable[[], None]) -> None:
        """Register a function to call once, when an object that the graph depends on is freed: the check cannot succeed any more."""
        self._life.ended.append(call)

    @property
    def lasts(self) -> bool:
        """False once an object that the graph depends on has been freed: the check cannot succeed any more."""
        return self._life.lasts

    @property
    def gone(self) -> str:
        """Return a name, such as `self.rate`, for something that was read in an object that has been freed; "" if none is known."""
        return next((place.label for place in self._places if place.holder() is None), "")

    def changed(self, before: int, after: int) -> tuple[str, bool]:
        """Describe something that the user's code has changed and that the graph reads after calling it; "" if there is nothing, so that
        the call can go on.

        The second value is True if the graph also reads it before that call.

        before, after  numbers of reads (`clock`): those up to `before` come before the call, those after `after` come after it
        """
        return difference(self._reads, before, after)

    def changed_before(self, site: Hashable, written: Collection[Hashable]) -> str:
        """Describe something that has changed since the graph read it, where it was read before a site; "" if there is nothing.

        site     the key of the call of hooks after which the call is continued in another graph
        written  the addresses of the places that the graph itself writes: these are left out
        """
        reads = [each for each in self._reads if each.place.address() not in written]
        return difference_before(reads, self._marks.get(site, math.inf))

    def alive(self) -> list[Any]:
        """Return the objects that must be kept alive while the graph runs, because the user's code may replace them in the middle of it.

        In eager mode the running functions keep such objects alive.
        """
        return [holder() for holder in self._holders]

    def broken(self) -> str:
        """Describe the first place that has changed, such as "self.rate was 0.1, is 0.2"; "" if there is none."""
        return self.broken_at()[0]

    def broken_at(self) -> tuple[str, Loc]:
        """Return what `broken` returns (a text about the first place that has changed), and the line of the program that reads this place.
        """
        for place in self._places:
            if found := place.difference():
                return found, self._read_at.get(place.address(), UNKNOWN)
        found = next((found for same in self._containing if (found := same.difference())), "")
        return found or ("" if self._life.lasts else "something that was read is gone"), UNKNOWN


def _is_other(place: Place, name: str) -> bool:
    """Return True for a place whose contents do not change when the attribute `name` of its cell is written."""
    place = place.place if isinstance(place, Pattern) else place
    return isinstance(place, HookSlots) or (isinstance(place, OwnAttribute) and place.name != name)


def _nowhere() -> Loc:
    return UNKNOWN


def _without_snapshot() -> bool:
    return False


def _renewed(guards: weakref.ref[Guards]) -> bool:
    found = guards()
    return found is not None and found.renew()


class _SameContainers:
    """Checks that a place still leads to the same container objects, where the graph depends on which objects they are.

    place   the variable or attribute from which the containers are reached
    wanted  by id, the containers whose identity the graph depends on
    ids     the ids of those found when the snapshot was taken, in order
    """

    __slots__ = ("_place", "_wanted", "ids")

    def __init__(self, place: Place, wanted: Mapping[int, object]):
        self._place, self._wanted = place, wanted
        self.ids = self._found()

    def _found(self) -> list[int]:
        found: list[int] = []
        pending, seen = [self._place.read()], set[int]()
        while pending:
            x = pending.pop()
            if id(x) in self._wanted:
                found.append(id(x))
            elif id(x) not in seen:
                seen.add(id(x))
                pending += items(x) or ()
        return found

    def holds(self, watched: Watched) -> bool:
        return self._found() == self.ids

    def difference(self) -> str:
        return "" if self._found() == self.ids else f"what {self._place.label} holds is another one with the same contents"
