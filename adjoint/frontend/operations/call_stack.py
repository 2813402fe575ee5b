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
    """The open calls.

    frame        the frame that runs; None while no call is open
    frames       all frames of this lowering, also of calls that have ended
    depth        how many calls are open
    returned_at  where the outermost call returned last
    called_as    how the function that is being called is written
    """

    def __init__(self, world: World):
        self.world = world
        self.frame: Frame = None  # pyright: ignore[reportAttributeAccessIssue] - set for the time of each call
        self.frames: list[Frame] = []
        self.depth = 0
        self.returned_at = world.loc
        self.called_as = ""

    def loc_of(self, node: ast.AST) -> Loc:
        """Return the place of a node of the running function's tree."""
        return self.frame.source.at(node)

    def unsupported(self, node: ast.AST, what: str, instead: str) -> CompileError:
        """Return the mistake of writing `node`, which is not parsed; `instead` is the way out."""
        return errors.UNSUPPORTED.at(self.loc_of(node), what, help=instead)

    @contextmanager
    def here(self, node: ast.AST) -> Iterator[None]:
        """Give nodes emitted inside the place of `node`, and exceptions raised inside a note that shows it."""
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
        """Record a read of something outside, with the place of `node`."""
        before, self.world.loc = self.world.loc, self.loc_of(node)
        read(*what)
        self.world.loc = before

    def push(self, frame: Frame) -> Frame:
        """Begin a call.  Return the frame of the caller, for `pop`."""
        caller = frame.caller = self.frame
        self.frame = frame
        self.frames.append(frame)
        self.depth += 1
        return caller

    def pop(self, caller: Frame) -> None:
        """End the call that `caller` made."""
        self.depth -= 1
        self.frame = caller

    def end(self) -> bool:
        """Drop the frames, and what they refer to.  Return whether functions that parsed code defined are still used elsewhere.

        Functions refer to the names around them, which refer to the functions.
        """
        in_use = False
        for frame in self.frames:
            # The frame's dict and the loop's variable hold each; one with more is in use elsewhere.
            if any(isinstance(x, Closure) and sys.getrefcount(x) > OF_VARIABLE + 1 for x in frame.names.values()):
                in_use = True
            else:
                frame.names.clear()
                frame.cells, frame.first, frame.outer = {}, UNBOUND, None
            frame.caller = None
        self.frames = []
        return in_use

    def returns_at(self, node: ast.AST) -> None:
        """Record where the function that is made into a graph returns."""
        if self.depth == 1:
            self.returned_at = self.loc_of(node)
