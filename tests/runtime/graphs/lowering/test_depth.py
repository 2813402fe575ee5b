"""Making a graph takes work in proportion to its depth: the same calls for each layer, and no run of the garbage collector."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.running.optimised import quiet_plan

X = Tensor(np.ones((2, 4), np.float32))


def step_of(depth: int) -> Any:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.CellList([nn.Dense(4, 4) for _ in range(depth)])

        def construct(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = ops.tanh(layer(x))
            return (x * x).mean()

    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 1e-3, 0.9)
    gradient = ms.value_and_grad(net, None, optimizer.parameters)

    def step(x: Tensor) -> Any:
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    return ms.jit(step)


def calls_to_make(depth: int) -> Counter[str]:
    """Return how often each function is called while the graph of a training step is made."""
    called: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            called[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            called[argument.__qualname__] += 1

    step = step_of(depth)
    sys.setprofile(count)
    try:
        quiet_plan(parsed(step, X).graph)
    finally:
        sys.setprofile(None)
    return called


def test_each_further_layer_takes_the_same_calls() -> None:
    calls_to_make(2)
    shallow, middle, deep = (calls_to_make(depth) for depth in (4, 16, 28))
    excess = {name: (middle[name] - shallow[name], n - middle[name]) for name, n in deep.items()
              if n - middle[name] > 1.1 * (middle[name] - shallow[name]) + 12}
    assert not excess


def test_the_collector_does_not_run_meanwhile() -> None:
    """It would look at the objects of the whole process again and again: the more layers, the more often, and the more objects."""
    collected: list[str] = []
    step, threshold = step_of(4), gc.get_threshold()
    gc.callbacks.append(lambda phase, _: collected.append(phase))
    try:
        gc.set_threshold(100, 2, 2)
        quiet_plan(parsed(step, X).graph)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.pop()
    assert collected.count("start") < 10  # each part is followed by one
