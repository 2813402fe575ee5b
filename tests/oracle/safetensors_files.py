"""Files like those of safetensors, right and wrong, by name: made the same each time."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from typing import Any

DATA = bytes(range(64))
JUNK = b'0123456789"{}[],: ae'


def written(header: Any, content: bytes = b"", length: int | None = None) -> bytes:
    """A file of a header, an object or its bytes, and the data; `length` is what it says of the header's length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + content


def entry(dtype: Any = "F32", shape: Any = (2,), places: Any = (0, 8), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": places, **more}


def files() -> dict[str, bytes]:
    """All files by name; `bool ...` and `twice ...` hold what the library accepts and the format forbids."""
    found: dict[str, bytes] = {}
    for part in (_lengths(), _texts(), _metadata(), _entries(), _dtypes(), _layouts(), _twice(), _changed()):
        for name, data in part:
            assert name not in found, name
            found[name] = data
    return found


def _lengths() -> Iterator[tuple[str, bytes]]:
    good = written({"a": entry()}, DATA[:8])
    size = struct.unpack("<Q", good[:8])[0]
    for length in (0, 1, 5, size, 10**6, 100_000_001, 2**63, 2**64 - 1):
        yield f"length {length}", written({"a": entry()}, DATA[:8], length)
    for more in (-3, -2, -1, 1, 2, 7, 8):
        yield f"length off by {more}", struct.pack("<Q", size + more) + good[8:]
    for kept in (0, 1, 7, 8, 9, 20, len(good) - 1):
        yield f"cut at {kept}", good[:kept]
    for count in (0, 1, 7, 9, 16, 64):
        yield f"{count} bytes of data", written({"a": entry()}, DATA[:count])


def _texts() -> Iterator[tuple[str, bytes]]:
    text = json.dumps({"a": entry()})
    for name, around in {"blanks": b"%s   ", "lines": b"%s\n\n\t", "blank before": b" %s", "line before": b"\n%s", "zeros": b"%s\0\0",
                         "two objects": b"%s{}", "mark": b"\xef\xbb\xbf%s", "comment": b"%s //x"}.items():
        yield name, written(around % text.encode(), DATA[:8])
    for coding in ("utf-16", "utf-16-le", "utf-32", "utf-32-le"):
        yield coding, written(text.encode(coding), DATA[:8])
    about = json.dumps(entry()).encode()
    for name in (b'""', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xed\xa0\x80"', b'"\xff"', b'"a\n"', b'"a\0"', b'"\\u0000"', b"a", b"'a'",
                 b"3"):
        yield f"name {name!r}", written(b"{%s:%s}" % (name, about), DATA[:8])
    for whole in (b"", b"{", b"}", b"{}", b"null", b"[]", b"[1]", b'"x"', b"3", b"true", b"\xff\xff", b'{"a":NaN}', b"[" * 3000,
                  b'{"a":' * 3000, b'{"a":%s,}' % about):
        yield f"header {whole[:12]!r} of {len(whole)}", written(whole, b"" if whole == b"{}" else DATA[:8])
    for number in (b"02", b"+2", b"2e0", b"2.0", b"9" * 500, b"NaN", b"Infinity", b"-2", b"0x2"):
        yield f"size {number[:8]!r}", written(about.replace(b"[2]", b"[%s]" % number).join([b'{"a":', b"}"]), DATA[:8])


def _metadata() -> Iterator[tuple[str, bytes]]:
    for given in ({}, {"x": "y"}, {"format": "pt"}, None, 3, "x", [], True, {"x": 1}, {"x": None}, {"x": {}}, {"x": ["y"]}, {"x": True},
                  {"x": "a", "y": 2}):
        yield f"metadata {given}", written({"__metadata__": given, "a": entry()}, DATA[:8])
        yield f"metadata {given} alone", written({"__metadata__": given})


def _entries() -> Iterator[tuple[str, bytes]]:
    for given in (3, None, "x", True, {}, 1.5):
        yield f"entry {given}", written({"a": given}, DATA[:8])
    for field in ("dtype", "shape", "data_offsets"):
        yield f"without {field}", written({"a": {key: value for key, value in entry().items() if key != field}}, DATA[:8])
        for given in (None, 3, -1, "x", "", [], {}, True, 1.5, [None], ["2"], [True], [True, 2], [2, True], [2.0], [1, 2.0], [-2], [-1, -2],
                      [[2]], [1e3], [2**63], [2**64], [2**70], [2, 1], [1, 1, 2], [0, 8, 9], [8], [8, 0], [0.0, 8.0], [False, 8], [-1, 7],
                      ["0", "8"], [0, None], [0, 2**64], {"0": 8}):
            yield f"{field} {given!r}", written({"a": {**entry(), field: given}}, DATA[:8])
    yield "another field", written({"a": entry(more=3)}, DATA[:8])
    for shape in ((2**32, 2**32), (2**63, 2), (2**40, 0), (0, 3, 2), (1, 1, 1, 2)):
        empty = 0 in shape
        yield f"shape {shape}", written({"a": entry(shape=shape, places=(0, 0 if empty else 8))}, b"" if empty else DATA[:8])


def _dtypes() -> Iterator[tuple[str, bytes]]:
    for dtype in ("BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "BF16", "F32", "F64", "f32", "X", "", "F32 "):
        for shape, count in (((2,), 8), ((8,), 8), ((4,), 8), ((1,), 8), ((), 1), ((), 8), ((0,), 0), ((0,), 4), ((2, 0), 0), ((0,), 8)):
            data = b"\1\0\0\1\1\0\0\1"[:count]
            yield f"{dtype} {shape} in {count} bytes", written({"a": entry(dtype, shape, (0, count))}, data)
    for byte in (0, 1, 2, 3, 127, 128, 255):
        yield f"bool {byte}", written({"a": entry("BOOL", (3,), (0, 3))}, bytes([0, byte, 1]))


def _layouts() -> Iterator[tuple[str, bytes]]:
    """Two and three tensors anywhere in the data."""
    spans = ((0, 0), (0, 8), (4, 12), (8, 8), (8, 16), (9, 9), (12, 20), (16, 16), (16, 24))
    for first in spans:
        for second in spans:
            for count in (8, 16, 17, 24):
                header = {name: entry(shape=((end - begin) // 4,), places=(begin, end))
                          for name, (begin, end) in (("b", first), ("a", second))}
                yield f"{first} and {second} of {count}", written(header, DATA[:count])
    draw = random.Random(7)
    for number in range(120):
        bounds = sorted(draw.sample(range(0, 60, 4), 3))
        places = [(0, bounds[0]), (bounds[0], bounds[1]), (bounds[1], bounds[2])]
        if draw.random() < 0.7:
            moved, by = draw.randrange(3), draw.choice((-4, 4))
            places[moved] = (max(places[moved][0] + by * draw.randrange(2), 0), max(places[moved][1] + by, 0))
        draw.shuffle(places)
        header = {f"t{i}": entry("U8", (max(end - begin, 0),), (begin, end)) for i, (begin, end) in enumerate(places)}
        yield f"three {number}", written(header, DATA[: bounds[2]])


def _twice() -> Iterator[tuple[str, bytes]]:
    one, other = (json.dumps(entry(places=places)).encode() for places in ((0, 8), (8, 16)))
    yield "twice the same tensor", written(b'{"a":%s,"a":%s}' % (one, one), DATA[:8])
    yield "two tensors of one name", written(b'{"a":%s,"a":%s}' % (one, other), DATA[:16])
    yield "two tensors of one name, written otherwise", written(b'{"a":%s,"\\u0061":%s}' % (one, other), DATA[:16])
    yield "two metadata", written(b'{"__metadata__":{"x":"1"},"__metadata__":{"y":"2"},"a":%s}' % one, DATA[:8])
    yield "twice a name in the metadata", written(b'{"__metadata__":{"x":"1","x":"2"},"a":%s}' % one, DATA[:8])
    for field in (b'"dtype":"F32"', b'"shape":[2]', b'"data_offsets":[0,8]'):
        yield f"two fields {field!r}", written(b'{"a":%s,%s}}' % (one[:-1], field), DATA[:8])


def _changed() -> Iterator[tuple[str, bytes]]:
    """Right files in which a few bytes are changed; most have a header of the length that they say."""
    draw = random.Random(11)
    three = {"a": entry(), "b": entry("BOOL", (4,), (8, 12)), "c": entry("U8", (2, 2), (12, 16)), "__metadata__": {"q": "r"}}
    right = [written(three, b"\1\0\0\1" * 4),
             written({"a": entry()}, DATA[:8]), written({"w": entry("F16", (3,), (0, 6)), "v": entry("U16", (), (6, 8))}, DATA[:8])]
    for number in range(500):
        data = bytearray(draw.choice(right))
        for _ in range(draw.randrange(1, 3)):
            kind, place = draw.randrange(4), draw.randrange(8, len(data))
            if kind == 0:
                data[place] = draw.choice(JUNK)
            elif kind == 1:
                del data[place]
            elif kind == 2:
                data.insert(place, draw.choice(JUNK))
            else:
                data[place] = draw.randrange(256)
        end = bytes(data).rfind(b"}") + 1
        if draw.random() < 0.8 and end > 8:
            data[:8] = struct.pack("<Q", end - 8)
        yield f"changed {number}", bytes(data)
