"""Compile exported C with many compilers, run it on many processors, and compare its bits with Python's: `make export`.

    python tools/export_matrix.py [--every N] [--machine TEXT] [--collection programs|ops|networks] [--sample]

Every program of tests/programs and examples/ that C can contain, with its gradient, and the samples of all ops are written as C, many to a
file (`tools/matrix/recording.py`), and the training steps of `tools/matrix/networks.py` are exported: once with the numbers of
ADJOINT_CPU=baseline, once, with fused multiply-add, with those of ADJOINT_CPU=avx2.  `tools/matrix/machines.py` lists the compilers and
processors; `tools/matrix/board.py` runs the small networks on an emulated Cortex-M4, and says what they need of it.  What is missing is
installed on Debian, as root; what cannot be had is printed as NOT TESTED.

--every N       each Nth program only
--machine TEXT  only machines with that text in their name
--sample        each 20th program, with gcc for this processor, and nothing is installed: what `.ci/run` does
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "tools" / "matrix"))

import board  # noqa: E402  # pyright: ignore[reportMissingImports]  # found on `sys.path`, set above
from machines import MACHINES, exported_in, install  # noqa: E402  # pyright: ignore[reportMissingImports]  # found on `sys.path`, set above

PROCESSORS = {False: "baseline", True: "avx2"}
"""For files without and with fused multiply-add, the ADJOINT_CPU whose bits they have."""


def main() -> int:
    """Run the matrix; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--machine", default="")
    parser.add_argument("--collection", choices=("programs", "ops", "networks"))
    parser.add_argument("--sample", action="store_true")
    chosen = parser.parse_args()
    machines = [machine for machine in MACHINES if chosen.machine in machine.name]
    boards = chosen.collection in (None, "networks") and chosen.machine in board.NAME
    if chosen.sample:
        chosen.every, boards = 20, False
        others = [machine.name for machine in machines if machine.compiler[0] != "gcc"]
        machines = [machine for machine in machines if machine.compiler[0] == "gcc"]
        print(f"NOT TESTED: exported C with {'; '.join([*others, board.NAME])}: `make export` does")
    else:
        install([*machines, *([board.MACHINE] if boards else [])])
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for collection in ("programs", "ops", "networks") if chosen.collection is None else (chosen.collection,):
            on_board = boards and collection == "networks"
            for fused in sorted({machine.fused for machine in machines} | ({False} if on_board else set())):
                folder = Path(name) / f"{collection}_{PROCESSORS[fused]}"
                folder.mkdir()
                _record(folder, collection, fused, chosen.every)
                for machine in (machine for machine in machines if machine.fused == fused):
                    if machine.missing:
                        print(f"NOT TESTED: {collection}, {machine.name}: {', '.join(machine.missing)} not found", flush=True)
                        continue
                    start = time.monotonic()
                    wrong = machine.run(exported_in(folder), folder)
                    failed += bool(wrong)
                    print(f"{collection}, {machine.name}: {wrong or 'equal'} ({time.monotonic() - start:.0f} s)", flush=True)
                if on_board and not fused:
                    failed += board.run(folder)
    return 1 if failed else 0


def _record(folder: Path, collection: str, fused: bool, every: int) -> None:
    """Write the files of a collection with the bits of a processor, and say what is left out."""
    environment = {**os.environ, "ADJOINT_CPU": PROCESSORS[fused]}
    recording = HERE / "tools" / "matrix" / "recording.py"
    done = subprocess.run([sys.executable, recording, folder, collection, "--every", str(every)], env=environment, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    reasons = Counter(json.loads((folder / "left_out.json").read_text(encoding="utf-8")).values())
    print(f"{collection}, ADJOINT_CPU={PROCESSORS[fused]}: {done.stdout.strip()}", *(f"    {count} {why}" for why, count in
          reasons.most_common()), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
