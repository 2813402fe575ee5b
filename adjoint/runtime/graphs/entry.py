"""Make graphs and run them; `jit` imports this module, and with it the frontend, when the first function is parsed."""

from __future__ import annotations

import dataclasses
import functools
import time
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from adjoint import collector
from adjoint.budget import budget
from adjoint.diagnostics import CompileError, InternalError
from adjoint.frontend import errors
from adjoint.frontend.changes.journal import AttributePlace, OutsidePlace
from adjoint.ir.core import Module, walk
from adjoint.made import count
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.run import Deviation, LoggedRun, Run, unfolded
from adjoint.runtime.execution.sequence import Sequence as Sequenced
from adjoint.runtime.graphs.cache import Graphs
from adjoint.runtime.graphs.call_text import argument_text, filling
from adjoint.runtime.graphs.causes import cause_of
from adjoint.runtime.graphs.graph import Graph, HookCall, Unfitting
from adjoint.runtime.graphs.guards.constants import described as described_constant
from adjoint.runtime.graphs.guards.references import reference
from adjoint.runtime.graphs.history import CallCounts, MadeGraph
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.lowering.forward_hooks import hooked_outline, outline_of
from adjoint.runtime.graphs.lowering.lowering import Lowered, Subject, continued, lowered, lowered_reading
from adjoint.runtime.graphs.made_anew import NotShared, SharedGraphs
from adjoint.runtime.graphs.outline import expression_of, filled, slots_of
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.graphs.running.departing import Observed, ObservedRun, UnrecordedRun, observed
from adjoint.runtime.graphs.running.observing import why_not_observed
from adjoint.runtime.graphs.running.optimised import Alone, reason, runs_alone
from adjoint.runtime.graphs.running.tails import HeadAndTail, head_and_tail
from adjoint.runtime.graphs.running.user_code import UserCode, has_user_code, is_decided, may_leave
from adjoint.runtime.graphs.sizes import SizedGraph, for_these_sizes
from adjoint.runtime.graphs.subjects import cell_on, definition_of, function_on, method_on, names_of, parameters_of, symbol_of, title_of
from adjoint.runtime.graphs.templates import Template, flatten
from adjoint.runtime.graphs.ways import (
    ALWAYS_CALLED,
    CODE_OF_THE_USER,
    EAGERLY,
    FIRST,
    FIRST_CALLS,
    HOOK_CHANGES,
    HOOKED,
    INPUT,
    LEFT,
    LOOKED,
    NOT_OBSERVABLE,
    NOT_OPTIMISED,
    OFTEN_LEFT,
    PARSED,
    PATH,
    PIECES,
    READ,
    READ_AGAIN,
    RECORDED,
    RECORDED_AROUND,
    RECORDED_WITH_HOOKS,
    RESULT,
    SHARED,
    SIZES,
    TWO_PARTS,
    VALUE,
    WAITING_HOOK,
    WHOLE,
    WRITTEN,
    Cause,
    Way,
    Why,
)
from adjoint.runtime.graphs.whole_gradients import GradientOf, WholeGradient, whole_gradient
from adjoint.runtime.hooks.handles import described, subject_of
from adjoint.runtime.process.jitted import parsed_function
from adjoint.runtime.process.observers import graph_made
from adjoint.runtime.process.tracer import eagerly, state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Entry", "make", "parsed", "run_instead"]

_GRAPH, _NODE, _GUARD = 6000, 1200, 1800
"""Estimated bytes of a graph, of each of its nodes, and of each guard."""


