"""An entry of the cache: a graph, and the object that runs its calls in the right way.

A graph may call forward hooks of the user's, which may return other values or change what the graph was made for.  So calls do not all run
alike.  The names of the ways are those of `reports.ways`, which reports use:

    class       ways of its calls                                 chosen when

    AsGraph     one function, in pieces, as parsed, on a tape     no hook in the graph may replace a value or change state
    ByCount     in parts, by count                                values decide a size in the graph
    Looking     with hooks that look, left the graph              its hooks are expected to change nothing: checked after each one
    InTwoParts  in two parts                                      the graph can be split behind user code; each part is checked likewise
    AlongPath   along the path                                    hooks may change values, and branches or loops depend on tensors
    Eagerly     eagerly                                           hooks may change values, and nothing depends on tensors

Along the path, the graph runs node by node and keeps every result in a log.  If a hook returns something the graph was not made for, the
call continues in another graph, which begins by replaying the log.  Eagerly, the function itself runs instead of its graph.  On a tape, a
gradient around the call records it.

`_way_of` chooses among these classes when a graph is called first.  `Looking` and `InTwoParts` pass a call on to `AlongPath` or `Eagerly`
when too many calls have left the graph, and where a run cannot begin.  On a tape only `AsGraph`, `AlongPath` and `Eagerly` are used.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Protocol

from adjoint.foundation.budget import budget
from adjoint.foundation.diagnostics import InternalError
from adjoint.foundation.made import count
from adjoint.ir.core import Function
from adjoint.ir.types import NamedSizes
from adjoint.runtime.execution.run import Deviation, LoggedRun, Run, unfolded
from adjoint.runtime.graphs.calls import joint_gradients
from adjoint.runtime.graphs.calls.bound_graph import BoundGraph
from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.graphs.calls.call import Call
from adjoint.runtime.graphs.graph import Unfitting
from adjoint.runtime.graphs.guards.constants import described as described_constant
from adjoint.runtime.graphs.guards.references import reference
from adjoint.runtime.graphs.inputs.callables import definition_of, names_of, symbol_of
from adjoint.runtime.graphs.inputs.templates import Template, flatten
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.lowering.assumptions import Counts
from adjoint.runtime.graphs.lowering.forward_hooks import hooked_outline, outline_of
from adjoint.runtime.graphs.lowering.graph_sizes import LEAST
from adjoint.runtime.graphs.lowering.lowering import Lowered, Subject, continued, lowered
from adjoint.runtime.graphs.reports.history import NO_REASON, CallCounts, MadeGraph
from adjoint.runtime.graphs.reports.ways import (
    ALWAYS_CALLED,
    CODE_OF_THE_USER,
    COUNTED,
    COUNTED_ANOTHER,
    COUNTS,
    EAGERLY,
    FIRST,
    FIRST_CALLS,
    HOOKED,
    LEFT,
    LOOKED,
    NOT_OBSERVABLE,
    NOT_OPTIMISED,
    OFTEN_LEFT,
    ONE_FUNCTION,
    PARSED,
    PATH,
    PIECES,
    RECORDED,
    RECORDED_AROUND,
    RECORDED_WITH_HOOKS,
    RESULT,
    SHARED,
    TWO_PARTS,
    WAITING_HOOK,
    WRITTEN,
    Cause,
    Way,
    Why,
)
from adjoint.runtime.graphs.running import counted_sizes, observed_hooks, observed_runs, two_parts
from adjoint.runtime.graphs.running.optimised import Alone, reason
from adjoint.runtime.process.announcements import graph_made
from adjoint.runtime.process.jitted import is_optional
from adjoint.runtime.process.tracer import eagerly, state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["AsGraph", "ByCount", "CallWay", "Eagerly", "Entry", "Looking", "kept", "shown", "subject_for", "way_of", "why_parsed"]

_GRAPH, _NODE, _GUARD = 6000, 1200, 1800
"""Estimated bytes that are charged to the memory budget: for a graph, for each of its nodes, and for each of its guards."""


_MOST_COUNTS, _MOST_EXACT = 32, 16
"""How many graphs of one function are kept for different numbers of the sizes that values decide; how many are made if Python needs to know
each of them, until the function itself runs instead.
"""

_WhyNot = Callable[[Call], Why]
"""A function that is called with a Call and returns the reason why this call does not run as a graph, for reports."""


class CallWay(Protocol):
    """The interface of the classes below.  Each of them runs the calls of one graph in one way, such as node by node; the table in the
    module lists the ways.

    `Entry` holds one such object for calls without a tape (the recording for a gradient) and one for calls on a tape.
    """

    def run(self, call: Call) -> Any:
        """Execute `call`, for which the cache has found or made the graph of this object, and return what the user's function would return.
        """
        ...


class Entry:
    """Runs the calls for which one graph was made; the cache of graphs holds it.

    template    the structure of the arguments
    alone       the optimised form if it was specialised from a graph for any size, otherwise None
    count       as for `Graphs`
    lowered     the function, lowered to a graph
    graph       the same graph, bound to run
    made        the record of it in the function's history
    nbytes      an estimate of its bytes
    _way        runs calls without a tape (the recording for a gradient around them); None before the first such call
    _recorded   runs calls on a tape; None before the first such call
    _gradients  the gradients asked for so far.  The keys hold ids of Parameters; each entry keeps these Parameters alive
    """

    def __init__(self, lowered: Lowered, template: Template, alone: Alone | None = None, count: int | None = None,
                 made: MadeGraph | None = None):
        self.lowered, self.made = lowered, made or MadeGraph(0, FIRST, "", "", 0.0)
        self.graph = graph = BoundGraph(lowered, template, self.made, alone, count)
        guards = lowered.guards.count() if alone is None else 0  # a graph for any size counts its own guards
        self.made.nodes, self.made.in_python = graph.nodes, graph.in_python
        self._nbytes = _GRAPH + _NODE * graph.nodes + _GUARD * guards
        self._way: CallWay | None = None
        self._recorded: CallWay | None = None
        self._gradients: dict[Any, tuple[joint_gradients.GradientOf, joint_gradients.JointGradient | str]] = {}

    @property
    def nbytes(self) -> int:
        return self._nbytes + (self._way.nbytes if isinstance(self._way, ByCount) else 0)

    def run(self, call: Call) -> Any:
        """Run a call for which the graph's guards (conditions for running a graph again) hold, and return the result of the function."""
        # Two threads may both choose a way: the objects are equal.
        if state.tracer is None:
            way = self._way
            if way is None:
                way = self._way = _way_of(self.graph, call)
        else:
            way = self._recorded
            if way is None:
                way = self._recorded = _way_on_tape(self.graph)
        return way.run(call)

    def gradient(self, template: Template, *asked: Any) -> joint_gradients.JointGradient | str:
        """Return the function that computes the graph's result and gradient at once; if a tape (the recording for a gradient) is needed
        instead, return a text that says why.

        template  the structure of the arguments
        asked     the fields of `GradientOf`: what to differentiate, and what to return
        """
        if self.graph.may_share:
            return "a tensor from outside is written, and an argument may be the same one"
        of = joint_gradients.GradientOf(*asked)
        key = of.leaves, tuple(map(id, of.weights)), of.trained, of.has_aux, of.valued
        if key not in self._gradients:
            # Two threads may both make it: they are equal.
            made = joint_gradients.joint_gradient(self.lowered, template, of)
            self._gradients[key] = of, made
            if not isinstance(made, str):
                self._nbytes += made.nbytes
                budget.charge(made.nbytes)
        return self._gradients[key][1]


