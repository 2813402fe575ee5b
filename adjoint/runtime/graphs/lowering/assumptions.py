"""What a lowering assumes that forward hooks return, and which of the hooks' slots it assumes to be filled.

A site is the key of one decision: the index of a cell's call in the graph with "slots", "forward_pre" or "forward".
"""

from __future__ import annotations

from typing import Any

__all__ = ["Assumptions", "Site"]

Site = tuple[int, str]


class Assumptions:
    """The results of forward hooks that one lowering relies on.

    known    what earlier runs have shown, by site: the outline of the hooks' result, or the cell's `Slots`
    asks     True if nothing is assumed of other hooks: the graph ends at them, and their result decides how it continues
    taken    what this graph was made for, by site
    sites    the site of each `apply!` of such hooks, by its symbol
    guessed  True once something was assumed that no run has shown
    """

    def __init__(self, known: dict[Any, Any], asks: bool):
        self.known, self.asks = known, asks
        self.taken: dict[Any, Any] = {}
        self.sites: dict[str, Any] = {}
        self.guessed = False
