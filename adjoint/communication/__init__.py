"""Many processes that compute together: who they are, and what they send each other.

    management   processes and groups, `init`: MindSpore's interface
    launch       what MPI's launcher says
    connection   the start of MPI, when there is a launcher
    processes    what the processes say of themselves
    messages     bytes from one process to another, with a limit of time
    collectives  reductions in a fixed order, and the like, over messages
    objects      Python values as bytes
    failures     all end when one fails
    watcher      names a process that was killed: a program of its own
"""

from adjoint.communication import management
from adjoint.communication.management import (
    HCCL_WORLD_COMM_GROUP,
    MCCL_WORLD_COMM_GROUP,
    NCCL_WORLD_COMM_GROUP,
    GlobalComm,
    create_group,
    destroy_group,
    get_comm_name,
    get_group_rank_from_world_rank,
    get_group_size,
    get_local_rank,
    get_local_rank_size,
    get_process_group_ranks,
    get_rank,
    get_world_rank_from_group_rank,
    init,
    is_initialized,
    release,
)

__all__ = [
    "GlobalComm", "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP", "create_group", "destroy_group",
    "get_comm_name", "get_group_rank_from_world_rank", "get_group_size", "get_local_rank", "get_local_rank_size",
    "get_process_group_ranks", "get_rank", "get_world_rank_from_group_rank", "init", "is_initialized", "management", "release",
]
