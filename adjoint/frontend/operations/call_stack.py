"""Keeps the open calls of the user's functions while a graph is made, and finds places in the user's program for errors and notes."""

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
    """Keeps the calls of parsed functions (user functions whose syntax trees the frontend runs) that are open while one graph is made.
    Nearly all parts of the frontend ask it for the running function and for lines of the program.

    world        the interface to the runtime, which keeps the running line
    frame        the call that is running, with its variables; None while no call is open
    frames       the frames of all calls so far, also of those that have ended
    depth        the number of open calls
    returned_at  the line of the `return` by which the outermost call ended last
    called_as    the source text of the function that is being called, such as `self.net`
    """

    def __init__(self, world: World):
        self.world = world
        self.frame: Frame = None  # pyright: ignore[reportAttributeAccessIssue] - set for the time of each call
        self.frames: list[Frame] = []
        self.depth = 0
        self.returned_at = world.loc
        self.called_as = ""

    def loc_of(self, node: ast.AST) -> Loc:
        """Return file, line and columns of a node in the syntax tree of the running function."""
        return self.frame.source.at(node)

    def unsupported(self, node: ast.AST, what: str, instead: str) -> CompileError:
        """Return the CompileError for code that a graph cannot contain.  The caller raises it.

        node     the expression or statement in the syntax tree
        what     the message for it
        instead  the advice: what to write instead
        """
        return errors.UNSUPPORTED.at(self.loc_of(node), what, help=instead)

    @contextmanager
    def here(self, node: ast.AST) -> Iterator[None]:
        """Run the body of a `with` for a node of the syntax tree: meanwhile `world.loc`, the current place in the user's program, is the
        place of `node`.

        Exceptions that the body raises get a note with that place.  A CompileError without a place gets it as its place.
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
        """Call `read(*what)`, with the place of `node` in the user's program as the current place; afterwards restore the former place.

        read  a function that records that the graph depends on something, such as `World.read_name`
        """
        before, self.world.loc = self.world.loc, self.loc_of(node)
        read(*what)
        self.world.loc = before

    def push(self, frame: Frame) -> Frame:
        """Begin a call: `frame`, which holds its variables, becomes the running one.

        Return the frame of the caller.  It must be passed to `pop` at the end of the call.
        """
        caller = frame.caller = self.frame
        self.frame = frame
        self.frames.append(frame)
        self.depth += 1
        return caller

    def pop(self, caller: Frame) -> None:
        """End the current call.  The caller's frame (its variables), which `push` returned, becomes the running one again."""
        self.depth -= 1
        self.frame = caller

    def end(self) -> bool:
        """Free the variables of all calls when the graph has been made.

        Return True if functions defined in the user's code are still used elsewhere; their variables are kept.  Freeing breaks reference
        cycles: a function refers to the variables around it, and one of these to the function.
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
        """Record the place of a `return` statement or of a lambda's body, if the running function is the outermost one."""
        if self.depth == 1:
            self.returned_at = self.loc_of(node)
