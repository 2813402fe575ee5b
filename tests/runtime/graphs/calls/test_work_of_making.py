"""Making a graph takes work in proportion to its layers.  Calls of Python functions are counted, since times depend on the machine."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from typing import Any

import adjoint as ms
from adjoint import Tensor, nn
from adjoint.foundation.budget import budget


def calls_of(layers: int) -> Counter[str]:
    """Return how often the first call of a training step's graph calls each Python function, by file and name."""
    net = nn.SequentialCell(*[layer for _ in range(layers) for layer in (nn.Dense(3, 3), nn.ReLU())])
    step = ms.jit(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
    calls: Counter[str] = Counter()

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            calls[f"{frame.f_code.co_filename.rpartition('adjoint/')[2]} {frame.f_code.co_name}"] += 1

    x = Tensor([[1.0, 2.0, 3.0]])
    gc.collect()  # no finaliser of another test's objects meanwhile
    period = budget.period
    sys.setprofile(count)
    try:
        step(x)
    finally:
        sys.setprofile(None)
    # The caches of the process have begun a new period, which looks at what all other tests have left in them: count again.
    return calls if period == budget.period else calls_of(layers)


def test_the_work_grows_with_the_layers() -> None:
    """A layer of a network of 80 costs what one of 20 does: nothing is done for each pair of layers."""
    calls_of(2)  # loads modules and compiles kernels
    few, some, many = (calls_of(layers) for layers in (20, 50, 80))
    more = {name: (many[name] - some[name]) - (some[name] - few[name]) for name in many}
    assert not {name: number for name, number in more.items() if number > 30}, "calls that 30 layers more need more often than 30 before"
    assert (many - some).total() / 30 < 6500
