"""`set_context(save_graphs=...)`: each graph that is made is written to files, stage by stage."""

from __future__ import annotations

from typing import Any

from adjoint.runtime import context

__all__ = ["save_graph"]


def save_graph(graph: Any) -> None:
    """Write a graph's stages, if the context asks for it."""
    if not context.get_context("save_graphs"):
        return