def kept(known: Graphs, template: Template, made: Lowered, cause: tuple[Cause, str], arguments: str, begun: float,
         alone: Alone | None = None) -> Entry:
    """Add a new graph to the cache of its function, and return its entry.

    known      the cache of the function
    template   the structure of the arguments, by which the cache looks graphs up
    made       the new graph
    cause      why it was made, and what differs from the graph before
    arguments  the arguments that it was made for, as text
    begun      the time of `perf_counter` when its making began
    alone      its optimised form, if it was specialised from a graph for any size
    """
    record = known.history.made(*cause, arguments, perf_counter() - begun)
    entry = Entry(made, template, alone, known.count, record)
    count("graphs")
    graph_made(made.graph)
    known.add(template, entry)
    return entry


def subject_for(call: Callable[..., Any], template: Template, named: Any, constant: set[Any]) -> Subject:
    """Return the description of a function or a Cell, with its arguments, from which a graph is made.

    call      runs the function on symbolic arguments
    template  the structure of the arguments
    named     the function or Cell, for names in messages and in the IR
    constant  keys of attributes and names whose numbers Python needs to know while parsing; each such number has a graph of its own
    """
    names = names_of(named, template)
    return Subject(call, template, symbol_of(named), definition_of(named), names, constant, may_end=not is_optional(named))


