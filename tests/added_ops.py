"""Remove the ops that a test adds, and their public names, after the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adjoint import Tensor, ops
from adjoint.ir.op import registry, withdraw
from adjoint.ops import functional, operations


@contextmanager
def taken_back() -> Iterator[None]:
    """Remove the ops that are added in the block, and their names, at its end."""
    spaces = (ops, functional, operations, Tensor)
    before, kinds = [set(vars(space)) for space in spaces], set(registry())
    modules = {module: list(module.__all__) for module in (ops, functional, operations)}
    try:
        yield
    finally:
        for space, names in zip(spaces, before, strict=True):
            for name in set(vars(space)) - names:
                delattr(space, name)
        for module, names in modules.items():
            module.__all__[:] = names
        for name in set(registry()) - kinds:
            withdraw(registry()[name])
