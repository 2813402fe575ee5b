"""The state of a training run in one file: everything that is needed to resume as if it had never stopped.

    state = RunState("run.ckpt", network=network, optimizer=optimizer, data=iterator)
    progress = state.load() or {"step": 0}
    for step in range(progress["step"], steps):
        ...
        state.save(step=step + 1)

`Model` does this with the callback `ContinueRun`.  The file is a checkpoint: `load_checkpoint` reads it, and returns the parameters by
name.  Everything but Parameters is stored as JSON; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from adjoint.runtime.tensor.parameter import Parameter, by_name
from adjoint.runtime.tensor.random import load_streams, streams_state
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.processes import process_count, process_number, texts_of_all, writes_files

__all__ = ["RunState", "load_random_streams", "random_streams"]

_TEXT, _TENSOR = "run state", "run state tensor"
"""Names in the file that no parameter can have: a path of attributes has no blanks."""
_MARK = "run state tensor"
"""The key of a dict that represents a Tensor."""


def random_streams() -> dict[str, Any]:
    """Return the state of the random streams, as numbers and lists: adjoint's, NumPy's global one and Python's."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    version, inner, following = random.getstate()
    return {"adjoint": streams_state(), "numpy": [kind, np.asarray(keys).tolist(), position, has_gauss, gauss],
            "python": [version, list(inner), following]}


def load_random_streams(state: dict[str, Any]) -> None:
    """Restore the random streams to a state that `random_streams` returned."""
    load_streams(state["adjoint"])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    version, inner, following = state["python"]
    random.setstate((version, tuple(inner), following))


