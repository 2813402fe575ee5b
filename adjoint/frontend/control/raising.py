"""Exceptions of the user's program that are raised when the graph runs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.world import World

__all__ = ["raise_again", "raise_late"]


def raise_late(world: World, kind: type[BaseException], args: Sequence[Any], loc: Loc) -> NoReturn:
    """Raise `kind(*args)` when the graph runs, after the effects before it."""

    def throw(*given: Any) -> None:
        raise kind(*given)

    world.loc = loc
    world.effect(f"raise {kind.__name__}", throw, args)
    raise Unreachable


def raise_again(world: World, mistake: Exception) -> NoReturn:
    """Raise an exception that Python has raised while parsing when the graph runs, each time anew."""

    def throw() -> None:
        again = copy.copy(mistake)
        again.__notes__ = list(getattr(mistake, "__notes__", ()))
        raise again.with_traceback(None)

    world.effect("raise", throw, ())
    raise Unreachable
