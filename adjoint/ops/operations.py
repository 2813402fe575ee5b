"""The operators as objects: `from adjoint.ops import operations as P; P.MatMul()`."""

from adjoint.ops import primitives
from adjoint.ops.primitives import *  # noqa: F403 - the same names, in the place where scripts look for them

DType = primitives.DType_

__all__ = [*primitives.__all__, "DType"]
