"""Steps of a graph's cells.

A cell's step does the same as `Cell._call`.  Hooks that existed when the graph was made have nodes of their own around the cell's,
except for the backward hooks, which the tape runs.  Hooks that were added later run here, inline, as long as their results fit the
graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.runtime.cells.boundary import shown, top_level
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.execution.run import Block, Deviation, Entered, InlineHooks, Run, Step
from adjoint.runtime.execution.sequence import Bound, Maker
from adjoint.runtime.graphs.graph import CellSite, Graph
from adjoint.runtime.hooks.firing import fire_always, fire_forward, fire_forward_pre
from adjoint.runtime.hooks.handles import CellHooks
from adjoint.runtime.process.location import called_at
from adjoint.runtime.process.tracer import Recorder
from adjoint.runtime.tensor.structure import items, leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["cell_makers"]


def cell_makers(graph: Graph) -> dict[type[Op], Maker]:
    """Return the maker of the steps of a graph's cells; a cell without a site only runs its region."""

    def make(bound: Bound) -> Step | None:
        site = graph.site(bound.node)
        return None if site is None else _step(bound, site)

    return {CellOp: make}


def _step(bound: Bound, site: CellSite) -> Step:
    node, results, (block,), (yielded,), params = bound.node, bound.results, bound.blocks, bound.yields, bound.params
    call = _Call(node, bound.site, site, block, params, yielded)
    reference, entries, exits = site.reference, tuple(zip(bound.operands, params, strict=True)), tuple(zip(yielded, results, strict=True))

    def cell(values: list[Any], run: Run) -> None:
        owner = reference() or site.cell
        hooks = owner._hooks
        if hooks is None and run.tape is None and run.plain:
            for operand, param in entries:
                values[param] = values[operand]
            block.run(values, run)
            for result, out in exits:
                values[out] = values[result]
            return
        values[results.start : results.stop] = call.run(values, run, [values[i] for i in bound.operands], hooks)

    return cell


