"""Objects of the runtime that parsed code (the user's code of a graph) has made: the graph owns them, and they did not exist before."""

from __future__ import annotations

from typing import Any

from adjoint.ir.core import Value
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Made"]


class Made:
    """Records the cells, Parameters and tensors that parsed code (the user's code of the graph) has made while the graph is made, so that
    they can be told from those outside.

    cells       cells, which the graph keeps alive
    parameters  the Parameters of these cells, by id
    tensors     tensors made from Python numbers, by their values in the graph: their numbers are known while parsing
    unparsed    tensors that unparsed code (code of the library, which runs as it is) has made from numbers, by id: all calls of the graph
                share the object
    lent        by the ids of Parameters, the tensors that they stand for while `functional` runs a network
    drawn       values that are drawn each time the graph runs, by their ids and by those of the Parameters that begin with them, whose own
                numbers mean nothing
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.parameters: dict[int, Parameter] = {}
        self.tensors: dict[Value, Tensor] = {}
        self.unparsed: dict[int, Tensor] = {}
        self.drawn: dict[int, Tensor] = {}
        self.lent: dict[int, Any] = {}

    def has_cell(self, cell: Cell) -> bool:
        return any(cell is made for made in self.cells)

    def add_tensor(self, x: Tensor) -> None:
        """Record a tensor that code of the library has created during parsing, by running as ordinary Python instead of adding nodes."""
        self.unparsed[id(x)] = x

    def add_drawn(self, value: Tensor) -> None:
        """Record a tensor whose values a node draws each time the graph runs, such as random initial values.  A Parameter that parsed code
        makes from it then begins with the values drawn.
        """
        self.drawn[id(value)] = value

    def is_drawn(self, x: object) -> bool:
        """Return True for a tensor whose values are drawn each time the graph runs, and for a Parameter that begins with one."""
        return id(x) in self.drawn

    def has_parameter(self, x: Tensor) -> bool:
        return id(x) in self.parameters

    def has_tensor(self, x: Tensor) -> bool:
        """Return True for a tensor or Parameter that was made while this graph is made, so that only the graph can change its numbers."""
        return id(x) in self.unparsed or id(x) in self.parameters

    def holds(self, x: object) -> bool:
        """Return True for a cell or a Parameter that parsed code (the user's code of the graph) has made: the graph cannot return it, since
        all calls would share it.
        """
        return any(x is made for made in self.cells) or (isinstance(x, Parameter) and self.has_tensor(x))

    def add_parameters(self, cell: Cell) -> None:
        """Record the Parameters of a cell that parsed code (the user's code of the graph) has made."""
        self.parameters |= {id(parameter): parameter for parameter in cell.get_parameters()}
