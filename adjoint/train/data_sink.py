"""data_sink: a function that takes the batches of a dataset by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from adjoint.dataset.dataset import Dataset
from adjoint.runtime.graphs.jit import jit
from adjoint.runtime.graphs.options import JitConfig
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["data_sink"]


def data_sink(fn: Callable[..., Any], dataset: Dataset, sink_size: int = 1, jit_config: JitConfig | None = None,
              input_signature: Any = None) -> Callable[..., Any]:
    """Return a function that calls `fn` with the next batches of a dataset, and returns what the last of the calls returns.

    MindSpore reads ahead into the memory of an Ascend or GPU, and refuses the CPU.  Here the batches are those of the dataset's iterator:
    after the last one the dataset begins again, shuffled again if it shuffles.

    fn               a function of as many Tensors as the dataset has columns
    dataset          the dataset
    sink_size        how many batches one call takes
    jit_config       if given, `fn` runs as a graph, as under `jit`
    input_signature  the Tensor that describes the argument, or a list or tuple of one for each: other dtypes and shapes raise TypeError

    TypeError for another dataset or function and for a `sink_size` that is no int, ValueError for one that is not positive.  A call raises
    RuntimeError if the dataset has no batch.
    """
    if not callable(fn):
        raise TypeError(f"For 'data_sink', the argument 'fn' must be a function, but got {fn!r} of type {type(fn).__name__}.")
    if not isinstance(dataset, Dataset):
        raise TypeError(f"For 'data_sink', the argument 'dataset' must be a dataset, but got {dataset!r} of type {type(dataset).__name__}.")
    if not isinstance(sink_size, int) or isinstance(sink_size, bool):
        raise TypeError(f"For 'data_sink', the argument 'sink_size' must be an int, but got {sink_size!r} of type "
                        f"{type(sink_size).__name__}.")
    if sink_size <= 0:
        raise ValueError(f"For 'data_sink', the argument 'sink_size' must be positive, but got {sink_size}.")
    if jit_config is not None and not isinstance(jit_config, JitConfig):
        raise TypeError(f"For 'data_sink', the argument 'jit_config' must be a JitConfig, but got {jit_config!r} of type "
                        f"{type(jit_config).__name__}.")
    wanted = None if input_signature is None else _signature(input_signature)
    called, batches = fn if jit_config is None else jit(fn), _endless(dataset)

    @functools.wraps(fn)
    def step(*ignored: Any, **named: Any) -> Any:
        result = None
        for _ in range(sink_size):
            batch = next(batches)
            if wanted is not None:
                _check(batch, wanted)
            result = called(*batch)
        return result

    return step


def _endless(dataset: Dataset) -> Iterator[list[Tensor]]:
    """Yield the batches of a dataset, one epoch after the other."""
    epochs = dataset.create_tuple_iterator()
    while True:
        empty = True
        for batch in epochs:
            empty = False
            yield batch
        if empty:
            raise RuntimeError("For 'data_sink', the dataset has no batch: look at the size of the source, and at `drop_remainder`.")


def _signature(given: Any) -> list[Tensor]:
    """Return the tensors of `input_signature`; raise TypeError if it holds something else."""
    tensors = list(given) if isinstance(given, (list, tuple)) else [given]
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"For 'data_sink', the argument 'input_signature' must be a Tensor, or a list or tuple of Tensors, but got "
                            f"{tensor!r} of type {type(tensor).__name__}.")
    return tensors


def _check(batch: list[Tensor], wanted: list[Tensor]) -> None:
    """Raise TypeError if the dtypes or shapes of a batch differ from those that the user has given."""
    got, expected = ([(str(tensor.dtype), tensor.shape) for tensor in tensors] for tensors in (batch, wanted))
    if got != expected:
        raise TypeError(f"For 'data_sink', the dtypes and shapes of a batch must be those of 'input_signature', {expected}, but got {got}.")
