"""A set that the body makes would belong to the first call, and to each graph."""

import adjoint
from adjoint import Tensor, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.calls = set()

    def step(self):
        self.calls = {1}
        return len(self.calls)

    @adjoint.jit
    def construct(self, x):
        return x * self.step()


Net()(Tensor([1.0, 2.0]))
