"""First rounds: the first round of a loop comes before the loop, if a value would have two names in it.

    z = while carry (a = x) { t(a) } { R(a, x); yield u }

becomes

    z = if t(x) { R(x, x); z1 = while carry (a = u) { t(a) } { R(a, x); yield u1 }; yield z1 } else { yield x }

In eager mode `a` is the tensor `x` itself in the first round, with one sum of cotangents (gradients).  In the loop the two have a sum each,
so that the code of its gradient adds up in another order; here it does not.  See `order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Node, Value, free_of, walk
from adjoint.ir.ops.control import For, Gradient, If, While, known_rounds
from adjoint.ir.types import I64, TensorType, scalar
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["first_round_before", "gives_names", "with_first_rounds"]

_MOST_NODES = 300
"""The nodes of the largest loop of which a round is copied."""


def with_first_rounds(function: Function) -> Function:
    """Put the first round of loops that are differentiated before them, where a value has two names in them; return the function.

    If there is no such loop, the function that was given is returned.
    """
    regions = [node.regions[0] for node in walk(function.body) if isinstance(node.op, Gradient)]
    if not any(gives_names(node) for region in regions for node in walk(region)):
        return function
    return replace(function, body=_FirstRounds().body(function.body))


def gives_names(node: Node) -> bool:
    """Return True for a loop that gives another name to a tensor of floats that it also uses as it is, or that already got one."""
    if not isinstance(node.op, (For, While)) or sum(1 for region in node.regions for _ in walk(region)) > _MOST_NODES:
        return False
    named = [atom for atom in node.operands if isinstance(atom, Value) and isinstance(atom.type, TensorType) and atom.type.dtype.is_inexact]
    used = {value for region in node.regions for value in free_of(region)}
    return len({*named}) < len(named) or not used.isdisjoint(named)


def first_round_before(b: Builder, node: Node, known: Known, copier: Rewriter) -> Sequence[Atom] | None:
    """Append the first round of a loop and the loop of the other rounds; return the results, or None if the bounds are not known enough.

    known   for each value of the function that is copied, the atom of the new one
    copier  copies the nodes of rounds
    """
    body, operands = node.regions[-1], [became(atom, known) for atom in node.operands]
    bounds, carried = operands[: len(operands) - len(node.results)], operands[len(operands) - len(node.results) :]
    if isinstance(node.op, For):
        start, stop, step = bounds
        rounds = known_rounds(bounds)
        if not isinstance(step, Literal) or step.value == 0 or (rounds is not None and not rounds):
            return None
        if rounds:
            condition, second = None, Literal(rounds.start + rounds.step, scalar(I64))
        else:
            condition, second = b.less(start, stop) if step.value.real > 0 else b.less(stop, start), b.add(start, step)
        first, others = [start, *carried], [second, stop, step]
    else:
        test, first, others = node.regions[0], carried, []
        here: Known = {**known, **dict(zip(test.params, carried, strict=True))}
        copier.nodes(b, test.nodes, here)
        condition = became(test.results[0], here)
    inner = b if condition is None else b.inner()
    here = {**known, **dict(zip(body.params, first, strict=True))}
    copier.nodes(inner, body.nodes, here)
    yields = [became(atom, here) for atom in body.results]
    made = inner.emit_node(node.op, [*others, *yields], regions=copier.regions(inner, node.regions, dict(known)))
    if condition is not None:
        made = b.emit_node(If(), [condition], regions=[inner.finish(made.results), b.inner().finish(carried)])
    for new, old in zip(made.results, node.results, strict=True):
        new.hint = old.hint
    return made.results


class _FirstRounds(Rewriter):
    """Copies a function; what is differentiated gets the first rounds of its loops before them."""

    def __init__(self) -> None:
        self._differentiated = False

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if isinstance(node.op, Gradient) and not self._differentiated:
            self._differentiated = True
            try:
                return self.copy(b, node, known)
            finally:
                self._differentiated = False
        return first_round_before(b, node, known, self) if self._differentiated and gives_names(node) else None
