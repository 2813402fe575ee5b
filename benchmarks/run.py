"""Measure adjoint, and PyTorch in the same run if an interpreter that has it is named.

    python benchmarks/run.py                                     ours alone
    python benchmarks/run.py --torch ENV/bin/python --rounds 5   both in turns, with the ratio ours / torch's
    python benchmarks/run.py --before TREE --cases matmul        this tree and another checkout of it in turns

Each framework runs in a worker process; all but the one that is measured are stopped, and they take turns, round after
round.  The best sample of each counts: what is left of it is the program, not the machine's other work.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent


class Worker:
    """A process that holds one framework's workloads and times one of them when it is told to.

    name     the framework, for messages
    command  starts the process
    tree     the checkout of adjoint that it imports, if not the one that is installed
    """

    def __init__(self, name: str, command: Sequence[str], threads: int, tree: str | None = None):
        self.name = name
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "ADJOINT_NUM_THREADS": str(threads)}
        if tree is not None:
            environment["PYTHONPATH"] = tree
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.cases: list[str] = self._answer()
        self.process.send_signal(signal.SIGSTOP)

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the worker of {self.name} ended: its error stands above")
        return json.loads(line)

    def time(self, case: str, seconds: float) -> float:
        """Microseconds of the best sample."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps([case, seconds]) + "\n")
        self.process.stdin.flush()
        found = self._answer()
        self.process.send_signal(signal.SIGSTOP)
        return found

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def fresh(python: str, script: str, environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of a fresh process from its start to its end, and what it printed."""
    begin = time.perf_counter()
    done = subprocess.run([python, str(HERE / script)], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment})
    return time.perf_counter() - begin, done.stdout.strip()


def startup(pythons: dict[str, str], rounds: int, out: list[tuple[str, dict[str, float], str]]) -> None:
    """Import, and a fresh process to the first LeNet gradient: with an empty kernel cache, and with a warm one."""
    for case, script in (("import", "startup_import_{}.py"), ("first LeNet gradient, warm", "startup_{}.py"),
                         ("first LeNet gradient, cold", "startup_{}.py")):
        found: dict[str, list[float]] = {name: [] for name in pythons}
        kept = tempfile.mkdtemp(prefix="adjoint-bench-")
        if "warm" in case:
            for name, python in pythons.items():
                fresh(python, script.format(name), {"ADJOINT_CACHE_DIR": kept})
        for _ in range(rounds):
            for name, python in pythons.items():
                empty = tempfile.mkdtemp(prefix="adjoint-bench-")
                place = empty if "cold" in case else kept
                found[name].append(fresh(python, script.format(name), {"ADJOINT_CACHE_DIR": place})[0])
                shutil.rmtree(empty)
        shutil.rmtree(kept)
        out.append((case, {name: min(values) for name, values in found.items()}, "s"))
    memory = {name: float(fresh(python, f"memory_{name}.py", {})[1]) for name, python in pythons.items()}
    out.append(("peak memory of 20 LeNet steps", memory, "MiB"))


def by_turns(commands: dict[str, list[str]], rounds: int, seconds: float, threads: int) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Time all cases of workers, which take turns; return the best microseconds by worker and case, and the cases of the last worker.

    commands  the command of each worker by its name
    seconds   per measurement
    """
    best: dict[tuple[str, str], float] = {}
    workers: list[Worker] = []
    try:
        for name, command in commands.items():
            workers.append(Worker(name, command, threads))
        for _ in range(rounds):
            for worker in workers:
                for case in worker.cases:
                    best[worker.name, case] = min(best.get((worker.name, case), 1e30), worker.time(case, seconds))
    finally:
        for worker in workers:
            worker.end()
    return best, list(workers[-1].cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--before", help="another checkout of adjoint")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="per measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", default="", help="only those whose name holds this")
    parser.add_argument("--json", help="write the figures here")
    chosen = parser.parse_args()
    pythons = {"adjoint": sys.executable, **({"torch": chosen.torch} if chosen.torch else {})}

    def command(name: str, python: str) -> list[str]:
        return [python, str(HERE / f"workloads_{name}.py"), str(chosen.threads)]

    workers: list[Worker] = []
    rows: list[tuple[str, dict[str, float], str]] = []
    try:
        for name, python in pythons.items():
            workers.append(Worker(name, command(name, python), chosen.threads))
        if chosen.before:
            workers.append(Worker("before", command("adjoint", sys.executable), chosen.threads, str(Path(chosen.before).resolve())))
        names = [worker.name for worker in workers]
        for case in [c for c in workers[0].cases if chosen.cases in c]:
            best: dict[str, float] = {}
            for _ in range(chosen.rounds):
                for worker in workers:
                    if case in worker.cases:
                        best[worker.name] = min(best.get(worker.name, 1e30), worker.time(case, chosen.seconds))
            rows.append((case, best, "us"))
    finally:
        for worker in workers:
            worker.end()
    if not chosen.cases:
        startup(pythons, min(chosen.rounds, 3), rows)

    ratios = [f"adjoint / {name}" for name in names[1:]]
    table = Table("case", *names, *ratios, title=f"best of {chosen.rounds} rounds, {chosen.threads} threads")
    for case, best, unit in rows:
        cells = [f"{best[name]:.3g} {unit}" if name in best else "-" for name in names]
        ratios = [f"{best['adjoint'] / best[name]:.2f}" if name in best else "-" for name in names[1:]]
        table.add_row(case, *cells, *ratios)
    Console().print(table)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps([{"case": c, "unit": u, **b} for c, b, u in rows], indent=1))


if __name__ == "__main__":
    main()
