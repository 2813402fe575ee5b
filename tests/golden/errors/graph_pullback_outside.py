"""A pullback is called where its function ran: not after the cell that it was made in has ended."""

from adjoint import Tensor, jit, nn, ops


class Taking(nn.Cell):
    def construct(self, x):
        return ops.vjp(lambda y: y * y, x)


taking = Taking()


@jit
def run(x):
    y, pull = taking(x)
    return pull(y)


run(Tensor(2.0))
