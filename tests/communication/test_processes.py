"""Programs of several processes, started by mpirun, if there is an MPI."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms

from .programs import bits, numbers

PROGRAMS = Path(__file__).with_name("programs.py")
MPIRUN = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))

pytestmark = pytest.mark.skipif(MPIRUN is None or importlib.util.find_spec("mpi4py") is None, reason="there is no MPI")


def started(count: int, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program in this many processes."""
    return subprocess.run([str(MPIRUN), "-n", str(count), sys.executable, str(PROGRAMS), *arguments], capture_output=True, text=True,
                          timeout=100, env={**os.environ, "ADJOINT_MPI_TIMEOUT": "60", **settings})


def found(count: int, *arguments: str) -> list[dict[str, Any]]:
    """Return the results of each process of a program."""
    done = started(count, *arguments)
    assert done.returncode == 0, done.stderr
    lines = sorted(re.findall(r"^(\d+) (\{.*\})$", done.stdout, re.MULTILINE))
    assert len(lines) == count, done.stdout
    return [json.loads(line) for _, line in lines]


# -- collectives -----------------------------------------------------------------------------------------------------------
N = 3
X = [np.arange(1.0, 2 * N + 1) * (rank + 1) for rank in range(N)]
WEIGHTS = [np.arange(2.0 * N) + rank for rank in range(N)]


def results(name: str, x: list[Any]) -> list[Any]:
    """Return the operator's result in each process, computed by NumPy."""
    parts = [np.split(value, N) for value in x]
    match name:
        case "sum" | "avg" | "max" | "min" | "prod":
            return [getattr(np, {"avg": "mean"}.get(name, name))(x, axis=0)] * N
        case "gather":
            return [np.concatenate(x)] * N
        case "scatter":
            return np.split(np.sum(x, axis=0), N)
        case "scatter_avg":
            return np.split(np.mean(x, axis=0), N)
        case "broadcast":
            return [x[1]] * N
        case "all_to_all":
            return [np.concatenate([parts[source][rank] for source in range(N)]) for rank in range(N)]
        case _:
            return [np.sum(x, axis=0) if rank == 1 else np.zeros(2 * N) for rank in range(N)]


OPERATORS = ("sum", "avg", "max", "min", "prod", "gather", "scatter", "scatter_avg", "broadcast", "all_to_all", "reduce")


@cache
def collectives() -> list[dict[str, Any]]:
    return found(N, "collectives")


@pytest.mark.parametrize("name", OPERATORS)
def test_a_collective_gives_what_numpy_gives(name: str) -> None:
    for rank, expected in enumerate(results(name, X)):
        np.testing.assert_allclose(collectives()[rank][name], expected, rtol=1e-6)


def total(name: str, x: list[Any]) -> float:
    """The sum over the processes of what each differentiates."""
    outputs = results(name, [value * value for value in x])
    return sum(float((y * w[: len(y)]).sum()) if len(y) <= len(w) else float((y * y).sum()) for y, w in zip(outputs, WEIGHTS, strict=True))


@pytest.mark.parametrize("name", OPERATORS)
def test_gradient_is_that_of_the_sum_over_the_processes(name: str) -> None:
    for rank in range(N):
        assert collectives()[rank][f"{name} same in all modes"]
        expected, step = [], 1e-4
        for i in range(2 * N):
            moved = [[value + sign * step * (np.arange(2 * N) == i) * (r == rank) for r, value in enumerate(X)] for sign in (1, -1)]
            expected.append((total(name, moved[0]) - total(name, moved[1])) / (2 * step))
        got = collectives()[rank][f"{name} gradient"]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(expected).max())))


def test_second_derivatives_are_there() -> None:
    for found_here in collectives():
        for name in ("sum", "avg", "gather", "scatter", "broadcast", "all_to_all", "reduce"):
            assert np.isfinite(found_here[f"{name} second"]).all()
    # sum: x' = 2x * (sum of the weights), so x'' = 2 * (sum of the processes' sums of the weights)
    weight = np.sum(WEIGHTS, axis=0)
    np.testing.assert_allclose(collectives()[0]["sum second"], 2 * weight, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["Float16", "BFloat16", "Float32", "Float64"])
