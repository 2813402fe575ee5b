"""Workers that make blocks of rows while the program computes: forked processes, or threads where forking is not safe.

A task names a node, one of its methods and the arguments.  Processes are forked at the first task, so they have the pipeline and
everything that it refers to; only tasks and arrays pass through their pipes.  Each worker has one task at a time, and results are returned
in the order of the tasks, whichever is ready first: the rows do not depend on the number of workers.

Every failure ends in an exception, never in waiting: an error in a worker is sent back with its traceback; the pipe of a killed worker
is closed; and a worker whose parent has ended ends by itself.  Ctrl-C reaches the program, not its workers, and ends them with the
iterator.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import random
import signal
import sys
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from adjoint.dataset.blocks import Block
from adjoint.dataset.config import get_debug_mode, get_multiprocessing_start_method
from adjoint.dataset.errors import UserError, user_error
from adjoint.dataset.nodes import Node, Pending, Run
from adjoint.dataset.streams import key_of

__all__ = ["Workers"]

_parent_ends: weakref.WeakSet[Connection] = weakref.WeakSet()
"""This process's ends of the pipes to workers: a new worker closes its copies, so that each pipe has one owner."""


class Workers:
    """The workers of one run, by the node that requested them; they start with the first task."""

    def __init__(self) -> None:
        self._pools: dict[int, _Pool] = {}
        self._ahead: dict[int, int] = {}

    def tasks_ahead(self, node: Node) -> int:
        """Return how many blocks to request from a node before the first is taken: enough for every worker below it."""
        if id(node) not in self._ahead:
            most = 0 if get_debug_mode() else max(below.workers for below in node.walk())
            self._ahead[id(node)] = most + 1 if most > 1 else 0
        return self._ahead[id(node)]

    def submit(self, run: Run, node: Node, method: str, *given: Any) -> Pending:
        """Queue `getattr(node, method)(run, *given)`, which returns a Block; `given` begins with an epoch and row indices."""
        pool = self._pools.get(id(node))
        if pool is None:
            processes = node.processes and _may_fork()
            pool = self._pools[id(node)] = (_Processes if processes else _Threads)(node, run.alone(), node.workers)
        return pool.submit(method, given)

    def close(self) -> None:
        """End all workers; their current tasks are dropped."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()


def wanted(node: Node, run: Run) -> bool:
    """Return whether a node's work goes to workers of its own."""
    return run.workers is not None and node.workers > 1 and not get_debug_mode()


def _may_fork() -> bool:
    """Return whether forking is safe: not without fork, under MPI, whose connections a child must not share, or inside a daemonic process.
    """
    return (
        sys.platform != "win32"
        and "mpi4py.MPI" not in sys.modules
        and get_multiprocessing_start_method() == "fork"
        and not multiprocessing.current_process().daemon
    )


class _Pool:
    """Workers of one node.  A task's method takes an epoch and row indices first."""

    def __init__(self) -> None:
        self._owner = os.getpid()

    def submit(self, method: str, given: tuple[Any, ...]) -> Pending:
        raise NotImplementedError

    def check_owner(self) -> None:
        """Raise RuntimeError in a forked copy of the process: its workers belong to the parent, and would never answer."""
        if os.getpid() != self._owner:
            raise RuntimeError("An iterator with workers belongs to the process that made it: make another one after a fork.")

    def close(self) -> None:
        raise NotImplementedError


class _Threads(_Pool):
    def __init__(self, node: Node, run: Run, number: int):
        super().__init__()
        self._node, self._run = node, run
        self._executor = concurrent.futures.ThreadPoolExecutor(number, "dataset worker")
        self._finalize = weakref.finalize(self, self._executor.shutdown, wait=False, cancel_futures=True)

    def submit(self, method: str, given: tuple[Any, ...]) -> Pending:
        self.check_owner()
        future = self._executor.submit(getattr(self._node, method), self._run, *given)

        def result() -> Block:
            self.check_owner()
            return future.result()

        return result

    def close(self) -> None:
        self._finalize()