def shown(template: Template, tensors: Sequence[Tensor]) -> str:
    """Return the arguments of a call as text, for the history of graphs.

    template  the structure of the arguments
    tensors   the tensors among them
    """
    args, kwargs = template.build([template.numbers.get(i, x) for i, x in enumerate(tensors)])
    return ", ".join([*map(described_constant, args), *(f"{name}={described_constant(x)}" for name, x in kwargs.items())])


# -- the choice ------------------------------------------------------------------------------------------------------------
def way_of(lowered: Lowered) -> tuple[CallWay, BoundGraph]:
    """Return the object that would run calls of a graph while no gradient is recorded, and the graph bound to its plan.  No call is made;
    reports use it.

    lowered  the function, lowered to a graph
    """
    template, known = flatten(((), {}))[0], Graphs(way_of)
    graph = BoundGraph(lowered, template, MadeGraph(0, FIRST, "", "", 0.0))
    return _way_of(graph, Call(known, template, way_of, (), (), {})), graph


def _way_of(graph: BoundGraph, call: Call) -> CallWay:
    """Return the object that runs calls of a graph without a tape (the recording for a gradient).

    call  the first call
    """
    if graph.lowered.packs:
        return Eagerly(graph, functools.partial(_why_not_observed, graph), _always)
    if graph.lowered.counted:
        return ByCount(graph)
    if not graph.leaves:
        return AsGraph(graph)
    looking = Looking(graph, call)
    if looking.is_possible:
        return looking
    why = functools.partial(_why_not_observed, graph)
    parts = graph.parts
    return InTwoParts(graph, parts, why) if parts is not None and parts.begins_whole else _otherwise(graph, why)


def _way_on_tape(graph: BoundGraph) -> CallWay:
    """Return the object that runs calls of a graph on a tape, that is, while a gradient around them is recorded."""
    if graph.lowered.packs:
        return Eagerly(graph, functools.partial(_why_not_observed, graph), _always)
    if graph.lowered.counted:
        return Eagerly(graph, functools.partial(_why_counted, "a gradient is taken of what calls it"), _always)
    return _otherwise(graph, _why_recorded) if graph.leaves else AsGraph(graph)


def _why_not_observed(graph: BoundGraph, call: Call) -> Why:
    return graph.why_not_observed


def _why_counted(why: str, call: Call) -> Why:
    return Why(COUNTS, why)


def _why_waiting(call: Call) -> Why:
    return Why(WAITING_HOOK)


def _why_recorded(call: Call) -> Why:
    return Why(RECORDED_WITH_HOOKS)


def _why_users_code(call: Call) -> Why:
    return Why(CODE_OF_THE_USER, "code of the user's, which may add forward hooks to a cell that is being called,")


def _always() -> bool:
    return True


def _otherwise(graph: BoundGraph, why: _WhyNot, lasts: Callable[[], bool] = _always) -> AlongPath | Eagerly:
    """Return the object that runs calls of a graph in which hooks may replace values or change state: node by node (`AlongPath`) if the
    graph has branches or loops, otherwise without the graph (`Eagerly`).

    why    returns the reason for reports, given a call
    lasts  returns True if later calls for which the guards hold will take this way as well
    """
    return AlongPath(graph, why) if graph.is_decided else Eagerly(graph, why, lasts)


