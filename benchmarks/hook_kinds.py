"""Measure what Python hooks cost in eager mode and under one `jit`: of each kind on LeNet-5's 12 layers in a training step, batch 32, and
forward hooks in calls of small networks without gradients.

    python benchmarks/hook_kinds.py

All steps take turns in one process, and the best sample of each counts; with `--threads 1` it is processor time.  Every hook is called in
every step, and changes nothing, but for the rows in which the output is doubled: under `jit` the function then runs eagerly.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import nets_adjoint
import numpy as np

import adjoint as ms
from adjoint import Tensor, nn


class Counted:
    """A hook of any kind that changes nothing and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *given: Any) -> None:
        self.calls += 1


class Watched(nets_adjoint.LeNet):
    """LeNet-5 whose construct registers a hook on the result of each layer."""

    def __init__(self, hook: Counted):
        super().__init__()
        self.layers = (self.c1, self.r1, self.p1, self.c2, self.r2, self.p2, self.flatten, self.f1, self.r3, self.f2, self.r4, self.f3)
        self.hook = hook

    def construct(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
            x.register_hook(self.hook)
        return x


Step = Callable[[], Any]


def hooked(*kinds: str) -> Callable[[Counted], Step]:
    """Return what makes a step of a LeNet with hooks of these kinds on each layer."""

    def make(hook: Counted) -> Step:
        net = nets_adjoint.LeNet()
        for cell in net.cells():
            for kind in kinds:
                getattr(cell, f"register_{kind}_hook")(hook)
        return nets_adjoint.step_of(net, nets_adjoint.images(32))

    return make


def watched(hook: Counted) -> Step:
    return nets_adjoint.step_of(Watched(hook), nets_adjoint.images(32))


def twice(hook: Counted) -> Step:
    """Return a step that trains two networks with backward hooks, one after the other."""
    make = hooked("backward")
    first, second = make(hook), make(hook)

    def step() -> Any:
        return first() + second()

    return step


def called(net: Callable[[], nn.Cell], *kinds: str) -> Callable[[Counted], Step]:
    """Return what makes a call of a network on one row, without gradients; with hooks of these kinds on its layers, or on itself."""

    def make(hook: Counted) -> Step:
        made, x = net(), Tensor(np.ones((1, 16), np.float32))
        for cell in [*made.cells()] or [made]:
            for kind in kinds:
                getattr(cell, f"register_{kind}_hook")(hook)
        return lambda: made(x)

    return make


def keeping(hook: Counted) -> Step:
    """Return a call of two layers whose hooks keep the output in their cell."""
    net, x = two_layers(), Tensor(np.ones((1, 16), np.float32))

    def keep(cell: Any, args: Any, output: Tensor) -> None:
        hook()
        cell.out = output

    for cell in net.cells():
        cell.register_forward_hook(keep)
    return lambda: net(x)


def doubling(layers: int) -> Callable[[Counted], Step]:
    """Return what makes a call of so many layers, whose hooks return another output."""

    def make(hook: Counted) -> Step:
        net, x = nn.SequentialCell([nn.Dense(16, 16) for _ in range(layers)]), Tensor(np.ones((1, 16), np.float32))

        def double(cell: Any, args: Any, output: Tensor) -> Tensor:
            hook()
            return output * 2

        for cell in net.cells():
            cell.register_forward_hook(double)
        return lambda: net(x)

    return make


def two_layers() -> nn.Cell:
    return nn.SequentialCell(nn.Dense(16, 16), nn.Dense(16, 4))


KINDS: dict[str, tuple[Callable[[Counted], Step], int]] = {
    "no hooks": (hooked(), 0),
    "12 backward hooks": (hooked("backward"), 12),
    "12 backward pre hooks": (hooked("backward_pre"), 12),
    "12 forward hooks": (hooked("forward"), 12),
    "12 forward pre hooks": (hooked("forward_pre"), 12),
    "12 of each of the four": (hooked("forward_pre", "forward", "backward_pre", "backward"), 48),
    "12 x register_hook": (watched, 12),
    "two networks, 12 each": (twice, 24),
    "ReLU, forward": (called(nn.ReLU, "forward"), 1),
    "ReLU, forward pre": (called(nn.ReLU, "forward_pre"), 1),
    "Dense, forward": (called(lambda: nn.Dense(16, 16), "forward"), 1),
    "two Dense, forward": (called(two_layers, "forward"), 2),
    "two Dense, output kept": (keeping, 2),
    "two Dense, both": (called(two_layers, "forward_pre", "forward"), 4),
    "two Dense, output doubled": (doubling(2), 2),
    "four Dense, output doubled": (doubling(4), 4),
}
"""By name what makes a step, given its hook, and how often the step calls it."""

SMALL = 100.0
"""Microseconds below which a step is sampled many times in a row."""


def measure(threads: int, seconds: float) -> None:
    ms.set_context(num_threads=threads)
    steps: dict[tuple[str, str], Step] = {}
    clock = time.thread_time if threads == 1 else time.perf_counter
    for kind, (make, calls) in KINDS.items():
        for way in ("eager", "jit"):
            hook = Counted()
            step = make(hook)
            steps[kind, way] = step = ms.jit(step) if way == "jit" else step
            for _ in range(20):
                step()
            assert hook.calls == 20 * calls, f"{kind}, {way}: a hook was not called"
    best = dict.fromkeys(steps, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for key, step in steps.items():
            for _ in range(2):
                count = 100 if best[key] < SMALL else 1
                begin = clock()
                for _ in range(count):
                    step()
                best[key] = min(best[key], (clock() - begin) / count * 1e6)
    for kind in KINDS:
        eager, jit = best[kind, "eager"], best[kind, "jit"]
        digits = 2 if eager < SMALL else 0
        print(f"{kind:26} eager {eager:7.{digits}f} us   jit {jit:7.{digits}f} us   eager/jit {eager / jit:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    measure(chosen.threads, chosen.seconds)


if __name__ == "__main__":
    main()
