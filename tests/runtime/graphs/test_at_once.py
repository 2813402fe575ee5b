"""Graphs that run and are recorded by one call on a tape: what they compute, record and leave alone."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS, Program

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.made import counted
from adjoint.runtime.execution import bound_plan
from adjoint.runtime.graphs.running.at_once import AtOnce
from tests.outcomes import compiled, kept, same

runs: Counter[bool] = Counter()
"""How many runs were tried by one call, by whether they could be."""


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    runs.clear()
    run = AtOnce.run

    def noted(self: AtOnce, *given: Any) -> Any:
        found = run(self, *given)
        runs[found is not None] += 1
        return found

    monkeypatch.setattr(AtOnce, "run", noted)


class Layers(nn.Cell):
    """Cells in cells, a Parameter that is used twice, a value that a library's op computes from a constant."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.layers = nn.CellList([nn.Dense(3, 3) for _ in range(3)])
        for p in self.layers.get_parameters():
            p.set_data(Tensor(rng.normal(size=p.shape).astype(np.float32)))
        self.scale = Parameter(Tensor([1.5, -0.5, 2.0]), name="scale")
        self.norm = nn.LayerNorm((3,))

    def construct(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = ops.tanh(layer(x) * self.scale) + x
        return self.norm(x)


def batch(seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=(4, 3)).astype(np.float32))


def cubed(y: Tensor) -> Tensor:
    return (y * y * y).sum()


def gradient(net: Any, weights: Any, loss: Callable[[Tensor], Tensor] = cubed) -> Callable[..., Any]:
    return ms.value_and_grad(lambda x: loss(net(x)), 0, weights)


def often(step: Callable[[], Any]) -> Iterator[Any]:
    """Yield what a step returns, so often that it runs by one call in the end."""
    for _ in range(bound_plan._SEVERAL + 3):
        yield step()
    assert runs[True], "it was never run by one call"


def test_the_bits_are_those_of_eager_mode() -> None:
    net, x = Layers(), batch()
    expected = kept(gradient(net, net.trainable_params())(x))
    step = gradient(ms.jit(net), net.trainable_params())
    for found in often(lambda: kept(step(x))):
        same(expected, found, "gradient")


def test_the_recording_is_that_of_the_nodes() -> None:
    """No adjoint is made for it: that of the runs before is found at the same step."""
    net, x = Layers(), batch()
    step = gradient(ms.jit(net), net.trainable_params())
    for _ in range(bound_plan._SEVERAL):
        step(x)
    before = counted()
    step(x)
    step(x)
    assert runs[True] == 2
    assert counted()["adjoints"] == before["adjoints"]


def test_parameters_that_change_and_other_arguments() -> None:
    net = Layers()
    step, plain = gradient(ms.jit(net), net.trainable_params()), gradient(net, net.trainable_params())
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    for seed in range(bound_plan._SEVERAL + 3):
        found = kept(step(batch(seed)))
        same(kept(plain(batch(seed))), found, "gradient")
        optimizer(step(batch(seed))[1][1])
    assert runs[True]


def test_what_the_caller_does_with_arguments_and_results() -> None:
    """It uses both again, writes them, and takes the result through another cell."""

    def program(net: Any) -> Callable[[Tensor], Tensor]:
        def function(x: Tensor) -> Tensor:
            y = net(x)
            z = net(y) * x + y
            y.add_(1.0)
            return (net(z) * y).sum() + (x * y).sum()

        return function

    net, x = Layers(), batch()
    weights = net.trainable_params()
    expected = kept(ms.value_and_grad(program(net), 0, weights)(x))
    step = ms.value_and_grad(program(ms.jit(net)), 0, weights)
    for found in often(lambda: kept(step(x))):
        same(expected, found, "gradient")


