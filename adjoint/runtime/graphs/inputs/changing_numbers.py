"""Numbers among the arguments that change from call to call: after a few values they are inputs of the graph.

    f(x, 0.1)       a graph with the constant 0.1, as for any new argument
    f(x, 0.2)       another one
    f(x, 0.3)       a graph for any float at this place
    f(x, 0.4)       the same

So are ints of moderate size (`templates.BOUND`).  A graph for any number is kept if it can be made and runs none of the user's code.
Otherwise the number is a constant for ever: Python needs to know it while parsing, as the key of a dict or the size of a tensor.
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
    """The numbers among the arguments of one function, by the template of the arguments with all of them as inputs."""

    __slots__ = ()

    def given(self, template: Template, tensors: Sequence[Tensor]) -> tuple[Template, list[Tensor]] | None:
        """Return arguments with the numbers that are inputs by now taken out; None if there are none."""
        if not self:
            return None
        seen = self.get(with_numbers(template, tensors, _ALL)[0])
        return None if seen is None or not seen.chosen else with_numbers(template, tensors, seen.chosen)[:2]

    def tried(self, template: Template, tensors: Sequence[Tensor],
              make: Callable[[Template], Any]) -> tuple[Any, Template, Sequence[Tensor]] | None:
        """Return a new graph with numbers as inputs, its template and tensors; None if all are constants.  The lock is held.

        make  returns the graph for a template; None if there is none for any number
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
