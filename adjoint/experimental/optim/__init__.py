"""`mindspore.experimental.optim`: optimisers with groups of parameters, whose settings may change between steps.

    optimizer         the base class, and what all optimisers do
    moments           those that keep moments of the gradient: Adam and its kin
    directions        SGD, ASGD, Rprop
    accumulated       those that divide by what squares of gradients sum up to: Adagrad, Adadelta, RMSprop
    lr_scheduler      schedules of learning rates
"""

from typing import Any

from adjoint.experimental.optim import lr_scheduler
from adjoint.experimental.optim.accumulated import Adadelta, Adagrad, RMSprop
from adjoint.experimental.optim.directions import ASGD, SGD, Rprop
from adjoint.experimental.optim.moments import Adam, Adamax, AdamW, NAdam, RAdam
from adjoint.experimental.optim.optimizer import Optimizer
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "lr_scheduler",
]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
