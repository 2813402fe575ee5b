"""The open regions of a graph that is being made, and the line of the user's program that new nodes come from.

A region is a list of nodes: the body of the function, of a branch, of a loop or of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.foundation.diagnostics import Loc, Within, within
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value
from adjoint.ir.op import Effect, Op

__all__ = ["Regions"]


_NODES = 16
"""How many ops in a row are compared to find out whether two values are equal."""


def _alike(a: Atom, b: Atom, maker: Mapping[Value, Node], depth: int) -> bool:
    if a is b or (isinstance(a, Literal) and isinstance(b, Literal) and a.type is b.type and repr(a.value) == repr(b.value)):
        return True
    first, second = (maker.get(x) if isinstance(x, Value) else None for x in (a, b))
    if depth == 0 or first is None or second is None or first.op is not second.op or first.op.effect is not Effect.PURE or first.regions:
        return False
    return first.results.index(a) == second.results.index(b) and all(
        _alike(x, y, maker, depth - 1) for x, y in zip(first.operands, second.operands, strict=True))


class Regions:
    """Adds nodes to the graph that is being made, in the region that is open: the body of the function, or of a branch, loop or cell.

    loc         the line of the user's program that is being lowered; new nodes get it
    builder     the builder of the innermost open region, to which nodes are added
    outermost   the region of the function or cell that is lowered
    named       values named after a variable of the user's; a later variable does not rename them
    has_effect  True once a node writes a tensor from outside of the graph or draws random numbers
    version     a number that grows with every node that may write tensors from outside: values read before are out of date
    user_code   a number that grows with every node that may run Python code of the user's, which may write Python state
    within      what new nodes are made in besides that line: the innermost cell
    restless    True if any region may be entered after user's code has run, like the body of a loop: then `user_code` grows with each
                region
    due         adds nodes that must stand before the next one, or before the next region; None if there are none
    """

    def __init__(self, loc: Loc):
        self.loc = loc
        self.builder = self.outermost = Builder(loc)
        self.named: set[Value] = set()
        self.has_effect = False
        self.version = 0
        self.user_code = 0
        self.restless = False
        self.within = Within(training=[])
        self.due: Callable[[], None] | None = None
        self._open: list[Builder] = [self.builder]
        self._of_cells: dict[Builder, Builder] = {}
        """For each closed region of a cell the region around it."""
        self._of_paths: set[Builder] = set()

    # -- nodes ------------------------------------------------------------------------------------------------------------
    def here(self) -> Loc:
        """Return the location of a node that is added now: `loc`, with what it is made in.  Nodes that are due are added first."""
        self.catch_up()
        loc = self.loc
        if getattr(loc, "within", None) is not self.within:
            loc = self.loc = within(loc, self.within)
        return loc

    def catch_up(self) -> None:
        """Add the nodes that are due."""
        if self.due is not None:
            due, self.due = self.due, None
            due()

    def node(self, op: Op, *atoms: Atom) -> Any:
        """Add a node for an op to the open region; return its result, or results if it has several."""
        return self.builder.emit(op, *atoms, loc=self.here())

    def add(self, op: Op, operands: Sequence[Atom], regions: Sequence[Region] = (), hint: str = "", writes: bool = False) -> Node:
        """Add a node for an op to the open region, and return the node.

        regions  the finished regions of the node, such as the branches of an `if`
        hint    a name for its results
        writes  True if the node may write any tensors from outside of the graph
        """
        node = self.builder.emit_node(op, operands, regions=regions, hint=hint, loc=self.here())
        self.version += writes
        return node

    def emit_region(self, op: Op, operands: Sequence[Atom], regions: Sequence[Region], hints: Sequence[str]) -> Sequence[Value]:
        """Add a node with regions, such as a branch or loop, which may write tensors from outside of the graph; return its results.

        hints  names for the results
        """
        results = self.add(op, operands, regions, writes=True).results
        for value, hint in zip(results, hints, strict=False):
            value.hint = hint if hint.isidentifier() else "y"
            self.named.add(value)
        return results

    # -- regions ----------------------------------------------------------------------------------------------------------
    def open(self) -> Builder:
        """Open a region inside of the innermost one, and return its builder: nodes are added to it until `close`."""
        self.reopen(Builder(self.loc))
        return self.builder

    def open_path(self) -> Builder:
        """Open the region of a branch or of a loop, and return its builder."""
        builder = self.open()
        self._of_paths.add(builder)
        return builder

    def reopen(self, builder: Builder) -> None:
        """Reopen a region that was closed, to add more nodes to it.

        builder  the region's builder, as `close` returned it
        """
        self.catch_up()
        self.user_code += self.restless
        self.builder = builder
        self._open.append(builder)

    def close(self) -> Builder:
        """Close the innermost open region, and return its builder."""
        self.catch_up()
        closed = self._open.pop()
        self.builder = self._open[-1]
        return closed

    def close_cell(self) -> Builder:
        """Close the innermost open region, that of a cell, and return its builder; its values may still be used outside."""
        closed = self.close()
        self._of_cells[closed] = self.builder
        return closed

    def at_boundary(self) -> None:
        """Record that a cell is entered or left at this point, where hooks may be called that user code has added while the graph runs."""
        self.catch_up()
        self.user_code += bool(self.user_code)

    def is_open(self, builder: Builder) -> bool:
        return builder in self._open

    def is_of_cell(self, builder: Builder) -> bool:
        """Return True if a closed region (a body of nodes) is that of a cell, so that its values may be used outside.

        builder  the region's builder, as `close_cell` or `close` returned it
        """
        return builder in self._of_cells

    def is_within_reach(self, builder: Builder) -> bool:
        """Return True if nodes of the open region can use values of a region: it is open, or that of a cell that was called in an open one.
        """
        return self._reached(builder) in self._open

    def is_around(self, builder: Builder) -> bool:
        """Return True if nodes of the region around the innermost open one can use values of a region."""
        return self._reached(builder) in self._open[:-1]

    def _reached(self, builder: Builder) -> Builder:
        """Return the innermost open region whose nodes can use values of a region; a closed one if there is none."""
        while builder in self._of_cells and builder not in self._open:
            builder = self._of_cells[builder]
        return builder

    def on_a_path(self) -> bool:
        """Return True if nodes are being added to a branch or a loop, which may be skipped or repeated when the graph runs."""
        return not self._of_paths.isdisjoint(self._open)

    def are_alike(self, a: Atom, b: Atom) -> bool:
        """Return True if two values of open regions are certainly equal: computed by the same ops from the same values."""
        maker = {value: node for builder in self._open for node in builder.nodes for value in node.results}
        return _alike(a, b, maker, _NODES)

    def open_nodes(self) -> tuple[Node, ...]:
        """Return the nodes of all open regions, those of the outermost one first."""
        return tuple([node for builder in self._open for node in builder.nodes])

    def is_outermost(self) -> bool:
        return self.builder is self.outermost

    @property
    def depth(self) -> int:
        """The number of regions that are open."""
        return len(self._open)

    def params_like(self, atoms: Sequence[Atom]) -> list[Value]:
        """Return new values with the types and names of these atoms (values or literals), to be the parameters of a region that takes them
        as arguments.
        """
        params = [Value(atom.type, getattr(atom, "hint", "x")) for atom in atoms]
        self.named.update(params)
        return params
