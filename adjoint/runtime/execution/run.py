"""What one run is made of: blocks of steps, the log it keeps, and the note on an exception.

A step is a closure over positions in one list of values.  It holds nothing of a run, so that several threads may run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from adjoint.diagnostics import Diagnostic, InternalError, user_place
from adjoint.ir.core import Node
from adjoint.ir.ops.host import Apply
from adjoint.runtime.process.tracer import Emitter, Recorder

__all__ = ["Block", "Deviation", "Entered", "Inline", "LoggedRun", "LoggingBlock", "Run", "Step", "fits"]

_Entry = TypeVar("_Entry", bound=tuple[Any, ...])


class Deviation(Exception):
    """Python of the user's gave something else than the graph was made for.

    node      where: an `apply!`, a `cell` whose hooks it were, a `read` or `write!` of a tensor that has another type now
    observed  what was returned: tensors for `apply!`, or the Unfitting; for a cell what its hooks made of `(args, kwargs)` or of
              the output
    slot      for a cell the slot of its hooks: "forward_pre", "forward", "backward_pre"

    The tape is as it was: cells that were entered are still open, so that the run may go on in another graph.  Who does not
    go on calls `abandon`.
    """

    def __init__(self, node: Node, observed: Any, slot: str = ""):
        super().__init__(f"the graph does not fit what was returned at {node.op.name}")
        self.node, self.observed, self.slot = node, observed, slot
        self.unwind: list[Callable[[], None]] = []

    def abandon(self) -> None:
        """End what is open, innermost first, as an exception does."""
        while self.unwind:
            self.unwind.pop(0)()


class Run:
    """One run that keeps no log.

    tape   what traces it: the tape that it is recorded on, the graph that it becomes nodes of, or None
    hosts  what host nodes call, where that is another in each run: in an adjoint, whose hooks note themselves
    noted  an exception on its way out has its note
    """

    __slots__ = ("hosts", "noted", "tape")

    plain: bool = True
    """Whether nothing is logged or replayed."""
    replaying: bool = False

    def __init__(self, tape: Recorder | Emitter | None, hosts: Sequence[Any] | None = None):
        self.tape: Any = tape
        self.hosts: Sequence[Any] = hosts or ()
        self.noted = hosts is not None

    def taken(self, kind: type[_Entry]) -> _Entry | None:
        """The next result to replay, kept in the log; None when there is none left.  InternalError for another kind."""
        return None

    def next_inline(self, slot: str) -> Inline | None:
        """The next result to replay, if it is that of a cell's hooks in `slot`; taken and kept."""
        return None

    def keep(self, entry: Any) -> Any:
        """Append to the log, if one is kept."""
        return entry


class LoggedRun(Run):
    """One run that keeps a log, or replays one.

    log     takes the results of every node executed, in order; None: nobody asks
    replay  the log of a run in a graph that begins with the same nodes: its results are taken in place of executing nodes,
            without events on the tape and without effects, until it is used up; `at` is the next
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

    def next_inline(self, slot: str) -> Inline | None:
        entry = self.replay[self.at] if self.replaying else None
        if not isinstance(entry, Inline) or entry.slot != slot:
            return None
        self.at += 1
        return self.keep(entry)

    def keep(self, entry: Any) -> Any:
        if self.log is not None:
            self.log.append(entry)
        return entry


class Entered(tuple[Any, ...]):
    """In a log: a cell was entered; the tensors are its arguments' names inside.  `rule` is the call of its own bprop."""

    rule: Any = None


class Inline(tuple[Any, ...]):
    """In a log: hooks of a cell ran for which the graph has no node; the tensors are what they made.  `slot` is theirs."""

    slot: str = ""


Step = Callable[[list[Any], Run], None]


class Block:
    """The steps of a region.

    steps  what runs, in order
    nodes  for each step its node; None where it frees buffers
    made   for each step the positions of its results; None for a step that keeps the log itself
    """

    __slots__ = ("__weakref__", "made", "nodes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.nodes: list[Node | None] = []
        self.made: list[range | None] = []

    def add(self, step: Step, node: Node | None, made: range | None) -> None:
        """Append a step."""
        self.steps.append(step)
        self.nodes.append(node)
        self.made.append(made)

    def run(self, values: list[Any], run: Run) -> None:
        """Run the steps; an exception gets a note that shows the line of the node that raised it."""
        step = None
        try:
            for step in self.steps:
                step(values, run)
        except Deviation:
            raise
        except BaseException as raised:
            self._failed(raised, step, run)
            raise

    def _failed(self, raised: BaseException, step: Step | None, run: Run) -> None:
        if run.tape is not None:
            run.tape.site = None
        node = self.nodes[self.steps.index(step)] if step is not None else None
        if node is not None and not run.noted:
            run.noted = True
            _note(raised, node)


class LoggingBlock(Block):
    """A block whose values are tensors: it can keep the log of a run, and replay one."""

    __slots__ = ()

    def run(self, values: list[Any], run: Run) -> None:
        if run.plain:
            super().run(values, run)
            return
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
                    run.keep(tuple(values[i] for i in made))
        except Deviation:
            raise
        except BaseException as raised:
            self._failed(raised, step, run)
            raise


def fits(results: Sequence[Any], types: Sequence[Any]) -> bool:
    """Whether results are of these types; what is no tensor of the IR (`undef`) fits any."""
    return len(results) == len(types) and all(getattr(x, "type", t) is t for x, t in zip(results, types, strict=True))


def _note(raised: BaseException, node: Node) -> None:
    """Say which line of the user's program it was; an exception of a hook says so itself."""
    if any(note.startswith(("raised in ", "  --> ")) for note in getattr(raised, "__notes__", ())):
        return
    if user_place(node.loc) is not None:
        _, _, shown = Diagnostic("", "", loc=node.loc).render().partition("\n")
        what = "when the graph ran" if isinstance(node.op, Apply) else f"by '{node.op.name}' of a graph"
        raised.add_note(f"raised {what}\n{shown}")
