"""A `break` in a range whose step is not known."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, step):
    for i in range(0, 10, int(step)):
        x = x * 2
        if x.sum() > i:
            break
    return x


f(Tensor([1.0, 2.0]), Tensor(2))
