"""How this process was started: alone, or by an MPI launcher as one of several."""

from __future__ import annotations

import os

__all__ = ["count_of_launcher"]

_COUNTS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""Variables in which launchers say how many processes they start; the last one counts those on this host."""
_MARKS = ("PMI_RANK", "PMIX_RANK", "PMI_FD")
"""Variables of launchers that do not say how many."""


def count_of_launcher() -> int:
    """Return how many processes the launcher says it has started: 0 if there is no launcher, 1 if it does not say."""
    counts = [int(text) for name in _COUNTS if (text := os.environ.get(name, "")).isdigit()]
    return max(counts, default=int(any(name in os.environ for name in _MARKS)))
