"""Arguments with other tensors in them: a function that changes the lists and dicts it is given changes those of its caller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import is_
from typing import Any

from adjoint.runtime.structure import CONTAINERS, items, leaves, mapped

__all__ = ["ArgumentCopy"]


class ArgumentCopy:
    """A copy of an argument with `change(leaf)` in the place of each leaf.

    value  the copy
    given  the argument as it was given, whoever changes it later
    """

    def __init__(self, argument: Any, change: Callable[[Any], Any]):
        self.value, self.given = mapped(argument, change), argument
        self._containers = _containers(argument, self.value) if issubclass(type(argument), CONTAINERS) else []
        if self._containers:
            self.given = mapped(argument, lambda leaf: leaf)
            self._leaves = leaves(self.value)

    @property
    def is_changed(self) -> bool:
        """True if one of the lists, dicts or deques holds something else than it was made with."""
        return any(container.is_changed for container in self._containers)

    def write_back(self) -> None:
        """Make the changes of the copy in the argument; what was put in another's place there is that again."""
        changed = [container for container in self._containers if container.is_changed]
        if changed:
            originals = {id(new): old for old, new in zip(leaves(self.given), self._leaves, strict=True)}
            originals.update((id(container.copy), container.original) for container in self._containers)
            for container in changed:
                container.write(originals)


class _Container:
    """A list, dict or deque of an argument, its copy, and what that was made with."""

    __slots__ = ("copy", "names", "original", "parts")

    def __init__(self, original: Any, copy: Any):
        self.original, self.copy = original, copy
        self.parts, self.names = [*(items(copy) or ())], [*copy] if isinstance(copy, dict) else []

    @property
    def is_changed(self) -> bool:
        now = items(self.copy) or ()
        return len(now) != len(self.parts) or not all(map(is_, now, self.parts)) or (
            isinstance(self.copy, dict) and list(self.copy) != self.names)

    def write(self, originals: dict[int, Any]) -> None:
        parts = [originals.get(id(part), part) for part in items(self.copy) or ()]
        names = list(self.copy)
        self.original.clear()
        if isinstance(self.original, dict):
            self.original.update(zip(names, parts, strict=True))
        else:
            self.original.extend(parts)


def _containers(argument: Any, copy: Any) -> list[_Container]:
    """The lists, dicts and deques in an argument that is a container, each behind those that it holds."""
    if argument is copy:
        return []
    found: list[_Container] = []
    for part, new in zip(items(argument) or (), items(copy) or (), strict=True):
        if issubclass(type(part), CONTAINERS):
            found += _containers(part, new)
    if isinstance(argument, (list, dict, deque)):
        found.append(_Container(argument, copy))
    return found
