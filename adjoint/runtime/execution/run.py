"""The parts of one run of a plan: blocks of steps, the log, and the note on an exception.

A step is a closure over positions in one list of values: it reads operands there and puts results there.  It holds no state of a run, so
that several threads may run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from adjoint.foundation.diagnostics import Diagnostic, InternalError, user_place
from adjoint.ir.core import Literal, Node
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.host import Apply, Observe
from adjoint.ir.ops.shape import Broadcast
from adjoint.runtime.process.tracer import Emitter, Recorder

__all__ = ["Block", "Deviation", "Entered", "InlineHooks", "LoggedRun", "LoggingBlock", "Run", "Step", "LoggedPiece", "fits", "is_constant",
           "unfolded"]

_Entry = TypeVar("_Entry", bound=tuple[Any, ...])


class Deviation(Exception):
    """Raised when the user's Python code (such as a hook) returned something that the graph was not made for.

    node      where: an `apply!`, a `cell` with hooks, or a `read` or `write!` of a tensor whose type has changed
    observed  what was returned: for `apply!` the tensors, or the Unfitting (an object that is no result for a graph); for a cell the
        `(args, kwargs)` or the output that its hooks returned
    slot      for a cell the kind of its hooks, such as "forward"

    Code that catches it can continue the call in another graph, made for this type.  So cells that were entered are still open on the tape
    (the recording for a gradient).  A caller that does not continue calls `abandon`.
    """

    def __init__(self, node: Node, observed: Any, slot: str = ""):
        super().__init__(f"the graph does not fit what was returned at {node.op.name}")
        self.node, self.observed, self.slot = node, observed, slot
        self.unwind: list[Callable[[], None]] = []

    def abandon(self) -> None:
        """Close the cells that are still open on the tape, innermost first, as an exception that leaves them would.

        Code that catches a Deviation, and does not continue the call in another graph, must call this.
        """
        while self.unwind:
            self.unwind.pop(0)()


class Run:
    """The state of one execution of a plan; this class is for executions without a log.

    tape   the tape that records it, or the graph to which its nodes are added; None if there is neither
    hosts  the Python functions that its nodes call, if these differ from execution to execution, as for an adjoint
    noted  True if an exception that leaves the plan needs no note: it has one, or hooks of an adjoint add their own
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
        """Return the next entry of the log that is replayed (that of an earlier execution, whose call continues here), and append it to the
        log of this execution; None if no entry is left, so that the caller must do the work.

        kind  the class that the entry must have, otherwise InternalError
        """
        return None

    def next_inline(self, slot: str) -> InlineHooks | None:
        """Return the next entry of the log that is replayed, and append it to the log of this execution, if the entry is for hooks of the
        kind `slot`.

        That log is of an earlier execution, whose call continues in this graph.  Return None, and take nothing, if the next entry is
        something else or none is left; the caller then calls the hooks.
        """
        return None

    def note(self, raised: BaseException, node: Node) -> None:
        """Add a note with the line of a node to an exception that the node raised.  Do nothing for a Deviation, or if there is a note
        already.
        """
        if not self.noted and not isinstance(raised, Deviation):
            self.noted = True
            _note(raised, node)

    def keep(self, entry: Any) -> Any:
        """Append an entry to the log of this execution, from which another graph can continue the call; do nothing if no log is kept.
        Return the entry.
        """
        return entry


class LoggedRun(Run):
    """The state of one execution of a plan that keeps a log of its results, or replays such a log.

    With the log, an execution that left its graph (see Deviation) continues in another graph.

    tape    as for `Run`
    log     gets the results of each node, in order, or a `LoggedPiece` for several nodes; None if no log is kept
    replay  the log of an execution of a graph that begins with the same nodes.  Until it is used up, its results are taken instead of
        running nodes, without recording or effects; `at` is the index of the next entry
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
        """Drop the log and the objects that it keeps alive.  Afterwards the execution cannot continue in another graph."""
        if self.log is not None:
            self.log.clear()
        self.replay, self.at = (), 0


class Entered(tuple[Any, ...]):
    """Log entry for entering a cell: the cell's arguments, as the new tensors that the tape (this thread's recording) knows inside of the
    cell.

    rule    the call of the cell's own bprop; None if there is none
    hooked  True if the cell had hooks then: only in that case hooks added during the call take part in it
    """

    rule: Any = None
    hooked: bool = True


class InlineHooks(tuple[Any, ...]):
    """Log entry for hooks of a cell that ran as part of another node: the tensors that the hooks returned.

    slot  the kind of the hooks, such as "forward_pre"
    """

    slot: str = ""


class LoggedPiece(Protocol):
    """Log entry for a straight piece that ran by one C call, so that not all results were kept.  Before a replay, `unfolded` puts the
    results of its nodes in its place.
    """

    def entries(self) -> Iterable[tuple[Any, ...]]:
        """Return an entry for each of the piece's nodes; results that were not kept are computed again."""
        ...


