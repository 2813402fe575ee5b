"""Pieces that a tape has recorded by one call, and their values that no run has kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.runtime.execution.recording import Recording
from adjoint.runtime.gradients.trie import Chain
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Extended"]


class Extended:
    """One run of a piece, as a tape has recorded it.

    first  the first slot of the tape that it fills
    given  the memory that its operands had; a later write to an operand gives that tensor other memory
    """

    __slots__ = ("chain", "first", "given", "recording")

    def __init__(self, first: int, recording: Recording, chain: Chain, given: Sequence[Memory]):
        self.first, self.recording, self.chain, self.given = first, recording, chain, given

    def begins(self) -> int:
        """Return the first slot."""
        return self.first

    def keep(self, slot: int) -> None:
        """Make later runs of the piece keep the value in this slot."""
        self.recording.kept |= {self.chain.values[slot - self.first]}

    def values(self) -> Iterator[tuple[int, Tensor]]:
        """Compute all values again, and yield them with their slots."""
        recording = self.recording
        memories = recording.compute(self.given)
        for filled, number in enumerate(self.chain.values, self.first):
            yield filled, wrap(recording.types[number], memories[number])
