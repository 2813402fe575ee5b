"""One function for batches of several sizes, of which each node differs in sizes and numbers only.

    for 2 rows                    for 3 rows                        for both
    y: f32[2, 8] = mul(x, w)      y: f32[3, 8] = mul(x, w)          y: f32[batch, 8] = mul(x, w)
    z: f32[8] = mul(s, 0.5)       z: f32[8] = mul(s, 0.333)         z: f32[8] = mul(s, {0.5, 0.333}[batch - 2])

The function is made for each size up to the largest one, and all of them are compared: nothing is concluded from some sizes for others.
Those that differ in more, such as that of one row, where other rules of broadcasting hold, are functions of their own (`together`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import Loc
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value, tensor_type
from adjoint.ir.ops.control import For
from adjoint.ir.ops.stack import Stack, Undef
from adjoint.ir.types import StackType, TensorType, Type

__all__ = ["NAME", "NumberOfBatch", "Versions", "condition", "formula", "text_of_all", "together"]

NAME: Final = "batch"
"""The name of the number of rows in C, and in what is shown of types."""

MOST: Final = 4
"""The largest number of functions that one is made of."""


@dataclass(frozen=True, slots=True)
class NumberOfBatch(Literal):
    """A constant that is another one for other batches; `value` is that of the largest.

    each  the number for each batch of the versions, in order
    """

    each: tuple[bool | int | float | complex, ...]


@dataclass(frozen=True)
class Versions:
    """Functions of equal form, as one.

    function   the one with the most rows, in which a constant that differs is a `NumberOfBatch`
    batches    the numbers of rows, from the least; none for a function without a batch
    functions  the function for each of them
    nodes      for each node of `function` those of `functions`, where they are others
    types      for each value of `function` its types, where they differ
    """

    function: Function
    batches: tuple[int, ...] = ()
    functions: tuple[Function, ...] = ()
    nodes: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    types: Mapping[Value, tuple[Type, ...]] = field(default_factory=dict)

    def nodes_of(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes of the functions that a node stands for: one for each batch, or itself."""
        return self.nodes.get(node) or (node,)

    def types_of(self, atom: Atom) -> tuple[Type, ...]:
        """Return the types of an atom: one for each batch, or a single one."""
        return self.types.get(atom, (atom.type,)) if isinstance(atom, Value) else (atom.type,)

    def counts(self, atom: Atom) -> tuple[int, ...]:
        """Return the number of items of a tensor: one for each batch, or a single one."""
        return tuple([type_.count for type_ in self.types_of(atom) if isinstance(type_, TensorType)])

    def most_bytes(self) -> dict[Value, int]:
        """Return for each tensor that has not always the same size the bytes of the largest."""
        return {value: max(type_.nbytes for type_ in types if isinstance(type_, TensorType))
                for value, types in self.types.items() if isinstance(value.type, TensorType)}


# -- comparing -------------------------------------------------------------------------------------------------------------
def together(functions: Mapping[int, Function]) -> list[Versions]:
    """Return a function's versions by number of rows as few functions; CompileError if they are too many."""
    groups: list[dict[int, Function]] = []
    for rows, function in functions.items():
        apart: list[Loc] = []
        for group in reversed(groups):
            found = _Comparison().of(next(iter(group.values())), function)
            if found is None:
                group[rows] = function
                break
            apart.append(found)
        else:
            groups.append({rows: function})
            if len(groups) > MOST:
                raise NOT_STANDALONE.at(
                    apart[0], f"the program for {rows} rows is another one than for {rows - 1}, and so for most numbers of rows",
                    help="write what is done row by row with operators on the whole batch, or export some fixed sizes as functions of "
                    "their own: also={'two': (net, two_rows)}")
    return [_merged(group) for group in groups]


