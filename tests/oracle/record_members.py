"""The members of MindSpore's public classes: what a class has besides the public classes that it is derived from."""

# pyright: reportMissingImports=false

import importlib
import inspect
from typing import Any

PLACES = (
    "mindspore", "nn", "nn.probability.distribution", "nn.probability.bijector", "ops", "mint.nn", "mint.optim", "train", "amp",
    "common.initializer", "communication", "dataset", "dataset.audio", "dataset.transforms", "dataset.vision", "dataset.text", "runtime",
    "mindrecord", "profiler", "experimental.optim", "experimental.optim.lr_scheduler",
)
"""The modules whose classes are recorded, each under the first place that has it."""
PLAIN = ("builtins", "enum", "abc", "typing", "collections", "collections.abc")
"""Modules of Python's, whose classes give members that are not MindSpore's."""


def listed(module: Any) -> list[str]:
    """The names of a module that programs may take from it."""
    return [name for name in getattr(module, "__all__", None) or dir(module) if not name.startswith("_")]


def classes() -> dict[type, str]:
    """The public classes, each with its place and name."""
    found: dict[type, str] = {}
    for place in PLACES:
        module = importlib.import_module("mindspore" if place == "mindspore" else f"mindspore.{place}")
        for name in listed(module):
            value = getattr(module, name, None)
            if inspect.isclass(value) and str(value.__module__).startswith("mindspore"):
                found.setdefault(value, name if place == "mindspore" else f"{place}.{name}")
    return found


def members(owner: type) -> dict[str, bool]:
    """The members of a class, without those of Python's own classes, and whether each is called."""
    python = {name for kind in owner.__mro__ if kind.__module__ in PLAIN for name in dir(kind)}
    found = {name: inspect.getattr_static(owner, name) for name in dir(owner) if not name.startswith("_") and name not in python}
    return {name: callable(value) or isinstance(value, staticmethod | classmethod) for name, value in found.items()}


def record() -> dict[str, Any]:
    """For each class `of`, the public class it is derived from; and what it has besides: `methods`, and `values`, which are not called."""
    found = classes()
    told: dict[str, Any] = {}
    for owner, place in found.items():
        base = next((kind for kind in owner.__mro__[1:] if kind in found), None)
        inherited = {} if base is None else members(base)
        own = {name: called for name, called in members(owner).items() if name not in inherited}
        row = {"methods": " ".join(name for name, called in own.items() if called),
               "values": " ".join(name for name, called in own.items() if not called)}
        told[place] = ({} if base is None else {"of": found[base]}) | {kind: names for kind, names in row.items() if names}
    return {"members": dict(sorted(told.items()))}
