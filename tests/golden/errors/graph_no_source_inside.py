"""One that parsed code calls."""

import adjoint
from adjoint import Tensor


space = {}
exec("def doubled(x):\n    return x * 2\n", space)
doubled = space["doubled"]


@adjoint.jit
def f(x):
    return doubled(x) + 1


f(Tensor([1.0, 2.0]))
