"""Graphs: a function of the IR together with the tensors and the Python objects that its symbols (names with an `@`) refer to."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Function, Module, Node, Region, Value, walk
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.control import Differentiated
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.hooks.firing import AFTER_CONSTRUCT, BEFORE_CONSTRUCT, GradientKind
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "CellReference", "CellSite", "GradientSlot", "Graph", "HookCall", "LibraryCall", "LibraryEffect", "Registration", "StateAccess",
    "Unfitting", "living", "site_key", "with_nodes",
]


class Unfitting(tuple[Tensor, ...]):
    """The result of hooks whose structure differs from the one that the graph was made for: the tensors in it, and the structure.

    A node `apply!` (a call of Python) returns it, so that the call is continued in another graph; the tensors alone may have the right
    types.

    outline  the structure of the result, with slots in place of the tensors
    """

    outline: Any

    def __new__(cls, tensors: Sequence[Tensor], outline: Any) -> Unfitting:
        made = super().__new__(cls, tensors)
        made.outline = outline
        return made


class Registration:
    """Registers a hook on a tensor each time a graph runs the node for `x.register_hook(...)`, and removes it if the user's code asks.

    function  the hook
    """

    def __init__(self, function: Callable[[Tensor], Any]):
        self.function = function
        self._last = threading.local()

    def register(self, x: Tensor) -> None:
        """Register the hook on a tensor, and remember the handle for this thread."""
        self._last.handle = x.register_hook(self.function)

    def remove(self) -> None:
        """Remove the hook that this thread registered last; do nothing if there is none."""
        handle = getattr(self._last, "handle", None)
        if handle is not None:
            handle.remove()


class HookCall:
    """Calls the forward hooks, or the forward pre hooks, of a cell; the Python object behind the node for these hooks.

    run     calls the hooks on the node's tensors, as any function of a node does
    cell    returns the cell, or None if it has been freed
    values  turns the node's tensors into what the hooks are called with: the arguments of the cell, and for forward hooks its result
    fire    calls the hooks with the cell and these values; returns the last of the values, as the hooks have replaced it
    result  turns the answer of `fire` and the values into what `run` returns
    as_it_was  Python text of an expression over `values` and `answer` (what `fire` returned): True if the hooks replaced nothing
    guards  the guards of the graph: `guards.unchanged()` is True if the hooks have not changed what the function reads after them
    """

    __slots__ = ("as_it_was", "cell", "fire", "guards", "result", "run", "values")

    def __init__(self, run: Callable[..., Any], cell: Callable[[], Cell | None], values: Callable[..., tuple[Any, ...]],
                 fire: Callable[..., Any], result: Callable[[Any, tuple[Any, ...]], Any], as_it_was: str, guards: Any):
        self.run, self.cell, self.values, self.fire, self.result = run, cell, values, fire, result
        self.as_it_was, self.guards = as_it_was, guards

    def __call__(self, *tensors: Tensor) -> Any:
        return self.run(*tensors)


class LibraryEffect:
    """Calls a function of the library for its effect, such as a print, when a graph runs.

    It returns nothing, and may run the user's code, such as a `__str__`.
    """

    def __init__(self, run: Callable[..., Any]):
        self._run = run

    def __call__(self, *tensors: Tensor) -> None:
        self._run(*tensors)


class LibraryCall:
    """Calls a Python function when a graph runs, and promises that it runs no code of the user's, so that the graph can be optimised.

    run  the function itself
    """

    def __init__(self, run: Callable[..., Any]):
        self.run = run

    def __call__(self, *tensors: Tensor) -> Any:
        return self.run(*tensors)


class StateAccess(LibraryCall):
    """Reads or writes Python state when a graph runs: an attribute, a global variable, a variable of an enclosing function.

    run     does the access: it returns the tensors that were read, or takes those to write
    number  the same access for one Python number: a read returns the number, a write takes it as argument.  None if the access is to
        several values, or to a value that is neither an int nor a float
    bound   the largest absolute value that an int read here may have
    place   the key of the attribute or variable: equal for accesses to the same one
    constant  the int or float that a write without arguments writes; None if it writes something else
    """

    def __init__(self, run: Callable[..., Any], number: Callable[..., Any] | None = None, bound: float = math.inf,
                 place: tuple[Any, ...] = (), constant: int | float | None = None):
        super().__init__(run)
        self.number, self.bound, self.place, self.constant = number, bound, place, constant


class ContentsChange(LibraryCall):
    """Changes a list or dict that an attribute or variable holds, when a graph runs."""


def living(reference: Callable[[], Cell | None]) -> Cell:
    """Return the cell that a weak reference refers to; RuntimeError if it has been freed."""
    cell = reference()
    if cell is None:
        raise RuntimeError("this graph belongs to a cell that is gone")
    return cell


class CellReference:
    """A weak reference to a cell: the Python object behind the symbol by which nodes of a graph name the cell."""

    def __init__(self, reference: Callable[[], Cell | None]):
        self._reference = reference

    @property
    def cell(self) -> Cell:
        return living(self._reference)


class GradientSlot(CellReference):
    """The Python object behind a node `outputs`, which runs hooks of one kind on the gradients of a cell's result.

    reference  returns the cell, or None if it has been freed
    kind       the kind of hooks
    """

    def __init__(self, reference: Callable[[], Cell | None], kind: GradientKind):
        super().__init__(reference)
        self.kind = kind

    @property
    def filled(self) -> bool:
        """True if the cell has at least one hook of this kind at present."""
        hooks = self.cell._cell_hooks
        return hooks is not None and bool(getattr(hooks, self.kind.slot))


def with_nodes(slots: Slots) -> Slots:
    """Return which kinds of a cell's hooks are to have nodes in a graph: those that it has, and some that hooks may add before their turn.

    Hooks without a node run with the cell's region, so right before or after construct.  If hooks nearer to construct have a node, that is
    too early for those on a result and for their gradients, and too late for those on arguments.  Forward hooks on a result leave the
    graph there; the others need a node.

    slots  the kinds of hooks that the cell has
    """
    nearer = False
    for kind in BEFORE_CONSTRUCT[::-1]:
        nearer = nearer or getattr(slots, kind.slot)
        slots = slots._replace(**{kind.slot: nearer})
    nearer = False
    for kind in AFTER_CONSTRUCT:
        has_node = getattr(slots, kind.slot) or (nearer and isinstance(kind, GradientKind))
        slots, nearer = slots._replace(**{kind.slot: has_node}), nearer or has_node
    return slots


@dataclass(frozen=True, eq=False)
class CellSite:
    """Describes one call of a cell in a graph, so that hooks can be called with the arguments and the result as the user wrote them.

    It does not keep the cell alive.  The *boundary* of the cell is the list of tensors that enter and leave the cell's region, the body of
    the node that represents the call.

    reference  returns the cell, or None if it has been freed
    arguments  tensors -> (positional arguments, keyword arguments): the call as the user wrote it.  The tensors are those that enter
               through the boundary, in order: the parameters of the cell's region
    output     tensors -> the result of construct.  The tensors are those that leave through the boundary, in order: the results of the
               cell's region without its residuals (those that only the graph uses)
    ruled      True if the cell has a `bprop`: then the boundary also includes numbers that are known at run time only
    numbers    the positions of these numbers among the parameters of the region
    results    the positions of these numbers among its results; at both `arguments` and `output` take 0-d tensors
    pattern    the kinds of hooks that the cell had when the graph was made: the graph has nodes for these around the cell's node
    ordinal    its index among the calls of cells in the graph
    recorded   True if the call may be recorded on a tape: it is not inside of `_no_grad`
    nested     True if the arguments or the result hold tensors that do not cross the boundary; `arguments` and `output` leave these out
    """

    reference: Callable[[], Cell | None]
    arguments: Callable[[Sequence[Tensor]], tuple[tuple[Any, ...], dict[str, Any]]]
    output: Callable[[Sequence[Tensor]], Any]
    pattern: Slots = Slots()
    ordinal: int = -1
    ruled: bool = False
    numbers: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()
    nested: bool = False
    recorded: bool = True

    @property
    def cell(self) -> Cell:
        """Return the cell; RuntimeError if it has been freed."""
        return living(self.reference)


@dataclass(eq=False)
class Graph:
    """A function made into IR, with everything that is needed to run it on arguments; `running.binding.bind` makes it ready to run.

    module  the IR, which declares the symbols of `state` and `hosts`
    symbol  the name of the function that is run; its parameters are the tensor arguments
    state   the tensors that symbols refer to, the user's own objects, by symbol
    hosts   the Python objects that nodes call, by symbol:
              hook @h      (hook function, its kind of `OPERATORS`, title)
              attach! @h   hook function, or its Registration
              apply! @h    function of the operands; returns the results (None, a Tensor or a sequence of them), or Unfitting
              check! @h    function of the operands after the first, if there are any, else of the first; raises the exception
              outputs @h   the CellSite, or another object with the Cell as its `cell`
    sites   the calls of cells, by `site_key` of their nodes; for a cell's node without an entry only the nodes inside of it run
    """

    module: Module
    symbol: str
    state: dict[str, Tensor] = field(default_factory=dict)
    hosts: dict[str, Any] = field(default_factory=dict)
    sites: dict[Value, CellSite] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    """The cells that the graph keeps alive, since nothing else refers to them: those that the user's code made while it became the graph.
    """

    made_of: Graph | None = None
    """The graph of which passes have made this one, if a tool has run them: what its gradients call is known there."""

    @property
    def function(self) -> Function:
        """Return the function of the IR that this graph runs: the one in `module` with the name `symbol`."""
        return self.module.functions[self.symbol]

    def sites_in(self, module: Module) -> dict[Value, CellSite]:
        """Return `sites` for another module, which passes have made of this graph's.

        A gradient that is still a node there calls the cells in it, if all cells are left in their order; {} without such gradients.
        RuntimeError if not all are left, and one in a gradient has hooks or a `bprop`.
        """
        body = module.functions[self.symbol].body
        if not any(isinstance(node.op, Differentiated) for node in walk(body)):
            return {}
        old, new = _cells_of(self.function.body), _cells_of(body)
        if [node.op for node in old] == [node.op for node in new]:
            keys = zip(map(site_key, old), map(site_key, new), strict=True)
            return {after: self.sites[before] for before, after in keys if after is not None and before in self.sites}
        for node in walk(body):
            called = [cell.op for cell in _cells_of(node.regions[0])] if isinstance(node.op, Differentiated) else []
            for op in called:
                if isinstance(op, CellOp) and (op.symbol or op.rule):
                    raise RuntimeError(f"'{op.title}' has hooks or a bprop, and the gradient around it is still a node, but the passes "
                                       "have changed which cells are called. Put 'differentiate' before them.")
        return {}

    def _repr_html_(self) -> str:
        """Return the IR as HTML; notebooks show it."""
        from adjoint.ir.html import listing_html

        return listing_html(self.module)

    def site(self, node: Node) -> CellSite | None:
        """Return the description of the cell's call that `node` represents; None if only the nodes inside of `node` run, without a cell."""
        key = site_key(node)
        return None if key is None else self.sites.get(key)


def _cells_of(region: Region) -> list[Node]:
    return [node for node in walk(region) if isinstance(node.op, CellOp)]


def site_key(node: Node) -> Value | None:
    """Return the key in `Graph.sites` of a node that calls a cell: its first result, or its region's first parameter if it has no results.

    Return None if it has neither: only the nodes inside of such a node run.
    """
    assert isinstance(node.op, CellOp)
    return next(iter((*node.results, *node.regions[0].params)), None)
