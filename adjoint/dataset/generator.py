"""Sources that a program defines itself: GeneratorDataset, and NumpySlicesDataset over arrays."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from adjoint.dataset.arguments import as_list, check_columns, check_int, check_source, check_type, workers_of
from adjoint.dataset.batching import Batch
from adjoint.dataset.blocks import Block, Column, as_item, is_uniform, stacked, together
from adjoint.dataset.dataset import Dataset
from adjoint.dataset.errors import UserError, user_error, wrong_result
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.nodes import Node, Run
from adjoint.dataset.samplers import BuiltinSampler, IterSampler, PKSampler, Sampler, select_sampler
from adjoint.dataset.sources import Samples
from adjoint.ir.types import DType
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["GeneratorDataset", "NumpySlicesDataset", "PaddedDataset"]

_SINGLE = (int, float, str, bytes, np.ndarray, Tensor, np.generic, dict)


class _Rows:
    """Converts the results of a user's source to rows with the right columns."""

    def __init__(self, columns: tuple[str, ...], dtypes: Sequence[Any]):
        self.columns, self.dtypes = columns, dtypes

    def row(self, value: Any, where: str) -> tuple[Any, ...]:
        try:
            row = (as_item(value),) if isinstance(value, _SINGLE) else tuple(map(as_item, value))
        except TypeError as error:
            raise user_error(where, error) from None
        if len(row) != len(self.columns):
            raise wrong_result(where, "the 'source' of 'GeneratorDataset' should return same number of NumPy arrays as specified in "
                               f"column_names, the size of column_names is:{len(self.columns)} and number of returned NumPy array is:"
                               f"{len(row)}")
        for item, dtype, column in zip(row, self.dtypes, self.columns):
            if dtype is not None and getattr(item, "dtype", None) != dtype:
                raise wrong_result(where, "type of returned data in 'GeneratorDataset' should be same with specified column_types, but "
                                          "column "
                                   f"{column!r} is {getattr(item, 'dtype', 'a dict')}, specified column type: {dtype}")
        return row


class _Indexed(Samples):
    """Samples from a user's `__getitem__`."""

    portable = False

    def __init__(self, source: Any, rows: _Rows, workers: int, processes: bool):
        self.source, self.columns, self.workers, self.processes = source, rows.columns, workers, processes
        self._rows = rows

    def __len__(self) -> int:
        if not hasattr(self.source, "__len__"):
            raise RuntimeError("Attempt to construct a random access dataset, '__len__' method is required!")
        return len(self.source)

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        found = []
        for index in indices.tolist():
            where = f"{type(self.source).__qualname__}.__getitem__ of GeneratorDataset, sample {index}"
            try:
                value = self.source[index]
                if isinstance(value, GeneratorType):
                    value = tuple(value)
            except UserError:
                raise
            except Exception as error:
                raise user_error(where, error) from None
            found.append(self._rows.row(value, where))
        return Block([stacked(list(column)) for column in zip(*found)] if found else [[] for _ in self.columns], len(found))


class _OneWay(Node):
    """Rows from a generator or an iterable, one pass for each epoch."""

    addressable = False

    def __init__(self, begin: Callable[[], Iterator[Any]], rows: _Rows, num_samples: int | None, length: int | None, name: str):
        self.columns = rows.columns
        self._begin, self._rows, self._num_samples, self._length, self._name = begin, rows, num_samples, length, name

    def known_length(self, run: Run) -> int | None:
        return self._length if self._length is None or not self._num_samples else min(self._length, self._num_samples)

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        place = 0
        where = f"{self._name} of GeneratorDataset, row {{}} of epoch {epoch}"
        try:
            values = self._begin()
        except Exception as error:
            raise user_error(where.format(0), error) from None
        found: list[tuple[Any, ...]] = []
        while not self._num_samples or place < self._num_samples:
            try:
                value = next(values)
            except StopIteration:
                break
            except Exception as error:
                raise user_error(where.format(place), error) from None
            if place >= start:
                found.append(self._rows.row(value, where.format(place)))
            place += 1
            if len(found) == size:
                yield self._block(found)
                found = []
        if found:
            yield self._block(found)

    @staticmethod
    def _block(found: list[tuple[Any, ...]]) -> Block:
        return Block([stacked(list(column)) for column in zip(*found)], len(found))


class _Replayed:
    """A generator object that can be read again: its values are kept."""

    def __init__(self, generator: Iterator[Any]):
        self._generator = generator
        self._seen: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        yield from self._seen
        for value in self._generator:
            self._seen.append(value)
            yield value


class _BatchSampled(Node):
    """The samples of each entry of a batch sampler, as one block: a batch for the node above."""

    addressable = False

    def __init__(self, samples: Samples, sampler: Sampler):
        self.samples, self.sampler, self.columns = samples, sampler, samples.columns

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        for entry in self.sampler.lists(len(self.samples)):
            yield self.samples.block(np.array(entry, np.int64))


