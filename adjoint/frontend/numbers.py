"""Numbers that are known when the graph runs: what Python would do with an int, float or bool, as nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["RunTimeRange"]


@dataclass(frozen=True, eq=False)
class RunTimeRange:
    """`range(start, stop, step)` of which a part is a run-time number."""

    start: Any
    stop: Any
    step: Any
