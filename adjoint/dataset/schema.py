"""Schema: names, dtypes and shapes of columns, as they are written in a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_int, check_type
from adjoint.ir.types import DType

__all__ = ["Schema", "column_dtype"]

_TYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "string",
)
_UNKNOWN_SHAPE = -1
"""A size in a shape that may differ between rows."""


def _type_name(value: Any) -> str:
    """Return the name of a column's dtype; raise TypeError for one that a column cannot have."""
    name = str(np.dtype(value.array)) if isinstance(value, DType) else value
    if not isinstance(name, str) or name not in _TYPES:
        raise TypeError(f"Unknown column type: {value!r}. There are {', '.join(_TYPES)}.")
    return name


class Schema:
    """The columns of rows: names, dtypes and shapes.

    schema_file  a JSON file, as `to_json` writes it; default: no columns

    Errors: ValueError for a file that does not exist; RuntimeError for one that is not a schema.
    """

    def __init__(self, schema_file: str | None = None):
        self.columns: list[dict[str, Any]] = []
        self.dataset_type = ""
        self.num_rows = 0
        if schema_file is None:
            return
        if not isinstance(schema_file, str):
            raise TypeError(f"path: {schema_file} is not string")
        if not os.path.isfile(schema_file):
            raise ValueError(f"The file {schema_file} does not exist or permission denied!")
        with open(schema_file, encoding="utf-8") as file:
            try:
                content = json.load(file)
            except ValueError as error:
                raise RuntimeError(f"Invalid file, {schema_file} is not JSON: {error}.") from None
        self.from_json(content)

    def add_column(self, name: str, de_type: Any, shape: Sequence[int] | None = None) -> None:
        """Add a column.

        de_type  a dtype of this package or its name, or "string"
        shape    its sizes, -1 for one that differs between rows; default: a vector of any length

        Errors: TypeError for an unknown dtype, and for a shape that is not a list of ints.
        """
        check_type(name, (str,), "name")
        column: dict[str, Any] = {"name": name, "rank": 1}
        if shape is not None:
            check_type(shape, (list,), "shape")
            for index, size in enumerate(shape):
                check_type(size, (int,), f"shape[{index}]")
            column |= {"rank": len(shape), "shape": list(shape)}
        self.columns.append(column | {"type": _type_name(de_type)})

    def parse_columns(self, columns: Any) -> None:
        """Add columns: a list of dicts with `name`, `type` and maybe `shape`, or a dict of such by name; without shape it is a scalar.

        Errors: RuntimeError for anything else; TypeError for an unknown dtype.
        """
        if isinstance(columns, dict):
            columns = [{"name": name, **column} if isinstance(column, dict) else column for name, column in columns.items()]
        if not isinstance(columns, list):
            raise RuntimeError(f"Syntax error. columns must be dict or list, columns contain name, type, shape(optional), but got "
                               f"{type(columns)}.")
        for column in columns:
            if not isinstance(column, dict) or "name" not in column or "type" not in column:
                raise RuntimeError(f"Syntax error. A column needs a name and a type, but got {column!r}.")
            self.add_column(column["name"], column["type"], column.get("shape", []))

    def from_json(self, json_obj: Any) -> None:
        """Add the columns of a dict with `columns` and maybe `datasetType` and `numRows`; raise RuntimeError for anything else."""
        if not isinstance(json_obj, dict) or "columns" not in json_obj:
            raise RuntimeError("Syntax error. A schema is a dict with 'columns', and maybe 'datasetType' and 'numRows', but got "
                               f"{json_obj!r}.")
        for key, value in json_obj.items():
            if key == "datasetType":
                self.dataset_type = value
            elif key == "numRows":
                if not isinstance(value, int) or value <= 0:
                    raise RuntimeError(f"Syntax error. numRows must be greater than 0, but got {value!r}.")
                self.num_rows = value
            elif key != "columns":
                raise RuntimeError(f"Syntax error. Unknown field {key!r}: there are 'columns', 'datasetType' and 'numRows'.")
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """Return the schema as JSON."""
        parts: dict[str, Any] = {"columns": self.columns}
        if self.dataset_type:
            parts["datasetType"] = self.dataset_type
        if self.num_rows:
            parts["numRows"] = self.num_rows
        return json.dumps(parts, indent=2, sort_keys=True)

    __str__ = to_json

    def shape_of(self, column: dict[str, Any]) -> list[int]:
        """Return the shape of a column, -1 for a size that is not given."""
        shape = column.get("shape", [_UNKNOWN_SHAPE])
        for size in shape:
            check_int(size, _UNKNOWN_SHAPE, 2**31 - 1, f"shape of {column['name']}")
        return shape


def column_dtype(column: dict[str, Any]) -> np.dtype[Any]:
    """Return the dtype of a column's arrays."""
    return np.dtype("U" if column["type"] == "string" else column["type"])