class _AsGiven(Batch):
    """Each block of a batch sampler as one batch, whatever its size."""

    def known_length(self, run: Run) -> int:
        assert isinstance(self.child, _BatchSampled)
        return len(self.child.sampler.lists(len(self.child.samples)))

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        assert isinstance(self.child, _BatchSampled)
        entries = self.child.sampler.lists(len(self.child.samples))
        for place in range(start, len(entries)):
            rows = self.child.samples.block(np.array(entries[place], np.int64))
            yield Block([[column] for column in self._batch(run, epoch, place, rows)], 1)


class GeneratorDataset(MappableDataset):
    """Rows of a program's own source.

    source                a generator function, an iterable, or an object with `__getitem__` and `__len__`
    column_names          the columns of a row; a row is one value, or a tuple of one for each column
    column_types          dtypes that the values must have
    shuffle, sampler, num_samples, num_shards, shard_id
                          which samples an epoch has, in which order; but for `num_samples` only for a source with `__getitem__`, and
                          `shuffle` is True unless something else is said
    num_parallel_workers  so many samples are read at once by `__getitem__`: by forked processes, or by threads without
                          `python_multiprocessing` and under MPI
    batch_sampler         an iterable of lists of indices: each is a batch; `collate_fn` makes it, from a list for each column

    Errors: TypeError for what is not a source; ValueError without column names; while iterating, a RuntimeError with the traceback of the
    source that raised.
    """

    def __init__(self, source: Any, column_names: Any = None, column_types: list[Any] | None = None, schema: Any = None,
                 num_samples: int | None = None, num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, python_multiprocessing: bool = True,
                 max_rowsize: Any = None, batch_sampler: Any = None, collate_fn: Callable[..., Any] | None = None):
        if not callable(source) and not isinstance(source, Iterable) and not hasattr(source, "__getitem__"):
            raise TypeError("Input `source` function of GeneratorDataset should be callable, iterable or random accessible, commonly it "
                            "should implement one of the method like yield, __getitem__ or __next__(__iter__).")
        if column_names is not None:
            check_columns(column_names, "column_names")
        elif schema is None:
            raise ValueError("Neither columns_names nor schema are provided.")
        if schema is not None:
            raise NotImplementedError("adjoint reads no schema files: give 'column_names'.")
        check_type(python_multiprocessing, (bool,), "python_multiprocessing")
        if (num_shards is None) != (shard_id is None):
            raise ValueError("num_shards and shard_id need to be passed in together.")
        if isinstance(sampler, PKSampler):
            raise ValueError("GeneratorDataset doesn't support PKSampler.")
        indexed = hasattr(source, "__getitem__")
        if not indexed:
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler), ("num_shards", num_shards)):
                if value is not None:
                    raise ValueError(f"{name} is not supported if source does not have attribute '__getitem__'.")
        _check_batch_sampler(batch_sampler, collate_fn, (num_samples, shuffle, num_shards, shard_id, sampler))
        _check_choice(num_samples, None, shuffle, sampler, num_shards, shard_id)
        self.source: Any = list(source) if isinstance(source, builtins.zip) else source
        indexed = indexed or isinstance(source, builtins.zip)
        rows = _Rows(tuple(as_list(column_names)), _dtypes(column_types, as_list(column_names)))
        workers = workers_of(num_parallel_workers) or 1
        if indexed:
            samples = _Indexed(self.source, rows, workers, python_multiprocessing)
            if batch_sampler is not None:
                entries = batch_sampler if isinstance(batch_sampler, Sampler) else IterSampler(batch_sampler)
                mapping = None if collate_fn is None else (lambda *columns: collate_fn(*columns[:-1]))
                Dataset.__init__(self, _AsGiven(_BatchSampled(samples, entries), lambda info: 1, False, mapping))
                return
            self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))
            return
        Dataset.__init__(self, _OneWay(_beginning(self.source), rows, num_samples, _length_of(self.source),
                                       getattr(source, "__qualname__", type(source).__qualname__)))

    def __getitem__(self, index: int) -> Any:
        """Return the source's value for the sample at this index of an epoch; raise RuntimeError without `__getitem__`."""
        check_type(index, (int, np.integer), "index")
        samples = self._samples
        if samples is None:
            raise RuntimeError("Dataset don't support randomized access.")
        order = self._sampled().order(Run(0), 0)
        check_int(int(index), 0, len(order) - 1, "index")
        return self.source[int(order[index])]

    def add_sampler(self, new_sampler: BuiltinSampler) -> None:
        if isinstance(new_sampler, PKSampler):
            raise RuntimeError("GeneratorDataset doesn't support PKSampler")
        super().add_sampler(new_sampler)


def _beginning(source: Any) -> Callable[[], Iterator[Any]]:
    """Return a function that starts a pass over a source."""
    if isinstance(source, GeneratorType):
        source = _Replayed(source)
    return (lambda: iter(source)) if hasattr(source, "__iter__") else (lambda: iter(source()))


def _length_of(source: Any) -> int | None:
    return len(source) if hasattr(source, "__len__") else None


