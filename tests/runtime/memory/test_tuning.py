"""A program begins with plain kernels, and goes on with tuned ones: when, which, with the same bits, and one compiler at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI

import adjoint as ms
from adjoint.codegen import compile as compiling
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import KernelText, lower
from adjoint.codegen.workshop import Workshop
from adjoint.ir.ops.arithmetic import Add, Mul, Sub
from adjoint.ir.ops.linalg import MatMul
from adjoint.ir.types import F32, tensor
from adjoint.runtime.memory.machine import Machine, machine
from adjoint.runtime.memory.tuning import Tuning

pytestmark = pytest.mark.skipif(machine().kernels is None, reason="there is no C compiler")


def python(program: str, cache: Path, **environment: str) -> str:
    """What a new process prints that runs `program` with this cache."""
    variables = {**os.environ, "ADJOINT_CACHE_DIR": str(cache), "ADJOINT_BACKGROUND_COMPILE": "1", **environment}
    file = cache / "program.py"
    file.write_text(PRELUDE + textwrap.dedent(program))
    command = [sys.executable, str(file)]
    ended = subprocess.run(command, env=variables, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


PRELUDE = """
import numpy as np
import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.codegen import packs
from adjoint.ir.ops.linalg import Convolution
from adjoint.runtime.execution import tables
from adjoint.runtime.memory import op_plans
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.memory.tuning import tuning

packs.FAMILIES = ()  # what a program needs, and nothing beside it

def plans(kind):
    return [plan for (op, *_), plan in op_plans._every.items() if isinstance(op, kind)]

def finish():
    while tuning.waits:
        machine().kernels._later.wait()

rng = np.random.default_rng(0)
def some(*shape):
    return Tensor(rng.standard_normal(shape).astype(np.float32))
