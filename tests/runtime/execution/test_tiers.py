"""Graphs and gradients that run often get fused kernels: when, which, with the same bits, and what happens if these cannot be had."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.codegen.workshop import CompilerFailure
from adjoint.foundation.budget import Budget, Table
from adjoint.ir.core import Node, walk
from adjoint.ir.ops import loops
from adjoint.ir.ops.fused import Fused, FusedKernel
from adjoint.ir.ops.state import Write
from adjoint.ir.parse import parse_module
from adjoint.passes import fuse
from adjoint.runtime.execution import bound_plan, tiers
from adjoint.runtime.inspection import stages
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process import context
from tests.seams import plant

pytestmark = [pytest.mark.skipif(machine().kernels is None, reason="without a compiler nothing is fused"),
              pytest.mark.usefixtures("without_fusion")]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans with fused nodes that are made during the test; None for a function in which there is nothing to fuse."""
    made: list[Any] = []

    fused_plan = tiers.fused_plan

    def noted(plan: Any, **how: Any) -> Any:
        made.append(fused_plan(plan, **how))
        return made[-1]

    monkeypatch.setattr(tiers, "fused_plan", noted)
    return made


def fused_nodes(plan: Any) -> list[Node]:
    return [node for node in walk(plan.function.body) if isinstance(node.op, Fused)]


def finish() -> None:
    """Wait for what was given to the background."""
    kernels = machine().kernels
    assert kernels is not None
    while any(thread.is_alive() for thread in kernels._later._alive):
        kernels._later.wait()


