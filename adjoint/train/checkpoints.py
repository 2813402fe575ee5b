"""Checkpoints that are read while the program goes on."""

from __future__ import annotations

import threading
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.checkpoints.checkpoint import load_checkpoint
from adjoint.runtime.tensor.parameter import Parameter

__all__ = ["ParametersInFuture", "async_ckpt_thread_status", "load_checkpoint_async"]


class ParametersInFuture:
    """The parameters of a file that a thread reads: `result()` waits for them."""

    def __init__(self, given: dict[str, Any]):
        self._found: dict[str, Parameter] = {}
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, args=(given,), daemon=True)
        self._thread.start()

    def _read(self, given: dict[str, Any]) -> None:
        try:
            self._found = load_checkpoint(**given)
        except BaseException as error:  # raised again where the result is asked for
            self._error = error

    def result(self) -> dict[str, Parameter]:
        """Return what `load_checkpoint` returns, when the file is read; raise what it raises."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found


def load_checkpoint_async(
    ckpt_file_name: str, net: Cell | None = None, strict_load: bool = False, filter_prefix: Any = None, dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM", specify_prefix: Any = None, choice_func: Any = None,
) -> ParametersInFuture:
    """Begin to read a file of parameters, as `load_checkpoint` does, and return an object whose `result()` waits for them."""
    return ParametersInFuture(
        {"ckpt_file_name": ckpt_file_name, "net": net, "strict_load": strict_load, "filter_prefix": filter_prefix, "dec_key": dec_key,
         "dec_mode": dec_mode, "specify_prefix": specify_prefix, "choice_func": choice_func})


def async_ckpt_thread_status() -> bool:
    """Return whether a thread writes a checkpoint: False, the file is there when `save_checkpoint` returns."""
    return False
