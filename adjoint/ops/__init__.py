"""Operators: functions (`ops.relu`), and objects made once with their attributes (`ops.ReLU()`), in MindSpore's names."""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ops import functional, operations
from adjoint.ops.index import COMPOSITE

if TYPE_CHECKING:
    from adjoint.ops import composite
    from adjoint.ops.composite import *  # noqa: F403
    from adjoint.ops.functional import *  # noqa: F403
    from adjoint.ops.operations import *  # noqa: F403
    from adjoint.ops.registrations import CustomRegOp, DataType, custom_info_register
    from adjoint.ops.state import register_queue, unregister_queue

__all__ = ["CustomRegOp", "DataType", "composite", "custom_info_register", "functional", "operations", "register_queue", "unregister_queue"]
if TYPE_CHECKING:
    __all__ += composite.__all__
    __all__ += functional.__all__
    __all__ += operations.__all__
else:
    __all__ += dict.fromkeys([*COMPOSITE["composite"].split(), *functional.__all__, *operations.__all__])

LOADED_WHEN_USED = {
    **lazy.homes(__name__, COMPOSITE), **{name: operations.LOADED_WHEN_USED[name] for name in operations.__all__},
    **functional.LOADED_WHEN_USED, "composite": "adjoint.ops.composite",
    **dict.fromkeys(("CustomRegOp", "DataType", "custom_info_register"), "adjoint.ops.registrations"),
    **dict.fromkeys(("register_queue", "unregister_queue"), "adjoint.ops.state"),
    "vmap": "adjoint.runtime.graphs.vmap", **dict.fromkeys(("jacfwd", "jacrev"), "adjoint.runtime.graphs.jacobians"),
}
"""The modules of all names."""

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


def __getattr__(name: str) -> Any:
    found = lazy.found(globals(), name)
    if found is None:
        raise missing_name(__name__, name, globals())
    return found


def __dir__() -> list[str]:
    return lazy.listed(globals())


# They use modules of this package, which the functions above find.
from adjoint.ops.tensor_methods import attach as _attach  # noqa: E402
from adjoint.ops.users_ops import wait as _wait  # noqa: E402

_attach()
_wait()
