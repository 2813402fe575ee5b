"""Rules of `batch` for normalisation, where scales or statistics differ from example to example.

Batch normalisation treats each channel by itself: the channels of all examples are the channels of one batch.  A kernel of layer
normalisation has one scale for all rows, so what needs the scale of an example is computed by elementwise ops and sums.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.ir.core import tensor_type
from adjoint.ir.ops.batching import for_all, in_rows, padded
from adjoint.ir.types import DType

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.op import Op
    from adjoint.ir.types import Dim

__all__ = ["in_channels", "layer_norm", "layer_norm_gradient"]


def in_channels(self: Op, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom]:
    """The rule of batch normalisation [n, c, ...]: the channels of all examples are the channels of one batch."""
    axes, results = ([0 if tensor_type(x).rank == 1 else 1 for x in values] for values in (node.operands, node.results))
    return in_rows(self, b, for_all(b, operands, mapped, size), axes, size, node, results)


def layer_norm(self: Any, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom]:
    """The rule of layer normalisation; `self` normalises all examples.

    With a scale for each example the op gives the statistics, of which the result is computed as it does.
    """
    x, gamma, beta = operands
    if not any(mapped[1:]):
        return b.emit_node(self, operands).results
    x, own = for_all(b, [x], mapped[:1], size)[0], [tensor_type(atom) for atom in node.operands]
    _, mean, rstd = b.emit_node(self, [x, b.constant(1.0, own[1]), b.zeros(own[2])]).results
    compute = own[0].dtype.compute
    wide, scale, shift = (_cast(b, atom, compute) for atom in (x, gamma, beta))
    scale, shift = (padded(b, atom, own[0].rank) if is_mapped else atom for atom, is_mapped in zip((scale, shift), mapped[1:], strict=True))
    y = b.add(b.mul(b.mul(b.sub(wide, mean), rstd), scale), shift)
    return [_cast(b, y, own[0].dtype), mean, rstd]


def layer_norm_gradient(self: Any, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom]:
    """The rule of the gradient of layer normalisation: the cotangents of scale and shift are sums over the rows of an example."""
    own = [tensor_type(atom) for atom in node.operands]
    x, gamma, mean, rstd, ct = [*for_all(b, operands[:1], mapped[:1], size), operands[1], *for_all(b, operands[2:], mapped[2:], size)]
    compute, dtype, rank = own[0].dtype.compute, own[0].dtype, own[0].rank
    scaled = ct
    if mapped[1]:
        scaled = _cast(b, b.mul(_cast(b, ct, compute), padded(b, _cast(b, gamma, compute), rank)), dtype)
        gamma = b.constant(1.0, own[1])
    x_ct, _, _ = b.emit_node(dataclasses.replace(self, begin=self.begin + 1), [x, gamma, mean, rstd, scaled]).results
    wide = _cast(b, ct, compute)
    z = b.mul(b.sub(_cast(b, x, compute), mean), rstd)
    rows = tuple(range(1, self.begin + 1))
    sums = [b.sum(each, axes=rows) if rows else each for each in (b.mul(wide, z), wide)]
    return [x_ct, *(_cast(b, each, dtype) for each in sums)]


def _cast(b: Builder, x: Atom, dtype: DType) -> Atom:
    return x if tensor_type(x).dtype is dtype else b.cast(x, to=dtype)
