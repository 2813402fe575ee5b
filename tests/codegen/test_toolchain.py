"""Compilers: how they are found, their flags and environment, and the handling of broken, slow or incorrect ones."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cffi import FFI
from compilers import REAL, alive, ends, needs_compiler, script
from toy_ops import Add, alone, lowered, vector

from adjoint.codegen import compiler_process, toolchain
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.compiler_process import CompilerHangs, Limit
from adjoint.codegen.toolchain import NoCompiler, Toolchain, flags_for
from adjoint.codegen.workshop import CompilerFailure, Workshop
from adjoint.ir.types import F32, F64

pytestmark = needs_compiler

HOME = pwd.getpwuid(os.getuid()).pw_dir
"""Where zig keeps what it compiles for itself at its first use."""


# ---- finding one


def test_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache.parent))
    monkeypatch.setenv("CC", "nonsense --flag")
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    tried: list[str] = []
    assert Toolchain.find(tried) is None
    assert tried == ["CC=nonsense --flag: not found", *(f"{name}: not found" for name in ("cc", "gcc", "clang", "ziglang"))]
    with pytest.raises(NoCompiler, match="pip install ziglang"):
        Workshop.open()


def test_the_zig_wheel_is_enough(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("PATH", str(cache.parent))
    made = Workshop.open()
    assert made.toolchain.command[1:] == ("cc", "-mcpu=baseline")
    assert len(KernelCache(FFI(), made).get(alone(lowered(Add(), vector(F32, 3), vector(F32, 3))))) == 1


# ---- flags


def test_flags_follow_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flags_for(["sse2", "avx", "avx2", "fma"]) == ("-mavx", "-mfma", "-mavx2")
    assert flags_for(["avx512f"])[-1] == "-mprefer-vector-width=512"
    assert flags_for([]) == ()
    toolchain.machine_flags.cache_clear()
    monkeypatch.setenv("ADJOINT_CPU", "baseline")
    assert toolchain.machine_flags() == ()
    toolchain.machine_flags.cache_clear()


def test_avx2_leaves_out_what_is_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain.machine_flags.cache_clear()
    monkeypatch.delenv("ADJOINT_CPU", raising=False)
    native = toolchain.machine_flags()
    toolchain.machine_flags.cache_clear()
    monkeypatch.setenv("ADJOINT_CPU", "avx2")
    assert toolchain.machine_flags() == tuple(flag for flag in native if "512" not in flag)
    toolchain.machine_flags.cache_clear()


def test_nothing_unsafe_is_passed() -> None:
    passed = (*toolchain.FLAGS, *toolchain.machine_flags())
    assert not {"-Ofast", "-funsafe-math-optimizations", "-march=native"} & {*passed}
    assert not any(flag.startswith("-ffast") for flag in passed)


def test_flags_that_a_compiler_does_not_know_are_left_out(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(script(tmp_path / "old", f'case "$*" in *-mfuture*) exit 1;; esac; exec {REAL} "$@"')))
    monkeypatch.setattr(toolchain, "machine_flags", lambda: ("-mfuture",))
    assert Workshop.open().toolchain.machine == ()
    monkeypatch.setattr(Toolchain, "compile", None)  # the second time it is known
    assert Workshop.open().toolchain.machine == ()


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ("", ""),
        ("-pthread -O2 -g -Wall -std=gnu11 -fsanitize=address -m64", ""),
        ("-target x86_64-linux-gnu --sysroot /opt/x", ""),
        ("-ffast-math -O2", "-ffast-math"),
        ("-Ofast -fno-signed-zeros -march=native", "-Ofast -fno-signed-zeros -march=native"),
        ("-O1 -funsafe-math-optimizations -mfpmath=387", "-funsafe-math-optimizations -mfpmath=387"),
        ("-include /tmp/evil.h -Wl,-rpath,/tmp -g", "-include /tmp/evil.h -Wl,-rpath,/tmp"),
        ("-I /tmp -Dfloat=double @flags", "-I /tmp -Dfloat=double @flags"),
    ],
)
def test_flags_in_cc_that_change_values_are_left_out(words: str, left_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{REAL} {words}")
    found = Toolchain.find()
    assert found is not None
    assert " ".join(found.left_out) == left_out
    assert sorted([*found.command[1:], *found.left_out]) == sorted(words.split())


def test_flags_removed_from_cc_are_reported(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{REAL} -ffast-math")
    with pytest.warns(UserWarning, match=r"Of CC=.* this is left out, .* results .*: -ffast-math\.") as said:
        made = Workshop.open()
    assert len(said) == 1
    assert made.toolchain.command == (REAL,)


@pytest.mark.parametrize("flag", ["-ffast-math", "-funsafe-math-optimizations", "-freciprocal-math", "-fsingle-precision-constant"])
def test_a_compiler_that_computes_incorrectly_is_not_used(flag: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name adds the flag by itself, which cannot be seen from outside."""
    if subprocess.run([REAL, flag, "-E", "-"], input=b"", capture_output=True, check=False).returncode:
        pytest.skip("this compiler does not know the flag")
    monkeypatch.setenv("CC", str(script(tmp_path / "fast", f'exec {REAL} {flag} "$@"')))
    with pytest.warns(UserWarning, match="is used, after others: .*/fast: "):
        made = Workshop.open()
    assert made.toolchain.command == (REAL,)
    assert np.float64(2.0**-1022) / 3 > 0  # loading what it made has switched nothing off


