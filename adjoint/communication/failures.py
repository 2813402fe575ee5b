"""When one process fails, end all of them, and report which one failed.

    an exception that nobody catches   its traceback, a line that names the rank, and MPI ends all processes
    the program of a rank ends early   it notifies the others; a process that waits for it raises a RuntimeError that names it
    killed, or crashed                 MPI's launcher ends the others; a small process on each host, see `watcher`, names the rank
    a rank that hangs                  a process that waits for it raises a RuntimeError that names it, after ADJOINT_MPI_TIMEOUT seconds
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import termios
import time
from array import array
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from adjoint.communication import watcher
from adjoint.communication.messages import Messages
from adjoint.communication.processes import Process

__all__ = ["Guard"]


class Guard:
    """Report failures of this process to all others.

    comm       the communicator of all processes
    processes  all of them
    messages   the connection to the others
    token      a text that is unique to this run
    """

    def __init__(self, comm: Any, processes: Sequence[Process], messages: Messages, token: str):
        self._comm, self._messages = comm, messages
        own = processes[comm.rank]
        self._title = f"{own} of {len(processes)}"
        here = [other for other in processes if other.host == own.host]
        place = os.path.join(tempfile.gettempdir(), f"adjoint-run-{token}")
        if own is here[0]:
            _start_watcher(place, len(here))
        comm.Barrier()
        self._connection = _connected(place, self._title)
        comm.Barrier()
        if own is here[0]:
            shutil.rmtree(place, ignore_errors=True)  # all processes have found it
        self._shown = sys.excepthook
        sys.excepthook = self._failed
        atexit.register(self._leave)

    def _failed(self, kind: type[BaseException], raised: BaseException, frames: TracebackType | None) -> None:
        """Replace `sys.excepthook`: show the exception, name this rank, end all processes."""
        self._shown(kind, raised, frames)
        print(f"adjoint: {self._title} raised {kind.__name__}, and all others are ended.", file=sys.stderr)
        self._say("raised")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            _await_reader(stream)
        self._comm.Abort(1)

    def _leave(self) -> None:
        """At the end of the program, notify the processes that wait for this one."""
        self._messages.leave()
        self._say("end")

    def _say(self, word: str) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.sendall(f"{word}\n".encode())


def _await_reader(stream: Any, seconds: float = 5.0) -> None:
    """Wait until the launcher has read the output: it drops the rest when it is told to end all processes."""
    left = array("i", [0])
    until = time.monotonic() + seconds
    with contextlib.suppress(OSError, ValueError):  # not a pipe
        while time.monotonic() < until and not fcntl.ioctl(stream.fileno(), termios.FIONREAD, left) and left[0]:
            time.sleep(0.01)


def _start_watcher(place: str, count: int) -> None:
    """Start the watcher of this host, in a session of its own, so that it outlives the processes when they are ended."""
    with contextlib.suppress(OSError):
        os.mkdir(place, 0o700)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.join(place, "watcher"))
            listening.listen(count)
            subprocess.Popen([sys.executable, "-I", "-S", watcher.__file__, str(listening.fileno()), str(count)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(listening.fileno(),), start_new_session=True)


def _connected(place: str, title: str) -> socket.socket | None:
    """Return a connection to the watcher of this host, or None; without one a killed process is not named."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.path.join(place, "watcher"))
        connection.sendall(f"{title}\n".encode())
        connection.settimeout(watcher.PATIENCE)
        connection.recv(64)  # the order of deaths is seen only from here on
        connection.settimeout(None)
    except OSError:
        connection.close()
        return None
    return connection
