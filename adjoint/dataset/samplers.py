"""Samplers: which samples of a source make an epoch, and in what order.

A sampler maps the indices that its child chose, or all, to the indices of an epoch.  Random ones draw from the run's seed and the
epoch: two sources of one length that are shuffled with one seed have the same order, as in MindSpore.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import numpy as np

from adjoint.dataset.config import get_seed
from adjoint.dataset.streams import key_of

__all__ = [
    "BuiltinSampler", "DistributedSampler", "FixedSampler", "IterSampler", "PKSampler", "RandomSampler", "Sampler", "SequentialSampler",
    "Shuffle", "SubsetRandomSampler", "SubsetSampler", "WeightedRandomSampler", "select_sampler",
]

Indices = np.ndarray[Any, Any]
_INT64_MAX = 2**63 - 1


class Shuffle(StrEnum):
    """How a source is shuffled: over all files and rows (GLOBAL), the order of files only (FILES), or not at all (FALSE)."""

    FALSE = "false"
    ADAPTIVE = "adaptive"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"


def _check_num_samples(num_samples: Any) -> None:
    if num_samples is not None:
        if not isinstance(num_samples, int):
            raise TypeError(f"num_samples must be integer but was: {num_samples}.")
        if not 0 <= num_samples <= _INT64_MAX:
            raise ValueError(f"num_samples exceeds the boundary between {0} and {_INT64_MAX}(INT64_MAX)!")


def _check_integer(name: str, value: Any) -> None:
    if not isinstance(value, int):
        raise TypeError(f"{name} must be integer but was: {value}.")


def _check_boolean(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a boolean value but was: {value}.")


class BuiltinSampler:
    """Base class of this package's samplers.

    num_samples  maximum number of samples; None or 0 for all
    """

    child_sampler: BuiltinSampler | None = None
    each_epoch_differs = False
    """Whether the number of samples may differ between epochs: only a user's own sampler may do that."""

    def __init__(self, num_samples: int | None = None):
        self.num_samples = num_samples

    def add_child(self, sampler: BuiltinSampler | None) -> None:
        """Choose among what `sampler` chose; raise RuntimeError if this one has a child already."""
        if self.child_sampler is not None:
            raise RuntimeError("Cannot add child sampler, this sampler already has a child.")
        self.child_sampler = sampler

    def get_child(self) -> BuiltinSampler | None:
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        inner = self.child_sampler.get_num_samples() if self.child_sampler is not None else None
        given = [number for number in (self.num_samples, inner) if number is not None]
        return min(given, default=None)

    def is_shuffled(self) -> bool:
        return self.child_sampler is not None and self.child_sampler.is_shuffled()

    def is_sharded(self) -> bool:
        return self.child_sampler is not None and self.child_sampler.is_sharded()

    def get_shuffle_mode(self) -> Shuffle:
        return Shuffle.FALSE

    def on_top_of(self, child: BuiltinSampler | None) -> BuiltinSampler:
        """Return a copy of this sampler that chooses among what `child` chose."""
        new = copy.copy(self)
        new.child_sampler = child
        return new

    def epoch_of(self, length: int, seed: int, epoch: int, labels: Any = None) -> Indices:
        """Return the indices of an epoch over a source of `length` samples, int64.  `labels()` gives the class of each, for samplers that
        ask."""
        child = self.child_sampler
        below = np.arange(length) if child is None else child.epoch_of(length, seed, epoch, labels)
        chosen = self.chosen(len(below), np.random.Generator(np.random.Philox(key=key_of(seed, epoch))), labels)
        return below[chosen]

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        """Places below `length`, drawn from `random`."""
        raise NotImplementedError

    def _cut(self, places: Indices) -> Indices:
        return places[: self.num_samples] if self.num_samples else places


