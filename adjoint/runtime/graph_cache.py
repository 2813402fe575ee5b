"""The graphs of one function or cell: found by the template of the arguments and by what the graphs assume, and bounded in number."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from adjoint.ir.types import TensorType
from adjoint.runtime.guards import Guards
from adjoint.runtime.templates import Template

__all__ = ["Graphs", "lowering_lock"]

_KEPT = 64
"""Graphs kept for one template of arguments, those used last first."""

_TEMPLATES = 256
"""Templates kept for one function."""


class _Lowered(Protocol):
    guards: Guards


class _Entry(Protocol):
    lowered: _Lowered


class _Entries(list[Any]):
    """A list that there are weak references to."""

    __slots__ = ("__weakref__",)


class Graphs(dict[Template, _Entries]):
    """template -> graphs, those used last first.

    Looking up takes no lock: an entry that is missed because another thread puts lists in order is looked for again under
    `lowering_lock`, which whoever adds one must hold.
    """

    __slots__ = ("__weakref__", "_of_tensors", "_used", "call")

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.call = call
        """Runs what the graphs are of on a lowering."""
        self._of_tensors: dict[tuple[TensorType, ...], _Entries] = {}
        self._used: set[int] = set()
        """Ids of the lists that were used since templates were given up last."""

    def find_plain(self, types: tuple[TensorType, ...]) -> Any:
        """The graph for positional tensors of these types and nothing else, or None; it has been found by its template before."""
        entries = self._of_tensors.get(types)
        return None if entries is None else self._holding(entries)

    def find(self, template: Template, plain: bool = False) -> Any:
        """The graph for these arguments whose guards hold, or None.

        plain  they are positional tensors and nothing else: `find_plain` will find it
        """
        entries = self.get(template)
        if entries is None:
            return None
        if plain:
            self._of_tensors[template.types] = entries
        return self._holding(entries)

    def _holding(self, entries: _Entries) -> Any:
        for entry in entries:
            if entry.lowered.guards.holds():
                if entry is not entries[0]:
                    entries[:] = [entry, *[other for other in entries if other is not entry]]
                if len(self) > 1:
                    self._used.add(id(entries))
                return entry
        return None

    def add(self, template: Template, entry: _Entry) -> None:
        """Keep a new graph; what cannot hold any more goes, and what was not used for longest when there are too many."""
        if template not in self:
            if len(self) >= _TEMPLATES:
                self._give_up()
            self[template.lasting()] = _Entries()
        entries = self[template]
        entries[:] = [entry, *[other for other in entries if other.lowered.guards.lasts]][:_KEPT]
        entry.lowered.guards.when_gone(partial(_drop, weakref.ref(self), weakref.ref(entries), id(entry)))

    def drop(self, entries: _Entries, entry: int) -> None:
        """Let go of a graph, given by its id, that cannot hold any more."""
        entries[:] = [other for other in entries if id(other) != entry]

    def _give_up(self) -> None:
        """Give up a quarter of the templates: those of objects that are gone, those that were not used, the oldest."""
        for template in [template for template in self if not template.is_alive]:
            del self[template]
        used = self._used
        unused = [template for template, entries in self.items() if id(entries) not in used]
        others = [template for template, entries in self.items() if id(entries) in used]
        for template in [*unused, *others][: max(0, len(self) - _TEMPLATES * 3 // 4)]:
            del self[template]
        self._used = set()
        self._of_tensors = {}


def _drop(graphs: weakref.ref[Graphs], entries: weakref.ref[_Entries], entry: int) -> None:
    known, listed = graphs(), entries()
    if known is not None and listed is not None:
        known.drop(listed, entry)


class _Lock:
    """The lock of lowering; a child process begins with one that nobody holds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def anew(self) -> None:
        self._lock = threading.RLock()


lowering_lock = _Lock()
"""Held while a function is made into a graph: parsed code may change Python's objects, and that happens once."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lowering_lock.anew)
