"""Answers to the frontend's questions about Python objects: whether they are cells, belong to this package, or may be changed by a call."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from adjoint.frontend import errors
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.checkpoints import checkpoint
from adjoint.runtime.gradients.no_grad import no_grad
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.lowering.changes import AtomPlace, CellsPlace
from adjoint.runtime.graphs.lowering.graph_values import GraphTensor
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.hooks.saved_tensors import saved_tensors_hooks
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.process import context, jitted
from adjoint.runtime.tensor import generator, random
from adjoint.runtime.tensor.generator import Generator

__all__ = ["PythonObjects"]

_ONCE = (
    context.set_context, checkpoint.load_param_into_net, checkpoint.save_checkpoint, checkpoint.load_checkpoint, random.set_seed,
    generator.manual_seed, generator.seed, generator.initial_seed, generator.get_rng_state, generator.set_rng_state,
    Generator.manual_seed, Generator.seed, Generator.initial_seed, Generator.get_state, Generator.set_state,
)
"""Library functions and methods that read or change the process or its files, which calls of a graph could not repeat: a graph cannot
contain a call of one.
"""

_PACKAGE = __name__.partition(".")[0]


class PythonObjects:
    """Answers the frontend's questions about Python objects, such as whether one is a cell or belongs to this package.

    regions, made, guards  the parts of the `Lowering` that it uses
    """

    def __init__(self, regions: Regions, made: Made, guards: Guards):
        self._regions, self._made, self._guards = regions, made, guards

    def is_cell(self, x: object) -> bool:
        return isinstance(x, Cell)

    def is_cell_class(self, cls: type) -> bool:
        return issubclass(cls, Cell)

    def is_cells(self, x: object) -> bool:
        """Return True for a cell that is a sequence of other cells, indexed by the library's own `__getitem__`."""
        return isinstance(x, Cell) and self.is_library(getattr(type(x), "__getitem__", None)) and hasattr(type(x), "__iter__")

    def is_region(self, x: object) -> bool:
        """Return True for a `_no_grad()`, a `watch.finite_ok()` or `saved_tensors_hooks`: the frontend enters it, as a context manager,
        while it runs the statements inside.
        """
        return isinstance(x, (no_grad, finite_ok, saved_tensors_hooks))

    def is_library(self, function: object) -> bool:
        """Return True for a function, class, module or object of this package: its Python code runs unparsed, on values of the graph."""
        if isinstance(function, ModuleType):
            return _of_package(function.__name__)
        if isinstance(function, FunctionType):
            # Not `__module__`: a wrapper has that of the wrapped function.
            return _of_package(function.__globals__.get("__name__", "")) and not jitted.is_parsed(function)
        module = getattr(function, "__module__", None)
        if isinstance(module, str) and not isinstance(function, type) and not hasattr(function, "__qualname__"):
            module = type(function).__module__
        return isinstance(module, str) and _of_package(module)

    def parsed_function(self, function: Any) -> Any:
        """Return the function that `jit` has wrapped, whose source is to be parsed; return any other object unchanged."""
        return jitted.parsed_function(function)

    def check_call(self, function: object) -> None:
        """Raise CompileError for a library function whose effect a graph cannot repeat, such as setting a seed."""
        if getattr(function, "__func__", function) in _ONCE:
            name = getattr(function, "__name__", "function")
            raise errors.FROZEN_CALL.at(self._regions.loc, f"`{name}` would be called once, while the graph is built",
                                        help="call it outside")

    def place(self, x: object) -> Any:
        """Return an object that can save and restore the state of a tensor of the graph or of a cell, to undo changes; None for other
        objects.
        """
        if isinstance(x, GraphTensor):
            return AtomPlace(x)
        return CellsPlace(x, self._guards.changed_by_others) if isinstance(x, Cell) else None

    def is_outside(self, place: Any) -> bool:
        """Return True if a change belongs to a cell that existed before the graph.

        place  the cell's or tensor's state, as the method `place` returned it
        """
        return isinstance(place, CellsPlace) and not self._made.has_cell(place.holder)

    def call_depth(self) -> int:
        """Return the maximum depth of nested calls of parsed functions."""
        return context.call_depth()


def _of_package(module: str) -> bool:
    return module == _PACKAGE or module.startswith(_PACKAGE + ".")
