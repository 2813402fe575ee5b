"""The tape: what eager mode records while a gradient is being taken.

A tape is a region that is still open.  Every recorded event (an op, a cell entered or left, a hook attached) takes one
step in a *trie*, from a node to the child that its key names.  A training loop walks the same path every time, and
finds at its end the adjoint that was built the first time: no graph is built and no pass runs twice for one program.

The key of a step holds all that an adjoint depends on: the op with its attributes, where each operand comes from (the
*slot* of a value the tape knows, or the type of one that comes from outside), cells entered and left, hook slots filled
or empty; and the *place* of an op, a cell or a hook, the instruction of the user's program or the node of a graph: so no
error names the line of another path.  Numbers are not in it: a decaying learning rate walks the same path.  Hooks and
custom bprops are looked up anew in each run.

A gradient taken inside another (second order) records on the same tape: its region is the part from where it began to
where it ended, and the adjoint it runs is recorded in its turn.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, Literal

from adjoint.budget import budget
from adjoint.diagnostics import is_ours
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.assembly import Assembled, Assembler, Outside
from adjoint.runtime.gradients.trie import STEP_BYTES, CellCall, Step, trie
from adjoint.runtime.hooks.handles import TensorHooks
from adjoint.runtime.process.location import user_frame, user_location
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Tape"]

_HELD_AS_NAME = 4
"""References of a tensor that only the list of its names holds: that, its variable here and at the caller, getrefcount's argument."""


_RUNS_CONSTRUCT = Cell._recorded.__code__
"""The code that calls `enter`, construct and `leave`."""


