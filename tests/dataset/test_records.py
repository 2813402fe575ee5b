"""MindRecord files: those of MindSpore are read, those written here have its layout, and errors name the file or the field."""

from __future__ import annotations

import base64
import json
import math
import pickle
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint.dataset as ds
from adjoint.mindrecord import Cifar10ToMR, CsvToMR, FileReader, FileWriter, ImageNetToMR, MnistToMR
from adjoint.mindrecord.errors import MRMInvalidSchemaError, ParamTypeError, ParamValueError
from adjoint.mindrecord.packing import integers, map_of, packed_integers, packed_map
from dataset.small import write_idx

RECORDED = json.loads((Path(__file__).parents[1] / "oracle" / "mindrecord.json").read_text(encoding="utf-8"))["files"]
SCHEMA = {"n": {"type": "int32"}, "f": {"type": "float32"}, "s": {"type": "string"}, "b": {"type": "bytes"},
          "a": {"type": "float64", "shape": [2, -1]}, "c": {"type": "int64", "shape": [-1]}}


def row(number: int) -> dict[str, Any]:
    return {"n": number, "f": number / 4, "s": "é" * number, "b": bytes(number), "a": np.full((2, number), 0.1),
            "c": np.arange(number, dtype=np.int64) << 9 * number}


def writer(path: Path, shards: int = 1, **schema: Any) -> FileWriter:
    """A writer of small files."""
    made = FileWriter(str(path), shards)
    made.set_header_size(1 << 14)
    made.set_page_size(1 << 15)
    made.add_schema(schema or SCHEMA)
    return made


def read(path: Path, **given: Any) -> list[dict[str, Any]]:
    return list(FileReader(str(path), **given).get_next())


def shown(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """As `record_mindrecord.py` shows values."""
    texts = [{name: repr(value) for name, value in found.items()} for found in rows]
    return [{name: text if len(text) < 200 else f"{text[:20]}.. {zlib.crc32(text.encode())}" for name, text in found.items()}
            for found in texts]


@pytest.mark.parametrize("name", RECORDED)
def test_files_of_mindspore_are_read(name: str, tmp_path: Path) -> None:
    for file, packed in RECORDED[name]["files"].items():
        (tmp_path / file).write_bytes(zlib.decompress(base64.b64decode(packed)))
    first = sorted(tmp_path.glob(f"{name}*"))[0]
    with np.printoptions(legacy="1.25"):
        assert shown(read(first)) == RECORDED[name]["rows"]


def test_what_is_written_has_mindspores_layout(tmp_path: Path) -> None:
    """Checked against the files above: the bytes of pages, the places in the index, and the header but for the order of its fields."""
    recorded = RECORDED["scalars"]["files"]
    theirs, ours = tmp_path / "theirs", tmp_path / "scalars"
    for suffix in ("", ".db"):
        Path(f"{theirs}{suffix}").write_bytes(zlib.decompress(base64.b64decode(recorded[f"scalars{suffix}"])))
    made = writer(ours, n={"type": "int32"})
    made.add_schema({"n": {"type": "int32"}}, "a description")
    made.write_raw_data([{"n": n} for n in (3, 200, 70000)])
    made.commit()

    def parts(path: Path) -> Any:
        data = path.read_bytes()
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        pages = [data[(begin := (1 << 14) + page["page_id"] * (1 << 15)):begin + page["page_size"]] for page in header["page"]]
        with sqlite3.connect(f"{path}.db") as index:
            return header, pages, index.execute("SELECT * FROM INDEXES").fetchall()

    assert parts(ours)[1:] == parts(theirs)[1:]
    assert parts(ours)[0] == parts(theirs)[0] | {"shard_addresses": ["scalars"]}


def test_rows_survive_writing_and_reading(tmp_path: Path) -> None:
    """Over pages and shards, and after more is appended: each shard gets its part of each list."""
    made = writer(tmp_path / "x", 2)
    made.write_raw_data([row(number) for number in range(4)])
    made.write_raw_data([row(4) | {"b": b"4" * 20000}, row(5) | {"b": b"5" * 20000}])
    made.commit()
    more = FileWriter.open_for_append(str(tmp_path / "x1"))
    more.write_raw_data([row(6), row(7)])
    more.commit()
    found = read(tmp_path / "x0")
    assert [one["n"] for one in found] == [0, 1, 4, 6, 2, 3, 5, 7] and [one["n"] for one in read(tmp_path / "x1", columns=["n"])] == [
        one["n"] for one in found]
    for one in found:
        expected = row(one["n"]) | {"b": one["b"] if one["n"] in (4, 5) else bytes(one["n"])}
        assert shown([{name: one[name] for name in expected}]) == shown([expected])
    assert len(found[2]["b"]) == 20000 and FileReader(str(tmp_path / "x0")).schema()["a"] == {"shape": [2, -1], "type": "float64"}
    assert FileReader([str(tmp_path / "x1")]).len() == 4


def test_packing() -> None:
    numbers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63 - 1, -1, -32, -33, -128, -129, -32769, -2**31 - 1, -2**63]
    values: dict[str, Any] = {f"{number:+}": number for number in numbers} | {"f": 1.5, "d": 0.1, "i": float("inf"), "s": "x" * 300}
    assert map_of(packed_map(values)) == values
    for array in ([], [5], [-128, 127], [300, -1, 2**40, 7, 2**20], numbers):
        found = integers(packed_integers(np.array(array, np.int64)), np.dtype(np.int64))
        assert found.tolist() == array
    for damaged in (b"\x81\xa1", b"\xc0", b"\x81\xa1a\xc0"):
        with pytest.raises(ValueError, match="damaged"):
            map_of(damaged)


