"""MindSpore's `common` package: tensors, parameters, dtypes, initialisers, seeds."""

from typing import TYPE_CHECKING, Any

from adjoint.common import dtype, initializer, parameter, tensor
from adjoint.common.dtype import *  # noqa: F403
from adjoint.common.parameter import Parameter, ParameterTuple
from adjoint.common.tensor import Tensor
from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
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

if TYPE_CHECKING:
    from adjoint.common import sparse_tensor
    from adjoint.common.sparse_tensor import COOTensor, CSRTensor, RowTensor, SparseTensor

__all__ = [
    "COOTensor", "CSRTensor", "Generator", "Parameter", "ParameterTuple", "RowTensor", "SparseTensor", "Tensor", "default_generator",
    "dtype", "get_rng_state", "get_seed", "initial_seed", "initializer", "manual_seed", "parameter", "seed", "set_rng_state", "set_seed",
    "sparse_tensor", "tensor",
]

LOADED_WHEN_USED = dict.fromkeys(("COOTensor", "CSRTensor", "RowTensor", "SparseTensor", "sparse_tensor"), "adjoint.common.sparse_tensor")
"""The module of the names that few programs use."""


def __getattr__(name: str) -> Any:
    found = lazy.found(globals(), name)
    if found is None:
        raise missing_name(__name__, name, globals())
    return found


def __dir__() -> list[str]:
    return lazy.listed(globals())
