"""Sizes that values decide: a graph runs in parts, for any number is made once, and has eager mode's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, mint, nn, ops
from adjoint.foundation import made
from adjoint.runtime.graphs.guards.guards import Guards
from tests.runtime.threads import at_once

COUNTS = (5, 8, 1, 0, 5, 3, 7, 2, 12)
WEIGHT = Tensor(np.random.default_rng(7).normal(size=(3, 2)).astype(np.float32))


def x_of(count: int, seed: int = 0) -> Tensor:
    """A matrix [4, 3] of which so many elements are positive."""
    draw = np.random.default_rng([count, seed])
    array = -np.abs(draw.normal(size=12)).astype(np.float32)
    array[draw.permutation(12)[:count]] *= -1
    return Tensor(array.reshape(4, 3))


def text(value: Any) -> Any:
    if isinstance(value, Tensor):
        return str(value.dtype), value.shape, value.asnumpy().tobytes()
    if isinstance(value, (tuple, list)):
        return type(value), *map(text, value)
    return type(value), repr(value)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return text(function(*args))
    except (IndexError, ValueError) as raised:
        return next(kind for kind in type(raised).__mro__ if kind.__module__ == "builtins")


def scattered(x: Tensor) -> Tensor:
    flat = x.reshape(-1)
    places = ops.nonzero(flat > 0)
    return ops.tensor_scatter_add(ops.ones(12, ms.float32), places, flat[flat > 0])


def rest(x: Tensor) -> Any:
    y = x[x > 0]
    z = y[y > 0.5]
    return y.sum() - z.sum(), z, z.shape


def none_at_all(x: Tensor) -> Tensor:
    y = x[x > 0]
    if y.shape[0] == 0:
        return x.sum()
    return y.mean()


def places(x: Tensor) -> Tensor:
    """Return numbers up to the count, each several times, with some below 0 among them."""
    positive = (x > 0).astype(ms.int64).reshape(-1)
    return ops.cumsum(positive, 0) * (2 * positive - 1)


ANY: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: x[x > 0] * 2,
    "rows": lambda x: ops.matmul(x[x.sum(1) > -1.5], WEIGHT),
    "a mask among other keys": lambda x: x[:, x.sum(0) > -2.0] * 2,
    "a mask behind others": lambda x: x.reshape(-1, 1)[:, 0][x.reshape(-1, 1)[:, 0] > 0],
    "masked_select": lambda x: ops.masked_select(x, x > 0).sum(),
    "masked_select of a row": lambda x: ops.masked_select(x, Tensor([True, False, True])),
    "coordinates": lambda x: ops.nonzero(x > 0),
    "coordinates of numbers": lambda x: ops.nonzero(ops.relu(x)),
    "coordinates by axis": lambda x: x[ops.nonzero(x > 0, as_tuple=True)],
    "argwhere": lambda x: ops.argwhere(x > 0).sum(0),
    "different ones": lambda x: ops.unique(ops.round(ops.relu(x) * 2)),
    "runs": lambda x: ops.unique_consecutive(x.reshape(-1) > 0, True, True),
    "runs of rows": lambda x: ops.unique_consecutive(ops.repeat_interleave(x, 2, 0), return_counts=True, dim=0),
    "a condition alone": lambda x: ops.where(x[x > 0] > 0.5, 1.0, 2.0),
    "one after the other": rest,
    "its size": lambda x: (x[x > 0].shape[0], x[x > 0].shape, len(x[x > 0]) * 2 + 1),
    "divided by its size": lambda x: x[x > 0].sum() / x[x > 0].shape[0] if x.shape[0] else x,
    "times its size": lambda x: x[x > 0] * len(x[x > 0]),
    "numbered": lambda x: x[x > 0] * ops.arange(x[x > 0].shape[0]),
    "scattered": scattered,
    "largest two": lambda x: ops.topk(x[x > 0], 2)[0],
    "joined": lambda x: ops.cat([x[x > 0], x[x > 0]]),
    "columns": lambda x: (x[x.sum(1) > -1.5][:, 0], x[x.sum(1) > -1.5][:, 1:3]),
    "reduced": lambda x: ops.softmax(x[x > 0], 0) + ops.norm(x[x > 0]),
    "none at all": none_at_all,
    "how often": lambda x: ops.bincount(places(x)),
    "how often at least": lambda x: ops.bincount((x > 0).sum().reshape(1), minlength=4) * 2,
    "sums of weights": lambda x: ops.bincount(places(x), x.reshape(-1)),
    "how often in mint": lambda x: mint.bincount(places(x).abs(), minlength=2),
    "how often in numpy": lambda x: ms.numpy.bincount(places(x)),
    "classes": lambda x: mint.nn.functional.one_hot(places(x).reshape(4, 3)),
    "lengths": lambda x: ops.sequence_mask((x > 0).sum(1)),
    "repeated by a tensor": lambda x: ops.repeat_interleave(x * 2, (x > 0).sum(1), 0),
    "columns repeated": lambda x: x.repeat_interleave((x > 0).sum(0), 1),
    "all repeated as often": lambda x: ops.repeat_interleave(x, (x > 0).sum()),
    "a count of two kinds": lambda x: (ops.nonzero((x > 0).sum()), ops.bincount((x > 0).sum().reshape(1))),
    "gradient": lambda x: ms.grad(lambda z: (ops.tanh(z[z > 0]) * z.sum()).mean())(x),
    "gradient of rows": lambda x: ms.grad(lambda z, w: ops.relu(ops.matmul(z[z.sum(1) > -2.0], w)).sum(), (0, 1))(x, WEIGHT),
    "gradient of the largest two": lambda x: ms.grad(lambda z: (ops.topk(z[z > 0], 2)[0] ** 2).sum())(x),
    "gradient of weights": lambda x: ms.grad(lambda w: (ops.bincount(places(x), w) ** 2).sum())(x.reshape(-1)),
    "gradient of what is repeated": lambda x: ms.grad(lambda z: (ops.repeat_interleave(z, (x > 0).sum(1), 0) ** 2).sum())(x),
    "gradient of what is repeated as often": lambda x: ms.grad(lambda z: (ops.repeat_interleave(z, (x > 0).sum()) ** 2).sum())(x),
    "gradient of products of rows": lambda x: ms.grad(lambda z: (z[z.sum(1) > -2.0][:, 1:].prod(-1) * 2).sum())(x),
    "gradient of a gradient": lambda x: ms.grad(lambda y: (ms.grad(lambda z: (z[z > 0] ** 3).sum())(y) * y).sum())(x),
}
"""Functions for any count."""

EACH: dict[str, Callable[[Any], Any]] = {
    "condition": lambda x: x[x > 0].sum() if x[x > 0].shape[0] > 4 else x.sum(),
    "loop": lambda x: sum((x[x > 0][i] * i for i in range(x[x > 0].shape[0])), x.sum()),
    "last": lambda x: x[x > 0][-1],
    "half": lambda x: x[x > 0][: x[x > 0].shape[0] // 2],
    "a shape": lambda x: ops.matmul(x[x > 0].reshape(1, 5), ops.ones((5, 2))),
    "a shape of one column": lambda x: x[x > 0] + Tensor([1.0, 2.0, 3.0, 4.0, 5.0]),
    "a shape after another size": lambda x: x[x < 0].sum() + x[x > 0].reshape(5, 1) + x[x > 0.1].reshape(1, -1)[:, :2],
    "classes of so many labels": lambda x: ops.cross_entropy(ops.stack((x[x > 0], x[x > 0] * 2), 1), Tensor([0, 1, 0, 1, 1])),
    "so many counts": lambda x: ops.bincount((x > 0).sum().reshape(1)) * Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "gradient of a shape": lambda x: ms.grad(lambda z: (z[z > 0].reshape(5, 1) ** 2).sum())(x),
    "gradient of what is joined": lambda x: ms.grad(lambda z: (ops.cat([z[z > 0], z[z > 0] * 2]) ** 2).sum())(x),
}
"""Functions in which Python needs to know the number, or the gradient."""


@pytest.mark.parametrize("name", ANY)
def test_a_graph_is_made_for_any_count(name: str) -> None:
    function = ANY[name]
    run = jit(function)
    ms.jit_stats(run)
    for count in COUNTS:
        assert outcome(run, x_of(count)) == outcome(function, x_of(count)), count
    for count in (4, 6, 9, 10):
        expected, before = outcome(function, x_of(count)), made.counted()
        assert outcome(run, x_of(count)) == expected, count
        new = made.counted() - before
        assert not new["lowerings"] and not new["graphs"] and not new["adjoints"], (count, new)
    assert "in parts, by count" in str(ms.jit_stats(run)) and "eagerly" not in str(ms.jit_stats(run))


@pytest.mark.parametrize("name", EACH)
def test_a_count_that_python_needs_is_never_guessed(name: str) -> None:
    function = EACH[name]
    run = jit(function)
    for count in COUNTS:
        assert outcome(run, x_of(count)) == outcome(function, x_of(count)), count


class Counter(nn.Cell):
    """Counts its calls, and takes only some numbers of positive elements."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.calls = nn.Dense(2, 1, "ones", "zeros"), 0

    def construct(self, x):
        self.calls += 1
        return self.dense(x[x > 0].reshape(-1, 2) if self.calls > 1 else x[x > 0].reshape(4, 2)) * self.calls


