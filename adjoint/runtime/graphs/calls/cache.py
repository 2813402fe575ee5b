"""The cache of graphs of one function or cell.

A graph is looked up by the template of the arguments (their structure with the tensors taken out) and by its guards (the conditions under
which it may run again).  The graphs of all functions together count towards the budget, the limit in bytes for all caches.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from adjoint.foundation.budget import Cache, budget
from adjoint.ir.types import TensorType
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.call_functions import NOT_RUN
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.inputs.changing_numbers import ChangingNumbers
from adjoint.runtime.graphs.inputs.changing_state import ChangingState
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.graphs.reports.history import NO_REASON, CallCounts, History, MadeGraph, is_logged
from adjoint.runtime.graphs.reports.ways import RECORDED, RECORDED_AROUND, Way, Why
from adjoint.runtime.process.context import get_context

__all__ = ["Graphs", "GraphsOfCells"]

_KEPT = 64
"""How many graphs are kept for one template (structure of arguments), the last used first: each call checks their guards in order."""

_QUICK = 8
"""How many fast functions, one for each kind of arguments, are tried in turn before a call's template is made."""

_TEMPLATE = 1500
"""Estimated bytes of one entry of a cache, without its graphs: a template (the structure and types of the arguments) and a list."""


class _Lowered(Protocol):
    @property
    def guards(self) -> Guards: ...


class _Entry(Protocol):
    @property
    def lowered(self) -> _Lowered: ...
    @property
    def nbytes(self) -> int: ...


class _Entries(list[Any]):
    """The list of graphs for one template (one structure of arguments), the last used first.

    used  the value of `budget.period` at the last look-up.  This number rises as the caches grow; when they exceed the budget (their limit
        in bytes), the lists with the lowest numbers are evicted first
    """

    __slots__ = ("__weakref__", "used")

    def __init__(self) -> None:
        super().__init__()
        self.used = budget.period


