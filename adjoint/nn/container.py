"""Cells that contain other cells.

Parameters of an added cell get MindSpore's names, since checkpoints contain them: the container's own name is inferred from the parameters
that it already has, so that the first cell added to an empty list has `0.weight`, wherever the list is.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from adjoint.foundation.diagnostics import check_flag
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CellDict", "CellList", "SequentialCell"]


def _prefix(cells: Mapping[str, Cell]) -> tuple[str, int]:
    """Return the prefix before the keys of these cells in the names of their parameters, and how many parts of a name it has.

    The first cell with parameters decides. If its key occurs in a name more than once, the second cell with parameters decides.
    """
    firsts = [(key, parameter.name.split(".")) for key, cell in cells.items() for parameter in list(cell.get_parameters())[:1]][:2]
    prefix, parts = "", 0
    if firsts:
        (key, first), *others = firsts
        for i, part in enumerate(first):
            if part == key:
                prefix, parts = "".join(f"{x}." for x in first[:i]), i
                if any(other[i : i + 1] == [other_key] for other_key, other in others):
                    break
    return prefix, parts


def _renumber(cell: Cell, prefix: str, parts: int, key: str) -> None:
    """Replace the key after the prefix in the names of a cell's parameters."""
    for parameter in cell.get_parameters():
        parameter.name = ".".join([f"{prefix}{key}", *parameter.name.split(".")[parts + 1 :]])


class _Container(Cell):
    """Cells under keys, which are names of attributes."""

    def _check(self, cell: Any) -> Cell:
        if not isinstance(cell, Cell):
            raise TypeError(f"For '{type(self).__name__}', every item must be a Cell, but got {cell!r} of type {type(cell).__name__}.")
        return cell

    def _hold(self, key: str, cell: Cell, prefix: str) -> None:
        """Add a cell under a key, and name its parameters after it."""
        self._cell_adopt_cell(key, cell)
        if self._auto_prefix:
            cell.update_parameters_name(f"{prefix}{key}.")
        epoch.move(self)

    def _arrange(self, cells: Mapping[str, Cell]) -> None:
        """Replace the content by these cells, in this order; their parameters keep their names."""
        for key in self._cells:
            del self.__dict__[key]
        self._cells.clear()
        for key, cell in cells.items():
            self._cell_adopt_cell(key, cell)
        epoch.move(self)

    def __len__(self) -> int:
        return len(self._cells)


def _yes_or_no(name: str, auto_prefix: Any) -> bool:
    """Return the argument of a container; TypeError unless it is a bool or a number."""
    if not isinstance(auto_prefix, int):
        check_flag(name, "auto_prefix", auto_prefix)
    return bool(auto_prefix)


