"""Graphs: a function of the IR together with the tensors and the Python objects that its symbols refer to."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Function, Module, Node, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "CellSite", "Graph", "HookCall", "LibraryCall", "LibraryEffect", "Registration", "Slots", "StateAccess", "Unfitting", "living",
    "site_key",
]


class Slots(NamedTuple):
    """The hook slots of a cell that are filled."""

    forward_pre: bool = False
    forward: bool = False
    backward_pre: bool = False
    backward: bool = False

    @staticmethod
    def of(cell: Cell) -> Slots:
        """Return the slots of a cell that are filled now."""
        hooks = cell._hooks
        return _EMPTY if hooks is None else Slots(*(bool(getattr(hooks, name)) for name in Slots._fields))


_EMPTY = Slots()


class Unfitting(tuple[Tensor, ...]):
    """The result of an `apply!` whose structure does not fit, even if its tensors have the right types."""

    outline: Any

    def __new__(cls, tensors: Sequence[Tensor], outline: Any) -> Unfitting:
        made = super().__new__(cls, tensors)
        made.outline = outline
        return made


class Registration:
    """A hook that a graph registers on one of its values, and removes if its code does.

    function  the hook
    """

    def __init__(self, function: Callable[[Tensor], Any]):
        self.function = function
        self._last = threading.local()

    def register(self, x: Tensor) -> None:
        """Register the hook on a tensor of this thread's run."""
        self._last.handle = x.register_hook(self.function)

    def remove(self) -> None:
        """Remove the hook that this thread registered last."""
        handle = getattr(self._last, "handle", None)
        if handle is not None:
            handle.remove()


class HookCall:
    """A host that calls the forward hooks of a cell, or its forward pre hooks.

    run     does it on tensors, as any host
    cell    returns the cell
    values  makes of the tensors what the hooks are given: the arguments of the cell, and its result
    fire    is given the cell and these values; it returns the last one of them as the hooks have made it
    result  takes that, and the values, and returns what `run` does
    as_it_was  the expression of whether the hooks have changed nothing, of the variables `values` and `answer`, which `fire` has returned
    guards  those of the graph: `guards.unchanged()` says whether the hooks have left what the body reads after them
    """

    __slots__ = ("as_it_was", "cell", "fire", "guards", "result", "run", "values")

    def __init__(self, run: Callable[..., Any], cell: Callable[[], Cell | None], values: Callable[..., tuple[Any, ...]],
                 fire: Callable[..., Any], result: Callable[[Any, tuple[Any, ...]], Any], as_it_was: str, guards: Any):
        self.run, self.cell, self.values, self.fire, self.result = run, cell, values, fire, result
        self.as_it_was, self.guards = as_it_was, guards

    def __call__(self, *tensors: Tensor) -> Any:
        return self.run(*tensors)


class LibraryEffect:
    """A function of an `apply!` that the library calls for its effect, such as a print: it returns nothing, and may run the user's code."""

    def __init__(self, run: Callable[..., Any]):
        self._run = run

    def __call__(self, *tensors: Tensor) -> None:
        self._run(*tensors)


class LibraryCall:
    """A function of an `apply!` that runs none of the user's code; `run` is the function itself."""

    def __init__(self, run: Callable[..., Any]):
        self.run = run

    def __call__(self, *tensors: Tensor) -> Any:
        return self.run(*tensors)


class StateAccess(LibraryCall):
    """A function that reads or writes Python state: an attribute, a global name, a variable of an enclosing function.

    number  the same for a Python number: returns it, or is given it; None where several are read or written, or others than ints and floats
    bound   the largest size that the int which is read may have
    """

    def __init__(self, run: Callable[..., Any], number: Callable[..., Any] | None = None, bound: float = math.inf):
        super().__init__(run)
        self.number, self.bound = number, bound


def living(reference: Callable[[], Cell | None]) -> Cell:
    """Return the cell of a weak reference; RuntimeError if it has been freed."""
    cell = reference()
    if cell is None:
        raise RuntimeError("this graph belongs to a cell that is gone")
    return cell


@dataclass(frozen=True, eq=False)
class CellSite:
    """A call of a cell in a graph; the graph does not keep the cell alive.

    reference  returns the cell
    arguments  tensors -> (positional arguments, keyword arguments): the call as the user wrote it.  The tensors are those of
               its boundary, in order: the parameters of the cell's region
    output     tensors -> the result of construct.  The tensors are those of its boundary, in order: the results of the cell's
               region without its residuals
    ruled      True if the boundary is that of a cell with a `bprop`, which also includes run-time numbers:
    numbers    their positions among the parameters, and
    results    among the results; at these `arguments` and `output` take 0-d tensors
    pattern    the slots that were filled when the graph was made: for these the graph has nodes around the cell's
    ordinal    its index among the calls of cells in the graph
    recorded   True if the call may be recorded on a tape: it is not inside of `_no_grad`
    nested     True if the arguments or the result hold tensors that are not of the boundary, which `arguments` and `output` lack
    """

    reference: Callable[[], Cell | None]
    arguments: Callable[[Sequence[Tensor]], tuple[tuple[Any, ...], dict[str, Any]]]
    output: Callable[[Sequence[Tensor]], Any]
    pattern: Slots = _EMPTY
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
    """A function that can be run.

    module  the IR; the state's and the hosts' symbols are declared in it
    symbol  the function of it that is run; its parameters are the tensor arguments
    state   tensors by symbol, the objects themselves
    hosts   the callables of host nodes, by symbol:
              hook @h      (hook function, "value" or "gradient", title)
              attach! @h   hook function, or its Registration
              apply! @h    function of the operands; returns the results (None, a Tensor or a sequence of them), or Unfitting
              check! @h    function of the operands after the first, if there are any, else of the first; raises the exception
              outputs @h   the CellSite, or another object with the Cell as its `cell`
    sites   the calls of cells, by `site_key` of their nodes; a cell without a site only runs its region
    """

    module: Module
    symbol: str
    state: dict[str, Tensor] = field(default_factory=dict)
    hosts: dict[str, Any] = field(default_factory=dict)
    sites: dict[Value, CellSite] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    """Cells that only the graph owns: it keeps them alive."""

    @property
    def function(self) -> Function:
        """Return the function to run."""
        return self.module.functions[self.symbol]

    def site(self, node: Node) -> CellSite | None:
        """Return the call of a cell that `node` represents."""
        key = site_key(node)
        return None if key is None else self.sites.get(key)


def site_key(node: Node) -> Value | None:
    """Return the key of a call of a cell: its first result, or its region's first parameter if it has none.

    None for a cell that has neither, which only runs its region.
    """
    assert isinstance(node.op, CellOp)
    return next(iter((*node.results, *node.regions[0].params)), None)
