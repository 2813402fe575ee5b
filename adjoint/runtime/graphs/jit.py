"""`jit`: turn a function into a graph.  Its source is parsed once for each kind of arguments; calls run the graph.

    f(x)  ->  template of the arguments  ->  the cached graph of this template whose guards hold  ->  run its plan
                                             none: lower the function

The template is the structure of the arguments without their tensors.  Guards are the conditions under which a graph may run again.  To
lower a function is to make it into a graph.

Graphs stay cached when their guards fail: a value that changes back finds its graph again.  A graph with forward hooks assumes the
types that they return.  If they return something else, the function is lowered again for that, and the run continues in the new graph
at the node where it left the old one.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from adjoint.foundation import collector
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.inputs import check_call
from adjoint.runtime.execution.call_functions import NOT_RUN
from adjoint.runtime.graphs.calls.cache import Graphs, GraphsOfCells
from adjoint.runtime.graphs.calls.call import Call
from adjoint.runtime.graphs.calls.functions_of_one_code import NotShared, SharedGraphs, shared_graphs
from adjoint.runtime.graphs.inputs.callables import cell_on, function_on, method_on, weak_function_on
from adjoint.runtime.graphs.inputs.dynamic import check_declared
from adjoint.runtime.graphs.inputs.templates import Template, flatten
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.options import checked_options
from adjoint.runtime.graphs.reports.ways import GRADIENT, NEEDS_TAPE, NEW_SIZE, SIZE_ONCE, Why
from adjoint.runtime.process import graph_mode
from adjoint.runtime.process.context import get_context
from adjoint.runtime.process.function_text import function_of
from adjoint.runtime.process.jitted import graphs_of, is_optional, mark, parsed_function
from adjoint.runtime.process.tracer import state, tracing
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.run_time_checks import ShapeOfValues
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Compiled", "graphs_of_calls", "jit", "ms_function", "of_function", "run_cell"]


_Call = tuple[Graphs, Any, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]
"""The arguments of `_run`, as a tuple: the cache of graphs, the function or Cell, the positional and the keyword arguments for the graphs,
and the positional arguments for calling the function or Cell itself.
"""


class CompiledFunction:
    """Runs calls of one function as graphs, and holds the caches of these graphs.

    function  the function that is parsed
    shared    the cache of graphs that it shares with other functions of the same code; None if it shares none
    graphs    the cache of the graphs of this function alone
    """

    def __init__(self, function: Callable[..., Any], graphs: Graphs, shared: SharedGraphs | None):
        self.function, self.graphs, self.shared = function, graphs, shared

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call as a graph and return its result.

        If this thread runs a function eagerly, or is making a graph that this call becomes a part of, the function itself runs instead.
        """
        if tracing:
            if (tracer := state.tracer) is not None and tracer.emits is True:
                return tracer.call(self.function, args, kwargs)
            if state.eager:
                return self.function(*args, **kwargs)
        if self.shared is not None:
            try:
                return _run(*self.shared_call(args, kwargs))
            except NotShared as refused:
                self.refused(refused)
        return _run(*self.own_call(args, kwargs))

    def all_graphs(self) -> list[Graphs]:
        """Return all caches of graphs that calls of this function may use."""
        return [self.graphs] if self.shared is None else [self.shared, self.graphs]

    def own_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """Return the arguments of `_run` for a call that uses this function's own graphs."""
        return self.graphs, self.function, args, kwargs, args

    def shared_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """Return the arguments of `_run` for a call that uses the shared graphs; NotShared if this call needs the function's own graphs."""
        assert self.shared is not None
        return self.shared, self.function, args, self.shared.given(self.function, args, kwargs), args

    def refused(self, reason: NotShared) -> None:
        """Note that a call could not use shared graphs; stop sharing if no later call of this function can use them either."""
        if reason.is_lasting:
            self.shared = None

    def graph_of(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the graph that a call with these arguments would run, as `Lowered`, without running it; it is made if there is none."""
        return _found(self.graphs, *flatten((args, kwargs)), self.function)[0].lowered

    def known_graphs(self) -> list[Graphs]:
        """Return all caches of graphs that calls of this function have used."""
        return self.all_graphs()

    def _repr_html_(self) -> str:
        """Return the graphs that the function was made into so far as HTML; notebooks show it."""
        return _as_html(self.function, self.known_graphs())


class Compiled(CompiledFunction):
    """Runs calls of a jitted function as graphs; the function may be a method of Cells.

    of_cells  the cache of graphs for each Cell that calls have as first argument
    """

    def __init__(self, function: Callable[..., Any], graphs: Graphs, shared: SharedGraphs | None):
        super().__init__(function, graphs, shared)
        method = None if graphs.count is None else graphs.count - 1
        self.of_cells = GraphsOfCells(functools.partial(functools.partial, method_on, function), method, graphs.must_be_whole)

    def all_graphs(self) -> list[Graphs]:
        """Return all caches of graphs, with one for each Cell; calls with Cells are counted from now on."""
        self.of_cells.ask()
        return [*super().all_graphs(), *self.of_cells.values()]

    def known_graphs(self) -> list[Graphs]:
        return [*super().all_graphs(), *self.of_cells.values()]

    def own_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """Return the arguments of `_run` for a call: the cache of graphs to search, and the arguments for them.

        If the first argument is a Cell, that is the cache for this Cell, whose graphs take the arguments after it.
        """
        if not (args and isinstance(args[0], Cell)):
            return self.graphs, self.function, args, kwargs, args
        cell, rest = args[0], args[1:]
        if cell._cell_inputs and parsed_function(getattr(cell.construct, "__func__", None)) is self.function:
            _checked_inputs(cell, rest, kwargs)
        return self.of_cells.of(cell), self.function, rest, kwargs, args


class CompiledCell:
    """Knows the graphs that a Cell runs as, for gradients and reports; see `CompiledFunction`.

    cell  the Cell
    """

    shared: None = None

    def __init__(self, cell: Cell):
        self.function = cell

    def own_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """Return the arguments of `_run` for a call, after checking the call's arguments against the inputs that the Cell declares."""
        cell = self.function
        if not cell._cell_called:
            cell._cell_begin_calls()
        _checked_inputs(cell, args, kwargs)
        return _cells.of(cell), cell, args, kwargs, args

    def all_graphs(self) -> list[Graphs]:
        """Return the one cache of graphs that calls of the Cell use, in a list."""
        return [_cells.of(self.function)]

    def _repr_html_(self) -> str:
        """Return the graphs that the Cell was made into so far as HTML; notebooks show it."""
        return _as_html(self.function, self.all_graphs())


def _as_html(named: Any, known: Sequence[Graphs]) -> str:
    """Return graphs as HTML, each with the arguments that it was made for.

    named  the function or Cell
    """
    from adjoint.ir.html import listing_html, titled

    name = type(named).__name__ if isinstance(named, Cell) else getattr(named, "__qualname__", "")
    made = [entry for graphs in known for entries in tuple(graphs.values()) for entry in tuple(entries)]
    if not made:
        return titled(f"{name}: no graph yet; one is made in the first call", "")
    return "".join(listing_html(entry.lowered.graph.module, f"{name}({entry.made.arguments})") for entry in made)


def _jitted(function: Callable[..., Any], must_be_whole: bool) -> Callable[..., Any]:
    """Return the function that `jit` gives to the user: it runs `function` as graphs, and also works as a method.

    must_be_whole  the option `fullgraph`: raise where a call would not run entirely as a graph
    """
    shared = shared_graphs(function)
    names = _plain_parameters(function) if shared is None else None
    count = None if names is None else len(names)
    compiled = Compiled(function, Graphs(functools.partial(function_on, function), count, must_be_whole), shared)
    graphs, call, of_cells = compiled.graphs, compiled.call, compiled.of_cells

    # Fast paths: a plain function that calls the last graph directly. In eager mode a small function takes so little time that one more
    # Python call would show.
    if names is not None:
        objects = {"tracing": tracing, "graphs": graphs, "of_cells": of_cells, "call": call, "id": id, "not_run": NOT_RUN}
        made = functools.wraps(function)(_with_parameters(names, objects))
    else:

        @functools.wraps(function)
        def jitted(*args: Any, **kwargs: Any) -> Any:
            if not tracing:
                quick = graphs.quick
                if quick is not None:
                    if (result := quick(args, kwargs)) is not NOT_RUN:
                        return result
                elif args and (known := of_cells.get(id(args[0]))) is not None and (quick := known.quick) is not None \
                        and not args[0]._cell_inputs and (result := quick(args[1:], kwargs)) is not NOT_RUN:
                    return result
            return call(args, kwargs)

        made = jitted

    made.graph_of = compiled.graph_of  # pyright: ignore[reportAttributeAccessIssue] - functions have attributes
    made._repr_html_ = compiled._repr_html_  # pyright: ignore[reportAttributeAccessIssue] - as above
    mark(made, compiled)
    return made


def _plain_parameters(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of a function's parameters if each is a plain one without a default, so that a fast path can pass them by position.

    Return None if it has other parameters, or none.
    """
    code = getattr(function, "__code__", None)
    if not isinstance(function, types.FunctionType) or code is None or not code.co_argcount or function.__defaults__:
        return None
    names = code.co_varnames[: code.co_argcount]
    several = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount or code.co_posonlyargcount
    return None if several or any(name.startswith("jit_") for name in names) else names


def _with_parameters(names: tuple[str, ...], objects: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function that `jit` gives to the user for a function with plain parameters; it has exactly these parameters.

    So Python itself assigns keyword arguments to them.  All other names in its text begin with `jit_`, since a parameter may be called
    `id`.

    names    the parameters
    objects  the values of these other names, without the prefix
    """
    first, given, rest = names[0], ", ".join(names), ", ".join(names[1:])
    body = f"""\
if not jit_tracing:
    jit_quick = jit_graphs.quick
    if jit_quick is not None:
        if (jit_result := jit_quick({given})) is not jit_not_run:
            return jit_result
    elif (jit_known := jit_of_cells.get(jit_id({first}))) is not None and (jit_quick := jit_known.quick) is not None \\
            and not {first}._cell_inputs and (jit_result := jit_quick({rest})) is not jit_not_run:
        return jit_result
return jit_call(({given},), {{}})"""
    return function_of(f"jitted({given})", body.splitlines(), {f"jit_{name}": x for name, x in objects.items()}, __file__, closed=True)


# -- running ---------------------------------------------------------------------------------------------------------------
def _run(known: Graphs, named: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: tuple[Any, ...]) -> Any:
    """Run a call: find its graph, or make one, and return the result of the function.

    known   the cache of graphs to search
    named   the function or the Cell; if it has to run eagerly, it is called with `given` and `kwargs`
    args    the positional arguments for the graphs
    kwargs  the keyword arguments for the graphs and the function
    given   the positional arguments for the function itself
    """
    recorded = bool(tracing) and state.tracer is not None
    if (result := known.run(args, kwargs, recorded)) is not NOT_RUN:
        return result
    plain = False
    if not kwargs:
        # Fast path: all arguments are tensors, and their types are the template.
        types_ = tuple([x.type for x in args if x.__class__ is Tensor])
        if len(types_) == len(args):
            plain = True
            entry = known.find_plain(types_)
            if entry is not None:
                return entry.run(Call(known, None, named, args, given, kwargs, len(given) - len(args)))
    template, tensors = _flat(known, args, kwargs)
    found = _cached(known, template, tensors, plain)
    if found is None and not recorded and (once := known.once(template, tensors)) is not None:
        if known.calls is not None:
            known.calls.took(None, NEW_SIZE, Why(SIZE_ONCE))
        return once()
    entry, template, tensors = found or _found(known, template, tensors, named, plain)
    return entry.run(Call(known, template, named, tensors, given, kwargs, len(given) - len(args)))


def _flat(known: Graphs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Template, list[Tensor]]:
    """Return the template of a call (the structure of its arguments without the tensors), and the tensors in order.

    ValueError if an argument contains itself.  If several functions share the graphs, NotShared is raised instead: their calls also pass
    variables of enclosing functions, which may contain themselves, so this function must use graphs of its own.

    known  the cache of graphs in which the call is looked up
    """
    try:
        return flatten((args, kwargs))
    except ValueError:  # a container contains itself; enclosing variables may, arguments may not
        if isinstance(known, SharedGraphs):
            raise NotShared(is_lasting=True) from None
        raise


_Found = tuple[Any, Template, Sequence[Tensor]]
"""A cache entry, with the template and the tensors to run it on: a number among the arguments may have become a tensor."""


def _found(known: Graphs, template: Template, tensors: Sequence[Tensor], named: Any, plain: bool = False) -> _Found:
    """Return a graph for a call, with the template and tensors to run it on: a cached graph whose guards (conditions for running a graph
    again) hold, or a new one.

    known     the cache of graphs to search
    template  the structure of the arguments
    tensors   the tensors among the arguments
    named     the function or the Cell
    plain     True if the arguments are positional tensors only
    """
    found = _cached(known, template, tensors, plain)
    if found is not None:
        return found
    with lowering_lock.current:
        # Another thread may have made it in the meantime.
        return _cached(known, template, tensors) or _made(known, template, tensors, named)


def _cached(known: Graphs, template: Template, tensors: Sequence[Tensor], plain: bool = False) -> _Found | None:
    entry = known.find(template, plain)
    if entry is not None:
        return entry, template, tensors
    given = known.numbers.given(template, tensors)
    if given is not None and (entry := known.find(given[0])) is not None:
        return entry, *given
    return None


def _made(known: Graphs, template: Template, tensors: Sequence[Tensor], named: Any) -> _Found:
    check_declared(getattr(named.construct, "__func__", None) if isinstance(named, Cell) else named, template)
    # The frontend is imported with the first function that is parsed.
    with collector.paused():
        from adjoint.runtime.graphs.calls.making import make

    return make(known, template, tensors, named)


# -- graph mode --------------------------------------------------------------------------------------------------------------
_cells = GraphsOfCells(functools.partial(functools.partial, cell_on))
_functions: weakref.WeakKeyDictionary[Any, tuple[Graphs, SharedGraphs | None]] = weakref.WeakKeyDictionary()


def run_cell(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call of a cell in GRAPH_MODE as a graph, and return its result.

    Where a graph is being made, the call becomes a part of it; where the thread runs eagerly, the cell itself runs.
    """
    if not tracing:
        known = _cells.get(id(cell))
        if known is not None and (quick := known.quick) is not None and not cell._cell_inputs \
                and (result := quick(args, kwargs)) is not NOT_RUN:
            return result
    elif state.tracer is not None and state.tracer.emits is True:
        return state.tracer.call_cell(cell, args, kwargs)
    elif state.eager:
        return cell(*args, **kwargs)
    _checked_inputs(cell, args, kwargs)
    return _run(_cells.of(cell), cell, args, kwargs, args)


def _checked_inputs(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if cell._cell_inputs:
        check_call(cell.construct, cell._cell_inputs, args, kwargs)


class _InGraphMode:
    """Calls a user's function as GRAPH_MODE does, by running it as a graph.

    It is made for one call.  The cached graphs outlive it, and do not keep the function alive.
    """

    def __init__(self, function: Any):
        self.__wrapped__ = function
        self.__name__, self.__qualname__, self.__module__ = function.__name__, function.__qualname__, function.__module__
        compiled = _of_function(function)
        self._call = compiled.call
        mark(self, compiled)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(args, kwargs)


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callable that runs a user's function as a graph in GRAPH_MODE; return anything else, such as a Cell, unchanged."""
    if not _is_for_graph_mode(function):
        return function
    return _InGraphMode(function)


class _CompiledInGraphMode(CompiledFunction):
    """Runs calls of a function that is not jitted as graphs, in GRAPH_MODE.

    It is made for each call, so that `_functions`, which holds the caches of graphs, does not keep the function alive.
    """

    def refused(self, reason: NotShared) -> None:
        super().refused(reason)
        _functions[self.function] = self.graphs, self.shared


def _of_function(function: types.FunctionType) -> CompiledFunction:
    known = _functions.get(function)
    if known is None:
        own = Graphs(functools.partial(weak_function_on, weakref.ref(function)))
        known = _functions.setdefault(function, (own, shared_graphs(function)))
    return _CompiledInGraphMode(function, *known)


def _compiled_in_graph_mode(function: Any) -> CompiledFunction | CompiledCell | None:
    """Return the object that knows the graphs of a Cell or a function in GRAPH_MODE.

    Return None in other modes, or for a callable that does not run as a graph.
    """
    if not graph_mode.mode:
        return None
    return CompiledCell(function) if isinstance(function, Cell) else _of_function(function) if _is_for_graph_mode(function) else None


def _is_for_graph_mode(function: Callable[..., Any]) -> TypeGuard[types.FunctionType]:
    """Return True for a function of the user's that is not jitted: GRAPH_MODE runs it as a graph."""
    return (isinstance(function, types.FunctionType) and graphs_of(function) is None
            and (function.__module__ or "").partition(".")[0] != __name__.partition(".")[0])


# -- gradients ---------------------------------------------------------------------------------------------------------------
def gradient(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int], weights: Sequence[Parameter],
             has_aux: bool, valued: bool) -> tuple[Any, list[Tensor], list[Tensor]] | None:
    """Compute a gradient of a function that runs as a graph: take and return the same as `gradients.grad.differentiate`.

    Return None if a tape (a recording of eager operations) is needed, see `joint_gradients`.  The caller has made sure that no tape or
    graph records this thread.

    positions  the arguments to differentiate by
    weights    the Parameters to differentiate by
    has_aux    True if only the first item of the result is differentiated
    valued     False if the result of the function is not needed; None is then returned in its place
    """
    count = len(args)
    if type(function) is types.MethodType:
        compiled, args = graphs_of(function.__func__), (function.__self__, *args)
    else:
        compiled = graphs_of(function)
    if compiled is None:
        compiled = _compiled_in_graph_mode(function)
        if compiled is None:
            return None
    try:
        if compiled.shared is not None:
            try:
                return _gradient(compiled.shared_call(args, kwargs), count, positions, weights, has_aux, valued)
            except NotShared as refused:
                compiled.refused(refused)
        return _gradient(compiled.own_call(args, kwargs), count, positions, weights, has_aux, valued)
    except (CompileError, ShapeOfValues):
        if not is_optional(compiled.function):
            raise
        return None


def _gradient(call: _Call, count: int, positions: Sequence[int], weights: Sequence[Parameter], has_aux: bool,
              valued: bool) -> tuple[Any, list[Tensor], list[Tensor]] | None:
    """Return the result of `gradient` for a call that runs as a graph; None if a tape (the recording for a gradient) is needed.

    call                      the arguments of `_run`
    count                     how many positional arguments the user's call has: `positions` counts these
    weights, has_aux, valued  as `gradient` takes them
    """
    known, named, given, kwargs, _ = call
    trained = tuple([w.requires_grad for w in weights])
    key = (*positions, None, *map(id, weights), *trained, has_aux, valued)
    quick = known.gradients.get(key)
    if quick is not None and (result := quick(given, kwargs)) is not NOT_RUN:
        return result
    if get_context("save_graphs"):  # an adjoint of a tape is a file of its own
        return _on_tape(known, "`save_graphs` is set")
    entry, template, tensors = _found(known, *_flat(known, given, kwargs), named)
    places, before = template.places(), count - len(given)
    leaves = [places[position - before] for position in positions if position >= before]
    if None in leaves or len(leaves) < len(positions):
        return _on_tape(known, "one of the arguments to differentiate by is not a single Tensor")
    made = entry.gradient(template, tuple(leaves), tuple(weights), trained, has_aux, valued)
    if isinstance(made, str):
        return _on_tape(known, made)
    if (function := made.plan.call_function) is not None:
        known.gradients[key] = function if known.calls is None else known.calls.counting(function, entry.made, GRADIENT)
    if (result := made.run(tensors)) is None:
        return _on_tape(known, "a hook waits on an argument or a Parameter, or a size that values decide is 0 or 1")
    if known.calls is not None:
        known.calls.took(entry.made, GRADIENT)
    return result


def _on_tape(known: Graphs, why: str) -> None:
    """Note, for `jit_stats`, that a gradient cannot be computed by a graph but needs a tape (the recording of eager operations).

    known  the cache of the function's graphs, which has the counts
    why    the reason, as text

    Return None: the caller returns it to its own caller, which then uses the tape.
    """
    if known.calls is not None:
        known.calls.needs_tape(Why(NEEDS_TAPE, why))


def graphs_of_calls(function: Any) -> list[Graphs] | None:
    """Return the caches of graphs that calls of a function use, for `jit_stats`; None if it does not run as a graph.

    function  a jitted function, a bound method, or in GRAPH_MODE a function or a Cell; for a method `net.step`, only the graphs of `net`
    """
    if type(function) is types.MethodType:
        compiled = graphs_of(function.__func__)
        return None if compiled is None or not isinstance(function.__self__, Cell) else [compiled.of_cells.of(function.__self__)]
    if (compiled := graphs_of(function)) is not None:
        return compiled.all_graphs()
    if isinstance(function, Cell):
        compiled = graphs_of(getattr(type(function), "construct", None))
        return [_cells.of(function), *([] if compiled is None else [compiled.of_cells.of(function)])]
    return _of_function(function).all_graphs() if graph_mode.mode and _is_for_graph_mode(function) else None


graph_mode.set_runner(run_cell, of_function, gradient)


# -- the decorator -----------------------------------------------------------------------------------------------------------
def jit(function: Callable[..., Any] | None = None, *, capture_mode: str = "ast", jit_level: str = "O0", dynamic: int = 0,
        fullgraph: bool = False, backend: str = "", **options: Any) -> Any:
    """Run a function as a graph: its source is parsed, control flow and all; as a decorator with or without options.

    function  a function, method or lambda; a Cell gives a function that runs the cell as a graph

    fullgraph True: a call raises CompileError (E218) where the graph alone would not do it, because of what hooks do

    The options are MindSpore's: they are checked, and none changes the results.  A function is always parsed from its source, as a
    whole; sizes that change need no parsing, with `dynamic` or without it, unless Python needs to know them; kernels are compiled once for
    all shapes.

    TypeError if the argument is not a function; ValueError and TypeError for values that an option does not accept.
    """
    checked_options(capture_mode, jit_level, dynamic, fullgraph, backend, options)
    if function is None:
        return functools.partial(jit, fullgraph=fullgraph)
    if isinstance(function, Cell):
        cell = function
        if fullgraph:
            _cells.of(cell).require_whole()
        jitted = functools.wraps(cell.construct)(lambda *args, **kwargs: run_cell(cell, args, kwargs))
        compiled = CompiledCell(cell)
        jitted._repr_html_ = compiled._repr_html_  # pyright: ignore[reportAttributeAccessIssue] - functions have attributes
        mark(jitted, compiled)
        return jitted
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"For 'jit', the argument must be a function, but got {function!r} of type {type(function).__name__}.")
    if graphs_of(function) is not None:
        return function
    if isinstance(function, types.MethodType):
        return types.MethodType(jit(function.__func__, fullgraph=fullgraph), function.__self__)
    return _jitted(function, fullgraph)


def ms_function(fn: Callable[..., Any] | None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None) -> Any:
    """Run a function as a graph: the older name of `jit`.

    input_signature, hash_args, jit_config  options of older versions, which have no effect
    """
    return jit(fn, input_signature=input_signature, hash_args=hash_args, jit_config=jit_config)