def test_rows_that_do_not_fit(tmp_path: Path) -> None:
    """As in MindSpore they are left out, and it is an error if none is left."""
    made = writer(tmp_path / "x", n={"type": "int32"}, a={"type": "float32", "shape": [2]})
    good = {"n": np.int32(1), "a": np.ones((1, 2), np.float32), "other": 3}
    with pytest.warns(UserWarning, match=r"2 of 3 rows are left out. row 1: the field 'n' must be int32, but got True of bool; row 2: "
                                         r"the field 'a' must be an array of float32 of shape \[2\], but got float64\[2\]"):
        made.write_raw_data([good, good | {"n": True}, good | {"a": np.ones(2)}])
    for bad in ({"a": good["a"]}, good | {"n": np.int64(1)}, good | {"n": 2**31}, good | {"a": [1.0, 2.0]},
                good | {"a": np.ones(3, np.float32)}):
        with pytest.raises(RuntimeError, match="no valid data"):
            made.write_raw_data([bad])
    made.commit()
    assert shown(read(tmp_path / "x")) == shown([{"n": 1, "a": np.ones(2, np.float32)}])


def test_wrong_calls(tmp_path: Path) -> None:
    for schema in ({}, 3, {"a": {"type": "int8"}}, {"a": {}}, {"a b": {"type": "int32"}}, {"a": {"type": "bytes", "shape": [1]}},
                   {"a": {"type": "int32", "shape": [-1, -1]}}, {"a": {"type": "int32", "x": 1}}):
        with pytest.raises(MRMInvalidSchemaError, match=r"\[MRMInvalidSchemaError\]: Schema format is error"):
            FileWriter(str(tmp_path / "x")).add_schema(schema)  # pyright: ignore[reportArgumentType]  # the wrong types are the test
    arguments: tuple[Any, ...]
    for arguments in ((3,), ("x", 0), ("x", "1"), ("x", 1, 2), ("a?b",)):
        with pytest.raises(ParamValueError):
            FileWriter(*arguments)
    made = writer(tmp_path / "x", b={"type": "bytes"})
    with pytest.raises(ParamTypeError, match="'raw_data' expect list type"):
        made.write_raw_data({"b": b"1"})  # pyright: ignore[reportArgumentType]  # the wrong type is the test
    with pytest.raises(RuntimeError, match="Page size: 32768 is too small to save a blob row of 40000 bytes"):
        made.write_raw_data([{"b": bytes(40000)}])
    made.commit()
    assert read(tmp_path / "x") == []
    with pytest.raises(RuntimeError, match=r"already exist.*x"):
        writer(tmp_path / "x", b={"type": "bytes"}).write_raw_data([{"b": b"1"}])
    with pytest.raises(RuntimeError, match="column name: z can not found in schema"):
        FileReader(str(tmp_path / "x"), columns=["z"])
    (tmp_path / "junk").write_bytes(b"x" * 100)
    with pytest.raises(RuntimeError, match="junk is not a MindRecord file"):
        FileReader(str(tmp_path / "junk"))
    (tmp_path / "x.db").unlink()
    with pytest.raises(RuntimeError, match=r"x\.db is not exists"):
        FileReader(str(tmp_path / "x"))


def test_mind_dataset(tmp_path: Path) -> None:
    made = writer(tmp_path / "x", 2)
    made.write_raw_data([row(number) for number in range(1, 6)])
    made.commit()
    path = str(tmp_path / "x0")
    first = next(ds.MindDataset(path, shuffle=False).create_dict_iterator(1, True))
    assert {name: (value.dtype.str, value.shape) for name, value in first.items()} == {
        "a": ("<f8", (2, 1)), "b": ("|S1", (1,)), "c": ("<i8", (1,)), "f": ("<f4", ()), "n": ("<i4", ()), "s": ("<U1", ())}

    def numbers(**given: Any) -> list[int]:
        return [int(found["n"]) for found in ds.MindDataset(path, ["n"], **given).create_dict_iterator(1, True)]

    assert numbers(shuffle=False) == [1, 2, 3, 4, 5] and sorted(numbers()) == [1, 2, 3, 4, 5]
    assert numbers(shuffle=False, num_shards=2, shard_id=1) == [2, 4, 1] and numbers(shuffle=False, num_samples=2) == [1, 2]
    assert numbers(shuffle=False, padded_sample={"n": 9}, num_padded=1, num_shards=2, shard_id=1) == [2, 4, 9]
    ds.config.set_seed(1)
    assert numbers(shuffle=ds.Shuffle.FILES) in ([1, 2, 3, 4, 5], [3, 4, 5, 1, 2])
    infile = numbers(shuffle=ds.Shuffle.INFILE)
    assert (sorted(infile[:2]), sorted(infile[2:])) == ([1, 2], [3, 4, 5])
    with pytest.raises(ValueError, match="nothing does not exist"):
        ds.MindDataset(str(tmp_path / "nothing"))


