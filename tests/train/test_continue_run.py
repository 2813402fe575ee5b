"""A run that was interrupted goes on to the bits of one that was not."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn
from adjoint.train import (
    Callback,
    ContinueRun,
    DynamicLossScaleManager,
    EarlyStopping,
    History,
    LambdaCallback,
    LossMonitor,
    Model,
    RunState,
)

ROWS = np.random.RandomState(1).randn(20, 4).astype(np.float32)
CLASSES = np.random.RandomState(2).randint(0, 3, 20).astype(np.int32)
REPOSITORY = Path(__file__).parents[2]


class Interrupted(Exception):
    """Ends a run as a failure in a callback would."""


class InterruptAt(Callback):
    """Raises at a hook, at its first call at or behind a step."""

    def __init__(self, hook: str, step: int):
        def interrupt(run_context: Any) -> None:
            if run_context.original_args().cur_step_num >= step:
                raise Interrupted

        setattr(self, hook, interrupt)


class Shuffled:
    """Batches in an order that NumPy's global stream chooses for each epoch."""

    def __len__(self) -> int:
        return 5

    def __iter__(self) -> Iterator[Any]:
        for i in np.random.permutation(5):
            yield ROWS[4 * i : 4 * i + 4], CLASSES[4 * i : 4 * i + 4]


class Halving(Callback):
    """Halves the learning rate when an epoch begins: once for each, however often the run is interrupted."""

    def on_train_epoch_begin(self, run_context: Any) -> None:
        rate = run_context.original_args().optimizer.learning_rate
        ms.ops.assign(rate, rate * 0.5)


