"""Writing the rows of a pipeline to MindRecord files: `Dataset.save`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.mindrecord.writing import FileWriter

__all__ = ["save"]

_AT_ONCE = 256
"""How many rows are in memory at a time."""
_STORED = {"bool": "int32", "int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32", "int32": "int32", "uint32": "int64",
           "int64": "int64", "uint64": "int64", "float16": "float32", "float32": "float32", "float64": "float64"}
"""For each dtype the type in which MindSpore's `save` stores it."""


def save(rows: Iterable[dict[str, Any]], file_name: str, num_files: int) -> None:
    """Write rows, arrays by column, to files; the first row gives the schema, where the first axis of an array may change its length."""
    writer = FileWriter(file_name, num_files)
    held: list[dict[str, Any]] = []
    schema: dict[str, dict[str, Any]] = {}
    for row in rows:
        if not schema:
            schema = {name: _field(name, value) for name, value in row.items()}
            writer.add_schema(schema, "mindrecord")
        held.append({name: _stored(value, schema[name]["type"]) for name, value in row.items()})
        if len(held) == _AT_ONCE:
            writer.write_raw_data(held)
            held = []
    if not schema:
        raise RuntimeError("For 'save', the dataset has no rows: there is nothing from which to make a schema.")
    if held:
        writer.write_raw_data(held)
    writer.commit()


def _field(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        raise RuntimeError(f"For 'save', the column {name!r} must hold arrays, but got {type(value).__name__}.")
    if value.dtype.kind in "US":
        return {"type": "string" if value.dtype.kind == "U" else "bytes"}
    kind = _STORED[value.dtype.name]
    return {"type": kind, "shape": [-1, *value.shape[1:]]} if value.ndim else {"type": kind}


def _stored(value: Any, kind: str) -> Any:
    if kind in ("string", "bytes"):
        return str(value) if value.dtype.kind == "U" else value.tobytes()
    return value.astype(kind) if value.ndim else value.astype(kind)[()]
