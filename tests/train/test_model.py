"""What `Model` and its callbacks do beyond MindSpore's answers: hooks of cells, kinds of data, failures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn
from adjoint.train import Callback, CheckpointConfig, LambdaCallback, LearningRateScheduler, Model, ModelCheckpoint, SummaryCollector

X = np.random.RandomState(0).randn(8, 4).astype(np.float32)
Y = np.random.RandomState(1).randint(0, 3, 8).astype(np.int32)
BATCHES = [(X[:4], Y[:4]), (X[4:], Y[4:])]


def model(net: nn.Cell | None = None, **options: Any) -> Model:
    net = net or nn.Dense(4, 3)
    return Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9), **options)


def numbers(net: nn.Cell) -> list[bytes]:
    return [p.asnumpy().tobytes() for p in net.get_parameters()]


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Jitted(nn.Cell):
    """A network whose construct is a graph, in eager mode too."""

    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net

    @ms.jit
    def construct(self, x: Tensor) -> Tensor:
        return self.net(x)


def test_hooks_of_cells_fire_in_every_step_and_change_the_training_alike_in_each_mode() -> None:
    results = []
    for mode, outer in ((ms.PYNATIVE_MODE, lambda net: net), (ms.GRAPH_MODE, lambda net: net), (ms.PYNATIVE_MODE, Jitted)):
        ms.set_context(mode=mode)
        ms.set_seed(0)
        seen: list[float] = []
        net = nn.SequentialCell(nn.Dense(4, 5), nn.ReLU(), nn.Dense(5, 3))

        def halve(cell: Any, grad_input: Any, grad_output: Any, seen: list[float] = seen) -> Any:
            seen.append(float(np.abs(grad_output[0].asnumpy()).sum()))
            return (grad_input[0] * 0.5,)

        net[2].register_backward_hook(halve)
        model(outer(net)).train(2, BATCHES)
        results.append((seen, numbers(net)))
    assert results[0] == results[1] == results[2] and len(results[0][0]) == 4


def test_what_data_may_be() -> None:
    class Loader:
        """As programs write one: it can be iterated anew for each epoch."""

        def __iter__(self) -> Iterator[Any]:
            return iter(BATCHES)

        def get_dataset_size(self) -> int:
            return 2

    net = nn.Dense(4, 3)
    start = [p.value().copy() for p in net.get_parameters()]
    found = []
    pipeline = ms.dataset.NumpySlicesDataset((X, Y), shuffle=False).batch(4)
    for data in (BATCHES, [(Tensor(x), Tensor(y)) for x, y in BATCHES], Loader(), pipeline):
        for parameter, value in zip(net.get_parameters(), start, strict=True):
            parameter.set_data(value)
        model(net).train(2, data)
        found.append(numbers(net))
    assert found[1:] == found[:-1]


@pytest.mark.parametrize(("data", "kind", "said"), [
    (iter(BATCHES), TypeError, "must be a dataset, or something with a length .* but got an object of type list_iterator"),
    (X, TypeError, "of type ndarray"), ({"x": X}, TypeError, "of type dict"), (3, TypeError, "of type int"),
    ([], ValueError, "has no batches"),
    ([X[:4]], ValueError, "should return two elements, but got 1"),
])
def test_data_that_does_not_do(data: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        model().train(1, data)


def test_networks_that_bring_their_own_loss_and_evaluation() -> None:
    class WithLoss(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Dense(4, 3)

        def construct(self, x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
            return (ms.ops.cross_entropy(self.dense(x), y, reduction="none") * weight).mean()

    class Evaluation(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return y, x.sum(), x

    net = WithLoss()
    made = Model(net, optimizer=nn.SGD(net.trainable_params(), 0.1), metrics={"acc": ms.train.Accuracy(), "loss": ms.train.Loss()},
                 eval_network=Evaluation(), eval_indexes=[1, 2, 0])
    made.train(1, [(X[:4], np.ones(4, np.float32), Y[:4])])
    assert made.eval([(X[:4, :3], X[:4, :3].argmax(1))])["acc"] == 1.0
    whole = Model(net, metrics={"mse": ms.train.MSE()}, eval_network=nn.SequentialCell(nn.Identity()))
    with pytest.raises(ValueError, match="needs 2 inputs"):
        whole.eval([X])
    trains = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    before = numbers(net)
    Model(trains).train(1, [(X[:4], np.ones(4, np.float32), Y[:4])])
    assert numbers(net) != before, "a network that makes the step itself"


def test_modes_of_training_and_evaluation() -> None:
    seen = []

    class Look(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Dense(4, 3)

        def construct(self, x: Tensor) -> Tensor:
            seen.append(self.training)
            return self.dense(x)

    made = model(Look(), metrics={"acc"})
    made.fit(2, BATCHES[:1], BATCHES[:1])
    made.predict(Tensor(X))
    assert seen == [True, False, True, False, False]


def test_eval_loss_is_the_mean_over_all_batches() -> None:
    seen = []
    made = model(metrics={"loss"})
    look = LambdaCallback(on_train_epoch_end=lambda context: seen.append(context.original_args().eval_results))
    made.fit(1, BATCHES, BATCHES, callbacks=look)
    assert seen[0]["eval_loss"] == seen[0]["loss"] == made.eval(BATCHES)["loss"]


def test_the_curves_of_several_classes_are_those_of_each() -> None:
    """MindSpore's are none: it reads the scores of one class from the rows of all."""
    scores = np.random.RandomState(3).rand(9, 3).astype(np.float32)
    labels = np.arange(9) % 3
    found = ms.train.ROC(class_num=3)(Tensor(scores), Tensor(labels))
    for c in range(3):
        alone = ms.train.ROC(pos_label=1)(Tensor(scores[:, c]), Tensor((labels == c).astype(np.int32)))
        assert all((part[c] == one).all() for part, one in zip(found, alone, strict=True))


