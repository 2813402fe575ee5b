"""Announcements of graphs and adjoints made while a program runs, for observers.

The packages that make them announce them here, without knowing the observers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["adjoint_made", "graph_made"]


class _Announcement:
    """A list of observers (functions): calling this object calls all of them with the same arguments, in the order in which they were
    added.
    """

    def __init__(self) -> None:
        self._observers: list[Callable[..., None]] = []

    def add(self, observer: Callable[..., None]) -> None:
        self._observers.append(observer)

    def __call__(self, *made: Any) -> None:
        for observer in self._observers:
            observer(*made)


graph_made = _Announcement()
"""Called with each graph that a function or cell was made into: a `graphs.graph.Graph`."""

adjoint_made = _Announcement()
"""Called with each adjoint that is built: the tape, the step where the gradient began, what was recorded since as
`gradients.assembly.Assembled`, the atoms of it that are differentiated, and the adjoint's Function."""
