"""`mindspore.mint.distributed`: collectives that write into given tensors.

Each returns None, or with `async_op=True` a handle whose `wait` returns at once, since the operation is already complete.  `group` is a
name returned by `new_group`, or None for all processes; `src` and `dst` are ranks among all processes.  Collectives run in eager mode
and under `jit`; their gradients are those of `ops.AllReduce` and the other collectives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from adjoint.communication import management
from adjoint.communication.management import GlobalComm, members
from adjoint.communication.objects import bytes_of, object_of
from adjoint.foundation.diagnostics import warn
from adjoint.ir.op import made
from adjoint.ir.ops import collective as nodes
from adjoint.ir.ops.collective import REDUCTIONS, WORLD
from adjoint.ops.arguments import flag, wrong
from adjoint.ops.comm_func import CommHandle
from adjoint.ops.creation import zeros
from adjoint.ops.parts import concat, stack
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "P2POp", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "init_process_group", "irecv", "is_available", "is_initialized", "isend", "new_group", "recv", "recv_object_list", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_tensor_uneven", "scatter", "scatter_object_list", "send",
    "send_object_list",
]


# -- processes and groups --------------------------------------------------------------------------------------------------
def is_available() -> bool:
    """Return True: a single process is a group of one."""
    return True


def is_initialized() -> bool:
    """Return whether `init_process_group` has been called, without `destroy_process_group` after it."""
    return management.is_initialized()


def init_process_group(
    backend: str = "hccl", init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
    store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:
    """Connect to the other processes that MPI's launcher has started, like `communication.init`; without a launcher this process is alone.

    backend      "hccl", which means MPI here
    world_size   -1, or the number of processes; ValueError for another number
    rank         -1, or the number of this process; ValueError for another number
    timeout, group_name, pg_options, device_id
                 accepted; ADJOINT_MPI_TIMEOUT sets how long to wait for another process

    Raise NotImplementedError for `init_method` and `store`: the launcher connects the processes.
    """
    name = "init_process_group"
    for argument, value, kind in (("init_method", init_method, str), ("timeout", timeout, timedelta), ("world_size", world_size, int),
                                  ("rank", rank, int), ("group_name", group_name, str)):
        if value is not None and not isinstance(value, kind):
            raise wrong(name, argument, f"of type {kind.__name__}", value, TypeError)
    if not isinstance(backend, str) or backend != "hccl":
        raise ValueError(f"For '{name}', the argument 'backend' must be 'hccl', which means MPI here, but got {backend!r}.")
    if init_method is not None or store is not None:
        raise NotImplementedError("adjoint's processes are connected by MPI's launcher, `mpirun -n 4 python train.py`: leave 'init_method' "
                                  "and 'store' out.")
    management.init(backend)
    for argument, value, found in (("world_size", world_size, get_world_size()), ("rank", rank, get_rank())):
        if value not in (-1, found):
            raise ValueError(f"For '{name}', the argument '{argument}' must be -1 or {found}, as the launcher has it, but got {value}.")


def destroy_process_group(group: str | None = None) -> None:
    """Delete a group; for None, or the group of all processes, end communication: this process is alone again."""
    if group is not None and not isinstance(group, str):
        raise wrong("destroy_process_group", "group", "a str or None", group, TypeError)
    if group is None or group == GlobalComm.WORLD_COMM_GROUP:
        management.release()
    else:
        management.destroy_group(group)


def _or_minus_one(ask: Callable[[str], int], name: str, group: str | None) -> int:
    """Return the result of a query about a group; if there is no such group, -1 with a warning, as in MindSpore."""
    own = _group(name, group)
    try:
        return ask(own)
    except RuntimeError as reason:
        warn(f"For '{name}', -1 is returned: {reason}")
        return -1


def get_rank(group: str | None = None) -> int:
    """Return the rank of this process in a group: 0 before `init_process_group`, -1 with a warning if it is not in the group."""
    return _or_minus_one(management.get_rank, "get_rank", group)


def get_world_size(group: str | None = None) -> int:
    """Return the number of processes in a group: 1 before `init_process_group`, -1 with a warning if there is no such group."""
    return _or_minus_one(management.get_group_size, "get_world_size", group)


def new_group(
    ranks: list[int] | None = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: Any = None,
) -> str:
    """Create a group of processes and return its name; all of its processes must call it with the same arguments.

    ranks    their ranks among all processes, which are sorted; None for all processes
    backend  None, "hccl" or "mccl", which mean MPI here

    The other arguments are accepted.  Raise TypeError if `ranks` is no list of ranks, or for another backend; RuntimeError before
    `init_process_group`.
    """
    if ranks is None:
        return WORLD
    if not isinstance(ranks, list):
        raise TypeError(f"For 'new_group', the argument 'ranks' must be a list, but got {type(ranks)}.")
    if backend is not None and (not isinstance(backend, str) or backend not in ("hccl", "mccl")):
        raise TypeError(f"For 'new_group', the argument 'backend' must be 'hccl' or 'mccl', but got {backend!r}.")
    name = f"{backend or 'hccl'}_{len(ranks)}_{'_'.join(map(str, sorted(ranks)))}"
    management.create_group(name, sorted(ranks))
    return name


def get_backend(group: str | None = None) -> str:
    """Return "hccl", or "mccl" for a group that was made with it: both mean MPI here."""
    return "mccl" if _group("get_backend", group).startswith("mccl") else "hccl"


def get_global_rank(group: str | None, group_rank: int) -> int:
    """Return the rank among all processes of the process with a given rank in a group."""
    own = _rank("get_global_rank", "group_rank", group_rank)
    return own if group is None else management.get_world_rank_from_group_rank(_group("get_global_rank", group), own)


def get_group_rank(group: str | None, global_rank: int) -> int:
    """Return the rank in a group of the process with a given rank among all processes."""
    own = _rank("get_group_rank", "global_rank", global_rank)
    return management.get_group_rank_from_world_rank(own, _group("get_group_rank", group))


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """Return the ranks of the processes in a group."""
    return management.get_process_group_ranks(_group("get_process_group_ranks", group))


# -- arguments -------------------------------------------------------------------------------------------------------------
def _group(name: str, group: Any) -> str:
    if group is None:
        return WORLD
    if not isinstance(group, str):
        raise wrong(name, "group", "a str or None", group, TypeError)
    return group


def _tensor(name: str, argument: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise wrong(name, argument, "a Tensor", value, TypeError)
    return value


def _tensors(name: str, argument: str, values: Any) -> Sequence[Tensor]:
    """Return a list of tensors, at least one, all of the same dtype."""
    if not isinstance(values, (list, tuple)) or not values or not all(isinstance(value, Tensor) for value in values):
        raise wrong(name, argument, "a list of Tensors", values, TypeError)
    if any(value.dtype is not values[0].dtype for value in values):
        raise wrong(name, argument, "a list of Tensors of one dtype", [str(value.dtype) for value in values], TypeError)
    return values


def _one_for_each(name: str, argument: str, values: Any, like: Tensor, ranks: Sequence[int]) -> Sequence[Tensor]:
    """Return a list of tensors of the type of `like`, one for each process."""
    if len(_tensors(name, argument, values)) != len(ranks) or any(value.type != like.type for value in values):
        raise wrong(name, argument, f"a list of {len(ranks)} Tensors, one for each process, of shape {like.shape} and dtype {like.dtype}",
                    [(value.shape, str(value.dtype)) for value in values], TypeError)
    return values


def _rank(name: str, argument: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, argument, "an int", value, TypeError)
    return value


def _place(name: str, argument: str, rank: Any, ranks: Sequence[int]) -> int:
    """Return the rank in a group of the process with a given rank among all."""
    if _rank(name, argument, rank) not in ranks:
        raise wrong(name, argument, f"a rank of the group, {list(ranks)}", rank)
    return ranks.index(rank)


def _reduction(name: str, op: Any) -> str:
    if not isinstance(op, str) or op not in REDUCTIONS:
        raise wrong(name, "op", f"one of {', '.join(map(repr, REDUCTIONS))}", repr(op), TypeError)
    return op


def _own(group: str) -> int:
    """Return the rank of this process in a group."""
    return management.get_rank(group)


def _sizes(name: str, argument: str, sizes: Any, x: Tensor, count: int) -> list[int]:
    """Return how many rows of a tensor belong to each process: equal parts by default."""
    whole = x.shape[0] if x.ndim else 0
    if not sizes:
        if not x.ndim or whole % count:
            raise wrong(name, argument, f"{count} sizes, since the first dimension of the tensor cannot be divided among {count} processes",
                        x)
        return [whole // count] * count
    if not isinstance(sizes, (list, tuple)) or len(sizes) != count or any(
            isinstance(size, bool) or not isinstance(size, int) or size < 0 for size in sizes) or sum(sizes) != whole:
        raise wrong(name, argument, f"{count} sizes, one for each process, with the sum {whole}", sizes)
    return list(sizes)


def _done(name: str, async_op: Any, *written: tuple[Tensor, Tensor]) -> CommHandle | None:
    """Write each result into its tensor, and return the handle."""
    for index, (target, value) in enumerate(written):
        if target.type != value.type:
            argument = f"output {index}" if len(written) > 1 else "output"
            raise wrong(name, argument, f"of shape {value.shape} and dtype {value.dtype}", target, TypeError)
    for target, value in written:
        target.overwrite(value)
    return CommHandle() if async_op else None


def _cut(x: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    """Split a tensor along its first axis."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [x[begin:end] for begin, end in itertools.pairwise(ends)]


