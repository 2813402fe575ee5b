"""Calls from parts of the frontend to parts that are created after them.

Python is recursive: a call runs statements, a statement evaluates expressions, and an expression contains calls.  Each part receives the
parts that were created before it; the four calls in the other direction go through this module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend.control.branches import Outcome

__all__ = ["Runner"]


class Runner:
    """Run code of any kind.  The `Lowerer` sets the attributes when it has created all parts.

    value   evaluate an expression
    block   run statements in order, and return their outcome
    assign  assign a value to a target
    call    call any callable with positional and keyword arguments
    """

    value: Callable[[ast.expr], Any]
    block: Callable[[Sequence[ast.stmt]], Outcome | None]
    assign: Callable[[ast.expr, Any], None]
    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
