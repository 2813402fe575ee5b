"""Runs of a graph whose forward hooks are expected to change nothing, and how a run goes on if one has changed something.

After each hook it is known whether what comes next is still what the graph was made for: the hook has returned what it was given, no tape
was asked for, and no cell, hook or value that was read has changed.  Otherwise the run *departs*: what it has computed up to the hook is
computed again on a tape, with the same bits, which leaves a log as if the run had been along its path from the beginning.  The tensors that
hooks have been given become names of those on the tape.  No hook is called again, and no random number is drawn again.

A hook that asks for the tape while it runs gets one that is recorded up to there in the same way (`gradients/awaited.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from adjoint.diagnostics import InternalError
from adjoint.ir.core import Literal, tensor_type, walk
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.host import Apply, Observe
from adjoint.ir.ops.random import Draw
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.run import Deviation, LoggedRun, Run, Step
from adjoint.runtime.execution.sequence import Bound, Faster
from adjoint.runtime.execution.sequence import Sequence as Sequenced
from adjoint.runtime.gradients.awaited import AwaitedTape
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.graphs.graph import Graph, Unfitting
from adjoint.runtime.graphs.running.binding import makers_of, plan_of
from adjoint.runtime.graphs.running.cells import CellAsItWas, cell_makers
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.hosts import apply
from adjoint.runtime.graphs.running.observing import Argument, Observing, State, observing
from adjoint.runtime.graphs.running.optimised import faster
from adjoint.runtime.hooks.handles import TensorHooks, ids
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.location import called_at
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Observed", "observed"]

_DEPARTURES: Final = 3
"""Departures of one graph after which its runs are along the path from the beginning."""


class _Departed(Exception):
    """A hook has changed something."""


class Observed:
    """A graph that is differentiated as a whole, with forward hooks that are expected to change nothing.

    watched  the tensors whose values hooks must leave as they are
    trained  the parameters that gradients are taken by
    """

    def __init__(self, graph: Graph, found: Observing, form: Faster):
        self.graph, self.hooks, self.state = graph, found.hooks, graph.state
        self.watched = [graph.state[symbol] for symbol in found.read]
        self.trained: list[Any] = [graph.state[symbol] for node in walk(graph.function.body) if isinstance(node.op, Differentiated)
                        for symbol in node.op.by]
        self._cells: list[Callable[[], Cell | None]] = [site.reference for site in found.sites if site.pattern.forward]
        positions, hosts = hosts_of_runs(found.graph)
        makers = {**makers_of(found.graph, positions), Draw: _draw, Observe: functools.partial(_observe, self)}
        self._sequence = Sequenced(
            functools.partial(plan_of, found.graph), makers, graph.state, explanations=graph.hosts, faster=form, hosts=hosts)
        self._again: Sequenced | None = None
        self._departures = 0
        self._without_always: tuple[int, int] | None = None

    def fits(self, arguments: Sequence[Tensor]) -> bool:
        """Return True if a run may begin now."""
        return self._departures < _DEPARTURES and self._sequence.fits(arguments) and not self._any_always()

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
        run = _Observation(self, arguments, log)
        try:
            return self._sequence.run_fitting(arguments, run)
        except _Departed:
            self._departures += 1
            return None
        finally:
            if run.awaited is not None:
                set_tracer(None)
                state.tracer = None

    def again(self, run: _Again) -> Deviation:
        """Run the graph up to a hook once more, on a tape; return the exception that has left it there."""
        sequence = self._again
        if sequence is None:
            # Two threads may both make it: they are equal.
            makers = {**makers_of(self.graph, {}), **cell_makers(self.graph, CellAsItWas), Draw: _drawn,
                      Apply: functools.partial(_answer, self)}
            sequence = self._again = Sequenced(
                functools.partial(plan_of, self.graph), makers, self.graph.state, explanations=self.graph.hosts)
        try:
            sequence.run_fitting(run.arguments, run)
        except Deviation as deviation:
            return deviation
        raise InternalError("a hook was not reached again")


def observed(graph: Graph) -> Observed | None:
    """Return a graph with its forward hooks observed; None if it cannot be differentiated as a whole."""
    found = observing(graph)
    form = None if found is None else faster(found.graph)
    plan = None if form is None else form.plan()
    if found is None or form is None or plan is None:
        return None
    return Observed(graph, found, Faster(lambda: plan, form.fits))


class _Observation(Run):
    """One run.

    of, arguments  what is run on what
    log      gets the log of the path if the run departs
    given    by object the tensor that stands for it
    called   the symbols of the hooks that have been called, the last one of which may be running
    keys     the keys of random numbers that have been drawn
    memories those of the watched tensors
    awaited  the tape while hooks of the gradient may still run
    """

    __slots__ = ("_again", "arguments", "awaited", "called", "epoch", "given", "keys", "latest", "log", "memories", "of")

    def __init__(self, of: Observed, arguments: Sequence[Tensor], log: list[Any]):
        super().__init__(None)
        self.of, self.arguments, self.log = of, arguments, log
        self.given: dict[Hashable, Tensor] = {}
        self.called: list[str] = []
        self.keys: list[Tensor] = []
        self.memories: list[Any] = [x.memory for x in of.watched]
        self.epoch, self.latest = epoch.now, ids.last
        self.awaited: AwaitedTape | None = None
        self._again: tuple[Tape, Deviation] | None = None

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
        tape, deviation = self._tape()
        tape.depth -= 1
        state.tracer = None
        node, types = deviation.node, [value.type for value in deviation.node.results]
        made = () if returned is None else (returned,) if isinstance(returned, Tensor) else tuple(returned)
        fits = len(made) == len(types) and all(isinstance(x, Tensor) and x.type is t for x, t in zip(made, types))
        if isinstance(returned, Unfitting) or not fits:
            observed = returned if isinstance(returned, Unfitting) else made
            self.log.append(observed)
            left = Deviation(node, observed)
            left.unwind = deviation.unwind
            self.of._departures += 1
            raise left
        self.log.append(made)
        raise _Departed

    def failed(self) -> None:
        """Clean up after a hook has raised."""
        if self._again is not None:
            tape, deviation = self._again
            tape.depth -= 1
            deviation.abandon()

    def _recorded(self) -> Tape:
        return self._tape()[0]

    def _tape(self) -> tuple[Tape, Deviation]:
        """Return the tape, recorded up to the hook that is running or has run last, and the exception that ended its recording there."""
        if self._again is None:
            run = _Again(self)
            around, no_grad = state.tracer, state.no_grad
            state.tracer, state.no_grad = None, []
            try:
                with self._as_it_was():
                    deviation = self.of.again(run)
            finally:
                state.tracer, state.no_grad = around, no_grad
            tape = run.left
            assert tape is not None
            for call in (*tape.calls, *tape.hosts):
                if isinstance(call, CellCall):
                    call.latest = self.latest
            tape.depth += 1
            self._again = tape, deviation
        return self._again

    @contextmanager
    def _as_it_was(self) -> Iterator[None]:
        """Undo for a while what the hook has changed of the tensors from outside."""
        watched = [*zip(self.of.watched, self.memories, strict=True)]
        hooked = [*self.arguments, *self.of.state.values()]
        changed = [(x, x.memory, memory) for x, memory in watched if x.memory is not memory]
        hooks = [(x, x._hooks) for x in hooked if x._hooks is not None]
        for x, _, memory in changed:
            x.memory = memory
        frozen = [x for x in self.of.trained if not x.requires_grad]
        for x, _ in hooks:
            x._hooks = None
        for x in frozen:
            x.requires_grad = True
        try:
            yield
        finally:
            for x, memory, _ in changed:
                x.memory = memory
            for x, own in hooks:
                x._hooks = own
            for x in frozen:
                x.requires_grad = False


class _Again(LoggedRun):
    """The run on a tape that repeats a run up to the hook that it has called last.

    left  the tape at the hook
    """

    __slots__ = ("arguments", "keys", "left", "of")

    def __init__(self, of: _Observation):
        super().__init__(None, of.log)
        self.of, self.arguments, self.keys = of, of.arguments, iter(of.keys)
        self.left: Tape | None = None

    def same(self, shown: Tensor, recorded: Tensor) -> None:
        """Make a tensor that a hook was given another name of the one on the tape."""
        tape = self.tape
        if shown is recorded or tape.slots.get(id(shown)) is not None:
            return
        slot = tape.slots.get(id(recorded))
        if slot is not None:
            tape.slots[id(shown)] = slot
        tape.keep[id(shown)] = shown
        tape.named.append((shown, recorded))
        if shown._hooks is None:
            shown._hooks = TensorHooks()
        recorded._hooks = shown._hooks


# -- steps -----------------------------------------------------------------------------------------------------------------
def _observe(of: Observed, bound: Bound) -> Step:
    """Return the step of forward hooks."""
    node, site, symbol = bound.node, bound.site, bound.node.op.symbol
    hooked, hosts = of.hooks[symbol], of.graph.hosts
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
        except BaseException:
            run.failed()
            raise
        if not _unchanged(returned, tensors[count:]) or not run.is_as_it_was():
            run.depart(returned)
        if last:
            run.memories.clear()
            run.given.clear()
            run.awaited = state.tracer = None

    return observe


def _unchanged(returned: Any, tensors: Sequence[Tensor]) -> bool:
    """Return True if hooks have returned these very tensors."""
    if isinstance(returned, Tensor):
        return len(tensors) == 1 and returned is tensors[0]
    if returned is None:
        return not tensors
    return not isinstance(returned, Unfitting) and len(returned) == len(tensors) and all(map(_is, returned, tensors))


def _is(a: Any, b: Any) -> bool:
    return a is b


def _draw(bound: Bound) -> Step:
    """Return the step of a key of the random stream, which is kept."""
    op, out = bound.node.op, bound.results.start
    assert isinstance(op, Draw)
    seed = op.seed or None

    def draw(values: list[Any], run: Any) -> None:
        values[out] = key = next_key(seed)
        run.keys.append(key)

    return draw


def _drawn(bound: Bound) -> Step:
    """Return the step of a key that was drawn before."""
    out = bound.results.start

    def drawn(values: list[Any], run: Any) -> None:
        values[out] = next(run.keys)

    return drawn


def _answer(of: Observed, bound: Bound) -> Step:
    """Return the step of forward hooks that have been called before: it does what they have done, or leaves the run at the last one."""
    node, symbol, operands, results = bound.node, bound.node.op.symbol, bound.operands, bound.results
    hooked = of.hooks.get(symbol)
    if hooked is None:
        return apply(bound, of.graph.hosts)
    literal = [isinstance(atom, Literal) for atom in node.operands]

    def answer(values: list[Any], run: Any) -> None:
        observation: _Observation = run.of
        tensors: list[Any] = [observation.tensor(key) for key in hooked.objects]
        for x, i, constant in zip(tensors, operands, literal, strict=True):
            if not constant:
                run.same(x, values[i])
        if symbol == observation.called[-1]:
            run.left = run.tape
            raise Deviation(node, ())
        values[results.start : results.stop] = tensors[len(tensors) - hooked.results :]

    return answer


