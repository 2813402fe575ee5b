"""A thread that uses the cells of a program while the program runs: it reads all attributes, and writes one that no program has."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from adjoint import nn

__all__ = ["using"]

_OF_LOWERINGS = "adjoint.runtime.graphs.lowering."
"""The modules of what stands for numbers and tensors while a graph is made."""


@contextlib.contextmanager
def using(net: nn.Cell) -> Iterator[None]:
    """Let another thread use the cells of a net.  AssertionError if it has seen an object of a lowering."""
    done, found, before = threading.Event(), list[str](), sys.getswitchinterval()

    def use() -> None:
        count = 0
        while not done.wait(0.0001):
            for cell in [net, *net.__dict__.get("_cells", {}).copy().values()]:
                for name, value in [*cell.__dict__.items()]:
                    found.extend(f"{name} is a {type(x).__qualname__}" for x in _parts(value)
                                 if type(x).__module__.startswith(_OF_LOWERINGS))
                count += 1
                cell.used = count

    thread = threading.Thread(target=use)
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(before)
    assert not found, f"another thread sees objects of a lowering: {found[0]}"


def _parts(value: Any) -> list[Any]:
    return [part for item in value for part in _parts(item)] if isinstance(value, (tuple, list)) else [value]