# -- the ways --------------------------------------------------------------------------------------------------------------
class AsGraph:
    """Runs calls as the compiled graph, where no hook in it may replace values or change state.

    If a Cell in whose call the user's code runs has got hooks, it passes the call on, to run node by node (`AlongPath`) or without the
    graph (`Eagerly`).
    """

    def __init__(self, graph: BoundGraph):
        self._graph = graph

    def run(self, call: Call) -> Any:
        graph, known, tape = self._graph, call.known, state.tracer
        plan = graph.plan
        if graph.is_one_call and (function := plan.call_function) is not None:
            known.use(graph.kind, function, graph.record, ONE_FUNCTION)
        if not graph.checked(call) and tape is not None and graph.is_one_call:
            known.use_recorded(plan.recorded, graph.record)
        if graph.around and graph.may_be_hooked():
            return _otherwise(graph, _why_recorded if tape is not None else _why_users_code).run(call)
        results = plan.run_fitting(call.tensors, Run(tape))
        result = graph.fill(*results) if graph.fill is not None else graph.returned(results, call.tensors)
        if known.calls is not None:
            known.calls.took(graph.record, *self._way(known.calls, tape, call.tensors))
        return result

    def _way(self, calls: CallCounts, tape: Any, tensors: Sequence[Tensor]) -> tuple[Way, Why]:
        """Return how the call that has just ended ran, and the reason why not in a faster way; both are for the counts of calls.

        calls    the counts
        tape     the tape that recorded the call; None if none did
        tensors  the tensors among the arguments
        """
        graph = self._graph
        if tape is not None:
            return RECORDED, calls.on_tape(Why(RECORDED_AROUND))
        if not graph.plan.fits(tensors):
            return PARSED, why_parsed(graph, tensors)
        if graph.lowered.written:
            return PIECES, Why(WRITTEN)
        if graph.may_share:
            return PIECES, Why(SHARED)
        if graph.around:
            return PIECES, Why(CODE_OF_THE_USER, "code of the user's")
        return PIECES, Why(RESULT if graph.call is None else FIRST_CALLS)


def why_parsed(graph: BoundGraph, tensors: Sequence[Tensor] = ()) -> Why:
    """Return the reason, for reports, why calls of a graph execute its nodes as they were parsed, and not its optimised form.

    tensors  the tensors among the arguments: a hook on one of them prevents the optimised form
    """
    if any(x._hooks for x in (*tensors, *graph.lowered.graph.state.values())):
        return Why(WAITING_HOOK)
    return Why(NOT_OPTIMISED, reason(graph.lowered.graph) or "it calls Python where only a tape or a run of its own knows what for")


class ByCount:
    """Runs calls of a graph in which values decide sizes: in parts, one after the other.

    The graph is for any numbers from 2 on, or for certain ones where Python needs to know them.  A call that meets another number begins
    again in a graph that is made for that.
    """

    def __init__(self, graph: BoundGraph):
        self._graph, self._exact = graph, graph.lowered.exact
        self._forms: dict[tuple[int | None, ...], tuple[BoundGraph, counted_sizes.CountedParts | str]] = {}
        """By the numbers that the graph of a form is for, as `Counts.known`."""
        self._last: tuple[int | None, ...] = ()
        self._refused: tuple[BoundGraph, str] | None = None
        try:
            self._forms[()] = graph, _parts_of(graph.lowered)
        except NamedSizes:
            self._exact = True

    @property
    def functions(self) -> Sequence[Function] | str:
        """The functions of the parts, for any numbers; a text that says why there are none.  Reports use it."""
        parts = self._forms[()][1] if () in self._forms else "its gradient needs to know a size"
        return parts if isinstance(parts, str) else parts.functions

    def run(self, call: Call) -> Any:
        known, numbers = call.known, self._last
        while True:
            if self._refused is not None and self._refused[0].lowered.guards.holds():
                return self._eagerly(call, *self._refused)
            form = self._forms.get(numbers)
            if form is None or not form[0].lowered.guards.holds():
                if self._exact and len(self._forms) >= _MOST_EXACT:
                    return self._eagerly(call, self._graph, f"Python needs to know it: it has had {_MOST_EXACT} numbers")
                form = self._made(call, numbers)
            graph, parts = form
            if isinstance(parts, str):
                return self._eagerly(call, graph, parts)
            if not parts.fits(call.tensors):
                return Eagerly(graph, _why_waiting, lambda: False).run(call)
            graph.checked(call)
            try:
                results, counted = parts.run(call.tensors)
            except counted_sizes.OtherCount as other:
                found = [*numbers, *(None,) * (other.place + 1 - len(numbers))]
                found[other.place] = other.number if graph.lowered.exact or other.number < LEAST else None
                while found and found[-1] is None:
                    found.pop()
                numbers = tuple(found)
                continue
            self._last = numbers
            if known.calls is not None:
                known.calls.took(graph.record, COUNTED)
            return graph.returned(results, call.tensors, counted)

    def _eagerly(self, call: Call, graph: BoundGraph, why: str) -> Any:
        """Run the function itself, and those of later calls while the guards of the graph hold."""
        self._refused = graph, why
        return Eagerly(graph, functools.partial(_why_counted, why), lambda: False).run(call)

    @property
    def nbytes(self) -> int:
        """Return an estimate of the bytes of its parts, and of the graphs for some numbers."""
        forms = [*self._forms.copy().values()]
        own = sum(_GRAPH + _NODE * graph.nodes for graph, _ in forms if graph is not self._graph)
        return own + sum(parts.nbytes for _, parts in forms if not isinstance(parts, str))

    def _made(self, call: Call, numbers: tuple[int | None, ...]) -> tuple[BoundGraph, counted_sizes.CountedParts | str]:
        """Make the graph for these numbers and keep it; return it with the object that runs it in parts, a text that says why if there is
        none.

        numbers  for each size that values decide the number; None for any from 2 on
        """
        known, begun = call.known, perf_counter()
        with lowering_lock.current:
            kind = flatten((tuple(call.tensors), {}))[0] if call.template is None else call.template
            subject = subject_for(known.call, kind, call.named, known.constant)
            made = lowered(replace(subject, counts=Counts(numbers, self._exact)))
            self._exact |= made.exact
            try:
                parts = _parts_of(made)
            except NamedSizes:
                self._exact = True
                made = lowered(replace(subject, counts=Counts(numbers, exact=True)))
                parts = _parts_of(made)
            counted = ", ".join(["any" if size.number is None else str(size.number) for size in made.counted])
            record = known.history.made(COUNTED_ANOTHER, counted, shown(kind, call.tensors), perf_counter() - begun)
            graph = BoundGraph(made, kind, record, None, known.count)
            record.nodes, record.in_python = graph.nodes, graph.in_python
            count("graphs")
            graph_made(made.graph)
            self._forms.pop(numbers, None)
            while len(self._forms) >= _MOST_COUNTS:
                del self._forms[next(iter(self._forms))]
            self._forms[numbers] = graph, parts
            budget.charge(_GRAPH + _NODE * graph.nodes)
            return graph, parts


