"""Sums of cotangents (gradients) of rows: the gradient of `x[i]` in a loop adds a row to the sum of x, instead of an array with that row.

    x', there = for .. carry (s = undef, p = false)        x', there = for .. carry (s = zeros, p = false)
      r' = gather_gradient(g', i)
      s1 = if p { add(s, r') } else { r' }                   s1 = add_row(s, i, g')
      yield s1, true                                         yield s1, true

The row is added in the memory of s.  The bits are the same, since no element of s is ever -0:

    an element of r' is 0 + g' or 0                        0 + -0 is 0
    a sum of two numbers is -0 only if both are            so no sum with r', or with an earlier s, has one
    s + r' is s where r' is 0                              -0 + 0 would be another number than -0

So the first sum may begin with zeros, though an absent cotangent is none: 0 + r' is r'.  Several indices at a time stay: two of them may
name one row, and their sum comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, tensor_type, walk
from adjoint.ir.ops.arithmetic import Add
from adjoint.ir.ops.control import For, If
from adjoint.ir.ops.indexing import GatherGradient
from adjoint.ir.ops.scatter import AddRow
from adjoint.ir.ops.stack import Undef
from adjoint.ir.types import TensorType
from adjoint.passes.manager import Pass
from adjoint.passes.patterns import FALSE, TRUE
from adjoint.passes.rebuild import Known, Rewriter

__all__ = ["RowSums"]


class _RowSums(Rewriter):
    """Copies a function, and changes the loops that sum cotangents of rows.

    made  for each value of the function, the node that computes it
    """

    def __init__(self, function: Function):
        self._made = {value: node for node in walk(function.body) for value in node.results}

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if not isinstance(node.op, For):
            return None
        (body,) = node.regions
        loop = _Loop(body, self._made)
        operands = list(node.operands)
        for place, initial in enumerate(operands[3:]):
            made = self._made.get(initial) if isinstance(initial, Value) else None
            if made is None or not isinstance(made.op, Undef) or not isinstance(initial.type, TensorType):
                continue
            bit = loop.added_to(place)
            if bit is not None and operands[3 + bit] == FALSE:
                loop.change(place)
                operands[3 + place] = zeros = Value(initial.type, "zeros")
                known[zeros] = b.zeros(initial.type)
        return self.copy(b, replace(node, operands=tuple(operands), regions=(loop.region,)), known) if loop.changed else None


class _Loop:
    """The body of a loop, in which sums of rows are changed.

    region   the body as it is now
    changed  True once a sum was changed
    """

    def __init__(self, body: Region, made: dict[Value, Node]):
        self.region, self.changed = body, False
        self._made = made
        self._uses: Counter[Atom] = Counter(body.results)
        for node in walk(body):
            self._uses.update(node.operands)
            for region in node.regions:
                self._uses.update(region.results)

    def added_to(self, place: int) -> int | None:
        """Return the place of the carried bool that tells whether a carried sum exists; None if the sum is not one of rows.

        place  that of the sum among the carried values
        """
        found = self._summands(place)
        if found is None:
            return None
        carried = self.region.params[1:]
        condition = found[-1].operands[0]
        bit = next((i for i, param in enumerate(carried) if param is condition), None)
        return bit if bit is not None and self.region.results[bit] == TRUE else None

    def _summands(self, place: int) -> list[Node] | None:
        """Return the nodes that add to a sum in a round, last first: `add`s, and an `if` that adds a row if there is a sum to add it to."""
        here, atom, found = set(self.region.nodes), self.region.results[place], list[Node]()
        while isinstance(atom, Value) and (node := self._made.get(atom)) in here and self._uses[atom] == 1:
            assert node is not None
            found.append(node)
            if isinstance(node.op, If):
                return found if self._begins(node, node.results.index(atom), self.region.params[1 + place]) else None
            if not isinstance(node.op, Add):
                return None
            atom = node.operands[0]
        return None

    def _begins(self, node: Node, at: int, total: Value) -> bool:
        """Return True if the result `at` of an `if` is `add(total, row)` or, without a total, `row`, for the cotangent of one row."""
        first, second = (region.results[at] for region in node.regions)
        made = self._made.get(first) if isinstance(first, Value) else None
        return (made is not None and made in node.regions[0].nodes and isinstance(made.op, Add) and made.operands == (total, second)
                and self._uses[total] == self._uses[first] == 1 and self._row(second) is not None)

    def _row(self, atom: Atom) -> Node | None:
        """Return the node of the body that computes the cotangent of one row as an array; None for other values."""
        made = self._made.get(atom) if isinstance(atom, Value) else None
        is_row = made is not None and isinstance(made.op, GatherGradient) and tensor_type(made.operands[1]).rank == 0
        return made if is_row and made in self.region.nodes else None

    def change(self, place: int) -> None:
        """Let the rows be added to the sum at this place."""
        found = self._summands(place)
        assert found is not None
        instead: dict[Node, list[Node]] = {}
        dropped: Counter[Atom] = Counter()
        for node in found:
            if isinstance(node.op, If):
                at = next(i for i, value in enumerate(node.results) if value is self._begun(found, place))
                row = node.regions[1].results[at]
                dropped[row] += 2
                added = self._added(row, self.region.params[1 + place], node.results[at], node)
                instead[node] = [*_without(node, at), added]
            elif (row := node.operands[1]) is not node.operands[0] and self._row(row) is not None:
                dropped[row] += 1
                instead[node] = [self._added(row, node.operands[0], node.results[0], node)]
        for row, count in dropped.items():
            made = self._row(row)
            if made is not None and self._uses[row] == count:
                instead[made] = []
        nodes = tuple(new for node in self.region.nodes for new in instead.get(node, (node,)))
        self.region, self.changed = replace(self.region, nodes=nodes), True

    def _begun(self, found: Sequence[Node], place: int) -> Atom:
        return found[-2].operands[0] if len(found) > 1 else self.region.results[place]

    def _added(self, row: Atom, total: Atom, result: Value, node: Node) -> Node:
        """Make the node that adds a row to a total, in the place of `node`."""
        made = self._row(row)
        assert made is not None and isinstance(made.op, GatherGradient)
        gradient, index = made.operands
        b = Builder(node.loc)
        return replace(b.emit_node(AddRow(made.op.axis), [total, index, gradient]), results=(result,))


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
        if not any(isinstance(node.op, GatherGradient) and tensor_type(node.operands[1]).rank == 0 for node in walk(function.body)):
            return function
        return replace(function, body=_RowSums(function).body(function.body))
