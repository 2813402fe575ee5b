"""The reason why a new graph is made: what differs between a call's arguments and those of the nearest graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.foundation.diagnostics import user_place
from adjoint.ir.types import TensorType
from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.inputs.templates import Template, TemplateDifference
from adjoint.runtime.graphs.reports.ways import DROPPED, FIRST, GONE, READ, STRUCTURE, TYPES, VALUE, Cause

__all__ = ["cause_of"]

_COMPARED = 16
"""How many templates, the newest ones, are compared to find the nearest one."""

_SHOWN = 60
"""Limit of the characters of a value in a text."""


def cause_of(known: Graphs, template: Template, parameters: Sequence[str]) -> tuple[Cause, str]:
    """Return why a graph has to be made for a call, and a text that says how its arguments differ from those of the nearest graph.

    known       the graphs that the function has
    template    the structure of the arguments
    parameters  the names of the arguments by position
    """
    if not known.history.graphs:
        return FIRST, ""
    entries = known.get(template)
    if entries is not None:
        last = next(iter(entries), None)  # another thread may drop it now
        return (GONE, known.history.gone) if last is None else _change(last.lowered.guards)
    # The last one is shown where several are as near.
    differences = [[*template.differences(other)] for other in reversed([*known][-_COMPARED:])]
    if not differences:
        return DROPPED, ""
    nearest = min(differences, key=lambda found: (any(each.is_structure for each in found), len(found)))
    if not nearest:
        return GONE, "an object among the arguments"
    cause = STRUCTURE if any(each.is_structure for each in nearest) else TYPES if all(map(_of_types, nearest)) else VALUE
    return cause, ", ".join(_said(each, parameters) for each in nearest[:3])


def _change(guards: Guards) -> tuple[Cause, str]:
    """Return the cause, with a text, for making a graph although one exists for these arguments: something that its guards compare has
    changed.
    """
    found, loc = guards.broken_at()
    place = user_place(loc)
    where = f" (read at {place.file}:{place.line})" if place is not None and found else ""
    return (READ if guards.lasts and not found.endswith(" is gone") else GONE), (found or "what it had read") + where


def _of_types(difference: TemplateDifference) -> bool:
    return isinstance(difference.before, TensorType) and isinstance(difference.after, TensorType)


def _said(difference: TemplateDifference, parameters: Sequence[str]) -> str:
    if len(difference.path) < 2:
        kind = "keyword" if difference.path == (1,) else "positional"
        return f"there are other {kind} arguments"
    before, after = map(_shown, (difference.before, difference.after))
    if before == after:
        return f"{_named(difference.path, parameters)} is another {before.removeprefix('a ')}"
    return f"{_named(difference.path, parameters)} is {after}, was {before}"


def _named(path: Sequence[Any], parameters: Sequence[str]) -> str:
    """Return the expression by which the user's code would refer to a part of the arguments, such as `x[0]`.

    path        the positions and keys that lead to the part; the first is 0 for positional arguments, 1 for keyword arguments
    parameters  the names of the positional arguments
    """
    kind, first, *rest = path
    name = parameters[first] if kind == 0 and first < len(parameters) else str(first)
    return f"`{name}{''.join(f'[{part!r}]' for part in rest)}`"


def _shown(node: Any) -> str:
    text = " ".join(_words(node))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _words(node: Any) -> Iterator[str]:
    """Yield the words that describe a node of a template (the structure of the arguments): a type, a constant, a container or "object"."""
    if isinstance(node, TensorType):
        yield str(node)
    elif isinstance(node, tuple) and len(node) == 2 and node[0] is object:
        yield "object"
    elif isinstance(node, tuple) and len(node) == 2 and isinstance(node[0], type) and not isinstance(node[1], tuple):
        yield repr(float.fromhex(node[1]) if node[0] is float and isinstance(node[1], str) else node[1])  # the key of 0.0 is its text
    elif isinstance(node, tuple) and node and isinstance(node[0], type):
        yield f"a {node[0].__name__}"
    else:
        yield str(node)
