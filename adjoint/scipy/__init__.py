"""`mindspore.scipy`: linear algebra, cosine transforms, minima and assignments with SciPy's names and arguments."""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.scipy import fft, linalg, optimize

__all__ = ["fft", "linalg", "optimize"]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