def test_a_shape_in_cells() -> None:
    """What the body writes is written once for each call, though the call begins again in the graph for the number."""
    found: list[list[Any]] = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            net = nn.SequentialCell(nn.ReLU(), Counter())
            found.append([text(net(x_of(count))) for count in (8, 4, 8, 2, 6)])
            gradient = ms.value_and_grad(lambda x, net=net: net(x).sum())
            found[-1] += [*(text(gradient(x_of(count))) for count in (8, 4)), net[1].calls]
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert found[0] == found[1] and found[0][-1] == 7


def test_many_counts_that_python_needs() -> None:
    """Each is a graph that `jit_stats` shows; after some of them the function itself runs."""
    def function(x: Tensor) -> Tensor:
        y = x[x > 0]
        return y.sum() * (2 if y.shape[0] > 4 else 3)

    run = jit(function)
    ms.jit_stats(run)
    for count in range(20):
        x = Tensor(np.where(np.arange(24) < count, 1.0, -1.0).astype(np.float32))
        assert text(run(x)) == text(function(x))
    stats = str(ms.jit_stats(run))
    assert "another count: 14\n" in stats and "another count: 15" not in stats
    assert "eagerly: values decide a size in it, and Python needs to know it: it has had 16 numbers" in stats


def test_a_gradient_from_outside() -> None:
    """The graph and its gradient are one; for the counts 0 and 1 the function itself runs."""
    def loss(x: Tensor, w: Tensor) -> Tensor:
        return ops.relu(ops.matmul(x[x.sum(1) > -1.5], w)).sum()

    run = jit(loss)
    ms.jit_stats(run)
    for count in COUNTS:
        assert text(ms.grad(run, (0, 1))(x_of(count), WEIGHT)) == text(ms.grad(loss, (0, 1))(x_of(count), WEIGHT))
    assert "joint gradient" in str(ms.jit_stats(run))


