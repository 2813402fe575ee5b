"""Checkpoints in safetensors: MindSpore's bytes, and errors in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor
from adjoint.runtime.memory.machine import array_of
from tests.oracle.safetensors_files import files, written

MINDSPORE = (
    b'\x98\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{"format":"ms"},"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
    b'"weight":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]}}   ' + np.array([0.5, 1, 0, 1, 2, 3], "<f4").tobytes()
)
"""The file that MindSpore 2.10.0 writes of WEIGHTS."""
WEIGHTS = {"weight": Tensor([[0.0, 1.0], [2.0, 3.0]]), "bias": Tensor([0.5, 1.0])}
ORDER = ("uint64", "int64", "float64", "uint32", "int32", "float16", "uint16", "int16", "int8", "uint8", "bool_")
"""How MindSpore's file has tensors of these dtypes: the widest first."""


def test_files_are_those_of_mindspore(tmp_path: Path) -> None:
    name = tmp_path / "net"
    ms.save_checkpoint(WEIGHTS, str(name), format="safetensors")
    assert (tmp_path / "net.safetensors").read_bytes() == MINDSPORE
    found = ms.load_checkpoint(f"{name}.safetensors", format="safetensors")
    assert list(found) == ["bias", "weight"] and all(isinstance(x, Parameter) for x in found.values())
    assert found["weight"].tolist() == WEIGHTS["weight"].tolist() and found["bias"].name == "bias"


def test_every_dtype_and_texts(tmp_path: Path) -> None:
    name = str(tmp_path / "all.safetensors")
    tensors = {dtype: Tensor(np.ones((2, 3)), getattr(ms, dtype)) for dtype in sorted(ORDER)}
    ms.save_checkpoint(tensors, name, append_dict={"epoch": 3, "rate": 0.5, "note": "größer", "half": Tensor([1.5], ms.bfloat16)},
                       format="safetensors")
    found = ms.load_checkpoint(name, format="safetensors")
    assert [key for key in found if key in ORDER] == list(ORDER)
    assert all(found[dtype].dtype is getattr(ms, dtype) and found[dtype].asnumpy().sum() == 6 for dtype in ORDER)
    assert found["epoch"].item() == 3 and found["rate"].item() == 0.5 and found["note"] == "größer"
    assert found["half"].dtype is ms.bfloat16 and found["half"].tolist() == [1.5] and found["epoch"].shape == ()


def entry(**change: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **change}}


@pytest.mark.parametrize(("data", "said"), [
    (b"", "ends too early"), (MINDSPORE[:100], "ends too early"), (MINDSPORE[:-1], "ends too early: 'weight'"),
    (b"\xff" * 20, "ends too early"),
    (written(b"{"), "no JSON"), (written(b"\xff\xff"), "no JSON"), (written([1]), "no tensors by name"),
    (written(b"[" * 100000), "no JSON"),
    (written({"a": 3}), "'a' has no dtype, shape and place"),
    (written(entry(dtype="F8_E4M3"), b"x" * 8), "of the type 'F8_E4M3', and known are"),
    (written(entry(shape=[3]), b"x" * 8), "'a' of shape"), (written(entry(shape=[-2]), b"x" * 8), "has the shape"),
    (written(entry(data_offsets=[0, 9]), b"x" * 8), "from byte 0 to 9 of 8"),
    (written(entry(data_offsets=[8, 0]), b"x" * 8), "from byte 8 to 0"),
    (written({"__metadata__": {"x": 3}}), "metadata"),
    (written(json.dumps(entry()).encode("utf-16-le"), b"x" * 8), "no JSON in UTF-8"),
    (written(entry(shape=[True, 2]), b"x" * 8), "has the shape"), (written(entry(data_offsets=[False, 8]), b"x" * 8), "has no dtype"),
    (written(entry(), b"x" * 9), "1 bytes after the last tensor"),
    (written({**entry(), "b": entry()["a"]}, b"x" * 8), "'b', from byte 0 to 8, overlaps another tensor: it must begin at byte 8"),
    (written(entry(data_offsets=[8, 16]), b"x" * 16), "'a', from byte 8 to 16, leaves a hole before it: it must begin at byte 0"),
    (written(json.dumps(entry()).encode().replace(b'"shape"', b'"dtype": "F32", "shape"'), b"x" * 8), "its header has 'dtype' twice"),
])
def test_a_damaged_file_says_what_is_wrong(data: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=said) as caught:
        ms.load_checkpoint(str(file), format="safetensors")
    assert str(file) in str(caught.value)


