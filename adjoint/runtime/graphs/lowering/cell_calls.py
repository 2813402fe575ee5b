"""Calls of cells in a graph: a node whose region (its body) holds construct, and nodes for the hooks around it.

    a1 = apply! @relu.forward_pre(a)            forward pre hooks
    y0 = cell "relu" with @relu carry (x = a1) { .. }
    y1 = apply! @relu.forward(a1, y0)           forward hooks
    y = outputs @relu.pre(y1)                   backward pre hooks run here
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.foundation.diagnostics import CompileError, Within
from adjoint.frontend import errors
from adjoint.frontend.control.branches import PerhapsNone, Unreachable
from adjoint.frontend.control.raising import raise_again
from adjoint.frontend.lowerer import Lowerer
from adjoint.ir.core import Atom, Node, Region, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Outputs
from adjoint.runtime.cells.boundary import call_with, held_by, inputs, is_nested, outputs, result_with, top_level, with_top_level
from adjoint.runtime.cells.calling import call
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.substitutes import with_substitutes
from adjoint.runtime.graphs.graph import CellReference, CellSite, GradientSlot, site_key, with_nodes
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.lowering.assumptions import Assumptions
from adjoint.runtime.graphs.lowering.categories import DYNAMIC
from adjoint.runtime.graphs.lowering.cell_boundary import call_maker, numbers, result_maker
from adjoint.runtime.graphs.lowering.forward_hooks import ForwardHooks
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphParameter
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.python_objects import PythonObjects
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.hooks.firing import AFTER_CONSTRUCT, BEFORE_CONSTRUCT, CallArguments, ForwardKind, GradientKind
from adjoint.runtime.hooks.handles import Slots, described
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.structure import leaves

__all__ = ["CellCalls", "LoweredCall"]


class CellCalls:
    """Makes calls of cells into nodes of the graph: one node with a region for construct, and nodes for hooks around it.

    The constructor's arguments are other parts of the `Lowering`, and `frontend`, which runs the user's code.

    sites  for each such node what is needed to run the call with hooks; the key is the node's first result, or the first parameter of its
        region if it has no results (`site_key`)
    """

    def __init__(self, regions: Regions, symbols: Symbols, values: Values, guards: Guards, objects: PythonObjects,
                 hosts: Hosts, hooks: ForwardHooks, assumptions: Assumptions, frontend: Lowerer, packing: Callable[[object], object]):
        self.regions, self.symbols, self.values, self.guards, self.objects = regions, symbols, values, guards, objects
        self.hosts, self.hooks, self.assumptions, self.frontend, self.packing = hosts, hooks, assumptions, frontend, packing
        self.sites: dict[Value, CellSite] = {}
        self._count = 0

    def call_cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add the nodes for a call of a cell, and return its result in values of the graph."""
        if self.symbols.net is not None:
            return self._call(cell, (args, kwargs))
        self.symbols.net = cell
        try:
            return self._call(cell, (args, kwargs))
        finally:
            self.symbols.net = None

    def count(self) -> int:
        """Return the number of calls so far, which is the index of the next one."""
        return self._count

    def count_again(self, calls: int) -> None:
        """Count from a number on: what was run since then is thrown away, or is run again.

        So a call has the same index in each graph that is made of the function, however often a body of a loop runs until it is settled:
        what hooks were seen to return is known by that index.
        """
        self._count = calls

    def _call(self, cell: Cell, given: CallArguments) -> Any:
        ordinal, self._count = self._count, self._count + 1
        self.guards.of_slots(cell)
        slots = self.assumptions.known.get((ordinal, "slots")) or Slots.of(cell)
        self.assumptions.taken[ordinal, "slots"] = slots
        return call(LoweredCall(self, cell, slots, ordinal), cell, with_nodes(slots), given)


