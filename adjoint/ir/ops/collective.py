"""Collectives: ops that all processes of a group compute together, each on its own tensors.

Every process must run the same collectives in the same order.  They are effects, so that no pass removes, merges or moves one.  A gradient
is that of the sum, over the processes, of what each of them differentiates, and consists of collectives too.

An `Exchange` runs them: that of one process, or that of the processes started by MPI after `communication.init`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Effect, NotDifferentiable, Op, family, mistake, operation, sample
from adjoint.ir.types import BOOL, F32, F64, I32, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node

__all__ = [
    "WORLD", "AllGather", "AllReduce", "AllToAll", "Barrier", "CollectiveBroadcast", "Collective", "Exchange", "OneProcess", "Reduce",
    "ReduceScatter", "REDUCTIONS", "use_exchange",
]

Array = np.ndarray[Any, Any]

REDUCTIONS = ("sum", "avg", "max", "min", "prod")
"""The reductions over processes; `avg` is the sum divided by the number of processes."""
WORLD = "hccl_world_group"
"""The group of all processes."""


class Exchange(Protocol):
    """Runs collectives: takes arrays of this process and returns new ones, deterministic to the bit."""

    def all_reduce(self, arrays: Sequence[Array], reduction: str, group: str) -> list[Array]:
        """Return for each array the reduction over the processes."""
        ...

    def reduce(self, array: Array, root: int, reduction: str, group: str) -> Array:
        """Return the reduction over the processes in the process `root`, zeros in the others."""
        ...

    def all_gather(self, array: Array, group: str) -> Array:
        """Return the arrays of all processes, concatenated along the first axis."""
        ...

    def reduce_scatter(self, array: Array, reduction: str, group: str) -> Array:
        """Return this process's part along the first axis of the reduction over the processes."""
        ...

    def broadcast(self, arrays: Sequence[Array], root: int, group: str) -> list[Array]:
        """Return the arrays of the process `root`."""
        ...

    def all_to_all(self, array: Array, group: str) -> Array:
        """Return part i along the first axis from process i: the part that is for this process."""
        ...

    def barrier(self, group: str) -> None:
        """Wait until all processes have called it."""
        ...


class OneProcess:
    """The exchange of a single process."""

    def all_reduce(self, arrays: Sequence[Array], reduction: str, group: str) -> list[Array]:
        return [x.copy() for x in arrays]

    def reduce(self, array: Array, root: int, reduction: str, group: str) -> Array:
        return array.copy()

    def all_gather(self, array: Array, group: str) -> Array:
        return array.copy()

    def reduce_scatter(self, array: Array, reduction: str, group: str) -> Array:
        return array.copy()

    def broadcast(self, arrays: Sequence[Array], root: int, group: str) -> list[Array]:
        return [x.copy() for x in arrays]

    def all_to_all(self, array: Array, group: str) -> Array:
        return array.copy()

    def barrier(self, group: str) -> None:
        pass


_exchange: Exchange = OneProcess()


def use_exchange(exchange: Exchange) -> None:
    """Make all later collectives use `exchange`."""
    global _exchange
    _exchange = exchange


