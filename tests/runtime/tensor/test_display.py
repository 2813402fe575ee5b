"""The printed forms of tensors are those recorded from MindSpore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Parameter, Tensor

TEXTS = json.loads((Path(__file__).parents[2] / "oracle" / "repr.json").read_text(encoding="utf-8"))
NAMES = {"np": np, "ms": adjoint, "Tensor": Tensor, "Parameter": Parameter, "nan": np.nan, "inf": np.inf}
TENSORS = TEXTS["tensors"]


def made(expression: str) -> Any:
    return eval(expression, dict(NAMES))


@pytest.mark.parametrize("expression", TENSORS)
def test_representation(expression: str) -> None:
    assert repr(made(expression)) == TENSORS[expression]["repr"]


@pytest.mark.parametrize("expression", TENSORS)
def test_text(expression: str) -> None:
    """The recorded text was written by NumPy 1.26; another NumPy may print large floats differently, and then counts."""
    tensor = made(expression)
    wanted = TENSORS[expression]["str"]
    if tensor.dtype is not adjoint.bfloat16 and str(tensor.asnumpy()) != wanted:
        wanted = str(tensor.asnumpy())
        assert abs(tensor.asnumpy()).max() > 1e6
    assert str(tensor) == f"{tensor}" == wanted


@pytest.mark.parametrize("expression", TEXTS["containers"])
def test_containers(expression: str) -> None:
    value = made(expression)
    assert (str(value), repr(value)) == (TEXTS["containers"][expression]["str"], TEXTS["containers"][expression]["repr"])


def test_widths_come_from_what_is_shown() -> None:
    assert repr(Tensor([1] * 500 + [99999] + [1] * 600)) == "Tensor(shape=[1101], dtype=Int64, value= [1, 1, 1 ... 1, 1, 1])"