class SequentialSampler(BuiltinSampler):
    """Samples in order from `start_index`."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None):
        if start_index is not None:
            _check_integer("start_index", start_index)
        _check_num_samples(num_samples)
        self.start_index = start_index
        super().__init__(num_samples)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        start = self.start_index or 0
        if length and not 0 <= start < length:
            raise RuntimeError(f"SequentialSampler: 'start_index' must be in [0, {length}), the number of samples, but got {start}.")
        return self._cut(np.arange(start, length))


class RandomSampler(BuiltinSampler):
    """Samples in random order, each once; with `replacement` any of them each time."""

    def __init__(self, replacement: bool = False, num_samples: int | None = None, shuffle: Shuffle = Shuffle.GLOBAL):
        _check_boolean("replacement", replacement)
        _check_num_samples(num_samples)
        if not isinstance(shuffle, Shuffle) or shuffle is Shuffle.FALSE:
            raise TypeError(f"shuffle must be valid shuffle mode but was: {shuffle}.")
        if shuffle is not Shuffle.GLOBAL:
            raise RuntimeError(f"The shuffle mode: {shuffle} is not supported with current dataset.")
        self.shuffle, self.replacement = shuffle, replacement
        super().__init__(num_samples)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        if self.replacement:
            return random.integers(0, length, min(self.num_samples or length, length)) if length else np.arange(0)
        return self._cut(random.permutation(length))

    def is_shuffled(self) -> bool:
        return True

    def get_shuffle_mode(self) -> Shuffle:
        return self.shuffle


class DistributedSampler(BuiltinSampler):
    """Every `num_shards`-th sample from `shard_id` on, of the shuffled source or of the source as it is.

    All shards have the same number of samples: the last ones begin again with the first samples.  With `offset` from 0 to num_shards - 1
    the first sample goes to the shard of that number, and nothing is filled up, but for a shard without any: it has the first sample of the
    source.  The order is drawn from the seed that was set when the sampler was made, so all processes agree on it.
    """

    def __init__(self, num_shards: int, shard_id: int, shuffle: bool | Shuffle = True, num_samples: int | None = None, offset: int = -1):
        _check_integer("num_shards", num_shards)
        _check_integer("shard_id", shard_id)
        if not isinstance(shuffle, (bool, Shuffle)):
            raise TypeError(f"shuffle must be a boolean value or valid shuffle mode but was: {shuffle}.")
        _check_num_samples(num_samples)
        _check_integer("offset", offset)
        if num_shards < 1:
            raise RuntimeError(f"DistributedSampler: 'num_shards' must be 1 or more, but got {num_shards}.")
        if not 0 <= shard_id < num_shards:
            raise RuntimeError(f"DistributedSampler: 'shard_id' must be in [0, {num_shards - 1}], but got {shard_id}.")
        if offset > num_shards:
            raise RuntimeError(f"DistributedSampler: 'offset' must be at most 'num_shards', {num_shards}, but got {offset}.")
        self.num_shards, self.shard_id, self.offset = num_shards, shard_id, offset
        self.shuffle = shuffle if isinstance(shuffle, Shuffle) else Shuffle.GLOBAL if shuffle else Shuffle.FALSE
        if self.shuffle not in (Shuffle.FALSE, Shuffle.GLOBAL):
            raise RuntimeError(f"The shuffle mode: {self.shuffle} is not supported with current dataset.")
        self.seed = get_seed()
        super().__init__(num_samples)

    def epoch_of(self, length: int, seed: int, epoch: int, labels: Any = None) -> Indices:
        return super().epoch_of(length, self.seed, epoch, labels)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        order = random.permutation(length) if self.shuffle is Shuffle.GLOBAL else np.arange(length)
        if not length:
            return order
        if self.offset < 0:
            places = np.arange(self.shard_id, -(-length // self.num_shards) * self.num_shards, self.num_shards) % length
        else:
            places = np.arange((self.shard_id - self.offset) % self.num_shards, length, self.num_shards)
            if not len(places):
                return np.zeros(1, np.int64)
        return self._cut(order[places])

    def is_shuffled(self) -> bool:
        return self.shuffle is not Shuffle.FALSE if self.child_sampler is None else self.child_sampler.is_shuffled()

    def is_sharded(self) -> bool:
        return self.num_shards > 1 if self.child_sampler is None else self.child_sampler.is_sharded()

    def get_shuffle_mode(self) -> Shuffle:
        return self.shuffle

    def set_offset(self, offset: int) -> DistributedSampler:
        self.offset = offset
        return self


class SubsetSampler(BuiltinSampler):
    """The samples of these indices, in their order."""

    def __init__(self, indices: int | Iterable[int], num_samples: int | None = None):
        _check_num_samples(num_samples)
        if isinstance(indices, int):
            listed = [indices]
        elif isinstance(indices, Iterable) and not isinstance(indices, str):
            listed = list(indices) if num_samples is None else [index for index, _ in zip(indices, range(num_samples))]
        else:
            raise TypeError(f"Unsupported sampler object of type ({type(indices)})")
        for i, item in enumerate(listed):
            if not isinstance(item, (int, np.integer)):
                raise TypeError(f"SubsetSampler: Type of indices element must be int, but got list[{i}]: {item}, type: {type(item)}.")
        self.indices = listed
        super().__init__(num_samples)

    def get_num_samples(self) -> int:
        number = super().get_num_samples()
        return len(self.indices) if number is None else min(len(self.indices), number)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        return self._cut(_within(np.array(self.indices, np.int64), length))


class SubsetRandomSampler(SubsetSampler):
    """The samples of these indices, in random order."""

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        return self._cut(random.permutation(_within(np.array(self.indices, np.int64), length)))

    def is_shuffled(self) -> bool:
        return True

    def get_shuffle_mode(self) -> Shuffle:
        return Shuffle.GLOBAL


class WeightedRandomSampler(BuiltinSampler):
    """Samples drawn with probabilities in proportion to `weights`; samples beyond the list have weight 0."""

    def __init__(self, weights: list[float], num_samples: int | None = None, replacement: bool = True):
        listed = weights if isinstance(weights, list) else [weights]
        for index, weight in enumerate(listed):
            if not isinstance(weight, numbers.Number):
                raise TypeError(f"type of weights element must be number, but got w[{index}]: {weight}, type: {type(weight)}.")
        _check_num_samples(num_samples)
        _check_boolean("replacement", replacement)
        values = np.array(listed, np.float64)
        if not len(values) or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
            raise RuntimeError("WeightedRandomSampler: 'weights' must be numbers of 0 or more, and not all 0.")
        self.weights, self.replacement = listed, replacement
        super().__init__(num_samples)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        weights = np.array(self.weights[:length], np.float64)
        count = self.num_samples or length
        if len(self.weights) > length:
            raise RuntimeError(f"WeightedRandomSampler: there are {len(self.weights)} weights for {length} samples.")
        if self.replacement:
            bounds = np.cumsum(weights)
            return np.minimum(np.searchsorted(bounds, random.random(count) * bounds[-1], side="right"), len(weights) - 1)
        if count > np.count_nonzero(weights):
            raise RuntimeError(f"WeightedRandomSampler: {count} samples are asked for without replacement, "
                               f"but only {np.count_nonzero(weights)} have a weight above 0.")
        return random.choice(len(weights), count, replace=False, p=weights / weights.sum())

    def is_shuffled(self) -> bool:
        return True

    def get_shuffle_mode(self) -> Shuffle:
        return Shuffle.GLOBAL


class PKSampler(BuiltinSampler):
    """`num_val` samples of each class, class by class in ascending order; with `shuffle` a random choice, else the first ones.

    Only sources that know the class of each sample can be sampled so: MnistDataset, the CIFAR datasets, ImageFolderDataset.
    """

    def __init__(self, num_val: int, num_class: int | None = None, shuffle: bool = False, class_column: str = "label",
                 num_samples: int | None = None):
        _check_integer("num_val", num_val)
        if num_class is not None:
            raise NotImplementedError("Not supported to specify num_class for PKSampler.")
        _check_boolean("shuffle", shuffle)
        if not isinstance(class_column, str):
            raise TypeError(f"class_column must be a str value but was: {class_column}.")
        _check_num_samples(num_samples)
        self.num_val, self.shuffle, self.class_column = num_val, shuffle, class_column
        super().__init__(num_samples)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        classes = labels() if labels is not None else None
        if classes is None:
            raise RuntimeError("PKSampler: this dataset does not know the class of each sample.")
        parts = []
        for number in np.unique(classes):
            members = np.flatnonzero(classes == number)
            parts.append((random.permutation(members) if self.shuffle else members)[: self.num_val])
        return self._cut(np.concatenate(parts)) if parts else np.arange(0)

    def is_shuffled(self) -> bool:
        return self.shuffle if self.child_sampler is None else self.child_sampler.is_shuffled()


class FixedSampler(BuiltinSampler):
    """The same order in each epoch and run: parts of a source that are chosen from it have no sample in common.

    seed   draws the order, its own and that of the samplers below
    mixed  whether it is random; else the order of the samplers below
    """

    def __init__(self, seed: int, mixed: bool):
        self.seed, self.mixed = seed, mixed
        super().__init__()

    def epoch_of(self, length: int, seed: int, epoch: int, labels: Any = None) -> Indices:
        return super().epoch_of(length, self.seed, 0, labels)

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        return random.permutation(length) if self.mixed else np.arange(length)


class Sampler(BuiltinSampler):
    """Base class of a user's own sampler: `__iter__` returns the indices of an epoch, and is called once for each.

    Its random choices are its own: a resumed run has the same order only if `__iter__` depends on nothing but the epoch.
    """

    each_epoch_differs = True
    dataset_size = 0
    """The number of samples to choose from; set before each epoch."""

    def __init__(self, num_samples: int | None = None):
        super().__init__(num_samples)
        length = getattr(self, "__len__", None)
        if num_samples is None and length is not None:
            self.num_samples = length()

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def add_child(self, sampler: BuiltinSampler | None) -> None:
        self.child_sampler = sampler

    def get_num_samples(self) -> int | None:
        return self.num_samples if self.num_samples is not None else sum(1 for _ in iter(copy.deepcopy(self)))

    def lists(self, length: int) -> list[list[int]]:
        """Return the indices of an epoch, each entry of `__iter__` as a list: a batch sampler gives several at a time."""
        self.dataset_size = length
        found: list[list[int]] = []
        for entry in self:
            found.append([int(entry)] if isinstance(entry, (int, float, np.number)) else [int(index) for index in entry])
            if self.num_samples is not None and len(found) >= self.num_samples:
                break
        return found

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> Indices:
        return _within(np.array([index for entry in self.lists(length) for index in entry], np.int64), length)


class IterSampler(Sampler):
    """Return the indices from an iterable."""

    def __init__(self, sampler: Any, num_samples: int | None = None):
        super().__init__(len(sampler) if num_samples is None and hasattr(sampler, "__len__") else num_samples)
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)


def _within(indices: Indices, length: int) -> Indices:
    """Return the indices themselves; raise RuntimeError for one that is no sample."""
    wrong = indices[(indices < 0) | (indices >= length)]
    if len(wrong):
        raise RuntimeError(f"Sample ID ({wrong[0]}) is out of bound, expected range [0, {length - 1}]")
    return indices


def select_sampler(num_samples: int | None, sampler: Any, shuffle: Any, num_shards: int | None, shard_id: int | None) -> BuiltinSampler:
    """Return the sampler that the arguments of a source ask for."""
    if isinstance(sampler, BuiltinSampler):
        return sampler
    if isinstance(sampler, int):
        return SubsetSampler([sampler])
    if isinstance(sampler, (np.ndarray, list, tuple)):
        return SubsetSampler(sampler, num_samples)
    if not isinstance(sampler, str) and (isinstance(sampler, Iterable) or hasattr(type(sampler), "__getitem__")):
        return IterSampler(sampler, num_samples)
    if sampler is not None:
        raise TypeError(f"Unsupported sampler object of type ({type(sampler)})")
    mixed = shuffle is not Shuffle.FALSE if isinstance(shuffle, Shuffle) else shuffle is None or shuffle
    if num_shards is not None and shard_id is not None:
        return DistributedSampler(num_shards, shard_id, mixed, num_samples)
    return RandomSampler(num_samples=num_samples) if mixed else SequentialSampler(num_samples=num_samples)
