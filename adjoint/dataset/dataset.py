"""Dataset: the class with which a program builds a pipeline.  Each method returns a new pipeline and leaves the old one unchanged."""

from __future__ import annotations

import inspect
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, as_list, check_columns, check_int, check_interval, check_type, workers_of
from adjoint.dataset.batching import Batch, BucketBatch
from adjoint.dataset.callbacks import StepsBegin, StepsEnd, check_callbacks
from adjoint.dataset.config import get_num_parallel_workers, get_seed
from adjoint.dataset.iterators import DictIterator, RowIterator, State, TupleIterator, check_iterator, check_state
from adjoint.dataset.nodes import ENDLESS, Node, Run
from adjoint.dataset.operations import Concat, Filter, Map, Project, Rename, Repeat, Shards, ShuffleRows, Skip, Take, Wait, Zip
from adjoint.dataset.samplers import DistributedSampler, RandomSampler, Shuffle
from adjoint.dataset.saving import save as save_rows
from adjoint.dataset.sources import Sampled
from adjoint.dataset.streams import fresh_seed
from adjoint.foundation.diagnostics import MissingMember, warn
from adjoint.runtime.cells.cell import Cell

__all__ = ["ConcatDataset", "Dataset", "zip_datasets"]


class Dataset:
    """A pipeline.

    Iterating gives the rows of an epoch as lists of tensors.  A random choice depends on the seed, the epoch and the row alone, so a seed
    gives the same rows again, for any number of workers.
    """

    build_vocab = MissingMember("`text.Vocab.from_dataset(dataset, columns)`")
    build_sentencepiece_vocab = MissingMember("a library for it, on the texts that `create_tuple_iterator` gives")

    def __init__(self, node: Node):
        self.node = node
        self._size: int | None = None
        self._next_state: State | None = None
        self._latest: weakref.ref[RowIterator] | None = None

    # -- operations ---------------------------------------------------------------------------------------------------------------------

    def map(self, operations: Any, input_columns: Any = None, output_columns: Any = None, num_parallel_workers: int | None = None,
            python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None, max_rowsize: Any = None,
            offload: bool | None = None) -> Dataset:
        """Apply operations to columns of each row, one after the other.

        operations            functions or transforms; each takes the columns that the one before returns, as NumPy arrays
        input_columns         the columns that the first takes; default: the first column
        output_columns        names of the columns that the last one returns; default: those of the input
        num_parallel_workers  how many rows are computed at once; by threads, or with `python_multiprocessing` by processes
        callbacks             a DSCallback, or a list of them; rows are then made in order

        Errors: ValueError for what cannot be called; RuntimeError for a column that does not exist; while iterating, a RuntimeError with
        the traceback of the operation that raised.
        """
        listed = list(operations) if isinstance(operations, (list, tuple)) else [operations]
        if not listed:
            raise ValueError("For 'map', the argument 'operations' must not be empty.")
        for operation in listed:
            if isinstance(operation, type):
                raise ValueError("Parameter operations's element of method map should be a dataset processing operation instance, but got: "
                                 f"{operation}. It may be missing parentheses for instantiation.")
            if isinstance(operation, Cell):
                raise ValueError("Input operations should not contain network computing operator like in mindspore.nn or mindspore.ops, "
                                 f"got operation: {type(operation).__name__}")
            if not callable(operation):
                raise ValueError("Parameter operations's element of method map should be a python function or class method which should be "
                                 f"callable, but got: {operation}. It doesn't need parentheses for python function or class method.")
        for name, columns in (("input_columns", input_columns), ("output_columns", output_columns)):
            if columns is not None:
                check_columns(columns, name)
        check_type(python_multiprocessing, (bool,), "python_multiprocessing")
        if cache is not None:
            raise NotImplementedError("adjoint has no dataset cache server: leave 'cache' out.")
        told = check_callbacks(callbacks)
        mapped = Map(StepsBegin(self.node, told) if told else self.node, listed, as_list(input_columns), as_list(output_columns),
                     _workers(num_parallel_workers, python_multiprocessing), python_multiprocessing)
        return Dataset(StepsEnd(mapped, told) if told else mapped)

    def batch(self, batch_size: int | Callable[..., int], drop_remainder: bool = False, num_parallel_workers: int | None = None,
              per_batch_map: Callable[..., Any] | None = None, input_columns: Any = None, output_columns: Any = None,
              python_multiprocessing: bool = False, max_rowsize: Any = None) -> Dataset:
        """Make batches: arrays with a new first axis.

        batch_size      rows of a batch, or a function from a BatchInfo to the number of rows
        drop_remainder  whether a shorter last batch is dropped
        per_batch_map   a function of a list of arrays for each of `input_columns` and a BatchInfo, called before rows become one array

        Errors: ValueError for a size below 1; while iterating RuntimeError for rows of different shapes or dtypes.
        """
        _check_batch_size(batch_size)
        check_type(drop_remainder, (bool,), "drop_remainder")
        if per_batch_map is not None and not callable(per_batch_map):
            raise TypeError(f"For 'batch', the argument 'per_batch_map' must be a function, but got {per_batch_map!r}.")
        if input_columns is not None:
            if per_batch_map is None:
                raise ValueError("input_columns can be specified only when per_batch_map is set.")
            check_columns(input_columns, "input_columns")
            if len(as_list(input_columns)) != len(inspect.signature(per_batch_map).parameters) - 1:
                raise ValueError("The signature of per_batch_map should match with input columns.")
        if output_columns is not None:
            check_columns(output_columns, "output_columns")
        check_type(python_multiprocessing, (bool,), "python_multiprocessing")
        self._warn_of_repeat("batch")
        return Dataset(Batch(self.node, batch_size, drop_remainder, per_batch_map, as_list(input_columns), as_list(output_columns),
                             workers=_workers(num_parallel_workers, python_multiprocessing), processes=python_multiprocessing))

    def padded_batch(self, batch_size: int | Callable[..., int], drop_remainder: bool = False, num_parallel_workers: int | None = None,
                     pad_info: dict[str, Any] | None = None) -> Dataset:
        """Make batches of rows that are padded to one shape.

        pad_info  for a column a tuple of shape and value; None in the shape, or for it, is the greatest size in the batch; {} pads all
        """
        _check_batch_size(batch_size)
        check_type(drop_remainder, (bool,), "drop_remainder")
        workers_of(num_parallel_workers)
        _check_pad_info(pad_info)
        self._warn_of_repeat("padded_batch")
        return Dataset(Batch(self.node, batch_size, drop_remainder, padding=pad_info))

    def bucket_batch_by_length(self, column_names: list[str], bucket_boundaries: list[int], bucket_batch_sizes: list[int],
                               element_length_function: Callable[..., Any] | None = None, pad_info: dict[str, Any] | None = None,
                               pad_to_bucket_boundary: bool = False, drop_remainder: bool = False) -> Dataset:
        """Make batches of rows of similar length, by buckets with upper bounds."""
        for name, value in (("column_names", column_names), ("bucket_boundaries", bucket_boundaries),
                            ("bucket_batch_sizes", bucket_batch_sizes)):
            check_type(value, (list,), name)
        check_type(pad_to_bucket_boundary, (bool,), "pad_to_bucket_boundary")
        check_type(drop_remainder, (bool,), "drop_remainder")
        check_columns(column_names, "column_names")
        if element_length_function is None and len(column_names) != 1:
            raise ValueError("If element_length_function is not specified, exactly one column name should be passed.")
        if element_length_function is not None and not callable(element_length_function):
            raise TypeError("element_length_function object is not callable.")
        if not bucket_boundaries:
            raise ValueError("bucket_boundaries cannot be empty.")
        for name, values in (("bucket_boundaries", bucket_boundaries), ("bucket_batch_sizes", bucket_batch_sizes)):
            if not all(isinstance(value, int) for value in values):
                raise TypeError(f"{name} should be a list of int.")
            if not all(value > 0 for value in values):
                raise ValueError(f"{name} must only contain positive numbers.")
        if any(low >= high for low, high in itertools.pairwise(bucket_boundaries)):
            raise ValueError("bucket_boundaries should be strictly increasing.")
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("bucket_batch_sizes must contain one element more than bucket_boundaries.")
        _check_pad_info(pad_info)
        return Dataset(BucketBatch(self.node, column_names, bucket_boundaries, bucket_batch_sizes, element_length_function, pad_info,
                                   pad_to_bucket_boundary, drop_remainder))

    def shuffle(self, buffer_size: int) -> Dataset:
        """Shuffle the rows: each is drawn from the next `buffer_size` ones, in another order in each epoch."""
        check_int(buffer_size, 2, INT32_MAX, "buffer_size")
        if any(isinstance(node, Wait) for node in self.node.walk()):
            raise RuntimeError("No shuffle after sync operators.")
        return Dataset(ShuffleRows(self.node, buffer_size))

    def repeat(self, count: int | None = None) -> Dataset:
        """Make `count` epochs into one; None or -1: repeat without end."""
        if count is not None:
            check_type(count, (int,), "repeat")
            if (count <= 0 and count != -1) or count > INT32_MAX:
                raise ValueError("count should be either -1 or positive integer, range[1, INT32_MAX].")
        return Dataset(Repeat(self.node, -1 if count is None else count))

    def skip(self, count: int) -> Dataset:
        """Skip the first rows of each epoch."""
        check_int(count, 0, INT32_MAX, "count")
        return Dataset(Skip(self.node, count))

    def take(self, count: int = -1) -> Dataset:
        """Keep only the first rows of each epoch; -1: all."""
        check_type(count, (int,), "count")
        if (count <= 0 and count != -1) or count > INT32_MAX:
            raise ValueError("count should be either -1 or within the required interval of "
                             f"({0}, {INT32_MAX}], got {count}.")
        return Dataset(self.node if count == -1 else Take(self.node, count))

    def filter(self, predicate: Callable[..., Any], input_columns: Any = None, num_parallel_workers: int | None = None) -> Dataset:
        """Keep only the rows for which a function of some columns, or of all, returns True."""
        if not callable(predicate):
            raise TypeError("Predicate should be a Python function or a callable Python object.")
        workers_of(num_parallel_workers)
        if input_columns is not None:
            check_columns(input_columns, "input_columns")
        return Dataset(Filter(self.node, predicate, as_list(input_columns)))

    def project(self, columns: Any) -> Dataset:
        """Keep only these columns, in this order."""
        check_columns(columns, "columns")
        return Dataset(Project(self.node, as_list(columns)))

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Rename columns."""
        check_columns(input_columns, "input_columns")
        check_columns(output_columns, "output_columns")
        if len(as_list(input_columns)) != len(as_list(output_columns)):
            raise ValueError("Number of column in input_columns and output_columns is not equal.")
        return Dataset(Rename(self.node, as_list(input_columns), as_list(output_columns)))

    def zip(self, datasets: Any) -> Dataset:
        """Return the columns of this and other pipelines side by side, as long as the shortest."""
        check_type(datasets, (tuple, Dataset), "datasets")
        return zip_datasets((self, *(datasets if isinstance(datasets, tuple) else (datasets,))))

    def concat(self, datasets: Any) -> Dataset:
        """Return the rows of this and other pipelines one after the other."""
        check_type(datasets, (list, Dataset), "datasets")
        others = datasets if isinstance(datasets, list) else [datasets]
        for index, dataset in enumerate(others):
            check_type(dataset, (Dataset,), f"dataset[{index}]")
        return ConcatDataset(Concat([dataset.node for dataset in (self, *others)]))

    def __add__(self, datasets: Any) -> Dataset:
        return self.concat(datasets)

    def split(self, sizes: list[Any], randomize: bool = True) -> tuple[Dataset, ...]:
        """Split the pipeline into parts without common rows, by numbers of rows or by fractions.

        randomize  whether rows are assigned in random order: that of the seed that is set now, in each epoch and each run

        Errors: RuntimeError for a sharded pipeline, and if the sizes do not add up to the number of rows.
        """
        if self.is_sharded():
            raise RuntimeError("Dataset should not be sharded before split.")
        absolute, seed = self._split_sizes(sizes, randomize), get_seed()
        parts, first = [], 0
        for size in absolute:
            parts.append(self._part(first, size, randomize, seed))
            first += size
        return tuple(parts)

    def _part(self, first: int, size: int, randomize: bool, seed: int) -> Dataset:
        node = ShuffleRows(self.node, INT32_MAX, seed) if randomize else self.node
        return Dataset(Take(Skip(node, first), size))

    def _split_sizes(self, sizes: Any, randomize: Any) -> list[int]:
        check_type(sizes, (list,), "sizes")
        check_type(randomize, (bool,), "randomize")
        if not sizes:
            raise ValueError("sizes cannot be empty.")
        whole = all(isinstance(size, int) for size in sizes)
        if not whole and not all(isinstance(size, float) for size in sizes):
            raise ValueError("sizes should be list of int or list of float.")
        if whole and any(size <= 0 for size in sizes):
            raise ValueError("sizes is a list of int, but there should be no negative or zero numbers.")
        if not whole and not all(0 < size <= 1 for size in sizes):
            raise ValueError("sizes is a list of float, but there should be no numbers outside the range (0, 1].")
        if not whole and abs(sum(sizes) - 1) >= 1e-5:
            raise ValueError("sizes is a list of float, but the percentages do not sum up to 1.")
        rows = self.get_dataset_size()
        if rows <= 0:
            raise RuntimeError("dataset_size is unknown, unable to split.")
        if whole:
            if sum(sizes) != rows:
                raise RuntimeError(f"Sum of split sizes {sum(sizes)} is not equal to dataset size {rows}.")
            return list(sizes)
        absolute = [round(size * rows) for size in sizes]
        if 0 in absolute:
            raise RuntimeError(f"Split percentage {sizes[absolute.index(0)]} is too small.")
        missing = rows - sum(absolute)
        for index, size in enumerate(absolute):
            if size + missing > 0:
                absolute[index] += missing
                break
        return absolute

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return the result of a function of the pipeline; raise TypeError if that is not a Dataset."""
        if not callable(apply_func):
            raise TypeError("apply_func must be a function.")
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError("apply_func must return a dataset.")
        return made

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """Concatenate the pipelines that a function makes, one from each row."""
        if not callable(func):
            raise TypeError("func must be a function.")
        made = [func(*row) for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        if not made or not all(isinstance(dataset, Dataset) for dataset in made):
            raise TypeError("flat_map must return a Dataset object.")
        return made[0].concat(made[1:]) if made[1:] else made[0]

    # -- iterators ----------------------------------------------------------------------------------------------------------------------

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False) -> DictIterator:
        """Return an iterator over rows as dicts of tensors by column, or with `output_numpy` of arrays."""
        epochs = check_iterator(num_epochs, output_numpy, do_copy)
        return self._begun(DictIterator(self._shown(), epochs, bool(output_numpy), self._next_state))

    def create_tuple_iterator(self, columns: Any = None, num_epochs: int = -1, output_numpy: bool = False,
                              do_copy: bool = False) -> TupleIterator:
        """Return an iterator over rows as lists of tensors, or with `output_numpy` of arrays, of all columns or of `columns`."""
        epochs = check_iterator(num_epochs, output_numpy, do_copy)
        if columns is not None:
            check_columns(columns, "column_names")
        node = self._shown() if columns is None else Project(self.node, as_list(columns))
        return self._begun(TupleIterator(node, epochs, bool(output_numpy), self._next_state))

    def __iter__(self) -> TupleIterator:
        return self.create_tuple_iterator(num_epochs=1 if self._next_state is None else self._next_state["epoch"] + 1)

    def _shown(self) -> Node:
        """Return the pipeline without columns of metadata, which iterators leave out."""
        shown = [column for column in self.node.columns if not column.startswith("_meta-")]
        return self.node if len(shown) == len(self.node.columns) else Project(self.node, shown)

    def _begun(self, iterator: Any) -> Any:
        self._next_state = None
        self._latest = weakref.ref(iterator)
        return iterator

    def state_dict(self) -> State:
        """Return the position of the iterator that this pipeline made last: `epoch`, `position` and `seed`, as ints.

        Raise RuntimeError if there is none, or if it was deleted.
        """
        if self._next_state is not None:
            return dict(self._next_state)
        iterator = self._latest() if self._latest is not None else None
        if iterator is None:
            raise RuntimeError("This pipeline has no iterator whose state could be saved: keep the one that 'create_dict_iterator' "
                               "returns.")
        return iterator.state_dict()

    def load_state_dict(self, state: State) -> None:
        """Make the next iterator continue where the iterator was that returned this `state_dict`: same epoch, position and random choices.

        Rows before that are not made again if the pipeline can index its rows; after a generator or a `filter` they are read again and
        dropped.
        """
        self._next_state = check_state(state)

    # -- properties of a pipeline ---------------------------------------------------------------------------------------------------------

    @property
    def input_indexs(self) -> Any:
        """What was assigned to it, by default an empty tuple; nothing reads it."""
        return self.__dict__.get("_input_indexs", ())

    @input_indexs.setter
    def input_indexs(self, value: Any) -> None:
        self.__dict__["_input_indexs"] = value

    def get_col_names(self) -> list[str]:
        return list(self.node.columns)

    def get_dataset_size(self) -> int:
        """Return the rows of an epoch; a generator or a `filter` is read to the end to count them.  Raise RuntimeError if it never ends."""
        if self._size is None:
            run = Run(fresh_seed(), tells=False)
            size = self.node.known_length(run)
            if size is None and self.node.repeats() != -1:
                size = self._counted(run)
            if size is None or size >= ENDLESS:
                raise RuntimeError("A pipeline that repeats for ever has no size: ask before 'repeat', or give 'repeat' a count.")
            self._size = size
        return self._size

    def _counted(self, run: Run) -> int:
        return sum(block.length for block in self.node.blocks(run, 0, 0, 32))

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_batch_size(self) -> int:
        return self.node.batch_size()

    def get_repeat_count(self) -> int:
        return self.node.repeats()

    def num_classes(self) -> int | None:
        """Return the number of classes of the source, None where it has none."""
        return self.node.classes()

    def get_class_indexing(self) -> dict[str, int]:
        """Return the number of each class by its name, of an ImageFolderDataset."""
        return self.node.class_indexing()

    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """Return the shape of each column in the first row; with `estimate` None for each size that differs between rows of the epoch."""
        check_type(estimate, (bool,), "estimate")
        shapes: list[list[int | None]] | None = None
        for row in TupleIterator(self.node, 1, True):
            found: list[list[int | None]] = [list(np.shape(value)) for value in row]
            if shapes is not None:
                found = [[old if old == new else None for old, new in zip(before, now)] for before, now in zip(shapes, found)]
            shapes = found
            if not estimate:
                break
        return shapes or []

    def output_types(self) -> list[Any]:
        """Return the NumPy dtype of each column in the first row."""
        for row in TupleIterator(self.node, 1, True):
            return [np.dtype(value.dtype.kind) if getattr(value, "dtype", np.dtype("O")).kind in "US" else getattr(value, "dtype", dict)
                    for value in row]
        return []

    def is_shuffled(self) -> bool:
        return any(isinstance(node, ShuffleRows) or (isinstance(node, Sampled) and node.sampler.is_shuffled())
                   or (isinstance(node, Shards) and node.seed is not None) for node in self.node.walk())

    def is_sharded(self) -> bool:
        return any(isinstance(node, Shards) or (isinstance(node, Sampled) and node.sampler.is_sharded()) for node in self.node.walk())

    def reset(self) -> None:
        """Accepted: each iterator starts anew."""

    def _warn_of_repeat(self, operation: str) -> None:
        if any(isinstance(node, Repeat) for node in self.node.walk()):
            warn(f"Repeat is located before {operation}, data from two epochs can be batched together.")

    # -- what MindSpore has and this package lacks ----------------------------------------------------------------------------------------

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Write the rows of one epoch to `num_files` MindRecord files, from which MindDataset reads them.

        Numbers are stored as int32, int64, float32 or float64, whichever holds them.  Raise ValueError for arguments, RuntimeError for
        files that exist, and for a pipeline without rows.
        """
        if file_type != "mindrecord":
            raise ValueError(f"{file_type} dataset format is not supported.")
        if not isinstance(num_files, int) or not 0 < num_files <= 1000:
            raise ValueError("num_files should between 0 and 1000.")
        save_rows(self.create_dict_iterator(1, True), file_name, num_files)

    def device_que(self, /, *arguments: Any, **named: Any) -> None:
        """Raise NotImplementedError: there is no device to send rows to."""
        raise NotImplementedError("adjoint has one device, the CPU: iterate over the dataset, or give it to `Model.train`.")

    def sync_wait(self, condition_name: str, num_batch: int = 1, callback: Callable[[Any], Any] | None = None) -> Dataset:
        """Return the same rows, made `num_batch` at a time, so that operations after this one see what `sync_update` changes.

        callback  called with the data that `sync_update` is given

        Nothing blocks: rows are made when they are asked for; those that several workers of a `map` make ahead see a change later.
        RuntimeError if an earlier `sync_wait` has the name.
        """
        check_type(condition_name, (str,), "condition_name")
        check_int(num_batch, 1, INT32_MAX, "num_batch")
        if callback is not None and not callable(callback):
            raise TypeError(f"Argument callback with value {callback!r} is not a function, but got {type(callback)}.")
        return Dataset(Wait(self.node, condition_name, num_batch, callback))

    def sync_update(self, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
        """Call the callback of the `sync_wait` with this name, which is in this pipeline, with `data`.

        num_batch  has no effect, since nothing waits

        RuntimeError for an unknown name and a number that is not a positive int.
        """
        if num_batch is not None and (not isinstance(num_batch, int) or num_batch < 1):
            raise RuntimeError(f"Sync_update batch size can only be positive integer, got: {num_batch}.")
        for node in self.node.walk():
            if isinstance(node, Wait) and node.condition == condition_name:
                if node.callback is not None:
                    node.callback(data)
                return
        raise RuntimeError(f"Condition name not found: {condition_name!r}.")


class ConcatDataset(Dataset):
    """The rows of several pipelines one after the other."""

    def use_sampler(self, sampler: DistributedSampler | RandomSampler) -> None:
        """Choose among all rows: a DistributedSampler every n-th one, a RandomSampler all in random order.

        Errors: TypeError for another sampler; ValueError for one with `num_samples`; RuntimeError to shuffle the rows of a generator.
        """
        if not isinstance(sampler, (DistributedSampler, RandomSampler)):
            raise TypeError(f"The parameter {sampler} of concat must be DistributedSampler or RandomSampler!")
        if sampler.num_samples is not None:
            raise ValueError(f"The parameter num_samples of {type(sampler).__name__} is not support to be set!")
        if isinstance(sampler, RandomSampler):
            self.node = ShuffleRows(self.node, INT32_MAX)
        else:
            seed = sampler.seed if sampler.shuffle is Shuffle.GLOBAL else None
            self.node = Shards(self.node, sampler.num_shards, sampler.shard_id, seed)
        self._size = None


def zip_datasets(datasets: tuple[Dataset, ...]) -> Dataset:
    """Return the columns of several pipelines side by side, as long as the shortest."""
    check_type(datasets, (tuple,), "datasets")
    if len(datasets) <= 1:
        raise ValueError("Can't zip empty or just one dataset!")
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid dataset, expected Dataset object, but got {type(dataset)}!")
    return Dataset(Zip([dataset.node for dataset in datasets]))


def _workers(asked: int | None, processes: bool) -> int:
    """Return the number of workers of an operation: as requested, else for processes the number in the settings."""
    number = workers_of(asked)
    if number is None:
        return get_num_parallel_workers() if processes else 0
    return number


def _check_batch_size(size: Any) -> None:
    if callable(size):
        if len(inspect.signature(size).parameters) != 1:
            raise ValueError("callable batch_size should take one parameter (BatchInfo).")
    elif not isinstance(size, int):
        raise TypeError("batch_size should either be an int or a callable.")
    else:
        check_interval(int(size), 1, INT32_MAX, "batch_size")


def _check_pad_info(pad_info: Any) -> None:
    if pad_info is None:
        return
    check_type(pad_info, (dict,), "pad_info")
    for key, value in pad_info.items():
        check_type(key, (str,), "key in pad_info")
        if value is None:
            continue
        if len(value) != 2:
            raise ValueError("value of pad_info should be a tuple of size 2.")
        check_type(value, (tuple,), "value in pad_info")
        if value[0] is not None:
            check_type(value[0], (list,), "shape in pad_info")
            for size in value[0]:
                if size is not None:
                    check_int(size, 1, INT32_MAX, "dim of shape in pad_info")
        if value[1] is not None:
            check_type(value[1], (int, float, str, bytes), "pad_value")
