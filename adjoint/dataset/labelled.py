"""Images in separate files, in the directories and with the lists of well-known sets of data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_type, check_usage, check_word, existing_file
from adjoint.dataset.blocks import Block, Column, stacked
from adjoint.dataset.folders import EXTENSIONS, ImageFiles
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import select_sampler

__all__ = [
    "Caltech256Dataset", "DIV2KDataset", "FlickrDataset", "Food101Dataset", "LSUNDataset", "OmniglotDataset", "Places365Dataset",
    "RenderedSST2Dataset", "SBUDataset", "SUN397Dataset",
]

Found = list[tuple[str, Any]]
"""Paths of images, each with its value of the second column."""
Choice = tuple[Any, Any, Any, Any, Any]
"""The arguments of `select_sampler`."""


class _Images(MappableDataset):
    """Base class of datasets of images with one other column.

    `image` is the bytes of a file, or with `decode` its pixels, uint8[height, width, 3].
    """

    def _begin(self, dataset_dir: str, decode: Any, workers: Any, cache: Any, choice: Choice) -> None:
        """Check what all of these datasets have, and keep it."""
        check_directory(dataset_dir)
        if decode is not None:
            check_type(decode, (bool,), "decode")
        num_samples, sampler, shuffle, num_shards, shard_id = choice
        check_source(num_samples, workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.decode, self._choice = dataset_dir, bool(decode), choice

    def _set_images(self, found: Found, column: str, dtype: Any, indexing: dict[str, int] | None = None) -> None:
        """Use these images.

        dtype     that of the second column; None for strings
        indexing  the number of each class, if the second column holds them
        """
        self._check_found(found)
        values: Column = [np.array(value) for _, value in found] if dtype is None else np.array([value for _, value in found], dtype)
        samples = ImageFiles(("image", column), [path for path, _ in found], [values], self.decode, None, indexing)
        self._set_source(samples, select_sampler(*self._choice))

    def _check_found(self, found: Sequence[Any]) -> None:
        if not found:
            raise RuntimeError(f"Invalid data, no image is found in {self.dataset_dir} where {type(self).__name__} expects them.")

    def _lines(self, name: str) -> list[str]:
        """Return the lines of a list in the directory that are not empty; raise RuntimeError if it does not exist."""
        return lines_of_list(os.path.join(self.dataset_dir, name))


def lines_of_list(path: str) -> list[str]:
    with open(existing_file(path), encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def folders_in(path: str) -> list[str]:
    """Return the names of the folders in a directory in order; raise RuntimeError if it does not exist."""
    if not os.path.isdir(path):
        raise RuntimeError(f"Invalid path, {path} does not exist or is not a directory.")
    return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())


def _images_in(path: str) -> Iterator[str]:
    """Yield the paths of the images in a directory, in order of their names."""
    for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
        if name.lower().endswith(tuple(EXTENSIONS)):
            yield os.path.join(path, name)


class Caltech256Dataset(_Images):
    """Images of 256 classes of objects and of clutter: `image`, and `label`, int32, from 0 in the order of the folders' names.

    dataset_dir  the directory with a folder for each class
    decode       whether `image` is decoded: uint8[height, width, 3]; otherwise it is the bytes of a file
    shuffle, sampler, num_samples, num_shards, shard_id
                 which samples an epoch has, in which order; shuffled unless something else is said

    Errors: ValueError for what is not a directory; RuntimeError if no image is found, or for one that cannot be decoded.
    """

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        indexing = {name: number for number, name in enumerate(folders_in(dataset_dir))}
        found = [(path, number) for name, number in indexing.items() for path in _images_in(os.path.join(dataset_dir, name))]
        self._set_images(found, "label", np.int32, indexing)


class OmniglotDataset(_Images):
    """Images of handwritten characters of many alphabets: `image`, and `label`, int32, a number for each character.

    dataset_dir  the directory with the folders images_background and images_evaluation, in which are alphabets, and in them characters
    background   whether the first of them is read; None: it is

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, background: bool | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        if background is not None:
            check_type(background, (bool,), "background")
        place = os.path.join(dataset_dir, "images_evaluation" if background is False else "images_background")
        characters = [os.path.join(alphabet, name) for alphabet in folders_in(place) for name in folders_in(os.path.join(place, alphabet))]
        indexing = {name: number for number, name in enumerate(characters)}
        found = [(path, number) for name, number in indexing.items() for path in _images_in(os.path.join(place, name))]
        self._set_images(found, "label", np.int32, indexing)


