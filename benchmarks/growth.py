"""Measure how the cost of a training step grows with depth, width, batch and hooks; write the table, and the plot that the docs show.

    python benchmarks/growth.py [--plot docs/images/growth.png]

Each point is a process of its own: `Dense` and `tanh`, repeated, with Momentum.  In it nothing is cached at first.  Then:

    first   seconds until the first step is done, with the C compiler
    make    milliseconds to make the graph anew with every kernel at hand: lower, optimise, plan
    graph   microseconds of a step, the best of many
    eager   the same in eager mode
    memory  most MiB that the tensors and buffers of a step in a graph take together; of those from 16 KiB on
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from timing import best_of

BASE = {"depth": 20, "width": 128, "batch": 32, "hooks": 0}
GROWTH = {
    "depth": (2, 25, 50, 100, 200),
    "width": (32, 64, 128, 256, 512, 1024),
    "batch": (1, 8, 32, 128, 512, 2048),
    "hooks": (0, 5, 10, 15, 20),
}
COLUMNS = {"first": "s", "make": "ms", "graph": "us", "eager": "us", "memory": "MiB"}


def point(depth: int, width: int, batch: int, hooks: int) -> dict[str, float]:
    """Return the figures of one point, measured in this process."""
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, nn, ops
    from adjoint.runtime.graphs.calls.making import parsed
    from adjoint.runtime.graphs.running.optimised import quiet_plan
    from adjoint.runtime.memory.machine import machine

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.CellList([nn.Dense(width, width) for _ in range(depth)])
            for layer in list(self.layers)[:hooks]:
                layer.register_backward_hook(lambda cell, grad_input, grad_output: None)

        def construct(self, x: Any) -> Any:
            for layer in self.layers:
                x = ops.tanh(layer(x))
            return (x * x).mean()

    def step_of(graph: bool) -> Any:
        net = Net()
        optimizer = nn.Momentum(net.trainable_params(), 1e-3, 0.9)
        gradient = ms.value_and_grad(net, None, optimizer.parameters)

        def step(x: Any) -> Any:
            loss, gradients = gradient(x)
            optimizer(gradients)
            return loss

        return ms.jit(step) if graph else step

    x = Tensor(np.random.default_rng(0).normal(size=(batch, width)).astype(np.float32))
    begin = time.perf_counter()
    step = step_of(graph=True)
    step(x).asnumpy()
    found = {"first": time.perf_counter() - begin}

    again = step_of(graph=True)
    begin = time.thread_time()
    quiet_plan(parsed(again, x).graph)
    found["make"] = (time.thread_time() - begin) * 1e3

    library = machine().library
    settled(step, x)
    found["graph"] = best_of(lambda: step(x), 0.5)
    library.adjoint_reset_peak()
    step(x)
    found["memory"] = library.adjoint_peak() / 2**20
    eager = step_of(graph=False)
    settled(eager, x)
    found["eager"] = best_of(lambda: eager(x), 0.5)
    return found


def settled(step: Any, x: Any) -> None:
    """Return when what is compiled behind the scenes is in use."""
    for _ in range(6):
        step(x)
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(60)
    for _ in range(3):
        step(x)


def measured(sizes: dict[str, int]) -> dict[str, float]:
    """Return the figures of one point, measured in a process with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, __file__, "--point", json.dumps(sizes)], stdout=subprocess.PIPE, text=True, check=True,
                              env=os.environ | {"ADJOINT_CACHE_DIR": cache})
    return json.loads(done.stdout)


def plot(figures: dict[str, list[dict[str, float]]], file: Path) -> None:
    """Draw a column of panels for each way of growing."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = {"step [us]": ("eager", "graph"), "compile [s]": ("first", "make"), "memory [MiB]": ("memory",)}
    figure, axes = pyplot.subplots(len(panels), len(GROWTH), figsize=(13, 8), sharex="col", constrained_layout=True)
    for column, (name, sizes) in enumerate(GROWTH.items()):
        for row, (label, lines) in enumerate(panels.items()):
            at = axes[row][column]
            for line in lines:
                values = [point[line] / (1e3 if line == "make" else 1) for point in figures[name]]
                at.plot(sizes, values, marker="o", label={"first": "first step, cold", "make": "graph made anew"}.get(line, line))
            if name in ("width", "batch"):
                at.set_xscale("log", base=2)
                at.set_yscale("log")
            else:
                at.set_ylim(bottom=0)
            at.grid(alpha=0.3)
            if column == 0:
                at.set_ylabel(label)
            if row == 0:
                at.set_title(name)
            if column == 0 and len(lines) > 1:
                at.legend()
    figure.savefig(file, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", type=Path, help="the file for the plot, which needs matplotlib")
    parser.add_argument("--only", help="one way of growing: depth, width, batch or hooks")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.point:
        print(json.dumps(point(**json.loads(chosen.point))))
        return
    figures: dict[str, list[dict[str, float]]] = {}
    for name, sizes in GROWTH.items():
        if chosen.only not in (None, name):
            continue
        others = ", ".join(f"{other} {size}" for other, size in BASE.items() if other != name)
        print(f"\n| {name} ({others}) | " + " | ".join(f"{column} [{unit}]" for column, unit in COLUMNS.items()) + " |")
        print("|---" * (len(COLUMNS) + 1) + "|")
        figures[name] = []
        for size in sizes:
            figures[name].append(found := measured(BASE | {name: size}))
            print(f"| {size} | " + " | ".join(f"{found[column]:.3g}" for column in COLUMNS) + " |", flush=True)
    if chosen.plot:
        plot(figures, chosen.plot)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
