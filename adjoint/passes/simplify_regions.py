"""Control flow of which it is known how it runs.

    if true { R } else { S }                        R
    if c { R; yield x } else { S; yield x }         x, for an x from outside
    if c { yield true } else { yield false }        c
    if c { .. c .. } else { .. c .. }               c is true in the first side, false in the second
    if c { R } else { S }; if c { R1 } else { S1 }  if c { R; R1 } else { S; S1 }
    for of no round, of one round                   the initial values; its body
    a carried value that is yielded unchanged       the initial value
    a result that equals another one                the other one; `undef` equals anything; stacks stay, as each is used once

`undef` is a value that is never read, so any value may replace it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value, free_of, tensor_type
from adjoint.ir.op import Effect
from adjoint.ir.ops.control import Cell, For, If, RegionOp, While, known_rounds
from adjoint.ir.ops.stack import Undef
from adjoint.ir.types import StackType
from adjoint.passes.patterns import FALSE, TRUE, same_atom
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["RegionSimplifier"]

WINDOW = 16
"""How many nodes back from an `if` an earlier `if` on the same condition is searched for, to join both."""


class RegionSimplifier(Rewriter):
    """Copies a function, and simplifies each `if` whose condition is known, and loops whose rounds or carried values are.

    made  for each value of the new function, the node that computes it
    """

    def __init__(self) -> None:
        self.made: dict[Value, Node] = {}

    def remember(self, node: Node) -> None:
        for value in node.results:
            self.made[value] = node

    def made_by(self, atom: Atom) -> Node | None:
        """Return the node of the new function that computes an atom; None for a literal or a parameter."""
        return self.made.get(atom) if isinstance(atom, Value) else None

    def copy(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        results = super().copy(b, node, known)
        self.remember(b.nodes[-1])
        return results

    def change_regions(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case If():
                return self._if(b, node, known)
            case For() | While():
                return self._loop(b, node, known)
            case Cell():
                return self._cell(b, node, known)
            case _:
                return None

    def _inlined(self, b: Builder, region: Region, known: Known) -> list[Atom]:
        self.nodes(b, region.nodes, known)
        return [became(atom, known) for atom in region.results]

    # if

    def _if(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        old = node.operands[0]
        condition = became(old, known)
        if isinstance(condition, Literal):
            return self._inlined(b, node.regions[0 if condition.value else 1], known)
        sides: list[Region] = []
        for region, value in zip(node.regions, (TRUE, FALSE), strict=True):
            inside = {**known, old: value} if isinstance(old, Value) else known
            sides.append(self.region(b.inner(), region, (), inside))
        first, second = sides

        results: list[Atom | None] = []
        kept: list[tuple[Atom, Atom]] = []
        places: list[int] = []
        here = _defined(sides)
        for one, two in zip(first.results, second.results, strict=True):
            decided = self._decided(b, condition, one, two, here)
            place = -1
            if decided is None:
                pairs = enumerate(kept)
                # a stack is used once, so two results stay two stacks
                place = len(kept) if isinstance(one.type, StackType) else next(
                    (i for i, pair in pairs if self._may_be(pair[0], one) and self._may_be(pair[1], two)), len(kept))
                if place == len(kept):
                    kept.append((one, two))
                else:
                    kept[place] = self._defined_one(kept[place][0], one), self._defined_one(kept[place][1], two)
            results.append(decided)
            places.append(place)
        first = replace(first, results=tuple(one for one, _ in kept))
        second = replace(second, results=tuple(two for _, two in kept))
        if not kept and not first.nodes and not second.nodes:
            return [atom for atom in results if atom is not None]

        made = self._merged(b, condition, first, second)
        self.remember(made)
        new = made.results[len(made.results) - len(kept) :]
        for value, place in zip(node.results, places, strict=True):
            if place >= 0:
                new[place].hint = value.hint
        return [new[place] if decided is None else decided for decided, place in zip(results, places, strict=True)]

    def _decided(self, b: Builder, condition: Atom, one: Atom, two: Atom, here: set[Value]) -> Atom | None:
        """Return the value of a result of an `if` that needs no branch: the condition, its negation, or the value that both sides yield.

        one, two  what the two sides yield for the result
        here      the values that the sides define

        Return None if the result needs the branch.
        """
        if one == TRUE and two == FALSE:
            return condition
        if one == FALSE and two == TRUE:
            made = b.logical_not(condition)
            self.remember(b.nodes[-1])
            return made
        for mine, other in ((one, two), (two, one)):
            if mine not in here and (same_atom(mine, other) or self._undefined(other)) and not self._undefined(mine):
                return mine
        return None

    def _undefined(self, atom: Atom) -> bool:
        node = self.made_by(atom)
        return node is not None and isinstance(node.op, Undef)

    def _may_be(self, one: Atom, two: Atom) -> bool:
        """Return True if one value can stand for both atoms: they are the same, or one of them is undefined."""
        return one.type is two.type and (same_atom(one, two) or self._undefined(one) or self._undefined(two))

    def _defined_one(self, one: Atom, two: Atom) -> Atom:
        return two if self._undefined(one) else one

    def _merged(self, b: Builder, condition: Atom, first: Region, second: Region) -> Node:
        """Append an `if` node, or join it with an earlier `if` on the same condition.  Return the appended node.

        The earlier one must be at most WINDOW nodes before, and no node in between may use its results.

        b              the Builder of the region
        first, second  the regions of the `if`
        """
        between: list[Node] = []
        for before in reversed(b.nodes[-WINDOW:]):
            if isinstance(before.op, If) and before.operands[0] is condition:
                used = {atom for node in between for atom in node.operands}
                if used.isdisjoint(before.results):
                    b.nodes.remove(before)
                    return self._one_if(b, before, first, second)
                break
            if isinstance(before.op, RegionOp) or before.op.effect is not Effect.PURE:
                break
            between.append(before)
        return b.emit_node(If(), [condition], regions=(first, second))

    def _one_if(self, b: Builder, before: Node, first: Region, second: Region) -> Node:
        """Append one `if` that does the work of an earlier `if` and then of a later one on the same condition; return it.

        before         the earlier `if`; a stack that the later one uses is not among the results any more, since a stack is used once
        first, second  the regions of the later one
        """
        taken = {value for region in (first, second) for value in free_of(region) if isinstance(value.type, StackType)}
        given = [value not in taken for value in before.results]
        pairs = zip(before.regions, (first, second), strict=True)
        joined = [self._joined(earlier, later, before.results, given) for earlier, later in pairs]
        new = [Value(atom.type, getattr(atom, "hint", "v")) for atom in first.results]
        return b.emit_node(If(), before.operands, regions=joined, results=(*compress(before.results, given), *new))

    def _joined(self, earlier: Region, later: Region, results: Sequence[Value], given: Sequence[bool]) -> Region:
        """Join two regions, one after the other, to one.

        earlier  the first region; its results replace the values `results` in the later one
        later    the second region
        given    for each result of the earlier one, True if the joined region yields it
        """
        known: Known = dict(zip(results, earlier.results, strict=True))
        b = Builder(earlier.loc)
        b.nodes = list(earlier.nodes)
        Rewriter.nodes(_Remembering(self), b, later.nodes, known)
        return b.finish([*compress(earlier.results, given), *(became(atom, known) for atom in later.results)], (), earlier.loc)

    # loops

    def _loop(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        *_, body = node.regions
        fixed = len(node.operands) - len(node.results)
        operands = [became(atom, known) for atom in node.operands]
        carried = body.params[len(body.params) - len(node.results) :]
        if isinstance(node.op, For) and (rounds := known_rounds(operands[:3])) is not None:
            if not rounds:
                return operands[fixed:]
            if len(rounds) == 1:
                known[body.params[0]] = Literal(rounds[0], tensor_type(body.params[0]))
                known.update(zip(carried, operands[fixed:], strict=True))
                return self._inlined(b, body, known)
        same = [param is atom for param, atom in zip(carried, body.results, strict=True)]
        if not any(same):
            return None
        known.update((p, x) for p, x, stays in zip(carried, operands[fixed:], same, strict=True) if stays)
        keep = [i for i, stays in enumerate(same) if not stays]
        params = [*body.params[: len(body.params) - len(carried)], *(carried[i] for i in keep)]
        regions = [
            replace(r, params=tuple(params), results=tuple(r.results[i] for i in keep) if r is body else r.results) for r in node.regions
        ]
        copies = self.regions(b, regions, known)
        made = b.emit_node(node.op, [*operands[:fixed], *(operands[fixed + i] for i in keep)], regions=copies)
        self.remember(made)
        left = iter(made.results)
        results: list[Atom] = [operands[fixed + i] if stays else next(left) for i, stays in enumerate(same)]
        for old, new, stays in zip(node.results, results, same, strict=True):
            if isinstance(new, Value) and not stays:
                new.hint = old.hint
        return results

    # cells

    def _cell(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        """Append a copy of a cell, and return the atoms that replace its results: the argument for a result that is one, and one value for
        two equal results.
        """
        made = self.copy(b, node, known)
        emitted = b.nodes[-1]
        (body,) = emitted.regions
        given = dict(zip(body.params, emitted.operands, strict=True))
        here = _defined(emitted.regions)
        seen: dict[Value, Atom] = {}
        results: list[Atom] = []
        for atom, result in zip(body.results, made, strict=True):
            if isinstance(atom, Literal) or atom not in here:
                results.append(atom)
            elif atom in given:
                results.append(given[atom])
            elif isinstance(atom.type, StackType):
                results.append(result)
            else:
                results.append(seen.setdefault(atom, result))
        return results


class _Remembering(Rewriter):
    """Copies nodes unchanged, and registers each new node with a RegionSimplifier, so that this finds which node computes a value.

    simplifier  the RegionSimplifier
    """

    def __init__(self, simplifier: RegionSimplifier):
        self._simplifier = simplifier

    def copy(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        results = super().copy(b, node, known)
        self._simplifier.remember(b.nodes[-1])
        return results


def _defined(regions: Sequence[Region]) -> set[Value]:
    """Return the values that regions define at their own level, without those of nested regions."""
    found: set[Value] = set()
    for region in regions:
        found.update(region.params)
        for node in region.nodes:
            found.update(node.results)
    return found
