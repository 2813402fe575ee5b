"""The user's context: mode and settings, as `set_context` takes them.

Supported settings take effect.  MindSpore's other settings have no effect here and are accepted with one warning.  An unknown name is a
ValueError that suggests the closest one.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable
from typing import Any

from adjoint.foundation.budget import budget
from adjoint.foundation.settings import SETTINGS, Setting
from adjoint.runtime.process import graph_mode
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.threads import default_threads, set_share
from adjoint.runtime.process.tracer import emitter

__all__ = [
    "COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "STRICT", "background_compile", "call_depth", "check_device", "check_finite",
    "get_context", "get_current_device", "hook_signature", "in_force", "launch_blocking", "on_change", "set_context", "set_device",
]

GRAPH_MODE = 0
PYNATIVE_MODE = 1
STRICT, COMPATIBLE, LAX = 0, 1, 2
"""MindSpore's values of `jit_syntax_level`, which has no effect here."""

_SIGNATURES = ("cell", "cell_id")

_KNOWN: dict[str, Any] = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "hook_signature": None,
    "num_threads": None,
    "pynative_synchronize": False,
    "save_graphs": 0,
    "save_graphs_path": ".",
    "device_id": 0,
    "max_call_depth": 1000,
    "deterministic": "ON",
    "program_cache_bytes": None,
    "background_compile": None,
    "check_finite": None,
}
"""Supported settings with their defaults, including those whose only behaviour is always in force here."""

_ACCEPTED: dict[str, Any] = {
    "jit_level": "O0", "jit_config": None, "max_device_memory": "1024GB", "variable_memory_max_size": "30GB", "mempool_block_size": "1GB",
    "memory_optimize_level": "O0", "memory_offload": "OFF", "enable_graph_kernel": False, "graph_kernel_flags": "",
    "jit_syntax_level": 2, "jit_enable_inplace_ops": True, "save_compile_cache": False,
    "load_compile_cache": False, "enable_compile_cache": False, "compile_cache_path": ".", "auto_tune_mode": "NO_TUNE",
    "check_bprop": False,
    "enable_reduce_precision": True, "precompile_only": False, "reserve_class_name_in_scope": True, "runtime_num_threads": 30,
    "inter_op_parallel_num": 0, "print_file_path": "", "enable_dump": False, "save_dump_path": "", "enable_profiling": False,
    "profiling_options": "", "env_config_path": "", "grad_for_scalar": False, "op_timeout": 900, "ascend_config": None,
    "gpu_config": None, "aoe_tune_mode": "", "aoe_config": None, "debug_level": 0, "exec_order": "", "mempool": "", "affinity": "",
    "support_binary": False, "disable_format_transform": False, "enable_auto_mixed_precision": False, "enable_sparse": False,
    "enable_mem_reuse": True, "enable_task_sink": True, "enable_loop_sink": False, "variable_memory": "", "auto_parallel": "",
}
"""MindSpore's settings that have no effect here, with MindSpore's defaults."""

_settings: dict[str, Any] = dict(_KNOWN)
_accepted: dict[str, Any] = dict(_ACCEPTED)
_given: set[str] = set()
"""The names of the settings that the program has set by `set_context`; the others have their defaults."""
_warned: set[str] = set()


def _warn(key: str, message: str) -> None:
    if key not in _warned:
        _warned.add(key)
        print(f"adjoint: {message}", file=sys.stderr)


def set_context(**settings: Any) -> None:
    """Change settings by name.

    mode                 PYNATIVE_MODE (1), the default: ops run eagerly; GRAPH_MODE (0): cells, and functions whose
                         gradient is taken, are parsed and run as graphs
    device_target        "CPU"; "GPU" and "Ascend" run on the CPU after one warning on stderr
    hook_signature       "cell" (hooks are given the cell) or "cell_id" (the older manual: hooks are given its name, with
                         grad_input and grad_output swapped); the default is ADJOINT_HOOK_SIGNATURE or "cell"
    num_threads          threads of the kernels; default ADJOINT_NUM_THREADS or the CPUs this process may use
    pynative_synchronize accepted: ops always run at once here
    save_graphs          1 or True: write each graph, its optimised form, and each adjoint as text; 2: also the IR after each
                         pass, and the C; 3: also pictures for Graphviz; 0 or False, the default: nothing
    save_graphs_path     the directory for these files, created if missing; the current one by default
    program_cache_bytes  the approximate limit, in bytes, of cached gradients, graphs and plans; the least recently used are evicted,
                         and made again when needed; default ADJOINT_PROGRAM_CACHE_BYTES or 100,000,000

    background_compile   True: kernels that are missing are compiled plainly at first, which is quick; the tuned ones are compiled by one
                         process at a low priority and then used, with the same bits, and so are kernels of their own for the elementwise
                         operators of a graph or a gradient, fused after its third run; False: the first call waits for tuned kernels, and
                         nothing is fused; "wait": the first run waits for tuned and fused kernels; "plain": kernels that are missing are
                         plain and stay so, for tests; default ADJOINT_BACKGROUND_COMPILE (1, 0, wait or plain) or True

    check_finite         True: the first operator of any thread whose result has a NaN or an infinity raises FloatingPointError, as
                         in a block of `watch.check_finite()`; default ADJOINT_CHECK_FINITE (0 or 1) or False

    ValueError for an unknown name or value, TypeError for a value of the wrong type; nothing is changed then.
    """
    checked = {name: _checked(name, value) for name, value in settings.items()}
    # A setting without effect here changes nothing, whatever its value.
    changed = any(_settings[name] != value for name, value in checked.items() if name in _settings)
    for name, value in checked.items():
        if name in _ACCEPTED:
            _accepted[name] = value
            _warn(name, f"set_context({name}=...) means nothing here: it is accepted and has no effect.")
            continue
        if name == "mode":
            graph_mode.set_mode(value == GRAPH_MODE)
        if name == "device_target":
            check_device(value)
        _settings[name] = value
        _given.add(name)
        if name == "program_cache_bytes":
            budget.limit = int(value)
        if name in _followers:
            _followers[name](value)
    if changed:
        epoch.move()