class Random(Callback):
    """Keeps a random number of each step, of all three streams."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_train_step_end(self, run_context: Any) -> None:
        self.seen += [random.random(), np.random.rand(), float(ms.ops.uniform((1,), Tensor(0.0), Tensor(1.0)).item())]

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]


def lists() -> Any:
    return [(ROWS[i : i + 4], CLASSES[i : i + 4]) for i in range(0, 20, 4)]


def pipeline() -> Any:
    return ms.dataset.NumpySlicesDataset((ROWS, CLASSES), shuffle=True).batch(4)


def network() -> nn.Cell:
    return nn.SequentialCell(nn.Dense(4, 8), nn.BatchNorm1d(8), nn.Dropout(p=0.5), nn.Dense(8, 3))


def adam(net: nn.Cell, rate: Any = 0.01) -> Any:
    return nn.Adam(net.trainable_params(), rate)


def model(kind: str, rate: Any = 0.01) -> Model:
    net = network()
    loss = nn.CrossEntropyLoss()
    if kind == "scaled":
        manager = DynamicLossScaleManager(2.0**8, 2, 3)
        return Model(net, loss, adam(net, rate), amp_level="O2", loss_scale_manager=manager, metrics={"acc"})
    if kind == "schedule":
        return Model(net, loss, nn.Momentum(net.trainable_params(), nn.CosineDecayLR(0.0, 0.1, 15), 0.9), metrics={"acc"})
    return Model(net, loss, adam(net, rate), metrics={"acc"})


def ran(made: Model, data: Any, callbacks: list[Callback], epochs: int = 3) -> dict[str, bytes]:
    """The parameters behind the run, by their names."""
    made.fit(epochs, data, lists(), callbacks=callbacks)
    return {p.name: p.asnumpy().tobytes() for p in made.train_network.get_parameters()}


def callbacks() -> list[Any]:
    return [Random(), History(), EarlyStopping("acc", patience=9, restore_best_weights=True)]


def seeds(seed: int) -> None:
    """Begin all random streams anew."""
    ms.set_seed(seed)
    random.seed(seed)


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize(("kind", "data", "mode"), [
    ("plain", pipeline, ms.PYNATIVE_MODE), ("plain", pipeline, ms.GRAPH_MODE), ("scaled", Shuffled, ms.PYNATIVE_MODE),
    ("scaled", lists, ms.GRAPH_MODE), ("schedule", Shuffled, ms.PYNATIVE_MODE),
])
def test_an_interrupted_run_has_the_bits_of_an_undisturbed_one(kind: str, data: Any, mode: int, tmp_path: Path) -> None:
    """It is interrupted in each of its parts: between hooks, in an evaluation, at the end of an epoch, and goes on each time."""
    ms.set_context(mode=mode)
    file = tmp_path / "run.ckpt"
    seeds(5)
    undisturbed = callbacks()
    wanted = ran(model(kind), data(), undisturbed)
    for hook, step in (("on_train_step_begin", 3), ("on_train_step_end", 5), ("on_eval_step_end", 2), ("on_train_epoch_end", 6),
                       ("on_train_step_end", 12), ("on_train_end", 15)):
        seeds(5)
        with pytest.raises(Interrupted):
            ran(model(kind), data(), [*callbacks(), InterruptAt(hook, step), ContinueRun(file, save_steps=2)])
        seeds(77)  # as a new process has other streams
    seen = callbacks()
    assert ran(model(kind), data(), [*seen, ContinueRun(file, save_steps=2)]) == wanted
    assert seen[0].seen == undisturbed[0].seen and seen[1].history == undisturbed[1].history and seen[2].best == undisturbed[2].best
    assert not file.exists(), "the run is done"


def test_what_hooks_change_when_an_epoch_begins_is_changed_once(tmp_path: Path) -> None:
    ms.set_seed(1)
    wanted = ran(model("plain"), lists(), [Halving()])
    for step in (2, 4, 8):
        ms.set_seed(1)
        with pytest.raises(Interrupted):
            ran(model("plain"), lists(), [Halving(), InterruptAt("on_train_step_end", step), ContinueRun(tmp_path / "run", save_steps=1)])
    assert ran(model("plain"), lists(), [Halving(), ContinueRun(tmp_path / "run", save_steps=1)]) == wanted


def test_a_run_that_is_done_is_kept_if_asked_and_can_be_made_longer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ms.set_seed(1)
    wanted = ran(model("plain"), lists(), [], epochs=4)
    ms.set_seed(1)
    ran(model("plain"), lists(), [ContinueRun(tmp_path / "run", keep=True)], epochs=2)
    assert ran(model("plain"), lists(), [ContinueRun(tmp_path / "run", keep=True)], epochs=4) == wanted
    assert capsys.readouterr().out == f"Continuing the run in '{tmp_path}/run.ckpt' behind epoch 2.\n"
    assert ran(model("plain"), lists(), [ContinueRun(tmp_path / "run", keep=True)], epochs=4) == wanted
    with pytest.raises(ValueError, match="in epoch 4, but 'epoch', where it ends, is 3"):
        ran(model("plain"), lists(), [ContinueRun(tmp_path / "run")], epochs=3)


@pytest.mark.parametrize(("hook", "step"), [("on_train_epoch_end", 5), ("on_train_step_end", 3), ("on_train_step_end", 13)])
def test_a_stop_that_was_asked_for_stays(hook: str, step: int, tmp_path: Path) -> None:
    def stop(context: Any) -> None:
        if context.original_args().cur_step_num == step:
            context.request_stop()

    stops = LambdaCallback(**{hook: stop})
    ms.set_seed(1)
    wanted = ran(model("plain"), lists(), [stops])
    ms.set_seed(1)
    with pytest.raises(Interrupted):
        ran(model("plain"), lists(), [stops, InterruptAt("on_train_end", 1), ContinueRun(tmp_path / "run", save_steps=1)])
    assert ran(model("plain"), lists(), [ContinueRun(tmp_path / "run")]) == wanted


def test_another_run_is_refused_before_anything_changes(tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    ran(model("plain"), lists(), [ContinueRun(file, keep=True)], epochs=1)
    begun = file.read_bytes()
    other = model("plain", rate=0.5)
    before = {p.name: p.asnumpy().tobytes() for p in other.train_network.get_parameters()}
    for made, data, said in (
        (other, lists(), r"learning_rate: 0.0099.* in the file, 0.5 in this program"),
        (model("plain"), lists()[:3], "batches in an epoch: 5 in the file, 3 in this program"),
        (model("schedule"), lists(), "moment1"),
    ):
        with pytest.raises(ValueError, match=said):
            made.train(3, data, callbacks=ContinueRun(file))
    assert {p.name: p.asnumpy().tobytes() for p in other.train_network.get_parameters()} == before
    file.write_bytes(begun[:-40])
    with pytest.raises(ValueError, match="damaged"):
        model("plain").train(3, lists(), callbacks=ContinueRun(file))
    ms.save_checkpoint(network(), str(file))
    with pytest.raises(ValueError, match="not of a run"):
        model("plain").train(3, lists(), callbacks=ContinueRun(file))


def test_a_callback_that_is_new_begins_anew(tmp_path: Path) -> None:
    ran(model("plain"), lists(), [ContinueRun(tmp_path / "run", keep=True)], epochs=1)
    ran(model("plain"), lists(), [LossMonitor(0), ContinueRun(tmp_path / "run", keep=True)], epochs=2)


# -- a loop of one's own ---------------------------------------------------------------------------------------------------
def test_a_loop_of_ones_own_goes_on(tmp_path: Path) -> None:
    def loop(interrupted: int | None) -> list[bytes]:
        net = network().set_train()
        optimizer = adam(net)
        loss = nn.CrossEntropyLoss()
        step = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
        rows = pipeline().create_tuple_iterator(num_epochs=3)
        state = RunState(tmp_path / "loop", network=net, optimizer=optimizer, data=rows)
        progress = state.load() or {"epoch": 0, "step": 0}
        number = progress["step"]
        for epoch in range(progress["epoch"], 3):
            for x, y in rows:
                if number == interrupted:
                    return []
                _, gradients = step(x, y)
                optimizer(gradients)
                number += 1
                state.save(epoch=epoch, step=number)
        state.delete()
        return [p.asnumpy().tobytes() for p in net.get_parameters()]

    ms.set_seed(3)
    wanted = loop(None)
    for interrupted in (4, 5, 9):
        ms.set_seed(3)
        assert loop(interrupted) == []
    ms.set_seed(8)
    assert loop(None) == wanted and len(wanted) == 8


def test_parts_that_cannot_be_saved_are_named(tmp_path: Path) -> None:
    class Odd:
        def state_dict(self) -> Any:
            return {"a": [1, {2, 3}]}

        def load_state_dict(self, state: Any) -> None:
            raise AssertionError(state)

    with pytest.raises(TypeError, match="'step' must be a Cell, or have the methods 'state_dict'"):
        RunState(tmp_path / "run", step=3)
    with pytest.raises(TypeError, match=r"odd.state_dict\(\)\['a'\]\[1\] must be numbers"):
        RunState(tmp_path / "run", odd=Odd()).save()
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=r"os\.makedirs"):
        RunState(tmp_path / "no" / "run")
    with pytest.raises(TypeError, match="the name of a file"):
        RunState(3)  # pyright: ignore[reportArgumentType] - what is tested


# -- a process that is killed ----------------------------------------------------------------------------------------------
def test_a_run_killed_at_twenty_random_moments_goes_on(tmp_path: Path) -> None:
    """The moments are calls of functions, Python's and C's, anywhere in the run: in a step, a hook, the writing of a file."""
    done = subprocess.run([sys.executable, Path(__file__).with_name("killed_run.py"), tmp_path, "20"], capture_output=True, text=True,
                          timeout=600, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == 20 and told["same"] == [True] * told["runs"]
    assert told["left"] == [], "nothing of a killed process is left"