class Entry:
    """A graph that is ready to run.

    lowered  the function, lowered to a graph
    made     the record of it in the function's history
    sequence the graph, bound
    logs     True if a run may leave the graph, because of what the user's Python code does; it can then go on in another graph, or the
             function runs eagerly
    _filled  makes the result of the tensors, if nothing is written
    _fill    the same, if that is all there is to do: then `sequence.whole`, once there is one, is the whole call
    nbytes   an estimate of its bytes
    _kind    the hash of the template
    _around  the cells in whose calls the user's code runs
    _logged  what runs if a log is kept and there is no tape, once it is made
    _observed what runs instead as long as forward hooks change nothing, once it is made; `_may_observe` is False if there is no such thing
    _call    how the graph is called, if its result can be written as text
    _may_share True if it writes a plain tensor from outside: the caller may give that tensor as an argument, too
    _called_as  the graphs of the function, and what names it, for a function of a whole call in which a hook does more than look
    _gradients  those that have been asked for, by the ids of what they are asked for, which they keep alive
    """

    def __init__(self, lowered: Lowered, template: Template, alone: Alone | None = None, count: int | None = None,
                 made: MadeGraph | None = None):
        self.lowered, self._kind = lowered, hash(template)
        self.made = made or MadeGraph(0, FIRST, "", "", 0.0)
        nodes = len([*walk(lowered.graph.function.body)]) if alone is None else alone.nodes
        user = UserCode(lowered.graph) if alone is None and has_user_code(lowered.graph) else None
        self.logs = may_leave(lowered.graph, user)
        self._around = () if user is None else tuple(site.reference for site in user.around)
        guards = lowered.guards.count() if alone is None else 0  # those of a graph for any size are its own
        self.made.nodes = nodes
        self.nbytes = _GRAPH + _NODE * nodes + _GUARD * guards
        self.slots = slots_of(lowered.outline)
        self._logged: HeadAndTail | Sequenced | None = None
        self._observed: Observed | None = None
        self._may_observe = self.logs
        self._called_as: tuple[Callable[[], Any], ...] = ()
        self._gradients: dict[Any, tuple[GradientOf, WholeGradient | str]] = {}
        result = None if lowered.written else expression_of(lowered.outline, converts=True)
        self._filled = None if result is None else filling(result, len(self.slots), _CONVERTING)
        given = None if result is None else argument_text(template, count)
        self._call = None if result is None or given is None else given.call(result, _CONVERTING, lowered.guards)
        self._may_share = any(not isinstance(x, Parameter) for x in lowered.rewritten)
        if self._may_share:
            self._call = None
        if self.logs or self._around or self._may_share:
            self._fill, call = None, None
        else:
            self._fill, call = self._filled, self._call
        self.sequence = bind(lowered.graph, guarded=True, alone=alone, call=call)

    def logged(self, tensors: Sequence[Tensor], run: LoggedRun, log: list[Any]) -> list[Tensor] | None:
        """Return the results of the graph, in a run that keeps a log: without a tape in two parts, if it has a tail that is worth it.

        None if the run is to be replayed from the log.
        """
        parts = None if run.tape is not None else self._parts()
        return self.sequence.run_fitting(tensors, run) if parts is None else parts.run_fitting(tensors, run, log)

    def _parts(self) -> HeadAndTail | None:
        """Return the graph in two parts; None if it has no tail that is worth it."""
        if self._logged is None:
            # Two threads may both make it: the parts are equal.
            self._logged = head_and_tail(self.lowered.graph, first=self._observed is None) or self.sequence
        return self._logged if isinstance(self._logged, HeadAndTail) else None

    def _observed_for(self, known: Graphs, named: Any, tensors: Sequence[Tensor]) -> Observed | None:
        """Return the form for hooks that change nothing; None if there is none that may run now."""
        if not self._may_observe or state.tracer is not None:
            return None
        found = self._observed
        if found is None:
            # Two threads may both make it: they are equal.
            self._called_as = weakref.ref(known), reference(named)
            found = self._observed = observed(self.lowered.graph, call=self._call, caller=weakref.ref(self))
            self._may_observe = found is not None
        return found if found is not None and found.fits(tensors) else None

    def gradient(self, template: Template, *asked: Any) -> WholeGradient | str:
        """Return the gradient of the graph, for arguments of this template; a text that says why a tape is needed, if it is.

        `asked` is that of `GradientOf`.
        """
        if self._may_share:
            return "a tensor from outside is written, and an argument may be the same one"
        of = GradientOf(*asked)
        key = of.leaves, tuple(map(id, of.weights)), of.trained, of.has_aux, of.valued
        if key not in self._gradients:
            # Two threads may both make it: they are equal.
            made = whole_gradient(self.lowered, template, of)
            self._gradients[key] = of, made
            if not isinstance(made, str):
                self.nbytes += made.nbytes
                budget.charge(made.nbytes)
        return self._gradients[key][1]

    def run(self, known: Graphs, template: Template | None, named: Any, tensors: Sequence[Tensor], args: tuple[Any, ...],
            kwargs: dict[str, Any]) -> Any:
        """Return the result of a call.

        template      that of the arguments, None if all arguments are tensors; `tensors` are those in them
        args, kwargs  what the function or Cell `named` is given where it runs eagerly
        """
        if self._fill is not None:
            tape, whole = state.tracer, self.sequence.whole
            if whole is not None:
                known.use(self._kind, whole, self.made, WHOLE)
            if tape is not None:
                if self.lowered.rewritten:
                    self._check_written(named, tensors)  # an argument may be a name of a Parameter
                else:
                    known.use_recorded(self.sequence.recorded, self.made)
            result = self._fill(*self.sequence.run_fitting(tensors, Run(tape)))
            if known.calls is not None:
                known.calls.took(self.made, *self._way(known.calls, tape, tensors))
            return result
        if self.lowered.written or self._may_share or (self.lowered.rewritten and state.tracer is not None):
            self._check_written(named, tensors)
        if not (self.logs or self._may_be_hooked()):
            result = self.returned(self.sequence.run_fitting(tensors, Run(state.tracer)), tensors)
            if known.calls is not None:
                known.calls.took(self.made, *self._way(known.calls, state.tracer, tensors))
            return result
        alive = self.alive()
        try:
            return self._run_with_hooks(known, template, named, tensors, args, kwargs)
        finally:
            del alive

    def alive(self) -> list[Any]:
        """Return what a run holds until its end: hooks may replace what the graph has read, which eager mode's frames keep alive."""
        return self.lowered.guards.alive()

    def _run_with_hooks(self, known: Graphs, template: Template | None, named: Any, tensors: Sequence[Tensor], args: tuple[Any, ...],
                        kwargs: dict[str, Any]) -> Any:
        log: list[Any] = []
        whole = self._observed_for(known, named, tensors)
        if whole is None:
            along = self._is_decided or (state.tracer is None and (parts := self._parts()) is not None and parts.fits(tensors))
            if known.must_be_whole:
                raise self.not_whole(PATH if along else EAGERLY, self._why_path(tensors))
            if along:
                return _followed(known, self, template, named, tensors, log)
            if known.calls is None:
                return eagerly(named, *args, **kwargs)
            calls, why = known.calls, self._why_path(tensors)
            result = eagerly(named, *args, **kwargs)
            calls.took(self.made, EAGERLY, why)
            return result
        if whole.whole is not None:
            known.use(self._kind, whole.whole, self.made, LOOKED)
        run = whole.begun(tensors, log)
        try:
            results = run.run()
        except Deviation as deviation:
            return self._left(known, run, template, named, tensors, deviation)
        if results is None:
            return self._left(known, run, template, named, tensors)
        if known.calls is not None:
            known.calls.took(self.made, LOOKED)
        return self.returned(results, tensors)

    def _left(self, known: Graphs, run: ObservedRun, template: Template | None, named: Any, tensors: Sequence[Tensor],
              deviation: Deviation | None = None) -> Any:
        """Return the result of a call whose run has left the graph at the hooks that have been called last."""
        why = self.changed_by(run.called)
        if known.must_be_whole:
            if deviation is not None:
                deviation.abandon()
            raise self.not_whole(LEFT, why)
        return _followed(known, self, template, named, tensors, run.log, deviation, why)

    def departed(self, given: tuple[Any, ...], returned: Any, *state: Any) -> Any:
        """Return the result of a call with the arguments `given` in which a hook has done more than look: see `looking.Caller`."""
        known, named = [reference() for reference in self._called_as]
        run = self._reached(*state)
        deviation = run.leave(returned)
        result = self._left(known, run, flatten(given)[0], named, run.arguments, deviation)
        if known.calls is not None:
            known.calls.was_counted()
        return result

    def failed(self, *state: Any) -> None:
        """Clean up after a hook has raised."""
        self._reached(*state).failed()

    def _reached(self, *state: Any) -> UnrecordedRun:
        assert self._observed is not None
        return UnrecordedRun.reached(self._observed, *state)

    # -- how a call runs ----------------------------------------------------------------------------------------------
    def _way(self, calls: CallCounts, tape: Any, tensors: Sequence[Tensor]) -> tuple[Way, Why]:
        """Return how a call has run in which no hook may return anything."""
        if tape is not None:
            return RECORDED, calls.on_tape(Why(RECORDED_AROUND))
        if not self.sequence.fits(tensors):
            return PARSED, self._why_parsed(tensors)
        if self.lowered.written:
            return PIECES, Why(WRITTEN)
        if self._may_share:
            return PIECES, Why(SHARED)
        if self._around:
            return PIECES, Why(CODE_OF_THE_USER, "code of the user's")
        return PIECES, Why(RESULT if self._fill is None or self._call is None else FIRST_CALLS)

    def _why_parsed(self, tensors: Sequence[Tensor]) -> Why:
        if any(x._hooks for x in (*tensors, *self.lowered.graph.state.values())):
            return Why(WAITING_HOOK)
        return self._why_never_optimised

    @functools.cached_property
    def _why_never_optimised(self) -> Why:
        return Why(NOT_OPTIMISED, reason(self.lowered.graph) or "it calls Python where only a tape or a run of its own knows what for")

    @functools.cached_property
    def _why_never_observed(self) -> Why:
        return Why(NOT_OBSERVABLE, why_not_observed(self.lowered.graph))

    def _why_path(self, tensors: Sequence[Tensor]) -> Why:
        """Return why a call runs along the path."""
        if state.tracer is not None:
            return Why(RECORDED_WITH_HOOKS)
        if self._observed is not None:
            beginning = self._observed.beginning
            if beginning.any_always():
                return Why(ALWAYS_CALLED)
            return Why(OFTEN_LEFT, str(beginning.departures)) if beginning.departures else self._why_parsed(tensors)
        if not self.logs:
            return Why(CODE_OF_THE_USER, "code of the user's, which may add forward hooks to a cell that is being called,")
        return self._why_never_observed

    def way_with_log(self, tensors: Sequence[Tensor]) -> tuple[Way, Why]:
        """Return how a call has run that has kept a log."""
        return TWO_PARTS if isinstance(self._logged, HeadAndTail) else PATH, self._why_path(tensors)

    def changed_by(self, symbol: str) -> Why:
        """Return why a run has left the graph at some forward hooks."""
        host = self.lowered.graph.hosts.get(symbol)
        cell = host.cell() if isinstance(host, HookCall) else None
        if cell is None or cell._hooks is None:
            return Why(HOOK_CHANGES, "a forward hook")
        found = [described(function) for function in cell._hooks.forward_functions()]
        of = f"of {subject_of(cell)}"
        return Why(HOOK_CHANGES, f"the forward hook {found[0]} {of}" if len(found) == 1 else f"one of the {len(found)} forward hooks {of}")

    def not_whole(self, way: Way, why: Why) -> Exception:
        """Return the error of a call that would not run whole."""
        return errors.NOT_WHOLE.at(self.lowered.graph.function.loc, f"{why}; the way of this call is '{way.name}'", help=why.reason.way_out)

    @functools.cached_property
    def _is_decided(self) -> bool:
        return is_decided(self.lowered.graph)

    def _may_be_hooked(self) -> bool:
        """Return True if forward hooks may be added that run at the end of a cell which is being called then."""
        return any(cell is None or cell._hooks for cell in [reference() for reference in self._around])

    def _check_written(self, named: Any, tensors: Sequence[Tensor]) -> None:
        """Raise CompileError if a tensor that is written in place has two names in the graph, where it would be two tensors."""
        lowered, tape = self.lowered, state.tracer
        one: Callable[[Tensor], int] = tape.identity if tape is not None and tape.emits is False else id
        given = [one(x) for x in tensors]
        rewritten = {one(x) for x in lowered.rewritten}
        outside = {one(x) for x in lowered.graph.state.values()} if lowered.written else rewritten
        for i in range(len(given)):
            if i in lowered.written and given.count(given[i]) > 1:
                raise errors.written_under_two_names(definition_of(named), from_outside=False)
            if given[i] in (outside if i in lowered.written else rewritten):
                raise errors.written_under_two_names(definition_of(named), from_outside=True)

    def returned(self, results: list[Tensor], tensors: Sequence[Tensor]) -> Any:
        """Return what the function returns, and write the arguments that it wrote in place."""
        lowered, slots = self.lowered, self.slots
        if self._filled is not None:
            return self._filled(*results)
        for i, value in zip(lowered.written, results[len(slots) :], strict=True):
            tensors[i].overwrite(value)
        leaves = [x if slot.category == "tensor" else _CONVERTING[f"{slot.category}_of"](x)
                  for slot, x in zip(slots, results, strict=False)]
        return filled(lowered.outline, leaves)


