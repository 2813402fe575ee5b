"""Encode Python values as bytes that carry no code: what processes send each other besides tensors.

None, bool, int, float, str, bytes, list, tuple, dict and NumPy arrays of numbers, nested in any way.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

__all__ = ["bytes_of", "object_of"]

Array = np.ndarray[Any, Any]


def bytes_of(value: Any) -> bytes:
    """Return a value encoded as bytes; raise TypeError for a value of another type."""
    return json.dumps(_written(value)).encode()


def object_of(given: bytes) -> Any:
    """Return the value that was encoded as these bytes."""
    return _read(json.loads(given))


def _written(value: Any) -> Any:
    """Return the value in JSON's types: what JSON lacks becomes a dict of one item that names the type."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_written(item) for item in value]
    if type(value) is tuple:
        return {"tuple": [_written(item) for item in value]}
    if type(value) is dict:
        return {"dict": [[_written(key), _written(item)] for key, item in value.items()]}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return {"array": [value.dtype.str, list(value.shape), value.tobytes().hex()]}
    raise TypeError(f"Processes send each other None, bool, int, float, str, bytes, list, tuple, dict and NumPy arrays of numbers, but got "
                    f"a {type(value).__qualname__}. Send a Tensor by a collective, or make one of these types of it.")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "tuple":
            return tuple(_read(item) for item in content)
        case "dict":
            return {_read(key): _read(item) for key, item in content}
        case "bytes":
            return bytes.fromhex(content)
        case _:
            dtype, shape, data = content
            return np.frombuffer(bytes.fromhex(data), np.dtype(dtype)).reshape(shape).copy()
