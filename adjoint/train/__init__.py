"""Training: `Model`, callbacks, metrics, mixed precision, checkpoints, runs that go on."""

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.runtime.checkpoints.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from adjoint.train import amp, callback, metrics
from adjoint.train.amp import build_train_network
from adjoint.train.callback import *  # noqa: F403
from adjoint.train.checkpoints import async_ckpt_thread_status, load_checkpoint_async
from adjoint.train.data_sink import data_sink
from adjoint.train.dataset_helper import DatasetHelper
from adjoint.train.exporting import export
from adjoint.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from adjoint.train.metrics import *  # noqa: F403
from adjoint.train.model import Model
from adjoint.train.run_state import RunState
from adjoint.train.summary_record import SummaryRecord

__all__ = [
    "DatasetHelper", "DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "Model", "RunState", "SummaryRecord", "amp",
    "async_ckpt_thread_status", "build_train_network", "callback", "data_sink", "export", "load_checkpoint",
    "load_checkpoint_async", "load_param_into_net", "metrics", "save_checkpoint",
]
__all__ += callback.__all__
__all__ += metrics.__all__

INSTEAD = {
    "connect_network_with_dataset": "call the network with each batch",
    "OnRequestExit": "the callback `ContinueRun`: a run that was ended goes on where it was",
    "TrainFaultTolerance": "the callback `ContinueRun`: a run that was ended goes on where it was",
    "FlopsUtilizationCollector": "`TimeMonitor`, and `adjoint dump-ir` for the operators: what a device could reach is not known here",
    **dict.fromkeys(("ConvertModelUtils", "ConvertNetUtils"), "an optimizer of `nn`: MindSpore's `thor` is not here"),
    "ckpt_to_safetensors": "`load_checkpoint`, and `save_checkpoint` with `format='safetensors'`",
    "safetensors_to_ckpt": "`load_checkpoint` with `format='safetensors'`, and `save_checkpoint`",
}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
