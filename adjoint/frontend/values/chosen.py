"""An item of a list that a number of the graph chooses, where the items are cells or functions.

    layers[i](x)  ->  if i < 1 { layers[0](x) } else { if i < 2 { layers[1](x) } else { layers[2](x) } }

The object that represents the item can be called, passed to user functions and assigned to a name.  All other uses raise an error, since it
is not known which item it is.
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
    """Represents an item of a list of cells or functions, where a number that the graph computes decides which.  The user's code can pass
    it on and call it, nothing else; a call becomes a tree of `if`s of the graph.

    items     the candidates
    position  the number of the graph, in range(len(items))
    loc       the place in the user's program where the item was chosen
    """

    items: tuple[Callable[..., Any], ...]
    position: Any
    loc: Loc

    def refused(self) -> CompileError:
        """Return the CompileError for any use other than a call.  The caller raises it."""
        return errors.VALUE_NEEDED.at(self.loc, "which item this is becomes known only when the graph runs, so it can only be called",
                                      help="choose with `if` and `elif`, or pass the number as an argument")

    def __repr__(self) -> str:
        return f"one of {len(self.items)} items"


def chosen(world: World, container: Any, index: Any) -> Chosen | None:
    """Return a `Chosen` (one of several items) for `container[index]`, where the graph computes the index.

    world  the graph that is being made

    Return None if the container holds anything but cells and functions.  IndexError or TypeError if the index is known to be invalid;
    otherwise an invalid index raises when the graph runs.
    """
    if not (isinstance(container, (list, tuple)) or world.is_cells(container)):
        return None
    items = tuple(container)
    if any(world.is_dynamic(item) or not callable(item) for item in items):
        return None
    return Chosen(items, world.position(container, index), world.loc)


def check(*values: Any) -> None:
    """Raise CompileError if one of the values is a `Chosen` (an item that the graph chooses), which can only be called.

    Call this before Python or library code looks at the values.
    """
    for value in values:
        if type(value) is Chosen:
            raise value.refused()
