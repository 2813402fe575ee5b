"""Ops whose results have a size that values decide: the places of the elements that are not 0, and the numbers up to one that is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, family, mistake, operation, sample
from adjoint.ir.ops.loops import advance, row_counters
from adjoint.ir.ops.shape import check_tensor
from adjoint.ir.types import BOOL, F16, F32, F64, I32, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Value
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]


@family
class CountedOp(Op):
    """Gives a tensor whose first size is a number that its operand decides.

    The type of the result, `to`, says what the number is; the op fails if it is another one.  If `size` is not empty, values decide the
    number when a graph runs: the graph is split before the node, its first part computes the number, and in the second part the number
    stands in place of the named size `size`.
    """

    to: TensorType
    size: str = ""

    @staticmethod
    def count(b: Builder, x: Atom) -> Value:
        """Add the nodes that compute the number, i64, of the operand."""
        raise NotImplementedError


@operation
class NonZero(CountedOp):
    """The coordinates of the elements that are not 0, in their order; NaN is not 0.

    x         T[s]
    result    to, i64[the number of elements that are not 0, the number of axes of x]
    gradient  none
    errors    TypeError: not a tensor; ValueError: `to` is of another type; ValueError when run: x has another number of such elements
    """

    samples = (
        sample(tensor(F32, (2, 3)), values={0: [[0.0, 2.0, -0.0], [np.nan, 0.0, -1.0]]}, to=tensor(I64, (3, 2)), smooth=False),
        sample(tensor(BOOL, (5,)), values={0: [True, False, True, True, False]}, to=tensor(I64, (3, 1)), smooth=False),
        sample(tensor(I32, (2, 1, 2)), values={0: [[[0, 3]], [[-1, 0]]]}, to=tensor(I64, (2, 3)), smooth=False),
        sample(tensor(F64, (4,)), values={0: [0.0, 0.0, 0.0, 0.0]}, to=tensor(I64, (0, 1)), smooth=False, note="none"),
        sample(tensor(F16, (3,)), values={0: [1.0, 0.0, 2.0]}, to=tensor(I64, (2, 1)), smooth=False, note="half floats"),
        sample(tensor(F32), values={0: 2.0}, to=tensor(I64, (1, 0)), smooth=False, note="one number"),
        sample(tensor(F32, (0, 3)), to=tensor(I64, (0, 2)), smooth=False),
    )

    @staticmethod
    def count(b: Builder, x: Atom) -> Value:
        chosen = x if tensor_type(x).dtype is BOOL else b.cast(x, to=BOOL)
        return b.sum(b.cast(chosen, to=I64), axes=tuple(range(tensor_type(x).rank)))

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        if self.to.dtype is not I64 or self.to.rank != 2 or self.to.shape[1] != x.rank:
            raise mistake(self, "to", f"i64[.., {x.rank}]", self.to)
        return self.to

    def reference(self, x: Array) -> Array:
        found = np.argwhere(x) if x.ndim else np.zeros((int(x != 0), 0), np.int64)
        if len(found) != self.to.sizes[0]:
            raise mistake(self, "x", f"{self.to.sizes[0]} elements that are not 0", len(found))
        return found

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        count = k.size(out.shape[0], "count")
        sizes = [k.size(size, f"n{axis}") for axis, size in enumerate(x.shape)] if x.rank > 1 else []
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            found = k.local(0, "found", I64)
            counters = row_counters(k, k.literal(0, I64), sizes)
            with k.loop(0, k.size(x.count, "n"), "i") as i:
                with k.when(k.not_equal(x[i], k.literal(0, x.dtype.compute))):
                    with k.when(k.less(found, count)):
                        for axis, place in enumerate(counters or ([i] if x.rank else [])):
                            k.store(out, found * x.rank + axis, place)
                    k.increment(found, 1)
                advance(k, counters, sizes)
            with k.when(k.not_equal(found, count)):
                k.fail(1)

    def failure(self, status: int) -> Exception:
        return mistake(self, "x", f"{self.to.sizes[0]} elements that are not 0", "another number")


@operation
class UpTo(CountedOp):
    """The numbers 0, 1, ... below n.

    n         i64
    result    to, i64[n]; none if n is negative
    gradient  none
    errors    TypeError: n is not an i64 without axes; ValueError: `to` is of another type; ValueError when run: n is another number
    """

    samples = (
        sample(tensor(I64), values={0: 5}, to=tensor(I64, (5,)), smooth=False),
        sample(tensor(I64), values={0: 1}, to=tensor(I64, (1,)), smooth=False),
        sample(tensor(I64), values={0: 0}, to=tensor(I64, (0,)), smooth=False, note="none"),
        sample(tensor(I64), values={0: -3}, to=tensor(I64, (0,)), smooth=False, note="negative"),
    )

    @staticmethod
    def count(b: Builder, x: Atom) -> Value:
        return b.maximum(x, b.constant(0, I64))

    def infer(self, n: Any) -> TensorType:
        check_tensor(self, "n", n)
        if n.dtype is not I64 or n.rank:
            raise mistake(self, "n", "i64", n, TypeError)
        if self.to.dtype is not I64 or self.to.rank != 1:
            raise mistake(self, "to", "i64[..]", self.to)
        return self.to

    def reference(self, n: Array) -> Array:
        if max(int(n), 0) != self.to.sizes[0]:
            raise mistake(self, "n", str(self.to.sizes[0]), int(n))
        return np.arange(self.to.sizes[0])

    def lower(self, k: Kernel, n: Buffer, out: Buffer) -> None:
        count = k.size(out.shape[0], "count")
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            with k.loop(0, count, "i") as i:
                k.store(out, i, i)
            found = k.let(n[0], "found")
            with k.when(k.not_equal(k.select(k.less(found, 0), k.literal(0, I64), found), count)):
                k.fail(1)

    def failure(self, status: int) -> Exception:
        return mistake(self, "n", str(self.to.sizes[0]), "another number")
