"""Stages: the parts of the C call of a straight piece, which run one after the other.

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
    """The launch of a kernel.

    kernel  the bound kernel
    places  for each buffer its block and its offset in bytes: operands, results, scratch
    sizes   the bytes of each buffer
    inputs  how many of the buffers are operands, which are only read
    node    the node that it belongs to
    failure the exception for a status that it may return; None if it does not fail
    """

    kernel: Any
    places: tuple[BufferPlace, ...]
    sizes: tuple[int, ...]
    inputs: int
    node: Node
    failure: Callable[[int], Exception] | None


@dataclass(slots=True)
class Jump:
    """Continue at the stage `target` if the bool at `condition` is false, or if there is no condition."""

    node: Node
    condition: BufferPlace | None
    target: int = -1


@dataclass(frozen=True, slots=True)
class Rotation:
    """Blocks change places: each becomes the memory of the next one, the last that of the first."""

    node: Node
    blocks: tuple[int, ...]


Stage = LaunchStage | Jump | Rotation
