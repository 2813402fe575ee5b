"""Objects of the library that a function makes in its body, under names, in lists and dicts: one graph, of what they are made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, nn, ops

AXIS = 1


def concat(x: Any) -> Any:
    op = ops.Concat(axis=1)
    return op((x, x))


def cast(x: Any) -> Any:
    cast = ops.Cast()
    return cast(x, ms.float16)


def mean(x: Any) -> Any:
    mean = ops.ReduceMean(True)
    return mean(x, 1)


def one_hot(x: Any) -> Any:
    one_hot = ops.OneHot()
    return one_hot(Tensor([1, 2], ms.int32), 3, Tensor(1.0), Tensor(0.0)) + x


def in_a_list(x: Any) -> Any:
    for op in [ops.ReLU(), ops.Tanh()]:
        x = op(x)
    return x


def in_a_dict(x: Any) -> Any:
    made = {"a": ops.ReLU(), "b": ops.Tanh()}
    return made["a"](x) + made["b"](x)


def gradient(x: Any) -> Any:
    gradient = ops.GradOperation()
    return gradient(lambda y: (y * y).sum())(x)


def with_an_attribute(x: Any) -> Any:
    op = ops.Concat(axis=1)
    op.add_prim_attr("primitive_target", "CPU")
    return op((x, x))


def in_a_branch(x: Any) -> Any:
    op = ops.ReLU()
    if x.sum() > 0:
        other = ops.Tanh()
        return other(op(x))
    return op(x)


def in_a_loop(x: Any) -> Any:
    for _ in range(3):
        op = ops.Mul()
        x = op(x, x)
    return x


def hooked(x: Any) -> Any:
    hook, insert = ops.HookBackward(twice), ops.InsertGradientOf(lambda gradient: gradient + 1)
    return insert(hook(x) * 3)


def twice(gradients: Any) -> Any:
    return gradients[0] * 2


def layer(x: Any) -> Any:
    layer = nn.LeakyReLU(0.3)
    return layer(x)


def loss(x: Any) -> Any:
    loss = nn.MSELoss()
    return loss(x, x * 2)


FUNCTIONS = (concat, cast, mean, one_hot, in_a_list, in_a_dict, gradient, with_an_attribute, in_a_branch, in_a_loop, hooked,
             layer, loss)


class InConstruct(nn.Cell):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def construct(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize("form", ["jit", "graph mode", "gradient"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_one_graph_is_made(function: Callable[[Any], Any], form: str, built: list[Any]) -> None:
    x = Tensor(np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], np.float32))

    def gradient(x: Any) -> Any:
        return ms.grad(lambda x: function(x).astype(ms.float32).sum())(x)

    expected = gradient(x) if form == "gradient" else function(x)
    run: Any = {"jit": jit(function), "graph mode": InConstruct(function), "gradient": jit(gradient)}[form]
    ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
    for _ in range(4):
        found = run(x)
        assert found.dtype == expected.dtype and found.asnumpy().tobytes() == expected.asnumpy().tobytes()
    assert len(built) == 1


def test_what_they_are_made_from_is_compared() -> None:
    global AXIS

    def function(x: Any) -> Any:
        op = ops.Concat(axis=AXIS)
        return op((x, x))

    run, x = jit(function), Tensor(np.ones((2, 3), np.float32))
    try:
        for axis in (1, 0, 1):
            AXIS = axis
            assert run(x).shape == run(x).shape == function(x).shape
    finally:
        AXIS = 1
