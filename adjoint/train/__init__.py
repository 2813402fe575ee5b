"""Training: `Model`, callbacks, metrics, mixed precision, checkpoints, runs that go on."""

from typing import Any

from adjoint.diagnostics import missing_name
from adjoint.runtime.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from adjoint.train import amp, callback, metrics
from adjoint.train.amp import build_train_network
from adjoint.train.callback import *  # noqa: F403
from adjoint.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from adjoint.train.metrics import *  # noqa: F403
from adjoint.train.model import Model
from adjoint.train.run_state import RunState

__all__ = [
    "DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "Model", "RunState", "amp", "build_train_network", "callback",
    "load_checkpoint", "load_param_into_net", "metrics", "save_checkpoint",
]
__all__ += callback.__all__
__all__ += metrics.__all__

INSTEAD: dict[str, str] = {}
"""What to write for names of MindSpore's that are not here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
