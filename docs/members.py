"""The members of MindSpore's classes, as recorded in tests/oracle/members.json, against those of ours."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from adjoint.compat import paths
from adjoint.foundation.diagnostics import MissingMember

__all__ = ["Row", "is_here", "ours", "rows", "way_out"]

_RECORD = Path(__file__).resolve().parent.parent / "tests" / "oracle" / "members.json"


class Row(NamedTuple):
    """A public class of MindSpore that is here.

    place    its public place and name, `nn.Cell`
    kind     our class
    base     the place of the public class that it is derived from in MindSpore, or None
    methods  the names of its members that are called, without those of the base
    values   the names of the others
    """

    place: str
    kind: type
    base: str | None
    methods: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The members that ours lacks, without those that our class of the base lacks as well."""
        return [name for name in sorted((*self.methods, *self.values)) if not is_here(self.kind, name)]

    @property
    def here(self) -> list[str]:
        """The members that ours has."""
        return [name for name in sorted((*self.methods, *self.values)) if is_here(self.kind, name)]


def ours(place: str) -> type | None:
    """Return our class of a public place and name of MindSpore's, or None."""
    path, _, name = place.rpartition(".")
    path = path or "mindspore"
    found = paths.look_up(path, name) if paths.is_theirs(path) and name in paths.row_of(path).names else paths.ABSENT
    return found if inspect.isclass(found) else None


def rows() -> list[Row]:
    """Return the recorded classes that are here, in order."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))["members"]
    return [Row(place, kind, row.get("of"), tuple(row.get("methods", "").split()), tuple(row.get("values", "").split()))
            for place, row in record.items() if (kind := ours(place)) is not None]


def is_here(kind: type, name: str) -> bool:
    """Return whether a class has a member, or its methods give one to its instances."""
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, MissingMember):
        return False
    return hasattr(kind, name) or any(name in _given(base) for base in kind.__mro__ if base.__module__.startswith("adjoint"))


@functools.cache
def _given(kind: type) -> frozenset[str]:
    """The names of the attributes that the methods of a class assign to `self`, and of those that it annotates."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return frozenset()
    stored = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
              and isinstance(node.value, ast.Name) and node.value.id == "self"}
    return frozenset(stored | set(vars(kind).get("__annotations__", ())) | set(vars(kind).get("__slots__", ())))


def way_out(kind: type, name: str) -> str | None:
    """Return what to write instead of a member that is missing, or None if nothing is known."""
    found: Any = inspect.getattr_static(kind, name, None)
    if isinstance(found, MissingMember):
        return found.instead
    for base in kind.__mro__:
        if hasattr(base, "__getattr__") and name in (instead := getattr(sys.modules[base.__module__], "INSTEAD", {})):
            return instead[name]
    return None
