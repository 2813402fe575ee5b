"""Arguments with other tensors in them: a function that changes the lists and dicts it is given changes those of its caller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from adjoint.runtime.tensor.structure import CONTAINERS, endless, items, like

__all__ = ["ArgumentCopy"]


class ArgumentCopy:
    """A copy of an argument with `change(leaf)` in the place of each leaf.

    value  the copy
    given  the argument as it was given, whoever changes it later

    ValueError when the argument contains itself.
    """

    __slots__ = ("_containers", "given", "value")

    def __init__(self, argument: Any, change: Callable[[Any], Any]):
        self._containers: list[_Container] = []
        """Those of the argument, each behind those that it holds."""
        if not issubclass(type(argument), CONTAINERS):
            self.value, self.given = change(argument), argument
            return
        try:
            self.value, self.given = self._copied(argument, change)
        except RecursionError:
            raise endless(argument) from None

    def _copied(self, original: Any, change: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return the copy of a container, and the container as it is now."""
        kind = type(original)
        parts: Sequence[Any] = original if kind is tuple else [*(items(original) or ())]
        new: list[Any] = []
        now: Any = parts
        for i, part in enumerate(parts):
            if issubclass(type(part), CONTAINERS):
                made, given = self._copied(part, change)
                if given is not part:
                    if now is parts:
                        now = [*parts]
                    now[i] = given
            else:
                made = change(part)
            new.append(made)
        if kind is list:
            copy, given = new[:], now
        elif issubclass(kind, (tuple, slice)):
            copy = original if all(map(is_, new, parts)) else like(original, new)
            given = original if now is parts else like(original, now)
        else:
            copy, given = like(original, new), like(original, now)
        self._containers.append(_Container(original, copy, parts, new))
        return copy, given

    @property
    def is_changed(self) -> bool:
        """True if one of the lists, dicts or deques holds something else than it was made with."""
        for container in self._containers:  # noqa: SIM110 - a generator costs more than what it looks at
            if container.is_changed:
                return True
        return False

    def write_back(self) -> None:
        """Make the changes of the copy in the argument, with what was copied in the place of its copies, however deep they are."""
        if not self.is_changed:
            return
        changed = [container for container in self._containers if container.is_changed]
        originals = _Originals()
        for container in self._containers:
            originals.known.update(zip(map(id, container.new), container.parts, strict=True))
            originals.known[id(container.copy)] = container.original
        for container in changed:
            container.write(originals)


class _Container:
    """A container of an argument, its copy, and what each of them was made with."""

    __slots__ = ("copy", "names", "new", "original", "parts")

    def __init__(self, original: Any, copy: Any, parts: Sequence[Any], new: Sequence[Any]):
        self.original, self.copy, self.parts, self.new = original, copy, parts, new
        self.names = [*copy] if isinstance(copy, dict) else None

    @property
    def is_changed(self) -> bool:
        copy = self.copy
        if isinstance(copy, (tuple, slice)):
            return False
        now = items(copy) or ()
        return len(now) != len(self.new) or not all(map(is_, now, self.new)) or (self.names is not None and list(copy) != self.names)

    def write(self, originals: _Originals) -> None:
        _fill(self.original, self.copy, originals.of_each(self.copy))


class _Originals:
    """What was copied, by the id of its copy."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}

    def of_each(self, container: Any) -> list[Any]:
        return [self.of(part) for part in items(container) or ()]

    def of(self, part: Any) -> Any:
        """Return the original of a copy.

        A container that the function has made holds originals in the place of copies too: a list, dict or deque is changed, of a
        tuple there is another one.
        """
        if id(part) in self.known:
            return self.known[id(part)]
        if not issubclass(type(part), CONTAINERS):
            return part
        if isinstance(part, (list, dict, deque)):
            self.known[id(part)] = part  # it may contain itself
            parts = self.of_each(part)
            if not all(map(is_, parts, items(part) or ())):
                _fill(part, part, parts)
            return part
        parts = self.of_each(part)
        return part if all(map(is_, parts, items(part) or ())) else like(part, parts)


def _fill(container: list[Any] | dict[Any, Any] | deque[Any], names: Any, parts: list[Any]) -> None:
    """Let a list, dict or deque hold `parts`, a dict under the keys that `names` has."""
    keys = list(names)
    container.clear()
    if isinstance(container, dict):
        container.update(zip(keys, parts, strict=True))
    else:
        container.extend(parts)
