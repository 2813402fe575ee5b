"""The event files of `watch.statistics`, as TensorBoard itself reads them; skipped where it is not installed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, watch

pytest.importorskip("tensorboardX")
accumulator: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def numbers(array: Any) -> dict[str, float]:
    a = np.asarray(array, np.float64)
    return {"norm": float(np.sqrt((a * a).sum())), "mean": float(a.mean()), "deviation": float(a.std()), "largest": float(np.abs(a).max()),
            "zeros": float((a == 0).mean()), "not_finite": float((~np.isfinite(a)).mean())}


@pytest.mark.parametrize("wrap", [lambda function: function, ms.jit], ids=["eager", "graph"])
def test_each_number_arrives(wrap: Any, tmp_path: Path) -> None:
    ms.set_seed(0)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.ReLU(), nn.Dense(8, 3))
    parameters = net.trainable_params()
    optimizer, loss = nn.Adam(parameters, 0.01), nn.CrossEntropyLoss()
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, parameters)

    def train(x: Tensor, y: Tensor) -> Any:
        _, gradients = gradient(x, y)
        optimizer(gradients)
        return gradients

    step = wrap(train)
    rng, computed = np.random.default_rng(0), dict[tuple[str, int], float]()
    with watch.statistics(net, every=3, to=tmp_path / "events") as found:
        for n in range(1, 8):
            x = rng.normal(size=(5, 6)).astype(np.float32)
            w, b, v, c = (p.asnumpy().astype(np.float64) for p in parameters)
            hidden = x @ w.T + b
            outputs = {"0": hidden, "1": np.maximum(hidden, 0), "2": np.maximum(hidden, 0) @ v.T + c}
            before = [p.asnumpy().copy() for p in parameters]
            gradients = step(Tensor(x), Tensor(rng.integers(0, 3, 5), ms.int32))
            arrays = [("output", name, array) for name, array in outputs.items()]
            arrays += [("gradient", p.name, g.asnumpy()) for p, g in zip(parameters, gradients, strict=True)]
            arrays += [("parameter", p.name, p.asnumpy()) for p in parameters]
            computed |= {(f"{kind}/{name}/{number}", n): value for kind, name, array in arrays for number, value in numbers(array).items()}
            assert all((old != p.asnumpy()).any() for old, p in zip(before, parameters, strict=True))
    rows = {(f"{row.kind}/{row.name}", row.step): row for row in found.rows}
    read = accumulator.EventAccumulator(str(tmp_path / "events"))
    read.Reload()
    seen = set[tuple[str, int]]()
    for tag in read.Tags()["scalars"]:
        tensor, _, number = tag.rpartition("/")
        for event in read.Scalars(tag):
            value = getattr(rows[tensor, event.step], number)
            assert np.float32(value) == np.float32(event.value) and math.isfinite(value)
            if (tag, event.step) in computed:
                np.testing.assert_allclose(event.value, computed[tag, event.step], rtol=2e-5, atol=1e-6)
                seen.add((tag, event.step))
    assert seen == {(tag, n) for tag, n in computed if n in (1, 4, 7)}
