"""An item of a list that a number of the run chooses, where the items are cells or functions.

    layers[i](x)  ->  if i < 1 { layers[0](x) } else { if i < 2 { layers[1](x) } else { layers[2](x) } }

What stands for the item may be called, given to functions of the user's and kept under a name.  Whatever else asks about it would
have to know which object it is.
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
    """One of some cells or functions.

    items     all that it may be
    position  which one it is: a run-time number in range(len(items))
    loc       where it was chosen
    """

    items: tuple[Callable[..., Any], ...]
    position: Any
    loc: Loc

    def refused(self) -> CompileError:
        """Return the mistake of asking for more than a call."""
        return errors.VALUE_NEEDED.at(self.loc, "which item this is becomes known only when the graph runs, so it can only be called",
                                      help="choose with `if` and `elif`, or pass the number as an argument")

    def __repr__(self) -> str:
        return f"one of {len(self.items)} items"


def chosen(world: World, container: Any, index: Any) -> Chosen | None:
    """Return what `container[index]` is for a list, tuple or cell and a dynamic index; None if it is not of cells and functions alone.

    IndexError or TypeError for an index of which no number would do; a number that does not do raises when the graph runs.
    """
    if not (isinstance(container, (list, tuple)) or world.is_cells(container)):
        return None
    items = tuple(container)
    if any(world.is_dynamic(item) or not callable(item) for item in items):
        return None
    return Chosen(items, world.position(container, index), world.loc)


def check(*values: Any) -> None:
    """Raise CompileError if one of these is a chosen item: Python, or the library, is about to look at them."""
    for value in values:
        if type(value) is Chosen:
            raise value.refused()
