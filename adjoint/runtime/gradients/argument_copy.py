"""Copies of arguments with other tensors in them; changes that a function makes to copied lists and dicts are written back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from adjoint.runtime.tensor.structure import CONTAINERS, endless, items, like

__all__ = ["ArgumentCopy"]


class ArgumentCopy:
    """Copies an argument of a function, with every object that is no container replaced by `change(object)`.

    A gradient needs this to give the function new tensors.  `write_back` then brings changes that the function made to lists and dicts to
    the caller's own containers.

    value  the copy
    given  the argument as it was at the call, unaffected by later changes

    ValueError if the argument contains itself.
    """

    __slots__ = ("_containers", "given", "value")

    def __init__(self, argument: Any, change: Callable[[Any], Any]):
        self._containers: list[_Container] = []
        """The containers in the argument, inner ones before outer ones."""
        if not issubclass(type(argument), CONTAINERS):
            self.value, self.given = change(argument), argument
            return
        try:
            self.value, self.given = self._copied(argument, change)
        except RecursionError:
            raise endless(argument) from None

    def _copied(self, original: Any, change: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return a copy of a container, and a second container of the same kind with the original's present contents.

        change  returns what takes the place of an object that is no container
        """
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
        """True if the function has changed a list, dict or deque of the copy."""
        for container in self._containers:  # noqa: SIM110 - a generator costs more than what it looks at
            if container.is_changed:
                return True
        return False

    def write_back(self) -> None:
        """Make the changes that the function made to the copy in the argument itself.

        Copies in the new contents are replaced by their originals, at any depth.
        """
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
    """Remembers one container of an argument, so that changes of its copy can be found and written back.

    original  the container in the argument
    copy      its copy, which the differentiated function gets
    parts     the items of the original when it was copied
    new       the items of the copy at that time
    """

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
    """Finds the original of each object that has been copied, by the copy's id."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}

    def of_each(self, container: Any) -> list[Any]:
        return [self.of(part) for part in items(container) or ()]

    def of(self, part: Any) -> Any:
        """Return the original of which `part` is a copy; `part` itself if it is not a copy.

        A container that the function has made may hold copies; these are replaced by originals too.  That is done in place in a list, dict
        or deque, and in a new object for a tuple.
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
    """Replace the contents of a list, dict or deque by `parts`.

    names  the keys, if it is a dict
    """
    keys = list(names)
    container.clear()
    if isinstance(container, dict):
        container.update(zip(keys, parts, strict=True))
    else:
        container.extend(parts)
