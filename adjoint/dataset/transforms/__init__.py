"""Transforms of any data: `mindspore.dataset.transforms`; those of images are in `vision`, those of strings in `text`."""

from typing import Any

from adjoint.dataset.transforms.transforms import (
    Compose,
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    RandomApply,
    RandomChoice,
    RandomOrder,
    Relational,
    Slice,
    TypeCast,
    Unique,
    not_random,
)
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice", "RandomOrder", "Relational",
    "Slice", "TypeCast", "Unique", "not_random",
]

INSTEAD = {"Plugin": "a Python function among the operations of `map`; C++ plugins of MindSpore's engine cannot be loaded"}
"""What to write instead of names of MindSpore's that are missing here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
