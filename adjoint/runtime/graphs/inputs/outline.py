"""The outline of a value: its nested structure, with a slot in place of each tensor and run-time number.

    outlined((x, {"rate": 0.1}))  ->  (OutlineSlot(f32[3]), {"rate": 0.1}),  [x]

A graph returns tensors; filling them into the slots of its result's outline gives the result of the function.

Outlines are compared by `outline_key`, which includes the types of the slots; everything else in them is a constant.  A Parameter is a
constant, compared by identity.  An object that each run makes new is a `Remade`: its parts, and how to build it from them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import count
from math import isfinite
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.frontend.values.text import RunTimeText
from adjoint.ir.types import TensorType
from adjoint.runtime.graphs.guards import constants
from adjoint.runtime.tensor.structure import is_named, items, made, mapped

__all__ = ["Remade", "OutlineSlot", "expression_of", "filled", "outline_key", "outlined", "slots_of"]


@dataclass(frozen=True)
class OutlineSlot:
    """The slot in an outline (a structure without its tensors) that is filled, each time the graph runs, with a tensor or a number.

    category  "tensor", or the Python type of a number: "int", "float" or "bool"
    type      the type in the IR
    """

    category: str
    type: TensorType


@dataclass(eq=False)
class Remade:
    """Describes an object in the result of a graph that is created each time the graph runs, such as an iterator: one for all its
    occurrences.

    parts  its contents, a structure with slots
    begin  makes the object without its parts, if these may refer to it; otherwise returns None
    end    takes the result of `begin` and the filled parts, and returns the object
    """

    parts: Any = ()
    begin: Callable[[], Any] = lambda: None
    end: Callable[[Any, Any], Any] = lambda made, parts: made

    def filled(self, walked: Callable[[Any], Any], made: dict[int, Any]) -> Any:
        """Return the object for the present call of the graph; it is created at its first occurrence in the result.

        walked  fills the slots of the parts
        made    the objects created so far in this call, by the id of their Remade
        """
        if id(self) not in made:
            made[id(self)] = begun = self.begin()
            made[id(self)] = self.end(begun, walked(self.parts))
        return made[id(self)]


_SlotOf = Callable[[Any], OutlineSlot | None]


def outlined(value: Any, slot_of: _SlotOf) -> tuple[Any, list[Any]]:
    """Return the outline of a value (its structure with slots in place of tensors), and the contents of its slots, in order.

    slot_of  returns the slot for a leaf of the structure; None for a leaf that is a constant
    """
    found: list[Any] = []
    return mapped(value, partial(_slotted, slot_of, found, {})), found


# No nested functions: they would form a reference cycle and keep objects alive until the collector runs.
def _slotted(slot_of: _SlotOf, found: list[Any], remade: dict[int, Remade], leaf: Any) -> Any:
    slot = slot_of(leaf)
    if slot is not None:
        found.append(leaf)
        return slot
    walked = partial(mapped, change=partial(_slotted, slot_of, found, remade))
    if isinstance(leaf, Remade):
        if id(leaf) not in remade:
            known = remade[id(leaf)] = Remade((), leaf.begin, leaf.end)
            known.parts = walked(leaf.parts)
        return remade[id(leaf)]
    return leaf.mapped(walked) if isinstance(leaf, RunTimeText) else leaf


def filled(outline: Any, leaves: Sequence[Any]) -> Any:
    """Return the value with the structure of an outline and with `leaves` in its slots, in order; run-time text becomes a str."""
    return mapped(outline, partial(_next_of, iter(leaves), {}))


def _next_of(left: Iterator[Any], made: dict[int, Any], leaf: Any) -> Any:
    if isinstance(leaf, OutlineSlot):
        return next(left)
    if not isinstance(leaf, (Remade, RunTimeText)):
        return leaf
    walked = partial(mapped, change=partial(_next_of, left, made))
    return leaf.filled(walked, made) if isinstance(leaf, Remade) else leaf.with_values(walked)


def expression_of(outline: Any, *, converts: bool = False, objects: dict[str, Any] | None = None) -> str | None:
    """Return a Python expression that builds a value with the structure of an outline from variables `leaf0`, `leaf1`, ...

    Return None unless the outline consists of tuples, lists, dicts, tensors, numbers and text.

    converts  True: the outline may also have slots of numbers, written `int_of(leaf0)`
    objects   receives the other objects that the expression names; if None, the outline may not contain named tuples
    """
    return _expression(outline, count(), converts, objects)


def _expression(outline: Any, numbers: Iterator[int], converts: bool, objects: dict[str, Any] | None) -> str | None:
    if isinstance(outline, OutlineSlot):
        if outline.category == "tensor":
            return f"leaf{next(numbers)}"
        return f"{outline.category}_of(leaf{next(numbers)})" if converts else None
    kind = type(outline)
    if kind in _WRITTEN or (kind is int and abs(outline) < 2**63) or (kind is float and isfinite(outline)):
        return repr(outline)
    if kind is dict:
        parts = [_expression(part, numbers, converts, objects) for part in outline.values()]
        if None in parts or not all(type(name) is str for name in outline):
            return None
        return f"{{{', '.join(f'{name!r}: {part}' for name, part in zip(outline, parts, strict=True))}}}"
    named = is_named(kind)
    if kind not in (tuple, list) and (objects is None or not named):
        return None
    held = items(outline)
    assert held is not None
    parts = [_expression(part, numbers, converts, objects) for part in held]
    if None in parts:
        return None
    inside = "".join(f"{part}, " for part in parts)
    if named and objects is not None:
        name = f"made{len(objects)}"
        objects[name] = partial(made, kind, ())
        return f"{name}(({inside}))"
    return f"[{inside}]" if kind is list else f"({inside})"


_WRITTEN = frozenset({bool, str, type(None)})
"""Types of constants that `repr` turns into Python expressions for them."""


def slots_of(outline: Any) -> list[OutlineSlot]:
    """Return the slots of an outline (a structure with slots for tensors), in the order in which its tensors and numbers are filled in."""
    return outlined(outline, lambda x: x if isinstance(x, OutlineSlot) else None)[1]


class _SlotKey(tuple[str]):
    """The key of a slot within the key of an outline (a structure with slots for tensors).  It is a class, so that no value of the user's
    equals it.
    """


def outline_key(outline: Any) -> Hashable:
    """Return a hashable key that is equal for two outlines exactly if structure, slot types and constants are equal."""
    return constants.key(mapped(outline, _keyed))


def _keyed(leaf: Any) -> Any:
    return _SlotKey((f"{leaf.category} {leaf.type}",)) if isinstance(leaf, OutlineSlot) else leaf
