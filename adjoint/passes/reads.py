"""Which of an op's operands and results its gradient reads."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from adjoint.ir.build import Builder
from adjoint.ir.core import Value
from adjoint.ir.op import Op
from adjoint.ir.types import Type
from adjoint.passes.activity import differentiable
from adjoint.passes.autodiff import pullback
from adjoint.passes.errors import NoGradient

__all__ = ["read_by_gradient"]


@functools.lru_cache(4096)
def read_by_gradient(op: Op, types: tuple[Type, ...], active: tuple[bool, ...]) -> tuple[int, ...]:
    """Return the places, among the operands and then the results of a node, of the values whose numbers its gradient reads.

    types   the types of the operands
    active  for each operand, True if the gradient by it is computed

    Empty if the op has no gradient.
    """
    operands = [Value(type_, "x") for type_ in types]
    node = Builder().emit_node(op, operands)
    wanted = [x for x, by in zip(operands, active, strict=True) if by]
    outputs: Sequence[Value] = [y for y in node.results if differentiable(y.type)]
    if node.ends_gradients or not wanted or not outputs:
        return ()
    try:
        read = {*pullback("reads", [node], outputs, wanted, (True,) * len(outputs)).residuals}
    except NoGradient:
        return ()
    return tuple([place for place, value in enumerate((*operands, *node.results)) if value in read])
