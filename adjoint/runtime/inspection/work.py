"""How much work an operator is: the operations that it computes, and the bytes that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient, ConvolutionWeightGradient, MatMul
from adjoint.ir.ops.scatter import AddRow, SetRow
from adjoint.ir.ops.shape import Slice
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.watching import Observation

__all__ = ["bytes_of", "operations_of"]


def operations_of(launched: Observation) -> int:
    """Return the multiplications and additions of a product or convolution; 0 for another operator."""
    op, operands, results = launched.op, launched.operand_types, launched.result_types
    if isinstance(op, MatMul):
        return 2 * results[0].count * operands[0].sizes[-2 if op.ta else -1]
    filters: Callable[[Any], int] = lambda type_: type_.count // max(type_.sizes[0], 1)  # noqa: E731 - multiplications for one position
    if isinstance(op, Convolution):
        return 2 * results[0].count * filters(operands[1])
    if isinstance(op, ConvolutionInputGradient):
        return 2 * operands[0].count * filters(operands[1])
    if isinstance(op, ConvolutionWeightGradient):
        return 2 * operands[1].count * filters(results[0])
    return 0


def bytes_of(launched: Observation) -> int:
    """Return the bytes of an operator's operands and results; of an operand of which it takes a part, such as rows of a table, of that
    part.
    """
    operands, results = launched.operand_types, launched.result_types
    if isinstance(launched.op, (AddRow, SetRow)):  # in place but for the first one of a loop
        return sum(type_.nbytes for type_ in operands[1:]) + operands[2].nbytes * (2 if isinstance(launched.op, AddRow) else 1)
    if launched.node is not None and isinstance(launched.node.op, Fused):
        read = _read_by_fused(launched.node, operands)
    else:
        read = [_taken(launched.op, i, type_, results) for i, type_ in enumerate(operands)]
    return sum(read) + sum(type_.nbytes for type_ in results)


def _taken(op: Op | None, position: int, type_: TensorType, results: Sequence[TensorType]) -> int:
    """Return how many bytes of an operand an operator reads."""
    parts = isinstance(op, (Gather, Slice)) and position == 0
    return min(type_.nbytes, results[0].nbytes) if parts else type_.nbytes


def _read_by_fused(node: Node, operands: Sequence[TensorType]) -> list[int]:
    """Return for each operand of a fused node how many bytes of it the node reads."""
    (region,) = node.regions
    read = dict.fromkeys(region.params, 0)
    for inner in region.nodes:
        for position, x in enumerate(inner.operands):
            if x in read:
                types: list[Any] = [value.type for value in inner.results]
                read[x] += _taken(inner.op, position, operands[region.params.index(x)], types)
    return [min(read[param] or type_.nbytes, type_.nbytes) for param, type_ in zip(region.params, operands, strict=True)]
