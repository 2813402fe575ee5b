"""Bundling: stacks of a few numbers that one loop fills and another one empties together become one stack.

    ss, ts = for .. carry (s = stack(), t = stack()) {      bs = for .. carry (b = stack()) {
      yield push(s, x), push(t, y)                            yield push(b, concat(x, y))
    }                                                       }
    .. = for .. carry (s = ss, t = ts) {                    .. = for .. carry (b = bs) {
      s1, x = pop(s)                                          b1, both = pop(b)
      t1, y = pop(t)                                          x = both[0:1]; y = both[1:2]
      yield .., s1, t1                                        yield .., b1
    }                                                       }

Each push and each pop is a step of the table that runs the loop.  The concatenation and the slices are nothing but other names for numbers
where the pass `unroll` makes a kernel of the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import ClassVar, NamedTuple

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, tensor_type, use_counts, walk
from adjoint.ir.ops.control import For, While
from adjoint.ir.ops.shape import Reshape, Slice
from adjoint.ir.ops.stack import Pop, Push, Stack
from adjoint.ir.ops.unrolled import NUMBERS, on_few_numbers
from adjoint.ir.types import StackType, TensorType, stack_of, tensor
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import with_nodes_replaced

__all__ = ["Bundle"]


class _Link(NamedTuple):
    """A stack that one loop fills and another one empties, once in each round.

    empty   the node that makes the empty stack
    filler  the loop that fills it, and the position of the stack among its results
    push    the node of its body that pushes
    user    the loop that empties it, and the position of the stack among its results
    pop     the node of its body that pops
    """

    empty: Node
    filler: tuple[Node, int]
    push: Node
    user: tuple[Node, int]
    pop: Node


class _Links:
    """Finds the stacks of a function that can be bundled.

    makers  for each value, the node that computes it
    users   for each value that nodes use once, this node and the position of the operand
    counts  how often each value is used
    """

    def __init__(self, function: Function):
        self._counts = use_counts(function.body)
        self._makers: dict[Value, Node] = {}
        self._users: dict[Value, tuple[Node, int]] = {}
        for node in walk(function.body):
            self._makers.update(dict.fromkeys(node.results, node))
            self._users.update((x, (node, place)) for place, x in enumerate(node.operands) if isinstance(x, Value))

    def of(self, filler: Node) -> list[_Link]:
        """Return the stacks that a loop fills and another one empties."""
        found = []
        for place, stack in enumerate(filler.results):
            if isinstance(stack.type, StackType) and (link := self._link(filler, place, stack)) is not None:
                found.append(link)
        return found

    def _link(self, filler: Node, place: int, stack: Value) -> _Link | None:
        item = stack.type.item if isinstance(stack.type, StackType) else stack.type
        if not on_few_numbers([Value(item, "")]) or self._counts[stack] != 1:
            return None
        user, at = self._users.get(stack, (None, 0))
        if user is None or not isinstance(user.op, For):
            return None
        empty = self._maker(_initial(filler, place))
        push = self._maker(filler.regions[-1].results[place])
        if empty is None or not isinstance(empty.op, Stack) or push is None or not isinstance(push.op, Push):
            return None
        param = _carried(filler, place)
        used = self._users.get(param)
        if used is None or used[0] is not push or push not in filler.regions[-1].nodes:
            return None
        drawn = self._users.get(_carried(user, at - 3))
        if drawn is None or not isinstance(drawn[0].op, Pop) or drawn[0] not in user.regions[-1].nodes:
            return None
        rest = drawn[0].results[0]
        once = (_initial(filler, place), param, push.result, stack, _carried(user, at - 3), rest)
        if any(self._counts[x] != 1 for x in once) or user.regions[-1].results[at - 3] is not rest or self._counts[user.results[at - 3]]:
            return None
        return _Link(empty, (filler, place), push, (user, at - 3), drawn[0])

    def _maker(self, atom: Atom) -> Node | None:
        return self._makers.get(atom) if isinstance(atom, Value) else None


def _initial(loop: Node, place: int) -> Atom:
    return loop.operands[len(loop.operands) - len(loop.results) + place]


def _carried(loop: Node, place: int) -> Value:
    params = loop.regions[-1].params
    return params[len(params) - len(loop.results) + place]


def _bundles(links: Sequence[_Link]) -> list[list[_Link]]:
    """Return the links that become one stack: of one dtype, emptied by one loop, of a few numbers together."""
    open_: dict[object, list[_Link]] = {}
    found: list[list[_Link]] = []
    for link in links:
        key = link.user[0], _item(link).dtype
        bundle = open_.get(key)
        if bundle is None or sum(_item(each).count for each in (*bundle, link)) > NUMBERS:
            bundle = open_[key] = []
            found.append(bundle)
        bundle.append(link)
    return [bundle for bundle in found if len(bundle) > 1]


def _item(link: _Link) -> TensorType:
    return tensor_type(link.push.operands[1])


class _Loop:
    """A loop whose stacks are being replaced.  Its node is made when all replacements are known.

    before   the nodes that make the empty stacks of the bundles that it fills
    dropped  the positions of the results that go
    start    further initial values;  params, yielded, results  further carried values, what the body yields for them, and the results
    first    nodes that the body begins with;  last  nodes that it ends with;  without  nodes that go
    """

    def __init__(self, node: Node):
        self.node = node
        self.before: list[Node] = []
        self.dropped: set[int] = set()
        self.start: list[Value] = []
        self.params: list[Value] = []
        self.yielded: list[Value] = []
        self.results: list[Value] = []
        self.first: list[Node] = []
        self.last: list[Node] = []
        self.without: set[Node] = set()

    def made(self, regions: Sequence[Region]) -> Node:
        """Return the new node.

        regions  those of the node, in which other loops are replaced already
        """
        count = len(self.node.results)
        kept = [place for place in range(count) if place not in self.dropped]
        bounds = self.node.operands[: len(self.node.operands) - count]
        operands = (*bounds, *(_initial(self.node, place) for place in kept), *self.start)
        made = []
        for region in regions:
            lead = region.params[: len(region.params) - count]
            params = (*lead, *(region.params[len(lead) + place] for place in kept), *self.params)
            if region is regions[-1]:
                nodes = (*self.first, *(node for node in region.nodes if node not in self.without), *self.last)
                region = replace(region, nodes=nodes, results=(*(region.results[place] for place in kept), *self.yielded))
            made.append(replace(region, params=params))
        return replace(self.node, operands=operands, regions=tuple(made), results=(*(self.node.results[i] for i in kept), *self.results))


class _Bundling:
    """Replaces the bundles of a function.

    loops    the loops that change, by their first results
    without  the nodes that made empty stacks which are not used any more
    """

    def __init__(self, function: Function):
        self.loops: dict[Value, _Loop] = {}
        self.without: set[Node] = set()
        links = _Links(function)
        for node in walk(function.body):
            if isinstance(node.op, (For, While)):
                for bundle in _bundles(links.of(node)):
                    self._bundle(bundle)

    def _bundle(self, bundle: Sequence[_Link]) -> None:
        filler, user = (self.loops.setdefault(node.results[0], _Loop(node)) for node in (bundle[0].filler[0], bundle[0].user[0]))
        counts = [_item(link).count for link in bundle]
        type_ = tensor(_item(bundle[0]).dtype, (sum(counts),))
        stack = stack_of(type_)
        empty, param, filled, given, rest, left = (Value(stack, "bundle") for _ in range(6))
        filler.before.append(Builder().emit_node(Stack((stack,)), [], results=[empty]))
        self.without.update(link.empty for link in bundle)

        push = Builder(bundle[0].push.loc)
        flat = [push.reshape(link.push.operands[1], to=type_.with_shape((count,))) for link, count in zip(bundle, counts, strict=True)]
        pushed = push.push(param, push.concat(*flat, axis=0))
        filler.dropped.update(link.filler[1] for link in bundle)
        filler.without.update(link.push for link in bundle)
        filler.start.append(empty)
        filler.params.append(param)
        filler.last += push.nodes
        filler.yielded.append(pushed)
        filler.results.append(filled)

        pop = Builder(bundle[0].pop.loc)
        both = Value(type_, "bundled")
        pop.emit_node(Pop(), [given], results=[rest, both])
        for link, count, end in zip(bundle, counts, accumulate(counts), strict=True):
            part = pop.emit(Slice((end - count,), (end,), (1,)), both)
            pop.emit_node(Reshape(_item(link)), [part], results=[link.pop.results[1]])
        user.dropped.update(link.user[1] for link in bundle)
        user.without.update(link.pop for link in bundle)
        user.start.append(filled)
        user.params.append(given)
        user.first += pop.nodes
        user.yielded.append(rest)
        user.results.append(left)

    def change(self, node: Node) -> Sequence[Node] | None:
        """Return the nodes that take the place of a node; None if it stays."""
        if node in self.without:
            return []
        loop = self.loops.get(node.results[0]) if node.results else None
        return None if loop is None else [*loop.before, loop.made(node.regions)]


@dataclass(frozen=True)
class Bundle(Pass):
    """The pass `bundle`: make one stack of those of a few numbers that two loops fill and empty together."""

    name: ClassVar[str] = "bundle"

    def on_function(self, function: Function, module: Module) -> Function:
        return with_nodes_replaced(function, _Bundling(function).change)
