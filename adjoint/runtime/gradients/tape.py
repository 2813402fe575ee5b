"""The tape: the recording of eager mode while a gradient is being taken.

Every recorded event (an op, a cell entered or left, a hook attached) is a step in the *trie*, a tree of all recordings.  A program that
runs again follows the steps that exist, and finds its adjoint where the recording ends.  So only the first time a graph is built and passes
run.

The key of a step holds everything that an adjoint depends on:

- the op with its attributes, and whether hook slots are filled;
- the source of each operand: the *slot* (number) of a value that the tape knows, or the type of any other value;
- cells entered and left;
- the location of an op, a cell or a hook, which is the instruction of the user's program or the node of a graph, so that no error names
  the line of another path.

Values of tensors are not in the key: a decaying learning rate takes the same steps.  Hooks and custom bprops are looked up in each run.

A gradient taken inside another one (second order) records on the same tape: its region is the part between its beginning and its end, and
its adjoint is recorded too.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Literal

from adjoint.foundation import collector
from adjoint.foundation.budget import budget
from adjoint.foundation.diagnostics import Loc, Within, is_ours, within
from adjoint.foundation.ownership import OF_VARIABLE
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.ops.conversion import Identity, NoGrad
from adjoint.ir.ops.host import Attach, Hook, Outputs
from adjoint.ir.types import TensorType
from adjoint.runtime.cells.calling import Eager
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.execution.recording import Crossing, Recording
from adjoint.runtime.gradients.extended import Extended
from adjoint.runtime.gradients.path import Path
from adjoint.runtime.gradients.trie import STEP_BYTES, CellCall, Chain, PackStep, TrieStep, trie
from adjoint.runtime.hooks.firing import GradientKind
from adjoint.runtime.hooks.handles import TensorHooks
from adjoint.runtime.hooks.saved_tensors import Packed, saved_tensors_hooks
from adjoint.runtime.process.location import receiver, user_frame, user_location
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["PackingTape", "Tape", "new_tape"]

_frame, _new = sys._getframe, object.__new__

_RUNS_CONSTRUCT = Eager.construct.__code__
"""The code object of the function that calls `enter`, then construct, then `leave`; it is recognised among the callers of an op."""


class Tape:
    """Records what one thread does, from the beginning of the outermost gradient to its end.

    A slot is the number of a value that the tape knows.  A *name* is one of several tensor objects that are one tensor to the program: a
    cell sees other objects for its arguments than its caller.

    values  the tensor of each slot (for a Parameter another object, since the Parameter's memory may be replaced)
    names   by id of a tensor, all names that it has; a write to one of them writes all
    named   pairs (new name, tensor) added since `names` was last brought up to date
    owners  for the slot of a Parameter, the Parameter
    keep    by id, tensors that had a slot and were overwritten, were overwritten by one with a slot, or were made by `present`: they are
        kept alive so that the id is not reused
    frozen  by id, the slot that a Parameter had until its `requires_grad` became False
    thawed  by id, the slot that a Parameter has had since its `requires_grad` became True
    renamed_parameter  whether a Parameter has a new name, which a function may return in its place
    hosts   cells and hook functions in order of first use
    attached  the slots of values with hooks
    calls   the calls of cells that have been entered and not left
    extended  the pieces recorded by one call some of whose results were not kept; `values` has None in place of these
    depth   the number of nested gradients being taken
    at      the step that has been reached
    site    the graph node that the next event belongs to, used in keys and locations in place of the line of Python; None outside of
        graphs, and while a graph runs the user's Python code
    adjoint_of  the instruction of the user's program that requested the adjoint whose ops are being recorded; None if there is none, and
        while the adjoint runs the user's Python code
    """

    emits: Literal[False] = False
    """False: a tape records ops after they are computed; only the lowering of a graph emits them as nodes instead."""

    def __init__(self) -> None:
        self.site: Node | None = None
        self.adjoint_of: int | None = None
        self.slots: dict[int, int] = {}
        self.values: list[Tensor] = []
        self.names: dict[int, list[Tensor]] = {}
        self.named: list[tuple[Tensor, Tensor]] = []
        self.renamed_parameter = False
        self.owners: dict[int, Tensor] = {}
        self.keep: dict[int, Tensor] = {}
        self.hosts: list[Any] = []
        self.attached: set[int] = set()
        self.frozen: dict[int, int] = {}
        self.thawed: dict[int, int] = {}
        self.calls: list[CellCall] = []
        self.extended: list[Extended] = []
        self.depth = 0
        self.at = trie.root
        self._path: Path | None = None

    # -- slots ------------------------------------------------------------------------------------------------------
    def _place(self, x: Tensor) -> int:
        slot = len(self.values)
        self.slots[id(x)] = slot
        if x.__class__ is Tensor:
            self.values.append(x)
        else:
            # A Parameter may be assigned while this tape is alive: keep its present memory.
            alias = wrap(x.type, x.memory)
            self.values.append(alias)
            self.slots[id(alias)] = slot
            self.owners[slot] = x
        return slot

    def slot_of(self, x: Tensor) -> int | None:
        """Return the slot of a tensor: the number under which the tape (the recording) knows its value; None if it does not know it."""
        return self.slots.get(id(x))

    def present(self, x: Tensor) -> Tensor:
        """Return a new tensor with the present value of `x` and its slot: a later write to `x` does not change it."""
        kept = wrap(x.type, x.memory)
        slot = self.slots.get(id(x))
        if slot is not None:
            self.slots[id(kept)] = slot
            self.keep[id(kept)] = kept
        return kept

    def _name(self, x: Tensor, asked: bool = False) -> Tensor:
        """Return a new tensor object that the program treats as `x` itself, such as the object that a cell sees for an argument.

        asked  True if the gradient of `x` was requested, so that it may have one even if `x` may not
        """
        alias = wrap(x.type, x.memory)
        if not x._takes_gradient and not asked:
            alias._takes_gradient = False
        self.named.append((alias, x))
        return alias

    def _renamed(self, x: Tensor) -> Tensor:
        """Return a new tensor object that the program treats as `x` itself, and give it the next slot (value number).

        It does not call `_name`, for speed: every argument and result of a Cell gets one.
        """
        alias = _new(Tensor)
        alias.type, alias.memory = x.type, x.memory
        if not x._takes_gradient:
            alias._takes_gradient = False
        if x.__class__ is not Tensor:
            self.renamed_parameter = True
        self.named.append((alias, x))
        self.slots[id(alias)] = len(self.values)
        self.values.append(alias)
        return alias

    def _names(self, x: Tensor) -> list[Tensor]:
        """Return all tensor objects for `x` that the program can still reach."""
        self._gather_names()
        names = self.names.get(id(x))
        if names is None:
            return [x]
        for name in [name for name in names if name is not x and sys.getrefcount(name) <= OF_VARIABLE + 1 + self._held(name)]:
            del self.names[id(name)]  # only this tape, this variable and the list refer to it: it can never be read again
        names[:] = [name for name in names if id(name) in self.names]
        return names

    def identity(self, x: Tensor) -> int:
        """Return a number that is equal for all tensor objects that the program treats as one tensor.

        It is valid until the next such object is made.
        """
        self._gather_names()
        names = self.names.get(id(x))
        return id(x) if names is None else id(names[0])

    def parameter_of(self, x: Tensor) -> Tensor:
        """Return the Parameter for which the tensor object `x` stands, such as inside of a cell; `x` itself if it stands for none."""
        self._gather_names()
        first = self.names.get(id(x), (x,))[0]
        return x if first.__class__ is Tensor else first

    def _gather_names(self) -> None:
        names = self.names
        for alias, x in self.named:
            together = names.get(id(x))
            if together is None:
                together = names[id(x)] = [x]
            together.append(alias)
            names[id(alias)] = together
        self.named.clear()

    def _held(self, name: Tensor) -> int:
        """Return how many references to a tensor object are in `values` and `keep`.  `_names` compares this with all references to the
        object, to find out whether the program can still reach it.

        name  one of the tensor objects that are one tensor to the program; its entry in `names` is not counted
        """
        slot = self.slots.get(id(name))
        return (slot is not None and self.values[slot] is name) + (id(name) in self.keep)

    def overwritten(self, x: Tensor, value: Tensor) -> None:
        """Prepare for `x` being overwritten by `value`.  Call this before the write.

        What was recorded keeps the old memory, and hooks on `x` stay with the old value; `x` then has the slot of `value`.
        """
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
        if x.__class__ is Tensor:
            x._hooks = None
        if new is not None:
            self.slots[id(x)] = new
            self.keep[id(x)] = x

    # -- tensors that stand for others -----------------------------------------------------------------------------
    @contextmanager
    def lend(self, parameters: Sequence[Tensor], values: Sequence[Tensor]) -> Iterator[None]:
        """Let Parameters stand for tensors within a `with` statement: a use of one of them is a use of its tensor."""
        slots, first = self.slots, len(self.values)
        self._gather_names()
        kept = [(slots.pop(id(p), None), self._nameless(p)) for p in parameters]
        try:
            for p, x in zip(parameters, values, strict=True):
                if (slot := slots.get(id(x))) is not None:
                    slots[id(p)] = slot
            yield
        finally:
            self._gather_names()
            for p, (slot, names) in zip(parameters, kept, strict=True):
                last = slots.pop(id(p), None)
                if last is not None and self.values[last] is p:
                    alias = self.values[last] = wrap(p.type, p.memory)
                    slots[id(alias)] = last
                self.keep.pop(id(p), None)
                self._nameless(p)
                if slot is not None:
                    slots[id(p)] = slot
                if names is not None:
                    names.insert(0, p)  # the Parameter comes first, as in `_gather_names`
                    self.names[id(p)] = names
            lent = {id(p) for p in parameters}
            self.owners = {slot: p for slot, p in self.owners.items() if slot < first or id(p) not in lent}

    def _nameless(self, x: Tensor) -> list[Tensor] | None:
        """Remove a tensor object from the names that it shares with others; return these names."""
        names = self.names.pop(id(x), None)
        if names is not None:
            names[:] = [name for name in names if name is not x]
        return names

    def lent_as(self, parameters: Sequence[Tensor], values: Sequence[Tensor], made: Sequence[Tensor]) -> None:
        """Let the tensors in `made` be known as the present values of Parameters that are lent; those in `values` are known already."""
        for p, x, new in zip(parameters, values, made, strict=True):
            slot = self.slots.get(id(p))
            if new is not x and slot is not None:
                self.slots[id(new)] = slot
                self.keep[id(new)] = new

    # -- recording --------------------------------------------------------------------------------------------------
    def _step(self, key: tuple[Any, ...]) -> TrieStep | None:
        return self.at.children.get(key)

    def _instruction(self, frame: FrameType | None) -> int | None:
        """Return a number that identifies the instruction of the user's program that is running in `frame` or in one of its callers; None
        if none.

        It is an address inside of the code object, unique among living code objects; what was recorded keeps its code alive.
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
        """Return a number that identifies the instruction of the user's program that is running; None if there is none (see
        `_instruction`).
        """
        return self._instruction(sys._getframe(1))

    def path(self) -> Path:
        """Return everything that this tape has recorded, as a path through the trie (the tree of all recordings), with its IR."""
        path = self._path
        if path is None or path.end is not self.at:
            path = self._path = Path(self.at)
        return path

    def _grow(self, key: tuple[Any, ...], step: TrieStep) -> None:
        """Add a step (a recorded event) to the trie, the tree of all recordings, after the last one of this tape; it becomes the last one.

        key   the key under which a later recording finds it
        step  the new step
        """
        path = self.path()
        self.at.children[key] = step
        self.at = step
        path.append(step)
        budget.charge(STEP_BYTES)

    def _line(self) -> tuple[Loc, CodeType | None]:
        """Return the location of the event that is being recorded, and the code object of the user's program that is running; None for that
        in a graph or if there is none.
        """
        if self.site is not None:
            return self.site.loc, None
        frame, cells = user_frame(), self.path().cells
        loc = user_location()
        return within(loc, Within(cells[-1].op.title)) if cells else loc, frame and frame.f_code

    def record(self, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Record an op that has run, with its operands and results.  If the tape knows none of the operands, do nothing: the results are
        constants.
        """
        slots, values, place = self.slots, self.values, self.site
        first, count = len(values), len(operands)
        # One and two operands are handled without lists and calls: most ops have as many.
        if count == 1:
            a = slots.get(id(operands[0]))
            if a is None:
                return
            sources: tuple[int | TensorType, ...] | None = (a,)
        elif count == 2:
            x, y = operands
            a, b = slots.get(id(x)), slots.get(id(y))
            if a is None:
                if b is None:
                    return
                self._place(x)
                sources = (x.type, b)
            elif b is None:
                self._place(y)
                sources = (a, y.type)
            else:
                sources = (a, b)
        else:
            sources = self._sources(operands)
            if sources is None:
                return
        if place is None:
            frame = _frame(3)  # skips `apply` and the operator that called it: each inspected frame costs time
            code = frame.f_code
            place = (self.adjoint_of or self._instruction(frame)) if is_ours[code.co_filename] else id(code) + frame.f_lasti
        step = self.at.children.get((op, place, sources))
        if step is None:
            self._go(op, place, sources, [slots[id(x)] for x in operands], [x.type for x in values[first:]])
        else:
            self.at = step
        for x in results:
            slots[id(x)] = len(values)
            values.append(x)

    def _sources(self, operands: Sequence[Tensor]) -> tuple[int | TensorType, ...] | None:
        """Return, for each operand, its slot (value number) on the tape, or its type if it gets a slot only now; None if the tape knows
        none of the operands.
        """
        slots = self.slots
        sources: list[Any] = [slots.get(id(x)) for x in operands]
        if all(source is None for source in sources):  # also of no operands: an op without any makes a constant
            return None
        if None in sources:
            for i, x in enumerate(operands):
                if sources[i] is None:
                    # Using one tensor twice is another path than using two tensors of one type.
                    sources[i] = slots.get(id(x))
                    if sources[i] is None:
                        self._place(x)
                        sources[i] = x.type
        return tuple(sources)

    def packing(self, hooks: saved_tensors_hooks) -> PackingTape:
        """Return the tape that takes the place of this one inside of `saved_tensors_hooks`."""
        return PackingTape(self, hooks)

    # -- whole pieces -----------------------------------------------------------------------------------------------
    def extend(self, recording: Recording, operands: Sequence[Tensor], made: Sequence[Tensor | None]) -> Extended | None:
        """Record consecutive ops that one C call has run, as if they were recorded one after the other.

        recording  the ops
        operands   the values from outside, in the order of the recording
        made       the results of the ops in order; None for one that was not kept, which is computed again if an adjoint reads it

        Return an object that can compute the values which were not kept; None if all were kept.
        """
        slots, values = self.slots, self.values
        sources = tuple([x.type if (slot := slots.get(id(x))) is None else slot for x in operands])
        place = None if recording.sited else self.adjoint_of or self._instruction(_frame(1))
        key = (recording, place, sources)
        chain = self.at.chains.get(key) if self.at.chains is not None else None
        if chain is None:
            chain = self._chain(key)
        else:
            self.at = chain.end
        first, given, whole = len(values), len(operands), True
        for number, known in zip(chain.values, chain.known, strict=True):
            if number < given:
                x = operands[number]
                if known:
                    self._place(x)
                    continue
                x = wrap(x.type, x.memory)
            else:
                x = made[number - given]
                if x is None:
                    whole = False
                elif not known:
                    x = wrap(x.type, x.memory)  # the program may write the object that it has
            if x is not None:
                slots[id(x)] = len(values)
            values.append(x)  # pyright: ignore[reportArgumentType] - a tensor stands there before it is read, by `fill`
        if whole:
            return None
        extended = Extended(first, recording, chain, [x.memory for x in operands])
        self.extended.append(extended)
        return extended

    def _chain(self, key: tuple[Recording, int | None, tuple[int | TensorType, ...]]) -> Chain:
        """Record each op of a recording as a step of its own, and return the shortcut over these steps, which later calls of `extend` take.

        key  the recording, the location, and for each operand from outside its slot (value number) or its type
        """
        recording, place, sources = key
        start, around, first = self.at, self.site, len(self.values)
        slots = [source if isinstance(source, int) else None for source in sources]
        filled: list[int] = []
        entered: list[list[tuple[int, int]]] = []
        try:
            for each in recording.steps:
                number = len(slots)
                if isinstance(each, Crossing):
                    self.site = each.site
                    crossing = tuple([-1 if (slot := slots[i]) is None else slot for i in each.values])
                    if each.title is not None:
                        entered.append([(i, slot) for i in each.values if (slot := slots[i]) is not None])
                        self._go_into(each.title, place, crossing, hooked=False, ruled=False)
                    else:
                        self._go_out(crossing)
                        for i, slot in entered.pop():
                            slots[i] = slot
                    for i in each.values:
                        if slots[i] is not None:
                            slots[i] = first + len(filled)
                            filled.append(i)
                    continue
                if isinstance(each.op, NoGrad) or all(slots[i] is None for i in each.operands):
                    slots += [None] * len(each.types)  # a constant
                    continue
                found: list[int | TensorType] = []
                outside: list[TensorType] = []
                for i in each.operands:
                    slot = slots[i]
                    if slot is None:
                        slots[i] = first + len(filled)
                        filled.append(i)
                        outside.append(recording.types[i])
                    found.append(recording.types[i] if slot is None else slot)
                self.site = each.site
                self._go(each.op, each.site or place, tuple(found), [slots[i] for i in each.operands], outside)
                for i in range(number, number + len(each.types)):
                    slots.append(first + len(filled))
                    filled.append(i)
        except BaseException:
            self.at = start
            raise
        finally:
            self.site = around
        last = {slot: i for i, slot in enumerate(slots)}
        chain = Chain(self.at, tuple(filled), tuple([first + slot in last for slot in range(len(filled))]))
        if start.chains is None:
            start.chains = {}
        start.chains[key] = chain
        budget.charge(chain.nbytes)
        return chain

    def _go_into(self, title: str, place: int | None, operands: tuple[int, ...], hooked: bool, ruled: bool) -> None:
        """Record that a cell is entered: move to the step that exists for it in the trie, or add a new one.

        title     the cell's name
        place     the instruction of the user's program that is running, for an event without a site
        operands  the slots of its arguments; -1 for those that the tape does not know
        hooked    True if it has backward hooks
        ruled     True if it has a `bprop` of its own
        """
        key = ("enter", self.site or place, title, hooked, ruled, operands)
        step = self._step(key)
        if step is None:
            path, (loc, code) = self.path(), self._line()
            self._grow(key, path.entered(title, [slot for slot in operands if slot >= 0], hooked, ruled, loc, code))
        else:
            self.at = step

    def _go_out(self, operands: tuple[int, ...]) -> None:
        """Record that the cell entered last is left: move to the step that exists for it in the trie, or add a new one.

        operands  the slots of its results; -1 for those that the tape does not know
        """
        key = ("exit", operands)
        step = self._step(key)
        if step is None:
            self._grow(key, self.path().left([slot for slot in operands if slot >= 0]))
        else:
            self.at = step

    def _go(
        self, op: Op, place: Any, sources: tuple[int | TensorType, ...], operands: Sequence[Any], outside: Sequence[TensorType],
    ) -> None:
        """Record an op: move to the step (recorded event) that exists for it in the trie, or add a new one.

        place     the location: an instruction of the user's program, or a graph node
        sources   for each operand its slot (value number) or its type, for the key
        operands  the slots of its operands
        outside   the types of operands that have just got their slots
        """
        key = (op, place, sources)
        step = self.at.children.get(key) or self._moved(key)
        if step is None:
            path, (loc, owner) = self.path(), self._line()
            self._grow(key, path.operation(op, operands, outside, op.name[0], loc, owner))
        else:
            self.at = step

    def _moved(self, key: tuple[Op, Any, Any]) -> TrieStep | None:
        """Return the step of an op whose expression has become another place, and note it there; None if there is none.

        Once CPython has specialised an instruction (PEP 659), a frame that runs it may stand elsewhere: behind its last cache entry while
        it calls Python, as indexing does, or at another one of the instructions of a call.
        """
        op, place, sources = key
        frame = user_frame() if self.at.children else None
        if frame is None or place != id(frame.f_code) + frame.f_lasti:
            return None
        for other in _places_of_expression(frame.f_code, frame.f_lasti):
            step = self.at.children.pop((op, id(frame.f_code) + other, sources), None)
            if step is not None:
                self.at.children[key] = step
                return step
        return None

    def fill(self, slots: Sequence[int]) -> None:
        """Make sure that the values in these slots (value numbers) exist: compute those again that were not kept when their ops ran."""
        values = self.values
        for slot in [slot for slot in slots if values[slot] is None]:
            extended = self.extended[bisect_right(self.extended, slot, key=Extended.begins) - 1]
            extended.keep(slot)
            if values[slot] is None:
                self.fill_piece(extended)

    def fill_piece(self, extended: Extended) -> None:
        """Compute again all values of recorded ops, as `extend` has recorded them, that were not kept."""
        values = self.values
        for filled, x in extended.values():
            if values[filled] is None:
                values[filled] = x
                self.slots[id(x)] = filled

    def begin(self, key: Any, owner: Any) -> TrieStep:
        """Begin a gradient: record its beginning, and return that step (recorded event), at which the region to differentiate starts.

        key    identifies the function
        owner  an object that is kept alive, so that the key stays unique
        """
        step = self._step(("begin", key))
        if step is None:
            self._grow(("begin", key), TrieStep(self.at, owner=owner))
        else:
            self.at = step
        self.depth += 1
        return self.at

    def leaf(self, x: Tensor) -> Tensor:
        """Return a new tensor object for `x`, an argument by which the gradient is taken; the caller runs the function on it.

        Hooks that are registered on `x` run for it.
        """
        alias = self._name(x, asked=True)
        known = self.slots.get(id(x))
        if known is not None:
            # Inside another gradient the alias is another name of x, so that the outer gradient flows to x.
            self._alias("leaf", "", (known,), [alias])
        else:
            self._leaf(alias)
        if x._hooks:
            # Hooks that the function registers on its argument are called in this gradient only.
            alias._hooks = TensorHooks(outside=x._hooks)
            self.attach(alias)
        return alias

    def watch(self, parameter: Tensor) -> int:
        """Return the slot (value number) of a Parameter by which a gradient is taken; give it a slot if it has none."""
        slot = self.slots.get(id(parameter))
        if slot is None:
            slot = self._leaf(parameter)
        if parameter._hooks:
            self.attach(parameter)
        return slot

    def trains(self, parameter: Tensor, requires_grad: bool) -> None:
        """Note that `requires_grad` of a Parameter has changed while the function runs that is differentiated.

        requires_grad  the new value: True if later uses of the Parameter take part in gradients
        """
        if not requires_grad:
            slot = self.slots.pop(id(parameter), None)
            if slot is not None:
                self.frozen[id(parameter)] = slot
            return
        slot = self.frozen.pop(id(parameter), None)
        if slot is not None:
            self.slots[id(parameter)] = slot
        elif id(parameter) not in self.slots:
            self.thawed[id(parameter)] = self.watch(parameter)

    def trained(self, parameters: Sequence[Any], watched: Sequence[int | None]) -> list[int | None]:
        """Return the slots (value numbers) of Parameters after a function has run that changed `requires_grad` of some; None for those
        where it is False now.

        watched  their slots before the function ran
        """
        slots = zip(parameters, watched, strict=True)
        return [(slot if slot is not None else self.thawed.get(id(p))) if p.requires_grad else None for p, slot in slots]

    def _leaf(self, x: Tensor) -> int:
        slot = self._place(x)
        key = ("leaf", x.type)
        step = self._step(key)
        if step is None:
            self._grow(key, self.path().leaf(x.type, getattr(x, "name", "") or "x"))
        else:
            self.at = step
        return slot

    def _alias(self, kind: str | GradientKind, title: str, operands: tuple[int, ...], results: Sequence[Tensor], host: Any = None) -> None:
        """Record an event that only makes new tensor objects for its operands, such as a hook or an argument of a gradient.

        kind      the event: "leaf", "attach", the kind of a cell's hooks on gradients, or the name of a hook that is an operator
        title     a name for it
        operands  the slots (value numbers) of its operands
        results   the new tensor objects, which get the next slots
        host      the hook or call that its adjoint calls; None if there is none
        """
        if host is not None:
            self.hosts.append(host)
        key = (kind, title, operands, self.site or self._instruction(sys._getframe(2)))
        step = self._step(key)
        if step is None:
            path, (loc, code) = self.path(), self._line()
            op, hint = _alias_op(kind, title, loc, path)
            self._grow(key, path.operation(op, operands, (), hint, loc, code, (op.symbol,) if host is not None else ()))
        else:
            self.at = step
        for x in results:
            self._place(x)

    # -- hooks ------------------------------------------------------------------------------------------------------
    def attach(self, x: Tensor) -> None:
        """Record that a hook was registered on `x`: its hooks run when its gradient is complete."""
        slot = self.slots.get(id(x))
        if slot is not None and slot not in self.attached:
            self.attached.add(slot)
            self._alias("attach", getattr(x, "name", ""), (slot,), (), x._hooks)

    def hook(self, kind: str, host: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """Record a hook that is an operator, such as `HookBackward`, and return its results: new tensors equal to `operands`.

        kind   its name in `hooks.firing.OPERATORS`
        host   the hook function
        title  a description of the hook function, from which its name in the IR is made
        """
        results = [wrap(x.type, x.memory) for x in operands]
        if not any(id(x) in self.slots for x in operands):
            return tuple(results)
        for x in operands:
            if id(x) not in self.slots:
                self._leaf(x)
        self._alias(kind, title, tuple(self.slots[id(x)] for x in operands), results, host)
        return tuple(results)

    def outputs(self, kind: GradientKind, cell: Cell, results: Sequence[Tensor]) -> list[Tensor]:
        """Return new tensor objects for the results of a cell; when their gradients are computed, the cell's hooks of this kind run on
        them.

        A result that the tape does not know stays the same object.
        """
        known = [i for i, x in enumerate(results) if id(x) in self.slots]
        made = list(results)
        if known:
            for i in known:
                made[i] = self._name(results[i])
            call = CellCall(cell, outputs=tuple([i in known for i in range(len(results))]), kind=kind)
            self._alias(kind, cell._cell_title, tuple([self.slots[id(results[i])] for i in known]), [made[i] for i in known], call)
        return made

    # -- cells ------------------------------------------------------------------------------------------------------
    def enter(self, cell: Cell, arguments: Sequence[Tensor], hooked: bool, rule: Rule | None) -> list[Tensor]:
        """Record that a cell is entered.  Return the arguments for its construct: new tensor objects for those that the tape knows, the
        others themselves.

        hooked  True if it has backward hooks
        rule    the call of its `bprop`; None if it has none
        """
        slots = self.slots
        if rule is not None:
            for x in arguments:
                if id(x) not in slots:
                    self._leaf(x)
        operands = tuple([slots.get(id(x), -1) for x in arguments])
        call = CellCall(cell, tuple([s >= 0 for s in operands]))
        if self.site is None:
            call.instruction = self._instruction(sys._getframe(3))  # above `Eager.construct` and its caller
        if rule is not None:
            call.shown = rule.shown, ()
        self.calls.append(call)
        if hooked:
            self.hosts.append(call)
        if rule is not None:
            self.hosts.append(rule)
        self._go_into(cell._cell_title, call.instruction, operands, hooked, rule is not None)
        inside = list(arguments)
        for i, slot in enumerate(operands):
            if slot >= 0:
                inside[i] = self._renamed(arguments[i])
        return inside

    def leave(self, results: Sequence[Tensor], rule: Rule | None) -> list[Tensor]:
        """Record that the cell entered last is left.  Return the results for its caller: new tensor objects for those that the tape knows,
        the others themselves.

        rule  the call of its `bprop`, as for `enter`
        """
        slots = self.slots
        if rule is not None:
            for x in results:
                if id(x) not in slots:
                    self._leaf(x)
        operands = tuple([slots.get(id(x), -1) for x in results])
        call = self.calls.pop()
        call.outputs = tuple([s >= 0 for s in operands])
        if rule is not None:
            call.shown = rule.shown, rule.shown_results
        self._go_out(operands)
        outside = list(results)
        for i, slot in enumerate(operands):
            if slot >= 0:
                outside[i] = self._renamed(results[i])
        return outside


class PackingTape(Tape):
    """Takes the place of a tape inside of `saved_tensors_hooks`: after each op that it records, a hook gets what the op's gradient reads.

    It has the attributes of that tape: what one of them records the other has recorded.
    """

    __slots__ = ("_active", "_hooks")

    def __init__(self, tape: Tape, hooks: saved_tensors_hooks):
        self.__dict__ = tape.__dict__
        self._hooks = hooks
        self._active: Any = None

    def record(self, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Record an op as a tape does, and pack what its gradient reads."""
        before = self.at
        super().record(op, operands, results)
        if self.at is not before:
            self._pack(tuple([i for i, x in enumerate(operands) if "literal" in x.__dict__]))

    def extend(self, recording: Recording, operands: Sequence[Tensor], made: Sequence[Tensor | None]) -> None:
        """Record consecutive ops that one C call has run, one after the other: what was not kept is computed again."""
        memories = recording.compute([x.memory for x in operands]) if None in made else ()
        values = [*operands, *[wrap(recording.types[i], memories[i]) if x is None else x for i, x in enumerate(made, len(operands))]]
        around, number = self.site, len(operands)
        for each in recording.ops:
            results = values[number : number + len(each.types)]
            number += len(each.types)
            if not isinstance(each.op, NoGrad):
                self.site = each.site or around
                self.record(each.op, [values[i] for i in each.operands], results)
        self.site = around

    def leave(self, results: Sequence[Tensor], rule: Rule | None) -> list[Tensor]:
        """Record that a cell is left as a tape does, and pack what a `bprop` of its own reads."""
        outside = super().leave(results, rule)
        if rule is not None and self.at.node is not None:
            self._pack(())
        return outside

    def _pack(self, numbers: tuple[int, ...]) -> None:
        """Give the tensors that the gradient of the last recorded op reads to the pack hook.

        numbers  the places of operands that are numbers of Python
        """
        key = ("pack", numbers)
        step = self.at.children.get(key)
        if step is None:
            # Imported with the first step, not with the package.
            with collector.paused():
                from adjoint.runtime.gradients.packing import Active, pack_step

            path = self.path()
            self._active = self._active or Active()
            step = pack_step(path, self._active.of(path), numbers)
            self._grow(key, step)
        else:
            self.at = step
        assert isinstance(step, PackStep)
        if step.saved and step.node is not None:
            tensors = [wrap(x.type, x.memory) for x in [self.values[slot] for slot in step.saved]]
            self.hosts.append(None)  # if the hook raises, later hosts keep their places
            self.hosts[-1] = Packed(self._hooks, tensors, f"what the gradient of {step.node.op.symbol.rpartition('.')[0]} reads")


def _places_of_expression(code: CodeType, place: int) -> list[int]:
    """Return where else a frame may stand that computes the expression to which a place in the code belongs."""
    positions = [*code.co_positions()]
    here = positions[place // 2]
    return [2 * i for i, position in enumerate(positions) if position == here and 2 * i != place]


def new_tape() -> Tape:
    """Return a tape for a gradient that is not inside of another one; inside of `saved_tensors_hooks` it packs what gradients read."""
    return Tape().packing(state.packing[-1][0]) if state.packing else Tape()


def _alias_op(kind: str | GradientKind, title: str, loc: Loc, path: Path) -> tuple[Op, str]:
    """Return the op for an event that only makes new tensor objects for its operands, and a name for these.

    kind   the event: "leaf", "attach", the kind of a cell's hooks on gradients, or the name of a hook that is an operator
    title  a name from which the op's symbol is made
    loc    the location of the event
    path   what the tape has recorded so far, whose symbols are taken
    """
    match kind:
        case "leaf":
            return Identity(), "x"
        case "attach":
            return Attach(path.symbol(f"{title or receiver(loc) or 'value'}.hook")), ""
        case GradientKind(mark=mark):
            return Outputs(path.symbol(f"{title}.{mark}")), "y"
        case _:
            return Hook(path.symbol(title), kind), "h"
