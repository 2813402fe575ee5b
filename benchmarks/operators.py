"""Time single operators beside PyTorch's eager mode: eager, in a graph of their own, and with their gradient.

    python benchmarks/operators.py --torch ENV/bin/python [--only TEXT] [--threads 1]

Each operator is an expression that means the same in both libraries: `f` holds the functions, `x` and `y` are vectors of n elements, `p`
is a positive one, `m` a square matrix of about n elements, `r` one number and `i` places in the vector.  Both libraries take turns in one
run, at three sizes, and the best sample counts; with one thread it is processor time.  A ratio above 1 says that PyTorch takes longer.

--markdown FILE  writes the means and all rows with a ratio below 0.7, as they stand in RESULTS.md
"""

from __future__ import annotations

import argparse
import itertools
import linecache
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from timing import serve

SIZES = (1000, 100_000, 4_000_000)

SMOOTH = (
    "x + y", "x - y", "x * y", "x / p", "x + r", "x * 2", "x ** 2", "x ** 3", "p ** 0.5", "p ** -1", "p ** 1.7", "p ** y", "-x",
    "f.exp(x)", "f.log(p)", "f.sqrt(p)", "f.rsqrt(p)", "f.square(x)", "f.sin(x)", "f.cos(x)", "f.tanh(x)", "f.sigmoid(x)", "f.erf(x)",
    "f.relu(x)", "f.abs(x)", "f.clamp(x, -1.0, 1.0)", "f.maximum(x, y)", "f.where(x > 0, x, y)", "x.sum()", "x.mean()", "m.sum(0)",
    "m.sum(1)", "m.mean(1)", "x.max()", "f.norm(x)", "f.std(x)", "f.softmax(m, -1)", "f.log_softmax(m, -1)", "f.logsumexp(m, -1)",
    "f.cumsum(x, 0)", "f.matmul(m, m)", "m.T * 2", "f.cat((x, y))", "f.stack((x, y))", "f.flip(x, (0,))", "f.roll(x, 7, 0)", "x[1:]",
    "x[::2]", "m[1:, :-1]", "f.tril(m)", "x[i]", "f.gather(x, 0, i)",
)
"""Operators whose gradient is measured, too."""

OTHERS = (
    "x > y", "f.floor(x)", "f.round(x)", "f.sign(x)", "f.isnan(x)", "f.argmax(m, 1)", "f.sort(m)", "f.argsort(m)", "f.topk(m, 5)",
    "f.unique(i)", "f.zeros_like(x)", "f.ones_like(x)",
)


SIZED_BY_VALUES = ("f.unique(i)",)
"""Operators whose results have a size that the numbers decide, which a graph cannot have."""


def operands(n: int) -> dict[str, np.ndarray[Any, Any]]:
    generator, side = np.random.default_rng(n), math.isqrt(n)
    x, y = (generator.standard_normal(n).astype(np.float32) for _ in range(2))
    return {"x": x, "y": y, "p": np.abs(x) + 0.5, "r": generator.standard_normal(1).astype(np.float32),
            "m": generator.standard_normal((side, side)).astype(np.float32), "i": generator.integers(0, n, n)}


def is_measured(text: str, n: int) -> bool:
    """Return False for a product whose time is not that of an operator on elements."""
    return "matmul" not in text or n <= 100_000


Cases = Iterator[tuple[str, Callable[[], Any]]]


def torch_cases(only: str) -> Cases:
    import torch

    differing = {
        "unique": lambda i: torch.unique(i, return_inverse=True), "std": lambda x: torch.std(x, unbiased=False),
        "sort": lambda m: torch.sort(m, stable=True), "argsort": lambda m: torch.argsort(m, stable=True),
        "norm": torch.linalg.vector_norm,
    }

    class Functions:
        """PyTorch's functions; calls that mean what MindSpore's mean where a name or an argument differs."""

        def __getattr__(self, name: str) -> Any:
            return differing.get(name) or getattr(torch, name)

    for n in SIZES:
        space = {name: torch.from_numpy(array) for name, array in operands(n).items()} | {"f": Functions()}
        leaf = {name: space[name].clone().requires_grad_() for name in "xpm"}
        for text in chosen(only, n):
            yield f"{text}, {n}", eval(f"lambda: {text}", space)
            if text in SMOOTH:
                by = differentiated(text)
                call = eval(f"lambda: ({text}).sum()", space | {by: leaf[by]})
                yield f"gradient of {text}, {n}", lambda call=call, by=leaf[by]: torch.autograd.grad(call(), by)


def our_cases(only: str) -> Cases:
    import adjoint as ms
    from adjoint import Tensor, mint, ops

    class Functions:
        """MindSpore's functions; PyTorch's where a name or an argument differs."""

        def __getattr__(self, name: str) -> Any:
            return getattr(mint if name in ("cat", "stack", "flip", "roll", "gather", "where") else ops, name)

    ms.set_context(background_compile="wait")  # kernels in their final form
    names = "x, y, p, r, m, i"
    for n in SIZES:
        space = {name: Tensor(array) for name, array in operands(n).items()} | {"f": Functions()}
        given = [space[name] for name in names.split(", ")]
        for text in chosen(only, n):
            yield f"{text}, {n}", function_of(f"lambda: {text}", space)
            if text not in SIZED_BY_VALUES:
                graph = ms.jit(function_of(f"lambda {names}: {text}", space))
                yield f"{text}, {n}, graph", lambda graph=graph, given=given: graph(*given)
            if text in SMOOTH:
                by = differentiated(text)
                summed = function_of(f"lambda {by}: ({text}).sum()", space)
                for way, gradient in (("", ms.grad(summed)), (", graph", ms.grad(ms.jit(summed)))):
                    yield f"gradient of {text}, {n}{way}", lambda gradient=gradient, x=space[by]: gradient(x)


