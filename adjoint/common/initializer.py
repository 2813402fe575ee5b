"""First values of parameters; see `adjoint.runtime.initializer`."""

from adjoint.runtime.initializer import (
    Constant,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    One,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    Zero,
    initializer,
)

__all__ = [
    "Constant", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One", "TruncatedNormal", "Uniform", "XavierNormal",
    "XavierUniform", "Zero", "initializer",
]
