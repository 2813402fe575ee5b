"""What the parts of the frontend ask of those that are made after them.

Python is recursive: a call runs statements, a statement evaluates expressions, an expression calls.  Parts are made in an order in
which each one is given those that it needs; the four ways back are here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend.control.branches import Outcome

__all__ = ["Runner"]


class Runner:
    """Runs code of any kind.  The `Lowerer` sets the attributes when it has made all parts.

    value   evaluate an expression
    block   run statements in order, and return how they ended
    assign  bind a target to a value
    call    call any callable with positional and keyword arguments
    """

    value: Callable[[ast.expr], Any]
    block: Callable[[Sequence[ast.stmt]], Outcome | None]
    assign: Callable[[ast.expr, Any], None]
    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
