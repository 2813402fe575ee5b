"""Rows of text files: lines, and tables of comma-separated values."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_source, check_type
from adjoint.dataset.blocks import Block, Column
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import BuiltinSampler, DistributedSampler, SequentialSampler, Shuffle, select_sampler
from adjoint.dataset.sources import Samples

__all__ = ["CSVDataset", "FileRows", "Lines", "TextFileDataset", "file_sampler", "find_files", "table"]


def find_files(patterns: Any) -> list[str]:
    """Return the files that patterns match, in order; raise ValueError for a pattern that matches none."""
    check_type(patterns, (str, list), "dataset files")
    if not patterns:
        raise ValueError(f"Input dataset_files can not be empty, but got '{patterns}'.")
    listed = patterns if isinstance(patterns, list) else [patterns]
    found = [sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)) for pattern in listed]
    unmatched = [pattern for pattern, paths in zip(listed, found) if not paths]
    if unmatched:
        raise ValueError(f"The following patterns did not match any files: {unmatched}.")
    return [path for paths in found for path in paths]


class _FileShuffle(BuiltinSampler):
    """Files in random order, the rows of each in their own; `lengths` receives the number of rows of each."""

    def __init__(self, samples: Any):
        super().__init__()
        self._samples = samples

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> np.ndarray[Any, Any]:
        ends = np.cumsum(self._samples.rows_of_files())
        parts = [np.arange(end - rows, end) for end, rows in zip(ends, self._samples.rows_of_files())]
        return np.concatenate([parts[index] for index in random.permutation(len(parts))])

    def is_shuffled(self) -> bool:
        return True


def file_sampler(samples: Any, num_samples: int | None, shuffle: Any, num_shards: int | None, shard_id: int | None) -> BuiltinSampler:
    """Return the sampler that the arguments of a source of files ask for."""
    if shuffle is not Shuffle.FILES:
        if isinstance(shuffle, Shuffle) and shuffle not in (Shuffle.GLOBAL, Shuffle.FALSE):
            raise ValueError(f"Invalid shuffle mode, only Shuffle.GLOBAL, Shuffle.FILES and bools are supported here, but got {shuffle!r}.")
        return select_sampler(num_samples, None, shuffle, num_shards, shard_id)
    if num_shards is not None and shard_id is not None:
        return DistributedSampler(num_shards, shard_id, False, num_samples).on_top_of(_FileShuffle(samples))
    return SequentialSampler(None, num_samples).on_top_of(_FileShuffle(samples))


class Lines(Samples):
    """The lines of files, without those that are empty unless `all_` is set.  Files are memory-mapped; only the bounds of lines are kept.
    """

    columns = ("text",)

    def __init__(self, paths: Sequence[str], all_: bool = False):
        self._paths, self._all = paths, all_
        self._places: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]] | None = None

    def places(self) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Return for each file its bytes, and the bounds of its lines."""
        if self._places is None:
            self._places = []
            for path in self._paths:
                data: Any = np.memmap(path, np.uint8, "r") if os.path.getsize(path) else np.empty(0, np.uint8)
                ends = np.flatnonzero(data == 10)
                if len(data) and data[-1] != 10:
                    ends = np.append(ends, len(data))
                starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
                filled = (ends > starts) | self._all
                self._places.append((data, starts[filled], ends[filled]))
        return self._places

    def rows_of_files(self) -> list[int]:
        return [len(starts) for _, starts, _ in self.places()]

    def __len__(self) -> int:
        return sum(self.rows_of_files())

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        ends = np.cumsum(self.rows_of_files())
        found: list[Any] = []
        for index, file in zip(indices.tolist(), np.searchsorted(ends, indices, side="right").tolist()):
            data, starts, stops = self.places()[file]
            line = index - (int(ends[file - 1]) if file else 0)
            encoded = data[starts[line] : stops[line]].tobytes()
            try:
                found.append(np.array(encoded.decode("utf-8")))
            except UnicodeDecodeError as error:
                raise RuntimeError(f"Invalid file, {self._paths[file]} is no text in UTF-8: {error}, at byte {starts[line]}.") from None
        return Block([found], len(found))