class LoweredCall:
    """Adds the nodes for one call of a cell to a graph: nodes for its hooks, and one with a region (a body of nodes) for construct.

    Its methods are those that `cells.calling.call` calls in turn (`Moves`).  Their `given` is (positional arguments, keyword arguments).

    slots    the kinds of hooks that the cell is assumed to have
    ordinal  the index of the call among the calls of cells in the graph
    """

    def __init__(self, calls: CellCalls, cell: Cell, slots: Slots, ordinal: int):
        self._calls, self._slots, self._ordinal = calls, slots, ordinal
        self._reference = weakref.ref(cell)
        self._regions, self._symbols, self._values, self._aliases = calls.regions, calls.symbols, calls.values, calls.frontend.aliases

    # -- hooks ------------------------------------------------------------------------------------------------------------
    def before(self, kind: ForwardKind, cell: Cell, given: CallArguments) -> CallArguments:
        return self._hooks(kind, cell, given)

    def after(self, kind: ForwardKind, cell: Cell, given: CallArguments, output: Any) -> Any:
        return self._hooks(kind, cell, given, output)

    def _hooks(self, kind: ForwardKind, cell: Cell, *values: Any) -> Any:
        text = _hooks_text(cell, kind.slot)
        return self._calls.hooks.run((self._ordinal, kind.slot), cell._cell_title, text, self._reference, kind.fire, values)

    def failed(self, cell: Cell, given: CallArguments, raised: Exception) -> None:
        """Do nothing after construct has raised.

        If construct raises while the graph is made, there is no graph; when the graph runs, it calls the hooks with `always_call` itself.
        """

    def gradients(self, kind: GradientKind, cell: Cell, output: Any) -> Any:
        tensors = top_level(output)
        if state.no_grad or not tensors:
            return output
        symbol = self._symbols.host(f"{cell._cell_title}.{kind.mark}", GradientSlot(self._reference, kind), _hooks_text(cell, kind.slot))
        outside = self._values.tensors(self._regions.add(Outputs(symbol), self._values.atoms(tensors)).results)
        for x, behind in zip(tensors, outside, strict=True):
            self._aliases.may_be(behind, x)
        return with_top_level(output, outside)

    # -- the region -------------------------------------------------------------------------------------------------------
    def construct(self, cell: Cell, given: CallArguments) -> Any:
        """Add a node whose region holds the nodes of construct, and return the result of construct in values outside of the region.

        Arguments are values of their own inside of the region, as they are tensor objects of their own in eager mode.

        given  the arguments of the call, as (positional, keyword)
        """
        self._read(cell)
        if cell._cell_packing is not None:
            self._calls.packing(cell._cell_packing)
        self._mark(BEFORE_CONSTRUCT)
        loc, ruled = self._regions.loc, cell.bprop is not None
        entering = inputs(*given, ruled, DYNAMIC)
        operands = self._values.atoms(entering)
        inside = self._inside(cell, given, entering, operands)
        hooked = self._slots.backward and not state.no_grad
        symbol = self._symbols.host(cell._cell_title, CellReference(self._reference), _hooks_text(cell, "backward")) if hooked else ""
        if ruled and not inside.ends and (inside.written or inside.changed):
            raise errors.UNSUPPORTED.at(loc, f"{type(cell).__name__} has a `bprop`, and writes its argument in place",
                                        help="let it write into a copy, `x = x.copy()`, and return that")
        rule = ""
        if ruled and not state.no_grad:
            rule = self._symbols.host(f"{cell._cell_title}.bprop", CellReference(self._reference), described(cell.bprop))
        op = CellOp(cell._cell_title, symbol, rule, len(inside.written))
        node = self._regions.add(op, operands, [inside.region], _hint(op.title))
        self._mark(AFTER_CONSTRUCT)
        crossing = [*inside.results, *(x for x, _ in inside.written)]
        outside = [x.renamed(made.atom) if isinstance(x, GraphParameter) else made
                   for x, made in zip(crossing, self._values.like(crossing, node.results), strict=True)]
        entered_as = {id(own): x for x, own in zip(entering, inside.params, strict=True)}
        for result, made in zip(inside.results, outside, strict=False):
            self._aliases.may_be(made, entered_as.get(id(result), result))
        for (x, _), value in zip(inside.written, outside[len(inside.results):], strict=True):
            x.overwrite(value)
        self._add_site(node, given, entering, inside, ruled)
        if inside.ends:
            raise Unreachable
        return result_with(inside.output, outside[: len(inside.results)], ruled, DYNAMIC)

    def _mark(self, kinds: Sequence[ForwardKind | GradientKind]) -> None:
        """Record that hooks of these kinds may be called at this point when the graph runs, although the cell has none of them while it is
        made.

        A call in which the cell has such hooks may have to be continued in another graph.
        """
        for kind in kinds:
            if not getattr(self._slots, kind.slot):
                self._calls.guards.mark((self._ordinal, kind.slot), self._regions.on_a_path())

    def _read(self, cell: Cell) -> None:
        """Record as guards (conditions for running a graph again) what a call reads of the cell, such as which `construct` it has."""
        if self._calls.objects.is_library(type(cell).construct):
            self._calls.guards.of_cell(cell)
        self._calls.guards.of_outcome(type, (cell,))
        for name in ("construct", "bprop", "_cell_compute", "_cell_result", "keeps_parameters", "_cell_packing", "_cell_parameter_hook"):
            self._calls.guards.of_attribute(cell, name)

    def _inside(self, cell: Cell, given: CallArguments, entering: Sequence[Any], operands: list[Atom]) -> _Inside:
        """Run construct in a new region (a body of nodes), and return what came of it.

        given     the arguments of the call, as (positional, keyword)
        entering  the arguments that get a parameter of the region
        operands  the same as operands of the IR
        """
        regions, slots, ruled = self._regions, self._slots, cell.bprop is not None
        loc, around, ends, output, changed = regions.loc, regions.within, False, None, False
        params, uses = regions.params_like(operands), self._symbols.uses(entering)
        hosts, always = self._calls.hosts, cell._cell_hooks is not None and cell._cell_hooks.always_called
        regions.open()
        regions.at_boundary()
        regions.within = Within(cell._cell_title, around.finite_ok, around.training)
        hosts.always += always
        if not self._calls.frontend.depth and regions.depth == 2 \
                and not (ruled or slots.backward or any(getattr(slots, kind.slot) for kind in AFTER_CONSTRUCT)):
            regions.outermost = regions.builder
        try:
            inner = self._values.like(entering, params)
            try:
                args, kwargs = call_with(*given, inner, ruled, DYNAMIC)
                held = held_by(args, kwargs)
                try:
                    output = self._with_substitutes(cell, args, kwargs) if cell._cell_substitutes else self._run(cell, args, kwargs)
                except (CompileError, Unreachable):
                    raise
                except Exception as mistake:
                    # Exceptions of the user's statements have been handled there; this one comes from the library or from the arguments.
                    if not hosts.raises_late:
                        raise
                    raise_again(self._calls.frontend.world, mistake)
                changed = held_by(args, kwargs) != held
            except Unreachable:
                ends = True
            results = outputs(output, ruled, DYNAMIC)
            written = [(x, own) for x, own, param in zip(entering, inner, params, strict=True) if own.atom is not param]
            self._symbols.check_names(entering, [x for x, _ in written], uses, loc)
            yielded = self._values.atoms((*results, *(x for _, x in written)))
        finally:
            hosts.always -= always
            regions.within = around
            builder = regions.close_cell()
        regions.at_boundary()
        regions.loc = loc
        return _Inside(builder.finish(yielded, params), inner, output, results, written, changed, ends)

    def _with_substitutes(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run construct with what hooks on Parameters return, and casts, in the place of Parameters."""
        if cell._cell_parameter_hook is not None:
            for parameter in cell._params.values():
                self._calls.guards.of_attribute(parameter, "forward_hook")
        return with_substitutes(cell, lambda *args, **kwargs: self._run(cell, args, kwargs), args, kwargs,
                                lambda hook, parameter: self._calls.frontend.call(hook, (parameter,), {}))

    def _run(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        construct = self._calls.frontend.workspace.attribute(cell, "construct")
        if self._calls.objects.is_library(type(cell).construct):
            return construct(*args, **kwargs)
        return self._calls.frontend.call(construct, args, kwargs)

    def _add_site(self, node: Node, given: CallArguments, entering: Sequence[Any], inside: _Inside, ruled: bool) -> None:
        """Record this call of a cell, so that its arguments and its result can be rebuilt for hooks when the graph runs.

        node      the cell's node
        given     the arguments of the call, as (positional, keyword)
        entering  the values among them that enter the cell's region
        inside    the result of running construct there
        ruled     True if the cell has a `bprop`
        """
        key = site_key(node)
        if key is None:
            return
        kept = None if isinstance(inside.output, PerhapsNone) else inside.output  # such an output would refer to tensors of the graph
        nested = bool(inside.written or leaves((given, inside.output), GraphNumber)) or (not ruled and is_nested(*given, inside.output))
        self._calls.sites[key] = CellSite(
            self._reference, call_maker(*given, entering, ruled), result_maker(kept, inside.results, ruled), self._slots, self._ordinal,
            ruled, numbers(entering), numbers(inside.results), nested, recorded=not state.no_grad)


class _Inside(NamedTuple):
    """What running a cell's construct in a region (a body of nodes) has given; the cell's node is made from it.

    region   the region
    params   the arguments, as values of the region
    output   the result of construct; `results` are the values in it that leave the cell
    written  the arguments that construct wrote in place, each with its new value
    changed  True if construct changed a list or dict among its arguments
    ends     True if construct does not return
    """

    region: Region
    params: list[Any]
    output: Any
    results: Sequence[Any]
    written: list[tuple[Any, Any]]
    changed: bool
    ends: bool


def _hooks_text(cell: Cell, slot: str) -> str:
    assert cell._cell_hooks is not None
    return ", ".join(map(described, cell._cell_hooks.functions(slot)))


def _hint(title: str) -> str:
    """Return a name in the IR for a cell's result: `relu` for "block.relu", `layers_0` for "layers.0".

    title  the cell's name
    """
    around, _, last = title.rpartition(".")
    if last.isdigit():
        last = f"{around.rpartition('.')[2] or 'cell'}_{last}"
    return last.lower() if last.isidentifier() else "y"
