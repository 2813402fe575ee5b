"""The functions that apply one op: made from the classes of the ops, by `publish`, when they are first used.

`generated.pyi` shows them.
"""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.foundation.locking import Lock
from adjoint.ir.op import registry
from adjoint.ir.ops.index import FUNCTIONS
from adjoint.ops import publish

__all__ = [*FUNCTIONS]  # pyright: ignore[reportUnsupportedDunderAll] - the stub lists them

_made: dict[str, Any] = {}
_lock = Lock()


def names_of(op: str) -> Any:
    """Return the public names of an op (`publish.Names`); they are made once."""
    found = _made.get(op)
    if found is None:
        kind, published = registry()[op], publish.published
        with _lock:
            found = _made.get(op)
            if found is None:
                found = _made[op] = published(kind)
    return found


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise missing_name(__name__, name, globals())
    functions = names_of(FUNCTIONS[name]).functions
    globals().update(functions)
    return functions[name]