def _parts_of(lowered: Lowered) -> counted_sizes.CountedParts | str:
    return counted_sizes.counted_parts(lowered.graph, lowered.counted, lowered.outline)


class Looking:
    """Runs calls as the compiled graph, and checks after each forward hook that it has changed nothing.

    If a hook has changed something, the rest of the call runs node by node, in a graph made for that if need be (`_followed`).
    """

    def __init__(self, graph: BoundGraph, call: Call):
        self._graph = graph
        self._called_as: tuple[Callable[[], Any], ...] = (weakref.ref(call.known), reference(call.named))
        self._observed = graph.observed = observed_runs.observed(graph.lowered.graph, call=graph.call, caller=weakref.ref(self))
        # No reference to this object: the cycle would keep the graph alive until the collector runs.
        self._otherwise: CallWay | None = None
        if self._observed is not None:
            beginning = self._observed.beginning
            self._otherwise = _otherwise(graph, functools.partial(_why_left, graph, beginning), lambda: beginning.is_over)

    @property
    def is_possible(self) -> bool:
        """True if a call can be continued, outside of the graph, after a hook that changes something; otherwise this class cannot run the
        graph.
        """
        return self._observed is not None

    def run(self, call: Call) -> Any:
        graph, known, form = self._graph, call.known, self._observed
        assert form is not None and self._otherwise is not None
        if not form.fits(call.tensors):
            return self._otherwise.run(call)
        graph.checked(call)
        if form.call_function is not None:
            known.use(graph.kind, form.call_function, graph.record, LOOKED)
        alive = graph.alive()
        try:
            run = form.begun(call.tensors, [])
            try:
                results = run.run()
            except Deviation as deviation:
                return self._left(call, run, deviation)
            if results is None:
                return self._left(call, run)
            if known.calls is not None:
                known.calls.took(graph.record, LOOKED)
            return graph.returned(results, call.tensors)
        finally:
            del alive

    def _left(self, call: Call, run: observed_runs.ObservedRun, deviation: Deviation | None = None) -> Any:
        """Do the rest of a call after a hook has changed something in the middle of it; return the result of the call.

        run        what has been done so far, with a log of the results
        deviation  raised there if a hook returned values of other types than the graph was made for; otherwise None
        """
        why = self._graph.changed_by(run.called)
        if call.known.must_be_whole:
            if deviation is not None:
                deviation.abandon()
            raise self._graph.not_whole(LEFT, why)
        return _followed(self._graph, call, lambda call: why, run.log, deviation, why)

    # -- called by the compiled function of a call (`observed_hooks.Caller`) ------------------------------------------------
    def departed(self, given: tuple[Any, ...], returned: Any, *state: Any) -> Any:
        known, named = [found() for found in self._called_as]
        run = self._reached(*state)
        deviation = run.leave(returned)
        args, kwargs = given
        result = self._left(Call(known, flatten(given)[0], named, run.arguments, args, kwargs), run, deviation)
        if known.calls is not None:
            known.calls.was_counted()
        return result

    def failed(self, *state: Any) -> None:
        self._reached(*state).failed()

    def alive(self) -> list[Any]:
        return self._graph.alive()

    def _reached(self, *state: Any) -> observed_runs.UnrecordedRun:
        assert self._observed is not None
        return observed_runs.UnrecordedRun.reached(self._observed, *state)


