"""Cells that hold cells."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.runtime.cell import Cell

__all__ = ["CellList", "SequentialCell"]


class _Numbered(Cell):
    """Cells by position; they are attributes named "0", "1", ..."""

    def __init__(self, *args: Any, auto_prefix: bool = True):
        super().__init__(auto_prefix=auto_prefix)
        self._set(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)) else args)

    def _check(self, cell: Any) -> Cell:
        if not isinstance(cell, Cell):
            raise TypeError(f"For '{type(self).__name__}', every item must be a Cell, but got {cell!r} of type {type(cell).__name__}.")
        return cell

    def _set(self, cells: Iterable[Any]) -> None:
        for name in list(self._cells):
            del self.__dict__[name]
        self._cells.clear()
        for i, cell in enumerate(cells):
            setattr(self, str(i), self._check(cell))

    def _index(self, index: Any) -> str:
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"For '{type(self).__name__}', the index must be an int, but got {index!r} of type {type(index).__name__}.")
        count = len(self._cells)
        if not -count <= index < count:
            raise IndexError(f"For '{type(self).__name__}', the index must be in [{-count}, {count}), but got {index}.")
        return list(self._cells)[index]

    def __len__(self) -> int:
        return len(self._cells)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Cell]:
        return iter(list(self._cells.values()))

    def __contains__(self, cell: object) -> bool:
        return any(cell is item for item in self._cells.values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._cells.values())[index])
        return self._cells[self._index(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        setattr(self, self._index(index), self._check(cell))

    def __delitem__(self, index: int | slice) -> None:
        cells = list(self._cells.values())
        if not isinstance(index, slice):
            self._index(index)
        del cells[index]
        self._set(cells)

    def append(self, cell: Cell) -> Any:
        """Add a cell at the end."""
        setattr(self, str(len(self._cells)), self._check(cell))
        return self


class SequentialCell(_Numbered):
    """Cells called one after the other: given one by one, as a list, or as an OrderedDict that names them."""

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], (OrderedDict, dict)):
            for name, cell in args[0].items():
                setattr(self, name, self._check(cell))
        else:
            self._set(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)

    def construct(self, input_data: Any) -> Any:
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data


class CellList(_Numbered):
    """A list of cells: to be indexed and iterated over, not called."""

    def insert(self, index: int, cell: Cell) -> None:
        """Put a cell before the one at `index`; at an end where there is none so far out."""
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"For 'CellList', the index must be an int, but got {index!r} of type {type(index).__name__}.")
        cells = list(self._cells.values())
        cells.insert(index, self._check(cell))
        self._set(cells)

    def extend(self, cells: Iterable[Cell]) -> CellList:
        """Add several cells at the end."""
        if not isinstance(cells, Iterable):
            raise TypeError(f"For 'CellList', 'extend' takes a list of Cells, but got {cells!r} of type {type(cells).__name__}.")
        for cell in cells:
            self.append(cell)
        return self

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("A CellList is not called: call the cells in it.")
