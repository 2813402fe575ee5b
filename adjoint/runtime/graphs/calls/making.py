"""Make graphs: for a call that has none yet, for a tool that shows the graph, and from IR that passes have transformed.

`jit` imports this module, and with it the frontend, when the first function is parsed.
"""

from __future__ import annotations

import dataclasses
import functools
import time
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation import collector
from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend.changes.journal import AttributePlace, OutsidePlace
from adjoint.ir.core import Module
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.run import Deviation, Run
from adjoint.runtime.graphs.calls.any_size import SizedGraph, for_these_sizes
from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.graphs.calls.causes import cause_of
from adjoint.runtime.graphs.calls.entry import Entry, kept, shown, subject_for
from adjoint.runtime.graphs.calls.functions_of_one_code import NotShared, SharedGraphs
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.inputs.callables import cell_on, function_on, method_on, parameters_of, title_of
from adjoint.runtime.graphs.inputs.outline import expression_of
from adjoint.runtime.graphs.inputs.templates import Template, flatten
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.lowering.lowering import Lowered, Subject, lowered, lowered_reading
from adjoint.runtime.graphs.reports.ways import (
    INPUT,
    READ,
    READ_AGAIN,
    SIZES,
    VALUE,
)
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.optimised import Alone, runs_alone
from adjoint.runtime.process.jitted import is_optional, parsed_function
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["make", "parsed", "run_instead"]


@collector.paused(lasting=False)
def make(known: Graphs, template: Template, tensors: Sequence[Tensor], named: Any) -> tuple[Entry, Template, Sequence[Tensor]]:
    """Make a graph for a call and add it to the cache; return its entry, with the template and the tensors to run it on.

    If only sizes are new, the graph is specialised from one for any size.  If a number among the arguments, or an attribute, keeps
    changing, the graph takes it as an input: the returned template and tensors then differ from the given ones.

    known     the cache of the function
    template  the structure of the arguments
    tensors   the tensors among the arguments
    named     the function or Cell
    """
    begun = time.perf_counter()
    if not known.history.name:
        known.history.name, known.history.warns = title_of(named), not is_optional(named)
    cause = cause_of(known, template, parameters_of(named))
    found = known.numbers.tried(template, tensors, functools.partial(_made_for_any_number, known, named))
    if found is not None:
        (made, alone), template, tensors = found
        cause = (INPUT, cause[1]) if cause[0] is VALUE else cause
    elif (reading := known.state.tried(functools.partial(_made_reading, known, named, template))) is not None:
        made, alone = reading
        cause = (READ_AGAIN, cause[1]) if cause[0] is READ else cause
    else:
        made, alone = _lowered(known, named, subject_for(known.call, template, named, known.constant))
        cause = (SIZES, cause[1]) if alone is not None else cause
    if isinstance(known, SharedGraphs):
        known.check(named, _is_plain(made))
    known.state.saw(made.guards)
    return kept(known, template, made, cause, shown(template, tensors), begun, alone), template, tensors


def _made_for_any_number(known: Graphs, named: Any, template: Template) -> tuple[Lowered, Alone | None] | None:
    """Return a graph for arguments in which some numbers are inputs; None if it cannot be made.

    known     the cache of the function's graphs
    named     the function or Cell
    template  the structure of the arguments, with slots for these numbers
    """
    return _attempted(known, named, template, functools.partial(_lowered, known, named))


def _made_reading(known: Graphs, named: Any, template: Template, places: Sequence[OutsidePlace]) -> tuple[Lowered, Alone | None] | None:
    """Return a graph that reads some attributes and names each time it runs; None if it cannot be made, or if a guard compares one of them.

    known     the cache of the function's graphs
    named     the function or Cell
    template  the structure of the arguments
    places    the attributes and names
    """

    def reading(subject: Subject) -> tuple[Lowered, None] | None:
        made = lowered_reading(subject, places)
        compares = made is None or any(
            isinstance(place, AttributePlace) and made.guards.compares_all_of(place.holder, place.name) for place in places)
        return None if made is None or compares else (made, None)

    return _attempted(known, named, template, reading)


def _attempted(
    known: Graphs, named: Any, template: Template, lower: Callable[[Subject], tuple[Lowered, Alone | None] | None]
) -> tuple[Lowered, Alone | None] | None:
    """Try to make a graph in which numbers are inputs, and return it with its optimised form (`Alone`; None if it was not specialised from
    a graph for any size).

    Return None if making it fails, as where Python needs to know a number, or if the graph runs code of the user's: a call may then have to
    be continued in another graph, which might need to know the numbers.

    known     the cache of the function's graphs
    named     the function or Cell
    template  the structure of the arguments
    lower     makes the graph
    """
    constant = set(known.constant)
    subject = dataclasses.replace(subject_for(known.call, template, named, constant), tries_numbers=True)
    try:
        found = lower(subject)
    except Exception:
        return None  # errors of the user's code, too: it raises again where the numbers are constants
    if found is None:
        return None
    graph = found[0].graph
    if not runs_alone(graph.general if isinstance(graph, SizedGraph) else graph):
        return None
    known.constant |= constant
    return found


def _lowered(known: Graphs, named: Any, subject: Subject) -> tuple[Lowered, Alone | None]:
    """Make a graph for a call, by specialising one for any size or else by parsing; return it with its optimised form, None after parsing.

    NotShared if the function shares its graphs with others, and making one fails.

    known    the cache of the function's graphs
    named    the function or Cell
    subject  the function and its arguments
    """
    try:
        return for_these_sizes(known.any_size, subject) or (lowered(subject), None)
    except Exception as raised:
        if not isinstance(known, SharedGraphs):
            raise
        refused = known.refused(named) if isinstance(raised, CompileError) else NotShared(is_lasting=False)
    raise refused  # the error is raised again where the function has graphs of its own


def _is_plain(made: Lowered) -> bool:
    """Return True for a graph that runs no code of the user's, and whose result consists of tensors, numbers and text; a call of such a
    graph never runs the function itself.
    """
    graph = made.graph
    if made.counted or made.packs:
        return False
    return expression_of(made.outline, converts=True) is not None and runs_alone(graph.general if isinstance(graph, SizedGraph) else graph)


@collector.paused(lasting=False)
def parsed(target: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return a new graph, a `Lowered`, for these arguments, without running it; tools show such graphs.

    target  a function (jitted or not), a method or a Cell

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
    with lowering_lock.current:
        return lowered(subject_for(call, template, function, set()))


def run_instead(lowered: Any, module: Module, args: Sequence[Any]) -> Any:
    """Run IR that passes have made of a function's graph, and return the result of the function.

    lowered  the `Lowered` of the function
    module   the result of passes on `lowered.graph.module`; its function has the same parameters and results
    args     the arguments of the call

    RuntimeError if a forward hook returns something the function was not lowered for, or a gradient that is still a node has cells of which
    the hooks or the `bprop` are not known any more.
    """
    known = lowered.graph
    graph = Graph(module, known.symbol, known.state, known.hosts, known.sites_in(module), known.cells, known)
    template, tensors = flatten((tuple(args), {}))
    transformed = Lowered(graph, lowered.guards, lowered.outline, lowered.written, lowered.decisions, lowered.sites, lowered.begun,
                          lowered.rewritten)
    entry, run = Entry(transformed, template), Run(state.tracer)
    if (make := hosts_of_runs(known)[1]) is not None:
        run.hosts = make()
    try:
        return entry.graph.returned(entry.graph.plan.run(tensors, run), tensors)
    except Deviation as deviation:
        deviation.abandon()
        raise RuntimeError(str(deviation)) from None
