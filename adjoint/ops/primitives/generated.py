"""The Primitives that apply one op: made from the classes of the ops, by `publish`, when they are first used.

`generated.pyi` shows them.
"""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.ops.index import PRIMITIVES
from adjoint.ops.generated import names_of

__all__ = [*PRIMITIVES]  # pyright: ignore[reportUnsupportedDunderAll] - the stub lists them


def __getattr__(name: str) -> Any:
    if name not in PRIMITIVES:
        raise missing_name(__name__, name, globals())
    primitives = names_of(PRIMITIVES[name]).primitives
    globals().update(primitives)
    return primitives[name]
