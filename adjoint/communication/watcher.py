"""A separate program: wait until the processes of a host end, and report the first one that was killed or crashed.

    python watcher.py DESCRIPTOR COUNT

DESCRIPTOR is a listening socket that it inherits, COUNT how many processes connect to it.  Each sends its name in a line and waits
for a line in return; it sends `end` or `raised` before it ends by itself.  The system closes the connections of dead processes in
the order in which they died: those that were ended because of the first one come later.
"""

from __future__ import annotations

import selectors
import socket
import sys
from contextlib import suppress
from typing import Final

__all__ = ["watch"]

PATIENCE: Final = 60.0
"""Seconds in which all processes must connect; one that has ended before it could do so is reported by its launcher."""


def watch(listening: socket.socket, count: int) -> None:
    """Return when `count` processes have connected and ended."""
    names = _greeted(listening, count)
    selector = selectors.DefaultSelector()
    for connection in names:
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ)
    # A connection that was ready once keeps its place in the system's queue until a call finds it quiet, and would come first again
    # whoever died first.  So the queue is emptied before any process goes on.
    while selector.select(0):
        pass
    for connection in names:
        with suppress(OSError):
            connection.sendall(b"go on\n")
    texts = dict.fromkeys(names, b"")
    quiet = False
    while texts:
        for key, _ in selector.select():
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            ended = _read(connection, texts)
            last = texts[connection].decode(errors="replace").splitlines()[-1:]
            quiet = quiet or last == ["raised"]
            if ended:
                selector.unregister(connection)
                del texts[connection]
                if not quiet and last != ["end"]:
                    quiet = True
                    print(f"adjoint: {names[connection]} was killed or has crashed, and all others are ended.", file=sys.stderr, flush=True)


def _greeted(listening: socket.socket, count: int) -> dict[socket.socket, str]:
    """Accept `count` connections and return them with the names of their processes."""
    listening.settimeout(PATIENCE)
    names = {}
    for _ in range(count):
        connection, _ = listening.accept()
        connection.settimeout(PATIENCE)
        with connection.makefile(encoding="utf-8", errors="replace") as lines:
            names[connection] = lines.readline().rstrip("\n")
    return names


def _read(connection: socket.socket, texts: dict[socket.socket, bytes]) -> bool:
    """Append to the text of a connection what it has received; return whether its process has ended."""
    with suppress(BlockingIOError):
        try:
            while received := connection.recv(4096):
                texts[connection] += received
        except ConnectionError:
            pass
        return True
    return False


if __name__ == "__main__":
    with suppress(TimeoutError):
        watch(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
