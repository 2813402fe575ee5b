"""Portable C: what a file holds, that compilers accept all of it, and that neither they nor their library decide its bits."""

from __future__ import annotations

import math
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.test_standalone import file_of
from op_cases import cases

from adjoint import Tensor, ops
from adjoint.codegen.emit import lower
from adjoint.codegen.portable import portable_text
from adjoint.codegen.toolchain import Toolchain
from adjoint.foundation.diagnostics import CompileError

sys.path.append(str(Path(__file__).parents[2] / "tools" / "matrix"))

import recording  # pyright: ignore[reportMissingImports]  # found on `sys.path`, set above
from machines import MACHINES, STRICT  # pyright: ignore[reportMissingImports]  # found on `sys.path`, set above

LIBRARY = {"NumberPower", "Statistics"}
"""Ops that need <math.h>, and one that only watching uses."""

needs_gcc = pytest.mark.skipif(Toolchain.find() is None or shutil.which("gcc") is None, reason="there is no gcc")


def kernels() -> list[str]:
    """Return the plain kernels of all ops, each once, with names of their own."""
    texts: dict[str, str] = {}
    for case in cases():
        if case.op.can_lower and type(case.op).__name__ not in LIBRARY:
            lowered = lower(case.op, case.types, case.results, direct=True, plain_work=math.inf)
            if lowered.text not in texts:
                name = f"k{len(texts)}_{lowered.name}"
                texts[lowered.text] = lower(case.op, case.types, case.results, direct=True, plain_work=math.inf, name=name).text
    return [*texts.values()]


