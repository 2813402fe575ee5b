"""The bytes of values in MindRecord files: MessagePack for numbers and strings, and the short form of arrays of integers.

MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md) is needed for one map of strings to integers, floats and strings.

An array of integers is stored as its length, four bytes, the highest first; then two bits for each number, the first in the highest bits,
which say that it takes 1, 2, 4 or 8 bytes; then the numbers, each as short as it can be, the lowest byte first.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

__all__ = ["integers", "map_of", "packed_integers", "packed_map"]

Value = int | float | str

_SHORTEST = ((1 << 7, np.dtype("<i1")), (1 << 15, np.dtype("<i2")), (1 << 31, np.dtype("<i4")), (1 << 63, np.dtype("<i8")))
_FIXED = {0xca: ">f", 0xcb: ">d", 0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q"}
_TEXT = {0xd9: ">B", 0xda: ">H", 0xdb: ">I"}


def packed_map(values: dict[str, Value]) -> bytes:
    """Return a map of at most 65535 fields, in the order of their names."""
    head = bytes([0x80 | len(values)]) if len(values) < 16 else struct.pack(">BH", 0xde, len(values))
    return head + b"".join(_packed(name) + _packed(values[name]) for name in sorted(values))


def _packed(value: Value) -> bytes:
    if isinstance(value, str):
        text = value.encode()
        if len(text) < 32:
            return bytes([0xa0 | len(text)]) + text
        kind = 0xd9 if len(text) < 1 << 8 else 0xda if len(text) < 1 << 16 else 0xdb
        return struct.pack(f">B{_TEXT[kind][1]}", kind, len(text)) + text
    if isinstance(value, float):
        short = struct.unpack(">f", struct.pack(">f", value))[0] if abs(value) <= np.finfo(np.float32).max else None
        return struct.pack(">Bf", 0xca, value) if short == value else struct.pack(">Bd", 0xcb, value)
    if -32 <= value < 128:
        return struct.pack(">b" if value < 0 else ">B", value)
    kinds = (0xcc, 0xcd, 0xce, 0xcf) if value >= 0 else (0xd0, 0xd1, 0xd2, 0xd3)
    bits = value.bit_length() if value >= 0 else (~value).bit_length() + 1
    kind = kinds[0 if bits <= 8 else 1 if bits <= 16 else 2 if bits <= 32 else 3]
    return struct.pack(f">B{_FIXED[kind][1]}", kind, value)


def map_of(data: bytes) -> dict[str, Any]:
    """Return the map that `packed_map` packed; raise ValueError for other bytes."""
    try:
        return _map_of(data)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"a row is damaged: {error}") from None


def _map_of(data: bytes) -> dict[str, Any]:
    if data[0] == 0xde:
        (length,), place = struct.unpack_from(">H", data, 1), 3
    elif data[0] & 0xf0 == 0x80:
        length, place = data[0] & 0x0f, 1
    else:
        raise ValueError(f"a row is damaged: it begins with {data[0]:#x}, which is no map")
    found: dict[str, Any] = {}
    for _ in range(length):
        name, place = _value(data, place)
        found[name], place = _value(data, place)
    return found


def _value(data: bytes, place: int) -> tuple[Any, int]:
    """Return a value, and the place behind it."""
    kind = data[place]
    place += 1
    if kind < 0x80:
        return kind, place
    if kind >= 0xe0:
        return kind - 0x100, place
    if kind in _FIXED:
        return struct.unpack_from(_FIXED[kind], data, place)[0], place + struct.calcsize(_FIXED[kind])
    if kind in (0xc2, 0xc3):
        return kind == 0xc3, place
    if kind & 0xe0 == 0xa0:
        length = kind & 0x1f
    elif kind in _TEXT:
        length, place = struct.unpack_from(_TEXT[kind], data, place)[0], place + struct.calcsize(_TEXT[kind])
    else:
        raise ValueError(f"a row is damaged: {kind:#x} begins neither a number nor a string")
    return data[place:place + length].decode(), place + length


def packed_integers(array: np.ndarray[Any, Any]) -> bytes:
    """Return the short form of integers of up to 64 bits."""
    flat = array.reshape(-1).astype(np.int64)
    kinds = np.zeros(-(-len(flat) // 4) * 4, np.uint8)
    for kind, (bound, _) in enumerate(_SHORTEST[:-1]):
        kinds[:len(flat)][(flat < -bound) | (flat >= bound)] = kind + 1
    fours = kinds.reshape(-1, 4) @ np.array([64, 16, 4, 1], np.uint8)
    used = kinds[:len(flat)]
    ends = np.cumsum(1 << used.astype(np.int64))
    numbers = np.empty(ends[-1] if len(ends) else 0, np.uint8)
    for kind, (_, dtype) in enumerate(_SHORTEST):
        chosen = used == kind
        numbers[_bytes_of(ends[chosen], 1 << kind)] = flat[chosen].astype(dtype).view(np.uint8).reshape(-1, 1 << kind)
    return struct.pack(">I", len(flat)) + fours.astype(np.uint8).tobytes() + numbers.tobytes()


def _bytes_of(ends: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Return the places of the bytes of numbers of one size that end at these places, int64[numbers, size]."""
    return ends[:, None] + np.arange(-size, 0)


def integers(data: bytes, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the numbers of a short form; raise ValueError where bytes are missing or left over."""
    if len(data) < 4:
        raise ValueError("an array is damaged: its length is missing")
    (length,) = struct.unpack_from(">I", data)
    begin = 4 + -(-length // 4)
    fours = np.frombuffer(data[4:begin], np.uint8)
    kinds = ((fours[:, None] >> np.array([6, 4, 2, 0], np.uint8)) & 3).reshape(-1)[:length]
    sizes = 1 << kinds.astype(np.int64)
    if len(kinds) < length or begin + sizes.sum() != len(data):
        raise ValueError(f"an array is damaged: {length} numbers do not fill {len(data)} bytes")
    ends, stored = np.cumsum(sizes), np.frombuffer(data[begin:], np.uint8)
    found = np.empty(length, dtype)
    for kind, (_, stored_dtype) in enumerate(_SHORTEST):
        chosen = kinds == kind
        found[chosen] = stored[_bytes_of(ends[chosen], 1 << kind)].view(stored_dtype)[:, 0]
    return found