"""


def test_a_program_goes_from_plain_kernels_to_tuned_ones(tmp_path: Path) -> None:
    """Eager, a gradient, a graph and a graph under a tape; with the same bits, and without a trace when all is tuned."""
    said = python("""
        x, w, v = some(3, 2, 9, 8), some(4, 2, 3, 3), some(168, 5)

        def loss(x, w, v):
            return (ops.matmul(ops.tanh(ops.conv2d(x, w)).reshape(3, 168), v) ** 2).mean()

        gradient = ms.grad(loss, (0, 1, 2))
        graph = ms.jit(lambda x, w, v: gradient(x, w, v))
        forward = ms.jit(lambda x, w, v: loss(x, w, v))
        outer = ms.grad(lambda x, w, v: forward(x, w, v) * 2.0, (0, 1, 2))

        def everything():
            return [y.asnumpy().tobytes() for y in (loss(x, w, v), *gradient(x, w, v), *graph(x, w, v), *outer(x, w, v))]

        plain = everything()
        print(tuning.waits, [len(plan.stages) for plan in plans(Convolution)])
        for _ in range(5):  # often enough for functions of their own
            assert everything() == plain
        finish()
        print(tuning.waits, [len(plan.stages) for plan in plans(Convolution)])
        made = []
        table_step = tables.table_step
        tables.PieceTable.step = lambda table, step=tables.PieceTable.step: made.append(1) or step(table)
        assert everything() == plain
        print(bool(made))
        made.clear()
        assert everything() == plain
        print(bool(made))
    """, tmp_path)
    assert said.splitlines() == ["True [1]", "False [2]", "True", "False"]


def test_a_program_ends_with_the_same_form_whatever_was_cached(tmp_path: Path) -> None:
    """The same launches of the same kernels in the same batches, on memory of the same kind: parameters made early too."""
    program = """
        import hashlib, os, re
        layers = nn.CellList([nn.Dense(800, 800), nn.Dense(800, 300)])

        def loss(x):
            for layer in layers:
                x = ops.tanh(layer(x))
            return (x * x).mean()

        optimizer = nn.Momentum(layers.trainable_params(), 1e-3, 0.9)
        gradient = ms.value_and_grad(loss, None, optimizer.parameters)

        @ms.jit
        def step(x):
            value, gradients = gradient(x)
            optimizer(gradients)
            return value

        made = []
        fill = tables.PieceTable.filled
        tables.PieceTable.filled = lambda table, *given: made.append(table) or fill(table, *given)
        x = some(16, 800)
        for _ in range(5):
            step(x)
        kernels = machine().kernels
        while tuning.waits or any(thread.is_alive() for thread in kernels._later._alive):
            kernels._later.wait()
        for _ in range(3):
            step(x)
        address = lambda pointer: int(tables.ffi.cast("uintptr_t", pointer))
        known = {address(each): (hashlib.sha256(text.encode()).hexdigest()[:8], plain, stage)
                 for (text, plain), functions in kernels._functions.items() for stage, each in enumerate(functions)}
        table = made[-1]
        print(table.piece.arena, table.scratch)
        for stage, packed in zip(table.stages, table.packed()):
            print(stage.node.op.name, known[address(stage.kernel.kernel)], stage.places, stage.sizes, packed.batch)
        huge, region = [], range(0)
        for line in open("/proc/self/smaps") if os.path.exists("/proc/self/smaps") else ():
            if found := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
                region = range(int(found[1], 16), int(found[2], 16))
            elif line.startswith("VmFlags:") and "hg" in line.split():
                huge.append(region)
        for parameter in (*optimizer.parameters, *optimizer.moments):
            at = address(parameter.memory)
            print(parameter.name, parameter.size >= 16384 and at % 64, any(at in region for region in huge))
        print(machine().library.adjoint_allocated())
    """
    *cold, cold_bytes = python(program, tmp_path).splitlines()
    *warm, warm_bytes = python(program, tmp_path).splitlines()
    assert cold == warm and len(cold) > 12
    assert 0.8 < int(cold_bytes) / int(warm_bytes) <= 1  # the library counts the size that a block is rounded up to


def test_kernels_that_are_waited_for_are_tuned(tmp_path: Path) -> None:
    program = """
        ops.conv2d(some(3, 2, 9, 8), some(4, 2, 3, 3))
        print(tuning.waits, [len(plan.stages) for plan in plans(Convolution)])
    """
    assert python(program, tmp_path, ADJOINT_BACKGROUND_COMPILE="0") == "False [2]\n"
    assert python(program, tmp_path) == "False [2]\n", "they are in the cache"
    assert python(program, tmp_path, ADJOINT_BACKGROUND_COMPILE="plain") == "False [1]\n", "and are not used"


def test_tuned_kernels_can_be_asked_for_later(tmp_path: Path) -> None:
    """Those of what has run already are then compiled at once."""
    said = python("""
        x, w = some(3, 2, 9, 8), some(4, 2, 3, 3)
        plain = ops.conv2d(x, w).asnumpy().tobytes()
        print(tuning.waits, [len(plan.stages) for plan in plans(Convolution)])
        ms.set_context(background_compile=False)
        print(tuning.waits, [len(plan.stages) for plan in plans(Convolution)])
        assert ops.conv2d(x, w).asnumpy().tobytes() == plain
    """, tmp_path)
    assert said.splitlines() == ["True [1]", "False [2]"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelCache]:
    """An empty cache of kernels."""
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path))
    yield KernelCache(FFI(), Workshop.open())


def kernel(op: Any) -> KernelText:
    side = tensor(F32, (4, 4))
    return replace(lower(op, (side, side), (side,)), pack="")


def test_a_process_that_ends_soon_leaves_kernels_for_the_next(cache: KernelCache) -> None:
    """Units are small, and those that are compiled quickly come first."""

    class Ended(Exception):
        pass

    def end() -> None:
        raise Ended

    texts = [kernel(MatMul()), *map(kernel, (Add(), Mul(), Sub()))]
    left = []
    while any(cache.found(text) is None for text in texts):
        left.append([text.name for text in texts if KernelCache(FFI(), cache.workshop).found(text) is None])
        following = KernelCache(FFI(), Workshop.open())
        try:
            following.prepare(texts, waited_for=False, made=end)
        except Ended:
            continue
    assert len(left) > 1 and left[-1] == ["matmul_f32"]


def test_processes_that_end_at_once_get_tuned_kernels_after_some(tmp_path: Path) -> None:
    """None of them lives until the compiler is done.  Two leave it at that; those that follow wait at their end, for one unit each."""
    program = """
        ops.matmul(some(3, 4), some(4, 5))
        print(tuning.waits)
    """
    said = [python(program, tmp_path)]
    while said[-1] == "True\n" and len(said) < 9:
        said.append(python(program, tmp_path))
    assert 3 < len(said) < 9 and said[-1] == "False\n"


@pytest.mark.parametrize("hurries", [False, True])
def test_what_a_process_does_at_its_end(cache: KernelCache, hurries: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a hurry the unit that is being compiled is waited for.  No other one is begun, and the next process hears of it."""
    monkeypatch.delattr(sys, "last_value", raising=False)  # of an exception that ended a program
    scratch = cache.workshop.store.scratch
    for _ in range(compiling.UNFINISHED if hurries else 0):
        scratch.leave_unfinished()
    begun, ends, limits = threading.Event(), threading.Event(), list[Any]()

    def compiled(unit: Any, limit: Any) -> None:
        limits.append(limit)
        begun.set()
        ends.wait(60)
        cache._finish(unit)

    monkeypatch.setattr(cache, "_compile", compiled)
    cache.later(lambda: cache.prepare([kernel(MatMul()), kernel(Add())], waited_for=False))
    begun.wait(60)
    ending = threading.Thread(target=cache._linger)
    ending.start()
    ending.join(0.02)
    assert ending.is_alive() == hurries and cache.ended
    ends.set()
    ending.join()
    cache._stop()
    cache._wait()
    assert limits == [compiling.LIMIT if hurries else compiling.BACKGROUND]
    assert scratch.unfinished() == (compiling.UNFINISHED + 1 if hurries else 1)


