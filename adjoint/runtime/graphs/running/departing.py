"""Runs of a graph whose forward hooks are expected to change nothing, and how a run goes on if one has changed something.

After each hook it is known whether what comes next is still what the graph was made for: the hook has returned what it was given, no tape
was asked for, and no cell, hook or value that was read has changed.  Otherwise the run *departs*: what it has computed up to the hook is
computed again on a tape, with the same bits, which leaves a log as if the run had been along its path from the beginning.  The tensors that
hooks have been given become names of those on the tape.  No hook is called again, and no random number is drawn again.

A hook that asks for the tape while it runs gets one that is recorded up to there in the same way (`gradients/awaited.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import is_
from typing import Any

from adjoint.diagnostics import InternalError
from adjoint.ir.core import tensor_type, walk
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.host import Observe
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.state import Read, Write
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.run import Deviation, Run, Step, unfolded
from adjoint.runtime.execution.sequence import Bound, Faster
from adjoint.runtime.execution.sequence import Sequence as Sequenced
from adjoint.runtime.gradients.awaited import AwaitedTape
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.graphs.graph import Graph, Unfitting
from adjoint.runtime.graphs.running.binding import makers_of, plan_of
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.observing import Argument, Observing, Places, State, observing, places_of
from adjoint.runtime.graphs.running.optimised import faster
from adjoint.runtime.graphs.running.repeating import Answers, Repetition, answering, drawing, repeated
from adjoint.runtime.hooks.handles import ids
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.location import called_at
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["ObservedRun", "Observed", "observed"]

_DEPARTURES, _RUNS = 3, 64
"""Departures of one graph after which its runs are along the path from the beginning, and the number of runs that allows for one more."""


class _Departed(Exception):
    """A hook has changed something."""


class Observed:
    """A graph that is differentiated as a whole, with forward hooks that are expected to change nothing.

    watched  the tensors whose values hooks must leave as they are
    repeats  True if runs keep what is needed to run them again after they have run; `kept` are the tensors of the state that this takes
    trained  the parameters that gradients are taken by
    types    those of the arguments
    places   where a run without gradients keeps the tensors that hooks are given
    """

    def __init__(self, graph: Graph, found: Observing, form: Faster, again: bool):
        nodes = [*walk(graph.function.body)]
        self.graph, self.found, self.state = graph, found, graph.state
        self.watched = [graph.state[symbol] for symbol in found.read]
        used = dict.fromkeys(node.op.symbol for node in nodes if again and isinstance(node.op, (Read, Write)))
        self.repeats, self.kept = again, [graph.state[symbol] for symbol in used]
        self.types = [value.type for value in graph.function.params]
        self.places = places_of(found, len(self.types))
        self.trained: list[Any] = [graph.state[symbol] for node in nodes if isinstance(node.op, Differentiated) for symbol in node.op.by]
        self._cells: list[Callable[[], Cell | None]] = [site.reference for site in found.sites if site.pattern.forward]
        positions, hosts = hosts_of_runs(found.graph)
        # The steps do not refer to this object: so a graph is freed when it is let go.
        observe = functools.partial(_observe, found, graph.hosts) if found.records else functools.partial(_look, found, graph, self.places)
        makers = {**makers_of(found.graph, positions), Draw: drawing, Observe: observe}
        if again:
            makers = {**makers, **answering(makers, positions)}
        self._sequence = Sequenced(
            functools.partial(plan_of, found.graph), makers, graph.state, explanations=graph.hosts, faster=form, hosts=hosts)
        self._again: Sequenced | None = None
        self._departures = self._runs = 0
        self._without_always: tuple[int, int] | None = None

    def fits(self, arguments: Sequence[Tensor]) -> bool:
        """Return True if a run may begin now."""
        return self._departures < _DEPARTURES + self._runs // _RUNS and self._sequence.fits(arguments) and not self._any_always()

    def _any_always(self) -> bool:
        """Return True if some forward hook is to be called even if a cell's construct raises: these are calls that the function lacks."""
        now = epoch.now, ids.last
        if self._without_always != now:
            for reference in self._cells:
                cell = reference()
                if cell is None or (cell._hooks is not None and any(hook.always_call for hook in cell._hooks.forward.values())):
                    return True
            self._without_always = now
        return False

    def run(self, arguments: Sequence[Tensor], log: list[Any]) -> list[Tensor] | None:
        """Return the results; None if the run has departed: it is then to be replayed from the log.

        Deviation if what a hook has returned does not fit the graph; the log ends with that.
        """
        return self.begun(arguments, log).run()

    def begun(self, arguments: Sequence[Tensor], log: list[Any]) -> ObservedRun:
        """Return a run."""
        self._runs += 1
        return ObservedRun(self, arguments, log) if self.found.records else UnrecordedRun(self, arguments, log)

    def run_whole(self, run: ObservedRun) -> list[Tensor]:
        """Return the results of a run, unless it departs."""
        return self._sequence.run_fitting(run.arguments, run)

    def has_departed(self) -> None:
        """Count a departure; where too many runs depart, all are along the path."""
        self._departures += 1

    def again(self, arguments: Sequence[Tensor], run: Repetition) -> None:
        """Run the graph once more, on a tape; Deviation where the repetition ends."""
        if self._again is None:
            # Two threads may both make it: they are equal.
            self._again = repeated(self.graph, self.found)
        self._again.run_fitting(arguments, run)


