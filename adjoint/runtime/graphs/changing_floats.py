"""Floats among the arguments that change from call to call: after a few values they are inputs of the graph.

    f(x, 0.1)       a graph with the constant 0.1, as for any new argument
    f(x, 0.2)       another one
    f(x, 0.3)       a graph for any float at this place
    f(x, 0.4)       the same

A graph for any float is kept if it can be made and runs none of the user's code.  Otherwise the float is a constant for ever: Python needs
to know it while parsing, as the key of a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from adjoint.runtime.graphs.templates import Template, with_floats
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ChangingFloats"]

_VALUES = 3
"""So many values at a place make its float an input."""

_ALL = range(2**62)


class _Seen:
    """What is known of the floats of calls whose arguments differ in these alone.

    values   for each float, the keys of the values that it had; no more are added when there are enough
    chosen   the floats that are inputs
    refused  those that have to be constants
    """

    __slots__ = ("chosen", "refused", "values")

    def __init__(self, count: int) -> None:
        self.values: list[set[Hashable]] = [set() for _ in range(count)]
        self.chosen: frozenset[int] = frozenset()
        self.refused: frozenset[int] = frozenset()


class ChangingFloats(dict[Template, _Seen]):
    """The floats of the arguments of one function, by the template of the arguments with all floats as inputs."""

    __slots__ = ()

    def given(self, template: Template, tensors: Sequence[Tensor]) -> tuple[Template, list[Tensor]] | None:
        """Return arguments with the floats that are inputs by now taken out; None if there are none."""
        if not self:
            return None
        seen = self.get(with_floats(template, tensors, _ALL)[0])
        return None if seen is None or not seen.chosen else with_floats(template, tensors, seen.chosen)[:2]

    def tried(self, template: Template, tensors: Sequence[Tensor],
              make: Callable[[Template], Any]) -> tuple[Any, Template, Sequence[Tensor]] | None:
        """Return a new graph with floats as inputs, its template and tensors; None if all floats are constants.  The lock is held.

        make  returns the graph for a template; None if there is none for any float
        """
        general, _, floats = with_floats(template, tensors, _ALL)
        if not floats:
            return None
        seen = self.get(general)
        if seen is None:
            seen = self[general.lasting()] = _Seen(len(floats))
        for values, value in zip(seen.values, floats, strict=True):
            if len(values) < _VALUES:
                values.add(value)
        found = None
        for chosen in _choices(seen):
            opened, inputs, _ = with_floats(template, tensors, chosen)
            made = make(opened)
            if made is None:
                seen.refused |= chosen - seen.chosen or chosen
            else:
                seen.chosen, found = chosen, (made, opened, inputs)
        if found is None:
            seen.refused, seen.chosen = seen.refused | seen.chosen, frozenset()
        return found


def _choices(seen: _Seen) -> Iterator[frozenset[int]]:
    """Yield which floats to try as inputs: those that are, each time with one more; without one more only if there is none."""
    new = [i for i, values in enumerate(seen.values) if len(values) >= _VALUES and i not in seen.chosen and i not in seen.refused]
    for i in new:
        yield seen.chosen | {i}
    if seen.chosen and not new:
        yield seen.chosen
