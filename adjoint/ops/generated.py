"""The functions that apply one op: made from the classes of the ops, by `publish`.  `generated.pyi` shows them.

METHODS     the functions that are methods of Tensor, by the methods' names; where a name ends in `_`, the result is written into the tensor
PRIMITIVES  the ops as objects, by name
"""

from collections.abc import Callable
from typing import Any

from adjoint.ir import ops  # noqa: F401 - registers the ops
from adjoint.ir.op import registry
from adjoint.ops.primitive import Primitive
from adjoint.ops.publish import Names, published

_NAMES = Names({}, {}, {})

for _kind in registry().values():
    if _kind.publics():
        _NAMES.add(published(_kind))

METHODS: dict[str, Callable[..., Any]] = _NAMES.methods
PRIMITIVES: dict[str, type[Primitive]] = _NAMES.primitives
globals().update(_NAMES.functions)

__all__ = [*_NAMES.functions]  # pyright: ignore[reportUnsupportedDunderAll] - the stub lists them
