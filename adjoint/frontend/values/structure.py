"""Nested structures of parsed code: tuples, lists and dicts, taken apart and made again with other parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["items", "like"]


def items(value: tuple[Any, ...] | list[Any] | dict[Any, Any]) -> Iterable[Any]:
    """Return what a container holds, in order; of a dict its values."""
    return value.values() if isinstance(value, dict) else value


def like(value: Any, parts: Iterable[Any]) -> Any:
    """Return a tuple or list of the class of `value`, or a dict with its keys, that holds `parts`."""
    if isinstance(value, dict):
        return dict(zip(value, parts, strict=True))
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
