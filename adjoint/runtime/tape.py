"""The tape: what eager mode records while a gradient is being taken.

A tape is a region that is still open.  Every recorded event (an op, a cell entered or left, a hook attached) takes one
step in a *trie*, from a node to the child that its key names.  A training loop walks the same path every time, and
finds at its end the adjoint that was built the first time: no graph is built and no pass runs twice for one program.

The key of a step holds all that an adjoint depends on: the op with its attributes, where each operand comes from (the
*slot* of a value the tape knows, or the type of one that comes from outside), cells entered and left, hook slots filled
or empty.  Numbers are not in it: a decaying learning rate walks the same path.  Hooks and custom bprops are looked up
anew in each run.

A gradient taken inside another (second order) records on the same tape: its region is the part from where it began to
where it ended, and the adjoint it runs is recorded in its turn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.diagnostics import UNKNOWN, Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Node, Value
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Attach, Hook, Outputs
from adjoint.runtime.location import receiver, user_location
from adjoint.runtime.tensor import Tensor, wrap

if TYPE_CHECKING:
    from adjoint.runtime.cell import Cell
    from adjoint.runtime.program import Program

__all__ = ["Assembled", "CellCall", "Step", "Tape"]

_LIMIT = 200_000
"""Steps the trie may hold; past it, it starts anew."""


Outside = Callable[[int], "Atom | None"]
"""What stands for a slot whose value comes from outside of what was recorded; None: a value of its own."""


class Step:
    """A node of the trie: one recorded event.

    kind      `op`, `enter`, `exit`, `attach`, `hook`, `outputs`, `leaf`, `begin`
    operands  slots of what it uses
    results   slots of what it makes
    host      the position among the run's hosts (a cell, a hook function), -1 for none
    about     the op, or the title of a cell or hook
    programs  the adjoints that end here
    """

    __slots__ = ("about", "children", "host", "kind", "loc", "operands", "parent", "programs", "results", "rule")

    def __init__(self, parent: Step | None, kind: str, about: Any, operands: tuple[int, ...], results: tuple[int, ...],
                 host: int, loc: Loc, rule: int = -1):
        self.parent, self.kind, self.about, self.operands, self.results = parent, kind, about, operands, results
        self.host, self.loc, self.rule = host, loc, rule
        self.children: dict[Any, Step] = {}
        self.programs: dict[Any, Program] = {}


class _Trie:
    """The root of all paths of this process, and how many steps it holds."""

    def __init__(self) -> None:
        self.root = Step(None, "begin", None, (), (), -1, UNKNOWN)
        self.count = 0


_trie = _Trie()


class Assembled:
    """A path of the trie as IR.

    nodes   the region's nodes
    values  slot -> the value that stands for it at the top level of the region
    slots   value -> slot, for every value of the region and every free one
    hosts   symbol -> position among the run's hosts
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: dict[int, Atom] = {}
        self.slots: dict[Value, int] = {}
        self.hosts: dict[str, int] = {}


class CellCall:
    """One call of a hooked cell in one run.

    cell     the cell
    inputs   for each tensor argument, whether the tape knows it
    outputs  for each tensor result, likewise
    """

    __slots__ = ("cell", "inputs", "outputs")

    def __init__(self, cell: Cell, inputs: tuple[bool, ...] = (), outputs: tuple[bool, ...] = ()):
        self.cell, self.inputs, self.outputs = cell, inputs, outputs


