"""Datasets of random numbers, for trying out a network or a pipeline: FakeImageDataset and RandomDataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, check_columns, check_int, check_source, check_type
from adjoint.dataset.blocks import Block, stacked
from adjoint.dataset.mappable import MappableDataset
from adjoint.dataset.samplers import select_sampler
from adjoint.dataset.schema import Schema, column_dtype
from adjoint.dataset.sources import Samples
from adjoint.dataset.streams import fresh_seed, key_of

__all__ = ["FakeImageDataset", "RandomDataset"]

Array = np.ndarray[Any, Any]


def _generator(*words: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=key_of(*words)))


class _FakeImages(Samples):
    """Images that depend on their index and a seed alone."""

    columns = ("image", "label")

    def __init__(self, count: int, size: tuple[int, int, int], classes: int, seed: int):
        self._count, self._size, self._classes, self._seed = count, size, classes, seed

    def __len__(self) -> int:
        return self._count

    def block(self, indices: Array) -> Block:
        images = np.empty((len(indices), *self._size), np.uint8)
        for image, index in zip(images, indices.tolist()):
            image[...] = _generator(self._seed, index).integers(0, 256, self._size, np.uint8)
        return Block([images, self.labels()[indices].astype(np.uint32)], len(indices))

    def labels(self) -> Array:
        return _generator(self._seed).integers(0, self._classes, self._count)

    def classes(self) -> int:
        return self._classes


class FakeImageDataset(MappableDataset):
    """Images of noise with random labels: `image`, uint8 of a size, and `label`, uint32.

    num_images   how many there are
    image_size   height, width and channels
    num_classes  labels are below it
    base_seed    the same one gives the same images

    The other arguments are those of MnistDataset.

    Errors: ValueError for a size that is not three numbers above 0, and for other numbers below 1.
    """

    def __init__(self, num_images: int = 1000, image_size: Sequence[int] = (224, 224, 3), num_classes: int = 10, base_seed: int = 0,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        check_int(num_images, 1, INT32_MAX, "num_images")
        check_type(image_size, (list, tuple), "image_size")
        if len(image_size) != 3:
            raise ValueError(f"image_size should be a list or tuple of length 3, but got {len(image_size)}")
        for index, value in enumerate(image_size):
            check_int(value, 1, INT32_MAX, f"image_size[{index}]")
        check_int(num_classes, 1, INT32_MAX, "num_classes")
        check_type(base_seed, (int,), "base_seed")
        check_source(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        height, width, channels = image_size
        samples = _FakeImages(num_images, (height, width, channels), num_classes, base_seed)
        self._set_source(samples, select_sampler(num_samples, sampler, shuffle, num_shards, shard_id))


class _RandomRows(Samples):
    """Rows of a schema that depend on their index and a seed alone."""

    def __init__(self, count: int, schema: Schema, seed: int):
        self.columns = tuple(column["name"] for column in schema.columns)
        self._count, self._seed = count, seed
        self._kinds = [(schema.shape_of(column), column_dtype(column)) for column in schema.columns]

    def __len__(self) -> int:
        return self._count

    def block(self, indices: Array) -> Block:
        rows = [self._row(index) for index in indices.tolist()]
        return Block([stacked(list(column)) for column in zip(*rows)], len(rows))

    def _row(self, index: int) -> list[Array]:
        random = _generator(self._seed, index)
        return [_random_array(random, shape, dtype) for shape, dtype in self._kinds]


def _random_array(random: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return an array of random numbers; a size of -1 is drawn from 1 to 32."""
    sizes = [int(random.integers(1, 33)) if size < 0 else size for size in shape]
    if dtype.kind == "b":
        return random.integers(0, 2, sizes).astype(bool)
    if dtype.kind == "f":
        return np.asarray(random.random(sizes)).astype(dtype)
    ends = np.iinfo(dtype)
    return np.asarray(random.integers(ends.min, ends.max, sizes, dtype, endpoint=True))


class RandomDataset(MappableDataset):
    """Random rows: integers and bools are distributed evenly over all their values, floats from 0 to 1.

    total_rows    how many there are; default: the schema's number of rows, otherwise a random number
    schema        a Schema or its JSON file; default: some columns `c0`, `c1`, ... of random dtypes and shapes
    columns_list  which columns there are; default: all of the schema

    A row is the same in each epoch; the seed that is set decides which rows there are.

    Errors: TypeError for another kind of schema; RuntimeError for a column that the schema lacks, and for columns of strings.
    """

    def __init__(self, total_rows: int | None = None, schema: str | Schema | None = None, columns_list: list[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, cache: Any = None, shuffle: bool | None = None,
                 num_shards: int | None = None, shard_id: int | None = None):
        if total_rows is not None:
            check_int(total_rows, 0, INT32_MAX, "total_rows")
        if columns_list is not None:
            check_type(columns_list, (list,), "columns_list")
            check_columns(columns_list, "columns_list")
        check_source(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        seed = fresh_seed()
        random = _generator(seed)
        if schema is None:
            chosen = _random_schema(random, columns_list)
        else:
            chosen = _with_columns(schema if isinstance(schema, Schema) else Schema(schema), columns_list)
        rows = total_rows or chosen.num_rows or int(random.integers(1, 1000))
        self._set_source(_RandomRows(rows, chosen, seed), select_sampler(num_samples, None, shuffle, num_shards, shard_id))


def _with_columns(schema: Schema, columns: list[str] | None) -> Schema:
    """Return a schema with some of the columns of another one."""
    by_name = {column["name"]: column for column in schema.columns}
    chosen = Schema()
    chosen.num_rows = schema.num_rows
    for name in columns if columns is not None else list(by_name):
        if name not in by_name:
            raise RuntimeError(f"Invalid data, column {name!r} is not in the schema. There are: {', '.join(by_name)}.")
        if by_name[name]["type"] == "string":
            raise RuntimeError(f"Invalid data, RandomDataset makes numbers, but column {name!r} is of strings.")
        chosen.columns.append(by_name[name])
    return chosen


def _random_schema(random: np.random.Generator, names: list[str] | None) -> Schema:
    """Return a schema of some columns, of dtypes and shapes that are drawn."""
    schema = Schema()
    dtypes = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")
    for name in names or [f"c{number}" for number in range(int(random.integers(1, 5)))]:
        shape = random.integers(1, 5, int(random.integers(0, 4))).tolist()
        schema.add_column(name, dtypes[int(random.integers(0, len(dtypes)))], shape)
    return schema
