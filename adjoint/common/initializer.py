"""First values of parameters; see `adjoint.runtime.tensor.initializer`."""

from adjoint.runtime.tensor.initializer import (
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    One,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    Zero,
)
from adjoint.runtime.tensor.tensor import initializer

__all__ = [
    "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One", "Orthogonal", "Sparse", "TruncatedNormal",
    "Uniform", "VarianceScaling", "XavierNormal", "XavierUniform", "Zero", "initializer",
]
