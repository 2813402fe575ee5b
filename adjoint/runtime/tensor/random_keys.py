"""The keys of random numbers, as tensors: an op of random numbers computes them from its key."""

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
    """Return the key for the next draw of random numbers: a u64[2] tensor with the seed and the number of the draw.

    seed  a seed for this draw only; None or 0: the global seed

    In a graph, a new key is drawn each time it runs.
    """
    graph = emitter()
    if graph is not None:
        return graph.draw(seed)
    return wrap(_KEY, memory_of(np.array(key_numbers(seed), np.uint64)))
