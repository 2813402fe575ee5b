"""Tuning: plain kernels, with which a program begins, are replaced by tuned ones that are compiled in the background.

Code that makes something from plain kernels remembers `tuning.round` at that time.  When that number has changed, there are better kernels;
when `tuning.waits` is False, there will be none.  A piece of a run that has begun keeps its kernels; the next piece may use others, since
both have the same bits.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from adjoint.foundation.diagnostics import InternalError
from adjoint.foundation.locking import Lock
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process import context

if TYPE_CHECKING:
    from adjoint.codegen.emit import KernelText

    Wanted = tuple[KernelText, Callable[[], None]]

__all__ = ["Tuning", "tuning"]

QUIET: Final = 0.3
"""If no thread has waited for a compiler for this many seconds, a program is assumed to have the kernels that it begins with."""


class Tuning:
    """Replaces plain kernels (quick to compile) by tuned ones (quick to run) while the program runs.

    round  counts how often kernels were replaced
    waits  True if there are kernels that are still to be replaced
    """

    def __init__(self) -> None:
        self.round = 0
        self.waits = False
        self._wanted: dict[Any, Wanted] = {}
        self._afterwards: list[Callable[[], None]] = []
        self.forget_threads()

    def forget_threads(self) -> None:
        """Forget the thread that compiles, since a forked child does not have it."""
        self._lock = Lock()
        self._busy = False

    def add(self, key: Any, kernel: KernelText, replace: Callable[[], None]) -> None:
        """Ask for a plain kernel to be replaced: another thread compiles `kernel`, the tuned one, and then calls `replace` once.

        If the compiler refuses the kernel, `replace` is never called.  A thread that calls `finish` compiles all kernels itself, and calls
        `replace`.

        key  names the request; a later one with the same key takes the place of one that is not done yet
        """
        with self._lock:
            self._wanted[key] = kernel, replace
            self.waits = True
        self.go_on()

    def afterwards(self, task: Callable[[], None]) -> None:
        """Run a task once no kernels are left to replace: at once, or later in another thread.  The task must not raise."""
        with self._lock:
            if self.waits:
                self._afterwards.append(task)
                return
        task()

    def finish(self) -> None:
        """Compile all tuned kernels that are still missing, and replace the plain ones now; return when all is done."""
        wanted = self._wanted.copy()
        kernels = machine().kernels if wanted else None
        if kernels is not None:
            kernels.prepare([kernel for kernel, _ in wanted.values()], waited_for=True)
            for kernel, _ in wanted.values():
                with suppress(InternalError):  # refused by the compiler
                    kernels.get(kernel)
            self._replace(wanted)
            self._drop(wanted)

    def go_on(self) -> None:
        """Start a thread that compiles the requested kernels, unless one is at work already or nothing is requested."""
        kernels = machine().kernels
        with self._lock:
            if self._busy or not self._wanted or kernels is None:
                return
            self._busy = True
        kernels.later(self._tune)

    def _tune(self) -> None:
        """Compile the tuned kernels, one unit of compilation after the other; replace plain kernels as soon as the tuned ones are ready."""
        kernels = machine().kernels
        assert kernels is not None
        while self._wanted:
            if not kernels.wait_until_quiet(QUIET):
                return
            wanted = self._wanted.copy()
            kernels.prepare([kernel for kernel, _ in wanted.values()], waited_for=False, made=functools.partial(self._replace, wanted))
            self._replace(wanted)
            self._drop(wanted)  # kernels that are left were refused by the compiler: these stay plain
        with self._lock:
            self._busy = False
        self.go_on()  # something may have been added just before

    def _replace(self, wanted: Mapping[Any, Wanted]) -> None:
        """Make those replacements whose tuned kernels can be loaded by now.

        wanted  by key, the text of the tuned kernel and the function that makes the replacement
        """
        kernels = machine().kernels
        assert kernels is not None
        ready = {key: each for key, each in wanted.items() if key in self._wanted and kernels.found(each[0]) is not None}
        for _, replace in ready.values():
            with suppress(Exception):  # memory may be lacking: the plain kernel stays, and is as right
                replace()
        if ready:
            self.round += 1
        self._drop(ready)

    def _drop(self, done: Iterable[Any]) -> None:
        with self._lock:
            for key in done:
                self._wanted.pop(key, None)
            self.waits = bool(self._wanted)
            tasks: list[Callable[[], None]] = []
            if not self.waits:
                tasks, self._afterwards = self._afterwards, tasks
        for task in tasks:
            task()


tuning: Final = Tuning()

context.on_change("background_compile", lambda chosen: tuning.finish() if chosen in (False, "wait") else None)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=tuning.forget_threads)