def bits(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [bits(x) for x in value]
    return value.asnumpy().tobytes()


def tensors(count: int, *shape: int, seed: int = 0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return [Tensor(rng.standard_normal(shape).astype(np.float32)) for _ in range(count)]


def chain(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (ops.tanh(x * a + b) * ops.sigmoid(x) - ops.exp(-x * x)).mean()


def straight(x: Tensor, y: Tensor) -> Tensor:
    return ops.tanh(x * y + 0.25) * ops.exp(x) - y


# How many kernels -------------------------------------------------------------------------------------------------------------


def test_a_chain_with_its_mean_is_one_kernel(plans: list[Any]) -> None:
    given = tensors(3, 5000)
    graph = ms.jit(lambda x, a, b: chain(x, a, b))
    expected = chain(*given)
    ms.set_context(background_compile="wait")
    assert bits(graph(*given)) == bits(expected)
    (plan,) = plans
    (launch,) = [each for piece in plan.body.pieces for each in piece.launches]
    assert isinstance(launch.node.op, Fused)


def test_a_chain_differentiated_as_a_whole_is_one_kernel(plans: list[Any]) -> None:
    """Forward and backward pass; the loss too."""
    given = tensors(3, 5002)
    gradient = ms.value_and_grad(chain, (0, 1, 2))
    expected = gradient(*given)
    ms.set_context(background_compile="wait")
    assert bits(ms.jit(lambda x, a, b: gradient(x, a, b))(*given)) == bits(expected)
    large = [node for plan in plans if plan for node in plan.function.body.nodes if any(x.type.count > 1 for x in node.results)]
    assert len(large) == 1 and isinstance(large[0].op, Fused)
    assert {"tanh", "mean", "tanh_gradient"} <= {node.op.name for node in large[0].regions[0].nodes}


def test_its_adjoint_is_one_kernel(plans: list[Any]) -> None:
    given = tensors(3, 5001)
    function = ms.value_and_grad(lambda x, a, b: chain(x, a, b) * 3.0, (0, 1, 2))
    expected = function(*given)
    ms.set_context(background_compile="wait")
    assert bits(function(*given)) == bits(expected)
    (plan,) = plans
    large = [node for node in plan.function.body.nodes if any(x.type.count > 1 for x in node.results)]
    assert len(large) == 1 and isinstance(large[0].op, Fused)


def trained(graph: bool, rows: int = 6, norm: float | None = 0.1) -> tuple[list[Any], list[Any], Callable[[], Any]]:
    """Parameters and states, and the losses, after three steps with gradients clipped by their norm; and one more step to call."""
    x, target = tensors(1, rows, 20)[0], tensors(1, rows, 4, seed=1)[0]
    net = nn.SequentialCell(nn.Dense(20, 30, weight_init=tensors(1, 30, 20, seed=2)[0], bias_init="zeros"), nn.Tanh(),
                            nn.Dense(30, 4, weight_init=tensors(1, 4, 30, seed=3)[0], bias_init="zeros"))
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x: ops.square(net(x) - target).mean(), None, optimizer.parameters)

    def step(x: Tensor) -> Tensor:
        loss, gradients = gradient(x)
        optimizer(gradients if norm is None else ops.clip_by_global_norm(gradients, norm))
        return loss

    run = ms.jit(step) if graph else step
    losses = [run(x) for _ in range(3)]
    return [*net.trainable_params(), *optimizer.moment1], losses, lambda: run(x)


def test_gradients_scaled_before_a_step_are_part_of_it(plans: list[Any]) -> None:
    """One launch for all parameters; each stays in its memory."""
    expected = bits(trained(graph=False)[:2])
    ms.set_context(background_compile="wait")
    parameters, losses, step = trained(graph=True)
    assert bits((parameters, losses)) == expected
    plan = next(plan for plan in reversed(plans) if plan and any(isinstance(node.op, Write) for node in plan.function.body.nodes))
    updates = [node for node in fused_nodes(plan) if node.regions[0].nodes[-1].op.name == "adam_update"]
    assert len(updates) == 4 and all(len(node.regions[0].nodes) > 1 for node in updates)
    before = [x.memory for x in parameters]
    addresses = [id(x) for x in before]
    del before
    step()
    assert [id(x.memory) for x in parameters] == addresses


def test_the_gradient_of_weights_by_one_row_is_part_of_their_step(plans: list[Any]) -> None:
    """It is an outer product, which is not stored; it has the bits of the matrix product in eager mode."""
    expected = bits(trained(graph=False, rows=1, norm=None)[:2])
    ms.set_context(background_compile="wait")
    parameters, losses, _ = trained(graph=True, rows=1, norm=None)
    assert bits((parameters, losses)) == expected
    plan = next(plan for plan in reversed(plans) if plan and any(isinstance(node.op, Write) for node in plan.function.body.nodes))
    steps = [[inner.op.name for inner in node.regions[0].nodes] for node in fused_nodes(plan)]
    assert steps.count(["outer_product", "adam_update"]) == 2


def test_a_new_batch_size_needs_no_new_kernel(plans: list[Any]) -> None:
    ms.set_context(background_compile="wait")
    graph = ms.jit(lambda x, a, b: chain(x, a, b) * 2.5)
    texts = set()
    for batch in (3000, 2500, 4096, 4096):  # the first call with 4096 makes no plan
        graph(*tensors(3, batch))
    for plan in plans:
        for node in fused_nodes(plan):
            texts.add(text_of(node))
    assert len(plans) == 3 and len(texts) == 1


def text_of(node: Node) -> str:
    from adjoint.codegen.emit import lower

    return lower(FusedKernel.of(node.regions[0]), [x.type for x in node.operands], [x.type for x in node.results]).text


# When -------------------------------------------------------------------------------------------------------------------------


def test_after_the_third_run_and_not_before(plans: list[Any]) -> None:
    ms.set_context(background_compile=True)
    x, y = tensors(2, 70)
    graph = ms.jit(lambda x, y: straight(x, y) * 7.0)
    found = [bits(graph(x, y)) for _ in range(3)]
    finish()
    assert not plans
    found.append(bits(graph(x, y)))
    finish()
    assert len(plans) == 1 and fused_nodes(plans[0])
    found += [bits(graph(x, y)) for _ in range(3)]
    assert found == [found[0]] * 7 and len(plans) == 1


def test_off(plans: list[Any]) -> None:
    ms.set_context(background_compile=False)
    x, y = tensors(2, 70)
    graph = ms.jit(lambda x, y: straight(x, y) * 8.0)
    for _ in range(9):
        graph(x, y)
    finish()
    assert not plans
    ms.set_context(background_compile=True)
    graph(x, y)
    finish()
    assert len(plans) == 1, "switched on later, what has run often is fused at its next run"


def test_waiting_in_a_call_that_passes_a_tensor_on() -> None:
    """Before kernels are fused, the `if` passes x on as a tensor; a kernel takes its memory."""
    ms.set_context(background_compile="wait")

    @ms.jit
    def function(x: Tensor, number: Tensor) -> Tensor:
        return x * 5 if (number == 2).any() and (number != 3).any() else x

    x = Tensor([1.0, 2.0])
    found = [function(x, Tensor(number)).asnumpy().tolist() for number in (2.0, 3.0, 2.0)]
    assert found == [[5.0, 10.0], [1.0, 2.0], [5.0, 10.0]]


def test_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, value in (("", True), ("1", True), ("0", False), ("wait", "wait"), ("plain", "plain")):
        monkeypatch.setitem(context._settings, "background_compile", None)
        monkeypatch.setenv("ADJOINT_BACKGROUND_COMPILE", text)
        assert ms.get_context("background_compile") == value
    monkeypatch.setitem(context._settings, "background_compile", None)
    monkeypatch.setenv("ADJOINT_BACKGROUND_COMPILE", "sometimes")
    with pytest.raises(ValueError, match="ADJOINT_BACKGROUND_COMPILE must be 1, 0, wait or plain, but got 'sometimes'"):
        ms.get_context("background_compile")


def test_wrong_values_of_the_setting() -> None:
    with pytest.raises(ValueError, match="must be True, False, 'wait' or 'plain', but got 'now'"):
        ms.set_context(background_compile="now")
    with pytest.raises(TypeError, match="must be a bool, 'wait' or 'plain', but got 2 of type int"):
        ms.set_context(background_compile=2)


def test_a_run_that_has_begun_keeps_its_form(plans: list[Any]) -> None:
    """The kernels become ready in the middle of a run: it ends as it began, and the next one uses them."""
    ms.set_context(background_compile=True)

    waits = [False]

    class Inner(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.tanh(x) * x - x

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.inner.register_backward_hook(lambda cell, gi, go: finish() if waits[0] else None)

        def construct(self, x: Tensor) -> Tensor:
            return (ops.exp(self.inner(x * x) * x) * x).sum()

    (x,) = tensors(1, 90)
    gradient = ms.grad(Net())
    found = []
    for number in range(6):
        waits[0] = number == 3
        found.append(bits(gradient(x)))
        assert len(plans) == (number >= 3)
    assert fused_nodes(plans[0]) and found == [found[0]] * 6


def test_threads_that_run_while_kernels_are_swapped() -> None:
    ms.set_context(background_compile=True)
    x, y = tensors(2, 3000)
    graph = ms.jit(lambda x, y: straight(x, y) * 9.0)
    expected, wrong = bits(graph(x, y)), []

    def many() -> None:
        for _ in range(200):
            if bits(graph(x, y)) != expected:
                wrong.append(1)

    running = [threading.Thread(target=many) for _ in range(2)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    finish()
    many()
    assert not wrong


def test_the_function_for_whole_calls_is_made_of_fused_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the form at first is used meanwhile, and no longer, though callers keep it."""
    kernels = machine().kernels
    tasks: list[Callable[[], None]] = []
    pieces: list[Any] = []
    written_call = bound_plan.written_call

    def noted(parts: Any, *rest: Any) -> Any:
        pieces.extend(part.of.piece for part in parts)
        return written_call(parts, *rest)

    monkeypatch.setattr(kernels, "later", tasks.append)
    monkeypatch.setattr(bound_plan, "written_call", noted)
    ms.set_context(background_compile=True)
    x, y = tensors(2, 70)
    graph = ms.jit(lambda x, y: straight(x, y) * 12.0)
    expected = bits(graph(x, y))
    for _ in range(9):
        assert bits(graph(x, y)) == expected
    runs: list[int] = []
    run = bound_plan.BoundPlan.run_fitting
    monkeypatch.setattr(bound_plan.BoundPlan, "run_fitting", lambda *given: (runs.append(1), run(*given))[1])
    (first,) = pieces
    assert len(first.launches) > 1
    (task,) = tasks
    task()
    assert not runs
    assert bits(graph(x, y)) == bits(graph(x, y)) == expected
    assert runs == [1], "the function made at first does not run any more, the second is taken after one run"
    ((launch,),) = [piece.entries for piece in pieces[1:]]
    assert isinstance(launch.node.op, Fused)


def test_a_graph_that_is_gone_is_not_compiled(plans: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine().kernels
    tasks: list[Callable[[], None]] = []
    monkeypatch.setattr(kernels, "later", tasks.append)
    ms.set_context(background_compile=True)
    x, y = tensors(2, 70)
    graph = ms.jit(lambda x, y: straight(x, y) * 11.0)
    for _ in range(4):
        graph(x, y)
    del graph
    gc.collect()
    (task,) = tasks
    task()
    assert not plans


def test_flipping_a_hook_compiles_at_most_two_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine().kernels
    assert kernels is not None
    texts: set[str] = set()
    prepare = kernels.prepare

    def noted(given: Any, **how: Any) -> None:
        given = list(given)
        texts.update(kernel.text for kernel in given)
        prepare(given, **how)

    monkeypatch.setattr(kernels, "prepare", noted)
    ms.set_context(background_compile=True)

    class Inner(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.tanh(x) * x + x

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def construct(self, x: Tensor) -> Tensor:
            return (ops.exp(self.inner(x * x)) * x).sum()

    net, (x,) = Net(), tensors(1, 40)
    gradient = ms.grad(net)
    seen, expected = [], bits(gradient(x))
    counts = []
    for _ in range(100):
        handle = net.inner.register_backward_hook(lambda cell, gi, go: seen.append(1))
        assert bits(gradient(x)) == expected
        handle.remove()
        assert bits(gradient(x)) == expected
        finish()
        counts.append(len(texts))
    assert len(seen) == 100
    assert counts[9] == counts[-1], "two sets of kernels, made after the third run of each"


# The same bits ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dtype", [ms.float32, ms.float16, ms.bfloat16, ms.float64])
def test_values_and_gradients_to_order_two(dtype: Any, count: int) -> None:
    """Operands with -0.0, NaN and infinities in different elements; a row, a column and a number are broadcast."""

    def function(x: Tensor, row: Tensor, column: Tensor, one: Tensor) -> Tensor:
        y = ops.tanh(x * row + column) * one
        return ops.where(y > 0, y * y, ops.exp(y)) / (1.5 + ops.abs(column)) + ops.maximum(x, row) * 0.3

    rng = np.random.default_rng(3)
    x = rng.standard_normal((37, 130))
    x[0, :6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30]
    arrays = x, rng.standard_normal(130), rng.standard_normal((37, 1)), np.array(rng.standard_normal())
    given = [Tensor(array.astype(np.float32)).astype(dtype) for array in arrays]

    def everything() -> list[Any]:
        def first(*args: Tensor) -> Tensor:
            gradients = ms.grad(lambda *a: function(*a).sum(), (0, 1, 2, 3))(*args)
            return sum(((g.astype(ms.float32) * 0.5).sum() for g in gradients), Tensor(0.0))

        return [
            bits_of_floats(ms.jit(lambda *a: function(*a))(*given)),
            bits_of_floats(ms.grad(lambda *a: function(*a).sum(), (0, 1, 2, 3))(*given)),
            bits_of_floats(ms.grad(first, (0, 1, 2, 3))(*given)),
        ]

    threads = ms.get_context("num_threads")
    try:
        ms.set_context(background_compile=False, num_threads=count)
        expected = everything()
        ms.set_context(background_compile="wait")
        assert everything() == expected
        assert everything() == expected
    finally:
        ms.set_context(num_threads=threads)


def bits_of_floats(value: Any) -> Any:
    """The bits, with one NaN for all."""
    if isinstance(value, (tuple, list)):
        return [bits_of_floats(x) for x in value]
    array = value.astype(ms.float64).asnumpy()
    return np.where(np.isnan(array), np.nan, array).tobytes()


def wrong_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operands of `sub` change places where it is fused."""
    plant(monkeypatch, "C of sub", lambda scalar: lambda self, k, x, y: y - x)


def contracted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product is not rounded before it is added to."""
    plant(monkeypatch, "C of mul", lambda scalar: lambda self, k, x, y: k.call("fma", x, y, 1e-6))


def not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is between the nodes keeps the bits that its dtype does not have."""
    monkeypatch.setattr("adjoint.ir.ops.fused.F16", None)


def result_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fused node yields its values in another order."""

    def reversing(of: Callable[[Any], FusedKernel]) -> Callable[[Any], FusedKernel]:
        def reversed_results(region: Any) -> FusedKernel:
            made = of(region)
            return FusedKernel(made.operands, made.steps, made.results[::-1])

        return reversed_results

    plant(monkeypatch, "fused kernel", reversing)


def one_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group may reach over a node that uses what it computes and that it uses."""
    plant(monkeypatch, "levels of nodes", lambda levels: lambda self: [0] * len(self.nodes))


def always_the_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where operands are broadcast, the next row is read like the one before."""
    monkeypatch.setattr(loops, "advance", lambda k, counters, sizes: None)


def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mistake the results are the same."""


_PLANTED: list[Callable[[pytest.MonkeyPatch], None]] = [
    nothing, wrong_difference, contracted, not_rounded, result_of_another, one_too_late, always_the_first_row,
]


@pytest.mark.parametrize("mistake", _PLANTED)
def test_a_mistake_is_seen(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison of this file finds wrong fusions."""

    def function(x: Tensor, y: Tensor, row: Tensor) -> tuple[Tensor, ...]:
        a = x * y - x * 3.0
        b = ops.softmax(a) * a - y
        return b * a - x, a * a - y, (ops.softmax(b) + row).sum()

    rows = 10 + _PLANTED.index(mistake)  # plans of one shape are shared
    given = [x.astype(ms.float16) for x in (*tensors(2, rows, 33), *tensors(1, 33))]
    expected = bits(ms.jit(lambda x, y, row: function(x, y, row))(*given))
    ms.set_context(background_compile="wait")
    # No mistake hides in recipes, and none stays there.
    plant(monkeypatch, "recipes", lambda families: Table("recipes of this test", Budget()))
    mistake(monkeypatch)
    try:
        found = bits(ms.jit(lambda x, y, row: function(x, y, row))(*given))
    except Exception:
        return
    assert (found == expected) == (mistake is nothing)


# What can go wrong ------------------------------------------------------------------------------------------------------------


def test_a_kernel_that_the_compiler_refuses(plans: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its nodes stay as they were; the other kernels of the graph are fused."""
    kernels = machine().kernels
    assert kernels is not None
    get = kernels.get

    def refusing(kernel: Any) -> Any:
        if kernel.name.startswith("fused") and "exp" in kernel.text:
            raise CompilerFailure("The C of fused could not be compiled: please report this fault with the file report/fused.txt.")
        return get(kernel)

    monkeypatch.setattr(kernels, "get", refusing)
    ms.set_context(background_compile="wait")
    x, y = tensors(2, 9, 13)

    def function(x: Tensor, y: Tensor) -> Tensor:
        return ops.softmax(ops.exp(x) * y - x) * y + x

    graph = ms.jit(lambda x, y: function(x, y))
    expected = bits(function(x, y))
    with pytest.warns(UserWarning, match=r"report/fused.txt. The operators that it fuses run one by one."):
        assert bits(graph(x, y)) == expected
    (plan,) = plans
    assert len(fused_nodes(plan)) == 1


def test_a_fault_in_the_background_is_told_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(fuse, "fused", broken)
    ms.set_context(background_compile=True)
    x, y = tensors(2, 70)
    graph = ms.jit(lambda x, y: straight(x, y) * 12.0)
    with pytest.warns(UserWarning, match=r"could not be fused \(ZeroDivisionError: oh\)"):
        found = [bits(graph(x, y)) for _ in range(6)]
        finish()
    assert found == [found[0]] * 6


def test_values_that_python_sees_are_its_own(plans: list[Any]) -> None:
    """A hook keeps the gradient that it gets: the next step does not write to it."""
    ms.set_context(background_compile="wait")
    kept: list[Tensor] = []

    class Inner(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.tanh(x * x) * x

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.inner.register_backward_hook(lambda cell, gi, go: kept.extend((*gi, *go)))

        def construct(self, x: Tensor) -> Tensor:
            return (self.inner(x * 3.0 + x) * x * 0.1 - x).sum()

    gradient = ms.grad(Net())
    x, y = tensors(2, 50)
    gradient(x)
    before = bits(kept)
    gradient(y)
    assert bits(kept[:2]) == before
    assert any(plan is not None and len(fused_nodes(plan)) == 2 for plan in plans)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_runs_on(tmp_path: Path) -> None:
    program = tmp_path / "forks.py"
    program.write_text(
        "import os, numpy as np, adjoint as ms\n"
        "from adjoint import Tensor, ops\n"
        "graph = ms.jit(lambda x: ops.tanh(x * x) * x + ops.exp(x))\n"
        "x = Tensor(np.linspace(-1, 1, 100, dtype=np.float32))\n"
        "found = [graph(x).asnumpy().tobytes() for _ in range(5)]\n"
        "child = os.fork()\n"
        "found += [graph(x).asnumpy().tobytes() for _ in range(20)]\n"
        "assert found == [found[0]] * 25\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    print('both')\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=240, check=False,
                          env={**os.environ, "ADJOINT_BACKGROUND_COMPILE": "1"})
    assert done.stdout == "both\n", done.stderr




# What is shown ----------------------------------------------------------------------------------------------------------------


def test_the_stages_show_fused_nodes() -> None:
    module = parse_module(
        "func @f(x: f32[8], y: f32[8]) -> f32 {\n  a: f32[8] = mul(x, y)\n  b: f32[8] = tanh(a)\n"
        "  s: f32 = sum(b, axes=[0])\n  return s\n}\n")
    ms.set_context(background_compile=True)
    plan = stages.plan_text_of(stages.plans(module)).partition("after some runs\n")[2]
    assert "  s: f32 = fused carry (x.1: f32[8] = x, y.1: f32[8] = y)  #2 <- #0, #1\n    a: f32[8] = mul(x.1, y.1)\n" in plan
    fused_kernel = next(kernel for kernel in stages.kernels(module) if kernel["name"].startswith("fused"))
    assert fused_kernel["text"].startswith("// fused(f32[8], f32[8]) -> f32 of mul tanh sum at <text>:4\n")
    assert "const float b = adjoint_tanh_f32(a);  // tanh at <text>:3\n" in fused_kernel["text"]
    assert "const float b = adjoint_tanh_f32(a);\n" in fused_kernel["c"]
    (text,) = (text_of(node) for node in fuse.fused(module.functions["f"]).body.nodes)
    assert "const float tanh = adjoint_tanh_f32(mul);\n" in text, "what is compiled names neither values nor places: it is shared"
    ms.set_context(background_compile=False)
    assert "fused" not in stages.plan_text_of(stages.plans(module)) and len(stages.kernels(module)) == 3


def test_the_lines_of_a_kernel_and_the_nodes_that_they_compute() -> None:
    """Also of those that come before the line, of several stages, and of a kernel that serves two places."""
    group = "  a{0}: f32[8, 5] = add(x{0}, r{0})\n  b{0}: f32[8, 5] = exp(a{0})\n  s{0}: f32[5] = sum(b{0}, axes=[0])\n"
    params = ", ".join(f"x{i}: f32[8, 5], r{i}: f32[5]" for i in (1, 2))
    module = parse_module(f"func @f({params}) -> (f32[5], f32[5]) {{\n{group.format(1)}{group.format(2)}  return s1, s2\n}}\n")
    ms.set_context(background_compile=True)
    kernel = next(kernel for kernel in stages.kernels(module) if kernel["name"].startswith("fused"))
    shown = {kernel["c"].split("\n")[line - 1].strip(): nodes for line, nodes in kernel["lines"].items()}
    assert shown == {
        "const float a1 = x1_value + r1_value;": ["add at <text>:2", "add at <text>:5"],
        "const float b1 = adjoint_exp_f32(a1);": ["exp at <text>:3", "exp at <text>:6"],
    }


def test_a_bprop_of_the_users_is_called_after_fusing() -> None:
    """Cells are found by the values that their nodes define: the passes of this tier keep all values, also of moments and branches."""
    calls: list[int] = []

    class Halved(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x

        def bprop(self, x: Any, out: Any, dout: Any) -> Any:
            calls.append(1)
            return (0.5,)

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.halved = Halved()

        def construct(self, x: Any) -> Any:
            y = self.halved(x)
            ops.var(y, 0)
            if x.sum() > 100:
                y = y * 2.0
            return y

    net = Net()

    def twice(x: Any) -> Any:
        return ms.value_and_grad(lambda x: (ms.grad(net)(x) ** 2).sum())(x)

    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    expected = twice(x)
    ms.set_context(background_compile="wait")
    run = ms.jit(twice)
    for _ in range(3):
        calls.clear()
        value, gradient = run(x)
        assert value.asnumpy() == expected[0].asnumpy() == 1.5
        assert not gradient.asnumpy().any()
        assert calls
