"""The C compiler: where it is, what it is, and its flags.

Searched in this order: `$CC`, `cc`, `gcc`, `clang`, and `zig cc` of the `ziglang` wheel, which pip can install where the
system has no compiler.  Everything recorded about a compiler is keyed by its identity (path, time and size of the program), so
another compiler, or an update, never uses libraries of the old one; and no process is started to find out.

Flags, and why:

    -O3                    loops become vector code
    -ffp-contract=off      a product and a sum are fused only where the source says `fma`: the same bits everywhere
    -fno-math-errno        functions of <math.h> that are one instruction become one: nobody reads errno
    -fno-trapping-math     no floating-point exception is ever unmasked, so comparisons may be vectorised
    -fwrapv                signed integers wrap, as they do in NumPy
    -m...                  what this processor has, each by name (never -march=native: the names are part of a library's key)

Flags for unsafe mathematics are not among them: they change results, break tests for NaN, and on loading
flush subnormals to zero for the whole process.  Nor can they come from $CC: of its flags those are kept that change neither
results nor what is read, and the others are dropped, with a warning.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from adjoint.codegen.compiler_process import READ_BY_COMPILERS, Limit, environment, run
from adjoint.foundation.dataclass import dataclass

__all__ = ["FLAGS", "LIMIT", "PLAIN", "PROBE_LIMIT", "SCALAR", "NoCompiler", "Toolchain", "machine_flags"]

FLAGS: Final = (
    "-std=c11",
    "-O3",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
)

PLAIN: Final = ("-O1",)
"""Flags of plain kernels, which are to be ready soon: they come after FLAGS, and of several -O the last one counts."""

SCALAR: Final = ("-fno-tree-slp-vectorize",)
"""Flags of kernels without loops.  What one of them stores, the next one reads soon, often in other pieces: a processor waits for a number
whose bytes are on their way to memory as a part of a vector, or a vector whose parts are.  And from version 12 on gcc makes one instruction
of a sum beside a difference, and fuses products into it, in spite of -ffp-contract=off.
"""

LIMIT: Final = Limit(processor=300, waiting=600.0)
"""The limits on the compiler's time for one unit (C file)."""

PROBE_LIMIT: Final = Limit(processor=15, waiting=15.0)
"""Limits for the few lines of the probe; a compiler that takes longer hangs."""

_HARMLESS: Final = re.compile(
    r"-pthread|-pipe|-m64|-mcpu=baseline|-g\w*|-O[0-3sz]|-std=.*|-W(?![alp],).*|-fPIC|-fpic|-fuse-ld=.*|-f(no-)?diagnostics-.*|-f(no-)?color-.*"
    r"|-f(no-)?sanitize.*|-fno-omit-frame-pointer|-f(no-)?stack-protector.*|-static-lib\w+|-shared-lib\w+|--target=.*|--sysroot=.*"
)
"""A pattern for the flags that $CC may contain: they do not change results, and those that affect what is read are part of the key."""
_WITH_A_WORD: Final = ("-target", "-arch", "-isysroot", "--sysroot")
"""Flags that $CC may contain and that take the next word as their argument."""

_FEATURES: Final = {
    "sse4_2": "-msse4.2",
    "popcnt": "-mpopcnt",
    "avx": "-mavx",
    "f16c": "-mf16c",
    "fma": "-mfma",
    "avx2": "-mavx2",
    "bmi1": "-mbmi",
    "bmi2": "-mbmi2",
    "avx512f": "-mavx512f",
    "avx512dq": "-mavx512dq",
    "avx512cd": "-mavx512cd",
    "avx512bw": "-mavx512bw",
    "avx512vl": "-mavx512vl",
}
"""For each processor feature that kernels profit from, as /proc/cpuinfo names it: the compiler flag for it."""


class NoCompiler(Exception):
    """Raised if nothing can be compiled, for want of a working C compiler or of a directory for its output.

    tried    compilers, and why they cannot be used
    refused  directories, and why they cannot be used
    """

    def __init__(self, tried: Sequence[str], refused: Sequence[str] = ()):
        self.tried = tuple(tried)
        self.refused = tuple(refused)
        said: list[str] = []
        if tried:
            said.append(f"No C compiler was found that works ({'; '.join(tried)}). "
                        "Install gcc or clang, name one in the environment variable CC, or `pip install ziglang`.")
        if refused:
            said.append(f"These directories cannot be used for compiled kernels: {'; '.join(refused)}. "
                        "Name another one in the environment variable ADJOINT_CACHE_DIR.")
        super().__init__(" ".join(said))


@cache
def machine_flags() -> tuple[str, ...]:
    """Return the -m flags for this processor; none if its features cannot be read, or with ADJOINT_CPU=baseline; with
    ADJOINT_CPU=avx2 those that it shares with processors without AVX-512."""
    wanted = os.environ.get("ADJOINT_CPU")
    if wanted == "baseline" or os.uname().machine != "x86_64":
        return ()
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first = file.read(16384).decode("ascii", "replace")  # the first processor: the file is long on large machines
    except OSError:
        return ()
    line = next((line for line in first.splitlines() if line.startswith("flags")), "")
    features = line.partition(":")[2].split()
    return flags_for([feature for feature in features if wanted != "avx2" or not feature.startswith("avx512")])


