"""The program that names the first killed process of a host, also where it is itself late to look."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.communication import watcher


def named(tmp_path: Path, order: list[int], *, said: dict[int, str] | None = None) -> str:
    """Return what the watcher reports when three processes end in `order`, all while it sleeps; first they send what they `said`."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "watcher"))
        listening.listen(3)
        process = subprocess.Popen([sys.executable, "-I", "-S", watcher.__file__, str(listening.fileno()), "3"],
                                   stderr=subprocess.PIPE, text=True, pass_fds=(listening.fileno(),))
    connections = []
    for rank in range(3):
        connections.append(socket.socket(socket.AF_UNIX))
        connections[-1].connect(str(tmp_path / "watcher"))
        connections[-1].sendall(f"rank {rank}\n".encode())
    for connection in connections:
        assert connection.recv(64) == b"go on\n"
    os.kill(process.pid, signal.SIGSTOP)
    for rank in order:
        if said and rank in said:
            connections[rank].sendall(f"{said[rank]}\n".encode())
        connections[rank].close()
    os.kill(process.pid, signal.SIGCONT)
    return process.communicate(timeout=60)[1]


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_the_first_that_dies_is_named(tmp_path: Path, order: list[int]) -> None:
    assert named(tmp_path, order) == f"adjoint: rank {order[0]} was killed or has crashed, and all others are ended.\n"


def test_those_that_end_or_raise_are_not_named(tmp_path: Path) -> None:
    assert named(tmp_path, [0, 1, 2], said={0: "end", 1: "end"}) == "adjoint: rank 2 was killed or has crashed, and all others are ended.\n"


def test_after_an_exception_nothing_is_named(tmp_path: Path) -> None:
    assert named(tmp_path, [2, 0, 1], said={2: "raised"}) == ""
