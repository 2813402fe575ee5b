"""Find the line of the user's program that is running."""

from __future__ import annotations

import linecache
import os
import re
import sys
import threading
from collections.abc import Callable
from itertools import islice
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from adjoint.foundation.diagnostics import UNKNOWN, At, Loc, beginning, is_ours, user_place
from adjoint.ir.core import Node

__all__ = ["WRITTEN", "called_at", "definition", "receiver", "site_of", "user_frame", "user_location"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class _Running(threading.local):
    """The node of a graph that is calling Python in this thread, for finding the line of the program that runs.

    mark  (the calling frame, the location of its node, the mark of the call around this one); None outside of graphs
    """

    mark: tuple[FrameType, Loc, Any] | None = None


_running = _Running()

WRITTEN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "execution", "<the call of a graph>")
"""The file name of functions that are generated for a graph.  Their global `lines` has the location of the node for each line that calls
Python for a node; as in `called_at`, this location is then the running line.
"""


def called_at(node: Node | None, function: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
    """Call a function for a node of a graph.  While it runs, the node's line counts as the running line, except in user code that it calls.

    node  a node with a location; None if the running line is the one that runs the graph
    """
    if node is None:
        return function(*args, **kwargs)
    before = _running.mark
    try:
        _running.mark = sys._getframe(), node.loc, before
        return function(*args, **kwargs)
    finally:
        _running.mark = before


def user_frame() -> FrameType | None:
    """Return the innermost frame of the user's program; None if there is none, as in a thread started by the library."""
    frame = sys._getframe(1)
    while frame is not None and is_ours[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def user_location() -> Loc:
    """Return the running line of the user's program.

    That is the line in the innermost frame outside of this library, or the line of the graph's node that has called Python.
    """
    frame, mark = sys._getframe(1), _running.mark
    while frame is not None:
        if mark is not None and frame is mark[0]:
            return mark[1]
        code = frame.f_code
        if code.co_filename == WRITTEN and (loc := frame.f_globals["lines"].get(frame.f_lineno)) is not None:
            return loc
        if not is_ours[code.co_filename]:
            line, _, column, end = next(islice(code.co_positions(), frame.f_lasti // 2, None))
            return At(code.co_filename, line or frame.f_lineno, (column or 0) + 1, (end or 0) + 1 if end else 0)
        frame = frame.f_back
    return UNKNOWN


def definition(function: Any) -> Loc:
    """Return the location at which a user's function is defined; UNKNOWN for a function of this library or one without code."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return beginning(code.co_filename, code.co_firstlineno) if code is not None and not is_ours[code.co_filename] else UNKNOWN


def site_of(node: Node, around: Node | None) -> Node | None:
    """Return the node whose location is recorded for the events of `node`: itself, or `around` if it has no location of its own.

    around  the enclosing node for that case; None if there is none

    None as the result means that neither has one, as in a library cell run as a graph: then the events have the line that runs the graph.
    """
    return node if user_place(node.loc) is not None else around


def receiver(loc: Loc) -> str:
    """Return the variable whose `register_hook` is called on a line, such as `h` in `h.register_hook(f)`; "" if it is not a plain name."""
    if not isinstance(loc, At):
        return ""
    called = re.match(r"([^\W\d]\w*)\.register_hook\b", linecache.getline(loc.file, loc.line)[loc.column - 1 :])
    return called[1] if called else ""