def observed(graph: Graph, *, again: bool = False) -> Observed | None:
    """Return a graph with its forward hooks observed; None if it cannot be differentiated as a whole.

    again  True if runs are to be run again after they have run
    """
    found = observing(graph, again=again)
    form = None if found is None else faster(found.graph)
    plan = None if form is None else form.plan()
    if found is None or form is None or plan is None:
        return None
    return Observed(graph, found, Faster(lambda: plan, form.fits), again)


class ObservedRun(Run):
    """One run.

    of, arguments  what is run on what
    log      gets the log of the path if the run departs
    given    by object the tensor that stands for it
    called   the symbols of the hooks that have been called, the last one of which may be running
    keys     the keys of random numbers that have been drawn
    answers  those of backward hooks
    memories those of the watched tensors
    before   the tensors to keep, with their types and memory
    awaited  the tape while hooks of the gradient may still run
    """

    __slots__ = ("_again", "answers", "arguments", "awaited", "before", "called", "epoch", "given", "keys", "latest", "log", "memories",
                 "of")

    def __init__(self, of: Observed, arguments: Sequence[Tensor], log: list[Any]):
        super().__init__(None)
        self.of, self.arguments, self.log = of, arguments, log
        self.given: dict[Hashable, Tensor] = {}
        self.called: list[str] = []
        self.keys: list[Tensor] = []
        self.answers: Answers = {}
        self.memories: list[Any] = [x.memory for x in of.watched]
        self.before = [(x, x.type, x.memory) for x in (*of.kept, *arguments)] if of.repeats else []
        self.epoch, self.latest = epoch.now, ids.last
        self.awaited: AwaitedTape | None = None
        self._again: tuple[Tape, Deviation] | None = None

    def run(self) -> list[Tensor] | None:
        """Return the results; None if the run has departed."""
        try:
            return self.of.run_whole(self)
        except _Departed:
            self.of.has_departed()
            return None
        finally:
            if self.awaited is not None:
                set_tracer(None)
                state.tracer = None

    def again(self) -> list[Any]:
        """Return the log of a run that has run, as if it had been along the path."""
        log: list[Any] = []
        self._repeat(Repetition(log, None, None, self.keys, self.answers), self.before)
        return log

    def forget(self) -> None:
        """Drop what is needed to run this again."""
        self.before = []
        self.answers.clear()

    def tensor(self, key: Hashable) -> Tensor | None:
        """Return the tensor that stands for an object; None if there is none yet."""
        if isinstance(key, Argument):
            return self.arguments[key.position]
        if isinstance(key, State):
            return self.of.state[key.symbol]
        return self.given.get(key)

    def await_tape(self) -> None:
        """Let hooks see a tape."""
        if self.awaited is None:
            self.awaited = AwaitedTape(self._recorded)
            state.tracer = self.awaited  # pyright: ignore[reportAttributeAccessIssue] - passes on everything to a tape

    def is_as_it_was(self) -> bool:
        """Return True if no hook has changed anything."""
        return (epoch.now == self.epoch and ids.last == self.latest and self._again is None
                and [x.memory for x in self.of.watched] == self.memories)

    def depart(self, returned: Any) -> None:
        """Leave the run after a hook has run: _Departed, or Deviation if what it has returned does not fit."""
        deviation = self._left()
        node, types = deviation.node, [value.type for value in deviation.node.results]
        made = () if returned is None else (returned,) if isinstance(returned, Tensor) else tuple(returned)
        fits = len(made) == len(types) and all(isinstance(x, Tensor) and x.type is t for x, t in zip(made, types))
        if isinstance(returned, Unfitting) or not fits:
            observed = returned if isinstance(returned, Unfitting) else made
            self.log.append(observed)
            left = Deviation(node, observed)
            left.unwind = deviation.unwind
            self.of.has_departed()
            raise left
        self.log.append(made)
        raise _Departed

    def _left(self) -> Deviation:
        """Fill the log up to the hook that has run last, and return the exception that ended this."""
        tape, deviation = self._tape()
        tape.depth -= 1
        state.tracer = None
        return deviation

    def failed(self) -> None:
        """Clean up after a hook has raised: close the cells that are being called."""
        if self._again is not None or ids.last != self.latest:  # hooks that are always called may have been added to these cells
            tape, deviation = self._tape()
            tape.depth -= 1
            deviation.abandon()

    def _recorded(self) -> Tape:
        return self._tape()[0]

    def _tape(self) -> tuple[Tape, Deviation]:
        """Return the tape, recorded up to the hook that is running or has run last, and the exception that ended its recording there."""
        if self._again is None:
            run = Repetition(self.log, self.tensor, self.called[-1], self.keys, self.answers)
            try:
                self._repeat(run, [(x, x.type, memory) for x, memory in zip(self.of.watched, self.memories, strict=True)])
            except Deviation as deviation:
                tape = run.left
                assert tape is not None
                for call in (*tape.calls, *tape.hosts):
                    if isinstance(call, CellCall):
                        call.latest = self.latest
                tape.depth += 1
                self._again = tape, deviation
            else:
                raise InternalError("a hook was not reached again")
        return self._again

    def _repeat(self, run: Repetition, before: Sequence[tuple[Tensor, Any, Any]]) -> None:
        """Repeat this run with tensors from outside as they were: `before` has what may have changed, with types and memory."""
        now = [(x, x.type, x.memory) for x, _, _ in before]
        hooks = [(x, x._hooks) for x in (*self.arguments, *self.of.state.values()) if x._hooks is not None]
        frozen = [x for x in self.of.trained if not x.requires_grad]
        around, no_grad = state.tracer, state.no_grad
        try:
            state.tracer, state.no_grad = None, []
            _set(before)
            for x, _ in hooks:
                x._hooks = None
            for x in frozen:
                x.requires_grad = True
            self.of.again(self.arguments, run)
        finally:
            _set(now)
            for x, own in hooks:
                x._hooks = own
            for x in frozen:
                x.requires_grad = False
            state.tracer, state.no_grad = around, no_grad


