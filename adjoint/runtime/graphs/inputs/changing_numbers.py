"""Numbers among the arguments that change from call to call: after three values they become inputs of the graph.

    f(x, 0.1)       a graph with the constant 0.1, as for any new argument
    f(x, 0.2)       another one
    f(x, 0.3)       a graph for any float in this position
    f(x, 0.4)       the same

The same is done for ints of moderate size (`templates.BOUND`).  A graph for any number is kept if it can be made and runs no code of the
user's.  Otherwise the number stays a constant: Python needs to know it while parsing, for instance as the key of a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from typing import Any

from adjoint.runtime.graphs.inputs.changing_values import Changing
from adjoint.runtime.graphs.inputs.templates import Template, with_numbers
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ChangingNumbers"]

_ALL = range(2**62)


class ChangingNumbers(dict[Template, Changing]):
    """Decides which numbers among the arguments of one function are inputs of its graphs: those that keep changing.

    It maps templates (structures of arguments), in which all numbers are inputs, to the history of these numbers.
    """

    __slots__ = ()

    def given(self, template: Template, tensors: Sequence[Tensor]) -> tuple[Template, list[Tensor]] | None:
        """Return a call's template and tensors as its graph takes them: numbers that have become inputs are among the tensors.

        Return None if there are no such numbers.
        """
        if not self:
            return None
        seen = self.get(with_numbers(template, tensors, _ALL)[0])
        return None if seen is None or not seen.chosen else with_numbers(template, tensors, seen.chosen)[:2]

    def tried(self, template: Template, tensors: Sequence[Tensor],
              make: Callable[[Template], Any]) -> tuple[Any, Template, Sequence[Tensor]] | None:
        """Make a graph that takes numbers as inputs, and return it with its template and tensors; None if all numbers are constants.

        The caller holds `lowering_lock`.

        template, tensors  the structure of the call's arguments, and the tensors among them
        make  returns the graph for a template, or None if that graph cannot be made
        """
        general, _, numbers = with_numbers(template, tensors, _ALL)
        if not numbers:
            return None
        seen = self.get(general)
        if seen is None:
            seen = self[general.lasting()] = Changing()
        for i, value in enumerate(numbers):
            seen.saw(i, value)

        def made_with(chosen: Container[Hashable]) -> tuple[Any, Template, Sequence[Tensor]] | None:
            opened, inputs, _ = with_numbers(template, tensors, chosen)
            made = make(opened)
            return None if made is None else (made, opened, inputs)

        return seen.tried(made_with)
