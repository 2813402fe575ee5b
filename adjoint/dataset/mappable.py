"""The base of datasets whose samples have an index: they know their sampler and split by indices."""

from __future__ import annotations

from adjoint.dataset.dataset import Dataset
from adjoint.dataset.samplers import BuiltinSampler, FixedSampler, SequentialSampler
from adjoint.dataset.sources import Sampled, Samples

__all__ = ["MappableDataset"]


class MappableDataset(Dataset):
    """A dataset whose samples have an index.  Samplers may be added until another dataset is built on it."""

    _samples: Samples | None = None

    def _set_source(self, samples: Samples, sampler: BuiltinSampler) -> None:
        self._samples = samples
        super().__init__(Sampled(samples, sampler))

    def _sampled(self) -> Sampled:
        assert isinstance(self.node, Sampled)
        return self.node

    @property
    def sampler(self) -> BuiltinSampler | None:
        return self.node.sampler if isinstance(self.node, Sampled) else None

    def add_sampler(self, new_sampler: BuiltinSampler) -> None:
        """Apply a further sampler to what the present one chooses."""
        self._resample(new_sampler.on_top_of(self._sampled().sampler))

    def use_sampler(self, new_sampler: BuiltinSampler) -> None:
        """Replace the sampler; raise TypeError for what is not a sampler."""
        if new_sampler is None:
            raise TypeError("Input sampler can not be None.")
        if not isinstance(new_sampler, BuiltinSampler):
            raise TypeError("Input sampler is not an instance of a sampler.")
        self._resample(new_sampler.on_top_of(self._sampled().sampler.child_sampler))

    def _resample(self, sampler: BuiltinSampler) -> None:
        assert self._samples is not None
        self.node, self._size = Sampled(self._samples, sampler), None

    def _part(self, first: int, size: int, randomize: bool, seed: int) -> Dataset:
        if self._samples is None:
            return super()._part(first, size, randomize, seed)
        order = FixedSampler(seed, randomize).on_top_of(self._sampled().sampler)
        part = MappableDataset.__new__(MappableDataset)
        part._set_source(self._samples, SequentialSampler(first, size).on_top_of(order))
        return part