def _number(kind: type, x: Any) -> Any:
    """Return the number of a 0-d tensor; a missing value stands for a result that is None."""
    return kind(x.item()) if isinstance(x, Tensor) else x


_CONVERTING: dict[str, Callable[[Any], Any]] = {f"{kind.__name__}_of": functools.partial(_number, kind) for kind in (int, float, bool)}


@collector.paused(lasting=False)
def make(known: Graphs, template: Template, tensors: Sequence[Tensor], named: Any) -> tuple[Entry, Template, Sequence[Tensor]]:
    """Make a graph for these arguments and cache it; return it with the arguments as it is given them.

    It is made from one for any size, if only sizes are new, and for any number or tensor, where arguments or attributes change.
    """
    begun = time.perf_counter()
    if not known.history.name:
        known.history.name = title_of(named)
    cause = cause_of(known, template, parameters_of(named))
    found = known.numbers.tried(template, tensors, functools.partial(_made_for_any_number, known, named))
    if found is not None:
        (made, alone), template, tensors = found
        cause = (INPUT, cause[1]) if cause[0] is VALUE else cause
    elif (reading := known.state.tried(functools.partial(_made_reading, known, named, template))) is not None:
        made, alone = reading
        cause = (READ_AGAIN, cause[1]) if cause[0] is READ else cause
    else:
        made, alone = _lowered(known, _subject(known.call, template, named, known.constant))
        cause = (SIZES, cause[1]) if alone is not None else cause
    if isinstance(known, SharedGraphs):
        known.check(_is_plain(made))
    known.state.saw(made.guards)
    return _kept(known, template, tensors, made, cause, begun, alone), template, tensors


