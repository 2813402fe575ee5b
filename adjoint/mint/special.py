"""Special functions, under the names of `mint.special`."""

from __future__ import annotations

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.mint.arithmetic import sinc
from adjoint.mint.nn.functional import log_softmax
from adjoint.ops.arithmetic import erfc, exp2, expm1, log1p, round

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
