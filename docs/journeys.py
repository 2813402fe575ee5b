"""Record which functions of adjoint three warm calls pass: an eager operator, a gradient, a function under `jit`.

`generate.py` runs this in a new process, so that the lists do not depend on what a process did before.  It prints JSON: for each journey
the calls in order, each as the file below `adjoint/` and the qualified name.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, ops

PACKAGE = Path(ms.__file__).parent
WARM = 5
"""Calls before the one that is recorded."""

LOCKS = "foundation/locking.py"
"""Left out: from Python 3.14 on, taking a lock is a call of this file, before it is none."""


def energy(x: Tensor) -> Tensor:
    return (ops.tanh(x) * x).sum()


def journeys() -> dict[str, Callable[[], Any]]:
    """Return the calls that are recorded, by name."""
    x, y = Tensor(np.ones(3, np.float32)), Tensor(np.ones(3, np.float32))
    gradient, compiled = ms.grad(energy), ms.jit(energy)
    return {"eager": lambda: x + y, "gradient": lambda: gradient(x), "jit": lambda: compiled(x)}


def recorded(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """Return the functions of adjoint that a call enters, in order."""
    passed: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event != "call" or not path.is_relative_to(PACKAGE) or frame.f_code.co_name.startswith("<"):
            return
        file = path.relative_to(PACKAGE).as_posix()
        if file != LOCKS:
            passed.append((file, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return passed


if __name__ == "__main__":
    found: dict[str, list[tuple[str, str]]] = {}
    for name, call in journeys().items():
        for _ in range(WARM):
            call()
        gc.disable()  # a collection may call finalisers in the middle
        found[name] = recorded(call)
        gc.enable()
    print(json.dumps(found))
