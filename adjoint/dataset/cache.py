"""DatasetCache: what programs make to keep rows in MindSpore's cache server, which does not exist here."""

from __future__ import annotations

from typing import Any

from adjoint.dataset.arguments import check_type

__all__ = ["DatasetCache"]


class DatasetCache:
    """The address of a session of a cache server; a pipeline that is to use it raises RuntimeError, as without a server in MindSpore.

    session_id      from 1 to 2**32 - 1
    other arguments  are kept

    TypeError and ValueError for another session_id.
    """

    def __init__(self, session_id: int, size: int = 0, spilling: bool = False, hostname: str | None = None, port: int | None = None,
                 num_connections: int | None = None, prefetch_size: int | None = None):
        check_type(session_id, (int,), "session_id")
        if not 0 < session_id < 2**32:
            raise ValueError(f"Input session_id is not within the required interval of [1, {2**32 - 1}].")
        self.session_id, self.size, self.spilling, self.hostname, self.port = session_id, size, spilling, hostname, port
        self.num_connections, self.prefetch_size = num_connections, prefetch_size

    def get_stat(self) -> Any:
        """Raise RuntimeError: there is no cache server."""
        raise RuntimeError("There is no cache server that could be asked.")
