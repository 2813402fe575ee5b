"""The operators as objects: `from adjoint.ops import operations as P; P.MatMul()`."""

from adjoint.ops import primitives
from adjoint.ops.hooking import HookBackward, InsertGradientOf
from adjoint.ops.primitive import Primitive
from adjoint.ops.primitives import *  # noqa: F403 - the same names, in the place where scripts look for them
from adjoint.ops.state import GetNext

DType = primitives.DType_

__all__ = [*(name for name in primitives.__all__ if name != "DType_"), "DType", "GetNext", "HookBackward", "InsertGradientOf", "Primitive"]
