"""Optimisers with groups of parameters, and schedules, in eager mode and in graphs; their numbers are in tests/oracle/schedules.json."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.experimental import optim
from adjoint.experimental.optim import lr_scheduler as schedules

KINDS = [name for name in optim.__all__ if name not in ("Optimizer", "lr_scheduler")]


def trained(kind: str, wrap: Any) -> list[bytes]:
    """The parameters, and what the optimiser keeps, after four steps with a schedule."""
    ms.set_seed(1)
    net, loss = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2)), nn.MSELoss()
    weights = net.trainable_params()
    optimizer = getattr(optim, kind)([{"params": weights[:2], "lr": 0.1}, {"params": weights[2:]}], lr=0.05)
    schedule = schedules.CosineAnnealingLR(optimizer, 3)
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x: Tensor, y: Tensor) -> Tensor:
        value, gradients = gradient(x, y)
        optimizer(gradients)
        schedule.step()
        return value

    draw, run = np.random.default_rng(0), wrap(step)
    for _ in range(4):
        run(Tensor(draw.normal(size=(2, 3)).astype(np.float32)), Tensor(draw.normal(size=(2, 2)).astype(np.float32)))
    return [p.asnumpy().tobytes() for p in (*net.get_parameters(), *optimizer.get_parameters(), schedule.last_epoch)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_in_a_graph_has_the_bits_of_eager_mode(kind: str) -> None:
    assert trained(kind, ms.jit) == trained(kind, lambda step: step)


def test_a_group_that_is_added_is_trained_too() -> None:
    first, second = Parameter(Tensor([1.0]), name="first"), Parameter(Tensor([1.0]), name="second")
    optimizer = optim.Adam([first], lr=0.1)
    optimizer.add_param_group({"params": [second], "lr": 0.2, "weight_decay": 0.5})
    optimizer((Tensor([1.0]), Tensor([1.0])))
    assert [first.item(), second.item()] == pytest.approx([0.9, 0.8], rel=1e-5) and optimizer.group_start_id == [0, 1, 2]
    assert "Parameter Group 1\n    amsgrad: False" in repr(optimizer) and "lr: 0.2\n" in repr(optimizer)
    optimizer.param_groups[1]["lr"] = 0.0
    optimizer((Tensor([1.0]), Tensor([1.0])))
    assert second.item() == pytest.approx(0.8, rel=1e-5)
    with pytest.raises(ValueError, match="one gradient for each of the 2 parameters, but got 1"):
        optimizer((Tensor([1.0]),))


def test_an_optimiser_of_ones_own() -> None:
    class Descent(optim.Optimizer):
        def construct(self, gradients: Any) -> bool:
            for number, group in enumerate(self.param_groups):
                for place, parameter in enumerate(group["params"]):
                    ops.assign(parameter, parameter - gradients[self.group_start_id[number] + place] * group["lr"])
            return True

    for wrap in (lambda step: step, ms.jit):
        weight = Parameter(Tensor([1.0, 2.0]), name="weight")
        optimizer = Descent([weight], {"lr": 0.5})
        wrap(lambda gradient, optimizer=optimizer: optimizer((gradient,)))(Tensor([1.0, 2.0]))
        assert weight.tolist() == [0.5, 1.0]


def test_a_schedule_goes_to_any_step() -> None:
    weight = Parameter(Tensor([1.0]), name="weight")
    for make in (lambda o: schedules.StepLR(o, 2, 0.5), lambda o: schedules.MultiStepLR(o, [2, 4], 0.5), lambda o: schedules.LinearLR(o),
                 lambda o: schedules.ExponentialLR(o, 0.5), lambda o: schedules.PolynomialLR(o), lambda o: schedules.ConstantLR(o),
                 lambda o: schedules.CosineAnnealingWarmRestarts(o, 2, 2)):
        stepped, jumped = (make(optim.SGD([weight], 1.0)) for _ in range(2))
        for _ in range(4):
            stepped.step()
        jumped.step(4)
        assert jumped.get_last_lr()[0].item() == pytest.approx(stepped.get_last_lr()[0].item(), rel=1e-6)
