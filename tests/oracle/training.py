"""Small programs that train: run by MindSpore when they are recorded, by adjoint when they are tested.

Each returns what it saw: printed lines, the order of hooks, names of files, values.  `batches` makes a dataset of arrays; the recorder
sets it to MindSpore's pipeline, the tests to plain lists.
"""

# pyright: reportMissingImports=false

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.train import (
    F1,
    MAE,
    MSE,
    ROC,
    Accuracy,
    BackupAndRestore,
    Callback,
    CheckpointConfig,
    ConfusionMatrix,
    ConfusionMatrixMetric,
    CosineSimilarity,
    Dice,
    DynamicLossScaleManager,
    EarlyStopping,
    Fbeta,
    FixedLossScaleManager,
    History,
    LambdaCallback,
    LearningRateScheduler,
    Loss,
    LossMonitor,
    Model,
    ModelCheckpoint,
    Perplexity,
    Precision,
    Recall,
    ReduceLROnPlateau,
    TimeMonitor,
    Top1CategoricalAccuracy,
    TopKCategoricalAccuracy,
    auc,
)

PROGRAMS: dict[str, Callable[[], Any]] = {}
batches: Any = None


def program(make: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[make.__name__] = make
    return make


def plain(value: Any) -> Any:
    """A result as JSON has it: arrays and tuples as lists, NumPy's scalars as numbers."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


random = np.random.RandomState(0)
X = random.randn(12, 4).astype(np.float32)
Y = random.randint(0, 3, (12,)).astype(np.int32)
W = (random.randn(3, 4) * 0.3).astype(np.float32)
DIGITS = re.compile(r"\d+\.\d+ ms")


def data(count: int = 12) -> Any:
    return batches(X[:count], Y[:count], 4)


def net() -> Any:
    return nn.Dense(4, 3, weight_init=Tensor(W), bias_init="zeros")


def model(network: Any = None, metrics: Any = None, **options: Any) -> Any:
    network = network or net()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    return Model(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer, metrics, **options)


def lines(run: Callable[[], Any]) -> list[str]:
    """What is printed, with losses rounded and times left out."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run()
    rounded = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.4f}", out.getvalue())
    return DIGITS.sub("T ms", rounded).splitlines()


