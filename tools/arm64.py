"""Compare the bits of kernels between this processor and an emulated arm64: `make arm64`.

Debian's arm64 Python runs under `qemu-aarch64-static`, with wheels for arm64; kernels are compiled by `aarch64-linux-gnu-gcc`, which runs
natively.  `tests/kernel_bits.py` computes the float32 samples of all ops that have a kernel, on both sides.  Cases with other bits are
printed, and are a failure but for the ops in OTHER_BITS.  With arguments pytest is run under the emulator instead, some ten times slower
than natively: `make arm64 TESTS=tests/test_ops.py`.  A test that starts another Python fails there.

It needs root, and on Debian: apt-get install debootstrap qemu-user-static gcc-aarch64-linux-gnu
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from other_python import HERE, PROJECT, NotHere, debian

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
OTHER_BITS = {"ConvolutionWeightGradient"}
"""Ops that add in another order where vectors have another width."""

WHEELS = ("--python-version=3.13", "--implementation=cp", "--abi=cp313", "--abi=abi3", "--abi=none", "--platform=any",
          *(f"--platform={name}_aarch64" for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")), "--only-binary=:all:")


def main() -> int:
    """Compare, or run pytest with the arguments; return the exit status."""
    missing = [program for program in (EMULATOR, COMPILER, "debootstrap", "dpkg-deb") if shutil.which(program) is None]
    if missing:
        raise SystemExit(f"{', '.join(missing)} not found: apt-get install debootstrap qemu-user-static gcc-aarch64-linux-gnu")
    try:
        root = debian("trixie", "arm64", "--foreign", "--arch=arm64", "--include=python3")
    except NotHere as problem:
        raise SystemExit(f"no Python for arm64: {problem}") from None
    packages = HERE / ".venv" / "arm64-packages"
    if not packages.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", packages, *WHEELS,
                        *PROJECT["dependencies"], "pytest", "pytest-xdist", "hypothesis", "pillow"], check=True)
    emulated = [EMULATOR, "-L", str(root), str(root / "usr/bin/python3")]
    path = os.pathsep.join(map(str, (packages, HERE, HERE / "tests")))
    arm = {**os.environ, "CC": COMPILER, "PYTHONPATH": path, "ADJOINT_BACKGROUND_COMPILE": "0", "ADJOINT_FORBID_INTERPRETER": "1"}
    if sys.argv[1:]:
        command = [*emulated, "-m", "pytest", "-p", "no:cacheprovider", *sys.argv[1:]]
        return subprocess.run(command, env=arm, cwd=HERE, check=False).returncode
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HERE, HERE / "tests"))), "ADJOINT_BACKGROUND_COMPILE": "0"}
    with tempfile.TemporaryDirectory() as folder:
        ours = _bits([sys.executable], here, Path(folder) / "here.json")
        theirs = _bits(emulated, arm | {"ADJOINT_CACHE_DIR": folder}, Path(folder) / "arm64.json")
    other = [case for case in ours if ours[case] != theirs.get(case)]
    print(f"{len(ours)} cases; other bits on arm64: {len(other)}", *other, sep="\n")
    return 1 if {case.partition(",")[0] for case in other} - OTHER_BITS or ours.keys() != theirs.keys() else 0


def _bits(python: list[str], environment: dict[str, str], file: Path) -> dict[str, list[str]]:
    """Return what `tests/kernel_bits.py` writes with that Python."""
    subprocess.run([*python, "tests/kernel_bits.py", file], env=environment, cwd=HERE, check=True)
    return json.loads(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