def test_a_run_goes_on_from_one_place() -> None:
    with pytest.raises(ValueError, match="one place to go on from"):
        model().train(1, BATCHES, [ms.train.ContinueRun("a"), ms.train.ContinueRun("b")])


def test_a_backup_is_loaded_when_the_next_training_begins(tmp_path: Path) -> None:
    def fail(context: Any) -> None:
        if context.original_args().cur_epoch_num == 3:
            raise RuntimeError("mine")

    made = model()
    kept: list[bytes] = []
    with pytest.raises(RuntimeError, match="mine"):
        made.train(5, BATCHES, [LambdaCallback(on_train_epoch_end=lambda context: kept.append(numbers(made.predict_network)[0]),
                                               on_train_epoch_begin=fail), ms.train.BackupAndRestore(tmp_path)])
    again = model()
    begun: list[bytes] = []
    again.train(1, BATCHES, [ms.train.BackupAndRestore(tmp_path),
                             LambdaCallback(on_train_epoch_begin=lambda context: begun.append(numbers(again.predict_network)[0]))])
    assert begun == [kept[1]] and list(tmp_path.iterdir()) == []


def test_arguments_that_are_not_there_yet() -> None:
    with pytest.raises(AttributeError, match=r"There is no 'net_outputs' in the arguments of this run at this point, only .*'batch_num'"):
        model().train(1, BATCHES, LambdaCallback(on_train_begin=lambda context: context.original_args().net_outputs))


def test_callbacks_are_left_when_the_run_fails() -> None:
    left = []

    class Guard(Callback):
        def __exit__(self, *raised: Any) -> None:
            left.append(raised[0])

        def on_train_step_end(self, run_context: Any) -> None:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model().train(1, BATCHES, [Guard(), Guard()])
    assert left == [KeyError, KeyError]


# -- checkpoints -----------------------------------------------------------------------------------------------------------
def test_a_run_that_fails_leaves_a_checkpoint_if_asked(tmp_path: Path) -> None:
    def fail(context: Any) -> None:
        if context.original_args().cur_step_num == 3:
            raise RuntimeError("mine")

    config = CheckpointConfig(save_checkpoint_steps=100, exception_save=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="mine"):
            model().train(9, BATCHES, [ModelCheckpoint("net", tmp_path, config), LambdaCallback(on_train_step_end=fail)])
    assert sorted(os.listdir(tmp_path)) == ["net-2_1_breakpoint.ckpt", "net_1-2_1_breakpoint.ckpt"]


