"""Compare graphs with eager mode, and with PyTorch's eager mode if an interpreter that has it is named.

    python benchmarks/graphs.py --torch ENV/bin/python

The ways to run a program take turns, round after round, and the best sample of each counts.  At the end: how long functions
take to become graphs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from timing import best_of, serve

Cases = dict[str, Callable[[], Any]]


def torch_cases() -> Cases:
    import nets_torch
    import torch

    torch.set_num_threads(2)
    x, y = torch.ones(3), torch.full((3,), 2.0)
    w = torch.ones(3, requires_grad=True)

    def gradient() -> Any:
        out = ((w * y) * y).sum()
        return torch.autograd.grad(out, w)

    pictures, rows = nets_torch.images(32), nets_torch.images(32).reshape(32, -1)[:, :784]
    return {
        "x*y": lambda: x * y, "(x*y)*y": lambda: (x * y) * y, "its gradient": gradient,
        "LeNet-5 step, 32": nets_torch.step_of(nets_torch.lenet(), pictures),
        "MLP step, 32": nets_torch.step_of(nets_torch.mlp(), rows.copy()),
    }


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    import adjoint as ms

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        yield
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def in_graph_mode(call: Callable[[], Any]) -> Callable[[], Any]:
    import adjoint as ms

    def called() -> Any:
        ms.set_context(mode=ms.GRAPH_MODE)
        call()

    return called


def our_cases() -> dict[str, Cases]:
    """case -> way -> call"""
    import nets_adjoint
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn

    x, y = Tensor(np.ones(3, np.float32)), Tensor(np.full(3, 2.0, np.float32))

    def one(x: Any, y: Any) -> Any:
        return x * y

    def two(x: Any, y: Any) -> Any:
        return (x * y) * y

    class Two(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return (x * y) * y

    cell = Two()
    quick_one, quick_two = jit(one), jit(two)
    slow_gradient, quick_gradient, cell_gradient = ms.grad(two), ms.grad(quick_two), ms.grad(cell)
    inner_gradient = jit(lambda x, y: ms.grad(two)(x, y))
    found: dict[str, Cases] = {
        "x*y": {"eager": lambda: one(x, y), "jit": lambda: quick_one(x, y)},
        "(x*y)*y": {"eager": lambda: two(x, y), "jit": lambda: quick_two(x, y), "GRAPH_MODE": in_graph_mode(lambda: cell(x, y))},
        "its gradient": {"eager": lambda: slow_gradient(x, y), "jit": lambda: quick_gradient(x, y), "inside": lambda: inner_gradient(x, y),
                         "GRAPH_MODE": in_graph_mode(lambda: cell_gradient(x, y))},
    }
    found |= loop_cases()
    pictures, rows = nets_adjoint.images(32), nets_adjoint.images(32).reshape(32, -1)[:, :784].copy()
    for name, made, data in (("LeNet-5 step, 32", nets_adjoint.LeNet, pictures), ("MLP step, 32", nets_adjoint.mlp, rows)):
        ways: Cases = {"eager": nets_adjoint.step_of(made(), data)}
        ways["jit"] = jitted_step(made(), data)
        ways["GRAPH_MODE"] = in_graph_mode(nets_adjoint.step_of(made(), data))
        found[name] = ways
    return found


def loop_cases() -> dict[str, Cases]:
    """Loops whose length is a tensor: a Newton iteration on three numbers, and a recurrent layer."""
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn, ops

    def newton(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x - (x * x - 2.0) / (2.0 * x)
        return x

    class Recurrent(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.input, self.state = nn.Dense(32, 64), nn.Dense(64, 64)

        def construct(self, xs: Any, h: Any, n: Any) -> Any:
            for t in range(n):
                h = ops.tanh(self.input(xs[t]) + self.state(h))
            return h

    net, random = Recurrent(), np.random.default_rng(0)
    start, thousand, hundred = Tensor(np.full(3, 3.0, np.float32)), Tensor(1000, ms.int64), Tensor(100, ms.int64)
    xs, h = Tensor(random.standard_normal((100, 8, 32)).astype(np.float32)), Tensor(np.zeros((8, 64), np.float32))
    quick_newton, quick_net = jit(newton), jit(net)
    return {
        "Newton, 1000": {"eager": lambda: newton(start, thousand), "jit": lambda: quick_newton(start, thousand)},
        "recurrent, 100": {"eager": lambda: net(xs, h, hundred), "jit": lambda: quick_net(xs, h, hundred)},
    }


def jitted_step(net: Any, data: Any) -> Callable[[], Any]:
    """The forward pass as a jitted function; the gradient and the optimizer are eager."""
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn

    net.set_train()
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 1e-4, 0.9)
    x, labels = Tensor(data), Tensor((np.arange(len(data)) % 10).astype(np.int32))
    gradient = ms.value_and_grad(jit(lambda x, y: loss_fn(net(x), y)), None, optimizer.parameters)

    def step() -> Any:
        loss, grads = gradient(x, labels)
        optimizer(grads)
        return loss

    return step


def lowering_times(rounds: int) -> dict[str, float]:
    """Milliseconds to make a graph, and to bind it; the source has been read before."""
    import nets_adjoint
    import numpy as np

    from adjoint import Tensor, nn
    from adjoint.ir.verify import verify_module
    from adjoint.runtime.graphs.entry import parsed
    from adjoint.runtime.graphs.running.binding import bind

    deep = nn.SequentialCell([layer for _ in range(50) for layer in (nn.Dense(16, 16), nn.ReLU())])
    found: dict[str, float] = {}
    for name, net, x in (("LeNet-5", nets_adjoint.LeNet(), Tensor(nets_adjoint.images(32))),
                         ("50 layers", deep, Tensor(np.ones((4, 16), np.float32)))):
        for _ in range(rounds):
            begin = time.perf_counter()
            lowered = parsed(net, x)
            made = time.perf_counter()
            verify_module(lowered.graph.module)
            checked = time.perf_counter()
            bind(lowered.graph)
            bound = time.perf_counter()
            for what, seconds in (("lower", made - begin), ("verify", checked - made), ("bind", bound - checked)):
                found[f"{name}: {what}"] = min(found.get(f"{name}: {what}", 1e9), seconds * 1e3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="per measurement")
    parser.add_argument("--cases", default="", help="only those whose name holds this")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        serve(torch_cases())
        return
    worker, theirs = None, []
    if chosen.torch:
        worker = subprocess.Popen([chosen.torch, str(Path(__file__)), "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert worker.stdin is not None and worker.stdout is not None
        theirs = json.loads(worker.stdout.readline())
    import adjoint as ms

    for case, ways in our_cases().items():
        if chosen.cases not in case:
            continue
        best: dict[str, float] = {}
        for _ in range(chosen.rounds):
            for way, call in ways.items():
                best[way] = min(best.get(way, 1e9), best_of(call, chosen.seconds))
                ms.set_context(mode=ms.PYNATIVE_MODE)
            if worker is not None and case in theirs:
                worker.stdin.write(json.dumps([case, chosen.seconds]) + "\n")  # type: ignore[union-attr]
                worker.stdin.flush()  # type: ignore[union-attr]
                best["torch"] = min(best.get("torch", 1e9), json.loads(worker.stdout.readline()))  # type: ignore[union-attr]
        print(f"{case:18}" + "".join(f"  {way} {us:8.2f} us" for way, us in best.items()), flush=True)
    if worker is not None:
        worker.kill()
        worker.wait()
    if not chosen.cases:
        for what, ms_ in lowering_times(chosen.rounds).items():
            print(f"{what:18}  {ms_:8.2f} ms")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
