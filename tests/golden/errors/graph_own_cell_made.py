"""A Cell of the user's own likewise."""

import adjoint
from adjoint import Parameter, Tensor, nn


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.by = Parameter(Tensor(2.0), name="by")

    def construct(self, x):
        return x * self.by


@adjoint.jit
def f(x):
    return Scale()(x)


f(Tensor([1.0, 2.0]))