class Recorder(Callback):
    """Writes down each hook with the state of the run."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __enter__(self) -> Any:
        self.seen.append("enter")
        return self

    def __exit__(self, *raised: Any) -> None:
        self.seen.append("exit")


def hook(name: str) -> Callable[[Any, Any], None]:
    def note(self: Any, run_context: Any) -> None:
        run = run_context.original_args()
        results = "metrics" in run, "eval_results" in run
        self.seen.append([name, run.mode, run.get("cur_epoch_num"), run.cur_step_num, run.batch_num, *results])

    return note


for of in ("train", "eval"):
    for place in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"):
        setattr(Recorder, f"on_{of}_{place}", hook(f"on_{of}_{place}"))


@program
def train_prints() -> Any:
    return lines(lambda: model().train(2, data(), callbacks=[LossMonitor(), TimeMonitor()]))


@program
def every_second_loss_and_the_time_of_data() -> Any:
    return lines(lambda: model().train(2, data(), callbacks=[LossMonitor(2), TimeMonitor(data_time=True)]))


@program
def eval_prints() -> Any:
    made = model(metrics={"acc", "loss"})
    return lines(lambda: print(sorted(made.eval(data(), callbacks=TimeMonitor()).items())))


@program
def fit_prints() -> Any:
    made = model(metrics={"acc"})
    return lines(lambda: made.fit(3, data(), data(8), valid_frequency=[1, 3], callbacks=[LossMonitor(), TimeMonitor(3)]))


@program
def a_sink_is_no_sink_on_the_cpu() -> Any:
    return lines(lambda: model().train(2, data(), callbacks=LossMonitor(), dataset_sink_mode=True, sink_size=2))


@program
def later_epochs() -> Any:
    recorder = Recorder()
    return lines(lambda: model().train(3, data(), callbacks=[LossMonitor(3), recorder], initial_epoch=2)), recorder.seen


@program
def hooks_of_train() -> Any:
    recorder = Recorder()
    model().train(2, data(8), callbacks=[recorder])
    return recorder.seen


@program
def hooks_of_eval() -> Any:
    recorder = Recorder()
    model(metrics={"acc"}).eval(data(8), callbacks=recorder)
    return recorder.seen


@program
def hooks_of_fit() -> Any:
    recorder = Recorder()
    model(metrics={"acc"}).fit(2, data(8), data(4), callbacks=[recorder])
    return recorder.seen


@program
def a_stop_in_the_first_epoch() -> Any:
    class Stop(Recorder):
        def on_train_step_end(self, run_context: Any) -> None:
            super().on_train_step_end(run_context)  # pyright: ignore[reportAttributeAccessIssue] - set above
            run_context.request_stop()

    recorder = Stop()
    model(metrics={"acc"}).fit(3, data(), data(8), callbacks=recorder)
    return recorder.seen


@program
def older_hooks() -> Any:
    seen = []

    class Old(Callback):
        def begin(self, run_context: Any) -> None:
            seen.append("begin")

        def step_end(self, run_context: Any) -> None:
            seen.append(run_context.original_args().mode)

        def end(self, run_context: Any) -> None:
            seen.append("end")

    made = model(metrics={"acc"})
    made.train(1, data(8), callbacks=Old())
    made.eval(data(8), callbacks=Old())
    return seen


@program
def arguments_of_hooks() -> Any:
    seen = []

    class Look(Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            run = run_context.original_args()
            seen.append({key: type(run[key]).__name__ for key in (
                "cur_step_num", "train_network", "epoch_num", "batch_num", "mode", "optimizer", "parallel_mode", "device_number",
                "network", "loss_scale_mananger", "dataset_sink_mode", "net_outputs")})
            seen.append([run.parallel_mode, run.device_number, run.epoch_num])

    model().train(1, data(4), callbacks=Look())
    return seen


@program
def predictions() -> Any:
    made = model()
    made.train(2, data())
    return made.predict(Tensor(X[:2])).asnumpy()


@program
def models_in_graph_mode() -> Any:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return lines(lambda: model(metrics={"acc"}).fit(2, data(), data(8), callbacks=[LossMonitor()]))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def files(again: bool = False, **settings: Any) -> Any:
    """Names and contents of checkpoints."""
    with tempfile.TemporaryDirectory() as folder:
        callback = ModelCheckpoint("net", folder, CheckpointConfig(**settings))
        model().train(3, data(), callbacks=callback)
        if again:
            model().train(1, data(), callbacks=ModelCheckpoint("net", folder, CheckpointConfig(**settings)))
        last = callback.latest_ckpt_file_name
        found = ms.load_checkpoint(last, format=last.rpartition(".")[2])
        held = {name: [list(value.shape), str(value.dtype)] for name, value in found.items()}
        return sorted(name for name in os.listdir(folder) if not name.endswith(".meta")), os.path.basename(last), held


for name, settings in {
    "files_by_default": {}, "files_of_every_second_step": {"save_checkpoint_steps": 2, "keep_checkpoint_max": 2},
    "one_file_at_the_end": {"save_checkpoint_steps": 100}, "files_of_two_runs": {"save_checkpoint_steps": 2, "again": True},
    "files_with_more": {"save_checkpoint_steps": 3, "append_info": ["epoch_num", "step_num", {"lr": 0.5}]},
    "one_file_is_kept": {"save_checkpoint_steps": 3, "keep_checkpoint_max": 0},
    "files_in_safetensors": {"save_checkpoint_steps": 2, "format": "safetensors"},
}.items():
    PROGRAMS[name] = lambda settings=settings: files(**settings)


@program
def the_policy() -> Any:
    return [CheckpointConfig(**settings).get_checkpoint_policy() for settings in (
        {},
        {"save_checkpoint_seconds": 100, "keep_checkpoint_per_n_minutes": 5}, {"save_checkpoint_steps": 0, "save_checkpoint_seconds": 9},
        {"keep_checkpoint_max": 0, "keep_checkpoint_per_n_minutes": 5}, {"keep_checkpoint_max": 0})]


# -- further callbacks -----------------------------------------------------------------------------------------------------
@program
def early_stopping() -> Any:
    made, stop = model(metrics={"acc"}), EarlyStopping("acc", patience=2, verbose=True, restore_best_weights=True)
    found = lines(lambda: made.fit(9, data(), data(8), callbacks=[LossMonitor(3), stop]))
    return found, stop.stopped_epoch, stop.wait, float(stop.best), made.predict(Tensor(X[:2])).asnumpy()


@program
def a_plateau() -> Any:
    made = model(metrics={"acc"})
    plateau = ReduceLROnPlateau("loss", patience=0, factor=0.5, verbose=True, min_delta=10.0, cooldown=1, min_lr=0.02)
    return lines(lambda: made.train(6, data(), callbacks=plateau)), float(made.train_network.optimizer.learning_rate.asnumpy())


@program
def a_rate_by_a_function() -> Any:
    made, seen = model(), []

    def rate(now: float, step: int) -> float:
        seen.append([now, step])
        return now * 0.5 if step % 2 == 0 else now

    return lines(lambda: made.train(2, data(), callbacks=[LossMonitor(), LearningRateScheduler(rate)])), seen


@program
def a_history() -> Any:
    made, history = model(metrics={"acc"}), History()
    made.fit(2, data(), data(8), callbacks=history)
    made.train(1, data(), callbacks=history)
    return history.epoch, history.history


@program
def functions_as_hooks() -> Any:
    seen = []
    hooks = {f"on_train_{place}": lambda run_context, place=place: seen.append([place, run_context.original_args().cur_step_num])
             for place in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")}
    model().train(1, data(8), callbacks=LambdaCallback(**hooks))
    return seen


# -- mixed precision -------------------------------------------------------------------------------------------------------
class Mixed(nn.Cell):
    """A layer of each kind, and an operator."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 3, weight_init=Tensor(W), bias_init="zeros")
        self.norm = nn.BatchNorm1d(3)
        self.matmul = ops.MatMul()
        self.weight = Parameter(Tensor(np.eye(3, dtype=np.float32) * np.float32(1.001)), name="weight")

    def construct(self, x: Any) -> Any:
        return self.matmul(self.norm(self.dense(x)), self.weight)


