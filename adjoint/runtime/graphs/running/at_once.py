"""Graphs that run and are recorded by one call on a tape: those without control flow, hooks and the user's code.

A tape is the recording of a thread's operations for a gradient.  On a tape a graph runs node by node, with a step for each cell that is
entered and left, since hooks may be called there.  In a graph without such things the nodes of all cells are one straight piece: one C call
computes it, and one call records the ops with the cells around them.  The recording is the same as that of the nodes, and so are gradients,
to the bit.  Random numbers are drawn before, and Parameters are written after that call.

    y = cell "a" carry (u = x) { v = sin(u); yield v }         straight piece: y = sin(x)
                                                               recorded: a entered with x, sin, a left with y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.control import RegionOp
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.plan import Launch, Plan, Straight
from adjoint.ir.types import Type
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.recorded import Boundary, OneCall
from adjoint.runtime.execution.run import Run
from adjoint.runtime.graphs.graph import CellSite, Graph
from adjoint.runtime.process.location import site_of
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["AtOnce", "at_once"]


class AtOnce:
    """Runs a graph by one C call, and records it by one call.

    one_call  the nodes of the graph as one straight piece
    template  the list of values at the beginning: constants at their positions, None elsewhere
    fitting   the tensors that the graph reads and those that it writes, each with the type that it was made for
    read      the tensors that it reads, whose positions come after those of the arguments
    seeds     the seeds of the random numbers that it draws, whose positions come next
    results   the positions of the results
    written   the tensors that it writes, each with the position of its new value
    cells     the descriptions of the calls of cells in it
    """

    def __init__(self, one_call: OneCall, template: list[Any], fitting: Sequence[tuple[Tensor, Type]], read: Sequence[Tensor],
                 seeds: Sequence[int], results: Sequence[int], written: Sequence[tuple[Tensor, int]], cells: Sequence[CellSite]):
        self._one_call, self._template, self._fitting, self._read, self._seeds = one_call, template, fitting, read, seeds
        self._results, self._written = results, written
        self._references = [site.reference for site in cells]

    def run(self, arguments: Sequence[Tensor], run: Run) -> list[Tensor] | None:
        """Run the graph and record it on the tape of `run`; return its results.

        Return None, with nothing done, if a cell in it has hooks, if hooks pack what its ops save, if a tensor has another type than the
        graph was made for, or if an op has no kernel.
        """
        if state.packing:
            return None
        for reference in self._references:
            cell = reference()
            if cell is None or cell._cell_hooks:
                return None
        if not self._one_call.is_possible(run) or any(x.type is not type_ for x, type_ in self._fitting):
            return None
        values = self._template.copy()
        given = [*arguments, *self._read, *[next_key(seed or None) for seed in self._seeds]]
        values[: len(given)] = given
        self._one_call.run(values, run)
        for target, i in self._written:
            target.overwrite(values[i])
        return [values[i] for i in self._results]


def at_once(graph: Graph) -> AtOnce | None:
    """Return the object that runs a graph by one call on a tape; None if the graph has control flow, hooks, or code of the user's."""
    try:
        return _Flattening(graph).made()
    except _NotStraight:
        return None


class _NotStraight(Exception):
    """Raised for a graph that cannot be one straight piece with cells around its nodes."""


