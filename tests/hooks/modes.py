"""The ways in which a program can be run.  All of them have one meaning.

A *program* is a function or a Cell; a mode turns it into a callable with the same arguments.  The cells that a program
calls go through `inner`, since one of the modes compiles those and not the program.  Wrappers take no part in names: they are
made with `auto_prefix=False`, so titles in messages are those of the program.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import adjoint as ms
from adjoint import nn

__all__ = ["MODES", "Mode"]

Function = Callable[..., Any]


class Around(nn.Cell):
    """A Cell that only calls the program."""

    def __init__(self, program: Function):
        super().__init__(auto_prefix=False)
        self.program = program

    def construct(self, *args):
        return self.program(*args)


class GradientAround(nn.Cell):
    """A Cell whose construct takes the gradient, as in training scripts for graph mode."""

    def __init__(self, program: Function, weights: Any, order: int):
        super().__init__(auto_prefix=False)
        self.program, self.weights, self.order = program, weights, order

    def construct(self, *args):
        if self.order == 2:
            return ms.value_and_grad(ms.grad(self.program), 0, self.weights)(*args)
        return ms.value_and_grad(self.program, 0, self.weights)(*args)


_compiled: dict[type, type] = {}


def compiled_construct(cell: nn.Cell) -> nn.Cell:
    """Return the same cell with its construct under `jit`, as if its class had been written so."""
    kind = type(cell)
    if kind not in _compiled:
        _compiled[kind] = type(kind.__name__, (kind,), {
            "construct": ms.jit(kind.construct), "__module__": kind.__module__, "__qualname__": kind.__qualname__})
    cell.__class__ = _compiled[kind]
    return cell


def as_cell(program: Function) -> nn.Cell:
    return program if isinstance(program, nn.Cell) else Around(program)


class Mode:
    """Eager mode, with which the others are compared."""

    name = "eager"

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Return the context in which programs are built and run."""
        yield

    def inner(self, cell: Any) -> Any:
        """Return a cell that a program calls."""
        return cell

    def program(self, program: Function) -> Function:
        return program

    def gradient(self, program: Function, weights: Sequence[Any] | None = None, order: int = 1) -> Function:
        """Return a function that returns (value, gradient of the first argument and optionally of the weights)."""
        made = self.program(program)
        if order == 2:
            return ms.value_and_grad(ms.grad(made), 0, weights)
        return ms.value_and_grad(made, 0, weights)

    def __repr__(self) -> str:
        return self.name


class JitFunction(Mode):
    """A function under `jit` that calls the program, or the program itself if it is a function."""

    name = "jit-function"

    def program(self, program: Function) -> Function:
        if not isinstance(program, nn.Cell):
            return ms.jit(program)

        @ms.jit
        def call(*args):
            return program(*args)

        return call


class JitConstruct(Mode):
    """A Cell whose construct is under `jit`."""

    name = "jit-construct"

    def program(self, program: Function) -> Function:
        return compiled_construct(as_cell(program))


class JitInner(Mode):
    """The program runs in eager mode; its cells have their construct under `jit`."""

    name = "jit-inner"

    def inner(self, cell: Any) -> Any:
        return compiled_construct(cell)


class EagerAround(JitConstruct):
    """A Cell in eager mode calls one whose construct is under `jit`."""

    name = "eager-around"

    def program(self, program: Function) -> Function:
        return Around(super().program(program))


class JitNested(JitFunction):
    """`jit` inside `jit`: a function calls a Cell whose cells are each compiled."""

    name = "jit-nested"

    def inner(self, cell: Any) -> Any:
        return compiled_construct(cell)

    def program(self, program: Function) -> Function:
        return super().program(compiled_construct(as_cell(program)))


class JitGradient(Mode):
    """The gradient is taken inside of a function under `jit`."""

    name = "jit-gradient"

    def program(self, program: Function) -> Function:
        return JitFunction().program(program)

    def gradient(self, program: Function, weights: Sequence[Any] | None = None, order: int = 1) -> Function:
        if order == 2:
            @ms.jit
            def second(*args):
                return ms.value_and_grad(ms.grad(program), 0, weights)(*args)

            return second

        @ms.jit
        def gradient(*args):
            return ms.value_and_grad(program, 0, weights)(*args)

        return gradient


class Graph(Mode):
    """GRAPH_MODE: every outermost Cell is compiled."""

    name = "graph"

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        before = ms.get_context("mode")
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            yield
        finally:
            ms.set_context(mode=before)

    def program(self, program: Function) -> Function:
        return as_cell(program)


class GraphGradient(Graph):
    """GRAPH_MODE, and a Cell takes the gradient."""

    name = "graph-gradient"

    def gradient(self, program: Function, weights: Sequence[Any] | None = None, order: int = 1) -> Function:
        return GradientAround(program, weights, order)


EAGER = Mode()
MODES: list[Mode] = [
    EAGER, JitFunction(), JitConstruct(), JitInner(), EagerAround(), JitNested(), JitGradient(), Graph(), GraphGradient()]