class UnrecordedRun(ObservedRun):
    """One run of a graph without gradients: while hooks run there is no tape.

    What a hook computes with the tensors that it is given is no part of the graph.  A tensor that hooks have been given is the one that the
    function returns.

    objects  the tensors at their places, None for one that is not made yet
    watched  the tensors whose memory, in `memories`, hooks must leave as it is
    """

    __slots__ = ("objects", "watched")

    def __init__(self, of: Observed, arguments: Sequence[Tensor], log: list[Any]):
        Run.__init__(self, None)
        self.of, self.arguments, self.log = of, arguments, log
        self.objects: list[Tensor | None] = [*arguments, *of.places.made]
        self.watched = [*of.watched, *arguments]
        self.memories = [x.memory for x in self.watched]
        self.called, self.keys = [], []
        self.epoch, self.latest = epoch.now, ids.last

    def run(self) -> list[Tensor] | None:
        try:
            results = self.of.run_whole(self)
        except _Departed:
            self.of.has_departed()
            return None
        for i, place in self.of.places.results:
            x = self.objects[place]
            if x is not None:
                results[i] = x
        return results

    def tensor(self, key: Hashable) -> Tensor | None:
        return self.of.state[key.symbol] if isinstance(key, State) else self.objects[self.of.places.known[key]]

    def is_as_it_was(self) -> bool:
        return epoch.now == self.epoch and ids.last == self.latest and [x.memory for x in self.watched] == self.memories

    def failed(self) -> None:
        if ids.last != self.latest:
            self._left().abandon()

    def _left(self) -> Deviation:
        of, begin, read = self.of, len(self.log), len(self.of.watched)
        run = Repetition(self.log, self.tensor, self.called[-1], self.keys, {})
        before = [*zip(of.watched, [x.type for x in of.watched], self.memories, strict=False),
                  *zip(self.arguments, of.types, self.memories[read:], strict=False)]
        try:
            self._repeat(run, before)
        except Deviation as deviation:
            self.log[begin:] = [run.shown_in(entry) for entry in unfolded(self.log[begin:])]
            return deviation
        raise InternalError("a hook was not reached again")