STRICTER = {"twice the same tensor", "twice a name in the metadata"}
"""The format forbids names that occur twice; the library lets the last one count."""


def test_the_library_reads_the_same_files(tmp_path: Path) -> None:
    """Of 1,352 files, most of them wrong, those that `safetensors` accepts, with the same bytes; besides, a bool is 0 or 1."""
    recorded = json.loads((Path(__file__).parents[2] / "oracle" / "safetensors.json").read_text())
    all_files, accepted, wrong = files(), recorded["accepted"], list[str]()
    assert len(all_files) == recorded["files"] and len(accepted) > 100
    file = tmp_path / "net.safetensors"
    for name, data in all_files.items():
        tensors = accepted.get(name)
        refused = tensors is None or name in STRICTER or any(
            dtype == "BOOL" and set(bytes.fromhex(content)) - {0, 1} for dtype, _, content in tensors.values())
        file.write_bytes(data)
        try:
            found: Any = ms.load_checkpoint(str(file), format="safetensors")
        except ValueError as raised:
            found = {} if "nothing in" in str(raised) else None
            if str(file) not in str(raised):
                wrong.append(f"{name}: {raised}")
        if (found is None) != refused:
            wrong.append(f"{name}: {'refused' if found is None else 'accepted'}")
        elif found is not None:
            got = {title: [list(x.shape), array_of(x.memory, x.type).tobytes().hex()]
                   for title, x in found.items() if isinstance(x, Tensor)}
            if got != {title: rest for title, (_, *rest) in tensors.items()}:
                wrong.append(f"{name}: {got}")
    assert not wrong


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_bool_is_0_or_1(format: str, tmp_path: Path) -> None:
    file = tmp_path / f"net.{format}"
    ms.save_checkpoint({"a": Tensor([True, False, True, True, False])}, str(file), format=format)
    data = file.read_bytes()
    assert data.count(b"\1\0\1\1\0") == 1
    file.write_bytes(data.replace(b"\1\0\1\1\0", b"\1\0\2\1\0"))
    with pytest.raises(ValueError, match="'a' is of the type 'Bool', and has bytes other than 0 and 1") as raised:
        ms.load_checkpoint(str(file), format=format)
    assert str(file) in str(raised.value)


def test_more_dimensions_than_tensors_have(tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    file.write_bytes(written(entry(shape=[1] * 8 + [2]), b"x" * 8))
    with pytest.raises(ValueError, match="'a' has 9 dimensions, and tensors have at most 8") as raised:
        ms.load_checkpoint(str(file), format="safetensors")
    assert str(file) in str(raised.value)


def test_what_the_format_does_not_have(tmp_path: Path) -> None:
    name = str(tmp_path / "net")
    for given, said in (({"crc_check": True}, "has no checksum"), ({"append_dict": {"format": "x"}}, "one of the format's own")):
        with pytest.raises(ValueError, match=said):
            ms.save_checkpoint(WEIGHTS, name, format="safetensors", **given)
    with pytest.raises(ValueError, match="must be one of"):
        ms.save_checkpoint(WEIGHTS, name, format="pickle")
    ms.save_checkpoint(WEIGHTS, name, format="safetensors")
    with pytest.raises(ValueError, match="give format='safetensors'"):
        ms.load_checkpoint(f"{name}.safetensors")
    assert [file.name for file in tmp_path.iterdir()] == ["net.safetensors"]


def test_what_a_killed_process_left_is_deleted_when_the_file_is_written_again(tmp_path: Path) -> None:
    dead, alive, other = (tmp_path / f"{name}.tmp" for name in ("net.ckpt.4194305.1", "net.ckpt.1.1", "other.ckpt.4194305.1"))
    for file in (dead, alive, other):
        file.touch()
    ms.save_checkpoint(WEIGHTS, str(tmp_path / "net"))
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([alive.name, other.name, "net.ckpt"])
