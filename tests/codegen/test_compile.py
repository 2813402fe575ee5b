"""From C source to functions: they compute correctly, each is compiled once, and failures are reported."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cffi import FFI
from compilers import REAL, CountedCompiler, alive, needs_compiler, script
from toy_ops import Add, Broken, Scale, Sum, alone, lowered, vector

from adjoint.codegen import packs
from adjoint.codegen.cache import Store, Stores
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import KernelText
from adjoint.codegen.toolchain import Toolchain
from adjoint.codegen.workshop import CompilerFailure, Workshop, load_runtime, runtime_text
from adjoint.ir.op import Op
from adjoint.ir.registry import Registry
from adjoint.ir.types import BF16, BOOL, DTYPES, F16, F32, F64, I8, I32, TensorType

pytestmark = needs_compiler


@pytest.fixture
def ffi() -> FFI:
    return FFI()


def run(functions: tuple[Any, ...], kernel: KernelText, ffi: Any, *arrays: np.ndarray) -> int:
    """Run the stages over all their units; return the first status that is not 0."""
    scratch = [np.zeros(bytes_, "u1") for bytes_ in kernel.scratch]
    kept = [ffi.from_buffer(array) for array in (*arrays, *scratch)]
    operands = ffi.new("void *[]", [ffi.cast("void *", pointer) for pointer in kept])
    for function, stage in zip(functions, kernel.stages, strict=True):
        status = function(operands, ffi.new("int64_t[]", stage.sizes), 0, stage.sizes[0])
        if status:
            return status
    return 0


# ---- computing


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES.values() if dtype not in (BOOL, BF16)], ids=lambda dtype: dtype.name)
def test_a_kernel_computes_what_numpy_computes(dtype: Any, cache: Path, ffi: Any) -> None:
    """Integers at the ends of their range wrap, as in NumPy."""
    if dtype.is_inexact:
        x = np.array([1.5, -2.25, 3e4, 1e-7, np.inf], dtype.array)
    else:
        info = np.iinfo(dtype.array)
        x = np.array([info.max, info.min, 1, info.max, 0], dtype.array)
    y = x[::-1].copy()
    out = np.empty_like(x)
    kernel = alone(lowered(Add(), vector(dtype, 5), vector(dtype, 5)))
    functions = KernelCache(ffi, Workshop.open()).get(kernel)
    assert run(functions, kernel, ffi, x, y, out) == 0
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, x + y)


def test_stages_scratch_and_status(cache: Path, ffi: Any) -> None:
    kernels = KernelCache(ffi, Workshop.open())
    kernel = alone(lowered(Sum(), vector(F64, 1000)))
    functions = kernels.get(kernel)
    assert len(functions) == 2
    x, out = np.arange(1000.0), np.empty(1)
    assert run(functions, kernel, ffi, x, out) == 0
    assert out[0] == x.sum()
    assert run(functions, kernel, ffi, -x, out) == 3


def test_the_runtime_launches_kernels(cache: Path, ffi: Any) -> None:
    workshop = Workshop.open()
    runtime = load_runtime(ffi, workshop)
    kernel = alone(lowered(Add(), vector(F32, 100_000), vector(F32, 100_000)))
    (function,) = KernelCache(ffi, workshop).get(kernel)
    x = np.arange(100_000, dtype="f4")
    out = np.empty_like(x)
    pointers = [ffi.cast("void *", ffi.from_buffer(array)) for array in (x, x, out)]
    bound = ffi.new("struct adjoint_bound *", (function, ffi.NULL, kernel.stages[0].sizes))
    assert runtime.adjoint_launch3(bound, *pointers) == 0
    np.testing.assert_array_equal(out, 2 * x)


def test_the_interface_of_the_runtime_is_declared_once(cache: Path, ffi: Any) -> None:
    workshop = Workshop.open()
    first, second = load_runtime(ffi, workshop), load_runtime(ffi, workshop)
    assert first.adjoint_threads() == second.adjoint_threads()


# ---- found again


@pytest.fixture
def toy_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of only the toy ops."""
    _register(monkeypatch, Add, Scale, Sum)


