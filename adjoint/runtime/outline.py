"""The outline of a value: its structure, with a slot in place of each tensor and run-time number.

    outlined((x, {"rate": 0.1}))  ->  (Slot(f32[3]), {"rate": 0.1}),  [x]

Outlines are compared by `key`: what stands in them are constants, and what the slots say are types.  A Parameter is a
constant, meant by its identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
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
    return _outlined(value, slot_of, leaves), leaves


def _outlined(value: Any, slot_of: _SlotOf, leaves: list[Any]) -> Any:
    slot = slot_of(value)
    if slot is not None:
        leaves.append(value)
        return slot
    if isinstance(value, tuple):
        items = [_outlined(item, slot_of, leaves) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [_outlined(item, slot_of, leaves) for item in value]
    if isinstance(value, dict):
        return {name: _outlined(item, slot_of, leaves) for name, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_outlined(part, slot_of, leaves) for part in (value.start, value.stop, value.step)))
    if isinstance(value, RunTimeText):
        return RunTimeText(tuple(
            piece if isinstance(piece, str) else (_outlined(piece[0], slot_of, leaves), *piece[1:]) for piece in value.pieces))
    return value


def filled(outline: Any, leaves: Sequence[Any]) -> Any:
    """The value of an outline whose slots hold `leaves`; text becomes a str."""
    return _filled(outline, iter(leaves))


def _filled(outline: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(outline, Slot):
        return next(leaves)
    if isinstance(outline, tuple):
        items = [_filled(item, leaves) for item in outline]
        return type(outline)(*items) if hasattr(outline, "_fields") else tuple(items)
    if isinstance(outline, list):
        return [_filled(item, leaves) for item in outline]
    if isinstance(outline, dict):
        return {name: _filled(item, leaves) for name, item in outline.items()}
    if isinstance(outline, slice):
        return slice(*(_filled(part, leaves) for part in (outline.start, outline.stop, outline.step)))
    if isinstance(outline, RunTimeText):
        return outline.with_values(lambda value: _filled(value, leaves))
    return outline


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
