"""The mean and the squares of the distances from it, by one op.

In eager mode it is one launch, and no distance is stored.  In a graph it is one node, too, until gradients are taken; then the pass
`expand` puts its steps in its place, so that they are fused with the nodes around.  Its kernel combines and rounds as the steps do: the
results have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, made, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.arithmetic import Square, Sub
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.fused import FusedKernel, ValueNumber
from adjoint.ir.ops.loops import StridedAccess, emit_fill, emit_maps, row_major
from adjoint.ir.ops.reduce import reduced_shape
from adjoint.ir.ops.sums import Mean, Sum
from adjoint.ir.types import F32, F64, FLOATS, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Moments"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

F32_23 = tensor(F32, (2, 3))


@operation
class Moments(Op):
    """The mean over `axes`, and the sum of the squares of the distances from it, computed in the dtype `to`.

    x         T[s], T a floating point type
    result    mean     to[s, the axes as 1]; NaN over nothing
              squares  to[s, the axes as 1]; 0 over nothing
    gradient  ct / n of the mean, and 2 * (x - mean) * ct of the squares, to which the distance of the mean adds nothing
    errors    TypeError: not floating point, `to` not one of f32 and f64 or narrower than T; ValueError: axes out of range or not sorted
    """

    axes: tuple[int, ...]
    to: DType = F32
    batch = batching.along_axes
    pack = "reduce"
    samples = (
        sample(F32_23, axes=(0,)),
        sample(F32_23, axes=(1,), to=F64),
        sample(F32_23, axes=(0, 1), to=F64),
        sample(F32_23, axes=()),
        sample(tensor(F32), axes=(), to=F64),
        sample(tensor(F64, (4, 3)), axes=(1,), to=F64),
        sample(tensor(F32, (2, 3, 4, 5)), axes=(1, 3), to=F64),
        sample(tensor(F32, (3, 101)), axes=(1,)),
        sample(tensor(F32, (101, 3)), axes=(0,), to=F64),
        sample(tensor(F32, (3, 0)), axes=(0,)),
        sample(tensor(F32, (0, 3)), axes=(0,), smooth=False, note="NaN: the mean of nothing"),
        sample(tensor(F32, (2, 3)), axes=(1,), to=F64, values={0: [[3e38, -3e38, 0.0], [1.0, 2.0, np.nan]]}, smooth=False,
               note="squares beyond the range of float32"),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        if not isinstance(x, TensorType) or x.dtype not in FLOATS:
            raise mistake(self, "x", "a tensor of a floating point type", x, TypeError)
        for before, axis in zip((-1, *self.axes), self.axes, strict=False):
            if not before < axis < x.rank:
                raise mistake(self, "axes", f"sorted axes in 0..{x.rank - 1}", self.axes)
        if self.to not in (F32, F64) or self.to.size < x.dtype.size:
            raise mistake(self, "to", f"Float32 or Float64, and not narrower than {x.dtype}", self.to, TypeError)
        result = tensor(self.to, reduced_shape(x.shape, self.axes, keepdims=True))
        return result, result

    def steps(self, b: Builder, x: Atom) -> Sequence[Atom]:
        """Append the nodes that compute the op, and return its results."""
        mean = b.mean(self._given(b, x), axes=self.axes, keepdims=True)
        return mean, self._squares(b, self._given(b, x), mean)  # cast twice: two kernels read x, and neither stores it in `to`

    def _given(self, b: Builder, x: Atom) -> Atom:
        return x if tensor_type(x).dtype is self.to else b.cast(x, to=self.to)

    def _squares(self, b: Builder, given: Atom, mean: Atom) -> Atom:
        return b.sum(b.square(b.sub(given, mean)), axes=self.axes, keepdims=True)

    @np.errstate(all="ignore")
    def reference(self, x: Array) -> tuple[Array, Array]:
        given = x.astype(self.to.array)
        count = np.float64(np.prod([x.shape[axis] for axis in self.axes]))
        mean = (np.sum(given, axis=self.axes, keepdims=True, dtype=np.float64) / count).astype(given.dtype)
        squares = np.sum(np.square(given - mean), axis=self.axes, keepdims=True, dtype=np.float64)
        return mean, squares.astype(given.dtype)

    def lower(self, k: Kernel, x: Buffer, mean: Buffer, squares: Buffer) -> None:
        if x.count == 0 or mean.count == 0:
            emit_fill(k, mean, np.nan)
            emit_fill(k, squares, 0.0)
            return
        if x.count == mean.count:
            outs, access = [mean, squares], StridedAccess(x, row_major(mean.shape))

            def alone(elements: list[Any]) -> list[Any]:
                value = k.let(k.cast(elements[0], self.to), "value")
                distance = k.let(value - value, "distance")
                return [value, distance * distance]

            emit_maps(k, outs, [access], alone, 1)
            return
        # Not made by a Builder, which needs types: recorded sizes cannot be in a type.
        axes = tuple(int(axis) for axis in self.axes)
        casts = () if x.dtype is self.to else ((made(Cast, self.to), (ValueNumber(0),)),)
        given = ValueNumber(len(casts))
        _kernel(1, (*casts, (made(Mean, axes, True), (given,)))).lower(k, x, mean)
        given = ValueNumber(2) if casts else ValueNumber(0)
        distance, square = (ValueNumber(2 + len(casts) + i) for i in range(2))
        steps = ((made(Sub), (given, ValueNumber(1))), (made(Square), (distance,)), (made(Sum, axes, True), (square,)))
        _kernel(2, (*casts, *steps)).lower(k, x, mean, squares)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        (x,) = node.operands
        of_mean, of_squares = cotangents
        type_ = tensor_type(x)
        wide = tensor(self.to, type_.shape)
        total = None
        if of_squares is not None:
            distance = b.sub(self._given(b, x), node.results[0])
            total = b.mul(b.broadcast(of_squares, to=wide), b.add(distance, distance))
        if of_mean is not None:
            count = b.sum(b.broadcast(b.constant(1.0, self.to), to=wide), axes=self.axes, keepdims=True)
            share = b.broadcast(b.div(of_mean, count), to=wide)
            total = share if total is None else b.add(total, share)
        assert total is not None
        return (total if type_.dtype is self.to else b.cast(total, to=type_.dtype),)


def _kernel(operands: int, steps: tuple[tuple[Op, tuple[ValueNumber, ...]], ...]) -> FusedKernel:
    """Return the op that computes the steps by one kernel, and gives the result of the last one."""
    return FusedKernel(ValueNumber(operands), steps, (ValueNumber(operands + len(steps) - 1),))
