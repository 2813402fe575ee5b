"""The processes of a program: how each describes itself, and how they divide a machine."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass

__all__ = ["Process", "cpus_of_own", "introduced"]

_CARD = 2048
"""Bytes of the message in which a process describes itself."""


@dataclass(frozen=True)
class Process:
    """One of the processes.

    rank  its number
    host  the name of its machine
    pid   its number there
    cpus  the processors it may use
    """

    rank: int
    host: str
    pid: int
    cpus: frozenset[int]

    def __str__(self) -> str:
        return f"rank {self.rank} (process {self.pid} on {self.host})"


def introduced(comm: Any) -> tuple[Process, ...]:
    """Return all processes of an MPI communicator; a collective, in which each describes itself."""
    cpus = sum(1 << cpu for cpu in os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (1 << (os.cpu_count() or 1)) - 1
    card = json.dumps([socket.gethostname(), os.getpid(), f"{cpus:x}"]).encode().ljust(_CARD)
    cards = bytearray(_CARD * comm.size)
    comm.Allgather(card, cards)
    found: list[Process] = []
    for rank in range(comm.size):
        host, pid, mask = json.loads(cards[_CARD * rank : _CARD * (rank + 1)])
        bits = int(mask, 16)
        found.append(Process(rank, host, pid, frozenset(i for i in range(bits.bit_length()) if bits >> i & 1)))
    return tuple(found)


def cpus_of_own(processes: Sequence[Process], rank: int) -> int:
    """Return a process's share of the processors when each is divided among the processes on the host that may use it; at least 1."""
    own = processes[rank]
    here = [other for other in processes if other.host == own.host]
    return max(1, int(sum(1 / sum(cpu in other.cpus for other in here) for cpu in own.cpus) + 1e-6))
