"""A small network and a step that trains it, of which tests compare all that happens in eager mode and as a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, nn
from tests.hook_events import recorded

__all__ = ["LABELS", "X", "Layers", "Training", "eager", "log_of"]

X, LABELS = Tensor(np.random.default_rng(2).standard_normal((4, 3)).astype(np.float32)), Tensor(np.array([0, 2, 1, 2], np.int32))


class Layers(nn.Cell):
    """Two layers, and what is between them."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        first, second = (Tensor(rng.standard_normal((3, 3)).astype(np.float32)) for _ in range(2))
        self.first, self.act, self.second = nn.Dense(3, 3, first, "ones"), nn.Tanh(), nn.Dense(3, 3, second, "ones")

    def construct(self, x):
        return self.second(self.act(self.first(x)))


class Training:
    """A network and the step that trains it, which returns its loss, or what `report` makes of it."""

    def __init__(self, net: Any, report: nn.Cell | None = None):
        self.net, self.report = net, report
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        loss = nn.CrossEntropyLoss()
        self.gradient = ms.value_and_grad(lambda x, labels: loss(self.net(x), labels), None, self.optimizer.parameters)

    def step(self, x: Tensor, labels: Tensor) -> Tensor:
        value, gradients = self.gradient(x, labels)
        self.optimizer(gradients)
        return value if self.report is None else self.report(value)


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function itself: beside `jit`."""
    return function


def log_of(
    wrapped: Callable[..., Any],
    made: Callable[[], Training],
    before: Callable[[Training, int], Any] = lambda training, number: None,
    steps: int = 5,
) -> list[Any]:
    """Return the calls of hooks, results and parameters of some steps; `before` is called before each."""
    with recorded() as events:
        training = made()
        step = wrapped(training.step)
        for number in range(steps):
            before(training, number)
            try:
                events.append(("loss", step(X, LABELS).asnumpy().tobytes()))
            except (TypeError, ValueError) as raised:
                events.append(("raised", str(raised).splitlines()[0]))
            weights = *training.optimizer.parameters, *training.optimizer.moments
            events += [("weight", p.name, p.dtype, p.asnumpy().tobytes()) for p in weights]
    return events
