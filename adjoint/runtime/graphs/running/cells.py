"""Steps that run the calls of Cells in a graph: their hooks, the entry into the cell, its nodes, and the exit.

The order of these steps is that of `cells.calling.call`.  Hooks that existed when the graph was made have nodes of their own around the
cell's node, except for backward hooks, which the tape runs.  Hooks that were added later run here, as long as their results fit the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.runtime.cells.boundary import inputs, outputs
from adjoint.runtime.cells.calling import call
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.execution.bound_plan import Bound, Maker
from adjoint.runtime.execution.run import Deviation, Entered, InlineHooks, Run, Step
from adjoint.runtime.graphs.graph import CellSite, Graph, with_nodes
from adjoint.runtime.hooks.firing import AFTER_CONSTRUCT, BEFORE_CONSTRUCT, CallArguments, ForwardKind, GradientKind, fire_always
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.process.location import called_at
from adjoint.runtime.process.tracer import Recorder
from adjoint.runtime.tensor.structure import items, leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CellAsItWas", "GraphCell", "cell_makers"]


def cell_makers(graph: Graph, kind: Callable[[Bound, CellSite], GraphCell] | None = None) -> dict[type[Op], Maker]:
    """Return the function that makes the step of a cell's node, by op; binding a graph calls it for each such node.

    The step calls the Cell with its hooks.  A node for which the graph has no `CellSite` (the description of a cell's call) gets no step of
    its own: only the nodes inside of it run.

    kind  makes the object that runs one call of a cell; `GraphCell` by default
    """

    def make(bound: Bound) -> Step | None:
        site = graph.site(bound.node)
        return None if site is None else _step(bound, site, (kind or GraphCell)(bound, site))

    return {CellOp: make}


def _step(bound: Bound, site: CellSite, cell: GraphCell) -> Step:
    results, (block,), (yielded,), params = bound.results, bound.blocks, bound.yields, bound.params
    reference, entries, exits = site.reference, tuple(zip(bound.operands, params, strict=True)), tuple(zip(yielded, results, strict=True))

    def step(values: list[Any], run: Run) -> None:
        owner = reference() or site.cell
        if not owner._cell_hooks and run.tape is None and run.plain:
            for operand, param in entries:
                values[param] = values[operand]
            block.run(values, run)
            for result, out in exits:
                values[out] = values[result]
            return
        values[results.start : results.stop] = cell.run(owner, values, run, [values[i] for i in bound.operands])

    return step


_Given = tuple[Sequence[Tensor], list[Any], Run]
"""The arguments of one call of a cell: the tensors that enter its region, the list of the graph's values, and the state of the execution.
"""

_Made = tuple[Sequence[Tensor], Run, bool]
"""The result of one call of a cell: the tensors that leave its region, the state of the execution, and True if the cell had hooks when the
call began.
"""


class GraphCell:
    """Runs the call of a cell that one node of a graph represents: its hooks, entering it, the nodes of its construct, and leaving it.

    It is made once for the node, and called each time the graph runs.  Its methods are those that `cells.calling.call` calls in turn
    (`Moves`); `given` are the arguments of the call (`_Given`) and `output` its result (`_Made`).
    """

    def __init__(self, bound: Bound, site: CellSite):
        op, results = bound.node.op, bound.yields[0]
        assert isinstance(op, CellOp)
        self.node, self.site, self.block, self.params, self.recorded_at = bound.node, site, bound.blocks[0], bound.params, bound.site
        count = len(results) - op.residuals
        self.outputs, self.residuals = results[:count], results[count:]
        self.taken = [atom.type for atom in bound.node.operands]
        self.given = [value.type for value in bound.node.results[:count]]
        nodes = with_nodes(site.pattern)
        self.late = Slots(**{kind.slot: not getattr(nodes, kind.slot) and (site.recorded or isinstance(kind, ForwardKind))
                             for kind in (*BEFORE_CONSTRUCT, *AFTER_CONSTRUCT)})
        """The kinds of hooks that no node of the graph calls, so that `run` calls them; gradient hooks only where a call may be recorded.
        """
        first = next((i for i, kind in enumerate(AFTER_CONSTRUCT) if getattr(nodes, kind.slot)), len(AFTER_CONSTRUCT))
        self._beyond = frozenset(kind.slot for kind in AFTER_CONSTRUCT[first:])
        """The kinds of hooks that come, in order, after hooks which have a node.  If the cell has got such hooks since, `run` cannot call
        them, and the call continues outside of this graph.
        """

    def run(self, cell: Cell, values: list[Any], run: Run, tensors: Sequence[Tensor]) -> list[Any]:
        """Call the cell and return the results of its node: those of the cell, then values that only the graph uses (`residuals`).

        cell     the Cell
        values   the list of the values of all nodes of the graph
        run      the state of this execution of the graph
        tensors  the operands of the node: the tensors among the cell's arguments
        """
        given = tensors, values, run
        made, _, _ = call(self, cell, self.late, given) if cell._cell_hooks else self.construct(cell, given)
        return [*made, *[values[i] for i in self.residuals]]

    # -- the region -------------------------------------------------------------------------------------------------------
    def construct(self, cell: Cell, given: _Given) -> _Made:
        """Run the nodes of the cell's construct; return their results, the state of the execution, and whether the cell had hooks when it
        was entered.

        If a tape (the recording for a gradient) is there, arguments and results become tensor objects of their own at the cell's boundary.

        given  the tensors that enter the cell, the values of the graph, and the state of the execution
        """
        tensors, values, run = given
        tape = run.tape if self.site.recorded else None
        entered = run.taken(Entered)
        if entered is None:
            entered = self._entered(cell, tape, tensors)
            entered.hooked = self._is_hooked(cell)
            run.keep(entered)
        for place, x in zip(self.params, entered, strict=True):
            values[place] = x
        try:
            self.block.run(values, run)
        except Deviation as deviation:
            deviation.unwind.append(lambda: self._abandoned(cell, tape, entered, tensors))
            raise
        except BaseException:
            self._left(tape, (), entered.rule)
            raise
        left = run.taken(tuple)
        if left is None:
            results = [values[i] for i in self.outputs]
            if entered.rule is not None:
                entered.rule.returned(self.site.output(results))
            left = run.keep(tuple(self._left(tape, results, entered.rule)))
        return left, run, entered.hooked

    def _entered(self, cell: Cell, tape: Recorder | None, tensors: Sequence[Tensor]) -> Entered:
        if tape is None:
            return Entered(tensors)
        # Looked up at each run, since a bprop or a hook may be set or removed at any time.
        rule = Rule(cell, *self.site.arguments(tensors)) if self._has_rule(cell) else None
        entering, numbers = _parted(tensors, self.site.numbers)
        tape.site = self.recorded_at
        inside = tape.enter(cell, entering, self._has_hooks(cell, "backward"), rule)
        tape.site = None
        entered = Entered(_together(inside, numbers))
        entered.rule = rule
        return entered

    def _left(self, tape: Recorder | None, results: Sequence[Tensor], rule: Rule | None) -> Sequence[Tensor]:
        if tape is None:
            return results
        leaving, numbers = _parted(results, self.site.results)
        tape.site = self.recorded_at
        outside = tape.leave(leaving, rule)
        tape.site = None
        return _together(outside, numbers)

    def _abandoned(self, cell: Cell, tape: Recorder | None, entered: Entered, tensors: Sequence[Tensor]) -> None:
        """End the call of a cell on the tape (the recording for a gradient), after an unexpected hook result inside of it has ended the
        graph's call and no other graph continues it.

        entered  the log entry of entering the cell
        tensors  the tensors that entered it
        """
        self._left(tape, (), entered.rule)
        if entered.hooked:
            self._always(cell, tensors)

    # -- hooks that were added after the graph was made -------------------------------------------------------------------
    def before(self, kind: ForwardKind, cell: Cell, given: _Given) -> _Given:
        tensors, values, run = given
        entry = run.next_inline(kind.slot)
        if entry is not None:
            return entry, values, run
        if run.replaying:
            return given
        if not self._has_hooks(cell, kind.slot):
            if kind is not BEFORE_CONSTRUCT[-1]:
                self._keep(run, kind.slot, tensors)  # a graph that goes on has a node for them if it has one for hooks nearer to construct
            return given
        if self.site.nested:
            # The hooks see tensors that do not cross the cell's boundary, so they need a node of their own.
            raise Deviation(self.node, None, kind.slot)
        called: CallArguments = called_at(self.recorded_at, kind.fire, cell, self.site.arguments(tensors))
        tensors = inputs(*called, self.site.ruled)
        fits = [x.type for x in tensors] == self.taken and _alike(self.site.arguments(tensors), called)
        self._keep(run, kind.slot, tensors if fits else leaves(called, Tensor))
        if not fits:
            raise Deviation(self.node, called, kind.slot)
        return tensors, values, run

    def after(self, kind: ForwardKind, cell: Cell, given: _Given, output: _Made) -> _Made:
        results, run, hooked = output
        entry = run.next_inline(kind.slot)
        if entry is not None:
            return entry, run, hooked
        if not hooked or not self._has_hooks(cell, kind.slot) or run.replaying:
            return output
        if self.site.nested or kind.slot in self._beyond:
            raise Deviation(self.node, None, kind.slot)
        found = called_at(self.recorded_at, kind.fire, cell, self.site.arguments(given[0]), self.site.output(results))
        tensors = outputs(found, self.site.ruled)
        fits = [x.type for x in tensors] == self.given and _alike(self.site.output(tensors), found)
        self._keep(run, kind.slot, tensors if fits else leaves(found, Tensor))
        if not fits:
            raise Deviation(self.node, found, kind.slot)
        return tensors, run, hooked

    def gradients(self, kind: GradientKind, cell: Cell, output: _Made) -> _Made:
        results, run, hooked = output
        if run.tape is None:
            return output
        entry = run.next_inline(kind.slot)
        if entry is not None:
            return entry, run, hooked
        if not hooked or not self._has_hooks(cell, kind.slot) or run.replaying:
            return output
        run.tape.site = self.recorded_at
        behind = run.tape.outputs(kind, cell, results)
        run.tape.site = None
        self._keep(run, kind.slot, behind)
        return behind, run, hooked

    def failed(self, cell: Cell, given: _Given, raised: Exception) -> None:
        if not isinstance(raised, Deviation):
            self._always(cell, given[0])

    def _always(self, cell: Cell, tensors: Sequence[Tensor]) -> None:
        if cell._cell_hooks is not None and cell._cell_hooks.forward:
            called_at(self.recorded_at, fire_always, cell, self.site.arguments(tensors))

    def _has_rule(self, cell: Cell) -> bool:
        return cell.bprop is not None

    def _is_hooked(self, cell: Cell) -> bool:
        return bool(cell._cell_hooks)

    def _has_hooks(self, cell: Cell, slot: str) -> bool:
        return cell._cell_hooks is not None and bool(getattr(cell._cell_hooks, slot))

    @staticmethod
    def _keep(run: Run, slot: str, tensors: Sequence[Tensor]) -> None:
        entry = InlineHooks(tensors)
        entry.slot = slot
        run.keep(entry)


class CellAsItWas(GraphCell):
    """Runs a cell with the hooks and the `bprop` that it had when the graph was made; later changes are ignored.

    It is used when a graph is executed a second time for the same call (`repetition`), since the first time used these.
    """

    def run(self, cell: Cell, values: list[Any], run: Run, tensors: Sequence[Tensor]) -> list[Any]:
        made, _, _ = self.construct(cell, (tensors, values, run))
        return [*made, *[values[i] for i in self.residuals]]

    def _has_rule(self, cell: Cell) -> bool:
        return self.site.ruled

    def _is_hooked(self, cell: Cell) -> bool:
        return any(self.site.pattern)

    def _has_hooks(self, cell: Cell, slot: str) -> bool:
        return getattr(self.site.pattern, slot)


def _parted(values: Sequence[Tensor], numbers: frozenset[int]) -> tuple[Sequence[Tensor], dict[int, Tensor]]:
    """Split values into the user's tensors and the Python numbers; a tape records only the tensors.

    Return the tensors in order, and the numbers (as 0-d tensors) by position.

    numbers  the positions of the numbers among `values`
    """
    if not numbers or not values:
        return values, {}
    return [x for i, x in enumerate(values) if i not in numbers], {i: values[i] for i in numbers}


def _together(tensors: Sequence[Tensor], numbers: dict[int, Tensor]) -> Sequence[Tensor]:
    left = iter(tensors)
    return tensors if not numbers else [numbers[i] if i in numbers else next(left) for i in range(len(tensors) + len(numbers))]


def _alike(a: Any, b: Any) -> bool:
    """Return True if two nested structures are the same: identical tensors, equal numbers and strings, the same containers and keys."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    parts, others = items(a), items(b)
    if parts is not None and others is not None:
        names = not isinstance(a, dict) or list(a) == list(b)
        return names and len(parts) == len(others) and all(map(_alike, parts, others))
    return isinstance(a, (bool, int, float, complex, str, bytes)) and a == b
