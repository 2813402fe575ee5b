"""The text of a program, and the module that it becomes.

A program is a module with

    Net              a Cell
    WRT              the positions of the arguments that are differentiated
    session(net, call)   calls `call`, which replaces the net, any number of times, and changes hooks between the calls
    optimizer(net)   an optimiser of the net's parameters; without it no training step is tried
    ASKED            what is asked besides values and gradients: "second" order
    STILL            True if the program writes no tensors but its parameters: what Python is given then stays as it is
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__all__ = ["COPIES", "HEAD", "loaded"]

COPIES = (
    "{}.copy()", "{}.clone()", "Tensor({})", "adjoint.tensor({})", "copy.copy({})", "copy.deepcopy({})", "copy.deepcopy([{}])[0]",
    "Tensor(input_data={}, dtype=adjoint.float32)", "Tensor([{0}, {0}])[1]",
)
"""Copies of a tensor or a Parameter: with and without gradients, of one run."""

HEAD = """\
import copy
import functools
from collections import deque

import adjoint
from adjoint import Parameter, Tensor, nn, ops
from tests.made_up.observing import after, backward, backward_pre, forward, forward_pre, gradient, heard, numbers

"""

_directory = tempfile.TemporaryDirectory(prefix="adjoint-programs-")
_written = 0


def loaded(text: str) -> Any:
    """Return the names of a program; it stands in a file, since graphs are made from sources."""
    global _written
    _written += 1
    file = Path(_directory.name) / f"program_{_written}.py"
    file.write_text(text)
    space: dict[str, Any] = {"__name__": f"program_{_written}"}
    exec(compile(text, str(file), "exec", dont_inherit=True), space)
    return SimpleNamespace(**{"optimizer": None, "ASKED": (), "STILL": False, **space})
