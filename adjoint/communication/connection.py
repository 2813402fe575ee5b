"""Start MPI: find the processes, and connect them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

from adjoint.communication.collectives import Processes
from adjoint.communication.failures import Guard
from adjoint.communication.messages import Messages
from adjoint.communication.processes import Process, cpus_of_own, introduced
from adjoint.ir.ops.collective import Exchange
from adjoint.runtime.process import context

__all__ = ["connect"]


def connect(launched: int, ranks_of: Callable[[str], tuple[int, ...]]) -> tuple[tuple[Process, ...], int, Exchange] | None:
    """Start MPI; return all processes, the rank of this one and their collectives, or None if it is alone.

    launched  how many processes the launcher reports
    ranks_of  the ranks of a group by its name
    """
    try:
        from mpi4py import MPI  # importing it starts MPI
    except (ImportError, RuntimeError) as missing:
        if launched == 1:
            return None
        raise RuntimeError(f"For 'init', this is one of {launched} processes that a launcher of MPI has started, but mpi4py cannot be "
                           f"used: {missing}. `pip install adjoint[mpi]` installs it with an MPI, whose `mpirun` must be used.") from None
    everybody = MPI.COMM_WORLD
    if everybody.size == 1 and launched > 1:
        library = MPI.Get_library_version().partition("\n")[0]
        raise RuntimeError(f"For 'init', the launcher has started {launched} processes, but mpi4py's MPI, {library!r}, sees one: the "
                           "launcher belongs to another MPI. Use the `mpirun` of that MPI, or an mpi4py for the launcher's.")
    if everybody.size == 1:
        return None
    comm = everybody.Dup()
    processes, rank = introduced(comm), comm.rank
    messages = Messages(MPI, comm, processes, _patience())
    token = bytearray(secrets.token_hex(8).encode())
    comm.Bcast(token, 0)
    Guard(everybody, processes, messages, token.decode())
    context.share_processors(cpus_of_own(processes, rank))
    return processes, rank, Processes(messages, rank, ranks_of)


def _patience() -> float:
    """Return the seconds that a process waits for another one."""
    text = os.environ.get("ADJOINT_MPI_TIMEOUT", "") or "600"
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"ADJOINT_MPI_TIMEOUT must be a number of seconds, 0 or more, but got {text!r}.")
    return seconds
