"""What a lowering assumes: what forward hooks return, which hook slots of cells are filled, which Python state differs between runs.

A site is the key of one such assumption: the index of a cell's call in the graph, with "slots" or the slot of the hooks that run there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.frontend.changes.journal import OutsidePlace

__all__ = ["Assumptions", "Site"]

Site = tuple[int, str]


class Assumptions:
    """The assumptions on which one lowering relies.

    known    what earlier runs have shown, by site: the outline of the hooks' result, or the cell's `Slots`
    asks     True if nothing is assumed about other hooks: the graph ends at them, and their result decides how it continues
    taken    what this graph was made for, by site
    sites    the site of each `apply!` of such hooks, by its symbol
    guessed  True once a result of hooks was assumed that no run has shown
    state    the places of Python state whose numbers and tensors differ from run to run
    begun    the values of such places at the beginning of a run, if they differ from the present ones
    sizes    True if sizes of the arguments differ from run to run
    numbers  True for an attempt in which numbers among the arguments are inputs
    """

    def __init__(self, known: dict[Any, Any], asks: bool, state: Sequence[OutsidePlace] = (), begun: Any = None,
                 sizes: bool = False, numbers: bool = False):
        self.known, self.asks, self.state, self.begun, self.sizes, self.numbers = known, asks, state, begun, sizes, numbers
        self.taken: dict[Any, Any] = {}
        self.sites: dict[str, Any] = {}
        self.guessed = False