def _set(tensors: Sequence[tuple[Tensor, Any, Any]]) -> None:
    for x, type_, memory in tensors:
        x.type, x.memory = type_, memory


# -- steps -----------------------------------------------------------------------------------------------------------------
def _observe(found: Observing, hosts: Mapping[str, Any], bound: Bound) -> Step:
    """Return the step of forward hooks."""
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
        run.called.append(symbol)
        run.await_tape()
        try:
            returned = called_at(site, hosts[symbol], *tensors)
        except Exception:
            run.failed()
            raise
        if not _unchanged(returned, tensors[count:]) or not run.is_as_it_was():
            run.depart(returned)
        if last:
            run.memories.clear()
            run.given.clear()
            run.awaited = state.tracer = None

    return observe


def _look(found: Observing, graph: Graph, at: Places, bound: Bound) -> Step:
    """Return the step of forward hooks in a graph without gradients."""
    node, site, symbol = bound.node, bound.site, bound.node.op.symbol
    hooked, function, known, objects_of_state = found.hooks[symbol], graph.hosts[symbol], at.known, graph.state
    places = [(None, objects_of_state[key.symbol]) if isinstance(key, State) else (known[key], None) for key in hooked.objects]
    operands = tuple(zip(places, hooked.plain, map(tensor_type, node.operands), bound.operands, bound.held, strict=False))
    count = len(operands) - hooked.results

    def look(values: list[Any], run: Any) -> None:
        objects, tensors = run.objects, []
        for (place, x), plain, type_, i, held in operands:
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
        run.called.append(symbol)
        try:
            returned = called_at(site, function, *tensors)
        except Exception:
            run.failed()
            raise
        if not _unchanged(returned, tensors[count:]) or not run.is_as_it_was():
            run.depart(returned)

    return look


def _unchanged(returned: Any, tensors: Sequence[Tensor]) -> bool:
    """Return True if hooks have returned these very tensors."""
    if isinstance(returned, Tensor):
        return len(tensors) == 1 and returned is tensors[0]
    if type(returned) is list and len(returned) == 1 == len(tensors):  # fast path
        return returned[0] is tensors[0]
    if returned is None:
        return not tensors
    return not isinstance(returned, Unfitting) and len(returned) == len(tensors) and all(map(is_, returned, tensors))
