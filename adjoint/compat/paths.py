"""The table of paths: for each module of MindSpore 2.10, its names and where they stand here.

`names.json` is recorded from MindSpore (tests/oracle/record_names.py).  For each module it has the names by the public places that have
the same object: `nn.layer.conv.Conv2d` is `nn.Conv2d`, `nn.Accuracy` is `train.Accuracy`.  A place `nn` of MindSpore's is `adjoint.nn`
here, if there is such a module: what it has under the name is what the name means.  Nothing has to be listed for a new name of ours.

Paths are written without `mindspore.`; the package itself has the path `mindspore`.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["ABSENT", "OLDER", "Place", "VERSION", "full", "is_here", "is_theirs", "look_up", "names_here", "place", "places", "way_out"]

VERSION = "2.10.0"
"""MindSpore's version that the table is of."""

ABSENT = object()
"""What `look_up` returns for a name that is not here."""

OURS_TOO = frozenset({
    "mindspore", "amp", "common", "common.dtype", "common.initializer", "common.parameter", "common.tensor", "communication", "context",
    "dataset", "dataset.text", "dataset.transforms", "dataset.vision", "mint", "mint.nn", "mint.nn.functional", "mint.optim", "nn",
    "numpy", "ops", "ops.composite", "ops.functional", "ops.operations", "parallel", "train",
})
"""Places that also have the names that ours has beyond MindSpore's 2.10: those of its other versions, and our own."""

INNER = {"runtime"}
"""Paths of MindSpore's that are here something else."""

ELSEWHERE = {"communication.comm_func": "ops.comm_func"}
"""Paths of MindSpore's that are ours under another path: collectives are operators, which stand above communication."""

OLDER = {
    "common._grad_function": "common",
    "dataset.transforms.c_transforms": "dataset.transforms", "dataset.transforms.py_transforms": "dataset.transforms",
    "dataset.vision.c_transforms": "dataset.vision", "dataset.vision.py_transforms": "dataset.vision",
}
"""Modules of earlier versions, which are ours of the same path, or stand for another one."""

PRIVATE = {
    "common.api": {"_no_grad": "_no_grad", "_pynative_executor": "compat.private.executor"},
    "dataset.engine.datasets": {"Dataset": "dataset.Dataset", "MappableDataset": "dataset.MappableDataset"},
    "nn.loss.loss": {"_Loss": "nn.LossBase"},
    "nn.optim.optimizer": {"opt_init_args_register": "compat.private.opt_init_args_register"},
    "ops._primitive_cache": {"_get_cache_prim": "compat.private.cached_primitive"},
    "parallel._auto_parallel_context": {"auto_parallel_context": "compat.private.auto_parallel_context"},
    "parallel._utils": {
        "_get_device_num": "compat.private.device_num", "_get_global_rank": "compat.private.global_rank",
        "_get_gradients_mean": "compat.private.gradients_mean", "_get_parallel_mode": "compat.private.parallel_mode",
        "_get_parameter_broadcast": "compat.private.parameter_broadcast", "_get_full_batch": "compat.private.full_batch",
        "_get_pipeline_stages": "compat.private.pipeline_stages", "_is_parallel_mode": "compat.private.is_parallel",
        "_get_enable_parallel_optimizer": "compat.private.enable_parallel_optimizer",
    },
}
"""Private names that programs import, and the public ones that they stand for."""


@dataclass(frozen=True)
class Place:
    """A module of MindSpore's.

    path      without `mindspore.`
    names     for each name the places and names to look it up at, the first one that is here counts
    unlisted  the names that `import *` does not give
    modules   names that mean another module, by its path
    """

    path: str
    names: dict[str, tuple[tuple[str, str], ...]]
    unlisted: frozenset[str]
    modules: dict[str, str]


@functools.cache
def _table() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))["modules"]


def places() -> Iterator[str]:
    """The paths of all modules of MindSpore's."""
    return iter(_table())


def is_theirs(path: str) -> bool:
    """Whether MindSpore, this or an earlier version, has the module."""
    return path in _table() or path in OLDER


@functools.cache
def place(path: str) -> Place:
    """Return the row of a module; KeyError if there is none."""
    if path in OLDER:
        base = place(OLDER[path])
        return Place(path, {name: ((path, name), *at) for name, at in base.names.items()}, base.unlisted, base.modules)
    row = _table()[path]
    names: dict[str, tuple[tuple[str, str], ...]] = {}
    for homes, listed in row["names"].items():
        for written in listed.split():
            name, _, called = written.partition("=")
            others = tuple((home, called or name) for home in homes.split())
            own = ((path, name),)
            names[name] = own + others if path in OURS_TOO else others + own
    for name, public in PRIVATE.get(path, {}).items():
        home, _, called = public.rpartition(".")
        names[name] = ((home or "mindspore", called),)
    return Place(path, names, frozenset(row.get("unlisted", "").split()), row.get("modules", {}))


def look_up(path: str, name: str) -> Any:
    """Return what `name` means in a module of MindSpore's, or ABSENT if it is not here."""
    found = _found(path, name)
    return ABSENT if found is None else getattr(*found)


def is_here(path: str, name: str) -> bool:
    """Whether a name of a module of MindSpore's is here; nothing is loaded for it."""
    return _found(path, name) is not None


def names_here(path: str) -> list[str]:
    """Return the names of a module that are here, in order."""
    return sorted(name for name in {*place(path).names, *_beyond(path)} if is_here(path, name))


def _found(path: str, name: str) -> tuple[ModuleType, str] | None:
    """Our module that has what a name means, and the name there."""
    at = place(path).names.get(name)
    if at is None:
        at = ((path, name),) if name in _beyond(path) else ()
    for home, called in at:
        module = _ours(home)
        if module is not None and (called in _lazy(module) or not isinstance(vars(module).get(called, module), ModuleType)):
            return module, called
    return None


def _lazy(module: ModuleType) -> dict[str, str]:
    """The names that a module of ours loads when they are used."""
    return vars(module).get("LOADED_WHEN_USED", {})


def way_out(path: str, name: str) -> str | None:
    """Return what to write instead of a name that is not here, if something is known."""
    for home, called in (*place(path).names.get(name, ()), (path, name), ("mindspore", name)):
        module = _ours(home)
        if module is not None and called in (instead := vars(module).get("INSTEAD", {})):
            return instead[called]
    return None


def full(path: str) -> str:
    """The name of a module as programs write it."""
    return path if path == "mindspore" else f"mindspore.{path}"


def _beyond(path: str) -> set[str]:
    module = _ours(path) if path in OURS_TOO else None
    return set() if module is None else {*module.__all__, *_lazy(module)}


@functools.cache
def _ours(path: str) -> ModuleType | None:
    """Our module of the same path, if there is one."""
    if path in INNER:
        return None
    name = "adjoint" if path == "mindspore" else f"adjoint.{ELSEWHERE.get(path, path)}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not (name == missing.name or name.startswith(f"{missing.name}.")):
            raise
        return None
