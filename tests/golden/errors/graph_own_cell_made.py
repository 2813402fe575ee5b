"""A Cell that is made inside keeps its Parameters as they are."""

import adjoint
from adjoint import Parameter, Tensor, nn


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.by = Parameter(Tensor(2.0), name="by")

    def construct(self, x):
        self.by += 1
        return x * self.by


@adjoint.jit
def f(x):
    return Scale()(x)


f(Tensor([1.0, 2.0]))