class _Numbered(_Container):
    """Cells by position; they are attributes named "0", "1", ..."""

    def __init__(self, *args: Any, auto_prefix: bool = True):
        super().__init__(auto_prefix=_yes_or_no(type(self).__name__, auto_prefix))
        self._add(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)) else args)

    def _add(self, cells: Iterable[Any]) -> None:
        """Append cells."""
        cells = [self._check(cell) for cell in cells]
        prefix, _ = _prefix(self._cells)
        for cell in cells:
            number = len(self._cells)
            while str(number) in self._cells:  # a part of a sequence keeps its keys
                number += 1
            self._hold(str(number), cell, prefix)

    def _index(self, index: Any) -> str:
        if isinstance(index, Tensor):
            index = operator.index(index)
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"For '{type(self).__name__}', the index must be an int, but got {index!r} of type {type(index).__name__}.")
        count = len(self._cells)
        if not -count <= index < count:
            raise IndexError(f"For '{type(self).__name__}', the index must be in [{-count}, {count}), but got {index}.")
        return list(self._cells)[index]

    def __iter__(self) -> Iterator[Cell]:
        return iter(list(self._cells.values()))

    def __contains__(self, cell: object) -> bool:
        return any(cell is item for item in self._cells.values())

    def __getitem__(self, index: int | slice | Tensor) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._cells.values())[index])
        return self._cells[self._index(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        self._hold(self._index(index), self._check(cell), _prefix(self._cells)[0])

    def __delitem__(self, index: int | slice) -> None:
        """Remove cells. Those after them move up, and so do the names of their parameters; cells with names of their own keep them."""
        if not isinstance(index, slice):
            self._index(index)
        items = list(self._cells.items())
        numbered = [key == str(i) for i, (key, _) in enumerate(items)]
        del items[index], numbered[index]
        prefix, parts = _prefix(dict(items))
        kept: dict[str, Cell] = {}
        for i, ((key, cell), moves) in enumerate(zip(items, numbered, strict=True)):
            if moves and self._auto_prefix:
                _renumber(cell, prefix, parts, str(i))
            kept[str(i) if moves else key] = cell
        self._arrange(kept)

    def append(self, cell: Cell) -> Any:
        """Append a cell."""
        self._add([cell])
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Set the flag here and in the cells held; see `Cell.set_grad`."""
        for cell in self._cells.values():
            cell.set_grad(requires_grad)
        return super().set_grad(requires_grad)


class SequentialCell(_Numbered):
    """Calls cells one after the other: given as arguments, as a list, or as an OrderedDict that names them."""

    def __init__(self, *args: Any):
        if len(args) != 1 or not isinstance(args[0], Mapping):
            super().__init__(*args)
            return
        super().__init__()
        for key, cell in args[0].items():
            self._hold(key, self._check(cell), "")

    def __getitem__(self, index: int | slice | Tensor) -> Any:
        """Return a cell, or a sequence of some cells under their present keys."""
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._cells.items())[index]))
        return super().__getitem__(index)

    def construct(self, input_data: Any) -> Any:
        for cell in list(self._cells.values()):  # as in MindSpore, what a hook replaces or appends is called from the next call on
            input_data = cell(input_data)
        return input_data


class CellList(_Numbered):
    """A list of cells, to be indexed and iterated over, not called."""

    is_list = True

    def insert(self, index: int, cell: Cell) -> None:
        """Insert a cell before the one at `index`; an index out of range means an end."""
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"For 'CellList', the index must be an int, but got {index!r} of type {type(index).__name__}.")
        self._check(cell)
        prefix, parts = _prefix(self._cells)
        cells = list(self._cells.values())
        place = max(len(cells) + index, 0) if index < 0 else min(index, len(cells))
        if self._auto_prefix:
            for number in reversed(range(place, len(cells))):
                _renumber(cells[number], prefix, parts, str(number + 1))
        cells.insert(place, cell)
        self._arrange({str(i): item for i, item in enumerate(cells)})
        self._hold(str(place), cell, prefix)

    def extend(self, cells: Iterable[Cell]) -> CellList:
        """Append several cells."""
        if not isinstance(cells, Iterable):
            raise TypeError(f"For 'CellList', 'extend' takes a list of Cells, but got {cells!r} of type {type(cells).__name__}.")
        self._add(cells)
        return self

    __iadd__ = extend

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("A CellList is not called: call the cells in it.")


class CellDict(_Container):
    """A dict of cells, to be indexed by their keys and iterated over, not called.

    The cells may be given as a mapping, or as pairs of key and cell.  A key is a str without "." that is no attribute of a Cell.
    """

    def __init__(self, *args: Any, auto_prefix: bool = True):
        super().__init__(auto_prefix=_yes_or_no("CellDict", auto_prefix))
        if len(args) > 1:
            raise TypeError(f"For 'CellDict', the cells must be one mapping or one iterable of pairs, but got {len(args)} arguments.")
        if args:
            self.update(args[0])

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"For 'CellDict', the argument 'key' must be a str, but got {key!r} of type {type(key).__name__}.")
        if not key or "." in key:
            raise KeyError(f"For 'CellDict', the argument 'key' must not be empty nor contain '.', but got {key!r}.")
        if key not in self._cells and hasattr(self, key):
            raise KeyError(f"For 'CellDict', the argument 'key' must not be the name of an attribute of a Cell, but got {key!r}.")
        return key

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if isinstance(self._check(cell), (CellDict, CellList, SequentialCell)):
            raise TypeError(f"For 'CellDict', an item must not be a CellDict, CellList or SequentialCell, "
                            f"but got a {type(cell).__name__}.")
        self._hold(self._key(key), cell, _prefix(self._cells)[0])

    def __delitem__(self, key: str) -> None:
        self._cells[key]
        self._arrange({other: cell for other, cell in self._cells.items() if other != key})

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._cells))

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def clear(self) -> None:
        """Remove all cells."""
        self._arrange({})

    def pop(self, key: str) -> Cell:
        """Remove the cell under a key, and return it."""
        cell = self._cells[key]
        del self[key]
        return cell

    def keys(self) -> KeysView[str]:
        """Return the keys."""
        return OrderedDict(self._cells).keys()

    def values(self) -> ValuesView[Cell]:
        """Return the cells."""
        return OrderedDict(self._cells).values()

    def items(self) -> ItemsView[str, Cell]:
        """Return the pairs of key and cell."""
        return OrderedDict(self._cells).items()

    def update(self, cells: Any) -> None:
        """Add the cells of a mapping, of another CellDict, or of pairs of key and cell; those under equal keys are replaced."""
        if isinstance(cells, (Mapping, CellDict)):
            cells = cells.items()
        if not isinstance(cells, Iterable) or isinstance(cells, Tensor):
            raise TypeError(f"For 'CellDict', 'update' takes a mapping or pairs of key and cell, but got {cells!r} "
                            f"of type {type(cells).__name__}.")
        for number, pair in enumerate(cells):
            if not isinstance(pair, Iterable):
                raise TypeError(f"For 'CellDict', 'update' takes pairs of key and cell, but item {number} is {pair!r} "
                                f"of type {type(pair).__name__}.")
            items = tuple(pair)
            if len(items) != 2:
                raise ValueError(f"For 'CellDict', 'update' takes pairs of key and cell, but item {number} has {len(items)} parts.")
            self[items[0]] = items[1]

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("For 'CellDict', there is no call: call the cells in it.")
