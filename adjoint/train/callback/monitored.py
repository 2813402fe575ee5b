"""A value that callbacks monitor from epoch to epoch, and whether it has improved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import warn
from adjoint.nn.checks import choice, number
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import loss_of
from adjoint.train.processes import mean_of_all

__all__ = ["Monitored"]

_SMALLER_IS_BETTER = ("hausdorff_distance", "mae", "mse", "loss", "perplexity", "mean_surface_distance", "root_mean_square_distance",
                      "eval_loss")


class Monitored:
    """The loss, or a result of the evaluation in `Model.fit`, and its best value so far.

    owner      the name of the callback
    name       "loss", that of the epoch's last step; "eval_loss"; or a metric's name
    mode       "min": smaller is better; "max"; "auto": by the name
    min_delta  by how much better it must be to count
    """

    def __init__(self, owner: str, name: Any, mode: Any, min_delta: Any):
        if not isinstance(name, str):
            raise TypeError(f"For '{owner}', the argument 'monitor' must be a str, but got {name!r} of type {type(name).__name__}.")
        if not isinstance(mode, str):
            raise TypeError(f"For '{owner}', the argument 'mode' must be a str, but got {mode!r} of type {type(mode).__name__}.")
        choice(owner, "mode", mode, ("auto", "min", "max"))
        self._owner, self.name = owner, name
        self._delta = abs(number(owner, "min_delta", min_delta))
        self._falls = mode == "min" or (mode == "auto" and name in _SMALLER_IS_BETTER)
        self.clear()

    def clear(self) -> None:
        """Forget the best value."""
        self.best = math.inf if self._falls else -math.inf

    def value(self, run: Any) -> float | None:
        """Return the current value, in a data parallel program the mean over all processes; None, with a warning, if the run does not have
        it.

        Raise ValueError when it is not a single number.
        """
        results = run.get("eval_results", {})
        found: Any = loss_of(run.get("net_outputs")) if self.name == "loss" else results.get(self.name)
        if found is None:
            warn(f"For '{self._owner}', {self.name!r} is not there in this epoch, only {sorted({'loss', *results})}: it is watched where "
                 "'Model.fit' evaluates.")
            return None
        array = found.asnumpy() if isinstance(found, Tensor) else np.asarray(found)
        if array.size != 1:
            raise ValueError(f"{self._owner} only supports scalar monitor now, but {self.name!r} has the shape {array.shape}.")
        return mean_of_all(float(array.reshape(())))

    def better(self, value: float, than: float) -> bool:
        """Return whether a value is better than another by more than `min_delta`."""
        return value < than - self._delta if self._falls else value > than + self._delta
