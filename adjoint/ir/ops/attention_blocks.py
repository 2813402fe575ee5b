"""The kernel of `attention`: matrices of scores, a block of rows at a time, in memory that stays near the processor.

    s = a b^T             products   the scores of a block of rows
    x, softmax(x), ..     loops      what is computed of them, row by row
    y = p v               results    these rows of a product
    v' += p^T y'          sums       a sum over all rows, to which these rows are added

A sum over rows is that of a matrix product: chains of CHAIN rows, whose sums are added in order.  A block is a part of a chain.  Where
there are many matrices, a thread computes all rows of one, and adds each chain when it ends.  Where there are few, chains are
*apart*: several threads compute them, and another stage adds them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.ir.kernel.c_ast import Expr
from adjoint.ir.ops.fused_rows import Steps
from adjoint.ir.ops.groups import Rows
from adjoint.ir.ops.linalg import DEPTH, PLAIN_SPEED, UNIT_ROWS, MatMul
from adjoint.ir.ops.loops import broadcast_access, collapsed, grain_of
from adjoint.ir.ops.random import DropoutKept
from adjoint.ir.ops.softmax import Softmax, SoftmaxGradient
from adjoint.ir.types import I64, DType, TensorType, Type

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel
    from adjoint.ir.op import Op

__all__ = ["lower_blocks"]

CHAIN = DEPTH
"""The number of rows whose products are added in one chain (a sum in order), where an op sums over all rows."""
BLOCK_ROWS = 64
"""The number of rows of scores that are computed together; a divisor of CHAIN."""
SHARES = 16
"""The limit for the number of parts into which the work is cut, one for each thread."""
MANY = 4
"""The number of matrices from which on each thread gets whole matrices."""

Computation = tuple[int, "Op", tuple[Any, ...]]
"""One step of the kernel: the number of the value that it computes, the op, and its operands."""
OperandUse = tuple[int, bool]
"""A pair: the number of an operand or result, and True if elementwise ops read it element by element, False if a product reads it."""


def lower_blocks(kernel: Steps, k: Kernel, operands: Sequence[Buffer], outs: Sequence[Buffer], types: Sequence[Type]) -> None:
    """Describe the kernel of an `attention` node, as `Op.lower` does: it computes a block of rows of scores at a time.

    kernel  the op, with its steps: the nodes inside of it
    k       records the C code
    types   the type of each operand and of each step's value
    """
    _Blocks(kernel, k, operands, outs, types).emit()


class _Parts:
    """Sorts the steps of a kernel by what they do, and chooses an array for each matrix of scores that must be kept.

    products  scores that are a product of operands
    loops     what is computed row by row, in order: elementwise ops together, any other op alone
    results   products with scores
    array     for the number of a value, the index of the array that holds its block of scores; no entry if only its own loop reads it
    arrays    the dtypes of the arrays
    """

    def __init__(self, kernel: Steps, types: Sequence[TensorType]):
        self.products: list[Computation] = []
        self.loops: list[list[Computation]] = []
        self.results: list[Computation] = []
        self.scores: set[int] = set()
        for number, (op, given) in enumerate(kernel.steps, kernel.operands):
            step = number, op, given
            if isinstance(op, MatMul) and not self.scores.isdisjoint(given):
                self.results.append(step)
                continue
            self.scores.add(number)
            if isinstance(op, MatMul):
                self.products.append(step)
            elif self.loops and _is_map(op) and _is_map(self.loops[-1][-1][1]):
                self.loops[-1].append(step)
            else:
                self.loops.append([step])
        self.array: dict[int, int] = {}
        self.arrays: list[DType] = []
        self.types = types
        self._place([*([step] for step in self.products), *self.loops, *([step] for step in self.results)])

    def _place(self, parts: Sequence[Sequence[Computation]]) -> None:
        """Choose an array for each value that a later part reads.  Arrays whose values no later part reads are used again.

        parts  the steps in order; each entry is a product, a loop or a result
        """
        made = {number: at for at, part in enumerate(parts) for number, _, _ in part}
        last = {x: at for at, part in enumerate(parts) for _, _, given in part for x in given if not isinstance(x, tuple)}
        free: dict[DType, list[int]] = {}
        for at, part in enumerate(parts):
            for x, array in self.array.items():
                if last[x] == at:
                    free[self.arrays[array]].append(array)
            for number, _, _ in part:
                if last.get(number, at) > made[number]:
                    dtype = self.types[number].dtype
                    if not free.setdefault(dtype, []):
                        free[dtype].append(len(self.arrays))
                        self.arrays.append(dtype)
                    self.array[number] = free[dtype].pop()

    def sums(self) -> list[Computation]:
        """Return the results that are sums over all rows."""
        return [step for step in self.results if isinstance(step[1], MatMul) and step[1].ta]

    def elementwise(self) -> list[int]:
        """Return the numbers of the operands that elementwise ops read."""
        found = (x for loop in self.loops if _is_map(loop[0][1]) for _, _, given in loop for x in given if not isinstance(x, tuple))
        return [x for x in dict.fromkeys(found) if x not in self.scores]


def _is_map(op: Op) -> bool:
    return not isinstance(op, (DropoutKept, Softmax, SoftmaxGradient))


class _Blocks:
    """Writes the C code of one kernel of `attention`.  Operands and values are given by their numbers.

    buffers  the buffers of operands and results, by number
    shape    the shape of the scores
    apart    True if chains are apart: see the module's docstring
    scores   the arrays for scores, of which each thread's share of the work uses a part
    areas    for the number of each sum over rows, how many elements it has
    chains   for each sum over rows, scratch memory for the chains that are added to it
    strides  for each operand and result, its steps along `dims`, the merged axes before the matrices
    """

    def __init__(self, kernel: Steps, k: Kernel, operands: Sequence[Buffer], outs: Sequence[Buffer], types: Sequence[Type]):
        self.kernel, self.k = kernel, k
        self.buffers = {**dict(enumerate(operands)), **dict(zip(kernel.results, outs, strict=True))}
        self.types = [type_ if isinstance(type_, TensorType) else operands[0].type for type_ in types]
        self.parts = parts = _Parts(kernel, self.types)
        of_scores = self.types[parts.products[0][0]]
        self.shape, self.dtype = of_scores.sizes, of_scores.dtype
        *lead, rows, columns = self.shape
        matrices, sums = math.prod(lead), parts.sums()
        plain = k.takes_plain_form(self.multiply_adds() // PLAIN_SPEED)
        self.product, self.sum = (
            f"adjoint_{name}_{self.dtype.name}" for name in (("plain_product",) * 2 if plain else ("matmul", "matmul_rows")))
        self.plain, self.apart = plain, bool(sums) and matrices < MANY
        block = min(rows, CHAIN if plain else BLOCK_ROWS)
        span = block if not sums else min(rows, CHAIN) if self.apart else rows
        spans = -(-rows // span)
        groups = matrices * spans
        self.count = min(groups, SHARES)
        self.m, self.n, self.block, self.span, self.spans, self.groups, self.shares, self.held = (k.size(value, name) for name, value in (
            ("m", rows), ("n", columns), ("block", block), ("span", span), ("spans", spans), ("groups", groups),
            ("shares", self.count), ("held", block * columns)))
        self.scores = [k.scratch(dtype, self.count * block * columns, "scores") for dtype in parts.arrays]
        self.areas: dict[int, Expr] = {}
        self.chains: dict[int, Buffer] = {}
        for number, _, _ in sums:
            area = math.prod(self.types[number].sizes[-2:])
            more = 0 if rows <= CHAIN else matrices * (spans - 1) if self.apart else self.count
            self.areas[number] = k.size(area, "area")
            self.chains[number] = k.scratch(self.dtype, more * area, "chains")
        self.dims: list[Expr] = []
        self.strides: dict[OperandUse, list[Expr]] = {}
        self.locate(lead)

    def multiply_adds(self) -> int:
        """Return the number of multiply-adds of the whole kernel."""
        widths = [self.types[given[0]].sizes[-1] for _, _, given in self.parts.products]
        widths += [self.types[number].sizes[-1 if given[0] in self.parts.scores else -2] for number, _, given in self.parts.results]
        return math.prod(self.shape) * sum(widths)

    def locate(self, lead: Sequence[int]) -> None:
        """Set `dims` and `strides`: the axes before the matrices, and the steps of operands and results along these.

        lead  the sizes of the axes before the matrices
        """
        k, parts = self.k, self.parts
        factors = (x for _, _, given in (*parts.products, *parts.results) for x in given if x not in parts.scores)
        places: list[OperandUse] = [(x, False) for x in dict.fromkeys((*factors, *(number for number, _, _ in parts.results)))]
        places += [(x, True) for x in parts.elementwise()]
        own = []
        for x, by_element in places:
            buffer = self.buffers[x]
            whole = self.shape if by_element else (*lead, *buffer.shape[-2:])
            own.append(broadcast_access(buffer, whole).strides[:-2])
        dims, strides = collapsed(lead, own)
        self.dims = [k.size(dim, "batch") for dim in dims]
        for (x, by_element), steps in zip(places, strides, strict=True):
            self.strides[x, by_element] = [k.size(step, f"{self.buffers[x].name}_step") for step in steps]

    def emit(self) -> None:
        """Append the whole kernel: the stage that computes blocks of rows, and the one that adds chains if they are apart."""
        k = self.k
        with k.stage_range(self.count, 1) as (begin, end):
            # All shares of a call use the arrays of its first: they are in its cache by then.
            base = k.let(begin * self.held, "base")
            with k.loop(begin * self.groups / self.shares, end * self.groups / self.shares, "group") as group:
                matrix = k.let(group / self.spans, "matrix")
                places = self.places_of(matrix)
                first = k.let(group % self.spans * self.span, "first")
                stop = k.let(k.minimum_of(first + self.span, self.m), "stop")
                with k.loop(0, (stop - first + self.block - 1) / self.block, "number") as number:
                    top = k.let(first + number * self.block, "top")
                    rows = k.let(k.minimum_of(self.block, stop - top), "rows")
                    self.one_block(places, base, matrix, top, rows)
                    for step in self.parts.results:
                        if step[0] in self.areas:
                            self.add_rows(step, places, base, top, rows, begin, matrix)
                        else:
                            self.rows_of_result(step, places, base, top, rows)
        if self.apart:
            self.add_chains()

    def places_of(self, matrix: Expr) -> dict[OperandUse, Expr]:
        """Return, for each operand and result, the index of the first element of one matrix.

        matrix  the number of the matrix
        """
        k, indices, rest = self.k, list[Expr](), matrix
        for dim in reversed(self.dims[1:]):
            indices.insert(0, k.let(rest % dim, "index"))
            rest = k.let(rest / dim, "rest")
        indices.insert(0, rest)
        return {
            place: k.let(sum((i * step for i, step in zip(indices[1:], steps[1:], strict=True)), indices[0] * steps[0]),
                         f"{self.buffers[place[0]].name}_place")
            for place, steps in self.strides.items()}

    def width(self, x: int, name: str = "width") -> Expr:
        """Return the length of the last axis of value number `x`, as a C expression.

        name  the name of this size in C
        """
        return self.k.size(self.types[x].sizes[-1], name)

    def multiply(self, a: Expr, b: Expr, out: Expr, m: Expr, n: Expr, inner: Expr, *, tb: bool) -> None:
        """Append a call that computes a matrix product `out = a @ b`, or `a @ b^T` if `tb` is True.

        a, b, out    pointers to the matrices
        m, n, inner  the sizes: a is [m, inner], out is [m, n]
        """
        k = self.k
        flags = [k.literal(0, I64), k.literal(int(tb), I64)]
        if not self.plain:
            flags += [k.literal(0, I64), k.literal(UNIT_ROWS, I64)]
        units = m if self.plain else k.let((m + UNIT_ROWS - 1) / UNIT_ROWS, "units")
        k.run(self.product, a, b, out, m, n, inner, *flags, k.literal(0, I64), units)

    def one_block(self, places: Mapping[OperandUse, Expr], base: Expr, matrix: Expr, top: Expr, rows: Expr) -> None:
        """Append the C code that computes all scores of one block of rows.

        places  where the matrices of the operands begin (`places_of`)
        base    the index at which this thread's part of the arrays begins
        matrix  the number of the matrix
        top     the first row of the block; `rows` is the number of its rows
        """
        k, parts = self.k, self.parts
        for number, op, (a, b) in parts.products:
            inner = self.width(a, "inner")
            left, right = self.buffers[a].at(places[a, False] + top * inner), self.buffers[b].at(places[b, False])
            self.multiply(left, right, self.held_in(number).at(base), rows, self.n, inner, tb=getattr(op, "tb", False))
        if not parts.loops:
            return
        steps = {x: broadcast_access(self.buffers[x], self.shape).strides[-2:] for x in parts.elementwise()}
        down = {x: k.size(own[0], f"{self.buffers[x].name}_row") for x, own in steps.items()}
        moving = [x for x, own in steps.items() if own[1] or not self.kernel.uniform]
        along = {x: 1 if steps[x][1] else k.size(0, f"{self.buffers[x].name}_along") for x in moving}
        with k.loop(0, rows, "r") as r:
            start = k.let(base + r * self.n, "start")
            firsts = {x: k.let(places[x, True] + (top + r) * down[x], f"{self.buffers[x].name}_at") for x in steps}
            fixed = {x: k.let(self.buffers[x][firsts[x]], f"{self.buffers[x].name}_value") for x in steps if x not in along}
            for loop in parts.loops:
                number, op, given = loop[0]
                if isinstance(op, DropoutKept):
                    element = k.let((matrix * self.m + top + r) * self.n, "element")
                    op.of_elements(k, self.buffers[given[0]], element, self.n, self.held_in(number), start)
                elif isinstance(op, Softmax):
                    op.of_group(k, Rows(k, start, self.n, self.shape[-1]), self.held_in(given[0]), self.held_in(number))
                elif isinstance(op, SoftmaxGradient):
                    y, ct = map(self.held_in, given)
                    op.of_group(k, Rows(k, start, self.n, self.shape[-1]), y, ct, self.held_in(number))
                else:
                    with k.loop(0, self.n, "j") as j:
                        read = {x: self.buffers[x][firsts[x] + j * step] for x, step in along.items()}
                        self.elements(loop, start + j, read, fixed)

    def elements(self, loop: Sequence[Computation], index: Expr, read: Mapping[int, Expr], fixed: Mapping[int, Expr]) -> None:
        """Append the C code of a loop's elementwise ops for one element of the scores.

        loop   the ops
        index  where in the arrays the element is
        read   the elements of operands that change along a row; `fixed` are those that are the same for a row
        """
        k, values = self.k, dict(fixed)
        for number, _, given in loop:
            for x in given:
                if not isinstance(x, tuple) and x not in values:
                    values[x] = k.let(self.held_in(x)[index] if x in self.parts.scores else read[x], k.element_name(x))
            values[number] = self.kernel.element(k, number, values, self.types)
        for number, _, _ in loop:
            if number in self.parts.array:
                k.store(self.held_in(number), index, values[number])

    def held_in(self, number: int) -> Buffer:
        """Return the array that holds the scores with this number."""
        return self.scores[self.parts.array[number]]

    def rows_of_result(self, step: Computation, places: Mapping[OperandUse, Expr], base: Expr, top: Expr, rows: Expr) -> None:
        """Append the C code that computes a block of rows of a result: scores times an operand.

        step  the product; the other arguments are as for `one_block`
        """
        number, op, (scores, b) = step
        width = self.width(number)
        out = self.buffers[number].at(places[number, False] + top * width)
        left, right = self.held_in(scores).at(base), self.buffers[b].at(places[b, False])
        self.multiply(left, right, out, rows, width, self.n, tb=getattr(op, "tb", False))

    def add_rows(
        self, step: Computation, places: Mapping[OperandUse, Expr], base: Expr, top: Expr, rows: Expr, begin: Expr, matrix: Expr
    ) -> None:
        """Append the C code that adds a block of rows to a sum over all rows: to its first chain, which is the result, or to a later one.

        step   the sum, as a product with transposed scores; the other arguments are as for `one_block`
        begin  the number of this thread's share of the work
        """
        k, (number, _, given) = self.k, step
        factors, widths = list[Expr](), list[Expr]()
        for x in given:
            if x in self.parts.scores:
                factors.append(self.held_in(x).at(base))
                widths.append(self.n)
            else:
                widths.append(self.width(x))
                factors.append(self.buffers[x].at(places[x, False] + top * widths[-1]))
        out, place, area, chains = self.buffers[number], places[number, False], self.areas[number], self.chains[number]

        def add(to: Expr) -> None:
            if self.plain:
                flags = [k.literal(1, I64), k.literal(0, I64), k.literal(0, I64), widths[0]]
            else:
                flags = [k.let(top % CHAIN, "resumes")]
            k.run(self.sum, *factors, to, *widths, rows, *flags)

        with k.when(k.less(top, CHAIN)):
            add(out.at(place))
        with k.otherwise():
            if self.apart:
                chain = k.let((matrix * (self.spans - 1) + top / CHAIN - 1) * area, "chain")
                add(chains.at(chain))
                return
            chain = k.let(begin * area, "chain")
            add(chains.at(chain))
            ends = k.either(k.equal((top + rows) % CHAIN, 0), k.equal(top + rows, self.m))
            with k.when(ends), k.loop(0, area, "e") as e:
                k.store(out, place + e, out[place + e] + chains[chain + e])

    def add_chains(self) -> None:
        """Append a stage that adds, for each sum over rows, the chains after the first to the result."""
        k = self.k
        for number, area in self.areas.items():
            out, chains = self.buffers[number], self.chains[number]
            more = out.count if chains.count else 0
            with k.stage(more, grain_of(8), "e") as e:
                total = k.local(out[e], "total")
                first = k.let(e / area * (self.spans - 1) * area + e % area, "first")
                with k.loop(0, self.spans - 1, "chain") as chain:
                    k.set(total, total + chains[first + chain * area])
                k.store(out, e, total)
