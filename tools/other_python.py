"""Run a part of the tests on another Python that pyproject.toml allows: `make oldest` and `make newest`.

oldest  the lowest Python, with the lowest allowed versions of what users install
newest  the highest Python, with the newest versions that there are
3.13    this Python, with the newest versions

If the machine lacks that Python, it is taken from a small Debian system, which `debootstrap` puts into `.venv` in two minutes: for root, on
Linux.  What cannot be tested is said in a line that begins with NOT TESTED; the exit status is 0 then, so that other tests go on.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]

SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
"""For each Python the Debian that has it."""

PACKAGES = "python3-venv,python3-dev,gcc,libc6-dev,make,ca-certificates"

TESTS = (
    # Source, docstrings, code and objects of Python: what another Python changes.
    "tests/frontend", "tests/test_dataclass.py", "tests/test_docs.py", "tests/test_names.py", "tests/test_tracebacks.py",
    "tests/test_optimised_python.py", "tests/runtime/graphs/guards/test_guards.py", "tests/runtime/gradients/test_writes.py",
    "tests/runtime/graphs/lowering/test_other_threads.py",
    # Counts of references, which differ between versions of Python.
    "tests/test_ownership.py", "tests/runtime/gradients/test_tape.py", "tests/runtime/execution/test_state_in_place.py",
    "tests/hooks/test_observing.py", "tests/hooks/test_written_by_hooks.py",
    # Where an interrupt may come.
    "tests/test_locking.py", "tests/runtime/process/test_processes.py",
    # Arrays, dtypes and numbers that are given to NumPy and back: what another NumPy changes.
    "tests/test_ops.py::test_docstrings_have_their_parts", "tests/test_ops.py::test_inference_agrees_with_reference",
    "tests/ops/test_numbers.py", "tests/ops/test_public_names.py", "tests/runtime/tensor/test_tensor.py",
    "tests/runtime/tensor/test_indexing.py", "tests/runtime/tensor/test_from_numpy.py", "tests/runtime/checkpoints/test_checkpoint.py",
    "tests/codegen/test_standalone.py",
)
"""Some five minutes on two cores."""

PASSED_ON = re.compile(r"(https?|no|all)_proxy|PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT)|SSL_CERT_(FILE|DIR)", re.IGNORECASE)
"""Environment variables that a command in the Debian system gets: for pip to reach its index."""

ENTER = """
root=$1 project=$2; shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root$project" "$root/etc/ssl"
mount --bind "$project" "$root$project"
mount --bind /etc/ssl "$root/etc/ssl"
cp -L /etc/resolv.conf /etc/hosts "$root/etc"
exec chroot "$root" env -C "$project" "$@"
"""
"""Runs a command in the project's folder within the Debian system.  The mounts are those of this process alone, and end with it."""


class NotHere(Exception):
    """This Python cannot be had; the text says why."""


class System:
    """Where commands run: this machine, or the Debian system in a folder; `place` is the folder of the environment there."""

    def __init__(self, root: Path | None, python: str, place: Path) -> None:
        self.root, self.python, self.place = root, python, place

    def run(self, *command: str) -> None:
        """Run a command in the folder of the project; raise CalledProcessError if it fails."""
        variables = {"PYTHONPATH": str(HERE), "ADJOINT_FORBID_INTERPRETER": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        if self.root is None:
            subprocess.run(command, check=True, cwd=HERE, env=os.environ | variables)
            return
        variables |= {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        variables |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
        entering = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", str(self.root), str(HERE)]
        subprocess.run([*entering, "env", "-i", *(f"{name}={value}" for name, value in variables.items()), *command], check=True)


def versions() -> list[str]:
    """Return the Pythons that pyproject.toml allows, from the oldest to the newest."""
    found = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"])
    if found is None:
        raise SystemExit(f"requires-python is {PROJECT['requires-python']!r}, not of the form '>=3.A,<3.B'")
    return [f"3.{minor}" for minor in range(int(found[1]), int(found[2]))]


def requirements(which: str) -> list[str]:
    """Return what pip installs; for the oldest Python `numpy==1.26` for `numpy>=1.26`, and the newest of what the tests alone need."""
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *extras["data"], *extras["demo"]]
    return [*extras["test"], *((line.replace(">=", "==") for line in needed) if which == "oldest" else needed)]


def system(version: str, which: str) -> System:
    """Return where that Python is; raise NotHere."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}" == version
    python = sys.executable if own else shutil.which(f"python{version}")
    if python and not subprocess.run([python, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode:
        return System(None, python, HERE / ".venv" / which)
    suite = SUITES.get(version)
    if suite is None:
        raise NotHere("the machine has none, and no Debian system has it")
    return System(debian(suite, suite, f"--include={PACKAGES}"), "/usr/bin/python3", Path("/environment"))


def debian(suite: str, name: str, *options: str) -> Path:
    """Return the folder `name` in .venv with a small Debian system, made by debootstrap if it is not there; raise NotHere."""
    root = HERE / ".venv" / name
    if (root / "complete").exists():
        return root
    if sys.platform != "linux" or os.geteuid() != 0:
        raise NotHere(f"the machine has none, and only root on Linux can make a Debian system ({suite})")
    if shutil.which("debootstrap") is None:
        raise NotHere(f"the machine has none, and no debootstrap to make a Debian system ({suite}): apt-get install debootstrap")
    print(f"Making a Debian system ({suite}) in {root.relative_to(HERE)}: this takes some minutes ...", flush=True)
    shutil.rmtree(root, ignore_errors=True)
    script = f"/usr/share/debootstrap/scripts/{suite}"
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", *options, suite, root, "http://deb.debian.org/debian",
         script if os.path.exists(script) else "/usr/share/debootstrap/scripts/sid"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode:
        raise NotHere(f"debootstrap failed: {' | '.join(made.stdout.splitlines()[-3:])}")
    for package in (root / "var/cache/apt/archives").glob("*.deb") if "--foreign" in options else ():
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)  # not set up: no program of that system is run for it
    (root / "complete").touch()
    return root


def main() -> int:
    """Run the tests; return pytest's status, or 0 if they cannot be run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("oldest", "newest", *versions()))
    parser.add_argument("tests", nargs=argparse.REMAINDER, help="pytest's arguments, in the place of the part that is run by default")
    options = parser.parse_args()
    version = {"oldest": versions()[0], "newest": versions()[-1]}.get(options.which, options.which)
    try:
        there = system(version, options.which)
        python = str(there.place / "bin" / "python")
        there.run(there.python, "-m", "venv", str(there.place))
        there.run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements(options.which))
        there.run(python, "-c", "import sys, numpy; print('Python', sys.version.split()[0], 'with NumPy', numpy.__version__, flush=True)")
    except (NotHere, OSError, subprocess.CalledProcessError) as problem:
        dependencies = "oldest" if options.which == "oldest" else "newest"
        print(f"NOT TESTED: Python {version} with the {dependencies} dependencies. {problem}", flush=True)
        return 0
    try:
        there.run(python, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-p", "no:cacheprovider", *(options.tests or TESTS))
    except subprocess.CalledProcessError as failed:
        return failed.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
