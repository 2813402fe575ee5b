"""`watch.memory`: which line made the tensors that are held, and what keeps them alive, in every mode."""

from __future__ import annotations

import gc
import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops, watch
from adjoint.runtime.memory.machine import data_observers, machine

both_modes = pytest.mark.parametrize("wrap", [lambda function: function, ms.jit], ids=["eager", "graph"])
N, NBYTES = 64, 4 * 64 * 64


def ones() -> Tensor:
    return ops.ones((N, N))


def kept(row: watch.MemoryRow) -> str:
    """What keeps a row alive, without the numbers of lines."""
    return re.sub(r"\.py:\d+", ".py", row.keeper)


def line(row: watch.MemoryRow) -> str:
    return str(row).partition(".py:")[2].partition("  ")[2]


@both_modes
def test_a_list_of_losses(wrap: Any) -> None:
    net = nn.Dense(N, N, has_bias=False)
    step = wrap(lambda x: net(x) * 2)
    x = ones()
    step(x)
    losses: list[Tensor] = []
    with watch.memory() as found:
        for _ in range(4):
            losses.append(step(x))
            found.step()
    row = found.held[0]
    assert (row.tensors, row.bytes, row.made, row.steps, row.type) == (4, 4 * NBYTES, 4, 4, "float32 [64, 64]")
    assert kept(row) == "`losses` of `test_a_list_of_losses`, a list of 4 (test_memory_use.py)"
    assert line(row) == "step = wrap(lambda x: net(x) * 2)" and found.grows == [row] and found.end_bytes >= 4 * NBYTES
    first, grows = str(found).splitlines()[:2]
    assert first.startswith("65.5 kB in 4 tensors of this block are held at its end") and grows.startswith(
        "memory grows by 16.4 kB a step, kept by `losses` of `test_a_list_of_losses`, a list of 4 (test_memory_use.py:"), grows


