"""Images with annotations in files of their own: PASCAL VOC, COCO, and manifests."""

from __future__ import annotations

import os
import xml.etree.ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_directory, check_source, check_type
from adjoint.dataset.blocks import Block, Column, stacked
from adjoint.dataset.folders import ImageFiles, check_decrypt
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.questions import entry_of, json_of, objects_of
from adjoint.dataset.samplers import PKSampler, select_sampler

__all__ = ["CocoDataset", "ManifestDataset", "VOCDataset"]

_NAME = "_meta-filename"
"""The column with the names of files; iterators leave out columns whose names begin with `_meta-`."""


def _check_file(path: Any, name: str) -> None:
    check_type(path, (str,), name)
    if not os.path.isfile(path):
        raise ValueError(f"The file {path} does not exist or permission denied!")


def _check_indexing(indexing: Any) -> None:
    check_type(indexing, (dict,), "class_indexing")
    for name, number in indexing.items():
        check_type(number, (int,), f"class_indexing[{name!r}]")


def _stems(paths: list[str]) -> list[np.ndarray[Any, Any]]:
    return [np.array(os.path.splitext(os.path.basename(path))[0]) for path in paths]


class _WithMasks(ImageFiles):
    """Images, each with a second image of the classes of its pixels."""

    def __init__(self, columns: tuple[str, ...], paths: list[str], masks: list[str], others: list[Column], decode: bool,
                 decrypt: Callable[[str], bytes] | None):
        super().__init__(columns, paths, others, decode, decrypt)
        self._masks = masks

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        found = super().block(indices)
        masks = stacked([self.image(self._masks[index]) for index in indices.tolist()])
        return Block([found.columns[0], masks, *found.columns[1:]], found.length)


class VOCDataset(MappableDataset):
    """Images of PASCAL VOC with the classes of their pixels, or with the boxes of what they show.

    task "Segmentation"  `image` and `target`, both the bytes of a file or its pixels
    task "Detection"     `image`; `bbox`, float32[objects, 4]: x and y of the upper left corner, width and height; `label`, `difficult` and
                         `truncate`, uint32[objects, 1]

    dataset_dir     the directory with the folders JPEGImages, ImageSets, and Annotations or SegmentationClass
    usage           the list of images in ImageSets/Segmentation or ImageSets/Main: "train", "trainval", "val", ...
    class_indexing  the number of each class, for detection; default: from 0 in the order of their names.  Objects of others are left out
    decode          whether images are decoded: uint8[height, width, 3]
    extra_metadata  whether there is a column `_meta-filename` with the names of files.  Iterators leave it out unless it is renamed
    decrypt         a function that returns the bytes of a file
    shuffle, sampler, num_samples, num_shards, shard_id
                    which samples an epoch has, in which order; shuffled unless something else is said

    Errors: ValueError for another task or a list that does not exist; RuntimeError for a file that is missing or damaged, with its path.
    """

    def __init__(self, dataset_dir: str, task: str = "Segmentation", usage: str = "train", class_indexing: dict[str, int] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
                 extra_metadata: bool = False, decrypt: Callable[[str], bytes] | None = None):
        check_directory(dataset_dir)
        check_type(task, (str,), "task")
        check_type(usage, (str,), "usage")
        check_type(decode, (bool,), "decode")
        check_decrypt(decrypt)
        if task not in ("Segmentation", "Detection"):
            raise ValueError(f"Invalid task : {task}.")
        if class_indexing is not None:
            if task == "Segmentation":
                raise ValueError("class_indexing is not supported in Segmentation task.")
            _check_indexing(class_indexing)
        if isinstance(sampler, PKSampler):
            raise ValueError("VOCDataset doesn't support PKSampler.")
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        chosen = os.path.join(dataset_dir, "ImageSets", "Segmentation" if task == "Segmentation" else "Main", f"{usage}.txt")
        _check_file(chosen, "usage")
        self.dataset_dir, self.task, self.usage = dataset_dir, task, usage
        with open(chosen, encoding="utf-8") as file:
            names = [line.strip() for line in file if line.strip()]
        if task == "Segmentation":
            samples = self._segmented(names, decode, extra_metadata, decrypt)
        else:
            samples = self._detected(names, class_indexing, decode, extra_metadata, decrypt)
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))

    def _path(self, folder: str, name: str, suffix: str) -> str:
        path = os.path.join(self.dataset_dir, folder, name + suffix)
        if not os.path.isfile(path):
            raise RuntimeError(f"Invalid file path, {path} does not exist.")
        return path

    def _segmented(self, names: list[str], decode: bool, metadata: bool, decrypt: Any) -> ImageFiles:
        paths = [self._path("JPEGImages", name, ".jpg") for name in names]
        masks = [self._path("SegmentationClass", name, ".png") for name in names]
        columns = ("image", "target", _NAME) if metadata else ("image", "target")
        return _WithMasks(columns, paths, masks, [_stems(paths)] if metadata else [], decode, decrypt)

    def _detected(self, names: list[str], indexing: dict[str, int] | None, decode: bool, metadata: bool, decrypt: Any) -> ImageFiles:
        found = [_objects(self._path("Annotations", name, ".xml")) for name in names]
        numbers = indexing
        if numbers is None:
            classes = {kind for objects in found for kind, *_ in objects}
            numbers = {kind: number for number, kind in enumerate(sorted(classes))}
        kept = [[part for part in objects if part[0] in numbers] for objects in found]
        used = [index for index, objects in enumerate(kept) if objects]
        if not used:
            raise RuntimeError(f"Invalid data, no object of a known class is found in {self.dataset_dir}.")
        paths = [self._path("JPEGImages", names[index], ".jpg") for index in used]
        others: list[Column] = [[np.array([part[1] for part in kept[index]], np.float32) for index in used],
                                [np.array([[numbers[part[0]]] for part in kept[index]], np.uint32) for index in used],
                                *([np.array([[part[place]] for part in kept[index]], np.uint32) for index in used] for place in (2, 3))]
        columns = ("image", "bbox", "label", "difficult", "truncate")
        return _Classes(columns + (_NAME,) * metadata, paths, [*others, *[_stems(paths)] * metadata], decode, decrypt, numbers)


