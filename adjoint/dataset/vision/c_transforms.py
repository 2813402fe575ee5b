"""Transforms of images by the path that they had before MindSpore 2.0."""

from __future__ import annotations

from typing import Any

from adjoint.dataset import vision
from adjoint.dataset.vision import Decode as _Decode

__all__ = ["Decode"]


class Decode(_Decode):
    """The pixels of a file's bytes: red, green, blue."""

    def __init__(self, rgb: bool = True):
        if not rgb:
            raise NotImplementedError("adjoint decodes to red, green, blue: leave 'rgb' out, and put ConvertColor behind it.")
        super().__init__()


def __getattr__(name: str) -> Any:
    return getattr(vision, name)
