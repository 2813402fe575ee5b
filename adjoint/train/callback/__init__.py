"""Callbacks: code that runs while a `Model` trains and evaluates."""

from adjoint.train.callback.backup_and_restore import BackupAndRestore
from adjoint.train.callback.callback import Callback, RunContext
from adjoint.train.callback.checkpoint import CheckpointConfig, ModelCheckpoint
from adjoint.train.callback.continue_run import ContinueRun
from adjoint.train.callback.early_stopping import EarlyStopping
from adjoint.train.callback.history import History
from adjoint.train.callback.lambda_callback import LambdaCallback
from adjoint.train.callback.learning_rate import LearningRateScheduler, ReduceLROnPlateau
from adjoint.train.callback.loss_monitor import LossMonitor
from adjoint.train.callback.summary_collector import SummaryCollector
from adjoint.train.callback.time_monitor import TimeMonitor

__all__ = [
    "BackupAndRestore", "Callback", "CheckpointConfig", "ContinueRun", "EarlyStopping", "History", "LambdaCallback",
    "LearningRateScheduler", "LossMonitor", "ModelCheckpoint", "ReduceLROnPlateau", "RunContext", "SummaryCollector", "TimeMonitor",
]
