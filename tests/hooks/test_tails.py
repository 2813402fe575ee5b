"""Graphs along whose path the user's code runs: what comes after it is a graph of its own, unless the user's code has changed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.runtime.graphs.running import tails
from tests.hook_events import recorded

X, LABELS = Tensor(np.random.default_rng(2).standard_normal((4, 3)).astype(np.float32)), Tensor(np.array([0, 2, 1, 2], np.int32))


class Net(nn.Cell):
    """Two layers with forward hooks, as those that collect statistics."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        first, second = (Tensor(rng.standard_normal((3, 3)).astype(np.float32)) for _ in range(2))
        self.first, self.act, self.second = nn.Dense(3, 3, first, "ones"), nn.Tanh(), nn.Dense(3, 3, second, "ones")
        for cell in (self.first, self.act, self.second):
            cell.register_forward_hook(lambda cell, args, output: None)

    def construct(self, x):
        return self.second(self.act(self.first(x)))


class Report(nn.Cell):
    """What a step computes of its loss."""

    def construct(self, loss):
        for _ in range(4):
            loss = ops.tanh(loss) + 1
        return loss


class Training:
    """A network and the step that trains it; `calls` is the number of calls of its last hook."""

    def __init__(self) -> None:
        self.net, self.report, self.calls = Net(), Report(), 0
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        loss = nn.CrossEntropyLoss()
        self.gradient = ms.value_and_grad(lambda x, labels: loss(self.net(x), labels), None, self.optimizer.parameters)

    def step(self, x: Tensor, labels: Tensor) -> Tensor:
        value, gradients = self.gradient(x, labels)
        self.optimizer(gradients)
        return self.report(value)


Change = Callable[[Training], Any]


def log_of(wrapped: Callable[..., Any], change: Change) -> list[Any]:
    """Return the calls of hooks, values and parameters of five steps; a hook makes the change in the third."""
    with recorded() as events:
        training = Training()

        def hook(cell: Any, args: Any, output: Any) -> None:
            training.calls += 1
            if training.calls == 3:
                change(training)

        training.net.second.register_forward_hook(hook)
        step = wrapped(training.step)
        for _ in range(5):
            try:
                events.append(("loss", step(X, LABELS).asnumpy().tobytes()))
            except (TypeError, ValueError) as raised:
                events.append(("raised", str(raised).splitlines()[0]))
            weights = *training.optimizer.parameters, *training.optimizer.moments
            events += [("weight", p.name, p.dtype, p.asnumpy().tobytes()) for p in weights]
    return events


def raises(training: Training) -> None:
    raise ValueError("boom")


CHANGES: dict[str, Change] = {
    "nothing": lambda training: None,
    "a forward hook of a later cell": lambda training: training.report.register_forward_hook(lambda cell, args, output: output * 2),
    "another dtype there": lambda training: training.report.register_forward_pre_hook(lambda cell, args: (args[0].astype(ms.float64),)),
    "a weight": lambda training: training.net.first.weight.set_data(training.net.first.weight * 0.5),
    "a moment": lambda training: training.optimizer.moments[0].set_data(training.optimizer.moments[0] * 0.5),
    "a hook of a weight": lambda training: training.net.first.weight.register_hook(lambda gradient: gradient * 2),
    "it raises": raises,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_training_step_is_that_of_eager_mode(change: str) -> None:
    expected = log_of(lambda function: function, CHANGES[change])
    assert log_of(ms.jit, CHANGES[change]) == expected


def test_the_update_is_a_graph_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = list[bool]()
    original = tails.HeadAndTail._is_as_it_was
    monkeypatch.setattr(tails.HeadAndTail, "_is_as_it_was", lambda self, between: alone.append(original(self, between)) or alone[-1])
    log_of(ms.jit, CHANGES["another dtype there"])
    assert alone == [True, True, False]


def test_a_tail_that_ignores_late_hooks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake."""
    monkeypatch.setattr(tails, "_has_hooks", lambda reference: False)
    change = CHANGES["another dtype there"]
    assert log_of(ms.jit, change) != log_of(lambda function: function, change)


def test_a_parameter_that_is_read_before_it_is_written() -> None:
    """It is returned as the parameter that it is, with its new value."""

    def run(wrapped: Callable[..., Any]) -> list[bytes]:
        cell = nn.Tanh()
        cell.register_forward_hook(lambda cell, args, output: None)
        w = ms.Parameter(Tensor([1.0, 2.0]), name="w")

        def f(x: Tensor) -> Any:
            before = w
            y = cell(x * before)
            for _ in range(4):
                y = ops.sin(y) * 2 + 1
            ops.assign(w, y)
            return before, w * 1, y

        step = wrapped(f)
        return [x.asnumpy().tobytes() for _ in range(3) for x in step(Tensor([0.5, -0.5]))]

    assert run(ms.jit) == run(lambda function: function)
