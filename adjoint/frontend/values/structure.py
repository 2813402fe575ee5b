"""Nested structures in the code that becomes the graph: the items of tuples, lists and dicts, and copies with other items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["items", "like"]


def items(value: tuple[Any, ...] | list[Any] | dict[Any, Any]) -> Iterable[Any]:
    """Return the items of a container in order; for a dict, its values."""
    return value.values() if isinstance(value, dict) else value


def like(value: Any, parts: Iterable[Any]) -> Any:
    """Return a container like `value` with other items: a tuple or list of the same class, or a dict with the same keys.

    parts  the new items, in the order of `items(value)`
    """
    if isinstance(value, dict):
        return dict(zip(value, parts, strict=True))
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