def _dtypes(column_types: Any, columns: Sequence[str]) -> list[Any]:
    if column_types is None:
        return [None] * len(columns)
    check_type(column_types, (list,), "column_types")
    if len(column_types) != len(columns):
        raise ValueError(f"For 'GeneratorDataset', there must be a type for each of {len(columns)} columns, but got {len(column_types)}.")
    return [kind.array if isinstance(kind, DType) else None if kind is None else np.dtype(kind) for kind in column_types]


def _check_choice(num_samples: Any, workers: Any, shuffle: Any, sampler: Any, num_shards: Any, shard_id: Any) -> None:
    """Check the arguments that choose samples.

    With an iterable of indices `num_samples` is obeyed and `shuffle` has no effect, as in MindSpore; another sampler stands alone.
    """
    given = {"num_samples": num_samples, "num_shards": num_shards, "shard_id": shard_id, "shuffle": shuffle}
    if isinstance(sampler, BuiltinSampler) and any(value is not None for value in given.values()):
        raise ValueError("Conflicting arguments during sampler assignments. "
                         f"{', '.join(f'{name}: {value}' for name, value in given.items())}.")
    sharded = num_shards is not None or shard_id is not None
    check_source(num_samples, workers, shuffle, None, num_shards, shard_id)
    if sampler is not None and sharded:
        raise RuntimeError("sampler and sharding cannot be specified at the same time.")


def _check_batch_sampler(batch_sampler: Any, collate_fn: Any, others: tuple[Any, ...]) -> None:
    if batch_sampler is not None:
        if any(other is not None for other in others):
            raise ValueError("batch_sampler is mutually exclusive with num_samples, shuffle, num_shards, shard_id and sampler.")
        if not isinstance(batch_sampler, Iterable):
            raise TypeError("batch_sampler should have __getitem__ or __iter__ method.")
    if collate_fn is not None:
        if batch_sampler is None:
            raise ValueError("collate_fn can be specified only when batch_sampler is set.")
        if not callable(collate_fn):
            raise TypeError("collate_fn should be callable.")


class _Slices(Samples):
    """The rows of arrays or lists of one length."""

    def __init__(self, data: tuple[Any, ...], columns: tuple[str, ...]):
        self.columns = columns
        self._data = data
        self._columns: list[Column | None] = [column if isinstance(column, np.ndarray) and column.dtype.kind not in "USO" else None
                                              for column in data]

    def __len__(self) -> int:
        return len(self._data[0])

    def block(self, indices: np.ndarray[Any, Any]) -> Block:
        return Block([self._chosen(number, indices) for number in range(len(self._data))], len(indices))

    def _chosen(self, number: int, indices: np.ndarray[Any, Any]) -> Column:
        column = self._columns[number]
        if column is None:
            # Each entry of a list has a dtype and shape of its own.
            rows = [as_item(value) for value in self._data[number]]
            column = self._columns[number] = together(rows) if rows and is_uniform(rows) else rows
        return column[indices] if isinstance(column, np.ndarray) else [column[index].copy() for index in indices]


class NumpySlicesDataset(MappableDataset):
    """The rows of arrays or lists.

    data          an array or list, whose entries are the rows; a tuple of such, one for each column; or a dict of them by column
    column_names  default: the keys of the dict, else column_0, column_1, ...

    Errors: TypeError for other data; ValueError for columns of different lengths.
    """

    def __init__(self, data: Any, column_names: Any = None, num_samples: int | None = None, num_parallel_workers: int = 1,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None):
        check_type(data, (list, tuple, dict, np.ndarray), "data")
        if len(data) == 0:
            raise ValueError("Argument data cannot be empty")
        if isinstance(data, tuple):
            check_type(data[0], (list, np.ndarray), "data[0]")
        columns = list(data.values()) if isinstance(data, dict) else list(data) if isinstance(data, tuple) else [data]
        if column_names is not None:
            check_columns(column_names, "column_names")
            if len(as_list(column_names)) != len(columns):
                raise ValueError(f"Num of input column names is {len(as_list(column_names))}, but required is {len(columns)}.")
        if any(len(column) != len(columns[0]) for column in columns):
            raise ValueError("Data length in each column is not equal.")
        _check_choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        if isinstance(data, dict):
            # A pandas Series holds its numbers as an array.
            columns = [getattr(column, "values", column) for column in columns]
        names = as_list(column_names) or (list(data) if isinstance(data, dict) else [f"column_{i}" for i in range(len(columns))])
        self.source = data
        self._set_source(_Slices(tuple(columns), tuple(map(str, names))),
                         select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class PaddedDataset(NumpySlicesDataset):
    """Rows that fill up another pipeline: a list of dicts by column."""

    def __init__(self, padded_samples: list[dict[str, Any]]):
        if not padded_samples:
            raise ValueError("padded_samples cannot be empty.")
        check_type(padded_samples, (list,), "padded_samples")
        check_type(padded_samples[0], (dict,), "padded_element")
        super().__init__({name: [sample[name] for sample in padded_samples] for name in padded_samples[0]}, shuffle=False)
        self.padded_samples = padded_samples
