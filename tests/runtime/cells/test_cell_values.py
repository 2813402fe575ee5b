"""Buffers, `state_dict` and related methods, as in MindSpore 2.10."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops


class Running(nn.Cell):
    """Adds a count of its calls, a buffer, to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", Tensor([0.0]))
        self.register_buffer("table", Tensor([1.0]), persistent=False)
        self.register_buffer("nothing", None)
        self.w = Parameter(Tensor([2.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        ops.assign(self.count, self.count + 1)
        return x * self.w + self.count + self.table


def test_buffers_are_state_and_no_parameters() -> None:
    net = nn.SequentialCell(Running(), nn.BatchNorm1d(2))
    assert list(net.state_dict())[:2] == ["0.w", "0.count"]
    assert net.state_dict().keys() == {"0.w", "0.count", "1.moving_mean", "1.moving_variance", "1.gamma", "1.beta"}
    assert [path for path, _ in net.named_buffers()] == ["0.count", "0.table"] and len(list(net.buffers(recurse=False))) == 0
    assert [path for path, _ in net.named_buffers(prefix="q")] == ["q.0.count", "q.0.table"]
    assert "0.count" not in dict(net.parameters_and_names()) and net.get_buffer("0.count") is net[0].count
    assert next(iter(net.state_dict(prefix="x."))) == "x.0.w" and net.state_dict()["0.w"] is net[0].w


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_buffer_is_written_in_every_mode_and_takes_no_gradient(mode: int) -> None:
    net, x = Running(), Tensor([3.0])
    ms.set_context(mode=mode)
    try:
        assert [net(x).item(), net(x).item()] == [8.0, 9.0]
        assert ms.grad(net)(x).item() == 2.0 and net.count.item() == 3.0
        net.load_state_dict({"w": Tensor([5.0]), "count": Tensor([10.0])})
        assert net(x).item() == 27.0
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_copies_have_buffers_of_their_own() -> None:
    net = Running()
    net(Tensor([1.0]))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.count.item() == 1.0 and dict(other.named_buffers()).keys() == {"count", "table"}
        other(Tensor([1.0]))
        assert (net.count.item(), other.count.item()) == (1.0, 2.0)


@pytest.mark.parametrize(("name", "value", "kind"), [
    (3, None, TypeError), ("", None, KeyError), ("a.b", None, KeyError), ("w", None, KeyError), ("b", 3, TypeError),
])
def test_wrong_buffers(name: Any, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="For 'register_buffer'"):
        Running().register_buffer(name, value)


def test_what_may_take_the_place_of_a_buffer() -> None:
    net = Running()
    with pytest.raises(TypeError, match=r"'count' is a buffer of 'Running'.*ops\.assign"):
        net.count = Tensor([4.0])
    net.register_buffer("count", Tensor([7.0]))
    assert net.count.item() == 7.0
    net.count = None
    assert net.count is None and "count" not in net.state_dict()
    del net.count
    assert "count" not in dict(net.named_buffers()) and not hasattr(net, "count")
    with pytest.raises(AttributeError, match="no buffer 'z'"):
        net.get_buffer("z")


def test_values_are_loaded_all_or_none() -> None:
    dense = nn.Dense(2, 3, "zeros", "zeros")
    right = {"weight": Tensor(np.ones((3, 2), np.float16)), "bias": Tensor(np.ones(3, np.float32))}
    for wrong, text in (({"weight": right["weight"]}, "Missing key.*'bias'"), ({**right, "x": 1}, "Unexpected key.*'x'"),
                        ({**right, "bias": Tensor([1.0])}, r"'bias' must have shape \(3,\), but got \(1,\)"),
                        ({**right, "bias": np.ones(3)}, "'bias' must be a Tensor, but got ndarray")):
        with pytest.raises(RuntimeError, match=f"(?s)loading state_dict for Dense.*{text}"):
            dense.load_state_dict(wrong)
        assert not dense.weight.asnumpy().any()
    assert str(dense.load_state_dict(right)) == "<All keys matched successfully>"
    assert dense.weight.dtype is ms.float32 and dense.weight.asnumpy().all()
    assert dense.load_state_dict({"x": 1}, strict=False) == (["weight", "bias"], ["x"])
    with pytest.raises(TypeError, match="must be a dict"):
        dense.load_state_dict([1])  # pyright: ignore[reportArgumentType] - the test


def test_hooks_on_values_change_what_is_saved_and_loaded() -> None:
    """Programs rename values of older checkpoints in a hook, and forgive missing ones."""
    net = nn.SequentialCell(nn.Dense(2, 3, "zeros", "zeros"), Running())
    seen: list[Any] = []
    before = net[0].register_state_dict_pre_hook(lambda cell, prefix, keep: seen.append((type(cell), prefix, keep)))
    after = net[0].register_state_dict_post_hook(lambda cell, found, prefix, metadata: found.__delitem__(f"{prefix}bias"))
    assert list(net.state_dict(prefix="p.")) == ["p.0.weight", "p.1.w", "p.1.count"] and seen == [(nn.Dense, "p.0.", False)]
    before.remove()
    after.remove()
    values = net.state_dict()
    values["0.old"] = ops.ones((3, 2))
    del values["0.weight"]

    def rename(cell: Any, found: Any, prefix: str, metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: Any) -> None:
        assert list(found) == [f"{prefix}bias", f"{prefix}old"] and strict
        found[f"{prefix}weight"] = found.pop(f"{prefix}old")

    with net[0].register_load_state_dict_pre_hook(rename):
        assert str(net.load_state_dict(values)) == "<All keys matched successfully>" and net[0].weight.asnumpy().all()
    with pytest.raises(RuntimeError, match=r"(?s)Missing key.*'0\.weight'.*Unexpected key.*'0\.old'"):
        net.load_state_dict(values)
    with net.register_load_state_dict_post_hook(lambda cell, keys: keys.missing_keys.clear() or keys.unexpected_keys.clear()):
        assert net.load_state_dict(values) == ([], [])
    with net.register_load_state_dict_post_hook(lambda cell, keys: keys), pytest.raises(RuntimeError, match="must return None"):
        net.load_state_dict(values)
    with pytest.raises(TypeError, match="callable hook"):
        net.register_state_dict_pre_hook(3)  # pyright: ignore[reportArgumentType] - the test
    assert not net.to_empty()[0].weight.asnumpy().any() and net[1].w.item() == 0.0


def test_another_dtype() -> None:
    net = nn.SequentialCell(nn.Dense(2, 3), Running())
    assert net.to("CPU", ms.float16) is net and {value.dtype for value in net.state_dict().values()} == {ms.float16}
    with pytest.raises(TypeError, match="floating dtype"):
        net.to(ms.int32)
    with pytest.raises(ValueError, match="'CPU', 'GPU', 'Ascend'"):
        net.to("TPU")


def test_flags_and_phases() -> None:
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    assert net.phase == "train" and not net.training  # as MindSpore's
    assert net.set_train().phase == net[0].phase == "train" and net.set_train(False).phase == "predict"
    net.phase = "own"
    assert net.phase == "own"
    assert net.add_flags_recursive(once=1) is net and net[1].once == 1 and net[1].get_flags() == {"once": 1} and net.compile() is None
    weight = net[0].weight
    weight.requires_grad_(False)
    assert all(other is not weight for other in net.trainable_params())