class Tape:
    """What one thread records between the outermost gradient call and its end.

    values  slot -> the tensor that had it (an alias for a parameter, whose memory may be replaced)
    names   id of a tensor -> it and all others that the program takes for it: what a cell calls its argument, and what its
            caller calls it.  What is written to one of them is written to all
    named   names that were given since the last write, each beside the tensor that it is another name of
    owners  slot -> the parameter
    keep    id -> what had a slot and was written, or was written what has one: kept, so that its id stays its own
    hosts   cells and hook functions in the order in which they were met
    depth   gradients being taken, one inside the other
    site    the node of a graph that the next event belongs to: it takes the place of the line of Python in keys and
            locations; None outside of graphs, and while a graph runs Python of the user's
    adjoint_of  the instruction of the user's program that asked for the adjoint whose ops are being recorded; None where there is
            none, and while the adjoint runs Python of the user's
    """

    emits: Literal[False] = False
    """Whether ops are emitted as nodes instead of being computed: so while a function is made into a graph."""

    def __init__(self) -> None:
        self.site: Node | None = None
        self.adjoint_of: int | None = None
        self.slots: dict[int, int] = {}
        self.values: list[Tensor] = []
        self.names: dict[int, list[Tensor]] = {}
        self.named: list[tuple[Tensor, Tensor]] = []
        self.owners: dict[int, Tensor] = {}
        self.keep: dict[int, Tensor] = {}
        self.hosts: list[Any] = []
        self.attached: set[int] = set()
        self.calls: list[CellCall] = []
        self.depth = 0
        self.at = trie.root

    # -- slots ------------------------------------------------------------------------------------------------------
    def _place(self, x: Tensor) -> int:
        slot = len(self.values)
        self.slots[id(x)] = slot
        if x.__class__ is Tensor:
            self.values.append(x)
        else:
            # A Parameter may be assigned while this tape is alive: keep the memory it has now.
            alias = wrap(x.type, x.memory)
            self.values.append(alias)
            self.slots[id(alias)] = slot
            self.owners[slot] = x
        return slot

    def slot_of(self, x: Tensor) -> int | None:
        """The slot of a tensor this tape knows."""
        return self.slots.get(id(x))

    def _name(self, x: Tensor, asked: bool = False) -> Tensor:
        """Another name for `x`, which the program takes for `x` itself; `asked`: its gradient is asked for, so it has one."""
        alias = wrap(x.type, x.memory)
        if not x._takes_gradient and not asked:
            alias._takes_gradient = False
        if self.site is None:  # the values of a graph are never written
            self.named.append((alias, x))
        return alias

    def _names(self, x: Tensor) -> list[Tensor]:
        """All names of `x` that somebody can still ask for."""
        self._gather_names()
        names = self.names.get(id(x))
        if names is None:
            return [x]
        for name in [name for name in names if name is not x and self._alone_holds(name)]:
            del self.names[id(name)]
        names[:] = [name for name in names if id(name) in self.names]
        return names

    def _gather_names(self) -> None:
        names = self.names
        for alias, x in self.named:
            together = names.get(id(x))
            if together is None:
                together = names[id(x)] = [x]
            together.append(alias)
            names[id(alias)] = together
        self.named.clear()

    def _alone_holds(self, name: Tensor) -> bool:
        """Whether nobody but this tape has a name, which its caller and a list of names hold here: nobody will ever read it."""
        slot = self.slots.get(id(name))
        here = (slot is not None and self.values[slot] is name) + (id(name) in self.keep)
        return sys.getrefcount(name) <= _HELD_AS_NAME + here

    def overwritten(self, x: Tensor, value: Tensor) -> None:
        """`x` is about to hold the numbers of `value`: what was recorded keeps the old ones, and the hooks on them."""
        new = self.slots.get(id(value))
        for name in self._names(x):
            self._overwritten(name, new)
            if name is not x:
                name.type, name.memory = value.type, value.memory

    def _overwritten(self, x: Tensor, new: int | None) -> None:
        slot = self.slots.pop(id(x), None)
        if slot is not None:
            if self.values[slot] is x:
                alias = self.values[slot] = wrap(x.type, x.memory)
                self.slots[id(alias)] = slot
            self.keep[id(x)] = x
        if (slot is None or slot in self.attached) and x.__class__ is Tensor:
            x._hooks = None
        if new is not None:
            self.slots[id(x)] = new
            self.keep[id(x)] = x

    # -- recording --------------------------------------------------------------------------------------------------
    def _step(self, key: tuple[Any, ...]) -> Step | None:
        return self.at.children.get(key)

    def _instruction(self, frame: FrameType | None) -> int | None:
        """The instruction of the user's program that runs in `frame` or above, as a number; None where there is none.

        A code object holds its instructions: no two instructions of codes that are alive have the same. A step keeps its code alive.

        Nothing of the user's stands between the construct of a cell of the library and the place where the cell was called.
        """
        while frame is not None:
            code = frame.f_code
            if not is_ours[code.co_filename]:
                return id(code) + frame.f_lasti
            if code is _RUNS_CONSTRUCT and self.calls and self.calls[-1].instruction is not None:
                return self.calls[-1].instruction
            frame = frame.f_back
        return None

    def instruction_above(self) -> int | None:
        """The instruction of the user's program that has led here."""
        return self._instruction(sys._getframe(1))

    def _grow(self, key: tuple[Any, ...], kind: str, about: Any, operands: Sequence[int], results: Sequence[int],
              host: int = -1, rule: int = -1) -> None:
        loc, frame = (user_location(), user_frame()) if self.site is None else (self.site.loc, None)
        step = Step(self.at, kind, about, tuple(operands), tuple(results), host, loc, rule, frame and frame.f_code)
        self.at.children[key] = step
        self.at = step
        budget.charge(STEP_BYTES)

    def record(self, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """An op has run.  Nothing is recorded when no operand is known here: its results are constants."""
        slots, values, site = self.slots, self.values, self.site
        key: list[Any] = [op, site]
        known = outside = False
        for x in operands:
            slot = slots.get(id(x))
            if slot is None:
                key.append(x.type)
                outside = True
            else:
                key.append(slot)
                known = True
        if not known:
            return
        if outside:
            for x in operands:
                if id(x) not in slots:
                    self._place(x)
        if site is None:
            frame = sys._getframe(3)  # past `apply` and the operator that called it: looking at a frame costs
            code = frame.f_code
            key[1] = (self.adjoint_of or self._instruction(frame)) if is_ours[code.co_filename] else id(code) + frame.f_lasti
        step = self.at.children.get(tuple(key))
        first = len(values)
        if step is None:
            self._grow(tuple(key), "op", op, [slots[id(x)] for x in operands], range(first, first + len(results)))
        else:
            self.at = step
        for x in results:
            slots[id(x)] = len(values)
            values.append(x)

    def begin(self, key: Any, owner: Any) -> Step:
        """A gradient of the function identified by `key` begins; `owner` is kept, so that the key stays its own."""
        step = self._step(("begin", key))
        if step is None:
            self._grow(("begin", key), "begin", owner, (), ())
        else:
            self.at = step
        self.depth += 1
        return self.at

    def leaf(self, x: Tensor) -> Tensor:
        """A new tensor that stands for `x` in the pass that begins; hooks registered on `x` are attached to it."""
        alias = self._name(x, asked=True)
        known = self.slots.get(id(x))
        if known is not None:
            # Inside another gradient: the alias is x, and what flows to it flows on.
            self._alias("leaf", (known,), [alias])
        else:
            self._leaf(alias)
        if x._hooks:
            # What the function registers on its argument belongs to this pass.
            alias._hooks = TensorHooks(outside=x._hooks)
            self.attach(alias)
        return alias

    def watch(self, parameter: Tensor) -> int:
        """The slot of a parameter whose gradient is asked for."""
        slot = self.slots.get(id(parameter))
        if slot is None:
            slot = self._leaf(parameter)
        if parameter._hooks:
            self.attach(parameter)
        return slot

    def _leaf(self, x: Tensor) -> int:
        slot = self._place(x)
        key = ("leaf", x.type)
        step = self._step(key)
        if step is None:
            self._grow(key, "leaf", getattr(x, "name", ""), (), (slot,))
        else:
            self.at = step
        return slot

    def _alias(self, kind: str, operands: tuple[int, ...], results: Sequence[Tensor], *, about: Any = None, host: Any = None) -> None:
        """A step whose results are new names for its operands."""
        position = -1
        if host is not None:
            position = len(self.hosts)
            self.hosts.append(host)
        key = (kind, about, operands, self.site or self._instruction(sys._getframe(2)))
        step = self._step(key)
        first = len(self.values)
        if step is None:
            self._grow(key, kind, about, operands, range(first, first + len(results)), position)
        else:
            self.at = step
        for x in results:
            self._place(x)

    # -- hooks ------------------------------------------------------------------------------------------------------
    def attach(self, x: Tensor) -> None:
        """A hook was registered on `x`: its hooks run when its gradient is complete."""
        slot = self.slots.get(id(x))
        if slot is not None and slot not in self.attached:
            self.attached.add(slot)
            self._alias("attach", (slot,), (), about=getattr(x, "name", ""), host=x._hooks)

    def hook(self, kind: str, host: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """What a `HookBackward` ("value") or `InsertGradientOf` ("gradient") makes of `operands`: tensors of the same numbers."""
        results = [wrap(x.type, x.memory) for x in operands]
        if not any(id(x) in self.slots for x in operands):
            return tuple(results)
        for x in operands:
            if id(x) not in self.slots:
                self._leaf(x)
        self._alias("hook", tuple(self.slots[id(x)] for x in operands), results, about=(kind, title), host=host)
        return tuple(results)

    def outputs(self, cell: Cell, results: Sequence[Tensor]) -> list[Tensor]:
        """New names for a cell's results behind its backward pre hooks."""
        known = [i for i, x in enumerate(results) if id(x) in self.slots]
        made = list(results)
        if known:
            for i in known:
                made[i] = self._name(results[i])
            call = CellCall(cell, outputs=tuple([i in known for i in range(len(results))]))
            self._alias("outputs", tuple([self.slots[id(results[i])] for i in known]), [made[i] for i in known],
                        about=cell.title, host=call)
        return made

    # -- cells ------------------------------------------------------------------------------------------------------
    def enter(self, cell: Cell, arguments: Sequence[Tensor], hooked: bool, rule: Any, shown: Sequence[int] | None = None) -> list[Tensor]:
        """A cell is entered; its tensor arguments get names of their own inside.

        shown  the numbers of those that backward hooks are shown; None for all
        """
        slots = self.slots
        if rule is not None:
            for x in arguments:
                if id(x) not in slots:
                    self._leaf(x)
        operands = tuple([slots.get(id(x), -1) for x in arguments])
        position = rule_position = -1
        call = CellCall(cell, tuple([s >= 0 for s in operands]))
        if self.site is None:
            call.instruction = self._instruction(sys._getframe(4))  # past `Cell.__call__` and what it calls
        if shown is not None:
            call.shown = shown, ()
        self.calls.append(call)
        if hooked:
            position = len(self.hosts)
            self.hosts.append(call)
        if rule is not None:
            rule_position = len(self.hosts)
            self.hosts.append(rule)
        key = ("enter", self.site or call.instruction, cell.title, hooked, rule is not None, operands)
        step = self._step(key)
        first = len(self.values)
        if step is None:
            count = sum(s >= 0 for s in operands)
            self._grow(key, "enter", cell.title, operands, range(first, first + count), position, rule_position)
        else:
            self.at = step
        inside = list(arguments)
        for i, slot in enumerate(operands):
            if slot >= 0:
                inside[i] = alias = self._name(arguments[i])
                self._place(alias)
        return inside

    def leave(self, results: Sequence[Tensor], rule: bool = False, shown: Sequence[int] | None = None) -> list[Tensor]:
        """The cell entered last is left; its tensor results get names of their own outside; `shown` as for `enter`."""
        slots = self.slots
        if rule:
            for x in results:
                if id(x) not in slots:
                    self._leaf(x)
        operands = tuple([slots.get(id(x), -1) for x in results])
        call = self.calls.pop()
        call.outputs = tuple([s >= 0 for s in operands])
        if shown is not None and call.shown is not None:
            call.shown = call.shown[0], shown
        key = ("exit", operands)
        step = self._step(key)
        first = len(self.values)
        if step is None:
            self._grow(key, "exit", None, operands, range(first, first + sum(s >= 0 for s in operands)))
        else:
            self.at = step
        outside = list(results)
        for i, slot in enumerate(operands):
            if slot >= 0:
                outside[i] = alias = self._name(results[i])
                self._place(alias)
        return outside

    # -- from the path to IR ----------------------------------------------------------------------------------------
    def path(self, start: Step) -> list[Step]:
        """The steps after `start`, in order."""
        steps: list[Step] = []
        at = self.at
        while at is not start:
            steps.append(at)
            assert at.parent is not None
            at = at.parent
        steps.reverse()
        return steps

    def assemble(self, start: Step, wanted: Sequence[int], outside: Outside | None = None) -> Assembled:
        """What was recorded since `start` as IR.

        wanted   slots that are asked for at its end
        outside  what stands for a slot that comes from outside; None: a free value
        """
        return Assembler(lambda slot: self.values[slot].type, self.path(start), wanted, outside).run()
