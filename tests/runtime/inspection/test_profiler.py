"""`profiler`: a profile is measured from `start` to `stop`, or in the steps of a schedule, and written as files."""

from __future__ import annotations

import csv
import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjoint import Tensor, compat, ops, profiler


def tables(folder: Path) -> list[dict[str, int]]:
    """For each profile in a folder how often each operator ran."""
    found: list[dict[str, int]] = []
    for each in sorted(folder.iterdir(), key=lambda path: int(path.name.rpartition("_")[2])):
        with open(each / "operators.csv", newline="") as file:
            calls: Counter[str] = Counter()
            for row in csv.DictReader(file):
                calls[row["operator"]] += int(row["calls"])
            found.append(dict(calls))
    return found


def test_a_profile_is_written(tmp_path: Path) -> None:
    made = profiler.profile(start_profile=False, profile_memory=True, on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path)))
    x = ops.ones((64, 64))
    ops.exp(x)
    with made:
        ops.tanh(x)
        y = ops.tanh(x)
        made.add_metadata_json("run", "[1, 2]")
    assert tables(tmp_path) == [{"tanh": 2}]
    (folder,) = tmp_path.iterdir()
    events = [event for event in json.loads((folder / "trace_view.json").read_text())["traceEvents"]
              if event["ph"] == "X" and event["tid"] == 1]
    assert [event["name"] for event in events] == ["tanh", "tanh"] and events[0]["ts"] + events[0]["dur"] <= events[1]["ts"]
    assert "test_profiler.py:" in events[0]["args"]["line"] and json.loads((folder / "metadata.json").read_text()) == {"run": [1, 2]}
    assert "kept by the variable `y` of `test_a_profile_is_written`" in (folder / "memory.txt").read_text() and y.nbytes == 16384
    assert (folder / "operator_memory.csv").read_text().splitlines()[1].startswith('tanh,"float32 [64, 64]",')
    assert (folder / "memory_record.csv").read_text().splitlines()[1].endswith(",16384")


def test_steps_are_measured_by_a_schedule(tmp_path: Path) -> None:
    steps = profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [steps(i).name for i in range(7)] == ["NONE", "NONE", "WARM_UP", "RECORD", "RECORD_AND_SAVE", "NONE", "WARM_UP"]
    functions = [ops.abs, ops.exp, ops.tanh, ops.sin, ops.cos, ops.sqrt, ops.erf, ops.log, ops.square, ops.sign, ops.neg]
    with profiler.profile(schedule=steps, on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path))) as made:
        for function in functions:
            function(Tensor([1.0]))
            made.step()
    assert [set(table) for table in tables(tmp_path)] == [{"sin", "cos"}, {"log", "square"}]
    for wrong, kind in (({"wait": -1, "active": 1}, ValueError), ({"wait": 0, "active": 0}, ValueError),
                        ({"wait": 0.5, "active": 1}, TypeError)):
        with pytest.raises(kind, match="For 'schedule'"):
            profiler.schedule(**wrong)


def test_the_older_form(tmp_path: Path) -> None:
    compat.install()
    kind: Any = importlib.import_module("mindspore").Profiler
    made = kind(output_path=str(tmp_path), is_detail=True, profiler_level=profiler.ProfilerLevel.Level0)
    ops.tanh(Tensor([1.0]))
    made.stop()
    ops.tanh(Tensor([1.0]))
    assert not list(tmp_path.iterdir())
    made.analyse()
    made.analyse()
    assert tables(tmp_path) == [{"tanh": 1}] and json.loads(made.op_analyse("tanh"))["tanh"]["calls"] == 1
    with pytest.raises(RuntimeError, match="nothing was measured"):
        kind(start_profile=False).op_analyse("tanh")
    with pytest.raises(TypeError, match="'output_path' must be a str"):
        kind(output_path=3)
