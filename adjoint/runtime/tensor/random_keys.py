"""The tensors that ops of random numbers draw from."""

from __future__ import annotations

import numpy as np

from adjoint.ir.types import U64, tensor
from adjoint.runtime.memory.machine import memory_of
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.random import key_numbers
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["next_key"]

_KEY = tensor(U64, (2,))


def next_key(seed: int | None = None) -> Tensor:
    """Return the key of the next draw, u64[2]: the seed and the number of the draw; `seed`, if given and not 0, replaces the
    global seed.
    """
    graph = emitter()
    if graph is not None:
        return graph.draw(seed)
    return wrap(_KEY, memory_of(np.array(key_numbers(seed), np.uint64)))
