"""Check where the values of an exported function are: what a node writes is not in memory of a value that is still needed.

Nothing is taken from `standalone.memory` but the places that it chose: what is needed is found here from the IR alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from adjoint.codegen.emit import lower
from adjoint.codegen.standalone.batch import Versions
from adjoint.codegen.standalone.hooks import HOOKS
from adjoint.codegen.standalone.memory import MemoryPlan, element_of, loop_parts, memory_of
from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, Function, Node, Region, Value, free_of
from adjoint.ir.ops.control import For, If, While
from adjoint.ir.ops.stack import Pop, Push
from adjoint.ir.ops.state import Read, Write

__all__ = ["overlaps_of"]


@dataclass(frozen=True)
class _Place:
    """Bytes of an array: of an arena, of a result of the caller's, or of state."""

    array: str
    begin: float = 0
    end: float = math.inf

    def meets(self, other: _Place) -> bool:
        return self.array == other.array and self.begin < other.end and other.begin < self.end


def overlaps_of(function: Function | Versions, max_rounds: int | None = None) -> list[str]:
    """Return what is wrong with the places of the values of a function, as they are in exported C: nothing, if all is well."""
    versions = Versions(function) if isinstance(function, Function) else function
    body = versions.function.body
    results = [_Place(f"result {i}") for i in range(len(body.results))]
    return [*_Walk(memory_of(versions, _scratch, max_rounds)).region(body, results, set())]


def _scratch(node: Node) -> list[tuple[str, int]]:
    """Return the C type and the bytes of each scratch buffer of the kernel of a node, for the largest batch."""
    if not node.op.can_lower or getattr(node.op, "aliases", False):
        return []
    made = lower(node.op, [x.type for x in node.operands], [x.type for x in node.results], direct=True, plain_work=math.inf)
    return [(dtype.c_name, nbytes) for dtype, nbytes in zip(made.scratch_dtypes, made.scratch, strict=True)]


class _Walk:
    def __init__(self, memory: MemoryPlan):
        self.memory = memory
        self.places: dict[Value, _Place] = {}

    def place(self, value: Value, results: Sequence[_Place]) -> _Place:
        """Return the place of a value that a region defines, and remember it.

        results  the places of what the region yields
        """
        root = self.memory.root(value)
        if value in self.memory.states:
            place = _Place(f"state {self.memory.states[value]}")
        elif root in self.places:
            place = self.places[root]
        elif root in self.memory.shared:
            place = results[self.memory.shared[root]]
        elif root in self.memory.offsets:
            place = self.bytes_of(root, self.memory.offsets[root])
        else:
            place = _Place(f"argument {root.hint} {id(root)}")
        self.places[value] = place
        return place

    def bytes_of(self, value: Value, offset: int) -> _Place:
        return _Place(f"arena of {element_of(value.type)}", offset, offset + self.memory.size(value))

    def region(self, region: Region, results: Sequence[_Place], outer: set[Value]) -> Iterator[str]:
        """Yield what is wrong in a region.

        outer  the values from outside that are needed after the region, or in its next round
        """
        needed_after: list[set[Value]] = []
        needed = {*outer, *_values(region.results)}
        for node in reversed(region.nodes):
            needed_after.append(set(needed))
            needed |= {*_values(node.operands), *(value for inner in node.regions for value in free_of(inner))}
        for node, needed in zip(region.nodes, reversed(needed_after), strict=True):
            yield from self.node(node, results, needed)

    def node(self, node: Node, results: Sequence[_Place], needed: set[Value]) -> Iterator[str]:
        op: Any = node.op
        if isinstance(op, If):
            places = [self.place(value, results) for value in node.results if not self.is_in_another(value)]
            inside = needed - {*node.results}
            yield from self.written(node, node.results, places, inside)
            targets = [self.places.get(value, _Place("a stack")) for value in node.results]
            for region in node.regions:
                yield from self.region(region, targets, inside)
            for value in node.results:
                self.place(value, results)
        elif isinstance(op, (For, While)):
            yield from self.loop(node, results, needed)
        elif isinstance(op, Write):
            yield from self.written(node, _values(node.operands), [_Place(f"state {op.symbol}")], needed)
        elif isinstance(op, (Push, Pop)):
            self.place(node.results[0], results)
            yield from self.written(node, node.results[1:], [self.place(value, results) for value in node.results[1:]], needed)
        elif getattr(op, "aliases", False) or (isinstance(op, Read) and node.results[0] in self.memory.states):
            self.place(node.results[0], results)
        else:
            places = [self.place(value, results) for value in node.results]
            scratch = [_Place(f"arena of {element}", offset, offset + nbytes)
                       for (element, nbytes), offset in zip(_scratch(node), self.memory.scratch.get(node, ()), strict=True)]
            yield from self.written(node, node.results, [*places, *scratch], needed)
            in_place = {i: i for i in range(len(node.results))} if isinstance(op, HOOKS) else getattr(op, "in_place", {})
            for i, place in enumerate([*places, *scratch]):
                for j, operand in enumerate(node.operands):
                    if isinstance(operand, Value) and self.of(operand).meets(place) and in_place.get(i) != j:
                        yield f"{op.name} writes its result {i} over its operand {j}, {operand.hint}"
                for other in [*places, *scratch][:i]:
                    if other.meets(place):
                        yield f"{op.name} has two results in one place"

    def loop(self, node: Node, results: Sequence[_Place], needed: set[Value]) -> Iterator[str]:
        _, params = loop_parts(node)
        places = [self.place(value, results) for value in node.results]
        self.places.update(zip(params, places, strict=True))
        inside = {*(needed - {*node.results}), *(value for region in node.regions for value in free_of(region))}
        fresh = [i for i, value in enumerate(node.results) if self.memory.root(value) is value]
        yield from self.written(node, [node.results[i] for i in fresh], [places[i] for i in fresh], inside)
        for region in node.regions[:-1]:
            yield from self.region(region, [], {*inside, *params})
        body = node.regions[-1]
        yield from self.region(body, places, inside)
        spares = {i: self.bytes_of(params[i], offset) for i, offset in self.memory.spares[node].items()}
        for i, spare in spares.items():
            yield from self.written(node, [], [spare], {*inside, *_values(body.results)})
            yield from (f"{node.op.name} has two spares in one place" for j, other in spares.items() if j < i and other.meets(spare))
        waiting = [i for i in range(len(params)) if i not in spares]
        for done, i in enumerate(waiting):
            later = [body.results[j] for j in waiting[done + 1 :] if isinstance(body.results[j], Value)]
            yield from (f"{node.op.name} overwrites {value.hint} before it is moved" for value in _values(later)
                        if self.of(value).meets(places[i]) and value not in _values([body.results[i]]))

    def is_in_another(self, value: Value) -> bool:
        return self.memory.root(value) is not value

    def of(self, value: Value) -> _Place:
        return self.places.get(value, _Place("argument"))

    def written(self, node: Node, values: Iterable[Value], places: Sequence[_Place], needed: set[Value]) -> Iterator[str]:
        """Yield the values that are needed after a node and are where it writes."""
        for value in needed - {*values}:
            for place in places:
                if self.of(value).meets(place):
                    yield f"{node.op.name} writes over {value.hint}: {value.type}, which is needed later"


def _values(atoms: Iterable[Atom]) -> list[Value]:
    return [atom for atom in atoms if isinstance(atom, Value)]
