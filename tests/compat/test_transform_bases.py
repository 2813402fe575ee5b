"""Transforms that programs derive from MindSpore's base classes: alone, in `map`, as JSON; what only C++ could run is an error."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
import pytest

from adjoint import compat, dataset
from adjoint.dataset import vision

compat.install()

TRANSFORMS = importlib.import_module("mindspore.dataset.transforms.transforms")
VISION = importlib.import_module("mindspore.dataset.vision.transforms")
TEXT = importlib.import_module("mindspore.dataset.text.transforms")
IMPLEMENTATION = importlib.import_module("mindspore.dataset.transforms.py_transforms_util").Implementation


class Doubled(TRANSFORMS.PyTensorOperation):
    def __init__(self, by: int = 2):
        super().__init__()
        self.by, self.random = by, False

    def _execute_py(self, column: Any) -> Any:
        return column * self.by


class Brighter(VISION.ImageTensorOperation):
    def __init__(self) -> None:
        super().__init__()
        self.implementation = IMPLEMENTATION.PY

    def _execute_py(self, image: Any) -> Any:
        return np.asarray(image) + 1


class OfCpp(TEXT.TextTensorOperation):
    def parse(self) -> Any:
        return object()


def test_transforms_of_ones_own_run_in_map() -> None:
    rows = dataset.NumpySlicesDataset(np.arange(6, dtype=np.int32).reshape(3, 2), shuffle=False).map([Doubled(3), Brighter()])
    found = [row[0].tolist() for row in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert found == [[1, 4], [7, 10], [13, 16]]


def test_their_attributes_are_those_of_mindspore() -> None:
    made = Doubled()
    assert (made.transforms, made.output_type) == ([], None)
    assert (Brighter().implementation, OfCpp().implementation, int(IMPLEMENTATION.PY)) == (IMPLEMENTATION.PY, IMPLEMENTATION.C, 1)
    assert VISION.PyTensorOperation is TRANSFORMS.PyTensorOperation
    assert isinstance(vision.HWC2CHW(), TRANSFORMS.TensorOperation)


def test_a_transform_goes_through_json() -> None:
    made = Doubled(5)
    made.output_type = np.float32
    text = made.to_json()
    assert json.loads(text)["tensor_op_name"] == "Doubled"
    again = Doubled.from_json(json.dumps(json.loads(text)["tensor_op_params"]))
    assert again(4) == 20 and again.output_type == np.float32
    inner = [{"python_module": "os", "tensor_op_name": "system", "tensor_op_params": {}}]
    with pytest.raises(RuntimeError, match="not one of"):
        Doubled.from_json(json.dumps({"transforms": inner}))


def test_what_cannot_run_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="OfCpp has no method `_execute_py`"):
        OfCpp()("text")
    with pytest.raises(TypeError, match="Input should be NumPy or PIL image"):
        Brighter()([1, 2])
    with pytest.raises(AttributeError, match="_execute_py"):
        TRANSFORMS.PyTensorOperation()(1)
    with pytest.raises(NotImplementedError, match="has to implement parse"):
        Brighter().parse()
