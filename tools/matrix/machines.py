"""The compilers and machines on which exported C is compiled and run: what each needs, and how it runs a program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["MACHINES", "STRICT", "Machine", "exported_in", "install", "parts_of", "test_of"]

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
"""Flags under which an exported file must compile without a word."""
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Machine:
    """A compiler, with flags, for a processor.

    name      for messages
    compiler  its command; `zig` is the one of the wheel `ziglang`
    flags     flags for the exported files and their tests
    runner    the command in front of a program that was compiled for another processor
    packages  Debian's packages with both
    fused     True: the files are those with fused multiply-add
    standard  True: compiled as C99; False: as the compiler's own dialect, in which it may fuse products and sums
    """

    name: str
    compiler: tuple[str, ...]
    flags: tuple[str, ...] = ("-O2",)
    runner: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    fused: bool = False
    standard: bool = True

    @property
    def missing(self) -> list[str]:
        """Return the programs that this machine needs and that are not installed."""
        needed = [command[0] for command in (self.compiler, self.runner) if command]
        return [program for program in needed if (find_spec("ziglang") if program == "zig" else shutil.which(program)) is None]

    def run(self, sources: Iterable[Path], folder: Path) -> str:
        """Compile programs, each with its test, and run them; return what went wrong, "" if nothing did.

        sources  the exported files; the test of `a.c` is `a_test.c` beside it, and its constants may be in `a_weights.c`
        """
        wrong: list[str] = []
        compiler = [sys.executable, "-m", "ziglang", *self.compiler[1:]] if self.compiler[0] == "zig" else [*self.compiler]
        strict = STRICT if self.standard else ("-Wall", "-Wextra", "-Wconversion", "-Werror")
        linked = [flag for flag in self.flags if not flag.startswith("-O")]
        for source in sources:
            parts = parts_of(source)
            made = [folder / f"{part.stem}.o" for part in parts]
            program = folder / f"{source.stem}.run"
            steps = [[*compiler, *strict, *self.flags, "-fwrapv", "-c", part, "-o", to] for part, to in zip(parts, made, strict=True)]
            steps += [[*compiler, *linked, "-O0", "-w", test_of(source), *made, "-o", program], [*self.runner, program]]
            for number, step in enumerate(steps):
                done = subprocess.run(step, capture_output=True, text=True, check=False, env=_environment())
                said = (done.stdout + done.stderr).strip().splitlines()
                if done.returncode != 0 or (number < len(parts) and said) or "but for rounding" in done.stdout:
                    wrong += [f"{source.name}: {line}" for line in said[:20]] or [f"{source.name}: status {done.returncode}"]
                    break
            program.unlink(missing_ok=True)
        return "\n".join(wrong)


def test_of(source: Path) -> Path:
    """Return the file with the test of an exported file."""
    return source.with_name(f"{source.stem}_test.c")


def parts_of(source: Path) -> list[Path]:
    """Return the files of an exported program without its test."""
    return [part for part in (source, source.with_name(f"{source.stem}_weights.c")) if part.exists()]


def exported_in(folder: Path) -> list[Path]:
    """Return the exported files in a folder and those inside of it."""
    return sorted(path for path in folder.glob("**/*.c") if test_of(path).exists())


def _environment() -> dict[str, str]:
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(Path.home() / ".cache" / "zig"), "NODE_NO_WARNINGS": "1"}


ARM = ("gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross", "qemu-user")
ARM64 = ("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user")
RISCV = ("gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross", "qemu-user")
WASI = ("node", "--no-warnings", str(HERE / "wasi.mjs"))

MACHINES = (
    Machine("gcc", ("gcc",), packages=("gcc",)),
    Machine("gcc, sanitized", ("gcc",), SANITIZED, packages=("gcc",)),
    Machine("gcc, its own dialect for a processor that fuses", ("gcc",), ("-O3", "-march=haswell"), standard=False, packages=("gcc",)),
    Machine("gcc, fused", ("gcc",), ("-O2", "-march=haswell"), fused=True, packages=("gcc",)),
    Machine("clang", ("clang",), packages=("clang",)),
    Machine("clang, sanitized", ("clang",), SANITIZED, packages=("clang", "libclang-rt-14-dev")),
    Machine("clang, fused", ("clang",), ("-O2", "-march=haswell"), fused=True, packages=("clang",)),
    Machine("zig, its own dialect for a processor that fuses", ("zig", "cc", "-target", "x86_64-linux-musl"), ("-O2", "-mcpu=x86_64_v3"),
            standard=False),
    Machine("arm", ("arm-linux-gnueabihf-gcc",), ("-O2", "-static"), ("qemu-arm",), ARM),
    Machine("arm64, its own dialect", ("aarch64-linux-gnu-gcc",), ("-O2", "-static"), ("qemu-aarch64",), ARM64, standard=False),
    Machine("arm64, fused", ("aarch64-linux-gnu-gcc",), ("-O2", "-static"), ("qemu-aarch64",), ARM64, fused=True),
    Machine("riscv64, its own dialect", ("riscv64-linux-gnu-gcc",), ("-O2", "-static"), ("qemu-riscv64",), RISCV, standard=False),
    Machine("riscv64, fused", ("riscv64-linux-gnu-gcc",), ("-O2", "-static"), ("qemu-riscv64",), RISCV, fused=True),
    Machine("wasm32", ("zig", "cc", "-target", "wasm32-wasi"), runner=WASI, packages=("nodejs",)),
)
"""Every machine.  The first one is the one that the sample of `.ci/run` uses."""


def install(machines: Iterable[Machine]) -> None:
    """Install what machines lack: Debian's packages as root, zig with pip.  What cannot be had is missing afterwards."""
    lacking = [machine for machine in machines if machine.missing]
    if any("zig" in machine.missing for machine in lacking):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "ziglang"], check=False)
    packages = sorted({package for machine in lacking for package in machine.packages})
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", "-qq", *packages], check=False, stdout=subprocess.DEVNULL)
