"""Fixtures shared by tests of graphs."""

from __future__ import annotations

from typing import Any

import pytest

from adjoint.runtime.graphs import entry


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions and cells for which a graph is made, one entry for each graph."""
    made: list[Any] = []
    original = entry.make

    def counted(known: Any, template: Any, named: Any) -> Any:
        made.append(named)
        return original(known, template, named)

    monkeypatch.setattr(entry, "make", counted)
    return made
