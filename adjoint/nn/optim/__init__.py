"""Optimisers: a step is one launch of fused kernels for all parameters, in place where no other tensor shares the memory."""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.nn.index import OPTIMIZERS

if TYPE_CHECKING:
    from adjoint.nn.optim import adam, adaptive, composed, lars, momentum
    from adjoint.nn.optim.adam import *  # noqa: F403
    from adjoint.nn.optim.adaptive import *  # noqa: F403
    from adjoint.nn.optim.composed import *  # noqa: F403
    from adjoint.nn.optim.lars import *  # noqa: F403
    from adjoint.nn.optim.momentum import *  # noqa: F403
    from adjoint.nn.optim.optimizer import Optimizer

__all__ = ["Optimizer"]
if TYPE_CHECKING:
    __all__ += adam.__all__
    __all__ += adaptive.__all__
    __all__ += composed.__all__
    __all__ += lars.__all__
    __all__ += momentum.__all__
else:
    __all__ += " ".join(OPTIMIZERS.values()).split()

LOADED_WHEN_USED = {**lazy.homes(__name__, OPTIMIZERS), "Optimizer": "adjoint.nn.optim.optimizer"}


def __getattr__(name: str) -> Any:
    found = lazy.found(globals(), name)
    if found is None:
        raise missing_name(__name__, name, globals())
    return found


def __dir__() -> list[str]:
    return lazy.listed(globals())
