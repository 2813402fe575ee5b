"""Messages between processes, with a timeout and a check that all make the same call.

MPI only carries bytes from one process to another here; `collectives` computes with them, in an order that does not depend on
the MPI library.  A waiting process soon stops keeping its processor busy, and knows which process it waits for.
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
"""Message tags: of the call that a process makes, and of its numbers."""
_LETTER = 320
"""Bytes of the message that announces a call."""
_BUSY, _NAP = 2e-4, 1e-3
"""Seconds: how long to poll without a pause, and the longest pause after that."""
_LEFT = b"\0left"
"""Message that a process sends in place of a call when its program has ended."""


class Messages:
    """The connection to the other processes.

    mpi        the module `mpi4py.MPI`
    comm       a communicator of its own
    processes  all processes, by their ranks
    patience   seconds to wait for another process; 0: no limit
    """

    def __init__(self, mpi: Any, comm: Any, processes: Sequence[Process], patience: float):
        self._mpi, self._comm, self._processes, self._patience = mpi, comm, processes, patience
        self._sending: list[Any] = []
        self._farewells: list[Any] = []

    def agree(self, call: str, ranks: Sequence[int], meanwhile: Mapping[int, Array]) -> None:
        """Check that the processes `ranks` make the same call, and send `meanwhile`, numbers by rank, which `swap` receives.

        Raise RuntimeError when one of them makes another call, has ended, or does not come in time.
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
        """Send numbers by rank, and receive others into arrays; return when all is done."""
        arriving = {rank: self._comm.Irecv(_bytes(x), rank, _DATA) for rank, x in incoming.items()}
        self._sending += [self._comm.Isend(_bytes(x), rank, _DATA) for rank, x in outgoing.items()]
        self._wait(arriving, call)
        self._wait(dict(enumerate(self._sending)), call)
        self._sending = []

    def leave(self) -> None:
        """Notify all others that this process makes no more calls."""
        letter = np.zeros(_LETTER, np.uint8)
        letter[: len(_LEFT)] = np.frombuffer(_LEFT, np.uint8)
        self._farewells = [self._comm.Isend(letter, rank, _CALL) for rank in range(self._comm.size) if rank != self._comm.rank]

    def _check(self, call: str, mine: bytes, letters: Mapping[int, Array], arriving: Mapping[int, Any]) -> None:
        """Raise RuntimeError if a received announcement differs from the expected one."""
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
        """Return when all requests are done, calling `look` now and then; raise RuntimeError after too long a wait."""
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
    """Return the name of the operator of a call."""
    return call.partition("(")[0].partition(" ")[0]


def _bytes(array: Array) -> Array:
    """Return the bytes of a contiguous array, not copied."""
    return array.reshape(-1).view(np.uint8)
