"""Measure how long it takes from the start of a process to the end of its first training step, of a small GPT.

    python benchmarks/first_calls.py [--torch ENV/bin/python] [--before TREE] [--rounds 3] [--sizes 4,128,64,8]

Programs take turns, and the best of the rounds counts, in seconds of wall time, and of processor time of the process with its compilers (on
Linux, whose load changes it least); imports are part of both. `cold` begins with an empty
directory of kernels, which is made for each run; `warm` runs the same again with the kernels that `cold` left. Sizes are the
numbers of layers, the width, the letters of a text, and the texts of a batch.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def first_step(command: list[str], folder: str, tree: Path = HERE.parent) -> tuple[float, float]:
    """Return the seconds until a program says that its first step is done: of wall time, and of processor time.

    folder  the directory of kernels
    tree    the checkout of adjoint
    """
    # With compiled modules, as an installed package has them.
    environment = {**os.environ, "ADJOINT_CACHE_DIR": folder, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
    begin = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        taken = time.perf_counter() - begin, processor_time(process.pid)
        process.stdout.read()
    if process.returncode or not said:
        raise SystemExit(f"{' '.join(command)} failed")
    return taken


def processor_time(process: int) -> float:
    """Return the seconds of processor time of a process and of its children that have ended; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to the end of the first training step")
    parser.add_argument("--torch", help="the Python of an environment with PyTorch")
    parser.add_argument("--before", type=Path, help="another checkout of adjoint")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", nargs="*", default=["4,128,64,8", "4,256,128,16"])
    chosen = parser.parse_args()
    print("| layers, width, letters, texts | program | cold, s | of processors | warm, s | of processors |\n|---|---|---|---|---|---|")
    for sizes in chosen.sizes:
        programs = [(f"{mode}{label}", [sys.executable, str(HERE / "gpt_adjoint.py"), mode], tree)
                    for label, tree in (("", HERE.parent), (", before", chosen.before)) if tree for mode in ("eager", "jit")]
        if chosen.torch:
            programs.append(("PyTorch, eager", [chosen.torch, str(HERE / "gpt_torch.py"), "eager"], HERE.parent))
        found: dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]] = {name: ([], []) for name, _, _ in programs}
        for _ in range(chosen.rounds):
            for name, command, tree in programs:
                with tempfile.TemporaryDirectory() as folder:
                    for times in found[name]:
                        times.append(first_step([*command, *sizes.split(",")], folder, tree))
        for name, (cold, warm) in found.items():
            best = [min(times) for runs in (cold, warm) for times in zip(*runs, strict=True)]
            print(f"| {sizes} | {name} | {' | '.join(f'{seconds:.2f}' for seconds in best)} |", flush=True)


if __name__ == "__main__":
    main()
