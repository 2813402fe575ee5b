"""Checks by kernels: the kernel finds that a check fails, and the host of the node raises the exception that names the mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.ir.core import Node, tensor_type
from adjoint.ir.ops.check import Check
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Explanations", "check_step", "explained"]

Explanations = Mapping[str, Callable[..., Any]]
"""By symbol of a `check!`, the function that raises the exception for tensors that fail it."""


def explained(raised: BaseException, node: Node, operands: Sequence[Tensor], explanations: Explanations) -> BaseException:
    """Return the exception for a kernel of a node that failed with `raised` on these operands: for a check its host's."""
    explain = explanations.get(node.op.symbol) if isinstance(node.op, Check) else None
    if explain is not None:
        try:
            explain(*(operands[1:] or operands))
        except BaseException as detailed:
            return detailed
    return raised


def check_step(node: Node, operands: Sequence[int], held: Sequence[bool], explanations: Explanations) -> Step:
    """Return a step that makes a check by itself.

    operands  the positions of the node's operands
    held      for each, True if it is a tensor, else memory
    """
    types = [tensor_type(x) for x in node.operands]
    kernel = plan_for(node.op, types).for_node(node).run
    given = tuple(zip(operands, held, strict=True))

    def check(values: list[Any], run: Run) -> None:
        memories = [values[i].memory if is_tensor else values[i] for i, is_tensor in given]
        try:
            kernel(*memories)
        except Exception as raised:
            raise explained(raised, node, [*map(wrap, types, memories)], explanations) from None

    return check
