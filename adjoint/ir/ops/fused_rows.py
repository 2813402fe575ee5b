"""The fused kernels that compute row by row: reductions of rows, and what uses their results with the rows again, as in a softmax.

    m: f32[8, 1] = reduce_max(x, axes=[1], keepdims=true)        pass 1   m
    d: f32[8, 100] = sub(x, m)                                        2   e, which is kept, and s
    e: f32[8, 100] = exp(d)                                           3   p
    s: f32[8, 1] = sum(e, axes=[1], keepdims=true)
    p: f32[8, 100] = div(e, s)

Values are those of all elements of a row, or one for the row.  A value is computed in the first pass that reads it and in which all
that it reads is known; an element that a later pass reads is kept in an array.  A reduction is that of `Reduction.row`, so that the order
of additions is the same as in a kernel of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from adjoint.ir.core import tensor_type
from adjoint.ir.kernel.c_ast import Expr, Name, Operand
from adjoint.ir.kernel.operands import Buffer, LocalArray
from adjoint.ir.ops.loops import collapsed, grain_of, row_counters
from adjoint.ir.ops.reduce import LONGEST_ROW, Reduction
from adjoint.ir.types import BF16, F16, I64, TensorType, Type

if TYPE_CHECKING:
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Kernel
    from adjoint.ir.op import Op
    from adjoint.ir.ops.views import View

__all__ = ["Steps", "lower_rows", "reduces_rows", "row_shape"]


class Steps(Protocol):
    """The op of a fused kernel; see `fused.FusedKernel`."""

    @property
    def operands(self) -> int: ...
    @property
    def steps(self) -> tuple[tuple[Op, tuple[Any, ...]], ...]: ...
    @property
    def results(self) -> tuple[Any, ...]: ...
    @property
    def cost(self) -> int: ...
    @property
    def uniform(self) -> bool: ...

    def views(self, operands: Sequence[Buffer]) -> Mapping[int, tuple[Buffer, View]]:
        """Return for each value that is read, an operand or a view of one, the buffer, and where its elements are there."""
        ...

    def element(self, k: Kernel, number: int, values: Mapping[int, Expr], types: Sequence[Type]) -> Expr:
        """Return an element of a map's result, from those of the values that it uses."""
        ...


def reduces_rows(node: Node) -> bool:
    """Return True if a node reduces each row of its operand to one element, [.., n] to [.., 1], and a row is short enough."""
    op = node.op
    if not isinstance(op, Reduction) or type(op).lower is not Reduction.lower:
        return False
    type_ = tensor_type(node.operands[0])
    return op.keepdims and op.axes == (type_.rank - 1,) and type_.is_static and 1 < type_.sizes[-1] <= LONGEST_ROW


def row_shape(nodes: Sequence[Node]) -> tuple[int, ...] | None:
    """Return the shape [.., n] whose rows nodes compute: their results have this shape or [.., 1]; None if they are no such nodes."""
    shapes = {tensor_type(node.operands[0]).sizes for node in nodes if reduces_rows(node)}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    return shape if all(tensor_type(node.result).sizes in (shape, (*shape[:-1], 1)) for node in nodes) else None


def lower_rows(kernel: Steps, k: Kernel, operands: Sequence[Buffer], outs: Sequence[Buffer], types: Sequence[Type]) -> None:
    """Describe a fused kernel that computes row by row, as `Op.lower` does.

    kernel  the op, with its steps: the fused nodes
    k       records the C code
    types   the type of each operand and of each step's value
    """
    rows = _Rows(kernel, k, operands, outs, types)
    k.work = kernel.cost
    with k.stage(rows.count, grain_of(rows.shape[-1]), "row") as row:
        rows.compute(row)


