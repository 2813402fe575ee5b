"""The default number of threads of this process's kernels."""

from __future__ import annotations

import os

__all__ = ["default_threads", "set_share"]


def default_threads() -> int:
    """Return how many threads kernels use by default.

    That is the environment variable ADJOINT_NUM_THREADS if it is set; else this process's share of the processors if `communication.init`
    has set one; else the number of CPUs that the process may use.

    ValueError if the environment variable is not a positive number.
    """
    text = os.environ.get("ADJOINT_NUM_THREADS", "")
    if text:
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"ADJOINT_NUM_THREADS must be a positive number, but got {text!r}.")
        return int(text)
    if _share is not None:
        return _share
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_share: int | None = None
"""The number of this process's processors, if several processes share the machine; else None."""


def set_share(processors: int) -> None:
    """Set how many of the machine's processors belong to this process, for `default_threads`."""
    global _share
    _share = processors
