"""The operators as functions: `from adjoint.ops import functional as F; F.relu(x)`."""

from adjoint.ops.activations import *  # noqa: F403
from adjoint.ops.arithmetic import *  # noqa: F403
from adjoint.ops.creation import *  # noqa: F403
from adjoint.ops.linear import *  # noqa: F403
from adjoint.ops.losses import *  # noqa: F403
from adjoint.ops.network import *  # noqa: F403
from adjoint.ops.ordering import *  # noqa: F403
from adjoint.ops.random_numbers import *  # noqa: F403
from adjoint.ops.reduction import *  # noqa: F403
from adjoint.ops.shapes import *  # noqa: F403
from adjoint.ops.state import assign, assign_add, assign_sub  # noqa: F401
from adjoint.runtime.grad import get_grad, grad, value_and_grad  # noqa: F401

tensor_add, tensor_sub, tensor_mul, tensor_div, tensor_pow = add, sub, mul, div, pow  # noqa: F405, A004
tensor_lt, tensor_le, tensor_gt, tensor_ge, tensor_floordiv, tensor_mod = less, less_equal, greater, greater_equal, floor_div, mod  # noqa: F405

__all__ = [name for name in dir() if not name.startswith("_")]
