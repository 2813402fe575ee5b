"""Write checkpoints while training."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import Any

from adjoint.nn.checks import boolean, least_integer
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.checkpoints.checkpoint import FORMATS, save_checkpoint
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import Callback, RunContext
from adjoint.train.processes import writes_files

__all__ = ["CheckpointConfig", "ModelCheckpoint"]

_COUNTERS = ("epoch_num", "step_num")


class CheckpointConfig:
    """When `ModelCheckpoint` writes, what, and how many files it keeps.

    save_checkpoint_steps          after so many steps each; 0 or None: see the next
    save_checkpoint_seconds        after so many seconds each; counts where steps do not
    keep_checkpoint_max            keep so many files, the oldest is deleted; 0 or None: see the next
    keep_checkpoint_per_n_minutes  keep one file for so many minutes; counts where no maximum is given; without both one file is kept
    saved_network                  the Cell to write; default the training network: parameters and the optimiser's states
    append_info                    a list of "epoch_num", "step_num" and a dict of numbers, texts and Tensors: written too
    exception_save                 write a file, its name ends with "_breakpoint", when the run fails
    crc_check                      add a checksum
    format                         "ckpt" or "safetensors"

    `integrated_save`, `async_save` and `remove_redundancy` are for many devices: they are accepted, and a file is always written whole
    and before the run continues.  Nothing is encrypted: an `enc_key` other than None raises ValueError.
    """

    def __init__(
        self, save_checkpoint_steps: int | None = 1, save_checkpoint_seconds: int | None = 0, keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0, integrated_save: bool = True, async_save: bool | str = False,
        saved_network: Cell | None = None, append_info: list[Any] | None = None, enc_key: None = None, enc_mode: str = "AES-GCM",
        exception_save: bool = False, crc_check: bool = False, remove_redundancy: bool = False, format: str = "ckpt", **kwargs: Any,
    ):
        name = "CheckpointConfig"
        counts = {"save_checkpoint_steps": save_checkpoint_steps, "save_checkpoint_seconds": save_checkpoint_seconds,
                  "keep_checkpoint_max": keep_checkpoint_max, "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes}
        for argument, count in counts.items():
            if count is not None:
                least_integer(name, argument, count, 0)
        if not any(counts.values()):
            raise ValueError(f"For '{name}', the input arguments {', '.join(map(repr, counts))} can't be all None or 0.")
        unknown = set(kwargs) - {"incremental", "enable_redundance"}
        if unknown:
            raise TypeError(f"For '{name}', there is no argument {sorted(unknown)[0]!r}.")
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = None if save_checkpoint_steps else save_checkpoint_seconds
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_per_n_minutes = None if keep_checkpoint_max else keep_checkpoint_per_n_minutes
        if not keep_checkpoint_max and not keep_checkpoint_per_n_minutes:
            self.keep_checkpoint_max = 1
        self.integrated_save = boolean(name, "integrated_save", integrated_save)
        if not isinstance(async_save, bool) and async_save not in ("thread", "process"):
            kind = ValueError if isinstance(async_save, str) else TypeError
            raise kind(f"For '{name}', the argument 'async_save' must be a bool, 'thread' or 'process', but got {async_save!r}.")
        self.async_save = async_save
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise TypeError(f"For '{name}', the type of 'saved_network' must be None or Cell, but got {type(saved_network)}.")
        self.saved_network = saved_network
        self.append_dict = _append_dict(append_info)
        if enc_key is not None:
            raise ValueError(f"For '{name}', files are not encrypted here: 'enc_key' must be None, but got {enc_key!r}.")
        self.enc_key, self.enc_mode = enc_key, enc_mode
        self.exception_save = boolean(name, "exception_save", exception_save)
        self.crc_check = boolean(name, "crc_check", crc_check)
        self.remove_redundancy = boolean(name, "remove_redundancy", remove_redundancy)
        if format not in FORMATS:
            raise ValueError(f"For '{name}', the argument 'format' must be one of {list(FORMATS)}, but got {format!r}.")
        self.format = format
        self.map_param_inc = bool(kwargs.get("incremental", False))

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """Return when files are written and how many are kept."""
        return {name: getattr(self, name) for name in (
            "save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max", "keep_checkpoint_per_n_minutes", "saved_network")}


def _append_dict(info: Any) -> dict[str, Any] | None:
    """Return the values that `append_info` asks to write, with the counters at 0; raise TypeError or ValueError for invalid ones."""
    name = "CheckpointConfig"
    if info is None or info == []:
        return None
    if not isinstance(info, list):
        raise TypeError(f"For '{name}', the type of 'append_info' must be list, but got {type(info)}.")
    found: dict[str, Any] = {counter: 0 for counter in _COUNTERS if counter in info}
    more = [item for item in info if isinstance(item, dict)]
    for item in info:
        if not isinstance(item, (str, dict)):
            raise TypeError(f"For '{name}', the type of 'append_info' element must be str or dict, but got {type(item)}.")
        if isinstance(item, str) and item not in _COUNTERS:
            raise ValueError(f"For '{name}', the value of element in the argument 'append_info' must be in {list(_COUNTERS)}, "
                             f"but got {item}.")
    if len(more) > 1:
        raise TypeError(f"For '{name}', the element of 'append_info' must has only one dict, but got {len(more)}.")
    for key, value in more[0].items() if more else ():
        if not isinstance(key, str) or not isinstance(value, (int, float, bool, str, Parameter, Tensor)):
            raise TypeError(f"For '{name}', the dict in 'append_info' must hold numbers, texts and Tensors by name, but got "
                            f"{key!r}: {value!r}.")
        found[key] = value
    return found


class ModelCheckpoint(Callback):
    """Write the parameters while training, to `PREFIX-EPOCH_STEP.ckpt`: `CKP-1_5.ckpt` after the fifth step of the first epoch.

    prefix     the beginning of the names: a string without "/"; if files of earlier runs have it, `PREFIX_1`, `PREFIX_2`, ... is taken.  Or
               a function of the run's arguments, called for each file, that returns the whole name without its suffix
    directory  the directory of the files, created if it is missing; default the working directory.  Or a function of the run's arguments
    config     a `CheckpointConfig`; default one file for each step, the last five are kept

    Each file appears complete or not at all.  The last step of a run is always written.  In a data parallel program the first process
    writes.
    """

    def __init__(self, prefix: Any = "CKP", directory: Any = None, config: CheckpointConfig | None = None):
        self._prefix_of = prefix if callable(prefix) else None
        self._name = "" if callable(prefix) else _check_prefix(prefix, "it must be callable or string that does not contain '/'")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(f"For 'ModelCheckpoint', the type of argument 'config' should be 'CheckpointConfig', but got {type(config)}.")
        self._config = config or CheckpointConfig()
        self._directory_of = directory if callable(directory) else None
        self._directory = os.getcwd() if directory is None or callable(directory) else _made(directory)
        self._prefix = self._name
        if self._prefix_of is None and self._directory_of is None:
            self._prefix = _unused(self._directory, self._name, tuple(f".{ending}" for ending in FORMATS))
        self._last_triggered_step = 0
        self._last_time = time.time()
        self.latest_ckpt_file_name = ""

    sees_evaluation_in_fit = False

    def step_end(self, run_context: RunContext) -> None:
        self._save(run_context.original_args(), last=False)

    def end(self, run_context: RunContext) -> None:
        self._save(run_context.original_args(), last=True)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Write nothing: an evaluation changes no parameters."""

    on_eval_end = on_eval_step_end

    def save_at_failure(self, run: Any) -> None:
        """Write the file that `exception_save` requests: `PREFIX-EPOCH_STEP_breakpoint.ckpt`."""
        if not self._config.exception_save or "cur_epoch_num" not in run:
            return
        self._place(run)
        name = self._name if self._prefix_of is None else self._prefix
        prefix = _unused(self._directory, name, ("_breakpoint.ckpt", "_breakpoint.safetensors"))
        self._write(run, f"{prefix}-{run.cur_epoch_num}_{_step(run)}_breakpoint.{self._config.format}")

    def _save(self, run: Any, last: bool) -> None:
        if run.cur_step_num == self._last_triggered_step:
            return
        if run.cur_step_num < self._last_triggered_step:  # a new run
            self._last_triggered_step = 0
        if not last and not self._due(run.cur_step_num):
            return
        self._place(run)
        ending = self._config.format
        name = f"{self._prefix}.{ending}" if self._prefix_of is not None else f"{self._prefix}-{run.cur_epoch_num}_{_step(run)}.{ending}"
        if writes_files():
            # Write the new file before deleting old ones: a run that is killed here still has a file.
            self._write(run, name)
            self._delete_others(name)
        else:
            self._note(run, name)
        self._last_triggered_step = run.cur_step_num

    def _due(self, step: int) -> bool:
        if self._config.save_checkpoint_steps:
            return step >= self._last_triggered_step + self._config.save_checkpoint_steps
        seconds = self._config.save_checkpoint_seconds
        if not seconds or time.time() - self._last_time <= seconds:
            return False
        self._last_time = time.time()
        return True

    def _place(self, run: Any) -> None:
        """Call prefix and directory, where these are functions."""
        if self._prefix_of is not None:
            self._prefix = _check_prefix(self._prefix_of(run), "it is callable and must return a string that does not contain '/'")
        if self._directory_of is not None:
            self._directory = _made(self._directory_of(run))

    def _write(self, run: Any, name: str) -> None:
        config = self._config
        more = dict(config.append_dict or {})
        for counter, value in zip(_COUNTERS, (run.cur_epoch_num, run.cur_step_num), strict=True):
            if counter in more:
                more[counter] += value
        file = os.path.join(self._directory, name)
        save_checkpoint(config.saved_network or run.train_network, file, append_dict=more or None, crc_check=config.crc_check,
                        format=config.format)
        self._note(run, name)

    def _note(self, run: Any, name: str) -> None:
        """Remember the file that was written last, by this process or the first one."""
        self.latest_ckpt_file_name = run["latest_ckpt_file"] = os.path.join(self._directory, name)
        run["last_save_ckpt_step"] = run.cur_step_num

    def _delete_others(self, new: str) -> None:
        """Delete the oldest files of this prefix that exceed the limit; the one just written stays."""
        pattern = re.compile(re.escape(self._prefix) + rf"-(\d+)_(\d+)\.{self._config.format}")
        found = [match for name in os.listdir(self._directory) if name != new and (match := pattern.fullmatch(name))]
        found.sort(key=lambda match: (int(match[1]), int(match[2])))
        files = [os.path.join(self._directory, match[0]) for match in found]
        if self._config.keep_checkpoint_max:
            doomed = files[: max(len(files) + 1 - self._config.keep_checkpoint_max, 0)]
        else:
            # Of the files of the last minutes keep the oldest.
            begin = time.time() - 60 * (self._config.keep_checkpoint_per_n_minutes or 0)
            doomed = [file for file in files if os.path.getmtime(file) > begin][1:]
        for file in doomed:
            with suppress(FileNotFoundError):  # deleted by another program
                os.remove(file)

    def state_dict(self) -> dict[str, Any]:
        return {"prefix": self._prefix if self._prefix_of is None else "", "last_triggered_step": self._last_triggered_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if self._prefix_of is None:
            self._prefix = state["prefix"]
        self._last_triggered_step = state["last_triggered_step"]


def _check_prefix(prefix: Any, expected: str) -> str:
    if not isinstance(prefix, str) or "/" in prefix:
        raise ValueError(f"For 'ModelCheckpoint', the argument 'prefix' for checkpoint file name is invalid, {expected}, but got {prefix}.")
    return prefix


def _made(directory: Any) -> str:
    """Return the absolute path of a directory, created if it is missing."""
    if not isinstance(directory, (str, os.PathLike)) or not os.fspath(directory):
        raise TypeError(f"For 'ModelCheckpoint', the argument 'directory' must be the name of a directory, but got {directory!r} "
                        f"of type {type(directory).__name__}.")
    found = os.path.realpath(os.fspath(directory))
    os.makedirs(found, exist_ok=True)
    return found


def _unused(directory: str, prefix: str, endings: tuple[str, ...]) -> str:
    """Return `prefix`, or `prefix_N` with the first number after those of earlier runs' files."""
    pattern = re.compile(re.escape(prefix) + r"(?:_(\d+))?-.*")
    found = [pattern.fullmatch(name) for name in os.listdir(directory) if name.endswith(endings)]
    numbers = [int(match[1] or 0) for match in found if match]
    return f"{prefix}_{max(numbers) + 1}" if numbers else prefix


def _step(run: Any) -> int:
    """Return the current step within its epoch, from 1."""
    return (run.cur_step_num - 1) % run.batch_num + 1

