"""`jit`: turn a function into a graph.  Its source is parsed once for each kind of arguments; calls run the graph.

    f(x)  ->  template of the arguments  ->  the cached graph of this template whose guards hold  ->  run its sequence
                                             none: lower the function

Graphs stay cached when their guards fail: a value that changes back finds its graph again.  A graph with forward hooks assumes the
types that they return.  If they return something else, the function is lowered again for that, and the run continues in the new graph
at the node where it left the old one.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.inputs import check_call
from adjoint.runtime.graphs.cache import Graphs
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.options import checked_options
from adjoint.runtime.graphs.subjects import cell_on, function_on, method_on, weak_function_on
from adjoint.runtime.graphs.templates import Template, flatten
from adjoint.runtime.process import graph_mode
from adjoint.runtime.process.tracer import state, tracing
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Compiled", "jit", "ms_function", "of_function", "run_cell"]


class Compiled:
    """A function that runs as graphs.  It is called like the function, and works as a method of a Cell.

    __wrapped__  the function
    """

    __adjoint_jit__ = True

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._graphs = Graphs(functools.partial(function_on, function))
        self._of_cells: weakref.WeakKeyDictionary[Cell, Graphs] = weakref.WeakKeyDictionary()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # As in `_run`: the call of a small function takes no longer than its operators in eager mode.
        quick = self._graphs.quick
        if quick is not None and not tracing and not kwargs and (result := quick(args)) is not None:
            return result
        if tracing and (tracer := state.tracer) is not None and tracer.emits is True:
            return tracer.call(self.__wrapped__, args, kwargs)
        if args and isinstance(args[0], Cell):
            cell, rest = args[0], args[1:]
            if cell._inputs and getattr(cell.construct, "__func__", None) is self:
                _checked_inputs(cell, rest, kwargs)
            known = self._of_cells.get(cell)
            if known is None:
                known = self._of_cells.setdefault(cell, Graphs(functools.partial(method_on, self.__wrapped__, weakref.ref(cell))))
            return _run(known, self.__wrapped__, rest, kwargs)
        return _run(self._graphs, self.__wrapped__, args, kwargs)

    def graph_of(self, *args: Any, **kwargs: Any) -> Any:
        """Return the graph that a call with these arguments would run, as `Lowered`, without running it."""
        template, _ = flatten((args, kwargs))
        return _entry(self._graphs, template, self.__wrapped__).lowered

    def __repr__(self) -> str:
        return f"<jit of {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        """Pickle by qualified name, as functions are, if that name resolves to this object."""
        function = self.__wrapped__
        found: Any = sys.modules.get(getattr(function, "__module__", ""))
        for name in function.__qualname__.split("."):
            found = getattr(found, "__dict__", {}).get(name)
        return function.__qualname__ if found is self else (jit, (function,))

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self


# -- running ---------------------------------------------------------------------------------------------------------------
def _run(known: Graphs, named: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    quick = known.quick
    if quick is not None and not tracing and not kwargs and (result := quick(args)) is not None:
        return result
    plain = False
    if not kwargs:
        # Fast path: all arguments are tensors, and their types are the template.
        types_ = tuple([x.type for x in args if x.__class__ is Tensor])
        if len(types_) == len(args):
            plain = True
            entry = known.find_plain(types_)
            if entry is not None:
                return entry.run(known, None, named, args)
    template, tensors = flatten((args, kwargs))
    return _entry(known, template, named, plain).run(known, template, named, tensors)


def _entry(known: Graphs, template: Template, named: Any, plain: bool = False) -> Any:
    """Return the graph for these arguments: one whose guards hold, else a new one."""
    entry = known.find(template, plain)
    if entry is not None:
        return entry
    with lowering_lock:
        # Another thread may have made it in the meantime.
        entry = known.find(template)
        return entry if entry is not None else _made(known, template, named)


def _made(known: Graphs, template: Template, named: Any) -> Any:
    # The frontend is imported with the first function that is parsed.
    from adjoint.runtime.graphs.entry import make

    return make(known, template, named)


# -- graph mode --------------------------------------------------------------------------------------------------------------
_cells: weakref.WeakKeyDictionary[Cell, Graphs] = weakref.WeakKeyDictionary()
_functions: weakref.WeakKeyDictionary[Any, Graphs] = weakref.WeakKeyDictionary()


def run_cell(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a cell called in GRAPH_MODE."""
    if tracing and state.tracer is not None and state.tracer.emits is True:
        return state.tracer.call_cell(cell, args, kwargs)
    _checked_inputs(cell, args, kwargs)
    known = _cells.get(cell)
    if known is None:
        known = _cells.setdefault(cell, Graphs(functools.partial(cell_on, weakref.ref(cell))))
    return _run(known, cell, args, kwargs)


def _checked_inputs(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if cell._inputs:
        check_call(cell.construct, cell._inputs, args, kwargs)


class _InGraphMode(Compiled):
    """A function during one call; its cached graphs outlive it, and do not keep it alive."""

    def __init__(self, function: Any, known: Graphs):
        self.__wrapped__ = function
        self.__name__, self.__qualname__, self.__module__ = function.__name__, function.__qualname__, function.__module__
        self._graphs = known
        self._of_cells = weakref.WeakKeyDictionary()


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a user's function as a graph; anything else unchanged."""
    if not isinstance(function, types.FunctionType) or function.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return function
    known = _functions.get(function)
    if known is None:
        known = _functions.setdefault(function, Graphs(functools.partial(weak_function_on, weakref.ref(function))))
    return _InGraphMode(function, known)


graph_mode.set_runner(run_cell, of_function)


# -- the decorator -----------------------------------------------------------------------------------------------------------
def jit(function: Callable[..., Any] | None = None, *, capture_mode: str = "ast", jit_level: str = "O0", dynamic: int = 0,
        fullgraph: bool = False, backend: str = "", **options: Any) -> Any:
    """Run a function as a graph: its source is parsed, control flow and all; as a decorator with or without options.

    function  a function, method or lambda; a Cell gives a function that runs the cell as a graph

    The options are MindSpore's: they are checked, and none changes the results.  A function is always parsed from its source, as a
    whole; sizes that change need no parsing, with `dynamic` or without it, unless Python needs to know them; kernels are compiled once for
    all shapes.

    TypeError if the argument is no function; ValueError and TypeError for values that an option does not accept.
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
    """Run a function as a graph: the older name of `jit`."""
    return jit(fn, input_signature=input_signature, hash_args=hash_args, jit_config=jit_config)
