"""Samples with an index, and the node that returns those that a sampler chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.dataset.blocks import Block
from adjoint.dataset.nodes import Node, Pending, Places, Run
from adjoint.dataset.samplers import BuiltinSampler
from adjoint.dataset.workers import wanted

__all__ = ["Sampled", "Samples"]


class Samples:
    """Base class of sources: samples with indices from 0.

    columns   names of the columns
    workers   how many workers may read samples; 0 for none
    processes whether they may be processes
    portable  whether any worker may read: the samples are files or arrays, not a user's code
    """

    columns: tuple[str, ...]
    workers = 0
    processes = False
    portable = True

    def __len__(self) -> int:
        raise NotImplementedError

    def block(self, indices: Places) -> Block:
        """Return the samples of these indices, in memory of their own."""
        raise NotImplementedError

    def labels(self) -> np.ndarray[Any, Any] | None:
        """Return the class of each sample, int64; None where the samples have none."""
        return None

    def classes(self) -> int | None:
        """Return the number of classes."""
        return None

    def class_indexing(self) -> dict[str, int]:
        return {}


class Sampled(Node):
    """The samples that a sampler chooses for each epoch."""

    def __init__(self, samples: Samples, sampler: BuiltinSampler):
        self.samples, self.sampler = samples, sampler
        self.columns = samples.columns

    @property
    def workers(self) -> int:
        return self.samples.workers

    @property
    def processes(self) -> bool:
        return self.samples.processes

    @property
    def epochs_differ(self) -> bool:
        sampler: BuiltinSampler | None = self.sampler
        while sampler is not None and not sampler.each_epoch_differs:
            sampler = sampler.child_sampler
        return sampler is not None

    @property
    def portable(self) -> bool:
        return not self.epochs_differ and (self.samples.portable or self.samples.workers > 1)

    def order(self, run: Run, epoch: int) -> Places:
        """Return the indices of an epoch."""
        return run.order_of(self, epoch, lambda: self.sampler.epoch_of(len(self.samples), run.seed, epoch, self.samples.labels))

    def length(self, run: Run, epoch: int) -> int:
        return len(self.order(run, epoch))

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        indices = self.order(run, epoch)[places]
        if not wanted(self, run):
            return lambda: self.samples.block(indices)
        assert run.workers is not None
        return run.workers.submit(run, self, "fetched", epoch, indices)

    def fetched(self, run: Run, epoch: int, indices: Places) -> Block:
        """Reads samples by index, in this process."""
        return self.samples.block(indices)

    def classes(self) -> int | None:
        return self.samples.classes()

    def class_indexing(self) -> dict[str, int]:
        return self.samples.class_indexing()
