"""Reading MindRecord files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.mindrecord.errors import ParamTypeError, ParamValueError
from adjoint.mindrecord.layout import Header, places_of, shards_of

__all__ = ["FileReader", "Records"]


class Records:
    """The rows of MindRecord files, by index: those of one file after those of another.

    files  a file, which stands for all shards of its data set, or a list of files
    Raise RuntimeError for a file that is missing or damaged, and for files with different schemas.
    """

    def __init__(self, files: str | Sequence[str]):
        self.paths = shards_of(files) if isinstance(files, str) else list(files)
        headers = [Header.read(path) for path in self.paths]
        self.schema = headers[0].schema
        for path, header in zip(self.paths, headers):
            if header.schema.fields != self.schema.fields:
                raise RuntimeError(f"Invalid file, {path} has another schema than {self.paths[0]}.")
        self._places = [places_of(path, header) for path, header in zip(self.paths, headers)]
        self.bounds = np.concatenate([[0], np.cumsum([len(places) for places in self._places], dtype=np.int64)])
        """Of each file the number of its first row, and the number of all rows."""

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def rows(self, indices: Sequence[int] | np.ndarray[Any, Any], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows with these indices; raise RuntimeError for one that is damaged."""
        chosen = np.asarray(indices, np.int64)
        files = np.searchsorted(self.bounds, chosen, "right") - 1
        found: list[dict[str, Any]] = [{}] * len(chosen)
        for number in np.unique(files).tolist():
            places = self._places[number]
            with open(self.paths[number], "rb") as file:
                for at in np.flatnonzero(files == number).tolist():
                    row = int(chosen[at] - self.bounds[number])
                    raw, blob = (_read(file, *part[row].tolist()) for part in (places.raw, places.blob))
                    try:
                        found[at] = self.schema.unpacked(raw, blob, columns)
                    except (ValueError, KeyError) as error:
                        raise RuntimeError(f"Invalid file, {self.paths[number]} is damaged at row {row}: {error}.") from None
        return found

    def checked(self, columns: Sequence[str] | None) -> list[str]:
        """Return the columns, all where none are given; raise RuntimeError for one that is not a field."""
        for name in columns or ():
            if name not in self.schema.fields:
                raise RuntimeError(f"Invalid data, column name: {name} can not found in schema. There are: "
                                   f"{', '.join(self.schema.fields)}.")
        return list(columns) if columns else [*self.schema.scalars, *self.schema.blobs]


def _read(file: Any, begin: int, end: int) -> bytes:
    file.seek(begin)
    return file.read(end - begin)


class FileReader:
    """Reads rows in their order: dicts of ints, floats, strings, bytes and arrays.

    file_name     a file, which stands for all shards of its data set, or a list of files
    num_consumer  accepted: rows are read on demand
    columns       the fields that are read; all by default

    Errors: ParamValueError and ParamTypeError for arguments; RuntimeError for a file that is missing or damaged, or a missing column.
    """

    def __init__(self, file_name: str | list[str], num_consumer: int = 4, columns: list[str] | None = None, operator: Any = None):
        if columns is not None and not isinstance(columns, list):
            raise ParamTypeError("Invalid parameter type. 'columns' expect list type.")
        if type(num_consumer) is not int or num_consumer < 1:
            raise ParamValueError("Invalid parameter value. Parameter num_consumer must be a positive int.")
        if operator is not None:
            raise NotImplementedError("FileReader reads all rows: leave 'operator' out.")
        if not isinstance(file_name, (str, list)) or not file_name:
            raise ParamTypeError("Invalid parameter type. 'file_name' expect str or list of str type.")
        self._records: Records | None = Records(file_name)
        self._columns = self._records.checked(columns)

    def get_next(self) -> Iterator[dict[str, Any]]:
        """Yield the rows."""
        for index in range(self.len()):
            yield self._open().rows([index], self._columns)[0]

    def schema(self) -> dict[str, dict[str, Any]]:
        """Return the type, and for arrays the shape, of each field."""
        return self._open().schema.fields

    def len(self) -> int:
        """Return the number of rows."""
        return len(self._open())

    def close(self) -> None:
        """Read no more: later calls raise RuntimeError."""
        self._records = None

    def _open(self) -> Records:
        if self._records is None:
            raise RuntimeError("The reader was closed.")
        return self._records
