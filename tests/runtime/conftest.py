"""Fixtures shared by tests of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import adjoint as ms
from adjoint.runtime.graphs.calls import making


@pytest.fixture(autouse=True)
def eager_afterwards() -> Iterator[None]:
    """Each test ends in eager mode, whatever mode it sets."""
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture
def without_fusion() -> Iterator[None]:
    """Nothing is fused in the background."""
    before = ms.get_context("background_compile")
    ms.set_context(background_compile=False)
    yield
    ms.set_context(background_compile=before)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions and cells for which a graph is made, one entry for each graph."""
    made: list[Any] = []
    original = making.make

    def counted(known: Any, template: Any, tensors: Any, named: Any) -> Any:
        made.append(named)
        return original(known, template, tensors, named)

    monkeypatch.setattr(making, "make", counted)
    return made
