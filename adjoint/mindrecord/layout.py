"""The layout of MindRecord files, version 3.0.

A file is a header and pages of one size.  The header is the length of a JSON text, 8 bytes with the lowest first, then the text.  A page
holds blobs or maps: for each row its length, 8 bytes, and its bytes.  The rows of one page of blobs are a group, and the maps of a group
are in one page, which may hold several groups.  Page n begins behind the header at n times the size of a page.

Beside the file `name` there is `name.db`, an SQLite table with the place of each row, and with the fields by which rows can be searched.
A data set may be spread over several files, the shards, whose headers name all of them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from dataclasses import field
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.mindrecord.schema import Schema

__all__ = ["HEADER_SIZES", "PAGE_SIZES", "ROW", "Header", "Places", "create_index", "places_of", "shards_of"]

VERSION = "3.0"
HEADER_SIZES = 1 << 14, 1 << 24, 1 << 27
"""Smallest, usual and largest size."""
PAGE_SIZES = 1 << 15, 1 << 25, 1 << 28
ROW = struct.Struct("<Q")
_PLACE = ("ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END", "ROW_GROUP_ID", "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB",
          "PAGE_OFFSET_BLOB_END")
_SQL = {"int32": "INTEGER", "int64": "INTEGER", "float32": "NUMERIC", "float64": "NUMERIC", "string": "TEXT"}


@dataclass
class Header:
    """The header of a file.  index: the fields by which rows can be searched; saved: bytes that short integers save."""

    schema: Schema
    shards: list[str]
    shard: int
    index: list[str]
    header_size: int = HEADER_SIZES[1]
    page_size: int = PAGE_SIZES[1]
    saved: int = 0
    pages: list[dict[str, Any]] = field(default_factory=list)

    def position(self, page: int) -> int:
        return self.header_size + page * self.page_size

    def written(self) -> bytes:
        """Return the bytes at the beginning of the file; raise RuntimeError if they do not fit."""
        content = {
            "header_size": self.header_size, "index_fields": [{"index_field": name, "schema_id": 0} for name in self.index] or None,
            "page": self.pages, "page_size": self.page_size, "compression_size": self.saved, "schema": [self.schema.written()],
            "shard_addresses": self.shards, "shard_id": self.shard, "statistics": None, "version": VERSION,
        }
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
        if ROW.size + len(text) > self.header_size:
            raise RuntimeError(f"The header takes {ROW.size + len(text)} bytes, but its size is {self.header_size}: use 'set_header_size'.")
        return ROW.pack(len(text)) + text

    @classmethod
    def read(cls, path: str) -> Header:
        """Return the header of a file; raise RuntimeError if there is none, or it is not one."""
        if not os.path.isfile(path):
            raise RuntimeError(f"The input: {path} is not exists.")
        try:
            with open(path, "rb") as file:
                (length,) = ROW.unpack(file.read(ROW.size))
                if length > HEADER_SIZES[2]:
                    raise ValueError(f"its header would take {length} bytes")
                content = json.loads(file.read(length))
            return cls(Schema.read(content["schema"][0]), list(content["shard_addresses"]), content["shard_id"],
                       [named["index_field"] for named in content["index_fields"] or ()], content["header_size"], content["page_size"],
                       content.get("compression_size", 0), content["page"])
        except (ValueError, KeyError, TypeError, IndexError, struct.error) as error:
            raise RuntimeError(f"Invalid file, {path} is not a MindRecord file: {error}.") from None


@dataclass(frozen=True)
class Places:
    """Where the rows of a file are: from where to where their maps and blobs go in the file, each int64[rows, 2]."""

    raw: np.ndarray[Any, Any]
    blob: np.ndarray[Any, Any]

    def __len__(self) -> int:
        return len(self.raw)


def shards_of(path: str) -> list[str]:
    """Return the paths of all files of the data set to which a file belongs."""
    return [os.path.join(os.path.dirname(path), name) for name in Header.read(path).shards]


def create_index(path: str, header: Header) -> sqlite3.Connection:
    """Make the table beside a file, and return the connection to it."""
    columns = [f"{name} INT NOT NULL" for name in _PLACE]
    for number, name in enumerate(header.index):
        columns += [f"INC_{number} INT", f"{name}_0 {_SQL[header.schema.fields[name]['type']]}"]
    keys = ["ROW_ID", *(f"INC_{number}" for number in range(len(header.index)))]
    connection = sqlite3.connect(path + ".db")
    connection.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
    connection.execute("INSERT INTO SHARD_NAME VALUES(?)", (os.path.basename(path),))
    connection.execute(f"CREATE TABLE INDEXES({', '.join(columns)}, PRIMARY KEY({', '.join(keys)}))")
    return connection


def places_of(path: str, header: Header) -> Places:
    """Return the places of the rows of a file; raise RuntimeError if the table beside it is missing or damaged."""
    if not os.path.isfile(path + ".db"):
        raise RuntimeError(f"The input: {path}.db is not exists.")
    connection = sqlite3.connect(f"file:{os.path.abspath(path)}.db?mode=ro", uri=True)
    try:
        rows = connection.execute(f"SELECT {', '.join(_PLACE)} FROM INDEXES ORDER BY ROW_ID").fetchall()
    except sqlite3.Error as error:
        raise RuntimeError(f"Invalid file, {path}.db is not the index of a MindRecord file: {error}.") from None
    finally:
        connection.close()
    table = np.array(rows, np.int64).reshape(-1, len(_PLACE))

    def within(page: int, begin: int) -> np.ndarray[Any, Any]:
        bounds = table[:, begin:begin + 2] + (header.header_size + table[:, page] * header.page_size)[:, None]
        return bounds + np.array([ROW.size, 0])

    return Places(within(1, 2), within(5, 6))
