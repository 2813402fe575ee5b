"""Tables of the explorer's data: files, places in them, cells, and texts and lists of numbers that many lines share."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.explorer.identity import Chain, Identities
from adjoint.foundation.diagnostics import At, Loc, is_of_python, is_ours, user_place
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.inspection.origins import made_in

__all__ = ["Cells", "Files", "Places", "Shared"]

_WHOLE = 1500
"""The number of lines up to which a file of the user's is shown whole."""


class Files:
    """The source files that occur, by index."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._lines: dict[str, set[int]] = {}

    def index(self, place: At) -> int:
        """Return the index of the file of a place; the functions around these lines are part of what is shown."""
        self._lines.setdefault(place.file, set()).add(place.line)
        return self._index.setdefault(place.file, len(self._index))

    def as_json(self) -> list[dict[str, Any]]:
        """Return the files with their text: a file of the user's whole, unless it is long; of others the functions that occur."""
        found: list[dict[str, Any]] = []
        for file, lines in self._lines.items():
            text = [line.rstrip("\r\n") for line in linecache.getlines(file)]
            user = not (is_ours[file] or is_of_python(file) or f"-packages{os.sep}" in file)
            begin, end = (1, len(text)) if user and len(text) <= _WHOLE else _around(text, lines)
            found.append({"path": file, "user": user, "first": begin, "lines": text[begin - 1 : end]})
        return found


def _around(text: Sequence[str], lines: Iterable[int]) -> tuple[int, int]:
    """Return the first and the last line of the functions that hold some lines of a file."""
    begin, end = min(lines), min(max(lines), len(text))
    try:
        tree = ast.parse("\n".join(text))
    except (SyntaxError, ValueError):
        return begin, end
    first, last = begin, end
    for each in ast.walk(tree):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.end_lineno is not None:
            decorated = min([each.lineno, *(d.lineno for d in each.decorator_list)])
            if decorated <= begin <= each.end_lineno:
                first = min(first, decorated)
            if decorated <= end <= each.end_lineno:
                last = max(last, each.end_lineno)
    return first, last


class Places:
    """Places in files, each with the place of the call that led there.

    rows  [file, line, column, end column, index of the call's place or -1]
    """

    def __init__(self, files: Files, identities: Identities):
        self.rows: list[list[int]] = []
        self._files, self._identities = files, identities
        self._index: dict[tuple[int, ...], int] = {}
        self._of_chains: dict[Chain, int] = {}

    def of(self, loc: Loc) -> int:
        """Return the index of the place to which a location leads back; -1 if there is none."""
        chains = self._identities.chains(loc)
        return self.of_chain(chains[0]) if chains else self._row(user_place(loc), -1)

    def of_chain(self, chain: Chain) -> int:
        """Return the index of the place of a node of the parsed graph, which is reached by the calls of functions and of cells around."""
        known = self._of_chains.get(chain)
        if known is None:
            number, *calls = chain
            parent = self.of_chain(tuple(calls)) if calls else -1
            path: list[int] = []
            while number >= 0:
                path.append(number)
                number = self._identities.origins[number].around
            for each in reversed(path):
                parent = self._called(self._identities.origins[each].node.loc, parent)
            known = self._of_chains[chain] = parent
        return known

    def _called(self, loc: Loc, parent: int) -> int:
        """Return the index of the place of a node, reached by the calls of functions between it and the cell around."""
        path: list[Loc] = []
        callers = made_in(loc).callers
        while callers is not None:
            caller, callers = callers
            path.append(caller)
        for each in reversed(path):
            parent = self._row(user_place(each), parent)
        return self._row(user_place(loc), parent)

    def of_chains(self) -> dict[Chain, int]:
        """Return the places of all nodes of the parsed graph that were asked for."""
        return dict(self._of_chains)

    def _row(self, place: At | None, parent: int) -> int:
        if place is None:
            return parent
        row = [self._files.index(place), place.line, place.column, place.end, parent]
        if parent >= 0 and self.rows[parent][:4] == row[:4]:
            return parent
        index = self._index.get(tuple(row))
        if index is None:
            index = self._index[tuple(row)] = len(self.rows)
            self.rows.append(row)
        return index


class Cells:
    """The cells of a program as a tree, parents before their children.

    rows  for each cell what the page shows of it
    """

    def __init__(self, target: Any, cells: Iterable[Cell]):
        self.rows: list[dict[str, Any]] = []
        self._index: dict[str, int] = {}
        self._by_path: dict[str, int] = {}
        if isinstance(target, Cell):
            for path, cell in target.cells_and_names():
                self._add(cell._cell_title, path, cell)
        for cell in sorted(cells, key=lambda cell: cell._cell_title):
            self._add(cell._cell_title, cell._cell_title, cell)

    def index(self, title: str) -> int:
        """Return the index of the cell with this title; -1 for "", of what is outside of cells."""
        if not title:
            return -1
        return self._index[title] if title in self._index else self._add(title, title, None)

    def of(self, loc: Loc) -> int:
        """Return the index of the innermost cell in which a node was made; -1 if it was made outside of cells."""
        return self.index(made_in(loc).cell)

    def _add(self, title: str, path: str, cell: Cell | None) -> int:
        if title in self._index:
            return self._index[title]
        index = self._index[title] = len(self.rows)
        own = {id(p): p for p in cell.get_parameters()} if cell is not None else {}
        parent = self._parent(path)
        self._by_path[path] = index
        self.rows.append({
            "path": path, "type": type(cell).__name__ if cell is not None else "", "parent": parent, "location": -1,
            "parameters": sum(p.size for p in own.values()), "bytes": sum(p.type.nbytes for p in own.values()), "nodes": 0,
            "seconds": None, "backward": None,
        })
        return index

    def _parent(self, path: str) -> int:
        while path:
            path = path.rpartition(".")[0]
            if path in self._by_path:
                return self._by_path[path]
        return -1

    def count(self, identities: Identities, places: Places) -> None:
        """Count the nodes of the parsed graph in each cell and those inside of it, and note the line that calls it."""
        for number, origin in enumerate(identities.origins):
            op = origin.node.op
            if isinstance(op, CellOp):
                row = self.index(op.title)
                if row >= 0 and self.rows[row]["location"] < 0:
                    self.rows[row]["location"] = places.of_chain((number,))
            else:
                self.add("nodes", self.of(origin.node.loc), 1)

    def add(self, what: str, index: int, amount: float) -> None:
        """Add an amount to what a cell and the cells around it have."""
        while index >= 0:
            self.rows[index][what] = (self.rows[index][what] or 0) + amount
            index = self.rows[index]["parent"]


class Shared:
    """Values that many lines share: each that occurs more than once is written once, and lines refer to it by its index.

    rows  the values that are shared
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._counts: dict[Any, int] = {}
        self._index: dict[Any, int] = {}

    def saw(self, value: Any) -> bool:
        """Count a value, which is a tuple; return True for one that comes for the first time."""
        count = self._counts[value] = self._counts.get(value, 0) + 1
        return count == 1

    def written(self, value: Any) -> Any:
        """Return how a line writes a value: the index of one that is shared, else the value itself."""
        if self._counts[value] < 2 or not value:
            return value
        index = self._index.get(value)
        if index is None:
            index = self._index[value] = len(self.rows)
            self.rows.append(value)
        return index
