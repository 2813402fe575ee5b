"""`jit`: a function as a graph.  Its source is parsed once for each kind of arguments; calls run the graph.

    f(x)  ->  the template of the arguments  ->  the graphs made for it, of which the guards of one hold  ->  a walk
                                                 none: the function is lowered

Graphs stay when their guards fail: a value that changes back finds its graph again.  A graph with forward hooks assumes what they
return; when they return something else, the function is lowered anew for that, and the run goes on in the new graph at the
place where the old one was left.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.diagnostics import Loc
from adjoint.ir.core import Module, symbol_like, walk
from adjoint.ir.ops.host import Apply
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.graph import Check
from adjoint.runtime.graphs.cache import Graphs, lowering_lock
from adjoint.runtime.graphs.options import checked_options
from adjoint.runtime.graphs.templates import Template, flatten
from adjoint.runtime.process.location import definition
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Compiled", "jit", "ms_function", "of_function", "parsed", "run_cell", "run_instead"]

_GRAPH, _NODE, _GUARD = 6000, 1200, 1800
"""Bytes of a graph, and of each of its nodes and of the places that it depends on."""


class _Entry:
    """A graph, bound; `nbytes` is an estimate of what it takes."""

    def __init__(self, lowered: Any):
        from adjoint.runtime.execution.walk import bind
        from adjoint.runtime.graphs.outline import slots_of  # these are loaded with the first graph

        self.lowered = lowered
        self.walk = bind(lowered.graph)
        # Where Python of the user's runs in between, hooks may come and go, and give what was not foreseen.
        hosts = lowered.graph.hosts
        nodes = [*walk(lowered.graph.function.body)]
        self.logs = any(isinstance(node.op, Apply) and not isinstance(hosts[node.op.symbol], Check) for node in nodes)
        self.nbytes = _GRAPH + _NODE * len(nodes) + _GUARD * lowered.guards.count()
        self.slots = slots_of(lowered.outline)
        self.direct = _is_slot(lowered.outline) and not lowered.written and not self.logs


class Compiled:
    """A function that runs as graphs.  It is called like the function; a Cell's method stays one.

    __wrapped__  the function
    """

    __adjoint_jit__ = True

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._graphs = Graphs(functools.partial(_function, function))
        self._of_cells: weakref.WeakKeyDictionary[Cell, Graphs] = weakref.WeakKeyDictionary()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tape = state.tape
        if tape is not None and tape.emits:
            return state.lowering.call(self.__wrapped__, args, kwargs)
        if args and isinstance(args[0], Cell):
            cell, rest = args[0], args[1:]
            if cell._inputs and getattr(cell.construct, "__func__", None) is self:
                _checked_inputs(cell, rest, kwargs)
            known = self._of_cells.get(cell)
            if known is None:
                known = self._of_cells.setdefault(cell, Graphs(functools.partial(_method, self.__wrapped__, weakref.ref(cell))))
            return _run(known, self.__wrapped__, rest, kwargs)
        return _run(self._graphs, self.__wrapped__, args, kwargs)

    def graph_of(self, *args: Any, **kwargs: Any) -> Any:
        """The graph that a call with these arguments runs, as `Lowered`; it is not run."""
        template, _ = flatten((args, kwargs))
        return _entry(self._graphs, template, self.__wrapped__).lowered

    def __repr__(self) -> str:
        return f"<jit of {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        """By its name, as functions are, where it stands under it."""
        function = self.__wrapped__
        found: Any = sys.modules.get(getattr(function, "__module__", ""))
        for name in function.__qualname__.split("."):
            found = getattr(found, "__dict__", {}).get(name)
        return function.__qualname__ if found is self else (jit, (function,))

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self


def _function(function: Any, lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call(function, args, kwargs)


def _method(function: Any, reference: Callable[[], Cell | None], lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call(function, (reference(), *args), kwargs)


def _weak_function(reference: Callable[[], Any], lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call(reference(), args, kwargs)


def _cell(reference: Callable[[], Cell | None], lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.cell(reference(), args, kwargs)


# -- running ---------------------------------------------------------------------------------------------------------------
def _run(known: Graphs, named: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    plain = False
    if not kwargs:
        # Tensors alone come most often: their types are the template.
        types_ = tuple([x.type for x in args if x.__class__ is Tensor])
        if len(types_) == len(args):
            plain = True
            entry = known.find_plain(types_)
            if entry is not None:
                return entry.walk.run_one(args) if entry.direct else _ran(known, entry, None, named, args)
    template, tensors = flatten((args, kwargs))
    return _ran(known, _entry(known, template, named, plain), template, named, tensors)


def _ran(known: Graphs, entry: _Entry, template: Template | None, named: Any, tensors: Sequence[Tensor]) -> Any:
    """The result of a graph for these tensors; `template` is that of the arguments, None: the tensors are all of them."""
    if entry.direct:
        return entry.walk.run_one(tensors)
    if entry.lowered.written:
        _check_written(entry, named, tensors)
    if not entry.logs:
        return _returned(entry, entry.walk.run(tensors), tensors)
    return _followed(known, entry, template if template is not None else flatten((tuple(tensors), {}))[0], named, tensors)


def _entry(known: Graphs, template: Template, named: Any, plain: bool = False) -> _Entry:
    """The graph for these arguments: one whose guards hold, else a new one."""
    entry = known.find(template, plain)
    if entry is not None:
        return entry
    with lowering_lock:
        # Another thread may have made it meanwhile.
        entry = known.find(template)
        return entry if entry is not None else _made(known, template, named, {})


def _made(known: Graphs, template: Template, named: Any, decisions: dict[Any, Any]) -> _Entry:
    # The frontend is loaded with the first function that is parsed.
    from adjoint.runtime.graphs.lowering.lowering import lowered
    from adjoint.runtime.inspection.saved_graphs import save_graph

    entry = _Entry(lowered(known.call, template, _symbol(named), _definition(named), decisions, _names(named, template)))
    save_graph(entry.lowered.graph)
    known.add(template, entry)
    return entry


def _followed(known: Graphs, entry: _Entry, template: Template, named: Any, tensors: Sequence[Tensor]) -> Any:
    """Run a graph with forward hooks; when they give something else than it was made for, go on in one that is made for that."""
    from adjoint.runtime.execution.graph import Deviation

    log: list[Any] = []
    replay: list[Any] | None = None
    while True:
        try:
            return _returned(entry, entry.walk.run(tensors, log, replay), tensors)
        except Deviation as deviation:
            decisions = _decided(entry, deviation)
            try:
                with lowering_lock:
                    entry = _made(known, template, named, decisions)
            except BaseException:
                deviation.abandon()
                raise
            log, replay = [], log


def _decided(entry: _Entry, deviation: Any) -> dict[Any, Any]:
    """What is known of cells and hooks up to the place where a run left its graph."""
    from adjoint.runtime.execution.graph import Unfitting
    from adjoint.runtime.graphs.lowering.cells import hooked_outline, observed

    lowered = entry.lowered
    decisions = dict(lowered.decisions)
    site = lowered.sites.get(getattr(deviation.node.op, "symbol", ""))
    if site is not None:
        decisions[site] = deviation.observed.outline if isinstance(deviation.observed, Unfitting) else observed(deviation.observed)
        return decisions
    called = lowered.graph.site(deviation.node) if deviation.slot else None
    if called is not None:
        # Hooks have come to this call since: it is lowered as it is now.
        decisions = {key: known for key, known in decisions.items() if key[0] != called.ordinal}
        if deviation.slot in ("forward_pre", "forward") and deviation.observed is not None:
            decisions[called.ordinal, deviation.slot] = hooked_outline(deviation.observed)
    return decisions


def _check_written(entry: _Entry, named: Any, tensors: Sequence[Tensor]) -> None:
    """CompileError when an argument that is written in place is given twice: in the graph it would be two tensors."""
    given = [id(x) for x in tensors]
    for i in entry.lowered.written:
        if given.count(given[i]) > 1:
            from adjoint.frontend import errors  # for who gets it wrong

            raise errors.ONE_OR_ANOTHER.at(_definition(named), "an argument is written in place, and the same tensor is given twice",
                                           help="give a copy: `x.copy()`")


def _returned(entry: _Entry, results: list[Tensor], tensors: Sequence[Tensor]) -> Any:
    """What the function returns; the arguments that it wrote in place are written."""
    from adjoint.runtime.graphs.outline import filled

    lowered, slots = entry.lowered, entry.slots
    for i, value in zip(lowered.written, results[len(slots) :], strict=True):
        tensors[i].overwrite(value)
    # A number without a value is one of a result that is None.
    leaves = [x if slot.category == "tensor" or not isinstance(x, Tensor) else _NUMBERS[slot.category](x.item())
              for slot, x in zip(slots, results, strict=False)]
    return filled(lowered.outline, leaves)


_NUMBERS: dict[str, type] = {"int": int, "float": float, "bool": bool}


def _is_slot(outline: Any) -> bool:
    return getattr(outline, "category", None) == "tensor"


# -- names -----------------------------------------------------------------------------------------------------------------
def _definition(named: Any) -> Loc:
    """Where what is run as a graph was written."""
    return definition(named.construct if isinstance(named, Cell) else inspect.unwrap(named))


def _symbol(named: Any) -> str:
    name = type(named).__name__ if isinstance(named, Cell) else getattr(named, "__name__", "f")
    return symbol_like(name, "f")


def _names(named: Any, template: Template) -> list[str]:
    """Names for the tensors among the arguments, by the function's parameters."""
    function = named.construct if isinstance(named, Cell) else named
    try:
        code = inspect.unwrap(getattr(function, "__func__", function)).__code__
    except AttributeError:
        return []
    parameters = list(code.co_varnames[: code.co_argcount])
    args, kwargs = template.build([_Mark(i) for i in range(len(template.types))])
    if isinstance(named, Cell) or (parameters[:1] == ["self"] and len(args) < len(parameters)):
        parameters = parameters[1:]
    if code.co_flags & inspect.CO_VARARGS:
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        parameters += [f"{rest}_{i}" for i in range(len(args) - len(parameters))]
    names: dict[int, str] = {}
    for name, value in [*zip(parameters, args, strict=False), *kwargs.items()]:
        marks = [mark.index for mark in leaves(value, _Mark)]
        names.update({mark: name if len(marks) == 1 else f"{name}_{i}" for i, mark in enumerate(marks)})
    return [names.get(i, "x") for i in range(len(template.types))]


