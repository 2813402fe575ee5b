"""Measure exported C on this machine: lines of the file, bytes of code and the time of a call, with gcc, for programs of `tools/matrix`.

    python benchmarks/exported_c.py [NAME ...]

Each function is called with arrays of 64 numbers around 0.7, twenty thousand times in a row; the best of 15 such rows counts.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from matrix.networks import NETWORKS

import adjoint as ms

PROGRAMS = ("pid", "kalman", "pendulum", "dense")
LEVELS = ("-Os", "-O2")
CALLS, ROWS, NUMBERS = 20_000, 15, 64


def timing_program(name: str, header: str) -> str:
    """Return the text of a C program that calls each exported function on arrays of floats, and prints its name and nanoseconds."""
    arrays, timed = [], []
    for function, parameters in re.findall(rf"^int ({name}\w*)\(([^;]*)\);", header, re.MULTILINE):
        state, *given = [parameter.strip() for parameter in parameters.split(",")]
        if "context *" not in state or not given or not all("float" in parameter for parameter in given):
            continue
        names = [f"{function}_{i}" for i in range(len(given))]
        arrays += [f"static float {each}[{NUMBERS}];" for each in names]
        filled = [f"for (int i = 0; i < {NUMBERS}; i++) {each}[i] = 0.7f + 0.01f * i;"
                  for each, parameter in zip(names, given, strict=True) if parameter.startswith("const")]
        timed.append(f"""
    {{
        double best = 1e9;
        {" ".join(filled)}
        for (int row = 0; row < {ROWS}; row++) {{
            struct timespec begin, end;
            clock_gettime(CLOCK_MONOTONIC, &begin);
            for (int i = 0; i < {CALLS}; i++) {function}(&context, {", ".join(names)});
            clock_gettime(CLOCK_MONOTONIC, &end);
            const double each = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / {CALLS};
            if (each < best) best = each;
        }}
        printf("{function} %.1f ns\\n", best);
    }}""")
    begin = f"    {name}_init(&context);" if f"{name}_init(" in header else ""
    return "\n".join([f'#include "{name}.h"', "#include <stdio.h>", "#include <time.h>", f"static {name}_context context;", *arrays,
                      "int main(void) {", begin, *timed, "    return 0;", "}", ""])


def measured(name: str, folder: Path) -> str:
    """Export a program into a folder; return a line with what was measured."""
    made = NETWORKS[name].make()
    ms.export(made.target, *made.inputs, file_name=str(folder / name), **made.options)
    source = folder / f"{name}.c"
    (folder / "timing.c").write_text(timing_program(name, (folder / f"{name}.h").read_text()))
    parts = [f"{name}: {len(source.read_text().splitlines())} lines"]
    for level in LEVELS:
        subprocess.run(["gcc", "-std=c99", level, "-c", str(source), "-o", str(folder / "code.o")], check=True)
        sizes = subprocess.run(["size", str(folder / "code.o")], check=True, capture_output=True, text=True).stdout
        program = folder / "timing"
        others = [str(path) for path in folder.glob("*_weights.c")]
        subprocess.run(["gcc", "-std=gnu99", level, str(folder / "timing.c"), str(source), *others, "-lm", "-o", str(program)], check=True)
        times = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split("\n")
        parts.append(f"{level} {sizes.splitlines()[1].split()[0]} bytes, {', '.join(filter(None, times))}")
    return "; ".join(parts)


if __name__ == "__main__":
    for program in sys.argv[1:] or PROGRAMS:
        with tempfile.TemporaryDirectory() as directory:
            print(measured(program, Path(directory)))
