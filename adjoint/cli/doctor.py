"""`adjoint doctor`: report the environment that adjoint runs in, whether a kernel compiles and runs, and which tool finds which trouble."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from rich.table import Table

import adjoint
from adjoint.cli.console import Output
from adjoint.codegen.cache import size_limit
from adjoint.codegen.toolchain import NoCompiler, machine_flags
from adjoint.codegen.workshop import open_workshop
from adjoint.runtime.process.context import in_force

__all__ = ["TOOLS", "act", "configure"]

TOOLS = {
    "the loss is NaN": "adjoint run --check-finite SCRIPT, watch.check_finite()",
    "the loss does not fall": "watch.statistics(net)",
    "a gradient vanishes": "watch.statistics(net)",
    "a hook does not fire": "watch.hooks(net)",
    "a step is slow": "adjoint profile SCRIPT, watch.profile()",
    "memory grows": "adjoint run --memory SCRIPT, watch.memory()",
    "jit makes too many graphs": "jit_stats(function), ADJOINT_LOG=graphs",
    "a bprop is wrong": "check_gradients(function, x)",
    "results differ between machines": "this report on both, ADJOINT_CPU=baseline, compare(function, x)",
    "code is refused in a graph": "jit(fullgraph=True), adjoint explain CODE",
}
"""For each trouble what finds its cause; docs/debugging.md shows them."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = ("Show compiler, flags, CPU features, cache, versions and settings, and compile and run one kernel. "
                          "Exit code 1 when that fails.")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Print the report."""
    test = _self_test()
    report = {
        "versions": _versions(),
        "compiler": _compiler(),
        "cache": _cache(),
        "settings": _settings(),
        "self test": test,
        "tools": TOOLS,
    }
    if chosen.json:
        print(json.dumps(report, indent=2, default=str))
        return 0 if test["passed"] else 1
    console = Output(highlight=False)
    for title, part in report.items():
        table = Table(title=title, title_justify="left", show_header=False, box=None, title_style="bold")
        table.add_column(no_wrap=True)
        for key, value in part.items():
            table.add_row(key, *([str(value["value"]), f"from {value['from']}"] if isinstance(value, dict) else [str(value)]))
        console.print(table)
        console.print()
    return 0 if test["passed"] else 1


def _versions() -> dict[str, Any]:
    names = ("numpy", "cffi", "lark", "rich")
    return {"adjoint": adjoint.__version__, "python": platform.python_version(), "platform": platform.platform(),
            **{name: importlib.metadata.version(name) for name in names}}


def _compiler() -> dict[str, Any]:
    features = {"CPU features": " ".join(machine_flags()) or "none"}
    try:
        workshop = open_workshop()
    except NoCompiler as reason:
        return {"found": "none", "not used": "; ".join(reason.tried), **features}
    used = workshop.toolchain
    return {"found": " ".join(used.command), "version": used.version(), "flags": " ".join(used.flags), **features,
            **({"left out of CC": " ".join(used.left_out)} if used.left_out else {}),
            **({"not used": "; ".join(workshop.tried)} if workshop.tried else {})}


def _cache() -> dict[str, Any]:
    try:
        workshop = open_workshop()
    except NoCompiler as reason:
        return {"directory": "; ".join(["not used: nothing can be compiled", *reason.refused])}
    store = workshop.store
    usage = store.usage()
    return {"directory": store.root, "libraries": usage.libraries, "kernels": usage.kernels, "bytes": usage.bytes, "at most": size_limit(),
            **({} if store.executable else {"loaded from": "memory: the directory is mounted noexec"}),
            **({"passed over": "; ".join(workshop.refused)} if workshop.refused else {})}


def _settings() -> dict[str, Any]:
    return {setting.name: {"value": value, "from": origin, "about": setting.about} for setting, value, origin in in_force()}


def _self_test() -> dict[str, Any]:
    """Compile an addition into an empty cache, run it, and compare with NumPy, with process state of its own."""
    with tempfile.TemporaryDirectory() as empty:
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "adjoint.cli.doctor"], capture_output=True, text=True, timeout=120,
            env={**os.environ, "ADJOINT_CACHE_DIR": empty, "ADJOINT_FORBID_INTERPRETER": "1"}, check=False)
        seconds = time.perf_counter() - begin
        passed = done.returncode == 0
        text = f"a kernel was compiled and gave the right numbers, {seconds:.2f} s from an empty cache" if passed else (
            f"failed: {(done.stderr or done.stdout).strip().splitlines()[-1:] or ['no message']}")
        return {"passed": passed, "result": text}


def _check() -> int:
    """Return the function that the self test runs."""
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    result = (adjoint.Tensor(x) + adjoint.Tensor(x)).asnumpy()
    return 0 if np.array_equal(result, x + x) else 1


if __name__ == "__main__":
    sys.exit(_check())

