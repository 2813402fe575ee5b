"""Training: `Model`, callbacks, metrics, mixed precision, checkpoints."""

from typing import Any

from adjoint.diagnostics import missing_name
from adjoint.runtime.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from adjoint.train import amp, callback, metrics
from adjoint.train.amp import build_train_network
from adjoint.train.callback import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint, RunContext, TimeMonitor
from adjoint.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from adjoint.train.metrics import (
    F1,
    MAE,
    MSE,
    Accuracy,
    ConfusionMatrix,
    ConfusionMatrixMetric,
    Fbeta,
    Loss,
    Metric,
    Perplexity,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    get_metric_fn,
    names,
    rearrange_inputs,
)
from adjoint.train.model import Model

__all__ = [
    "Accuracy", "Callback", "CheckpointConfig", "ConfusionMatrix", "ConfusionMatrixMetric", "DynamicLossScaleManager", "F1", "Fbeta",
    "FixedLossScaleManager", "Loss", "LossMonitor", "LossScaleManager", "MAE", "MSE", "Metric", "Model", "ModelCheckpoint", "Perplexity",
    "Precision", "Recall", "RunContext", "TimeMonitor", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy",
    "amp", "build_train_network", "callback", "get_metric_fn", "load_checkpoint", "load_param_into_net", "metrics", "names",
    "rearrange_inputs", "save_checkpoint",
]

INSTEAD: dict[str, str] = {}
"""What to write for names of MindSpore's that are not here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
