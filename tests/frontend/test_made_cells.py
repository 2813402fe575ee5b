"""Cells created by a function under jit.  In eager mode each call creates new ones: a graph gives the same where nothing of them changes,
and an error where it would differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.common.initializer import Initializer, initializer
from adjoint.foundation.diagnostics import CompileError

X = Tensor([[1.0, -2.0, 3.0]])


class Scale(nn.Cell):
    """A cell with Python numbers only."""

    def __init__(self, by: Any):
        super().__init__()
        self.by = by

    def construct(self, x: Tensor) -> Tensor:
        return x * self.by


class Affine(Scale):
    """A cell with Parameters, and with cells that have some."""

    def __init__(self, by: float):
        super().__init__(by)
        self.shift = Parameter(Tensor([1.0, 2.0, 3.0]), name="shift")
        self.slope = Parameter(initializer("ones", [3]), name="slope")
        self.dense = nn.Dense(3, 3, weight_init="ones", bias_init="zeros")
        self.layers = nn.CellList([Scale(2), nn.ReLU()])

    def construct(self, x: Tensor) -> Tensor:
        x = self.dense(x)
        for layer in self.layers:
            x = layer(x)
        return super().construct(x) * self.slope + self.shift


class Thirds(Initializer):
    """Initial values of the user's own, in MindSpore's way."""

    def _initialize(self, arr: Any) -> None:
        arr[...] = 1 / 3


THIRDS = Thirds()


class Drawn(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 3)
        self.slope = Parameter(initializer("normal", [3]), name="slope")

    def construct(self, x: Tensor) -> Tensor:
        return nn.Dense(3, 3)(self.dense(x)) * self.slope


class Writing(Affine):
    def construct(self, x: Tensor) -> Tensor:
        self.shift += 1
        return x * self.shift


class Fixed(nn.Dense):
    def __init__(self) -> None:
        nn.Dense.__init__(self, 3, 2, weight_init="ones", bias_init="ones")


class Pair(nn.Cell):
    """Makes two cells whose Parameters have the same names."""

    def construct(self, x: Tensor) -> Tensor:
        first = nn.Dense(3, 3, weight_init="ones", bias_init="zeros")
        second = nn.Dense(3, 3, weight_init="zeros", bias_init="ones")
        return second(first(x)) + first(x)


class Holder(nn.Cell):
    def __init__(self, net: nn.Cell):
        super().__init__()
        self.net = net

    def construct(self, x: Tensor) -> Tensor:
        return self.net(x)


OUTSIDE = nn.Dense(3, 3)
PAIR = Pair()
CALLS: list[int] = []


class Counted(Scale):
    def __init__(self) -> None:
        super().__init__(2)
        CALLS.append(1)


def in_a_branch(x: Tensor) -> Tensor:
    return Affine(2.0)(x) if x.sum() > 0 else Scale(3)(x)


def in_a_loop(x: Tensor) -> Tensor:
    while x.sum() < 100:
        x = Affine(2.0)(x)
    return x


def drawn_in_a_branch(x: Tensor) -> Tensor:
    if x.sum() > 0:
        x = Drawn()(x)
    return x


def drawn_in_a_loop(x: Tensor) -> Tensor:
    for _ in range(int(x.max())):
        x = nn.Dense(3, 3)(x)
    return x


def gradients(x: Tensor) -> Any:
    net = Affine(2.0)
    return ms.grad(net, 0, net.trainable_params())(x)


def before_a_draw(x: Tensor) -> Tensor:
    """Initial values are drawn in the order of the random streams."""
    return ops.dropout(nn.Dense(3, 3, weight_init="ones", bias_init="zeros")(x), 0.5)


EQUAL: list[Callable[[Tensor], Any]] = [
    lambda x: nn.Dense(3, 2, weight_init="ones", bias_init="zeros")(x),
    lambda x: nn.Dense(3, 2, weight_init=Tensor(np.ones((2, 3), np.float32)), bias_init="zeros")(x),
    lambda x: nn.BatchNorm1d(3)(x),
    lambda x: Scale(3)(x),
    lambda x: Affine(3.0)(x),
    lambda x: Affine(3.0).shift + 0,
    lambda x: Affine(3.0).shift.value(),
    lambda x: Fixed()(x),
    lambda x: Holder(nn.ReLU())(x),
    lambda x: PAIR(x),
    in_a_branch, in_a_loop, gradients, before_a_draw,
    lambda x: nn.Dense(3, 2)(x),
    lambda x: nn.Dense(3, 2)(nn.Dense(3, 3)(x)) + nn.Dense(3, 2, weight_init="ones")(x),
    lambda x: initializer("normal", [3]) * x,
    lambda x: initializer(THIRDS, [3]) * x + ops.dropout(x, 0.5),
    lambda x: Tensor(shape=(3,), dtype=ms.float32, init="normal") + x,
    lambda x: nn.Dense(3, 2, weight_init=initializer("xavier_uniform", [2, 3]))(x),
    lambda x: Drawn()(x),
    lambda x: ms.grad(Drawn())(x),
    lambda x: nn.LSTM(3, 2)(x.reshape((1, 1, 3)))[0],
    lambda x: nn.Conv2d(1, 2, 1)(x.reshape((1, 1, 1, 3))) + nn.Embedding(3, 2)(ops.ones((1, 3), ms.int32)).sum(),
    lambda x: Drawn().slope.value(),
    drawn_in_a_branch, drawn_in_a_loop,
]


def _calls(function: Callable[[Tensor], Any]) -> list[str]:
    ms.set_seed(3)
    return [repr(function(x)) for x in (X, X, -X)]


@pytest.mark.parametrize("function", EQUAL)
def test_a_made_cell_gives_what_it_gives_in_eager_mode(function: Callable[[Tensor], Any]) -> None:
    assert _calls(ms.jit(function)) == _calls(function)


def test_a_tensor_from_outside_that_gives_first_values_is_guarded() -> None:
    values = Tensor(np.ones((2, 3), np.float32))
    function = ms.jit(lambda x: nn.Dense(3, 2, weight_init=values, bias_init="zeros")(x))
    first = function.graph_of(X)
    assert function(X).tolist() == [[2.0, 2.0]]
    assert function.graph_of(X) is first
    values += 1
    assert function(X).tolist() == [[4.0, 4.0]]


def _trained(x: Tensor) -> Tensor:
    norm = nn.BatchNorm1d(3)
    norm.set_train()
    return norm(ops.broadcast_to(x, (4, 3)))


def _trained_by_gradients(x: Tensor) -> Any:
    net = Drawn()
    return ms.grad(net, 0, net.trainable_params())(x)


def _set_data(x: Tensor) -> Tensor:
    net = Affine(2.0)
    net.shift.set_data(Tensor([5.0, 5.0, 5.0]))
    return net(x)


def _appended(x: Tensor) -> Tensor:
    cells = nn.CellList([nn.ReLU()])
    cells.append(OUTSIDE)
    return cells[1](x)


REFUSED: list[tuple[Callable[[Tensor], Any], str, str]] = [
    (_trained_by_gradients, "E208", "the gradient by the Parameter 'slope' is taken, which each run draws anew"),
    (lambda x: Drawn().slope, "E202", "a Parameter that the graph makes is returned"),
    (lambda x: x * float(Drawn().slope.asnumpy()[0]), "E203", "each run draws them"),
    (lambda x: ops.assign(Drawn().slope, x[0]), "E202", "a Parameter is written that the graph makes"),
    (lambda x: Writing(2.0)(x), "E202", "a Parameter is written that the graph makes"),
    (_trained, "E202", "a Parameter is written that the graph makes"),
    (_set_data, "E202", "a Parameter is written that the graph makes"),
    (lambda x: ops.assign(Affine(2.0).shift, x[0]), "E202", "a Parameter is written that the graph makes"),
    (lambda x: Scale(2), "E202", "a Scale that the graph makes is returned"),
    (lambda x: {"net": [Affine(2.0)]}, "E202", "an Affine that the graph makes is returned"),
    (lambda x: Affine(2.0).shift, "E202", "a Parameter that the graph makes is returned"),
    (lambda x: Affine(2.0).construct, "E202", "an Affine that the graph makes is returned"),
    (lambda x: Scale(x)(x), "E209", "`by` is not a Parameter of Scale"),
    (lambda x: nn.Dense(3, 2, weight_init=ops.broadcast_to(x, (2, 3)))(x), "E203", "needs the numbers of a tensor"),
    (lambda x: nn.SequentialCell(OUTSIDE, nn.ReLU())(x), "E202", "is to hold a Dense from outside"),
    (lambda x: Holder(OUTSIDE)(x), "E202", "is to hold a Dense from outside"),
    (_appended, "E202", "is to hold a Dense from outside"),
    (lambda x: nn.SGD(OUTSIDE.trainable_params(), 0.1)((x,)), "E202", "is to hold a Parameter from outside"),
    (lambda x: Counted()(x), "E217", "a list from outside the function is changed"),
    (lambda x: Parameter(Tensor([1.0, 2.0, 3.0])) * x, "E202", "a Parameter is made inside of the graph"),
]


@pytest.mark.parametrize(("function", "code", "words"), REFUSED)
def test_what_would_differ_from_call_to_call_is_refused(function: Callable[[Tensor], Any], code: str, words: str) -> None:
    names = [parameter.name for parameter in OUTSIDE.get_parameters()]
    with pytest.raises(CompileError, match=words) as caught:
        ms.jit(function)(X)
    assert caught.value.diagnostic.code == code
    assert "^" in str(caught.value)
    assert ([parameter.name for parameter in OUTSIDE.get_parameters()], CALLS) == (names, [])
