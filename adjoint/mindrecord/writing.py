"""Writing MindRecord files."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

from adjoint.foundation.diagnostics import warn
from adjoint.mindrecord.errors import MRMDefineIndexError, MRMGetMetaError, ParamTypeError, ParamValueError
from adjoint.mindrecord.layout import HEADER_SIZES, PAGE_SIZES, ROW, Header, create_index, shards_of
from adjoint.mindrecord.schema import Schema

__all__ = ["FileWriter"]

_FORBIDDEN = set("\\:*?\"<>|`&;'")
_SHOWN_FAULTS = 3
_NO_SCHEMA = "Invalid data, schema is not found in header, please use 'add_schema' to add a schema for new mindrecord files."


class _Shard:
    """One file that is being written: pages that are full are on disk, the last blobs and maps in memory."""

    def __init__(self, path: str, header: Header, append: bool):
        self.path, self.header = path, header
        self.file = open(path, "r+b" if append else "w+b")  # noqa: SIM115 - open until `finish`
        self.index = sqlite3.connect(path + ".db") if append else create_index(path, header)
        of_blobs = [page for page in header.pages if page["page_type"] == "BLOB_DATA"]
        self.rows = max((page["end_row_id"] for page in of_blobs), default=0)
        self.groups = len(of_blobs)
        self.raw_pages = len(header.pages) - self.groups
        self.maps = bytearray()
        self.held: list[tuple[int, int]] = []
        """Groups that are in `maps`: their numbers and where they begin."""
        self._begin_group()

    def _begin_group(self) -> None:
        self.blobs, self.group_maps = bytearray(), bytearray()
        self.places: list[tuple[int, int, int, int, dict[str, Any]]] = []

    def add(self, raw: bytes, blob: bytes, row: dict[str, Any]) -> None:
        """Add a row; the group ends where its blobs or maps would not fit on a page."""
        size = self.header.page_size
        for part, what in ((blob, "blob"), (raw, "raw")):
            if ROW.size + len(part) > size:
                raise RuntimeError(f"Page size: {size} is too small to save a {what} row of {len(part)} bytes. Use 'set_page_size', of at "
                                   f"most {PAGE_SIZES[2]} bytes.")
        if len(self.blobs) + ROW.size + len(blob) > size or len(self.group_maps) + ROW.size + len(raw) > size:
            self.end_group()
        begin = len(self.group_maps), len(self.blobs)
        self.group_maps += ROW.pack(len(raw)) + raw
        self.blobs += ROW.pack(len(blob)) + blob
        self.places.append((begin[0], len(self.group_maps), begin[1], len(self.blobs), row))

    def end_group(self) -> None:
        """Write the page of blobs, and put the maps of its rows on the page of maps."""
        if not self.places:
            return
        if len(self.maps) + len(self.group_maps) > self.header.page_size:
            self._end_maps()
        blob_page = self._page("BLOB_DATA", self.groups, self.blobs, [(0, 0)], self.rows, self.rows + len(self.places))
        raw_page, begin = self._raw_page(), len(self.maps)
        self.held.append((self.groups, begin))
        self.maps += self.group_maps
        fields = self.header.index
        self.index.executemany(
            f"INSERT INTO INDEXES VALUES({', '.join('?' * (8 + 2 * len(fields)))})",
            [(self.rows + number, raw_page, begin + raw[0], begin + raw[1], self.groups, blob_page, *blob,
              *(part for name in fields for part in (0, row[name])))
             for number, (raw, blob, row) in enumerate((place[:2], place[2:4], place[4]) for place in self.places)])
        self.rows += len(self.places)
        self.groups += 1
        self._begin_group()

    def _raw_page(self) -> int:
        """Return the number of the page to which the maps go; it is kept free from the first group on."""
        if not self.held:
            self.reserved = len(self.header.pages)
            self.header.pages.append({})
        return self.reserved

    def _end_maps(self) -> None:
        if self.held:
            self._page("RAW_DATA", self.raw_pages, self.maps, self.held, 0, 0, self.reserved)
            self.raw_pages += 1
            self.maps, self.held = bytearray(), []

    def _page(self, kind: str, number: int, data: bytearray, groups: list[tuple[int, int]], start: int, end: int,
              place: int | None = None) -> int:
        """Write a page, and return its number."""
        if place is None:
            place = len(self.header.pages)
            self.header.pages.append({})
        self.header.pages[place] = {
            "end_row_id": end, "page_id": place, "page_size": len(data), "page_type": kind, "page_type_id": number,
            "row_group_ids": [{"id": group, "offset": offset} for group, offset in groups], "shard_id": self.header.shard,
            "start_row_id": start,
        }
        self.file.seek(self.header.position(place))
        self.file.write(data)
        return place

    def finish(self) -> None:
        self.end_group()
        self._end_maps()
        if not self.header.pages:
            self.file.truncate(self.header.header_size)
        text = self.header.written()
        self.file.seek(0)
        self.file.write(text)
        self.file.close()
        self.index.commit()
        self.index.close()


class FileWriter:
    """Writes rows, dicts by field, to MindRecord files that MindSpore reads too.

    file_name  the file; with several shards, their names are this and 0, 1, ..
    shard_num  how many files, 1 to 1000
    overwrite  whether files that exist are replaced

    `add_schema`, then `write_raw_data` any number of times, then `commit`.
    Errors: ParamValueError for arguments; RuntimeError when rows are written to files that exist, without `overwrite`.
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False):
        if not isinstance(file_name, str):
            raise ParamValueError(f"Invalid parameter value. File path: {file_name} is not string.")
        if not os.path.basename(file_name) or _FORBIDDEN & set(os.path.basename(file_name)):
            raise ParamValueError("Invalid parameter value. File name should not contains \\/:*?\"<>|`&;'")
        if type(shard_num) is not int:
            raise ParamValueError("Invalid parameter value. Parameter shard_num's type is not int.")
        if not 1 <= shard_num <= 1000:
            raise ParamValueError(f"Invalid parameter value. Parameter shard_num's value: {shard_num} should between 1 and 1000.")
        if not isinstance(overwrite, bool):
            raise ParamValueError("Invalid parameter value. Parameter overwrite's type is not bool.")
        self._paths = [file_name] if shard_num == 1 else [f"{file_name}{shard}" for shard in range(shard_num)]
        self._overwrite = overwrite
        self._header_size, self._page_size = HEADER_SIZES[1], PAGE_SIZES[1]
        self._schema: Schema | None = None
        self._index: list[str] | None = None
        self._shards: list[_Shard] | None = None

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """Return a writer that adds rows to a data set; the file is any of its shards.  Raise RuntimeError for what is not one."""
        paths = shards_of(file_name)
        writer = cls(file_name)
        headers = [Header.read(path) for path in paths]
        writer._schema, writer._index = headers[0].schema, headers[0].index
        writer._shards = [_Shard(path, header, append=True) for path, header in zip(paths, headers)]
        return writer

    def add_schema(self, content: dict[str, Any], desc: str | None = None) -> None:
        """Set the fields: for each {"type": t}, or {"type": t, "shape": s} of an array, where one size may be -1.

        Types are int32, int64, float32, float64, string and bytes; the last two have no shape.  Raise MRMInvalidSchemaError for others.
        """
        self._schema = Schema.checked(content, desc)

    def add_index(self, index_fields: list[str]) -> None:
        """Choose the fields by which rows can be searched: numbers and strings; by default all of them."""
        if not isinstance(index_fields, list) or not index_fields:
            raise ParamTypeError("Invalid parameter type. 'index_fields' expect list type.")
        if self._schema is None:
            raise MRMGetMetaError("Failed to get meta info.")
        for name in index_fields:
            if name not in self._schema.fields:
                raise RuntimeError(f"Invalid input, 'index_fields': {name} can not found in schema: {self._schema.fields}.")
            if name not in self._schema.scalars:
                raise MRMDefineIndexError(f"Failed to define index field. Detail: Failed to set field {name} since it's not primitive "
                                          "type.")
        self._index = list(dict.fromkeys(index_fields))

    def set_header_size(self, header_size: int) -> None:
        """Set the size of the header in bytes: 16 KiB to 128 MiB, 16 MiB by default."""
        self._header_size = _size(header_size, HEADER_SIZES, "header")

    def set_page_size(self, page_size: int) -> None:
        """Set the size of a page in bytes: 32 KiB to 256 MiB, 32 MiB by default.  No row may be larger."""
        self._page_size = _size(page_size, PAGE_SIZES, "page")

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> None:
        """Write rows, spread over the shards.  Rows that do not fit the schema are left out with a warning.

        Raise ParamTypeError for what is not a list of dicts, RuntimeError if no row fits, or the files exist already.
        """
        if not isinstance(raw_data, list):
            raise ParamTypeError("Invalid parameter type. 'raw_data' expect list type.")
        if not all(isinstance(row, dict) for row in raw_data):
            raise ParamTypeError("Invalid parameter type. 'raw_data item' expect dict type.")
        if self._schema is None:
            raise RuntimeError(_NO_SCHEMA)
        faults = [self._schema.fault(row) for row in raw_data]
        found = [f"row {number}: {fault}" for number, fault in enumerate(faults) if fault is not None]
        rows = [row for row, fault in zip(raw_data, faults) if fault is None]
        if not rows:
            raise RuntimeError(f"There is no valid data which can be written by 'write_raw_data' to mindrecord file. "
                               f"{'; '.join(found[:_SHOWN_FAULTS]) or 'The list is empty'}.")
        if found:
            warn(f"For 'write_raw_data', {len(found)} of {len(raw_data)} rows are left out. {'; '.join(found[:_SHOWN_FAULTS])}.")
        shards = self._open(self._schema)
        for number, shard in enumerate(shards):
            part = rows[len(rows) * number // len(shards):len(rows) * (number + 1) // len(shards)]
            for row in part:
                raw, blob, saved = self._schema.packed(row)
                shard.add(raw, blob, row)
                shard.header.saved += saved

    def commit(self) -> None:
        """Write what is left, the headers and the indices; without rows, files without rows."""
        if self._schema is None:
            raise RuntimeError(_NO_SCHEMA)
        for shard in self._open(self._schema):
            shard.finish()
        self._shards = None

    def _open(self, schema: Schema) -> list[_Shard]:
        if self._shards is None:
            files = [name for path in self._paths for name in (path, path + ".db")]
            for name in files:
                if os.path.exists(name) and not self._overwrite:
                    raise RuntimeError(f"Invalid file, mindrecord files already exist. Please check file path: {os.path.abspath(name)}.")
            for name in files:
                if os.path.exists(name):
                    os.remove(name)
            index = schema.scalars if self._index is None else self._index
            names = [os.path.basename(path) for path in self._paths]
            self._shards = [_Shard(path, Header(schema, names, number, index, self._header_size, self._page_size), append=False)
                            for number, path in enumerate(self._paths)]
        return self._shards


def _size(value: Any, sizes: tuple[int, int, int], what: str) -> int:
    if type(value) is not int:
        raise ParamTypeError(f"Invalid parameter type. '{what}_size' expect int type.")
    if not sizes[0] <= value <= sizes[2]:
        raise RuntimeError(f"Invalid data, {what} size: {value} should be in range [{sizes[0]} bytes, {sizes[2]} bytes].")
    return value
