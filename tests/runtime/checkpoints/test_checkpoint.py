"""Parameters in files: saved ones can be loaded, MindSpore's files can be read, and errors are raised before anything changes."""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ms
from adjoint import Parameter, Tensor, nn
from adjoint.runtime.checkpoints.ckpt_format import SavedEntry, decoded, encoded

MINDSPORE = (
    b"\n,\n\x01a\x12'\x08\x02\x08\x03\x12\x07Float32\x1a\x18\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@"
    b"\n\x12\n\x01b\x12\r\x12\x05Int32\x1a\x04\x03\x00\x00\x00\n\x14\n\x01h\x12\x0f\x08\x01\x12\x07Float16\x1a\x02\x00>"
    b"\n\x16\n\x02bf\x12\x10\x08\x01\x12\x08BFloat16\x1a\x02\xc0?\n\x10\n\x01z\x12\x0b\x08\x01\x12\x04Bool\x1a\x01\x01"
    b"\n\x1a\n\x05epoch\x12\x11\x12\x05Int64\x1a\x08\x03\x00\x00\x00\x00\x00\x00\x00\n\x15\n\x02lr\x12\x0f\x12\x07Float32\x1a\x04\x00\x00\x00?"
    b"\n\x1a\n\x01s\x12\x15\x08\x00\x12\x03str\x1a\x0ct\x00\x00\x00x\x00\x00\x00t\x00\x00\x00\n\x11\n\x04flag\x12\t\x12\x04Bool\x1a\x01\x01"
)
"""The file that MindSpore 2.10.0 writes of TENSORS and APPENDED."""
TENSORS = {
    "a": Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)), "b": Tensor(3, ms.int32), "h": Tensor([1.5], ms.float16),
    "bf": Tensor([1.5], ms.bfloat16), "z": Tensor([True]),
}
APPENDED = {"epoch": 3, "lr": 0.5, "s": "txt", "flag": True}


def test_files_are_those_of_mindspore(tmp_path: Path) -> None:
    name = str(tmp_path / "net.ckpt")
    ms.save_checkpoint([{"name": key, "data": value} for key, value in TENSORS.items()], name, append_dict=APPENDED)
    assert Path(name).read_bytes() == MINDSPORE
    found = ms.load_checkpoint(name)
    assert list(found) == [*TENSORS, *APPENDED]
    for key, tensor in TENSORS.items():
        assert isinstance(found[key], Parameter) and found[key].name == key
        assert found[key].dtype is tensor.dtype and found[key].shape == tensor.shape and found[key].tolist() == tensor.tolist()
    assert found["s"] == "txt" and found["flag"].dtype is ms.bool_
    assert found["epoch"].dtype is ms.int64 and int(found["epoch"]) == 3 and float(found["lr"]) == 0.5


def test_a_network_comes_back(tmp_path: Path) -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 2))
    optimizer = nn.Adam(net.trainable_params())
    optimizer(tuple(Tensor(np.ones(p.shape, np.float32)) for p in optimizer.parameters))
    ms.save_checkpoint(net, str(tmp_path / "net"))
    ms.save_checkpoint(optimizer, str(tmp_path / "optimizer.ckpt"), crc_check=True)
    assert sorted(os.listdir(tmp_path)) == ["net.ckpt", "optimizer.ckpt"]
    other = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 2))
    assert ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "net.ckpt"))) == ([], [])
    x = Tensor(np.ones((2, 3), np.float32))
    assert other(x).tolist() == net(x).tolist()
    fresh = nn.Adam(other.trainable_params())
    ms.load_checkpoint(str(tmp_path / "optimizer.ckpt"), fresh)
    assert [p.tolist() for p in fresh.get_parameters()] == [p.tolist() for p in optimizer.get_parameters()]


def test_a_graph_sees_what_was_loaded(tmp_path: Path) -> None:
    net = nn.Dense(2, 1, "ones", "zeros")
    run = ms.jit(lambda x: net(x))
    x = Tensor([[1.0, 2.0]])
    assert float(run(x)) == 3.0
    ms.load_param_into_net(net, {"weight": Parameter(Tensor([[2.0, 5.0]])), "bias": Parameter(Tensor([0.5]))})
    assert float(run(x)) == 12.5


def test_what_is_asked_for(tmp_path: Path) -> None:
    name = str(tmp_path / "net.ckpt")
    ms.save_checkpoint({"conv.weight": Tensor(1.0), "conv.bias": Tensor(2.0), "fc.weight": Tensor(3.0)}, name)
    assert list(ms.load_checkpoint(name, choice_func=lambda key: key.endswith("weight"))) == ["conv.weight", "fc.weight"]
    assert list(ms.load_checkpoint(name, filter_prefix="conv")) == ["fc.weight"]
    assert list(ms.load_checkpoint(name, specify_prefix=["conv.b", "fc"])) == ["conv.bias", "fc.weight"]
    with pytest.raises(ValueError, match=r"nothing in .* is asked for: it holds \['conv.weight'"):
        ms.load_checkpoint(name, filter_prefix=("conv", "fc"))
    ms.save_checkpoint({"a": Tensor(1.0), "b": Tensor(2.0)}, name, choice_func=lambda key: key == "b")
    assert list(ms.load_checkpoint(name)) == ["b"]


