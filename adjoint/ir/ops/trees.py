"""Totals of blocks combined as a balanced binary tree, in kernels.

Totals come one after the other, number 0 first.  Two neighbouring totals of as many blocks make one, as soon as both are
there; when the last one has come, those that are left are combined from the shortest to the longest:

    0  1  2  3  4      ((0 1) (2 3)) 4

So a total takes part in about log2 of the number of blocks roundings, where it would in as many as there are blocks if they
were combined in order.  The tree depends on the number of blocks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.ir.kernel import Expr, Kernel

__all__ = ["LEVELS", "collected", "pushed"]

Action = Callable[[Any], None]
"""Emits what is done with the total of 2**level blocks, given the level."""


LEVELS = 32
"""Totals that have to be kept, one for each level of the tree: enough for 2**32 blocks."""


def pushed(k: Kernel, number: Expr, merge: Action, keep: Action) -> None:
    """Take in the total of block `number`.

    merge  combines the total kept at a level, which comes before, with the current one
    keep   keeps the current one at a level
    """
    rest, level = k.local(number, "rest"), k.local(k.literal(0, number.dtype), "level")
    with k.loop_while(k.equal(rest & 1, 1)):
        merge(level)
        k.set(rest, rest >> 1)
        k.set(level, level + 1)
    keep(level)


def collected(k: Kernel, blocks: Expr, take: Action, merge: Action) -> None:
    """Combine what is left after `blocks` totals, at least one.

    take   makes the total kept at a level the current one
    merge  combines the total kept at a level, which comes before, with the current one
    """
    rest, level = k.local(blocks, "rest"), k.local(k.literal(0, blocks.dtype), "level")
    with k.loop_while(k.equal(rest & 1, 0)):
        k.set(rest, rest >> 1)
        k.set(level, level + 1)
    take(level)
    k.set(rest, rest >> 1)
    k.set(level, level + 1)
    with k.loop_while(k.greater(rest, 0)):
        with k.when(k.equal(rest & 1, 1)):
            merge(level)
        k.set(rest, rest >> 1)
        k.set(level, level + 1)