class Normalised(nn.Cell):
    """Random numbers that are drawn, and Parameters that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(3, 3), nn.Dense(3, 3)
        self.norm, self.dropout = nn.BatchNorm1d(3), nn.Dropout(p=0.5)
        self.set_train()

    def construct(self, x: Tensor) -> Tensor:
        return self.second(self.dropout(self.norm(self.first(x) * x)))


def test_random_numbers_and_parameters_that_are_written() -> None:
    x, steps = batch(), []
    for jitted in (False, True):
        ms.set_seed(1)
        net = Normalised()
        called = ms.jit(net) if jitted else net
        steps.append((net, ms.value_and_grad(lambda x, called=called: cubed(called(x) * called(x * 0.5)), 0, net.trainable_params())))

    def trained(net: Normalised, step: Callable[..., Any]) -> Any:
        ms.set_seed(7)
        return kept([(step(x), list(net.get_parameters())) for _ in range(bound_plan._SEVERAL + 3)])

    expected, found = (trained(*each) for each in steps)
    same(expected, found, "training")
    assert runs[True]


def test_a_parameter_of_another_dtype() -> None:
    net, x = nn.Dense(3, 3), batch()
    step, plain = gradient(ms.jit(net), net.trainable_params()), gradient(net, net.trainable_params())
    for _ in often(lambda: step(x)):
        pass
    net.to_float(ms.float16)
    same(kept(plain(x)), kept(step(x)), "gradient")


def test_second_order() -> None:
    net, x = Layers(), batch()
    expected = kept(ms.grad(lambda x: ops.square(ms.grad(lambda x: cubed(net(x)))(x)).sum())(x))
    jitted = ms.jit(net)
    step = ms.grad(lambda x: ops.square(ms.grad(lambda x: cubed(jitted(x)))(x)).sum())
    for found in often(lambda: kept(step(x))):
        same(expected, found, "gradient")


def test_hooks_around_it() -> None:
    def program(net: Any) -> Callable[[Tensor], Tensor]:
        def function(x: Tensor) -> Tensor:
            y = net(x)
            y.register_hook(lambda grad: grad * 2.0)
            return (y * y).sum()

        return function

    net, x = Layers(), batch()
    handle = net.scale.register_hook(lambda grad: grad + 1.0)
    weights = net.trainable_params()
    expected = kept(ms.grad(program(net), 0, weights)(x))
    step = ms.grad(program(ms.jit(net)), 0, weights)
    for found in often(lambda: kept(step(x))):
        same(expected, found, "gradient")
    handle.remove()


def test_hooks_that_are_registered_later_are_called_and_may_be_removed() -> None:
    net, x = Layers(), batch()
    step, plain = gradient(ms.jit(net), net.trainable_params()), gradient(net, net.trainable_params())
    for _ in often(lambda: step(x)):
        pass
    inner: Any = net.layers[1]
    for register in (inner.register_forward_hook, inner.register_forward_pre_hook):
        handle = register(lambda cell, args, *output: tuple(each * 2.0 for each in args) if not output else output[0] * 2.0)
        same(kept(plain(x)), kept(step(x)), "gradient")
        handle.remove()
    seen: list[Any] = []
    for register in (inner.register_backward_hook, inner.register_backward_pre_hook):
        handle = register(lambda cell, *given: seen.append(kept(given)))
        same(kept(plain(x)), kept(step(x)), "gradient")
        assert len(seen) == 2
        same(seen.pop(), seen.pop(), "seen")
        handle.remove()
    runs.clear()
    same(kept(plain(x)), kept(step(x)), "gradient")
    assert runs[True] == 1


def test_a_function_and_a_graph_without_gradient() -> None:
    net, x = Layers(), batch()

    @ms.jit
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = net(x) * y
        return z, ops.exp(y)

    def program(x: Tensor) -> Tensor:
        with ms._no_grad():
            constant = function(x, x)[0]
        z, _ = function(x, constant)
        return (z * constant).sum()

    step, expected = ms.value_and_grad(program, 0, net.trainable_params()), None
    for found in often(lambda: kept(step(x))):
        expected = expected or found
        same(expected, found, "gradient")


@pytest.mark.parametrize("program", [p for p in PROGRAMS.values() if p.wrt is not None and p.raises is None and not p.refused],
                         ids=lambda program: program.name)
def test_programs(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_plan, "_SEVERAL", 1)
    fn, reference = program.make(), program.make()

    def gradient_of(called: Any, owner: Any) -> Callable[[], Any]:
        weights = owner.trainable_params() if isinstance(owner, nn.Cell) else []
        taken = ms.value_and_grad(called, program.wrt or None, weights or None)

        def call() -> Any:
            arguments, keywords = program.arguments()
            ms.set_seed(7)
            with contextlib.redirect_stdout(io.StringIO()):
                return kept((taken(*arguments, **keywords), weights))

        return call

    jitted = compiled(fn)
    # What calls it is no graph, so that it runs on a tape.
    expected = gradient_of(lambda *given, **named: reference(*given, **named), reference)
    found = gradient_of(lambda *given, **named: jitted(*given, **named), fn)
    for number in range(4):
        same(expected(), found(), f"{program.name}, call {number}")
