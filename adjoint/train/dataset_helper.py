"""DatasetHelper: the batches of a dataset, as MindSpore's own loops of training take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.dataset.dataset import Dataset
from adjoint.nn.checks import boolean

__all__ = ["DatasetHelper"]


class DatasetHelper:
    """An iterable of the batches of one epoch, each a list of Tensors.

    dataset            the dataset
    dataset_sink_mode  whether MindSpore would let a device read the dataset; on the CPU the loop gets the batches in any case
    sink_size          how many batches `sink_size()` tells of; -1 for all of them
    epoch_num          is taken, without effect

    TypeError for another dataset and other types, ValueError for a `sink_size` that is neither -1 nor above 0.
    """

    def __init__(self, dataset: Dataset, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1):
        if not isinstance(dataset, Dataset):
            raise TypeError(f"For 'DatasetHelper', the argument 'dataset' must be a dataset, but got {dataset!r} of type "
                            f"{type(dataset).__name__}.")
        boolean("DatasetHelper", "dataset_sink_mode", dataset_sink_mode)
        for name, value in (("sink_size", sink_size), ("epoch_num", epoch_num)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"For 'DatasetHelper', the argument '{name}' must be an int, but got {value!r} of type "
                                f"{type(value).__name__}.")
        if sink_size < -1 or sink_size == 0:
            raise ValueError(f"For 'DatasetHelper', the argument 'sink_size' must be -1 or above 0, but got {sink_size}.")
        self.dataset, self._sink_size = dataset, sink_size

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.dataset.create_tuple_iterator(num_epochs=1))

    def sink_size(self) -> int:
        """Return how many batches a device would read at once: those of an epoch, unless the constructor was given another number."""
        return self.dataset.get_dataset_size() if self._sink_size == -1 else self._sink_size

    def types_shapes(self) -> tuple[list[Any], list[list[int | None]]]:
        """Return the dtypes and the shapes of the columns of a batch."""
        return self.dataset.output_types(), self.dataset.output_shapes()

    get_data_info = types_shapes

    def stop_send(self) -> None:
        """Do nothing: no thread sends batches to a device."""

    continue_send = release = stop_send

    def get_mbuf_queue_size(self) -> int:
        """Return how many batches wait for a device: 0."""
        return 0

    def get_send_info(self, run_context: Any) -> None:
        """Do nothing: no thread sends batches to a device."""
