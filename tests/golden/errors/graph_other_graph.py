"""A tensor that another graph left in an object: here in an attribute of a function."""

import adjoint
from adjoint import Tensor


def remember(x):
    remember.kept = x * 2
    return x


@adjoint.jit
def first(x):
    return remember(x)


@adjoint.jit
def second(x):
    return x + remember.kept


first(Tensor([1.0, 2.0]))
second(Tensor([1.0, 2.0]))