def _shown(template: Template, tensors: Sequence[Tensor]) -> str:
    """Return the arguments as a record shows them."""
    args, kwargs = template.build([template.numbers.get(i, x) for i, x in enumerate(tensors)])
    return ", ".join([*map(described_constant, args), *(f"{name}={described_constant(x)}" for name, x in kwargs.items())])


def _made_for_any_number(known: Graphs, named: Any, template: Template) -> tuple[Lowered, Alone | None] | None:
    """Return the graph for a template with numbers as inputs; None if there is none."""
    return _attempted(known, named, template, functools.partial(_lowered, known))


def _made_reading(known: Graphs, named: Any, template: Template, places: Sequence[OutsidePlace]) -> tuple[Lowered, Alone | None] | None:
    """Return the graph that reads these places when it runs; None if there is none, or if it compares one of them."""

    def reading(subject: Subject) -> tuple[Lowered, None] | None:
        made = lowered_reading(subject, places)
        compares = made is None or any(
            isinstance(place, AttributePlace) and made.guards.compares_all_of(place.holder, place.name) for place in places)
        return None if made is None or compares else (made, None)

    return _attempted(known, named, template, reading)


def _attempted(
    known: Graphs, named: Any, template: Template, lower: Callable[[Subject], tuple[Lowered, Alone | None] | None]
) -> tuple[Lowered, Alone | None] | None:
    """Return the graph for numbers that Python may not need to know; None if it cannot be made, or runs the user's code.

    It could be left for another one then, which might need to know them.
    """
    constant = set(known.constant)
    subject = dataclasses.replace(_subject(known.call, template, named, constant), tries_numbers=True)
    try:
        found = lower(subject)
    except Exception:
        return None  # of the user's code as well: it raises again where the numbers are constants
    if found is None:
        return None
    graph = found[0].graph
    if not runs_alone(graph.general if isinstance(graph, SizedGraph) else graph):
        return None
    known.constant |= constant
    return found


