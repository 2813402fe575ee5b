"""Save each graph and adjoint that is made, while `set_context(save_graphs=...)` asks for it.

This is all of the package that is loaded with the library: what writes the files, and with it the passes and the emitter, is loaded for
the first one.
"""

from __future__ import annotations

from typing import Any

from adjoint.runtime.process import context
from adjoint.runtime.process.observers import adjoint_made, graph_made

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
    """Look on when graphs and adjoints are made."""
    graph_made.add(_saved_graph)
    adjoint_made.add(_saved_adjoint)
