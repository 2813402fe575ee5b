"""A deque of tensors kept in a global name."""

from collections import deque

import adjoint
from adjoint import Tensor


last = None


@adjoint.jit
def f(x):
    global last
    last = deque([x * 2])
    return x


f(Tensor([1.0, 2.0]))
