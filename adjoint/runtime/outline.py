"""The outline of a value: its structure, with a slot in place of each tensor and run-time number.

    outlined((x, {"rate": 0.1}))  ->  (Slot(f32[3]), {"rate": 0.1}),  [x]

Outlines are compared by `key`: what stands in them are constants, and what the slots say are types.  A Parameter is a
constant, meant by its identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from adjoint.frontend.text import RunTimeText
from adjoint.ir.types import TensorType
from adjoint.runtime import values

__all__ = ["Slot", "filled", "outline_key", "outlined", "slots_of"]


@dataclass(frozen=True)
class Slot:
    """A tensor, or a run-time number of a Python type ("int", "float", "bool"), of a type in the IR."""

    category: str
    type: TensorType


_SlotOf = Callable[[Any], Slot | None]


def outlined(value: Any, slot_of: _SlotOf) -> tuple[Any, list[Any]]:
    """The outline of a value and what stands in its slots, in order; tuples, lists, dicts and slices are walked."""
    leaves: list[Any] = []

    def leaf(part: Any) -> Any:
        slot = slot_of(part)
        if slot is None:
            return _INSIDE
        leaves.append(part)
        return slot

    return _replaced(value, leaf), leaves


def filled(outline: Any, leaves: Sequence[Any]) -> Any:
    """The value of an outline whose slots hold `leaves`; text becomes a str."""
    return _replaced(outline, partial(_next_of, iter(leaves)))


def _next_of(leaves: Iterator[Any], part: Any) -> Any:
    if isinstance(part, Slot):
        return next(leaves)
    return part.with_values(lambda value: _replaced(value, partial(_next_of, leaves))) if isinstance(part, RunTimeText) else _INSIDE


_INSIDE = object()
"""What a leaf of `_replaced` gives for a part that is to be walked, or left as it is."""


def _replaced(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """A structure with its parts replaced by what `leaf` gives for them."""
    found = leaf(value)
    if found is not _INSIDE:
        return found
    if isinstance(value, tuple):
        items = [_replaced(item, leaf) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [_replaced(item, leaf) for item in value]
    if isinstance(value, dict):
        return {name: _replaced(item, leaf) for name, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_replaced(part, leaf) for part in (value.start, value.stop, value.step)))
    if isinstance(value, RunTimeText):
        return RunTimeText(tuple(
            piece if isinstance(piece, str) else (_replaced(piece[0], leaf), *piece[1:]) for piece in value.pieces))
    return value


def slots_of(outline: Any) -> list[Slot]:
    """The slots of an outline, in order."""
    return outlined(outline, lambda x: x if isinstance(x, Slot) else None)[1]


def outline_key(outline: Any, hold: Callable[[object], None] = lambda _: None) -> Hashable:
    """What compares equal for outlines that are the same; `hold` is told every object that is meant by its identity."""
    return values.key(_plain(outline), hold)


def _plain(outline: Any) -> Any:
    """The outline with slots, and the kinds of what holds them, as plain values, which compare by value."""
    if isinstance(outline, Slot):
        return ("<slot>", outline.category, str(outline.type))
    if isinstance(outline, (tuple, list)):
        return (type(outline), *(_plain(item) for item in outline))
    if isinstance(outline, dict):
        return {name: _plain(item) for name, item in outline.items()}
    return outline