class RenderedSST2Dataset(_Images):
    """Pictures of sentences of film reviews: `image`, and `label`, uint32, 0 for negative and 1 for positive ones.

    dataset_dir  the directory with the folders train, valid and test, each with the folders negative and positive
    usage        "train", "val", "test" or "all"; None: all

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        check_usage(usage, ["val", "all", "train", "test"])
        parts = ("test", "train", "valid") if usage in (None, "all") else ("valid" if usage == "val" else usage,)
        indexing = {"negative": 0, "positive": 1}
        found = [(path, number) for part in parts for name, number in indexing.items()
                 for path in _images_in(os.path.join(dataset_dir, part, name))]
        self._set_images(found, "label", np.uint32, indexing)


class LSUNDataset(_Images):
    """Images of scenes: `image`, and `label`, uint32, from 0 in the order of the classes' names, or of `classes`; 0 for testing.

    dataset_dir  the directory with the folders bedroom_train, bedroom_val, ..., and test
    usage        "train", "valid", "test" or "all", which is training and validation; None: all
    classes      which of the ten classes there are: "bedroom", "bridge", "church_outdoor", ...; default: those that have a folder

    The other arguments and the errors are those of Caltech256Dataset.
    """

    _CLASSES = ("bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room", "kitchen", "living_room",
                "restaurant", "tower")

    def __init__(self, dataset_dir: str, usage: str | None = None, classes: list[str] | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        check_usage(usage, ["train", "test", "valid", "all"])
        if classes is not None:
            check_type(classes, (list,), "classes")
            for name in classes:
                check_word(name, self._CLASSES, "classes")
        suffixes = {"train": ["train"], "valid": ["val"], "test": []}.get(usage or "all", ["train", "val"])
        present = set(folders_in(dataset_dir))
        names = classes if classes is not None else [name for name in self._CLASSES
                                                     if any(f"{name}_{suffix}" in present for suffix in suffixes)]
        indexing = {name: number for number, name in enumerate(names)} if usage != "test" else {"test": 0}
        places = [(f"{name}_{suffix}", indexing[name]) for name in names for suffix in suffixes] if usage != "test" else [("test", 0)]
        found = [(path, number) for place, number in places for path in _images_in(os.path.join(dataset_dir, place))]
        self._set_images(found, "label", np.uint32, indexing)


class Food101Dataset(_Images):
    """Images of dishes: `image`, and `label`, a string, the name of the dish.

    dataset_dir  the directory with the folder images, in it one for each dish, and the lists meta/train.txt and meta/test.txt
    usage        "train", "test" or "all"; None: all

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        check_usage(usage, ["train", "test", "all"])
        names = [line for part in (("train", "test") if usage in (None, "all") else (usage,))
                 for line in self._lines(os.path.join("meta", f"{part}.txt"))]
        found = [(existing_file(os.path.join(dataset_dir, "images", f"{name}.jpg")), name.rpartition("/")[0]) for name in names]
        self._set_images(found, "label", None)


class SUN397Dataset(_Images):
    """Images of 397 classes of scenes: `image`, and `label`, uint32, the place of the class in ClassName.txt.

    dataset_dir  the directory with ClassName.txt, which lists folders as /a/abbey, and with these folders

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        indexing = {name: number for number, name in enumerate(self._lines("ClassName.txt"))}
        found = [(path, number) for name, number in indexing.items() for path in _images_in(os.path.join(dataset_dir, name.lstrip("/")))]
        self._set_images(found, "label", np.uint32, indexing)


class Places365Dataset(_Images):
    """Images of 365 classes of places: `image`, and `label`, uint32.

    dataset_dir  the directory with the lists places365_train_standard.txt, places365_train_challenge.txt and places365_val.txt, and with
                 the folders data_256_standard, data_256_challenge and val_256, or data_large_standard, ...
    usage        "train-standard", "train-challenge" or "val"; None: the first
    small        whether the images of 256 x 256 pixels are read, otherwise the large ones

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, small: bool = True, decode: bool = False,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        check_usage(usage, ["train-standard", "train-challenge", "val"])
        check_type(small, (bool,), "small")
        size = "256" if small else "large"
        kind = (usage or "train-standard").removeprefix("train-")
        listed, folder = ("places365_val.txt", f"val_{size}") if kind == "val" else (f"places365_train_{kind}.txt", f"data_{size}_{kind}")
        found = []
        for line in self._lines(listed):
            name, _, label = line.rpartition(" ")
            if not name or not label.isdigit():
                raise RuntimeError(f"Invalid file, {os.path.join(dataset_dir, listed)} is damaged: expected a file and the number of its "
                                   f"class in a line, but got {line[:80]!r}.")
            found.append((existing_file(os.path.join(dataset_dir, folder, name.lstrip("/"))), int(label)))
        self._set_images(found, "label", np.uint32)


