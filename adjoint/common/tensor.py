"""MindSpore's place for Tensor, and `tensor`, which makes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.types import DType
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Tensor", "tensor"]


def tensor(
    input_data: Any = None, dtype: DType | None = None, shape: Sequence[Any] | int | None = None, init: Any = None, const_arg: bool = False,
    device: str | None = None,
) -> Tensor:
    """Return a Tensor: `tensor([1.0, 2.0], float16)`; arguments and errors as for `Tensor`."""
    given = input_data, dtype, shape, init, const_arg, device
    graph = emitter()
    return Tensor(*given) if graph is None else graph.convert(Tensor, given, {})
