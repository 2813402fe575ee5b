"""The ops.  Importing this package registers every one of them."""

from adjoint.ir.ops import control, host, stack, state

__all__ = ["control", "host", "stack", "state"]
