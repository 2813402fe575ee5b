"""Settings for programs on several processes, as `set_auto_parallel_context` changes them."""

from __future__ import annotations

import copy
import difflib
from typing import Any

__all__ = [
    "ParallelMode", "device_count_is_set", "get_auto_parallel_context", "is_data_parallel", "parameters_are_broadcast",
    "reset_auto_parallel_context", "set_auto_parallel_context", "set_processes",
]


class ParallelMode:
    """The names of MindSpore's parallel modes.  Only STAND_ALONE and DATA_PARALLEL have an effect here."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


_SEARCH = ("recursive_programming", "sharding_propagation", "dynamic_programming")
_FUSION = {"mode": "auto", "config": None}

_DEFAULTS: dict[str, Any] = {
    "device_num": 1, "global_rank": 0, "gradients_mean": False, "parallel_mode": ParallelMode.STAND_ALONE, "parameter_broadcast": False,
    "gradient_fp32_sync": True, "loss_repeated_mean": True, "search_mode": _SEARCH[0], "auto_parallel_search_mode": _SEARCH[0],
    "strategy_ckpt_load_file": "", "strategy_ckpt_save_file": "", "full_batch": False, "dataset_strategy": "data_parallel",
    "enable_parallel_optimizer": False, "force_fp32_communication": False, "enable_alltoall": False, "all_reduce_fusion_config": [],
    "pipeline_stages": 1, "pipeline_result_broadcast": False, "pipeline_config": {}, "parallel_optimizer_config": {},
    "comm_fusion": {"openstate": True, "allreduce": _FUSION, "allgather": _FUSION, "reducescatter": _FUSION},
    "strategy_ckpt_config": {"load_file": "", "save_file": "", "only_trainable_params": True}, "group_ckpt_save_file": "",
    "auto_pipeline": False, "dump_local_norm": False, "dump_local_norm_path": "", "dump_device_local_norm": False,
}
"""MindSpore's settings with their defaults."""

_CHOICES = {"parallel_mode": tuple(ParallelMode.MODE_LIST), "search_mode": _SEARCH, "auto_parallel_search_mode": _SEARCH}

_settings: dict[str, Any] = {}
"""The settings that the program has changed."""
_processes = {"device_num": 1, "global_rank": 0}
"""This process's number and the number of processes, used for settings that the program has not changed."""


def set_auto_parallel_context(**settings: Any) -> None:
    """Change settings by name.

    parallel_mode        one of `ParallelMode.MODE_LIST`
    gradients_mean       True: gradients are averaged over the processes; False: they are added
    device_num           the number of processes; by default the actual number
    global_rank          this process's number, from 0
    parameter_broadcast  whether all processes begin with the parameters of the first one

    MindSpore's other settings are stored; they have no effect, since each process holds the whole network.  ValueError for an unknown
    name or value, TypeError for a value of another type; nothing is changed then.
    """
    for name, value in settings.items():
        _check(name, value)
    _settings.update(settings)


def _check(name: str, value: Any) -> None:
    if name not in _DEFAULTS:
        close = difflib.get_close_matches(name, _DEFAULTS, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"For 'set_auto_parallel_context', the keyword {name} is not recognized!{hint}")
    kind = (str, tuple) if name == "dataset_strategy" else type(_DEFAULTS[name])
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = "str or tuple" if isinstance(kind, tuple) else kind.__name__
        raise TypeError(f"For 'set_auto_parallel_context', the argument {name!r} must be of type {wanted}, but got {value!r} "
                        f"of type {type(value).__name__}.")
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise ValueError(f"For 'set_auto_parallel_context', the argument {name!r} must be one of {list(choices)}, but got {value!r}.")
    if name in ("device_num", "pipeline_stages") and value < 1:
        raise ValueError(f"For 'set_auto_parallel_context', the argument {name!r} must be a positive integer, but got {value}.")
    if name == "global_rank" and not 0 <= value < 4096:
        raise ValueError(f"For 'set_auto_parallel_context', the argument 'global_rank' must be in [0, 4095], but got {value}.")


def get_auto_parallel_context(attr_key: str) -> Any:
    """Return the value of a setting; ValueError for an unknown name, TypeError for a name that is not a str."""
    if not isinstance(attr_key, str):
        raise TypeError(f"For 'get_auto_parallel_context', the argument 'attr_key' must be a str, but got {attr_key!r} "
                        f"of type {type(attr_key).__name__}.")
    if attr_key not in _DEFAULTS:
        close = difflib.get_close_matches(attr_key, _DEFAULTS, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"For 'get_auto_parallel_context', the keyword {attr_key} is not recognized!{hint}")
    return copy.deepcopy(_settings.get(attr_key, _processes.get(attr_key, _DEFAULTS[attr_key])))


def reset_auto_parallel_context() -> None:
    """Reset all settings to their defaults."""
    _settings.clear()


def device_count_is_set() -> bool:
    """Return True if the program has set the number of processes."""
    return "device_num" in _settings


def set_processes(rank: int, count: int) -> None:
    """Set the defaults of `global_rank` and `device_num` to this process's number and the number of processes."""
    _processes.update(global_rank=rank, device_num=count)


def is_data_parallel() -> bool:
    """Return True if the processes share a batch, so that gradients are added or averaged over them."""
    return get_auto_parallel_context("parallel_mode") in (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL)


def parameters_are_broadcast() -> bool:
    """Return True if training begins with the Parameters of the first process: by default in a data parallel program."""
    return is_data_parallel() and _settings.get("parameter_broadcast", True)
