"""What one run of a graph is made of: blocks of steps, the log it keeps, and the note on an exception.

A step is a closure over positions in one list of values.  It holds nothing of a run, so that several threads may run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from adjoint.diagnostics import Diagnostic, InternalError, user_place
from adjoint.ir.core import Node
from adjoint.ir.ops.host import Apply
from adjoint.runtime.execution.graph import Deviation
from adjoint.runtime.gradients.tape import Tape

__all__ = ["Block", "Entered", "Inline", "Run", "Step", "fits", "mover"]


_Entry = TypeVar("_Entry", bound=tuple[Any, ...])


class Entered(tuple[Any, ...]):
    """In a log: a cell was entered; the tensors are its arguments' names inside.  `rule` is the call of its own bprop."""

    rule: Any = None


class Inline(tuple[Any, ...]):
    """In a log: hooks of a cell ran for which the graph has no node; the tensors are what they made.  `slot` is theirs."""

    slot: str = ""


class Run:
    """One run.

    tape    what it records on, or None
    log     takes the results of every node executed, in order; None: nobody asks
    replay  results to take in place of executing; `at` is the next
    plain   nothing is logged or replayed
    noted   an exception on its way out has its note
    """

    __slots__ = ("at", "log", "noted", "plain", "replay", "tape")

    def __init__(self, tape: Tape | None, log: list[Any] | None, replay: Sequence[Any] | None):
        self.tape, self.log, self.replay, self.at = tape, log, replay or (), 0
        self.plain = log is None and not self.replay
        self.noted = False

    @property
    def replaying(self) -> bool:
        return self.at < len(self.replay)

    def next_inline(self, slot: str) -> Inline | None:
        """The next result to replay, if it is that of a cell's hooks in `slot`; taken."""
        entry = self.replay[self.at] if self.replaying else None
        if not isinstance(entry, Inline) or entry.slot != slot:
            return None
        self.at += 1
        return self.keep(entry)

    def taken(self, kind: type[_Entry]) -> _Entry | None:
        """The next result to replay, kept in the log; None when there is none left.  InternalError for another kind."""
        if not self.replaying:
            return None
        entry = self.replay[self.at]
        if not isinstance(entry, kind):
            raise InternalError("the run that is replayed is not one of a graph that begins with the same nodes")
        self.at += 1
        return self.keep(entry)

    def keep(self, entry: Any) -> Any:
        """Append to the log, if one is kept."""
        if self.log is not None:
            self.log.append(entry)
        return entry


Step = Callable[[list[Any], Run], None]


class Block:
    """The nodes of a region, ready to run.

    steps  what runs, in order
    nodes  for each step its node; None where it lets memory go
    made   for each step the positions of its results; None for a step that keeps the log itself
    """

    __slots__ = ("made", "nodes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.nodes: list[Node | None] = []
        self.made: list[range | None] = []

    def add(self, step: Step, node: Node | None, made: range | None) -> None:
        self.steps.append(step)
        self.nodes.append(node)
        self.made.append(made)

    def run(self, values: list[Any], run: Run) -> None:
        """Run the nodes; an exception gets a note that shows the line of the one that raised it."""
        step = None
        try:
            if run.plain:
                for step in self.steps:
                    step(values, run)
                return
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
            if run.tape is not None:
                run.tape.site = None
            node = self.nodes[self.steps.index(step)] if step is not None else None
            if node is not None and not run.noted:
                run.noted = True
                _note(raised, node)
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


def mover(sources: Sequence[int], targets: Sequence[int]) -> Callable[[list[Any]], None]:
    """What moves values from some positions to others, as if at once."""
    pairs = tuple((s, t) for s, t in zip(sources, targets, strict=True) if s != t)
    if not pairs:
        return lambda values: None
    if len(pairs) == 1:
        ((source, target),) = pairs

        def one(values: list[Any]) -> None:
            values[target] = values[source]

        return one
    if not {s for s, _ in pairs} & {t for _, t in pairs}:

        def apart(values: list[Any]) -> None:
            for s, t in pairs:
                values[t] = values[s]

        return apart

    def crossing(values: list[Any]) -> None:
        for (_, t), value in zip(pairs, [values[s] for s, _ in pairs]):
            values[t] = value

    return crossing
