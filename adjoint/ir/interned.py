"""Ops by class and attributes: equal ops are one object already, here it is found without making another first."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from adjoint.budget import Refillable, budget
from adjoint.ir.op import Op

__all__ = ["made"]

AnyOp = TypeVar("AnyOp", bound=Op)


@functools.lru_cache(maxsize=8192)
def made(kind: type[AnyOp], *attributes: Any, **named: Any) -> AnyOp:
    """`kind(*attributes)`, kept.

    Attributes that compare equal must mean the same op: give no ints where floats belong, and none where the sign of 0.0 counts.
    """
    budget.charge(_OP)
    return kind(*attributes, **named)


_OP = 700
"""Bytes of an op and its entry here."""

Refillable("ops", lambda: made.cache_info().currsize * _OP, made.cache_clear)
