"""Which line of the user's program is running."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from adjoint.diagnostics import UNKNOWN, At, Loc, beginning, is_ours, user_place

if TYPE_CHECKING:
    from adjoint.ir.core import Node

__all__ = ["definition", "receiver", "site_of", "user_frame", "user_location"]

_WALKER = str(Path(__file__).parent / "walk")
"""How the names of the walker's files begin: their functions that run a node have it in the variable `node`."""


def user_frame() -> FrameType | None:
    """The innermost frame of the user's program; None where there is none, as in a thread that the library began."""
    frame = sys._getframe(1)
    while frame is not None and is_ours[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def user_location() -> Loc:
    """The line of the user's program that is running: the innermost frame outside of this library, or node of a graph."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_WALKER):
            node = frame.f_locals.get("node")
            if node is not None and user_place(node.loc) is not None:
                return node.loc
        elif not is_ours[code.co_filename]:
            positions = list(code.co_positions())[frame.f_lasti // 2]
            line, _, column, end = positions
            return At(code.co_filename, line or frame.f_lineno, (column or 0) + 1, (end or 0) + 1 if end else 0)
        frame = frame.f_back
    return UNKNOWN


def definition(function: Any) -> Loc:
    """Where a function of the user's was defined."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return beginning(code.co_filename, code.co_firstlineno) if code is not None and not is_ours[code.co_filename] else UNKNOWN


def site_of(node: Node) -> Node | None:
    """What events of a node of a graph are recorded at: the node, or, where it has no place of its own, the line that runs the graph.

    A cell of the library that is run as a graph has no line of the user's in it.
    """
    return node if user_place(node.loc) is not None else None


def receiver(loc: Loc) -> str:
    """The name that a method is called on, `h` of `h.register_hook(f)`; empty where it is no plain name."""
    if not isinstance(loc, At):
        return ""
    called = re.match(r"([^\W\d]\w*)\.register_hook\b", linecache.getline(loc.file, loc.line)[loc.column - 1 :])
    return called[1] if called else ""
