"""Settings of pipelines: `mindspore.dataset.config`.

`set_seed` fixes every random choice of pipelines, of samplers and of transforms that are called directly.  `adjoint.set_seed` does the
same; of the two the later call counts.  What only makes sense on other hardware or for MindSpore's own engine is kept and has no effect.
"""

from __future__ import annotations

import os
import random
from enum import IntEnum
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, UINT32_MAX, check_type, check_word
from adjoint.runtime.tensor.random import get_seed as get_global_seed
from adjoint.runtime.tensor.random import times_seeded

__all__ = [
    "ErrorSamplesMode", "chosen_seed", "get_auto_num_workers", "get_auto_offload", "get_autotune_interval", "get_callback_timeout",
    "get_debug_mode", "get_dynamic_shape", "get_enable_autotune", "get_enable_shared_mem", "get_enable_watchdog", "get_error_samples_mode",
    "get_fast_recovery", "get_iterator_mode", "get_monitor_sampling_interval", "get_multiprocessing_start_method",
    "get_multiprocessing_timeout_interval", "get_num_parallel_workers", "get_numa_enable", "get_prefetch_size", "get_seed",
    "get_video_backend", "set_auto_num_workers", "set_auto_offload", "set_autotune_interval", "set_callback_timeout", "set_debug_mode",
    "set_dynamic_shape", "set_enable_autotune", "set_enable_shared_mem", "set_enable_watchdog", "set_error_samples_mode",
    "set_fast_recovery", "set_iterator_mode", "set_monitor_sampling_interval", "set_multiprocessing_start_method",
    "set_multiprocessing_timeout_interval", "set_num_parallel_workers", "set_numa_enable", "set_prefetch_size", "set_seed",
    "set_sending_batches", "set_video_backend", "times_chosen",
]

DEFAULT_SEED = 5489
"""Returned by `get_seed` if no seed is set: each iterator then draws a seed of its own, as in MindSpore."""


class ErrorSamplesMode(IntEnum):
    """What to do with a sample whose map fails: RETURN raises; REPLACE and SKIP are MindSpore's, and raise an error here."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


_settings: dict[str, Any] = {
    "seed": None, "seeded_at": 0, "times": 0, "prefetch_size": 16, "num_parallel_workers": min(8, os.cpu_count() or 1),
    "numa_enable": False,
    "monitor_sampling_interval": 1000, "callback_timeout": 60, "auto_num_workers": False, "enable_shared_mem": True,
    "enable_autotune": False, "autotune_interval": 0, "auto_offload": False, "enable_watchdog": True, "fast_recovery": True,
    "debug_mode": False, "dynamic_shape": False, "multiprocessing_timeout_interval": 300,
    "iterator_mode": {"do_copy": False, "parallel_convert": False}, "multiprocessing_start_method": "fork", "video_backend": "CPU",
    "sending_batches": 0,
}


def set_seed(seed: int) -> None:
    """Fix every random choice of pipelines, and the global generators of `random` and NumPy.

    Raise TypeError for what is not an int; ValueError outside of [0, 2**32).
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError("seed isn't of type int.")
    if not 0 <= seed <= UINT32_MAX:
        raise ValueError("seed given is not within the required range [0, UINT32_MAX(4294967295)].")
    _settings.update(seed=seed, seeded_at=times_seeded(), times=_settings["times"] + 1)
    random.seed(seed)
    np.random.seed(seed)


def chosen_seed() -> int | None:
    """Return the seed that `config.set_seed` or `adjoint.set_seed` set last; None when neither was called."""
    if times_seeded() > _settings["seeded_at"]:
        return get_global_seed()
    return _settings["seed"]


def times_chosen() -> tuple[int, int]:
    """Return how often a seed was set: when it changes, random streams start anew."""
    return times_seeded(), _settings["times"]


def get_seed() -> int:
    """Return the seed of pipelines; 5489 when none was set."""
    seed = chosen_seed()
    return DEFAULT_SEED if seed is None else seed


def _set_int(name: str, argument: str, value: Any, low: int, message: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} isn't of type int.")
    if not low <= value <= INT32_MAX:
        raise ValueError(message)
    _settings[name] = value


def _set_flag(name: str, value: Any, message: str) -> None:
    if not isinstance(value, bool):
        raise TypeError(message)
    _settings[name] = value


def set_num_parallel_workers(num: int) -> None:
    """The number of workers of an operation with `python_multiprocessing=True` that does not give it."""
    _set_int("num_parallel_workers", "num", num, 1,
             "Number of parallel workers given is not within the required range (0, INT32_MAX(2147483647)].")


def get_num_parallel_workers() -> int:
    return _settings["num_parallel_workers"]


def set_prefetch_size(size: int) -> None:
    """Accepted: workers compute one task ahead."""
    _set_int("prefetch_size", "size", size, 1, "size is not within the required range (0, INT32_MAX(2147483647)].")


def get_prefetch_size() -> int:
    return _settings["prefetch_size"]


def set_monitor_sampling_interval(interval: int) -> None:
    """Accepted: nothing is sampled."""
    _set_int("monitor_sampling_interval", "interval", interval, 1,
             "Interval given is not within the required range (0, INT32_MAX(2147483647)].")


def get_monitor_sampling_interval() -> int:
    return _settings["monitor_sampling_interval"]


def set_callback_timeout(timeout: int) -> None:
    """Accepted: nothing waits for callbacks."""
    _set_int("callback_timeout", "timeout", timeout, 1, "Timeout given is not within the required range.")


def get_callback_timeout() -> int:
    return _settings["callback_timeout"]