class Tape:
    """What one thread records between the outermost gradient call and its end.

    values  slot -> the tensor that had it (an alias for a parameter, whose memory may be replaced)
    owners  slot -> the parameter
    hosts   cells and hook functions in the order in which they were met
    depth   gradients being taken, one inside the other
    site    the node of a graph that the next event belongs to: it takes the place of the line of Python in keys and
            locations; None outside of graphs, and while a graph runs Python of the user's
    """

    emits = False
    """Whether ops are emitted as nodes instead of being computed: so while a function is made into a graph."""

    def __init__(self) -> None:
        self.site: Node | None = None
        self.slots: dict[int, int] = {}
        self.values: list[Tensor] = []
        self.owners: dict[int, Tensor] = {}
        self.keep: list[Any] = []
        self.hosts: list[Any] = []
        self.attached: set[int] = set()
        self.calls: list[CellCall] = []
        self.depth = 0
        if _trie.count > _LIMIT:
            _trie.__init__()
        self.at = _trie.root

    # -- slots ------------------------------------------------------------------------------------------------------
    def _place(self, x: Tensor) -> int:
        slot = len(self.values)
        self.slots[id(x)] = slot
        if x.__class__ is Tensor:
            self.values.append(x)
        else:
            # A Parameter may be assigned while this tape is alive: keep the memory it has now.
            self.values.append(wrap(x.type, x.memory))
            self.owners[slot] = x
        return slot

    def slot_of(self, x: Tensor) -> int | None:
        """The slot of a tensor this tape knows."""
        return self.slots.get(id(x))

    def overwritten(self, x: Tensor, value: Tensor) -> None:
        """`x` is about to hold the numbers of `value`: what was recorded keeps the old ones."""
        slot = self.slots.pop(id(x), None)
        if slot is not None:
            self.values[slot] = wrap(x.type, x.memory)
            self.keep.append(x)
        new = self.slots.get(id(value))
        if new is not None:
            self.slots[id(x)] = new
            self.keep.append(x)

    # -- recording --------------------------------------------------------------------------------------------------
    def _step(self, key: tuple[Any, ...]) -> Step | None:
        return self.at.children.get(key)

    def _grow(self, key: tuple[Any, ...], kind: str, about: Any, operands: Sequence[int], results: Sequence[int],
              host: int = -1, rule: int = -1) -> None:
        loc = user_location() if self.site is None else self.site.loc
        step = Step(self.at, kind, about, tuple(operands), tuple(results), host, loc, rule)
        _trie.count += 1
        self.at.children[key] = step
        self.at = step

    def record(self, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """An op has run.  Nothing is recorded when no operand is known here: its results are constants."""
        get = self.slots.get
        parts: list[Any] = [op, self.site or sys._getframe(3).f_lasti]
        known = outside = False
        for x in operands:
            slot = get(id(x))
            if slot is None:
                parts.append(x.type)
                outside = True
            else:
                parts.append(slot)
                known = True
        if not known:
            return
        if outside:
            for x in operands:
                if id(x) not in self.slots:
                    self._place(x)
        key = tuple(parts)
        step = self.at.children.get(key)
        first = len(self.values)
        if step is None:
            self._grow(key, "op", op, [self.slots[id(x)] for x in operands], range(first, first + len(results)))
        else:
            self.at = step
        for x in results:
            self.slots[id(x)] = len(self.values)
            self.values.append(x)

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
        alias = wrap(x.type, x.memory)
        known = self.slots.get(id(x))
        if known is not None:
            # Inside another gradient: the alias is x, and what flows to it flows on.
            self._alias("leaf", (known,), [alias])
        else:
            self._leaf(alias)
        if x._hooks is not None and x._hooks.functions:
            alias._hooks = x._hooks
            self.attach(alias)
        return alias

    def watch(self, parameter: Tensor) -> int:
        """The slot of a parameter whose gradient is asked for."""
        slot = self.slots.get(id(parameter))
        if slot is None:
            slot = self._leaf(parameter)
        if parameter._hooks is not None and parameter._hooks.functions:
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
        key = (kind, about, operands, self.site)
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
        """New names for `operands` behind a `HookBackward` ("value") or `InsertGradientOf` ("gradient")."""
        if not any(id(x) in self.slots for x in operands):
            return tuple(operands)
        for x in operands:
            if id(x) not in self.slots:
                self._leaf(x)
        results = [wrap(x.type, x.memory) for x in operands]
        self._alias("hook", tuple(self.slots[id(x)] for x in operands), results, about=(kind, title), host=host)
        return tuple(results)

    def outputs(self, cell: Cell, results: Sequence[Tensor]) -> list[Tensor]:
        """New names for a cell's results behind its backward pre hooks."""
        known = [i for i, x in enumerate(results) if id(x) in self.slots]
        made = list(results)
        if known:
            for i in known:
                made[i] = wrap(results[i].type, results[i].memory)
            call = CellCall(cell, outputs=tuple(i in known for i in range(len(results))))
            self._alias("outputs", tuple(self.slots[id(results[i])] for i in known), [made[i] for i in known],
                        about=cell.title, host=call)
        return made

    # -- cells ------------------------------------------------------------------------------------------------------
    def enter(self, cell: Cell, arguments: Sequence[Tensor], hooked: bool, rule: Any) -> list[Tensor]:
        """A cell is entered; its tensor arguments get names of their own inside."""
        slots = self.slots
        if rule is not None:
            for x in arguments:
                if id(x) not in slots:
                    self._leaf(x)
        operands = tuple(-1 if (s := slots.get(id(x))) is None else s for x in arguments)
        position = rule_position = -1
        call = CellCall(cell, tuple(s >= 0 for s in operands))
        self.calls.append(call)
        if hooked:
            position = len(self.hosts)
            self.hosts.append(call)
        if rule is not None:
            rule_position = len(self.hosts)
            self.hosts.append(rule)
        key = ("enter", self.site or sys._getframe(2).f_lasti, cell.title, hooked, rule is not None, operands)
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
                inside[i] = alias = wrap(arguments[i].type, arguments[i].memory)
                self._place(alias)
        return inside

    def leave(self, results: Sequence[Tensor], rule: bool = False) -> list[Tensor]:
        """The cell entered last is left; its tensor results get names of their own outside."""
        slots = self.slots
        if rule:
            for x in results:
                if id(x) not in slots:
                    self._leaf(x)
        operands = tuple(-1 if (s := slots.get(id(x))) is None else s for x in results)
        self.calls.pop().outputs = tuple(s >= 0 for s in operands)
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
                outside[i] = alias = wrap(results[i].type, results[i].memory)
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
        return _Assembler(self, self.path(start), wanted, outside).run()


class _Open:
    """A cell that has been entered and not left, while its region is being built."""

    def __init__(self, step: Step | None, index: int):
        self.step, self.index = step, index
        self.builder = Builder()
        self.values: dict[int, Atom] = {}
        self.params: list[Value] = []
        self.arguments: list[Atom] = []


class _Assembler:
    """Builds nested `cell` regions from the flat path.

    A value made inside a cell and used outside of it (by a nested tuple it returned, by a list that kept it, by the
    adjoint of an inner gradient) leaves through a further result of the `cell`.
    """

    def __init__(self, tape: Tape, steps: list[Step], wanted: Sequence[int], outside: Outside | None):
        self.tape, self.steps, self.wanted, self.outside = tape, steps, wanted, outside
        self.made = Assembled()
        self.names: dict[str, int] = {}
        self.escapes = self._escapes()
        self.open: list[_Open] = [_Open(None, -1)]

    def _escapes(self) -> dict[int, list[int]]:
        """For each cell (by the index of its enter step) the slots that leave it besides its results."""
        home: dict[int, tuple[int, ...]] = {}
        nest: tuple[int, ...] = ()
        found: dict[int, dict[int, None]] = {}

        def use(slot: int, here: tuple[int, ...]) -> None:
            there = home.get(slot, ())
            common = 0
            while common < min(len(there), len(here)) and there[common] == here[common]:
                common += 1
            for cell in there[common:]:
                found.setdefault(cell, {})[slot] = None

        for index, step in enumerate(self.steps):
            if step.kind == "enter":
                for slot in step.operands:
                    if slot >= 0:
                        use(slot, nest)
                nest = (*nest, index)
                home.update(dict.fromkeys(step.results, nest))
            elif step.kind == "exit":
                for slot in step.operands:
                    if slot >= 0:
                        use(slot, nest)
                nest = nest[:-1]
                home.update(dict.fromkeys(step.results, nest))
            else:
                for slot in step.operands:
                    use(slot, nest)
                home.update(dict.fromkeys(step.results, nest))
        for slot in self.wanted:
            use(slot, ())
        return {cell: list(slots) for cell, slots in found.items()}

    def value(self, slot: int) -> Atom:
        """The value of a slot, as seen from where we are; from outside when the path does not define it."""
        for level in reversed(self.open):
            value = level.values.get(slot)
            if value is not None:
                return value
        return self._from_outside(slot, "x")

    def _from_outside(self, slot: int, hint: str) -> Atom:
        found = self.outside(slot) if self.outside is not None else None
        if found is None:
            found = Value(self.tape.values[slot].type, self._name(hint))
        elif isinstance(found, Value):
            found.hint = self._name(found.hint)
        self.open[0].values[slot] = found
        if isinstance(found, Value):
            self.made.slots[found] = slot
        return found

    def _name(self, hint: str) -> str:
        count = self.names.get(hint, -1) + 1
        self.names[hint] = count
        return hint if not count else f"{hint}.{count}"

    def _symbol(self, title: str, host: int) -> str:
        text = "".join(c if c.isalnum() or c in "_." else "_" for c in title) or "hook"
        if not (text[0].isalpha() or text[0] == "_"):
            text = "_" + text
        symbol = self._name(text)
        self.made.hosts[symbol] = host
        return symbol

    def _define(self, step: Step, results: Sequence[Value]) -> None:
        level = self.open[-1]
        for slot, value in zip(step.results, results, strict=True):
            level.values[slot] = value
            self.made.slots[value] = slot

    def run(self) -> Assembled:
        for index, step in enumerate(self.steps):
            getattr(self, "_" + step.kind)(index, step)
        while len(self.open) > 1:
            # A gradient that ends inside a cell it did not begin in cannot happen; one that was left by an
            # exception has no `exit`: what it made stays visible through its escapes.
            self._close(self.open[-1], (), ())
        top = self.open[0]
        self.made.nodes = top.builder.nodes
        self.made.values = top.values
        return self.made

    def _emit(self, step: Step, op: Op, hint: str = "") -> None:
        level = self.open[-1]
        operands = [self.value(slot) for slot in step.operands]
        results = level.builder.emit(op, *operands, hint=self._name(hint or op.name[0]), loc=step.loc)
        self._define(step, results if isinstance(results, tuple) else (results,))

    def _begin(self, index: int, step: Step) -> None:
        pass

    def _op(self, index: int, step: Step) -> None:
        self._emit(step, step.about)

    def _leaf(self, index: int, step: Step) -> None:
        if step.operands:
            from_outer = self.value(step.operands[0])
            result = self.open[-1].builder.identity(from_outer, hint=self._name("x"))
            self._define(step, (result,))
            return
        self._from_outside(step.results[0], step.about or "x")

    def _hook(self, index: int, step: Step) -> None:
        kind, title = step.about
        self._emit(step, Hook(self._symbol(title, step.host), kind=kind), hint="h")

    def _outputs(self, index: int, step: Step) -> None:
        self._emit(step, Outputs(self._symbol(f"{step.about}.pre", step.host)), hint="y")

    def _attach(self, index: int, step: Step) -> None:
        op = Attach(self._symbol(f"{step.about or receiver(step.loc) or 'value'}.hook", step.host))
        self.open[-1].builder.emit(op, self.value(step.operands[0]), loc=step.loc)

    def _enter(self, index: int, step: Step) -> None:
        arguments = [self.value(slot) for slot in step.operands if slot >= 0]
        level = _Open(step, index)
        level.arguments = arguments
        level.params = [Value(a.type, self._name(_base(a))) for a in arguments]
        self.open.append(level)
        self._define(step, level.params)

    def _exit(self, index: int, step: Step) -> None:
        self._close(self.open[-1], [s for s in step.operands if s >= 0], step.results)

    def _close(self, level: _Open, operands: Sequence[int], results: Sequence[int]) -> None:
        enter = level.step
        assert enter is not None
        escapes = self.escapes.get(level.index, ())
        yielded = [self.value(s) for s in (*operands, *escapes)]
        region = level.builder.finish(yielded, level.params)
        self.open.pop()
        op = CellOp(
            title=enter.about,
            symbol=self._symbol(enter.about, enter.host) if enter.host >= 0 else "",
            rule=self._symbol(f"{enter.about}.bprop", enter.rule) if enter.rule >= 0 else "",
            residuals=len(escapes),
        )
        outer = self.open[-1]
        made = outer.builder.emit(op, *level.arguments, regions=(region,), hint=self._name(_last_part(enter.about)), loc=enter.loc)
        values: tuple[Any, ...] = made if isinstance(made, tuple) else (made,)
        for slot, value in zip((*results, *escapes), values, strict=True):
            outer.values[slot] = value
            self.made.slots[value] = slot


def _base(atom: Atom) -> str:
    """The base of a value's name, without its version."""
    return atom.hint.split(".")[0] if isinstance(atom, Value) else "x"


def _last_part(title: str) -> str:
    """The last name of a cell's title, to call its result by; `y` where that is a number."""
    last = title.rpartition(".")[2]
    return last.lower() if last.isidentifier() else "y"
