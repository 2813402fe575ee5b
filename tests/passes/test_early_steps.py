"""Steps of optimisers that come early: the numbers stay, also where a parameter's value is overwritten by its step; memory is saved."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.ir.core import Module
from adjoint.ir.interpret import interpret
from adjoint.ir.parse import parse_module
from adjoint.ir.plan import Launch
from adjoint.ir.verify import verify_module
from adjoint.passes import early_steps
from adjoint.passes.manager import Pipeline
from adjoint.passes.order import reads_survive
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.running.optimised import quiet_plan
from adjoint.runtime.memory.machine import machine

# Numbers -----------------------------------------------------------------------------------------------------------------------


def made_up(seed: int) -> str:
    """A program on the parameters w and v and the number r: reads, products, names, steps, writes, calls of Python, failures, branches.

    What was read from a parameter is not used once the parameter is written.
    """
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    scope: dict[str, str | None] = {"x": None, "y": None}
    numbers: dict[str, str | None] = {}

    def emit(text: str, type_: str = "f32[4]") -> str:
        lines.append(f"  t{len(lines)}: {type_} = {text}")
        return f"t{len(lines) - 1}"

    def some(names: dict[str, str | None]) -> str:
        return list(names)[int(rng.integers(len(names)))]

    def write(symbol: str, value: str) -> None:
        lines.append(f"  write! @{symbol}({value})")
        for known in (scope, numbers):
            for name in [name for name, of in known.items() if of == symbol]:
                del known[name]

    numbers[emit("read @r", "f32")] = "r"
    for _ in range(int(rng.integers(10, 40))):
        choice, symbol = int(rng.integers(9)), "wv"[int(rng.integers(2))]
        rate = some(numbers) if numbers else "0.5_f32"
        if choice == 0:
            scope[emit(f"read @{symbol}")] = symbol
        elif choice == 1:
            numbers[emit("read @r", "f32")] = "r"
        elif choice == 2:
            numbers[emit(f"mul({rate}, 0.75_f32)", "f32")] = None
        elif choice == 3:
            write("r", emit(f"mul({rate}, 0.5_f32)", "f32"))
        elif choice == 4:
            name = some(scope)
            scope[emit(f"reshape({name}, to=f32[4])")] = scope[name]
        elif choice == 5:
            match int(rng.integers(6)):
                case 0 | 1:
                    emit(f"callback! @h({some(scope)})")
                case 2:
                    numbers[emit(f"gather({some(scope)}, k, axis=0)", "f32")] = None
                case 3:
                    small, given = emit(f"less({rate}, 0.4_f32)", "bool"), some(scope)
                    a, b, c = (f"{name}{len(lines)}" for name in "abc")
                    scope[emit(f"if {small} {{\n    {a}: f32[4] = read @{symbol}\n    {b}: f32[4] = add({a}, {given})\n    yield {b}\n"
                               f"  }} else {{\n    {c}: f32[4] = mul({given}, {given})\n    yield {c}\n  }}")] = None
        elif choice == 6:
            scope[emit(f"add({some(scope)}, {some(scope)})")] = None
        elif choice == 7:
            scope[emit(f"mul({some(scope)}, {some(scope)})")] = None
        elif choice == 8:
            write(symbol, emit(f"sgd_update({emit(f'read @{symbol}')}, {some(scope)}, {rate}, 0.0_f32, 1.0_f32)"))
    result = emit(f"add({some(scope)}, {some(scope)})")
    body = "\n".join(lines)
    params = "param @w : f32[4]\nparam @v : f32[4]\nparam @r : f32\n"
    return f'{params}host @h = "t:h"\nfunc @f(x: f32[4], y: f32[4], k: i64) -> f32[4] {{\n{body}\n  return {result}\n}}\n'


class Overwritten(dict[str, Any]):
    """State whose arrays are overwritten by a write: whoever still holds one sees the new numbers."""

    def __setitem__(self, symbol: str, value: Any) -> None:
        self[symbol][...] = np.copy(value)


def run(module: Module, kind: Callable[..., dict[str, Any]], selected: int) -> Any:
    """Return the results, unless the selected element is out of range, the parameters and what Python was given."""
    rng = np.random.default_rng(1)
    state = kind((symbol, rng.uniform(0.5, 1.5, type_.sizes).astype(np.float32)) for symbol, type_ in module.params.items())
    log: list[Any] = []

    def host(x: Any) -> None:
        log.append([np.copy(x), *(np.copy(state[symbol]) for symbol in state)])

    given = [*(rng.uniform(0.5, 1.5, 4).astype(np.float32) for _ in range(2)), np.int64(selected)]
    results: tuple[Any, ...] = ()
    with contextlib.suppress(IndexError):
        results = interpret(module.functions["f"], given, module, state=state, hosts={"h": host})
    return [x.tolist() for x in (*results, *state.values())], [[x.tolist() for x in seen] for seen in log]


def test_programs_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_steps, "_LARGE", 16)
    monkeypatch.setattr(early_steps, "_LIGHT", 4)
    moved = 0
    for seed in range(400):
        before = parse_module(made_up(seed))
        after = Pipeline.parse("early-steps").run(before)
        verify_module(after)
        assert reads_survive(before.functions["f"]) and reads_survive(after.functions["f"]), seed
        for selected in (0, 9):
            assert run(after, Overwritten, selected) == run(before, dict, selected), seed
        moved += before.functions["f"] is not after.functions["f"]
    assert moved > 50


# Memory ------------------------------------------------------------------------------------------------------------------------


def steps_of(clipped: bool) -> tuple[Any, Any, Tensor]:
    """A training step of three large layers, jitted and not, from the same parameters."""
    rng = np.random.default_rng(0)
    weights = [Tensor(0.05 * rng.standard_normal((512, 512)), ms.float32) for _ in range(3)]

    def one() -> Any:
        net = nn.SequentialCell(*[layer for w in weights for layer in (nn.Dense(512, 512, w.copy(), "zeros"), nn.Tanh())])
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

        def step(x: Tensor) -> Any:
            loss, gradients = gradient(x)
            optimizer(ops.clip_by_global_norm(gradients, 0.1) if clipped else gradients)
            return loss, [p.asnumpy().tobytes() for p in optimizer.parameters]

        return step, optimizer, gradient

    step, _, _ = one()
    _, optimizer, gradient = one()

    def traced(x: Tensor) -> Tensor:
        loss, gradients = gradient(x)
        optimizer(ops.clip_by_global_norm(gradients, 0.1) if clipped else gradients)
        return loss

    graph = ms.jit(traced)
    return step, (graph, optimizer), Tensor(rng.standard_normal((4, 512)), ms.float32)


def test_large_gradients_are_not_there_all_at_once() -> None:
    """A buffer for one of them is enough."""
    step, (graph, optimizer), x = steps_of(clipped=False)
    plan = quiet_plan(parsed(graph, x).graph)
    (piece,) = plan.body.pieces
    assert piece.arena < 2 * 2**20
    large = [entry.node.op for entry in piece.entries if isinstance(entry, Launch) and entry.node.results[0].type.count == 512 * 512]
    assert [op.name for op in large] == ["matmul", "adam_update"] * 3
    for _ in range(6):
        loss, parameters = step(x)
        assert graph(x).asnumpy() == loss.asnumpy()
        assert [p.asnumpy().tobytes() for p in optimizer.parameters] == parameters


@pytest.mark.skipif(machine().kernels is None, reason="without kernels there is no step in place")
def test_parameters_stay_in_their_memory() -> None:
    _, (graph, optimizer), x = steps_of(clipped=False)
    places = [str(p.memory) for p in optimizer.parameters]  # with the address
    for _ in range(3):
        graph(x)
    assert places == [str(p.memory) for p in optimizer.parameters]


def test_steps_that_need_all_gradients_come_after_them() -> None:
    step, (graph, optimizer), x = steps_of(clipped=True)
    for _ in range(2):
        loss, parameters = step(x)
        assert graph(x).asnumpy() == loss.asnumpy()
        assert [p.asnumpy().tobytes() for p in optimizer.parameters] == parameters