@needs_gcc
def test_the_kernel_of_every_op_is_strict_c99(tmp_path: Path) -> None:
    """Without a warning, and with nothing of a C library but memory functions: what is not declared is an error in C99."""
    source = tmp_path / "kernels.c"
    source.write_text(portable_text("all kernels", kernels()))
    done = subprocess.run(["gcc", *STRICT, "-Wno-unused-function", "-fsyntax-only", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


@needs_gcc
def test_a_sample_of_the_matrix(tmp_path: Path) -> None:
    """Programs as C have the bits of Python, and no sanitizer complains; `make export` runs all of them, and for other processors."""
    toolchain = Toolchain.find()
    assert toolchain is not None
    recorded = [*recording.recorded_programs({}, every=40)]
    recording.write_bundle(tmp_path, 0, recorded, 0, "-mfma" in toolchain.machine)
    sanitized = next(machine for machine in MACHINES if machine.name == "gcc, sanitized")
    wide = ("-DADJOINT_LANE_BYTES=64",) if "-mavx512f" in toolchain.machine else ()
    here = replace(sanitized, flags=(*sanitized.flags, *toolchain.machine, *wide))
    assert len(recorded) > 10 and here.run([tmp_path / "bundle_0.c"], tmp_path) == ""


def two(x: Any, y: Any) -> Any:
    return ops.relu(x * y + 1)


def one(x: Any, y: Any) -> Any:
    return ops.tanh(x * y)


def side_by_side(x: Any, y: Any, z: Any) -> Any:
    a, b, c, d, e, f = x[0] + z[0], x[1] + z[1], y[0] + z[0], y[1] + z[1], x[0] + y[0], x[1] + y[1]
    return ops.stack([a * c - e, b * d + f])


def test_a_file_holds_what_it_uses() -> None:
    row = Tensor(np.ones(5, np.float32))
    short, long = file_of(two, [row, row], plain=True), file_of(one, [row, row], plain=True)
    assert short.count("\n") <= 120 and long.count("\n") <= 200
    assert "adjoint_tanh_f32" in long and "adjoint_log_f32" not in long and "math.h" not in long and "tanh" not in short
    assert "    mul_f32(x, y, m, 0, 5);\n" in short, "a call shows what it computes"


MATHEMATICS = """
#include <math.h>
#include <stdio.h>
static int differ(double a, double b) {
    return !(a == b ? (signbit(a) != 0) == (signbit(b) != 0) : isnan(a) && isnan(b));
}
int main(void) {
    const double hard[] = {
        0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 0.49999999999999994, 8388607.5, 4503599627370495.5, 1e300, -1e300, 5e-324,
        1.4e-45, 1e-40, 2.2250738585072014e-308, 1.1754943508222875e-38, INFINITY, -INFINITY, NAN, 3.0, -7.0, 1e10};
    const int count = (int)(sizeof hard / sizeof *hard);
    int wrong = 0;
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        double x = hard[i % count], y = hard[i / count % count];
        if (i >= count * count) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            x = adjoint_double_of_bits(state);
            state = state * 6364136223846793005u + 1442695040888963407u;
            y = adjoint_double_of_bits(i % 2 ? state : (state & 0x000fffffffffffffu) | (adjoint_bits_of_double(x) & 0xfff0000000000000u));
            y /= i % 3 ? 1 : 1024;
        }
        const float u = i % 5 ? (float)x : adjoint_float_of_bits((uint32_t)(state >> 32));
        wrong += differ(adjoint_sqrt_f64(x), sqrt(x)) + differ(adjoint_sqrt_f32(u), sqrtf(u));
        wrong += differ(adjoint_nearest_f64(x), rint(x)) + differ(adjoint_nearest_f32(u), rintf(u));
        wrong += differ(adjoint_truncated_f64(x), trunc(x)) + differ(adjoint_truncated_f32(u), truncf(u));
        wrong += differ(adjoint_floor_f64(x), floor(x)) + differ(adjoint_floor_f32(u), floorf(u));
        wrong += differ(adjoint_ceiling_f64(x), ceil(x)) + differ(adjoint_ceiling_f32(u), ceilf(u));
        wrong += differ(adjoint_rounded_f64(x), round(x)) + differ(adjoint_rounded_f32(u), roundf(u));
        wrong += differ(adjoint_fmod_f64(x, y), fmod(x, y)) + differ(adjoint_with_sign_f64(x, y), copysign(x, y));
        wrong += adjoint_is_nan(x) != (isnan(x) != 0) || adjoint_is_finite(x) != (isfinite(x) != 0);
        wrong += adjoint_is_infinite(u) != (isinf(u) != 0) || adjoint_is_negative(u) != (signbit(u) != 0);
    }
    printf("%d", wrong);
    return 0;
}
"""


@needs_gcc
def test_exact_functions_are_those_of_the_library(tmp_path: Path) -> None:
    """Square roots too where the processor has no instruction for them: they are computed digit by digit then."""
    names = " ".join(sorted(set(re.findall(r"adjoint_\w+", MATHEMATICS))))
    source, program = tmp_path / "exact.c", tmp_path / "exact"
    source.write_text(portable_text("exact functions", [f"#define USED {names}\n"]) + MATHEMATICS)
    for flags in ([], ["-U__SSE2__"]):
        subprocess.run(["gcc", "-std=c99", "-O1", "-w", *flags, source, "-o", program, "-lm"], check=True)
        assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "0"


@needs_gcc
@pytest.mark.skipif(platform.machine() != "x86_64", reason="it looks for this processor's instructions")
def test_a_compiler_does_not_decide_what_is_rounded(tmp_path: Path) -> None:
    """Products and sums are fused where the file's macro says so, whatever the compiler's default; unsafe mathematics is refused."""
    row = Tensor(np.ones(3, np.float32))
    source = tmp_path / "file.c"
    source.write_text(file_of(one, [row, row], plain=True))

    def made(*flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["gcc", "-O2", "-S", "-o", "-", *flags, source], capture_output=True, text=True, check=False)

    assert "mulss" in made("-mfma", "-ffp-contract=fast").stdout and "fmadd" not in made("-mfma", "-ffp-contract=fast").stdout
    assert "fmadd" in made("-mfma", "-DADJOINT_FMA=1").stdout
    assert "no fused multiply-add" in made("-DADJOINT_FMA=1").stderr
    assert "unsafe mathematics" in made("-ffast-math").stderr
    assert "wider format" in made("-mfpmath=387").stderr


@needs_gcc
@pytest.mark.skipif(platform.machine() != "x86_64", reason="it looks for this processor's instructions")
def test_no_product_is_fused_into_a_sum_beside_a_difference(tmp_path: Path) -> None:
    """From version 12 on gcc makes `vfmaddsub` of such a pair in spite of -ffp-contract=off, where it makes vectors of statements."""
    pair = Tensor(np.ones(2))
    source = tmp_path / "file.c"
    source.write_text(file_of(side_by_side, [pair, pair, pair], plain=True))
    made = subprocess.run(["gcc", "-O3", "-mfma", "-ffp-contract=off", "-S", "-o", "-", source], capture_output=True, text=True, check=True)
    assert "mulsd" in made.stdout and "fmadd" not in made.stdout


def test_a_power_of_the_library_is_refused() -> None:
    call = "static double f(double x) { return adjoint_library_pow_f64(x, x); }\n"
    with pytest.raises(CompileError, match=r"needs <math\.h>"):
        portable_text("f", [call])
    assert "pow(x, x)" in portable_text("f", [call], libm=True)
    called_there = portable_text("f", ["static float f(float x) { return adjoint_exp_f32(x) * sqrtf(x); }\n"], libm=True)
    assert "expf(x) * sqrtf(x)" in called_there and "#include <math.h>" in called_there and "adjoint_" not in called_there
