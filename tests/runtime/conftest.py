"""What tests of graphs share."""

from __future__ import annotations

from typing import Any

import pytest

from adjoint.runtime.graphs import jit


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions and cells of which a graph is made, one entry for each graph."""
    made: list[Any] = []
    original = jit._made

    def counted(known: Any, template: Any, named: Any, decisions: Any) -> Any:
        made.append(named)
        return original(known, template, named, decisions)

    monkeypatch.setattr(jit, "_made", counted)
    return made
