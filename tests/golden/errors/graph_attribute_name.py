"""The name of an attribute is known while parsing."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, axis):
    return getattr(x, f"sum{axis}")()


f(Tensor([1.0, 2.0]), Tensor(0))