def _why_left(graph: BoundGraph, beginning: observed_hooks.Beginning, call: Call) -> Why:
    """Return the reason, for reports, why a call runs node by node at once, and not by the plan that expects hooks to change nothing.

    beginning  the object that has decided so
    """
    if beginning.any_always():
        return Why(ALWAYS_CALLED)
    if any("_shared" in x.__dict__ for x in call.tensors):
        return Why(NOT_OBSERVABLE, "an argument shares its memory with a NumPy array")
    return Why(OFTEN_LEFT, str(beginning.departures)) if beginning.departures else why_parsed(graph, call.tensors)


class InTwoParts:
    """Runs calls as two graphs, one after the other, so that the second may be optimised although user code runs in the first.

    The user's code in the first graph (forward hooks, or hooks of a gradient) is expected to change nothing that the second was made for;
    this is checked.

    graph  the graph, ready to run
    parts  its two parts
    why    returns the reason, for reports, why a call does not run as one graph
    """

    def __init__(self, graph: BoundGraph, parts: two_parts.HeadAndTail, why: _WhyNot):
        self._graph, self._parts, self._why, self._otherwise = graph, parts, why, _otherwise(graph, why)

    def run(self, call: Call) -> Any:
        if not self._parts.fits(call.tensors):
            return self._otherwise.run(call)
        return _begun(self._graph, call, TWO_PARTS, self._why)


class AlongPath:
    """Runs calls node by node: hooks may replace values, and branches or loops depend on tensors.

    Each result is kept in a log, so that the call can continue in another graph after a hook that returns something unexpected.

    graph  the graph, ready to run
    why    returns the reason, for reports, why a call runs in this way
    """

    def __init__(self, graph: BoundGraph, why: _WhyNot):
        self._graph, self._why = graph, why

    def run(self, call: Call) -> Any:
        return _begun(self._graph, call, PATH, self._why)


class Eagerly:
    """Runs calls eagerly: the user's function itself runs instead of its graph, since hooks may replace values.

    why    returns the reason for reports, given a call
    lasts  returns True if later calls for which the guards hold will run eagerly as well
    """

    def __init__(self, graph: BoundGraph, why: _WhyNot, lasts: Callable[[], bool]):
        self._graph, self._why, self._lasts = graph, why, lasts
        self._call_function: Callable[..., Any] | None = None

    def run(self, call: Call) -> Any:
        graph, known = self._graph, call.known
        if known.must_be_whole:
            raise graph.not_whole(EAGERLY, self._why(call))
        graph.checked(call)
        calls = known.calls
        why = NO_REASON if calls is None else self._why(call)
        if state.tracer is None and self._lasts():
            self._use(call, why)
        result = eagerly(call.named, *call.args, **call.kwargs)
        if calls is not None:
            calls.took(graph.record, EAGERLY, why)
        return result

    def _use(self, call: Call, why: Why) -> None:
        """Let the next calls try a function first that checks arguments and guards, and then calls the user's function.

        call  one that runs eagerly
        why   the reason for reports
        """
        made = self._call_function
        if made is None:
            if (text := self._graph.guard_text) is None:
                return
            references = {f"reference{i}": reference(x) for i, x in enumerate((call.named, *call.args[: call.before]))}
            found = [f"object{i}" for i in range(len(references))]
            body = [f"{', '.join(found)}, = {''.join(f'{name}(), ' for name in references)}",
                    f"if {' or '.join(f'{name} is None' for name in found)}: return NOT_RUN",
                    f"args, kwargs = {text.given}", f"return eagerly({', '.join(found)}, *args, **kwargs)"]
            made = self._call_function = text.function(None, body, {**references, "eagerly": eagerly})
        call.known.use(self._graph.kind, made, self._graph.record, EAGERLY, why)


