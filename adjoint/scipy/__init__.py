"""`mindspore.scipy`: linear algebra and cosine transforms with SciPy's names and arguments; MindSpore's `optimize` is not here."""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.scipy import fft, linalg

__all__ = ["fft", "linalg"]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