def _lowered(known: Graphs, subject: Subject) -> tuple[Lowered, Alone | None]:
    """Return a graph, with what runs it if it is one of those for any size."""
    try:
        return for_these_sizes(known.any_size, subject) or (lowered(subject), None)
    except Exception as raised:
        if not isinstance(known, SharedGraphs):
            raise
        refused = known.refused() if isinstance(raised, CompileError) else NotShared(is_lasting=False)
    raise refused  # what was raised is raised again where the function has graphs of its own


def _is_plain(made: Lowered) -> bool:
    """Return True for a graph that runs none of the user's code, and whose result is of tensors, numbers and text alone."""
    graph = made.graph
    return expression_of(made.outline, converts=True) is not None and runs_alone(graph.general if isinstance(graph, SizedGraph) else graph)


def _subject(call: Callable[..., Any], template: Template, named: Any, constant: set[Any]) -> Subject:
    return Subject(call, template, symbol_of(named), definition_of(named), names_of(named, template), constant)


def _kept(known: Graphs, template: Template, tensors: Sequence[Tensor], made: Lowered, cause: tuple[Cause, str], begun: float,
          alone: Alone | None = None) -> Entry:
    record = known.history.made(*cause, _shown(template, tensors), time.perf_counter() - begun)
    entry = Entry(made, template, alone, known.count, record)
    count("graphs")
    graph_made(made.graph)
    known.add(template, entry)
    return entry