for level in ("O0", "O2", "O3"):
    def computed(level: str = level) -> Any:
        network = ms.amp.auto_mixed_precision(Mixed(), level).set_train(False)
        output = network(Tensor(X[:2]))
        return str(output.dtype), output.asnumpy(), [[p.name, str(p.dtype)] for p in network.get_parameters()]

    PROGRAMS[f"mixed_precision_{level}"] = computed


@program
def a_step_in_half_precision() -> Any:
    network = Mixed()
    step = ms.amp.build_train_network(network, nn.Momentum(network.trainable_params(), 0.1, 0.9),
                                      nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), level="O2", loss_scale_manager=None)
    loss = step(Tensor(X[:4]), Tensor(Y[:4]))
    return str(loss.dtype), type(step).__name__


@program
def a_fixed_scale() -> Any:
    network = net()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9, loss_scale=8.0)
    made = Model(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer,
                 loss_scale_manager=FixedLossScaleManager(8.0, drop_overflow_update=False))
    return lines(lambda: made.train(1, data(), callbacks=LossMonitor())), type(made.train_network).__name__, network.weight.asnumpy()


@program
def a_dynamic_scale() -> Any:
    manager, seen = DynamicLossScaleManager(2**10, 2, 3), []
    for overflow in (0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0):
        manager.update_loss_scale(bool(overflow))
        seen.append(float(manager.get_loss_scale()))
    return seen, type(manager.get_update_cell()).__name__, manager.get_drop_overflow_update()


