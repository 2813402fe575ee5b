"""Small images in files of numbers: USPS, Semeion, STL-10 and SVHN."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_usage, existing_file
from adjoint.dataset.blocks import Block
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import Shuffle, select_sampler
from adjoint.dataset.sources import Samples
from adjoint.dataset.texts import FileRows, file_sampler

__all__ = ["STL10Dataset", "SVHNDataset", "SemeionDataset", "USPSDataset"]

Array = np.ndarray[Any, Any]


def _usps(path: str) -> Iterator[tuple[Array, int]]:
    """Yield the digits of a file of USPS: in each line a class from 1 to 10, and 256 times the number of a pixel and -1 to 1."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            label, *pixels = line.split()
            try:
                values = [float(pixel.partition(":")[2]) for pixel in pixels]
                if len(values) != 256 or not 1 <= int(label) <= 10:
                    raise ValueError(f"{len(values)} pixels of the class {label}")
            except ValueError as error:
                raise RuntimeError(f"Invalid file, {path} is damaged: line {number} should have a class from 1 to 10 and 256 pixels, but "
                                   f"got {error}.") from None
            yield ((np.array(values, np.float32).astype(np.float64) + 1) / 2 * 255).astype(np.uint8).reshape(16, 16, 1), int(label) - 1


class USPSDataset(MappableDataset):
    """Images of handwritten digits of postal codes: `image`, uint8[16, 16, 1], and `label`, uint32.

    dataset_dir  the directory with the files usps and usps.t
    usage        "train", "test" or "all"; None: all
    shuffle      True or Shuffle.GLOBAL: all images; Shuffle.FILES: the order of files; False: none
    num_samples, num_shards, shard_id
                 which images an epoch has

    Errors: ValueError for another usage or what is not a directory; RuntimeError for a file that is missing or damaged.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        names = {"train": ["usps"], "test": ["usps.t"], "all": ["usps", "usps.t"]}[self.usage]
        paths = [existing_file(os.path.join(dataset_dir, name)) for name in names]
        samples = FileRows(paths, ("image", "label"), (np.uint8, np.uint32), _usps)
        self._set_source(samples, file_sampler(samples, num_samples, shuffle, num_shards, shard_id))


class _Loaded(Samples):
    """Images with labels, read at first use and kept; subclasses read them."""

    columns = ("image", "label")
    count_of_classes = 10

    def __init__(self) -> None:
        self._data: tuple[Array, Array] | None = None

    def load(self) -> tuple[Array, Array]:
        """Return all images and all labels."""
        raise NotImplementedError

    def data(self) -> tuple[Array, Array]:
        if self._data is None:
            self._data = self.load()
        return self._data

    def __len__(self) -> int:
        return len(self.data()[1])

    def block(self, indices: Array) -> Block:
        images, labels = self.data()
        return Block([images[indices], labels[indices]], len(indices))

    def labels(self) -> Array:
        return self.data()[1].astype(np.int64)

    def classes(self) -> int:
        return self.count_of_classes


class _Semeion(_Loaded):
    """Lines of 256 pixels, 0 or 1, and ten numbers, of which that of the class is 1."""

    def __init__(self, path: str):
        super().__init__()
        self._path = path

    def load(self) -> tuple[Array, Array]:
        try:
            rows = np.loadtxt(self._path, np.float64, ndmin=2)
        except ValueError as error:
            raise RuntimeError(f"Invalid file, {self._path} is damaged: {error}.") from None
        if rows.shape[1] != 266:
            raise RuntimeError(f"Invalid file, {self._path} is damaged: expected 256 pixels and ten numbers in each line, but got "
                               f"{rows.shape[1]} numbers.")
        return rows[:, :256].astype(np.uint8).reshape(-1, 16, 16), rows[:, 256:].argmax(1).astype(np.uint32)


class SemeionDataset(MappableDataset):
    """Images of handwritten digits, black and white: `image`, uint8[16, 16] of 0 and 1, and `label`, uint32.

    dataset_dir  the directory with semeion.data

    The other arguments and the errors are those of MnistDataset.
    """

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        check_directory(dataset_dir)
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir = dataset_dir
        samples = _Semeion(existing_file(os.path.join(dataset_dir, "semeion.data")))
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class _Columns(_Loaded):
    """Files of bytes: 3 * 96 * 96 for an image, each channel column by column, and one for a label from 1; without a label it is -1."""

    def __init__(self, files: list[tuple[str, str | None]]):
        super().__init__()
        self._files = files

    def load(self) -> tuple[Array, Array]:
        images, labels = [], []
        for pixels, classes in self._files:
            read = np.fromfile(pixels, np.uint8)
            if len(read) % (3 * 96 * 96):
                raise RuntimeError(f"Invalid file, {pixels} is damaged: expected images of {3 * 96 * 96} bytes, but it has {len(read)} "
                                   "bytes.")
            images.append(read.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1))
            numbers = np.fromfile(classes, np.uint8) if classes is not None else np.zeros(len(images[-1]))
            if len(numbers) != len(images[-1]):
                raise RuntimeError(f"Invalid file, {pixels} has {len(images[-1])} images, but {classes} has {len(numbers)} labels.")
            labels.append(numbers.astype(np.int32) - 1)
        return np.ascontiguousarray(np.concatenate(images)), np.concatenate(labels)


class STL10Dataset(MappableDataset):
    """Images of ten classes of objects: `image`, uint8[96, 96, 3], and `label`, int32; -1 for images without one.

    dataset_dir  the directory with train_X.bin, train_y.bin, test_X.bin, test_y.bin and unlabeled_X.bin
    usage        "train" (5000), "test" (8000), "unlabeled" (100000), "train+unlabeled" or "all"; None: all

    The other arguments and the errors are those of MnistDataset.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "unlabeled", "train+unlabeled", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        files: list[tuple[str, str | None]] = []
        for part in ("test", "train", "unlabeled") if self.usage == "all" else self.usage.split("+"):
            pixels, classes = (os.path.join(dataset_dir, f"{part}_{kind}.bin") for kind in "Xy")
            files.append((existing_file(pixels), None if part == "unlabeled" else existing_file(classes)))
        self._set_source(_Columns(files), select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class _Matrices(_Loaded):
    """MATLAB files with the images X, uint8[32, 32, 3, n], and the labels y, from 1 to 10, where 10 is the digit 0."""

    def __init__(self, paths: list[str]):
        super().__init__()
        self._paths = paths

    def load(self) -> tuple[Array, Array]:
        try:
            reader = importlib.import_module("scipy.io")
        except ImportError as missing:
            raise ImportError("SVHNDataset reads MATLAB files with SciPy, which is not installed: pip install scipy.") from missing
        images, labels = [], []
        for path in self._paths:
            try:
                found = reader.loadmat(path)
                images.append(found["X"].transpose(3, 0, 1, 2))
                labels.append(found["y"].ravel() % 10)
            except (KeyError, ValueError, TypeError) as error:
                raise RuntimeError(f"Invalid file, {path} is not a MATLAB file with the images X and the labels y: {error}.") from None
        return np.ascontiguousarray(np.concatenate(images)), np.concatenate(labels).astype(np.uint32)


class SVHNDataset(MappableDataset):
    """Images of house numbers: `image`, uint8[32, 32, 3], and `label`, uint32, the digit in the middle.  It needs SciPy.

    dataset_dir  the directory with train_32x32.mat, test_32x32.mat and extra_32x32.mat
    usage        "train", "test", "extra" or "all"; None: all

    The other arguments and the errors are those of MnistDataset; ImportError without SciPy.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = 1,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None):
        check_directory(dataset_dir)
        check_usage(usage, ["train", "test", "extra", "all"])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        self.dataset_dir, self.usage = dataset_dir, usage or "all"
        parts = ("train", "test", "extra") if self.usage == "all" else (self.usage,)
        samples = _Matrices([existing_file(os.path.join(dataset_dir, f"{part}_32x32.mat")) for part in parts])
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))
