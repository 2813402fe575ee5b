"""Stages: the parts of the C call of a straight piece (kernels with no Python between them), which run one after the other.

A place is a block of memory and an offset in bytes.  Blocks 0, 1, ... are passed to the call; blocks -1, -2, ... belong to the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Node

__all__ = ["Jump", "Rotation", "LaunchStage", "BufferPlace", "Stage"]

BufferPlace = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LaunchStage:
    """The stage that launches one kernel.

    kernel  the bound kernel: its C function together with its sizes
    places  for each buffer its block and its offset in bytes: operands, then results, then scratch memory
    sizes   the bytes of each buffer
    inputs  how many of the buffers are operands, which are only read
    node    the node that it belongs to
    failure makes the exception for a status that the kernel may return; None if it does not fail
    """

    kernel: Any
    places: tuple[BufferPlace, ...]
    sizes: tuple[int, ...]
    inputs: int
    node: Node
    failure: Callable[[int], Exception] | None


@dataclass(slots=True)
class Jump:
    """The stage (a part of a C call) that continues at the stage with the index `target`.

    node       the branch or loop that it belongs to
    target     the index of the stage
    condition  where in memory a bool is: the jump is done only if that is false; None: always
    """

    node: Node
    condition: BufferPlace | None
    target: int = -1


@dataclass(frozen=True, slots=True)
class Rotation:
    """The stage (a part of a C call) that exchanges blocks of memory instead of copying them: each block becomes the memory of the next
    one, the last that of the first.

    node    the loop that it belongs to
    blocks  the blocks, in the order of the exchange
    """

    node: Node
    blocks: tuple[int, ...]


Stage = LaunchStage | Jump | Rotation