def _followed(known: Graphs, entry: Entry, template: Template | None, named: Any, tensors: Sequence[Tensor], begun: list[Any],
              deviation: Deviation | None = None, left: Why | None = None) -> Any:
    """Run a graph with forward hooks; if a hook returns something the graph was not made for, continue in a graph made for it.

    begun      the log of a run of the graph that has departed; empty: it has not begun
    deviation  how that run has left the graph
    left       why it has left the graph; None if it has not begun
    """
    log: list[Any] = begun if deviation is not None else []
    replay = None if deviation is not None else unfolded(begun)
    while True:
        try:
            if deviation is not None:
                found, deviation = deviation, None
                raise found
            run = LoggedRun(state.tracer, log, replay)
            results = entry.logged(tensors, run, log)
            if results is None:
                log, replay = [], unfolded(log)
                continue
            if run.replaying:
                raise InternalError("the run that is replayed was longer than the graph")
            if known.calls is not None:
                known.calls.took(entry.made, *((LEFT, left) if left is not None else entry.way_with_log(tensors)))
            return entry.returned(results, tensors)
        except Deviation as deviated:
            decisions, site = _decided(entry, deviated)
            left = left or entry.changed_by(getattr(deviated.node.op, "symbol", ""))
            try:
                if found := entry.lowered.guards.changed_before(site, entry.lowered.begun.addresses()):
                    raise RuntimeError(
                        f"The hooks that have run have changed what the graph had read before them, {found}, and what comes after them "
                        "takes another graph, which would be made of the new value only. Change it between two calls, or, if it is a "
                        "number, keep it in a Parameter, whose value is read anew each time.") from None
                with lowering_lock:
                    kind = flatten((tuple(tensors), {}))[0] if template is None else template
                    subject = _subject(known.call, kind, named, known.constant)
                    started = time.perf_counter()
                    entry = _kept(known, kind, tensors, continued(subject, entry.lowered, decisions), (HOOKED, str(left)), started)
            except BaseException:
                deviated.abandon()
                raise
            log, replay = [], unfolded(log)


