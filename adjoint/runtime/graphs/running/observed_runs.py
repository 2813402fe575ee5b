"""Runs of a graph whose forward hooks are expected to change nothing, and their continuation if a hook has changed something.

After each hook the run checks that the rest of the graph is still right: the hook has returned its value unchanged, has not asked for a
tape (the recording for a gradient), and no cell, hook or value that was read has changed.  Otherwise the run *departs*: everything up to
the hook is computed again on a tape, with the same bits, and leaves a log as if the run had gone node by node ("along the path") from its
beginning.  The tensors that hooks have seen become names of tensors on the tape.  No hook is called again, and no random number is drawn
again.

A hook that asks for the tape while it runs gets one that is recorded up to that point in the same way (`gradients/awaited.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.core import walk
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.host import Apply, Observe
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.state import Read, Write
from adjoint.runtime.execution.bound_plan import BoundPlan, Faster, Maker
from adjoint.runtime.execution.call_functions import CallText
from adjoint.runtime.execution.run import Deviation, Run, unfolded
from adjoint.runtime.gradients.awaited import AwaitedTape
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.graphs.graph import Graph, Unfitting
from adjoint.runtime.graphs.running.binding import makers_of, plan_of
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.observed_functions import Argument, ObservedForm, State, observed_form, places_of
from adjoint.runtime.graphs.running.observed_hooks import Beginning, Caller, Look, LookConditions, observed_step
from adjoint.runtime.graphs.running.repetition import Answers, Repetition, answering, drawing, repeated
from adjoint.runtime.hooks.handles import ids
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Observed", "ObservedRun", "RecordableRun", "UnrecordedRun", "observed"]

_CallerOf = Callable[[], Caller | None]


class _Departed(Exception):
    """Raised to end the execution of an optimised graph after a hook has changed something.  The log of results is then ready, and the call
    continues node by node by replaying it.
    """


class Observed:
    """Runs a graph whose forward hooks are expected to change nothing; made once for a graph, by `observed`.

    graph      the graph
    form       the plan in which hooks only look at values (`ObservedForm`)
    again      True if it must be possible to execute the graph a second time for the same call
    call       the source text of a function for a whole call; None if there is none
    caller     returns the object that takes over from such a function after an unexpected hook result
    watched    the tensors whose values hooks must not change
    repeats    True if what is needed for a second execution is kept
    kept       the tensors from outside of the graph that a second execution needs
    trained    the Parameters that gradients are taken by
    places     the order in which the tensors that hooks get are kept, if there is no gradient
    types      the types of these tensors, in that order
    beginning  decides whether a call may begin in this graph
    """

    def __init__(self, graph: Graph, form: ObservedForm, again: bool, call: CallText | None, caller: _CallerOf):
        found, plan = form.of, form.plan
        nodes = [*walk(graph.function.body)]
        self.graph, self.found, self.state = graph, found, graph.state
        self.watched = [graph.state[symbol] for symbol in found.read]
        used = dict.fromkeys(node.op.symbol for node in nodes if again and isinstance(node.op, (Read, Write)))
        self.repeats, self.kept = again, [graph.state[symbol] for symbol in used]
        self.places = places_of(found, len(graph.function.params))
        types: dict[Hashable, Any] = {Argument(i): value.type for i, value in enumerate(graph.function.params)}
        for node in nodes:
            if isinstance(node.op, Apply) and node.op.symbol in found.hooks:
                types.update(zip(found.hooks[node.op.symbol].objects, [atom.type for atom in node.operands], strict=True))
        self.types = [types[key] for key in self.places.known]
        self.trained: list[Any] = [graph.state[symbol] for node in nodes if isinstance(node.op, Differentiated) for symbol in node.op.by]
        self.beginning = Beginning([site.reference for site in found.sites if site.pattern.forward])
        positions, hosts = hosts_of_runs(found.graph)
        # The steps do not refer to this object: the cycle would keep the graph alive until the collector runs.
        of_hooks: Maker = functools.partial(observed_step, found, graph.hosts)
        if not found.records:
            of_hooks = functools.partial(Look, found, graph, self.places)
        makers = {**makers_of(found.graph, positions), Draw: drawing, Observe: of_hooks}
        if again:
            makers = {**makers, **answering(makers, positions)}
        if found.records or call is None:
            of_call = None
        else:
            of_call = replace(call, conditions=LookConditions(call.conditions, self.beginning, caller))
        self._plan = BoundPlan(
            functools.partial(plan_of, found.graph), makers, graph.state, explanations=graph.hosts,
            faster=Faster(lambda: plan, form.fits), hosts=hosts, call=of_call)
        self._again: BoundPlan | None = None

    @property
    def call_function(self) -> Callable[..., Any] | None:
        """Return the compiled function that does a whole call; None if there is none yet (`BoundPlan.call_function`)."""
        return self._plan.call_function

    def fits(self, arguments: Sequence[Tensor]) -> bool:
        """Return True if the graph may be executed on these arguments now."""
        return self.beginning.allows(epoch.now, ids.last) and self._plan.fits(arguments)

    def run(self, arguments: Sequence[Tensor], log: list[Any]) -> list[Tensor] | None:
        """Execute the graph and return its results; None if a hook has changed something: the caller then continues node by node, replaying
        the log.

        A Deviation is raised if a hook has returned values that do not fit the graph; the log then ends with these values.

        log  gets the results of the nodes that have run, if a hook has changed something
        """
        return self.begun(arguments, log).run()

    def begun(self, arguments: Sequence[Tensor], log: list[Any]) -> ObservedRun:
        """Prepare one execution of the graph on these arguments; return its state, whose method `run` executes the graph.

        log  gets the results of the nodes if a hook changes something
        """
        self.beginning.runs += 1
        return RecordableRun(self, arguments, log) if self.found.records else UnrecordedRun(self, arguments, log)

    def run_plan(self, run: ObservedRun) -> list[Tensor]:
        """Execute the optimised plan and return the results.  It may raise as `ObservedRun.depart` does.

        run  the state of this execution
        """
        return self._plan.run_fitting(run.arguments, run)

    def again(self, arguments: Sequence[Tensor], run: Repetition) -> None:
        """Execute the graph a second time, on a tape (the recording for a gradient), with the answers that hooks gave the first time.

        A Deviation is raised at the hook where the repetition is to stop: that is its normal end.

        run  the state of the second execution; its log and tape are filled
        """
        if self._again is None:
            # Two threads may both make it: they are equal.
            self._again = repeated(self.graph, self.found)
        self._again.run_fitting(arguments, run)


def observed(
    graph: Graph, *, again: bool = False, call: CallText | None = None, caller: _CallerOf = lambda: None
) -> Observed | None:
    """Return the object that runs a graph and checks that its forward hooks change nothing; None if that is not possible.

    again   True if it must be possible to execute the whole graph a second time for the same call
    call    the source text of a call: without gradients, `call_function` is then made of it
    caller  returns the object that takes over from this function if a hook changes something
    """
    form = observed_form(graph, again=again)
    return None if form is None else Observed(graph, form, again, call, caller)


class ObservedRun(Run):
    """One execution of a graph whose forward hooks are expected to change nothing; it knows what to compare after each hook.

    of, arguments  the graph, and the arguments
    log      gets the results of the nodes if a hook changes something, for another graph to continue from
    called   the symbol of the hooks that were called last, or are running
    keys     the keys of the random numbers that were drawn
    answers  the answers of backward hooks
    watched  the tensors that hooks must not write; `memories` is the memory that they had
    epoch    the number of changes to cells and hooks at the beginning; `latest` is the number of the last hook registered then
    """

    __slots__ = ("answers", "arguments", "called", "epoch", "keys", "latest", "log", "memories", "of", "watched")

    def __init__(self, of: Observed, arguments: Sequence[Tensor], log: list[Any], watched: list[Tensor]):
        super().__init__(None)
        self.of, self.arguments, self.log = of, arguments, log
        self.called = ""
        self.keys: list[Tensor] = []
        self.answers: Answers = {}
        self.watched, self.memories = watched, [x.memory for x in watched]
        self.epoch, self.latest = epoch.now, ids.last

    def run(self) -> list[Tensor] | None:
        """Execute the graph and return the results; None if a hook has changed something: the caller then continues node by node, replaying
        the log.
        """
        try:
            return self.of.run_plan(self)
        except _Departed:
            self.of.beginning.has_departed()
            return None

    def tensor(self, key: Hashable) -> Tensor | None:
        """Return the tensor object of this execution that `key` represents (see `Watching.objects`); None if it has not been made."""
        raise NotImplementedError

    def is_as_it_was(self) -> bool:
        """Return True if no hook has, so far, changed anything on which this execution depends: cells, hooks and values of tensors."""
        return epoch.now == self.epoch and ids.last == self.latest and [x.memory for x in self.watched] == self.memories

    def depart(self, returned: Any) -> None:
        """End this execution after a hook has changed something: fill the log, from which another graph can continue, then raise.

        _Departed is raised if what the hook returned fits the graph, else a Deviation.

        returned  the result of the hook
        """
        deviation = self._left()
        node, types = deviation.node, [value.type for value in deviation.node.results]
        made = () if returned is None else (returned,) if isinstance(returned, Tensor) else tuple(returned)
        fits = len(made) == len(types) and all(isinstance(x, Tensor) and x.type is t for x, t in zip(made, types))
        if isinstance(returned, Unfitting) or not fits:
            observed = returned if isinstance(returned, Unfitting) else made
            self.log.append(observed)
            left = Deviation(node, observed)
            left.unwind = deviation.unwind
            self.of.beginning.has_departed()
            raise left
        self.log.append(made)
        raise _Departed

    def failed(self) -> None:
        """End the calls of cells that are still running, after a hook has raised an exception."""
        raise NotImplementedError

    def _left(self) -> Deviation:
        """Compute everything up to the last hook again, which fills the log (the results of nodes so far); return the exception by which
        this ended at the hook.
        """
        raise NotImplementedError

    def _until_here(self) -> Repetition:
        """Return a Repetition (a second execution with the first one's answers) that ends at the hook that was called last."""
        return Repetition(self.log, self.tensor, self.called, self.keys, self.answers)

    def repeat(self, run: Repetition, before: Sequence[tuple[Tensor, Any, Any]]) -> None:
        """Execute the graph a second time, while tensors from outside of it have the values that they had; afterwards restore their present
        values.

        run     the second execution
        before  the tensors that may have changed, with the types and memory that they had
        """
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


class RecordableRun(ObservedRun):
    """One execution of a graph whose forward hooks are inside of a gradient, where in eager mode a hook could use the tape.

    If a hook asks for the tape (the recording for the gradient), one is made by executing the graph up to this hook again.

    of         the graph, ready to run
    arguments  the arguments of the call
    log        gets the results of the nodes that have run, if the call must continue node by node
    given      the tensors that hooks have got, by their keys in `Watching.objects`
    before     the tensors that a repetition needs, with their types and memory
    awaited    the tape that is made on demand, as long as hooks of the gradient may run
    """

    __slots__ = ("_again", "awaited", "before", "given")

    def __init__(self, of: Observed, arguments: Sequence[Tensor], log: list[Any]):
        super().__init__(of, arguments, log, of.watched)
        self.given: dict[Hashable, Tensor] = {}
        self.before = [(x, x.type, x.memory) for x in (*of.kept, *arguments)] if of.repeats else []
        self.awaited: AwaitedTape | None = None
        self._again: tuple[Tape, Deviation] | None = None

    def run(self) -> list[Tensor] | None:
        try:
            return super().run()
        finally:
            if self.awaited is not None:
                set_tracer(None)
                state.tracer = None

    def again(self) -> list[Any]:
        """Execute the graph a second time, after the first is done, and return a log as if the first had gone node by node."""
        log: list[Any] = []
        self.repeat(Repetition(log, None, None, self.keys, self.answers), self.before)
        return log

    def forget(self) -> None:
        """Drop everything that is needed to execute this again; call it once no hook can change anything for this call any more."""
        self.before = []
        self.answers.clear()

    def hooks_are_done(self) -> None:
        """Drop what only hooks need, after the last forward hook has run; from then on there is no tape (the recording for a gradient) for
        them.
        """
        self.watched, self.memories = [], []
        self.given.clear()
        self.awaited = state.tracer = None

    def tensor(self, key: Hashable) -> Tensor | None:
        if isinstance(key, Argument):
            return self.arguments[key.position]
        return self.of.state[key.symbol] if isinstance(key, State) else self.given.get(key)

    def await_tape(self) -> None:
        """Show hooks a tape (the recording for a gradient) that is only made if one of them uses it."""
        if self.awaited is None:
            self.awaited = AwaitedTape(self._recorded)
            state.tracer = self.awaited  # pyright: ignore[reportAttributeAccessIssue] - passes on everything to a tape

    def is_as_it_was(self) -> bool:
        return self._again is None and super().is_as_it_was()

    def failed(self) -> None:
        if self._again is not None or ids.last != self.latest:  # hooks that are always called may have been added to these cells
            tape, deviation = self._tape()
            tape.depth -= 1
            deviation.abandon()

    def _left(self) -> Deviation:
        tape, deviation = self._tape()
        tape.depth -= 1
        state.tracer = None
        return deviation

    def _recorded(self) -> Tape:
        return self._tape()[0]

    def _tape(self) -> tuple[Tape, Deviation]:
        """Return a tape that has recorded everything up to the hook that runs or ran last, and the exception that ended the recording
        there.

        It is made at the first request, by executing the graph a second time.
        """
        if self._again is None:
            run = self._until_here()
            try:
                self.repeat(run, [(x, x.type, memory) for x, memory in zip(self.watched, self.memories, strict=True)])
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


class UnrecordedRun(ObservedRun):
    """One execution of a graph with forward hooks and no gradients: there is no tape (the recording for a gradient) while hooks run.

    What a hook computes with its tensors is not part of the graph.  If a hook has got a tensor that the function also returns, it is the
    same object.

    of, arguments, log  as for `RecordableRun`
    objects             the tensors that hooks get, in the order of `Observed.places`; None for one that has not been made
    """

    __slots__ = ("objects",)

    def __init__(self, of: Observed, arguments: Sequence[Tensor], log: list[Any]):
        super().__init__(of, arguments, log, [*of.watched, *arguments])
        self.objects: list[Tensor | None] = [*arguments, *of.places.made]

    @staticmethod
    def reached(of: Observed, called: str, now: int, latest: int, arguments: list[Tensor], objects: list[Tensor | None],
                memories: list[Any]) -> UnrecordedRun:
        """Return an object for an execution that a compiled function for a whole call has begun, so that it can be continued.

        of, arguments  the graph, and the arguments of the call
        called       the symbol of the hooks that were called last
        now, latest  the epoch (number of changes to cells and hooks) and the number of the last hook when the call began
        objects      the tensors that hooks get, in the order of `Observed.places`
        memories     the memory that the watched tensors had
        """
        run = UnrecordedRun(of, arguments, [])
        run.called, run.epoch, run.latest, run.objects, run.memories = called, now, latest, objects, memories
        return run

    def run(self) -> list[Tensor] | None:
        results = super().run()
        if results is not None:
            for i, place in self.of.places.results:
                x = self.objects[place]
                if x is not None:
                    results[i] = x
        return results

    def leave(self, returned: Any) -> Deviation | None:
        """Fill the log after a hook that changed something.

        Return a Deviation if what the hook returned does not fit the graph, else None.
        """
        try:
            self.depart(returned)
        except Deviation as deviation:
            return deviation
        except _Departed:
            self.of.beginning.has_departed()
        return None

    def tensor(self, key: Hashable) -> Tensor | None:
        return self.of.state[key.symbol] if isinstance(key, State) else self.objects[self.of.places.known[key]]

    def failed(self) -> None:
        if ids.last != self.latest:
            self._left().abandon()

    def _left(self) -> Deviation:
        of, begin, run = self.of, len(self.log), self._until_here()
        # The arguments, and the tensors that hooks have got; the memory of these is in the order of their places.
        shown = [(x, type_) for x, type_ in zip(self.objects, of.types, strict=True) if x is not None]
        before = [*((x, x.type) for x in of.watched), *shown]
        try:
            self.repeat(run, [(x, type_, memory) for (x, type_), memory in zip(before, self.memories, strict=True)])
        except Deviation as deviation:
            self.log[begin:] = [run.shown_in(entry) for entry in unfolded(self.log[begin:])]
            return deviation
        raise InternalError("a hook was not reached again")


def _set(tensors: Sequence[tuple[Tensor, Any, Any]]) -> None:
    for x, type_, memory in tensors:
        x.type, x.memory = type_, memory
