"""Fused: a region of elementwise ops, and at most one reduction or step of an optimiser that reads what they compute, as one kernel.

    z: f32, c: f32[8] = fused carry (x: f32[8] = a, y: f32[8] = b) {
      c.1: f32[8] = tanh(x)
      d: f32[8] = mul(c.1, y)
      z.1: f32 = mean(d, axes=[0])
      yield z.1, c.1
    }

The kernel reads each operand once and keeps what is between the nodes in registers.  It computes each element by the ops' own
`scalar`, rounded to the dtype of each node, and the op at its end by its own `lower`, which reads a `_Computed` buffer: its elements
are computed as they are read.  So the results have the same bits as those of the nodes one by one.  Operands are broadcast to the shape
of these elements.  A slice, a reversal or a transpose of an operand is not computed: its elements are read where they are in the operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from adjoint.ir.core import Literal, Value, free_of, tensor_type
from adjoint.ir.kernel.c_ast import Expr, Name, Operand
from adjoint.ir.kernel.operands import Buffer, LocalArray, StageWriter
from adjoint.ir.op import Op, family, mistake, operation
from adjoint.ir.ops import fused_rows
from adjoint.ir.ops.control import RegionOp
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.loops import StridedAccess, Walk, emit_maps, known_length
from adjoint.ir.ops.optimizers import Update
from adjoint.ir.ops.reduce import Reduction
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.views import View, ViewOp
from adjoint.ir.types import BF16, F16, I64, TensorType, Type, scalar

if TYPE_CHECKING:
    from adjoint.ir.core import Node, Region
    from adjoint.ir.kernel import Kernel

__all__ = ["Fused", "FusedKernel", "cost_of", "held_ops", "is_map", "is_reduction", "kernel_op", "streamed", "view_of"]


_SHOWN = 20
"""The number of ops of one kernel whose names are shown."""


def is_map(node: Node) -> bool:
    """Return True if a node may be in a fused kernel as one that computes its result element by element."""
    if not _static(node):
        return False
    op = node.op
    if not isinstance(op, Elementwise):
        return isinstance(op, Broadcast)
    if any(isinstance(x := node.operands[i], Value) and tensor_type(x).count == 1 for i in op.chosen_by):
        return False
    return type(op).scalar is not Elementwise.scalar and not op.may_fail


def view_of(node: Node, known: Mapping[Value, View]) -> View | None:
    """Return where the elements of a node's result are in a value that a kernel reads, for a slice or another op that moves elements.

    None if it is no such node, or no strides describe it.

    known  the views of results of such nodes, which the node may read; the view of any other value is the whole of it
    """
    if not isinstance(node.op, ViewOp) or not _static(node) or not isinstance(x := node.operands[0], Value) or not tensor_type(x).count:
        return None
    return node.op.view(known[x] if x in known else View.whole(tensor_type(x).sizes))


def streamed(node: Node) -> int | None:
    """Return the position of the operand that a node reads element by element, each once; None if the node cannot end a fused kernel."""
    op = node.op
    if isinstance(op, Update):
        return op.streams if _static(node) else None
    return op.streams if isinstance(op, Reduction) and is_reduction(node) else None


def is_reduction(node: Node) -> bool:
    """Return True if a node may be the end of a fused kernel, and combines the elements that it reads in the order of `Reduction`."""
    op = node.op
    if not isinstance(op, Reduction) or type(op).lower is not Reduction.lower or not _static(node):
        return False
    sizes = tensor_type(node.operands[0]).sizes
    return math.prod(sizes[axis] for axis in op.axes) != 1


def _static(node: Node) -> bool:
    return all(isinstance(x.type, TensorType) and x.type.is_static for x in (*node.operands, *node.results))


def cost_of(op: Op) -> int:
    """Return the time that an op takes for one element, in additions of float32."""
    return op.cost if isinstance(op, Elementwise) else 1


@operation
class Fused(RegionOp):
    """Nodes that are computed by one kernel: `y: f32[3] = fused carry (x: f32[3] = a) { ... yield y1 }`.

    It computes what its region computes, to the bit.

    operands  tensors
    region    parameters: the operands, and it sees nothing else; nodes: elementwise ops and `broadcast`s that all have results of one
              shape, then perhaps one reduction of one of these, or a step of an optimiser whose gradient is one of these and whose other
              operands are parameters; yields the results, and all of its last node.  Or elementwise ops on [.., n], reductions of these
              over the last axis to [.., 1], and elementwise ops on such results, in any order.  What these read may be views (slices,
              reversals, transposes, and reshapes of these) of parameters, which are not yielded
    result    what the region yields
    gradient  that of the nodes which the pass `inline` puts in its place
    errors    TypeError when the parameters do not have the operands' types; ValueError when the region holds other nodes
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        body = self.closed(operands, regions)
        nodes = self.without_views(body)
        if any(map(is_reduction, nodes[:-1])):
            if not all(is_map(node) or fused_rows.reduces_rows(node) for node in nodes) or fused_rows.row_shape(nodes) is None:
                expected = "elementwise ops on rows, reductions of rows, and elementwise ops on their results"
                raise mistake(self, "region", expected, " ".join(node.op.name for node in nodes))
            return tuple(atom.type for atom in body.results)
        *maps, last = nodes or (None,)
        position = None if last is None else streamed(last)
        if last is None or position is None:
            maps = nodes
        else:
            others = [x for at, x in enumerate(last.operands) if at != position]
            if not all(x in body.params for x in others) or not all(x in body.results for x in last.results):
                expected = f"{last.op.name} of one value of the region and of parameters, and all of its results yielded"
                raise mistake(self, "region", expected, f"{', '.join(x.hint if isinstance(x, Value) else repr(x.value) for x in others)}")
        for node in maps:
            if not is_map(node):
                raise mistake(self, "region", "elementwise ops, then at most one reduction or step of an optimiser", node.op.name)
        shapes = {tensor_type(node.result).shape for node in maps}
        if last is not None and position is not None:
            shapes.add(tensor_type(last.operands[position]).shape)
        if not maps or len(shapes) != 1:
            raise mistake(self, "region", "ops on elements of one shape", f"{len(shapes)} shapes")
        return tuple(atom.type for atom in body.results)

    def without_views(self, body: Region) -> list[Node]:
        """Return the nodes of the region that compute something: all but the views of its parameters."""
        views: dict[Value, View] = {}
        nodes: list[Node] = []
        for node in body.nodes:
            view = view_of(node, views)
            if view is None or not (node.operands[0] in body.params or node.operands[0] in views):
                nodes.append(node)
            elif node.result in body.results:
                raise mistake(self, "region", "one that yields what it computes", f"the view {node.result.hint}")
            else:
                views[node.result] = view
        return nodes

    def closed(self, operands: Sequence[Type], regions: Sequence[Region]) -> Region:
        """Return the only region, whose parameters have the operands' types and which sees nothing else."""
        if len(regions) != 1:
            raise mistake(self, "regions", "1 region", len(regions), TypeError)
        (body,) = regions
        if [p.type for p in body.params] != list(operands):
            expected = ", ".join(map(str, operands))
            raise mistake(self, "parameters", f"({expected})", f"({', '.join(str(p.type) for p in body.params)})", TypeError)
        if free_of(body):
            raise mistake(self, "region", "closed: it sees its parameters only", f"a use of {free_of(body)[0].hint}")
        return body

    def kernel(self, region: Region) -> FusedKernel:
        """Return the op that computes the region by one kernel."""
        return FusedKernel.of(region)