def _register(monkeypatch: pytest.MonkeyPatch, *kinds: type[Op]) -> None:
    """Let packs consist of these ops only."""
    ops = Registry()
    for kind in kinds:
        ops.add(kind)
    monkeypatch.setattr(packs, "registry", lambda: ops)


def test_a_kernel_brings_its_pack(counted: CountedCompiler, ffi: Any, toy_packs: None) -> None:
    """Two kernels of one name (Scale by 2 and by 3) are distinguished in their unit."""
    kernels = KernelCache(ffi, Workshop.open())
    kernels.get(lowered(Add(), vector(F32, 5), vector(F32, 5)))
    runs = counted.runs
    assert runs == 2  # the probe, and one unit
    x, out = np.arange(4, dtype="f4"), np.empty(4, "f4")
    for op, factor in ((Scale(), 2), (Scale(by=3.0), 3)):
        kernel = lowered(op, vector(F32, 4))
        run(kernels.get(kernel), kernel, ffi, x, out)
        np.testing.assert_array_equal(out, factor * x)
    kernels.get(lowered(Sum(), vector(F32, 77)))
    assert counted.runs == runs

    kernels.get(lowered(Scale(by=4.0), vector(F32, 4)))  # of the pack, but none of its samples
    kernels.get(lowered(Add(), vector(F64, 4), vector(F64, 4)))  # another dtype: another pack
    assert counted.runs == runs + 2


def test_a_new_shape_compiles_nothing(counted: CountedCompiler, ffi: Any) -> None:
    kernels = KernelCache(ffi, Workshop.open())
    first = kernels.get(alone(lowered(Sum(), vector(F32, 10))))
    runs = counted.runs
    assert kernels.get(alone(lowered(Sum(), vector(F32, 20)))) is first
    assert counted.runs == runs


PROGRAM = """
    import sys
    sys.path[:0] = {path!r}
    from cffi import FFI
    from toy_ops import *
    from adjoint.codegen.compile import KernelCache
    from adjoint.codegen.workshop import Workshop, load_runtime
    ffi = FFI()
    workshop = Workshop.open()
    load_runtime(ffi, workshop)
    kernels = KernelCache(ffi, workshop)
    for dtype in (F32, tensor(F32).dtype):
        kernel = alone(lowered(Add(), vector(dtype, 3), vector(dtype, 3)))
        (function,) = kernels.get(kernel)
    x, out = ffi.new("float[]", [1, 2, 3]), ffi.new("float[]", 3)
    function(ffi.new("void *[]", [x, x, out]), ffi.new("int64_t[]", kernel.stages[0].sizes), 0, 3)
    assert list(out) == [2, 4, 6]
"""


def program() -> list[str]:
    """The command line of another process that needs the run-time library and one kernel."""
    return [sys.executable, "-c", textwrap.dedent(PROGRAM).format(path=sys.path)]


def test_a_second_process_compiles_nothing(counted: CountedCompiler) -> None:
    subprocess.run(program(), check=True)
    assert counted.runs == 3  # the probe, the run-time library, the kernel
    subprocess.run(program(), check=True)
    assert counted.runs == 3


