"""Time a training step of recurrent layers, forward and gradient by all parameters, beside PyTorch's: in eager mode and in a graph.

    python benchmarks/recurrent.py --torch ENV/bin/python [--only TEXT] [--threads 1]

The loss is the sum of the squares of all outputs, for a batch of 32 sequences of 50 steps.  Both libraries take turns in one run, and the
best sample counts; with one thread it is processor time.  A ratio above 1 says that PyTorch takes longer.

--markdown FILE  writes the table as it stands in RESULTS.md
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from peers import arguments, show
from timing import serve

BATCH, STEPS = 32, 50


class Layer(NamedTuple):
    """A layer to be measured: its input has as many features as its state."""

    kind: str
    size: int
    layers: int = 1
    bidirectional: bool = False

    @property
    def title(self) -> str:
        more = f", {self.layers} layers" * (self.layers > 1) + ", bidirectional" * self.bidirectional
        return f"{self.kind}, hidden {self.size}{more}"


LAYERS = (
    *(Layer(kind, size) for kind in ("LSTM", "GRU", "RNN") for size in (64, 128, 256)),
    Layer("LSTM", 128, 2, bidirectional=True),
    Layer("GRU", 128, 2, bidirectional=True),
)

Cases = Iterator[tuple[str, Callable[[], Any]]]


def batch(layer: Layer) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal((STEPS, BATCH, layer.size)).astype(np.float32)


def torch_cases(only: str) -> Cases:
    import torch

    for layer in LAYERS:
        if only in layer.title:
            net = getattr(torch.nn, layer.kind)(layer.size, layer.size, layer.layers, bidirectional=layer.bidirectional)
            x, weights = torch.from_numpy(batch(layer)), list(net.parameters())

            def step(net: Any = net, x: Any = x, weights: Any = weights) -> Any:
                return torch.autograd.grad((net(x)[0] ** 2).sum(), weights)

            yield layer.title, step


def our_cases(only: str) -> Cases:
    import adjoint as ms
    from adjoint import Tensor, nn

    ms.set_context(background_compile="wait")  # kernels in their final form
    for layer in LAYERS:
        if only in layer.title:
            net = getattr(nn, layer.kind)(layer.size, layer.size, layer.layers, bidirectional=layer.bidirectional)
            x, weights = Tensor(batch(layer)), net.trainable_params()

            def loss(x: Tensor, net: Any = net) -> Tensor:
                return (net(x)[0] ** 2).sum()

            eager, graph = ms.grad(loss, None, weights), ms.jit(ms.grad(loss, None, weights))
            yield layer.title, lambda step=eager, x=x: step(x)
            yield f"{layer.title}, graph", lambda step=graph, x=x: step(x)


TITLES = ("layer", "PyTorch ms", "eager ms", "graph ms", "PyTorch / eager", "PyTorch / graph")


def main() -> None:
    parser = arguments(__doc__, ("adjoint", "torch"))
    given = parser.parse_args()
    if given.serve:
        if given.serve == "torch":
            import torch

            torch.set_num_threads(given.threads)
        serve(dict((torch_cases if given.serve == "torch" else our_cases)(given.only)), given.threads)
        return
    if not given.torch:
        parser.error("--torch names the interpreter with PyTorch that is measured beside")
    from run import by_turns  # not where PyTorch is: it needs more than PyTorch's environment has

    commands = {name: [python, str(Path(__file__)), "--serve", name, "--only", given.only, "--threads", str(given.threads)]
                for name, python in (("adjoint", sys.executable), ("torch", given.torch))}
    best, cases = by_turns(commands, given.rounds, given.seconds, given.threads)
    rows: list[list[str]] = []
    ratios: list[tuple[float, float]] = []
    for title in cases:
        torch, eager, graph = best["torch", title], best["adjoint", title], best["adjoint", f"{title}, graph"]
        ratios.append((torch / eager, torch / graph))
        rows.append([title, *(f"{time / 1000:.2f}" for time in (torch, eager, graph)), *(f"{ratio:.2f}" for ratio in ratios[-1])])
    means = (math.exp(sum(map(math.log, way)) / len(way)) for way in zip(*ratios, strict=True))
    rows.append(["geometric mean", "", "", "", *(f"{mean:.2f}" for mean in means)])
    show(TITLES, rows, given, about=f", batch {BATCH}, {STEPS} steps")


if __name__ == "__main__":
    main()
