"""Ranges of run-time numbers."""

from __future__ import annotations

from typing import Any, NoReturn

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN
from adjoint.frontend import errors

__all__ = ["RunTimeRange"]


@dataclass(frozen=True, eq=False)
class RunTimeRange:
    """A `range(start, stop, step)` in which at least one number is known only at run time."""

    start: Any
    stop: Any
    step: Any

    def _unknown(self, *_: Any) -> NoReturn:
        raise errors.VALUE_NEEDED.at(UNKNOWN, "the length of this range is not known while parsing",
                                     help="loop over it with `for i in range(n)`, or take a range of known length")

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = __reversed__ = _unknown
