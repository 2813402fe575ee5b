"""What is assumed while a function is made into a graph: results of forward hooks, kinds of hooks of cells, state that differs between
runs.

A site is the key of an assumption about hooks: the index of a cell's call in the graph, with "slots" or the slot of the hooks that run
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from adjoint.frontend.changes.journal import OutsidePlace
from adjoint.ir.core import Atom, Node
from adjoint.ir.ops.counted import CountedOp

__all__ = ["UNKNOWN", "Assumptions", "CountedSize", "Counts", "NumberNeeded", "Site"]

Site = tuple[int, str]


UNKNOWN: Final = -1
"""In place of the number of a size, in a graph that ends there, since nothing more can be made before the number is known."""


class CountedSize(NamedTuple):
    """A size that values decide when the graph runs.

    name    the named size, by which a node asks for it
    number  the number for which the graph is made; None for any from `graph_sizes.LEAST` on; UNKNOWN
    op      the class of that node
    atom    its operand
    """

    name: str
    number: int | None
    op: type[CountedOp]
    atom: Atom


class Counts(NamedTuple):
    """For which numbers a graph is made in which values decide sizes.

    known  for each such size, in the order in which they are needed, its number; None for any from `graph_sizes.LEAST` on
    exact  True if Python needs to know the numbers: one that is not known is taken to be that of a size before, or the largest possible one
    ends   True if instead the graph ends where it needs a number that is not known
    """

    known: tuple[int | None, ...] = ()
    exact: bool = False
    ends: bool = False


class NumberNeeded(BaseException):
    """Raised while a graph is made where it ends, since the number of a size is not known.  Code of the user's does not catch it.

    nodes  the nodes that have been made, in order, those of open regions behind those around them
    """

    def __init__(self, nodes: tuple[Node, ...]):
        super().__init__("the number of a size")
        self.nodes = nodes


class Assumptions:
    """What is assumed while a graph is made, such as what forward hooks return.  If the graph runs and an assumption is wrong, the call
    continues in another graph.

    A site is the key of an assumption about hooks: the index of a cell's call in the graph, with "slots" or the slot of the hooks that run
    there.

    known    what earlier calls have shown, by site: the structure of what the hooks return, or the kinds of hooks that the cell has
    asks     True if nothing is assumed about other hooks: the graph ends at them, and their result decides how it continues
    taken    what this graph was made for, by site
    sites    for each node that calls such hooks, by symbol (the name in the IR), its site
    guessed  True once a result of hooks was assumed that no call has shown
    state    the attributes and variables whose numbers and tensors differ from call to call
    begun    the values of such places at the beginning of a call, if they differ from the present ones
    sizes    True if sizes of the arguments differ from call to call
    numbers  True for an attempt in which numbers among the arguments are inputs
    counts   the numbers for which the graph is made of the sizes that values decide; None if values may decide no size
    counted  the sizes that values decide, so far
    """

    def __init__(self, known: dict[Any, Any], asks: bool, state: Sequence[OutsidePlace] = (), begun: Any = None,
                 sizes: bool = False, numbers: bool = False, counts: Counts | None = None):
        self.known, self.asks, self.state, self.begun, self.sizes, self.numbers = known, asks, state, begun, sizes, numbers
        self.counts = counts
        self.counted: list[CountedSize] = []
        self.taken: dict[Any, Any] = {}
        self.sites: dict[str, Any] = {}
        self.guessed = False