def test_processes_that_start_together_agree(counted: CountedCompiler) -> None:
    processes = [subprocess.Popen(program(), stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for process in processes:
        _, said = process.communicate()
        assert process.returncode == 0, said
    runs = counted.runs
    assert runs <= 6 + 2  # each may have tried the compiler, one has compiled the run-time library and one the kernel
    store = next(Store.candidates())
    assert store.damaged() == []
    assert list(store.root.glob("work/*")) == []  # nothing half done
    subprocess.run(program(), check=True)
    assert counted.runs == runs


def test_another_compiler_or_other_flags_are_another_kernel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain_ = Toolchain.find()
    assert toolchain_ is not None
    store = next(Store.candidates())
    other = Toolchain(toolchain_.command, toolchain_.identity + "x", toolchain_.machine)
    keys = {Workshop(t, store, [], [], Stores([])).key("text") for t in (toolchain_, other, toolchain_.without_machine())}
    assert len(keys) == (3 if toolchain_.machine else 2)


# ---- damage


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def overwrite(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, overwrite, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_library_is_made_again(damage: Callable[[Path], Any], counted: CountedCompiler, ffi: Any) -> None:
    subprocess.run(program(), check=True)  # another process: to alter a library that is loaded is to crash
    runs = counted.runs
    (library,) = next(Store.candidates()).root.glob("library/toy_add*.so")
    damage(library)
    kernel = alone(lowered(Add(), vector(F32, 3), vector(F32, 3)))
    x, out = np.ones(3, "f4"), np.empty(3, "f4")
    assert run(KernelCache(ffi, Workshop.open()).get(kernel), kernel, ffi, x, x, out) == 0
    assert list(out) == [2, 2, 2]
    assert counted.runs == runs + 1


def exchange(entries: list[Path], libraries: list[Path]) -> None:
    """Exchange the entries of two kernels, unchanged."""
    first, second = (entry.read_bytes() for entry in entries)
    entries[0].write_bytes(second)
    entries[1].write_bytes(first)


def rotate(entries: list[Path], libraries: list[Path]) -> None:
    """Rotate the lines within entries."""
    for entry in entries:
        first, *rest = entry.read_text().splitlines()
        entry.write_text("\n".join([*rest, first, ""]))


def cut(entries: list[Path], libraries: list[Path]) -> None:
    for entry in entries:
        entry.write_text("".join(entry.read_text().splitlines(keepends=True)[:-1]))


def forge(entries: list[Path], libraries: list[Path]) -> None:
    """Make entries that are valid in themselves but name each other's libraries."""
    store = next(Store.candidates())
    first, second = (entry.name for entry in entries)
    held = [store.entry(first), store.entry(second)]
    assert None not in held
    store.add_entry(first, str(held[1]))
    store.add_entry(second, str(held[0]))


def rename(entries: list[Path], libraries: list[Path]) -> None:
    """Exchange the names of libraries."""
    first, second = (library.read_bytes() for library in libraries)
    libraries[0].write_bytes(second)
    libraries[1].write_bytes(first)


def foreign(entries: list[Path], libraries: list[Path]) -> None:
    """Replace libraries by valid ones for another machine."""
    store = next(Store.candidates())
    for entry in entries:
        store.folder.create("work/foreign", b"\x7fELF of another machine")
        store.add_entry(entry.name, store.add_library("foreign", "work/foreign"))


@pytest.mark.parametrize("damage", [exchange, rotate, cut, forge, rename, foreign])
def test_what_does_not_belong_together_is_made_again(damage: Callable[..., None], counted: CountedCompiler, ffi: Any) -> None:
    """Two kernels with the same name and number of functions, x * 2 and x * 3, differ only in their keys."""
    kernels = [alone(lowered(Scale(by=by), vector(F32, 3))) for by in (2.0, 3.0)]
    code = """
        import sys
        sys.path[:0] = {path!r}
        from cffi import FFI
        from toy_ops import *
        from adjoint.codegen.compile import KernelCache
        from adjoint.codegen.workshop import Workshop
        cache = KernelCache(FFI(), Workshop.open())
        for by in (2.0, 3.0):
            cache.get(alone(lowered(Scale(by=by), vector(F32, 3))))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code).format(path=sys.path)], check=True)
    workshop = Workshop.open()
    store = workshop.store
    keys = [workshop.key(kernel.text, kernel.headers) for kernel in kernels]
    damage([store.root / "kernel" / key for key in keys], [store.root / "library" / str(store.entry(key)) for key in keys])
    runs = counted.runs
    cache = KernelCache(ffi, workshop)
    for kernel, by in zip(kernels, (2, 3), strict=True):
        x, out = np.ones(3, "f4"), np.empty(3, "f4")
        assert run(cache.get(kernel), kernel, ffi, x, out) == 0
        assert list(out) == [by] * 3
    assert counted.runs == runs + 2
    assert [store.entry(key) for key in keys] == [name for name in map(store.entry, keys) if name and store.library(name)]  # replaced


def test_a_kernel_with_another_number_of_functions_is_made_again(counted: CountedCompiler, ffi: Any) -> None:
    kernel = alone(lowered(Add(), vector(F32, 3), vector(F32, 3)))
    workshop = Workshop.open()
    KernelCache(ffi, workshop).get(kernel)
    key = workshop.key(kernel.text, kernel.headers)
    assert workshop.functions(key, 1) is not None
    assert workshop.functions(key, 2) is None


def test_another_library_in_place_of_the_run_time_library_is_made_again(counted: CountedCompiler, ffi: Any) -> None:
    kernel = alone(lowered(Add(), vector(F32, 3), vector(F32, 3)))
    workshop = Workshop.open()
    KernelCache(ffi, workshop).get(kernel)
    named = workshop.store.entry(workshop.key(kernel.text, kernel.headers))
    workshop.store.add_entry(workshop.key(runtime_text()), str(named))
    assert load_runtime(ffi, Workshop.open()).adjoint_threads() > 0


# ---- C that is refused


def test_refused_c_is_reported(counted: CountedCompiler, ffi: Any) -> None:
    """The user gets one line, a file has all details, and there is no second attempt."""
    kernels = KernelCache(ffi, Workshop.open())
    kernel = lowered(Broken(), vector(F32, 3))
    with pytest.raises(CompilerFailure) as caught:
        kernels.get(kernel)
    assert "\n" not in str(caught.value)
    assert caught.value.report is not None
    assert str(caught.value.report) in str(caught.value)
    report = caught.value.report.read_text()
    for part in ("too many arguments", "-ffp-contract=off", "compiler: ", kernel.text):
        assert part in report
    runs = counted.runs
    with pytest.raises(CompilerFailure):
        kernels.get(kernel)
    assert counted.runs == runs


def test_a_bad_kernel_does_not_take_its_pack_with_it(cache: Path, ffi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "pack", "toy")
    monkeypatch.setattr(Broken, "samples", Scale.samples[:1])
    _register(monkeypatch, Add, Broken, Sum)
    kernels = KernelCache(ffi, Workshop.open())
    for op, types in ((Add(), [vector(F32, 3)] * 2), (Sum(), [vector(F32, 3)])):
        kernel = lowered(op, *types)
        assert len(kernels.get(kernel)) == len(kernel.stages)
    with pytest.raises(CompilerFailure):
        kernels.get(lowered(Broken(), vector(F32, 3)))


# ---- threads and processes


def test_threads_that_need_the_same_kernel_compile_it_once(counted: CountedCompiler, ffi: Any, toy_packs: None) -> None:
    kernels = KernelCache(ffi, Workshop.open())
    found: list[Any] = []

    def need(op: Op, *types: TensorType) -> None:
        found.append(kernels.get(lowered(op, *types)))

    x = vector(F32, 5)
    threads = [threading.Thread(target=need, args=job) for job in [(Add(), x, x), (Sum(), x), (Scale(), x)] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert len({id(functions) for functions in found}) == 3
    assert counted.runs == 2


def test_kernels_can_be_begun_and_waited_for_later(counted: CountedCompiler, ffi: Any) -> None:
    """One compiler makes all of them; a thread that needs one waits for that compiler, and starts no other."""
    kernels = KernelCache(ffi, Workshop.open())
    plain = [replace(lowered(Add(), vector(dtype, 5), vector(dtype, 5)), plain=True) for dtype in (F32, F64, I32)]
    kernels.begin(plain)
    for kernel in plain:
        kernels.get(kernel)
    kernels.begin(plain)
    assert counted.runs == 2  # one of them compiles the probe


def test_a_child_process_compiles_on_its_own(cache: Path, ffi: Any) -> None:
    """A forked child has none of the parent's threads, and no lock is held in it."""
    kernels = KernelCache(ffi, Workshop.open())
    kernels.get(alone(lowered(Add(), vector(F32, 5), vector(F32, 5))))
    with kernels._lock:  # as if another thread were at work
        child = multiprocessing.get_context("fork").Process(target=kernels.get, args=(alone(lowered(Sum(), vector(I8, 3))),))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
    child.join(60)
    assert child.exitcode == 0


def test_work_nobody_waits_for_ends_with_the_process(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A background compiler does not delay the end of a program, nor does waiting for another process's; nothing is left running."""
    pids = tmp_path / "pids"
    slow = script(tmp_path / "slow", f'case "$*" in *kernels-*) echo $$ > {pids}; exec sleep 60;; esac; exec {REAL} "$@"')
    code = """
        import sys, time, os
        sys.path[:0] = {path!r}
        from cffi import FFI
        from toy_ops import *
        from adjoint.codegen.compile import KernelCache
        from adjoint.codegen.workshop import Workshop
        kernels = KernelCache(FFI(), Workshop.open())
        kernels.later(lambda: kernels.prepare([lowered(Sum(), vector(F32, 3))], waited_for=False))
        while not os.path.exists({pids!r}):
            time.sleep(0.01)
    """
    started = time.monotonic()
    command = [sys.executable, "-c", textwrap.dedent(code).format(path=sys.path, pids=str(pids))]
    processes = [subprocess.Popen(command, env={**os.environ, "CC": str(slow)}) for _ in range(2)]
    assert [process.wait(50) for process in processes] == [0, 0]
    assert time.monotonic() - started < 30
    assert not alive(int(pids.read_text()))
    assert [path.name for path in (cache / "kernels/work").iterdir()] == ["unfinished"]  # the mark by which the next process hurries


def test_work_that_ends_while_the_queue_is_stopped_is_counted_as_unfinished(cache: Path, ffi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = KernelCache(ffi, Workshop.open())

    def stopped_while_the_thread_gives_up() -> bool:
        kernels._cut_off = True
        return False

    monkeypatch.setattr(kernels._later, "stop", stopped_while_the_thread_gives_up)
    kernels._stop()
    kernels._wait()
    assert kernels.workshop.store.scratch.unfinished() == 1


IN_TURN = """
    import sys
    sys.path[:0] = {path!r}
    from cffi import FFI
    from toy_ops import *
    from adjoint.codegen import scratch
    from adjoint.codegen.compile import KernelCache
    from adjoint.codegen.workshop import Workshop
    from adjoint.ir.types import F32, F64, I8, I16, I32, I64
    scratch.PATIENCE = 0.0
    kernels = KernelCache(FFI(), Workshop.open())
    for dtype in {dtypes}:
        kernels.prepare([alone(lowered(Add(), vector(dtype, 3), vector(dtype, 3)))], waited_for=False)
"""


def test_processes_compile_in_the_background_one_after_the_other(cache: Path, tmp_path: Path) -> None:
    """Also if a compiler takes long, and at a lower priority than that of the processes, which is a low one itself."""
    log = tmp_path / "log"
    logged = script(tmp_path / "logged", f'''
        case "$*" in *kernels-*) echo begin $(nice) >> {log}; {REAL} "$@"; status=$?; echo end >> {log}; exit $status;; esac
        exec {REAL} "$@"''')
    programs = [textwrap.dedent(IN_TURN).format(path=sys.path, dtypes=dtypes) for dtypes in ("F32, F64, I32", "I64, I8, I16")]
    processes = [subprocess.Popen(["nice", "-n", "5", sys.executable, "-c", program], env={**os.environ, "CC": str(logged)})
                 for program in programs]
    assert [process.wait(100) for process in processes] == [0, 0]
    niceness = min(19, os.nice(0) + 5 + 10)
    assert log.read_text().split("\n") == [*[f"begin {niceness}", "end"] * 6, ""]


def test_a_kernel_that_is_waited_for_is_not_compiled_in_turn(cache: Path, ffi: Any) -> None:
    """Another process holds the turn of the background, and keeps it."""
    kernels = KernelCache(ffi, Workshop.open())
    kernel = alone(lowered(Add(), vector(F32, 3), vector(F32, 3)))
    with kernels.workshop.store.scratch.turn("background", lambda: False):
        thread = threading.Thread(target=kernels.prepare, args=([kernel],), kwargs={"waited_for": False})
        thread.start()
        while not kernels._pending:
            thread.join(0.001)
        assert kernels.get(kernel)
        thread.join()


@pytest.mark.parametrize("dtype", [F16, F32], ids=lambda dtype: dtype.name)
def test_every_sample_of_a_pack_is_lowered_once(dtype: Any, toy_packs: None) -> None:
    kernels = packs.pack_sources("toy", dtype, strict=True)
    assert [kernel.name for kernel in kernels] == [f"toy_{name}_{dtype.name}" for name in ("add", "scale", "scale", "sum")]
    assert packs.pack_sources("absent", dtype) == []
