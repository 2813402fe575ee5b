"""Paths: what one tape has recorded, as a way through the trie (the tree of all recordings).

A path has the values that its steps define, and makes the IR of its next step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.foundation.diagnostics import InternalError, Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Node, Region, Value, symbol_like
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell
from adjoint.ir.types import Type
from adjoint.runtime.gradients.trie import EnterStep, LeaveStep, TrieStep

__all__ = ["Path"]


class Path:
    """Everything that one tape has recorded: the steps from the root of the trie (the tree of all recordings) to the step `end`.

    A step is one recorded event, such as an op.  This class gives the IR of these steps, and adds new ones.  A slot is the number of a
    value on the tape.

    values  the value of each slot
    hosts   the symbol of each of the tape's hosts (hooks and bprops), by index
    cells   the steps of cells that have been entered and not left, outermost first
    """

    def __init__(self, end: TrieStep):
        self.values: list[Value] = []
        self.hosts: list[str] = []
        self.cells: list[EnterStep] = []
        self._hints: dict[str, int] = {}
        self._symbols: dict[str, int] = {}
        steps, at = list[TrieStep](), end
        while at.parent is not None:
            steps.append(at)
            at = at.parent
        self.end = at
        for step in reversed(steps):
            self.append(step)

    def append(self, step: TrieStep) -> None:
        """Continue the path by a step (a recorded event) that follows its last one."""
        self.end = step
        self.values += step.values
        self.hosts += step.hosts
        for symbol in step.hosts:
            self._symbols.setdefault(symbol, 1)
        if isinstance(step, EnterStep):
            self.cells.append(step)
        elif isinstance(step, LeaveStep):
            self.cells.pop()

    def nodes(self, start: TrieStep) -> list[Node]:
        """Return the nodes of the IR for everything recorded after the step `start`, in order; what happened in a cell is in the cell's
        region.
        """
        found: list[Node] = []
        at = self.end
        while at is not start:
            if isinstance(at, EnterStep) or at.parent is None:
                raise InternalError("a gradient ends in another cell than it began in")
            if at.node is not None:
                found.append(at.node)
            at = at.entered.parent if isinstance(at, LeaveStep) else at.parent
            assert at is not None
        found.reverse()
        return found

    # -- names ------------------------------------------------------------------------------------------------------
    def hint(self, base: str) -> str:
        """Return a name for a value that no other value of the path has, so that a cotangent (gradient) can be named after its value.

        base  the beginning of the name
        """
        if not self._hints:
            for value in self.values:
                stem, _, number = value.hint.rpartition(".")
                if number.isdecimal():
                    self._hints[stem] = max(self._hints.get(stem, 0), int(number))
                else:
                    self._hints.setdefault(value.hint, 0)
        number = self._hints[base] = self._hints.get(base, -1) + 1
        return f"{base}.{number}" if number else base

    def symbol(self, title: str) -> str:
        """Return a symbol for a hook or bprop that no other one of the path has.

        title  a description of the function, with which the symbol begins
        """
        # The location of the host tells where the function is defined, so the symbol is the name only.
        base = symbol_like(title.partition(" at ")[0], "hook")
        if base not in self._symbols:
            return base
        number = self._symbols[base]
        while (symbol := f"{base}.{number}") in self._symbols:
            number += 1
        self._symbols[base] = number
        return symbol

    # -- the next step ----------------------------------------------------------------------------------------------
    def leaf(self, type_: Type, name: str) -> TrieStep:
        """Make the step (recorded event) for a value that no op computes, such as an argument by which the gradient is taken.

        name  a name for the value
        """
        return TrieStep(self.end, values=(Value(type_, self.hint(name)),))

    def operation(self, op: Op, operands: Sequence[int], outside: Sequence[Type], hint: str, loc: Loc, owner: Any,
                  hosts: tuple[str, ...] = ()) -> TrieStep:
        """Make the step (recorded event) for an op that has run here for the first time.

        op        the op
        operands  the slots (value numbers) of its operands
        outside   the types of operands that come from outside; they get the next slots
        hint      a name for its results
        loc       its location in the user's program
        owner     an object to keep alive, since its address is in the step's key
        hosts     the symbols of hooks that it calls
        """
        free = tuple([Value(type_, self.hint("x")) for type_ in outside])
        known, count = self.values, len(self.values)
        atoms = [known[slot] if slot < count else free[slot - count] for slot in operands]
        node = Builder(loc).emit_node(op, atoms, hint=self.hint(hint))
        return TrieStep(self.end, node, (*free, *node.results), hosts, owner)

    def entered(self, title: str, operands: Sequence[int], hooked: bool, ruled: bool, loc: Loc, owner: Any) -> EnterStep:
        """Make the step that enters a cell.

        title     the cell's name
        operands  the slots (value numbers) of its arguments
        hooked    True if the cell has backward hooks
        ruled     True if it has a `bprop` of its own
        loc       the location of the call
        owner     an object to keep alive, since its address is in the step's key
        """
        arguments = tuple([self.values[slot] for slot in operands])
        params = tuple([Value(x.type, self.hint(x.hint.partition(".")[0])) for x in arguments])
        op = Cell(title, self.symbol(title) if hooked else "", self.symbol(f"{title}.bprop") if ruled else "")
        return EnterStep(self.end, op, arguments, params, tuple(filter(None, (op.symbol, op.rule))), loc, owner)

    def left(self, operands: Sequence[int]) -> LeaveStep:
        """Return the step (recorded event) for leaving the innermost cell.  The tape adds it to the trie.

        operands  the slots (value numbers) of the cell's results
        """
        cell = self.cells[-1]
        region = Region(cell.values, tuple(self.nodes(cell)), tuple([self.values[slot] for slot in operands]))
        node = Builder(cell.loc).emit_node(cell.op, cell.arguments, regions=(region,), hint=self.hint(_last_part(cell.op.title)))
        return LeaveStep(self.end, node, cell)


def _last_part(title: str) -> str:
    """Return the last part of a cell's title in lower case, as a name for its result; `y` if that part is no identifier."""
    last = title.rpartition(".")[2]
    return last.lower() if last.isidentifier() else "y"