def test_the_probe_sees_subnormals_switched_off(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that switches them off when it is loaded is rejected, and they are switched on again."""
    if os.uname().machine != "x86_64":
        pytest.skip("written for one processor")
    constructor = "#include <xmmintrin.h>\n__attribute__((constructor)) static void fast(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
    (tmp_path / "fast.c").write_text(constructor)
    monkeypatch.setenv("CC", str(script(tmp_path / "fast", f'exec {REAL} "$@" -x c {tmp_path}/fast.c')))
    with pytest.warns(UserWarning, match="does not follow IEEE 754"):
        Workshop.open()
    assert np.float64(2.0**-1022) / 3 > 0


# ---- what it sees


def test_the_environment_does_not_reach_the_compiler(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `math.h` on CPATH, a `libm` on LIBRARY_PATH, an assembler on COMPILER_PATH and so on are not used, and change no key."""
    clean = Workshop.open().key("text")
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "math.h").write_text("#error read from the environment\n")
    (evil / "libm.so").write_text("not a library")
    (evil / "specs").write_text("nonsense")
    script(evil / "as", "exit 1")
    for name in ("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "GCC_ROOT", "SDKROOT", "LD_RUN_PATH"):
        monkeypatch.setenv(name, str(evil))
    monkeypatch.setenv("CFLAGS", "-ffast-math")
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "+-ffast-math")
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", str(evil / "dependencies"))
    made = Workshop.open()
    assert made.key("text") == clean
    made.store.clear()
    KernelCache(FFI(), made).get(alone(lowered(Add(), vector(F32, 3), vector(F32, 3))))
    assert not (evil / "dependencies").exists()


