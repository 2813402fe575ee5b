"""Turn a recorded path into IR: the flat path of steps becomes nodes, its cells become nested regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Node, Value, symbol_like
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Attach, Hook, Outputs
from adjoint.ir.types import TensorType
from adjoint.runtime.gradients.trie import TrieStep
from adjoint.runtime.process.location import receiver

__all__ = ["Assembled", "Assembler", "OuterAtom"]

OuterAtom = Callable[[int], "Atom | None"]
"""Return the atom for a slot whose value is defined outside of the recording; None: it gets a free value."""


class Assembled:
    """A path of the trie as IR.

    nodes   the region's nodes
    values  slot -> its value at the top level of the region
    slots   value -> slot, for every value of the region and every free value
    hosts   symbol -> position among the tape's hosts
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: dict[int, Atom] = {}
        self.slots: dict[Value, int] = {}
        self.hosts: dict[str, int] = {}


class _Open:
    """A cell that is entered and not yet left, while its region is being built."""

    def __init__(self, step: TrieStep | None, index: int):
        self.step, self.index = step, index
        self.builder = Builder()
        self.values: dict[int, Atom] = {}
        self.params: list[Value] = []
        self.arguments: list[Atom] = []


class Assembler:
    """Builds nested `cell` regions from the flat path.

    A value made inside a cell may be used outside of it: in a nested tuple that the cell returned, in a list that kept it, or
    in the adjoint of an inner gradient.  It leaves through an extra result of the `cell`.
    """

    def __init__(self, type_of: Callable[[int], TensorType], steps: list[TrieStep], wanted: Sequence[int], outside: OuterAtom | None):
        """type_of  slot -> the type of its value"""
        self.type_of, self.steps, self.wanted, self.outside = type_of, steps, wanted, outside
        self.made = Assembled()
        self.names: dict[str, int] = {}
        self.escapes = self._escapes()
        self.open: list[_Open] = [_Open(None, -1)]

    def _escapes(self) -> dict[int, list[int]]:
        """Return, by the index of each cell's enter step, the slots that leave the cell in addition to its results."""
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
        """Return the value of a slot at the current position; from `outside` if the path does not define it."""
        for level in reversed(self.open):
            value = level.values.get(slot)
            if value is not None:
                return value
        return self._from_outside(slot, "x")

    def _from_outside(self, slot: int, hint: str) -> Atom:
        found = self.outside(slot) if self.outside is not None else None
        if found is None:
            found = Value(self.type_of(slot), self._name(hint))
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
        # The host has the function's location; its symbol is its name.
        symbol = self._name(symbol_like(title.partition(" at ")[0], "hook"))
        self.made.hosts[symbol] = host
        return symbol

    def _define(self, step: TrieStep, results: Sequence[Value]) -> None:
        level = self.open[-1]
        for slot, value in zip(step.results, results, strict=True):
            level.values[slot] = value
            self.made.slots[value] = slot

    def run(self) -> Assembled:
        for index, step in enumerate(self.steps):
            getattr(self, "_" + step.kind)(index, step)
        while len(self.open) > 1:
            # A gradient never ends inside a cell in which it did not begin.  A cell left by an exception has no `exit`: its
            # values stay visible through its escapes.
            self._close(self.open[-1], (), ())
        top = self.open[0]
        self.made.nodes = top.builder.nodes
        self.made.values = top.values
        return self.made

    def _emit(self, step: TrieStep, op: Op, hint: str = "") -> None:
        level = self.open[-1]
        operands = [self.value(slot) for slot in step.operands]
        results = level.builder.emit(op, *operands, hint=self._name(hint or op.name[0]), loc=step.loc)
        self._define(step, results if isinstance(results, tuple) else (results,))

    def _begin(self, index: int, step: TrieStep) -> None:
        pass

    def _op(self, index: int, step: TrieStep) -> None:
        self._emit(step, step.about)

    def _leaf(self, index: int, step: TrieStep) -> None:
        if step.operands:
            from_outer = self.value(step.operands[0])
            result = self.open[-1].builder.identity(from_outer, hint=self._name("x"))
            self._define(step, (result,))
            return
        self._from_outside(step.results[0], step.about or "x")

    def _hook(self, index: int, step: TrieStep) -> None:
        kind, title = step.about
        self._emit(step, Hook(self._symbol(title, step.host), kind=kind), hint="h")

    def _outputs(self, index: int, step: TrieStep) -> None:
        self._emit(step, Outputs(self._symbol(f"{step.about}.pre", step.host)), hint="y")

    def _attach(self, index: int, step: TrieStep) -> None:
        op = Attach(self._symbol(f"{step.about or receiver(step.loc) or 'value'}.hook", step.host))
        self.open[-1].builder.emit(op, self.value(step.operands[0]), loc=step.loc)

    def _enter(self, index: int, step: TrieStep) -> None:
        arguments = [self.value(slot) for slot in step.operands if slot >= 0]
        level = _Open(step, index)
        level.arguments = arguments
        level.params = [Value(a.type, self._name(_base(a))) for a in arguments]
        self.open.append(level)
        self._define(step, level.params)

    def _exit(self, index: int, step: TrieStep) -> None:
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
    """Return the base of a value's name, without its version."""
    return atom.hint.split(".")[0] if isinstance(atom, Value) else "x"


def _last_part(title: str) -> str:
    """Return the last part of a cell's title, as a name for its result; `y` if that is a number."""
    last = title.rpartition(".")[2]
    return last.lower() if last.isidentifier() else "y"
