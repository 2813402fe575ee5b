"""`functional`: networks and optimisers as functions of their values, alone and many at once, against the network that changes itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, functional, grad, jit, nn, ops, value_and_grad, vmap
from adjoint.experimental.optim import AdamW
from adjoint.runtime.tensor.structure import leaves


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(3, 4), nn.Dense(4, 1)

    def construct(self, x: Tensor) -> Tensor:
        return self.second(ops.tanh(self.first(x)))


def data() -> tuple[Tensor, Tensor]:
    x = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    return Tensor(x), Tensor(x.sum(1, keepdims=True))


def same(found: Any, wanted: Any) -> None:
    here, there = leaves(found, Tensor), leaves(wanted, Tensor)
    assert len(here) == len(there) > 0
    for a, b in zip(here, there, strict=True):
        assert a.shape == b.shape and a.asnumpy().tobytes() == b.asnumpy().tobytes()


OPTIMIZERS: list[Callable[[Any], Any]] = [
    lambda p: nn.Adam(p, 1e-2, weight_decay=0.1), lambda p: nn.SGD(p, 0.1, momentum=0.9), lambda p: nn.Momentum(p, 0.1, 0.9),
    lambda p: nn.Adam(p, [0.1, 0.2, 0.3]), lambda p: nn.Lamb(p, nn.ExponentialDecayLR(0.1, 0.9, 4)), lambda p: AdamW(p, 0.1),
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_an_ensemble_is_trained_as_each_of_its_networks_alone(make: Callable[[Any], Any]) -> None:
    """To the bit: vmap of pure steps, under jit too, and the optimiser that writes its own network."""
    nets, (x, y) = [Net() for _ in range(3)], data()
    optimizers = [make(net.trainable_params()) for net in nets]
    predict, parameters = functional(nets)
    step, state = functional(optimizers)

    def loss(p: Any, x: Tensor, y: Tensor) -> Tensor:
        return ((predict(p, x) - y) ** 2).mean()

    def train(p: Any, s: Any, x: Tensor, y: Tensor) -> Any:
        p, s = step(grad(loss)(p, x, y), s, p)
        return p, s

    whole = vmap(train, (0, 0, None, None))
    runs: list[Any] = []
    for taken in (whole, jit(whole)):
        p, s = parameters, state
        for _ in range(3):
            p, s = taken(p, s, x, y)
        runs.append((p, s))
    same(*runs)
    before = [p.asnumpy().copy() for net in nets for p in net.get_parameters()]
    for i, (net, optimizer) in enumerate(zip(nets, optimizers, strict=True)):
        (p,), (s,) = functional(net)[1:], functional(optimizer)[1:]
        for _ in range(3):
            p, s = train(p, s, x, y)  # alone, in eager mode
        same([row[i] for row in leaves(runs[0], Tensor)], (p, s))
    for p, values in zip([p for net in nets for p in net.get_parameters()], before, strict=True):
        np.testing.assert_array_equal(p.asnumpy(), values)  # the functions change nothing
    net, optimizer = nets[1], optimizers[1]
    gradients = grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, net.trainable_params())
    for _ in range(3):
        optimizer(gradients(x, y))
    same([row[1] for row in leaves(runs[0][0], Tensor)], net.trainable_params())


class Counted(nn.Cell):
    """A network with statistics, a buffer, and writes on a path that a tensor decides."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("calls", Tensor(0.0))

    def construct(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        if x.sum() > -100:
            x = self.norm(x * 2)
        ops.assign_add(self.calls, Tensor(1.0))
        return x * self.calls


@pytest.mark.parametrize("taken", [lambda f: f, jit])
def test_state_is_returned(taken: Callable[[Any], Any]) -> None:
    net, (x, _) = Counted().set_train(), data()
    f, parameters, state = functional(net, with_state=True)

    def loss(p: Any, s: Any, x: Tensor) -> Any:
        y, s = f(p, s, x)
        return (y**2).sum(), s

    def run(p: Any, s: Any, x: Tensor) -> Any:
        return value_and_grad(loss, 0, has_aux=True)(p, s, x)

    (value, new), gradients = taken(run)(parameters, state, x)
    assert net.calls.item() == 0 and new["calls"].item() == 1
    weights = net.trainable_params()
    wanted, by_weight = value_and_grad(lambda x: (net(x) ** 2).sum(), None, weights)(x)
    same((value, gradients), (wanted, by_weight))
    same(new, {"norm": list(net.untrainable_params()), "calls": net.calls})


def test_gradients_inside_of_the_network_are_by_the_given_parameters() -> None:
    class Inner(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.total = Parameter(Tensor([1.0, 2.0])), Parameter(Tensor([0.0, 0.0]), requires_grad=False)

        def construct(self, x: Tensor) -> Tensor:
            def loss(x: Tensor) -> Tensor:
                return (self.weight**2 * x).sum()

            (by_weight,) = grad(loss, None, ms.ParameterTuple([self.weight]))(x)
            ops.assign_add(self.total, by_weight)
            return by_weight

    f, parameters, state = functional(Inner(), with_state=True)
    ones = Tensor([[1.0, 1.0], [3.0, 2.0]])
    given = {"weight": Tensor([[1.0, 5.0], [2.0, 7.0]])}

    def run(p: Any, s: Any, x: Tensor) -> Any:
        return f(p, s, x)

    wanted = [[2.0, 10.0], [12.0, 28.0]]
    result, new = vmap(run, (0, None, 0))(given, state, ones)
    assert result.tolist() == wanted == new["total"].tolist()
    assert f({"weight": given["weight"][1]}, state, ones[1])[0].tolist() == wanted[1] == jit(run)(
        {"weight": given["weight"][1]}, state, ones[1])[0].tolist()
    assert parameters["weight"].tolist() == [1.0, 2.0]


class Writes(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor([1.0, 2.0]))

    def construct(self, x: Tensor) -> Tensor:
        ops.assign(self.weight, x)
        return x


def first(parameters: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**parameters, "first": {**parameters["first"], **changes}}


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda f, p, x: functional(3), TypeError, "'net' must be a Cell or a list of Cells, but got 3"),
    (lambda f, p, x: functional([]), ValueError, "there must be a Cell"),
    (lambda f, p, x: functional([Net(), nn.Dense(2, 2)]), ValueError, "Cell 1, Dense, differs from Cell 0, Net"),
    (lambda f, p, x: f(x, x), TypeError, "'parameters' must be a dict of tensors"),
    (lambda f, p, x: f({"first": p["first"]}, x), ValueError, "'second.weight' is missing: give what `functional` returned"),
    (lambda f, p, x: f(first(p, more=x), x), ValueError, "'first.weight', .* but got another one, 'first.more'"),
    (lambda f, p, x: f(first(p, bias=x), x), ValueError, r"'first.bias' .* must have the shape \(4,\), but got \(6, 3\)"),
    (lambda f, p, x: f(first(p, bias=1.0), x), TypeError, "'first.bias' of the argument 'parameters' must be a Tensor, but got 1.0"),
    (lambda f, p, x: f(first(p, bias=Tensor([1, 2, 3, 4])), x), TypeError, "must be Float32, but got Int64: cast it"),
    (lambda f, p, x: functional(Writes())[0](functional(Writes())[1], Tensor([1.0, 1.0])), RuntimeError, "writes its parameter 'weight'"),
    (lambda f, p, x: stepped(p, first(p, other=x)), ValueError, "'gradients' must have the structure of the parameters, but it has"),
    (lambda f, p, x: stepped(p, {"first": p["first"]}), ValueError, "'gradients' must have a tensor for each of the 4 parameters"),
    (lambda f, p, x: stepped(p, first(p, bias=x)), ValueError, r"tensor 1 of the argument 'gradients' must have the shape \(4,\)"),
])
def test_mistakes(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    f, parameters = functional(Net())
    with pytest.raises(error, match=message):
        call(f, parameters, data()[0])


def stepped(parameters: Any, gradients: Any) -> Any:
    step, state = functional(nn.SGD(Net().trainable_params(), 0.1))
    return step(gradients, state, parameters)
