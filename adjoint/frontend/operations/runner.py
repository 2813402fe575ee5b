"""Calls from parts of the frontend to parts that are created after them.

Running a program is recursive: a call runs statements, a statement evaluates expressions, and an expression contains calls.  Each part of
the frontend receives the parts that were created before it.  The four calls in the other direction go through this module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend.control.branches import Outcome

__all__ = ["Runner"]


class Runner:
    """Lets a part of the frontend run code of any kind, although the part that does it is created later.  The `Lowerer` sets the four
    functions when it has created all parts.

    value   evaluates an expression and returns its value
    block   runs statements in order, and returns how they ended (an `Outcome`, or None at their end)
    assign  assigns a value to a target: a name, an attribute, an item, or several of these
    call    calls any callable with a tuple of positional and a dict of keyword arguments
    """

    value: Callable[[ast.expr], Any]
    block: Callable[[Sequence[ast.stmt]], Outcome | None]
    assign: Callable[[ast.expr, Any], None]
    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
