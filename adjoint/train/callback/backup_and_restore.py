"""Keep a copy of the parameters while training."""

from __future__ import annotations

import os
from contextlib import suppress

from adjoint.nn.checks import boolean, positive
from adjoint.runtime.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from adjoint.train.callback.callback import Callback, RunContext

__all__ = ["BackupAndRestore"]


class BackupAndRestore(Callback):
    """Write all parameters to `backup_dir/backup.ckpt` after epochs, and load them when a training begins and the file exists.

    save_freq          after every so many epochs; "epoch": after each
    delete_checkpoint  delete the file when the training is done

    Epochs are counted from the first again, and the data starts anew: to resume a run where it was, use `ContinueRun`.
    """

    sees_evaluation_in_fit = False

    def __init__(self, backup_dir: str, save_freq: str | int = "epoch", delete_checkpoint: bool = True):
        name = "BackupAndRestore"
        if not isinstance(backup_dir, (str, os.PathLike)):
            raise TypeError(f"For '{name}', the argument 'backup_dir' must be the name of a directory, but got {backup_dir!r} "
                            f"of type {type(backup_dir).__name__}.")
        os.makedirs(backup_dir, exist_ok=True)
        self.backup_file = os.path.join(os.path.realpath(backup_dir), "backup.ckpt")
        self.save_freq = 1 if save_freq == "epoch" else positive(name, "save_freq", save_freq)
        self.delete_checkpoint = boolean(name, "delete_checkpoint", delete_checkpoint)

    def on_train_begin(self, run_context: RunContext) -> None:
        if os.path.exists(self.backup_file):
            load_checkpoint(self.backup_file, net=run_context.original_args().train_network)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.cur_epoch_num % self.save_freq == 0:
            save_checkpoint(run.train_network, self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.delete_checkpoint:
            with suppress(FileNotFoundError):
                os.remove(self.backup_file)
