"""Steps that call forward hooks which are expected to change nothing, and then check this; they run the nodes `observe!`.

If a hook does change something, the run *departs*: it leaves the optimised graph and goes on along the path, node by node.

Inside of a gradient a hook sees a tape (the recording of operations for the gradient), which is made if it asks for it.  Without gradients
there is no tape.  Then the step can be written as source text, so that a call of a small graph with such hooks is one function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any, Protocol

from adjoint.ir.core import tensor_type
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.bound_plan import Bound
from adjoint.runtime.execution.call_functions import RunConditions
from adjoint.runtime.execution.run import Step
from adjoint.runtime.execution.written_calls import Text, WrittenStep
from adjoint.runtime.graphs.graph import Graph, HookCall, Unfitting, living
from adjoint.runtime.graphs.running.observed_functions import Observing, Places, State
from adjoint.runtime.hooks.handles import ids
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.location import called_at
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Beginning", "Caller", "Look", "LookConditions", "observed_step"]


_DEPARTURES, _RUNS = 3, 64
"""Limits for calls that begin in an optimised graph but must continue elsewhere, since a hook changed something: `_DEPARTURES` calls, and
one more for each `_RUNS` calls that began there.  Beyond them, calls run node by node from the beginning.
"""


class Beginning:
    """Decides whether a call may begin in an optimised graph whose hooks are expected to change nothing, or must run node by node at once.

    The latter is so if too many calls have *departed* (had to continue node by node since a hook changed something).  It is also so if some
    forward hook must be called even if a cell's construct raises, since the graph has no such call.  There is one object for each graph.

    cells       references to the cells that have forward hooks
    seen        the number of changes in the process (`epoch`), and the number of the last hook, for which a call was allowed
    runs        how many calls have begun there
    departures  how many of them have departed
    """

    def __init__(self, cells: Sequence[Callable[[], Cell | None]]):
        self._cells, self.departures = cells, 0
        self.seen: tuple[float, int] | None = None
        self.runs = 0

    @property
    def is_over(self) -> bool:
        """True if no run may begin any more, since too many have departed."""
        return self.departures >= _DEPARTURES + self.runs // _RUNS

    def allows(self, now: float, latest: int) -> bool:
        """Return True if a call may begin in the optimised graph now.

        now     the epoch: a number that rises when a cell, its hooks or the type of a tensor change
        latest  the number of the hook that was registered last
        """
        if self.seen != (now, latest):
            if self.is_over or self.any_always():
                return False
            self.seen = now, latest
        return True

    def has_departed(self) -> None:
        """Count a call that had to go on outside of the optimised graph because a hook changed something; then `allows` decides again."""
        self.departures, self.seen = self.departures + 1, None

    def any_always(self) -> bool:
        """Return True if some forward hook must be called even if its cell's construct raises (`always_call`).

        True as well if a cell has been freed.
        """
        for reference in self._cells:
            cell = reference()
            if cell is None or (cell._cell_hooks is not None and cell._cell_hooks.always_called):
                return True
        return False


class Caller(Protocol):
    """Takes over from a compiled function for a whole call if a forward hook changes something or raises; `calls.entry.Looking` is one.

    In its methods `state` describes how far the call has come; these are the arguments of `UnrecordedRun.reached`.
    """

    def departed(self, given: tuple[Any, ...], returned: Any, *state: Any) -> Any:
        """Do the rest of a call after a hook that changed something, and return the result of the call.

        given     the arguments of the call, as (positional, keyword)
        returned  the result of the hook
        """
        ...

    def failed(self, *state: Any) -> None:
        """Clean up after a hook has raised an exception: end the calls of the cells that have begun and not ended."""
        ...

    def alive(self) -> list[Any]:
        """Return the objects that the call must keep alive until its end, because the graph has read them and a hook may replace them."""
        ...


class LookConditions:
    """The checks at the start of a compiled function for a whole call that has forward hooks, besides those on its arguments.

    If one fails, the function returns NOT_RUN, and the call takes a slower way.

    of         the conditions for any function of the graph
    beginning  decides whether calls may begin in the optimised graph
    caller     returns the object that takes over if a hook changes something, or None if it has been freed
    """

    def __init__(self, of: RunConditions, beginning: Beginning, caller: Callable[[], Caller | None]):
        self._of, self._beginning, self._caller = of, beginning, caller

    @property
    def holds(self) -> Callable[[], bool]:
        return self._of.holds

    def as_text(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        statements, objects = self._of.as_text()
        own = ["now, latest = seen = epoch.now, ids.last",
               "if beginning.seen != seen and not beginning.allows(now, latest): return NOT_RUN",
               "caller = caller_of()", "if caller is None: return NOT_RUN", "alive = caller.alive()", "beginning.runs += 1"]
        return [*statements, *own], {**objects, "epoch": epoch, "ids": ids, "beginning": self._beginning, "caller_of": self._caller}


class Look(WrittenStep):
    """Calls the forward hooks of one node, in a graph without gradients, and checks that they have changed nothing.

    It can run as a step of a plan, or be written as source text that becomes a part of a function for a whole call.

    found  what is known about the graph's hooks
    graph  the graph
    at     the numbering of the tensor objects that hooks get
    bound  the node, with the positions of its values
    """

    run_of_its_own = True

    def __init__(self, found: Observing, graph: Graph, at: Places, bound: Bound):
        super().__init__(bound.node)
        self._symbol, self._site, self._at = bound.node.op.symbol, bound.site, at
        hooked, self._function = found.hooks[self._symbol], graph.hosts[self._symbol]
        places = [(None, graph.state[key.symbol]) if isinstance(key, State) else (at.known[key], None) for key in hooked.objects]
        types = map(tensor_type, bound.node.operands)
        self._operands = tuple(zip(places, hooked.plain, types, bound.operands, bound.held, strict=False))
        self._count = len(self._operands) - hooked.results
        self._watched = [graph.state[symbol] for symbol in found.read]

    def __call__(self, values: list[Any], run: Any) -> None:
        objects, tensors = run.objects, []
        for (place, x), plain, type_, i, held in self._operands:
            if x is None:
                x = objects[place]
                if x is None:
                    memory = values[i].memory if held else values[i]
                    x = objects[place] = wrap(type_, memory)
                    if not plain:
                        x._takes_gradient = False
                    run.watched.append(x)
                    run.memories.append(memory)
            tensors.append(x)
        run.called = self._symbol
        try:
            returned = called_at(self._site, self._function, *tensors)
        except Exception:
            run.failed()
            raise
        if not unchanged(returned, tensors[self._count :]) or not run.is_as_it_was():
            run.depart(returned)

    def write(self, text: Text) -> Sequence[str]:
        text.objects["unchanged"] = unchanged
        statements, names = self._begun(text) if not text.made else [], list[str]()
        for (place, x), plain, type_, i, held in self._operands:
            if x is not None:
                names.append(text.object(x))
                continue
            if place not in text.made:
                name = text.made[place] = f"shown{place}"
                statements += [f"{name} = new(Tensor)", f"{name}.type = {text.object(type_)}",
                               f"{name}.memory = {_memory(name)} = {text.memory(i, held)}"]
                if not plain:
                    statements.append(f"{name}._takes_gradient = False")
            names.append(text.made[place])
        text.results.update((number, text.made[place]) for number, place in self._at.results if place in text.made)
        calls, unchanged_, returned = self._calls(text, names)
        if self._site is not None:
            text.called.update(dict.fromkeys(calls, self._site.loc))
        same = [f"{name}.memory is {_memory(name)}" for name in text.made.values()]
        state_ = self._state(text)
        return [*statements, "try:", *(f"    {call}" for call in calls), "except Exception:", f"    caller.failed({state_})", "    raise",
                f"if not ({unchanged_} and epoch.now == now and ids.last == latest and {' and '.join(same)}):",
                f"    return caller.departed({text.given}, {returned}, {state_})"]

    def _calls(self, text: Text, names: Sequence[str]) -> tuple[list[str], str, str]:
        """Return three pieces of source text: the statements that call the hooks, an expression that is true if the hooks have returned
        their values unchanged, and an expression for what they have returned.

        names  the variables that hold the tensors for the hooks
        """
        given, shown, host = ", ".join(names), names[self._count :], self._function
        if not isinstance(host, HookCall):
            same = [f"returned[{i}] is {name}" for i, name in enumerate(shown)]
            listed = " and ".join(["returned.__class__ is list", f"len(returned) == {len(shown)}", *same])
            return [f"returned = {text.object(host)}({given})"], f"({listed} or unchanged(returned, {_listed(shown)}))", "returned"
        text.objects["living"] = living
        fire, cell, values, result, guards = map(text.object, (host.fire, host.cell, host.values, host.result, host.guards))
        calls = [f"values = {values}({given})", f"answer = {fire}(living({cell}), *values)",
                 f"returned = None if {host.as_it_was} and {guards}.unchanged() else {result}(answer, values)"]
        unchanged_ = f"(returned is None or unchanged(returned, {_listed(shown)}))"
        return calls, unchanged_, f"{_listed(shown)} if returned is None else returned"

    def _begun(self, text: Text) -> list[str]:
        """Return the source lines that go before the first hook of a call.

        They keep a reference to the present memory of each tensor that hooks must not change.  The check after a hook compares it: a write
        gives a tensor other memory.
        """
        for x in self._watched:
            text.made[id(x), "watched"] = text.object(x)
        for place, name in enumerate(text.arguments):
            text.made[place] = name
        return [f"{_memory(name)} = {name}.memory" for name in text.made.values()]

    def _state(self, text: Text) -> str:
        """Return, as source text, the arguments of `UnrecordedRun.reached`: they describe how far the call has come."""
        objects = [text.made.get(place, "None") for place in range(len(text.arguments) + len(self._at.made))]
        memories = map(_memory, text.made.values())
        return f"{self._symbol!r}, now, latest, {_listed(text.arguments)}, {_listed(objects)}, {_listed(memories)}"


def _memory(name: str) -> str:
    """Return the name of the variable, in the source text, that holds the memory a tensor had when hooks first got it.

    name  the variable that holds the tensor
    """
    return f"{name}_memory"


def _listed(expressions: Iterable[str]) -> str:
    return f"[{', '.join(expressions)}]"


def observed_step(found: Observing, hosts: Mapping[str, Any], bound: Bound) -> Step:
    """Return the step (the function that runs a node) that calls the forward hooks of one node, in a graph with a gradient, and checks that
    they have changed nothing.

    found  what is known about the graph's hooks
    hosts  the functions that call hooks, by symbol (the name in the IR)
    bound  the node, with the positions of its values
    """
    node, site, symbol = bound.node, bound.site, bound.node.op.symbol
    hooked = found.hooks[symbol]
    operands = tuple(zip(hooked.objects, hooked.plain, map(tensor_type, node.operands), bound.operands, bound.held, strict=False))
    count, last = len(operands) - hooked.results, hooked.last

    def given(values: list[Any], run: Any) -> list[Tensor]:
        found: list[Tensor] = []
        known = run.given
        for key, plain, type_, i, held in operands:
            x = known.get(key)
            if x is None:
                x = run.tensor(key)
                if x is None:
                    x = wrap(type_, values[i].memory if held else values[i])
                    if not plain:
                        x._takes_gradient = False
                known[key] = x
            found.append(x)
        return found

    def observe(values: list[Any], run: Any) -> None:
        tensors = given(values, run)
        run.called = symbol
        run.await_tape()
        try:
            returned = called_at(site, hosts[symbol], *tensors)
        except Exception:
            run.failed()
            raise
        if not unchanged(returned, tensors[count:]) or not run.is_as_it_was():
            run.depart(returned)
        if last:
            run.hooks_are_done()

    return observe


def unchanged(returned: Any, tensors: Sequence[Tensor]) -> bool:
    """Return True if hooks have returned exactly the tensor objects that they were given.

    returned  the result of the hooks: a tensor, several, or None
    tensors   the tensors that they were expected to return
    """
    if isinstance(returned, Tensor):
        return len(tensors) == 1 and returned is tensors[0]
    if type(returned) is list and len(returned) == 1 == len(tensors):  # fast path
        return returned[0] is tensors[0]
    if returned is None:
        return not tensors
    return not isinstance(returned, Unfitting) and len(returned) == len(tensors) and all(map(is_, returned, tensors))
