"""Reads of the program around: each variable, attribute or object that parsed code reads from outside becomes a guard.

A guard is a condition under which the graph may be used again.
"""

from __future__ import annotations

import enum
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any

from adjoint.frontend.changes.journal import AttributePlace, CellPlace, ItemPlace, Journal, OutsidePlace
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.guards.names import library_class
from adjoint.runtime.graphs.guards.objects import has_state
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.graphs.lowering.python_state import PythonState, guarded
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Reads"]

_OF_ALL_BELOW = frozenset({
    "cells_and_names", "get_parameters", "parameters_and_names", "parameters_dict", "trainable_params", "untrainable_params",
})
"""Methods of a cell that read the structure of all cells below it."""
_OF_STRUCTURE = _OF_ALL_BELOW | {"cells", "name_cells"}
"""Methods of a cell that read its structure: its sub-cells, parameters and buffers."""
_WITHOUT_PARTS = frozenset({int, float, bool, str, bytes, complex, type(None), GraphTensor, GraphNumber})
_WITHOUT_STATE = frozenset({"adjoint.frontend.values.frame", "adjoint.frontend.values.text", "adjoint.frontend.values.numbers",
                            "adjoint.runtime.graphs.jit"})
"""Names of the library's modules whose objects need no guard for their attributes: `constants.key` compares all that matters."""