def _decided(entry: Entry, deviation: Any) -> tuple[dict[Any, Any], Any]:
    """Return what is known of cells and hooks up to the node at which a run left its graph, and the site of that."""
    lowered = entry.lowered
    decisions = dict(lowered.decisions)
    site = lowered.sites.get(getattr(deviation.node.op, "symbol", ""))
    if site is not None:
        decisions[site] = deviation.observed.outline if isinstance(deviation.observed, Unfitting) else outline_of(deviation.observed)
        return decisions, site
    called = lowered.graph.site(deviation.node) if deviation.slot else None
    if called is not None:
        site = called.ordinal, deviation.slot
        # Hooks have been added since: the call is lowered anew.
        decisions = {key: known for key, known in decisions.items() if key[0] != called.ordinal}
        if deviation.slot in ("forward_pre", "forward") and deviation.observed is not None:
            decisions[called.ordinal, deviation.slot] = hooked_outline(deviation.observed)
    return decisions, site


@collector.paused(lasting=False)
def parsed(target: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return a new graph, a `Lowered`, of a function (jitted or not), a method or a Cell for these arguments, without running it.

    CompileError if it cannot be parsed.
    """
    instance = getattr(target, "__self__", None)
    function: Any = parsed_function(target.__func__ if isinstance(target, types.MethodType) else target)
    template, _ = flatten((args, kwargs))
    if isinstance(function, Cell):
        call: Callable[..., Any] = functools.partial(cell_on, weakref.ref(function))
    elif isinstance(target, types.MethodType):
        call = functools.partial(method_on, function, lambda: instance)
    else:
        call = functools.partial(function_on, function)
    with lowering_lock:
        return lowered(_subject(call, template, function, set()))


def run_instead(lowered: Any, module: Module, args: Sequence[Any]) -> Any:
    """Run a transformed module in place of the one that a function was lowered to, and return the function's result.

    module  the result of passes on `lowered.graph.module`; its function has the same parameters and results

    RuntimeError if a forward hook returns something the function was not lowered for.
    """
    known = lowered.graph
    graph = Graph(module, known.symbol, known.state, known.hosts, cells=known.cells)
    template, tensors = flatten((tuple(args), {}))
    transformed = Lowered(graph, lowered.guards, lowered.outline, lowered.written, lowered.decisions, lowered.sites, lowered.begun,
                          lowered.rewritten)
    entry = Entry(transformed, template)
    try:
        return entry.returned(entry.sequence.run(tensors, Run(state.tracer)), tensors)
    except Deviation as deviation:
        deviation.abandon()
        raise RuntimeError(str(deviation)) from None
