"""Convert well-known sets of images to MindRecord files."""

from __future__ import annotations

import csv
import gzip
import io
import os
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.mindrecord.errors import ParamTypeError, ParamValueError
from adjoint.mindrecord.writing import FileWriter

__all__ = ["Cifar100ToMR", "Cifar10ToMR", "CsvToMR", "ImageNetToMR", "MnistToMR"]

_AT_ONCE = 256
"""How many rows are in memory at a time."""


class _Conversion:
    """From a source to files: `transform`."""

    def __init__(self, source: str, destination: str):
        for value in (source, destination):
            if not isinstance(value, str):
                raise ParamTypeError(f"Invalid parameter type. Paths expect str type, but got {type(value).__name__}.")
        self.source, self.destination = source, destination


class Cifar10ToMR(_Conversion):
    """CIFAR-10 for Python: `id` and `label`, int64, and `data`, the bytes of a JPEG file.

    source       the directory with data_batch_1 to data_batch_5 and test_batch
    destination  the file for training; that for testing has `_test` behind its name
    """

    parts = ("", [f"data_batch_{number}" for number in range(1, 6)]), ("_test", ["test_batch"])
    labels = (("label", b"labels"),)

    def transform(self, fields: list[str] | None = None) -> None:
        """Write both files.  fields: by which labels rows can be searched.  Raise RuntimeError for a file that is missing."""
        schema: dict[str, dict[str, Any]] = {"id": {"type": "int64"}, "data": {"type": "bytes"}}
        schema.update({name: {"type": "int64"} for name, _ in self.labels})
        for suffix, files in self.parts:
            _write(self.destination + suffix, schema, "img_schema", self._rows(files), 1, fields)

    run = transform

    def _rows(self, files: list[str]) -> Iterator[dict[str, Any]]:
        number = 0
        for file in files:
            path = os.path.join(self.source, file)
            if not os.path.isfile(path):
                raise RuntimeError(f"Invalid file, {path} does not exist.")
            with open(path, "rb") as opened:
                batch = _Arrays(opened, encoding="bytes").load()
            images = batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            for place, image in enumerate(images):
                yield {"id": number, "data": _jpeg(image), **{name: int(batch[key][place]) for name, key in self.labels}}
                number += 1


class Cifar100ToMR(Cifar10ToMR):
    """CIFAR-100 for Python: as Cifar10ToMR, with `fine_label` and `coarse_label`.  The source has the files train and test."""

    parts = ("", ["train"]), ("_test", ["test"])
    labels = (("fine_label", b"fine_labels"), ("coarse_label", b"coarse_labels"))


