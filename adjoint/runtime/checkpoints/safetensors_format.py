"""The bytes of a safetensors file, as MindSpore and other libraries write them.

    8 bytes   the length of the header, little-endian
    header    JSON: name -> {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, and "__metadata__": texts by name; then
              blanks up to a multiple of 8 bytes
    data      the elements of the tensors, row-major and little-endian; offsets count from here

The tensors cover the data without overlaps, holes and bytes after them, and no name occurs twice.  Other files are refused, since readers
may disagree about their meaning.

The tensors with the widest elements come first, so that each is aligned.  The library `safetensors` is not used: it has no BFloat16
for NumPy, and the format is small.

https://huggingface.co/docs/safetensors
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.ir.types import DTYPES
from adjoint.runtime.checkpoints.ckpt_format import SavedEntry

__all__ = ["decoded", "encoded"]

_KINDS = {
    "BOOL": "Bool", "U8": "UInt8", "I8": "Int8", "I16": "Int16", "U16": "UInt16", "F16": "Float16", "BF16": "BFloat16", "I32": "Int32",
    "U32": "UInt32", "F32": "Float32", "C64": "Complex64", "F64": "Float64", "I64": "Int64", "U64": "UInt64",
}
"""The format's names of dtypes, each with the long name; tensors are written in the reverse of this order."""
_DTYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_SIZES = {dtype.long_name: dtype.size for dtype in DTYPES.values()}
_ORDER = {kind: place for place, kind in enumerate(reversed(_KINDS.values()))}
_METADATA, _FORMAT = "__metadata__", "format"


def encoded(entries: Iterable[SavedEntry]) -> Iterator[bytes]:
    """Yield the bytes of a safetensors file in parts, to be written one after the other.  Texts go to its metadata.

    ValueError for a name that the format reserves, or a dtype that it lacks.
    """
    texts = {_FORMAT: "ms"}
    tensors: list[SavedEntry] = []
    for entry in entries:
        if entry.name == _METADATA or (entry.kind == "str" and entry.name == _FORMAT):
            raise ValueError(f"the name {entry.name!r} is one of the format's own")
        if entry.kind == "str":
            texts[entry.name] = entry.content.decode("utf-32-le")
        elif entry.kind not in _DTYPES:
            raise ValueError(f"{entry.name!r} is of the dtype {entry.kind}, which the format lacks: `format=\"ckpt\"` has it")
        else:
            tensors.append(entry)
    tensors.sort(key=lambda entry: (_ORDER[entry.kind], entry.name))
    header: dict[str, Any] = {_METADATA: texts}
    end = 0
    for entry in tensors:
        begin, end = end, end + len(entry.content)
        header[entry.name] = {"dtype": _DTYPES[entry.kind], "shape": list(entry.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for entry in tensors:
        yield entry.content


def decoded(data: bytes) -> list[SavedEntry]:
    """Return the tensors and texts in the bytes of a safetensors file.

    ValueError if they break a rule of the format, or have a dtype that is not supported.
    """
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError("it ends too early, or does not begin with the length of its header")
    try:
        # Decoded first: `json` would accept UTF-16 and UTF-32 as well.
        header = json.loads(data[8 : 8 + length].decode(), object_pairs_hook=_object, parse_constant=_no_number)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError("its header is no JSON in UTF-8") from None
    if not isinstance(header, dict):
        raise ValueError("its header holds no tensors by name")
    texts = header.pop(_METADATA, None)
    if texts is None:
        texts = {}
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("its metadata are no texts by name")
    content = memoryview(data)[8 + length :]
    places = {name: _place(name, about, len(content)) for name, about in header.items()}
    _check_covered(places, len(content))
    entries = [SavedEntry(name, tuple(header[name]["shape"]), _KINDS[header[name]["dtype"]], bytes(content[begin:end]))
               for name, (begin, end) in places.items()]
    return entries + [SavedEntry(name, (0,), "str", text.encode("utf-32-le")) for name, text in texts.items() if name != _FORMAT]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of an object in the header's JSON; ValueError for a name that occurs twice, or is not valid text."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"its header has {name!r} twice")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"its header has the name {name!r}, which is no text") from None
        found[name] = value
    return found


def _no_number(word: str) -> None:
    raise ValueError(f"its header is no JSON: it has {word}")


def _place(name: str, about: Any, size: int) -> tuple[int, int]:
    """Return where a tensor begins in the data, and where it ends.

    name   the tensor's name
    about  what the header says of it
    size   the number of bytes of the data

    ValueError if its dtype, shape or offsets are invalid.
    """
    match about:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [begin, end]} if type(begin) is int and type(end) is int:
            pass
        case _:
            raise ValueError(f"{name!r} has no dtype, shape and place")
    if dtype not in _KINDS:
        raise ValueError(f"{name!r} is of the type {dtype!r}, and known are {list(_KINDS)}")
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise ValueError(f"{name!r} has the shape {shape}")
    if not 0 <= begin <= end <= size:
        raise ValueError(f"it ends too early: {name!r} stands from byte {begin} to {end} of {size}")
    if math.prod(shape) * _SIZES[_KINDS[dtype]] != end - begin:
        raise ValueError(f"{name!r} of shape {tuple(shape)} and type {dtype} has {end - begin} bytes")
    return begin, end


def _check_covered(places: dict[str, tuple[int, int]], size: int) -> None:
    """Raise ValueError unless the tensors cover the data, each byte exactly once."""
    covered = 0
    for name, (begin, end) in sorted(places.items(), key=lambda place: place[1]):
        if begin != covered:
            what = "overlaps another tensor" if begin < covered else "leaves a hole before it"
            raise ValueError(f"{name!r}, from byte {begin} to {end}, {what}: it must begin at byte {covered}")
        covered = end
    if covered < size:
        raise ValueError(f"it has {size - covered} bytes after the last tensor")
