"""What belongs to a thread: the tape it records on, if any, and the cells it runs in another float type."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.runtime.cells.precision import computing
    from adjoint.runtime.gradients.tape import Tape
    from adjoint.runtime.graphs.lowering.lowering import Lowering

__all__ = ["check_gradients", "not_recording", "set_tape", "state", "tapes"]

_set = threading.local.__setattr__


class _State(threading.local):
    """What ops ask before they compute.

    tape      what they are recorded on; None outside of gradients.  While a graph is made it is the lowering, whose
              `emits` is true
    lowering  the same, to those who have seen that `tape` emits
    computing cells by their ids that run in another float type: see `precision`
    no_grad   for each `_no_grad()` that is entered, the tape that was there before; empty where gradients are recorded
    """

    tape: Tape | None = None
    lowering: Lowering = None  # pyright: ignore[reportAssignmentType] - asked for where `tape.emits`

    def __init__(self) -> None:
        self.computing: dict[int, computing] = {}
        self.no_grad: list[Any] = []

    def __setattr__(self, name: str, value: object) -> None:
        if name != "tape":
            _set(self, name, value)
        elif value is None:
            _set(self, name, value)
            tapes.pop(get_ident(), None)
        else:
            tapes[get_ident()] = None  # before, as it is taken off behind: where Ctrl-C falls between, there is one too many
            _set(self, name, value)


tapes: dict[int, None] = {}
"""The threads that have a tape. An op that finds none need not ask for its own tape, which costs more."""

state = _State()


def check_gradients() -> None:
    """RuntimeError where `_no_grad()` is in force: a gradient taken there would be asked for and switched off at once."""
    if state.no_grad:
        raise RuntimeError("In no_grad context, you can not calculate gradient: take it before `with _no_grad():`, "
                           "and use its result inside")


set_tape = functools.partial(_set, state, "tape")
"""Set the thread's tape in one step: Ctrl-C falls before it or after it.  Said first in a `finally`, where Ctrl-C falls at the first call
of a Python function at the earliest; `state.tape = ...` follows, for the sake of `tapes`."""


def _in_child() -> None:
    """After a fork the other threads are gone, and their tapes."""
    tapes.clear()
    if state.tape is not None:
        tapes[get_ident()] = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def not_recording() -> Iterator[None]:
    """Ops inside are not recorded: what they make is constant for every gradient around.

    While a function is made into a graph they are nodes of it all the same.
    """
    before = state.tape
    if before is None or not before.emits:
        state.tape = None
    try:
        yield
    finally:
        state.tape = before
