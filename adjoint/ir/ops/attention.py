"""Attention: products with a large matrix of scores, which is never stored, as one kernel.

    y: f32[8, 4096, 64] = attention carry (q: f32[8, 4096, 64] = a, k: f32[8, 4096, 64] = b, v: f32[8, 4096, 64] = c) {
      s: f32[8, 4096, 4096] = matmul(q, k, tb=true)        product   scores
      x: f32[8, 4096, 4096] = mul(s, 0.125)                row       scores that are computed of others in the same row
      p: f32[8, 4096, 4096] = softmax(x, axis=2)           row
      y: f32[8, 4096, 64] = matmul(p, v)                   rows      a result: scores times an operand
      yield y
    }

Its gradient is another such node, which computes the scores again:

      d: f32[8, 4096, 4096] = matmul(y', v, tb=true)       product
      g: f32[8, 4096, 4096] = softmax_gradient(p, d)       row
      e: f32[8, 4096, 4096] = mul(g, 0.125)                row
      q': f32[8, 4096, 64] = matmul(e, k)                  rows
      k': f32[8, 4096, 64] = matmul(e, q, ta=true)         sum       a result: a sum over all rows
      v': f32[8, 4096, 64] = matmul(p, y', ta=true)        sum

The kernel takes a block of rows at a time (`attention_blocks.py`).  It computes each element by the nodes' own C and in their order of
additions, so the results have the same bits as those of the nodes one by one.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

from adjoint.ir.core import Atom, Node, tensor_type
from adjoint.ir.op import family, mistake, operation
from adjoint.ir.ops.attention_blocks import lower_blocks
from adjoint.ir.ops.fused import Fused, FusedKernel, is_map
from adjoint.ir.ops.linalg import MatMul
from adjoint.ir.ops.random import DropoutKept
from adjoint.ir.ops.softmax import Softmax, SoftmaxGradient
from adjoint.ir.types import F32, F64, TensorType, Type

if TYPE_CHECKING:
    from adjoint.ir.core import Region
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Attention", "AttentionKernel", "Role", "role_of"]


class Role(enum.Enum):
    """What a node is in an `attention`: see the module's docstring."""

    PRODUCT = "product"
    ROW = "row"
    ROWS = "rows"
    SUM = "sum"

    @property
    def is_result(self) -> bool:
        """Return True if the node's result is not among the scores."""
        return self in (Role.ROWS, Role.SUM)


def role_of(node: Node, shape: tuple[int, ...], scores: Collection[Atom]) -> Role | None:
    """Return what a node is in an `attention` whose scores are of this shape; None if it is none of it.

    scores  the values among the node's operands that are scores
    """
    if not all(isinstance(x.type, TensorType) and x.type.is_static for x in (*node.operands, *node.results)) or len(node.results) != 1:
        return None
    op, result = node.op, tensor_type(node.result)
    if isinstance(op, DropoutKept):
        return Role.ROW if result.sizes == shape else None
    if result.dtype not in (F32, F64) or not result.count:
        return None
    held = [x in scores for x in node.operands]
    if isinstance(op, MatMul) and any(held):
        if all(held) or result.sizes[:-2] != shape[:-2] or (op.tb if op.ta else not held[0]):
            return None
        return Role.SUM if op.ta else Role.ROWS
    if result.sizes != shape:
        return None
    if isinstance(op, MatMul):
        return None if op.ta else Role.PRODUCT
    if isinstance(op, (Softmax, SoftmaxGradient)):
        return Role.ROW if all(held) and op.axis == result.rank - 1 else None
    return Role.ROW if is_map(node) and not getattr(op, "aliases", False) else None


@operation
class Attention(Fused):
    """Products with scores that are not stored: `y: f32[4, 2] = attention carry (a: f32[4, 2] = q, ...) { ... yield y1 }`.

    It computes what its region computes, to the bit.

    operands  tensors
    region    parameters: the operands, and it sees nothing else; nodes: scores of one shape [.., m, n] and dtype, float32 or float64, that
              are matrix products of parameters, elementwise ops, or softmax or its gradient along n; which of them dropout keeps; and
              matrix products of scores and parameters, [.., m, n] @ [.., n, d], or over all rows, [.., n, m] @ [.., m, d] or
              [.., d, m] @ [.., m, n]; yields these
    result    what the region yields
    gradient  that of the nodes which the pass `inline` puts in its place
    errors    TypeError when the parameters do not have the operands' types; ValueError when the region holds other nodes
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        body = self.closed(operands, regions)
        first = next((node for node in body.nodes if isinstance(node.op, MatMul)), None)
        if first is None:
            raise mistake(self, "region", "a matrix product that gives scores", f"{len(body.nodes)} other nodes")
        shape, dtype = tensor_type(first.result).sizes, tensor_type(first.result).dtype
        scores: set[Atom] = set()
        results: set[Atom] = set()
        for node in body.nodes:
            role = role_of(node, shape, scores)
            fits = tensor_type(node.result).dtype is dtype or isinstance(node.op, DropoutKept)
            if role is None or not fits or not results.isdisjoint(node.operands):
                raise mistake(self, "region", f"scores of {dtype}{list(shape)}, and products with them", node.op.name)
            (results if role.is_result else scores).update(node.results)
        if set(body.results) != results or len(body.results) != len(results) or not results:
            raise mistake(self, "region", "one that yields each product with scores, and nothing else", f"{len(body.results)} results")
        return tuple(atom.type for atom in body.results)

    def kernel(self, region: Region) -> AttentionKernel:
        return AttentionKernel.of(region)


@family
class AttentionKernel(FusedKernel):
    """The region of an `attention` as an op without regions: see `FusedKernel`."""

    name: ClassVar[str] = "attention"

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        operands, outs = buffers[: self.operands], buffers[self.operands :]
        lower_blocks(self, k, operands, outs, self.types([buffer.type for buffer in operands]))