class _Mark:
    def __init__(self, index: int):
        self.index = index


# -- graph mode --------------------------------------------------------------------------------------------------------------
_cells: weakref.WeakKeyDictionary[Cell, Graphs] = weakref.WeakKeyDictionary()
_functions: weakref.WeakKeyDictionary[Any, Graphs] = weakref.WeakKeyDictionary()


def run_cell(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A cell called in GRAPH_MODE."""
    if state.tape is not None and state.tape.emits:
        return state.lowering.cell(cell, args, kwargs)
    _checked_inputs(cell, args, kwargs)
    known = _cells.get(cell)
    if known is None:
        known = _cells.setdefault(cell, Graphs(functools.partial(_cell, weakref.ref(cell))))
    return _run(known, cell, args, kwargs)


def _checked_inputs(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if cell._inputs:
        from adjoint.runtime.cells.inputs import check_call  # for cells that say what their inputs are like

        check_call(cell, cell._inputs, args, kwargs)


class _InGraphMode(Compiled):
    """A function for the time of one call; its graphs outlive it, but do not keep it alive."""

    def __init__(self, function: Any, known: Graphs):
        self.__wrapped__ = function
        self.__name__, self.__qualname__, self.__module__ = function.__name__, function.__qualname__, function.__module__
        self._graphs = known
        self._of_cells = weakref.WeakKeyDictionary()


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user's as a graph; anything else as it is."""
    if not isinstance(function, types.FunctionType) or function.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return function
    known = _functions.get(function)
    if known is None:
        known = _functions.setdefault(function, Graphs(functools.partial(_weak_function, weakref.ref(function))))
    return _InGraphMode(function, known)


def parsed(target: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The graph of a function, jitted or not, a method or a Cell, for these arguments: a `Lowered` of its own, not run.

    CompileError for what cannot be parsed.
    """
    # The frontend is loaded with the first function that is parsed.
    from adjoint.runtime.graphs.lowering.lowering import lowered

    instance = getattr(target, "__self__", None)
    function: Any = target.__func__ if isinstance(target, types.MethodType) else target
    while getattr(function, "__adjoint_jit__", False):
        function = function.__wrapped__
    template, _ = flatten((args, kwargs))
    if isinstance(function, Cell):
        call: Callable[..., Any] = functools.partial(_cell, weakref.ref(function))
    elif isinstance(target, types.MethodType):
        call = functools.partial(_method, function, lambda: instance)
    else:
        call = functools.partial(_function, function)
    return lowered(call, template, _symbol(function), _definition(function), {}, _names(function, template))


def run_instead(lowered: Any, module: Module, args: Sequence[Any]) -> Any:
    """Run a module in the place of the one that a function was lowered to, and return what the function returns.

    module  what passes made of `lowered.graph.module`; its function has the same parameters and results

    RuntimeError when a forward hook gives something else than the function was lowered for.
    """
    from adjoint.runtime.execution.graph import Deviation  # loaded with the first graph

    graph = dataclasses.replace(lowered.graph, module=module, sites={})
    entry = _Entry(type(lowered)(graph, lowered.guards, lowered.outline, lowered.written, lowered.decisions, lowered.sites))
    _, tensors = flatten((tuple(args), {}))
    try:
        return _returned(entry, entry.walk.run(tensors), tensors)
    except Deviation as deviation:
        deviation.abandon()
        raise RuntimeError(str(deviation)) from None


# -- the decorator -----------------------------------------------------------------------------------------------------------
def jit(function: Callable[..., Any] | None = None, *, capture_mode: str = "ast", jit_level: str = "O0", dynamic: int = 0,
        fullgraph: bool = False, backend: str = "", **options: Any) -> Any:
    """Run a function as a graph: its source is parsed, control flow and all; as a decorator with or without options.

    function  a function, method or lambda; a Cell gives a function that runs the cell as a graph

    The options are MindSpore's: they are checked, and none changes what a graph computes.  A function is always parsed from its
    source, as a whole, a shape that is new makes a new graph, and kernels are compiled once for all shapes.

    TypeError for what is no function; ValueError and TypeError for values that an option does not take.
    """
    checked_options(capture_mode, jit_level, dynamic, fullgraph, backend, options)
    if function is None:
        return jit
    if isinstance(function, Cell):
        cell = function
        return functools.wraps(cell.construct)(lambda *args, **kwargs: run_cell(cell, args, kwargs))
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"For 'jit', the argument must be a function, but got {function!r} of type {type(function).__name__}.")
    if getattr(function, "__adjoint_jit__", False):
        return function
    if isinstance(function, types.MethodType):
        return types.MethodType(Compiled(function.__func__), function.__self__)
    return Compiled(function)


def ms_function(fn: Callable[..., Any] | None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None) -> Any:
    """The older name of `jit`."""
    return jit(fn, input_signature=input_signature, hash_args=hash_args, jit_config=jit_config)
