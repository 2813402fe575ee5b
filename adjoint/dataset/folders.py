"""Images in separate files: a folder for each class, and CelebA's faces."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_type
from adjoint.dataset.blocks import Block, Column, stacked
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import PKSampler, select_sampler
from adjoint.dataset.sources import Samples
from adjoint.dataset.vision.decoding import decoded

__all__ = ["EXTENSIONS", "CelebADataset", "ImageFiles", "ImageFolderDataset", "check_decrypt"]

EXTENSIONS = [".jpg", ".jpeg", ".png", ".bmp"]
"""File name suffixes of images, in lower or upper case."""


class ImageFiles(Samples):
    """Image files, with further columns; a file is read when its sample is used.

    others    the other columns: one array each, or a list of arrays
    indexing  the number of each class by its name, if the first of the others holds them
    """

    def __init__(self, columns: tuple[str, ...], paths: list[str], others: Sequence[Column], decode: bool,
                 decrypt: Callable[[str], bytes] | None, indexing: dict[str, int] | None = None):
        self.columns = columns
        self._paths, self._others, self._decode, self._decrypt, self._indexing = paths, others, decode, decrypt, indexing
        self.portable = decrypt is None

    def __len__(self) -> int:
        return len(self._paths)

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        images = stacked([self.image(self._paths[index]) for index in indices.tolist()])
        others = [column[indices] if isinstance(column, np.ndarray) else stacked([column[index].copy() for index in indices.tolist()])
                  for column in self._others]
        return Block([images, *others], len(indices))

    def image(self, path: str) -> np.ndarray[Any, Any]:
        """Return the pixels or the bytes of a file."""
        try:
            if self._decrypt is not None:
                encoded = np.frombuffer(self._decrypt(path), np.uint8).copy()
            else:
                encoded = np.fromfile(path, np.uint8)
        except OSError as error:
            raise RuntimeError(f"Invalid file, {path} cannot be read, though it was there when the dataset was made: {error}.") from None
        if not self._decode:
            return encoded
        try:
            return decoded(encoded, "Decode")
        except RuntimeError as error:
            raise RuntimeError(f"Invalid file, {path} is no image that can be decoded: {error}") from None

    def labels(self) -> np.ndarray[Any, Any] | None:
        return None if self._indexing is None else np.asarray(self._others[0], np.int64)

    def classes(self) -> int | None:
        return None if self._indexing is None else len(self._indexing)

    def class_indexing(self) -> dict[str, int]:
        return dict(self._indexing or {})


def _check_extensions(extensions: Any) -> list[str]:
    if extensions is None:
        return []
    check_type(extensions, (list,), "extensions")
    for index, extension in enumerate(extensions):
        check_type(extension, (str,), f"extensions[{index}]")
    return extensions


def check_decrypt(decrypt: Any) -> None:
    if decrypt is not None and not callable(decrypt):
        raise TypeError(f"Argument decrypt is not a callable object, but got {type(decrypt)}")


class ImageFolderDataset(MappableDataset):
    """The images in a directory with a folder for each class: `image`, the bytes of a file or its pixels, and `label`, int32.

    extensions      file name suffixes that count; default: .jpg, .jpeg, .png, .bmp, also in capitals
    class_indexing  the number of each folder; default: from 0 in the order of their names.  Folders that it lacks are skipped
    decode          whether `image` is decoded: uint8[height, width, 3]
    decrypt         a function that returns the bytes of a file
    shuffle, sampler, num_samples, num_shards, shard_id
                    which samples an epoch has, in which order; shuffled by default

    Errors: ValueError for what is not a directory; RuntimeError if no image is found, and for a file that is not an image, with its path.
    """

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None,
                 sampler: Any = None, extensions: list[str] | None = None, class_indexing: dict[str, int] | None = None,
                 decode: bool = False, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None, decrypt: Any = None):
        check_directory(dataset_dir)
        check_decrypt(decrypt)
        check_type(decode, (bool,), "decode")
        wanted = tuple(_check_extensions(extensions) or [*EXTENSIONS, *map(str.upper, EXTENSIONS)])
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        folders = sorted(entry.name for entry in os.scandir(dataset_dir) if entry.is_dir())
        if class_indexing is not None:
            check_type(class_indexing, (dict,), "class_indexing")
            for name, number in class_indexing.items():
                check_type(number, (int,), f"class_indexing[{name!r}]")
            missing = [name for name in class_indexing if name not in folders]
            if missing:
                raise RuntimeError(f"Invalid class, folder {missing[0]!r} doesn't exist in {dataset_dir}. There are: {', '.join(folders)}.")
            indexing = class_indexing
        else:
            indexing = {name: number for number, name in enumerate(folders)}
        paths, labels = [], []
        for name in folders:
            if name not in indexing:
                continue
            for place, _, files in sorted(os.walk(os.path.join(dataset_dir, name))):
                found = [os.path.join(place, file) for file in sorted(files) if file.endswith(wanted)]
                paths += found
                labels += [indexing[name]] * len(found)
        if not paths:
            raise RuntimeError(f"Invalid data, no image is found in {dataset_dir}: expected a folder for each class, with files whose "
                               f"names end "
                               f"with {' '.join(wanted)}.")
        samples = ImageFiles(("image", "label"), paths, [np.array(labels, np.int32)], decode, decrypt, indexing)
        self.dataset_dir = dataset_dir
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


_PARTS = {"train": "0", "valid": "1", "test": "2"}


class CelebADataset(MappableDataset):
    """Faces: `image`, the bytes of a file or its pixels, and `attr`, uint32[attributes], 1 where a face has the attribute.

    dataset_dir  the directory with the images, list_attr_celeba.txt and, unless usage is "all", list_eval_partition.txt
    usage        "all", "train", "valid" or "test"
    decode       whether `image` is decoded: uint8[height, width, 3]

    Errors: RuntimeError for a list that is missing or damaged, with its path and what was expected there.
    """

    def __init__(self, dataset_dir: str, num_parallel_workers: int | None = None, shuffle: bool | None = None, usage: str = "all",
                 sampler: Any = None, decode: bool = False, extensions: list[str] | None = None, num_samples: int | None = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None, decrypt: Any = None):
        check_directory(dataset_dir)
        check_decrypt(decrypt)
        check_type(decode, (bool,), "decode")
        if usage not in ("all", *_PARTS):
            raise ValueError("usage should be 'all', 'train', 'valid' or 'test'.")
        if isinstance(sampler, PKSampler):
            raise ValueError("CelebADataset doesn't support PKSampler.")
        wanted = tuple(_check_extensions(extensions))
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.usage = dataset_dir, usage
        names, attributes = _attributes(os.path.join(dataset_dir, "list_attr_celeba.txt"))
        kept = [index for index, name in enumerate(names) if not wanted or name.endswith(wanted)]
        if usage != "all":
            parts = _partition(os.path.join(dataset_dir, "list_eval_partition.txt"))
            kept = [index for index in kept if parts.get(names[index]) == _PARTS[usage]]
        paths = [os.path.join(dataset_dir, names[index]) for index in kept]
        for path in paths:
            if not os.path.isfile(path):
                raise RuntimeError(f"Invalid file, {path} does not exist, but list_attr_celeba.txt names it.")
        samples = ImageFiles(("image", "attr"), paths, [attributes[kept]], decode, decrypt)
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


def _lines(path: str, expected: str) -> list[str]:
    if not os.path.isfile(path):
        raise RuntimeError(f"Invalid file, {path} does not exist: {expected} is expected there.")
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def _attributes(path: str) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Return the files that a list names, and 1 or 0 for each of their attributes."""
    lines = _lines(path, "a list of files with their attributes, 1 or -1")
    if len(lines) < 2 or not lines[0].strip().isdigit():
        raise RuntimeError(f"Invalid file, {path} is damaged: expected the number of images in its first line, and the attributes' "
                           f"names in the "
                           "second.")
    width = len(lines[1].split())
    names, rows = [], []
    for number, line in enumerate(lines[2:], 3):
        if not line.strip():
            continue
        name, *values = line.split()
        if len(values) != width or not set(values) <= {"1", "-1"}:
            raise RuntimeError(f"Invalid file, {path} is damaged: line {number} should have a file's name and {width} times 1 or -1, "
                               f"but got "
                               f"{line[:80]!r}.")
        names.append(name)
        rows.append([value == "1" for value in values])
    if len(names) != int(lines[0]):
        raise RuntimeError(f"Invalid file, {path} is damaged: it says that there are {lines[0].strip()} images, but names {len(names)}.")
    return names, np.array(rows, np.uint32).reshape(len(rows), width)


def _partition(path: str) -> dict[str, str]:
    parts = {}
    for number, line in enumerate(_lines(path, "a list of files with 0 for training, 1 for validation, 2 for testing"), 1):
        if line.strip():
            words = line.split()
            if len(words) != 2 or words[1] not in _PARTS.values():
                raise RuntimeError(f"Invalid file, {path} is damaged: line {number} should have a file's name and 0, 1 or 2, but got "
                                   f"{line[:80]!r}.")
            parts[words[0]] = words[1]
    return parts
