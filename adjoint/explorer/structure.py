"""Stages that a command shows one after the other, as the explorer's data: `adjoint dump-ir --json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adjoint.explorer.data import as_json
from adjoint.explorer.identity import Identities, Stretch
from adjoint.explorer.stages import Explored, numbered
from adjoint.ir.core import Module
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.inspection.stages import PlanPart, ServedKernel

__all__ = ["Structure"]


class Structure:
    """Collects stages while they are made.

    The first module gets numbers, by `of_graph` or `of_module`; passes on it are followed as long as `followed` is open.
    """

    def __init__(self) -> None:
        self._identities = Identities()
        self._stretch = Stretch(self._identities)
        self._made: Explored | None = None

    def of_graph(self, lowered: Lowered, target: Any) -> Lowered:
        """Return the graph of a function or Cell with numbers for its nodes; the program begins with it."""
        again = numbered(lowered, self._identities)
        self._made = Explored(self._identities, target, again)
        return again

    def of_module(self, module: Module) -> Module:
        """Return a module with numbers for its nodes; the program begins with it."""
        again = self._identities.numbered(module)
        self._made = Explored(self._identities)
        return again

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the passes that run in a `with` statement."""
        with self._stretch.followed():
            yield

    def add(self, name: str, part: Any, notes: Sequence[str]) -> None:
        """Add a stage: a module, the parts of a plan as a list, or kernels as a tuple; nothing is added for text."""
        if self._made is None:
            return
        former = next((stage.name for stage in self._made.stages if stage.kind == "ir"), "")
        stretch = self._stretch.forked()
        match part:
            case Module():
                stretch.join(part.functions.values())
                column = "adjoint" if name == "adjoint" else "ir"
                stage = self._made.add(name, column, name, "", part, stretch, former)
                stage.notes = list(notes)
            case list():
                self._add_plan(part, stretch)
            case tuple():
                kernels: tuple[ServedKernel, ...] = part
                self._made.add_kernels([(kernel, Stretch(self._identities)) for kernel in kernels])
            case _:
                pass

    def _add_plan(self, parts: list[PlanPart], stretch: Stretch) -> None:
        assert self._made is not None
        stretch.join_plan(parts)
        self._made.add_plan(parts, stretch)

    def as_json(self, title: str, arguments: str) -> dict[str, Any]:
        """Return all stages, as an object for `json.dumps`; {} if there is no program."""
        return {} if self._made is None else as_json(self._made, title, arguments)