class _Rows:
    """Writes the C code for one row of a fused kernel.  Operands and values are given by their numbers.

    A pass is one loop over the elements of a row, or a reduction of them.

    shape   the shape [.., n] over whose rows the kernel loops
    count   the number of rows
    known   for each value, the number of the pass that computes it
    joined  for the number of a pass, the reduction that reads what the pass computes without keeping it
    values  for each value of which there is one for the row, its C expression once it is known
    views   for each value that is read, an operand or a view of one, the buffer, and where its elements are there
    bases   for each of these, the index of its first element in the row, and the step to the next one: 1, or a run-time size
    kept    for each value whose elements are read in a later pass or by a reduction, the array that holds them
    """

    def __init__(self, kernel: Steps, k: Kernel, operands: Sequence[Buffer], outs: Sequence[Buffer], types: Sequence[Type]):
        self.kernel, self.k, self.views = kernel, k, kernel.views(operands)
        self.types = [type_ if isinstance(type_, TensorType) else operands[0].type for type_ in types]
        self.steps = [(number, step) for number, step in enumerate(kernel.steps, kernel.operands) if number not in self.views]
        self.outs: dict[int, list[Buffer]] = {}
        for out, number in zip(outs, kernel.results, strict=True):
            self.outs.setdefault(number, []).append(out)
        self.shape: tuple[int, ...] = ()
        self.known = dict.fromkeys(self.views, 0)
        for number, (op, given) in self.steps:
            self.known[number] = max((self.known[x] for x in numbers_of(given)), default=0) + isinstance(op, Reduction)
            if isinstance(op, Reduction):
                self.shape = self.types[given[0]].sizes
        self.delay()
        self.count = math.prod(self.shape[:-1])
        self.joined: dict[int, int] = {}
        for turn in set(self.known.values()):
            (number, *others) = self.reductions(turn) or (None,)
            if number is not None and not others and self.computes(turn, number):
                self.joined[turn] = number
        self.values: dict[int, Expr] = {}
        self.bases: dict[int, tuple[Expr, Any]] = {}
        self.kept: dict[int, LocalArray] = {}

    def delay(self) -> None:
        """Let values that only later passes read be computed in the first of these passes, so that they need not be kept in an array.

        Leave a value that reads several values of earlier passes, since these would have to be kept in its place.
        """
        read: dict[int, int] = {}  # the first pass that reads a value
        for number, (op, given) in reversed(self.steps):
            values = numbers_of(given)
            if self.whole(number) and sum(x not in self.views and self.whole(x) for x in values) <= 1:
                self.known[number] = read.get(number, self.known[number])
            turn = self.known[number] - isinstance(op, Reduction)
            for x in values:
                read[x] = min(read.get(x, turn), turn)

    def whole(self, number: int) -> bool:
        """Return True if a value has an element for each element of the row; False if there is one for the row."""
        return self.types[number].sizes == self.shape

    def reductions(self, turn: int) -> list[int]:
        """Return the numbers of the reductions whose operand is known after the pass `turn`, but not before."""
        return [number for number, (op, _) in self.steps if isinstance(op, Reduction) and self.known[number] == turn + 1]

    def computes(self, turn: int, reduction: int) -> bool:
        """Return True if the pass `turn` computes the operand of a reduction."""
        (x,) = self.kernel.steps[reduction - self.kernel.operands][1]
        return x not in self.views and self.known[x] == turn

    def compute(self, row: Expr) -> None:
        """Append the C code of all passes over the row with index `row`."""
        k = self.k
        n = k.size(self.shape[-1], "n")
        for number, (op, given) in self.steps:
            for x in numbers_of(given):
                if x in self.views:
                    if not isinstance(op, Reduction) or x not in self.bases:
                        self.locate(x, row, whole=self.whole(number) or isinstance(op, Reduction))
                elif self.whole(x) and x not in self.kept:
                    apart = isinstance(op, Reduction) and self.joined.get(self.known[x]) != number
                    if apart or (not isinstance(op, Reduction) and self.known[x] < self.known[number]):
                        name = k.value_name(x, self.kernel.steps[x - self.kernel.operands][0].name)
                        self.kept[x] = k.array(self.types[x].dtype, LONGEST_ROW, f"{name}_kept")
        start = k.let(row * n, "start")
        for turn in range(max(self.known.values()) + 1):
            self.turn(turn, row, start, n)

    def locate(self, x: int, row: Expr, *, whole: bool) -> None:
        """Find the elements of a value that is read that belong to a row: set `bases[x]`, or read one that is the same for the whole row,
        into `values[x]`.

        x      the number of the value
        row    the index of the row
        whole  True if the value is used for each element of the row
        """
        k, (buffer, view) = self.k, self.views[x]
        access = view.access(buffer, self.shape)
        strides = access.strides
        if x in self.values and (self.kernel.uniform or not whole):
            return
        if x in self.bases and whole:
            return
        dims, (own,) = collapsed(self.shape[:-1], [strides[:-1]])
        counters = row_counters(k, row, [k.size(dim, "rows") for dim in dims]) if len(dims) > 1 else [row]
        first: Any = 0 if access.offset is None else k.size(access.offset, f"{buffer.name}_start")
        for counter, stride in zip(counters, own, strict=True):
            first = first + counter * (k.size(stride, f"{buffer.name}_row") if stride else 0)
        first = k.let(first, f"{buffer.name}_at", I64)
        if strides[-1] == 0 and (self.kernel.uniform or not whole):
            self.values[x] = k.let(buffer[first], f"{buffer.name}_value")
        else:
            self.bases[x] = first, 1 if strides[-1] == 1 else k.size(strides[-1], f"{buffer.name}_step")

    def turn(self, turn: int, row: Expr, start: Expr, n: Expr) -> None:
        """Append the C code of one pass: first values of which there is one for the row, then a loop over its elements, then reductions.

        turn   the number of the pass
        row    the index of the row; `start` is the index of its first element, and `n` its length
        """
        k, elements = self.k, list[int]()
        for number, (op, _) in self.steps:
            if isinstance(op, Reduction) or self.known[number] != turn:
                continue
            if self.whole(number):
                elements.append(number)
            else:
                self.values[number] = self.kernel.element(k, number, self.values, self.types)
                self.store(number, row, self.values[number])
        reductions = self.reductions(turn)
        if elements and turn not in self.joined:
            with k.loop(0, n, "j") as j:
                self.element(elements, start, j)
        for number in reductions:
            op, (x,) = self.kernel.steps[number - self.kernel.operands]
            assert isinstance(op, Reduction)
            if turn in self.joined:
                total = op.row(k, _Elements(self.types[x], lambda j, x=x: self.element(elements, start, j)[x]), 0, n)
            elif x in self.kept:
                total = op.row(k, self.kept[x], 0, n)
            else:
                (buffer, _), (first, step) = self.views[x], self.bases[x]
                if not isinstance(step, Expr):
                    total = op.row(k, buffer, first, n)
                else:
                    total = op.row(k, _Elements(self.types[x], lambda j, x=x: self.read(x, j)), 0, n)
            if self.types[number].dtype in (F16, BF16):
                total = k.cast(total, self.types[number].dtype)
            self.values[number] = k.let(total, k.value_name(number, op.name))
            self.store(number, row, self.values[number])

    def element(self, numbers: Sequence[int], start: Expr, j: Any) -> dict[int, Expr]:
        """Append the C code that computes some values for element `j` of the row; return these values, with those that they are computed
        from.

        numbers  the values
        start    the index of the row's first element
        """
        k, found = self.k, dict(self.values)
        j = k.let(j, "e", I64) if not isinstance(j, Name) else j
        for number in numbers:
            for x in numbers_of(self.kernel.steps[number - self.kernel.operands][1]):
                if x in self.kept and x not in found:
                    found[x] = self.kept[x][j]
                elif x not in found:
                    found[x] = k.let(self.read(x, j), f"{self.views[x][0].name}_value")
            found[number] = self.kernel.element(k, number, found, self.types)
            if number in self.kept:
                k.set(self.kept[number][j], found[number])
            self.store(number, start + j, found[number])
        return found

    def read(self, x: int, j: Expr) -> Expr:
        """Return element `j` of the row of a value that is read."""
        (buffer, _), (first, step) = self.views[x], self.bases[x]
        return buffer[first + j * step]

    def store(self, number: int, index: Expr, value: Expr) -> None:
        """Append the store of a value if it is a result of the kernel."""
        for out in self.outs.get(number, ()):
            self.k.store(out, index, value)


def numbers_of(given: Sequence[Any]) -> list[int]:
    """Return those operands of a step that are values, as their numbers; literals, which are tuples, are left out."""
    return [x for x in given if not isinstance(x, tuple)]


class _Elements(Buffer):
    """A buffer for a reduction to read, whose elements are computed when they are read.

    element  returns the C expression of an element, given its index
    """

    __slots__ = ("element",)

    def __init__(self, type_: TensorType, element: Callable[[Any], Expr]):
        super().__init__(type_, "element", -1, written=False)
        self.element = element

    def __getitem__(self, index: Operand) -> Expr:
        return self.element(index)
