"""Where the time of a program goes: by phase, Cell, line and operator, with what the kernels made of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.foundation import made
from adjoint.foundation.dataclass import dataclass
from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient, ConvolutionWeightGradient, MatMul
from adjoint.runtime.inspection.origins import is_gradient, made_in, running_cell
from adjoint.runtime.inspection.times import OpTimes, shown_line
from adjoint.runtime.inspection.training import progress
from adjoint.runtime.memory.watching import Observation, observed

__all__ = ["Profile", "TimeShare", "operations", "profile"]

_SHOWN = 12
"""Limit of the rows of each table."""


@dataclass
class TimeShare:
    """What a part of a program took: a phase, a Cell, a line or an operator.

    name        the phase: "forward", "backward" or "optimiser"; the path of the Cell; the line; the operator
    calls       how many operators ran
    seconds     the time in kernels
    bytes       what the kernels read and wrote: the operands and results of each
    operations  multiplications and additions of products and convolutions; other operators are not counted
    """

    name: str
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    operations: int = 0

    def add(self, launched: Observation) -> None:
        """Add a launch."""
        self.calls += launched.last
        self.seconds += launched.nanoseconds * 1e-9
        if launched.last:
            self.bytes += sum(type_.nbytes for type_ in (*launched.operand_types, *launched.result_types))
            self.operations += operations(launched)


class Profile(OpTimes):
    """Collects where the time goes in a `with profile()` block; `str()` shows tables, `save` writes a trace for Perfetto.

    phases, cells, lines, operators
          each a list of `TimeShare`s, the one with the longest time first
    made  what was made in the block, by kind, as `foundation.made` counts it: a program that goes on with the same kinds of arguments makes
        nothing
    """

    def __init__(self) -> None:
        super().__init__()
        self._parts: dict[str, dict[str, TimeShare]] = {"phases": {}, "cells": {}, "lines": {}, "operators": {}}
        self._before = made.counted()
        self._after = self._before

    @property
    def phases(self) -> list[TimeShare]:
        """Return a part for the forward pass, the backward pass and the steps of optimisers."""
        return self._longest("phases")

    @property
    def cells(self) -> list[TimeShare]:
        """Return a part for each Cell by its path; "" for what runs outside of Cells.  A Cell inside of another is not part of that one."""
        return self._longest("cells")

    @property
    def lines(self) -> list[TimeShare]:
        """Return a part for each line of the user's program."""
        return self._longest("lines")

    @property
    def operators(self) -> list[TimeShare]:
        """Return a part for each operator by its name in the IR."""
        return self._longest("operators")

    @property
    def calls(self) -> int:
        """Return how many operators ran."""
        return sum(part.calls for part in self.phases)

    @property
    def made(self) -> dict[str, int]:
        """Return how many graphs, plans, kernels, ... were made in the block."""
        return {str(kind): count for kind, count in (self._after - self._before).items()}

    def __str__(self) -> str:
        tables = [self._table(title, parts) for title, parts in (
            ("phase", self.phases), ("Cell", self.cells), ("line", self.lines), ("operator", self.operators))]
        inside, total = self.in_kernels, self.seconds
        told = ", ".join(f"{count} {kind}" for kind, count in self.made.items())
        return "\n\n".join([*tables, f"{1e3 * inside:.3f} ms in kernels of {1e3 * total:.3f} ms; the rest is Python and the measuring\n"
                                     f"made: {told or 'nothing'}"])

    def _longest(self, kind: str) -> list[TimeShare]:
        return sorted(self._parts[kind].values(), key=lambda part: -part.seconds)

    def _table(self, title: str, parts: list[TimeShare]) -> str:
        lines, inside = [f"      ms   share    calls    GB/s  GFLOP/s  {title}"], self.in_kernels
        for part in parts[:_SHOWN]:
            share = 100 * part.seconds / inside if inside else 0.0
            speeds = [f"{1e-9 * count / part.seconds:.1f}" if count and part.seconds else "" for count in (part.bytes, part.operations)]
            lines.append(f"{1e3 * part.seconds:8.3f}  {share:4.1f} %  {part.calls:7}  {speeds[0]:>6}  {speeds[1]:>7}  {part.name}".rstrip())
        return "\n".join([*lines, *([f"and {len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else [])])

    def _add(self, launched: Observation) -> None:
        row = self._timed(launched)
        phase, cell = _origin(launched)
        for kind, name in (("phases", phase), ("cells", cell), ("lines", shown_line(row.place)), ("operators", row.op)):
            self._parts[kind].setdefault(name, TimeShare(name)).add(launched)


def _origin(launched: Observation) -> tuple[str, str]:
    """Return the phase and the Cell of an operator."""
    node = launched.node
    within = None if node is None else made_in(node.loc)
    cell = running_cell() if within is None else within.cell
    if node is not None and is_gradient(node.loc):
        return "backward", cell
    parts = progress(() if within is None else within.training).parts
    optimizers = [owner for reference, _ in parts if (owner := reference()) is not None]
    if optimizers and (cell in [owner.title for owner in optimizers if hasattr(owner, "title")] or (not cell and _runs(optimizers))):
        return "optimiser", cell or optimizers[0].title
    return "forward", cell


def _runs(owners: list[Any]) -> bool:
    """Return True if a method of one of these objects runs in this thread."""
    frame = sys._getframe(1)
    while frame is not None:
        own = frame.f_locals.get("self") if frame.f_code.co_varnames[:1] == ("self",) else None
        if own is not None and any(own is owner for owner in owners):
            return True
        frame = frame.f_back
    return False


def operations(launched: Observation) -> int:
    """Return the multiplications and additions of a product or convolution; 0 for another operator."""
    op, operands, results = launched.op, launched.operand_types, launched.result_types
    if isinstance(op, MatMul):
        return 2 * results[0].count * operands[0].sizes[-2 if op.ta else -1]
    filters: Callable[[Any], int] = lambda type_: type_.count // max(type_.sizes[0], 1)  # noqa: E731 - multiplications for one position
    if isinstance(op, Convolution):
        return 2 * results[0].count * filters(operands[1])
    if isinstance(op, ConvolutionInputGradient):
        return 2 * operands[0].count * filters(operands[1])
    if isinstance(op, ConvolutionWeightGradient):
        return 2 * operands[1].count * filters(results[0])
    return 0


@contextmanager
def profile() -> Iterator[Profile]:
    """Measure where the time of a block goes, on this thread, in eager mode, gradients and graphs.

    with adjoint.watch.profile() as found:
        step(x)
    print(found)
    found.save("trace.json")
    """
    found = Profile()
    try:
        with observed(found._add):
            yield found
    finally:
        found._ended()
        found._after = made.counted()
