"""The bytes of a safetensors file, as MindSpore and other libraries write them.

    8 bytes   the length of the header, little-endian
    header    JSON: name -> {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, and "__metadata__": texts by name; then
              blanks up to a multiple of 8 bytes
    data      the elements of the tensors, row-major and little-endian; offsets count from here

The tensors with the widest elements come first, so that each is aligned.  The library `safetensors` is not used: it has no BFloat16
for NumPy, and the format is small.

https://huggingface.co/docs/safetensors
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.runtime.checkpoints.ckpt_format import SavedEntry

__all__ = ["decoded", "encoded"]

_KINDS = {
    "BOOL": "Bool", "U8": "UInt8", "I8": "Int8", "I16": "Int16", "U16": "UInt16", "F16": "Float16", "BF16": "BFloat16", "I32": "Int32",
    "U32": "UInt32", "F32": "Float32", "F64": "Float64", "I64": "Int64", "U64": "UInt64",
}
"""The format's names of dtypes with their long names; tensors are written in the reverse of this order."""
_DTYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_ORDER = {kind: place for place, kind in enumerate(reversed(_KINDS.values()))}
_METADATA, _FORMAT = "__metadata__", "format"


def encoded(entries: Iterable[SavedEntry]) -> Iterator[bytes]:
    """Yield the parts of a file, in order; texts go to the metadata.  ValueError for a name that the format reserves."""
    texts = {_FORMAT: "ms"}
    tensors: list[SavedEntry] = []
    for entry in entries:
        if entry.name == _METADATA or (entry.kind == "str" and entry.name == _FORMAT):
            raise ValueError(f"the name {entry.name!r} is one of the format's own")
        if entry.kind == "str":
            texts[entry.name] = entry.content.decode("utf-32-le")
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
    """Return the entries of a file; ValueError if it is no safetensors file or has a dtype that is not supported."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError("it ends too early, or does not begin with the length of its header")
    try:
        header = json.loads(data[8 : 8 + length])
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError("its header is no JSON") from None
    if not isinstance(header, dict):
        raise ValueError("its header holds no tensors by name")
    texts = header.pop(_METADATA, {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("its metadata are no texts by name")
    content = memoryview(data)[8 + length :]
    entries = [_entry(name, about, content) for name, about in header.items()]
    return entries + [SavedEntry(name, (0,), "str", text.encode("utf-32-le")) for name, text in texts.items() if name != _FORMAT]


def _entry(name: str, about: Any, content: memoryview) -> SavedEntry:
    match about:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(begin), int(end)]}:
            pass
        case _:
            raise ValueError(f"{name!r} has no dtype, shape and place")
    if dtype not in _KINDS:
        raise ValueError(f"{name!r} is of the type {dtype!r}, and known are {list(_KINDS)}")
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        raise ValueError(f"{name!r} has the shape {shape}")
    if not 0 <= begin <= end <= len(content):
        raise ValueError(f"it ends too early: {name!r} stands from byte {begin} to {end} of {len(content)}")
    return SavedEntry(name, tuple(shape), _KINDS[dtype], bytes(content[begin:end]))
