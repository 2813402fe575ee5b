"""Compare graphs with eager mode, and with PyTorch's eager mode if an interpreter that has it is named.

    python benchmarks/graphs.py --torch ENV/bin/python

The ways to run a program take turns, round after round, and the best sample of each counts.  At the end: how long functions
take to become graphs, and how long a call takes whose arguments have a size that was not seen before.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from timing import best_of, serve

Cases = dict[str, Callable[[], Any]]

ROUNDS = (100, 1000, 10_000)
"""Of an integrator: the time of a round must not depend on how many there are."""


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

    def pulled(x: Any, y: Any) -> Any:
        z, pull = ms.vjp(two, x, y)
        return pull(z)

    inner_pulled = jit(pulled)
    found: dict[str, Cases] = {
        "x*y": {"eager": lambda: one(x, y), "jit": lambda: quick_one(x, y)},
        "(x*y)*y": {"eager": lambda: two(x, y), "jit": lambda: quick_two(x, y), "GRAPH_MODE": lambda: cell(x, y)},
        "its gradient": {"eager": lambda: slow_gradient(x, y), "jit": lambda: quick_gradient(x, y), "inside": lambda: inner_gradient(x, y),
                         "GRAPH_MODE": lambda: cell_gradient(x, y)},
        "its gradient by `vjp`": {"eager": lambda: pulled(x, y), "inside": lambda: inner_pulled(x, y)},
    }
    found |= call_cases()
    found |= idiom_cases()
    found |= small_networks()
    found |= loop_cases()
    pictures, rows = nets_adjoint.images(32), nets_adjoint.images(32).reshape(32, -1)[:, :784].copy()
    for name, made, data in (("LeNet-5 step, 32", nets_adjoint.LeNet, pictures), ("MLP step, 32", nets_adjoint.mlp, rows)):
        ways: Cases = {"eager": nets_adjoint.step_of(made(), data)}
        ways["jit"] = jitted_step(made(), data)
        ways["GRAPH_MODE"] = nets_adjoint.step_of(made(), data)
        found[name] = ways
    return found


def call_cases() -> dict[str, Cases]:
    """Small functions, called as users call them: Python around the launches is most of the time."""
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn, ops

    x, y = Tensor(np.ones(3, np.float32)), Tensor(np.full(3, 2.0, np.float32))
    rate = 0.5

    def scaled(x: Any, y: Any) -> Any:
        return x * rate + y

    def scalars(x: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any) -> Any:
        return x * a + b * c + d * e + f * g + h * i + j

    def several(x: Any, y: Any) -> Any:
        return x + y, [x - y, x * y]

    def named(x: Any, *, weight: Any, bias: Any) -> Any:
        return x * weight + bias

    def nested(state: Any, pair: Any) -> Any:
        return {"a": state["a"] + pair[0], "b": [state["b"] * pair[1]]}

    def stepped(x: Any, y: Any, rate: Any) -> Any:
        return x - y * (rate / 2 + 1 / rate + rate ** 2)

    around = types.SimpleNamespace(rate=0.0)

    def read(x: Any, y: Any) -> Any:
        return x * around.rate + y

    def with_a_new_rate(function: Callable[..., Any]) -> Any:
        around.rate = next(rates)
        return function(x, y)

    def shifted(x: Any, array: Any) -> Any:
        return x * Tensor(array) + x

    def masked(x: Any, y: Any, mask: Any) -> Any:
        return ops.where(mask, (x - y) * (x - y), 0.0).sum() / mask.astype(ms.float32).sum()

    class Counting(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def construct(self, x: Any, y: Any) -> Any:
            self.calls += 1
            return (x * y) * y

    class Method(nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return (x * y) * y

    class JittedMethod(Method):
        construct = jit(Method.construct)

    class JittedCounting(Counting):
        construct = jit(Counting.construct)

    rates, array = itertools.cycle([0.01 + i / 4096 for i in range(4096)]), np.ones(3, np.float32)
    mask, numbers, state = Tensor(np.array([True, False, True])), [0.25 * i + 0.5 for i in range(10)], {"a": x, "b": y}
    slow_loss, quick_loss = ms.value_and_grad(masked), ms.value_and_grad(jit(masked))
    calls: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "a variable around": (scaled, lambda f: f(x, y)), "ten scalars": (scalars, lambda f: f(x, *numbers)),
        "several results": (several, lambda f: f(x, y)), "by name": (named, lambda f: f(x, weight=y, bias=x)),
        "structures": (nested, lambda f: f(state, (x, y))), "a masked loss": (masked, lambda f: f(x, y, mask)),
        "a new rate": (stepped, lambda f: f(x, y, next(rates))), "a new attribute": (read, with_a_new_rate),
        "an array": (shifted, lambda f: f(x, array)),
    }
    found: dict[str, Cases] = {}
    for name, (function, call) in calls.items():
        quick = jit(function)
        found[name] = {"eager": lambda f=function, call=call: call(f), "jit": lambda f=quick, call=call: call(f)}
    found["a masked loss, gradient"] = {"eager": lambda: slow_loss(x, y, mask), "jit": lambda: quick_loss(x, y, mask)}
    for name, cell, jitted in (("a construct", Method(), JittedMethod()), ("a counter", Counting(), JittedCounting())):
        found[name] = {"eager": lambda cell=cell: cell(x, y), "jit": lambda cell=jitted: cell(x, y),
                       "GRAPH_MODE": lambda cell=cell: cell(x, y)}
    return found


def idiom_cases() -> dict[str, Cases]:
    """What MindSpore's models do in each call: make operators and losses, put equal values back, count, slice lists of cells.

    Expected above 1 are

        a new lambda      the graph is that of the code, but `jit` itself is called in each call, which takes longer than two operators
        a gradient around  up to 1.3: the tape is given the graph as one step, which costs as much as recording two operators
        objects in a list  each of the 1000 objects is compared in each call, since `len` reads the whole list: take the length before
    """
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn, ops

    x, y = Tensor(np.ones((8, 4), np.float32)), Tensor(np.full((8, 4), 2.0, np.float32))
    labels = Tensor(np.arange(8, dtype=np.int32) % 4)

    def operators(x: Any, y: Any) -> Any:
        cast, mean, concat = ops.Cast(), ops.ReduceMean(True), ops.Concat(axis=1)
        return concat((cast(x, ms.float32), mean(y, 1)))

    def operators_in_a_dict(x: Any, y: Any) -> Any:
        kinds = {"tanh": ops.Tanh(), "sigmoid": ops.Sigmoid()}
        for name in ("tanh", "sigmoid"):
            x = kinds[name](x) * y
        return x

    def loss(x: Any, y: Any) -> Any:
        criterion = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        return criterion(x * y, labels)

    def with_a_gradient(x: Any, y: Any) -> Any:
        return ops.GradOperation()(lambda x: (ops.tanh(x) * y).sum())(x)

    def counted(x: Any, y: Any, step: int) -> Any:
        return x * (0.1 * step) + y

    class Configured(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.sizes: tuple[float, ...] = (1.0, 2.0)
            self.step = 0
            self.layers = nn.CellList([nn.Tanh(), nn.Sigmoid(), nn.ReLU()])

        def construct(self, x: Any, y: Any) -> Any:
            for layer in self.layers[:2]:
                x = layer(x) * self.sizes[0]
            return x + y * self.step

    net = Configured()
    jitted_net = jit(net)
    steps = itertools.count(1)

    def configured(call: Callable[..., Any]) -> Any:
        net.sizes, net.step = (float("1"), 2.0), next(steps)
        return call(x, y)

    class Parts(NamedTuple):
        loss: Any
        parts: Any

    def named(given: Any) -> Any:
        return Parts((given.loss * given.parts).sum(), given.parts)

    def around(function: Callable[..., Any]) -> Callable[[], Any]:
        gradient = ms.grad(lambda x, y: function(x, y).sum())
        return lambda: gradient(x, y)

    def products(x: Any, y: Any) -> Any:
        return (x * y) * y

    objects = [types.SimpleNamespace(rate=0.5 * i) for i in range(1000)]

    def listed(x: Any) -> Any:
        return x * objects[1].rate / len(objects)

    quick_named, quick_listed = jit(named), jit(listed)
    found: dict[str, Cases] = {
        "named tuples": {"eager": lambda: named(Parts(x, y)), "jit": lambda: quick_named(Parts(x, y))},
        "a gradient around": {"eager": around(products), "jit": around(jit(products))},
        "objects in a list": {"eager": lambda: listed(x), "jit": lambda: quick_listed(x)},
    }
    for name, function in (("operators made in it", operators), ("operators in a dict", operators_in_a_dict), ("a loss made in it", loss),
                           ("a gradient in it", with_a_gradient)):
        quick = jit(function)
        found[name] = {"eager": lambda f=function: f(x, y), "jit": lambda f=quick: f(x, y)}
    quick_counted = jit(counted)
    found["a new int"] = {"eager": lambda: counted(x, y, next(steps)), "jit": lambda: quick_counted(x, y, next(steps))}
    found["attributes put back"] = {"eager": lambda: configured(net), "jit": lambda: configured(jitted_net)}
    found["a new lambda"] = {"eager": lambda: (lambda x: ops.tanh(x) * y)(x), "jit": lambda: jit(lambda x: ops.tanh(x) * y)(x)}
    return found


def small_networks() -> dict[str, Cases]:
    """A Dense on one row, two with hooks that look, and a training step.

    The step of two of them: the gradient in a graph and the optimiser in eager mode, and both in one.
    """
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn

    random = np.random.default_rng(0)
    row, rows = (Tensor(random.standard_normal((n, 16)).astype(np.float32)) for n in (1, 8))
    wanted = Tensor(random.standard_normal((8, 4)).astype(np.float32))
    dense = nn.Dense(16, 4)
    quick = jit(dense)
    watched = nn.SequentialCell(nn.Dense(16, 16), nn.Dense(16, 4))
    for cell in watched.cells():
        cell.register_forward_hook(lambda cell, args, output: None)
    quick_watched = jit(watched)

    def step_of(way: Callable[[Any], Any], whole: Callable[[Any], Any]) -> Callable[[], Any]:
        net, loss_of = nn.SequentialCell(nn.Dense(16, 16), nn.ReLU(), nn.Dense(16, 4)), nn.MSELoss()
        optimizer = nn.Adam(net.trainable_params(), 1e-4)
        gradient = ms.value_and_grad(way(lambda x, y: loss_of(net(x), y)), None, optimizer.parameters)

        def step(x: Any, y: Any) -> Any:
            loss, gradients = gradient(x, y)
            optimizer(gradients)
            return loss

        taken = whole(step)
        return lambda: taken(rows, wanted)

    return {
        "Dense, a row": {"eager": lambda: dense(row), "jit": lambda: quick(row), "GRAPH_MODE": lambda: dense(row)},
        "two with forward hooks": {"eager": lambda: watched(row), "jit": lambda: quick_watched(row), "GRAPH_MODE": lambda: watched(row)},
        "MLP with Adam, 8": {"eager": step_of(lambda f: f, lambda f: f), "jit": step_of(jit, lambda f: f),
                             "inside": step_of(lambda f: f, jit), "GRAPH_MODE": step_of(lambda f: f, lambda f: f)},
    }


def loop_cases() -> dict[str, Cases]:
    """Loops whose length is a tensor: a Newton iteration on three numbers, a recurrent layer, an Euler integrator, gradient descent."""
    import numpy as np

    import adjoint as ms
    from adjoint import Parameter, Tensor, jit, nn, ops

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

    def integrated(rate: Any, y: Any, n: Any) -> Any:
        for _ in range(n):
            y = y + 0.001 * (ops.sin(y) - rate * y)
        return y.sum()

    weight = Parameter(Tensor(np.zeros(3, np.float32)), name="weight")

    def descent(x: Any, n: Any) -> Any:
        for _ in range(n):
            weight.set_data(weight - 0.01 * ms.grad(lambda w: ((w * x - 3.0) ** 2).mean())(weight))
        return weight

    net, random = Recurrent(), np.random.default_rng(0)
    start, thousand, hundred = Tensor(np.full(3, 3.0, np.float32)), Tensor(1000, ms.int64), Tensor(100, ms.int64)
    xs, h = Tensor(random.standard_normal((100, 8, 32)).astype(np.float32)), Tensor(np.zeros((8, 64), np.float32))
    quick_newton, quick_net = jit(newton), jit(net)

    def sensitivity(rate: Any, y: Any, n: Any) -> Any:
        return ms.grad(integrated, (0, 1))(rate, y, n)

    def slopes(xs: Any, h: Any, n: Any) -> Any:
        return ms.grad(lambda xs, h: net(xs, h, n).sum(), None, net.trainable_params())(xs, h)

    quick_sensitivity, quick_slopes, quick_descent = jit(sensitivity), jit(slopes), jit(descent)
    rate, y, rounds = Tensor(np.full(3, 0.5, np.float32)), Tensor(np.arange(3, dtype=np.float32)), {n: Tensor(n, ms.int64) for n in ROUNDS}
    return {
        "Newton, 1000": {"eager": lambda: newton(start, thousand), "jit": lambda: quick_newton(start, thousand)},
        "recurrent, 100": {"eager": lambda: net(xs, h, hundred), "jit": lambda: quick_net(xs, h, hundred)},
        "recurrent, gradient": {"eager": lambda: slopes(xs, h, hundred), "inside": lambda: quick_slopes(xs, h, hundred)},
        "descent, 1000": {"jit": lambda: quick_descent(start, thousand)},
        **{f"Euler gradient, {n}": {"inside": functools.partial(quick_sensitivity, rate, y, rounds[n])} for n in ROUNDS},
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
    from adjoint.runtime.graphs.calls.making import parsed
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


def new_size_times() -> dict[str, float]:
    """Milliseconds of processor time of a call with a size that is new, after some others: a batch, or the length of sequences.

    What the kernels compute is included.  Of many sizes that of the median counts.  One or two operators with a new size take up to 1.9
    times eager mode: it is found that no graph is made for it, sizes are computed, and then the same kernels run one by one.
    """
    import nets_adjoint
    import numpy as np

    import adjoint as ms
    from adjoint import Tensor, jit, nn, ops

    def training(net: Any) -> Callable[..., Any]:
        net.set_train()
        loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        optimizer = nn.Momentum(net.trainable_params(), 1e-4, 0.9)
        gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

        def step(x: Any, y: Any) -> Any:
            loss, grads = gradient(x, y)
            optimizer(grads)
            return loss

        return step

    def labelled(data: Any) -> tuple[Any, ...]:
        return Tensor(data), Tensor((np.arange(len(data)) % 10).astype(np.int32))

    query, key, value = nn.Dense(64, 64), nn.Dense(64, 64), nn.Dense(64, 64)

    def attention(x: Any) -> Any:
        shares = ops.softmax(ops.matmul(query(x), key(x).swapaxes(-1, -2)) * 0.125, -1)
        return (ops.matmul(shares, value(x)) ** 2).mean()

    weights = nn.CellList([query, key, value]).trainable_params()
    random = np.random.default_rng(0)
    cases: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
        "LeNet-5 step": (training(nets_adjoint.LeNet()), lambda n: labelled(nets_adjoint.images(n))),
        "MLP step": (training(nets_adjoint.mlp()), lambda n: labelled(nets_adjoint.images(n).reshape(n, -1)[:, :784].copy())),
        "attention, its gradient": (ms.value_and_grad(attention, None, weights),
                                    lambda n: (Tensor(random.normal(size=(2, n, 64)).astype(np.float32)),)),
        "tanh(x[:n]).sum()": (lambda x: ops.tanh(x).sum(), lambda n: (Tensor(np.ones((n, 64), np.float32)),)),
    }
    found: dict[str, float] = {}
    for name, (function, arguments) in cases.items():
        for first, way, run in ((9, "eager", function), (10, "jit", jit(lambda *args, function=function: function(*args)))):
            times: list[float] = []
            for n in (32, 24, 64, 48, *range(first, 31, 2)):
                given = arguments(n)
                begin = time.thread_time()
                run(*given)
                times.append(time.thread_time() - begin)
            found[f"{name}, {way}"] = sorted(times[4:])[len(times[4:]) // 2] * 1e3
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
                ms.set_context(mode=ms.GRAPH_MODE if way == "GRAPH_MODE" else ms.PYNATIVE_MODE)
                best[way] = min(best.get(way, 1e9), best_of(call, chosen.seconds))
                ms.set_context(mode=ms.PYNATIVE_MODE)
            if worker is not None and case in theirs:
                worker.stdin.write(json.dumps([case, chosen.seconds]) + "\n")  # type: ignore[union-attr]
                worker.stdin.flush()  # type: ignore[union-attr]
                best["torch"] = min(best.get("torch", 1e9), json.loads(worker.stdout.readline()))  # type: ignore[union-attr]
        ratio = f"  jit / eager {best['jit'] / best['eager']:.2f}" if "jit" in best else ""
        print(f"{case:18}" + "".join(f"  {way} {us:8.2f} us" for way, us in best.items()) + ratio, flush=True)
    if worker is not None:
        worker.kill()
        worker.wait()
    if not chosen.cases:
        for what, ms_ in lowering_times(chosen.rounds).items():
            print(f"{what:18}  {ms_:8.2f} ms")
        print("a size that is new:")
        for what, ms_ in new_size_times().items():
            print(f"{what:32}  {ms_:8.2f} ms")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
