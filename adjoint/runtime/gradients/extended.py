"""Pieces that a tape (the recording of a thread's operations) has recorded by one call, and their values that no run has kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.runtime.execution.recording import Recording
from adjoint.runtime.gradients.trie import Chain
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Extended"]


class Extended:
    """Represents, on a tape, ops that one C call has run and that were recorded by one call.  It can compute values again that were not
    kept.

    first  the first slot (value number) of the tape that it fills
    given  the memory that its operands had; a later write to an operand gives that tensor other memory
    recording, chain  the ops, and which of their values have slots
    """

    __slots__ = ("chain", "first", "given", "recording")

    def __init__(self, first: int, recording: Recording, chain: Chain, given: Sequence[Memory]):
        self.first, self.recording, self.chain, self.given = first, recording, chain, given

    def begins(self) -> int:
        """Return the first slot (value number) of the tape that the ops of this call fill; the tape finds the record of a slot by a binary
        search over these.
        """
        return self.first

    def keep(self, slot: int) -> None:
        """Note that an adjoint has read the value in this slot (value number), so that later executions of these ops keep it."""
        self.recording.kept |= {self.chain.values[slot - self.first]}

    def values(self) -> Iterator[tuple[int, Tensor]]:
        """Compute all values of these ops again; yield (slot, tensor) for each value that has a slot (value number) on the tape.

        They are not checked: what is not finite was allowed, or was found when they were computed first.
        """
        recording = self.recording
        with finite_ok():
            memories = recording.compute(self.given)
        for filled, number in enumerate(self.chain.values, self.first):
            yield filled, wrap(recording.types[number], memories[number])
