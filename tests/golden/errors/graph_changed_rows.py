"""A list that a loop over parts of a global leads to."""

import adjoint
from adjoint import Tensor

SETTINGS = {"a": [1], "b": [2]}


@adjoint.jit
def f(x):
    for i, (name, rates) in enumerate(SETTINGS.items()):
        rates.append(i)
        x = x * len(SETTINGS[name])
    return x


f(Tensor([1.0, 2.0]))