class _Flattening:
    """Makes one region of a graph's function, by putting the nodes of cells in their place.

    state    for the symbol of each tensor that is read, its value
    draws    the values of random keys, with their seeds
    written  for the symbol of each tensor that is written, its new value
    became   for each parameter of a cell's region, and each result of a cell or of a read, the atom of the flat region
    crossed  where cells are entered and left: the number of nodes before, the values that cross, the cell's name if it is entered, the site
    sites    for each node the one whose location is recorded
    cells    the descriptions of the cells
    """

    def __init__(self, graph: Graph):
        self._graph, self._builder = graph, Builder()
        self._state: dict[str, Value] = {}
        self._draws: dict[Value, int] = {}
        self._written: dict[str, Atom] = {}
        self._became: dict[Value, Atom] = {}
        self._crossed: list[tuple[int, Sequence[Value], str | None, Node | None]] = []
        self._sites: list[Node | None] = []
        self._cells: list[CellSite] = []

    def made(self) -> AtOnce:
        function = self._graph.function
        self._nodes(function.body.nodes, None)
        results = self._atoms(function.body.results)
        nodes = self._builder.nodes
        computed = {value: node.op for node in nodes for value in node.results}
        kept = [*results, *self._written.values()]
        # The tensors of the caller are new ones, each computed here; hooks may be registered on them.
        if not nodes or len({*kept}) < len(kept) or any(x not in computed for x in kept) or any(
                isinstance(computed[x], StopGradient) for x in results if isinstance(x, Value)):
            raise _NotStraight
        params = (*function.params, *self._state.values(), *self._draws)
        plan = planned(Function(function.symbol, Region(params, tuple(nodes), tuple(kept))), identities=True)
        one_call, template = self._one_call(plan, params)
        tensors, places = self._graph.state, plan.body.yields
        fitting = [(tensors[symbol], value.type) for symbol, value in (*self._state.items(), *self._written.items())]
        written = [(tensors[symbol], i) for symbol, i in zip(self._written, places[len(results):], strict=True)]
        return AtOnce(one_call, template, fitting, [tensors[symbol] for symbol in self._state], [*self._draws.values()],
                      places[: len(results)], written, self._cells)

    def _one_call(self, plan: Plan, params: Sequence[Value]) -> tuple[OneCall, list[Any]]:
        match plan.body.pieces:
            case (Straight(entries=entries) as piece,) if all(isinstance(entry, Launch) for entry in entries):
                launches = piece.launches
            case _:
                raise _NotStraight
        if [launch.node for launch in launches] != self._builder.nodes:
            raise _NotStraight
        place = dict(zip(params, plan.params, strict=True))
        place.update((value, slot) for launch in launches for value, slot in zip(launch.node.results, launch.results, strict=True))
        boundaries: list[Boundary] = [
            (index, tuple([place[x] for x in crossed]), title, site) for index, crossed, title, site in self._crossed]
        template = [None if slot.literal is None else constant(slot.literal.value, slot.literal.type.dtype) for slot in plan.slots]
        return OneCall(piece, [launch.operands for launch in launches], plan.slots, self._sites, self._graph.hosts, boundaries), template

    def _nodes(self, nodes: Sequence[Node], around: Node | None) -> None:
        for node in nodes:
            site = site_of(node, around)
            match node.op:
                case Read(symbol=symbol):
                    if symbol in self._written:  # what is read is the tensor itself, with its new value
                        raise _NotStraight
                    self._became[node.result] = self._state.setdefault(symbol, Value(node.result.type, node.result.hint))
                case Write(symbol=symbol):
                    if symbol in self._written:
                        raise _NotStraight
                    (self._written[symbol],) = self._atoms(node.operands)
                case Draw(seed=seed):
                    self._draws[node.result] = seed
                case CellOp(symbol="", rule="", residuals=0):
                    self._cell(node, site)
                case op if isinstance(op, RegionOp) or node.regions:
                    raise _NotStraight
                case op:
                    self._builder.emit_node(op, self._atoms(node.operands), results=node.results, loc=node.loc)
                    self._sites.append(site)

    def _cell(self, node: Node, site: Node | None) -> None:
        (body,), known = node.regions, self._graph.site(node)
        operands = self._atoms(node.operands)
        self._became.update(zip(body.params, operands, strict=True))
        if known is None:
            self._nodes(body.nodes, site)
            self._became.update(zip(node.results, self._atoms(body.results), strict=True))
            return
        if known.numbers or known.results or not known.recorded:
            raise _NotStraight
        self._cells.append(known)
        self._cross(operands, known.cell._cell_title, site)
        before = len(self._builder.nodes)
        self._nodes(body.nodes, site)
        results = self._atoms(body.results)
        # What a cell returns is a tensor object of its own: it must be computed inside.
        computed = {value for made in self._builder.nodes[before:] for value in made.results}
        if not computed.issuperset(results):
            raise _NotStraight
        self._cross(results, None, site)
        self._became.update(zip(node.results, results, strict=True))

    def _cross(self, atoms: Sequence[Atom], title: str | None, site: Node | None) -> None:
        crossed = [x for x in atoms if isinstance(x, Value)]
        if len({*crossed}) < len(atoms):  # twice the same value, or a literal
            raise _NotStraight
        self._crossed.append((len(self._builder.nodes), crossed, title, site))

    def _atoms(self, atoms: Sequence[Atom]) -> list[Atom]:
        return [x if isinstance(x, Literal) else self._became.get(x, x) for x in atoms]
