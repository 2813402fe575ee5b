"""Keep the loss and the metrics of each epoch."""

from __future__ import annotations

from typing import Any

from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import Callback, RunContext, loss_of

__all__ = ["History"]


class History(Callback):
    """Record the loss and the metrics of each epoch.

    epoch    {"epoch": [1, 2, ...]}, of the last run
    history  {"net_output": the last loss of each epoch, and by their names the metrics where `Model.fit` evaluated}; runs append to it
    """

    sees_evaluation_in_fit = False

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] | None = None

    def begin(self, run_context: RunContext) -> None:
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.epoch is not None:
            self.epoch["epoch"].append(run.get("cur_epoch_num", 1))
        loss = loss_of(run.net_outputs)
        found = {"net_output": loss_of(loss) if isinstance(loss, Tensor) else loss, **(run.get("metrics") or {})}
        for name, value in found.items():
            self.history.setdefault(name, []).append(value)

    def state_dict(self) -> dict[str, Any]:
        return {"history": {name: [_plain(value) for value in values] for name, values in self.history.items()}, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.history, self.epoch = state["history"], state["epoch"]


def _plain(value: Any) -> Any:
    """Return a metric as numbers and lists of them."""
    return value.tolist() if hasattr(value, "tolist") else value
