"""Totals of blocks combined as a balanced binary tree, in kernels.

Totals arrive one after the other, number 0 first.  Two adjacent totals of equally many blocks are combined as soon as both have arrived;
after the last one, the remaining totals are combined from the smallest to the largest:

    0  1  2  3  4      ((0 1) (2 3)) 4

So the number of roundings that a total takes part in is about log2 of the number of blocks, where it would be the number of blocks if they
were combined in order.  The tree depends on the number of blocks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.ir.kernel import Expr, Kernel

__all__ = ["LEVELS", "collected", "pushed"]

Action = Callable[[Any], None]
"""Emits an operation on the total of 2**level blocks, given the level."""


LEVELS = 32
"""The number of totals that are kept, one for each level of the tree: enough for 2**32 blocks."""


def pushed(k: Kernel, number: Expr, merge: Action, keep: Action) -> None:
    """Append the C code that adds the total of block `number` to the tree.

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
    """Append the C code that combines the totals which are left after `blocks` blocks, at least one.

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