def test_names_that_do_not_fit_are_told() -> None:
    net = nn.SequentialCell(nn.Dense(2, 1, "ones", "zeros"))
    wrong = {"weight": Parameter(Tensor([[3.0, 4.0]])), "1.bias": Parameter(Tensor([9.0]))}
    with pytest.warns(UserWarning, match=r"\['0.weight', '0.bias'\] of 'net' stay .*: 'parameter_dict' has \['weight', '1.bias'\]"):
        assert ms.load_param_into_net(net, wrong) == (["0.weight", "0.bias"], ["weight", "1.bias"])
    assert net[0].weight.tolist() == [[1.0, 1.0]]
    wrapped = {"module.0.weight": Parameter(Tensor([[3.0, 4.0]])), "module.0.bias": Parameter(Tensor([5.0]))}
    with pytest.warns(UserWarning, match="without 'module.' at their beginning"):
        assert ms.load_param_into_net(net, wrapped) == ([], [])
    assert net[0].weight.tolist() == [[3.0, 4.0]] and net[0].bias.tolist() == [5.0]
    with pytest.warns(UserWarning, match="stay as they are"):
        assert ms.load_param_into_net(net, wrapped, strict_load=True)[0] == ["0.weight", "0.bias"]


def test_shapes_and_dtypes_that_do_not_fit() -> None:
    """Nothing is written if one parameter does not fit."""
    net = nn.Dense(2, 1, "ones", "zeros")
    good = Parameter(Tensor([[7.0, 8.0]]))
    with pytest.raises(RuntimeError, match=r"bias .* same shape .* \(1,\) in 'net' and \(2,\) in 'parameter_dict'"):
        ms.load_param_into_net(net, {"weight": good, "bias": Parameter(Tensor([1.0, 2.0]))})
    with pytest.raises(RuntimeError, match=r"bias .* Float32 in 'net' and Int64 in 'parameter_dict'"):
        ms.load_param_into_net(net, {"weight": good, "bias": Parameter(Tensor([1]))})
    half = {"weight": good, "bias": Parameter(Tensor([1.5], ms.float16))}
    with pytest.raises(RuntimeError, match="`strict_load=False` converts"):
        ms.load_param_into_net(net, half, strict_load=True)
    assert net.weight.tolist() == [[1.0, 1.0]]
    ms.load_param_into_net(net, half)
    assert net.bias.dtype is ms.float32 and net.bias.tolist() == [1.5]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint(str(tmp_path / "none.ckpt"))
    with pytest.raises(ValueError, match="must end with 'ckpt'"):
        ms.load_checkpoint(str(tmp_path / "net.npz"))
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*: make it with os.makedirs"):
        ms.save_checkpoint(nn.Dense(1, 1), str(tmp_path / "none" / "net.ckpt"))
    name = tmp_path / "net.ckpt"
    unknown, misshapen = MINDSPORE.replace(b"Float32", b"Float33"), MINDSPORE.replace(b"\x08\x02", b"\x08\x03", 1)
    for damaged in (MINDSPORE[:40], b"\x01\x02garbage", unknown, misshapen):
        name.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"net.ckpt' (is no checkpoint|cannot be read)"):
            ms.load_checkpoint(str(name))
    name.unlink()
    ms.save_checkpoint({"a": Tensor([1.0, 2.0])}, str(name), crc_check=True)
    data = bytearray(name.read_bytes())
    data[-20] ^= 1
    name.write_bytes(data)
    with pytest.raises(ValueError, match="checksum"):
        ms.load_checkpoint(str(name))


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tmp_path / "net.ckpt"
    ms.save_checkpoint({"a": Tensor(1.0)}, str(name))

    def fails(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no space"):
        ms.save_checkpoint({"a": Tensor(2.0)}, str(name))
    assert os.listdir(tmp_path) == ["net.ckpt"] and float(ms.load_checkpoint(str(name))["a"]) == 1.0


def test_a_large_tensor_stands_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjoint.runtime.checkpoints.ckpt_format._PIECE", 8)
    entry = SavedEntry("w", (5,), "Float32", bytes(range(20)))
    data = b"".join(encoded([entry, SavedEntry("b", (0,), "Float32", b"")], True))
    assert data.count(b"Float32") == 4
    assert decoded(data) == [entry, SavedEntry("b", (0,), "Float32", b"")]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(MINDSPORE) - 1), st.integers(0, 255), st.booleans())
def test_a_damaged_file_is_an_error_or_other_numbers(tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: bool) -> None:
    """Whichever byte is changed, no other exception is raised."""
    name = tmp_path_factory.getbasetemp() / "damaged.ckpt"
    name.write_bytes(MINDSPORE[:at] if cut else MINDSPORE[:at] + bytes([byte]) + MINDSPORE[at + 1 :])
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        ms.load_checkpoint(str(name))