def test_a_process_that_finishes_begins_to_count_anew(cache: KernelCache) -> None:
    scratch = cache.workshop.store.scratch
    scratch.leave_unfinished()
    cache.later(lambda: cache.prepare([kernel(Add())], waited_for=False))
    cache._later.wait()
    for end in (cache._linger, cache._stop, cache._wait):
        end()
    assert scratch.unfinished() == 0


def test_what_another_process_has_made_is_not_made_again(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """While this one waited for its turn behind the scenes."""
    compiled: list[str] = []
    compile_unit = KernelCache._compile

    def noted(self: KernelCache, unit: Any, limit: Any) -> None:
        compiled.append(unit.name)
        compile_unit(self, unit, limit)

    monkeypatch.setattr(KernelCache, "_compile", noted)
    other = KernelCache(FFI(), Workshop.open())
    text = kernel(Add())
    waiting = threading.Thread(target=lambda: other.prepare([text], waited_for=False))
    with cache.workshop.store.scratch.turn("background", lambda: False):
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive() and not compiled
        cache.get(text)  # by a process that waits for it
        assert len(compiled) == 1
    waiting.join()
    assert len(compiled) == 1 and other.found(text) is not None


def test_a_program_that_needs_kernels_is_not_disturbed(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuning begins when nobody has waited for a compiler for a while."""
    assert cache.wait_until_quiet(0.0)
    unit = compiling._Unit("unit", {})
    waiting = threading.Thread(target=lambda: cache._await(unit))
    waiting.start()
    quiet = threading.Thread(target=lambda: cache.wait_until_quiet(0.01))
    quiet.start()
    quiet.join(0.05)
    assert quiet.is_alive()
    unit.done.set()
    quiet.join()
    waiting.join()


# What is replaced ---------------------------------------------------------------------------------------------------------------


class Kernels:
    """A cache of kernels that does at once, or never, what it is asked for behind the scenes."""

    def __init__(self, refused: Any = ()):
        self.refused, self.made = refused, set[Any]()

    def later(self, task: Callable[[], None]) -> None:
        self.task = task

    def wait_until_quiet(self, seconds: float) -> bool:
        return True

    def found(self, text: Any) -> Any:
        return () if text in self.made else None

    def prepare(self, texts: Any, *, waited_for: bool, made: Callable[[], None]) -> None:
        assert not waited_for
        for text in texts:
            if text not in self.refused:
                self.made.add(text)
            made()


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    found = Kernels(refused=("bad",))
    monkeypatch.setattr(Machine, "kernels", found)
    return found


def test_each_is_replaced_once_and_a_refused_one_is_kept(kernels: Kernels) -> None:
    tuning, replaced = Tuning(), list[int]()
    for key, text in enumerate(("good", "bad", "good", "other")):
        tuning.add(key, text, lambda key=key: replaced.append(key))  # pyright: ignore[reportArgumentType]
    tuning.afterwards(lambda: replaced.append(-1))
    assert tuning.waits and not replaced and tuning.round == 0
    kernels.task()
    assert replaced == [0, 2, 3, -1]
    assert tuning.round == 2 and not tuning.waits
    tuning.afterwards(lambda: replaced.append(-2))
    assert replaced[-1] == -2


def test_a_forked_child_goes_on_with_what_its_parent_had_begun(kernels: Kernels) -> None:
    tuning, replaced = Tuning(), list[str]()
    tuning.add("parent's", "good", lambda: replaced.append("parent's"))  # pyright: ignore[reportArgumentType]
    del kernels.task
    tuning.forget_threads()  # as after a fork
    tuning.add("child's", "good", lambda: replaced.append("child's"))  # pyright: ignore[reportArgumentType]
    kernels.task()
    assert replaced == ["parent's", "child's"] and not tuning.waits


@pytest.mark.usefixtures("without_fusion")
def test_settings() -> None:
    ms.set_context(background_compile="plain")
    assert ms.get_context("background_compile") == "plain"
    with pytest.raises(ValueError, match="'wait' or 'plain', but got 'tuned'"):
        ms.set_context(background_compile="tuned")
