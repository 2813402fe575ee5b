"""Small pipelines and files, and short ways to read them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

import adjoint.dataset as ds


class Samples:
    """`n` samples of two floats and an int, all equal to the index."""

    def __init__(self, n: int = 5):
        self.n = n

    def __getitem__(self, index: int) -> Any:
        return np.full((2,), index, np.float32), index

    def __len__(self) -> int:
        return self.n


def numbers(n: int = 5, **named: Any) -> ds.GeneratorDataset:
    """Return a pipeline of `Samples` with the columns a and b, by default in order."""
    if not {"shuffle", "sampler", "batch_sampler"} & set(named):
        named["shuffle"] = False
    return ds.GeneratorDataset(Samples(n), ["a", "b"], **named)


def rows(dataset: Any, **named: Any) -> list[Any]:
    """Return the rows of an epoch as tuples of lists; for a single column, the values themselves."""
    found = [tuple(np.asarray(value).tolist() for value in row) for row in dataset.create_tuple_iterator(None, 1, True, **named)]
    return [row[0] if len(row) == 1 else row for row in found]


def values(dataset: Any, column: str = "b") -> list[Any]:
    """Return one column of an epoch."""
    return rows(dataset.project(column))


def write_idx(path: Path, array: np.ndarray[Any, Any]) -> None:
    head = struct.pack(f">{1 + array.ndim}i", 2051 if array.ndim == 3 else 2049, *array.shape)
    path.write_bytes(head + array.astype(np.uint8).tobytes())
