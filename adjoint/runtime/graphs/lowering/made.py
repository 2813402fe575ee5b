"""Objects of the runtime that parsed code has made: the graph owns them, and they did not exist before."""

from __future__ import annotations

from adjoint.ir.core import Value
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Made"]


class Made:
    """The objects that parsed code has made during one lowering.

    cells       cells, which the graph keeps alive
    parameters  the Parameters of these cells, by id
    tensors     tensors made from Python numbers, by their values in the graph: their numbers are known while parsing
    unparsed    tensors that unparsed code has made from numbers, by id: all runs share the object
    drawn       values that each run draws, by their ids and by those of the Parameters that begin with them, whose own numbers mean nothing
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.parameters: dict[int, Parameter] = {}
        self.tensors: dict[Value, Tensor] = {}
        self.unparsed: dict[int, Tensor] = {}
        self.drawn: dict[int, Tensor] = {}

    def has_cell(self, cell: Cell) -> bool:
        return any(cell is made for made in self.cells)

    def add_tensor(self, x: Tensor) -> None:
        """Record a tensor that unparsed code has made."""
        self.unparsed[id(x)] = x

    def add_drawn(self, value: Tensor) -> None:
        """Record a value that each run draws: it may be the first one of a Parameter."""
        self.drawn[id(value)] = value

    def is_drawn(self, x: object) -> bool:
        """Return True for a value that each run draws, and for a Parameter that has one."""
        return id(x) in self.drawn

    def has_parameter(self, x: Tensor) -> bool:
        return id(x) in self.parameters

    def has_tensor(self, x: Tensor) -> bool:
        """Return True for a tensor or Parameter whose numbers only this graph can change."""
        return id(x) in self.unparsed or id(x) in self.parameters

    def holds(self, x: object) -> bool:
        """Return True for a cell or a Parameter that parsed code has made."""
        return any(x is made for made in self.cells) or (isinstance(x, Parameter) and self.has_tensor(x))

    def add_parameters(self, cell: Cell) -> None:
        """Record the Parameters of a cell."""
        self.parameters |= {id(parameter): parameter for parameter in cell.get_parameters()}
