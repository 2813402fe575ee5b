"""The processes of a program and their groups, in MindSpore's names.

A single process is rank 0 of 1, until `init` asks MPI how many processes the launcher has started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.communication.launch import count_of_launcher
from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.ops.collective import WORLD, Exchange, OneProcess, use_exchange
from adjoint.runtime.process import parallel_context
from adjoint.runtime.process.epoch import epoch

if TYPE_CHECKING:
    from adjoint.communication.processes import Process

__all__ = [
    "GlobalComm", "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP", "create_group", "destroy_group",
    "get_comm_name", "get_group_rank_from_world_rank", "get_group_size", "get_local_rank", "get_local_rank_size",
    "get_process_group_ranks", "get_rank", "get_world_rank_from_group_rank", "init", "is_initialized", "members", "release",
]

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = WORLD, "nccl_world_group", "mccl_world_group"
"""Names of the group of all processes; they are synonyms."""
_WORLDS = (HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP)
_BACKENDS = ("hccl", "nccl", "mccl")


class GlobalComm:
    """The state of this process's communication.

    BACKEND           the name given to `init`, "mccl" by default
    WORLD_COMM_GROUP  the group of all processes
    INITED            whether `init` has been called
    CHECK_ENVS        kept
    """

    BACKEND: str = "mccl"
    WORLD_COMM_GROUP = HCCL_WORLD_COMM_GROUP
    INITED: bool = False
    CHECK_ENVS = True


@dataclass
class _World:
    """The processes and their groups: for each group its ranks, in order."""

    rank: int = 0
    processes: tuple[Process, ...] = ()
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.processes) or 1


_alone = _World(groups=dict.fromkeys(_WORLDS, (0,)))
_world = _alone
_connected: tuple[_World, Exchange] | None = None
"""Return the world that MPI has started, once `init` has been called: MPI cannot be started twice."""


def init(backend_name: str | None = None) -> None:
    """Find the other processes that MPI's launcher has started; without a launcher this process is alone.

    backend_name  "hccl", "nccl" or "mccl": all mean MPI here

    From now on an uncaught exception ends all processes, and the processors of this machine are divided among its processes, unless
    the number of threads has been set.  Raise RuntimeError when there is a launcher and mpi4py is not installed, or belongs to
    another MPI than the launcher; TypeError or ValueError for another name, as MindSpore does.
    """
    global _world, _connected
    if backend_name is not None and not isinstance(backend_name, str):
        raise TypeError(f"For 'init', the argument 'backend_name' must be a string, but got the type : {type(backend_name)}")
    if backend_name is not None and backend_name not in _BACKENDS:
        raise RuntimeError("For 'init', the argument 'backend_name' must be one of 'hccl', 'nccl' and 'mccl', but got 'backend_name' : "
                           f"{backend_name}")
    if GlobalComm.INITED:
        return
    launched = count_of_launcher()
    if launched and _connected is None:
        # Imported only here: it starts MPI, which a program of one process does not need.
        from adjoint.communication.connection import connect

        found = connect(launched, lambda group: _ranks("a collective", group))
        if found is not None:
            processes, rank, exchange = found
            _connected = _World(rank, processes, dict.fromkeys(_WORLDS, tuple(range(len(processes))))), exchange
    if _connected is not None:
        _world, exchange = _connected
        use_exchange(exchange)
    GlobalComm.BACKEND, GlobalComm.INITED = backend_name or "mccl", True
    parallel_context.set_processes(_world.rank, _world.size)
    epoch.move()


def release() -> None:
    """End the communication of this process; afterwards it is alone.  All processes must call it."""
    global _world
    if not GlobalComm.INITED:
        return
    _world = _alone
    use_exchange(OneProcess())
    GlobalComm.INITED = False
    parallel_context.set_processes(0, 1)
    epoch.move()


def is_initialized() -> bool:
    """Return whether `init` has been called, and `release` has not been called since."""
    return GlobalComm.INITED


def members(operator: str, group: str) -> tuple[int, ...]:
    """Return the ranks of a group's processes, of which this must be one, for an operator on them.

    Raise RuntimeError when a launcher has started several processes and `init` has not been called: each would compute alone.
    """
    if not GlobalComm.INITED and (launched := count_of_launcher()) > 1 and _connected is None:
        raise RuntimeError(f"For '{operator}', this is one of {launched} processes: `communication.init()` must be called first.")
    ranks = _ranks(operator, group)
    if _world.rank not in ranks:
        raise RuntimeError(f"For '{operator}', rank {_world.rank} is not in the group {group!r} of the ranks {list(ranks)}.")
    return ranks


def _ranks(owner: str, group: str) -> tuple[int, ...]:
    ranks = _world.groups.get(group)
    if ranks is None:
        raise RuntimeError(f"For '{owner}', there is no group {group!r}: `communication.create_group` makes one. There are "
                           f"{sorted(_world.groups)}.")
    return ranks


def _checked(owner: str, group: Any) -> None:
    if not isinstance(group, str):
        raise TypeError(f"For '{owner}', the argument 'group' must be type of string, but got 'group' type : {type(group)}.")


def _needs_init() -> None:
    if not GlobalComm.INITED:
        raise RuntimeError("Distributed Communication has not been inited.You can't invoke this interface yet. "
                           "Please call `init()` method first.")


def get_rank(group: str = WORLD) -> int:
    """Return the number of this process in a group; 0 before `init`."""
    _checked("get_rank", group)
    return members("get_rank", group).index(_world.rank) if GlobalComm.INITED else 0


def get_group_size(group: str = WORLD) -> int:
    """Return how many processes are in a group; 1 before `init`."""
    _checked("get_group_size", group)
    return len(_ranks("get_group_size", group)) if GlobalComm.INITED else 1


def _here(owner: str, group: str) -> list[int]:
    """Return the ranks of a group on this host."""
    ranks = members(owner, group)
    return [rank for rank in ranks if _world.size == 1 or _world.processes[rank].host == _world.processes[_world.rank].host]


def get_local_rank(group: str = WORLD) -> int:
    """Return the number of this process among those of a group on its host; 0 before `init`."""
    _checked("get_local_rank", group)
    return _here("get_local_rank", group).index(_world.rank) if GlobalComm.INITED else 0


def get_local_rank_size(group: str = WORLD) -> int:
    """Return how many processes of a group are on this host; 1 before `init`."""
    _checked("get_local_rank_size", group)
    return len(_here("get_local_rank_size", group)) if GlobalComm.INITED else 1


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """Return the rank among all processes of a process, from its rank in a group."""
    _checked("get_world_rank_from_group_rank", group)
    _needs_init()
    ranks = _ranks("get_world_rank_from_group_rank", group)
    _check_number("get_world_rank_from_group_rank", "group_rank_id", group_rank_id, len(ranks))
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """Return the rank in a group of a process, from its rank among all processes."""
    _checked("get_group_rank_from_world_rank", group)
    _needs_init()
    ranks = _ranks("get_group_rank_from_world_rank", group)
    _check_number("get_group_rank_from_world_rank", "world_rank_id", world_rank_id, _world.size)
    if world_rank_id not in ranks:
        raise ValueError(f"For 'get_group_rank_from_world_rank', the rank {world_rank_id} is not in the group {group!r} of the ranks "
                         f"{list(ranks)}.")
    return ranks.index(world_rank_id)


def _check_number(owner: str, argument: str, value: Any, count: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{owner}', the argument '{argument}' must be type of int, but got '{argument}' type : {type(value)}.")
    if not 0 <= value < count:
        raise ValueError(f"For '{owner}', the argument '{argument}' must be in [0, {count}), but got {value}.")


def get_process_group_ranks(group: str = WORLD) -> list[int]:
    """Return the ranks of the processes in a group."""
    _needs_init()
    _checked("get_process_group_ranks", group)
    return list(_ranks("get_process_group_ranks", group))


def get_comm_name(group: str = WORLD) -> str:
    """Return the name of a group's communicator, which is the group's name."""
    _checked("get_comm_name", group)
    _needs_init()
    _ranks("get_comm_name", group)
    return group


def create_group(group: str, rank_ids: list[int], options: Any = None) -> None:
    """Make a group of processes.

    group     its name
    rank_ids  ranks of its processes among all, in their order in the group
    options   accepted and ignored

    All processes of the group must make the same call.  Nothing is sent.
    """
    _checked("create_group", group)
    _needs_init()
    if not group:
        raise ValueError("For 'create_group', the argument 'group' must not be empty.")
    if not isinstance(rank_ids, (list, tuple)):
        raise TypeError(f"For 'create_group', the argument 'rank_ids' must be type of list, but got 'rank_ids' type : {type(rank_ids)}.")
    if not rank_ids:
        raise ValueError("For 'create_group', the argument 'rank_ids' list length must be greater than 0, but got an empty one.")
    for rank in rank_ids:
        _check_number("create_group", "rank_ids", rank, _world.size)
    if len(set(rank_ids)) != len(rank_ids):
        raise ValueError(f"For 'create_group', the argument 'rank_ids' has duplicates: {list(rank_ids)}.")
    if _world.groups.get(group, tuple(rank_ids)) != tuple(rank_ids):
        raise ValueError(f"For 'create_group', the group {group!r} exists already, of the ranks {list(_world.groups[group])}.")
    _world.groups[group] = tuple(rank_ids)


def destroy_group(group: str) -> None:
    """Destroy a group; raise ValueError for the group of all processes."""
    _checked("destroy_group", group)
    _needs_init()
    if group in _WORLDS:
        raise ValueError(f"For 'destroy_group', the group of all processes, {group!r}, cannot be destroyed.")
    _ranks("destroy_group", group)
    del _world.groups[group]
