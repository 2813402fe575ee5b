"""Stop a training that no longer improves."""

from __future__ import annotations

from typing import Any

from adjoint.nn.checks import boolean, least_integer, number
from adjoint.runtime.checkpoints.checkpoint import load_param_into_net
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.train.callback.callback import Callback, RunContext
from adjoint.train.callback.monitored import Monitored

__all__ = ["EarlyStopping"]


class EarlyStopping(Callback):
    """Stop the training when a value has not improved for `patience` epochs.

    monitor               "loss"; in `Model.fit` also "eval_loss" or the name of a metric
    min_delta             the least improvement that counts
    patience              after how many epochs; 0: after the first epoch, whatever its value
    verbose               print what happens
    mode                  "min": smaller is better; "max"; "auto": by the name, losses and errors fall and others rise
    baseline              an epoch only counts as better when it is better than this too
    restore_best_weights  at the end, restore the parameters of the best epoch
    """

    sees_evaluation_in_fit = False

    def __init__(
        self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0, verbose: bool = False, mode: str = "auto",
        baseline: float | None = None, restore_best_weights: bool = False,
    ):
        name = "EarlyStopping"
        self._watched = Monitored(name, monitor, mode, min_delta)
        self.patience = least_integer(name, "patience", patience, 0)
        self.verbose = boolean(name, "verbose", verbose)
        self.baseline = None if baseline is None else number(name, "baseline", baseline)
        self.restore_best_weights = boolean(name, "restore_best_weights", restore_best_weights)
        self.wait = self.stopped_epoch = 0
        self._best_weights: dict[str, Parameter] | None = None

    @property
    def best(self) -> float:
        """The best value so far."""
        return self._watched.best

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait = self.stopped_epoch = 0
        self._watched.clear()
        self._best_weights = None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        current = self._watched.value(run)
        if current is None:
            return
        better = self._watched.better(current, self._watched.best)
        if self.restore_best_weights and (better or self._best_weights is None):
            self._best_weights = {name: p.clone() for name, p in run.train_network.parameters_dict().items()}
        self.wait += 1
        if better:
            self._watched.best = current
            if self.baseline is None or self._watched.better(current, self.baseline):
                self.wait = 0
        if self.wait >= self.patience:
            self.stopped_epoch = run.cur_epoch_num
            run_context.request_stop()
            if self._best_weights is not None:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.", flush=True)
                load_param_into_net(run.train_network, self._best_weights)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)

    def state_dict(self) -> dict[str, Any]:
        return {"wait": self.wait, "stopped_epoch": self.stopped_epoch, "best": self._watched.best, "best_weights": self._best_weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.wait, self.stopped_epoch, self._watched.best = state["wait"], state["stopped_epoch"], state["best"]
        weights = state["best_weights"]
        self._best_weights = None if weights is None else {name: Parameter(value, name=name) for name, value in weights.items()}
