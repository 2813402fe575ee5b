"""Optimisers: a step is one launch of fused kernels for all parameters, in place where no other tensor shares the memory."""

from adjoint.nn.optim import adam, adaptive, composed, lars, momentum
from adjoint.nn.optim.adam import *  # noqa: F403
from adjoint.nn.optim.adaptive import *  # noqa: F403
from adjoint.nn.optim.composed import *  # noqa: F403
from adjoint.nn.optim.lars import *  # noqa: F403
from adjoint.nn.optim.momentum import *  # noqa: F403
from adjoint.nn.optim.optimizer import Optimizer

__all__ = ["Optimizer"]
__all__ += adam.__all__
__all__ += adaptive.__all__
__all__ += composed.__all__
__all__ += lars.__all__
__all__ += momentum.__all__
