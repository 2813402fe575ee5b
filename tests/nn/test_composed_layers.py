"""Layers, wrappers and optimisers composed of others: the same bits in every mode.

MindSpore's numbers stand in tests/oracle/cells.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

random = np.random.default_rng(5)


@pytest.fixture
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def numbers(*shape: int) -> Tensor:
    return Tensor(random.normal(size=shape).astype(np.float32))


LAYERS: list[tuple[Callable[[], nn.Cell], tuple[int, ...]]] = [
    (lambda: nn.Unflatten(1, (2, -1)), (2, 4, 3)),
    (lambda: nn.ReduceLogSumExp(1), (2, 4)),
    (lambda: nn.CentralCrop(0.5), (2, 5, 6)),
    (lambda: nn.L1Regularizer(0.5), (2, 4)),
    (lambda: nn.Conv2dBnAct(2, 3, 2, has_bn=True, activation="relu"), (2, 2, 4, 3)),
    (lambda: nn.DenseBnAct(3, 2, has_bn=True, activation="leakyrelu"), (4, 3)),
    (lambda: nn.TimeDistributed(nn.Dense(3, 2), 1), (2, 4, 3)),
    (lambda: nn.TimeDistributed(nn.Dense(3, 2), 0, 1), (2, 4, 3)),
    (lambda: nn.LPPool1d(2.0, 3, 2, True), (1, 2, 6)),
    (lambda: nn.LPPool2d(2.0, 2), (1, 2, 4, 4)),
    (lambda: nn.GradAccumulationCell(nn.Dense(3, 2), 2), (4, 3)),
    (lambda: nn.MicroBatchInterleaved(nn.Dense(3, 2)), (4, 3)),
    (lambda: nn.PipelineCell(nn.Dense(3, 2), 2), (4, 3)),
]


@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_every_mode_gives_the_same_bits(make: Callable[[], nn.Cell], shape: tuple[int, ...]) -> None:
    ms.set_seed(3)
    cell, x = make(), numbers(*shape)
    weights = cell.trainable_params()

    def loss(x: Tensor) -> Tensor:
        return (cell(x) * cell(x)).sum()

    def answers() -> list[np.ndarray[Any, Any]]:
        value, gradients = ms.value_and_grad(loss, 0, weights)(x) if weights else ms.value_and_grad(loss)(x)
        found = (value, gradients[0], *gradients[1]) if weights else (value, gradients)
        compiled = ms.value_and_grad(ms.jit(loss), 0, weights)(x) if weights else ms.value_and_grad(ms.jit(loss))(x)
        jitted = (compiled[0], compiled[1][0], *compiled[1][1]) if weights else compiled
        for one, other in zip(found, jitted, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
        return [answer.asnumpy() for answer in found]

    eager = answers()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        graph = answers()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    for one, other in zip(eager, graph, strict=True):
        np.testing.assert_array_equal(one, other)


def test_bidense_and_image_gradients_in_a_graph() -> None:
    """They take two operands, or return two results."""
    cell, a, b = nn.BiDense(2, 3, 2), numbers(4, 2), numbers(4, 3)
    gradient = ms.grad(lambda a, b: cell(a, b).sum(), (0, 1))
    for one, other in zip(gradient(a, b), ms.grad(ms.jit(lambda a, b: cell(a, b).sum()), (0, 1))(a, b), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    differences, image = nn.ImageGradients(), numbers(1, 2, 3, 4)
    for one, other in zip(differences(image), ms.jit(lambda x: differences(x))(image), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_random_slopes() -> None:
    """Negative numbers are scaled by slopes between the bounds, which the gradient uses too; every call draws others."""
    cell, x = nn.RReLU(0.25, 0.5), numbers(50, 40)
    ms.set_seed(1)
    y = cell(x).asnumpy()
    ms.set_seed(1)
    slopes = ms.grad(lambda x: cell(x).sum())(x).asnumpy()
    negative = x.asnumpy() <= 0
    np.testing.assert_allclose(slopes * x.asnumpy(), y, rtol=1e-6)
    assert (slopes[~negative] == 1).all() and 0.25 <= slopes[negative].min() < 0.26 and 0.49 < slopes[negative].max() <= 0.5
    assert (cell(x).asnumpy() != y).any() and isinstance(nn.get_activation("rrelu"), nn.RReLU)


class Chosen(nn.Cell):
    """Calls one cell of a dict by its name, then all."""

    def __init__(self) -> None:
        super().__init__()
        self.cells_by_name = nn.CellDict({"first": nn.Dense(3, 3), "second": nn.Tanh()})

    def construct(self, x: Tensor) -> Tensor:
        x = self.cells_by_name["first"](x)
        for name, cell in self.cells_by_name.items():
            if name in self.cells_by_name:
                x = cell(x)
        for name in self.cells_by_name:
            x = self.cells_by_name[name](x)
        return x


def test_a_dict_of_cells_in_a_graph() -> None:
    """Also after one of them has been replaced, and hooks of its cells fire."""
    net, x, seen = Chosen(), numbers(2, 3), []
    jitted = ms.jit(lambda x: net(x))
    np.testing.assert_array_equal(net(x).asnumpy(), jitted(x).asnumpy())
    net.cells_by_name["second"] = nn.ReLU()
    net.cells_by_name["second"].register_forward_hook(lambda cell, inputs, output: seen.append(output.shape))
    np.testing.assert_array_equal(net(x).asnumpy(), jitted(x).asnumpy())
    assert seen == [(2, 3)] * 4
    assert [p.name for p in net.trainable_params()] == ["cells_by_name.first.weight", "cells_by_name.first.bias"]


def test_what_a_dict_of_cells_refuses() -> None:
    """An absent key leaves the dict as it is."""
    cells = nn.CellDict({"a": nn.ReLU()})
    for change in (lambda: cells.pop("b"), lambda: cells["b"], lambda: cells.__delitem__("b")):
        with pytest.raises(KeyError):
            change()
    with pytest.raises(TypeError, match="one mapping"):
        nn.CellDict({}, {})
    assert list(cells) == ["a"]


def test_a_network_runs_once_for_value_and_gradient() -> None:
    net, seen = nn.Dense(3, 2), []
    net.register_forward_hook(lambda cell, inputs, output: seen.append("forward"))
    net.register_backward_hook(lambda cell, grad_input, grad_output: seen.append("backward"))
    value, gradient = nn.ForwardValueAndGrad(net)(numbers(2, 3))
    assert seen == ["forward", "backward"] and value.shape == (2, 2) and gradient.shape == (2, 3)


@pytest.mark.usefixtures("graph_mode")
def test_wrappers_in_graph_mode() -> None:
    net, x = nn.Dense(3, 2, "ones", "ones"), numbers(2, 3)
    value, gradients = nn.ForwardValueAndGrad(net, net.trainable_params(), get_by_list=True)(x)
    np.testing.assert_array_equal(value.asnumpy(), net(x).asnumpy())
    np.testing.assert_allclose(gradients[0].asnumpy(), np.tile(x.asnumpy().sum(0), (2, 1)), rtol=1e-6)
    held = Parameter(Tensor([1.0, 2.0]), name="held")
    nn.ParameterUpdate(held)(Tensor([3.0, 4.0]))
    assert held.tolist() == [3.0, 4.0]


OPTIMIZERS: list[Callable[[Any], nn.Optimizer]] = [
    nn.Adadelta, nn.Rprop, lambda p: nn.ASGD(p, lambd=0.1, t0=1.0), lambda p: nn.ProximalAdagrad(p, l1=0.01, l2=0.1), nn.AdaFactor,
    lambda p: nn.AdaFactor(p, 0.1, beta1=None, relative_step=False, compression=True), nn.LazyAdam,
]


@pytest.mark.parametrize("make", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [ms.float32, ms.float16, ms.float64])
def test_optimisers_in_a_jitted_step(make: Callable[[Any], nn.Optimizer], dtype: Any) -> None:
    """The bits of eager mode, for each dtype of parameters; float16 is computed in float32."""
    for one, other in zip(stepped(make, dtype, False), stepped(make, dtype, True), strict=True):
        np.testing.assert_array_equal(one, other)


def stepped(make: Callable[[Any], nn.Optimizer], dtype: Any, jitted: bool) -> list[np.ndarray[Any, Any]]:
    """Return all parameters of an optimiser after three steps."""
    weight = Parameter(Tensor([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]], dtype), name="w")
    bias = Parameter(Tensor([0.25, -0.75, 0.5], dtype), name="b")
    optimizer = make([weight, bias])

    def step(x: Tensor) -> Tensor:
        loss, gradients = ms.value_and_grad(lambda x: ((weight * x + bias) ** 2).sum(), None, optimizer.parameters)(x)
        optimizer(gradients)
        return loss

    run = ms.jit(step) if jitted else step
    before = weight.asnumpy()
    for scale in (1.0, -0.5, 2.0):
        run(Tensor([[1.0, 2.0, -1.0], [0.5, 1.0, 2.0]], dtype) * scale)
    assert weight.dtype is dtype and np.isfinite(weight.asnumpy()).all() and (weight.asnumpy() != before).any()
    return [p.asnumpy() for p in optimizer.get_parameters()]


def test_the_convolution_of_sequences_takes_a_weight_of_three_axes() -> None:
    weight = numbers(3, 2, 2)
    x = numbers(1, 2, 5)
    got = nn.Conv1d(2, 3, 2, pad_mode="valid", weight_init=weight)(x).asnumpy()
    np.testing.assert_array_equal(got, ops.conv1d(x, weight).asnumpy())


def test_the_loss_of_sampled_classes() -> None:
    """With a given sample the loss is MindSpore's; drawn classes are no labels, so that here only one sample is left."""
    weights, biases = Tensor(np.arange(70).reshape(7, 10) % 5 / 5, ms.float32), Tensor(np.arange(7) / 7, ms.float32)
    logits, labels = Tensor(np.arange(30).reshape(3, 10) % 7 / 7, ms.float32), Tensor([0, 1, 2])
    classes, often = Tensor([3, 1, 5, 2]), Tensor([0.1, 0.2, 0.3, 0.4])
    given = nn.SampledSoftmaxLoss(4, 7, 1, (classes, Tensor([[0.2], [0.3], [0.4]]), often))
    np.testing.assert_allclose(given(weights, biases, labels, logits).asnumpy(), [1.98111999, 2.21135712, 2.34130144], 1e-5)
    pairs = nn.SampledSoftmaxLoss(4, 7, 2, (classes, Tensor([[0.2, 0.3], [0.3, 0.1], [0.4, 0.2]]), often), reduction="sum")
    found = pairs(weights, biases, Tensor([[0, 1], [1, 2], [2, 3]]), logits)
    np.testing.assert_allclose(found.item(), 2.21323037 + 1.91207218 + 2.12374878, 1e-5)
    drawn = nn.SampledSoftmaxLoss(4, 7)
    for run in (drawn, ms.jit(drawn)):
        np.testing.assert_allclose(run(weights, biases, labels, logits).asnumpy(), [2.16389704, 2.03852749, 1.91547036], 1e-5)
    for call, kind, text in (
        (lambda: nn.SampledSoftmaxLoss(9, 7), ValueError, "'num_sampled' must be at most 'num_classes', 7"),
        (lambda: nn.SampledSoftmaxLoss(4, 7, seed=-1), ValueError, "'seed' must be at least 0"),
        (lambda: nn.SampledSoftmaxLoss(4, 7, sampled_values=3), TypeError, "three Tensors, but got 3"),
        (lambda: nn.SampledSoftmaxLoss(4, 7, sampled_values=(3,)), ValueError, "must have 3 items"),
        (lambda: drawn(weights, biases, Tensor([0.0]), logits), TypeError, "'labels' must be of Int32 or Int64"),
        (lambda: drawn(weights, biases, Tensor([[0, 1]]), logits), ValueError, r"shape \(n, 1\), but got \(1, 2\)"),
    ):
        with pytest.raises(kind, match=text):
            call()
