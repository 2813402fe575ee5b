"""`mindspore.context`: the settings of a program, and how it is spread over processes.

They are defined in `adjoint.runtime.process.context` and `adjoint.runtime.process.parallel_context`.
"""

from adjoint.runtime.process.context import COMPATIBLE, GRAPH_MODE, LAX, PYNATIVE_MODE, STRICT, get_context, set_context
from adjoint.runtime.process.parallel_context import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from adjoint.runtime.process.stored_settings import get_ps_context, reset_ps_context, set_ps_context

__all__ = [
    "COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "ParallelMode", "STRICT", "get_auto_parallel_context", "get_context",
    "get_ps_context", "reset_auto_parallel_context", "reset_ps_context", "set_auto_parallel_context", "set_context", "set_ps_context",
]
