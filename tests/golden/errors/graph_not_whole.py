"""A hook that returns another value, under `fullgraph=True`."""

import adjoint
from adjoint import Tensor, nn

net = nn.ReLU()
net.register_forward_hook(lambda cell, inputs, output: output * 2)


@adjoint.jit(fullgraph=True)
def f(x):
    return net(x)


f(Tensor([1.0, -2.0]))
