"""Graphs: a function of the IR together with the tensors and the Python that its symbols stand for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adjoint.ir.core import Function, Module, Node, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CellSite", "Check", "Graph", "Registration", "Slots", "Unfitting", "living", "site_key"]


class Slots(NamedTuple):
    """Which hook slots of a cell are filled."""

    forward_pre: bool = False
    forward: bool = False
    backward_pre: bool = False
    backward: bool = False

    @staticmethod
    def of(cell: Cell) -> Slots:
        """As they are now."""
        hooks = cell._hooks
        return _EMPTY if hooks is None else Slots(*(bool(getattr(hooks, name)) for name in Slots._fields))


_EMPTY = Slots()


class Unfitting(tuple[Tensor, ...]):
    """What an `apply!` gives when the tensors may be of the right types, but the structure around them is another."""

    outline: Any

    def __new__(cls, tensors: Sequence[Tensor], outline: Any) -> Unfitting:
        made = super().__new__(cls, tensors)
        made.outline = outline
        return made


class Registration:
    """A hook that a graph registers on one of its values, and takes out again if its code says so.

    function  the hook
    """

    def __init__(self, function: Callable[[Tensor], Any]):
        self.function = function
        self._last = threading.local()

    def register(self, x: Tensor) -> None:
        """Register the hook on a tensor of the run of this thread."""
        self._last.handle = x.register_hook(self.function)

    def remove(self) -> None:
        """Remove what this thread registered last."""
        handle = getattr(self._last, "handle", None)
        if handle is not None:
            handle.remove()


class Check:
    """What an `apply!` calls for a check that the library makes of numbers: it raises, or does nothing.  No code of the user's runs."""

    def __init__(self, run: Callable[..., None]):
        self._run = run

    def __call__(self, *tensors: Tensor) -> None:
        self._run(*tensors)


def living(reference: Callable[[], Cell | None]) -> Cell:
    """The cell of a reference; RuntimeError when it is gone."""
    cell = reference()
    if cell is None:
        raise RuntimeError("this graph belongs to a cell that is gone")
    return cell


@dataclass(frozen=True, eq=False)
class CellSite:
    """A call of a cell in a graph, which does not keep the cell alive.

    reference  gives the cell
    arguments  tensors -> (positional arguments, keyword arguments): the call as the user wrote it.  The tensors are those of
               its boundary, in order: the parameters of the cell's region
    output     tensors -> what construct returns.  The tensors are those of its boundary, in order: the results of the cell's
               region without its residuals
    ruled      the boundary is that of a cell with a `bprop`.  Numbers that are known when the graph runs belong to it too:
    numbers    the places at which they stand among the parameters, and
    results    among the results; there `arguments` and `output` take 0-d tensors
    pattern    the slots that were filled when the graph was made: for these the graph has nodes beside the cell's
    ordinal    its number among the calls of cells that the graph was made of
    recorded   the call may be recorded on a tape: it is not inside of `_no_grad`
    nested     there are tensors in the arguments or in the result that are not of the boundary: `arguments` and `output` do not
               have these
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
        """The cell; RuntimeError when it is gone."""
        return living(self.reference)


@dataclass(eq=False)
class Graph:
    """A function that can be run.

    module  the IR; the state's and the hosts' symbols are declared in it
    symbol  the function of it that is run; its parameters are the tensor arguments
    state   tensors by symbol: the very objects
    hosts   what host nodes call, by symbol:
              hook @h      (hook function, "value" or "gradient", title)
              attach! @h   hook function, or its Registration
              apply! @h    function of the operands; gives None, a Tensor or a sequence of them: the results; or Unfitting
              outputs @h   the CellSite, or another object with the Cell as its `cell`
    sites   the calls of cells, by `site_key` of their nodes; a cell without one means what its region means
    """

    module: Module
    symbol: str
    state: dict[str, Tensor] = field(default_factory=dict)
    hosts: dict[str, Any] = field(default_factory=dict)
    sites: dict[Value, CellSite] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    """Cells that belong to the graph alone: it keeps them alive"""

    @property
    def function(self) -> Function:
        """The function that is run."""
        return self.module.functions[self.symbol]

    def site(self, node: Node) -> CellSite | None:
        """The call of a cell that `node` stands for."""
        key = site_key(node)
        return None if key is None else self.sites.get(key)


def site_key(node: Node) -> Value | None:
    """What tells one call of a cell from the others: its first result, or its region's first parameter if it has none.

    None for a cell that has neither, which means what its region means.
    """
    assert isinstance(node.op, CellOp)
    return next(iter((*node.results, *node.regions[0].params)), None)