def function_of(text: str, space: dict[str, Any]) -> Callable[..., Any]:
    """Return a lambda whose text is kept as that of a file: graphs are made of the source."""
    file = f"<operator {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, [text], file)
    return eval(compile(text, file, "eval"), space)


def differentiated(text: str) -> str:
    """Return the operand by which the gradient is taken: the first that the expression names."""
    return re.findall(r"\b[xpm]\b", text)[0]


def chosen(only: str, n: int) -> list[str]:
    return [text for text in (*SMOOTH, *OTHERS) if only in text and is_measured(text, n)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--only", default="", help="only expressions that contain this text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.03, help="per measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--markdown", type=Path, help="write the tables for RESULTS.md to this file")
    parser.add_argument("--serve", choices=("adjoint", "torch"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        if given.serve == "torch":
            import torch

            torch.set_num_threads(given.threads)
        serve(dict((torch_cases if given.serve == "torch" else our_cases)(given.only)), given.threads)
        return
    if not given.torch:
        parser.error("--torch names the interpreter with PyTorch that is measured beside")

    def command(name: str, python: str) -> list[str]:
        return [python, str(Path(__file__)), "--serve", name, "--only", given.only, "--threads", str(given.threads)]

    from run import Worker  # not where PyTorch is: it needs more than PyTorch's environment has

    best: dict[tuple[str, str], float] = {}
    workers: list[Worker] = []
    try:
        for name, python in (("adjoint", sys.executable), ("torch", given.torch)):
            workers.append(Worker(name, command(name, python), given.threads))
        for _ in range(given.rounds):
            for worker in workers:
                for case in worker.cases:
                    best[worker.name, case] = min(best.get((worker.name, case), math.inf), worker.time(case, given.seconds))
    finally:
        for worker in workers:
            worker.end()
    rows = [Row(*split(case), best["torch", case], best["adjoint", case], best.get(("adjoint", f"{case}, graph")))
            for case in workers[1].cases]
    report(rows, given.threads, given.markdown)


def split(case: str) -> tuple[str, int]:
    text, size = case.rsplit(", ", 1)
    return text, int(size)


class Row(NamedTuple):
    """Microseconds of one operator at one size; None where a graph cannot be made."""

    text: str
    size: int
    torch: float
    eager: float
    graph: float | None

    @property
    def kind(self) -> str:
        return "gradient" if self.text.startswith("gradient of ") else "value"

    @property
    def ratios(self) -> dict[str, float]:
        """Return PyTorch's time divided by ours, by the way of running."""
        return {way: self.torch / time for way, time in (("eager", self.eager), ("graph", self.graph)) if time is not None}

    def cells(self) -> list[str]:
        numbers = (self.torch, self.eager, self.graph, self.ratios["eager"], self.ratios.get("graph"))
        return [self.text, f"{self.size:,}", *("-" if x is None else f"{x:.2f}" if x < 100 else f"{x:.0f}" for x in numbers)]


TITLES = ("operator", "elements", "PyTorch us", "eager us", "graph us", "PyTorch / eager", "PyTorch / graph")
FLOOR = 0.7


def means(rows: list[Row]) -> list[list[str]]:
    """Return the geometric means of the ratios: a row for each kind and way, with a cell for each size."""
    found = []
    for kind, way in itertools.product(("value", "gradient"), ("eager", "graph")):
        of_sizes = [[row.ratios[way] for row in rows if (row.kind, row.size) == (kind, size) and way in row.ratios] for size in SIZES]
        found.append([f"{kind}, {way}", *(f"{math.exp(sum(map(math.log, each)) / len(each)):.2f}" if each else "" for each in of_sizes)])
    return found


def report(rows: list[Row], threads: int, file: Path | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*TITLES, title=f"{threads} threads")
    for row in rows:
        table.add_row(*map(escape, row.cells()))
    summary = Table("", *(f"{size:,}" for size in SIZES), title="geometric means of PyTorch's time / ours")
    for cells in means(rows):
        summary.add_row(*cells)
    console = Console(width=120)
    console.print(table)
    console.print(summary)
    if file is not None:
        slow = [["`" + row.text + "`", *row.cells()[1:]] for row in rows if min(row.ratios.values()) < FLOOR]
        parts = (["", *(f"{size:,}" for size in SIZES)], means(rows)), (TITLES, slow)
        file.write_text("\n\n".join(markdown(titles, cells) for titles, cells in parts) + "\n", encoding="utf-8")


def markdown(titles: Sequence[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))


if __name__ == "__main__":
    main()