# -- metrics ---------------------------------------------------------------------------------------------------------------
SCORES = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2], [0.3, 0.4, 0.3], [0.1, 0.7, 0.2]], np.float32)
LABELS = np.array([1, 2, 0, 2, 0], np.int32)
HOT = np.eye(3, dtype=np.int32)[LABELS]
FOUND, REAL = np.array([[0, 1, 1], [1, 0, 1]]), np.array([[0, 1, 0], [1, 1, 1]])
CHANNELS = np.array([[[0, 1, 1], [1, 0, 1]], [[1, 1, 0], [0, 0, 0]]]), np.array([[[0, 1, 0], [1, 1, 1]], [[1, 0, 0], [0, 0, 1]]])
RATES = ("sensitivity", "specificity", "precision", "negative predictive value", "miss rate", "fall out", "false discovery rate",
         "false omission rate", "prevalence threshold", "threat score", "accuracy", "balanced accuracy", "f1 score",
         "matthews correlation coefficient", "fowlkes mallows index", "informedness", "markedness")


def measured(metric: Any, *given: Any, **options: Any) -> Any:
    """The result over batches, each a tuple of arrays."""
    for batch in given:
        metric.update(*map(Tensor, batch))
    return metric.eval(**options)


@program
def metrics_of_classes() -> Any:
    two = (SCORES, LABELS), (SCORES[:2], LABELS[:2])
    found = [measured(kind(), *two) for kind in (Accuracy, Precision, Recall, F1, Top1CategoricalAccuracy)]
    found += [measured(kind(), (SCORES, HOT)) for kind in (Accuracy, Precision, Recall, F1, Top1CategoricalAccuracy)]
    found += [measured(kind("multilabel"), (FOUND, REAL), (FOUND[:, :], FOUND)) for kind in (Accuracy, Precision, Recall)]
    found += [measured(kind("multilabel"), (FOUND, REAL), average=True) for kind in (Precision, Recall)]
    found += [measured(metric, *two, average=True) for metric in (Precision(), Recall(), F1(), Fbeta(2))]
    return [*found, measured(Fbeta(2), *two), measured(TopKCategoricalAccuracy(2), *two)]


@program
def metrics_of_errors() -> Any:
    found = [measured(kind(), (SCORES[:, 0], SCORES[:, 1]), (SCORES, SCORES[::-1].copy())) for kind in (MAE, MSE)]
    found += [measured(kind(), (SCORES[:, :1], SCORES[:, 1])) for kind in (MAE, MSE)]
    return [*found, measured(Loss(), (SCORES[0],), (np.float32(0.3),)), measured(Perplexity(), (SCORES, LABELS)),
            measured(Perplexity(1), (SCORES, LABELS), (SCORES, LABELS))]


@program
def confusion() -> Any:
    kinds = ("no_norm", "target", "prediction", "all")
    found = [measured(ConfusionMatrix(3, kind), (SCORES, LABELS)) for kind in kinds]
    return found + [measured(ConfusionMatrix(2, kind), (SCORES[:, 0], np.array([0, 1, 1, 0, 0]))) for kind in kinds]


@program
def rates() -> Any:
    found = [measured(ConfusionMatrixMetric(metric_name=name), (FOUND, REAL), (FOUND, FOUND)) for name in RATES]
    for decrease in ("mean", "sum"):
        found.append(measured(ConfusionMatrixMetric(True, "f1 score", True, decrease), CHANNELS))
        found.append(measured(ConfusionMatrixMetric(False, "precision", True, decrease), CHANNELS))
    return found


@program
def similarities_and_curves() -> Any:
    found = [measured(Dice(), (SCORES, SCORES[::-1].copy())), measured(CosineSimilarity(), (SCORES,)),
             measured(CosineSimilarity("dot", "mean", False), (SCORES,)), measured(CosineSimilarity("dot", "sum"), (SCORES,)),
             auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.7, 1.0])), auc(np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.7, 1.0])),
             auc(np.array([1.0, 0.0, 0.5]), np.array([0.0, 0.7, 1.0]), True)]
    found.append(measured(ROC(), (SCORES[:, 0], np.array([0, 1, 1, 0, 0]))))
    found.append(measured(ROC(pos_label=1), (np.array([3, 1, 4, 2]), np.array([0, 1, 2, 3]))))
    return found


