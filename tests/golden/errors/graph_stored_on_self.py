"""A set of tensors kept on self."""

import adjoint
from adjoint import Tensor, nn


class Net(nn.Cell):
    def construct(self, x):
        self.last = {x * 2}
        return x


adjoint.set_context(mode=adjoint.GRAPH_MODE)
try:
    Net()(Tensor([1.0, 2.0]))
finally:
    adjoint.set_context(mode=adjoint.PYNATIVE_MODE)