class Graphs(dict[Template, _Entries]):
    """The cache of the graphs of one function or Cell: a map from templates (structures of arguments) to lists of graphs, the last used
    first.

    A look-up takes no lock.  If it misses an entry because another thread is reordering a list, it is repeated under `lowering_lock`, which
    must be held to add an entry.

    call           runs the user's function or cell while it becomes a graph; called with the lowering and the arguments
    count          the number of positional arguments if the fast functions take them one by one; None if they take `args, kwargs`
    must_be_whole  True if a call must raise where it would not run entirely as a graph (`fullgraph=True`)
    """

    __slots__ = (
        "__weakref__", "_of_tensors", "any_size", "call", "calls", "constant", "count", "gradients", "history", "must_be_whole",
        "numbers", "others", "quick", "recorded", "state",
    )

    def __init__(self, call: Callable[..., Any], count: int | None = None, must_be_whole: bool = False) -> None:
        super().__init__()
        self.call = call
        """The function that runs the user's function or cell while it becomes a graph; it is called with the lowering and the arguments."""
        self.count = count
        """The number of positional arguments if the fast function `quick` is called as `quick(a, b)`; None if it is called as `quick(args,
        kwargs)`.
        """
        self.must_be_whole = must_be_whole
        """True (`fullgraph=True`) if a call must raise where it would not run entirely as a graph."""
        self.history = History()
        """The record of the graphs that were made, with the reasons."""
        self.calls: CallCounts | None = None
        """Counts of how the calls ran; None until somebody asks for them."""
        self.constant: set[Any] = set()
        """The keys of attributes and variables that hold numbers which Python needs to know while parsing: each such number has a graph of
        its own.
        """
        self.any_size: dict[Template, Any] = {}
        """What is known of graphs with named sizes (`any_size`), by the template of the arguments without their sizes."""
        self.numbers = ChangingNumbers()
        """Decides which numbers among the arguments are inputs of the graphs."""
        self.state = ChangingState()
        """Decides which attributes and names outside of the function its graphs read each time they run."""
        self._of_tensors: dict[tuple[TensorType, ...], _Entries] = {}
        """Fast path: graphs whose arguments are all positional tensors, if used in this period of the budget."""
        self.quick: Callable[..., Any] | None = None
        """The fastest path: a function that does a whole call with the graph used last, or returns NOT_RUN if another graph may be needed.
        """
        self.recorded: Callable[..., Any] | None = None
        """The fast path for calls while a gradient is being taken, so that they are recorded; `quick` is the one for other calls."""
        self.others: dict[int, Callable[..., Any]] = {}
        """More functions like `quick`, for some other kinds of arguments; the key is the hash of the template."""
        self.gradients: dict[tuple[Any, ...], Callable[[tuple[Any, ...], dict[str, Any]], Any]] = {}
        """The functions that compute gradients, by what is asked for (`jit._gradient`)."""
        if is_logged():
            self.ask()
        _all.add(self)

    def find_plain(self, types: tuple[TensorType, ...]) -> Any:
        """Return the `Entry` of a graph for positional tensors of these types and no other arguments.

        This is a fast path that skips making a template (the structure of the arguments).  If it returns None, `find` may still have a
        graph.
        """
        entries = self._of_tensors.get(types)
        return None if entries is None else self._holding(entries)

    def find(self, template: Template, plain: bool = False) -> Any:
        """Return the `Entry` of the cached graph for these arguments whose guards (conditions for running a graph again) hold; None if
        there is none.

        template  the structure of the arguments, with the tensors taken out
        plain     True if the arguments are positional tensors only: `find_plain` then finds the graph next time
        """
        entries = self.get(template)
        if entries is None:
            return None
        entries.used = budget.period
        if plain:
            self._of_tensors[template.types] = entries
        return self._holding(entries)

    def _holding(self, entries: _Entries) -> Any:
        for i, entry in enumerate(entries):
            if entry.lowered.guards.holds():
                if i:
                    entries[:] = [entry, *[other for other in entries if other is not entry]]
                return entry
        return None

    def once(self, template: Template, tensors: Sequence[Any]) -> Callable[[], Any] | None:
        """Return a function that runs a call whose sizes occur for the first time, without making a graph for them.

        Return None if the sizes have occurred before, or need a graph for another reason.

        template  the structure of the arguments, with the tensors taken out
        tensors   the tensors among the arguments
        """
        seen = self.any_size.get(template.without_sizes()) if self.any_size and not get_context("save_graphs") else None
        return None if seen is None else seen.once(template.types, tensors)

    def add(self, template: Template, entry: _Entry) -> None:
        """Add a new graph for arguments of this structure (the template).

        Graphs of the same template whose guards (conditions for running a graph again) can never hold again are dropped, and the one used
        longest ago if there are too many.

        entry  the graph, ready to run
        """
        entries = self.get(template)
        if entries is None:
            entries = self[template.lasting()] = _Entries()
            budget.charge(_TEMPLATE)
        entries[:] = [entry, *[other for other in entries if other.lowered.guards.lasts]][:_KEPT]
        entry.lowered.guards.when_gone(partial(_drop, weakref.ref(self), weakref.ref(entries), id(entry)))
        budget.charge(entry.nbytes)

    def ask(self) -> CallCounts:
        """Return the counts of how calls were executed.  Counting begins with the first request, so earlier calls are missing."""
        if self.calls is None:
            self.calls = CallCounts(self.history)
            self._forget_quick()
        return self.calls

    def require_whole(self) -> None:
        """Make calls raise, from now on, where they would not run entirely as a graph (`must_be_whole`)."""
        self.must_be_whole = True
        self._forget_quick()

    def use(self, kind: int, quick: Callable[..., Any], made: MadeGraph, way: Way, why: Why = NO_REASON) -> None:
        """Make `quick` the function that the next calls try first.  Functions for some other kinds of arguments are tried after it.

        kind   the kind of arguments: the hash of the template of its graph
        quick  does a whole call with its graph, or returns NOT_RUN if the arguments or the guards (conditions for running it again) do not
            fit
        made   the record of the graph
        way    how the function runs it, for the counts
        why    the reason for this way
        """
        if self.calls is not None:
            quick = self.calls.counting(quick, made, way, why)
        self.quick = quick
        if self.others.get(kind) is not quick:
            others = {known: other for known, other in self.others.items() if known != kind}
            self.others = {**dict([*others.items()][1 - _QUICK:]), kind: quick}

    def use_recorded(self, recorded: Callable[..., Any] | None, made: MadeGraph) -> None:
        """Make `recorded` the function that calls try first while a tape records them; None to try none.

        made  the record of its graph, for counts
        """
        if self.calls is not None and recorded is not None:
            recorded = self.calls.counting(recorded, made, RECORDED, Why(RECORDED_AROUND))
        self.recorded = recorded

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], recorded: bool) -> Any:
        """Try to run a call by the fast functions (`quick`, or `recorded`); return the result, or NOT_RUN if another graph may be needed.

        recorded  True if a tape (the recording for a gradient) records the call
        """
        last = self.recorded if recorded else self.quick
        if last is None or (self.count is not None and (kwargs or len(args) != self.count)):
            return NOT_RUN
        given = (args, kwargs) if self.count is None else args
        if (result := last(*given)) is not NOT_RUN or recorded:
            return result
        for quick in self.others.values():  # no thread changes this dict
            if quick is not last and (result := quick(*given)) is not NOT_RUN:
                self.quick = quick
                return result
        return NOT_RUN

    def drop(self, entries: _Entries, entry: int) -> None:
        """Remove a graph whose guards (conditions for running a graph again) can never hold again, since an object that it depends on has
        been freed.

        entries  the list that holds it
        entry    the id of its `Entry`
        """
        self._forget_quick()
        self.any_size.clear()
        self.history.gone = next((other.lowered.guards.gone for other in entries if id(other) == entry), "")
        entries[:] = [other for other in entries if id(other) != entry]

    def sizes(self) -> list[tuple[int, int]]:
        """Return a pair (number of the period of the last use, bytes) for each template with its graphs, for the budget of all caches."""
        return [(entries.used, _TEMPLATE + sum([entry.nbytes for entry in entries])) for entries in self.copy().values()]

    def evict(self, until: int) -> None:
        """Drop the templates that were last used in the budget's period `until` or before, and those that refer to freed objects.

        What is known of values that change is forgotten with them, and kept where all templates are.
        """
        before = len(self)
        for template, entries in self.copy().items():
            if entries.used <= until or not template.is_alive:
                self.pop(template, None)
        if len(self) < before:
            self.numbers.clear()
            self.state.clear()
        self.any_size.clear()
        self._forget_quick()

    def begin_period(self) -> None:
        """Clear the fast paths when the budget of memory begins a new period.

        The next use of each graph then goes through `find`, which marks it as used in this period.
        """
        self._of_tensors = {}
        self._forget_quick()

    def _forget_quick(self) -> None:
        self.quick, self.recorded, self.others, self.gradients = None, None, {}, {}
        if self.calls is not None:
            self.calls.forget_functions()


