"""An object that holds tensors of the graph is returned."""

from adjoint import Tensor, jit


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


@jit
def f(x):
    return {"pair": Pair(x, x * 2)}


f(Tensor([1.0, 2.0]))
