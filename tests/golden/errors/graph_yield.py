"""A generator is not parsed."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def rows(x):
    for row in x:
        yield row * 2


rows(Tensor([1.0, 2.0]))
