"""Measure what watching costs a training step of LeNet-5, batch 32: in eager mode, and with the whole step in one graph.

    python benchmarks/watching.py

A step that is watched and one that is not take turns in one process; the median of the ratios counts.  One thread is timed by the processor
time of the process.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import nets_adjoint
import numpy as np

import adjoint as ms
from adjoint import Tensor, nn, watch

STEPS = 20
WAYS: dict[str, Callable[[nn.Cell], AbstractContextManager[Any]]] = {
    "check_finite": lambda _: watch.check_finite(), "statistics, every 10": lambda net: watch.statistics(net, every=10),
    "memory": lambda _: watch.memory(), "profile": lambda _: watch.profile()}
"""For each way to watch, a function of the network that returns the context manager."""


def jitted_step(net: nn.Cell) -> Callable[[], Any]:
    """One step of momentum SGD on fixed data, as one graph."""
    net.set_train()
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 1e-4, 0.9)
    images = nets_adjoint.images(32)
    data, labels = Tensor(images), Tensor((np.arange(len(images)) % 10).astype(np.int32))
    gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

    @ms.jit
    def step(data: Tensor, labels: Tensor) -> Tensor:
        loss, grads = gradient(data, labels)
        optimizer(grads)
        return loss

    return lambda: step(data, labels)


def measure(step: Callable[[], Any], watched: Callable[[], AbstractContextManager[Any]], seconds: float) -> tuple[float, float]:
    """Return the best time of a step that is not watched, in microseconds, and the median ratio of the times."""

    def turn() -> float:
        begin = time.process_time()
        for _ in range(STEPS):
            step()
        return (time.process_time() - begin) / STEPS * 1e6

    for _ in range(10):  # until fused kernels are there, too
        turn()
        with watched():
            turn()
    time.sleep(2)
    plain: list[float] = []
    ratios: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        plain.append(turn())
        with watched():
            turn()  # the first sampled steps of a block
            ratios.append(turn() / plain[-1])
    return min(plain), statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    chosen = parser.parse_args()
    ms.set_context(num_threads=1)
    nets = {"eager": nets_adjoint.LeNet(), "jit": nets_adjoint.LeNet()}
    steps = {"eager": nets_adjoint.step_of(nets["eager"], nets_adjoint.images(32)), "jit": jitted_step(nets["jit"])}
    print("| LeNet-5 training step, batch 32 | not watched | " + " | ".join(WAYS) + " |")
    print("|---" * (len(WAYS) + 2) + "|")
    for mode, step in steps.items():
        found = [measure(step, functools.partial(watched, nets[mode]), chosen.seconds) for watched in WAYS.values()]
        ratios = " | ".join(f"{ratio:.2f}" for _, ratio in found)
        print(f"| {mode} | {min(best for best, _ in found):.0f} us | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
