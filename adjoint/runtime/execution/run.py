"""The parts of one run: blocks of steps, the log, and the note on an exception.

A step is a closure over positions in one list of values.  It holds no state of a run, so that several threads may run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from adjoint.foundation.diagnostics import Diagnostic, InternalError, user_place
from adjoint.ir.core import Node
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.host import Apply, Observe
from adjoint.runtime.process.tracer import Emitter, Recorder

__all__ = ["Block", "Deviation", "Entered", "InlineHooks", "LoggedRun", "LoggingBlock", "Run", "Step", "LoggedPiece", "fits", "unfolded"]

_Entry = TypeVar("_Entry", bound=tuple[Any, ...])


class Deviation(Exception):
    """Raised when the user's Python code returned something the graph was not made for.

    node      where: an `apply!`, a `cell` with hooks, or a `read` or `write!` of a tensor whose type has changed
    observed  what was returned: for `apply!` the tensors or the Unfitting; for a cell the `(args, kwargs)` or the output that its hooks
              returned
    slot      for a cell the kind of its hooks, such as "forward"

    Cells that were entered are still open on the tape, so that the run can continue in another graph.  A caller that does not continue
    calls `abandon`.
    """

    def __init__(self, node: Node, observed: Any, slot: str = ""):
        super().__init__(f"the graph does not fit what was returned at {node.op.name}")
        self.node, self.observed, self.slot = node, observed, slot
        self.unwind: list[Callable[[], None]] = []

    def abandon(self) -> None:
        """Close the open cells, innermost first, as an exception does."""
        while self.unwind:
            self.unwind.pop(0)()


class Run:
    """One run without a log.

    tape   the tape that records it, the graph to which its nodes are added, or None
    hosts  the functions that host nodes call, if these differ from run to run, as for an adjoint
    noted  True if an exception that leaves the run needs no note: it has one, or hooks of an adjoint add their own
    """

    __slots__ = ("hosts", "noted", "tape")

    plain: bool = True
    """True if nothing is logged or replayed."""
    replaying: bool = False

    def __init__(self, tape: Recorder | Emitter | None, hosts: Sequence[Any] | None = None):
        self.tape: Any = tape
        self.hosts: Sequence[Any] = hosts or ()
        self.noted = hosts is not None

    def taken(self, kind: type[_Entry]) -> _Entry | None:
        """Return the next result to replay, and add it to the log; None if none is left.  InternalError if it is not of this kind."""
        return None

    def next_inline(self, slot: str) -> InlineHooks | None:
        """Return the next result to replay if it belongs to hooks of a cell of the kind `slot`, and add it to the log; otherwise None."""
        return None

    def note(self, raised: BaseException, node: Node) -> None:
        """Add a note with the line of a node to an exception that the node raised, unless it is a Deviation or has a note."""
        if not self.noted and not isinstance(raised, Deviation):
            self.noted = True
            _note(raised, node)

    def keep(self, entry: Any) -> Any:
        """Append an entry to the log, if there is one; return the entry."""
        return entry


class LoggedRun(Run):
    """One run that keeps a log, or replays one.

    log     gets the results of each node, in order, or a `LoggedPiece` for several nodes; None if no log is kept
    replay  the log of a run in a graph that begins with the same nodes.  Until it is used up, its results replace the execution of nodes,
            without recording or effects; `at` is the index of the next entry
    """

    __slots__ = ("at", "log", "replay")

    plain = False

    def __init__(self, tape: Recorder | Emitter | None, log: list[Any] | None = None, replay: Sequence[Any] | None = None):
        super().__init__(tape)
        self.log, self.replay, self.at = log, replay or (), 0

    @property
    def replaying(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read
        return self.at < len(self.replay)

    def taken(self, kind: type[_Entry]) -> _Entry | None:
        if not self.replaying:
            return None
        entry = self.replay[self.at]
        if not isinstance(entry, kind):
            raise InternalError("the run that is replayed is not one of a graph that begins with the same nodes")
        self.at += 1
        return self.keep(entry)

    def next_inline(self, slot: str) -> InlineHooks | None:
        entry = self.replay[self.at] if self.replaying else None
        if not isinstance(entry, InlineHooks) or entry.slot != slot:
            return None
        self.at += 1
        return self.keep(entry)

    def keep(self, entry: Any) -> Any:
        if self.log is not None:
            self.log.append(entry)
        return entry


    def forget(self) -> None:
        """Drop the log and the objects that it keeps alive: from here on the run cannot leave its graph."""
        if self.log is not None:
            self.log.clear()
        self.replay, self.at = (), 0


class Entered(tuple[Any, ...]):
    """Log entry for entering a cell: its arguments, under their new names on the tape.

    rule    the call of the cell's own bprop; None if there is none
    hooked  True if the cell had hooks then: only in that case hooks added during the call take part in it
    """

    rule: Any = None
    hooked: bool = True


class InlineHooks(tuple[Any, ...]):
    """Log entry for hooks of a cell that ran without a node of their own: the tensors that they returned.

    slot  the kind of the hooks
    """

    slot: str = ""


class LoggedPiece(Protocol):
    """Log entry for a straight piece that ran by one call, so that not all results were kept."""

    def entries(self) -> Iterable[tuple[Any, ...]]:
        """Return an entry for each of its nodes; results that were not kept are computed again."""
        ...


def unfolded(log: Iterable[Any]) -> list[Any]:
    """Return a log with one entry for each node, as a replay needs it."""
    return [each for entry in log for each in ([entry] if isinstance(entry, tuple) else entry.entries())]


Step = Callable[[list[Any], Run], None]


class Block:
    """The steps of a region.

    steps  the functions to run, in order
    nodes  for each step its node (the first one of several); None for a step that frees buffers
    made   for each step the positions of its results; None for a step that writes the log itself
    """

    __slots__ = ("__weakref__", "made", "nodes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.nodes: list[Node | None] = []
        self.made: list[range | None] = []

    def add(self, step: Step, node: Node | None, made: range | None) -> None:
        """Append a step, with its node and the positions of its results."""
        self.steps.append(step)
        self.nodes.append(node)
        self.made.append(made)

    def run(self, values: list[Any], run: Run) -> None:
        """Run the steps; an exception gets a note with the line of the node that raised it."""
        step = None
        try:
            for step in self.steps:
                step(values, run)
        except BaseException as raised:
            self._failed(raised, step, run)
            raise

    def run_part(self, begin: int, end: int, values: list[Any], run: Run) -> None:
        """Run the steps with indices from `begin` up to `end`, without the last."""
        step = None
        try:
            for step in self.steps[begin:end]:
                step(values, run)
        except BaseException as raised:
            self._failed(raised, step, run)
            raise

    def _failed(self, raised: BaseException, step: Step | None, run: Run) -> None:
        if run.tape is not None:
            run.tape.site = None
        node = self.nodes[self.steps.index(step)] if step is not None else None
        if node is not None:
            run.note(raised, node)


class LoggingBlock(Block):
    """A block whose values are tensors, for runs that keep a log or replay one, node by node.

    joined  the steps of a run that does not replay: a straight piece is one step, which writes the log for its nodes itself
    """

    __slots__ = ("joined",)

    def __init__(self) -> None:
        super().__init__()
        self.joined = Block()

    def add(self, step: Step, node: Node | None, made: range | None) -> None:
        """Append a step to both lists."""
        super().add(step, node, made)
        self.joined.add(step, node, made)

    def run(self, values: list[Any], run: Run) -> None:
        if run.plain:
            self.joined.run(values, run)
        elif run.replaying:
            self._replay(values, run)
        else:
            _logged(self.joined, 0, len(self.joined.steps), values, run)

    def run_part(self, begin: int, end: int, values: list[Any], run: Run) -> None:
        if run.plain:
            super().run_part(begin, end, values, run)
        else:
            _logged(self, begin, end, values, run)

    def _replay(self, values: list[Any], run: Run) -> None:
        """Run the steps; as long as the replayed log has entries, take results from there."""
        step = None
        try:
            for step, node, made in zip(self.steps, self.nodes, self.made, strict=True):
                if made is None or node is None:
                    step(values, run)
                elif (entry := run.taken(tuple)) is not None:
                    if not fits(entry, [v.type for v in node.results]):
                        raise InternalError(f"what is replayed at {node.op.name} ({node.loc}) does not fit it")
                    values[made.start : made.stop] = entry
                else:
                    step(values, run)
                    run.keep(tuple(values[made.start : made.stop]))
        except BaseException as raised:
            self._failed(raised, step, run)
            raise


def _logged(block: Block, begin: int, end: int, values: list[Any], run: Run) -> None:
    """Run the steps with indices from `begin` up to `end`, and log their results."""
    step = None
    try:
        for step, made in zip(block.steps[begin:end], block.made[begin:end], strict=True):
            step(values, run)
            if made is not None:
                run.keep(tuple(values[made.start : made.stop]))
    except BaseException as raised:
        block._failed(raised, step, run)
        raise


def fits(results: Sequence[Any], types: Sequence[Any]) -> bool:
    """Return True if results have these types; a value that has no type (`undef`) fits any type."""
    return len(results) == len(types) and all(getattr(x, "type", t) is t for x, t in zip(results, types, strict=True))


def _note(raised: BaseException, node: Node) -> None:
    """Add a note with the line of the user's program, unless the exception has such a note from a hook."""
    if any(note.startswith(("raised in ", "  --> ")) for note in getattr(raised, "__notes__", ())):
        return
    if user_place(node.loc) is not None:
        _, _, shown = Diagnostic("", "", loc=node.loc).render().partition("\n")
        what = "when the graph ran" if isinstance(node.op, (Apply, Check, Observe)) else f"by '{node.op.name}' of a graph"
        raised.add_note(f"raised {what}\n{shown}")
