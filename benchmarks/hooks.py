"""Measure what a no-op Python hook on each of LeNet-5's 12 layers costs a training step, batch 32.

    python benchmarks/hooks.py                             ours
    python benchmarks/hooks.py --torch ENV/bin/python      and PyTorch's

Three networks train in one process and take turns of five steps: without hooks, with hooks registered before the first
step, and with hooks registered after it.  A turn's ratio is taken to the turn without hooks just before, so that what else
the machine does falls on both; the median of the ratios counts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

STEPS = 5
NAMES = ("without hooks", "with 12 hooks", "registered after the first step")


class Counted:
    """A hook that changes nothing and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, layer: Any, grad_input: Any, grad_output: Any) -> None:
        self.calls += 1


def adjoint_net() -> tuple[Callable[[], Any], Callable[[Counted], None]]:
    import nets_adjoint as nets

    net = nets.LeNet()
    return nets.step_of(net, nets.images(32)), lambda hook: [cell.register_backward_hook(hook) for cell in net.cells()] and None


def torch_net() -> tuple[Callable[[], Any], Callable[[Counted], None]]:
    import nets_torch as nets

    net = nets.lenet()
    return nets.step_of(net, nets.images(32)), lambda hook: [layer.register_full_backward_hook(hook) for layer in net] and None


def measure(framework: str, threads: int, seconds: float) -> None:
    if framework == "adjoint":
        import adjoint as ms

        ms.set_context(num_threads=threads)
    else:
        import torch

        torch.set_num_threads(threads)
    nets = [adjoint_net() if framework == "adjoint" else torch_net() for _ in NAMES]
    steps = [step for step, _ in nets]
    hook, late = Counted(), Counted()
    nets[1][1](hook)
    steps[2]()
    nets[2][1](late)
    for _ in range(20):
        for step in steps:
            step()
    assert hook.calls == late.calls == 20 * 12, "a hook was not called"

    turns: list[list[float]] = [[] for _ in NAMES]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for step, times in zip(steps, turns, strict=True):
            begin = time.perf_counter()
            for _ in range(STEPS):
                step()
            times.append((time.perf_counter() - begin) / STEPS * 1e6)
    plain = turns[0]
    for name, times in zip(NAMES, turns, strict=True):
        ratio = statistics.median(a / b for a, b in zip(times, plain, strict=True))
        print(f"{framework:8} {name:32} best {min(times):7.0f} us   median {statistics.median(times):7.0f} us   "
              f"ratio of the bests {min(times) / min(plain):.3f}   median ratio {ratio:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--framework", default="adjoint", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.torch:
        arguments = ["--framework", "torch", "--threads", str(chosen.threads), "--seconds", str(chosen.seconds)]
        subprocess.run([chosen.torch, __file__, *arguments], check=True)
    measure(chosen.framework, chosen.threads, chosen.seconds)


if __name__ == "__main__":
    main()