@pytest.mark.parametrize("count", [5, 30_000])
def test_sums_are_taken_in_the_order_of_the_ranks(dtype: str, count: int) -> None:
    kind = getattr(ms, dtype.lower())
    given = [ms.Tensor(numbers(rank, np.float64, count)).astype(kind) for rank in range(N)]
    wide = [x.astype(ms.float32 if kind in (ms.float16, ms.bfloat16) else kind) for x in given]
    expected = bits(((wide[0] + wide[1]) + wide[2]).astype(kind).astype(ms.float64))
    if count > 5 and kind in (ms.float32, ms.float64):  # rounded to two bytes the order of three seldom shows
        assert bits(((wide[0] + wide[2]) + wide[1]).astype(ms.float64)) != expected
    assert {values["bits"][f"{kind} {count}"] for values in collectives()} == {expected}


def test_groups_integers_and_tuples() -> None:
    first, middle, last = collectives()
    assert first["group"] == [1, 2, [2.0, 0.0]] and last["group"] == [0, 2, [2.0, 0.0]] and "group" not in middle
    assert all(values["ints"] == [2, 0] and values["several"] == [[2.5], [[2]]] for values in collectives())


def test_processes_divide_the_processors_and_know_each_other() -> None:
    share = max(1, len(os.sched_getaffinity(0)) // N) if "ADJOINT_NUM_THREADS" not in os.environ else None
    for rank, values in enumerate(collectives()):
        assert values["context"] == [rank, N]
        assert share is None or values["threads"] == share
        assert values["alone"] == [0, 1, [2.0]]


# -- two processes: one start for several programs, since starting takes longer than most of them ---------------------------
@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return found(2, "distributed,normalization,training,records,continued", str(tmp_path_factory.mktemp("two")))


@pytest.mark.parametrize(("name", "first", "second"), [
    ("all_reduce sum", [[3, 4]], [[3, 4]]), ("all_reduce avg", [[1.5, 2]], [[1.5, 2]]), ("all_reduce max", [[2, 2]], [[2, 2]]),
    ("all_reduce min", [[1, 2]], [[1, 2]]), ("all_reduce prod", [[2, 4]], [[2, 4]]),
    ("broadcast", [[2]], [[2]]), ("reduce", [[1]], [[3]]), ("all_gather_into_tensor", [[5, 6]], [[5, 6]]),
    ("all_gather", [[7], [8]], [[7], [8]]), ("all_gather_into_tensor_uneven", [[1, 2, 3]], [[1, 2, 3]]),
    ("reduce_scatter_tensor", [[3]], [[20]]), ("reduce_scatter", [[2]], [[10]]), ("reduce_scatter_tensor_uneven", [[2]], [[4, 1]]),
    ("all_to_all_single", [[0, 1, 11]], [[10, 20, 21]]), ("all_to_all", [[1], [5, 6]], [[2, 3, 4], [7]]),
    ("gather", [[0], [0]], [[1], [2]]), ("scatter", [[8]], [[9]]), ("recv", [[11]], [[3, 4]]),
    ("batch_isend_irecv", [[41], [82]], [[40], [80]]), ("all_gather_object", True, True), ("gather_object", ["", "x"], [None, None]),
    ("broadcast_object_list", [1, "bc"], [1, "bc"]), ("scatter_object_list", ["for 0"], [["for", 1]]),
    ("recv_object_list", [1, "two"], [["for", 1]]), ("in a group", [[2]], [[2]]),
    ("group", ["hccl_2_0_1", 0, 2, 1, [0, 1]], ["hccl_2_0_1", 1, 2, 1, [0, 1]]),
    ("under jit", [9, [12], [12]], [9, [12], [12]]),
])
def test_mint_distributed_writes_into_the_tensors_it_is_given(pair: list[dict[str, Any]], name: str, first: Any, second: Any) -> None:
    assert [pair[0][name], pair[1][name]] == [first, second]


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_divided_batch_is_normalised_as_a_whole(pair: list[dict[str, Any]], mode: str) -> None:
    for values in pair:
        assert max(values[f"{mode} difference"]) < 3e-6, "output, gradients, second derivative, running statistics"
        assert values[f"{mode} in groups of one"]


def test_two_processes_train_as_one(pair: list[dict[str, Any]]) -> None:
    one, two = pair
    assert one["local"] != two["local"] and one["together"] == two["together"]
    assert one["difference"] == two["difference"] < 1e-6
    assert one["a hook sees the local gradient"] and two["a hook sees the local gradient"]
    assert one["float16"] == "Float16"
    for when in ("begin", "end"):
        assert len({values[f"{mode} {when}"] for values in (one, two) for mode in ("eager", "graph")}) == 1
    assert one["eager begin"] != one["eager end"]
    for values in (one, two):
        assert values["overflow"] and values["flag"] and values["kept"] and values["scale"] == 32
        assert values["files"] == ["net-1_4.ckpt", "net-2_4.ckpt"] and values["latest"] == "net-2_4.ckpt"
    assert one["model"] == two["model"] == one["saved"]


def test_shards_of_a_file_hold_each_row_once(pair: list[dict[str, Any]]) -> None:
    for epoch in range(2):
        shards = [values["epochs"][epoch] for values in pair]
        assert sorted(shards[0] + shards[1]) == list(range(22)) and sorted(shards[0]) != shards[0]
    assert pair[0]["epochs"][0] != pair[0]["epochs"][1]


def test_a_killed_run_goes_on_and_has_the_bits_of_an_undisturbed_one(pair: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "kill").touch()
    killed = started(2, "continued", str(tmp_path))
    assert killed.returncode != 0 and re.search(r"^adjoint: rank 1 \(process \d+ on .*\) of 2 was killed", killed.stderr, re.MULTILINE)
    assert (tmp_path / "run.ckpt").exists()
    assert [values["end"] for values in found(2, "continued", str(tmp_path))] == [values["end"] for values in pair]
    assert not (tmp_path / "run.ckpt").exists()


def test_the_example_learns_digits_in_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    example = PROGRAMS.parent.parent.parent / "examples" / "train_mpi.py"
    done = subprocess.run([str(MPIRUN), "-n", "2", sys.executable, str(example), "4"], capture_output=True, text=True, timeout=100,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(example.parent.parent)})
    assert done.returncode == 0, done.stderr
    ends = dict(re.findall(r"^rank (\d) of 2: (.*)$", done.stdout, re.MULTILINE))
    assert ends["0"] == ends["1"]
    assert float(ends["0"].partition("%")[0]) > 95