class FlickrDataset(_Images):
    """Images with five descriptions each, Flickr8k or Flickr30k: `image`, and `annotation`, a vector of strings.

    dataset_dir      the directory with the images
    annotation_file  the file with a description in each line: name#number, a tab, and the text

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, annotation_file: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        check_type(annotation_file, (str,), "annotation_file")
        if not os.path.isfile(annotation_file):
            raise ValueError(f"The file {annotation_file} does not exist or permission denied!")
        self.annotation_file = annotation_file
        texts: dict[str, list[str]] = {}
        for line in lines_of_list(annotation_file):
            name, tab, text = line.partition("\t")
            if not tab or "#" not in name:
                raise RuntimeError(f"Invalid file, {annotation_file} is damaged: expected name#number, a tab and a text, but got "
                                   f"{line[:80]!r}.")
            texts.setdefault(name.rpartition("#")[0], []).append(text)
        found = [(existing_file(os.path.join(dataset_dir, name)), texts[name]) for name in sorted(texts)]
        self._set_images(found, "annotation", None)


class SBUDataset(_Images):
    """Photographs with captions: `image`, and `caption`, a string; only photographs that are there.

    dataset_dir  the directory with SBU_captioned_photo_dataset_urls.txt, SBU_captioned_photo_dataset_captions.txt and the folder sbu_images

    The other arguments and the errors are those of Caltech256Dataset.
    """

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        addresses, captions = (self._lines(f"SBU_captioned_photo_dataset_{kind}.txt") for kind in ("urls", "captions"))
        if len(addresses) != len(captions):
            raise RuntimeError(f"Invalid file, in {dataset_dir} there are {len(addresses)} addresses, but {len(captions)} captions.")
        # http://static.flickr.com/2723/4385058960_b0f291553e.jpg is kept as m_2723_4385058960_b0f291553e.jpg.
        paths = [os.path.join(dataset_dir, "sbu_images", "m_" + "_".join(address.split("/")[-2:])) for address in addresses]
        self._set_images([pair for pair in zip(paths, captions) if os.path.isfile(pair[0])], "caption", None)


class _Pairs(ImageFiles):
    """Images in two files each."""

    def __init__(self, pairs: Sequence[tuple[str, str]], decode: bool):
        super().__init__(("hr_image", "lr_image"), [high for high, _ in pairs], [], decode, None)
        self._low = [low for _, low in pairs]

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        high = super().block(indices)
        return Block([*high.columns, stacked([self.image(self._low[index]) for index in indices.tolist()])], high.length)


class DIV2KDataset(_Images):
    """Images of high resolution, each with one of low resolution: `hr_image` and `lr_image`.

    dataset_dir  the directory with the folders DIV2K_train_HR, DIV2K_train_LR_bicubic, ..., DIV2K_valid_HR, ...
    usage        "train", "valid" or "all"
    downgrade    how the small image was made: "bicubic", "unknown", "mild", "difficult" or "wild"
    scale        how much smaller it is: 2, 3, 4, or 8 for "bicubic"; 4 for the last three

    The other arguments and the errors are those of Caltech256Dataset; ValueError for a scale that a downgrade does not have.
    """

    def __init__(self, dataset_dir: str, usage: str = "train", downgrade: str = "bicubic", scale: int = 2, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        self._begin(dataset_dir, decode, num_parallel_workers, cache, (num_samples, sampler, shuffle, num_shards, shard_id))
        check_word(usage, ["train", "valid", "all"], "usage")
        check_word(downgrade, ["bicubic", "unknown", "mild", "difficult", "wild"], "downgrade")
        check_type(scale, (int,), "scale")
        if scale not in (2, 3, 4, 8):
            raise ValueError("Input scale is not within the valid set of [2, 3, 4, 8].")
        if scale == 8 and downgrade != "bicubic":
            raise ValueError("DIV2KNode: scale equal to 8 is allowed only in bicubic downgrade.")
        if scale != 4 and downgrade in ("mild", "difficult", "wild"):
            raise ValueError(f"DIV2KNode: {downgrade} downgrade requires scale equal to 4.")
        pairs = []
        for part in ("train", "valid") if usage == "all" else (usage,):
            if scale == 8:
                low = os.path.join(f"DIV2K_{part}_LR_x8", "{}x8.png")
            elif downgrade in ("bicubic", "unknown"):
                low = os.path.join(f"DIV2K_{part}_LR_{downgrade}", f"X{scale}", f"{{}}x{scale}.png")
            else:
                low = os.path.join(f"DIV2K_{part}_LR_{downgrade}", f"{{}}x4{downgrade[0]}.png")
            for high in _images_in(os.path.join(dataset_dir, f"DIV2K_{part}_HR")):
                stem = os.path.splitext(os.path.basename(high))[0]
                pairs.append((high, existing_file(os.path.join(dataset_dir, low.format(stem)))))
        self._check_found(pairs)
        self._set_source(_Pairs(pairs, self.decode), select_sampler(*self._choice))
