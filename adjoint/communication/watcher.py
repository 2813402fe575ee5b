"""A separate program: wait until the processes of a host end, and report the first one that was killed or crashed.

    python watcher.py DESCRIPTOR COUNT

DESCRIPTOR is a listening socket that it inherits, COUNT how many processes connect to it.  Each sends its name in a line, and `end` or
`raised` before it ends by itself.  The system closes the connections of dead processes in the order in which they died: those
that were ended because of the first one come later.
"""

from __future__ import annotations

import selectors
import socket
import sys
from contextlib import suppress
from typing import Any

__all__ = ["watch"]


def watch(listening: socket.socket, count: int) -> None:
    """Return when `count` processes have connected and ended."""
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    texts: dict[int, bytes] = {}
    left, quiet = count, False
    while left:
        for key, _ in selector.select():
            if key.fd == listening.fileno():
                connection, _ = listening.accept()
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ)
                texts[connection.fileno()] = b""
                continue
            ended = False
            with suppress(BlockingIOError):
                while not ended:
                    received = _received(key.fileobj)
                    texts[key.fd] += received
                    ended = not received
            lines = texts[key.fd].decode(errors="replace").splitlines()
            quiet = quiet or lines[-1:] == ["raised"]
            if ended:
                left -= 1
                selector.unregister(key.fileobj)
                del texts[key.fd]
                if not quiet and lines and lines[-1] != "end":
                    quiet = True
                    print(f"adjoint: {lines[0]} was killed or has crashed, and all others are ended.", file=sys.stderr, flush=True)


def _received(connection: Any) -> bytes:
    """Return the received bytes; b"" at the end.  Raise BlockingIOError if there are none yet."""
    try:
        return connection.recv(4096)
    except ConnectionError:
        return b""


if __name__ == "__main__":
    watch(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
