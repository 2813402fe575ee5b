"""An `async` function is not parsed."""

import adjoint
from adjoint import Tensor


@adjoint.jit
async def f(x):
    return x * 2


f(Tensor([1.0, 2.0]))