_followers: dict[str, Callable[[Any], None]] = {}


def on_change(name: str, follow: Callable[[Any], None]) -> None:
    """Register a function that is called with the value of a setting whenever `set_context` sets it.  There is one function for each
    setting.

    name    the setting
    follow  the function
    """
    _followers[name] = follow


def share_processors(own: int) -> None:
    """Let kernels use `own` threads, the number of this process's processors, unless the program has set the number of threads."""
    set_share(own)
    if _settings["num_threads"] is None:
        _followers["num_threads"](default_threads())


def _checked(name: str, value: Any) -> Any:
    if name in _ACCEPTED:
        return value
    if name not in _KNOWN:
        close = difflib.get_close_matches(name, [*_KNOWN, *_ACCEPTED], 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"For 'set_context', the keyword argument {name!r} is not recognized.{hint}")
    match name:
        case "mode":
            if not isinstance(value, int):
                raise TypeError(f"For 'set_context', the argument 'mode' must be an int, but got {value!r} of type {type(value).__name__}.")
            if value not in (GRAPH_MODE, PYNATIVE_MODE):
                raise ValueError(f"For 'set_context', the argument 'mode' should be GRAPH_MODE (0) or PYNATIVE_MODE (1), "
                                 f"but got {value!r}.")
        case "device_target" | "hook_signature" | "save_graphs_path" | "deterministic" if not isinstance(value, str):
            raise TypeError(f"For 'set_context', the argument {name!r} must be a str, but got {value!r} of type {type(value).__name__}.")
        case "device_target":
            if value not in ("CPU", "GPU", "Ascend"):
                raise ValueError(f"For 'set_context', the argument 'device_target' must be one of ['CPU', 'GPU', 'Ascend'], "
                                 f"but got {value!r}.")
        case "hook_signature":
            if value not in _SIGNATURES:
                raise ValueError(f"For 'set_context', the argument 'hook_signature' must be one of {list(_SIGNATURES)}, but got {value!r}.")
        case "num_threads" | "device_id" | "max_call_depth":
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"For 'set_context', the argument {name!r} must be an int, "
                                f"but got {value!r} of type {type(value).__name__}.")
            if not (0 if name == "device_id" else 1) <= value < 2**31:
                raise ValueError(f"For 'set_context', the argument {name!r} must be positive and of 32 bits, but got {value}.")
        case "program_cache_bytes":
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"For 'set_context', the argument 'program_cache_bytes' must be an int, "
                                f"but got {value!r} of type {type(value).__name__}.")
            if not 0 <= value < 2**63:
                raise ValueError(f"For 'set_context', the argument 'program_cache_bytes' must be 0 or more, but got {value}.")
        case "pynative_synchronize" | "check_finite":
            if not isinstance(value, bool):
                raise TypeError(f"For 'set_context', the argument {name!r} must be a bool, "
                                f"but got {value!r} of type {type(value).__name__}.")
        case "background_compile":
            if not isinstance(value, (bool, str)):
                raise TypeError(f"For 'set_context', the argument 'background_compile' must be a bool, 'wait' or 'plain', "
                                f"but got {value!r} of type {type(value).__name__}.")
            if isinstance(value, str) and value not in _BACKGROUND.values():
                raise ValueError("For 'set_context', the argument 'background_compile' must be True, False, 'wait' or 'plain', "
                                 f"but got {value!r}.")
        case "save_graphs_path" if not value:
            raise ValueError("For 'set_context', the argument 'save_graphs_path' must be a non-empty str.")
        case "save_graphs":
            if not isinstance(value, int):
                raise TypeError(f"For 'set_context', the argument 'save_graphs' must be a bool or an int, "
                                f"but got {value!r} of type {type(value).__name__}.")
            if value not in (0, 1, 2, 3):
                raise ValueError(f"For 'set_context', the argument 'save_graphs' must be False, True, 0, 1, 2 or 3, but got {value!r}.")
        case "deterministic":
            if value not in ("ON", "OFF"):
                raise ValueError(f"For 'set_context', the argument 'deterministic' must be 'ON' or 'OFF', but got {value!r}.")
        case _:
            pass
    return int(value) if name == "mode" else value


