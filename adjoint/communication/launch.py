"""How this process was started: alone, or by an MPI launcher as one of several."""

from __future__ import annotations

import os

__all__ = ["count_of_launcher"]

_COUNTS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""Variables in which launchers give the number of processes; the last one counts those on this host."""
_MARKS = ("PMI_RANK", "PMIX_RANK", "PMI_FD")
"""Variables of launchers that do not give a number."""


def count_of_launcher() -> int:
    """Return the number of processes that the launcher has started: 0 without a launcher, 1 if it gives no number."""
    counts = [int(text) for name in _COUNTS if (text := os.environ.get(name, "")).isdigit()]
    return max(counts, default=int(any(name in os.environ for name in _MARKS)))
