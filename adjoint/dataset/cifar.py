"""CIFAR-10 and CIFAR-100, in the binary version (https://www.cs.toronto.edu/~kriz/cifar.html)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_usage
from adjoint.dataset.blocks import Block
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import select_sampler
from adjoint.dataset.sources import Samples

__all__ = ["Cifar100Dataset", "Cifar10Dataset"]

_PIXELS = 3 * 32 * 32


class _Records(Samples):
    """Files of records: one byte for each label, and 3 x 32 x 32 bytes of pixels, read at first use and kept."""

    def __init__(self, directory: str, files: tuple[str, ...], whole: bool, columns: tuple[str, ...], classes: int):
        """`whole`: all files have to be there; if not, one of them at least."""
        self._whole = whole
        self.columns = ("image", *columns)
        self._directory, self._files, self._classes = directory, files, classes
        self._data: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None

    def data(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """All images, uint8[n, 32, 32, 3], and their labels, uint32[kinds of labels, n]."""
        if self._data is None:
            record = len(self.columns) - 1 + _PIXELS
            present = [name for name in self._files if os.path.isfile(os.path.join(self._directory, name))]
            if len(present) < (len(self._files) if self._whole else 1):
                missing = next(name for name in self._files if name not in present)
                pickled = os.path.exists(os.path.join(self._directory, missing.removesuffix(".bin")))
                hint = " There are files of the Python version: only the binary version is read." if pickled else ""
                raise RuntimeError(f"Invalid file, {os.path.join(self._directory, missing)} does not exist. In this directory are "
                                   f"expected the "
                                   f"files of the binary version: {', '.join(self._files)}.{hint}")
            images, labels = [], []
            for name in present:
                path = os.path.join(self._directory, name)
                bytes_ = np.fromfile(path, np.uint8)
                if not len(bytes_) or len(bytes_) % record:
                    raise RuntimeError(f"Invalid file, {path} is damaged: expected records of {record} bytes, but it has {len(bytes_)} "
                                       f"bytes.")
                records = bytes_.reshape(-1, record)
                images.append(np.ascontiguousarray(records[:, -_PIXELS:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)))
                labels.append(records[:, :-_PIXELS].T.astype(np.uint32))
            self._data = np.concatenate(images), np.concatenate(labels, 1)
        return self._data

    def __len__(self) -> int:
        return len(self.data()[0])

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        images, labels = self.data()
        return Block([images.take(indices, 0), *labels.take(indices, 1)], len(indices))

    def labels(self) -> np.ndarray[Any, Any]:
        return self.data()[1][-1].astype(np.int64)

    def classes(self) -> int:
        return self._classes


class _Cifar(MappableDataset):
    _train: tuple[str, ...]
    _test: tuple[str, ...]
    _labels: tuple[str, ...]
    _classes: int

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        files = {"train": self._train, "test": self._test, "all": self._train + self._test}[self.usage]
        self._set_source(_Records(dataset_dir, files, self.usage != "all", self._labels, self._classes),
                         select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class Cifar10Dataset(_Cifar):
    """Images of ten classes of objects: `image`, uint8[32, 32, 3], and `label`, uint32.

    dataset_dir  the directory with the files of the binary version: data_batch_1.bin, ..., test_batch.bin
    usage        "train" (50000), "test" (10000) or "all", which takes what is there of both; None: all
    shuffle, sampler, num_samples, num_shards, shard_id
                 which samples an epoch has, in which order; shuffled unless something else is said

    Errors: ValueError for what is not a directory; RuntimeError for a file that is missing or damaged, with its path and what was expected.
    """

    _train = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
    _test = ("test_batch.bin",)
    _labels = ("label",)
    _classes = 10


class Cifar100Dataset(_Cifar):
    """Images of a hundred classes of objects in twenty groups: `image`, uint8[32, 32, 3], `coarse_label` and `fine_label`, uint32.

    dataset_dir  the directory with the files of the binary version: train.bin and test.bin

    The other arguments and the errors are those of Cifar10Dataset.
    """

    _train = ("train.bin",)
    _test = ("test.bin",)
    _labels = ("coarse_label", "fine_label")
    _classes = 100
