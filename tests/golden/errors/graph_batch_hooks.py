"""A Jacobian in a graph, of a function whose gradient calls a hook."""

import adjoint
from adjoint import Tensor, ops

hook = ops.HookBackward(lambda gradients: None)


@adjoint.jit
def f(x):
    return adjoint.jacrev(lambda y: hook(y) * y)(x)


f(Tensor([1.0, 2.0]))
