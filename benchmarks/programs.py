"""Time whole programs of many kinds, none of which the kernels were tuned for, beside JAX (under `jax.jit`) and PyTorch (eager).

    python benchmarks/programs.py --jax ENV/bin/python --torch ENV/bin/python [--only TEXT] [--threads 1]

Each is a loss with its gradient by all parameters, written the same way in each library: `programs_data.py` lists them.  Its loss and the
norm of its gradients are written to standard error, where they can be compared.  All take turns in one run, and the best sample counts;
with one thread it is processor time, on one processor.  A ratio above 1 says that the other library takes longer.

--markdown FILE  writes the table as it stands in RESULTS.md
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from peers import arguments, measured, show
from programs_data import PROGRAMS
from timing import serve

SIDES = {"adjoint": ("adjoint", {"jit": True}), "eager": ("adjoint", {"jit": False}), "torch": ("torch", {}), "jax": ("jax", {})}
"""For each column the library, and how `timed` is called."""
TITLES = ("program", "adjoint, jit us", "adjoint, eager us", "JAX us", "PyTorch us", "JAX / jit", "PyTorch / jit",
          "quicker / jit", "PyTorch / eager")


def cases(side: str, only: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield for each program its title and a call of it, after its first result has been written to standard error."""
    library, how = SIDES[side]
    module = importlib.import_module(f"programs_{library}")
    for name, program in PROGRAMS.items():
        if only in program.title:
            loss = getattr(module, name)(*map(module.tensor, program.data()))
            call = module.timed(loss, program.parameters(), **how)
            value, gradients = call()
            value, *gradients = (np.asarray(x.detach() if library == "torch" else x, np.float64) for x in (value, *gradients))
            norm = math.sqrt(sum(float((x**2).sum()) for x in gradients))
            print(f"{side:8} {program.title:62} {float(value):.6g} {norm:.6g}", file=sys.stderr, flush=True)
            yield program.title, call


def main() -> None:
    given = arguments(__doc__, SIDES).parse_args()
    if given.serve:
        if given.threads == 1 and hasattr(os, "sched_setaffinity"):  # JAX starts threads for all processors that it may use
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        if given.serve == "torch":
            import torch

            torch.set_num_threads(given.threads)
        elif given.serve != "jax":
            import adjoint as ms

            ms.set_context(background_compile="wait")  # kernels in their final form
        serve(dict(cases(given.serve, given.only)), given.threads)
        return
    best, titles = measured(__file__, given, ("eager", "adjoint"))
    rows: list[list[str]] = []
    logarithms: list[list[float]] = [[], [], [], []]
    for title in titles:
        jit, eager, jax, torch = (best.get((name, title)) for name in ("adjoint", "eager", "jax", "torch"))
        quicker = min((time for time in (jax, torch) if time), default=None)
        ratios = [theirs / ours if theirs and ours else None for theirs, ours in ((jax, jit), (torch, jit), (quicker, jit), (torch, eager))]
        for column, ratio in zip(logarithms, ratios, strict=True):
            column += [math.log(ratio)] if ratio else []
        rows.append([title, *(f"{time:.0f}" if time else "" for time in (jit, eager, jax, torch)),
                     *(f"{ratio:.2f}" if ratio else "" for ratio in ratios)])
    rows.append(["geometric mean", "", "", "", "", *(f"{math.exp(sum(each) / len(each)):.2f}" if each else "" for each in logarithms)])
    show(TITLES, rows, given)


if __name__ == "__main__":
    main()