# -- collectives -----------------------------------------------------------------------------------------------------------
def all_reduce(tensor: Any, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into `tensor` its reduction over the processes: "sum", "prod", "min", "max" or "avg"."""
    name = "all_reduce"
    x, own, later = _tensor(name, "tensor", tensor), _group(name, group), flag(name, "async_op", async_op)
    members(name, own)
    return _done(name, later, (x, apply(made(nodes.AllReduce, _reduction(name, op), own), x)))


def reduce(tensor: Any, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into the `tensor` of the process `dst` the reduction over the processes; the tensors of the others stay unchanged."""
    name = "reduce"
    x, own, later = _tensor(name, "tensor", tensor), _group(name, group), flag(name, "async_op", async_op)
    root = _place(name, "dst", dst, members(name, own))
    reduced = apply(made(nodes.Reduce, root, _reduction(name, op), own), x)
    return _done(name, later, *([(x, reduced)] if _own(own) == root else []))


def broadcast(tensor: Any, src: int, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into `tensor` the tensor of the process `src`."""
    name = "broadcast"
    x, own, later = _tensor(name, "tensor", tensor), _group(name, group), flag(name, "async_op", async_op)
    root = _place(name, "src", src, members(name, own))
    return _done(name, later, (x, apply(made(nodes.CollectiveBroadcast, root, own), x)))


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> CommHandle | None:
    """Return when all processes of the group have called it."""
    own, later = _group("barrier", group), flag("barrier", "async_op", async_op)
    members("barrier", own)
    apply(made(nodes.Barrier, own))
    return _done("barrier", later)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Concatenate the tensors of all processes along the first axis into `output_tensor`."""
    name = "all_gather_into_tensor"
    output, x = _tensor(name, "output_tensor", output_tensor), _tensor(name, "input_tensor", input_tensor)
    own, later = _group(name, group), flag(name, "async_op", async_op)
    return _done(name, later, (output, apply(made(nodes.AllGather, len(members(name, own)), own), x)))


def all_gather(tensor_list: Any, tensor: Any, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into each tensor of `tensor_list` the `tensor` of the process of that rank; all have the same shape and dtype."""
    name = "all_gather"
    x, own, later = _tensor(name, "tensor", tensor), _group(name, group), flag(name, "async_op", async_op)
    ranks = members(name, own)
    outputs = _one_for_each(name, "tensor_list", tensor_list, x, ranks)
    gathered = apply(made(nodes.AllGather, len(ranks), own), reshape(x, (1, *x.shape)))
    return _done(name, later, *((output, gathered[i]) for i, output in enumerate(outputs)))


def all_gather_into_tensor_uneven(
    output: Any, input: Any, output_split_sizes: Any = None, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Concatenate the tensors of all processes into `output`; that of process i has `output_split_sizes[i]` rows."""
    name = "all_gather_into_tensor_uneven"
    target, x = _tensor(name, "output", output), _tensor(name, "input", input)
    own, later = _group(name, group), flag(name, "async_op", async_op)
    ranks = members(name, own)
    sizes = _sizes(name, "output_split_sizes", output_split_sizes, target, len(ranks))
    if x.shape != (sizes[_own(own)], *target.shape[1:]):
        raise wrong(name, "input", f"of shape {(sizes[_own(own)], *target.shape[1:])}", x)
    most = max(sizes)
    filled = concat([x, zeros((most - x.shape[0], *x.shape[1:]), x.dtype)], 0)
    gathered = apply(made(nodes.AllGather, len(ranks), own), filled)
    return _done(name, later, (target, concat([gathered[i * most : i * most + size] for i, size in enumerate(sizes)], 0)))


def reduce_scatter_tensor(output: Any, input: Any, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into `output` this process's part, along the first axis, of the reduction of `input` over the processes."""
    name = "reduce_scatter_tensor"
    target, x = _tensor(name, "output", output), _tensor(name, "input", input)
    own, later = _group(name, group), flag(name, "async_op", async_op)
    return _done(name, later, (target, apply(made(nodes.ReduceScatter, _reduction(name, op), len(members(name, own)), own), x)))


def reduce_scatter(output: Any, input_list: Any, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into `output` the reduction over the processes of the tensor of `input_list` at this process's rank."""
    name = "reduce_scatter"
    target, own, later = _tensor(name, "output", output), _group(name, group), flag(name, "async_op", async_op)
    ranks = members(name, own)
    parts = stack(list(_one_for_each(name, "input_list", input_list, target, ranks)), 0)
    scattered = apply(made(nodes.ReduceScatter, _reduction(name, op), len(ranks), own), parts)
    return _done(name, later, (target, scattered[0]))


def reduce_scatter_tensor_uneven(
    output: Any, input: Any, input_split_sizes: Any = None, op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Write into `output` this process's part of the reduction of `input`, of which process i gets `input_split_sizes[i]` rows."""
    name = "reduce_scatter_tensor_uneven"
    target, x = _tensor(name, "output", output), _tensor(name, "input", input)
    own, later = _group(name, group), flag(name, "async_op", async_op)
    sizes = _sizes(name, "input_split_sizes", input_split_sizes, x, len(members(name, own)))
    reduced = apply(made(nodes.AllReduce, _reduction(name, op), own), x)
    return _done(name, later, (target, _cut(reduced, sizes)[_own(own)]))


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Send rows of `input` to each process, and write the received rows into `output`, in the order of the processes.

    input_split_sizes, output_split_sizes  the number of rows sent to and received from each process; None for equal parts
    """
    name = "all_to_all_single"
    target, x = _tensor(name, "output", output), _tensor(name, "input", input)
    own, later = _group(name, group), flag(name, "async_op", async_op)
    count = len(members(name, own))
    parts = _cut(x, _sizes(name, "input_split_sizes", input_split_sizes, x, count))
    outputs = [zeros((size, *target.shape[1:]), target.dtype)
               for size in _sizes(name, "output_split_sizes", output_split_sizes, target, count)]
    return _done(name, later, (target, concat(_exchanged(name, outputs, parts, own), 0)))


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Send each tensor of `input_tensor_list` to the process of that rank, and write the received tensors into `output_tensor_list`."""
    name = "all_to_all"
    own, later = _group(name, group), flag(name, "async_op", async_op)
    outputs, inputs = _tensors(name, "output_tensor_list", output_tensor_list), _tensors(name, "input_tensor_list", input_tensor_list)
    ranks = members(name, own)
    for argument, values in (("output_tensor_list", outputs), ("input_tensor_list", inputs)):
        if len(values) != len(ranks):
            raise wrong(name, argument, f"a list of {len(ranks)} Tensors, one for each process", len(values))
    return _done(name, later, *zip(outputs, _exchanged(name, outputs, inputs, own)))


def _exchanged(name: str, outputs: Sequence[Tensor], inputs: Sequence[Tensor], group: str) -> list[Tensor]:
    """Return what is received for each output; all parts are sent padded to the largest size of all processes."""
    count, own = len(outputs), _own(group)
    sizes = apply(made(nodes.AllGather, count, group), Tensor(np.array([[x.size for x in inputs]], np.int64))).asnumpy()
    for source, output in enumerate(outputs):
        if sizes[source, own] != output.size:
            raise wrong(name, "output", f"of {sizes[source, own]} elements in all for what process {source} of the group sends", output)
    most = int(sizes.max())
    filled = [concat([reshape(x, (-1,)), zeros((most - x.size,), x.dtype)], 0) for x in inputs]
    come = apply(made(nodes.AllToAll, count, group), stack(filled, 0))
    return [reshape(come[i][: output.size], output.shape) for i, output in enumerate(outputs)]


def gather(tensor: Any, gather_list: Any, dst: int = 0, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into each tensor of the `gather_list` of the process `dst` the `tensor` of the process of that rank; the other lists stay
    unchanged."""
    name = "gather"
    x, own, later = _tensor(name, "tensor", tensor), _group(name, group), flag(name, "async_op", async_op)
    ranks = members(name, own)
    here = _place(name, "dst", dst, ranks) == _own(own)
    outputs = _one_for_each(name, "gather_list", gather_list, x, ranks) if here else []
    gathered = apply(made(nodes.AllGather, len(ranks), own), reshape(x, (1, *x.shape)))
    return _done(name, later, *((output, gathered[i]) for i, output in enumerate(outputs)))


def scatter(tensor: Any, scatter_list: Any, src: int = 0, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write into `tensor` the tensor of the `scatter_list` of the process `src` at this process's rank."""
    name = "scatter"
    x, own, later = _tensor(name, "tensor", tensor), _group(name, group), flag(name, "async_op", async_op)
    ranks = members(name, own)
    root = _place(name, "src", src, ranks)
    given = (stack(list(_one_for_each(name, "scatter_list", scatter_list, x, ranks)), 0) if root == _own(own)
             else zeros((len(ranks), *x.shape), x.dtype))
    return _done(name, later, (x, apply(made(nodes.CollectiveBroadcast, root, own), given)[_own(own)]))


# -- point to point ---------------------------------------------------------------------------------------------------------
def _between(name: str, source: int, target: int, group: str, tag: Any) -> tuple[str, int]:
    """Return the group of two processes of a group, and the rank of the first one in it."""
    ranks = members(name, group)
    for rank in (source, target):
        if rank not in ranks:
            raise wrong(name, "dst" if name.startswith("send") else "src", f"a rank of the group, {list(ranks)}", rank)
    if source == target:
        raise ValueError(f"For '{name}', the other process must be another one than this, but both are rank {source}.")
    pair = sorted((source, target))
    own = f"send and recv between {pair[0]} and {pair[1]}" + (f", tag {_rank(name, 'tag', tag)}" if tag else "")
    management.create_group(own, pair)
    return own, pair.index(source)


def send(tensor: Any, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Send a tensor to the process `dst`; return when that has called `recv` for a tensor of the same shape and dtype.

    If two processes both send first, both raise an error that shows their calls: one of them must receive first.
    """
    x, own, to = _tensor("send", "tensor", tensor), _group("send", group), _rank("send", "dst", dst)
    pair, root = _between("send", _own(WORLD), to, own, tag)
    apply(made(nodes.CollectiveBroadcast, root, pair), x)


def recv(tensor: Any, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Write into `tensor` the tensor that the process `src` sends to this process, and return 0."""
    x, own, source = _tensor("recv", "tensor", tensor), _group("recv", group), _rank("recv", "src", src)
    pair, root = _between("recv", source, _own(WORLD), own, tag)
    x.overwrite(apply(made(nodes.CollectiveBroadcast, root, pair), x))
    return 0


def isend(tensor: Any, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """The name of sending for a `P2POp`; raise NotImplementedError if it is called."""
    raise _not_alone("isend", "send")


def irecv(tensor: Any, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """The name of receiving for a `P2POp`; raise NotImplementedError if it is called."""
    raise _not_alone("irecv", "recv")


def _not_alone(name: str, waits: str) -> NotImplementedError:
    return NotImplementedError(f"adjoint has no '{name}' that goes on while numbers travel: '{waits}' waits for the other process, and "
                               "'batch_isend_irecv' does several sendings and receivings, in whatever order they are given.")


class P2POp:
    """A send or receive operation for `batch_isend_irecv`.

    op      `isend` or `irecv`, or its name
    tensor  the tensor that is sent, or written into
    peer    the rank of the other process among all
    group   a group that contains both processes
    tag     0

    Raise TypeError for arguments of other types; NotImplementedError for another tag.
    """

    def __init__(self, op: Any, tensor: Any, peer: int, group: str | None = None, tag: int = 0):
        named = {"isend": isend, "irecv": irecv}.get(op) if isinstance(op, str) else op
        self.sends = named is isend
        if named is not isend and named is not irecv:
            raise wrong("P2POp", "op", "isend or irecv", op, TypeError)
        if tag != 0:
            raise NotImplementedError("For 'P2POp', the argument 'tag' must be 0, as in MindSpore.")
        self.op, self.tensor, self.tag = op, _tensor("P2POp", "tensor", tensor), tag
        self.peer, self.group = _rank("P2POp", "peer", peer), group


def batch_isend_irecv(p2p_op_list: Any) -> list[CommHandle]:
    """Run several send and receive operations; each has its counterpart in such a list in the other process.

    Several operations from one process to the same other one run in the order of the list.  All processes run them in the order of the
    ranks of sender and receiver, so they cannot wait for each other in a circle.  Raise TypeError for an empty list, another type, or
    different groups.
    """
    name = "batch_isend_irecv"
    if not isinstance(p2p_op_list, (list, tuple)) or not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise wrong(name, "p2p_op_list", "a list of P2POp, at least one", p2p_op_list, TypeError)
    if any(each.group != p2p_op_list[0].group for each in p2p_op_list):
        raise wrong(name, "p2p_op_list", "of one group", [each.group for each in p2p_op_list], TypeError)
    here = _own(WORLD)
    for each in sorted(p2p_op_list, key=lambda each: (here, each.peer) if each.sends else (each.peer, here)):
        if each.sends:
            send(each.tensor, each.peer, each.group)
        else:
            recv(each.tensor, each.peer, each.group)
    return [CommHandle()]


# -- objects ---------------------------------------------------------------------------------------------------------------
# None, bool, int, float, str, bytes, list, tuple, dict and arrays, as `communication.objects` writes them: nothing is unpickled.
def _list_of(name: str, argument: str, values: Any, length: int | None = None) -> list[Any]:
    if not isinstance(values, list) or not values or (length is not None and len(values) != length):
        expected = "a list that is not empty" if length is None else f"a list of length {length}, that of the group"
        raise wrong(name, argument, expected, values, TypeError)
    return values


def _as_tensor(value: Any) -> Tensor:
    return Tensor(np.frombuffer(bytes_of(value), np.uint8).copy())


def _as_object(x: Tensor) -> Any:
    return object_of(x.asnumpy().tobytes())


def _gathered_objects(value: Any, group: str, count: int) -> list[Any]:
    own = _as_tensor(value)
    sizes = apply(made(nodes.AllGather, count, group), Tensor(np.array([own.size]))).asnumpy().tolist()
    most = max(sizes)
    every = apply(made(nodes.AllGather, count, group), concat([own, zeros((most - own.size,), own.dtype)], 0))
    return [_as_object(every[i * most : i * most + size]) for i, size in enumerate(sizes)]


def _broadcast_object(value: Any, root: int, group: str) -> Any:
    """Return the value of the process with the rank `root` in a group."""
    own = _as_tensor(value if _own(group) == root else None)
    size = int(apply(made(nodes.CollectiveBroadcast, root, group), Tensor(np.array(own.size))).asnumpy())
    return _as_object(apply(made(nodes.CollectiveBroadcast, root, group), own if _own(group) == root else zeros((size,), own.dtype)))


def all_gather_object(object_list: Any, obj: Any, group: str | None = None) -> None:
    """Put the objects of all processes into `object_list`: numbers, strings, lists, tuples, dicts, and arrays."""
    name, own = "all_gather_object", _group("all_gather_object", group)
    ranks = members(name, own)
    _list_of(name, "object_list", object_list, len(ranks))[:] = _gathered_objects(obj, own, len(ranks))


def gather_object(obj: Any, object_gather_list: Any = None, dst: int = 0, group: str | None = None) -> None:
    """Put the objects of all processes into the `object_gather_list` of the process `dst`; see `all_gather_object`."""
    name, own = "gather_object", _group("gather_object", group)
    ranks = members(name, own)
    here = _place(name, "dst", dst, ranks) == _own(own)
    target = _list_of(name, "object_gather_list", object_gather_list, len(ranks)) if here else []
    found = _gathered_objects(obj, own, len(ranks))
    if here:
        target[:] = found


def broadcast_object_list(object_list: Any, src: int = 0, group: str | None = None, device: Any = None) -> None:
    """Put the objects of the process `src` into `object_list`; see `all_gather_object`."""
    name, own = "broadcast_object_list", _group("broadcast_object_list", group)
    root = _place(name, "src", src, members(name, own))
    target = _list_of(name, "object_list", object_list)
    target[:] = _of_length(name, target, _broadcast_object(target, root, own))


def scatter_object_list(
    scatter_object_output_list: Any, scatter_object_input_list: Any, src: int = 0, group: str | None = None
) -> None:
    """Set the first item of `scatter_object_output_list` to the object that the process `src` sends to this one."""
    name, own = "scatter_object_list", _group("scatter_object_list", group)
    ranks = members(name, own)
    root = _place(name, "src", src, ranks)
    target = _list_of(name, "scatter_object_output_list", scatter_object_output_list)
    given = _list_of(name, "scatter_object_input_list", scatter_object_input_list, len(ranks)) if root == _own(own) else None
    target[0] = _broadcast_object(given, root, own)[_own(own)]


def send_object_list(object_list: Any, dst: int, group: str | None = None, device: Any = None) -> None:
    """Send a list of objects to the process `dst`, like `send` for a tensor; see `all_gather_object`."""
    name = "send_object_list"
    values, to = _list_of(name, "object_list", object_list), _rank(name, "dst", dst)
    pair, root = _between(name, _own(WORLD), to, _group(name, group), 0)
    _broadcast_object(values, root, pair)


def recv_object_list(object_list: Any, src: int = 0, group: str | None = None, device: Any = None) -> int:
    """Put the objects that the process `src` sends to this one into `object_list`, and return 0."""
    name = "recv_object_list"
    target, source = _list_of(name, "object_list", object_list), _rank(name, "src", src)
    pair, root = _between(name, source, _own(WORLD), _group(name, group), 0)
    target[:] = _of_length(name, target, _broadcast_object(target, root, pair))
    return 0


def _of_length(name: str, target: list[Any], found: list[Any]) -> list[Any]:
    if len(found) != len(target):
        raise wrong(name, "object_list", f"of length {len(found)}, that of the list that comes", len(target))
    return found
