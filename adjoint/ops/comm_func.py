"""Collectives as functions: `mindspore.communication.comm_func`.  They return new tensors; numbers of a process are global ranks."""

from __future__ import annotations

from typing import Any

from adjoint.communication.management import get_group_rank_from_world_rank, is_initialized
from adjoint.ir.ops.collective import WORLD
from adjoint.ops import collectives
from adjoint.ops.arguments import flag, integer, operand, wrong
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CommHandle", "all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "reduce", "reduce_scatter_tensor"]

_REDUCTIONS = ("sum", "prod", "min", "max")


class CommHandle:
    """A handle for an asynchronous collective: here it is always done."""

    def wait(self) -> None:
        """Return at once."""


def _with_handle(name: str, result: Tensor, async_op: Any) -> tuple[Tensor, CommHandle | None]:
    return result, CommHandle() if flag(name, "async_op", async_op) else None


def _reduction(name: str, op: Any) -> str:
    if op not in _REDUCTIONS:
        raise wrong(name, "op", f"one of {', '.join(map(repr, _REDUCTIONS))}", repr(op), TypeError)
    return op


def _number(name: str, argument: str, rank: Any, group: str) -> int:
    """Return the number in a group of the process with a global rank."""
    found = integer(name, argument, rank)
    return get_group_rank_from_world_rank(found, group) if is_initialized() else found


def all_reduce(tensor: Any, op: str = "sum", group: str = WORLD, async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """Return the reduction over the processes, as `ops.AllReduce`, and a handle, None without `async_op`."""
    made = collectives.AllReduce(_reduction("all_reduce", op), group)(operand("all_reduce", tensor, "tensor"))
    return _with_handle("all_reduce", made, async_op)


def all_gather_into_tensor(tensor: Any, group: str = WORLD, async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """Concatenate the tensors of all processes, as `ops.AllGather`; return a handle too, None without `async_op`."""
    made = collectives.AllGather(group)(operand("all_gather_into_tensor", tensor, "tensor"))
    return _with_handle("all_gather_into_tensor", made, async_op)


def reduce_scatter_tensor(tensor: Any, op: str = "sum", group: str = WORLD, async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """This process's part of the reduction, as `ops.ReduceScatter`, and a handle, None without `async_op`."""
    name = "reduce_scatter_tensor"
    made = collectives.ReduceScatter(_reduction(name, op), group)(operand(name, tensor, "tensor"))
    return _with_handle(name, made, async_op)


def reduce(tensor: Any, dst: int, op: str = "sum", group: str = WORLD) -> Tensor:
    """Return the reduction in the process of the rank `dst`, zeros in the others, as `ops.Reduce`."""
    x = operand("reduce", tensor, "tensor")
    return collectives.Reduce(_number("reduce", "dst", dst, group), _reduction("reduce", op), group)(x)


def broadcast(tensor: Any, src: int = 0, group: str = WORLD) -> Tensor:
    """Return the tensor of the process of the rank `src`, as `ops.Broadcast`."""
    x = operand("broadcast", tensor, "tensor")
    return collectives.Broadcast(_number("broadcast", "src", src, group), group)(x)


def barrier(group: str = WORLD) -> None:
    """Return when all processes of the group have called it."""
    collectives.Barrier(group)()