@program
def a_backup() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        seen = []
        look = LambdaCallback(on_train_epoch_begin=lambda run_context: seen.append(sorted(os.listdir(folder))))
        model().train(3, data(), callbacks=[look, BackupAndRestore(folder, 2)])
        return seen, sorted(os.listdir(folder))


@program
def a_metric_is_called_with_a_batch() -> Any:
    return Accuracy()(Tensor(SCORES), Tensor(LABELS)), Accuracy().set_indexes([1, 0])(Tensor(LABELS), Tensor(SCORES)), Accuracy().indexes


# -- mistakes --------------------------------------------------------------------------------------------------------------
class Old(Callback):
    def step_end(self, run_context: Any) -> None:
        raise AssertionError("it is refused before it is called")


for name, mistake in {
    "no_network": lambda: Model(3), "a_wrong_optimizer": lambda: Model(net(), None, 3),
    "a_list_of_metrics": lambda: model(metrics=["acc"]), "an_unknown_metric": lambda: model(metrics={"foo"}),
    "a_number_as_metric": lambda: model(metrics={"a": 3}), "metrics_without_a_loss": lambda: Model(net(), metrics={"acc"}),
    "an_unknown_option": lambda: model(foo=3), "precision_without_optimizer": lambda: Model(net(), amp_level="O2"),
    "an_unknown_level": lambda: model(amp_level="O7"),
    "two_indexes": lambda: model(eval_network=net(), eval_indexes=[0, 1], metrics={"acc"}),
    "a_scale_without_optimizer": lambda: Model(net(), loss_scale_manager=FixedLossScaleManager()),
    "eval_without_metrics": lambda: model().eval(data()), "no_epoch": lambda: model().train(0, data()),
    "half_an_epoch": lambda: model().train(1.5, data()), "a_number_as_callback": lambda: model().train(1, data(), callbacks=[3]),
    "a_number_as_sink": lambda: model().train(1, data(), dataset_sink_mode=1),
    "an_empty_sink": lambda: model().train(1, data(), sink_size=0),
    "all_epochs_are_done": lambda: model().train(2, data(), initial_epoch=2),
    "epochs_before_the_first": lambda: model().train(2, data(), initial_epoch=-1),
    "fit_without_metrics": lambda: model().fit(1, data(), data()),
    "a_text_as_frequency": lambda: model().fit(1, data(), valid_frequency="a"),
    "older_hooks_in_fit": lambda: model(metrics={"acc"}).fit(1, data(), data(), callbacks=Old()),
    "an_empty_input": lambda: model().predict(Tensor(np.ones((0, 4), np.float32))), "an_array_as_input": lambda: model().predict(X),
    "a_negative_count": lambda: LossMonitor(-1), "a_text_as_count": lambda: LossMonitor("a"),
    "a_number_as_flag": lambda: TimeMonitor(data_time=3),
    "a_loss_that_is_not_finite": lambda: model().train(1, batches(X * np.float32(np.nan), Y, 4), callbacks=LossMonitor(0)),
    "a_prefix_with_a_folder": lambda: ModelCheckpoint("a/b"), "a_number_as_folder": lambda: ModelCheckpoint("a", directory=3),
    "a_number_as_config": lambda: ModelCheckpoint("a", config=3), "negative_steps": lambda: CheckpointConfig(save_checkpoint_steps=-1),
    "nothing_to_save": lambda: CheckpointConfig(0, 0, 0, 0), "a_number_as_saved_network": lambda: CheckpointConfig(saved_network=3),
    "a_number_as_info": lambda: CheckpointConfig(append_info=3), "an_unknown_info": lambda: CheckpointConfig(append_info=["foo"]),
    "a_number_as_monitor": lambda: EarlyStopping(3), "an_unknown_mode": lambda: EarlyStopping(mode="x"),
    "negative_patience": lambda: EarlyStopping(patience=-1), "a_text_as_delta": lambda: EarlyStopping(min_delta="x"),
    "a_number_as_verbose": lambda: EarlyStopping(verbose=2), "a_factor_of_1": lambda: ReduceLROnPlateau(factor=1.0),
    "an_int_as_factor": lambda: ReduceLROnPlateau(factor=2), "negative_cooldown": lambda: ReduceLROnPlateau(cooldown=-1),
    "a_text_as_rate": lambda: ReduceLROnPlateau(min_lr="a"), "a_plateau_of_a_schedule": lambda: Model(
        net(), nn.MSELoss(), nn.SGD(net().trainable_params(), [0.1] * 9)).train(1, batches(X, Y.astype(np.float32)[:, None], 4),
                                                                             callbacks=ReduceLROnPlateau("loss")),
    "an_unknown_similarity": lambda: CosineSimilarity("x"), "no_positive_label": lambda: measured(ROC(), (SCORES[:, 0], np.zeros(5))),
    "a_list_of_points": lambda: auc([1.0], [2.0]), "an_x_that_rises_and_falls": lambda: auc(np.array([1.0, 0.0, 0.5]), np.arange(3.0)),
    "a_curve_of_too_many_classes": lambda: ROC(class_num=2).update(Tensor(SCORES), Tensor(LABELS)), "a_smooth_of_0": lambda: Dice(0.0),
    "a_number_as_run": lambda: ms.train.RunContext(3), "a_small_scale": lambda: FixedLossScaleManager(0.5),
    "no_window": lambda: DynamicLossScaleManager(scale_window=0), "no_factor": lambda: DynamicLossScaleManager(scale_factor=0),
    "precision_of_a_number": lambda: ms.amp.auto_mixed_precision(3),
    "precision_of_a_level": lambda: ms.amp.auto_mixed_precision(net(), "O9"),
    "precision_in_float32": lambda: ms.amp.auto_mixed_precision(net(), "O2", ms.float32),
    "precision_of_no_list": lambda: ms.amp.custom_mixed_precision(net()),
    "precision_of_a_number_in_a_list": lambda: ms.amp.custom_mixed_precision(net(), white_list=[3]),
    "no_samples": lambda: Accuracy().eval(), "no_matrix": lambda: ConfusionMatrix(2).eval(), "an_unknown_type": lambda: Accuracy("x"),
    "one_input": lambda: Accuracy().update(Tensor(SCORES)), "numbers_as_input": lambda: Accuracy().update(3, 4),
    "labels_like_scores": lambda: Accuracy().update(Tensor(SCORES), Tensor(SCORES)),
    "scores_as_flags": lambda: Accuracy("multilabel").update(Tensor(SCORES), Tensor(SCORES)),
    "a_label_too_large": lambda: Precision().update(Tensor(SCORES), Tensor(LABELS + 1)),
    "a_text_as_k": lambda: TopKCategoricalAccuracy("a"),
    "k_is_0": lambda: TopKCategoricalAccuracy(0), "beta_is_0": lambda: Fbeta(0), "a_text_as_label": lambda: Perplexity("a"),
    "a_text_as_classes": lambda: ConfusionMatrix("a"), "an_unknown_norm": lambda: ConfusionMatrix(2, "x"),
    "an_int_as_threshold": lambda: ConfusionMatrix(2, threshold=1), "a_text_as_indexes": lambda: Accuracy().set_indexes("a"),
    "too_few_labels": lambda: Perplexity().update(Tensor(SCORES), Tensor(LABELS[:2])), "a_loss_of_two_dimensions":
        lambda: Loss().update(Tensor(SCORES)), "too_few_targets": lambda: MAE().update(Tensor(SCORES), Tensor(LABELS)),
}.items():
    PROGRAMS[name] = mistake
