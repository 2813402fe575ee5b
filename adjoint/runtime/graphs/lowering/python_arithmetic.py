"""Python's arithmetic on run-time numbers (Python numbers that are known only when the graph runs).

It knows bounds for 64 bits, the cases in which kernels compute as Python does, and the errors that Python raises.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.operations.operators import ZeroDivisor
from adjoint.runtime.tensor.run_time_checks import is_run_time_number

__all__ = ["BOUND", "DOUBLE", "INT", "bound_of", "divides", "is_int64", "is_large", "is_real", "python_number"]

_PYTHON: dict[str, type] = {"bool": bool, "int": int, "float": float}

INT, DOUBLE = 2**63, 2**53
"""The absolute value of an int of 64 bits is at most the first; a double represents every int up to the second."""

_STEP = 2**32
"""The most that a loop may add in one round to a number that is treated as a counter, whose growth is bounded."""


# -- bounds ----------------------------------------------------------------------------------------------------------------
def bound_of(x: Any) -> int | None:
    """Return an upper bound of the absolute value of `x` if it is an int or a bool; None if none is known; 0 for other numbers."""
    if is_run_time_number(x):
        return x.bound if x.category != "float" else 0
    return abs(x) if isinstance(x, int) else 0


def _bound_of_sum(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return None if (a or 0) <= _STEP and (b or 0) <= _STEP and (a, b) != (None, None) else INT
    return a + b


BOUND: dict[Any, Callable[[int | None, int | None], int | None]] = {
    operator.add: _bound_of_sum, operator.sub: _bound_of_sum,
    operator.mul: lambda a, b: 0 if 0 in (a, b) else 1 if a == b == 1 else None if a is None or b is None else a * b,
    operator.floordiv: lambda a, b: a,
    operator.mod: lambda a, b: b,
}
"""For each operator, the bound of its result as a function of the bounds of its operands."""


def is_large(x: Any) -> bool:
    """Return True for a Python int of more than 64 bits."""
    return isinstance(x, int) and not is_int64(x)


def is_int64(x: int) -> bool:
    return -INT <= x < INT


# -- where kernels do what Python does -----------------------------------------------------------------------------------------
def divides(python: Callable[[Any, Any], Any], a: Any, b: Any, whole: bool) -> bool:
    """Return True if the kernel of a division returns what Python returns for any divisor other than 0; if not, Python must be called.

    python  the operator: truediv, floordiv or mod
    a, b    dividend and divisor, as Python numbers or run-time numbers (known only when the graph runs)
    whole   True if both operands are ints
    """
    if is_large(a) or is_large(b) or (not is_run_time_number(b) and not b):
        return False
    first, second = bound_of(a), bound_of(b)
    if python is operator.truediv:
        return not whole or (first is not None and second is not None and max(first, second) <= DOUBLE)
    # The quotient of the smallest int and -1 has more than 64 bits.
    return not whole or (first is not None and first < INT) or (isinstance(b, int) and b > 0)


def is_real(a: Any, b: Any) -> bool:
    """Return True if a ** b cannot be a complex number, whatever values the operands have when the graph runs.

    a, b  Python numbers, or run-time numbers (known only when the graph runs)
    """
    if not is_run_time_number(b):
        return not math.isfinite(b) or b == int(b)
    return not is_run_time_number(a) and a >= 0


# -- what Python computes ----------------------------------------------------------------------------------------------------
def python_number(category: str, function: Callable[..., Any], loc: Loc) -> Callable[..., Any]:
    """Return a function of numbers for a graph to call when it runs: it calls `function`, and checks that the graph can represent the
    result.

    It raises what Python raises; CompileError if the result is complex, or an int of more than 64 bits.

    category  the type of the result in the graph: "int", "float" or "bool"
    loc       the line of the user's program for errors
    """
    name = getattr(function, "__name__", "number")

    def computed(*given: Any) -> Any:
        try:
            found = function(*given)
        except ZeroDivisionError as mistake:
            raise ZeroDivisor.of(function, mistake) from None
        fits = isinstance(found, float) if category == "float" else isinstance(found, int) and is_int64(found)
        if not fits:
            shown, kind = " and ".join(map(repr, given)), f"{category} of 64 bits" if isinstance(found, int) else category
            raise errors.NUMBER_RANGE.at(loc, f"`{name}` of {shown} is no {kind}",
                                         help="compute it outside and pass it as an argument, or compute with floats")
        return _PYTHON[category](found)

    computed.__name__ = name
    return computed
