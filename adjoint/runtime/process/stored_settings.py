"""Settings of MindSpore's scripts that have no effect here: of parameter servers, and of the search for a parallel strategy.

They are checked, stored and returned: each process holds all parameters and computes the whole network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "get_algo_parameters", "get_cost_model_context", "get_ps_context", "reset_algo_parameters", "reset_cost_model_context",
    "reset_ps_context", "set_algo_parameters", "set_cost_model_context", "set_deterministic", "set_multi_subgraphs", "set_ps_context",
    "set_recursion_limit",
]


class _Stored:
    """Settings with their defaults.

    noun         what their functions are called after: `set_<noun>`
    defaults     the value of each setting before it is set, which tells its type
    passed_over  settings that may be set but not read
    """

    def __init__(self, noun: str, defaults: Mapping[str, Any], passed_over: Mapping[str, type] | None = None):
        self.noun, self.defaults, self.passed_over = noun, defaults, passed_over or {}
        self.changed: dict[str, Any] = {}

    def check(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            kind = type(self.defaults[name]) if name in self.defaults else self.passed_over.get(name)
            if kind is None:
                known = ", ".join([*self.defaults, *self.passed_over])
                raise ValueError(f"For 'set_{self.noun}', the keyword {name} is not recognized!  There are {known}.")
            if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
                raise TypeError(f"For 'set_{self.noun}', the argument {name!r} must be of type {kind.__name__}, but got {value!r} of type "
                                f"{type(value).__name__}.")

    def set(self, settings: Mapping[str, Any]) -> None:
        self.check(settings)
        self.changed.update({name: value for name, value in settings.items() if name in self.defaults})

    def get(self, name: str) -> Any:
        if name not in self.defaults:
            raise ValueError(f"For 'get_{self.noun}', the keyword {name} is not recognized!  There are {', '.join(self.defaults)}.")
        return self.changed.get(name, self.defaults[name])


_servers = _Stored(
    "ps_context",
    {"enable_ps": False, "config_file_path": "", "enable_ssl": False, "server_mode": "", "worker_num": 0, "server_num": 0},
    {"scheduler_manage_port": int, "client_password": str, "server_password": str},
)
_search = _Stored("algo_parameters", {
    "fully_use_devices": False, "elementwise_op_strategy_follow": False, "enable_algo_approxi": False, "algo_approxi_epsilon": 0.1,
    "tensor_slice_align_enable": False, "tensor_slice_align_size": 16,
})

_costs = _Stored("cost_model_context", {
    "device_memory_capacity": 2.0**34, "costmodel_alpha": 1.0, "costmodel_beta": 400.0, "costmodel_gamma": 0.001,
    "costmodel_communi_threshold": 2048.0, "costmodel_communi_const": 3072.0, "costmodel_communi_bias": 1024.0, "run_phase": 0,
    "multi_subgraphs": False, "costmodel_allreduce_fusion_algorithm": 0, "costmodel_allreduce_fusion_times": 0,
    **{f"costmodel_allreduce_fusion_{name}": 0.1 for name in (
        "tail_percent", "tail_time", "allreduce_inherent_time", "allreduce_bandwidth", "computation_time_parameter")},
})


def set_ps_context(**kwargs: Any) -> None:
    """Store settings of MindSpore's parameter servers by name, such as `enable_ps`: there are none here, each process holds all parameters.

    ValueError for an unknown name, TypeError for a value of another type; nothing is changed then.
    """
    _servers.set(kwargs)


def get_ps_context(attr_key: str) -> Any:
    """Return a setting of `set_ps_context`, by default MindSpore's default; ValueError for an unknown name."""
    return _servers.get(attr_key)


def reset_ps_context() -> None:
    """Forget what `set_ps_context` has set."""
    _servers.changed.clear()


def set_algo_parameters(**kwargs: Any) -> None:
    """Store settings of MindSpore's search for a parallel strategy by name: nothing is searched, each process computes the whole network.

    ValueError for an unknown name and a number out of range, TypeError for a value of another type; nothing is changed then.
    """
    _search.check(kwargs)
    if not 0 < kwargs.get("algo_approxi_epsilon", 1) <= 1:
        raise ValueError(f"For 'set_algo_parameters', the argument 'algo_approxi_epsilon' must be above 0 and at most 1, but got "
                         f"{kwargs['algo_approxi_epsilon']!r}.")
    if not 1 <= kwargs.get("tensor_slice_align_size", 1) <= 1024:
        raise ValueError(f"For 'set_algo_parameters', the argument 'tensor_slice_align_size' must be from 1 to 1024, but got "
                         f"{kwargs['tensor_slice_align_size']!r}.")
    _search.set(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """Return a setting of `set_algo_parameters`, by default MindSpore's default; ValueError for an unknown name."""
    return _search.get(attr_key)


def reset_algo_parameters() -> None:
    """Forget what `set_algo_parameters` has set."""
    _search.changed.clear()


def set_cost_model_context(**kwargs: Any) -> None:
    """Store settings of the costs by which MindSpore's search compares strategies, by name: nothing is searched.

    ValueError for an unknown name, TypeError for a value of another type; nothing is changed then.
    """
    _costs.set(kwargs)


def get_cost_model_context(attr_key: str) -> Any:
    """Return a setting of `set_cost_model_context`, by default MindSpore's default; ValueError for an unknown name."""
    return _costs.get(attr_key)


def reset_cost_model_context() -> None:
    """Forget what `set_cost_model_context` has set."""
    _costs.changed.clear()


def set_multi_subgraphs(multi_subgraph: bool = True) -> None:
    """Store whether MindSpore's search treats the graph in parts; TypeError if the argument is not a bool."""
    _costs.set({"multi_subgraphs": multi_subgraph})


def set_deterministic(deterministic: bool) -> None:
    """Check the argument, and change nothing: the same input gives the same bits, for any number of threads.

    TypeError if it is not a bool.
    """
    if not isinstance(deterministic, bool):
        raise TypeError(f"For 'set_deterministic', the argument 'deterministic' must be a bool, but got {deterministic!r} of type "
                        f"{type(deterministic).__name__}.")


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Check the argument, and change nothing: Python's own limit, `sys.setrecursionlimit`, holds for functions that graphs are made from.

    TypeError if it is not an int, ValueError if it is not above 0.
    """
    if not isinstance(recursion_limit, int) or isinstance(recursion_limit, bool):
        raise TypeError(f"For 'set_recursion_limit', the argument 'recursion_limit' must be an int, but got {recursion_limit!r} of type "
                        f"{type(recursion_limit).__name__}.")
    if recursion_limit <= 0:
        raise ValueError(f"For 'set_recursion_limit', the argument 'recursion_limit' must be above 0, but got {recursion_limit}.")
