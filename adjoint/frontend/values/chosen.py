"""An item of a list that a run-time number chooses, where the items are cells or functions.

    layers[i](x)  ->  if i < 1 { layers[0](x) } else { if i < 2 { layers[1](x) } else { layers[2](x) } }

The object that represents the item can be called, passed to user functions and assigned to a name.  All other uses raise an error, since
it is not known which item it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import CompileError, Loc
from adjoint.frontend import errors
from adjoint.frontend.world import World

__all__ = ["Chosen", "check", "chosen"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """One of several cells or functions; a run-time number decides which.

    items     the candidates
    position  the run-time number, in range(len(items))
    loc       the place in the program of the choice
    """

    items: tuple[Callable[..., Any], ...]
    position: Any
    loc: Loc

    def refused(self) -> CompileError:
        """Return the error for any use other than a call."""
        return errors.VALUE_NEEDED.at(self.loc, "which item this is becomes known only when the graph runs, so it can only be called",
                                      help="choose with `if` and `elif`, or pass the number as an argument")

    def __repr__(self) -> str:
        return f"one of {len(self.items)} items"


def chosen(world: World, container: Any, index: Any) -> Chosen | None:
    """Return a `Chosen` for `container[index]` with a dynamic index; None if the container holds anything but cells and functions.

    IndexError or TypeError if the index is known to be invalid; otherwise an invalid index raises when the graph runs.
    """
    if not (isinstance(container, (list, tuple)) or world.is_cells(container)):
        return None
    items = tuple(container)
    if any(world.is_dynamic(item) or not callable(item) for item in items):
        return None
    return Chosen(items, world.position(container, index), world.loc)


def check(*values: Any) -> None:
    """Raise CompileError if one of the values is a `Chosen`.  Call this before Python or library code looks at the values."""
    for value in values:
        if type(value) is Chosen:
            raise value.refused()
