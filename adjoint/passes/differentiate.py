"""Gradients inside of functions: a `gradient` node becomes the nodes that compute it.

    y, x' = gradient of=1 sens (s) carry (x = a) { R; yield u }

                                     x = identity(a)         a value of its own: its cotangents are one sum, as those in a cell
                                     R                       its residuals handed out, as `residuals` says
                                     y  := u
                                     u' := s                 ones where no `sens` is given
                                     R'                      the adjoint of R
                                     x' := the sum of x      zeros where it is absent

An inner one first: its nodes are then among those that the outer one differentiates.  What R attaches to values stays in it, so
that whoever differentiates the whole function finds it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from adjoint.diagnostics import Derived
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Value, free_values, walk
from adjoint.ir.ops.control import Gradient
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.types import TensorType, Type
from adjoint.passes.activity import Leaf, differentiable
from adjoint.passes.dce import living
from adjoint.passes.inline import inlined_region
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.passes.residuals import extended
from adjoint.passes.sweep import swept

__all__ = ["Differentiate", "expanded", "forward_and_adjoint", "has_gradients"]


def has_gradients(function: Function) -> bool:
    """Whether `gradient` nodes stand in the function."""
    return any(isinstance(node.op, Gradient) for node in walk(function.body))


def expanded(function: Function, module: Module) -> Function:
    """The function without `gradient` nodes; the calls inside of them are inlined."""
    if not has_gradients(function):
        return function
    return replace(function, body=_Expander(function, module).body(function.body))


def forward_and_adjoint(
    b: Builder, nodes: Sequence[Node], outputs: Sequence[Atom], cotangents: Sequence[Atom | None], wanted: dict[Leaf, Type], module: Module
) -> tuple[list[Node], list[Atom]]:
    """Emit the reverse pass over `nodes` into `b`; the forward copy that goes before it, and the gradient of each wanted leaf.

    wanted  the leaves and their types; one without a cotangent gets zeros
    """
    sweep, found = swept(b, nodes, outputs, cotangents, list(wanted), module)
    gradients = [sweep.or_zero(ct, type_) for ct, type_ in zip(found, wanted.values(), strict=True)]
    forward = Builder()
    extended(forward, nodes, sweep.looked, sweep.needed(free_values(b.nodes, gradients)))
    return forward.nodes, gradients


class _Expander(Rewriter):
    """Copies a function of a module; every `gradient` becomes what computes it."""

    def __init__(self, function: Function, module: Module):
        self._function, self._module = function, module

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if not isinstance(node.op, Gradient):
            return None
        region = self.body(inlined_region(node.regions[0], self._module, self._function.symbol))
        arguments, sens = node.operands[: len(region.params)], node.operands[len(region.params) :]
        outputs = region.results[: node.op.of]
        seeds = [Value(s.type, f"{y.hint}'" if isinstance(y, Value) else "ct") for s, y in zip(sens, outputs, strict=False)]

        adjoint = Builder(Derived("grad", (node.loc,), subject=node.op.name))
        cotangents = [self._seed(adjoint, y, seeds[i] if sens else None) for i, y in enumerate(outputs)]
        wanted: dict[Leaf, Type] = {param: param.type for param in region.params}
        wanted.update(zip(node.op.by, node.op.weights, strict=True))
        forward, gradients = forward_and_adjoint(adjoint, region.nodes, outputs, cotangents, wanted, self._module)

        nodes, results = [*forward, *living(adjoint.nodes, gradients, self._module)], [*region.results, *gradients]
        used = set(free_values(nodes, results))
        for param, atom in zip(region.params, arguments, strict=True):
            if param in used:
                known[param] = b.emit(Identity(), became(atom, known), hint=param.hint)
        known.update((seed, became(atom, known)) for seed, atom in zip(seeds, sens, strict=True))
        Rewriter().nodes(b, nodes, known)
        return [became(atom, known) for atom in results]

    @staticmethod
    def _seed(b: Builder, output: Atom, given: Value | None) -> Atom | None:
        """The cotangent that an output begins with; None for one that has none, a bool."""
        assert isinstance(output.type, TensorType)
        if not differentiable(output.type):
            return None
        return b.constant(1.0 if output.type.dtype.is_float else 1, output.type) if given is None else given


@dataclass(frozen=True)
class Differentiate(Pass):
    """`differentiate`: every `gradient` becomes its region and the adjoint of that, the inner ones first."""

    name: ClassVar[str] = "differentiate"

    def on_function(self, function: Function, module: Module) -> Function:
        return expanded(function, module)