class TextFileDataset(MappableDataset):
    """The lines of text files in UTF-8 that are not empty: `text`, strings.

    dataset_files  a path, a pattern (`*.txt`), or a list of such; the files are read one after the other
    shuffle        True or Shuffle.GLOBAL: all lines; Shuffle.FILES: the order of files; False: none
    num_samples, num_shards, shard_id
                   which lines an epoch has

    Errors: ValueError if a pattern matches no file; RuntimeError for a file that is not UTF-8.
    """

    def __init__(self, dataset_files: Any, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        paths = find_files(dataset_files)
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        samples = Lines(paths)
        self._set_source(samples, file_sampler(samples, num_samples, shuffle, num_shards, shard_id))


class FileRows(Samples):
    """The rows of files; all are read at first use and kept.

    dtypes  for each column the dtype of its numbers; None: strings, or arrays of different shapes
    read    returns the rows of a file as tuples
    """

    def __init__(self, paths: Sequence[str], columns: Sequence[str], dtypes: Sequence[Any],
                 read: Callable[[str], Iterable[Sequence[Any]]]):
        self.columns = tuple(columns)
        self._paths, self._dtypes, self._read = paths, dtypes, read
        self._data: list[Column] | None = None
        self._rows: list[int] = []

    def data(self) -> list[Column]:
        if self._data is None:
            columns: list[list[Any]] = [[] for _ in self.columns]
            lengths = [0]
            for path in self._paths:
                for row in self._read(path):
                    for column, value in zip(columns, row, strict=True):
                        column.append(value)
                lengths.append(len(columns[0]))
            self._rows = np.diff(lengths).tolist()
            self._data = [[np.array(value) for value in column] if dtype is None else np.array(column, dtype)
                          for column, dtype in zip(columns, self._dtypes)]
        return self._data

    def rows_of_files(self) -> list[int]:
        self.data()
        return self._rows

    def __len__(self) -> int:
        return sum(self.rows_of_files())

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        return Block([column[indices] if isinstance(column, np.ndarray) else [column[index].copy() for index in indices]
                      for column in self.data()], len(indices))


class _Table:
    """Reads rows of separated values.

    kinds   for each column the type of its values: int, float or str
    header  whether the first row of a file holds the names of columns
    """

    def __init__(self, delimiter: str, columns: Sequence[str], kinds: Sequence[type], header: bool):
        self._delimiter, self._columns, self._kinds, self._header = delimiter, columns, kinds, header

    def __call__(self, path: str) -> Iterator[list[Any]]:
        for row, line in rows_of(path, self._delimiter, self._header):
            if len(row) != len(self._columns):
                raise RuntimeError(f"Invalid file, failed to parse csv file: {path} at line {line}. Expected {len(self._columns)} values "
                                   f"for the columns {', '.join(self._columns)}, but got {len(row)}.")
            values = []
            for value, kind, name in zip(row, self._kinds, self._columns):
                try:
                    number = kind(value)
                    if kind is int and not -(2**31) <= number < 2**31:
                        raise ValueError
                    values.append(number)
                except ValueError:
                    raise RuntimeError(f"Invalid csv, csv file: {path} parse failed at line {line}, type does not match: column "
                                       f"{name!r} holds {'Int32' if kind is int else 'Float32'}, but got {value!r}.") from None
            yield values


def table(paths: Sequence[str], delimiter: str, columns: Sequence[str], kinds: Sequence[type], header: bool) -> FileRows:
    """Return the rows of files of separated values; for the arguments see `_Table`."""
    dtypes = [{int: np.int32, float: np.float32}.get(kind) for kind in kinds]
    return FileRows(paths, columns, dtypes, _Table(delimiter, columns, kinds, header))


def rows_of(path: str, delimiter: str, header: bool) -> Any:
    """Return the rows of a file that are not empty, each with its line, counted from 1."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for row in reader:
                if not row:
                    continue
                if header:
                    header = False
                    continue
                yield row, reader.line_num
    except (csv.Error, UnicodeDecodeError) as error:
        raise RuntimeError(f"Invalid file, failed to parse csv file: {path}: {error}.") from None


class CSVDataset(MappableDataset):
    """The rows of files of comma-separated values.

    dataset_files    a path, a pattern, or a list of such; the files are read one after the other
    field_delim      the character between values
    column_defaults  for each column a value of its type: an int for Int32, a float for Float32, a string; default: strings
    column_names     names of the columns; default: the first row of each file
    shuffle          True or Shuffle.GLOBAL: all rows; Shuffle.FILES: the order of files; False: none

    Errors: ValueError if a pattern matches no file; RuntimeError for a row with other columns or a value of another type, with its line.
    """

    def __init__(self, dataset_files: Any, field_delim: str = ",", column_defaults: list[Any] | None = None,
                 column_names: list[str] | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        paths = find_files(dataset_files)
        check_type(field_delim, (str,), "field delim")
        if field_delim in ('"', "\r", "\n") or len(field_delim) != 1:
            raise ValueError("field_delim is invalid.")
        if column_defaults is not None:
            if not isinstance(column_defaults, list):
                raise TypeError("column_defaults should be type of list.")
            for value in column_defaults:
                if not isinstance(value, (str, int, float)):
                    raise TypeError("column type in column_defaults is invalid.")
        if column_names is not None and not all(isinstance(name, str) for name in column_names):
            raise TypeError("column_names should be a list of str.")
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache, (bool, Shuffle))
        names = column_names if column_names is not None else next(rows_of(paths[0], field_delim, False), ([], 0))[0]
        if not names:
            raise RuntimeError(f"Invalid file, {paths[0]} is empty: expected the names of columns in its first line.")
        given = [type(value) if type(value) in (int, float) else str for value in column_defaults or ()]
        samples = table(paths, field_delim, names, [*given, *[str] * (len(names) - len(given))], column_names is None)
        self._set_source(samples, file_sampler(samples, num_samples, shuffle, num_shards, shard_id))