class Reads:
    """Records what parsed code (the user's code of the graph) reads from outside as guards: conditions under which the graph may run again.

    The frontend calls its methods before each read.

    guards   collects the conditions
    symbols  tells which tensors of the program the graph writes
    journal  tells which objects parsed code has made: no other code changes these, so their own attributes need no guard
    python   tells which attributes and variables parsed code writes: the graph reads them when it runs, so they need no guard
    """

    def __init__(self, guards: Guards, symbols: Symbols, journal: Journal, python: PythonState):
        self._guards, self._symbols, self._journal, self._python = guards, symbols, journal, python
        self._visiting: set[int] = set()
        """Ids of the objects made by parsed code that `read_object` is visiting."""

    def read_name(self, namespace: dict[str, Any], name: str) -> None:
        if not self._python.read(ItemPlace(namespace, name).key):
            self._guards.of_name(namespace, name)

    def read_closure(self, cell: CellType) -> None:
        if not self._python.read(CellPlace(cell).key):
            self._guards.of_closure(cell)

    def read_attribute(self, holder: object, name: str) -> None:
        if self._python.read(AttributePlace(holder, name).key):
            return
        if self._journal.has_made(holder):
            # No other code can change its own attributes; its other attributes belong to its class.
            if name not in getattr(holder, "__dict__", ()):
                self._guards.of_attribute(type(holder), name)
            return
        if type(holder) is OrderedDict and name not in vars(holder):
            return  # a method of the class, which no program changes
        if type(holder) is super:
            # The attribute belongs to a class; a guard on `super` would keep the bound object alive.
            found: Any = holder  # to pyright, super has no attributes of its own
            self._guards.of_attribute(found.__self_class__, "__mro__")
            classes = found.__self_class__.__mro__
            for above in classes[classes.index(found.__thisclass__) + 1 :]:
                self._guards.of_attribute(above, name)
                if name in above.__dict__:
                    break
            return
        self._guards.of_attribute(holder, name)
        if type(type(holder)) is not type and not isinstance(holder, (type, Cell)) and name not in getattr(holder, "__dict__", ()):
            # A metaclass may have made the object just now; then only its class can change later.
            self._guards.of_attribute(type(holder), name)

    def saw(self, place: OutsidePlace, value: Any, is_own: bool) -> None:
        """Record the value that the first read of an attribute or a variable found: the guards compare later values with it.

        is_own  False if an attribute was found in the object's class, not in the object itself
        """
        self._guards.saw(guarded(place), value, is_own)

    def read_object(self, x: object) -> None:
        """Record that Python's own code is about to use an object, which may read anything in it: all of the object becomes a guard.

        x  an object of the user's, a tensor from outside of the graph, a cell that is a sequence, or a container of these
        """
        if isinstance(x, GraphTensor) or id(x) in self._visiting:
            return
        if isinstance(x, Tensor):
            self._guards.of_tensor_type(x)
        elif isinstance(x, Cell):
            if not self._journal.has_made(x):
                self._guards.of_cell(x)
        elif isinstance(x, MethodType):
            if isinstance(x.__self__, Cell) and x.__name__ in _OF_STRUCTURE:
                self._read_structure(x.__self__, x.__name__ in _OF_ALL_BELOW)
            else:
                self.read_object(x.__self__)
            if isinstance(x.__self__, Cell) and x.__name__ == "get_flags":
                self._guards.of_attribute(x.__self__, "_flags")
        elif isinstance(x, (list, tuple, set, frozenset)):
            for item in x:
                if type(item) not in _WITHOUT_PARTS:
                    self.read_object(item)
        elif isinstance(x, BaseException):
            if not self._journal.has_made(x):
                self._guards.of_attribute(x, "args")
        elif type(x).__module__ == "decimal":
            self._guards.of_outcome(_decimal_context, ())
        elif isinstance(x, FunctionType):
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                self._guards.of_attribute(x, name)
        elif has_state(x) and not isinstance(x, (enum.Enum, GraphNumber)) and type(x).__module__ not in _WITHOUT_STATE \
                and (getattr(x, "__dict__", None) or not _is_library(type(x))):
            if not self._journal.has_made(x):
                self._guards.of_object(x)
                return
            self._visiting.add(id(x))  # its attributes may lead to it
            for item in getattr(x, "__dict__", {}).values():
                if type(item) not in _WITHOUT_PARTS:
                    self.read_object(item)
            self._visiting.discard(id(x))

    def _read_structure(self, above: Cell, below: bool) -> None:
        """Record the structure of a cell, or also that of all cells below it, with the names of parameters and whether they are trained."""
        for cell in [cell for _, cell in above.cells_and_names()] if below else [above]:
            if not self._journal.has_made(cell):
                (self._guards.of_structure if _has_methods_of_library(type(cell)) else self._guards.of_cell)(cell)
            for parameter in cell._params.values() if below else ():
                self._guards.of_attribute(parameter, "requires_grad")
                self._guards.of_attribute(parameter, "name")

    def read_outcome(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record what a Python function returns for some objects, unless parsed code (the user's code of the graph) has made them."""
        if not any(map(self._journal.has_made, arguments)):
            self._guards.of_outcome(function, arguments)

    def read_identity(self, x: object) -> None:
        """Record that the graph returns the object `x` itself: it must not be replaced by another one with the same contents."""
        self._guards.of_identity(x)

    def read_contents(self, container: object) -> None:
        """Record that parsed code (the user's code of the graph) reads the items of a container from outside of the graph at this point:
        hooks may have changed them since it was found.
        """
        self._guards.look_into(container)

    def read_numbers(self, x: Tensor) -> None:
        """Record that Python reads the numbers of a tensor while parsing: if the tensor is from outside, its numbers become a guard."""
        if not isinstance(x, GraphTensor):
            self._symbols.show_numbers(x)

    def read_setting(self, read: Callable[[str], Any], name: str) -> None:
        """Record that the library reads a setting of the context for the user's code.

        read  returns the setting of a name, as `get_context` does
        """
        self._guards.of_setting(read, name)

    def count(self) -> int:
        """Return how many different reads have been recorded.  Two such numbers tell `forget` which reads to drop."""
        return self._guards.count()

    def forget(self, since: int, until: int) -> None:
        """Drop the reads that were recorded between two results of `count`, since the graph does not depend on them after all.

        since, until  the results of `count` before and after these reads
        """
        self._guards.forget(since, until)


def _is_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def _decimal_context() -> str:
    """Return the settings of the thread for decimal arithmetic, as text."""
    return str(sys.modules["decimal"].getcontext())


def _has_methods_of_library(kind: type) -> bool:
    """Return True if the methods that read the structure of a cell of a user's class are those of the library."""
    base: Any = library_class(kind)
    return all(getattr(kind, name) is getattr(base, name) for name in _OF_STRUCTURE)
