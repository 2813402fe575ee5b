"""The gradient of the weight that a recurrent layer multiplies its state by: one product over a whole sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, mistyped, operation, sample
from adjoint.ir.ops.batching import for_all
from adjoint.ir.ops.linalg import PRODUCTS_PER_THREAD, UNIT_ROWS
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD
from adjoint.ir.ops.recurrent import vjp_of_parts
from adjoint.ir.types import F32, Dim, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = Any

__all__ = ["RecurrentWeightGradient"]


@operation
class RecurrentWeightGradient(Op):
    """The gradient of the weight of a recurrent layer: the sum over all steps and sequences of d_p h^T, where h is the state before.

    operands d       T[s, n, g], T a floating point type, s at least 1: the cotangents of the products with the state
             h       T[n, h], the state before the first step
             states  T[s, n, h], that after each step
             last    T[s, n, h], which stands for the last h columns of d; or no such operand
    result   T[g, h]: the product over all steps but the first, and that of the first one
    gradient that of its composition
    errors   TypeError: d not floating point; ValueError: types that do not fit, no step
    """

    reverse: bool = False
    variadic = True
    samples = tuple(sample(*(tensor(F32, shape) for shape in ((s, n, 9), (n, 3), (s, n, 3), *((s, n, 3),) * last)), reverse=reverse)
                    for s, n, last, reverse in ((3, 2, 0, False), (4, 3, 1, True), (1, 5, 1, False), (2, 0, 0, True)))

    def infer(self, *operands: Any) -> TensorType:
        if not 3 <= len(operands) <= 4:
            raise mistake(self, "operands", "d, h, states and perhaps last", f"{len(operands)} operands")
        d, h = operands[:2]
        if not isinstance(d, TensorType) or not d.dtype.is_float:
            raise mistake(self, "d", "a tensor of floating point numbers", d, TypeError)
        if d.rank != 3 or d.shape[0] == 0:
            raise mistake(self, "d", "of shape [s, n, g] with at least one step", d)
        if not isinstance(h, TensorType) or h.dtype is not d.dtype:
            raise mistake(self, "h", f"of dtype {d.dtype}, as 'd'", h, TypeError)
        if h.rank != 2 or h.shape[0] != d.shape[1]:
            raise mistake(self, "h", f"of shape [{d.shape[1]}, h]", h)
        expected = tensor(d.dtype, (*d.shape[:2], h.shape[1]))
        for name, operand in zip(("states", "last"), operands[2:], strict=False):
            if operand is not expected:
                raise mistyped(self, name, expected, operand)
        return tensor(d.dtype, (d.shape[2], h.shape[1]))

    def reference(self, d: Array, h: Array, states: Array, *last: Array) -> Array:
        before = np.concatenate((states[1:], h[None]) if self.reverse else (h[None], states[:-1]))
        if last:
            d = np.concatenate((d[:, :, : -h.shape[1]], *last), axis=2)
        return np.tensordot(d, before, ((0, 1), (0, 1))).astype(d.dtype)

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        *operands, out = buffers
        (steps, rows, gates), width, dtype = operands[0].shape, operands[1].shape[1], out.dtype.compute
        plain = k.takes_plain_form(steps * rows * gates * width)
        total = out
        if dtype is not out.dtype:
            wide = [k.scratch(dtype, buffer.count, f"wide_{buffer.name}") for buffer in buffers]
            for buffer, widened in zip(operands, wide, strict=False):
                with k.stage(buffer.count, ELEMENTS_PER_THREAD) as i:
                    k.store(widened, i, buffer[i])
            *operands, total = wide
        d, h, states, *last = operands
        first = k.scratch(dtype, gates * width, "first")
        n, inner, others, after, begins, skipped = (k.size(value, name) for value, name in (
            (width, "n"), (rows, "k"), ((steps - 1) * rows, "others"), (0 if self.reverse else rows, "after"),
            ((steps - 1) * rows if self.reverse else 0, "begins"), (rows if self.reverse else 0, "skipped")))
        name = f"adjoint_{'plain_product' if plain else 'matmul'}_{dtype.name}"
        # The rows of the result that are columns of `d`; those of `last` are computed after them, since a unit may go too far.
        for source, columns, used, offset in ((d, gates, gates - width * len(last), 0), *((x, width, width, gates - width) for x in last)):
            m, until, to = k.size(columns, "m"), k.size(used, "used"), k.size(offset * width, "to")
            units = -(-used // UNIT_ROWS)
            with k.stage_range(units, max(1, PRODUCTS_PER_THREAD * units // max(1, steps * rows * used * width))) as (begin, end):
                top, bottom = k.let(begin * UNIT_ROWS, "top"), k.let(k.minimum_of(end * UNIT_ROWS, until), "bottom")
                share = (top, bottom) if plain else (0, UNIT_ROWS, begin, end)
                k.run(name, source.at(after * m), states.at(skipped * n), total.at(to), m, n, others, 1, 0, *share)
                k.run(name, source.at(begins * m), h, first.at(to), m, n, inner, 1, 0, *share)
                with k.loop(top * n, bottom * n, "e") as e:
                    k.store(out, to + e, total[to + e] + first[to + e])

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        """Products of matrices, one for each example, of the parts that the op multiplies."""
        d, h, states, *last = for_all(b, operands, mapped, size)
        if not tensor_type(d).is_static:
            return None
        (count, steps, rows, gates), width = tensor_type(d).sizes, tensor_type(h).sizes[2]

        def part(x: Atom, first: int, stop: int, columns: int) -> Atom:
            taken = b.slice(x, start=(0, first, 0, 0), stop=(count, stop, rows, columns), step=(1, 1, 1, 1))
            return b.reshape(taken, to=tensor_type(x).with_shape((count, (stop - first) * rows, columns)))

        if last:
            d = b.concat(b.slice(d, start=(0, 0, 0, 0), stop=(count, steps, rows, gates - width), step=(1, 1, 1, 1)), *last, axis=3)
        at, low = (steps - 1, 0) if self.reverse else (0, 1)
        first = b.matmul(part(d, at, at + 1, gates), h, ta=True, tb=False)
        if steps == 1:
            return [b.add(b.zeros(tensor_type(first)), first)]
        others = b.matmul(part(d, low, steps - 1 + low, gates), part(states, 1 - low, steps - low, width), ta=True, tb=False)
        return [b.add(others, first)]

    def nodes(self, b: Builder, d: Atom, h: Atom, states: Atom, *last: Atom) -> tuple[Atom]:
        """Return the result expressed by other ops."""
        (steps, rows, width), gates = tensor_type(states).sizes, tensor_type(d).sizes[2]
        before = b.reshape(h, to=tensor_type(h).with_shape((1, rows, width)))
        if steps > 1:
            low = 1 if self.reverse else 0
            others = b.slice(states, start=(low, 0, 0), stop=(steps - 1 + low, rows, width), step=(1, 1, 1))
            before = b.concat(*((others, before) if self.reverse else (before, others)), axis=0)
        if last:
            d = b.concat(b.slice(d, start=(0, 0, 0), stop=(steps, rows, gates - width), step=(1, 1, 1)), *last, axis=2)
        left, right = (b.reshape(x, to=tensor_type(x).with_shape((steps * rows, tensor_type(x).sizes[2]))) for x in (d, before))
        return (b.matmul(left, right, ta=True, tb=False),)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return vjp_of_parts(b, self.nodes, node.operands, cotangents)
