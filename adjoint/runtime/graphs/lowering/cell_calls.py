"""Cells in a graph: a region for construct, and the hooks around it as nodes.

    a1 = apply! @relu.forward_pre(a)            forward pre hooks
    y0 = cell "relu" with @relu carry (x = a1) { .. }
    y1 = apply! @relu.forward(a1, y0)           forward hooks
    y = outputs @relu.pre(y1)                   backward pre hooks run here
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.frontend import errors
from adjoint.frontend.control.branches import PerhapsNone, Unreachable
from adjoint.frontend.lowerer import Lowerer
from adjoint.ir.core import Atom, Region, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Outputs
from adjoint.runtime.cells.boundary import held_by, is_nested, top_level, with_top_level
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.precision import cast_floats, computing
from adjoint.runtime.graphs.graph import CellSite, Slots, living, site_key
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.lowering.assumptions import Assumptions
from adjoint.runtime.graphs.lowering.cell_boundary import call_maker, call_with, inputs, numbers, outputs, result_maker, result_with
from adjoint.runtime.graphs.lowering.forward_hooks import ForwardHooks
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber
from adjoint.runtime.graphs.lowering.python_objects import PythonObjects
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.hooks.firing import fire_forward, fire_forward_pre
from adjoint.runtime.hooks.handles import described
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.structure import leaves

__all__ = ["CellCalls"]


class CellCalls:
    """Lowers calls of cells.

    sites  the calls, by the `site_key` of their nodes
    """

    def __init__(self, regions: Regions, symbols: Symbols, values: Values, guards: Guards, objects: PythonObjects,
                 hooks: ForwardHooks, assumptions: Assumptions, frontend: Lowerer):
        self._regions, self._symbols, self._values, self._guards, self._objects = regions, symbols, values, guards, objects
        self._hooks, self._assumptions, self._frontend = hooks, assumptions, frontend
        self._count = 0
        self.sites: dict[Value, CellSite] = {}

    def call_cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Lower a call of a cell: its hooks become nodes around the cell's region."""
        if self._symbols.net is not None:
            return self._call(cell, args, kwargs)
        self._symbols.net = cell
        try:
            return self._call(cell, args, kwargs)
        finally:
            self._symbols.net = None

    def _call(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ordinal, self._count = self._count, self._count + 1
        slots = self._assumptions.known.get((ordinal, "slots")) or Slots.of(cell)
        self._assumptions.taken[ordinal, "slots"] = slots
        self._guards.of_slots(cell)
        reference = weakref.ref(cell)
        loc = self._regions.loc
        if slots.forward_pre:

            def before(given: Any) -> Any:
                here = living(reference)
                return fire_forward_pre(here, here._hooks, *given) if here._hooks is not None else given

            given = args, kwargs
            args, kwargs = self._hooks.run(
                (ordinal, "forward_pre"), cell.title, _hooks_text(cell, "forward_pre"), given, given, before)
        called = (args, kwargs)
        output = self._region(_Called(cell, args, kwargs, slots, reference, ordinal))
        self._regions.loc = loc
        if slots.forward:

            def after(given: Any) -> Any:
                here = living(reference)
                (args_, kwargs_), output_ = given
                return fire_forward(here, here._hooks, args_, kwargs_, output_) if here._hooks is not None else output_

            output = self._hooks.run(
                (ordinal, "forward"), cell.title, _hooks_text(cell, "forward"), (called, output), output, after)
        if slots.backward_pre and not state.no_grad:
            output = self._behind(cell, reference, output)
        return output

    def _behind(self, cell: Cell, reference: Callable[[], Cell | None], output: Any) -> Any:
        """Emit the backward pre hooks; return the result with new names for its tensors."""
        tensors = top_level(output)
        if not tensors:
            return output
        symbol = self._symbols.host(f"{cell.title}.pre", _CellReference(reference), _hooks_text(cell, "backward_pre"))
        outside = self._values.tensors(self._regions.add(Outputs(symbol), self._values.atoms(tensors)).results)
        for x, behind in zip(tensors, outside, strict=True):
            self._frontend.aliases.may_be(behind, x)
        return with_top_level(output, outside)

    # -- the region -------------------------------------------------------------------------------------------------------
    def _region(self, called: _Called) -> Any:
        """Lower construct to a region: arguments and results get new names."""
        cell, args, kwargs, slots = called.cell, called.args, called.kwargs, called.slots
        self._read(cell)
        loc, ruled = self._regions.loc, cell.bprop is not None
        given = inputs(args, kwargs, ruled)
        operands = self._values.atoms(given)
        inside = self._inside(called, given, operands)
        reference = _CellReference(called.reference)
        hooked = slots.backward and not state.no_grad
        symbol = self._symbols.host(cell.title, reference, _hooks_text(cell, "backward")) if hooked else ""
        if ruled and not inside.ends and (inside.written or inside.changed):
            raise errors.UNSUPPORTED.at(loc, f"{type(cell).__name__} has a `bprop`, and writes its argument in place",
                                        help="let it write into a copy, `x = x.copy()`, and return that")
        rule = self._symbols.host(f"{cell.title}.bprop", reference, described(cell.bprop)) if ruled and not state.no_grad else ""
        self._regions.loc = loc
        node = self._regions.add(CellOp(cell.title, symbol, rule, len(inside.written)), operands, [inside.region], _hint(cell.title))
        results, output = inside.results, inside.output
        outside = self._values.like([*results, *(x for x, _ in inside.written)], node.results)
        given_as = {id(own): x for x, own in zip(given, inside.params, strict=True)}
        for result, made in zip(results, outside, strict=False):
            self._frontend.aliases.may_be(made, given_as.get(id(result), result))
        for (x, _), value in zip(inside.written, outside[len(results):], strict=True):
            x.overwrite(value)
        key = site_key(node)
        if key is not None:
            kept = None if isinstance(output, PerhapsNone) else output  # otherwise it would refer to tensors of the graph
            self.sites[key] = CellSite(
                called.reference, call_maker(args, kwargs, given, ruled), result_maker(kept, results, ruled), slots, called.ordinal, ruled,
                numbers(given), numbers(results),
                bool(inside.written or leaves((args, kwargs, output), GraphNumber)) or (not ruled and is_nested(args, kwargs, output)),
                recorded=not state.no_grad)
        if inside.ends:
            raise Unreachable
        return result_with(output, outside[: len(results)], ruled)

    def _read(self, cell: Cell) -> None:
        """Record what a call reads of the cell."""
        if self._objects.is_library(type(cell).construct):
            self._guards.of_cell(cell)
        for name in ("construct", "bprop", "_compute", "_result"):
            self._guards.of_attribute(cell, name)

    def _inside(self, called: _Called, given: list[Any], operands: list[Atom]) -> _Inside:
        """Run construct in a new region whose parameters are the values `given`."""
        cell, args, kwargs, slots = called.cell, called.args, called.kwargs, called.slots
        regions, ruled = self._regions, cell.bprop is not None
        loc, ends, output, changed = regions.loc, False, None, False
        params = regions.params_like(operands)
        regions.open()
        if not self._frontend.depth and regions.depth == 2 and not (ruled or slots.forward or slots.backward_pre or slots.backward):
            regions.outermost = regions.builder
        try:
            inner = self._values.like(given, params)
            try:
                args, kwargs = call_with(args, kwargs, inner, ruled)
                held = held_by(args, kwargs)
                output = self._constructed(cell, args, kwargs)
                changed = held_by(args, kwargs) != held
            except Unreachable:
                ends = True
            results = outputs(output, ruled)
            written = [(x, own) for x, own, param in zip(given, inner, params, strict=True) if own.atom is not param]
            if any(sum(x is other for other in given) > 1 for x, _ in written):
                raise errors.UNSUPPORTED.at(loc, f"`{cell.title}` writes in place to an argument that it is given twice",
                                            help="give it a copy: `x.copy()`")
            yielded = self._values.atoms((*results, *(x for _, x in written)))
        finally:
            builder = regions.close_cell()
        return _Inside(builder.finish(yielded, params), inner, output, results, written, changed, ends)

    def _constructed(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if cell._compute is None:
            return self._construct(cell, args, kwargs)
        with computing(cell, cell._compute) as cast:
            output = self._construct(cell, tuple(map(cast, args)), {name: cast(x) for name, x in kwargs.items()})
            return output if cell._result is None else cast_floats(output, cell._result)

    def _construct(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._objects.is_library(type(cell).construct):
            return cell.construct(*args, **kwargs)
        return self._frontend.call(cell.construct, args, kwargs)


class _Called(NamedTuple):
    """A call of a cell.

    slots    the slots of hooks that are assumed to be filled
    ordinal  its index among the calls of cells in the graph
    """

    cell: Cell
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    slots: Slots
    reference: Callable[[], Cell | None]
    ordinal: int


class _Inside(NamedTuple):
    """What a cell's construct did in its region.

    params   the arguments under their names inside
    output   its result; `results` are the values of it that cross the boundary
    written  the arguments that it wrote in place, each with its new value
    changed  True if it changed a list or dict among its arguments
    ends     True if it does not return
    """

    region: Region
    params: list[Any]
    output: Any
    results: list[Any]
    written: list[tuple[Any, Any]]
    changed: bool
    ends: bool


class _CellReference:
    """The host of a cell's symbol; it does not keep the cell alive."""

    def __init__(self, reference: Callable[[], Cell | None]):
        self._reference = reference

    @property
    def cell(self) -> Cell:
        return living(self._reference)


def _hooks_text(cell: Cell, kind: str) -> str:
    assert cell._hooks is not None
    return ", ".join(described(hook.function) for hook in getattr(cell._hooks, kind).values())


def _hint(title: str) -> str:
    """Return a name for a cell's result: `relu` for "block.relu", `layers_0` for "layers.0"."""
    around, _, last = title.rpartition(".")
    if last.isdigit():
        last = f"{around.rpartition('.')[2] or 'cell'}_{last}"
    return last.lower() if last.isidentifier() else "y"
