"""Operators: functions (`ops.relu`), and objects made once with their attributes (`ops.ReLU()`), in MindSpore's names."""

from typing import Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ops import composite, functional, operations, tensor_methods, users_ops  # noqa: F401 - it waits for the ops of users
from adjoint.ops.composite import *  # noqa: F403
from adjoint.ops.functional import *  # noqa: F403
from adjoint.ops.operations import *  # noqa: F403
from adjoint.ops.registrations import CustomRegOp, DataType, custom_info_register
from adjoint.ops.state import register_queue, unregister_queue

tensor_methods.attach()

__all__ = ["CustomRegOp", "DataType", "composite", "custom_info_register", "functional", "operations", "register_queue", "unregister_queue"]
__all__ += composite.__all__
__all__ += functional.__all__
__all__ += operations.__all__

INSTEAD = {
    "while_loop": "`ops.WhileLoop`, or a `while` in a function under `ms.jit`",
    "scan": "`ops.Scan`, or a `for` in a function under `ms.jit`", "fori_loop": "`ops.ForiLoop`, or a `for` in a function under `ms.jit`",
    "switch": "an `if`", "make_tuple": "`(a, b)`",
    "kernel": "a function on NumPy arrays, in `ops.Custom`", "CustomOpBuilder": "`ops.Custom` with a function in C or C++",
    "Send": "`mint.distributed.send(tensor, dst)`", "Receive": "`mint.distributed.recv(tensor, src)`",
    "BatchISendIRecv": "`mint.distributed.batch_isend_irecv`", "CollectiveScatter": "`mint.distributed.scatter`",
    "CollectiveGather": "`mint.distributed.gather`", "AlltoAllV": "`mint.distributed.all_to_all_single`",
}
"""What to write instead of operators of MindSpore's that are missing here."""


LOADED_WHEN_USED = {"vmap": "adjoint.runtime.graphs.vmap", **dict.fromkeys(("jacfwd", "jacrev"), "adjoint.runtime.graphs.jacobians")}
"""Names that load their module when they are first used."""


def __getattr__(name: str) -> Any:
    if name in LOADED_WHEN_USED:
        return lazy.load(globals(), name)
    raise missing_name(__name__, name, globals())