def test_a_pipeline_is_saved(tmp_path: Path) -> None:
    """Numbers become the types that files have, as in MindSpore."""
    columns = {"i": np.arange(3, dtype=np.int8), "u": np.ones((3, 2, 2), np.uint32), "h": np.ones(3, np.float16), "s": ["a", "bb", ""],
               "t": np.array([True, False, True])}
    ds.NumpySlicesDataset(columns, shuffle=False).map(lambda h: h + h, "h").save(str(tmp_path / "x"), 2)
    assert FileReader(str(tmp_path / "x0")).schema() == {
        "h": {"type": "float32"}, "i": {"type": "int32"}, "s": {"type": "string"}, "t": {"type": "int32"},
        "u": {"shape": [-1, 2], "type": "int64"}}
    saved = [(found["i"], found["h"], found["s"], found["t"]) for found in read(tmp_path / "x0")]
    assert saved == [(0, 2.0, "a", 1), (1, 2.0, "bb", 0), (2, 2.0, "", 1)]
    with pytest.raises(RuntimeError, match="already exist"):
        ds.NumpySlicesDataset(columns).save(str(tmp_path / "x"), 2)


def test_sets_of_images_are_converted(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    image = np.full((3, 32, 32), 200, np.uint8)
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        (tmp_path / name).write_bytes(pickle.dumps({b"data": image.reshape(1, -1), b"labels": [7]}))
    Cifar10ToMR(str(tmp_path), str(tmp_path / "c")).transform(["label"])
    assert [(found["id"], found["label"]) for found in read(tmp_path / "c")] == [(number, 7) for number in range(5)]
    dataset = ds.MindDataset(str(tmp_path / "c_test"), ["data"]).map(ds.vision.Decode(), "data")
    assert [found["data"].mean() for found in dataset.create_dict_iterator(1, True)] == [200]

    for part, labels in (("train", [3, 4]), ("t10k", [5])):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", np.full((len(labels), 28, 28), 9))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", np.array(labels))
    MnistToMR(str(tmp_path), str(tmp_path / "m")).transform()
    assert [found["label"] for found in read(tmp_path / "m_train.mindrecord")] == [3, 4]

    (tmp_path / "folders" / "a").mkdir(parents=True)
    (tmp_path / "folders" / "a" / "1.jpg").write_bytes(b"bytes")
    (tmp_path / "map.txt").write_text("a 5\n")
    ImageNetToMR(str(tmp_path / "map.txt"), str(tmp_path / "folders"), str(tmp_path / "i")).transform()
    assert read(tmp_path / "i") == [{"file_name": str(tmp_path / "folders" / "a" / "1.jpg"), "label": 5, "image": b"bytes"}]


def test_a_table_is_converted(tmp_path: Path) -> None:
    def converted(table: str, *columns: str) -> list[dict[str, Any]]:
        (tmp_path / "t.csv").write_text(table)
        written = tmp_path / f"t{len(list(tmp_path.iterdir()))}"
        CsvToMR(str(tmp_path / "t.csv"), str(written), list(columns) or None).transform()
        return read(written)

    first = {"a": 1, "b": 2.5, "c": "x, y", "d": 1, "e": "7"}
    second = {"a": -2, "b": 3.0, "c": "z", "d": 0, "e": "True"}
    table = 'a,b,c,d,e\n1,2.5,"x, y",True,7\n-2,3,z,false,True\n'
    assert converted(table) == [first, second] and converted(table, "c", "a") == [{"a": 1, "c": "x, y"}, {"a": -2, "c": "z"}]
    assert [type(value["b"]) for value in converted(table)] == [float, float] and math.isnan(converted("a,b\n1,\n2,3\n")[0]["b"])
    assert converted("a\n99999999999999999999\n1_0\n") == [{"a": "99999999999999999999"}, {"a": "1_0"}]
    for table, kind, message in (
        ("a,b\n1,x\n2,\n", RuntimeError, "line 3 .*empty cell in the column 'b'"),
        ("a,b\n1\n", RuntimeError, "line 2 .* 2 cells, but has 1"),
        ("1a,b\n1,2\n", ValueError, "must not begin with a digit"), ("", ValueError, "it is empty"),
    ):
        with pytest.raises(kind, match=message):
            converted(table)
    with pytest.raises(RuntimeError, match="'columns_list' must name columns"):
        converted("a\n1\n", "z")
