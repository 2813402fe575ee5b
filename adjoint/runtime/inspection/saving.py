"""Save each graph and adjoint that is made, while `set_context(save_graphs=...)` asks for it.

Only this module of the package is imported with the library; the module that writes files imports the passes and the emitter, and is
imported for the first file.
"""

from __future__ import annotations

from typing import Any

from adjoint.runtime.process import context
from adjoint.runtime.process.announcements import adjoint_made, graph_made

__all__ = ["install"]


def _saved_graph(*made: Any) -> None:
    level = context.get_context("save_graphs")
    if level:
        from adjoint.runtime.inspection.saved_graphs import save_graph

        save_graph(level, *made)


def _saved_adjoint(*made: Any) -> None:
    level = context.get_context("save_graphs")
    if level:
        from adjoint.runtime.inspection.saved_graphs import save_adjoint

        save_adjoint(level, *made)


def install() -> None:
    """Register the functions that save graphs and adjoints as observers."""
    graph_made.add(_saved_graph)
    adjoint_made.add(_saved_adjoint)
