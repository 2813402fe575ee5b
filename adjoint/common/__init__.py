"""MindSpore's `common` package: tensors, parameters, dtypes, initialisers, seeds."""

from adjoint.common import dtype, initializer, parameter, tensor
from adjoint.common.dtype import *  # noqa: F403
from adjoint.common.parameter import Parameter, ParameterTuple
from adjoint.common.tensor import Tensor
from adjoint.runtime.tensor.random import get_seed, set_seed

__all__ = ["Parameter", "ParameterTuple", "Tensor", "dtype", "get_seed", "initializer", "parameter", "set_seed", "tensor"]