class _Processes(_Pool):
    """Forked workers.  Task number k goes to worker k modulo their number."""

    def __init__(self, node: Node, run: Run, number: int):
        super().__init__()
        self._ends: list[Connection] = []
        self._processes: list[BaseProcess] = []
        self._waiting: list[deque[tuple[int, bytes]]] = [deque() for _ in range(number)]
        self._busy: list[int | None] = [None] * number
        self._done: dict[int, Block | BaseException] = {}
        self._tasks = 0
        self._finalize = weakref.finalize(self, _end, self._processes, self._ends, self._owner)
        self._what = type(node).__name__
        context = multiprocessing.get_context("fork")
        for index in range(number):
            ours, theirs = context.Pipe()
            _parent_ends.add(ours)
            process = context.Process(target=_work, args=(node, run, theirs, self._owner), name=f"dataset worker {index}", daemon=True)
            try:
                process.start()
            except OSError as error:
                theirs.close()
                self.close()
                raise RuntimeError(f"Worker process {index + 1} of {number} cannot be started: {error}. Ask for fewer by "
                                   "'num_parallel_workers', or use 'python_multiprocessing=False'.") from error
            theirs.close()
            self._ends.append(ours)
            self._processes.append(process)

    def submit(self, method: str, given: tuple[Any, ...]) -> Pending:
        self.check_owner()
        number = self._tasks
        self._tasks += 1
        worker = number % len(self._processes)
        self._waiting[worker].append((number, pickle.dumps((method, given), 5)))
        self._send_next(worker)
        return lambda: self._result(number)

    def _send_next(self, worker: int) -> None:
        # A worker reads a whole task before it writes, and has one at a time: both sides never write at once.
        if self._busy[worker] is None and self._waiting[worker]:
            number, task = self._waiting[worker].popleft()
            self._busy[worker] = number
            try:
                self._ends[worker].send_bytes(task)
            except OSError:
                raise self._lost(worker) from None

    def _result(self, number: int) -> Block:
        self.check_owner()
        while number not in self._done:
            busy = [end for end, task in zip(self._ends, self._busy) if task is not None]
            for end in wait(busy):
                self._receive(self._ends.index(end))  # pyright: ignore[reportArgumentType] - only connections were given
        result = self._done.pop(number)
        if isinstance(result, BaseException):
            raise result
        return result

    def _receive(self, worker: int) -> None:
        try:
            answer = self._ends[worker].recv_bytes()
        except (EOFError, OSError):
            raise self._lost(worker) from None
        number = self._busy[worker]
        assert number is not None
        self._busy[worker] = None
        kind, value = pickle.loads(answer)
        self._done[number] = Block(*value) if kind == "block" else UserError.again(*value)
        self._send_next(worker)

    def _lost(self, worker: int) -> RuntimeError:
        """Return the exception for a worker that has died; all others are ended."""
        process = self._processes[worker]
        process.join(1)
        code = process.exitcode
        self.close()
        how = f"was killed by signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended with exit code {code}"
        why = " Often that is the system being out of memory." if code == -signal.SIGKILL else ""
        return RuntimeError(f"A worker process of {self._what} {how} while it made rows.{why} "
                            "'num_parallel_workers=1' runs the same in this process.")

    def close(self) -> None:
        self._finalize()


def _end(processes: list[BaseProcess], ends: list[Connection], owner: int) -> None:
    """Kill and reap workers; in a forked copy of their owner only the copies of the pipes are closed."""
    for end in ends:
        end.close()
    if os.getpid() != owner:
        return
    for process in processes:
        process.kill()
    for process in processes:
        process.join()
        process.close()
    processes.clear()


def _work(node: Node, run: Run, end: Connection, parent: int) -> None:
    """The main loop of a worker: run tasks until its pipe is closed or its parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in list(_parent_ends):
        other.close()
    while True:
        try:
            while not end.poll(1.0):
                if os.getppid() != parent:
                    return
            method, given = pickle.loads(end.recv_bytes())
        except (EOFError, OSError):  # OSError: closed while an answer was still in the pipe, as after another worker was killed
            return
        _seed_globals(key_of(run.seed, node.depth, given[0], *given[1][:1].tolist()))
        answer = _answer(lambda method=method, given=given: getattr(node, method)(run, *given))
        try:
            end.send_bytes(answer)
        except OSError:
            return


def _seed_globals(key: int) -> None:
    """Seed the generators that a user's functions draw from: forked workers start as copies, and would all draw the same."""
    random.seed(key)
    np.random.seed(key % 2**32)


def _answer(make: Callable[[], Block]) -> bytes:
    try:
        block = make()
        return pickle.dumps(("block", (block.columns, block.length)), 5)
    except Exception as error:
        failed = error if isinstance(error, UserError) else user_error("a worker process", error)
        return pickle.dumps(("error", failed.parts()), 5)