def test_what_the_compiler_may_read_is_in_the_key(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LD_LIBRARY_PATH, which some compilers need, and the assembler on PATH."""
    def identity() -> str:
        found = Toolchain.find()
        assert found is not None
        return found.identity

    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    clean = identity()
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    other = identity()
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/lib")
    assert len({clean, other, identity()}) == 3
    monkeypatch.delenv("LD_LIBRARY_PATH")
    assert identity() == clean
    script(tmp_path / "as", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert identity() != clean


def test_temporary_files_are_in_the_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files of the compiler and its working directory are in the cache, and nothing of them remains."""
    seen = tmp_path / "seen"
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", f'pwd -P >> {seen}; echo "$TMPDIR" >> {seen}; exec {REAL} "$@"')))
    store = Workshop.open().store
    folder, temporary = seen.read_text().splitlines()[:2]
    assert Path(folder).parent == store.root / "work"
    assert temporary == "."
    assert list((store.root / "work").iterdir()) == []


# ---- compilers that do not work


@pytest.mark.parametrize(("body", "reason"), [
    ("echo out of order >&2; exit 1", "out of order"),
    ("exit 0", "reports success, but has written nothing"),
    ('while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"', "what it makes cannot be loaded"),
])
def test_a_broken_compiler_gives_way(body: str, reason: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(script(tmp_path / "broken", body)))
    with pytest.warns(UserWarning, match=f"is used, after others: .*/broken: .*{reason}") as said:
        made = Workshop.open()
    assert len(said) == 1
    assert made.refused == []
    assert made.toolchain.command != (str(tmp_path / "broken"),)
    KernelCache(FFI(), made).get(alone(lowered(Add(), vector(F32, 3), vector(F32, 3))))


def test_a_compiler_that_fails_the_runtime_library_gives_way(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next compiler is used, with one warning; if there is none, that is the error."""
    small = script(tmp_path / "small", f'case "$*" in *runtime*) echo no threads here >&2; exit 1;; esac; exec {REAL} "$@"')
    monkeypatch.setenv("CC", str(small))
    with pytest.warns(UserWarning, match=r"after others: .*/small: it cannot compile the run-time library \(no threads here\)") as said:
        made = Workshop.open(with_runtime=True)
    assert len(said) == 1
    assert made.toolchain.command != (str(small),)

    monkeypatch.setattr(toolchain, "_places", lambda: iter([("CC", [str(small)])]))
    with pytest.raises(NoCompiler, match="cannot compile the run-time library"):
        Workshop.open(with_runtime=True)


def test_a_compiler_that_hangs_is_stopped(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped after the time limit of the probe, once, and the next one is used."""
    assert Limit(processor=15, waiting=15.0) == toolchain.PROBE_LIMIT
    runs = tmp_path / "runs"
    monkeypatch.setenv("CC", str(script(tmp_path / "hung", f"echo run >> {runs}; exec sleep 60")))
    monkeypatch.setattr(toolchain, "PROBE_LIMIT", Limit(processor=15, waiting=0.5))
    monkeypatch.setattr(compiler_process, "_load", lambda: 1.0)
    limits: list[Limit] = []
    compile_ = Toolchain.compile

    def quick(self: Toolchain, *arguments: Any, limit: Limit, **named: Any) -> None:
        limits.append(limit)
        compile_(self, *arguments, limit=limit if "hung" in self.command[0] else toolchain.LIMIT, **named)

    monkeypatch.setattr(Toolchain, "compile", quick)
    with pytest.warns(UserWarning, match=r"hung: the compiler took longer than 0\.5 seconds"):
        Workshop.open()
    assert runs.read_text() == "run\n"
    assert limits[0].waiting == 0.5


def test_a_compiler_that_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    command = script(tmp_path / "slow", f"sleep 60 & echo $! >> {pids}; wait")
    monkeypatch.setattr(compiler_process, "_load", lambda: 1.0)
    with pytest.raises(CompilerHangs, match="took longer than"):
        Toolchain((str(command),), "", ()).compile(tmp_path / "x.c", tmp_path / "x.so", limit=Limit(9, 0.5))
    assert ends(int(pids.read_text()))


def test_the_limit_counts_processor_time(tmp_path: Path) -> None:
    command = script(tmp_path / "busy", "while :; do :; done")
    with pytest.raises(CompilerHangs, match="1 seconds of processor time"):
        Toolchain((str(command),), "", ()).compile(tmp_path / "x.c", tmp_path / "x.so", limit=Limit(1, 600.0))


def test_load_alone_stops_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that takes twice the time limit because eight processes share each processor is not stopped."""
    computing = "import time; end = time.monotonic() + 1.2; [None for _ in iter(lambda: time.monotonic() < end, False)]"
    command = script(tmp_path / "computes", f"exec {sys.executable} -I -S -c '{computing}'")  # one that starts no others: it never waits
    monkeypatch.setattr(compiler_process, "_load", lambda: 8.0)
    Toolchain((str(command),), "", ()).compile(tmp_path / "x.c", tmp_path / "x.so", limit=Limit(9, 0.5))


@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="the system does not say which processes sleep")
def test_a_sleeping_compiler_is_stopped_under_any_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = script(tmp_path / "sleeps", "sleep 60 & wait")
    monkeypatch.setattr(compiler_process, "_load", lambda: 1000.0)
    with pytest.raises(CompilerHangs, match=r"longer than 0\.5 seconds"):
        Toolchain((str(command),), "", ()).compile(tmp_path / "x.c", tmp_path / "x.so", limit=Limit(9, 0.5))


def test_the_compiler_ends_with_the_process(tmp_path: Path) -> None:
    """The process is killed, so that it can stop nothing itself; a child that it has forked does not keep the compiler alive."""
    pids = tmp_path / "pids"
    command = script(tmp_path / "slow", f"sleep 60 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait")
    code = f"""
        import os, sys, threading, time
        from adjoint.codegen import compile
        from adjoint.codegen.toolchain import Toolchain
        work = lambda: Toolchain(({str(command)!r},), "", ()).compile("{tmp_path}/x.c", "{tmp_path}/x.so")
        threading.Thread(target=work, daemon=True).start()
        while not os.path.exists({str(pids)!r}):
            time.sleep(0.01)
        child = os.fork()
        if child:
            print(child, flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        forked = int(process.stdout.readline())
        process.kill()
    compilers = [int(word) for word in pids.read_text().split()]
    try:
        assert all(ends(pid) for pid in compilers)
        assert alive(forked)
    finally:
        os.kill(forked, signal.SIGKILL)


def test_a_compiler_that_stops_working_is_blamed_and_not_tried_again(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, runs = tmp_path / "broken", tmp_path / "runs"
    words = f'echo run >> {runs}; if [ -e {broken} ]; then echo out of memory >&2; exit 1; fi; exec {REAL} "$@"'
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", words)))
    made = Workshop.open()
    broken.touch()
    before = len(runs.read_text().split())
    kernels = KernelCache(FFI(), made)
    for dtype in (F32, F64):
        with pytest.raises(CompilerFailure, match=r"The C compiler .*/cc does not work any more \(out of memory\)") as caught:
            kernels.get(alone(lowered(Add(), vector(dtype, 3), vector(dtype, 3))))
        assert caught.value.report is None
    assert len(runs.read_text().split()) == before + 2  # the kernel, and the probe that tells whose fault it is
    assert list((made.store.root / "report").iterdir()) == []


@pytest.mark.parametrize("said", ["cc1: out of memory allocating 65536 bytes", "gcc: fatal error: Killed signal terminated program cc1",
                                  "ccache: error: No space left on device"])
def test_a_system_that_denies_what_it_needs_is_blamed(said: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", f'case "$*" in *toy*) echo "{said}" >&2; exit 1;; esac; exec {REAL} "$@"')))
    kernels = KernelCache(FFI(), Workshop.open())
    with pytest.raises(CompilerFailure, match=f"lack of memory, space, processes or time here .{said}.") as caught:
        kernels.get(alone(lowered(Add(), vector(F32, 3), vector(F32, 3))))
    assert caught.value.report is None


# ---- one result


COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
BITS = """
import hashlib, numpy as np, adjoint as ms
from adjoint import Tensor, ops
from adjoint.codegen import packs
packs.FAMILIES = ()  # what this program needs, and nothing in the background
draw = np.random.default_rng(3)
x, w = (Tensor(draw.normal(size=(37, 37)), ms.float32) for _ in "xw")
value, gradients = ms.value_and_grad(lambda x, w: (ops.exp(ops.matmul(x, w) / 9) * ops.tanh(x)).sum(), (0, 1))(x, w)
print(hashlib.sha256(b"".join(t.asnumpy().tobytes() for t in (value, *gradients))).hexdigest())
"""


@pytest.mark.skipif(len(COMPILERS) + bool(toolchain.find_spec("ziglang")) < 2, reason="there is one compiler only")
def test_compilers_agree_to_the_bit(cache: Path, tmp_path: Path) -> None:
    zig = toolchain.find_spec("ziglang")
    commands = [*COMPILERS, *([str(Path(zig.origin).with_name("zig")) + " cc -mcpu=baseline"] if zig and zig.origin else [])]
    found = {}
    for number, command in enumerate(commands):
        environment = {**os.environ, "HOME": HOME, "XDG_CACHE_HOME": f"{HOME}/.cache", "CC": command,
                       "ADJOINT_CACHE_DIR": str(tmp_path / str(number)), "ADJOINT_FORBID_INTERPRETER": "1"}
        done = subprocess.run([sys.executable, "-W", "error", "-c", BITS], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found[command] = done.stdout
    assert len({*found.values()}) == 1, found