def kernel_op(node: Node) -> Op:
    """Return the op whose kernel computes a node: for a fused node the one made of its region, otherwise the node's own."""
    return node.op.kernel(node.regions[0]) if isinstance(node.op, Fused) else node.op


def held_ops(names: Sequence[str], between: str = ", ") -> str:
    """Return the names of the ops that one kernel computes, as a text; of many the first ones, and how many more there are."""
    left = len(names) - _SHOWN
    return between.join(names) if left <= 0 else f"{between.join(names[:_SHOWN])} and {left} more"


class ValueNumber(int):
    """The number of a value, which is no size: the kernel is another one if it is another one."""


@family
class FusedKernel(Op):
    """The region of a fused node as an op without regions, so that equal regions of different graphs share plans and kernels.

    Values have numbers: those of the operands, then those of the steps' results.

    operands  how many there are
    steps     op and operands of each node; an operand is the number of a value, or a literal as (dtype, number)
    results   the numbers of the values that it yields
    """

    operands: int
    steps: tuple[tuple[Op, tuple[Any, ...]], ...]
    results: tuple[Any, ...]
    name: ClassVar[str] = "fused"
    variadic: ClassVar[bool] = True

    @classmethod
    def of(cls, region: Region) -> Self:
        """Return the op that computes a region by one kernel."""
        numbers = {value: ValueNumber(i) for i, value in enumerate(region.params)}

        def number(atom: Any) -> Any:
            return (atom.type.dtype, atom.value) if isinstance(atom, Literal) else numbers[atom]

        steps = []
        for node in region.nodes:
            steps.append((node.op, tuple(map(number, node.operands))))
            for value in node.results:
                numbers[value] = ValueNumber(len(numbers))
        return cls(ValueNumber(len(region.params)), tuple(steps), tuple(map(number, region.results)))

    @property
    def end(self) -> Reduction | Update | None:
        """Return the reduction or optimiser's step that reads what the elementwise ops compute; None if there is none."""
        last = self.steps[-1][0]
        return last if isinstance(last, (Reduction, Update)) else None

    @property
    def in_place(self) -> dict[int, int]:
        """Return, for the index of each result that may be written into the memory of an operand, the position of that operand."""
        end, given, first = self.end, self.steps[-1][1], self.operands + len(self.steps) - 1
        if not isinstance(end, Update):
            return {}
        moved = {x for op, given in self.steps if isinstance(op, ViewOp) for x in given}  # read at other places than those of the result
        places = {self.results.index(first + result): given[operand] for result, operand in end.in_place.items()}
        return {result: operand for result, operand in places.items() if operand not in moved}

    def buffer_names(self, values: Sequence[str]) -> list[str]:
        """Return names in C for operands and results, made from the names of the op's values."""
        results = ("number" if isinstance(x, tuple) else values[x] for x in self.results)
        return [*values[: self.operands], *(f"{name}_out" for name in results)]

    @property
    def uniform(self) -> bool:
        """True if loops may read an operand that is a single number at a fixed index: see `Elementwise.uniform`."""
        return all(op.uniform for op, _ in self.steps if isinstance(op, Elementwise))

    @property
    def cost(self) -> int:
        """Return the time that all steps take for one element, in additions of float32."""
        return max(1, sum(cost_of(op) for op, _ in self.steps))

    def types(self, operands: Sequence[Type]) -> list[Type]:
        """Return the type of each value."""
        types = list(operands)
        for op, given in self.steps:
            types += op.result_types([scalar(x[0]) if isinstance(x, tuple) else types[x] for x in given], ())
        return types

    def views(self, operands: Sequence[Buffer]) -> dict[int, tuple[Buffer, View]]:
        """Return for each value that is read, an operand or a view of one, by its number: the buffer, and where its elements are there."""
        views = {number: (buffer, View.whole(buffer.shape)) for number, buffer in enumerate(operands)}
        for number, (op, given) in enumerate(self.steps, self.operands):
            if isinstance(op, ViewOp):
                buffer, of = views[given[0]]
                view = op.view(of)
                assert view is not None
                views[number] = buffer, view
        return views

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        types = self.types(operands)
        return tuple(scalar(x[0]) if isinstance(x, tuple) else types[x] for x in self.results)

    def reference(self, *operands: Any) -> Any:
        """Compute the steps one by one, each as its op defines it."""
        values: list[Any] = list(operands)
        for op, given in self.steps:
            values.append(op.reference(*(np.asarray(x[1], x[0].array) if isinstance(x, tuple) else values[x] for x in given)))
        results = [values[x] for x in self.results]
        return results[0] if len(results) == 1 else tuple(results)

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        operands, outs = buffers[: self.operands], buffers[self.operands :]
        types = self.types([buffer.type for buffer in operands])
        if any(isinstance(op, Reduction) for op, _ in self.steps[:-1]):
            fused_rows.lower_rows(self, k, operands, outs, types)
            return
        end, uniform = self.end, self.uniform
        views = self.views(operands)
        maps = [given for op, given in self.steps if op is not end and not isinstance(op, ViewOp)]
        if end is None:
            used = sorted({x for given in maps for x in given if not isinstance(x, tuple) and x in views})

            def computed(elements: list[Expr]) -> list[Expr]:
                values = self._elements(k, dict(zip(used, elements, strict=True)), types)
                return [values[number] for number in self.results]

            emit_maps(k, outs, self._accesses(used, views, outs[0].shape), computed, self.cost, uniform=uniform)
            return
        first = self.operands + len(self.steps) - 1
        given = self.steps[-1][1]
        streamed = given[end.streams]
        type_ = types[streamed]
        assert isinstance(type_, TensorType)
        stored = [(out, number) for out, number in zip(outs, self.results, strict=True) if number < first]

        used = sorted({x for given in (*maps, (streamed,)) for x in given if not isinstance(x, tuple) and x in views})

        def element(index: Expr, elements: Sequence[Expr]) -> Expr:
            values = self._elements(k, dict(zip(used, elements, strict=True)), types)
            for out, number in stored:
                k.store(out, index, values[number])
            return values[streamed]

        rows = isinstance(end, Reduction) and end.axes == (type_.rank - 1,) and type_.rank > 1 and known_length(type_.sizes[-1]) is not None
        walk = Walk(k, type_.sizes, self._accesses(used, views, type_.sizes), uniform=uniform, rows=rows)
        k.work = self.cost
        read = [_Computed(k, type_, walk, element) if at == end.streams else operands[number] for at, number in enumerate(given)]
        end.lower(k, *read, *(outs[self.results.index(first + result)] for result in range(len(types) - first)))

    def _accesses(self, numbers: Sequence[int], views: Mapping[int, tuple[Buffer, View]], shape: Sequence[int]) -> list[StridedAccess]:
        """Return the access patterns by which values are read as if they were broadcast to a shape."""
        return [view.access(buffer, shape) for buffer, view in (views[number] for number in numbers)]

    def _elements(self, k: Kernel, read: Mapping[int, Expr], types: Sequence[Type]) -> dict[int, Expr]:
        """Return by its number each value of the maps for one element, from that element of each value that is read."""
        values = {number: x if isinstance(x, Name) else k.let(x, k.element_name(number)) for number, x in read.items()}
        for number, (op, _) in enumerate(self.steps, self.operands):
            if op is not self.end and not isinstance(op, ViewOp):
                values[number] = self.element(k, number, values, types)
        return values

    def element(self, k: Kernel, number: int, values: Mapping[int, Expr], types: Sequence[Type]) -> Expr:
        """Return an element of a map's result, from those of the values that it uses."""
        op, given = self.steps[number - self.operands]
        scalars = [k.literal(x[1], x[0]) if isinstance(x, tuple) else values[x] for x in given]
        if isinstance(op, Broadcast):
            return scalars[0]
        assert isinstance(op, Elementwise)
        type_ = types[number]
        assert isinstance(type_, TensorType)
        k.step = number - self.operands
        value = op.scalar(k, *scalars)
        if type_.dtype in (F16, BF16):
            value = k.cast(value, type_.dtype)
        value = k.let(value, k.value_name(number, op.name))
        k.step = None
        return value


