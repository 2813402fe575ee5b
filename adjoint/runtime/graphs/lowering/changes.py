"""Changes that parsed code makes to objects of the library: writes to a tensor of the graph, and method calls on a cell.

For each kind there is a class that saves and restores the state of such an object.  The frontend's journal uses it to undo changes at the
end of a branch (`adjoint.frontend.changes.journal`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.lowering.graph_values import GraphTensor
from adjoint.runtime.process.epoch import epoch

__all__ = ["AtomPlace", "CellsPlace"]


class AtomPlace:
    """Saves and restores the present value of a tensor of the graph, which a write in place replaces.

    x  the tensor
    """

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
    """Saves and restores the state of a cell: attributes, parameters and sub-cells of it and of all cells below it.

    Of parameters it saves `requires_grad` and the name.

    holder             the cell
    changed_by_others  returns True if another thread has changed an attribute of a cell since the graph was begun: such a change does not
        count as one that the parsed code (the user's code of the graph) makes
    """

    def __init__(self, holder: Cell, changed_by_others: Callable[[Cell, str], bool]):
        self.holder = holder
        self.key = ("cells", id(holder))
        self._others = changed_by_others
        self._tables = [(cell, table) for _, cell in holder.cells_and_names() for table in (cell.__dict__, cell._cells, cell._params)]
        self._parameters = [*holder.get_parameters()]
        self._first = self._now()

    def _now(self) -> dict[Any, Any]:
        held: dict[Any, Any] = {
            (i, name): x for i, (_, table) in enumerate(self._tables) for name, x in [*table.items()] if name not in _OF_CALLS}
        for i, parameter in enumerate(self._parameters):
            held["requires_grad", i], held["name", i] = parameter.requires_grad, parameter.name
        return held

    def get(self) -> dict[Any, Any]:
        held, first = self._now(), self._first
        others = [key for key in {**held, **first} if held.get(key) is not first.get(key) and isinstance(key[0], int)
                  and self._others(self._tables[key[0]][0], key[1])]
        if any(key not in held for key in others):
            # The order of the keys matters: what another thread has removed is put back in its old position.
            held = {key: held.get(key, first.get(key)) for key in {**first, **held} if key in held or key in others}
        for key in others:
            if key in first:
                held[key] = first[key]
            else:
                held.pop(key, None)
        return held

    def set(self, value: Any) -> None:
        now = self.get()
        for i, (_, table) in enumerate(self._tables):
            if any(now.get(key) is not value.get(key) for key in {*now, *value} if key[0] == i):
                kept = {name: x for name, x in table.items() if name in _OF_CALLS or (i, name) not in now or now[i, name] is not x}
                table.clear()
                table.update({**{key[1]: x for key, x in value.items() if key[0] == i}, **kept})
        for i, parameter in enumerate(self._parameters):
            parameter.requires_grad, parameter.name = value["requires_grad", i], value["name", i]
        epoch.move(self.holder)


_OF_CALLS = frozenset({"_cell_watched", "_cell_called", "_cell_direct"})
"""Attributes in which cells keep internal notes about their calls."""
