"""`enable_dynamic`: a jitted function declares which sizes of its arguments change; the exceptions are MindSpore 2.10's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, enable_dynamic, jit, nn


def like(*shape: int | None) -> Tensor:
    return Tensor(shape=shape, dtype=ms.float32)


def ones(*shape: int, dtype: Any = ms.float32) -> Tensor:
    return Tensor(np.ones(shape), dtype)


@enable_dynamic(x=like(None, 3))
@jit
def scaled(x, factor=2):
    return x * factor


@jit
@enable_dynamic(x=like(None, 3))
def scaled_inside(x, factor=2):
    return x * factor


@pytest.mark.parametrize("function", [scaled, scaled_inside])
def test_calls_that_fit(function: Any) -> None:
    for n in (2, 5, 1, 0, 7):
        assert function(ones(n, 3)).shape == (n, 3)
        assert (function(x=ones(n, 3), factor=3).asnumpy() == 3).all()


@pytest.mark.parametrize("function", [scaled, scaled_inside])
@pytest.mark.parametrize(("x", "kind", "says"), [
    (ones(5, 4), ValueError, r"'x' is declared as Tensor\(shape=\[-1, 3\], dtype=Float32\), but got Tensor\(shape=\[5, 4\]"),
    (ones(3), ValueError, "of another shape"),
    (ones(5, 3, dtype=ms.float16), TypeError, "of another dtype"),
    (3.0, TypeError, "must be a tensor"),
])
def test_calls_that_do_not_fit(function: Any, x: Any, kind: type[Exception], says: str) -> None:
    for _ in range(2):
        with pytest.raises(kind, match=says):
            function(x)
        assert function(ones(2, 3)).shape == (2, 3)


def test_any_rank_and_several_tensors() -> None:
    @enable_dynamic(x=Tensor(shape=None, dtype=ms.float32), pair=[like(None), like(2, 3)])
    @jit
    def both(x, pair):
        return x + 1, pair[0] * 2, pair[1]

    for shape in ((), (3,), (4, 5)):
        assert [y.shape for y in both(ones(*shape), [ones(4), ones(2, 3)])] == [shape, (4,), (2, 3)]
    for pair in ((ones(4), ones(2, 3)), [ones(4)], ones(4)):
        with pytest.raises(TypeError, match="must be a list of 2 tensors"):
            both(ones(1), pair)
    with pytest.raises(ValueError, match="of another shape"):
        both(ones(1), [ones(4), ones(2, 4)])


def test_a_method() -> None:
    class Net(nn.Cell):
        @enable_dynamic(x=like(None, 3))
        @jit
        def construct(self, x):
            return x * 2

    net = Net()
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            assert net(ones(4, 3)).shape == (4, 3)
            with pytest.raises(ValueError, match="of another shape"):
                net(ones(4, 4))
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize(("declared", "kind", "says"), [
    ({}, ValueError, "at least one argument"),
    ({"x": 3}, TypeError, "a Tensor, or a tuple or list of Tensors"),
    ({"x": ones(2, 3)}, TypeError, "must have a size of None"),
    ({"x": (ones(2), 3)}, TypeError, "a Tensor, or a tuple or list of Tensors"),
])
def test_a_wrong_declaration(declared: dict[str, Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        enable_dynamic(**declared)


def test_what_is_no_function_or_has_no_such_parameter() -> None:
    with pytest.raises(ValueError, match="must be a function or method"):
        enable_dynamic(x=like(None))(3)  # pyright: ignore[reportArgumentType] - wrong on purpose
    with pytest.raises(ValueError, match=r"'z' must be a parameter of .*, which has"):
        enable_dynamic(z=like(None))(scaled)
