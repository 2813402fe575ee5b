"""MindRecord files as a source: `MindDataset`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_source, check_type
from adjoint.dataset.blocks import Block, stacked
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import BuiltinSampler, DistributedSampler, SequentialSampler, Shuffle, select_sampler
from adjoint.dataset.sources import Samples
from adjoint.mindrecord.reading import Records

__all__ = ["MindDataset"]


class _Rows(Samples):
    """The rows of files, and after them copies of one row that fills up."""

    def __init__(self, records: Records, columns: Sequence[str], padded: dict[str, Any], padding: int):
        self.records, self.columns, self.padding = records, tuple(columns), padding
        self.padded = padded

    def __len__(self) -> int:
        return len(self.records) + self.padding

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        inside = indices < len(self.records)
        read = iter(self.records.rows(indices[inside], self.columns))
        rows = [next(read) if here else self.padded for here in inside.tolist()]
        return Block([stacked([self._item(row[name], name) for row in rows]) for name in self.columns], len(rows))

    def _item(self, value: Any, name: str) -> np.ndarray[Any, Any]:
        """An array of the field's dtype; bytes as one element."""
        kind = self.records.schema.fields[name]["type"]
        if kind == "bytes":
            return np.array([value])
        return np.array(value) if kind == "string" else np.asarray(value, kind)


class _InFiles(BuiltinSampler):
    """All rows, with the files in random order, or the rows of each file."""

    def __init__(self, bounds: np.ndarray[Any, Any], mode: Shuffle):
        super().__init__()
        self.bounds, self.mode = bounds, mode

    def chosen(self, length: int, random: np.random.Generator, labels: Any) -> np.ndarray[Any, Any]:
        parts = [np.arange(begin, end) for begin, end in zip(self.bounds[:-1], self.bounds[1:])]
        parts.append(np.arange(self.bounds[-1], length))
        if self.mode is Shuffle.FILES:
            parts = [*(parts[number] for number in random.permutation(len(parts) - 1)), parts[-1]]
        else:
            parts = [random.permutation(part) for part in parts]
        return np.concatenate(parts)

    def is_shuffled(self) -> bool:
        return True

    def get_shuffle_mode(self) -> Shuffle:
        return self.mode


class MindDataset(MappableDataset):
    """The rows of MindRecord files: numbers with the field's dtype, strings, arrays, and bytes as an array with one element.

    dataset_files  a file, which stands for all shards of its data set, or a list of files
    columns_list   the fields that are read, in this order; all by default, in the order of their names
    shuffle        True, None, Shuffle.GLOBAL and PARTIAL: all rows; Shuffle.FILES: the order of files; INFILE and ADAPTIVE: rows within
                   their file; False: none
    padded_sample, num_padded
                   a row, and how often it is added at the end, so that shards have equal numbers of rows
    sampler, num_samples, num_shards, shard_id
                   which rows an epoch has, in which order

    Errors: ValueError for a file that does not exist; RuntimeError for one that is damaged, or a column that it lacks.
    """

    def __init__(self, dataset_files: str | list[str], columns_list: list[str] | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle | None = None, num_shards: int | None = None, shard_id: int | None = None, sampler: Any = None,
                 padded_sample: dict[str, Any] | None = None, num_padded: int | None = None, num_samples: int | None = None,
                 cache: Any = None):
        check_type(dataset_files, (str, list), "dataset_files")
        for path in [dataset_files] if isinstance(dataset_files, str) else dataset_files:
            check_type(path, (str,), "dataset_files")
            if not os.path.isfile(path):
                raise ValueError(f"The file {os.path.abspath(path)} does not exist or permission denied!")
        if columns_list is not None:
            check_type(columns_list, (list,), "columns_list")
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache, (bool, Shuffle))
        records = Records(dataset_files)
        columns = records.checked(columns_list) if columns_list else list(records.schema.fields)
        padded = _padded(padded_sample, num_padded, columns_list)
        mode = shuffle if isinstance(shuffle, Shuffle) else Shuffle.FALSE if shuffle is False else Shuffle.GLOBAL
        if mode in (Shuffle.FILES, Shuffle.INFILE, Shuffle.ADAPTIVE):
            chooser = SequentialSampler(None, num_samples) if num_shards is None else DistributedSampler(
                num_shards, shard_id or 0, False, num_samples)
            chosen = chooser.on_top_of(_InFiles(records.bounds, mode))
        else:
            wanted = None if shuffle is None else mode is not Shuffle.FALSE
            chosen = select_sampler(num_samples, sampler, wanted, num_shards, shard_id)
        self.dataset_files = dataset_files
        self._set_source(_Rows(records, columns, padded, num_padded or 0), chosen)


def _padded(sample: Any, number: Any, columns: list[str] | None) -> dict[str, Any]:
    if sample is None and number is None:
        return {}
    if sample is None or number is None:
        raise RuntimeError("padded_sample is specified and requires num_padded as well, and num_padded padded_sample.")
    check_type(sample, (dict,), "padded_sample")
    check_type(number, (int,), "num_padded")
    if number < 0:
        raise ValueError("num_padded must be greater than or equal to zero.")
    if not columns:
        raise RuntimeError("padded_sample is specified and requires columns_list as well.")
    for name in columns:
        if name not in sample:
            raise RuntimeError("padded_sample cannot match columns_list.")
    return sample