class _Comparison:
    """Finds the first place where two functions differ in more than sizes and numbers.

    same  for each value of the first the one of the second that it corresponds to
    """

    def __init__(self) -> None:
        self.same: dict[Atom, Atom] = {}

    def of(self, first: Function, second: Function) -> Loc | None:
        return self.regions(first.body, second.body, second.loc)

    def regions(self, first: Region, second: Region, around: Loc) -> Loc | None:
        if not self.defined(first.params, second.params):
            return around
        for a, b in zip(first.nodes, second.nodes, strict=False):
            if (found := self.nodes(a, b)) is not None:
                return found
        if len(first.nodes) != len(second.nodes):
            longer = max(first.nodes, second.nodes, key=len)
            return longer[min(len(first.nodes), len(second.nodes))].loc
        return None if self.atoms(first.results, second.results) else around

    def nodes(self, a: Node, b: Node) -> Loc | None:
        """Return the place of a node, or of one inside of it, if it differs."""
        if not (_equal(a, b) and self.atoms(a.operands, b.operands) and len(a.regions) == len(b.regions)):
            return b.loc
        for inner, other in zip(a.regions, b.regions, strict=True):
            if (found := self.regions(inner, other, b.loc)) is not None:
                return found
        return None if self.defined(a.results, b.results) else b.loc

    def defined(self, first: Sequence[Value], second: Sequence[Value]) -> bool:
        self.same.update(zip(first, second, strict=False))
        return [_kind(x.type) for x in first] == [_kind(x.type) for x in second]

    def atoms(self, first: Sequence[Atom], second: Sequence[Atom]) -> bool:
        return len(first) == len(second) and all(
            isinstance(b, Literal) and a.type is b.type if isinstance(a, Literal) else self.same.get(a) is b
            for a, b in zip(first, second, strict=True))


def _equal(a: Node, b: Node) -> bool:
    """Return True if two nodes are the same in C but for sizes, operands and what is inside of them.

    What a kernel does besides is in its text, which is compared where it is called.
    """
    if type(a.op) is not type(b.op):
        return False
    if isinstance(a.op, For):
        return [_sign(x) for x in a.operands[2:3]] == [_sign(x) for x in b.operands[2:3]]
    if isinstance(a.op, (Stack, Undef)):  # their types are their results'
        return True
    if a.op.can_lower != b.op.can_lower:
        return False
    if a.op.can_lower or getattr(a.op, "aliases", False):
        return getattr(a.op, "in_place", {}) == getattr(b.op, "in_place", {})
    return a.op == b.op


def _sign(atom: Atom) -> int | None:
    """Return the sign of the step of a loop, which decides the comparison in C: -1, 0 or 1; None if it is known only when the loop runs."""
    if isinstance(atom, Value):
        return None
    assert isinstance(atom.value, int)
    return (atom.value > 0) - (atom.value < 0)


def _kind(type_: Type) -> Any:
    """Return a type without its sizes."""
    return _kind(type_.item) if isinstance(type_, StackType) else type_.dtype if isinstance(type_, TensorType) else type_


# -- merging ---------------------------------------------------------------------------------------------------------------
def _merged(functions: Mapping[int, Function]) -> Versions:
    """Return functions that differ in sizes and numbers only as one."""
    nodes: dict[Node, tuple[Node, ...]] = {}
    types: dict[Value, tuple[Type, ...]] = {}

    def defined(values: Sequence[tuple[Value, ...]]) -> None:
        for each in zip(*values, strict=True):
            found = tuple([value.type for value in each])
            if any(type_ is not found[0] for type_ in found):
                types[each[-1]] = found

    def atoms(versions: Sequence[Sequence[Atom]]) -> tuple[Atom, ...]:
        return tuple([_constant(each) if isinstance(each[-1], Literal) else each[-1] for each in zip(*versions, strict=True)])

    def region(versions: Sequence[Region]) -> Region:
        last = versions[-1]
        defined([each.params for each in versions])
        inside = tuple([node(each) for each in zip(*(each.nodes for each in versions), strict=True)])
        return Region(last.params, inside, atoms([each.results for each in versions]), last.loc)

    def node(versions: tuple[Node, ...]) -> Node:
        last = versions[-1]
        inside = tuple([region(each) for each in zip(*(each.regions for each in versions), strict=True)])
        defined([each.results for each in versions])
        made = Node(last.op, atoms([each.operands for each in versions]), last.results, inside, last.loc)
        nodes[made] = versions
        return made

    each = tuple(functions.values())
    whole = Function(each[-1].symbol, region([function.body for function in each]), None, each[-1].loc)
    return Versions(whole, tuple(functions), each, nodes, types)


