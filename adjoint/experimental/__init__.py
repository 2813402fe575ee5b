"""`mindspore.experimental`: optimisers that schedules of learning rates change between steps.

    optim  optimisers with groups of parameters, and `optim.lr_scheduler`
"""

from typing import Any

from adjoint.experimental import optim
from adjoint.foundation.diagnostics import missing_name

__all__ = ["optim"]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