def test_traces_of_processes_fit_into_one(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    example = PROGRAMS.parent.parent.parent / "examples" / "train_mpi.py"
    done = subprocess.run([str(MPIRUN), "-n", "2", sys.executable, "-m", "adjoint", "profile", "--trace", "trace.json", str(example), "1"],
                          capture_output=True, text=True, timeout=100, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(example.parent.parent)})
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("trace*")) == ["trace_rank0.json", "trace_rank1.json"]
    ends = list[tuple[float, float]]()
    for rank in (0, 1):
        events = json.loads((tmp_path / f"trace_rank{rank}.json").read_text())["traceEvents"]
        assert {event["pid"] for event in events} == {rank + 1}
        names = {event["name"]: event["args"] for event in events if event["ph"] == "M" and "tid" not in event}
        assert names["process_name"]["name"].startswith(f"rank {rank} of 2 (process ")
        assert names["process_sort_index"] == {"sort_index": rank}
        assert {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and "tid" in event} == {
            1: "kernels", 2: "Python between kernels"}
        assert {event["ph"] for event in events} == {"M", "X", "C"}
        launches = [event for event in events if event["ph"] == "X" and event["tid"] == 1]
        assert len(launches) > 100 and all(event["dur"] >= 0 for event in launches)
        ends.append((min(event["ts"] for event in launches), max(event["ts"] for event in launches)))
    (first, last), (other_first, other_last) = ends
    assert first < other_last and other_first < last  # the processes worked at the same time, and share the machine's clock


# -- failures --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("how", "message"), [
    ("raises", r"ValueError: a bad batch\nadjoint: rank 1 \(process \d+ on \S+\) of 2 raised ValueError, and all others are ended"),
    ("killed", r"adjoint: rank 1 \(process \d+ on \S+\) of 2 was killed or has crashed, and all others are ended"),
    ("ends", r"For 'AllReduce', rank 1 \(process \d+ on \S+\) takes no part: its program has ended, while rank 0 calls AllReduce\('sum'\)"),
    ("hangs", r"For 'AllReduce', rank 0 has waited 1 seconds for rank 1 \(process \d+ on \S+\) to call AllReduce\('sum'\) of float32\[3\]"),
    ("other call", r"must make the same calls in the same order, but rank \d calls All\w+(\('sum'\))? of float32\[3\] .* and rank"),
])
def test_when_one_process_fails_all_end_and_it_is_named(how: str, message: str) -> None:
    done = started(2, "fails", how, ADJOINT_MPI_TIMEOUT="1" if how == "hangs" else "60")
    assert done.returncode != 0
    assert re.search(message, done.stderr), done.stderr


def test_a_launcher_of_another_mpi_is_an_error() -> None:
    # Each process would train alone, and none would say so.
    done = subprocess.run([sys.executable, "-c", "import adjoint; adjoint.communication.init()"], capture_output=True, text=True,
                          env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2"}, timeout=100)
    assert done.returncode != 0 and "the launcher has started 2 processes" in done.stderr and "sees one" in done.stderr
