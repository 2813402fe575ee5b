"""Pieces that a tape (the recording of a thread's operations) has recorded by one call, and their values that no run has kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.runtime.execution.recording import Recording
from adjoint.runtime.gradients.trie import Chain
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Extended"]


class Extended:
    """Stands on a tape for one run of a straight piece (a run of kernels) that was recorded by one call; it can compute values again that
    the run did not keep.

    first  the first slot (value number) of the tape that it fills
    given  the memory that its operands had; a later write to an operand gives that tensor other memory
    recording, chain  the ops of the piece, and which of their values have slots
    """

    __slots__ = ("chain", "first", "given", "recording")

    def __init__(self, first: int, recording: Recording, chain: Chain, given: Sequence[Memory]):
        self.first, self.recording, self.chain, self.given = first, recording, chain, given

    def begins(self) -> int:
        """Return the first slot (value number) that it fills, as a key to search by."""
        return self.first

    def keep(self, slot: int) -> None:
        """Ask later runs of the piece (a run of kernels) to keep the value in this slot (value number)."""
        self.recording.kept |= {self.chain.values[slot - self.first]}

    def values(self) -> Iterator[tuple[int, Tensor]]:
        """Compute all values of the piece (a run of kernels) again; yield each that has a slot (value number), with its slot."""
        recording = self.recording
        memories = recording.compute(self.given)
        for filled, number in enumerate(self.chain.values, self.first):
            yield filled, wrap(recording.types[number], memories[number])
