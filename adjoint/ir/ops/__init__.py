"""The ops.  Importing this package registers every one of them."""

from adjoint.ir.ops import (
    control,
    elementwise,
    host,
    linalg,
    losses,
    normalize,
    optimizers,
    pooling,
    random,
    reduce,
    shape,
    softmax,
    stack,
    state,
    tuples,
)

__all__ = [
    "control",
    "elementwise",
    "host",
    "linalg",
    "losses",
    "normalize",
    "optimizers",
    "pooling",
    "random",
    "reduce",
    "shape",
    "softmax",
    "stack",
    "state",
    "tuples",
]
