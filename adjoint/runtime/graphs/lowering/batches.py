"""Batches in a function while it is made into a graph: `vmap` becomes a node `batch`, whose region is the function for one example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.lowerer import Lowerer
from adjoint.ir.core import Atom, Value, tensor_type, walk
from adjoint.ir.ops.control import Batch
from adjoint.ir.ops.random import Draw
from adjoint.passes.batch import depending
from adjoint.runtime.graphs.inputs.outline import filled, outlined
from adjoint.runtime.graphs.lowering.categories import tensor_slot
from adjoint.runtime.graphs.lowering.changes import AtomPlace
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Batches"]


class Batches:
    """Adds nodes to the graph for `vmap`.

    regions, values  the parts of the `Lowering` that it uses
    frontend         runs the function for one example
    """

    def __init__(self, regions: Regions, values: Values, frontend: Lowerer):
        self._regions, self._values, self._frontend = regions, values, frontend

    def batch(self, fn: Callable[..., Any], examples: Sequence[Tensor], arguments: Callable[[Sequence[Tensor]], tuple[Any, ...]],
              without_chance: bool = False) -> tuple[Any, list[bool]]:
        """Add a node that runs a function for each example; return its result, with the examples along the first axis of each tensor, and
        for each tensor whether it depends on the example.

        examples   tensors with the examples along their first axis
        arguments  returns the arguments of a call, from one example of each tensor
        without_chance  True if random numbers may not be drawn

        Numbers in the result become tensors.  RuntimeError if random numbers are drawn that may not be; CompileError if the function
        changes a variable or an object outside of it: all examples would see the change at once.
        """
        loc = self._regions.loc
        operands = self._values.atoms(examples)
        params = [Value(type_.with_shape(type_.shape[1:]), getattr(atom, "hint", "x"))
                  for atom in operands if (type_ := tensor_type(atom))]
        self._regions.named.update(params)
        yielded: list[Atom] = []

        def run() -> Any:
            inner = self._values.tensors(params)
            result = self._frontend.call(fn, arguments(inner), {})
            outline, found = outlined(mapped(result, self._tensor), tensor_slot)
            yielded.extend(self._values.atoms(found))
            return outline

        one = self._frontend.branching.branch(run)
        self._regions.loc = loc
        if any(not self._is_inner(place) for place, *_ in one.changes.values()):
            raise errors.UNSUPPORTED.at(loc, "a function for one example changes a variable or an object outside of it",
                                        help="let it return what it makes")
        region = one.builder.finish([] if one.dead else yielded, params)
        if without_chance and any(isinstance(node.op, Draw) for node in walk(region)):
            raise RuntimeError("For 'vmap', the function draws random numbers, but 'randomness' is 'error'.")
        node = self._regions.add(Batch(), operands, [region], writes=True)
        self._regions.user_code += 1  # hooks
        if one.dead:
            raise Unreachable  # the first example ends the graph when it runs: it raises, or a hook decides how the call goes on
        depends = depending(region)
        return filled(one.result, self._values.tensors(node.results)), [isinstance(x, Value) and x in depends for x in yielded]

    def _is_inner(self, place: Any) -> bool:
        """Return True for a tensor that the function has made itself: nobody else sees a write to it."""
        return isinstance(place, AtomPlace) and not self._regions.is_open(place.tensor.home)

    @staticmethod
    def _tensor(leaf: Any) -> Any:
        """Return the tensor that a number in a result becomes; anything else is returned as it is."""
        if isinstance(leaf, GraphNumber):
            return leaf.tensor()
        return Tensor(leaf) if isinstance(leaf, (bool, int, float)) else leaf
