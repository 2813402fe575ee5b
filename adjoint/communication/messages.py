"""Messages between processes, with a limit of time and a check that all make the same call.

MPI carries bytes from one process to another here, nothing else: what is computed of them is computed by `collectives`, in an order that
no MPI library decides.  A process waits without keeping its processor busy for long, and knows whom it waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.communication.processes import Process

__all__ = ["Messages"]

Array = np.ndarray[Any, Any]

_CALL, _DATA = 1, 2
"""Tags: what a process calls, and its numbers."""
_LETTER = 320
"""Bytes of the message that says what a process calls."""
_BUSY, _NAP = 2e-4, 1e-3
"""Seconds: how long to look for messages without a pause, and the longest pause then."""
_LEFT = b"\0left"
"""What a process says in place of a call when its program has ended."""


class Messages:
    """The connection to the other processes.

    mpi        the module `mpi4py.MPI`
    comm       a communicator of its own
    processes  all processes, by their ranks
    patience   how many seconds to wait for another process; 0: for ever
    """

    def __init__(self, mpi: Any, comm: Any, processes: Sequence[Process], patience: float):
        self._mpi, self._comm, self._processes, self._patience = mpi, comm, processes, patience
        self._sending: list[Any] = []
        self._farewells: list[Any] = []

    def agree(self, call: str, ranks: Sequence[int], meanwhile: Mapping[int, Array]) -> None:
        """Make sure that the processes `ranks` make the same call, and send `meanwhile`, numbers by rank, to be received by `swap`.

        RuntimeError when one of them makes another call, has ended, or does not come in time.
        """
        mine = call.encode()[:_LETTER]
        letter = np.zeros(_LETTER, np.uint8)
        letter[: len(mine)] = np.frombuffer(mine, np.uint8)
        others = [rank for rank in ranks if rank != self._comm.rank]
        letters = {rank: np.empty(_LETTER, np.uint8) for rank in others}
        arriving = {rank: self._comm.Irecv(letters[rank], rank, _CALL) for rank in others}
        leaving = [self._comm.Isend(letter, rank, _CALL) for rank in others]
        self._sending = [*leaving, *(self._comm.Isend(_bytes(x), rank, _DATA) for rank, x in meanwhile.items())]
        self._wait(arriving, call, lambda: self._check(call, mine, letters, arriving))
        self._check(call, mine, letters, arriving)

    def swap(self, call: str, outgoing: Mapping[int, Array], incoming: Mapping[int, Array]) -> None:
        """Send numbers by rank, and receive others into arrays; all is done when it returns."""
        arriving = {rank: self._comm.Irecv(_bytes(x), rank, _DATA) for rank, x in incoming.items()}
        self._sending += [self._comm.Isend(_bytes(x), rank, _DATA) for rank, x in outgoing.items()]
        self._wait(arriving, call)
        self._wait(dict(enumerate(self._sending)), call)
        self._sending = []

    def leave(self) -> None:
        """Tell all others that this process makes no call any more."""
        letter = np.zeros(_LETTER, np.uint8)
        letter[: len(_LEFT)] = np.frombuffer(_LEFT, np.uint8)
        self._farewells = [self._comm.Isend(letter, rank, _CALL) for rank in range(self._comm.size) if rank != self._comm.rank]

    def _check(self, call: str, mine: bytes, letters: Mapping[int, Array], arriving: Mapping[int, Any]) -> None:
        """RuntimeError for a letter that has come and says something else."""
        for rank, letter in letters.items():
            if not arriving[rank].Test():
                continue
            theirs = letter.tobytes().rstrip(b"\0") if letter[0] else _LEFT
            if theirs == _LEFT:
                raise RuntimeError(f"For '{_operator(call)}', {self._processes[rank]} takes no part: its program has ended, while rank "
                                   f"{self._comm.rank} calls {call}. All processes of a group must make the same calls.")
            if theirs != mine:
                raise RuntimeError(f"For '{_operator(call)}', all processes of a group must make the same calls in the same order, but "
                                   f"rank {self._comm.rank} calls {call}, and rank {rank} {theirs.decode(errors='replace')}.")

    def _wait(self, requests: Mapping[Any, Any], call: str, look: Callable[[], None] | None = None) -> None:
        """Return when all requests are done; `look` is called now and then; RuntimeError when it takes too long."""
        every = list(requests.values())
        test = self._mpi.Request.Testall
        begin = time.monotonic()
        pause = 0.0
        while not test(every):
            waited = time.monotonic() - begin
            if waited < _BUSY:
                continue
            if look is not None:
                look()
            if self._patience and waited > self._patience:
                raise self._late(requests, call)
            time.sleep(pause)
            pause = min(pause + 2e-5, _NAP)

    def _late(self, requests: Mapping[Any, Any], call: str) -> RuntimeError:
        missing = [str(self._processes[rank]) for rank, request in requests.items() if not request.Test()]
        return RuntimeError(
            f"For '{_operator(call)}', rank {self._comm.rank} has waited {self._patience:g} seconds for {', '.join(missing)} to call "
            f"{call} too. ADJOINT_MPI_TIMEOUT sets how long it waits; 0 means for ever.")


def _operator(call: str) -> str:
    """The name of the operator of a call."""
    return call.partition("(")[0].partition(" ")[0]


def _bytes(array: Array) -> Array:
    """A contiguous array as bytes, not copied."""
    return array.reshape(-1).view(np.uint8)