def get_context(attr_key: str) -> Any:
    """Return the value of a setting; ValueError for an unknown name, TypeError for a name that is not a str."""
    if not isinstance(attr_key, str):
        raise TypeError(f"For 'get_context', the argument 'attr_key' must be a str, but got {attr_key!r} "
                        f"of type {type(attr_key).__name__}.")
    graph = emitter()
    if graph is not None:
        graph.read_setting(_setting, attr_key)  # the graph that is being made depends on it
    return _setting(attr_key)


def _setting(name: str) -> Any:
    if name == "hook_signature":
        return hook_signature()
    if name == "background_compile":
        return background_compile()
    if name == "check_finite":
        return check_finite()
    if name == "num_threads" and _settings["num_threads"] is None:
        return default_threads()
    if name == "program_cache_bytes":
        return budget.limit
    if name in _settings:
        return _settings[name]
    if name in _accepted:
        return _accepted[name]
    close = difflib.get_close_matches(name, [*_KNOWN, *_ACCEPTED], 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"For 'get_context', the argument {name!r} is not recognized.{hint}")


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Set the device: "CPU"; "GPU" and "Ascend" run on the CPU after one warning on stderr.

    TypeError and ValueError as for these settings of `set_context`.
    """
    set_context(device_target=device_target, **({} if device_id is None else {"device_id": device_id}))


def check_device(target: str) -> None:
    """Check the name of a device as `set_context` does.

    ValueError for an unknown name; for another device than the CPU, one warning that there is only the CPU.
    """
    if _checked("device_target", target) != "CPU":
        _warn("device_target", f"device_target={target!r}: there is no such device here, everything runs on the CPU.")


def get_current_device() -> tuple[str, int]:
    """Return the name of the device and its number, as `set_device` or `set_context` has set them; ("CPU", 0) if neither has."""
    return _settings["device_target"], _settings["device_id"]


def launch_blocking() -> None:
    """Do nothing; the function exists for MindSpore's scripts.  An operator has always finished when it returns."""


def in_force() -> list[tuple[Setting, Any, str]]:
    """Return every setting, its value, and where the value comes from: `set_context`, the name of its environment variable, or `default`.

    For an invalid environment variable the value is the error message.
    """
    found: list[tuple[Setting, Any, str]] = []
    for setting in SETTINGS:
        text = os.environ.get(setting.variable, "") if setting.variable else ""
        origin = "set_context" if setting.context in _given else setting.variable if text else "default"
        value: Any = text or setting.default
        if setting.context:
            try:
                value = _setting(setting.context)
            except ValueError as wrong:
                value = str(wrong)
        found.append((setting, value, origin))
    return found


def background_compile() -> bool | str:
    """Return the setting `background_compile`: True, False, "wait" or "plain".

    ValueError if the environment variable ADJOINT_BACKGROUND_COMPILE is used and is none of 1, 0, wait and plain.
    """
    chosen = _settings["background_compile"]
    if chosen is None:
        text = os.environ.get("ADJOINT_BACKGROUND_COMPILE") or "1"
        if text not in _BACKGROUND:
            raise ValueError(f"ADJOINT_BACKGROUND_COMPILE must be 1, 0, wait or plain, but got {text!r}.")
        chosen = _settings["background_compile"] = _BACKGROUND[text]
    return chosen


_BACKGROUND: dict[str, bool | str] = {"1": True, "0": False, "wait": "wait", "plain": "plain"}


def check_finite() -> bool:
    """Return the setting `check_finite`: whether all results are checked for NaN and infinities.

    ValueError if the environment variable ADJOINT_CHECK_FINITE is used and is neither 0 nor 1.
    """
    chosen = _settings["check_finite"]
    if chosen is None:
        text = os.environ.get("ADJOINT_CHECK_FINITE") or "0"
        if text not in ("0", "1"):
            raise ValueError(f"ADJOINT_CHECK_FINITE must be 0 or 1, but got {text!r}.")
        chosen = _settings["check_finite"] = text == "1"
    return chosen


def call_depth() -> int:
    """Return the maximum depth of nested calls of parsed functions."""
    return _settings["max_call_depth"]


def hook_signature() -> str:
    """Return the hook signature in force: "cell" or "cell_id"."""
    chosen = _settings["hook_signature"]
    if chosen is None:
        chosen = os.environ.get("ADJOINT_HOOK_SIGNATURE") or "cell"
        if chosen not in _SIGNATURES:
            raise ValueError(f"ADJOINT_HOOK_SIGNATURE must be one of {list(_SIGNATURES)}, but got {chosen!r}.")
        _settings["hook_signature"] = chosen
    return chosen
