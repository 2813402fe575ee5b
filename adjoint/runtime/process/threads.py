"""The default number of threads of this process's kernels."""

from __future__ import annotations

import os

__all__ = ["default_threads", "set_share"]


def default_threads() -> int:
    """Return the default number of threads: ADJOINT_NUM_THREADS, this process's share of the processors, or the CPUs that it may use.

    The share exists after `communication.init`.  ValueError if the environment variable is not a positive number.
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
    """Set the number of processors that belong to this process, for `default_threads`."""
    global _share
    _share = processors
