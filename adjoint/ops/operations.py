"""The operators as objects: `from adjoint.ops import operations as P; P.MatMul()`."""

from adjoint.ops import collectives, primitives
from adjoint.ops.collectives import *  # noqa: F403
from adjoint.ops.composite import partial
from adjoint.ops.hooking import HookBackward, InsertGradientOf
from adjoint.ops.primitive import Primitive, constexpr, plain, prim_attr_register
from adjoint.ops.primitives import *  # noqa: F403 - the same names, in the place where scripts look for them
from adjoint.ops.primitives.elementwise import Identity as identity  # noqa: F401 - the function of this name is in `ops`
from adjoint.ops.primitives.shaping import TypeOf as DType
from adjoint.ops.state import GetNext

Partial = plain("Partial", partial)

__all__ = ["DType", "GetNext", "HookBackward", "InsertGradientOf", "Partial", "Primitive", "constexpr", "prim_attr_register"]
__all__ += primitives.__all__
__all__ += collectives.__all__
