"""Files that MindSpore's FileWriter writes, packed, and the rows that its FileReader reads in them."""

# pyright: reportMissingImports=false

import base64
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from mindspore.mindrecord import FileReader, FileWriter

SCHEMAS: dict[str, dict[str, Any]] = {
    "kinds": {"n": {"type": "int32"}, "big": {"type": "int64"}, "f": {"type": "float32"}, "d": {"type": "float64"}, "s": {"type": "string"},
              "b": {"type": "bytes"}, "a": {"type": "float32", "shape": [2, -1]}, "c": {"type": "int64", "shape": [-1]}},
    "scalars": {"n": {"type": "int32"}},
    "pages": {"b": {"type": "bytes"}, "n": {"type": "int32"}},
}
ROWS: dict[str, list[dict[str, Any]]] = {
    "kinds": [{"n": -7 * row, "big": (-2)**(13 * row), "f": 1.5, "d": 0.1, "s": "é" * 20 * row, "b": b"\0a\0",
               "a": np.ones((2, row), np.float32), "c": np.array([1, -129, 2**31, 2**40, -(2**15), row][row:], np.int64)}
              for row in range(5)],
    "scalars": [{"n": n} for n in (3, 200, 70000)],
    "pages": [{"b": bytes([row]) * 9000, "n": row} for row in range(8)],
}
SHARDS = {"kinds": 1, "scalars": 1, "pages": 2}


def shown(value: Any) -> str:
    """The value as Python shows it; of a long one the beginning and a checksum."""
    text = repr(value)
    return text if len(text) < 200 else f"{text[:20]}.. {zlib.crc32(text.encode())}"


def record() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, schema in SCHEMAS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / name)
            writer = FileWriter(path, SHARDS[name])
            writer.set_header_size(1 << 14)
            writer.set_page_size(1 << 15)
            writer.add_schema(schema, "a description")
            writer.write_raw_data([dict(row) for row in ROWS[name]])
            writer.commit()
            written = sorted(Path(folder).iterdir())
            files = {file.name: base64.b64encode(zlib.compress(file.read_bytes(), 9)).decode() for file in written}
            first = path if SHARDS[name] == 1 else path + "0"
            rows = [{key: shown(value) for key, value in row.items()} for row in FileReader(first).get_next()]
            found[name] = {"files": files, "rows": rows}
    return {"files": found}
