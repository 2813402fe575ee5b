"""Checks by kernels.

A kernel detects that a check of numbers fails.  Python then calls the host of the node: a function that raises the exception with the
description of the mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.ir.core import Node, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.check import Check
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Explanations", "check_step", "explained"]

Explanations = Mapping[str, Callable[..., Any]]
"""For each symbol of a `check!`, the function that raises the exception for tensors that fail the check.  It is called with the op, whose
bounds are numbers, and the tensors."""


def explained(raised: BaseException, op: Op, operands: Sequence[Tensor], explanations: Explanations) -> BaseException:
    """Return the exception for a kernel that failed on these operands.

    raised        the exception that the kernel's status stands for
    op            the op of the kernel, with numbers as sizes
    explanations  the functions that raise the exceptions of checks, by symbol

    For a check with such a function, the result is the exception that the function raises; otherwise it is `raised`.
    """
    explain = explanations.get(op.symbol) if isinstance(op, Check) else None
    if explain is not None:
        try:
            explain(op, *(operands[1:] or operands))
        except BaseException as detailed:
            return detailed
    return raised


def check_step(node: Node, operands: Sequence[int], held: Sequence[bool], explanations: Explanations) -> Step:
    """Return a step that runs one check by a call of its kernel from Python, not as a part of a longer C call.  The step raises the
    exception of the check if it fails.

    operands  the positions (indices in the list of values) of the node's operands
    held      for each operand, True if it is a tensor, False if it is bare memory
    explanations  the functions that raise the exceptions of checks, by symbol
    """
    types = [tensor_type(x) for x in node.operands]
    kernel = plan_for(node.op, types).for_node(node).run
    given = tuple(zip(operands, held, strict=True))

    def check(values: list[Any], run: Run) -> None:
        memories = [values[i].memory if is_tensor else values[i] for i, is_tensor in given]
        try:
            kernel(*memories)
        except Exception as raised:
            raise explained(raised, node.op, [*map(wrap, types, memories)], explanations) from None

    return check
