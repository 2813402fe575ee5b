"""Resume a training where it was when its process ended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any

from adjoint.nn.checks import boolean, least_integer
from adjoint.runtime.cells.cell import Cell
from adjoint.train.batches import Batches
from adjoint.train.callback.callback import Callback
from adjoint.train.run_state import RunState

__all__ = ["ContinueRun"]


class ContinueRun(Callback):
    """Save the whole state of a training, and resume from it when the program is run again.

    file        the name of a checkpoint; `.ckpt` is added if it is missing
    save_steps  save after every so many steps too; 0: after each epoch only, which is always done
    keep        keep the file when the training is done; default: it is deleted, so that the next run starts anew

    Saved are the Parameters of network, optimiser and loss scale, the position in the dataset, the states of callbacks that have
    `state_dict` and `load_state_dict`, and the random streams.  A resumed run has the same numbers, to the bit, as one that was not
    interrupted.  `Model.train` and `Model.fit` look for the file after `on_train_begin`.

    Raise ValueError when the file is damaged or of another run: other parameters, another number of batches, other settings of the
    optimiser.
    """

    sees_evaluation_in_fit = False

    def __init__(self, file: str | os.PathLike[str], save_steps: int = 0, keep: bool = False):
        self.file = file
        self._save_steps = least_integer("ContinueRun", "save_steps", save_steps, 0)
        self._keep = boolean("ContinueRun", "keep", keep)
        self._state: RunState | None = None

    # -- called by Model ------------------------------------------------------------------------------------------------
    def open(self, run: Any, batches: Batches, callbacks: Sequence[Callback], epochs: int) -> Resumed | None:
        """Read the file and return the position; None if there is no file."""
        parts: dict[str, Any] = {"data": batches, "callbacks": _States(callbacks)}
        if hasattr(run.loss_scale_mananger, "state_dict"):
            parts["loss_scale_manager"] = run.loss_scale_mananger
        self._state = RunState(self.file, train_network=run.train_network, **parts)
        self._batches = batches
        self._settings = {"batches in an epoch": batches.count, **_settings(run.optimizer)}
        found = self._state.read()
        if found is None:
            return None
        progress, restore = found
        self._check(progress["settings"])
        resumed = Resumed(progress, restore)
        if resumed.epoch > epochs or (resumed.epoch == epochs and resumed.inside):
            raise ValueError(f"For 'ContinueRun', the run in {self._state.file!r} is in epoch {resumed.epoch + resumed.inside}, but "
                             f"'epoch', where it ends, is {epochs}.")
        place = f"step {progress['position']} of epoch {resumed.epoch + 1}" if resumed.inside else f"epoch {resumed.epoch}"
        print(f"Continuing the run in {self._state.file!r} behind {place}.", flush=True)
        return resumed

    def _check(self, saved: dict[str, Any]) -> None:
        """Raise ValueError unless the run was started with the settings of this program."""
        assert self._state is not None
        here = self._settings
        lines = [f"{name}: {saved.get(name)} in the file, {here.get(name)} in this program"
                 for name in {**saved, **here} if saved.get(name) != here.get(name)]
        if lines:
            raise ValueError(f"For 'ContinueRun', the run in {self._state.file!r} was begun with other settings:\n  "
                             + "\n  ".join(lines[:5]) + "\nDelete the file to begin anew.")

    def step_done(self, run: Any, stops: bool) -> None:
        """Save if it is time; not after the last step of an epoch, which is saved once its callbacks have been called."""
        if self._save_steps and run.cur_step_num % self._save_steps == 0 and self._batches.position < self._batches.count and not stops:
            self._save(run, run.cur_epoch_num - 1, self._batches.position, stops)

    def epoch_done(self, run: Any, stops: bool) -> None:
        """Save the state between two epochs, or at the end of an epoch that a callback ended early."""
        self._save(run, run.cur_epoch_num, 0, stops)

    def training_done(self) -> None:
        """Delete the file, unless it is to be kept."""
        if not self._keep and self._state is not None:
            self._state.delete()

    def _save(self, run: Any, epoch: int, position: int, stops: bool) -> None:
        assert self._state is not None
        self._state.save(epoch=epoch, position=position, step=run.cur_step_num, stops=stops, settings=self._settings)


class Resumed:
    """The position at which a run resumes.

    epoch   how many epochs are done
    inside  whether steps of the next one are done too
    step    how many steps are done
    stops   whether a callback has asked to end the run
    """

    def __init__(self, progress: dict[str, Any], restore: Any):
        self.epoch, self.inside = int(progress["epoch"]), bool(progress["position"])
        self.step, self.stops = int(progress["step"]), bool(progress["stops"])
        self.restore = restore


class _States:
    """The states of callbacks, by their classes; a callback that is not in the file starts anew."""

    def __init__(self, callbacks: Sequence[Callback]):
        self._callbacks: dict[str, Any] = {}
        for callback in callbacks:
            if hasattr(callback, "state_dict") and hasattr(callback, "load_state_dict"):
                name = type(callback).__name__
                number = sum(key.partition(" ")[0] == name for key in self._callbacks)
                self._callbacks[f"{name} {number}"] = callback

    def state_dict(self) -> dict[str, Any]:
        return {name: callback.state_dict() for name, callback in self._callbacks.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, callback in self._callbacks.items():
            if name in state:
                callback.load_state_dict(state[name])


_NO_SETTINGS = {"training", "requires_grad"}
"""Attributes of every cell that do not describe an optimiser."""


def _settings(optimizer: Any) -> dict[str, Any]:
    """Return the settings of an optimiser, by name: its class, numbers, flags and strings among its attributes, its first rates."""
    if not isinstance(optimizer, Cell):
        return {}
    found: dict[str, Any] = {"optimizer": type(optimizer).__name__}
    network = {id(parameter) for parameter in getattr(optimizer, "parameters", ())}
    for path, cell in optimizer.cells_and_names(name_prefix="optimizer"):
        for name, value in vars(cell).items():
            if isinstance(value, (bool, int, float, str)) and not name.startswith("_") and name not in _NO_SETTINGS:
                found[f"{path}.{name}"] = value
        for name, parameter in cell._params.items():
            if id(parameter) not in network and "learning_rate" in name:
                values = parameter.asnumpy()
                found[f"{path}.{name}"] = values.tolist() if values.size == 1 else hashlib.sha256(values.tobytes()).hexdigest()
    return found
