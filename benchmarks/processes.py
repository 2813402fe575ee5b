"""Measure a training step in one process, and in several that divide its batch.

    python benchmarks/processes.py [COUNT]

Each count of processes, 1 and COUNT (2), is started by mpirun; a process has one thread.  Shown are milliseconds of the best of the steps,
and what the reduction of the gradients takes of them.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZES, BATCH, STEPS = (256, 1024, 1000), 256, 30


def measure() -> None:
    """What each process does: print the best times of rank 0 as JSON."""
    import adjoint as ms
    from adjoint import Tensor, nn
    from adjoint.communication import get_group_size, get_rank, init

    init()
    rank, count = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    rng = np.random.default_rng(0)
    layers = [nn.Dense(a, b) for a, b in itertools.pairwise(SIZES)]
    net = nn.SequentialCell(layers[0], nn.ReLU(), *layers[1:])
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.01, 0.9))
    x = Tensor(rng.standard_normal((BATCH, SIZES[0])).astype(np.float32)[rank::count])
    y = Tensor(rng.standard_normal((BATCH, SIZES[-1])).astype(np.float32)[rank::count])
    gradients = tuple(Tensor(p.asnumpy()) for p in net.trainable_params())

    def best(function: Callable[[], object]) -> float:
        times: list[float] = []
        for _ in range(STEPS):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
        return 1000 * min(times[3:])

    found = best(lambda: step(x, y)), best(lambda: step.grad_reducer(gradients))
    if rank == 0:
        print(json.dumps([count, sum(p.size for p in gradients), *found]), flush=True)


def main(count: int = 2) -> None:
    mpirun = Path(sys.executable).with_name("mpirun")
    print(f"{'processes':>10} {'step, ms':>10} {'of it reduction, ms':>20}")
    for n in (1, count):
        command = [str(mpirun) if mpirun.exists() else "mpirun", "-n", str(n), sys.executable, __file__, "--measure"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "ADJOINT_NUM_THREADS": "1"})
        processes, _, step, reduction = json.loads(done.stdout)
        print(f"{processes:>10} {step:>10.1f} {reduction:>20.1f}")


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["--measure"] else main(*map(int, sys.argv[1:2]))