def test_threads_with_other_counts() -> None:
    function = ANY["gradient"]
    run = jit(function)

    def work(i: int) -> bool:
        return all(text(run(x_of(count, i))) == expected[i][count] for count in COUNTS)

    expected = [{count: text(function(x_of(count, i))) for count in COUNTS} for i in range(4)]
    assert at_once(4, work) == [True] * 4


class Detector(nn.Cell):
    """Predictions for the places of a grid, of which only some have a box."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 3, 1)

    def construct(self, x):
        return self.head(ops.relu(self.norm(self.conv(x)))).transpose(0, 2, 3, 1)


def trained(wrap: Callable[[Any], Any], hooked: bool = False) -> list[Any]:
    ms.set_seed(3)
    net = Detector()
    net.set_train()
    seen: list[Any] = []
    if hooked:
        net.norm.register_forward_hook(lambda cell, inputs, output: seen.append(text(output)))
        net.head.register_backward_hook(lambda cell, grad_input, grad_output: seen.append(text(grad_output)))
    optimiser = nn.Momentum(net.trainable_params(), 0.1, 0.9)

    def loss(image: Tensor, wanted: Tensor) -> Tensor:
        found, has_box = net(image), wanted[..., 2] > 0.5
        apart = (found[has_box] - wanted[has_box])[:, :2].abs()
        return apart.mean() + ops.relu(found[..., 2]).sum() / apart.shape[0]

    gradient = ms.value_and_grad(loss, None, optimiser.parameters)

    def step(image: Tensor, wanted: Tensor) -> Tensor:
        value, gradients = gradient(image, wanted)
        optimiser(gradients)
        return value

    run, values = wrap(step), []
    for count in (*COUNTS[:3], 4, 9, 9, 6):
        draw = np.random.default_rng(count)
        wanted = draw.normal(size=(1, 5, 5, 3)).astype(np.float32)
        wanted[..., 2] = 0
        wanted.reshape(-1, 3)[draw.permutation(25)[:count], 2] = 1
        values.append(text(run(Tensor(draw.normal(size=(1, 1, 5, 5)).astype(np.float32)), Tensor(wanted))))
    return [*values, *seen, *[text(p.copy()) for p in net.get_parameters()]]


def test_training_a_detector() -> None:
    """The statistics of the normalisation are written before the count is known, in the graph as late as the other Parameters."""
    assert trained(jit) == trained(lambda step: step)


def test_hooks_run_as_in_eager_mode() -> None:
    assert trained(jit, hooked=True) == trained(lambda step: step, hooked=True)


def test_a_hook_that_waits_for_the_gradient() -> None:
    seen: list[Any] = []
    x = x_of(5)
    x.register_hook(lambda gradient: seen.append(text(gradient)))
    function = jit(lambda x: ms.grad(lambda z: (z[z > 0] ** 2).sum())(x))
    assert text(function(x)) == text(function.__wrapped__(x_of(5))) and len(seen) == 1


def test_where_a_graph_cannot_be_split() -> None:
    """In a branch or a loop that a tensor decides, if that branch runs; random numbers before the count make the function itself run."""
    def branch(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x[x > 0].sum()
        return x.sum()

    with pytest.raises(RuntimeError, match=r"For 'Tensor\[...\]', the result's shape depends on values: .* in a branch or a loop"):
        jit(branch)(x_of(12))
    assert text(jit(branch)(x_of(0))) == text(branch(x_of(0)))

    def noisy(x: Tensor) -> Tensor:
        y = ops.dropout(x, 0.5, training=True)
        return y[x > 0]

    run = jit(noisy)
    ms.jit_stats(run)
    found = []
    for function in (noisy, run):
        ms.set_seed(5)
        found.append([text(function(x_of(count))) for count in (4, 1, 6)])
    assert found[0] == found[1]
    assert "has an effect before a size that values decide" in str(ms.jit_stats(run))


def test_a_graph_that_has_no_parts_and_is_never_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one during whose making another thread kept writing: the function itself runs, each time."""
    def noisy(x: Tensor) -> Tensor:
        return ops.dropout(x, 0.5, training=True)[x > 0]

    def never_up_to_date(guards: Guards) -> None:
        complete(guards)
        guards.give_up()

    run, complete = jit(noisy), Guards._compile
    monkeypatch.setattr(Guards, "_compile", never_up_to_date)
    for count in (4, 4, 6):
        ms.set_seed(5)
        found = text(run(x_of(count)))
        ms.set_seed(5)
        assert found == text(noisy(x_of(count)))


def test_a_place_outside_names_the_line() -> None:
    """A check that fails in a later part raises what eager mode raises."""
    def function(x: Tensor, i: Tensor) -> Tensor:
        return x[x > 0][i]

    run = jit(function)
    for count in (5, 6):
        with pytest.raises(IndexError) as expected:
            function(x_of(count), Tensor([9]))
        with pytest.raises(IndexError) as found:
            run(x_of(count), Tensor([9]))
        assert str(found.value) == str(expected.value)
    assert text(run(x_of(5), Tensor([1]))) == text(function(x_of(5), Tensor([1])))
