"""Members of MindSpore's Cell, Primitive and losses: extra state, scopes, options; and what the missing ones say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, jit, mint, nn, ops
from adjoint.foundation.diagnostics import MissingMember


class Counting(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.calls = nn.Dense(2, 2), 0

    def get_extra_state(self) -> Any:
        return {"calls": self.calls}

    def set_extra_state(self, state: Any) -> None:
        self.calls = state["calls"]

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(x)


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Counting()


def test_extra_state_travels_with_the_values() -> None:
    """MindSpore's keys, in its order, and its lists of missing and unexpected ones."""
    net, other = Outer(), Outer()
    net.inner.calls = 3
    values: Any = net.state_dict()
    assert list(values) == ["inner._extra_state", "inner.dense.weight", "inner.dense.bias"]
    assert not any(other.load_state_dict(values)) and other.inner.calls == 3
    assert next(iter(net.state_dict(prefix="a."))) == "a.inner._extra_state"
    del values["inner._extra_state"]
    with pytest.raises(RuntimeError, match=r"Missing key.*inner\._extra_state"):
        other.load_state_dict(values)
    assert other.load_state_dict(values, strict=False).missing_keys == ["inner._extra_state"]
    plain = nn.Dense(2, 2)
    with pytest.raises(RuntimeError, match=r"Unexpected key.*_extra_state"):
        plain.load_state_dict({**plain.state_dict(), "_extra_state": 1})
    for call in (plain.get_extra_state, lambda: plain.set_extra_state(1)):
        with pytest.raises(RuntimeError, match="define 'get_extra_state' and 'set_extra_state'"):
            call()


def test_extra_state_is_set_only_if_all_is_well() -> None:
    net = Outer()
    values: Any = {**net.state_dict(), "inner._extra_state": {"calls": 9}, "inner.dense.bias": ops.ones(5)}
    with pytest.raises(RuntimeError, match="must have shape"):
        net.load_state_dict(values)
    assert net.inner.calls == 0


def test_scopes_are_paths_of_names_and_classes() -> None:
    net = nn.SequentialCell(nn.Dense(2, 2), Outer())
    assert net[0].get_scope() is None
    net.generate_scope()
    assert [cell.get_scope() for _, cell in net.cells_and_names()] == [
        None, "Default/0-Dense", "Default/1-Outer", "Default/1-Outer/inner-Counting", "Default/1-Outer/inner-Counting/dense-Dense"]


def test_options_for_other_devices_are_kept() -> None:
    net = nn.Dense(2, 2)
    assert net.set_boost("less_bn") is net.set_broadcast_flag() is net.set_comm_fusion(2) is net
    assert net.get_flags() == {"less_bn": True, "broadcast_flag": True} and net.weight.comm_fusion == 2
    assert list(net.parameters_broadcast_dict()) == ["weight", "bias"]
    assert net.remove_redundant_parameters() is net.update_cell_type("x") is net.cast_inputs((), None) is None
    x = Tensor(np.ones((1, 2), np.float32))
    assert net.compile_and_run(x).tolist() == net(x).tolist()
    for call, error in ((lambda: net.set_boost("x"), ValueError), (lambda: net.set_comm_fusion(-1), ValueError),
                        (lambda: net.set_comm_fusion("a"), TypeError)):  # type: ignore[arg-type]
        with pytest.raises(error, match="For 'set_"):
            call()


def test_parameters_are_reset() -> None:
    cell, norm = nn.LSTMCell(2, 3), mint.nn.BatchNorm1d(2)
    before = cell.weight_ih.asnumpy().copy()
    cell.reset_parameters()
    assert (cell.weight_ih.asnumpy() != before).any() and abs(cell.weight_ih.asnumpy()).max() <= 3**-0.5
    norm.set_train()
    norm(Tensor(np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)))
    ops.assign(norm.weight, ops.zeros(2))
    assert norm.num_batches_tracked.item() == 1
    norm.reset_running_stats()
    assert (norm.running_mean.tolist(), norm.running_var.tolist(), norm.num_batches_tracked.item()) == ([0, 0], [1, 1], 0)
    assert norm.weight.tolist() == [0, 0]
    norm.reset_parameters()
    assert norm.weight.tolist() == [1, 1] and norm.bias.tolist() == [0, 0]


def test_a_missing_member_says_what_to_write() -> None:
    """As an attribute of the class or of an object, in eager mode and in a graph; a member of that name can be set."""
    x = Tensor([1.0])

    class Lacking:
        away = MissingMember("`here`")

    own = Lacking()
    for read, text in (
        (lambda: x.set_, "'Tensor' object has no attribute 'set_'. Instead: .*x.copy_"),
        (lambda: nn.Dense(2, 2).run_construct, "a call of the cell"), (lambda: ops.Add().infer_shape, "`shape` and `dtype`"),
        (lambda: own.away, "'Lacking' object has no attribute 'away'. Instead: `here`"), (lambda: jit(lambda x: x.set_(x))(x), "x.copy_"),
    ):
        with pytest.raises(AttributeError, match=text):
            read()
    assert not hasattr(x, "set_") and not hasattr(Tensor, "storage")
    own.away = 3  # pyright: ignore[reportAttributeAccessIssue]
    assert own.away == 3  # pyright: ignore[reportUnnecessaryComparison]


def test_attributes_of_operators() -> None:
    add = ops.Add()
    add.add_attr("own", 2)
    assert add.get_attr_dict() == {"own": 2} and not hasattr(add, "own")
    add.del_attr("own")
    assert add.get_attr_dict() == {} and add.set_signatures(()) is None and not add.update_parameter
    with pytest.raises(RuntimeError, match="'set_user_data' keeps it"):
        add.get_user_data("key")
    add.set_user_data("key", 3)
    assert add.get_user_data("key") == 3 and add.get_user_data("other") is None
    assert ops.Add().shard(((1, 1), (1, 1))).get_attr_dict() == {"in_strategy": ((1, 1), (1, 1))}
    with pytest.raises(TypeError, match="'in_strategy' must be a tuple"):
        add.shard(3)


def test_losses_share_what_their_base_computes() -> None:
    """MindSpore's answers: computed in Float32, in the dtype of the losses."""
    half = Tensor(np.array([1, 2], np.float16))
    for loss in (nn.KLDivLoss("sum"), nn.GaussianNLLLoss(), nn.MultiMarginLoss(), nn.MultilabelMarginLoss(), nn.TripletMarginLoss()):
        assert isinstance(loss, nn.LossBase) and loss.get_loss(Tensor([1.0, 2.0])).item() == 1.5
    for loss, given, weights, wanted in (
        (nn.L1Loss(), half, 0.5, 0.75), (nn.L1Loss("none"), half, Tensor([1.0, 0.5]), [1, 1]), (nn.L1Loss(), Tensor([1, 2]), 0.5, 0),
        (nn.L1Loss("none"), Tensor([1, 2]), 0.5, [0, 1]), (nn.L1Loss("sum"), half * 20000, 0.25, 15000),
    ):
        found = loss.get_loss(given, weights)
        assert found.dtype is given.dtype and found.tolist() == wanted