class RunState:
    """The state of the parts of a run, saved in a file and restored from it.

    file   the name of a checkpoint; `.ckpt` is added if it is missing
    parts  by names of your choice: Cells, whose Parameters are saved, also optimisers; and objects with the methods `state_dict()` and
           `load_state_dict(state)`, such as iterators over datasets and callbacks, whose states are numbers, strings, None and Tensors in
           lists and dicts

    Random streams are saved too: adjoint's, NumPy's global one and Python's.  Raise TypeError for other parts, RuntimeError when two
    Parameters have the same name.

    In a data parallel program all processes call each method, and the first one writes: its Parameters and Tensors, and the other states
    of every process.  All must see the file when they resume.
    """

    def __init__(self, /, file: str | os.PathLike[str], **parts: Any):
        if not isinstance(file, (str, os.PathLike)) or not os.fspath(file):
            raise TypeError(f"For 'RunState', the argument 'file' must be the name of a file, but got {file!r} "
                            f"of type {type(file).__name__}.")
        name = os.fspath(file)
        self.file = name if name.endswith(".ckpt") else f"{name}.ckpt"
        folder = os.path.dirname(self.file) or "."
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"For 'RunState', there is no directory {folder!r}: make it with os.makedirs.")
        cells: dict[str, Parameter] = {}
        self._parts: dict[str, Any] = {}
        for key, part in parts.items():
            if isinstance(part, Cell):
                cells.update({f"{key}.{path}": parameter for path, parameter in part.parameters_and_names()})
            elif all(callable(getattr(part, method, None)) for method in ("state_dict", "load_state_dict")):
                self._parts[key] = part
            else:
                raise TypeError(f"For 'RunState', {key!r} must be a Cell, or have the methods 'state_dict' and 'load_state_dict', but got "
                                f"{part!r} of type {type(part).__name__}.")
        self._parameters = by_name("RunState", cells)

    def save(self, /, **progress: Any) -> None:
        """Write the state, and `progress`, numbers and strings of your choice; the file appears complete or not at all."""
        tensors: list[Tensor] = []
        state = {"progress": progress, "streams": random_streams(), "parts": {}}
        for key, part in self._parts.items():
            state["parts"][key] = _packed(part.state_dict(), tensors, f"{key}.state_dict()")
        entries = {**self._parameters, **{f"{_TENSOR} {i}": tensor for i, tensor in enumerate(tensors)}}
        texts = texts_of_all(json.dumps(state))
        if writes_files():
            names = {_of_process(number): text for number, text in enumerate(texts)}
            save_checkpoint(entries, self.file, append_dict=names, crc_check=True)

    def load(self) -> dict[str, Any] | None:
        """Restore what `save` wrote, and return its `progress`; None if there is no file.

        Raise ValueError, before anything changes, for a file that is damaged or of other parts or parameters.
        """
        found = self.read()
        if found is None:
            return None
        progress, restore = found
        restore()
        return progress

    def read(self) -> tuple[dict[str, Any], Callable[[], None]] | None:
        """Return the `progress` of the file and a function that restores the rest; None if there is no file.  Raise as `load` does."""
        seen = texts_of_all("yes" if os.path.exists(self.file) else "no")
        if len(set(seen)) > 1:
            ranks = [i for i, word in enumerate(seen) if word == "yes"]
            raise RuntimeError(f"For 'RunState', {self.file!r} is there for the ranks {ranks} of {len(seen)} alone: it must be in a "
                               "directory that all machines share.")
        if seen[0] == "no":
            return None
        entries = load_checkpoint(self.file)
        texts: list[Any] = []
        while (text := entries.pop(_of_process(len(texts)), None)) is not None:
            texts.append(text)
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"For 'RunState', {self.file!r} is a checkpoint, but not of a run.")
        if len(texts) != process_count():
            raise ValueError(f"For 'RunState', the run in {self.file!r} is one of {len(texts)} processes, but there are {process_count()}.")
        state = json.loads(texts[process_number()])
        tensors = [entries.pop(f"{_TENSOR} {i}") for i in range(sum(name.startswith(_TENSOR) for name in entries))]
        self._check(entries, state["parts"])

        def restore() -> None:
            for name, parameter in self._parameters.items():
                parameter.set_data(entries[name])
            for key, part in self._parts.items():
                part.load_state_dict(_unpacked(state["parts"][key], tensors))
            load_random_streams(state["streams"])

        return state["progress"], restore

    def delete(self) -> None:
        """Delete the file."""
        if writes_files():
            with suppress(FileNotFoundError):
                os.remove(self.file)

    def _check(self, saved: dict[str, Any], parts: dict[str, Any]) -> None:
        """Raise ValueError unless the file holds these parameters and parts."""
        here = {name: f"{parameter.dtype}{list(parameter.shape)}" for name, parameter in self._parameters.items()}
        there = {name: f"{value.dtype}{list(value.shape)}" for name, value in saved.items()}
        here |= dict.fromkeys((f"state of {key}" for key in self._parts), "")
        there |= dict.fromkeys((f"state of {key}" for key in parts), "")
        lines = [f"{name}: {there.get(name, 'nothing')} in the file, {here.get(name, 'nothing')} in this program"
                 for name in {**there, **here} if there.get(name) != here.get(name)]
        if lines:
            more = [f"and {len(lines) - 5} more"] if len(lines) > 5 else []
            raise ValueError(f"For 'RunState', {self.file!r} is of another run:\n  " + "\n  ".join(lines[:5] + more)
                             + "\nDelete the file to begin anew.")


def _of_process(number: int) -> str:
    """Return the name in the file for the state of a part that has no Parameters, of one of the processes."""
    return f"{_TEXT} of rank {number}" if number else _TEXT


def _packed(value: Any, tensors: list[Tensor], place: str) -> Any:
    """Return a state in JSON's types, with Tensors moved to `tensors`; raise TypeError, naming the place, for what cannot be saved."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return {_MARK: len(tensors) - 1}
    if isinstance(value, np.ndarray):
        return _packed(Tensor(value), tensors, place)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_packed(item, tensors, f"{place}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _packed(item, tensors, f"{place}[{key!r}]") for key, item in value.items()}
    raise TypeError(f"For 'RunState', {place} must be numbers, texts, None and Tensors in lists and dicts with texts as keys, but got "
                    f"{value!r} of type {type(value).__name__}.")


def _unpacked(value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpacked(item, tensors) for item in value]
    if isinstance(value, dict):
        return tensors[value[_MARK]] if set(value) == {_MARK} else {key: _unpacked(item, tensors) for key, item in value.items()}
    return value
