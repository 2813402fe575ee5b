"""`watch.statistics`: the same numbers in every mode as hooks give, a run with the same bits, and each graph made once."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, jit_stats, nn, watch
from adjoint.experimental import optim as experimental
from adjoint.runtime.inspection.statistics_output import mark
from adjoint.runtime.memory.machine import machine

STEPS, EVERY = 7, 3
X = Tensor(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))


class Net(nn.Cell):
    """Cells of the library and a branch that a tensor decides."""

    def __init__(self) -> None:
        super().__init__()
        draw = np.random.default_rng(1).normal
        self.first = nn.Dense(4, 6, weight_init=Tensor(draw(size=(6, 4)).astype(np.float32)), bias_init="ones")
        last = nn.Dense(6, 3, weight_init=Tensor(draw(size=(3, 6)).astype(np.float32)), bias_init="ones")
        self.layers = nn.SequentialCell(nn.ReLU(), last)

    def construct(self, x: Any) -> Any:
        y = self.layers(self.first(x))
        if y.sum() > 1e9:
            y = y * 0.5
        return y


def training(way: str) -> tuple[Net, Callable[[], Any], Callable[[], Any]]:
    """A network, a training step, and the gradients of its parameters; the step runs in the given way."""
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)

    def loss(x: Any) -> Any:
        return (net(x) ** 2).mean()

    gradient = ms.value_and_grad(jit(loss) if way == "jitted loss" else loss, None, optimizer.parameters)

    def step(x: Any) -> Any:
        found, gradients = gradient(x)
        optimizer(gradients)
        return found

    chosen = jit(step) if way == "jit" else step

    def call() -> Any:
        ms.set_context(mode=ms.GRAPH_MODE if way == "graph mode" else ms.PYNATIVE_MODE)
        try:
            return chosen(X)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)

    call.step = chosen  # pyright: ignore[reportFunctionMemberAccess] - for `jit_stats`
    return net, call, lambda: gradient(X)[1]


def numbers(x: Any) -> list[float]:
    values = x.asnumpy().astype(np.float64)
    return [np.linalg.norm(values), values.mean(), values.std(), np.abs(values).max(), (values == 0).mean(), 0.0]


def by_hooks() -> tuple[list[Any], dict[tuple[int, str, str], list[float]]]:
    """The losses of a run, and the statistics of each sampled step, by hooks and NumPy."""
    net, call, gradients = training("eager")
    found: dict[tuple[int, str, str], list[float]] = {}
    losses: list[Any] = []
    for number in range(1, STEPS + 1):
        taken = [cell.register_forward_hook(lambda _, __, y, key=(number, "output", name): found.__setitem__(key, numbers(y)))
                 for name, cell in [("Net", net), *list(net.cells_and_names())[1:]]]
        before = {p.name: p.copy() for p in net.get_parameters()}
        for p, g in zip(net.trainable_params(), gradients(), strict=True):
            found[number, "gradient", p.name] = numbers(g)
        losses.append(call().asnumpy())
        for handle in taken:
            handle.remove()
        for p in net.get_parameters():
            norm = np.linalg.norm(before[p.name].asnumpy())
            change = np.linalg.norm((p - before[p.name]).asnumpy()) / norm if norm else math.nan
            found[number, "parameter", p.name] = [*numbers(p), change]
    return losses, {key: value for key, value in found.items() if key[0] % EVERY == 1}


@pytest.mark.parametrize("way, told", [("eager", True), ("eager", False), ("jit", True), ("jit", False), ("jitted loss", True),
                                       ("graph mode", False)])
def test_the_numbers_that_hooks_give(way: str, told: bool) -> None:
    """The steps end by themselves, or when they are told to."""
    losses, expected = by_hooks()
    net, call, _ = training(way)
    with watch.statistics(net, EVERY) as found:
        for loss in losses:
            assert call().asnumpy() == loss  # the same bits
            if told:
                found.step()
    rows = {(row.step, row.kind, row.name): row for row in found.rows}
    assert rows.keys() == expected.keys() and found.latest == found.rows[-len(found.latest) :]
    for key, row in rows.items():
        computed = [*row[3:9], row.update] if row.kind == "parameter" else row[3:9]
        np.testing.assert_allclose(computed, expected[key], rtol=2e-6, atol=1e-9, err_msg=str(key))
    place = rows[1, "output", "first"].place
    assert place is not None and place.file == __file__ and rows[1, "gradient", "first.weight"].place == place
    assert not any("construct" in cell.__dict__ for _, cell in net.cells_and_names())


QUESTIONS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "vmap": lambda net: ms.vmap(lambda x: net(x)),
    "gradients of a batch": lambda net: ms.vmap(ms.grad(lambda x: (net(x) ** 2).sum())),
    "jacfwd": lambda net: ms.jacfwd(lambda x: net(x)),
    "gradient of jacfwd": lambda net: ms.grad(lambda x: (ms.jacfwd(lambda x: net(x))(x) ** 2).sum()),
    "hessian": lambda net: ms.hessian(lambda x: (net(x) ** 2).sum()),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_batch_keeps_its_bits_and_is_seen_as_one_tensor(question: str, jitted: bool) -> None:
    net, _, _ = training("eager")
    function = QUESTIONS[question](net)
    if jitted:
        function = jit(function)
    x = X if question in ("vmap", "gradients of a batch") else X[1]
    expected = function(x)
    with watch.statistics(net) as found:
        assert function(x).asnumpy().tobytes() == expected.asnumpy().tobytes()
    outputs = {row.name: row[3:9] for row in found.latest if row.kind == "output"}
    assert outputs.keys() == {"Net", "first", "layers", "layers.0", "layers.1"}
    np.testing.assert_allclose(outputs["first"], numbers(net.first(x)), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("way", ["jit", "jitted loss"])
def test_a_graph_is_made_once_for_sampled_steps_and_once_for_the_others(way: str) -> None:
    net, call, _ = training(way)
    for _ in range(3):  # a later block has the graphs of the first one
        with watch.statistics(net, 2) as found:
            for _ in range(5):
                call()
                found.step()
        call()
    if way == "jit":
        assert len(jit_stats(call.step).graphs) == 3  # pyright: ignore[reportFunctionMemberAccess] - the third is that outside of blocks


@pytest.mark.skipif(machine().kernels is None, reason="without a C compiler graphs call Python for each op")
def test_graphs_call_python_at_the_end_of_a_step_alone() -> None:
    net, call, _ = training("jit")
    with watch.statistics(net, 1) as found:
        for _ in range(6):
            call()
            found.step()
        called: list[str] = []
        sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name)
                       if event == "call" and frame.f_code.co_filename.endswith(("/statistics.py", "/training.py")) else None)
        try:
            call()
        finally:
            sys.setprofile(None)
    assert called == ["_stepped", "stepped", "_optimizer_stepped"]


def test_dtypes_and_numbers_that_are_not_finite() -> None:
    class Halves(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x.astype(ms.float16), x

    net = Halves()
    with watch.check_finite(), watch.statistics(net, 1) as found, watch.finite_ok():
        net(Tensor([0.0, 2.0, np.nan, np.inf]))
        found.step()
    (row,) = found.rows
    assert row[1:9] == ("output", "Halves", 2.0, 1.0, 1.0, 2.0, 0.25, 0.5) and mark(row) == "not finite"


def test_what_is_marked() -> None:
    def row(kind: str, norm: float, zeros: float = 0.0) -> watch.StatisticsRow:
        return watch.StatisticsRow(1, kind, "x", norm, 0.0, 0.0, norm, zeros, 0.0)

    assert [mark(row("gradient", norm), 1.0) for norm in (1.0, 1e-8, 1e4)] == ["", "vanishing", "exploding"]
    assert mark(row("gradient", 0.0, 1.0), 1.0) == mark(row("output", 1.0, 0.9995)) == "dead"
    assert mark(row("output", 1.0, 0.9)) == mark(row("parameter", 0.0, 1.0)) == ""


def test_where_it_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    optional = {"matplotlib": tmp_path / "run.png", "tensorboardX": tmp_path / "events"}
    there = {name: path for name, path in optional.items() if find_spec(name)}
    net, call, _ = training("eager")
    with watch.statistics(net, 2, ["table", str(tmp_path / "run.jsonl"), *there.values()]) as found:
        for _ in range(3):
            call()
            found.step()
    written = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert len(written) == len(found.rows) and written[0]["kind"] == "output" and written[0]["norm"] == found.rows[0].norm
    assert written[0]["update"] is None and written[0]["place"].startswith(f"{__file__}:")
    for name, path in optional.items():
        if name in there:
            assert path.read_bytes().startswith(b"\x89PNG") if path.suffix else any(path.iterdir())
        else:
            with pytest.raises(ImportError, match=f"the package {name} is needed"):
                watch.statistics(net, 2, path)
    table = capsys.readouterr().out
    assert "step 3" in table and "layers.1.weight" in table and "test_statistics.py:" in table


def test_wrong_arguments() -> None:
    net: Any = Net()
    for kind, given, said in ((TypeError, (1,), "'net' must be a Cell"), (TypeError, (net, 1.5), "'every' must be an int"),
                              (ValueError, (net, 0), "'every' must be at least 1"), (TypeError, (net, 1, [3]), "'to' must be 'table'"),
                              (FileNotFoundError, (net, 1, "there/is/none.jsonl"), "there is no directory 'there/is'"),
                              (FileNotFoundError, (net, 1, ["table", "none/a.png"]), "there is no directory 'none'")):
        with pytest.raises(kind, match=said):
            watch.statistics(*given)  # pyright: ignore[reportArgumentType] - wrong on purpose
    for other in (net, nn.SequentialCell(net)):
        with watch.statistics(net), pytest.raises(RuntimeError, match=r"'(Net|0)' is watched by another block"), watch.statistics(other):
            pass


def test_several_networks_and_threads() -> None:
    """Each block has the steps of its own network, and each graph is made once for each state of a step."""
    (first, call, _), (second, other, _) = training("jit"), training("jit")
    with watch.statistics(first, 2) as found:
        with watch.statistics(second, 3) as others:
            both = [threading.Thread(target=lambda step=step: [step() for _ in range(STEPS)]) for step in (call, other)]
            for each in both:
                each.start()
            for each in both:
                each.join()
        call()
        other()
    assert {row.step for row in found.rows} == {1, 3, 5, 7} and {row.step for row in others.rows} == {1, 4, 7}
    plain, eager, _ = training("eager")
    with watch.statistics(plain, 2) as alone:
        for _ in range(STEPS):
            eager()
    assert [row[:9] for row in alone.rows] == [row[:9] for row in found.rows]


@pytest.mark.parametrize("jitted", [False, True])
def test_several_optimisers(jitted: bool) -> None:
    """A step ends with the last of the optimisers that take part; one that is not used does not matter for long."""
    net = Net()
    ends = [nn.SGD(part.trainable_params(), 0.1) for part in (net.first, net.layers)]
    unused = nn.Adam(net.trainable_params())
    gradient = ms.grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())

    def step(x: Any) -> None:
        gradients = gradient(x)
        ends[0](gradients[:2])
        ends[1](gradients[2:])

    run = jit(step) if jitted else step
    with watch.statistics(net, 2) as found:
        for _ in range(6):
            run(X)
    assert unused.global_step == 0 and {row.step for row in found.rows} == {3, 5}
    assert all(row.update > 0 for row in found.rows if row.kind == "parameter")


def test_a_forward_pass_and_an_optimiser_of_ones_own() -> None:
    class Clipping(nn.SGD):
        def construct(self, gradients: Any) -> Any:
            return super().construct(ms.ops.clip_by_value(gradients, -1.0, 1.0))

    class Own(nn.SGD):
        def construct(self, gradients: Any) -> Any:
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                ms.ops.assign(parameter, parameter - 0.1 * gradient)

    net = Net()
    with watch.statistics(net) as found:
        net(X)
    assert {row.kind for row in found.rows} == {"output", "parameter"}
    gradients = ms.grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())(X)
    optimizer: Any = None
    for make in (Clipping, Own, lambda *given: nn.LARS(nn.SGD(*given)), experimental.SGD):
        optimizer = make(net.trainable_params(), 0.1)
        with watch.statistics(net, 1) as found:
            for _ in range(3):
                optimizer(gradients)
        assert {row.step for row in found.rows} == {1, 2, 3}, optimizer
