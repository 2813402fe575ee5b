"""SummaryRecord, DatasetHelper, data_sink and checkpoints that are read meanwhile."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
import adjoint.dataset as ds
from adjoint import Tensor, nn, ops


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is written to tensorboardX, which a stand-in takes the place of."""
    calls: list[Any] = []

    class SummaryWriter:
        def __init__(self, folder: str, **options: Any):
            calls.append(("made", Path(folder).name, options))

        def __getattr__(self, name: str) -> Any:
            return lambda *given: calls.append((name, *(np.shape(x) if isinstance(x, np.ndarray) else x for x in given)))

    library: Any = types.ModuleType("tensorboardX")
    library.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "tensorboardX", library)
    return calls


def test_values_are_written_with_the_number_of_a_step(tmp_path: Path, written: list[Any]) -> None:
    with ms.SummaryRecord(str(tmp_path / "log")) as record:
        assert record.log_dir == str(tmp_path / "log")
        ops.ScalarSummary()("loss", Tensor(0.5))
        record.add_value("image", "first", ops.ones((2, 3, 4, 4)))
        record.add_value("graph", "for MindSpore's viewer", Tensor(1))
        assert record.record(1)
        record.set_mode("eval")
        record.add_value("histogram", "w", Tensor([1.0, 2.0]))
        record.add_value("scalar", "left out", Tensor(1.0))
        assert record.record(2, plugin_filter=lambda kind: kind != "scalar")
        record.flush()
    assert written == [("made", "log", {"filename_suffix": "_MS"}), ("add_scalar", "loss", 0.5, 1), ("add_image", "first", (3, 4, 4), 1),
                       ("add_histogram", "eval/w", (2,), 2), ("flush",), ("close",)]
    ops.ScalarSummary()("loss", Tensor(0.5))
    assert not record.record(3) and written[-1] == ("close",)


def test_mistakes_of_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = ms.SummaryRecord(str(tmp_path))
    for call, kind, text in (
        (lambda: ms.SummaryRecord(3), TypeError, "'log_dir' must be a str"), (lambda: ms.SummaryRecord(""), ValueError, "name of a folder"),
        (lambda: record.add_value("curve", "a", Tensor(1)), ValueError, "'plugin' must be among"),
        (lambda: record.add_value("scalar", "", Tensor(1)), ValueError, "'name' must be a str that is not empty"),
        (lambda: record.add_value("scalar", "a", 1), TypeError, "'value' must be a Tensor, but got 1"),
        (lambda: record.add_value("scalar", "a", Tensor([1, 2])), ValueError, "must have one element"),
        (lambda: record.add_value("image", "a", Tensor([1, 2])), ValueError, "1 or 3 channels"),
        (lambda: record.set_mode("test"), ValueError, "'train' or 'eval'"),
        (lambda: record.record("1"), TypeError, "'step' must be an int"),
        (lambda: record.record(1, train_network=3), TypeError, "must be a Cell or None"),
    ):
        with pytest.raises(kind, match=text):
            call()
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    record.add_value("scalar", "a", Tensor(1))
    with pytest.raises(ImportError, match="'SummaryRecord', the package tensorboardX is needed"):
        record.record(1)
    record.close()


def test_a_helper_gives_the_batches_of_an_epoch() -> None:
    dataset = ds.NumpySlicesDataset({"x": np.zeros((6, 2), np.float32), "y": np.zeros(6, np.int32)}, shuffle=False).batch(2)
    helper = ms.DatasetHelper(dataset, dataset_sink_mode=False)
    assert [[part.shape for part in batch] for batch in helper] == [[(2, 2), (2,)]] * 3
    assert helper.sink_size() == 3 and ms.DatasetHelper(dataset, sink_size=5).sink_size() == 5
    assert helper.types_shapes() == ([np.float32, np.int32], [[2, 2], [2]])
    for given, kind in ((([1],), TypeError), ((dataset, 3), TypeError), ((dataset, True, 0), ValueError),
                        ((dataset, True, "a"), TypeError), ((dataset, True, 1, None), TypeError)):
        with pytest.raises(kind, match="For 'DatasetHelper'"):
            ms.DatasetHelper(*given)


def test_a_checkpoint_is_read_meanwhile(tmp_path: Path) -> None:
    net, other = nn.Dense(2, 3), nn.Dense(2, 3)
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    assert not ms.async_ckpt_thread_status()
    found = ms.load_checkpoint_async(str(tmp_path / "net.ckpt"), net=other).result()
    assert found["weight"].tolist() == net.weight.tolist() == other.weight.tolist()
    reading = ms.load_checkpoint_async(str(tmp_path / "none.ckpt"))
    with pytest.raises(ValueError, match=r"none\.ckpt' does not exist"):
        reading.result()


def test_a_sunk_dataset_begins_again_after_its_last_batch() -> None:
    dataset = ds.NumpySlicesDataset({"x": np.arange(6, dtype=np.float32), "y": np.ones(6, np.float32)}, shuffle=False).batch(2)
    def total(x: Tensor, y: Tensor) -> Tensor:
        return (x * y).sum()

    one, two = ms.data_sink(total, dataset), ms.data_sink(total, dataset, 2, ms.JitConfig(), [Tensor(np.ones(2, np.float32))] * 2)
    assert [float(one()) for _ in range(4)] == [1, 5, 9, 1] and [float(two()) for _ in range(3)] == [5, 1, 9]
    for given, kind in (((3, dataset), TypeError), ((total, [1]), TypeError), ((total, dataset, 0), ValueError),
                        ((total, dataset, 1.5), TypeError), ((total, dataset, 1, "O1"), TypeError),
                        ((total, dataset, 1, None, 3), TypeError)):
        with pytest.raises(kind, match="For 'data_sink'"):
            ms.data_sink(*given)
    with pytest.raises(TypeError, match=r"those of 'input_signature', .*\(3,\).*, but got .*\(2,\)"):
        ms.data_sink(total, dataset, input_signature=[Tensor(np.ones(3, np.float32))] * 2)()
    with pytest.raises(RuntimeError, match="the dataset has no batch"):
        ms.data_sink(total, ds.NumpySlicesDataset([1], shuffle=False).batch(2, drop_remainder=True))()