def test_names_and_folders_by_functions(tmp_path: Path) -> None:
    prefixes = ModelCheckpoint(lambda run: f"step{run.cur_step_num}", lambda run: str(tmp_path / f"epoch{run.cur_epoch_num}"))
    model().train(2, BATCHES, prefixes)
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.ckpt")) == [
        "epoch1/step1.ckpt", "epoch1/step2.ckpt", "epoch2/step3.ckpt", "epoch2/step4.ckpt"]
    with pytest.raises(ValueError, match="it is callable and must return a string"):
        model().train(1, BATCHES, ModelCheckpoint(lambda run: "a/b"))


def test_checkpoints_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file for each 10 seconds, and of those of the last minutes the oldest is kept."""
    now = [0.0]
    monkeypatch.setattr("adjoint.train.callback.checkpoint.time.time", lambda: now[0])

    def tick(context: Any) -> None:
        now[0] += 6.0

    config = CheckpointConfig(save_checkpoint_steps=0, save_checkpoint_seconds=10, keep_checkpoint_max=9)
    model().train(3, BATCHES, [LambdaCallback(on_train_step_begin=tick), ModelCheckpoint("net", tmp_path, config)])
    assert sorted(os.listdir(tmp_path)) == ["net-1_2.ckpt", "net-2_2.ckpt", "net-3_2.ckpt"]


def test_a_checkpoint_gives_the_training_back(tmp_path: Path) -> None:
    made = model()
    made.train(2, BATCHES, ModelCheckpoint("net", tmp_path))
    again = model()
    missing = ms.load_param_into_net(again.train_network, ms.load_checkpoint(str(tmp_path / "net-2_2.ckpt")))
    assert missing == ([], [])
    for one in (made, again):
        one.train(1, BATCHES)
    assert numbers(made.train_network) == numbers(again.train_network)


# -- learning rates and summaries ------------------------------------------------------------------------------------------
def test_a_schedule_is_no_rate_to_set() -> None:
    net = nn.Dense(4, 3)
    for rate in ([0.1] * 9, nn.CosineDecayLR(0.0, 0.1, 9)):
        made = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), rate))
        with pytest.raises(ValueError, match="LearningRateScheduler does not support dynamic learning rate"):
            made.train(1, BATCHES, LearningRateScheduler(lambda rate, step: rate))


def test_summaries_need_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"pip install 'adjoint\[summary\]'"):
        model().train(1, BATCHES, SummaryCollector(str(tmp_path)))


def test_summaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written, and at which steps; the package's own files are not looked into."""
    written: list[Any] = []

    class SummaryWriter:
        def __init__(self, folder: str):
            written.append(folder)

        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, step))

        def add_histogram(self, name: str, values: Any, step: int) -> None:
            written.append((name, values.shape, step))

        def add_text(self, name: str, text: str) -> None:
            written.append((name, text))

        def close(self) -> None:
            written.append("closed")

    monkeypatch.setitem(__import__("sys").modules, "tensorboardX", type("Module", (), {"SummaryWriter": SummaryWriter}))
    collector = SummaryCollector(tmp_path, 2, collect_specified_data={"histogram_regular": "weight"}, custom_lineage_data={"lr": 0.1})
    model(metrics={"acc"}).fit(1, BATCHES, BATCHES, callbacks=collector)
    steps = [(name, *shape, step) for step in (1, 2) for name, *shape in (
        ("loss/auto",), ("learning_rate/auto",), ("weight/auto", (3, 4)))]
    assert written == [str(tmp_path), ("lr", "0.1"), *steps, ("acc", 2), ("eval_loss", 2), "closed"]
    with pytest.raises(ValueError, match="must be among 'collect_metric'"):
        SummaryCollector(str(tmp_path), collect_specified_data={"metric": True})