class _Computed(Buffer):
    """A buffer whose elements are computed as they are read.

    If all operands have its shape or one element, an element is computed where it is read.  Otherwise the index of an element does not
    tell where it is in the operands, and a part is computed at a time.

    walk     visits its elements, and reads the operands of the kernel
    element  maps the index of an element, and the elements of the operands, to the element
    """

    __slots__ = ("element", "kernel", "walk")

    def __init__(self, k: Kernel, type_: TensorType, walk: Walk, element: Callable[[Expr, Sequence[Expr]], Expr]):
        super().__init__(type_, "computed", -1, written=False)
        self.kernel, self.walk, self.element = k, walk, element
        self.staged = bool(walk.outer)
        if self.staged and not walk.by_rows:
            walk.name_rows()

    def __getitem__(self, index: Operand) -> Expr:
        index = self.kernel.let(index, "e", I64)
        return self.element(index, [self.kernel.let(value, name) for value, name in self.walk.read_one(index)])

    @property
    def has_rows(self) -> bool:
        return self.walk.by_rows or not self.staged

    def short_rows(self, k: StageWriter, rows: int, n: int, grain: int, each: Callable[[Expr, list[Expr]], None]) -> None:
        if not self.walk.by_rows:
            super().short_rows(k, rows, n, grain, each)
            return

        def computed(row: Expr, read: Sequence[Sequence[Expr]], _places: Any) -> None:
            each(row, [self.element(k.let(row * n + j, "e", I64), elements) for j, elements in enumerate(read)])

        self.walk.short_rows(n, grain, computed)

    def window(self, start: Operand, count: Operand, most: int, whole: Sequence[int] = ()) -> tuple[Buffer | LocalArray, Operand]:
        if not self.staged:
            return self, start
        array = self.kernel.array(self.dtype, most, "computed")
        self.walk.part(start, count, lambda j, elements, _: self.kernel.set(array[j], self.element(start + j, elements)), whole)
        return array, 0
