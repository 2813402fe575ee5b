"""The bytes of a checkpoint, as MindSpore writes them: a Protocol Buffers message, read and written without that library.

    Checkpoint   1: Value, repeated
    Value        1: its name                   2: Tensor
    Tensor       1: a dimension, repeated      2: the name of its dtype, "str" for a text      3: its elements, row-major

The numbers are those of the message's fields.  A field is a varint, `number << 3 | kind`, and its content: a varint (kind 0), or a length
and that many bytes (kind 2).  A varint is an integer with seven bits in each byte, the lowest first; all bytes but the last have the eighth
bit set.  A large tensor may be split into several consecutive Values of one name.  A text is UTF-32.  After the message may follow
`crc_num` and its CRC-32 in ten bytes.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from adjoint.foundation.dataclass import dataclass

__all__ = ["SavedEntry", "decoded", "elements", "encoded"]


@dataclass(frozen=True)
class SavedEntry:
    """One tensor or text of a file, with its name: what both formats read and write.

    shape    its dimensions
    kind     the long name of a dtype, such as `Float32`; "str" for a text
    content  its elements in row-major order, little-endian
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    content: bytes


_MARK, _CHECK = b"crc_num", 10
"""The marker before the checksum, and the number of bytes of the checksum."""
_PIECE = 2**29
"""How many bytes of a tensor go into one Value of the file at most, since a message must be smaller than 2 GiB."""


def encoded(entries: Iterable[SavedEntry], check: bool) -> Iterator[bytes]:
    """Yield the bytes of a checkpoint file in parts, to be written one after the other.

    check  True for a checksum at the end
    """
    checksum = 0
    for entry in entries:
        for begin in range(0, max(len(entry.content), 1), _PIECE):
            part = _value(replace(entry, content=entry.content[begin : begin + _PIECE]))
            checksum = zlib.crc32(part, checksum)
            yield part
    if check:
        yield _MARK + checksum.to_bytes(_CHECK, "big")


def _value(entry: SavedEntry) -> bytes:
    dims = b"".join(b"\x08" + _varint(d) for d in entry.shape)
    tensor = dims + _field(2, entry.kind.encode()) + _field(3, entry.content)
    return _field(1, _field(1, entry.name.encode()) + _field(2, tensor))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decoded(data: bytes) -> list[SavedEntry]:
    """Return the tensors and texts in the bytes of a checkpoint file.

    ValueError if they are no checkpoint, or if the checksum is wrong.
    """
    view = memoryview(data)
    end = len(view) - len(_MARK) - _CHECK
    if end >= 0 and view[end : end + len(_MARK)] == _MARK:
        if zlib.crc32(view[:end]) != int.from_bytes(view[end + len(_MARK) :], "big"):
            raise ValueError("its checksum does not fit")
        view = view[:end]
    entries: list[SavedEntry] = []
    for number, content in _fields(view):
        if number != 1 or isinstance(content, int):
            raise ValueError("it is no list of tensors")
        entry = _entry(content)
        if entries and entries[-1].name == entry.name:
            entry = replace(entry, content=entries.pop().content + entry.content)
        entries.append(entry)
    return entries


def _entry(view: memoryview) -> SavedEntry:
    kind = ""
    shape: list[int] = []
    content = b""
    for number, part in _fields(_only(dict(_fields(view)).get(2))):
        match number, part:
            case 1, int():
                shape.append(part)
            case 1, memoryview():
                shape.extend(_varints(part))
            case 2, memoryview():
                kind = str(part, "utf-8")
            case 3, memoryview():
                content = bytes(part)
    name = str(_only(dict(_fields(view)).get(1)), "utf-8")
    return SavedEntry(name, tuple(shape), kind, content)


def _only(content: int | memoryview | None) -> memoryview:
    if not isinstance(content, memoryview):
        raise ValueError("a tensor has no name or no content")
    return content


def _fields(view: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message: the number of the field, and its content, an int or bytes."""
    at = 0
    while at < len(view):
        key, at = _read(view, at)
        value, at = _read(view, at)
        if key & 7 == 0:
            yield key >> 3, value
        elif key & 7 == 2 and value <= len(view) - at:
            yield key >> 3, view[at : at + value]
            at += value
        else:
            raise ValueError("it ends too early, or holds what checkpoints do not")


def _varints(view: memoryview) -> Iterator[int]:
    at = 0
    while at < len(view):
        value, at = _read(view, at)
        yield value


def _read(view: memoryview, at: int) -> tuple[int, int]:
    """Read the varint (an integer of variable length) at a position; return it, and the position after it."""
    value = 0
    for place in range(10):
        if at >= len(view):
            break
        byte = view[at]
        at += 1
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at
    raise ValueError("it ends too early, or holds what checkpoints do not")


def elements(entry: SavedEntry, size: int) -> tuple[int, ...]:
    """Return the shape of an entry's tensor, given the bytes of one element; ValueError if its content has another length."""
    shape = () if entry.shape == (0,) and len(entry.content) == size else entry.shape
    if math.prod(shape) * size != len(entry.content):
        raise ValueError(f"{entry.name!r} of shape {entry.shape} has {len(entry.content)} bytes")
    return shape
