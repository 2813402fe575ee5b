"""Two Parameters of one name in a graph."""

import adjoint
from adjoint import Tensor, nn

first, second = nn.Dense(2, 2), nn.Dense(2, 2)
adjoint.jit(lambda x: second(first(x)))(Tensor([[1.0, 2.0]]))
