"""Run tests with kernels and the run-time library under AddressSanitizer and UndefinedBehaviorSanitizer: `make sanitize`.

    python tests/sanitized.py                  the op suite, the programs, hostile calls, matrix products, gradients, what runs graphs
    python tests/sanitized.py tests/nn -k Dense    others: the arguments are pytest's

gcc compiles what it compiles otherwise, with the same flags and the sanitizers'; Python is started with gcc's sanitizer libraries
and takes every block of memory from the system, so that a tensor that is read or written beyond its end is seen.  What
a sanitizer finds ends the process with a report.  That it finds something is tried first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = (
    "tests/test_ops.py", "tests/test_programs.py", "tests/test_hostile_calls.py", "tests/codegen/test_matmul.py",
    "tests/runtime/gradients/test_tape.py", "tests/runtime/execution/test_sequence.py", "tests/runtime/execution/test_state_in_place.py",
    "tests/runtime/execution/test_recorded.py", "tests/runtime/execution/test_isolation.py", "tests/test_made_up_programs.py",
    "tests/runtime/execution/test_gradients_of_loops.py", "tests/runtime/execution/test_loops_that_write.py",
)

COMPILER = "gcc -fsanitize=address,undefined -fno-sanitize-recover=all"

PLANTED = """
from cffi import FFI
from pathlib import Path
from adjoint.codegen.toolchain import Toolchain
from adjoint.runtime.memory.machine import machine
Path("planted.c").write_text("void planted(char *x, int shift) { x[4] = (char)(1 << shift); }")
Toolchain.find().compile(Path("planted.c").absolute(), Path("planted.so").absolute())
ffi = FFI()
ffi.cdef("void planted(char *, int);")
memory = machine().allocate(SIZE)
ffi.dlopen("./planted.so").planted(ffi.cast("char *", memory), SHIFT)
"""
"""A write of the fifth byte of a tensor's memory."""


def environment(cache: str) -> dict[str, str]:
    """The environment of a process whose kernels are sanitized.  SystemExit when gcc has no sanitizers."""
    libraries = [subprocess.run(["gcc", f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True).stdout.strip()
                 for name in ("asan", "ubsan")]
    if not all(map(os.path.isabs, libraries)):
        raise SystemExit("gcc has no libasan and libubsan here: install them (Debian: libgcc-*-dev)")
    return {
        **os.environ, "CC": COMPILER, "LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc", "ADJOINT_FORBID_INTERPRETER": "1",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python ends without freeing all that it has
        "UBSAN_OPTIONS": "print_stacktrace=1", "ADJOINT_TEST_CACHE": cache, "ADJOINT_CACHE_DIR": cache,
    }


def check_that_it_sees(variables: dict[str, str], folder: str) -> None:
    """SystemExit when a planted mistake is not found, or something is found where there is none."""
    root = str(Path(__file__).parent.parent)
    for size, shift, report in ((5, 1, ""), (4, 1, "heap-buffer-overflow"), (5, 40, "shift exponent 40 is too large")):
        code = PLANTED.replace("SIZE", str(size)).replace("SHIFT", str(shift))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder,
                              env={**variables, "PYTHONPATH": root})
        if (done.returncode != 0, report in done.stderr) != (bool(report), True):
            raise SystemExit(f"a planted mistake ({report or 'none'}) was not reported so:\n{done.stderr}")


def main() -> int:
    """Run pytest on the tests that are named; its exit code."""
    with tempfile.TemporaryDirectory(prefix="adjoint-sanitized-") as folder:
        variables = environment(os.environ.get("ADJOINT_TEST_CACHE") or folder)
        check_that_it_sees(variables, folder)
        return subprocess.run([sys.executable, "-m", "pytest", *(sys.argv[1:] or TESTS)], env=variables, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
