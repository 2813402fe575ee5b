"""So is what `print` puts between its arguments."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    print(x, "done", sep=f"{x}")
    return x


f(Tensor([1.0, 2.0]))
