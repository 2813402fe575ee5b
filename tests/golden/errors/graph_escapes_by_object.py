"""A list that one branch made longer, through an object, has two lengths after it."""

import adjoint
from adjoint import Tensor


class Log:
    def __init__(self):
        self.values = []

    def note(self, value):
        self.values.append(value)


@adjoint.jit
def f(x):
    log = Log()
    if x.sum() > 0:
        log.note(x * 2)
    return sum(log.values)


f(Tensor([1.0, 2.0]))
