"""The trie of all recordings: a path from its root is a recorded program, and holds the adjoints built from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from adjoint.budget import Cache, budget
from adjoint.diagnostics import UNKNOWN, Loc
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.hooks.handles import ids

__all__ = ["STEP_BYTES", "CellCall", "TrieStep", "trie"]

STEP_BYTES = 700
"""Estimated bytes of a step and its key."""


class TrieStep:
    """A node of the trie: one recorded event.

    kind      `op`, `enter`, `exit`, `attach`, `hook`, `outputs`, `leaf`, `begin`
    operands  slots of its operands
    results   slots of its results
    host      the index among the tape's hosts (a cell, a hook function), -1 for none
    about     the op, or the title of a cell or hook
    code      the user's code object that was running, kept alive because its address is in keys; None in a graph
    programs  the adjoints that end here, as `gradients.adjoints.Program`
    used      the period of the budget in which it was made, or an adjoint was found here or below
    """

    __slots__ = ("about", "children", "code", "host", "kind", "loc", "operands", "parent", "programs", "results", "rule", "used")

    def __init__(self, parent: TrieStep | None, kind: str, about: Any, operands: tuple[int, ...], results: tuple[int, ...],
                 host: int, loc: Loc, rule: int = -1, code: CodeType | None = None):
        self.parent, self.kind, self.about, self.operands, self.results = parent, kind, about, operands, results
        self.host, self.loc, self.rule, self.code = host, loc, rule, code
        self.children: dict[Any, TrieStep] = {}
        self.programs: dict[Any, Any] = {}
        self.used = budget.period


class Trie(Cache):
    """The root of all paths of this process.

    Evicting a step only removes it from its parent: a tape that has reached it continues, since it holds its step, and steps
    hold their parents.
    """

    def __init__(self) -> None:
        super().__init__("recorded gradients")
        self.root = TrieStep(None, "begin", None, (), (), -1, UNKNOWN)

    def sizes(self) -> Iterator[tuple[int, int]]:
        for step in reversed(_subtree(self.root)):
            # Children come first: a step counts as used when one of them was.
            parent = step.parent
            if parent is None:
                return
            parent.used = max(parent.used, step.used)
            yield step.used, STEP_BYTES + sum(program.nbytes for program in step.programs.copy().values())

    def evict(self, until: int) -> None:
        for step in _subtree(self.root):
            for key, child in step.children.copy().items():
                if child.used <= until:
                    step.children.pop(key, None)
                    for cut in _subtree(child):
                        # Break the cycles of steps and children: what no tape holds is then freed without the cycle collector.
                        cut.children.clear()
                        cut.programs.clear()


def _subtree(top: TrieStep) -> list[TrieStep]:
    """Return `top` and all steps below it, parents first.  Other threads may add steps meanwhile."""
    steps = [top]
    for step in steps:  # grows while it is iterated
        steps += step.children.copy().values()
    return steps


trie = Trie()


class CellCall:
    """One call of a hooked cell in one run.

    cell         the cell
    inputs       for each tensor argument, True if the tape knows it
    outputs      the same for each tensor result
    shown        the indices of the arguments, and of the results, that hooks see; None for all of both
    latest       the id of the last hook handle at the time of the call
    instruction  the instruction of the user's program that called it; None in a graph
    """

    __slots__ = ("cell", "inputs", "instruction", "latest", "outputs", "shown")

    def __init__(self, cell: Cell, inputs: tuple[bool, ...] = (), outputs: tuple[bool, ...] = ()):
        self.cell, self.inputs, self.outputs, self.latest = cell, inputs, outputs, ids.last
        self.instruction: int | None = None
        self.shown: tuple[Sequence[int], Sequence[int]] | None = None
