"""Workers: where they run, their errors, and that nothing waits for ever or is left running."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint.dataset as ds
from adjoint.dataset import workers
from adjoint.dataset.blocks import Block
from dataset.child_processes import LISTED, copies
from dataset.small import Samples, numbers, rows, values

pytestmark = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has one worker")


def _process(b: Any) -> int:
    return os.getpid()


def test_which_operations_run_in_workers() -> None:
    """Operations that ask for processes run in several; other operations, and sources that ask for none, run in this one."""
    here = os.getpid()
    assert set(values(numbers(8).map(_process, "b"))) == {here}
    assert set(values(numbers(8).map(_process, "b", num_parallel_workers=2))) == {here}, "threads"
    there = set(values(numbers(64).map(_process, "b", num_parallel_workers=2, python_multiprocessing=True)))
    assert here not in there and len(there) == 2
    assert set(values(numbers(8).map(lambda b: (b, os.getpid()), "b", ["b", "c"], 2, True).map(_process, "b"))) == {here}

    class Reading(Samples):
        def __getitem__(self, index: int) -> Any:
            return os.getpid(), index

    def pipeline(**named: Any) -> Any:
        return ds.GeneratorDataset(Reading(8), ["a", "b"], shuffle=False, **named)

    assert set(values(pipeline(), "a")) == {here} == set(values(pipeline(num_parallel_workers=2, python_multiprocessing=False), "a"))
    assert here not in values(pipeline(num_parallel_workers=2), "a")
    below = pipeline().map(_process, "b", num_parallel_workers=2, python_multiprocessing=True)
    assert set(values(below, "a")) == {here} and here not in values(below, "b"), "a source may hold open files: it is read here"


@pytest.mark.parametrize("reason", ["mpi", "spawn", "debug"])
def test_threads_where_forking_is_not_safe(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason == "mpi":
        monkeypatch.setitem(sys.modules, "mpi4py.MPI", sys)
    elif reason == "spawn":
        ds.config.set_multiprocessing_start_method("spawn")
    else:
        ds.config.set_debug_mode(True)
    assert set(values(numbers(8).map(_process, "b", num_parallel_workers=2, python_multiprocessing=True))) == {os.getpid()}


@pytest.mark.parametrize("order", ["map", "batch", "generator", "read"])
def test_rows_come_in_order(order: str) -> None:
    def late(b: Any) -> Any:
        threading.Event().wait(0.002 * (int(b) % 3))
        return b

    dataset = {
        "map": lambda: numbers(40).map(late, "b", num_parallel_workers=2, python_multiprocessing=True).project("b"),
        "batch": lambda: numbers(40).project("b").batch(1, per_batch_map=lambda b, info: ([late(b[0])],), num_parallel_workers=2,
                                                        python_multiprocessing=True),
        "generator": lambda: ds.GeneratorDataset(lambda: iter(range(40)), "b").map(late, "b", num_parallel_workers=2,
                                                                                  python_multiprocessing=True),
        "read": lambda: numbers(40, num_parallel_workers=2).project("b"),
    }[order]()
    assert np.ravel(rows(dataset)).tolist() == list(range(40))


def test_large_rows_pass_through_pipes() -> None:
    wide = ds.NumpySlicesDataset(np.ones((6, 300_000), np.float32), shuffle=False)
    mapped = ds.GeneratorDataset(lambda: (row for row in np.ones((6, 300_000), np.float32)), "x").map(
        lambda x: x * 2, num_parallel_workers=2, python_multiprocessing=True)
    assert [row[0].sum() for row in mapped.create_tuple_iterator(output_numpy=True, num_epochs=1)] == [600_000] * 6
    doubled = wide.map(lambda x: x * 2, num_parallel_workers=2, python_multiprocessing=True)
    assert [row[0].sum() for row in doubled.create_tuple_iterator(output_numpy=True, num_epochs=1)] == [600_000] * 6


def failing(b: Any) -> Any:
    if b == 40:
        raise KeyError("the user's message")
    return b


@pytest.mark.parametrize("processes", [False, True])
def test_an_error_in_a_worker_comes_with_its_traceback(processes: bool) -> None:
    dataset = numbers(64).map(failing, "b", num_parallel_workers=2, python_multiprocessing=processes)
    with pytest.raises(RuntimeError, match=r"operation failing \(.*test_workers.py:\d+\) of map on 'b', row 40 of epoch 0") as caught:
        rows(dataset)
    assert 'raise KeyError("the user\'s message")' in str(caught.value)
    with pytest.raises(RuntimeError, match=r"cannot pickle|expected to be int or float or str"):
        rows(numbers(8).map(lambda b: (i for i in range(3)), "b", num_parallel_workers=2, python_multiprocessing=processes))


def test_a_worker_whose_answer_is_not_read_ends_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    """As after another one was killed: its pipe is closed with an answer in it."""
    node: Any = SimpleNamespace(depth=0, made=lambda run, epoch, chosen: Block({"b": chosen}, len(chosen)))
    run: Any = SimpleNamespace(seed=1)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    workers._parent_ends.add(ours)
    process = context.Process(target=workers._work, args=(node, run, theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    ours.send_bytes(pickle.dumps(("made", (0, np.arange(3)))))
    assert ours.poll(60), "the worker has answered"
    ours.close()
    process.join(60)
    assert process.exitcode == 0 and capfd.readouterr().err == ""


def test_a_worker_that_is_killed_is_noticed() -> None:
    def killed(b: Any) -> Any:
        if b == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        return b

    with pytest.raises(RuntimeError, match=r"A worker process of Map was killed by signal SIGKILL.*out of memory"):
        rows(numbers(64).map(killed, "b", num_parallel_workers=2, python_multiprocessing=True))
    with pytest.raises(RuntimeError, match="ended with exit code 7"):
        rows(numbers(8).map(lambda b: os._exit(7), "b", num_parallel_workers=2, python_multiprocessing=True))


@pytest.mark.skipif(not LISTED, reason="the system does not list its processes")
@pytest.mark.parametrize("end", ["read", "dropped", "stopped", "failed"])
def test_no_process_is_left_behind(end: str) -> None:
    before = copies()
    iterator = numbers(64).map(failing if end == "failed" else (lambda b: b), "b", num_parallel_workers=2,
                              python_multiprocessing=True).create_tuple_iterator(num_epochs=1)
    next(iterator)
    assert len(copies() - before) == 2
    if end == "stopped":
        iterator.stop()
    elif end == "failed":
        with pytest.raises(RuntimeError):
            list(iterator)
    elif end == "read":
        list(iterator)
    del iterator
    gc.collect()
    assert copies() == before


PROGRAM = """
import os, signal, sys
import adjoint.dataset as ds
from dataset.child_processes import copies

