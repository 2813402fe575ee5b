"""The open calls of parsed functions, and places in the user's program."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.foundation.diagnostics import CompileError, Loc, noted
from adjoint.foundation.ownership import OF_VARIABLE
from adjoint.frontend import errors
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.values.frame import UNBOUND, Closure, Frame
from adjoint.frontend.world import World

__all__ = ["CallStack"]


class CallStack:
    """The open calls of parsed functions, in one lowering.

    frame        the frame that is running; None while no call is open
    frames       all frames of this lowering, also of calls that have ended
    depth        the number of open calls
    returned_at  the place where the outermost call returned last
    called_as    the source text of the function that is being called
    """

    def __init__(self, world: World):
        self.world = world
        self.frame: Frame = None  # pyright: ignore[reportAttributeAccessIssue] - set for the time of each call
        self.frames: list[Frame] = []
        self.depth = 0
        self.returned_at = world.loc
        self.called_as = ""

    def loc_of(self, node: ast.AST) -> Loc:
        """Return the place in the program of a node of the running function's tree."""
        return self.frame.source.at(node)

    def unsupported(self, node: ast.AST, what: str, instead: str) -> CompileError:
        """Return the error for a node that graphs do not support.

        what     the message at the node
        instead  what to write instead
        """
        return errors.UNSUPPORTED.at(self.loc_of(node), what, help=instead)

    @contextmanager
    def here(self, node: ast.AST) -> Iterator[None]:
        """Set the current place in the program to that of `node`.

        Exceptions that the body of the `with` raises get a note with that place.
        """
        loc = self.world.loc = self.loc_of(node)
        try:
            yield
        except CompileError as mistake:
            placed = errors.moved(mistake, loc)
            if placed is mistake:
                raise
            raise placed from None
        except Unreachable:
            raise
        except Exception as raised:
            noted(raised, loc)
            raise

    def read_at(self, node: ast.AST, read: Callable[..., None], *what: Any) -> None:
        """Call `read(*what)`, which records a read of an outside object, with the place of `node` as the current place."""
        before, self.world.loc = self.world.loc, self.loc_of(node)
        read(*what)
        self.world.loc = before

    def push(self, frame: Frame) -> Frame:
        """Begin a call with its frame.  Return the frame of the caller, to be passed to `pop`."""
        caller = frame.caller = self.frame
        self.frame = frame
        self.frames.append(frame)
        self.depth += 1
        return caller

    def pop(self, caller: Frame) -> None:
        """End the current call, and make the caller's frame the running one."""
        self.depth -= 1
        self.frame = caller

    def end(self) -> bool:
        """Free all frames and the values of their names.  Return True if functions that parsed code defined are still used elsewhere.

        This breaks reference cycles: a function refers to the names around it, and one of these to the function.
        """
        in_use = False
        for frame in self.frames:
            # the frame's dict and the loop variable hold one reference each; more mean that the function is used elsewhere
            if any(isinstance(x, Closure) and sys.getrefcount(x) > OF_VARIABLE + 1 for x in frame.names.values()):
                in_use = True
            else:
                frame.names.clear()
                frame.cells, frame.first, frame.outer = {}, UNBOUND, None
            frame.caller = None
        self.frames = []
        return in_use

    def returns_at(self, node: ast.AST) -> None:
        """Record the place of a `return`, if the running function is the outermost one."""
        if self.depth == 1:
            self.returned_at = self.loc_of(node)
