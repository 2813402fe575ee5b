"""Values for training curves: operators such as `ScalarSummary` hand them to the record that collects them, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["collect", "collected_by"]

_Collector = Callable[[str, str, Any], None]

_collectors: list[_Collector] = []


def collected_by(collector: _Collector | None) -> None:
    """From now on call `collector(kind, name, value)` with each value, in place of an earlier one; None: values are dropped."""
    _collectors[:] = [] if collector is None else [collector]


def collect(kind: str, name: str, value: Any) -> None:
    """Hand a value to the record that collects; without one it is dropped.

    kind  "scalar", "tensor", "image" or "histogram"
    """
    for collector in _collectors:
        collector(kind, name, value)
