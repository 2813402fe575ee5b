"""Mixed precision and loss scales, where MindSpore's CPU has no answers: graphs, white lists, steps that overflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, amp, nn, ops

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Net(nn.Cell):
    """A white cell, a black one, a white operator, and a cell of its own precision; it writes down the dtypes that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 3)
        self.norm = nn.LayerNorm((3,))
        self.matmul = ops.MatMul()
        self.own = nn.Dense(3, 3).to_float(ms.bfloat16)
        self.weight = Parameter(Tensor(np.eye(3, dtype=np.float32)), name="weight")

    def construct(self, x: Tensor) -> tuple[Tensor, ...]:
        dense = self.dense(x)
        norm = self.norm(dense)
        product = self.matmul(norm, self.weight)
        return dense, norm, product, self.own(product)


F16, F32, BF16 = ms.float16, ms.float32, ms.bfloat16


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
@pytest.mark.parametrize(("level", "seen", "half"), [
    ("O0", (F32, F32, F32, BF16), False), ("O1", (F32, F32, F32, BF16), True), ("O2", (F32, F32, F32, F32), True),
])
def test_levels(level: str, seen: tuple[Any, ...], half: bool, mode: int) -> None:
    ms.set_context(mode=mode)
    net = Net()
    exact = net.dense(Tensor(X))
    names = [p.name for p in net.get_parameters()]
    assert amp.auto_mixed_precision(net, level) is net and [p.name for p in net.get_parameters()] == names
    found = net(Tensor(X))
    assert tuple(x.dtype for x in found) == seen
    rounded = found[0].asnumpy()
    assert (rounded == rounded.astype(np.float16)).all() == half and np.allclose(rounded, exact.asnumpy(), atol=2e-3)
    assert all(p.dtype is F32 for p in net.get_parameters()), "parameters stay as they are"


def test_cells_of_lists() -> None:
    net = amp.custom_mixed_precision(Net(), white_list=[nn.LayerNorm], dtype=BF16)
    assert net.norm._cell_compute is BF16 and net.dense._cell_compute is None
    net = amp.custom_mixed_precision(Net(), black_list=[nn.Dense])
    assert net.dense._cell_compute is F32 and net.norm._cell_compute is F16
    assert nn.Dense in amp.get_white_list() and ops.MatMul in amp.get_white_list() and nn.BatchNorm2d in amp.get_black_list()
    amp.get_white_list().clear()
    assert amp.get_white_list()


def test_a_result_comes_to_its_dtype_in_containers_and_keeps_integers() -> None:
    class Mixed(nn.Cell):
        def construct(self, x: Tensor) -> Any:
            return {"x": [x * 2, (x.argmax(), 3)]}

    found = amp.auto_mixed_precision(Mixed(), "O3")(Tensor(X))["x"]
    assert found[0].dtype is F32 and found[1][0].dtype.is_integer and found[1][1] == 3


class Square(nn.Cell):
    """w * x, summed: the gradient of w is x."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([1.0, 1.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return (self.w * x).sum()


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def test_a_step_that_overflows_changes_no_parameter_and_the_scale(mode: int) -> None:
    """The scale falls by the factor where a gradient is not finite, to 1 at least, and grows after steps in which all were."""
    ms.set_context(mode=mode)
    net = Square()
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), nn.DynamicLossScaleUpdateCell(8.0, 2, 2))
    seen = []
    for x in ([1.0, 2.0], [np.inf, 0.0], [1.0, 1.0], [1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [np.inf, 1.0], [np.inf, 1.0]):
        _, overflow, scale = step(Tensor(x, F32))
        seen.append((bool(overflow), float(scale), float(step.scale_sense), net.w.asnumpy().tolist()))
    first = [0.5, 0.0]
    assert seen[:3] == [(False, 8.0, 8.0, first), (True, 8.0, 4.0, first), (False, 4.0, 4.0, [0.0, -0.5])]
    assert [line[:3] for line in seen[3:]] == [(False, 4.0, 8.0), (True, 8.0, 4.0), (True, 4.0, 2.0), (True, 2.0, 1.0), (True, 1.0, 1.0)]
    assert seen[-1][3] == [-0.5, -1.0]


def test_a_scale_that_is_a_tensor_is_set_by_hand() -> None:
    net = Square()
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), Tensor([4.0]))
    assert step(Tensor([1.0, 2.0]))[2].tolist() == [4.0] and net.w.asnumpy().tolist() == [0.5, 0.0]
    step.set_sense_scale(Tensor([16.0]))
    assert step(Tensor([1.0, 2.0]))[2].tolist() == [16.0]
    with pytest.raises(TypeError, match="must be Tensor"):
        step.set_sense_scale(3)  # pyright: ignore[reportArgumentType] - what is tested
    for wrong, kind in ((Tensor([1.0, 2.0]), ValueError), (3.0, TypeError)):
        with pytest.raises(kind, match="'scale_sense'"):
            nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), wrong)


@pytest.mark.parametrize("scale, overflow, kind", [
    (Tensor(8.0), True, TypeError), (Tensor(8.0), Tensor(1.0), TypeError), (Tensor(8.0), Tensor([True, False]), ValueError),
    (8.0, Tensor(True), TypeError), (Tensor(True), Tensor(True), TypeError),
])
def test_a_wrong_scale_or_overflow_leaves_the_steps_uncounted(scale: Any, overflow: Any, kind: type[Exception]) -> None:
    choosing = nn.DynamicLossScaleUpdateCell(8.0, 2, 2)
    before = [float(p) for p in choosing.get_parameters()]
    with pytest.raises(kind, match=r"For 'DynamicLossScaleUpdateCell', the argument '(loss_scale|overflow)' must"):
        choosing(scale, overflow)
    assert [float(p) for p in choosing.get_parameters()] == before


def test_a_step_of_ones_own_is_written_as_mindspores() -> None:
    class Step(nn.TrainOneStepWithLossScaleCell):
        def construct(self, x: Tensor) -> Any:
            loss = self.network(x)
            status, scale = self.start_overflow_check(loss, self.scale_sense)
            gradients = self.grad(self.network, self.weights)(x, ops.fill(loss.dtype, loss.shape, 1.0) * scale)
            gradients = ops.HyperMap()(lambda g: g / scale, gradients)
            gradients = self.grad_reducer(gradients)
            overflow = self.process_loss_scale(self.get_overflow_status(status, gradients))
            if not overflow:
                loss = ops.depend(loss, self.optimizer(gradients))
            return loss, overflow

    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = Square()
        step = Step(net, nn.SGD(net.trainable_params(), 0.5), nn.FixedLossScaleUpdateCell(4.0))
        assert [bool(step(Tensor(x, F32))[1]) for x in ([1.0, 2.0], [np.inf, 1.0])] == [False, True]
        assert net.w.asnumpy().tolist() == [0.5, 0.0]


def test_gradients_pass_through_a_reducer_before_the_optimiser_gets_them() -> None:
    net = Square()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5))
    step.reducer_flag, step.grad_reducer = True, lambda gradients: tuple(2 * g for g in gradients)
    step(Tensor([1.0, 2.0]))
    assert net.w.asnumpy().tolist() == [0.0, -1.0]


def test_numbers_that_are_not_finite() -> None:
    for values, wanted in (([1.0, 2.0], 0.0), ([1.0, np.inf], 1.0), ([np.nan, 1.0], 1.0)):
        found = ops.FloatStatus()(Tensor(values, F32))
        assert found.tolist() == [wanted] and found.dtype is F32
    with pytest.raises(TypeError, match="FloatStatus"):
        ops.FloatStatus()(Tensor([1]))
