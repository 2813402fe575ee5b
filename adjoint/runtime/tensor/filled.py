"""New tensors with one number in every element."""

from __future__ import annotations

import functools

from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.tensor.tensor import Tensor, constant, wrap

__all__ = ["full", "zeros"]


def zeros(type_: TensorType) -> Tensor:
    """Return a tensor of this type, filled with zeros."""
    from_zero = constant(False if type_.dtype.kind == "b" else 0, type_.dtype)
    return full(from_zero, type_)


def full(value: Tensor, type_: TensorType) -> Tensor:
    """Return a tensor of this type, filled with the number of the 0-d tensor `value`."""
    if type_.rank == 0:
        # A new tensor object: `value` may be a shared constant.
        return wrap(type_, value.memory)
    plan = plan_for(_broadcast(type_), (value.type,))
    return wrap(type_, plan.run(value.memory))


@functools.lru_cache(256)
def _broadcast(to: TensorType) -> Broadcast:
    """Return the op that fills a tensor of the type `to`.  Each is made once, since making an op takes longer than running it."""
    return Broadcast(to=to)
