"""Values that are used inside of `_no_grad`, replaced so that no gradient flows through what is computed there."""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Value, tensor_type
from adjoint.ir.ops.conversion import NoGrad, StraightThrough
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.process.tracer import state

__all__ = ["Cuts"]


class Cuts:
    """Replaces values that are used inside of `_no_grad`, so that no gradient flows back through what is computed there.

    regions  tells which region (body of nodes) is open
    """

    def __init__(self, regions: Regions):
        self._regions = regions
        self._without_gradient: set[Value] = set()
        """The values that were computed inside of `_no_grad`, through which no gradient flows, so that they need no `no_grad` node."""
        self._cuts: dict[Value, tuple[Builder, Value]] = {}
        """For each value from outside of `_no_grad` that is used inside: the region in which a node replaces it, and the value that
        replaces it.
        """

    def operand(self, atom: Atom) -> Atom:
        """Return what a node inside of `_no_grad` is to use in place of an operand: a value with the same numbers that stops gradients."""
        if not self._has_gradient(atom):
            return atom
        assert isinstance(atom, Value)
        builder, found = self._cuts.get(atom, (None, None))
        if found is None or builder is None or not self._regions.is_open(builder):
            found = self._regions.builder.emit(NoGrad(), atom, hint=atom.hint, loc=self._regions.here())
            self._cuts[atom] = self._regions.builder, found
            self._without_gradient.add(found)
        return found

    def made(self, values: Iterable[Value]) -> None:
        """Record that these values were computed inside of `_no_grad`, so that no gradient flows through them."""
        self._without_gradient.update(values)

    def rewritten(self, atom: Atom, value: Atom) -> Atom:
        """Return what a tensor stands for in the IR after it is written in place.

        Inside of `_no_grad` the tensor has the new numbers, but its gradient still flows to what it stood for before.

        atom   what it stood for before
        value  what is written
        """
        if not state.no_grad or not self._has_gradient(atom) or atom.type != value.type:
            return value
        return self._regions.node(StraightThrough(), atom, value)

    def _has_gradient(self, atom: Atom) -> bool:
        return isinstance(atom, Value) and atom not in self._without_gradient and tensor_type(atom).dtype.is_inexact
