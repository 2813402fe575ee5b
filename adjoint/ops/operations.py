"""The operators as objects: `from adjoint.ops import operations as P; P.MatMul()`."""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ops.index import COLLECTIVES, PRIMITIVES

if TYPE_CHECKING:
    from adjoint.ops import collectives, primitives
    from adjoint.ops.collectives import *  # noqa: F403
    from adjoint.ops.further_names import DType, MoveTo, Partial
    from adjoint.ops.hooking import HookBackward, InsertGradientOf
    from adjoint.ops.primitive import Primitive, constexpr, prim_attr_register
    from adjoint.ops.primitives import *  # noqa: F403 - the same names, in the place where scripts look for them
    from adjoint.ops.state import GetNext

__all__ = ["DType", "GetNext", "HookBackward", "InsertGradientOf", "MoveTo", "Partial", "Primitive", "constexpr", "prim_attr_register"]
if TYPE_CHECKING:
    __all__ += primitives.__all__
    __all__ += collectives.__all__
else:
    __all__ += " ".join([*PRIMITIVES.values(), *COLLECTIVES.values()]).split()

LOADED_WHEN_USED = {
    **lazy.homes("adjoint.ops.primitives", PRIMITIVES), **lazy.homes("adjoint.ops", COLLECTIVES),
    **dict.fromkeys(("DType", "MoveTo", "Partial"), "adjoint.ops.further_names"), "GetNext": "adjoint.ops.state",
    **dict.fromkeys(("HookBackward", "InsertGradientOf"), "adjoint.ops.hooking"),
    **dict.fromkeys(("Primitive", "constexpr", "plain", "prim_attr_register"), "adjoint.ops.primitive"),
    "identity": "adjoint.ops.further_names",  # a class here; the function of this name is in `ops`
}
"""The modules of all names."""


def __getattr__(name: str) -> Any:
    if name in LOADED_WHEN_USED:
        return lazy.load(globals(), name)
    raise missing_name(__name__, name, globals())


def __dir__() -> list[str]:
    return lazy.listed(globals())