def set_multiprocessing_timeout_interval(interval: int) -> None:
    """Accepted: a worker that ends is noticed at once, and a worker that computes is waited for."""
    _set_int("multiprocessing_timeout_interval", "interval", interval, 1,
             "Interval given is not within the required range (0, INT32_MAX(2147483647)).")


def get_multiprocessing_timeout_interval() -> int:
    return _settings["multiprocessing_timeout_interval"]


def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """How worker processes start.  With "spawn" there are none: threads are used instead."""
    check_word(start_method, ["fork", "spawn"], "start_method")
    _settings["multiprocessing_start_method"] = start_method


def get_multiprocessing_start_method() -> str:
    return _settings["multiprocessing_start_method"]


def set_numa_enable(numa_enable: bool) -> None:
    """Accepted: nothing is bound to memory nodes."""
    _set_flag("numa_enable", numa_enable, "numa_enable must be a boolean dtype.")


def get_numa_enable() -> bool:
    return _settings["numa_enable"]


def set_auto_num_workers(enable: bool) -> None:
    """Accepted: the number of workers is what the program says."""
    _set_flag("auto_num_workers", enable, "enable must be of type bool.")


def get_auto_num_workers() -> bool:
    return _settings["auto_num_workers"]


def set_enable_shared_mem(enable: bool) -> None:
    """Accepted: results of workers come through pipes."""
    _set_flag("enable_shared_mem", enable, "enable must be of type bool.")


def get_enable_shared_mem() -> bool:
    return _settings["enable_shared_mem"]


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Accepted: nothing is tuned."""
    _set_flag("enable_autotune", enable, "enable must be of type bool.")
    if filepath_prefix is not None and not isinstance(filepath_prefix, str):
        raise TypeError(f"json_filepath must be a str value but was: {filepath_prefix}.")
    if enable and filepath_prefix == "":
        raise RuntimeError("The value of json_filepath cannot be the empty string.")


def get_enable_autotune() -> bool:
    return _settings["enable_autotune"]


def set_autotune_interval(interval: int) -> None:
    """Accepted: nothing is tuned."""
    if not isinstance(interval, int) or isinstance(interval, bool):
        raise TypeError("interval must be of type int.")
    if not 0 <= interval <= INT32_MAX:
        raise ValueError("Interval given is not within the required range [0, INT32_MAX(2147483647)].")
    _settings["autotune_interval"] = interval


def get_autotune_interval() -> int:
    return _settings["autotune_interval"]


def set_auto_offload(offload: bool) -> None:
    """Accepted: there is one device."""
    _set_flag("auto_offload", offload, "offload must be a bool dtype")


def get_auto_offload() -> bool:
    return _settings["auto_offload"]


def set_enable_watchdog(enable: bool) -> None:
    """Accepted: a worker that ends is always noticed."""
    _set_flag("enable_watchdog", enable, "enable must be a boolean dtype.")


def get_enable_watchdog() -> bool:
    return _settings["enable_watchdog"]


def set_fast_recovery(fast_recovery: bool) -> None:
    """Accepted: a resumed run always gives the bits of an uninterrupted one."""
    _set_flag("fast_recovery", fast_recovery, "fast_recovery must be a boolean dtype.")


def get_fast_recovery() -> bool:
    return _settings["fast_recovery"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list[Any] | None = None) -> None:
    """With True all operations run in the main thread, one sample at a time, so that a debugger can step into them.

    Raise TypeError for what is not a bool; NotImplementedError for debug hooks, which `map(print, ...)` replaces.
    """
    _set_flag("debug_mode", debug_mode_flag, "debug_mode_flag isn't of type boolean.")
    if debug_hook_list:
        raise NotImplementedError("adjoint has no dataset debug hooks: put a function that prints into the operations of 'map'.")


def get_debug_mode() -> bool:
    return _settings["debug_mode"]


def set_dynamic_shape(is_dynamic: bool) -> None:
    """Accepted: batches may always differ in shape."""
    _set_flag("dynamic_shape", is_dynamic, "is_dynamic must be a boolean dtype.")


def get_dynamic_shape() -> bool:
    return _settings["dynamic_shape"]


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """Only `ErrorSamplesMode.RETURN` is accepted, which raises: a sample is never silently dropped or replaced."""
    check_type(error_samples_mode, (ErrorSamplesMode,), "error_samples_mode")
    if error_samples_mode is not ErrorSamplesMode.RETURN:
        raise NotImplementedError("adjoint raises for a sample that fails: leave it out with 'filter', or catch the exception in the map.")


def get_error_samples_mode() -> ErrorSamplesMode:
    return ErrorSamplesMode.RETURN


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """Accepted: tensors of an iterator always own their memory."""
    check_type(do_copy, (bool,), "do_copy")
    check_type(parallel_convert, (bool,), "parallel_convert")
    _settings["iterator_mode"] = {"do_copy": do_copy, "parallel_convert": parallel_convert}


def get_iterator_mode() -> dict[str, bool]:
    return dict(_settings["iterator_mode"])


def set_sending_batches(batch_num: int) -> None:
    """Accepted: nothing is sent to a device."""
    if not isinstance(batch_num, int) or isinstance(batch_num, bool):
        raise TypeError("batch_num must be an int dtype.")
    _settings["sending_batches"] = batch_num


def set_video_backend(backend: str) -> None:
    """Accepted: there is one device."""
    check_word(backend, ["CPU", "Ascend"], "backend")
    _settings["video_backend"] = backend


def get_video_backend() -> str:
    return _settings["video_backend"]