def _constant(each: Sequence[Atom]) -> Literal:
    """Return constants as one."""
    values = tuple([x.value for x in each if isinstance(x, Literal)])
    last = each[-1]
    if all(repr(value) == repr(values[0]) for value in values):  # -0.0 is another number than 0.0
        assert isinstance(last, Literal)
        return last
    return NumberOfBatch(values[-1], tensor_type(last), values)


# -- text ------------------------------------------------------------------------------------------------------------------
def formula(numbers: Mapping[int, int]) -> str | None:
    """Return C for a number that depends on the rows: a constant, or a polynomial of at most the second degree; None if there is none.

    numbers  by number of rows
    """
    if len({*numbers.values()}) == 1:
        return str(next(iter(numbers.values())))
    found = _polynomial(numbers)
    parts = [*(("+", *term) for term in found if term[1] > 0), *(("-", *term) for term in found if term[1] < 0)]
    text = " ".join(f"{sign} {' * '.join([*([str(abs(factor))] if abs(factor) > 1 or not power else []), *[NAME] * power])}"
                    for sign, power, factor in parts)
    return text.removeprefix("+ ") or None


def _polynomial(numbers: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return the powers and whole factors of a polynomial with these numbers, the highest power first; [] if there is none."""
    places = [*numbers][:3]
    slopes = [Fraction(numbers[b] - numbers[a], b - a) for a, b in pairwise(places)]
    square = (slopes[1] - slopes[0]) / (places[2] - places[0]) if len(slopes) == 2 else Fraction(0)
    line = slopes[0] - square * (places[0] + places[1])
    rest = numbers[places[0]] - line * places[0] - square * places[0] ** 2
    fits = all(square * rows**2 + line * rows + rest == number for rows, number in numbers.items())
    if not fits or any(factor.denominator != 1 for factor in (square, line, rest)):
        return []
    return [(power, int(factor)) for power, factor in ((2, square), (1, line), (0, rest)) if factor]


def condition(chosen: Sequence[int], among: Sequence[int]) -> str:
    """Return a C condition that is true for some numbers of rows.

    chosen, among  the numbers for which it is true, and all that there can be, from the least
    """
    ranges: list[list[int]] = []
    for rows in chosen:
        if ranges and rows == ranges[-1][1] + 1:
            ranges[-1][1] = rows
        else:
            ranges.append([rows, rows])
    parts = [f"{NAME} == {low}" if low == high else " && ".join(
        [*([f"{NAME} >= {low}"] if low > among[0] else []), *([f"{NAME} <= {high}"] if high < among[-1] else [])])
        for low, high in ranges]
    return parts[0] if len(parts) == 1 else " || ".join(f"({part})" for part in parts)


_NUMBER: Final = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


def text_of_all(texts: Sequence[str], batches: Sequence[int]) -> str:
    """Return a text that shows several, which differ in numbers: `f32[batch, 8]` for f32[2, 8] and f32[3, 8]."""
    if len({*texts}) == 1:
        return texts[0]
    split = [_NUMBER.split(text) for text in texts]
    if len({len(parts) for parts in split}) > 1:
        return texts[-1]
    return "".join(_shown(each, batches) for each in zip(*split, strict=True))


def _shown(each: tuple[str, ...], batches: Sequence[int]) -> str:
    if len({*each}) == 1:
        return each[0]
    whole = all(text.lstrip("-").isdecimal() for text in each)
    found = formula(dict(zip(batches, map(int, each), strict=True))) if whole else None
    return ".." if found is None else found.replace(" * ", "*")
