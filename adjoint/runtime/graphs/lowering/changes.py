"""Changes that parsed code makes to objects of the library: writes to a tensor of the graph, and method calls on a cell.

Both are places that the frontend's journal records (`adjoint.frontend.changes.journal`).
"""

from __future__ import annotations

from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.lowering.graph_values import GraphTensor
from adjoint.runtime.process.epoch import epoch

__all__ = ["AtomPlace", "CellsPlace"]


class AtomPlace:
    """The atom of a tensor of the graph, which a write in place replaces."""

    def __init__(self, x: GraphTensor):
        self.tensor = x
        self.key = ("atom", id(x))

    def get(self) -> Any:
        x = self.tensor
        kept = GraphTensor(x.owner, x.atom, x.type)
        kept.home = x.home
        return kept

    def set(self, value: Any) -> None:
        self.tensor.atom, self.tensor.home, self.tensor.type = value.atom, value.home, value.type


class CellsPlace:
    """The attributes, parameters and sub-cells of a cell and of all cells below it, and the attributes of its parameters."""

    def __init__(self, holder: Cell):
        self.holder = holder
        self.key = ("cells", id(holder))
        cells = [cell for _, cell in holder.cells_and_names()]
        self._tables = [table for cell in cells for table in (cell.__dict__, cell._cells, cell._params)]
        self._parameters = [*holder.get_parameters()]

    def get(self) -> dict[Any, Any]:
        held: dict[Any, Any] = {(i, name): x for i, table in enumerate(self._tables) for name, x in table.items()}
        for i, parameter in enumerate(self._parameters):
            held["requires_grad", i], held["name", i] = parameter.requires_grad, parameter.name
        return held

    def set(self, value: dict[Any, Any]) -> None:
        for i, table in enumerate(self._tables):
            table.clear()
            table.update({key[1]: x for key, x in value.items() if key[0] == i})
        for i, parameter in enumerate(self._parameters):
            parameter.requires_grad, parameter.name = value["requires_grad", i], value["name", i]
        epoch.move()
