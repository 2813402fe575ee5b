"""Checks of arguments, with MindSpore's exception types and texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation.diagnostics import warn

__all__ = [
    "INT32_MAX", "UINT32_MAX", "as_list", "check_columns", "check_directory", "check_int", "check_interval", "check_number", "check_pair",
    "check_sharding", "check_source", "check_type", "check_usage", "check_word", "existing_file", "workers_of",
]

INT32_MAX = 2**31 - 1
UINT32_MAX = 2**32 - 1
INT64_MAX = 2**63 - 1
LARGEST_FLOAT_INTEGER = 2**24
"""MindSpore's bound for floats that stand for pixels, angles and factors."""


def check_type(value: Any, types: tuple[type, ...], name: str) -> None:
    """Raise TypeError for a value of another type; a bool counts as an int only where bool is listed."""
    if not isinstance(value, types) or (isinstance(value, bool) and int in types and bool not in types):
        shown = '""' if repr(value) == repr("") else value
        raise TypeError(f"Argument {name} with value {shown} is not of type {list(types)}, but got {type(value)}.")


def check_interval(value: Any, low: Any, high: Any, name: str, *, above_low: bool = False, below_high: bool = False) -> None:
    """Raise ValueError for a number outside of [low, high]; `above_low` and `below_high` leave the bound itself out."""
    if value < low or value > high or (above_low and value == low) or (below_high and value == high) or value != value:
        left, right = "(" if above_low else "[", ")" if below_high else "]"
        raise ValueError(f"Input {name} is not within the required interval of {left}{low}, {high}{right}.")


def check_int(value: Any, low: int, high: int, name: str) -> None:
    """Raise TypeError for no int, ValueError for one outside of [low, high]."""
    check_type(value, (int,), name)
    check_interval(value, low, high, name)


def check_number(value: Any, low: float, high: float, name: str, *, above_low: bool = False) -> None:
    """Raise TypeError for what is neither int nor float, ValueError for one outside of [low, high]."""
    check_type(value, (int, float), name)
    check_interval(value, low, high, name, above_low=above_low)


def check_pair(value: Any, low: float, high: float, name: str) -> None:
    """Return a sequence of two ascending numbers, both in [low, high]."""
    check_type(value, (list, tuple), name)
    if len(value) != 2:
        raise TypeError(f"{name} should be a list/tuple of length 2.")
    for index, number in enumerate(value):
        check_number(number, low, high, f"{name}[{index}]")
    if value[0] > value[1]:
        raise ValueError(f"{name} should be in (min,max) format. Got (max,min).")


def check_word(value: Any, words: Sequence[str], name: str) -> None:
    """Raise ValueError for a string that is none of `words`."""
    check_type(value, (str,), name)
    if value not in words:
        raise ValueError(f"Input {name} is not within the valid set of {list(words)}.")


def check_columns(columns: Any, name: str) -> None:
    """Return a column's name or a list of different ones, none of them empty."""
    check_type(columns, (list, str), name)
    if isinstance(columns, str):
        if not columns:
            raise ValueError(f"{name} should not be an empty str.")
        return
    if not columns:
        raise ValueError(f"{name} should not be empty.")
    for index, column in enumerate(columns):
        if not column:
            raise ValueError(f"{name}[{index}] should not be empty.")
        check_type(column, (str,), f"{name}[{index}]")
    if len(set(columns)) != len(columns):
        raise ValueError("Every column name should not be same with others in column_names.")


def check_directory(path: Any) -> None:
    check_type(path, (str,), "dataset_dir")
    if not os.path.isdir(path) or not os.access(path, os.R_OK):
        raise ValueError(f"The folder {path} does not exist or is not a directory or permission denied!")


def existing_file(path: str) -> str:
    """Return the path of a file of a dataset; raise RuntimeError if it does not exist."""
    if not os.path.isfile(path):
        raise RuntimeError(f"Invalid file, {path} does not exist.")
    return path


def check_sharding(num_shards: Any, shard_id: Any) -> None:
    """`num_shards` and `shard_id` come together; the id counts from 0."""
    if num_shards is not None:
        check_int(num_shards, 1, INT32_MAX, "num_shards")
        if shard_id is None:
            raise RuntimeError("num_shards is specified and currently requires shard_id as well.")
        check_int(shard_id, 0, num_shards - 1, "shard_id")
    elif shard_id is not None:
        raise RuntimeError("shard_id is specified but num_shards is not.")


def check_usage(usage: Any, allowed: Sequence[str]) -> None:
    """Check which part of a dataset is wanted: one of these words, or None."""
    if usage is not None:
        check_word(usage, allowed, "usage")


def check_source(num_samples: Any, num_parallel_workers: Any, shuffle: Any, sampler: Any, num_shards: Any, shard_id: Any,
                 cache: Any = None, modes: tuple[type, ...] = (bool,)) -> None:
    """The arguments that every source has."""
    if num_samples is not None:
        check_type(num_samples, (int,), "num_samples")
        if not 0 <= num_samples <= INT64_MAX:
            raise ValueError(f"num_samples exceeds the boundary between {0} and {INT64_MAX}(INT64_MAX)!")
    workers_of(num_parallel_workers)
    if shuffle is not None:
        check_type(shuffle, modes, "shuffle")
    if sampler is not None:
        if shuffle is not None:
            raise RuntimeError("sampler and shuffle cannot be specified at the same time.")
        if num_shards is not None or shard_id is not None:
            raise RuntimeError("sampler and sharding cannot be specified at the same time.")
        if num_samples is not None:
            raise RuntimeError("sampler and num_samples cannot be specified at the same time.")
    check_sharding(num_shards, shard_id)
    if cache is not None:
        raise RuntimeError("There is no cache server: leave 'cache' out, or compute the rows once and give them to a `NumpySlicesDataset`.")


def workers_of(num_parallel_workers: Any) -> int | None:
    """Return the number of workers: as requested, but at most one for each processor; None if nothing was requested."""
    if num_parallel_workers is None:
        return None
    check_type(num_parallel_workers, (int,), "num_parallel_workers")
    most = os.cpu_count() or 1
    if num_parallel_workers < 1:
        raise ValueError(f"num_parallel_workers exceeds the boundary between 1 and {most}!")
    if num_parallel_workers > most:
        warn(f"num_parallel_workers is {num_parallel_workers}, but this machine has {most} processors: {most} workers are used.")
    return min(num_parallel_workers, most)


def as_list(value: Any) -> list[Any]:
    """Return None as an empty list, a list or tuple as its elements, anything else as a list of one."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name and location, as `scale (train.py:12)`; the class of another callable."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name
