"""Sums of cotangents (gradients) of rows: the gradient of `x[i]` in a loop adds a row to the sum of x, instead of an array with that row.

    x', there = for .. carry (s = undef, p = false)        x', there = for .. carry (s = zeros, p = false)
      r' = gather_gradient(g', i)
      s1 = if p { add(s, r') } else { r' }                   s1 = add_row(s, i, g')
      yield s1, true                                         yield s1, true

The row is added in the memory of s.  The bits are the same, since no element of s is ever -0:

    an element of r' is 0 + g' or 0                        0 + -0 is 0
    a sum of two numbers is -0 only if both are            so no sum with r', or with an earlier s, has one
    s + r' is s where r' is 0                              -0 + 0 would be another number than -0

So the first sum may begin with zeros, though an absent cotangent is none: 0 + r' is r'.  The sum may go through branches and loops inside,
with the bool that tells whether it exists.  Several indices at a time stay: two of them may name one row, and their sum comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_of, tensor_type, use_counts, walk
from adjoint.ir.ops.arithmetic import Add
from adjoint.ir.ops.control import For, If
from adjoint.ir.ops.indexing import GatherGradient
from adjoint.ir.ops.scatter import AddRow
from adjoint.ir.ops.stack import Undef
from adjoint.ir.types import BOOL, TensorType, scalar
from adjoint.passes.manager import Pass
from adjoint.passes.patterns import FALSE, TRUE
from adjoint.passes.rebuild import Known, Rewriter

__all__ = ["RowSums"]


class _RowSums(Rewriter):
    """Copies a function, and changes the loops that sum cotangents of rows.

    made  for each value of the function, the node that computes it
    uses  for each atom, how often it is an operand or the result of a region
    """

    def __init__(self, function: Function):
        self._made = {value: node for node in walk(function.body) for value in node.results}
        self._uses = use_counts(function.body)

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if not isinstance(node.op, For):
            return None
        changed = node
        for place, initial in enumerate(node.operands[3:]):
            made = self._made.get(initial) if isinstance(initial, Value) else None
            if made is None or not isinstance(made.op, Undef) or not isinstance(initial.type, TensorType):
                continue
            for bit in [i for i, atom in enumerate(node.operands[3:]) if atom == FALSE]:
                body = _Sum(self._made, self._uses).of_loop(changed.regions[0], place, bit)
                if body is not None and _rows(body) > _rows(changed.regions[0]):
                    self._made.update((value, inner) for inner in walk(body) for value in inner.results)
                    self._uses.subtract(use_counts(changed.regions[0]))
                    self._uses.update(use_counts(body))
                    zeros = Value(initial.type, "zeros")
                    known[zeros] = b.zeros(initial.type)
                    operands = (*changed.operands[: 3 + place], zeros, *changed.operands[4 + place :])
                    changed = replace(changed, operands=operands, regions=(body,))
                    break
        return None if changed is node else self.copy(b, changed, known)


class _Sum:
    """Changes one sum of rows, in a loop and in what is inside of it.

    made, uses  as for `_RowSums`
    """

    def __init__(self, made: Mapping[Value, Node], uses: Mapping[Atom, int]):
        self._made, self._uses = made, uses

    def of_loop(self, body: Region, place: int, bit: int) -> Region | None:
        """Return the body of a loop with its rows added to a carried sum; None if it does something else with the sum.

        place  that of the sum among the carried values
        bit    that of the bool which tells whether the sum exists; where it does not, it is zeros
        """
        return self._changed(body, body.params[1 + place], body.params[1 + bit], body.results[place], body.results[bit])

    def _changed(self, region: Region, total: Value, there: Atom, result: Atom, present: Atom) -> Region | None:
        """Return a region with its rows added to a sum; None if it does something else with the sum.

        total, there     the sum before the region, and the bool that tells whether it exists
        result, present  both after it
        """
        here, atom, bit = set(region.nodes), result, present
        instead: dict[Node, list[Node]] = {}
        gone: Counter[Atom] = Counter()
        while atom is not total:
            node = self._made.get(atom) if isinstance(atom, Value) else None
            if node is None or node not in here or node in instead:
                return None
            at = node.results.index(atom)
            match node.op:
                case Add() if bit == TRUE:
                    atom, row = node.operands
                    if row is not atom and _row(self._made, region, row) is not None:
                        gone[row] += 1
                        instead[node] = [self._added(row, atom, node.results[at], node)]
                case If() if bit == TRUE and (begun := self._begun(region, node, at)) is not None:
                    atom, row = begun
                    bit = node.operands[0]
                    gone[row] += 2
                    instead[node] = [*_without(node, at), self._added(row, atom, node.results[at], node)]
                case If() | For() if (found := self._inside(node, at, bit, total, there)) is not None:
                    instead[node], atom, bit = [found[0]], *found[1:]
                case _:
                    return None
        if bit is not there:
            return None
        for row, times in gone.items():
            if self._uses[row] == times:
                instead[self._made[row]] = []  # pyright: ignore[reportArgumentType] - a row is a value
        return replace(region, nodes=tuple(new for old in region.nodes for new in instead.get(old, (old,))))

    def _inside(self, node: Node, at: int, present: Atom, total: Value, there: Atom) -> tuple[Node, Atom, Atom] | None:
        """Return a loop or an `if` with the rows inside of it added to a sum, the sum before it, and the bool that tells whether there is
        one; None if it does something else with the sum.

        at, present   the place of the sum among the results, and the bool that tells whether it exists
        total, there  the sum before the region around the node, and its bool
        """
        bits = [i for i, value in enumerate(node.results) if value is present or (present == TRUE and value.type is scalar(BOOL))]
        if isinstance(node.op, For):
            carried = node.operands[3:]
            for bit in bits:
                if isinstance(carried[bit], Value) and (body := self.of_loop(node.regions[0], at, bit)) is not None:
                    return replace(node, regions=(body,)), carried[at], carried[bit]
            return None
        befores: list[tuple[Value, Atom]] = [(total, there)]
        for value in dict.fromkeys(value for region in node.regions for value in free_of(region)):
            made = self._made.get(value)
            if made is not None and value.type is node.results[at].type and isinstance(made.op, (For, If)):
                befores += [(value, other) for other in made.results if other.type is scalar(BOOL)]
        for before, its in befores:
            after = [region.results[bits[0]] if bits and present != TRUE else present for region in node.regions]
            sides = [self._changed(region, before, its, region.results[at], bit) for region, bit in zip(node.regions, after, strict=True)]
            if all(side is not None for side in sides):
                return replace(node, regions=tuple(side for side in sides if side is not None)), before, its
        return None

    def _begun(self, region: Region, node: Node, at: int) -> tuple[Atom, Atom] | None:
        """Return the sum and the row where the result `at` of an `if` is `add(sum, row)` or, without a sum, `row`; otherwise None."""
        first, second = (side.results[at] for side in node.regions)
        nodes = [inner for side in node.regions for inner in side.nodes]
        made = self._made.get(first) if isinstance(first, Value) else None
        if made not in node.regions[0].nodes or not isinstance(made.op, Add) or self._uses[first] != 1:
            return None
        if len(node.results) == 1 and len(nodes) > 1:
            return None  # what else it does must stay
        before, row = made.operands
        return (before, row) if row is second and before is not row and _row(self._made, region, row) is not None else None

    def _added(self, row: Atom, total: Atom, result: Value, node: Node) -> Node:
        """Make the node that adds a row to a total, in the place of `node`."""
        made = self._made[row]  # pyright: ignore[reportArgumentType] - a row is a value
        assert isinstance(made.op, GatherGradient)
        gradient, index = made.operands
        return replace(Builder(node.loc).emit_node(AddRow(made.op.axis), [total, index, gradient]), results=(result,))


def _rows(region: Region) -> int:
    return sum(isinstance(node.op, AddRow) for node in walk(region))


def _row(made: Mapping[Value, Node], region: Region, atom: Atom) -> Node | None:
    """Return the node of a region that computes the cotangent of one row as an array; None for other values."""
    node = made.get(atom) if isinstance(atom, Value) else None
    return node if node is not None and _is_row(node) and node in region.nodes else None


def _is_row(node: Node) -> bool:
    return isinstance(node.op, GatherGradient) and tensor_type(node.operands[1]).rank == 0


def _without(node: Node, at: int) -> list[Node]:
    """Return an `if` without its result `at` and what adds to it; none if it has no other."""
    if len(node.results) == 1:
        return []
    first, second = (replace(region, results=(*region.results[:at], *region.results[at + 1 :])) for region in node.regions)
    gone = node.regions[0].results[at]
    first = replace(first, nodes=tuple(inner for inner in first.nodes if gone not in inner.results))
    return [replace(node, results=(*node.results[:at], *node.results[at + 1 :]), regions=(first, second))]


@dataclass(frozen=True)
class RowSums(Pass):
    """The pass `row-sums`: where a loop sums cotangents of rows, add each row to the sum.  Run it after all gradients of the function are
    taken.
    """

    name: ClassVar[str] = "row-sums"

    def on_function(self, function: Function, module: Module) -> Function:
        if not any(map(_is_row, walk(function.body))):
            return function
        return replace(function, body=_RowSums(function).body(function.body))
