"""A function that returns a value or None depending on a tensor: Python gets the same as in eager mode."""

# ruff: noqa: RET502, RET503 - reaching the end is what is tried

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn
from adjoint.foundation.diagnostics import CompileError


def number(x: Tensor, t: Tensor) -> Any:
    n = None
    if t > 0:
        n = 6
    return n


def end_is_reached(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        return x * 2


def structures(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        return [x * 2, {"a": (t, "b")}]
    elif t < -5:
        return None
    if t == 0:
        return
    return [x, {"a": (t, "b")}]


def from_a_loop(x: Tensor, t: Tensor) -> Any:
    for i in range(3):
        x = x * 2
        if x.sum() > t:
            return x, i


def from_a_loop_of_the_graph(x: Tensor, t: Tensor) -> Any:
    while x.sum() < 100:
        x = x * 2
        if x.sum() > t:
            return x, x.sum().item()


def text(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        return "positive"


def written(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        x += 1
        return x


FUNCTIONS = [number, end_is_reached, structures, from_a_loop, from_a_loop_of_the_graph, text, written]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_value_or_none(function: Callable[..., Any]) -> None:
    graph = ms.jit(function)
    for t in (1, -1, 0, -7, 20, 1000):
        assert repr(graph(Tensor([1.0, 2.0]), Tensor(t))) == repr(function(Tensor([1.0, 2.0]), Tensor(t)))


def test_gradients_of_the_value() -> None:
    x, graph = Tensor([1.0, 2.0]), ms.jit(end_is_reached)
    assert ms.grad(graph)(x, Tensor(1)).tolist() == [2.0, 2.0]
    for function in (graph, end_is_reached):
        with pytest.raises(TypeError, match="it returned None"):
            ms.grad(function)(x, Tensor(-1))


class Gate(nn.Cell):
    """Returns its product or None."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor([3.0, 4.0]), name="weight")

    def construct(self, x: Tensor, t: Tensor) -> Any:
        if t > 0:
            return x * self.weight


@pytest.fixture
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.usefixtures("graph_mode")
def test_a_cell_in_graph_mode() -> None:
    gate, x = Gate(), Tensor([1.0, 2.0])
    assert gate(x, Tensor(-1)) is None
    assert gate(x, Tensor(1)).tolist() == [3.0, 8.0]
    of_input, of_weights = ms.grad(gate, 0, gate.trainable_params())(x, Tensor(1))
    assert (of_input.tolist(), of_weights[0].tolist()) == ([3.0, 4.0], [1.0, 2.0])


@pytest.mark.usefixtures("graph_mode")
def test_a_cell_with_hooks_returns_one_type() -> None:
    gate = Gate()
    handle = gate.register_forward_hook(lambda cell, inputs, output: None)
    with pytest.raises(CompileError, match="returned on one path and None on the other"):
        gate(Tensor([1.0, 2.0]), Tensor(1))
    handle.remove()
    assert gate(Tensor([1.0, 2.0]), Tensor(-1)) is None


REFUSED: list[Callable[..., Any]] = [
    lambda x, t: end_is_reached(x, t),
    lambda x, t: ms.grad(end_is_reached)(x, t),
]


@pytest.mark.parametrize("function", REFUSED)
def test_inside_of_a_graph_there_is_one_type(function: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match="is returned on one path and None on the other") as caught:
        ms.jit(function)(Tensor([1.0, 2.0]), Tensor(1))
    assert caught.value.diagnostic.code == "E206"


def _in_a_tuple(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        return x, 6
    return x, None


def _of_two_shapes(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        return x
    if t < -5:
        return x.sum()


def _text_of_the_run(x: Tensor, t: Tensor) -> Any:
    if t > 0:
        return f"{x.sum()}"


@pytest.mark.parametrize("function", [_in_a_tuple, _of_two_shapes, _text_of_the_run])
def test_other_differences_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(CompileError) as caught:
        ms.jit(function)(Tensor([1.0, 2.0]), Tensor(1))
    assert caught.value.diagnostic.code == "E206"
