"""Base classes of MindSpore's transforms, from which programs derive their own: those that are written in Python run here.

In MindSpore a transform computes in Python, by its method `_execute_py`, or in C++, by an object that its method `parse` makes.  Only the
first can run here.
"""

from __future__ import annotations

import json
import sys
from abc import ABC
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from adjoint.compat.private import is_picture
from adjoint.dataset.transforms.operation import Operation

__all__ = [
    "AudioTensorOperation", "ImageTensorOperation", "Implementation", "PyTensorOperation", "TensorOperation", "TextTensorOperation",
    "VideoTensorOperation",
]


class Implementation(IntEnum):
    """What a transform is written in."""

    C = 0
    PY = 1


class TensorOperation(ABC):  # noqa: B024 - abstract only so that transforms of the library count as its instances
    """A transform of arrays or pictures; a subclass has a method `_execute_py`, which is called with them.

    Errors: NotImplementedError when a subclass without this method is called.
    """

    takes: ClassVar[str] = ""
    """What it takes, in the error for anything else; "" for all."""

    def __init__(self) -> None:
        super().__init__()
        self.implementation: Implementation | None = None
        self.device_target = "CPU"

    def __call__(self, *columns: Any) -> Any:
        for column in columns if self.takes else ():
            if not (isinstance(column, np.ndarray) or (is_picture(column) and "PIL" in self.takes)):
                raise TypeError(f"Input should be {self.takes}, got {type(column)}.")
        execute: Any = getattr(self, "_execute_py", None)
        if execute is None:
            raise NotImplementedError(
                f"{type(self).__name__} has no method `_execute_py`, which would be its Python: a transform of MindSpore's C++, as `parse` "
                "makes one, cannot run here. Write `_execute_py(self, column)`, or give `map` a function.")
        return execute(*columns)

    def parse(self) -> Any:
        """Raise NotImplementedError, as MindSpore's base class does."""
        raise NotImplementedError(f"{type(self).__name__} has to implement parse() method.")


TensorOperation.register(Operation)


class ImageTensorOperation(TensorOperation):
    """A transform of images, arrays or Pillow's."""

    takes = "NumPy or PIL image"


class VideoTensorOperation(TensorOperation):
    """A transform of videos, which are arrays."""

    takes = "NumPy"


class TextTensorOperation(TensorOperation):
    """A transform of texts."""

    def __init__(self) -> None:
        super().__init__()
        self.implementation = Implementation.C


class AudioTensorOperation(TensorOperation):
    """A transform of sound, which is an array."""

    takes = "NumPy"


class PyTensorOperation:
    """A transform of one column that is written in Python; a subclass has a method `_execute_py`, which is called with the column.

    transforms   the transforms that it is made of
    output_type  the dtype of NumPy of its result, if it has one
    """

    def __init__(self) -> None:
        self.transforms: list[Any] = []
        self.output_type: Any = None

    def __call__(self, img: Any) -> Any:
        execute: Any = getattr(self, "_execute_py", None)
        if execute is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_execute_py', which computes the result from a column.")
        return execute(img)

    def to_json(self) -> str:
        """Return the attributes as JSON, with those of `transforms`; TypeError for an attribute that JSON has no form for."""
        attributes = dict(vars(self))
        if "transforms" in attributes:
            attributes["transforms"] = [json.loads(transform.to_json()) for transform in self.transforms]
        if "output_type" in attributes:
            attributes["output_type"] = np.dtype(self.output_type).name
        return json.dumps({"tensor_op_params": attributes, "tensor_op_name": type(self).__name__, "python_module": type(self).__module__})

    @classmethod
    def from_json(cls, json_string: str) -> Any:
        """Return an object with the attributes that JSON gives, as `to_json` has them below `tensor_op_params`.

        RuntimeError if a transform among `transforms` is not one of `mindspore.dataset`: no other module is read.
        """
        made = cls.__new__(cls)
        attributes = json.loads(json_string)
        vars(made).update(attributes)
        if "transforms" in attributes:
            made.transforms = [_from_json(each) for each in attributes["transforms"]]
        if "output_type" in attributes:
            made.output_type = np.dtype(attributes["output_type"])
        return made


def _from_json(found: dict[str, Any]) -> Any:
    module = sys.modules.get(found.get("python_module", ""))
    kind = getattr(module, found.get("tensor_op_name", ""), None) if module is not None else None
    package = (getattr(module, "__package__", None) or "").partition(".")[2]
    if package not in ("dataset.vision", "dataset.text", "dataset.audio", "dataset.transforms") or not hasattr(kind, "from_json"):
        raise RuntimeError("Invalid json content: the transform is not one of `mindspore.dataset`.")
    return kind.from_json(json.dumps(found["tensor_op_params"]))  # pyright: ignore[reportOptionalMemberAccess] - just tested
