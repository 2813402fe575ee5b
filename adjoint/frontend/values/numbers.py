"""Ranges of numbers that are known only when the graph runs."""

from __future__ import annotations

from typing import Any, NoReturn

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN
from adjoint.frontend import errors

__all__ = ["RunTimeRange"]


@dataclass(frozen=True, eq=False)
class RunTimeRange:
    """Represents a `range(start, stop, step)` in which the graph computes at least one of the numbers.  A `for` loop over it becomes a loop
    of the graph; uses that need its length or its items, such as `len`, raise CompileError.
    """

    start: Any
    stop: Any
    step: Any

    def _unknown(self, *_: Any) -> NoReturn:
        raise errors.VALUE_NEEDED.at(UNKNOWN, "the length of this range is not known while parsing",
                                     help="loop over it with `for i in range(n)`, or take a range of known length")

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = __reversed__ = _unknown