def flags_for(features: list[str]) -> tuple[str, ...]:
    """Return the -m flags for a list of processor features."""
    flags = tuple(flag for feature, flag in _FEATURES.items() if feature in features)
    return (*flags, "-mprefer-vector-width=512") if "-mavx512f" in flags else flags


@dataclass(frozen=True)
class Toolchain:
    """A C compiler with its flags.

    command   its program and the arguments that belong to it, `("/usr/bin/ccache", "gcc")`
    identity  a text that changes when the program does
    machine   -m flags, for features of the processor
    left_out  flags of $CC that are not used
    """

    command: tuple[str, ...]
    identity: str
    machine: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        return (*FLAGS, *self.machine)

    @property
    def probe_limit(self) -> Limit:
        """Return the limits for the probe: at its first use zig compiles its own libraries."""
        return LIMIT if os.path.basename(self.command[0]) == "zig" else PROBE_LIMIT

    @classmethod
    def candidates(cls, tried: list[str] | None = None) -> Iterator[Toolchain]:
        """Yield the compilers of this system, in the order in which they are tried.

        tried  gets a text for each one that is missing
        """
        tried = [] if tried is None else tried
        seen: set[tuple[str, ...]] = set()
        for label, words in _places():
            program = shutil.which(words[0]) if words else None
            if program is None:
                tried.append(f"{label}: not found")
                continue
            arguments, left_out = _kept_arguments(words[1:])
            command = (os.path.abspath(program), *arguments)
            if command in seen:
                continue
            seen.add(command)
            identity = _identity(command)
            if identity is None:
                tried.append(f"{label}: cannot be read")
                continue
            yield cls(command, identity, machine_flags(), left_out)

    @classmethod
    def find(cls, tried: list[str] | None = None) -> Toolchain | None:
        """Return the first compiler that exists; None if there is none.

        tried  gets a text for each one that is missing
        """
        return next(cls.candidates(tried), None)

    def without_machine(self) -> Toolchain:
        """Return the same compiler without -m flags, so that its output runs on any processor of this family."""
        return replace(self, machine=())

    def version(self) -> str:
        """Return the first line of the compiler's version output."""
        try:
            said = subprocess.run([*self.command, "--version"], capture_output=True, text=True, timeout=20, check=False, env=environment())
        except (OSError, subprocess.TimeoutExpired) as problem:
            return f"unknown ({problem})"
        return (said.stdout or said.stderr).strip().partition("\n")[0]

    def arguments(self, source: str, library: str, extra: Sequence[str] = ()) -> list[str]:
        """Return the command line that compiles one C file to a shared library.

        source, library  the paths of the two files
        extra            further flags
        """
        return [*self.command, *self.flags, *extra, "-o", library, "-x", "c", source, "-x", "none", "-lm"]

    def compile(
        self, source: str | Path, library: str | Path, extra: Sequence[str] = (), *, folder: str = "", limit: Limit = LIMIT
    ) -> None:
        """Compile a file; raise CompilerError if that fails or takes longer than `limit`.

        The compiler runs in `folder`, by default that of the source, and keeps its temporary files there.
        """
        run(self.arguments(str(source), str(library), extra), folder or os.path.dirname(source) or ".", limit)


def _kept_arguments(words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split the words of $CC into those that are used and the flags that are dropped, since they could change results.

    Words before the first flag are kept: `ccache gcc`, `zig cc`.
    """
    kept: list[str] = []
    left_out: list[str] = []
    flags = False
    wanted = False  # by the flag before it
    for word in words:
        flags = flags or word.startswith(("-", "@"))
        keep = not flags or wanted or word in _WITH_A_WORD or _HARMLESS.fullmatch(word) is not None
        wanted = word in _WITH_A_WORD and not wanted
        (kept if keep else left_out).append(word)
    return kept, tuple(left_out)


def _places() -> Iterator[tuple[str, list[str]]]:
    """Yield the commands that may be a C compiler, each as a label for messages and the words of the command."""
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        if shutil.which(chosen):  # a path with a space in it
            yield f"CC={chosen}", [chosen]
        else:
            try:
                yield f"CC={chosen}", shlex.split(chosen)
            except ValueError:
                yield f"CC={chosen}", []
    for name in ("cc", "gcc", "clang"):
        yield name, [name]
    wheel = find_spec("ziglang")
    folders = (wheel.submodule_search_locations or []) if wheel else []
    # zig would otherwise use all features of this processor, which the -m flags are to select
    yield "ziglang", [os.path.join(folders[0], "zig"), "cc", "-mcpu=baseline"] if folders else []


def _identity(command: tuple[str, ...]) -> str | None:
    """Return a text with path, time and size of a compiler's program, which identifies its version; None if the program does not exist."""
    parts = [sys.platform, os.uname().machine]
    with suppress(AttributeError, ValueError, OSError):  # where there is no glibc
        parts.append(os.confstr("CS_GNU_LIBC_VERSION") or "")
    parts += [f"{name}={os.environ[name]}" for name in READ_BY_COMPILERS if name in os.environ]
    helpers = ("as", "ld")  # gcc takes them from PATH
    for position, word in enumerate((*command, *helpers)):
        program = word if position == 0 else shutil.which(word)
        if program is None:
            parts.append(word)
            continue
        path = os.path.realpath(program)
        try:
            status = os.stat(path)
        except OSError:
            return None
        parts.append(f"{path} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(parts)
