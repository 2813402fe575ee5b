"""`del` of an attribute."""

import adjoint
from adjoint import Tensor


class Box:
    pass


@adjoint.jit
def f(x):
    box = Box()
    box.value = x * 2
    del box.value
    return x


f(Tensor([1.0, 2.0]))