class _Call:
    """The step of a call of a cell, with its hooks and its bprop."""

    def __init__(self, node: Node, recorded_at: Node | None, site: CellSite, block: Block, params: tuple[int, ...],
                 yielded: tuple[int, ...]):
        op = node.op
        assert isinstance(op, CellOp)
        self.node, self.site, self.block, self.params = node, site, block, params
        self.recorded_at = recorded_at
        count = len(yielded) - op.residuals
        self.outputs, self.residuals = yielded[:count], yielded[count:]
        self.taken = [atom.type for atom in node.operands]
        self.given = [value.type for value in node.results[:count]]

    def run(self, values: list[Any], run: Run, given: list[Tensor], hooks: CellHooks | None) -> list[Any]:
        node = self.node
        if not self.site.pattern.forward_pre and (hooks is not None or not run.plain):
            given = self.before(run, given, hooks)
        try:
            results = self.inside(values, run, given, hooks)
        except Deviation:
            raise
        except Exception:
            self.always(hooks, given)
            raise
        residuals = [values[i] for i in self.residuals]
        if hooks is None:
            return [*results, *residuals]
        pattern = self.site.pattern
        if not pattern.forward:
            results = self.after(run, given, hooks, results)
        if run.tape is not None and self.site.recorded and not pattern.backward_pre:
            entry = run.next_inline("backward_pre")
            if entry is not None:
                results = list(entry)
            elif hooks.backward_pre and not run.replaying:
                if pattern.forward:
                    # The node of the forward hooks comes later, and these hooks run after it.
                    raise Deviation(node, results, "backward_pre")
                run.tape.site = self.recorded_at
                results = run.tape.outputs(self.site.cell, results)
                run.tape.site = None
                self.inline(run, "backward_pre", results)
        return [*results, *residuals]

    def inside(self, values: list[Any], run: Run, given: list[Tensor], hooks: CellHooks | None) -> list[Tensor]:
        """Run the region, as `Cell._recorded` runs construct."""
        tape = run.tape if self.site.recorded else None
        entered = run.taken(Entered)
        if entered is None:
            entered = self.entered(tape, given, hooks)
            run.keep(entered)
        for place, x in zip(self.params, entered, strict=True):
            values[place] = x
        try:
            self.block.run(values, run)
        except Deviation as deviation:
            deviation.unwind.append(lambda: self.abandoned(tape, entered.rule is not None, hooks, given))
            raise
        except BaseException:
            self.left(tape, (), entered.rule is not None)
            raise
        left = run.taken(tuple)
        if left is None:
            results = [values[i] for i in self.outputs]
            output = None if entered.rule is None else self.site.output(results)
            left = run.keep(tuple(self.left(tape, results, entered.rule is not None, output)))
            if entered.rule is not None:
                entered.rule.returned(output)
        return list(left)

    def entered(self, tape: Recorder | None, given: list[Tensor], hooks: CellHooks | None) -> Entered:
        if tape is None:
            return Entered(given)
        # Looked up at each run: a bprop may be set, a hook registered or removed at any time.
        cell = self.site.cell
        args, kwargs = self.site.arguments(given) if cell.bprop is not None else ((), {})
        rule = Rule(cell, args, kwargs) if cell.bprop is not None else None
        tensors, numbers = _parted(given, self.site.numbers)
        tape.site = self.recorded_at
        inside = tape.enter(cell, tensors, bool(hooks is not None and hooks.backward), rule, shown(args) if rule is not None else None)
        tape.site = None
        entered = Entered(_together(inside, numbers))
        entered.rule = rule
        return entered

    def left(self, tape: Recorder | None, results: Sequence[Tensor], ruled: bool, output: Any = None) -> Sequence[Tensor]:
        if tape is None:
            return results
        tensors, numbers = _parted(results, self.site.results)
        tape.site = self.recorded_at
        outside = tape.leave(tensors, ruled, shown(output) if ruled else None)
        tape.site = None
        return _together(outside, numbers)

    def abandoned(self, tape: Recorder | None, ruled: bool, hooks: CellHooks | None, given: list[Tensor]) -> None:
        """Clean up after a region that will not finish."""
        self.left(tape, (), ruled)
        self.always(hooks, given)

    def always(self, hooks: CellHooks | None, given: list[Tensor]) -> None:
        """Run the forward hooks with `always_call` after the region has raised."""
        if hooks is not None:
            args, kwargs = self.site.arguments(given)
            called_at(self.recorded_at, fire_always, self.site.cell, hooks, args, kwargs)

    # -- hooks that were added after the graph was made
    def before(self, run: Run, given: list[Tensor], hooks: CellHooks | None) -> list[Tensor]:
        entry = run.next_inline("forward_pre")
        if entry is not None:
            return list(entry)
        if hooks is None or not hooks.forward_pre or run.replaying:
            return given
        node = self.node
        if self.site.nested:
            # The hooks see tensors outside of the cell's boundary: they need a node of their own.
            raise Deviation(node, None, "forward_pre")
        args, kwargs = self.site.arguments(given)
        new_args, new_kwargs = called_at(self.recorded_at, fire_forward_pre, self.site.cell, hooks, args, kwargs)
        tensors = leaves((new_args, new_kwargs), Tensor) if self.site.ruled else top_level(new_args)
        fits = [x.type for x in tensors] == self.taken and _alike(self.site.arguments(tensors), (new_args, new_kwargs))
        self.inline(run, "forward_pre", tensors if fits else leaves((new_args, new_kwargs), Tensor))
        if not fits:
            raise Deviation(node, (new_args, new_kwargs), "forward_pre")
        return tensors

    def after(self, run: Run, given: list[Tensor], hooks: CellHooks, results: list[Tensor]) -> list[Tensor]:
        entry = run.next_inline("forward")
        if entry is not None:
            return list(entry)
        if not hooks.forward or run.replaying:
            return results
        node = self.node
        if self.site.nested:
            raise Deviation(node, None, "forward")
        args, kwargs = self.site.arguments(given)
        expected = self.site.output(results)
        output = called_at(self.recorded_at, fire_forward, self.site.cell, hooks, args, kwargs, expected)
        tensors = leaves(output, Tensor) if self.site.ruled else top_level(output)
        fits = [x.type for x in tensors] == self.given and _alike(self.site.output(tensors), output)
        self.inline(run, "forward", tensors if fits else leaves(output, Tensor))
        if not fits:
            raise Deviation(node, output, "forward")
        return tensors

    @staticmethod
    def inline(run: Run, slot: str, tensors: Sequence[Tensor]) -> None:
        entry = InlineHooks(tensors)
        entry.slot = slot
        run.keep(entry)


def _parted(values: Sequence[Tensor], numbers: frozenset[int]) -> tuple[Sequence[Tensor], dict[int, Tensor]]:
    """Split the values into the user's tensors and, by position, the numbers, which the tape does not know."""
    if not numbers or not values:
        return values, {}
    return [x for i, x in enumerate(values) if i not in numbers], {i: values[i] for i in numbers}


def _together(tensors: Sequence[Tensor], numbers: dict[int, Tensor]) -> Sequence[Tensor]:
    left = iter(tensors)
    return tensors if not numbers else [numbers[i] if i in numbers else next(left) for i in range(len(tensors) + len(numbers))]


def _alike(a: Any, b: Any) -> bool:
    """Return True if two structures are the same: identical tensors, equal numbers and strings."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    parts, others = items(a), items(b)
    if parts is not None and others is not None:
        names = not isinstance(a, dict) or list(a) == list(b)
        return names and len(parts) == len(others) and all(map(_alike, parts, others))
    return isinstance(a, (bool, int, float, complex, str, bytes)) and a == b
