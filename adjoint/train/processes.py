"""What the processes of a data parallel training do together besides its steps."""

from __future__ import annotations

import numpy as np

from adjoint.communication.management import get_group_size, get_rank
from adjoint.ops.collectives import AllGather, AllReduce, ReduceOp
from adjoint.runtime.process.parallel_context import is_data_parallel
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["mean_of_all", "process_count", "process_number", "texts_of_all", "writes_files"]


def process_count() -> int:
    """Return how many processes train together."""
    return get_group_size() if is_data_parallel() else 1


def process_number() -> int:
    """Return the number of this process among those that train together."""
    return get_rank() if is_data_parallel() else 0


def writes_files() -> bool:
    """Return whether this process writes the files of the training: the first one does."""
    return process_number() == 0


def mean_of_all(value: float) -> float:
    """Return the mean over the processes of the number that each passes; a collective."""
    return value if process_count() == 1 else AllReduce(ReduceOp.AVG)(Tensor(np.array(value))).item()


def texts_of_all(text: str) -> list[str]:
    """Return the strings that the processes pass, in the order of their ranks; a collective."""
    if process_count() == 1:
        return [text]
    coded = np.frombuffer(text.encode(), np.uint8)
    gather = AllGather()
    lengths = gather(Tensor(np.array([coded.size]))).asnumpy()
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: coded.size] = coded
    every = gather(Tensor(padded)).asnumpy().reshape(len(lengths), -1)
    return [every[i, :length].tobytes().decode() for i, length in enumerate(lengths)]
