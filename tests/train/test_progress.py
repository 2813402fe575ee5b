"""The bar on terminals: what it shows, and that nothing of it is anywhere else."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import adjoint as ms
from adjoint import nn
from adjoint.train import LossMonitor, Model
from adjoint.train import model as module
from adjoint.train.progress import ProgressBar

BATCHES = [(np.ones((2, 4), np.float32) * i, np.zeros(2, np.int32)) for i in range(3)]


def model() -> Model:
    net = nn.Dense(4, 3)
    return Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"acc"})


def test_a_bar_shows_epoch_step_and_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None, _environ={})
    monkeypatch.setattr("adjoint.train.progress._SECONDS", -1.0)
    ms.set_seed(0)
    model().train(2, BATCHES, [LossMonitor(3), ProgressBar(2, console)])
    shown = out.getvalue()
    for part in ("epoch 1/2", "epoch 2/2", "1/3", "3/3", "loss ", "epoch: 2 step: 3, loss is "):
        assert part in shown
    assert shown.index("epoch: 1 step: 3") < shown.index("epoch 2/2")


@pytest.mark.parametrize(("terminal", "setting", "bars"), [(True, None, 1), (True, "1", 1), (True, "0", 0), (False, None, 0)])
def test_where_there_is_a_bar(terminal: bool, setting: str | None, bars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", type("Out", (io.StringIO,), {"isatty": lambda self: terminal})())
    monkeypatch.delenv("ADJOINT_PROGRESS", raising=False)
    if setting is not None:
        monkeypatch.setenv("ADJOINT_PROGRESS", setting)
    assert len(module._bar(1)) == bars


def test_no_bar_is_among_the_callbacks_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(module, "_bar", lambda epochs: [ProgressBar(epochs, Console(file=io.StringIO()))])
    look = ms.train.LambdaCallback(on_train_begin=lambda context: seen.extend(context.original_args().list_callback))
    model().train(1, BATCHES, look)
    assert seen == [look]
