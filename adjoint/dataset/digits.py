"""MNIST and related sets: images and labels in idx files (http://yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_word
from adjoint.dataset.blocks import Block
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import select_sampler
from adjoint.dataset.sources import Samples

__all__ = ["FashionMnistDataset", "KMnistDataset", "MnistDataset"]

_IMAGES, _LABELS = 2051, 2049
_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def _read(path: str, magic: int, rank: int) -> np.ndarray[Any, Any]:
    """Return the numbers of an idx file, uint8, of `rank` dimensions."""
    size = os.path.getsize(path)
    head = 4 * (1 + rank)
    with open(path, "rb") as file:
        begin = file.read(head)
        if begin[:2] == b"\x1f\x8b":
            raise RuntimeError(f"Invalid file, {path} is compressed: unpack it with gunzip.")
        if len(begin) < head or struct.unpack(">i", begin[:4])[0] != magic:
            found = f"the magic number {struct.unpack('>i', begin[:4])[0]}" if len(begin) >= 4 else f"{size} bytes"
            raise RuntimeError(f"Invalid file, {path} is no idx file of {'images' if rank == 3 else 'labels'}: expected the magic number "
                               f"{magic} at its beginning, but got {found}.")
        shape = struct.unpack(f">{rank}i", begin[4:])
        expected = head + int(np.prod(shape, dtype=np.int64))
        if min(shape) < 0 or size != expected:
            raise RuntimeError(f"Invalid file, {path} is damaged: its head says {'x'.join(map(str, shape))} numbers, which makes "
                               f"{expected} "
                               f"bytes, but it has {size}.")
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


def _load(directory: str, usage: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Images, uint8[n, height, width, 1], and labels, uint32[n]."""
    images, labels = [], []
    parts = ("train", "test") if usage == "all" else (usage,)
    present = [part for part in parts if any(os.path.isfile(os.path.join(directory, name)) for name in _FILES[part])]
    for part in present or parts:
        names = _FILES[part]
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.isfile(path):
                packed = " There is a packed one: unpack it with gunzip." if os.path.exists(path + ".gz") else ""
                raise RuntimeError(f"Invalid file, {path} does not exist. In this directory are expected {' and '.join(names)}.{packed}")
        images.append(_read(os.path.join(directory, names[0]), _IMAGES, 3))
        labels.append(_read(os.path.join(directory, names[1]), _LABELS, 1))
        if len(images[-1]) != len(labels[-1]):
            raise RuntimeError(f"Invalid file, in {directory} there are {len(images[-1])} images in {names[0]}, but {len(labels[-1])} "
                               f"labels "
                               f"in {names[1]}.")
    if len({part.shape[1:] for part in images}) > 1:
        raise RuntimeError(f"Invalid file, in {directory} the images for training and for testing differ in size.")
    return np.concatenate(images)[..., None], np.concatenate(labels).astype(np.uint32)


class _Digits(Samples):
    """Images with labels, read at first use and kept."""

    columns = ("image", "label")

    def __init__(self, directory: str, usage: str):
        self._place = directory, usage
        self._data: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None

    def data(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        if self._data is None:
            self._data = _load(*self._place)
        return self._data

    def __len__(self) -> int:
        return len(self.data()[1])

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        images, labels = self.data()
        return Block([images[indices], labels[indices]], len(indices))

    def labels(self) -> np.ndarray[Any, Any]:
        return self.data()[1].astype(np.int64)

    def classes(self) -> int:
        return 10


class MnistDataset(MappableDataset):
    """Images of handwritten digits: `image`, uint8[28, 28, 1], and `label`, uint32.

    dataset_dir  the directory with the unpacked idx files
    usage        "train" (60000), "test" (10000) or "all", which takes what is there of both; None: all
    shuffle, sampler, num_samples, num_shards, shard_id
                 which samples an epoch has, in which order; shuffled unless something else is said

    Errors: ValueError for what is not a directory; RuntimeError for a file that is missing or damaged, with its path and what was expected.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        check_directory(dataset_dir)
        if usage is not None:
            check_word(usage, ["train", "test", "all"], "usage")
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        self._set_source(_Digits(dataset_dir, self.usage), select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class FashionMnistDataset(MnistDataset):
    """Images of clothes, in files like MnistDataset's."""


class KMnistDataset(MnistDataset):
    """Images of handwritten Hiragana, in files like MnistDataset's."""
