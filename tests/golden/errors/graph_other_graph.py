"""A tensor that another graph left in an object."""

import collections

import adjoint
from adjoint import Tensor


kept = collections.deque()


@adjoint.jit
def first(x):
    kept.append(x * 2)
    return x


@adjoint.jit
def second(x):
    return x + kept[0]


first(Tensor([1.0, 2.0]))
second(Tensor([1.0, 2.0]))
