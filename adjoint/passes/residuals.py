"""The forward copy of a function, which also returns the residuals: the values inside of regions that its adjoint (reverse pass) uses.

    if c { R } else { S }            results of the `if`; `undef` on the side that does not define them
    for, while carry (a) { R }       pushed on stacks, one for each value; a `while` also counts its rounds.  One that is the same in each
                                     round is computed before the loop: no stack holds copies of it
    cell carry (x = a) { R }         additional results of the cell

A residual keeps its identity: outside of the region it is the same Value that the adjoint uses (for a loop, a stack of it).  The values
inside of the region are renamed instead.  So the adjoint does not change when the forward copy is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value, walk
from adjoint.ir.ops.control import Cell, For, If, While
from adjoint.ir.types import I64, scalar
from adjoint.passes.rebuild import fresh, renamed

__all__ = ["Looked", "extended"]


@dataclass
class Looked:
    """Lists the forward values inside of one node's regions that the gradient uses.  `extended` makes a node that returns them in addition.

    values  for each such value, the value that the node returns for it: the same one, or for a loop a stack with one item for each round
    queues  pairs (value, stack) for the values that callbacks (hooks) attached in a loop use; the adjoint takes them out with the first
        round first, those of `values` with the last round first
    same    the values inside of a loop that are the same in each round
    rounds  the number of rounds that a `while` ran, if the gradient needs it, otherwise None
    """

    values: dict[Value, Value] = field(default_factory=dict)
    queues: list[tuple[Value, Value]] = field(default_factory=list)
    same: dict[Value, None] = field(default_factory=dict)
    rounds: Value | None = None

    def copy(self) -> Looked:
        return Looked(dict(self.values), list(self.queues), dict(self.same), self.rounds)

    def pairs(self) -> list[tuple[Value, Value]]:
        """Return all listed values as pairs: the value inside of the region, and the value that the node returns for it."""
        return [*self.values.items(), *self.queues]

    def outside(self) -> list[Value]:
        """Return the values that the forward copy computes in addition outside of the regions, so that the adjoint can use them."""
        return [*self.same, *self.added()]

    def added(self) -> list[Value]:
        """Return the values that the node has as additional results in the forward copy."""
        return [*(value for _, value in self.pairs()), *([] if self.rounds is None else [self.rounds])]


def extended(b: Builder, nodes: Sequence[Node], looked: dict[Node, Looked], needed: set[Value]) -> None:
    """Append the forward copy of nodes: the same nodes, but those with regions have additional results for values that the adjoint uses.

    looked  for each node, the values inside that the adjoint uses
    needed  all values that are used anywhere; those of a cell become results of the cell
    """
    for node in nodes:
        with b.at(node.loc):
            match node.op:
                case If() if node in looked:
                    _extend_if(b, node, looked, needed)
                case For() | While() if node in looked:
                    _extend_loop(b, node, looked, needed)
                case Cell():
                    _extend_cell(b, node, node.op, looked, needed)
                case _:
                    b.append(node)


def _extend_if(b: Builder, node: Node, looked: dict[Node, Looked], needed: set[Value]) -> None:
    seen = list(looked[node].values)
    regions: list[Region] = []
    for region in node.regions:
        inner = b.inner()
        extended(inner, region.nodes, looked, needed)
        here = {value for made in inner.nodes for value in made.results}
        kept = [value if value in here else inner.undef(results=(value.type,)) for value in seen]
        regions.append(inner.finish([*region.results, *kept], (), region.loc))
    b.emit_node(node.op, node.operands, regions=renamed(regions), results=(*node.results, *seen), loc=node.loc)


def _extend_loop(b: Builder, node: Node, looked: dict[Node, Looked], needed: set[Value]) -> None:
    seen = looked[node]
    *tests, body = node.regions
    for made in _makers(body, seen.same):
        b.append(made)
    inner = b.inner()
    extended(inner, body.nodes, looked, needed)

    pairs = seen.pairs()
    start: list[Atom] = [b.stack(results=(stack.type,)) for _, stack in pairs]
    params = list(fresh([stack for _, stack in pairs]))
    yielded: list[Atom] = [inner.push(param, value) for param, (value, _) in zip(params, pairs, strict=True)]
    if seen.rounds is not None:
        count = Value(scalar(I64), seen.rounds.hint)
        start.append(Literal(0, scalar(I64)))
        params.append(count)
        yielded.append(inner.add(count, Literal(1, scalar(I64))))

    extra = [Region((*test.params, *params), test.nodes, test.results, test.loc) for test in tests]
    whole = inner.finish([*body.results, *yielded], [*body.params, *params], body.loc)
    b.emit_node(node.op, [*node.operands, *start], regions=renamed([*extra, whole]), results=(*node.results, *seen.added()), loc=node.loc)


def _makers(body: Region, values: Iterable[Value]) -> list[Node]:
    """Return the nodes of a region that compute the given values, and all that these need of other nodes there, in order."""
    wanted, found = set(values), list[Node]()
    for node in reversed([*walk(body)]):
        if not wanted.isdisjoint(node.results):
            found.append(node)
            wanted.update(x for x in node.operands if isinstance(x, Value))
    return found[::-1]


def _extend_cell(b: Builder, node: Node, op: Cell, looked: dict[Node, Looked], needed: set[Value]) -> None:
    (body,) = node.regions
    inner = b.inner()
    extended(inner, body.nodes, looked, needed)
    here = [*body.params, *(value for made in inner.nodes for value in made.results)]
    exported = [value for value in here if value in needed]
    if not exported:
        b.append(node)
        return
    more = Cell(op.title, op.symbol, op.rule, op.residuals + len(exported))
    region = inner.finish([*body.results, *exported], body.params, body.loc)
    b.emit_node(more, node.operands, regions=renamed([region]), results=(*node.results, *exported), loc=node.loc)