@family
class Collective(Op):
    """An op of all processes of a group."""

    effect: ClassVar[Effect] = Effect.HOST

    def check_tensor(self, x: Type) -> TensorType:
        if not isinstance(x, TensorType):
            raise mistake(self, "input", "a tensor", x, TypeError)
        return x

    def check_reduction(self, reduction: str, x: TensorType) -> None:
        if reduction not in REDUCTIONS:
            raise mistake(self, "op", f"one of {', '.join(map(repr, REDUCTIONS))}", repr(reduction))
        if x.dtype is BOOL:
            raise mistake(self, "input", "a tensor of numbers", x, TypeError)
        if x.dtype.is_complex and reduction in ("max", "min", "prod"):
            raise mistake(self, "input", f"a tensor of real numbers for {reduction!r}", x, TypeError)
        if reduction == "avg" and not x.dtype.is_inexact:
            raise mistake(self, "input", "a tensor of floating point numbers for the average", x, TypeError)

    def check_parts(self, x: TensorType, ranks: int) -> TensorType:
        """Return the type of one of `ranks` equal parts of `x` along its first axis."""
        if not x.rank or x.shape[0] % ranks:  # pyright: ignore[reportOperatorIssue] - collectives have static sizes
            raise mistake(self, "input", f"of a first dimension that is a multiple of the number of processes, {ranks}", x)
        return x.with_shape((x.shape[0] // ranks, *x.shape[1:]))  # pyright: ignore[reportOperatorIssue] - as above


F32_43 = tensor(F32, (4, 3))


@operation
class AllReduce(Collective):
    """The reduction over the processes, in all of them: `y: f32[3] = all_reduce!(x, reduction="sum")`.

    operands   any number of tensors of numbers; each is reduced, many small ones in one message
    reduction  "sum", "avg" (floating point and complex numbers only), "max", "min" or "prod" (real numbers only)
    group      the processes
    result     for each operand one of its type; two-byte floats are added in float32.  The order is that of the processes
    gradient   sum: the sum of ct; avg: its average; max, min: the sum of ct where this process has the extreme number; prod: the sum
               of ct * y, divided by x
    errors     TypeError: no tensors of numbers, or of integers for the average; ValueError: another reduction
    """

    reduction: str = "sum"
    group: str = WORLD

    name: ClassVar[str] = "all_reduce!"
    variadic: ClassVar[bool] = True
    samples = (
        sample(F32_43), sample(tensor(F32), tensor(F64, (5,)), reduction="avg"), sample(tensor(F32, (0, 3)), reduction="max"),
        sample(tensor(I32, (7,)), reduction="min", domain=(-9, 9), smooth=False, note="integers"),
        sample(F32_43, reduction="prod", domain=(0.5, 2.0)),
    )

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        for x in operands:
            self.check_reduction(self.reduction, self.check_tensor(x))
        return operands

    def reference(self, *arrays: Any) -> Any:
        made = _exchange.all_reduce(arrays, self.reduction, self.group)
        return made[0] if len(made) == 1 else tuple(made)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        present = [i for i, ct in enumerate(cotangents) if ct is not None]
        given = [cotangents[i] for i in present]
        if self.reduction == "prod":
            given = [b.mul(ct, node.results[i]) for i, ct in zip(present, given, strict=True)]
        again = AllReduce("avg" if self.reduction == "avg" else "sum", self.group)
        found: dict[int, Any] = dict(zip(present, b.emit_node(again, given).results, strict=True))
        for i, ct in found.items():
            x, y = node.operands[i], node.results[i]
            if self.reduction == "prod":
                found[i] = b.div(ct, x)
            elif self.reduction in ("max", "min"):
                found[i] = b.select(b.equal(x, y), ct, b.zeros(tensor_type(x)))
        return [found.get(i) for i in range(len(cotangents))]


@operation
class Reduce(Collective):
    """The reduction over the processes, in one of them: `y: f32[3] = reduce!(x, root=0)`.

    x          a tensor of numbers
    root       the rank in the group of the process that gets it
    reduction  as for `all_reduce!`
    group      the processes
    result     the type of x; zeros in the other processes
    gradient   for "sum" the ct of `root`; none for others
    errors     as for `all_reduce!`
    """

    root: int = 0
    reduction: str = "sum"
    group: str = WORLD

    name: ClassVar[str] = "reduce!"
    samples = (sample(F32_43), sample(tensor(F32)))

    def infer(self, x: Type) -> Type:
        self.check_reduction(self.reduction, self.check_tensor(x))
        return x

    def reference(self, x: Any) -> Any:
        return _exchange.reduce(x, self.root, self.reduction, self.group)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        if self.reduction != "sum":
            raise NotDifferentiable(f"{self.name} has a gradient for the reduction 'sum' only, but got '{self.reduction}'; "
                                    "'all_reduce!' has one for the others")
        return b.emit_node(CollectiveBroadcast(self.root, self.group), [ct]).results


@operation
class AllGather(Collective):
    """The tensors of all processes, concatenated: `y: f32[8, 3] = all_gather!(x, ranks=2)`.

    x          a tensor of at least one dimension, of the same type in all processes
    ranks      how many processes there are
    group      the processes
    result     T[ranks * s0, s1, ...] for x: T[s0, s1, ...]
    gradient   this process's part of the sum of ct
    errors     TypeError: no tensor; ValueError: a tensor without dimensions
    """

    ranks: int = 1
    group: str = WORLD

    name: ClassVar[str] = "all_gather!"
    samples = (sample(F32_43), sample(tensor(BOOL, (3,)), smooth=False, note="bools"))

    def infer(self, x: Type) -> Type:
        if not self.check_tensor(x).rank:
            raise mistake(self, "input", "a tensor of at least one dimension", x)
        return x.with_shape((self.ranks * x.shape[0], *x.shape[1:]))  # pyright: ignore[reportAttributeAccessIssue] - a tensor, as checked

    def reference(self, x: Any) -> Any:
        return _exchange.all_gather(x, self.group)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return b.emit_node(ReduceScatter("sum", self.ranks, self.group), [ct]).results


@operation
class ReduceScatter(Collective):
    """This process's part of the reduction over the processes: `y: f32[2, 3] = reduce_scatter!(x, ranks=2)`.

    x          a tensor of numbers whose first dimension is a multiple of `ranks`
    reduction  as for `all_reduce!`
    ranks      how many processes there are
    group      the processes
    result     T[s0 / ranks, s1, ...] for x: T[s0, s1, ...]
    gradient   sum: the parts of all processes one behind the other; avg: divided by `ranks`; none for others
    errors     as for `all_reduce!`; ValueError: a first dimension that cannot be divided
    """

    reduction: str = "sum"
    ranks: int = 1
    group: str = WORLD

    name: ClassVar[str] = "reduce_scatter!"
    samples = (sample(F32_43), sample(tensor(F32, (2,)), reduction="avg"))

    def infer(self, x: Type) -> Type:
        self.check_reduction(self.reduction, self.check_tensor(x))
        return self.check_parts(self.check_tensor(x), self.ranks)

    def reference(self, x: Any) -> Any:
        return _exchange.reduce_scatter(x, self.reduction, self.group)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        if self.reduction not in ("sum", "avg"):
            raise NotDifferentiable(f"{self.name} has a gradient for the reductions 'sum' and 'avg' only, but got '{self.reduction}'")
        if self.reduction == "avg":
            ct = b.div(ct, b.constant(float(self.ranks), ct.type.dtype))
        return b.emit_node(AllGather(self.ranks, self.group), [ct]).results


@operation
class CollectiveBroadcast(Collective):
    """The tensors of one process, in all of them: `y: f32[3] = broadcast!(x, root=0)`.

    operands   any number of tensors, of the same types in all processes
    root       the rank in the group of the process whose tensors they become
    group      the processes
    result     for each operand one of its type
    gradient   the sum of ct in `root`, zeros in the other processes
    errors     TypeError: no tensors
    """

    root: int = 0
    group: str = WORLD

    name: ClassVar[str] = "broadcast!"
    variadic: ClassVar[bool] = True
    samples = (sample(F32_43), sample(tensor(F32), tensor(F64, (5,))), sample(tensor(BOOL, (3,)), smooth=False, note="bools"))

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        for x in operands:
            self.check_tensor(x)
        return operands

    def reference(self, *arrays: Any) -> Any:
        made = _exchange.broadcast(arrays, self.root, self.group)
        return made[0] if len(made) == 1 else tuple(made)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return [None if ct is None else b.emit_node(Reduce(self.root, "sum", self.group), [ct]).results[0] for ct in cotangents]


@operation
class AllToAll(Collective):
    """Part i along the first axis goes to process i: `y: f32[4, 3] = all_to_all!(x, ranks=2)`.

    x          a tensor whose first dimension is a multiple of `ranks`, of the same type in all processes
    ranks      how many processes there are
    group      the processes
    result     of the type of x: the parts that the processes have for this one, in their order
    gradient   the same of ct
    errors     TypeError: no tensor; ValueError: a first dimension that cannot be divided
    """

    ranks: int = 1
    group: str = WORLD

    name: ClassVar[str] = "all_to_all!"
    samples = (sample(F32_43), sample(tensor(F32, (2,))))

    def infer(self, x: Type) -> Type:
        self.check_parts(self.check_tensor(x), self.ranks)
        return x

    def reference(self, x: Any) -> Any:
        return _exchange.all_to_all(x, self.group)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return b.emit_node(self, [ct]).results


@operation
class Barrier(Collective):
    """Waits until all processes have reached it: `barrier!()`.

    group      the processes
    result     none
    gradient   none flows: there is no operand
    errors     none
    """

    group: str = WORLD

    name: ClassVar[str] = "barrier!"
    samples = (sample(),)

    def infer(self) -> tuple[Type, ...]:
        return ()

    def reference(self) -> Any:
        _exchange.barrier(self.group)
        return ()

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return ()
