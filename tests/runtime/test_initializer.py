"""Initialisers fill arrays with what MindSpore's fill them with: family, mean, deviation, range, by name and by class."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor
from adjoint.common import initializer as initializers
from adjoint.common.initializer import initializer

FACTS = json.loads((Path(__file__).parent.parent / "oracle" / "initializers.json").read_text(encoding="utf-8"))
KNOWN = {text: fact for text, fact in FACTS["initialisers"].items() if hasattr(initializers, text.partition("(")[0])}
NAMES = {name: fact for name, fact in FACTS["names"].items() if hasattr(initializers, fact) or "Error" in fact}


@pytest.mark.parametrize("text", KNOWN)
def test_families(text: str) -> None:
    fact = KNOWN[text]
    made, sizes = re.fullmatch(r"(.*) of \w+ (\(.*\))", text).groups()  # type: ignore[union-attr]
    ms.set_seed(1)
    values = initializer(eval(made, {**vars(initializers), "sqrt": math.sqrt}), eval(sizes)).asnumpy().astype(np.float64)
    if fact["family"] == "constant":
        assert (values == fact["value"]).all()
        return
    assert abs(values.std() / fact["deviation"] - 1) < 0.02
    assert abs(values.mean() - fact["mean"]) < 8 * fact["deviation"] / math.sqrt(values.size)
    if fact["family"] != "normal":
        assert abs(values.max() / fact["high"] - 1) < 0.01 and abs(values.min() / fact["low"] - 1) < 0.01
    else:
        assert values.max() < fact["mean"] + 1.3 * (fact["high"] - fact["mean"])


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    if "Error" in NAMES[name]:
        with pytest.raises(ValueError, match=f"initializer.*'{name}'"):
            initializer(name, (2, 2))
        return
    ms.set_seed(1)
    by_name = initializer(name, (2, 3)).tolist()
    ms.set_seed(1)
    assert by_name == initializer(getattr(initializers, NAMES[name])(), (2, 3)).tolist()


def test_what_initializer_takes() -> None:
    assert initializer(2, [2]).tolist() == initializer(2.0, 2).tolist() == [2.0, 2.0]
    given = Tensor([1.0, 2.0])
    assert initializer(given, (2,)).tolist() == [1.0, 2.0]
    assert initializer("ones", (), ms.float64).dtype is ms.float64
    assert initializer("identity", (2, 3)).tolist() == FACTS["Identity() of (2, 3)"]
    half: Any = initializer("xavier_uniform", (3, 4), ms.bfloat16)
    assert half.dtype is ms.bfloat16 and 0 < np.abs(half.asnumpy()).max() < 1
    with pytest.raises(ValueError, match="shape"):
        initializer(given, (3,))


def test_filling_an_array() -> None:
    array = np.zeros((4, 3), np.float32)
    initializers.HeUniform()(array)
    assert (array != 0).all()


def test_an_initializer_of_ones_own() -> None:
    class Rising(initializers.Initializer):
        def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray[Any, Any]:
            return np.arange(math.prod(shape)).reshape(shape)

    assert initializer(Rising(), (2, 2)).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert ms.nn.Dense(2, 1, Rising()).weight.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("shape", [(2,), ()])
def test_fans_need_two_dimensions(shape: tuple[int, ...]) -> None:
    for name in ("xavier_uniform", "xavier_normal", "he_uniform", "he_normal"):
        with pytest.raises(ValueError, match="2 dimensions"):
            initializer(name, shape)