@both_modes
def test_the_closure_of_a_hook(wrap: Any) -> None:
    net = nn.SequentialCell(nn.Dense(N, N), nn.ReLU())

    def keep(cell: nn.Cell) -> None:
        gradients: list[Any] = []
        cell.register_backward_hook(lambda cell, grad_input, grad_output: gradients.append(grad_output))

    keep(net[0])
    gradient = wrap(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
    x = ones()
    gradient(x)
    with watch.memory() as found:
        for _ in range(3):
            gradient(x)
    row = found.grows[0]
    assert row.bytes == 3 * NBYTES and row.tensors == 3
    assert kept(row) == ("`gradients`, a list of 4, in the closure of `test_the_closure_of_a_hook.<locals>.keep.<locals>.<lambda>` "
                         "(test_memory_use.py), a hook of the Cell '0'")


@both_modes
def test_a_tape(wrap: Any) -> None:
    """The function that `vjp` returns has what the forward pass computed; of a graph, its inputs."""
    function, x = wrap(lambda x: ops.tanh(x * 2).sum()), ones()
    ms.vjp(function, x)
    pullbacks: dict[str, list[Any]] = {"all": []}
    with watch.memory() as found:
        for _ in range(3):
            pullbacks["all"].append(ms.vjp(function, x + 1)[1])
    rows = [row for row in found.grows if row.bytes == 3 * NBYTES]
    assert rows and {kept(row) for row in rows} == {
        "the tape of a gradient, in `pullbacks['all']` of `test_a_tape`, a list of 3 (test_memory_use.py)"}


GLOBAL: dict[str, Any] = {}


class Memory(nn.Cell):
    shared: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.state = None

    def construct(self, x: Tensor) -> Tensor:
        self.state = (x + 1, x)
        return x


def test_names_of_keepers(request: pytest.FixtureRequest) -> None:
    """A global, an attribute of a class, a Cell or an object, a variable, data, a cycle, the traceback of an exception, an array."""
    class Holder:
        slot: Any

    net, holder = Memory(), Holder()

    def cycle() -> None:
        loop: list[Any] = [x / 2]
        loop.append(loop)

    def fails() -> None:
        local = ops.erf(x)
        raise ValueError(local.shape)

    x = ones()
    gc.disable()
    request.addfinalizer(gc.enable)
    with watch.memory() as found:
        GLOBAL["last"] = x * 2
        Memory.shared = ops.cos(x)
        net(x)
        holder.slot = x - 3
        variable = x.exp()
        data = Tensor(np.ones((N, N), np.float64))
        array = ops.sqrt(x).asnumpy()
        cycle()
        try:
            fails()
        except ValueError as error:
            raised = error
    here = "of `test_names_of_keepers`"
    assert {row.op: kept(row) for row in found.held if row.bytes >= NBYTES} == {
        "mul": "`GLOBAL['last']` (test_memory_use.py)",
        "cos": "`Memory.shared` (test_memory_use.py)",
        "add": "`state` of the Cell 'Memory', a tuple of 2",
        "sub": f"`holder.slot` {here} (test_memory_use.py)",
        "exp": f"the variable `variable` {here} (test_memory_use.py)",
        "data": f"the variable `data` {here} (test_memory_use.py)",
        "sqrt": f"the variable `array` {here} (test_memory_use.py)",
        "div": "a reference cycle, which Python's garbage collector has not found yet",
        "erf": "the variable `local` of `test_names_of_keepers.<locals>.fails` (test_memory_use.py), in the traceback of an exception",
    }
    assert variable.shape == data.shape == array.shape and raised
    GLOBAL.clear()
    Memory.shared = None


@both_modes
def test_the_peak(wrap: Any) -> None:
    """It has what was alive then, and a graph's workspace; not what was there before."""
    def wide(x: Tensor) -> Tensor:
        return ops.concat((x.exp(), x.sin())).sum() * x.cos()

    function, x = wrap(wide), ones()
    function(x)
    with watch.memory() as found:
        function(x)
        y = x * 2
    assert found.peak_bytes >= 4 * NBYTES and found.peak_bytes == sum(row.bytes for row in found.peak)
    if wrap is not ms.jit:
        assert {row.op: row.bytes for row in found.peak} == {"exp": NBYTES, "sin": NBYTES, "concat": 2 * NBYTES}
    assert [row.bytes for row in found.held if row.bytes >= NBYTES] == [y.nbytes] and found.before_bytes >= NBYTES
    assert "at the peak" in str(found)


def test_small_tensors_and_those_of_other_threads() -> None:
    kept_here: list[Tensor] = []
    with watch.memory() as found:
        for i in range(3):
            kept_here.append(ops.ones((2,)) * i)
        thread = threading.Thread(target=lambda: kept_here.append(ones() * 2))
        thread.start()
        thread.join()
    assert {(row.op, row.bytes) for row in found.held if row.keeper.startswith("`kept_here`")} == {("mul", 24), ("", NBYTES)}


def test_what_is_alive_is_told_in_the_block_too() -> None:
    with watch.memory() as outer:
        x = ones()
        with watch.memory() as inner:
            y = x + 1
            (row,) = inner.held
            assert row.op == "add" and row.bytes == y.nbytes
            del y
            assert not inner.held
    assert not inner.held and [row.bytes for row in outer.held] == [NBYTES]


def test_a_trace(tmp_path: Path) -> None:
    with watch.memory() as found:
        ones()
    found.save(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["bytes"] for event in events] == [NBYTES, 0] and {event["ph"] for event in events} == {"C"}
    assert 0 <= events[0]["ts"] <= events[1]["ts"]


def test_nothing_is_followed_afterwards() -> None:
    x = ones()
    with pytest.raises(ZeroDivisionError), watch.memory() as found:
        ops.exp(x)
        raise ZeroDivisionError
    ones()
    assert not data_observers and not machine().memory_changes() and found.peak_bytes == NBYTES and sys.getrefcount(x.memory) <= 3
