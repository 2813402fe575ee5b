"""Transforms of images as MindSpore before 2.0 had them in Python: after `ToTensor`, so channels come first; `Decode` gives pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.dataset import vision
from adjoint.dataset.vision import Decode as _Decode
from adjoint.dataset.vision import Normalize as _Normalize

__all__ = ["Decode", "Normalize"]


class Decode(_Decode):
    """The picture of a file's bytes."""

    def __init__(self) -> None:
        super().__init__(to_pil=True)


class Normalize(_Normalize):
    """(image - mean) / std for each channel, the first axis."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]):
        super().__init__(mean, std, is_hwc=False)


def __getattr__(name: str) -> Any:
    return getattr(vision, name)
