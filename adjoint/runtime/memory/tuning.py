"""Tuning: plain kernels, which a program begins with, are replaced by tuned ones, compiled behind the scenes.

Whoever made something of plain kernels remembers `tuning.round` at that time.  When it has changed there are better ones; when
`tuning.waits` is false, there will be none.  A piece of a run that has begun goes on with the kernels that it has; the next one may use
others, since both have the same bits.
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
"""Seconds in which nobody waited for a compiler, after which a program is taken to have the kernels that it begins with."""


class Tuning:
    """The kernels that are to be tuned.

    round  how often kernels were replaced
    waits  whether there are kernels to replace
    """

    def __init__(self) -> None:
        self.round = 0
        self.waits = False
        self._wanted: dict[Any, Wanted] = {}
        self._afterwards: list[Callable[[], None]] = []
        self.forget_threads()

    def forget_threads(self) -> None:
        """Begin without a thread at work; a forked child has none."""
        self._lock = Lock()
        self._busy = False

    def add(self, key: Any, kernel: KernelText, replace: Callable[[], None]) -> None:
        """Have `kernel` compiled, and then call `replace`, in another thread.  It is called once for a key."""
        with self._lock:
            self._wanted[key] = kernel, replace
            self.waits = True
        self.go_on()

    def afterwards(self, task: Callable[[], None]) -> None:
        """Run a task that must not raise when there is nothing to replace any more: at once, or in another thread."""
        with self._lock:
            if self.waits:
                self._afterwards.append(task)
                return
        task()

    def finish(self) -> None:
        """Compile and replace at once what is still to be replaced."""
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
        """Begin compiling, unless that is under way."""
        kernels = machine().kernels
        with self._lock:
            if self._busy or not self._wanted or kernels is None:
                return
            self._busy = True
        kernels.later(self._tune)

    def _tune(self) -> None:
        """Compile what is wanted, unit by unit, and replace what is ready."""
        kernels = machine().kernels
        assert kernels is not None
        while self._wanted:
            if not kernels.wait_until_quiet(QUIET):
                return
            wanted = self._wanted.copy()
            kernels.prepare([kernel for kernel, _ in wanted.values()], waited_for=False, made=functools.partial(self._replace, wanted))
            self._replace(wanted)
            self._drop(wanted)  # what is left was refused by the compiler, and stays plain
        with self._lock:
            self._busy = False
        self.go_on()  # something may have been added just before

    def _replace(self, wanted: Mapping[Any, Wanted]) -> None:
        """Replace those whose kernels can be loaded."""
        kernels = machine().kernels
        assert kernels is not None
        ready = {key: each for key, each in wanted.items() if key in self._wanted and kernels.found(each[0]) is not None}
        for _, replace in ready.values():
            with suppress(Exception):  # for want of memory: the plain one is as right
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
