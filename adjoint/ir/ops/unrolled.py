"""Unrolled: nodes on a few numbers each, as one kernel without loops.

    y: f32[2] = unrolled carry (x: f32[2] = a, r: f32 = b) {          const float x_value = x[0], x_value_1 = x[1], r_value = r[0];
      s: f32[1] = slice(x, start=[0], stop=[1], step=[1])             const float m = x_value * r_value;
      m: f32[1] = mul(s, r)                                           y[0] = m;
      y: f32[2] = concat(m, x[1:2], axis=0)                           y[1] = x_value_1;
      yield y
    }

A launch takes longer than the few operations that such a node needs.  Here each number is a local variable of C.  A slice, a reshape or a
concatenation is nothing but another name for numbers.  The kernel does what the nodes' own kernels do, in their order of operations (see
`kernel/unrolling.py`), so the results have the same bits as those of the nodes one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from adjoint.ir.core import tensor_type
from adjoint.ir.kernel.c_ast import Name
from adjoint.ir.kernel.conversion import stored
from adjoint.ir.kernel.kernel import Kernel
from adjoint.ir.kernel.unrolling import CannotUnroll, Unroller
from adjoint.ir.op import Effect, Op, family, mistake, operation
from adjoint.ir.ops.fused import Fused, FusedKernel
from adjoint.ir.ops.optimizers import Update
from adjoint.ir.types import TensorType, Type, scalar

if TYPE_CHECKING:
    from adjoint.ir.core import Atom, Node, Region
    from adjoint.ir.kernel import Buffer, Expr

__all__ = ["NUMBERS", "Cost", "Unrolled", "UnrolledKernel", "kernel_of", "on_few_numbers", "unrolled_cost"]

NUMBERS: Final = 16
"""The limit for the elements of an operand or result.  With more, the vectors of a kernel of its own are as quick."""


def on_few_numbers(atoms: Iterable[Atom]) -> bool:
    """Return True if all atoms are tensors of at most 16 elements, and of at least one."""
    return all(isinstance(x.type, TensorType) and x.type.is_static and 0 < x.type.count <= NUMBERS for x in atoms)


class Cost(NamedTuple):
    """How long a node is in an unrolled kernel.

    operations  how many operations of C compute it.  A call of a mathematical function that is not a single instruction counts as several
        (see `Unroller.cost`)
    numbers     how many elements of its result are computed; the others are elements of its operands, or literals
    """

    operations: int
    numbers: int


def unrolled_cost(node: Node) -> Cost | None:
    """Return the cost of a node in an unrolled kernel; None if it cannot be in one."""
    op = node.op
    if isinstance(op, Update):  # computed in the memory of what it updates
        return None
    if node.regions or len(node.results) != 1 or op.effect is not Effect.PURE or op.may_fail or not op.can_lower or op.in_python:
        return None
    if not on_few_numbers((*node.operands, *node.results)):
        return None
    return _cost(op, tuple([tensor_type(x) for x in node.operands]), tensor_type(node.result))


@lru_cache(maxsize=4096)
def _cost(op: Op, operands: tuple[TensorType, ...], result: TensorType) -> Cost | None:
    k = Kernel(unrolls=True)
    names = [k.operand(type_, "x", written=False) for type_ in operands]
    try:
        with k.stage_range(1, 1):
            unroller = Unroller(k)
            given = [_loaded(k, buffer, "x") for buffer in names]
            made = _step(unroller, op, given, operands, result, "out")
    except CannotUnroll:
        return None
    known = {id(element) for elements in given for element in elements}
    return Cost(unroller.cost, len({id(x) for x in made if isinstance(x, Name)} - known))


def _loaded(k: Kernel, buffer: Buffer, name: str) -> list[Expr]:
    """Return the elements of an operand, as they are stored."""
    return [k.let(buffer.raw(i), name) for i in range(buffer.count)]


def _step(
    unroller: Unroller, op: Op, given: Sequence[Sequence[Expr]], operands: Sequence[TensorType], result: TensorType, name: str,
) -> Sequence[Expr]:
    """Write what a node computes, and return the elements of its result.

    given  the elements of its operands
    name   a name in C for the result
    """
    k = Kernel(unrolls=True)
    buffers = [*(k.operand(type_, "x", written=False) for type_ in operands), k.operand(result, name, written=True)]
    op.lower(k, *buffers)
    *_, made = unroller.run(k, buffers, [*given, [None] * result.count])
    if any(element is None for element in made):
        raise CannotUnroll("an element that is not written")
    return made


@operation
class Unrolled(Fused):
    """Nodes on a few numbers that one kernel computes: `y: f32[2] = unrolled carry (x: f32[2] = a) { ... yield y1 }`.

    It computes what its region computes, to the bit.

    operands  tensors of at most 16 elements
    region    parameters: the operands, and it sees nothing else; nodes: ops without effects that cannot fail, on tensors of at most 16
              elements, whose kernels do the same whatever the elements are: no index depends on an element
    result    what the region yields
    gradient  that of the nodes which the pass `inline` puts in its place
    errors    TypeError when the parameters do not have the operands' types; ValueError when the region holds other nodes
    """

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        body = self.closed(operands, regions)
        for node in body.nodes:
            if unrolled_cost(node) is None:
                raise mistake(self, "region", f"ops on at most {NUMBERS} elements, in places that do not depend on elements", node.op.name)
        return tuple(atom.type for atom in body.results)

    def kernel(self, region: Region) -> UnrolledKernel:
        return UnrolledKernel.of(region)


def kernel_of(node: Node) -> tuple[UnrolledKernel, tuple[Type, ...]]:
    """Return a key that is equal for unrolled nodes which one kernel can compute: the op of the kernel, and the types of the operands."""
    return UnrolledKernel.of(node.regions[0]), tuple([x.type for x in node.operands])


@family
class UnrolledKernel(FusedKernel):
    """The region of an `unrolled` as an op without regions: see `FusedKernel`."""

    name: ClassVar[str] = "unrolled"
    any_size: ClassVar[bool] = False

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        operands, outs = buffers[: self.operands], buffers[self.operands :]
        types: Any = self.types([buffer.type for buffer in operands])
        with k.stage_range(1, 1):
            unroller = Unroller(k)
            values: list[Sequence[Expr]] = [_loaded(k, buffer, k.element_name(i)) for i, buffer in enumerate(operands)]

            def store(number: int) -> None:
                """Write a value into the results that are this value."""
                for out in [out for out, result in zip(outs, self.results, strict=True) if result == number]:
                    for i, element in enumerate(values[number]):
                        k.set(out.raw(i), element)

            for number in range(self.operands):
                store(number)
            for step, (op, given) in enumerate(self.steps):
                number, k.step = len(values), step
                read = [(scalar(x[0]), [stored(k.literal(x[1], x[0]), x[0])]) if isinstance(x, tuple) else (types[x], values[x])
                        for x in given]
                elements, of_types = [each for _, each in read], [type_ for type_, _ in read]
                values.append(_step(unroller, op, elements, of_types, types[number], k.value_name(number, op.name)))
                store(number)
                k.step = None