class _Classes(ImageFiles):
    """Images with several objects each, of numbered classes."""

    def labels(self) -> None:
        return None


def _objects(path: str) -> list[tuple[str, list[float], int, int]]:
    """Return the objects that a file of VOC describes: class, box, whether it is difficult, whether it is cut off."""
    try:
        tree = xml.etree.ElementTree.parse(path)
        found = []
        for node in tree.iter("object"):
            left, top, right, bottom = (float(node.findtext(f"bndbox/{side}", "")) for side in ("xmin", "ymin", "xmax", "ymax"))
            found.append((node.findtext("name", ""), [left, top, right - left, bottom - top],
                          int(node.findtext("difficult", "0")), int(node.findtext("truncated", "0"))))
    except (ValueError, xml.etree.ElementTree.ParseError) as error:
        raise RuntimeError(f"Invalid xml, failed to parse xml file: {path}: {error}.") from None
    if not found:
        raise RuntimeError(f"Invalid xml, the node of object is missing in {path}.")
    return found


_TASKS = {
    "Detection": ("bbox", "category_id", "iscrowd"), "Stuff": ("segmentation", "iscrowd"), "Keypoint": ("keypoints", "num_keypoints"),
    "Panoptic": ("bbox", "category_id", "iscrowd", "area"), "Captioning": ("captions",),
}
"""The columns of each task of COCO after the image."""


class CocoDataset(MappableDataset):
    """Images of COCO with annotations; only images that have one.  `image` is the bytes of a file or its pixels.

    task "Detection"   `bbox`, float32[objects, 4], `category_id` and `iscrowd`, uint32[objects, 1]
    task "Stuff"       `segmentation`, float32[polygons, numbers], padded with -1, and `iscrowd`, uint32[objects, 1]
    task "Keypoint"    `keypoints`, float32[objects, numbers], and `num_keypoints`, uint32[objects, 1]
    task "Panoptic"    `bbox`, `category_id`, `iscrowd` and `area`, uint32[objects, 1]
    task "Captioning"  `captions`, strings[captions, 1]

    dataset_dir      the directory with the images
    annotation_file  the JSON file with the annotations

    The other arguments are those of VOCDataset.

    Errors: ValueError for another task or a file that does not exist; RuntimeError for annotations that are damaged, or of images or
    categories that are not there.
    """

    def __init__(self, dataset_dir: str, annotation_file: str, task: str = "Detection", num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None, extra_metadata: bool = False,
                 decrypt: Callable[[str], bytes] | None = None):
        check_directory(dataset_dir)
        _check_file(annotation_file, "annotation_file")
        check_type(task, (str,), "task")
        check_type(decode, (bool,), "decode")
        check_decrypt(decrypt)
        if task not in _TASKS:
            raise ValueError(f"Invalid task type: {task}.")
        if isinstance(sampler, PKSampler):
            raise ValueError("CocoDataset doesn't support PKSampler.")
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self.dataset_dir, self.annotation_file, self.task = dataset_dir, annotation_file, task
        content = json_of(annotation_file)
        names = {entry_of(image, "id", annotation_file): entry_of(image, "file_name", annotation_file)
                 for image in entry_of(content, "images", annotation_file)}
        self._categories: dict[int, Any] = {}
        if task != "Captioning":
            self._categories = {entry_of(category, "id", annotation_file): category
                                for category in entry_of(content, "categories", annotation_file)}
        self._by_image: dict[Any, list[Any]] = {}
        for annotation in entry_of(content, "annotations", annotation_file):
            image = entry_of(annotation, "image_id", annotation_file)
            if image not in names:
                raise RuntimeError(f"Invalid annotation, the attribute of 'image_id': {image} is missing in the node of 'image' from "
                                   f"annotation file: {annotation_file}")
            parts = entry_of(annotation, "segments_info", annotation_file) if task == "Panoptic" else [annotation]
            self._by_image.setdefault(image, []).extend(parts)
        used = [image for image in names if image in self._by_image]
        if not used:
            raise RuntimeError(f"Invalid data, no image with an annotation is found in {annotation_file}.")
        paths = [os.path.join(dataset_dir, names[image]) for image in used]
        for path in paths:
            if not os.path.isfile(path):
                raise RuntimeError(f"Invalid file, {path} does not exist, but {annotation_file} names it.")
        columns = ("image", *_TASKS[task], *(_NAME,) * extra_metadata)
        others: list[Column] = [[self._column(name, image) for image in used] for name in _TASKS[task]]
        samples = ImageFiles(columns, paths, [*others, *[_stems(paths)] * extra_metadata], decode, decrypt)
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))

    def _column(self, name: str, image: Any) -> np.ndarray[Any, Any]:
        """Return a column of an image."""
        path, annotations = self.annotation_file, self._by_image[image]
        if name == "captions":
            return np.array([[entry_of(annotation, "caption", path)] for annotation in annotations])
        if name == "segmentation":
            return _padded([polygon for annotation in annotations for polygon in _polygons(annotation, path)])
        if name in ("bbox", "keypoints"):
            return _padded([entry_of(annotation, name, path) for annotation in annotations])
        values = [annotation.get("iscrowd", 0) if name == "iscrowd" else entry_of(annotation, name, path) for annotation in annotations]
        if name == "category_id":
            for value in values:
                if value not in self._categories:
                    raise RuntimeError(f"Invalid annotation, the attribute of 'category_id': {value} is missing in the node of "
                                       f"'categories' from annotation file: {path}")
        return np.array(values).astype(np.uint32)[:, None]

    def get_class_indexing(self) -> dict[str, Any]:
        """Return the categories by name: a list of the number, and for "Panoptic" whether it is a thing; NotImplementedError for other
        tasks."""
        if self.task not in ("Detection", "Panoptic"):
            raise NotImplementedError("Only 'Detection' and 'Panoptic' support get_class_indexing.")
        keys = ("id", "isthing") if self.task == "Panoptic" else ("id",)
        return {category["name"]: [entry_of(category, key, self.annotation_file) for key in keys] for category in self._categories.values()}


