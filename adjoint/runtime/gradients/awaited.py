"""A tape that is made when it is first used.

A graph that is differentiated as a whole needs no tape.  But hooks that it calls may do things that a tape must know: compute with their
tensors, write to them, register hooks on them, call cells.  While hooks run, an AwaitedTape takes the place of the tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from adjoint.runtime.gradients.tape import Tape

__all__ = ["AwaitedTape"]

_set = object.__setattr__


class AwaitedTape:
    """Takes the place of a tape (the recording for a gradient) while hooks run, and makes the tape only if a hook needs it.

    Reading or setting any attribute makes the tape, and then reads or sets that of the tape.
    """

    emits: Literal[False] = False
    _made: Tape | None = None

    def __init__(self, make: Callable[[], Tape]):
        """Store `make`, the function that makes the tape, with everything on it that was recorded up to now."""
        _set(self, "_make", make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tape(), name, value)

    def _tape(self) -> Tape:
        tape = self._made
        if tape is None:
            tape = self._make()
            _set(self, "_made", tape)
        return tape
