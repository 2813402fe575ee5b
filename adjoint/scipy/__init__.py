"""`mindspore.scipy`: linear algebra with SciPy's names and arguments; MindSpore's `optimize` is not here."""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.scipy import linalg

__all__ = ["linalg"]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
