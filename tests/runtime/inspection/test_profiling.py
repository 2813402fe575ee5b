"""`watch.profile`: where the time goes, by phase, Cell, line and operator, the same in every mode."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops, watch
from adjoint.runtime.inspection.peaks import Peaks, _best, peaks
from adjoint.runtime.memory.machine import machine


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(32, 3))

    def construct(self, x: Any) -> Any:
        return self.body(x) * 2


@pytest.mark.parametrize("wrap", [lambda step: step, ms.jit], ids=["eager", "graph"])
def test_the_parts_of_a_training_step(wrap: Any) -> None:
    net, loss = Net(), nn.MSELoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x: Tensor, y: Tensor) -> Tensor:
        value, gradients = gradient(x, y)
        optimizer(gradients)
        return value

    run, x, y = wrap(step), Tensor(np.ones((5, 1, 4, 4), np.float32)), Tensor(np.ones((5, 3), np.float32))
    for _ in range(3):
        run(x, y)
    with watch.profile() as found:
        run(x, y)
    phases = {part.name: part for part in found.phases}
    assert set(phases) == {"forward", "backward", "optimiser"} and sum(part.calls for part in found.cells) == found.calls
    assert {"body.0", "body.2", "Net", "MSELoss", "Momentum"} <= {part.name for part in found.cells}
    # a product takes 2 m n k operations, a convolution 2 for each filter element and position; the image needs no gradient
    dense, conv = 2 * 5 * 3 * 32, 2 * 5 * 2 * 16 * 9
    assert phases["forward"].operations == dense + conv and phases["backward"].operations == 2 * dense + conv
    assert phases["optimiser"].operations == 0 < phases["optimiser"].bytes
    assert sum(part.seconds for part in found.lines) == pytest.approx(found.in_kernels)
    assert any(part.name.startswith("test_profiling.py:") and "self.body(x) * 2" in part.name for part in found.lines)
    assert found.python == pytest.approx(sum(part.python for part in found.phases), rel=0.5) and found.seconds > found.python > 0
    assert "  backward\n" in str(found) and "  body.0\n" in str(found) and " ms of Python between kernels\n" in str(found)


def test_what_is_made_in_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    with watch.profile() as found:
        ms.jit(lambda x: x * 2)(Tensor([1.0]))
    assert found.made["graphs"] == 1 and "1 graphs" in str(found)
    with watch.profile() as found:
        pass
    assert not found.phases and "graphs" not in found.made  # another thread may make kernels at any time
    monkeypatch.setattr(watch.Profile, "made", {})
    assert str(found).endswith("made: nothing")


@pytest.mark.skipif(machine().kernels is None, reason="without a compiler there is nothing to measure with")
def test_what_the_machine_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of matrices is compared with the peak of multiply-adds, an addition with that of its bytes."""
    found = peaks(again=True)
    assert found is not None and found.operations > 1e8 and all(rate > 1e7 for _, rate in found.bytes)
    assert found.seconds(found.operations, 0) == 1 and found.seconds(0, 10**9) == 10**9 / found.bytes[-1][1]
    monkeypatch.setattr("adjoint.runtime.inspection.peaks.measured", lambda *_: pytest.fail("measured twice in a process"))
    x = ops.ones((128, 128))
    with watch.profile() as measured:
        ops.matmul(x, x)
    (part,) = measured.operators
    assert part.least == found.seconds(2 * 128**3, 3 * x.nbytes) and part.of_peak == part.least / part.seconds
    # Too small a peak, measured while the machine was busy, is noticed when a product is faster.
    slow = Peaks(1.0, found.bytes)
    monkeypatch.setattr("adjoint.runtime.inspection.profiling.peaks", lambda again=False: found if again else slow)
    with watch.profile() as measured:
        ops.matmul(x, x)
    assert measured.operators[0].least == part.least and f"of peak: of {found}" in str(measured)


def test_the_best_peaks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cache:
        kept: Any = None

        def peaks(self, *_: str, measure: Any) -> Any:
            self.kept = measure((), self.kept)
            return self.kept

    cache, turns, found = Cache(), [], None
    for numbers in ([5.0, 1.0, 1.0, 1.0], [4.0, 2.0, 1.0, 1.0]):
        monkeypatch.setattr("adjoint.runtime.inspection.peaks.measured", lambda *given, made=numbers: (turns.append(given[2]), made)[1])
        found = _best(cache, 1, again=False)
    assert found is not None and (found.operations, found.bytes[0][1]) == (5.0, 2.0) and turns[0] > turns[1]


def test_bytes_are_those_that_are_read() -> None:
    """Of a table, the rows that are looked up; in a fused kernel as well."""
    table, rows = ops.ones((1000, 8)), Tensor([1, 2])
    lookup = ms.jit(lambda table, rows: ops.gather(table, rows, 0) * 2)
    for call in (lambda: ops.gather(table, rows, 0), lambda: lookup(table, rows)):
        for _ in range(3):
            with watch.profile() as found:
                call()
        assert sum(part.bytes for part in found.operators) < 1000


def test_waiting_is_not_python() -> None:
    """The time for a new graph is told apart from that of Python between kernels."""
    with watch.profile() as found:
        ms.jit(lambda x: x * 3 + 1)(Tensor([1.0]))
    assert found.waited["graphs"] > 0 and found.python + sum(found.waited.values()) + found.in_kernels < found.seconds


def test_a_trace_has_memory_as_a_curve(tmp_path: Path) -> None:
    with watch.profile() as found:
        x = ops.ones((64, 64))
        y = x * 2
        del x, y
    found.save(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["bytes"] for event in events if event["ph"] == "C"] == [16384, 32768, 16384, 0]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {"kernels", "Python between kernels"}
    assert all(event["args"]["phase"] == "forward" for event in events if event["ph"] == "X" and event["tid"] == 1)


def test_a_script_is_profiled(tmp_path: Path) -> None:
    script, trace = tmp_path / "script.py", tmp_path / "trace.json"
    script.write_text("import sys\nimport mindspore as ms\nx = ms.Tensor([1.0])\nprint(x * 2, sys.argv[1:])\nraise SystemExit(3)\n")
    command = [sys.executable, "-m", "adjoint", "profile", "--trace", str(trace), str(script), "a"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stdout == "[2.] ['a']\n" and "  script.py:4  print(x * 2" in done.stderr
    assert [event["name"] for event in json.loads(trace.read_text())["traceEvents"]
            if event["ph"] == "X" and event["tid"] == 1] == ["mul"]
    done = subprocess.run([*command[:4], "none.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no file 'none.py'" in done.stderr
    nowhere = str(tmp_path / "none" / "trace.json")
    done = subprocess.run([*command[:4], "--trace", nowhere, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"adjoint profile: the trace {nowhere!r} cannot be written")
