"""What benchmarks beside other libraries have in common: their arguments, the workers, and the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

__all__ = ["arguments", "markdown", "measured", "show"]


def arguments(description: str | None, workers: Collection[str], seconds: float = 0.3) -> argparse.ArgumentParser:
    """Return the parser of the arguments of a benchmark beside PyTorch, and beside JAX if it is one of the workers.

    workers  what `--serve` starts, each in a process of its own
    seconds  how long each measurement takes, if the arguments do not say
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    if "jax" in workers:
        parser.add_argument("--jax", help="an interpreter that has JAX")
    parser.add_argument("--only", default="", help="measure only what has this text in its title")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=seconds, help="per measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--markdown", type=Path, help="write what stands in RESULTS.md to this file")
    parser.add_argument("--serve", choices=tuple(workers), help=argparse.SUPPRESS)
    return parser


def measured(script: str, given: argparse.Namespace, ours: Sequence[str]) -> tuple[Mapping[tuple[str, str], float], list[str]]:
    """Return the best microseconds by worker and program, and the programs of the last of our workers, which has all of them.

    script  the file of the benchmark
    ours    the workers of this library
    """
    from run import by_turns  # not where the peers are: it needs more than their environments have

    pythons = {"jax": given.jax, "torch": given.torch, **dict.fromkeys(ours, sys.executable)}
    commands = {name: [python, script, "--serve", name, "--only", given.only, "--threads", str(given.threads)]
                for name, python in pythons.items() if python}
    return by_turns(commands, given.rounds, given.seconds, given.threads)


def show(titles: Sequence[str], rows: list[list[str]], given: argparse.Namespace, about: str = "") -> None:
    """Print a table, and write it to the file that `--markdown` names.

    about  continues the title, which says how many threads there were
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(*titles, title=f"{given.threads} threads{about}")
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)
    if given.markdown is not None:
        given.markdown.write_text(markdown(titles, rows) + "\n", encoding="utf-8")


def markdown(titles: Sequence[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))
