"""Exceptions of the user's program that the graph raises when it runs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.world import World

__all__ = ["raise_again", "raise_late"]


def raise_late(world: World, kind: type[BaseException], args: Sequence[Any], loc: Loc) -> NoReturn:
    """Emit a node that raises `kind(*args)` when the graph runs, in order with the other effects.  Raise Unreachable."""

    def throw(*given: Any) -> None:
        raise kind(*given)

    world.loc = loc
    world.effect(f"raise {kind.__name__}", throw, args)
    raise Unreachable


def raise_again(world: World, mistake: Exception) -> NoReturn:
    """Emit a node that raises a copy of this exception at each run of the graph.  Raise Unreachable.

    The exception was raised while parsing.
    """

    def throw() -> None:
        again = copy.copy(mistake)
        again.__notes__ = list(getattr(mistake, "__notes__", ()))
        raise again.with_traceback(None)

    world.effect("raise", throw, ())
    raise Unreachable