# -- along the path ----------------------------------------------------------------------------------------------------------
def _begun(graph: BoundGraph, call: Call, way: Way, why: _WhyNot) -> Any:
    """Run a call from its beginning, node by node or in two parts, and return its result.

    way  which of the two, for the error of a function with `fullgraph=True`, which allows neither
    why  returns the reason, given the call
    """
    if call.known.must_be_whole:
        raise graph.not_whole(way, why(call))
    graph.checked(call)
    alive = graph.alive()
    try:
        return _followed(graph, call, why)
    finally:
        del alive


def _followed(graph: BoundGraph, call: Call, why: _WhyNot, begun: list[Any] | None = None, deviation: Deviation | None = None,
              left: Why | None = None) -> Any:
    """Run a graph with forward hooks node by node, or in two parts; if a hook returns something the graph was not made for, make another
    graph and continue there.

    Return the result of the call.

    why        returns the reason why the graph does not run as a whole
    begun      the log of a call that another form of the graph has begun (the results of its nodes so far); None if it has not begun
    deviation  raised there, if a hook returned values of other types than the graph was made for
    left       the reason why that form could not finish the call; None if it has not begun
    """
    known, tensors = call.known, call.tensors
    log: list[Any] = begun if begun is not None and deviation is not None else []
    replay = unfolded(begun) if begun is not None and deviation is None else None
    while True:
        try:
            if deviation is not None:
                found, deviation = deviation, None
                raise found
            run = LoggedRun(state.tracer, log, replay)
            parts = None if run.tape is not None else graph.parts
            results = graph.plan.run_fitting(tensors, run) if parts is None else parts.run_fitting(tensors, run, log)
            if results is None:
                log, replay = [], unfolded(log)
                continue
            if run.replaying:
                raise InternalError("the run that is replayed was longer than the graph")
            if known.calls is not None:
                known.calls.took(graph.record, *((LEFT, left) if left is not None else (PATH if parts is None else TWO_PARTS, why(call))))
            return graph.returned(results, tensors)
        except Deviation as deviated:
            decisions, site = _decided(graph, deviated)
            left = left or graph.changed_by(getattr(deviated.node.op, "symbol", ""))
            try:
                if changed := graph.lowered.guards.changed_before(site, graph.lowered.begun.addresses()):
                    raise RuntimeError(
                        f"The hooks that have run have changed what the graph had read before them, {changed}, and what comes after them "
                        "takes another graph, which would be made of the new value only. Change it between two calls, or, if it is a "
                        "number, keep it in a Parameter, whose value is read anew each time.") from None
                with lowering_lock.current:
                    kind = flatten((tuple(tensors), {}))[0] if call.template is None else call.template
                    subject = subject_for(known.call, kind, call.named, known.constant)
                    started = perf_counter()
                    made = continued(subject, graph.lowered, decisions)
                    graph = kept(known, kind, made, (HOOKED, str(left)), shown(kind, tensors), started).graph
            except BaseException:
                deviated.abandon()
                raise
            log, replay = [], unfolded(log)


def _decided(graph: BoundGraph, deviation: Any) -> tuple[dict[Any, Any], Any]:
    """Return what the next graph is to assume that hooks return, and the site where the call cannot go on in this graph.

    A site is the key of one call of hooks in the graph.  The first result maps sites to the structures that hooks return: the assumptions
    of this graph, corrected by what was seen.

    deviation  the exception raised there
    """
    lowered = graph.lowered
    decisions = dict(lowered.decisions)
    site = lowered.sites.get(getattr(deviation.node.op, "symbol", ""))
    if site is not None:
        # More is parsed after this call in the next graph, so the calls after it have other indices there.
        decisions = {key: known for key, known in decisions.items() if key[0] <= site[0]}
        decisions[site] = deviation.observed.outline if isinstance(deviation.observed, Unfitting) else outline_of(deviation.observed)
        return decisions, site
    called = lowered.graph.site(deviation.node) if deviation.slot else None
    if called is not None:
        site = called.ordinal, deviation.slot
        # Hooks have been added since: the next lowering decides about this call again.
        decisions = {key: known for key, known in decisions.items() if key[0] != called.ordinal}
        if deviation.observed is not None:
            decisions[called.ordinal, deviation.slot] = hooked_outline(deviation.observed)
    return decisions, site