def unfolded(log: Iterable[Any]) -> list[Any]:
    """Return a log with one entry for each node, as a replay needs it: a LoggedPiece is replaced by the entries of its nodes."""
    return [each for entry in log for each in ([entry] if isinstance(entry, tuple) else entry.entries())]


def is_constant(node: Node) -> bool:
    """Return True for a node that fills a tensor with a number: no log has it, since another graph may have it where this one has none."""
    return isinstance(node.op, Broadcast) and isinstance(node.operands[0], Literal)


Step = Callable[[list[Any], Run], None]


class Block:
    """The steps of a region: Python functions that each do the work of some nodes, on a list of values.

    steps  the functions to run, in order
    nodes  for each step its node (the first one of several); None for a step that frees buffers
    made   for each step the positions of its results in the list of values; None for a step that writes the log itself
    """

    __slots__ = ("__weakref__", "made", "nodes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.nodes: list[Node | None] = []
        self.made: list[range | None] = []

    def add(self, step: Step, node: Node | None, made: range | None) -> None:
        """Append a step, a Python function that does the work of one or more nodes.

        node  the node that it runs, whose line an exception gets as a note; None for none
        made  the positions of its results (indices in the list of values), for the log; None if the step writes the log itself
        """
        self.steps.append(step)
        self.nodes.append(node)
        self.made.append(made)

    def run(self, values: list[Any], run: Run) -> None:
        """Run all steps in order.  An exception gets a note with the line of the node that raised it.

        values  the list of values, from which steps read operands and into which they put results
        run     the state of this execution
        """
        step = None
        try:
            for step in self.steps:
                step(values, run)
        except BaseException as raised:
            self._failed(raised, step, run)
            raise

    def run_part(self, begin: int, end: int, values: list[Any], run: Run) -> None:
        """Run the steps with the indices `begin`, ..., `end - 1`."""
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
    """The steps of a region whose values are all tensors, with a log if one is kept: of each node's results, or one that is replayed.

    joined  the steps used when nothing is replayed: consecutive nodes that one C call runs are one step there, which writes the log for its
        nodes itself
    """

    __slots__ = ("joined",)

    def __init__(self) -> None:
        super().__init__()
        self.joined = Block()

    def add(self, step: Step, node: Node | None, made: range | None) -> None:
        """Append a step to both lists, the block's own and `joined`.

        node, made  as for `Block.add`
        """
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
        """Run the steps, but as long as the log that is replayed has entries, take results from there instead of running a step."""
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
    """Run the steps of a block with the indices `begin`, ..., `end - 1`, and append their results to the log."""
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
    """Return True if these values have these types, position by position.  A value without a type (the result of `undef`) fits any type."""
    return len(results) == len(types) and all(getattr(x, "type", t) is t for x, t in zip(results, types, strict=True))


def _note(raised: BaseException, node: Node) -> None:
    """Add a note with the line of the user's program that belongs to `node` to an exception, unless a hook has added such a note."""
    if any(note.startswith(("raised in ", "  --> ")) for note in getattr(raised, "__notes__", ())):
        return
    if user_place(node.loc) is not None:
        _, _, shown = Diagnostic("", "", loc=node.loc).render().partition("\n")
        what = "when the graph ran" if isinstance(node.op, (Apply, Check, Observe)) else f"by '{node.op.name}' of a graph"
        raised.add_note(f"raised {what}\n{shown}")