def _polygons(annotation: Any, path: str) -> list[list[float]]:
    """Return the polygons of an object, or the run lengths of a crowd."""
    segmentation = entry_of(annotation, "segmentation", path)
    return [entry_of(segmentation, "counts", path)] if annotation.get("iscrowd") else segmentation


def _padded(rows: list[list[float]]) -> np.ndarray[Any, Any]:
    """Return lists of numbers as a matrix, padded with -1."""
    result = np.full((len(rows), max(map(len, rows), default=0)), -1, np.float32)
    for line, row in zip(result, rows):
        line[: len(row)] = row
    return result


class ManifestDataset(MappableDataset):
    """Images that a manifest lists: `image`, the bytes of a file or its pixels, and `label`, int32, or a vector of several.

    dataset_file    a file with a JSON object in each line: `source`, the path of an image, `usage`, and `annotation`, a list of objects
                    whose `name` is a class
    usage           "train", "eval" or "inference"
    class_indexing  the number of each class; default: from 0 in the order of their names.  Images without one of them are left out
    decode          whether images are decoded: uint8[height, width, 3]

    The other arguments are those of ImageFolderDataset.

    Errors: ValueError for a file that does not exist; RuntimeError for another usage, if no image is found, and for a line that is damaged.
    """

    def __init__(self, dataset_file: str, usage: str = "train", num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, class_indexing: dict[str, int] | None = None, decode: bool = False,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        _check_file(dataset_file, "dataset_file")
        check_type(usage, (str,), "usage")
        check_type(decode, (bool,), "decode")
        if class_indexing is not None:
            _check_indexing(class_indexing)
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        if usage not in ("train", "eval", "inference"):
            raise RuntimeError(f"ManifestDataset: {usage} does not match any mode in [ inference eval train ]")
        self.dataset_file, self.usage = dataset_file, usage
        found = []
        for where, line in objects_of(dataset_file):
            if str(entry_of(line, "usage", where)).lower() == usage:
                kinds = [entry_of(part, "name", where) for part in line.get("annotation", [])]
                found.append((entry_of(line, "source", where), kinds))
        indexing = class_indexing
        if indexing is None:
            indexing = {kind: number for number, kind in enumerate(sorted({kind for _, kinds in found for kind in kinds}))}
        kept = [(path, [indexing[kind] for kind in kinds if kind in indexing]) for path, kinds in found]
        kept = [(path, numbers) for path, numbers in kept if numbers]
        if not kept:
            raise RuntimeError(f"Invalid data, ManifestDataset found no image for {usage!r} in {dataset_file}.")
        single = all(len(numbers) == 1 for _, numbers in kept)
        labels = [np.array(numbers[0] if len(numbers) == 1 else numbers, np.int32) for _, numbers in kept]
        samples = (ImageFiles if single else _Classes)(("image", "label"), [path for path, _ in kept], [labels], decode, None, indexing)
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))
