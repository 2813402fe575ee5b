"""A tensor of a graph that is left in a deque from outside."""

import collections

import adjoint
from adjoint import Tensor


kept = collections.deque()


@adjoint.jit
def f(x):
    kept.append(x * 2)
    return x


f(Tensor([1.0, 2.0]))
