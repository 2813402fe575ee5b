"""Scatter other than by addition: elements at given indices are replaced, compared, multiplied or divided.  One slice replaced or added."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.arithmetic import Div, Mul
from adjoint.ir.ops.indexing import COLUMNS, check_range, emit_place
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD, grain_of
from adjoint.ir.ops.shape import check_axis, check_tensor
from adjoint.ir.types import BOOL, F32, I32, I64, Dim, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = ["AddRow", "Scatter", "SetRow"]

KINDS = ("update", "max", "min", "mul", "div")


@operation
class Scatter(Op):
    """`x` with each slice of `updates` written along axis 0 at its index, one after the other.

    kind      "update": the element is replaced, so that the last of several updates remains; "max", "min": it is replaced if the update is
              larger, or smaller; "mul", "div": it is multiplied with the update, or divided by it; integers are divided toward zero, and
              divided by 0 they become 0
    x         T[n, s]
    indices   I[k], I an integer type; a negative index counts from the end
    updates   T[k, s]
    result    T[n, s]
    gradient  ct to the element that became the result; at a tie of max or min equal shares to all tied elements; for products and
              quotients that of the formula, NaN for a product of several updates of which one is 0; none for the indices
    errors    TypeError: indices are not integers, another kind than update of bools; ValueError: another kind, shapes do not fit;
              IndexError when run: an index is out of range
    """

    kind: str
    in_place: ClassVar[Mapping[int, int]] = {0: 0}
    samples = (
        sample(tensor(F32, (3, 2)), tensor(I32, (4,)), tensor(F32, (4, 2)), values={1: [0, 2, 2, -1]}, kind="update"),
        sample(tensor(F32, (5,)), tensor(I64, (3,)), tensor(F32, (3,)), values={1: [4, 0, 4]}, kind="max"),
        sample(tensor(F32, (2, 70)), tensor(I32, (3,)), tensor(F32, (3, 70)), values={1: [1, 0, -1]}, kind="min"),
        sample(tensor(F32, (3,)), tensor(I32, (3,)), tensor(F32, (3,)), values={0: [1, 2, 3], 1: [0, 0, 1], 2: [1, 1, -0.0]}, kind="max",
               smooth=False, note="ties"),
        sample(tensor(F32, (3, 2)), tensor(I32, (4,)), tensor(F32, (4, 2)), values={1: [0, 2, 2, -1]}, domain=(-2.0, 2.0), kind="mul"),
        sample(tensor(F32, (3, 2)), tensor(I32, (3,)), tensor(F32, (3, 2)), values={1: [0, 2, 2]},
               domain=((-2.0, 2.0), (0.0, 1.0), (0.5, 2.0)), kind="div"),
        sample(tensor(I32, (4,)), tensor(I32, (4,)), tensor(I32, (4,)), values={0: [7, -7, 5, 6], 1: [0, 1, 2, 3], 2: [2, 2, 0, -1]},
               kind="div", smooth=False, note="integers"),
        sample(tensor(F32, (2, 3)), tensor(I32, (0,)), tensor(F32, (0, 3)), kind="update"),
        sample(tensor(BOOL, (3,)), tensor(I32, (2,)), tensor(BOOL, (2,)), values={1: [0, 0]}, kind="update", smooth=False, note="bools"),
    )

    def infer(self, x: Any, indices: Any, updates: Any) -> TensorType:
        check_tensor(self, "x", x)
        if self.kind not in KINDS:
            raise mistake(self, "kind", f"one of {', '.join(KINDS)}", self.kind)
        if not isinstance(indices, TensorType) or not indices.dtype.is_integer:
            raise mistake(self, "indices", "a tensor of an integer type", indices, TypeError)
        if x.rank == 0 or indices.rank != 1:
            raise mistake(self, "indices", "of 1 dimension, for a tensor of at least 1", indices)
        if x.dtype is BOOL and self.kind != "update":
            raise mistake(self, "x", "a tensor of numbers", x, TypeError)
        if x.dtype.is_complex and self.kind in ("max", "min"):
            raise mistake(self, "x", "a tensor of a dtype with an order, which complex ones have not", x, TypeError)
        if updates is not x.with_shape((indices.shape[0], *x.shape[1:])):
            raise mistake(self, "updates", f"one slice of the shape of {x} for each index", updates)
        return x

    def reference(self, x: Array, indices: Array, updates: Array) -> Array:
        check_range(self, indices, x.shape[0])
        out = np.array(x)
        for index, update in zip(indices, updates, strict=True):
            out[index] = self.together(out[index], update)
        return out

    def together(self, here: Array, update: Array) -> Array:
        """Return an element combined with an update."""
        if self.kind == "update":
            return update
        if self.kind == "mul":
            return Mul().reference(here, update)
        if self.kind == "div":
            if here.dtype.kind == "c":
                return Div().reference(here, update)
            if here.dtype.kind == "f":
                return here / update
            divisor = np.where(update == 0, 1, update)
            whole = here // divisor
            return np.where(update == 0, 0, whole + ((whole < 0) & (whole * divisor != here)))
        return np.where(update > here if self.kind == "max" else update < here, update, here)

    def lower(self, k: Kernel, x: Buffer, indices: Buffer, updates: Buffer, out: Buffer) -> None:
        inner = math.prod(x.shape[1:])
        with k.stage_range(out.count, ELEMENTS_PER_THREAD) as (begin, end):
            k.run("adjoint_keep", x.at(begin), out.at(begin), (end - begin) * x.dtype.size)
        n, m, count = k.size(x.shape[0], "n"), k.size(inner, "m"), k.size(indices.count, "count")
        with k.stage(-(-inner // COLUMNS), grain_of(indices.count * min(inner, COLUMNS)), "unit") as unit:
            first = k.let(unit * COLUMNS, "first")
            last = k.let(k.minimum_of(first + COLUMNS, m), "last")
            with k.loop(0, count, "i") as i:
                target = k.let(emit_place(k, indices, i, n) * m, "target")
                with k.loop(first, last, "j") as j:
                    update = k.let(updates[i * m + j], "update")
                    if self.kind != "update":
                        update = self.met(k, k.let(out[target + j], "here"), update)
                    k.store(out, target + j, update)

    def met(self, k: Kernel, here: Expr, update: Expr) -> Expr:
        """Return `together` in C."""
        if self.kind == "mul":
            return here * update
        if self.kind == "div":
            if not here.dtype.is_integer:
                return here / update
            # The C code does not divide by -1 either: that overflows for the least integer.
            signed = here.dtype.kind != "u"
            plain = k.both(k.not_equal(update, 0), k.not_equal(update, -1)) if signed else k.not_equal(update, 0)
            quotient = here / k.let(k.select(plain, update, 1), "divisor")
            if signed:
                quotient = k.select(k.equal(update, -1), -here, quotient)
            return k.select(k.equal(update, 0), 0, quotient)
        beyond = k.greater(update, here) if self.kind == "max" else k.less(update, here)
        return k.select(beyond, update, here)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        length = tensor_type(node.operands[0]).shape[0]
        if not isinstance(length, int):
            return None
        x, updates = batching.for_all(b, operands[::2], mapped[::2], size)
        places = batching.merged(b, batching.rows_of_one(b, operands[1], mapped[1], size, (), length))
        made = b.scatter(batching.merged(b, x), places, batching.merged(b, updates), kind=self.kind)
        return [b.reshape(made, to=tensor_type(x))]

    def failure(self, status: int) -> Exception:
        return mistake(self, "indices", "in range along axis 0", "an index out of range", IndexError)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        x, indices, updates = node.operands
        have, new = tensor_type(x), tensor_type(updates)
        if self.kind == "update":
            # The indices of the updates, scattered in the same way, tell which update remains; -1, where x remains.
            rows = have.with_dtype(I64).with_shape((have.shape[0],))
            numbers = b.iota(to=tensor(I64, (new.shape[0],)), axis=0)
            owner = b.scatter(b.constant(-1, rows), indices, numbers, kind="update")
            kept = b.equal(owner, b.constant(-1, I64))
            won = b.equal(b.gather(owner, indices, axis=0), numbers)
            return (b.select(_along(b, kept, have), ct, b.zeros(have)), None,
                    b.select(_along(b, won, new), b.gather(ct, indices, axis=0), b.zeros(new)))
        if self.kind == "mul":
            # The product of the other updates of an element: the result divided by this one, or 1 if there is no other.
            ones, none = b.constant(1, tensor(I64, (new.shape[0],))), b.zeros(tensor(I64, (have.shape[0],)))
            times = b.gather(b.scatter_add(none, indices, ones, axis=0), indices, axis=0)
            alone = _along(b, b.equal(times, b.constant(1, I64)), new)
            divisor = b.select(alone, b.constant(1.0, new), updates)
            others = b.select(alone, b.gather(x, indices, axis=0), b.div(b.gather(node.result, indices, axis=0), divisor))
            factor = b.scatter(b.constant(1.0, have), indices, updates, kind="mul")
            return b.mul(ct, b.conj(factor)), None, b.mul(b.gather(ct, indices, axis=0), b.conj(others))
        if self.kind == "div":
            by_x = b.scatter(ct, indices, b.conj(updates), kind="div")
            change = b.gather(b.mul(ct, b.conj(node.result)), indices, axis=0)
            return by_x, None, b.neg(b.div(change, b.conj(updates)))
        mine = b.cast(b.equal(x, node.result), to=have.dtype)
        theirs = b.cast(b.equal(updates, b.gather(node.result, indices, axis=0)), to=have.dtype)
        share = b.div(ct, b.scatter_add(mine, indices, theirs, axis=0))
        return b.mul(share, mine), None, b.mul(b.gather(share, indices, axis=0), theirs)


def _along(b: Builder, rows: Atom, to: TensorType) -> Atom:
    """Return a bool for each slice as one for each of its elements."""
    return b.broadcast(b.reshape(rows, to=tensor(BOOL, (to.shape[0], *(1,) * (to.rank - 1)))), to=to.with_dtype(BOOL))


class _Row(Op):
    """An op on one slice of `x` along `axis`, in the memory of `x` where nothing else needs it."""

    axis: int
    in_place: ClassVar[Mapping[int, int]] = {0: 0}

    def infer(self, x: Any, index: Any, row: Any) -> TensorType:
        check_tensor(self, "x", x)
        if not isinstance(index, TensorType) or not index.dtype.is_integer:
            raise mistake(self, "index", "an integer", index, TypeError)
        if x.rank == 0 or index.rank:
            raise mistake(self, "index", "of no dimension, for a tensor of at least 1", index)
        check_axis(self, self.axis, x.rank)
        if row is not x.with_shape((*x.shape[: self.axis], *x.shape[self.axis + 1 :])):
            raise mistake(self, "row", f"one slice of {x} along axis {self.axis}", row)
        return x

    def lower(self, k: Kernel, x: Buffer, index: Buffer, row: Buffer, out: Buffer) -> None:
        outer = math.prod(x.shape[: self.axis])
        n, m = k.size(x.shape[self.axis], "n"), k.size(math.prod(x.shape[self.axis + 1 :]), "m")
        with k.stage_range(out.count, ELEMENTS_PER_THREAD) as (begin, end):
            k.run("adjoint_keep", x.at(begin), out.at(begin), (end - begin) * x.dtype.size)
        if self.axis == 0:
            with k.stage_range(1, 1):
                target = k.let(emit_place(k, index, 0, n) * m, "target")
                with k.loop(0, m, "j") as j:
                    self.put(k, out, target + j, row[j])
            return
        with k.stage(outer, grain_of(x.count // max(1, outer * x.shape[self.axis])), "o") as o:
            target = k.let((o * n + emit_place(k, index, 0, n)) * m, "target")
            with k.loop(0, m, "j") as j:
                self.put(k, out, target + j, row[o * m + j])

    def put(self, k: Kernel, out: Buffer, at: Any, value: Any) -> None:
        """Emit what becomes of the element of the slice at `at`; `value` is that of the row."""
        raise NotImplementedError(f"{type(self).__name__}.put")

    def failure(self, status: int) -> Exception:
        return mistake(self, "index", f"in range along axis {self.axis}", "an index out of range", IndexError)


@operation
class SetRow(_Row):
    """`x` with one slice along `axis` replaced.  It is computed in the memory of `x` where nothing else needs `x`.

    x         T[s]
    index     I, an integer type, of no dimension; a negative one counts from the end
    row       T[s without axis]
    result    T[s]
    gradient  ct with zeros in the place of the slice for x, the slice of ct for row; none for the index
    errors    TypeError: the index is not an integer; ValueError: shapes do not fit; IndexError when run: the index is out of range
    """

    axis: int = 0
    samples = (
        sample(tensor(F32, (3, 2)), tensor(I64), tensor(F32, (2,)), values={1: 1}),
        sample(tensor(F32, (3,)), tensor(I32), tensor(F32), values={1: -1}),
        sample(tensor(F32, (2, 3, 70)), tensor(I64), tensor(F32, (3, 70)), values={1: -2}),
        sample(tensor(F32, (3, 0)), tensor(I64), tensor(F32, (0,)), values={1: 0}),
        sample(tensor(F32, (2, 3, 5)), tensor(I64), tensor(F32, (2, 5)), values={1: -2}, axis=1),
        sample(tensor(BOOL, (3, 2)), tensor(I64), tensor(BOOL, (2,)), values={1: 2}, smooth=False, note="bools"),
    )

    def reference(self, x: Array, index: Array, row: Array) -> Array:
        check_range(self, index, x.shape[self.axis])
        out = np.array(x)
        out[(slice(None),) * self.axis + (index,)] = row
        return out

    def put(self, k: Kernel, out: Buffer, at: Any, value: Any) -> None:
        k.store(out, at, value)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        x, row = batching.for_all(b, operands[::2], mapped[::2], size)
        if not mapped[1]:
            return [b.set_row(x, operands[1], row, axis=self.axis + 1)]
        one = tensor_type(node.operands[0])
        length = one.shape[self.axis]
        if not isinstance(length, int):
            return None
        outer = one.shape[: self.axis]
        places = b.reshape(batching.rows_of_one(b, operands[1], True, size, outer, length),
                           to=tensor(I64, tensor_type(batching.rows_of_all(b.inner(), row, self.axis)).shape[:1]))
        made = b.scatter(batching.rows_of_all(b, x, self.axis + 1), places, batching.rows_of_all(b, row, self.axis), kind="update")
        return [b.reshape(made, to=tensor_type(x))]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        _, index, row = node.operands
        taken = b.gather(ct, index, axis=self.axis)  # first, so that the row may be replaced in the memory of ct
        return b.set_row(ct, index, b.zeros(tensor_type(row)), axis=self.axis), None, taken


@operation
class AddRow(_Row):
    """`x` with a row added to one slice along `axis`.  It is computed in the memory of `x` where nothing else needs `x`.

    x         T[s], T any dtype but bool
    index     I, an integer type, of no dimension; a negative one counts from the end
    row       T[s without axis]
    result    T[s]
    gradient  ct for x, the slice of ct for row; none for the index
    errors    TypeError: the index is not an integer, x is bool; ValueError: shapes do not fit; IndexError when run: the index is out of
              range
    """

    axis: int = 0
    samples = (
        sample(tensor(F32, (3, 2)), tensor(I64), tensor(F32, (2,)), values={1: 1}),
        sample(tensor(F32, (3,)), tensor(I32), tensor(F32), values={1: -1}),
        sample(tensor(F32, (2, 3, 70)), tensor(I64), tensor(F32, (3, 70)), values={1: -2}),
        sample(tensor(F32, (2, 3)), tensor(I64), tensor(F32, (3,)),
               values={0: [[-0.0, 1, -0.0], [-0.0, 0.0, 2]], 1: 1, 2: [-0.0, -0.0, 3]}),
        sample(tensor(F32, (3, 0)), tensor(I64), tensor(F32, (0,)), values={1: 0}),
        sample(tensor(F32, (2, 3, 5)), tensor(I64), tensor(F32, (2, 5)), values={1: -2}, axis=1),
        sample(tensor(I32, (3, 2)), tensor(I64), tensor(I32, (2,)), values={1: 2}, smooth=False, note="integers"),
    )

    def infer(self, x: Any, index: Any, row: Any) -> TensorType:
        if super().infer(x, index, row).dtype is BOOL:
            raise mistake(self, "x", "a tensor of numbers", x, TypeError)
        return x

    def reference(self, x: Array, index: Array, row: Array) -> Array:
        check_range(self, index, x.shape[self.axis])
        out = np.array(x)
        out[(slice(None),) * self.axis + (index,)] += row
        return out

    def put(self, k: Kernel, out: Buffer, at: Any, value: Any) -> None:
        k.store(out, at, out[at] + value)

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        if mapped[1]:
            return None
        x, row = batching.for_all(b, operands[::2], mapped[::2], size)
        return [b.add_row(x, operands[1], row, axis=self.axis + 1)]

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return ct, None, b.gather(ct, node.operands[1], axis=self.axis)
