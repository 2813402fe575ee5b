"""MindSpore's `common` package: tensors, parameters, dtypes, initialisers, seeds."""

from adjoint.common import dtype, initializer, parameter, sparse_tensor, tensor
from adjoint.common.dtype import *  # noqa: F403
from adjoint.common.parameter import Parameter, ParameterTuple
from adjoint.common.sparse_tensor import RowTensor
from adjoint.common.tensor import Tensor
from adjoint.runtime.tensor.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from adjoint.runtime.tensor.random import get_seed, set_seed

__all__ = [
    "Generator", "Parameter", "ParameterTuple", "RowTensor", "Tensor", "default_generator", "dtype", "get_rng_state", "get_seed",
    "initial_seed", "initializer", "manual_seed", "parameter", "seed", "set_rng_state", "set_seed", "sparse_tensor", "tensor",
]
