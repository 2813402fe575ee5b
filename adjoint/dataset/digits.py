"""MNIST and related sets: images and labels in idx files (http://yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_type, check_usage, check_word
from adjoint.dataset.blocks import Block
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import select_sampler
from adjoint.dataset.sources import Samples

__all__ = ["EMnistDataset", "FashionMnistDataset", "KMnistDataset", "MnistDataset", "QMnistDataset"]

_IMAGES, _LABELS, _ROWS_OF_LABELS = 2051, 2049, 3074
"""The numbers at the beginning of files with images, uint8, labels, uint8, and rows of labels, int32."""

Files = dict[str, tuple[str, str]]
"""The files with images and labels of each part."""

_FILES: Files = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def _read(path: str, magic: int, rank: int) -> np.ndarray[Any, Any]:
    """Return the numbers of an idx file, uint8 or int32, of `rank` dimensions."""
    size = os.path.getsize(path)
    dtype = np.dtype(">i4" if magic == _ROWS_OF_LABELS else np.uint8)
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
        expected = head + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if min(shape) < 0 or size != expected:
            raise RuntimeError(f"Invalid file, {path} is damaged: its head says {'x'.join(map(str, shape))} numbers, which makes "
                               f"{expected} "
                               f"bytes, but it has {size}.")
        return np.frombuffer(file.read(), dtype).reshape(shape)


def _existing(directory: str, names: tuple[str, str]) -> tuple[str, str]:
    """Return the paths of the files of a part; raise RuntimeError for one that does not exist."""
    paths = os.path.join(directory, names[0]), os.path.join(directory, names[1])
    for path in paths:
        if not os.path.isfile(path):
            packed = " There is a packed one: unpack it with gunzip." if os.path.exists(path + ".gz") else ""
            raise RuntimeError(f"Invalid file, {path} does not exist. In this directory are expected {' and '.join(names)}.{packed}")
    return paths


def _load(directory: str, files: Files, usage: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Images, uint8[n, height, width, 1], and labels, uint32[n] or [n, 8]."""
    images, labels = [], []
    parts = tuple(files) if usage == "all" else (usage,)
    present = [part for part in parts if any(os.path.isfile(os.path.join(directory, name)) for name in files[part])]
    for part in present or parts:
        names = files[part]
        of_images, of_labels = _existing(directory, names)
        images.append(_read(of_images, _IMAGES, 3))
        labels.append(_read(of_labels, _ROWS_OF_LABELS, 2) if of_labels.endswith("-int") else _read(of_labels, _LABELS, 1))
        if len(images[-1]) != len(labels[-1]):
            raise RuntimeError(f"Invalid file, in {directory} there are {len(images[-1])} images in {names[0]}, but {len(labels[-1])} "
                               f"labels in {names[1]}.")
    if len({part.shape[1:] for part in images}) > 1:
        raise RuntimeError(f"Invalid file, in {directory} the images for training and for testing differ in size.")
    return np.concatenate(images)[..., None], np.concatenate(labels).astype(np.uint32)


class _Digits(Samples):
    """Images with labels, read at first use and kept.

    classes  how many there are
    kept     which of the samples count
    """

    columns = ("image", "label")

    def __init__(self, directory: str, files: Files, usage: str, classes: int, kept: slice = slice(None)):
        self._place = directory, files, usage
        self._classes, self._kept = classes, kept
        self._data: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None

    def data(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        if self._data is None:
            images, labels = _load(*self._place)
            self._data = images[self._kept], labels[self._kept]
        return self._data

    def __len__(self) -> int:
        return len(self.data()[1])

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        images, labels = self.data()
        return Block([images[indices], labels[indices]], len(indices))

    def labels(self) -> np.ndarray[Any, Any]:
        return self.data()[1].reshape(len(self), -1)[:, 0].astype(np.int64)

    def classes(self) -> int:
        return self._classes


class _ClassAlone(_Digits):
    """Of rows of labels the first one, the class."""

    def data(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        images, labels = super().data()
        return images, labels[:, 0]


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
        check_usage(usage, ["train", "test", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        self._set_source(_Digits(dataset_dir, _FILES, self.usage, 10), select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class FashionMnistDataset(MnistDataset):
    """Images of clothes, in files like MnistDataset's."""


class KMnistDataset(MnistDataset):
    """Images of handwritten Hiragana, in files like MnistDataset's."""


class EMnistDataset(MappableDataset):
    """Images of handwritten letters and digits: `image`, uint8[28, 28, 1], and `label`, uint32.

    name  which characters: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist"

    The other arguments and the errors are those of MnistDataset.
    """

    _CLASSES = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 37, "digits": 10, "mnist": 10}

    def __init__(self, dataset_dir: str, name: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_word(name, list(self._CLASSES), "name")
        check_usage(usage, ["train", "test", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.name, self.usage = dataset_dir, name, usage or "all"
        files = {part: (f"emnist-{name}-{part}-images-idx3-ubyte", f"emnist-{name}-{part}-labels-idx1-ubyte") for part in ("train", "test")}
        self._set_source(_Digits(dataset_dir, files, self.usage, self._CLASSES[name]),
                         select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class QMnistDataset(MappableDataset):
    """Images of handwritten digits with their origin: `image`, uint8[28, 28, 1], and `label`, uint32 or uint32[8].

    usage   "train" (60000), "test" (60000), "test10k" and "test50k", which are parts of it, "nist" (402953) or "all"; None: all
    compat  whether a label is the class alone; otherwise it is all eight numbers of the file, of which the class is the first

    The other arguments and the errors are those of MnistDataset.
    """

    _PARTS: Files = {
        "train": ("qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int"),
        "test": ("qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int"),
        "nist": ("xnist-images-idx3-ubyte", "xnist-labels-idx2-int"),
    }
    _OF_TEST = {"test10k": slice(0, 10000), "test50k": slice(10000, None)}

    def __init__(self, dataset_dir: str, usage: str | None = None, compat: bool = True, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "test10k", "test50k", "nist", "all"])
        check_type(compat, (bool,), "compat")
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage, self.compat = dataset_dir, usage or "all", compat
        part, kept = ("test", self._OF_TEST[self.usage]) if self.usage in self._OF_TEST else (self.usage, slice(None))
        samples = (_ClassAlone if compat else _Digits)(dataset_dir, self._PARTS, part, 10, kept)
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))