class Source:
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        if index == 900 and sys.argv[1] == "interrupt":
            os.kill(os.getppid(), signal.SIGINT)
        return index

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
print(os.getpid(), flush=True)
iterator = iter(ds.GeneratorDataset(Source(), ["a"], shuffle=False, num_parallel_workers=2))
next(iterator)
print(*copies(), flush=True)
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
list(iterator)
"""


@pytest.mark.skipif(not LISTED, reason="the system does not list its processes")
@pytest.mark.parametrize(("end", "code"), [("exit", 3), ("kill", -signal.SIGKILL), ("interrupt", -signal.SIGINT)])
def test_workers_end_with_their_program(end: str, code: int) -> None:
    """The workers inherit its standard output: reading that ends when the last of them has ended."""
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    printed, complaints = program.communicate(timeout=60)
    assert program.returncode == code, complaints
    assert len(printed.split()) == 3
    assert ("KeyboardInterrupt" in complaints) == (end == "interrupt")


@pytest.mark.parametrize("processes", [False, True])
def test_a_forked_copy_of_an_iterator_is_refused(processes: bool) -> None:
    iterator = numbers(80, num_parallel_workers=2, python_multiprocessing=processes).create_tuple_iterator()
    next(iterator)
    child = os.fork()
    if not child:
        try:
            for _ in range(80):
                next(iterator)
        except RuntimeError as error:
            os._exit(0 if "belongs to the process that made it" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(iterator)) == 79, "the workers are still there"


def test_workers_draw_different_numbers_from_numpys_generator() -> None:
    """They also differ in another epoch, and are equal for the same seed."""

    def drawn() -> list[Any]:
        ds.config.set_seed(1)
        iterator = numbers(128).map(lambda b: np.random.randint(2**40), "b", num_parallel_workers=2,
                                    python_multiprocessing=True).create_tuple_iterator("b", 2, True)
        return [[row[0].item() for row in iterator] for _ in range(2)]

    first, second = drawn()
    assert len({*first, *second}) == 256
    assert drawn() == [first, second]


def test_more_workers_than_processors_are_as_many_as_there_are() -> None:
    with pytest.warns(UserWarning, match="num_parallel_workers is 1000, but this machine has"):
        dataset = numbers(4, num_parallel_workers=1000)
    assert dataset.node.workers == os.cpu_count()


def test_nothing_starts_before_it_is_needed() -> None:
    iterator = numbers(8, num_parallel_workers=2).create_tuple_iterator()
    assert isinstance(iterator._run.workers, workers.Workers) and not iterator._run.workers._pools
