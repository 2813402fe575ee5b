"""The stages of a program for the explorer, in the order in which the compiler goes through them.

    parsed      the graph from the frontend, its nodes numbered (`identity`)
    after ...   the graph after each pass that changes it; the last is `optimised`
    fused       that with the nodes fused that run as one kernel after some runs
    adjoint     the forward copy and the reverse pass, after each pass; then fused as well
    plan        what runs, in order
    c           the kernels of all these
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.explorer.identity import Identities, Stretch
from adjoint.explorer.lines import Changes, Describer, Line, changes
from adjoint.explorer.tables import Cells, Files, Places
from adjoint.foundation import collector
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import Module
from adjoint.ir.op import NotDifferentiable
from adjoint.passes.manager import Pass
from adjoint.passes.schedule import LATER_KERNELS, OPTIMISED
from adjoint.runtime.gradients.trace import trace
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.graph import Graph, HookCall, Registration
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.inspection.stages import PlanPart, ServedKernel, adjoint_of, kernels_of, plan_parts, wanted
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.tensor.parameter import Parameter

__all__ = ["Explored", "Stage", "explored", "numbered"]


@dataclass(eq=False)
class Stage:
    """A stage of a program.

    name     a short name, different from those of the other stages
    kind     "ir", "plan" or "c"
    column   where the page shows it: "ir", "adjoint" or "c"
    title    for readers
    about    a sentence about it
    notes    remarks
    former   the name of the stage that it is compared with; "" for none
    changes  how it differs from that stage
    module   the IR that it shows; None for a plan and for C
    stretch  the series of stages that its nodes are of
    of_run   True if it shows what one run did, and not the graph
    """

    name: str
    kind: str
    column: str
    title: str
    about: str
    lines: list[Line]
    notes: Sequence[str] = ()
    former: str = ""
    changes: Changes | None = None
    module: Module | None = None
    stretch: Stretch | None = None
    of_run: bool = False


class Explored:
    """A program at its stages.

    lowered    the graph, whose nodes have numbers; None for a program that was not parsed
    describer  makes the lines of stages
    stages     the stages so far
    notes      what the reader should know
    """

    def __init__(self, identities: Identities, target: Any = None, lowered: Lowered | None = None):
        """Begin with no stage.

        target   the function or Cell; None if it is not known
        lowered  its graph, whose nodes `identities` has numbered
        """
        self.identities, self.lowered = identities, lowered
        self.files = Files()
        self.places = Places(self.files, identities)
        found, hooks = [], set[str]()
        if lowered is not None:
            graph = lowered.graph
            found = [cell for site in graph.sites.values() if (cell := site.reference()) is not None]
            hooks = {symbol for symbol, host in graph.hosts.items() if isinstance(host, (HookCall, Registration))} | {*lowered.sites}
        self.cells = Cells(target, found)
        self.cells.count(identities, self.places)
        self.describer = Describer(self.places, self.cells, hooks)
        self.stages: list[Stage] = []
        self.notes: list[str] = []

    def stage(self, name: str) -> Stage | None:
        """Return the stage of this name; None if there is none."""
        return next((stage for stage in self.stages if stage.name == name), None)

    def add(self, name: str, column: str, title: str, about: str, module: Module, stretch: Stretch, former: str = "") -> Stage:
        """Add a stage of IR, and return it.

        stretch  the series of stages that its nodes are of
        former   the name of the stage that it is compared with; "" for none
        """
        lines = self.describer.of_module(module, stretch)
        before = self.stage(former)
        found = None if before is None else changes(before.lines, lines)
        stage = Stage(name, "ir", column, title, about, lines, (), former, found, module, stretch.forked())
        self.stages.append(stage)
        return stage

    def add_plan(self, parts: Sequence[PlanPart], stretch: Stretch) -> None:
        """Add the plan."""
        about = "What runs while no gradient is taken: launches of kernels, calls of Python, and the slots of values."
        self.stages.append(Stage("plan", "plan", "c", "Plan", about, self.describer.of_plan(parts, stretch), stretch=stretch))

    def add_kernels(self, kernels: Sequence[tuple[ServedKernel, Stretch]]) -> None:
        """Add the C, each kernel with the series of stages that its nodes are of."""
        about = "The C of the kernels, each different one once."
        self.stages.append(Stage("c", "c", "c", "C", about, self.describer.of_kernels(kernels)))


def numbered(made: Lowered, identities: Identities) -> Lowered:
    """Return a graph whose nodes have numbers (`identity`), with all that belongs to it."""
    graph = made.graph
    again = Graph(identities.numbered(graph.module), graph.symbol, graph.state, graph.hosts, graph.sites, graph.cells)
    return Lowered(again, made.guards, made.outline, made.written, made.decisions, made.sites, made.begun, made.rewritten, made.counted,
                   made.exact, made.packs)


@collector.paused(lasting=False)
def explored(target: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[str] = (), *, run: bool = False) -> Explored:
    """Return a function or Cell at all of its stages, for inputs like these.

    wrt  what to differentiate by: arguments by name, parameters as `@name`; by default floating arguments and the parameters that are
        trained
    run  True if it may be run: where the graph has no gradient in IR, as with forward hooks, the adjoint is that of one run

    CompileError if it cannot be parsed, or if `wrt` names something that is not there.
    """
    return _Explorer(target, inputs, wrt, run).all()


class _Explorer:
    def __init__(self, target: Any, inputs: Sequence[Any], wrt: Sequence[str], run: bool):
        identities = Identities()
        self.target, self.inputs, self.run = target, inputs, run
        self.lowered = numbered(parsed(target, *inputs), identities)
        graph = self.lowered.graph
        trained = {symbol: isinstance(x, Parameter) and x.requires_grad for symbol, x in graph.state.items()}
        self.wrt, self._given = tuple(wrt) or wanted(graph.module, graph.symbol, trained), bool(wrt)
        self.made = Explored(identities, target, self.lowered)

    def all(self) -> Explored:
        module = self.lowered.graph.module
        start = Stretch(self.made.identities)
        self.made.add("parsed", "ir", "Parsed graph", "What the frontend made of the source, for inputs of these types.", module, start)
        optimised = self._optimised(module, start)
        adjoint = self._adjoint(module, start)
        self._plan(start)
        shown = [optimised, *([adjoint] if adjoint is not None else [])]
        self._kernels([each for stage in shown for each in (stage, self._fused(stage))])
        order = {"ir": 0, "adjoint": 1, "plan": 2, "c": 3}
        self.made.stages.sort(key=lambda stage: order[stage.kind if stage.column == "c" else stage.column])
        return self.made

    def _optimised(self, module: Module, start: Stretch) -> Stage:
        """Add the graph after each pass; return the last stage."""
        stretch = start.forked()
        try:
            with self._followed(stretch, "parsed", "ir") as observe:
                OPTIMISED.run(module, [observe])
        except CompileError as mistake:
            self.made.notes.append(f"The graph is not optimised as a whole: {mistake}")
            return self.made.stages[-1]
        last = self.made.stages[-1]
        if last.name == "parsed":
            return self.made.add("optimised", "ir", "Optimised graph", "No pass changes anything.", module, stretch, "parsed")
        last.about = f"What runs while no gradient is taken. The last pass that changed it: {last.title.removeprefix('after ')}."
        last.name, last.title = "optimised", "Optimised graph"
        return last

    def _adjoint(self, module: Module, start: Stretch) -> Stage | None:
        """Add the gradient after each pass; return the last stage, None if there is no gradient."""
        if not self.wrt:
            self.made.notes.append("There is no adjoint: no argument and no parameter is a float.")
            return None
        stretch, count = start.forked(), len(self.made.stages)
        try:
            with self._followed(stretch, "parsed", "adjoint") as observe:
                found = adjoint_of(module, self.lowered.graph.symbol, self.wrt, [observe])
        except (CompileError, NotDifferentiable) as why:
            if self._given and isinstance(why, CompileError) and why.diagnostic.code == "E141":
                raise
            del self.made.stages[count:]
            self.made.notes.append(f"The graph has no adjoint: {why}")
            return self._adjoint_of_run() if self.run else None
        last = self.made.stages[-1]
        last.name, last.title, last.notes = "adjoint", "Adjoint", found.notes
        last.about = "The forward copy, which keeps what the gradient needs, and the reverse pass."
        return last

    def _adjoint_of_run(self) -> Stage | None:
        """Run the program once, and add the gradient of what it did; return the last stage, None if there is none."""
        identities, count = self.made.identities, len(self.made.stages)
        with contextlib.redirect_stdout(io.StringIO()):
            traced = trace(self.target, self.inputs)
        module, stretch = identities.matched(traced.module), Stretch(identities)
        names = wanted(module, traced.symbol, {symbol: x.requires_grad for symbol, x in traced.parameters.items()})
        try:
            with self._followed(stretch, "", "adjoint") as observe:
                found = adjoint_of(module, traced.symbol, names, [observe])
        except (CompileError, NotDifferentiable):
            del self.made.stages[count:]
            return None
        self.made.notes.append("The adjoint is that of one run, with what its hooks did in it.")
        for stage in self.made.stages[count:]:
            stage.of_run = True
        last = self.made.stages[-1]
        last.name, last.title, last.notes = "adjoint", "Adjoint of one run", found.notes
        last.about = "The forward copy of what one run did, its forward hooks included, and the reverse pass."
        return last

    @contextlib.contextmanager
    def _followed(self, stretch: Stretch, former: str, column: str) -> Iterator[Callable[..., None]]:
        """Within a `with` statement, yield an observer of passes that adds a stage for each pass that changes something."""

        def observe(position: int, step: Pass | None, before: Module, after: Module) -> None:
            nonlocal former
            if step is None:
                return
            stretch.join(after.functions.values())
            if any(function is not before.functions.get(symbol) for symbol, function in after.functions.items()):
                about = (type(step).__doc__ or "").strip().partition("\n")[0]
                stage = self.made.add(f"{column}-{position}-{step.name}", column, f"after {step}", about, after, stretch, former)
                if stage.changes is not None and not stage.changes.removed and not stage.changes.added:
                    self.made.stages.pop()
                else:
                    former = stage.name

        with stretch.followed():
            yield observe

    def _fused(self, stage: Stage) -> Stage:
        """Add a stage with the nodes fused that one kernel computes after some runs, and return it."""
        assert stage.module is not None and stage.stretch is not None
        if not background_compile():
            return stage
        stretch = stage.stretch.forked()
        with stretch.followed():
            module = LATER_KERNELS.run(stage.module)
            stretch.join(module.functions.values())
        name = "fused" if stage.column == "ir" else "adjoint-fused"
        about = "Nodes that one kernel computes after some runs, as one node."
        made = self.made.add(name, stage.column, "Fused", about, module, stretch, stage.name)
        made.of_run = stage.of_run
        return made

    def _plan(self, start: Stretch) -> None:
        stretch = start.forked()
        with stretch.followed():
            parts = plan_parts(self.lowered)
            stretch.join_plan(parts)
        self.made.add_plan(parts, stretch)

    def _kernels(self, stages: Sequence[Stage]) -> None:
        owner: dict[int, Stretch] = {}
        modules: list[Module] = []
        for stage in dict.fromkeys(stages):
            assert stage.module is not None and stage.stretch is not None
            modules.append(stage.module)
            owner.update((id(node), stage.stretch) for line in stage.lines if (node := line.node) is not None)
        self.made.add_kernels([(kernel, owner[id(kernel.nodes[0])]) for kernel in kernels_of(*modules)])
