"""A random number of Python's."""

import random

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * random.random()


f(Tensor([1.0, 2.0]))
