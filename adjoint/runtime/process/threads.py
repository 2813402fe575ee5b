"""The default number of threads of this process's kernels."""

from __future__ import annotations

import os

__all__ = ["default_threads", "set_share"]


def default_threads() -> int:
    """Return ADJOINT_NUM_THREADS, or the number of CPUs this process may use: its share after `communication.init`."""
    text = os.environ.get("ADJOINT_NUM_THREADS", "")
    if text:
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"ADJOINT_NUM_THREADS must be a positive number, but got {text!r}.")
        return int(text)
    if _share is not None:
        return _share
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_share: int | None = None
"""The number of this process's processors, if several processes share the machine."""


def set_share(processors: int) -> None:
    """Set the number of processors that `default_threads` counts, in place of all of the machine."""
    global _share
    _share = processors
