"""SummaryRecord: writes values to files that TensorBoard shows."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.nn.checks import boolean, positive
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.process.summaries import collected_by
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["SummaryRecord", "writer_of"]

_KINDS = ("tensor", "scalar", "image", "histogram")
_OF_VIEWER = ("train_lineage", "eval_lineage", "dataset_graph", "custom_lineage_data", "graph", "landscape")
"""Kinds for MindSpore's own viewer, which are dropped."""


def writer_of(owner: str, folder: str, **options: Any) -> Any:
    """Return tensorboardX's writer for a folder; ImportError without that package, with how to install it."""
    try:
        library = importlib.import_module("tensorboardX")
    except ImportError:
        raise ImportError(f"For '{owner}', the package tensorboardX is needed, which is not installed: pip install 'adjoint[summary]'.") \
            from None
    return library.SummaryWriter(folder, **options)


class SummaryRecord:
    """Collect values, and write them with the number of a step to a file that `tensorboard --logdir LOG_DIR` shows; needs tensorboardX.

    log_dir      the folder of the file, which is made when the first values are written
    file_suffix  the end of the file's name

    Values are those of `add_value`, and those that `ops.ScalarSummary`, `ImageSummary`, `TensorSummary` and `HistogramSummary` are called
    with while this record is the newest and open.  `file_prefix`, `num_process`, `network`, `max_file_size`, `raise_exception` and
    `export_options` are checked: they are for MindSpore's own files.

    TypeError and ValueError for arguments that do not fit; ImportError without tensorboardX, at the first `record`.
    """

    def __init__(
        self, log_dir: str, file_prefix: str = "events", file_suffix: str = "_MS", num_process: int = 32, network: Cell | None = None,
        max_file_size: int | None = None, raise_exception: bool = False, export_options: dict[str, Any] | None = None,
    ):
        name = "SummaryRecord"
        for argument, text in (("log_dir", log_dir), ("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            if not isinstance(text, str):
                raise TypeError(f"For '{name}', the argument '{argument}' must be a str, but got {text!r} of type {type(text).__name__}.")
        if not log_dir.strip():
            raise ValueError(f"For '{name}', the argument 'log_dir' must be the name of a folder, but got {log_dir!r}.")
        positive(name, "num_process", num_process)
        if max_file_size is not None:
            positive(name, "max_file_size", max_file_size)
        boolean(name, "raise_exception", raise_exception)
        self._check_network(network)
        self._folder, self._suffix = os.path.realpath(log_dir), file_suffix
        self._values: list[tuple[str, str, np.ndarray[Any, Any]]] = []
        self._mode = "train"
        self._writer: Any = None
        self._closed = False
        collected_by(self._collect)

    @staticmethod
    def _check_network(network: Any) -> None:
        if network is not None and not isinstance(network, Cell):
            raise TypeError(f"For 'SummaryRecord', the network must be a Cell or None, but got {network!r} of type "
                            f"{type(network).__name__}.")

    @property
    def log_dir(self) -> str:
        """Return the path of the folder."""
        return self._folder

    def set_mode(self, mode: str) -> None:
        """Tell whether values are of a training, "train", or an evaluation, "eval", which is put before their names.

        ValueError for another text.
        """
        if mode not in ("train", "eval"):
            raise ValueError(f"For 'SummaryRecord.set_mode', the argument 'mode' must be 'train' or 'eval', but got {mode!r}.")
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Collect a value for the next `record`.

        plugin  "scalar", "tensor", "image" or "histogram"; the other kinds of MindSpore's are for its own viewer, and dropped
        value   a Tensor: of one element for "scalar", [n, c, h, w] with 1 or 3 channels for "image"

        ValueError for another kind, a name that is no text, and a tensor of another shape; TypeError for a value that is not a Tensor.
        """
        if plugin in _OF_VIEWER:
            return
        if plugin not in _KINDS:
            raise ValueError(f"For 'SummaryRecord.add_value', the argument 'plugin' must be among {[*_KINDS, *_OF_VIEWER]}, "
                             f"but got {plugin!r}.")
        if not isinstance(name, str) or not name:
            raise ValueError(f"For 'SummaryRecord.add_value', the argument 'name' must be a str that is not empty, but got {name!r}.")
        if not isinstance(value, Tensor):
            raise TypeError(f"For 'SummaryRecord.add_value', the argument 'value' must be a Tensor, but got {value!r} "
                            f"of type {type(value).__name__}.")
        self._collect(plugin, name, value)

    def _collect(self, kind: str, name: str, value: Tensor) -> None:
        if kind == "scalar" and value.size != 1:
            raise ValueError(f"For 'SummaryRecord', the scalar {name!r} must have one element, but got shape {value.shape}.")
        if kind == "image" and (value.ndim != 4 or value.shape[1] not in (1, 3)):
            raise ValueError(f"For 'SummaryRecord', the image {name!r} must be [n, c, h, w] with 1 or 3 channels, but got shape "
                             f"{value.shape}.")
        if not self._closed:
            self._values.append((kind, name, value.asnumpy().copy()))

    def record(self, step: int, train_network: Cell | None = None, plugin_filter: Callable[[str], bool] | None = None) -> bool:
        """Write the values collected since the last call, with the number of a step; return whether the record is open.

        plugin_filter  called with the kind of a value: False leaves it out

        TypeError for a step that is not an int and a network that is not a Cell.
        """
        if not isinstance(step, int) or isinstance(step, bool):
            raise TypeError(f"For 'SummaryRecord.record', the argument 'step' must be an int, but got {step!r} of type "
                            f"{type(step).__name__}.")
        self._check_network(train_network)
        values, self._values = self._values, []
        if self._closed:
            return False
        for kind, name, array in values:
            if plugin_filter is None or plugin_filter(kind):
                self._write(kind, name if self._mode == "train" else f"eval/{name}", array, step)
        return True

    def _write(self, kind: str, name: str, array: np.ndarray[Any, Any], step: int) -> None:
        if self._writer is None:
            self._writer = writer_of("SummaryRecord", self._folder, filename_suffix=self._suffix)
        if kind == "scalar":
            self._writer.add_scalar(name, array.item(), step)
        elif kind == "image":
            self._writer.add_image(name, array[0], step)
        else:
            self._writer.add_histogram(name, array, step)

    def flush(self) -> None:
        """Let the file hold everything that was recorded."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """End the file; a second call does nothing."""
        if not self._closed:
            self._closed = True
            collected_by(None)
            if self._writer is not None:
                self._writer.close()

    def __enter__(self) -> SummaryRecord:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