class MnistToMR(_Conversion):
    """MNIST: `label`, int64, and `data`, the bytes of a JPEG file.

    source            the directory with the four packed idx files, or unpacked ones
    destination       to it are added `_train.mindrecord` and `_test.mindrecord`
    partition_number  how many files of each
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1):
        super().__init__(source, destination)
        self.partition_number = _partitions(partition_number)

    def transform(self) -> None:
        """Write all files.  Raise RuntimeError for a source that is missing or damaged."""
        for part, name in (("train", "train"), ("t10k", "test")):
            _write(f"{self.destination}_{name}.mindrecord", {"label": {"type": "int64"}, "data": {"type": "bytes"}}, "mnist_schema",
                   self._rows(part), self.partition_number)

    run = transform

    def _rows(self, part: str) -> Iterator[dict[str, Any]]:
        images = self._idx(f"{part}-images-idx3-ubyte")
        for image, label in zip(images, self._idx(f"{part}-labels-idx1-ubyte")):
            yield {"label": int(label), "data": _jpeg(image)}

    def _idx(self, name: str) -> np.ndarray[Any, Any]:
        path = os.path.join(self.source, name)
        if not os.path.isfile(path) and not os.path.isfile(path + ".gz"):
            raise RuntimeError(f"Invalid file, {path}.gz does not exist.")
        with gzip.open(path + ".gz") if os.path.isfile(path + ".gz") else open(path, "rb") as file:
            data = file.read()
        rank = data[3] if len(data) > 3 else 0
        shape = struct.unpack_from(f">{rank}i", data, 4)
        if len(data) != 4 + 4 * rank + int(np.prod(shape)):
            raise RuntimeError(f"Invalid file, {path} is damaged: its head says {'x'.join(map(str, shape))} numbers, but it has "
                               f"{len(data)} bytes.")
        return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


class CsvToMR(_Conversion):
    """A table as text, with the names of its columns in the first line.

    A column of integers becomes int64, one of numbers float64 (an empty cell is NaN there), one of True and False int32, another one
    string.  All columns can be searched by.

    source            the file, in UTF-8, with commas between cells
    destination       the file that is written
    columns_list      which columns, all by default
    partition_number  how many files
    """

    def __init__(self, source: str, destination: str, columns_list: list[str] | None = None, partition_number: int = 1):
        super().__init__(source, destination)
        if columns_list is not None and not (isinstance(columns_list, list) and all(isinstance(name, str) for name in columns_list)):
            raise ValueError(f"For 'CsvToMR', the argument 'columns_list' must be a list of str, but got {columns_list!r}.")
        self.columns_list, self.partition_number = columns_list, _partitions(partition_number)

    def transform(self) -> None:
        """Write the files.

        OSError for a source that does not exist; ValueError for a name of a column that begins with a digit, RuntimeError for one that the
        table lacks, for a line with too few or too many cells, and for a cell of text that is empty.
        """
        names = self._names()
        found: dict[str, set[str]] = {name: set() for name in names}
        for _, row in self._lines():
            for name, cell in zip(names, row):
                found[name].add(_kind_of(cell))
        kinds = {name: _joint_kind(found[name]) for name in self.columns_list or names}
        schema = {name: {"type": kind} for name, kind in kinds.items()}
        _write(self.destination, schema, "csv_schema", self._rows(names, kinds), self.partition_number, list(kinds))

    run = transform

    def _names(self) -> list[str]:
        with open(self.source, encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
        if not names:
            raise ValueError(f"For 'CsvToMR', {self.source} must begin with the names of columns, but it is empty.")
        for name in names:
            if name[:1].isdigit():
                raise ValueError(f"For 'CsvToMR', the name of a column must not begin with a digit, but the first line of {self.source} "
                                 f"has {name!r}.")
        for name in self.columns_list or ():
            if name not in names:
                raise RuntimeError(f"For 'CsvToMR', the argument 'columns_list' must name columns of {self.source}, {names}, but got "
                                   f"{name!r}.")
        return names

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, with the number of its line."""
        with open(self.source, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            count = len(next(reader, []))
            for row in reader:
                if row and len(row) != count:
                    raise RuntimeError(f"For 'CsvToMR', line {reader.line_num} of {self.source} must have {count} cells, but has "
                                       f"{len(row)}.")
                if row:
                    yield reader.line_num, row

    def _rows(self, names: list[str], kinds: dict[str, str]) -> Iterator[dict[str, Any]]:
        for line, row in self._lines():
            cells = dict(zip(names, row))
            for name, kind in kinds.items():
                if kind == "string" and not cells[name]:
                    raise RuntimeError(f"For 'CsvToMR', line {line} of {self.source} has an empty cell in the column {name!r}, which "
                                       "holds text.")
            yield {name: _OF_CELL[kind](cells[name]) for name, kind in kinds.items()}


_OF_CELL: dict[str, Callable[[str], Any]] = {
    "int32": lambda cell: int(cell.lower() == "true"), "int64": int, "float64": lambda cell: float(cell or "nan"), "string": str,
}
"""For each type of a field what a cell becomes."""


def _kind_of(cell: str) -> str:
    """Return the type of field that a cell fits."""
    if cell.lower() in ("true", "false"):
        return "int32"
    try:
        number = float(cell or "nan")
    except ValueError:
        return "string"
    digits = cell.strip().lstrip("+-")
    if "_" in cell or not cell.isascii() or (digits.isdecimal() and abs(number) >= 2.0**63):
        return "string"  # Python would take the first two, and an integer of more than 64 bits has no type
    return "int64" if digits.isdecimal() else "float64"


def _joint_kind(kinds: set[str]) -> str:
    """Return the type of field for cells of these kinds."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return "float64" if kinds == {"int64", "float64"} else "string"


class ImageNetToMR(_Conversion):
    """Folders of images: `label`, int32, `file_name`, and `image`, the bytes of the file.

    map_file   a text file with a folder and its label, a number, on each line
    image_dir  the directory with the folders
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1):
        super().__init__(map_file, destination)
        if not os.path.isdir(image_dir):
            raise ParamValueError(f"Invalid parameter value. {image_dir} is not a directory.")
        self.image_dir, self.partition_number = image_dir, _partitions(partition_number)

    def transform(self) -> None:
        """Write the files.  Raise RuntimeError for a line of the map that is not a folder and a number."""
        schema = {"label": {"type": "int32"}, "image": {"type": "bytes"}, "file_name": {"type": "string"}}
        _write(self.destination, schema, "imagenet_schema", self._rows(), self.partition_number)

    run = transform

    def _rows(self) -> Iterator[dict[str, Any]]:
        with open(self.source, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip()]
        for words in lines:
            if len(words) != 2 or not words[1].lstrip("-").isdigit():
                raise RuntimeError(f"Invalid file, in {self.source} expected a folder and a number, but got {' '.join(words)!r}.")
            folder = os.path.join(self.image_dir, words[0])
            if not os.path.isdir(folder):
                raise RuntimeError(f"Invalid file, {self.source} names {words[0]}, but there is no folder {folder}.")
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                with open(path, "rb") as image:
                    yield {"label": int(words[1]), "image": image.read(), "file_name": path}


class _Arrays(pickle.Unpickler):
    """Reads pickled arrays and containers; a file that would call anything else is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name.split(".")[0], global_name) in {("numpy", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"),
                                                        ("numpy", "scalar"), ("numpy", "_frombuffer"), ("_codecs", "encode")}:
            return super().find_class(module_name, global_name)
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not part of an array")


def _partitions(number: Any) -> int:
    if type(number) is not int:
        raise ParamTypeError("Invalid parameter type. 'partition_number' expect int type.")
    return number


def _jpeg(image: np.ndarray[Any, Any]) -> bytes:
    from PIL import Image  # a library that is loaded when it is needed

    written = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(written, "JPEG", quality=95)
    return written.getvalue()


def _write(path: str, schema: dict[str, dict[str, Any]], description: str, rows: Iterator[dict[str, Any]], files: int,
           index: list[str] | None = None) -> None:
    writer = FileWriter(path, files)
    writer.add_schema(schema, description)
    if index:
        writer.add_index(index)
    held: list[dict[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == _AT_ONCE:
            writer.write_raw_data(held)
            held = []
    if held:
        writer.write_raw_data(held)
    writer.commit()
