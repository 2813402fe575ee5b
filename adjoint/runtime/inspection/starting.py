"""Save each graph and adjoint that is made, while `set_context(save_graphs=...)` asks for it, and judge results that are not finite, while
they are checked.

Only this module of the package is imported with the library.  The module that writes files imports the passes and the emitter, and is
imported for the first file; the one that judges is imported for the first result that is not finite.
"""

from __future__ import annotations

from typing import Any

from adjoint.runtime.memory.finite_results import judge_with
from adjoint.runtime.memory.watching import Observation
from adjoint.runtime.process import context
from adjoint.runtime.process.announcements import adjoint_made, graph_made

__all__ = ["start"]


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


def _judge(launched: Observation, infinity: bool) -> BaseException | None:
    from adjoint.runtime.inspection.finite import judge

    return judge(launched, infinity)


def start() -> None:
    """Register the functions of this module."""
    graph_made.add(_saved_graph)
    adjoint_made.add(_saved_adjoint)
    judge_with(_judge)
