"""A function made by `exec`."""

import adjoint
from adjoint import Tensor


space = {}
exec("def doubled(x):\n    return x * 2\n", space)
f = adjoint.jit(space["doubled"])
f(Tensor([1.0, 2.0]))
