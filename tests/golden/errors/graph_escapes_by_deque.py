"""A value of a branch that a deque carries out."""

import collections

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    kept = collections.deque([x])
    if x.sum() > 0:
        kept.append(x * 2)
    return kept[-1] + 1


f(Tensor([1.0, 2.0]))
