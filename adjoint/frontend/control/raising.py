"""Lets the graph raise an exception of the user's program when it runs, instead of while the graph is made."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.world import World

__all__ = ["raise_again", "raise_late"]


def raise_late(world: World, kind: type[BaseException], args: Sequence[Any], loc: Loc) -> NoReturn:
    """Emit a node that raises `kind(*args)` when the graph runs, in order with its other effects such as prints.

    world  the graph that is being made
    loc    the line of the `raise` in the user's program

    This function always raises Unreachable: the code after a `raise` must not add nodes to the graph.
    """

    def throw(*given: Any) -> None:
        raise kind(*given)

    world.loc = loc
    world.effect(f"raise {kind.__name__}", throw, args)
    raise Unreachable


def raise_again(world: World, mistake: Exception) -> NoReturn:
    """Emit a node that raises a copy of an exception each time the graph runs.

    world    the graph that is being made
    mistake  the exception, which user code has raised while the graph was made

    This function always raises Unreachable: the code after this point must not add nodes to the graph.
    """

    def throw() -> None:
        again = copy.copy(mistake)
        again.__notes__ = list(getattr(mistake, "__notes__", ()))
        raise again.with_traceback(None)

    world.effect("raise", throw, ())
    raise Unreachable
