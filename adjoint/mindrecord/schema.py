"""The schema of MindRecord files: the fields of a row, their types and shapes; from Python values to stored ones and back."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.mindrecord.errors import MRMInvalidSchemaError
from adjoint.mindrecord.packing import integers, map_of, packed_integers, packed_map

__all__ = ["Schema"]

TYPES = ("int32", "int64", "float32", "float64", "string", "bytes")
_PYTHON = {"int32": int, "int64": int, "float32": float, "float64": float, "string": str, "bytes": bytes}
_NAME = re.compile(r"[0-9a-zA-Z_]+")
_LENGTH = struct.Struct(">Q")
_NOTHING = bytes(4)
"""The blob of a row that has no blob field."""


class Schema:
    """The fields of a row by name: numbers and strings are kept together in a map, bytes and arrays as blobs."""

    def __init__(self, fields: dict[str, dict[str, Any]], description: str = ""):
        self.fields = {name: fields[name] for name in sorted(fields)}
        self.description = description
        self.blobs = [name for name, field in self.fields.items() if field["type"] == "bytes" or "shape" in field]
        self.scalars = [name for name in self.fields if name not in self.blobs]

    @classmethod
    def checked(cls, content: Any, description: Any) -> Schema:
        """Return the schema that a user gave; raise MRMInvalidSchemaError for what is not one, TypeError for a description."""
        if not isinstance(content, dict):
            raise MRMInvalidSchemaError("Schema format is error. Detail: Schema content should be dict.")
        if not content:
            raise MRMInvalidSchemaError("Schema format is error. Detail: Schema content is empty.")
        if description is not None and not isinstance(description, str):
            raise TypeError(f"For 'add_schema', the argument 'desc' must be a str, but got {type(description).__name__}.")
        for name, field in content.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise _invalid(name, "should be composed of '0-9' or 'a-z' or 'A-Z' or '_'.")
            if not isinstance(field, dict) or "type" not in field:
                raise _invalid(name, "should be dict.")
            if not set(field) <= {"type", "shape"}:
                raise MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{field}' contains illegal attributes.")
            if field["type"] not in TYPES or ("shape" in field and field["type"] in ("string", "bytes")):
                raise _invalid(name, f"contain illegal attribute '{field['type']}'.")
            if "shape" in field and not _is_shape(field["shape"]):
                raise _invalid(name, f"contain illegal attribute '{field['shape']}'.")
        return cls({name: dict(sorted(field.items())) for name, field in content.items()}, description or "")

    @classmethod
    def read(cls, written: dict[str, Any]) -> Schema:
        return cls(written["schema"], written.get("desc", ""))

    def written(self) -> dict[str, Any]:
        return {"blob_fields": self.blobs, "desc": self.description, "schema": self.fields}

    def fault(self, row: dict[str, Any]) -> str | None:
        """Return why a row does not fit; None for one that does.  Other fields of the row are left out."""
        for name, field in self.fields.items():
            if name not in row:
                return f"the field {name!r} is missing"
            value = row[name]
            fits = _array_fits(value, field) if "shape" in field else _scalar_fits(value, field["type"])
            if not fits:
                expected = f"an array of {field['type']} of shape {field['shape']}" if "shape" in field else field["type"]
                got = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else f"{value!r:.60} of {type(value).__name__}"
                return f"the field {name!r} must be {expected}, but got {got}"
        if len(self.blobs) == 1 and memoryview(row[self.blobs[0]]).nbytes == 0:
            return f"the field {self.blobs[0]!r} is empty, but a row must have some bytes"
        return None

    def packed(self, row: dict[str, Any]) -> tuple[bytes, bytes, int]:
        """Return the map and the blob of a row that fits, and how many bytes short integers save."""
        scalars = {name: _scalar(row[name]) for name in self.scalars}
        parts, saved = [], 0
        for name in self.blobs:
            value = row[name]
            if isinstance(value, np.ndarray):
                raw = packed_integers(value) if value.dtype.kind == "i" else np.ascontiguousarray(value).tobytes()
                saved += value.nbytes - len(raw)
            else:
                raw = value
            parts.append(raw)
        if len(parts) == 1:
            blob = parts[0]
        else:
            blob = b"".join(_LENGTH.pack(len(part)) + part for part in parts) or _NOTHING
        return packed_map(scalars or {"id": 0}), blob, saved

    def unpacked(self, raw: bytes, blob: bytes, columns: Sequence[str]) -> dict[str, Any]:
        """Return the row with these fields: ints, floats, strings, bytes, and arrays of the field's dtype and shape."""
        found = map_of(raw) if any(name in self.scalars for name in columns) else {}
        parts = self._parts(blob)
        return {name: found[name] if name in self.scalars else self._unpacked(name, parts[name]) for name in columns}

    def _parts(self, blob: bytes) -> dict[str, bytes]:
        if len(self.blobs) < 2:
            return dict.fromkeys(self.blobs, blob)
        parts, place = {}, 0
        for name in self.blobs:
            begin = place + _LENGTH.size
            place = begin + _LENGTH.unpack_from(blob, place)[0]
            parts[name] = blob[begin:place]
        return parts

    def _unpacked(self, name: str, data: bytes) -> Any:
        field = self.fields[name]
        if field["type"] == "bytes":
            return data
        dtype = np.dtype(field["type"])
        array = integers(data, dtype) if dtype.kind == "i" else np.frombuffer(data, dtype).copy()
        return array.reshape(field["shape"])


def _invalid(name: Any, fault: str) -> MRMInvalidSchemaError:
    return MRMInvalidSchemaError(f"Schema format is error. Detail: Field '{name}' {fault}")


def _is_shape(shape: Any) -> bool:
    if not isinstance(shape, list) or not shape or shape.count(-1) > 1:
        return False
    return all(type(size) is int and (size > 0 or size == -1) for size in shape)


def _scalar_fits(value: Any, kind: str) -> bool:
    if kind in ("int32", "int64"):
        bound = 1 << (31 if kind == "int32" else 63)
        return (type(value) is int or (isinstance(value, np.integer) and value.dtype == kind)) and -bound <= int(value) < bound
    if kind in ("float32", "float64"):
        return type(value) is float or (isinstance(value, np.floating) and value.dtype == kind)
    return isinstance(value, _PYTHON[kind])


def _array_fits(value: Any, field: dict[str, Any]) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != field["type"]:
        return False
    known = int(np.prod([size for size in field["shape"] if size != -1], dtype=np.int64))
    return value.size % known == 0 if -1 in field["shape"] else value.size == known


def _scalar(value: Any) -> int | float | str:
    return value if type(value) in (int, float, str) else str(value) if isinstance(value, str) else value.item()
