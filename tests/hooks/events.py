"""Shared parts of the hook tests: cells, hooks that log what they see, numbers as plain lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import Parameter, Tensor, nn


def T(*values: float) -> Tensor:  # as the page on hooks writes it
    """A float32 vector."""
    return Tensor(np.array(values, np.float32))


def plain(value: Any) -> Any:
    """Return tensors as numbers or lists, also inside containers."""
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


class Log(list[Any]):
    """Events in order, and hooks of each kind that log them."""

    def forward_pre(self, name: str, change: Any = None) -> Any:
        def hook(cell: nn.Cell, args: Any) -> Any:
            self.append((name, plain(args)))
            return None if change is None else change(args)

        return hook

    def forward(self, name: str, change: Any = None) -> Any:
        def hook(cell: nn.Cell, args: Any, output: Any) -> Any:
            self.append((name, plain(args), plain(output)))
            return None if change is None else change(output)

        return hook

    def backward_pre(self, name: str, change: Any = None) -> Any:
        def hook(cell: nn.Cell, grad_output: Any) -> Any:
            self.append((name, plain(grad_output)))
            return None if change is None else change(grad_output)

        return hook

    def backward(self, name: str, change: Any = None) -> Any:
        def hook(cell: nn.Cell, grad_input: Any, grad_output: Any) -> Any:
            self.append((name, plain(grad_input), plain(grad_output)))
            return None if change is None else change(grad_input)

        return hook

    def tensor(self, name: str, change: Any = None) -> Any:
        def hook(grad: Tensor) -> Any:
            self.append((name, plain(grad)))
            return None if change is None else change(grad)

        return hook

    def take(self) -> list[Any]:
        """Return the events so far, and clear the log."""
        events = list(self)
        self.clear()
        return events


class Square(nn.Cell):
    """x * x"""

    def construct(self, x: Tensor) -> Tensor:
        return x * x


class Times(nn.Cell):
    """x * factor"""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def construct(self, x: Tensor) -> Tensor:
        return x * self.factor


class TwoOut(nn.Cell):
    """(2 a, 3 b)"""

    def construct(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a * 2, b * 3


class Weighted(nn.Cell):
    """x * w with a parameter w"""

    def __init__(self, value: float = 2.0):
        super().__init__()
        self.w = Parameter(T(value), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return x * self.w