class GraphsOfCells(dict[int, Graphs]):
    """The caches of graphs of a jitted method: one for each cell that it was called on, by the id of the cell.  They do not keep cells
    alive.

    call                  takes a weak reference to a cell, and returns the `call` of the cell's `Graphs`
    count, must_be_whole  as for `Graphs`
    """

    def __init__(
        self, call: Callable[[weakref.ref[Cell]], Callable[..., Any]], count: int | None = None, must_be_whole: bool = False
    ) -> None:
        super().__init__()
        self._call, self._count, self._must_be_whole = call, count, must_be_whole
        """`_call` takes a weak reference to a cell and returns `Graphs.call`; the other two are `Graphs.count`
        and `Graphs.must_be_whole`.
        """
        self._asked = False
        self._living: dict[int, weakref.ref[Cell]] = {}

    def of(self, cell: Cell) -> Graphs:
        """Return the cache of the graphs of a cell, made on the first request."""
        key = id(cell)
        found = self.get(key)
        if found is None:
            made = Graphs(self._call(weakref.ref(cell)), self._count, self._must_be_whole)
            if self._asked:
                made.ask()
            found = self.setdefault(key, made)
            self._living[key] = weakref.ref(cell, partial(_freed, weakref.ref(self), key))
        return found


    def ask(self) -> None:
        """Begin to count how the calls run, for the cells known now and those to come.

        `jit_stats` calls this; the counts are in each cell's `Graphs.calls`.
        """
        self._asked = True
        for graphs in [*self.values()]:
            graphs.ask()


def _freed(graphs: weakref.ref[GraphsOfCells], key: int, gone: object) -> None:
    known = graphs()
    if known is not None:
        known.pop(key, None)
        known._living.pop(key, None)


class _All(Cache):
    """All caches of graphs in the process, as one cache for the budget (the limit in bytes for all caches together)."""

    def __init__(self) -> None:
        super().__init__("graphs")
        self._known: dict[int, weakref.ref[Graphs]] = {}

    def add(self, graphs: Graphs) -> None:
        known, key = self._known, id(graphs)
        known[key] = weakref.ref(graphs, lambda _: known.pop(key, None))

    def _living(self) -> Iterator[Graphs]:
        for reference in self._known.copy().values():
            graphs = reference()
            if graphs is not None:
                yield graphs

    def sizes(self) -> Iterator[tuple[int, int]]:
        for graphs in self._living():
            yield from graphs.sizes()

    def evict(self, until: int) -> None:
        for graphs in self._living():
            graphs.evict(until)

    def begin_period(self) -> None:
        for graphs in self._living():
            graphs.begin_period()


_all = _All()


def _drop(graphs: weakref.ref[Graphs], entries: weakref.ref[_Entries], entry: int) -> None:
    known, listed = graphs(), entries()
    if known is not None and listed is not None:
        known.drop(listed, entry)
