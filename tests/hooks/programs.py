"""Programs with places for hooks.  Their source is parsed: conditions on tensors are conditions of the graph.

Each has a hooked cell `cell`, a parameter `w`, and a `point` before the cell, where a value's hook is registered or a `HookBackward` is
applied.
"""

from __future__ import annotations

from typing import Any

from adjoint import Parameter, Tensor, nn, ops
from tests.hooks.events import T

__all__ = [
    "Bare", "Branch", "BranchElse", "EarlyReturn", "For", "Leaving", "Line", "Mixed", "Program", "Ruled", "Two", "UsesOutput",
    "UsesValue", "While",
]


class Mixed(nn.Cell):
    """x * x + bias: takes a second, optional argument."""

    def construct(self, x, bias=None):
        return x * x if bias is None else x * x + bias


class Ruled(nn.Cell):
    """x * x with its own bprop, which uses `rule` if there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.rule: Any = None

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        gradient = (x + x) * dout
        return gradient if self.rule is None else self.rule(gradient)


class Program(nn.Cell):
    """What all programs share."""

    def __init__(self, cell: nn.Cell, weight: float = 2.0):
        super().__init__()
        self.cell = cell
        self.w = Parameter(T(weight), name="w")
        self.hook: Any = None
        self.mark: Any = None

    def point(self, y: Tensor) -> Tensor:
        if self.hook is not None:
            y.register_hook(self.hook)
        if self.mark is not None:
            y = self.mark(y)
        return y


class Line(Program):
    """w * (2 x)^2"""

    def construct(self, x):
        y = self.point(x * 2)
        z = self.cell(y)
        return z * self.w


class Bare(Program):
    """The cell's result, unchanged."""

    def construct(self, x):
        return self.cell(self.point(x * 2))


class Branch(Program):
    """x + (w * (2 x)^2 where the sum of x is positive, else 10 x)"""

    def construct(self, x):
        y = x * 2
        if ops.sum(x) > 0:
            y = self.cell(self.point(y)) * self.w
        else:
            y = y * 5
        return y + x


class BranchElse(Program):
    """The hooked cell is in the else branch."""

    def construct(self, x):
        y = x * 2
        if ops.sum(x) > 0:
            y = y * 5
        else:
            y = self.cell(self.point(y)) * self.w
        return y + x


class EarlyReturn(Program):
    """A branch that returns."""

    def construct(self, x):
        y = x * 2
        if ops.sum(x) > 0:
            return self.cell(self.point(y)) * self.w
        return y * 5


class For(Program):
    """x + y, where y = 2 x passes `rounds` times through w * y^2."""

    def __init__(self, cell: nn.Cell, rounds: int = 2):
        super().__init__(cell)
        self.rounds = rounds

    def construct(self, x):
        y = x * 2
        for _ in range(self.rounds):
            y = self.cell(self.point(y)) * self.w
        return y + x


class While(Program):
    """x + y, where y = 2 x passes through w * y^2 while its sum is less than 5."""

    def construct(self, x):
        y = x * 2
        while ops.sum(y) < 5:
            y = self.cell(self.point(y)) * self.w
        return y + x


class Leaving(Program):
    """A branch inside a loop inside a branch, with `continue` and `break`."""

    def construct(self, x):
        y = x * 2
        if ops.sum(x) > 0:
            for _ in range(4):
                if ops.sum(y) > 100:
                    break
                if ops.sum(y) < 2:
                    y = y * 3
                    continue
                y = self.cell(self.point(y)) * self.w
        return y + x


class UsesValue(Program):
    """x + 2 c(h) + 3 c(h) + ...: the value at the point is used `uses` times, and the cell is called as often."""

    def __init__(self, cell: nn.Cell, uses: int):
        super().__init__(cell)
        self.uses = uses

    def construct(self, x):
        h = self.point(x * 2)
        total = x + 0
        for i in range(self.uses):
            total = total + self.cell(h) * self.w * (i + 1)
        return total


class UsesOutput(Program):
    """x + z + 2 z + ...: the cell is called once, its output is used `uses` times."""

    def __init__(self, cell: nn.Cell, uses: int):
        super().__init__(cell)
        self.uses = uses

    def construct(self, x):
        z = self.cell(self.point(x * 2))
        total = x + 0
        for i in range(self.uses):
            total = total + z * self.w * (i + 1)
        return total


class Two(Program):
    """w * c(b(2 x)) with a second cell `before`, b."""

    def __init__(self, before: nn.Cell, cell: nn.Cell):
        super().__init__(cell)
        self.before = before

    def construct(self, x):
        y = self.before(x * 2)
        z = self.cell(self.point(y))
        return z * self.w
