"""Tensors that a function under jit makes from Python numbers: Python can read their values while parsing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor
from adjoint.foundation.diagnostics import CompileError

READ: list[Callable[[Tensor], Any]] = [
    lambda x: Tensor([1.0, 2.0]).asnumpy(),
    lambda x: Tensor([[1, 2]], ms.float16).numpy(),
    lambda x: Tensor(3).asnumpy(),
    lambda x: np.array(Tensor([1.0, 2.0])),
    lambda x: np.asarray(Tensor([1.0, 2.0]), np.float64),
    lambda x: Tensor([1.0, 2.0]).tolist(),
    lambda x: x * float(Tensor([1.0, 2.0]).asnumpy().sum()),
]


@pytest.mark.parametrize("function", READ)
def test_its_numbers_are_those_of_eager_mode(function: Callable[[Tensor], Any]) -> None:
    x = Tensor([1.0, 2.0])
    eager, graph = np.asarray(function(x)), np.asarray(ms.jit(function)(x))
    assert (graph.dtype, graph.tobytes()) == (eager.dtype, eager.tobytes())


def test_each_call_returns_an_array_of_its_own() -> None:
    function = ms.jit(lambda x: Tensor([1.0, 2.0]).asnumpy())
    function(Tensor(0.0))[0] = 7
    assert function(Tensor(0.0)).tolist() == [1.0, 2.0]


def test_an_array_stays_what_it_is_when_the_tensor_is_written() -> None:
    def written(x: Tensor) -> Any:
        made = Tensor([1.0, 2.0])
        array = made.asnumpy()
        made += 1
        return x * made, array

    x = Tensor([1.0, 1.0])
    for function in (written, ms.jit(written)):
        product, array = function(x)
        assert (product.tolist(), array.tolist()) == ([2.0, 3.0], [1.0, 2.0])


def test_an_array_is_not_written() -> None:
    def written(x: Tensor) -> Tensor:
        made = Tensor([1.0, 2.0])
        made.asnumpy()[0] = 5
        return x * made

    with pytest.raises(ValueError, match="read-only") as caught:
        ms.jit(written)(Tensor([1.0, 1.0]))
    assert "made.asnumpy()[0]" in "".join(caught.value.__notes__)


def _written(x: Tensor) -> Any:
    made = Tensor([1.0, 2.0])
    made += 1
    return made.asnumpy()


def _perhaps_written(x: Tensor) -> Any:
    made = Tensor([1.0, 2.0])
    if x.sum() > 0:
        made += 1
    return made.asnumpy()


def _carried(x: Tensor) -> Any:
    made = Tensor([1.0, 2.0])
    while x.sum() > 1:
        x = x * Tensor(made.asnumpy()) / 8
        made = made + 1
    return x


@pytest.mark.parametrize("function", [_written, _perhaps_written, _carried, lambda x: (Tensor([1.0]) * 2).asnumpy(), lambda x: x.asnumpy()])
def test_computed_numbers_are_not_there(function: Callable[[Tensor], Any]) -> None:
    with pytest.raises(CompileError, match="needs the numbers of a tensor") as caught:
        ms.jit(function)(Tensor([1.0, 2.0]))
    assert caught.value.diagnostic.code == "E203"
