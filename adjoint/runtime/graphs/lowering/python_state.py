"""Python state outside of the function that parsed code writes: each run reads and writes it, in order with its other effects.

    self.n += 1     n: i64 = apply! @Net.n.read()
                    a: i64 = add(n, 1_i64)
                    apply! @Net.n.write(a)

A *place* is an attribute, a global variable or a variable of an enclosing function.  While the code is parsed, the workspace holds the
values that it writes to a place, which may contain symbols of the graph.  The place itself is not changed.

    loaded    places that a graph reads when it begins: their numbers and tensors are values of the graph
    written   all other places that it writes: parsed code reads in them the value found while parsing, which guards compare
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from adjoint.frontend.changes.journal import AttributePlace, CellPlace, ContentsPlace, ItemPlace, Journal, MutablePlace, OutsidePlace
from adjoint.frontend.changes.outside import Outside
from adjoint.frontend.changes.workspace import Workspace
from adjoint.frontend.values.text import RunTimeText
from adjoint.ir.core import symbol_like
from adjoint.ir.ops.host import Apply, NumberAccess
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.kept_attributes import KeptAttributes
from adjoint.runtime.graphs.graph import ContentsChange, StateAccess
from adjoint.runtime.graphs.guards.constants import is_rooted
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.guards.places import Attribute, ClosureVariable, Global, Place, named
from adjoint.runtime.graphs.guards.references import reference
from adjoint.runtime.graphs.inputs.outline import OutlineSlot, Remade, filled, outline_key, outlined, slots_of
from adjoint.runtime.graphs.inputs.python_state import (
    STORABLE,
    NumberSlot,
    can_hold,
    get_of,
    is_plain,
    living_holder,
    number_getter,
    number_pattern,
    number_putter,
    number_slot,
    pattern_key,
    pattern_of,
    put_of,
    reader,
    stand_in,
    writer,
)
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.lowering.categories import DYNAMIC, NUMBERS, tensor_slot
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.stored_containers import Change, StoredContainers, containers_in, making
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import items
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Begun", "PythonState", "guarded"]


class PythonState:
    """Adds nodes that read and write attributes and variables from outside of the graph when the graph runs.

    Such an attribute or variable is a *place*.

    regions, values, hosts, guards  the parts of the `Lowering` that it uses
    journal    records what parsed code changes
    workspace  keeps what parsed code writes to places
    outside    knows the objects that existed before
    loaded     the places whose numbers and tensors are values of the graph
    begun      the contents of places at the beginning of a call, if these differ from the present ones
    """

    def __init__(self, regions: Regions, values: Values, hosts: Hosts, guards: Guards, journal: Journal, workspace: Workspace,
                 outside: Outside, loaded: Sequence[OutsidePlace], begun: Begun | None):
        self._regions, self._values, self._hosts, self._guards = regions, values, hosts, guards
        self._journal, self._workspace, self._outside, self._begun = journal, workspace, outside, begun
        self.containers = StoredContainers(regions, journal, _structure)
        self._kept = KeptAttributes()
        self.loaded = {place.key: place.over(workspace) for place in loaded}
        self._written: dict[tuple[Any, ...], OutsidePlace] = {}
        self._read: set[tuple[Any, ...]] = set()
        """The keys of places that parsed code has read before writing them."""
        self._own: set[tuple[Any, ...]] = set()
        """The keys of attributes and variables that parsed code (the user's code of the graph) writes whichever branches are taken."""
        self._refused: set[tuple[Any, ...]] = set()
        self._before: dict[tuple[Any, ...], tuple[OutsidePlace, _Held]] = {}
        """For the key of each attribute or variable: the place, and its contents at the beginning of a call."""
        self._since: dict[tuple[Any, ...], tuple[Any, int]] = {}
        """For the key of each attribute or variable whose value in the graph is known: that value, and the count `Regions.user_code` when
        it was read or written.

        If the count is higher by now, the user's code has run since and may have changed the value.
        """

    def begin(self) -> None:
        """Append the nodes that read, at the beginning of the graph, the attributes and variables whose values the graph depends on."""
        for living, held in () if self._begun is None else self._begun.held:
            self._workspace.begin(living(), held.value, held.is_own)
        for place in self.loaded.values():
            value = self._remember(place)
            self._guards.of_pattern(guarded(place), pattern_key, value)
            self._load(place, pattern_of(value)[0], functools.partial(self._loaded, place))

    def _loaded(self, place: OutsidePlace, value: Any) -> Any:
        place.set(value)
        self.containers.begin(place, value)
        return value

    # -- writing ----------------------------------------------------------------------------------------------------------
    def can_write(self, value: Any) -> bool:
        """Return True if a graph can write this value to an attribute or variable when it runs: tensors, numbers and constants, alone or in
        tuples, or in lists and dicts that parsed code has made.
        """
        if type(value) in STORABLE and self.containers.route(value) is None and self._outside.holds(value):
            return False
        if isinstance(value, tuple) or type(value) in STORABLE:
            return all(map(self.can_write, items(value) or ()))
        if isinstance(value, (*DYNAMIC, RunTimeText)):
            return not isinstance(value, Parameter)
        return is_rooted(value)

    def can_keep(self, place: OutsidePlace, value: Any) -> bool:
        """Return True if a write to an attribute or variable can stay in the workspace, the record of writes that only parsed code (the
        user's code of the graph) sees.

        The write must run no code of the user's, and have no other effect than that the value is there afterwards.

        place  the attribute or variable
        value  what is written
        """
        return is_plain(place) and can_hold(place, value)

    def keep_attributes(self, holder: Any, values: dict[str, Any]) -> None:
        """Let unparsed code of the library find in `holder` the values that parsed code has written to its attributes.

        A cell of the user's that parsed code has changed then works for unparsed code, too; `end` takes the values back.
        """
        if isinstance(holder, Cell):
            self._kept.add(holder, values)

    def write(self, place: OutsidePlace, value: Any) -> bool:
        """Add a node for a write to an attribute or variable, which parsed code (the user's code of the graph) is about to make.

        Return False if the graph cannot make this write each time it runs.
        """
        if place.key in self._refused or place.workspace is None or not (is_plain(place) and self.can_write(value)):
            self._refused.add(place.key)
            return False
        self._regions.catch_up()
        self._remember(place)
        if self._journal.is_open:
            self.read(place.key)  # the value is merged with that of another path
        else:
            self._own.add(place.key)
        label, put = _label(place), put_of(place.over(None))
        outline, leaves = outlined(self.containers.pattern(value), tensor_slot)
        is_number = isinstance(outline, OutlineSlot) and outline.category in ("int", "float")
        number = number_putter(place.over(None), self._guards, put) if is_number else None
        constant = value if type(value) in (int, float) else None
        self._hosts.library_call(functools.partial(StateAccess, number=number, place=place.key, constant=constant), f"{label}.write",
                                 writer(outline, put), leaves, (), f"{label} = ..", _kind_of_access(value, slots_of(outline)))
        self.containers.hold(place, value)
        self._regions.has_effect = True
        self._written[place.key] = place
        self._since[place.key] = value, self._regions.user_code
        return True

    def refuse(self, place: OutsidePlace) -> None:
        """Record that parsed code (the user's code of the graph) changes an attribute or variable in a way that the graph cannot repeat."""
        self._refused.add(place.key)

    def is_written(self, place: MutablePlace) -> bool:
        """Return True if the graph itself, each time it runs, makes all changes of an attribute, a variable or a container that its code
        makes.
        """
        if isinstance(place, ContentsPlace):
            return self.containers.repeats(place)
        return place.key in self._written and place.key not in self._refused

    def change(self, container: Any) -> None:
        """Prepare for parsed code to change a list or dict, so that the graph changes the one that it has stored, too."""
        self.refresh(container)
        self.containers.change(container, self._change)

    def _change(self, changes: Sequence[Change]) -> None:
        """Add a node that changes lists and dicts in attributes and variables."""
        kept: list[Change] = []
        for change in changes:
            if is_plain(change.route.place) and all(map(self._is_storable, items(change.parts) or ())):
                kept.append(change)
            else:
                self._refused.add(change.route.place.key)
                self.containers.refuse(change.container)
        if not kept:
            return
        labels = ["".join([_label(change.route.place), *(f"[{step!r}]" for step in change.route.steps)]) for change in kept]
        outline, leaves = outlined([change.parts for change in kept], tensor_slot)
        self._hosts.library_call(ContentsChange, f"{_label(kept[0].route.place)}.change", writer(outline, making(kept)), leaves, (),
                                 f"{', '.join(labels)} changes")
        self._regions.has_effect = True

    def _is_storable(self, part: Any) -> bool:
        """Return True if the graph can put a value into a list or dict, in which new lists and dicts are `Remade`."""
        if isinstance(part, Remade):
            return all(map(self._is_storable, items(part.parts) or ()))
        return all(map(self._is_storable, part)) if isinstance(part, tuple) else self.can_write(part)

    # -- reading ----------------------------------------------------------------------------------------------------------
    def refresh(self, container: Any) -> None:
        """Prepare for parsed code to read a list or dict: if the graph has stored it, and user's code may have changed it since, the graph
        reads it again.
        """
        route = self.containers.route(container)
        if route is not None:
            self._refresh(route.place)

    def read(self, key: tuple[Any, ...]) -> bool:
        """Prepare for parsed code (the user's code of the graph) to read an attribute or variable, given by its key; call it before the
        read.

        Return True if the value found there is not a constant of the graph, so that no guard is needed.
        """
        place = self.loaded.get(key) or self._written.get(key)
        if place is None:
            self._read.add(key)
            return False
        self._refresh(place)
        if key in self.loaded or key in self._own:
            return True
        self._read.add(key)
        return False

    def _refresh(self, place: OutsidePlace) -> None:
        """Add a node that reads an attribute or variable again, if the value known so far cannot be used any more.

        That is so if user's code may have written it, or if the value belongs to a region (a branch or loop) that has ended.
        """
        held = place.get()
        pattern, found = outlined(held, _symbolic)
        if _holds_text(held) or not (found or any(containers_in(held))):
            return
        known, since = self._since.get(place.key, (None, 0))
        # The value differs from the one that was put there: values of several paths have been merged.
        is_current = since == self._regions.user_code if known is held else not self._regions.user_code
        if is_current and all(self._regions.is_open(x.home) or self._regions.is_of_cell(x.home) for x in found):
            return
        self._load(place, pattern, functools.partial(self._reload, place, held), again=True)

    def _reload(self, place: OutsidePlace, held: Any, value: Any) -> Any:
        """Put what the graph has read again where parsed code looks for a place, and return what is there then.  Lists and dicts stay the
        same objects.

        held   what it has found there so far
        value  what was read
        """
        renewed = self.containers.renewed(held, value)
        if renewed is not held:
            self._journal.write(place, renewed)
        return renewed

    def _load(self, place: OutsidePlace, pattern: Any, put: Callable[[Any], Any], again: bool = False) -> None:
        """Add a node that reads an attribute or variable each time the graph runs.  From now on parsed code (the user's code of the graph)
        finds the node's results there.

        pattern  the structure of the value, with slots for tensors and numbers; if it has neither slots nor lists or dicts, nothing is done
        put      called once with the structure, its slots filled with the node's results; it stores this where parsed code looks, not in
            the user's object, and returns what is there then
        again    True for a further read of a place, which the running graph itself may have written (`_refresh`): then a gradient may flow
            through the read, if a tape records the call
        """
        slots = slots_of(pattern)
        if not slots and not any(containers_in(pattern)):
            return
        label, get = _label(place), get_of(place.over(None))
        contents = reader(pattern, label)

        def read() -> Sequence[Tensor]:
            return contents(get())

        wanted = number_pattern(pattern)
        access = functools.partial(StateAccess, place=place.key) if wanted is None else functools.partial(
            StateAccess, number=number_getter(place.over(None), wanted, get, contents), bound=wanted.bound or math.inf, place=place.key)
        results = self._hosts.library_call(None if again else access, f"{label}.read", read, (),
                                           [slot.type for slot in slots], label, Apply if again else _kind_of_access(pattern, slots))
        for result in results:
            result.hint = symbol_like(label.rpartition(".")[2], "x")
        values = self._values
        leaves = [values.number(slot.category, value, slot.bound or None) if isinstance(slot, NumberSlot) else values.tensor(value)
                  for slot, value in zip(slots, results, strict=True)]
        self._since[place.key] = put(filled(pattern, leaves)), self._regions.user_code

    # -- the end ----------------------------------------------------------------------------------------------------------
    def _remember(self, place: OutsidePlace) -> Any:
        """Return what an attribute or variable contained at the beginning of the call, and remember it."""
        known = self._before.get(place.key)
        if known is None:
            known = self._before[place.key] = place, _Held(place.get(), self._workspace.is_own(place))
        return known[1].value

    def end(self) -> None:
        """Take back the values that were put into the user's objects for unparsed code (code of the library, which runs as it is)."""
        self._kept.end()
        self._regions.due = None
        self._workspace.withdraw()
        lowering_lock.hide()

    @property
    def found(self) -> list[OutsidePlace]:
        """Return the attributes and variables that parsed code (the user's code of the graph) read and wrote as constants, although they
        hold numbers or tensors.  The next attempt to make the graph reads them each time it runs.
        """
        differ = [place for key, place in self._written.items()
                  if key in self._read and slots_of(pattern_of(self._before[key][1].value)[0])]
        changed = [place for place in self.containers.wanted.values() if is_plain(place)]
        return [place.over(None) for place in (*differ, *changed) if place.key not in self.loaded]

    @property
    def numbers(self) -> frozenset[Any]:
        """Return the keys of the attributes and variables from which the graph reads a number each time it runs.  If parsing failed because
        Python needed to know a number, it may be one of these.
        """
        return frozenset(key for key in self.loaded if any(
            isinstance(slot, NumberSlot) for slot in slots_of(pattern_of(self._before[key][1].value)[0])))

    @property
    def needs_care(self) -> bool:
        """True if the graph must be made a second time, with a read of an attribute or variable wherever user's code may have written it.

        That is so if user's code runs in a branch or a loop: it may write between two reads, but the first attempt reads once.
        """
        return bool(self.loaded or self._written) and self._hosts.user_code_inside and not self._regions.restless

    def begun(self) -> Begun:
        """Return what the attributes and variables contained at the beginning of the call, for another graph in which the call may be
        continued.
        """
        held = [(_lasting(place), before.as_pattern() if key in self.loaded else before) for key, (place, before) in self._before.items()]
        return Begun(held, [_lasting(place) for place in self.loaded.values()])


class _Held(NamedTuple):
    """The contents of an attribute or variable at the beginning of a call.

    value   its value
    is_own  False for an attribute that the object has from its class
    """

    value: Any
    is_own: bool

    def as_pattern(self) -> _Held:
        """Return a copy of this record with zeros in place of numbers and tensors, since these differ from call to call."""
        return self._replace(value=stand_in(pattern_of(self.value)[0]))


class Begun:
    """What attributes and variables contain at the beginning of calls of one graph.

    A call may have to be continued in another graph, for which the function is parsed again from these values.

    held    functions that return the places (attributes, variables) that the graph reads and writes, each with the place's contents
    loaded  functions that return the places whose numbers and tensors are read in each call; the graph was made for the values of the
        others
    """

    def __init__(self, held: Sequence[tuple[Callable[[], OutsidePlace], _Held]], loaded: Sequence[Callable[[], OutsidePlace]]):
        self.held, self.loaded = held, loaded

    @property
    def is_empty(self) -> bool:
        """True if the graph neither reads nor writes Python state."""
        return not self.held

    def addresses(self) -> set[Any]:
        """Return the addresses of these attributes and variables, by which guards (conditions for running a graph again) identify them; the
        guards then ignore what the graph itself has written.
        """
        return {part.address() for living, _ in self.held for part in guarded(living()).parts()}


def _kind_of_access(value: Any, slots: Sequence[OutlineSlot]) -> type[Apply]:
    """Return the op for a node that reads or writes a value with these slots.

    It is NumberAccess if all are numbers, whose identity does not matter, else Apply.
    """
    return Apply if any(slot.category == "tensor" for slot in slots) or any(containers_in(value)) else NumberAccess


def _structure(value: Any) -> Hashable:
    """Return a key that is equal for two values with the same structure and types, and the same constants besides tensors and numbers."""
    return outline_key(outlined(value, _any_slot)[0])


def _any_slot(x: Any) -> OutlineSlot | None:
    category = type(x).__name__
    return OutlineSlot(category, NUMBERS[category][1]) if type(x) in (int, float) else tensor_slot(x)


def _symbolic(x: Any) -> OutlineSlot | None:
    if isinstance(x, GraphTensor):
        return OutlineSlot("tensor", x.type)
    return number_slot(x.category, 2**63 - 1) if isinstance(x, GraphNumber) else None


def _holds_text(x: Any) -> bool:
    """Return True if a value contains text with run-time numbers (known only when the graph runs): when it runs, that is a str, which
    cannot be taken apart.
    """
    return any(map(_holds_text, items(x) or ())) if isinstance(x, tuple) or type(x) in STORABLE else isinstance(x, RunTimeText)


def guarded(place: OutsidePlace) -> Place:
    """Return an attribute or variable, as the frontend knows it, in the form in which guards record and compare it."""
    match place:
        case AttributePlace(holder=ModuleType() as module, name=name):
            return Global(vars(module), name)
        case AttributePlace(holder=holder, name=name):
            return Attribute(reference(holder), name, f"{named(holder)}.{name}")
        case ItemPlace(holder=namespace, name=name):
            return Global(namespace, name)
        case CellPlace(cell=cell):
            return ClosureVariable(cell, "a variable of a function around")
    raise TypeError(f"{place!r} is not guarded")


def _label(place: OutsidePlace) -> str:
    match place:
        case AttributePlace(holder=holder, name=name):
            return f"{named(holder)}.{name}"
        case ItemPlace(name=name):
            return str(name)
        case _:
            return "nonlocal"


def _lasting(place: OutsidePlace) -> Callable[[], OutsidePlace]:
    """Return a function that returns an attribute or variable, as the frontend knows it, without keeping a cell alive.

    It raises RuntimeError once the object with the attribute has been freed.
    """
    if not isinstance(place, AttributePlace):
        bare = place.over(None)
        return lambda: bare
    return functools.partial(_attribute, reference(place.holder), place.name)


def _attribute(held: Callable[[], Any], name: str) -> AttributePlace:
    return AttributePlace(living_holder(held), name)
