"""Collectives: operators that all processes of a group call together, each with tensors of its own.

Reductions add in the order of the ranks: the same number of processes gives the same bits, run after run.  Gradients are those of the sum
over the processes of what each differentiates.  A process that is alone is a group of one.
"""

from __future__ import annotations

from typing import Any

from adjoint.communication.management import members
from adjoint.ir.op import made
from adjoint.ir.ops import collective as nodes
from adjoint.ir.ops.collective import REDUCTIONS, WORLD
from adjoint.ops.arguments import integer, operand, tensors_argument, wrong
from adjoint.ops.parts import concat, split
from adjoint.ops.primitive import Primitive
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["AllGather", "AllReduce", "AlltoAll", "Barrier", "Broadcast", "Reduce", "ReduceOp", "ReduceScatter"]


class ReduceOp:
    """Names of reductions.  AVG is the sum divided by the number of processes."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    AVG = "avg"


def all_reduced(name: str, tensors: tuple[Tensor, ...], op: str, group: str) -> tuple[Tensor, ...]:
    """Return the reductions of several tensors, in few messages; `name` is the operator's."""
    members(name, group)
    if not tensors:
        return ()
    reduced = apply(made(nodes.AllReduce, op, group), *tensors)
    return (reduced,) if isinstance(reduced, Tensor) else reduced


def _text(name: str, argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong(name, argument, "a str", value, TypeError)
    return value


def _reduction(name: str, op: Any) -> str:
    if _text(name, "op", op) not in REDUCTIONS:
        raise wrong(name, "op", f"one of {', '.join(map(repr, REDUCTIONS))}", repr(op))
    return op


def _root(name: str, argument: str, root: int, group: str) -> tuple[int, ...]:
    """Return the ranks of the group; raise ValueError when it has no process of the number `root`."""
    ranks = members(name, group)
    if not 0 <= root < len(ranks):
        raise wrong(name, argument, f"the number of one of the {len(ranks)} processes, from 0", root)
    return ranks


class AllReduce(Primitive):
    """The reduction of a tensor over the processes of a group, in all of them.

    op     one of `ReduceOp`: "sum", "avg", "max", "min", "prod"
    group  the group's name

    Gradient: of a sum the sum of the processes' gradients, of an average the average; of the largest and smallest the sum, where this
    process has the number that was taken; of a product as long as no factor is 0.  Raise TypeError for bools, and integers to be averaged.
    """

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD):
        super().__init__(op=_reduction("AllReduce", op), group=_text("AllReduce", "group", group))

    def __call__(self, input_x: Any) -> Tensor:
        return all_reduced("AllReduce", (operand("AllReduce", input_x, "input_x"),), self.op, self.group)[0]


class Reduce(Primitive):
    """The reduction of a tensor over the processes of a group, in one of them; the others get zeros.

    dest_rank  the number of that process in the group
    op, group  as for `AllReduce`

    Gradient: of a sum that of the process `dest_rank`, in all.
    """

    def __init__(self, dest_rank: int, op: str = ReduceOp.SUM, group: str = WORLD):
        super().__init__(dest_rank=integer("Reduce", "dest_rank", dest_rank), op=_reduction("Reduce", op),
                         group=_text("Reduce", "group", group))

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("Reduce", input_x, "input_x")
        _root("Reduce", "dest_rank", self.dest_rank, self.group)
        return apply(made(nodes.Reduce, self.dest_rank, self.op, self.group), x)


class AllGather(Primitive):
    """Concatenate the tensors of all processes of a group along the first axis; they have one shape and dtype.

    Gradient: this process's part of the sum of the processes' gradients.
    """

    def __init__(self, group: str = WORLD):
        super().__init__(group=_text("AllGather", "group", group))

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("AllGather", input_x, "input_x")
        return apply(made(nodes.AllGather, len(members("AllGather", self.group)), self.group), x)


class ReduceScatter(Primitive):
    """This process's part along the first axis of the reduction of a tensor over the processes of a group.

    op, group  as for `AllReduce`

    Raise ValueError when the first dimension is not a multiple of the number of processes.  Gradient, of a sum and an average: the
    processes' gradients, concatenated.
    """

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD):
        super().__init__(op=_reduction("ReduceScatter", op), group=_text("ReduceScatter", "group", group))

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("ReduceScatter", input_x, "input_x")
        return apply(made(nodes.ReduceScatter, self.op, len(members("ReduceScatter", self.group)), self.group), x)


class Broadcast(Primitive):
    """The tensors of one process, in all of a group: called with a tuple of Tensors, it returns a tuple; with one Tensor, a Tensor.

    root_rank  the number of that process in the group
    group      the group's name

    Gradient: the sum of the processes' gradients in the process `root_rank`, zeros in the others.
    """

    def __init__(self, root_rank: int, group: str = WORLD):
        if not isinstance(root_rank, int) or isinstance(root_rank, bool):
            raise TypeError(f"For 'Broadcast', the type of 'root_rank' should be 'int', but got type '{type(root_rank).__name__}'.")
        super().__init__(root_rank=root_rank, group=_text("Broadcast", "group", group))

    def __call__(self, input_x: Any) -> Any:
        given = (input_x,) if isinstance(input_x, Tensor) else tensors_argument("Broadcast", "input_x", input_x)
        _root("Broadcast", "root_rank", self.root_rank, self.group)
        found = apply(made(nodes.CollectiveBroadcast, self.root_rank, self.group), *given)
        return found if isinstance(input_x, Tensor) or isinstance(found, tuple) else (found,)


class AlltoAll(Primitive):
    """Cut a tensor into parts, send part i to process i of a group, and concatenate the received ones, in the order of the processes.

    split_count  the number of parts: that of the processes
    split_dim    the axis along which it is cut
    concat_dim   the axis along which the parts are joined

    ValueError when the axis cannot be cut so.  Gradient: the same with the axes exchanged.
    """

    def __init__(self, split_count: int, split_dim: int, concat_dim: int, group: str = WORLD):
        name = "AlltoAll"
        super().__init__(split_count=integer(name, "split_count", split_count), split_dim=integer(name, "split_dim", split_dim),
                         concat_dim=integer(name, "concat_dim", concat_dim), group=_text(name, "group", group))

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("AlltoAll", input_x, "input_x")
        ranks = members("AlltoAll", self.group)
        if self.split_count != len(ranks):
            raise wrong("AlltoAll", "split_count", f"the number of processes in the group, {len(ranks)}", self.split_count)
        for argument, axis in (("split_dim", self.split_dim), ("concat_dim", self.concat_dim)):
            if not -x.ndim <= axis < x.ndim:
                raise wrong("AlltoAll", argument, f"in [{-x.ndim}, {x.ndim})", axis)
        if x.shape[self.split_dim] % len(ranks):
            raise wrong("AlltoAll", "input_x", f"of a dimension {self.split_dim} that is a multiple of {len(ranks)}", x)
        parts = concat(split(x, x.shape[self.split_dim] // len(ranks), self.split_dim), 0)
        come = apply(made(nodes.AllToAll, len(ranks), self.group), parts)
        return concat(split(come, come.shape[0] // len(ranks), 0), self.concat_dim)


class Barrier(Primitive):
    """Return when all processes of a group have called it."""

    def __init__(self, group: str = WORLD):
        super().__init__(group=_text("Barrier", "group", group))

    def __call__(self) -> None:
        members("Barrier", self.group)
        apply(made(nodes.Barrier, self.group))
