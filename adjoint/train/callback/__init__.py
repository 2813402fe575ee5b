"""Callbacks: what is done while a `Model` trains and evaluates."""

from adjoint.train.callback.callback import Callback, RunContext
from adjoint.train.callback.checkpoint import CheckpointConfig, ModelCheckpoint
from adjoint.train.callback.loss_monitor import LossMonitor
from adjoint.train.callback.time_monitor import TimeMonitor

__all__ = ["Callback", "CheckpointConfig", "LossMonitor", "ModelCheckpoint", "RunContext", "TimeMonitor"]
