"""Initialisers fill arrays like MindSpore's: distribution, mean, deviation, range, by name and by class."""

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

FACTS = json.loads((Path(__file__).parents[2] / "oracle" / "initializers.json").read_text(encoding="utf-8"))
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
    shape = (2, 3, 1) if NAMES[name] == "Dirac" else (2, 3)
    by_name = initializer(name, shape).tolist()
    ms.set_seed(1)
    assert by_name == initializer(getattr(initializers, NAMES[name])(), shape).tolist()


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


def test_a_tensor_in_the_place_of_an_array_or_a_number(caplog: pytest.LogCaptureFixture) -> None:
    # MindSpore lets both pass, which do nothing, and collections of models have them.
    weight = ms.Parameter(ms.Tensor([[1.0, 2.0]]))
    initializers.Constant(7.0)(weight)
    assert weight.tolist() == [[1.0, 2.0]] and "leaves this tensor as it is" in caplog.text
    with pytest.raises(TypeError, match="'scale' must be a number, but got Parameter"):
        initializer(initializers.Uniform(weight), (2, 3))
    with pytest.raises(TypeError, match="NumPy array"):
        initializers.HeNormal()(weight)


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


@pytest.mark.parametrize(("shape", "groups", "ones"), [
    ((4, 2, 3), 2, [[0, 0, 1], [1, 1, 1], [2, 0, 1], [3, 1, 1]]),
    ((3, 5, 4), 1, [[0, 0, 2], [1, 1, 2], [2, 2, 2]]),
    ((4, 2, 3, 2), 1, [[0, 0, 1, 1], [1, 1, 1, 1]]),
])
def test_dirac(shape: tuple[int, ...], groups: int, ones: list[list[int]]) -> None:
    """The ones are at MindSpore 2.10.0's positions; a convolution with them returns its channels."""
    found = initializer(initializers.Dirac(groups), shape).asnumpy()
    assert np.argwhere(found).tolist() == ones and found.max() == 1
    image = Tensor(np.random.default_rng(0).random((1, 2, 4, 4)).astype(np.float32))
    same = ms.nn.Conv2d(2, 2, 3, weight_init="dirac")
    assert np.array_equal(same(image).asnumpy(), image.asnumpy())


@pytest.mark.parametrize("shape", [(6, 2, 2), (2, 5), (3, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    matrix = initializer(initializers.Orthogonal(2.0), shape, ms.float64).asnumpy().reshape(shape[0], -1)
    small = matrix @ matrix.T if shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_sparse() -> None:
    """Each column has this many zeros, not at the same positions."""
    values = initializer(initializers.Sparse(0.3, 0.5), (70, 40)).asnumpy()
    assert ((values == 0).sum(0) == 21).all() and len({tuple(column) for column in (values == 0).T}) > 30
    assert abs(values[values != 0].std() - 0.5) < 0.05


@pytest.mark.parametrize(("mode", "fan"), [("fan_in", 300), ("fan_out", 400), ("fan_avg", 350)])
def test_variance_scaling(mode: str, fan: float) -> None:
    deviation = math.sqrt(2.0 / fan)
    bounds = {"uniform": math.sqrt(3.0) * deviation, "truncated_normal": 2 * deviation / 0.8796256610342398, "untruncated_normal": None}
    for distribution, bound in bounds.items():
        values = initializer(initializers.VarianceScaling(2.0, mode, distribution), (400, 300), ms.float64).asnumpy()
        assert abs(values.std() / deviation - 1) < 0.01 and abs(values.mean()) < 8 * deviation / math.sqrt(values.size)
        assert np.abs(values).max() > 4 * deviation if bound is None else bound * 0.98 < np.abs(values).max() <= bound


@pytest.mark.parametrize(("make", "shape", "kind"), [
    ("Dirac(0)", (2, 2, 2), ValueError), ("Dirac('a')", (2, 2, 2), TypeError), ("Dirac()", (2, 2), ValueError),
    ("Dirac(2)", (3, 2, 2), ValueError),
    ("Orthogonal('a')", (2, 2), TypeError), ("Orthogonal()", (2,), ValueError), ("Sparse(1.5)", (2, 2), ValueError),
    ("Sparse(0.5, -1)", (2, 2), ValueError), ("Sparse(0.5)", (2, 2, 2), ValueError), ("VarianceScaling(0)", (2, 2), ValueError),
    ("VarianceScaling(1, 'a')", (2, 2), ValueError), ("VarianceScaling(1, 'fan_in', 'a')", (2, 2), ValueError),
    ("VarianceScaling()", (2,), ValueError),
])
def test_mistakes_name_the_initialiser(make: str, shape: tuple[int, ...], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=make.partition("(")[0]):
        initializer(eval(make, vars(initializers)), shape)
