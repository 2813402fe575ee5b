"""Watchers of hooks: they are told when a hook is registered, removed or about to be called, and when a gradient is computed.

While nothing is watched, the list is empty, and calls only test that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["HookWatcher", "watchers"]


class HookWatcher(Protocol):
    """The methods by which a watcher is told of hooks (a Protocol).

    `functions` is the list of hooks in which a hook is, such as a cell's forward hooks, and `key` its number there.
    """

    def registered(self, functions: Any, key: int) -> None: ...
    def removed(self, functions: Any, key: int) -> None: ...

    def called(self, functions: Any, key: int, hook: Any) -> Any:
        """Return the hook to call in place of `hook`."""
        ...

    def called_by_operator(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function to call in place of that of a hook which is an operator.

        kind  "HookBackward" or "InsertGradientOf"
        """
        ...

    def gradient(self, tape: Any, start: Any, outputs: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        """Take note of a gradient that is about to be computed from a tape (the recording of a thread's operations).

        start            the recorded event at which the gradient began
        outputs, wanted  the tape's slots (value numbers) of the values that are differentiated, and of those by which it is taken
        """
        ...


watchers: list[HookWatcher] = []
"""The watchers of all threads."""
