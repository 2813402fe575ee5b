"""`Model`: train, evaluate and use a network, with callbacks and metrics."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import MissingMember
from adjoint.nn.checks import boolean, integer, least_integer, positive
from adjoint.nn.grad_reducer import broadcast_parameters
from adjoint.nn.wrap import WithEvalCell, WithLossCell
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.process.parallel_context import get_auto_parallel_context, parameters_are_broadcast
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.amp import build_train_network
from adjoint.train.batches import Batches
from adjoint.train.callback.callback import Callback, CallbackList, CallbackParameters, RunContext
from adjoint.train.callback.checkpoint import ModelCheckpoint
from adjoint.train.callback.continue_run import ContinueRun
from adjoint.train.loss_scale_manager import LossScaleManager
from adjoint.train.metrics import Loss, Metric, get_metrics
from adjoint.train.progress import ProgressBar

__all__ = ["Model"]

_OLD_HOOKS = {"begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end"}


class Model:
    """A network together with its loss, optimiser and metrics.

    network       a Cell; without `loss_fn` it returns the loss itself
    loss_fn       a Cell or function, called with the network's output and the label
    optimizer     an optimiser; without it the network is called in training and must make the step itself
    metrics       a set of names, {"accuracy", "loss"}, or a dict of metrics by name
    eval_network  a Cell for evaluation; default the network and `loss_fn`, which returns (loss, output, label)
    eval_indexes  the indices of loss, output and label in the result of `eval_network`; default: metrics get all of it
    amp_level     which cells compute in half precision, see `amp.auto_mixed_precision`
    boost_level   must be "O0": no part of the training is skipped for speed

    By keyword also `loss_scale_manager`, how the loss is scaled, and `keep_batchnorm_fp32`, whether normalisation computes in Float32 where
    the rest does not.

    It runs in the mode of the context, eager or as a graph; hooks of cells and Tensors fire in both.
    """

    infer_train_layout = MissingMember("nothing: each process holds the whole network, data parallelism is what is here")
    infer_predict_layout = MissingMember("nothing: each process holds the whole network, data parallelism is what is here")

    def __init__(
        self, network: Cell, loss_fn: Any = None, optimizer: Any = None, metrics: Any = None, eval_network: Cell | None = None,
        eval_indexes: list[int] | None = None, amp_level: str = "O0", boost_level: str = "O0", **kwargs: Any,
    ):
        for argument in kwargs:
            if argument not in ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level"):
                raise ValueError("The argument in 'kwargs' should be 'loss_scale_manager' or 'keep_batchnorm_fp32' or 'boost_config_dict' "
                                 f"or 'acc_level', but got '{argument}'.")
        _cell("network", network)
        if eval_network is not None:
            _cell("eval_network", eval_network)
        self._loss_scale_manager: LossScaleManager | None = kwargs.get("loss_scale_manager")
        if optimizer is None and amp_level != "O0":
            raise ValueError("Auto mixed precision will not work because 'optimizer' is None. Please set amp_level='O0' to disable auto "
                             "mixed precision or set 'optimizer' not be None to use auto mixed precision.")
        if optimizer is None and self._loss_scale_manager is not None:
            raise ValueError("The argument 'optimizer' can not be None when set 'loss_scale_manager'.")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._metric_fns: dict[str, Metric] = get_metrics(metrics)
        self._train_network = network
        if optimizer is not None:
            asked = {name: kwargs[name] for name in ("loss_scale_manager", "keep_batchnorm_fp32") if name in kwargs}
            if asked.get("keep_batchnorm_fp32", True) is None:
                del asked["keep_batchnorm_fp32"]
            self._train_network = build_train_network(network, optimizer, loss_fn, amp_level, boost_level, **asked)
        elif loss_fn is not None:
            self._train_network = WithLossCell(network, loss_fn)
        self._eval_network, self._eval_indexes = eval_network, eval_indexes if eval_network is not None else [0, 1, 2]
        if self._metric_fns and eval_network is None:
            if loss_fn is None:
                raise ValueError("If `metrics` is set, `eval_network` must not be None, or `loss_fn`: a network for the evaluation is made "
                                 "of `network` and `loss_fn`. Do not set `metrics` if you don't want an evaluation.")
            self._eval_network = WithEvalCell(network, loss_fn, amp_level in ("O2", "O3", "auto"))
        indexes = self._eval_indexes
        if self._metric_fns and indexes is not None and not (isinstance(indexes, list) and len(indexes) == 3):
            raise ValueError("The argument 'eval_indexes' must be a list or None. If 'eval_indexes' is a list, length of it must be three. "
                             f"But got 'eval_indexes' {indexes}")

    @property
    def train_network(self) -> Cell:
        """Return the cell that is called with each batch in training: network, loss and optimiser."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """Return the cell that is called with each batch in evaluation; None without metrics."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """Return the cell that `predict` calls."""
        return self._network

    # -- training -------------------------------------------------------------------------------------------------------
    def train(
        self, epoch: int, train_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False, sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train until the end of epoch number `epoch`.

        train_dataset      a dataset, or a list of batches; with `loss_fn` each batch is (data, label), without it what the network takes
        callbacks          a Callback or several in a list
        dataset_sink_mode  accepted: batches come one by one on the CPU
        sink_size          with `dataset_sink_mode` the number that callbacks get as `batch_num`
        initial_epoch      how many epochs count as done

        An exception of a callback, a hook or the dataset ends the training and is raised here; parameters keep their current values.
        """
        self._train("Model.train", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, None)

    def fit(
        self, epoch: int, train_dataset: Any, valid_dataset: Any = None, valid_frequency: int | list[int] = 1, callbacks: Any = None,
        dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False, sink_size: int = -1, initial_epoch: int = 0,
    ) -> None:
        """Train as `train` does, and evaluate after epochs.

        valid_dataset    the data of the evaluation, as `eval` takes it; default: no evaluation
        valid_frequency  evaluate after every so many epochs, or after those in a list

        Callbacks find the results in `metrics`, and in `eval_results` with the mean loss, "eval_loss".
        """
        boolean("Model.fit", "valid_dataset_sink_mode", valid_dataset_sink_mode)
        if not isinstance(valid_frequency, (int, list)) or isinstance(valid_frequency, bool):
            raise TypeError(f"For 'Model.fit', the type of 'valid_frequency' must be a list or an integer, but got type "
                            f"{type(valid_frequency)}.")
        if isinstance(valid_frequency, int):
            positive("Model.fit", "valid_frequency", valid_frequency)
        if valid_dataset is not None and not self._metric_fns:
            raise ValueError("For 'Model.fit', if valid_dataset is not None, the model argument 'metrics' can not be None or empty, "
                             "you should set the argument 'metrics' for model.")
        for callback in CallbackList(callbacks).callbacks:
            old = sorted(_OLD_HOOKS & set(vars(type(callback))))
            if old and not type(callback).__module__.startswith("adjoint.train."):
                raise ValueError(f"For {type(callback).__name__} callback, the methods {old} are called for training and evaluation alike: "
                                 "with 'Model.fit' use methods prefixed with 'on_train' or 'on_eval' instead.")
        valid = None if valid_dataset is None else (valid_dataset, valid_frequency)
        self._train("Model.fit", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, valid)

    def _train(
        self, owner: str, epochs: int, dataset: Any, callbacks: Any, sinks: bool, sink_size: int, first: int,
        valid: tuple[Any, int | list[int]] | None,
    ) -> None:
        boolean(owner, "dataset_sink_mode", sinks)
        positive(owner, "epoch", epochs)
        least_integer(owner, "initial_epoch", first, 0)
        if integer(owner, "sink_size", sink_size) < -1 or sink_size == 0:
            raise ValueError(f"For '{owner}', The argument 'sink_size' must be -1 or positive, but got {sink_size}.")
        if first >= epochs:
            raise ValueError(f"For '{owner}', the parameter 'epoch' must bigger than parameter 'initial_epoch', but got the parameter "
                             f"'epoch' is {epochs}, 'initial_epoch' is {first}.")
        called = CallbackList(callbacks)
        given = list(called.callbacks)
        called.callbacks += _bar(epochs)
        batches = Batches(owner, "train_dataset", dataset, epochs - first)
        if parameters_are_broadcast():
            broadcast_parameters(self._train_network.get_parameters())
        run = CallbackParameters(
            cur_step_num=0, train_network=self._train_network, epoch_num=epochs - first,
            batch_num=sink_size if sinks and sink_size > 0 else batches.count, mode="train", loss_fn=self._loss_fn,
            optimizer=self._optimizer, parallel_mode=get_auto_parallel_context("parallel_mode"),
            device_number=get_auto_parallel_context("device_num"), train_dataset=dataset, list_callback=given,
            train_dataset_element=None, network=self._network, last_save_ckpt_step=None, latest_ckpt_file=None,
            loss_scale_mananger=self._loss_scale_manager, dataset_sink_mode=False)
        try:
            with called:
                self._epochs(run, called, batches, range(first, epochs), valid)
        except BaseException:
            for callback in called.callbacks:
                if isinstance(callback, ModelCheckpoint):
                    callback.save_at_failure(run)
            raise
        finally:
            batches.close()

    def _epochs(
        self, run: CallbackParameters, callbacks: CallbackList, batches: Batches, epochs: range,
        valid: tuple[Any, int | list[int]] | None,
    ) -> None:
        context = RunContext(run)
        self._train_network.set_train(True)
        callbacks.call("on_train_begin", context)
        keepers = [callback for callback in callbacks.callbacks if isinstance(callback, ContinueRun)]
        if len(keepers) > 1:
            raise ValueError(f"A run has one place to go on from, but 'callbacks' has {len(keepers)} ContinueRun.")
        keeper = keepers[0] if keepers else None
        resumed = None if keeper is None else keeper.open(run, batches, callbacks.callbacks, epochs.stop)
        if resumed is not None:
            epochs = range(epochs.stop if resumed.stops else resumed.epoch, epochs.stop)
            run.cur_epoch_num, run.cur_step_num = resumed.epoch, resumed.step
            if not resumed.inside:
                resumed.restore()
        for epoch in epochs:
            run.cur_epoch_num = epoch + 1
            callbacks.call("on_train_epoch_begin", context)
            if resumed is not None and resumed.inside and epoch == resumed.epoch:
                # After the hooks, which may have changed state that was saved when the epoch began.
                resumed.restore()
            for batch in batches.epoch():
                self._step(run, callbacks, context, batch)
                if keeper is not None:
                    keeper.step_done(run, context.get_stop_requested())
                if context.get_stop_requested():
                    break
            if valid is not None and _is_due(epoch + 1, valid[1]):
                self._evaluate_in_fit(run, callbacks, valid[0])
            callbacks.call("on_train_epoch_end", context)
            run.pop("metrics", None)
            run.pop("eval_results", None)
            if keeper is not None:
                keeper.epoch_done(run, context.get_stop_requested())
            if context.get_stop_requested():
                break
        callbacks.call("on_train_end", context)
        if keeper is not None:
            keeper.training_done()

    def _step(self, run: CallbackParameters, callbacks: CallbackList, context: RunContext, batch: tuple[Any, ...]) -> None:
        if self._loss_fn is not None and len(batch) != 2:
            raise ValueError("When 'loss_fn' is not None, 'train_dataset' should return two elements, but got "
                             f"{len(batch)}, please check the number of elements returned by 'train_dataset'")
        run.cur_step_num += 1
        run.train_dataset_element = batch
        callbacks.call("on_train_step_begin", context)
        outputs = run.net_outputs = self._train_network(*batch)
        manager = self._loss_scale_manager
        if manager is not None and manager.get_drop_overflow_update():
            manager.update_loss_scale(bool(np.all(outputs[1].asnumpy())))
        callbacks.call("on_train_step_end", context)

    def _evaluate_in_fit(self, run: CallbackParameters, callbacks: CallbackList, dataset: Any) -> None:
        kept = {name: run[name] for name in ("cur_step_num", "batch_num", "net_outputs", "mode")}
        seen = CallbackList([callback for callback in callbacks.callbacks if callback.sees_evaluation_in_fit])
        batches = Batches("Model.fit", "valid_dataset", dataset, 1)
        run.update(eval_network=self._eval_network, valid_dataset=dataset, batch_num=batches.count, mode="eval", cur_step_num=0)
        loss = Loss()
        with seen:
            self._evaluate(run, seen, batches, loss)
        run.update(kept)
        self._train_network.set_train(True)

    # -- evaluation and prediction ---------------------------------------------------------------------------------------
    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """Evaluate the network on all batches and return the results of the metrics by name.

        valid_dataset      a dataset, or a list of batches (data, label)
        callbacks          a Callback or several in a list: their hooks `on_eval_...` are called
        dataset_sink_mode  accepted: batches come one by one on the CPU
        """
        boolean("Model.eval", "dataset_sink_mode", dataset_sink_mode)
        if not self._metric_fns:
            raise ValueError("For Model.eval, the model argument 'metrics' can not be None or empty, "
                             "you should set the argument 'metrics' for model.")
        called = CallbackList(callbacks)
        given = list(called.callbacks)
        called.callbacks += _bar(1)
        batches = Batches("Model.eval", "valid_dataset", valid_dataset, 1)
        run = CallbackParameters(
            eval_network=self._eval_network, valid_dataset=valid_dataset, batch_num=batches.count, mode="eval", cur_step_num=0,
            list_callback=given, network=self._network, dataset_sink_mode=False)
        with called:
            return self._evaluate(run, called, batches, None)

    def _evaluate(self, run: CallbackParameters, callbacks: CallbackList, batches: Batches, loss: Loss | None) -> dict[str, Any]:
        """Evaluate; with `loss`, add the mean of the losses to the results."""
        network = self._eval_network
        assert network is not None
        for metric in self._metric_fns.values():
            metric.clear()
        context = RunContext(run)
        callbacks.call("on_eval_begin", context)
        network.set_train(False)
        callbacks.call("on_eval_epoch_begin", context)
        for batch in batches.epoch():
            run.cur_step_num += 1
            run.eval_dataset_element = batch
            callbacks.call("on_eval_step_begin", context)
            outputs = run.net_outputs = network(*batch)
            callbacks.call("on_eval_step_end", context)
            self._update_metrics(outputs, loss)
            if context.get_stop_requested():
                break
        callbacks.call("on_eval_epoch_end", context)
        batches.close()
        results = run.metrics = {name: metric.eval() for name, metric in self._metric_fns.items()}
        if loss is not None:
            run.eval_results = {**results, "eval_loss": loss.eval()}
        callbacks.call("on_eval_end", context)
        return results

    def _update_metrics(self, outputs: Any, loss: Loss | None) -> None:
        """Pass the outputs of the evaluation network to the metrics, and its loss to `loss`."""
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        if not isinstance(outputs, tuple):
            raise ValueError(f"What 'eval_network' returns must be a Tensor or a tuple of them, but got {type(outputs)}.")
        indexes = self._eval_indexes
        if indexes is not None and len(outputs) < 3:
            raise ValueError(f"What 'eval_network' returns must have at least 3 items, since 'eval_indexes' is {indexes}, but got "
                             f"{len(outputs)}.")
        for metric in self._metric_fns.values():
            if indexes is None:
                metric.update(*outputs)
            elif isinstance(metric, Loss):
                metric.update(outputs[indexes[0]])
            else:
                metric.update(outputs[indexes[1]], outputs[indexes[2]])
        if loss is not None:
            loss.update(outputs[indexes[0] if indexes is not None else 0])

    def predict(self, *predict_data: Any, backend: str | None = None, config: dict[str, Any] | None = None) -> Any:
        """Return the network's output for these inputs, in evaluation mode.

        predict_data  Tensors, numbers, strings or None, or tuples, lists and dicts of them; raise ValueError for an empty Tensor
        backend       None, or "lite", which computes here as None does
        config        accepted: settings of that backend
        """
        if backend not in ("lite", None):
            raise ValueError(f"For Model.predict, `backend` should be 'lite' or None, but got {backend}")
        for value in predict_data:
            _check_input(value)
        self._network.set_train(False)
        return self._network(*predict_data)

    def build(
        self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1, epoch: int = 1, sink_mode: bool = True,
    ) -> None:
        """Check the arguments of `train` and `eval` without running; graphs are made at the first step, and kernels are cached on disk."""
        positive("Model.build", "epoch", epoch)
        boolean("Model.build", "sink_mode", sink_mode)
        integer("Model.build", "sink_size", sink_size)
        if train_dataset is None and valid_dataset is None:
            raise ValueError("The argument 'train_dataset' and 'valid_dataset' can not both be None or empty.")
        if train_dataset is not None:
            Batches("Model.build", "train_dataset", train_dataset, epoch)
        if valid_dataset is not None:
            if not self._metric_fns:
                raise RuntimeError("If define `valid_dataset`, metric fn can not be None or empty, "
                                   "you should set the argument 'metrics' for model.")
            Batches("Model.build", "valid_dataset", valid_dataset, 1)


def _cell(argument: str, value: Any) -> None:
    if not isinstance(value, Cell):
        raise TypeError(f"For 'Model', the argument '{argument}' must be a Cell, but got {value!r} of type {type(value).__name__}.")


def _bar(epochs: int) -> list[Callback]:
    """Return a progress bar, if the output is a terminal."""
    if not sys.stdout.isatty() or os.environ.get("ADJOINT_PROGRESS", "1") == "0":
        return []
    return [ProgressBar(epochs)]


def _is_due(epoch: int, frequency: int | list[int]) -> bool:
    return epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency


def _check_input(value: Any) -> None:
    """Raise TypeError for what a network cannot take, ValueError for an empty Tensor."""
    if isinstance(value, (tuple, list)):
        for item in value:
            _check_input(item)
    elif isinstance(value, dict):
        _check_input(list(value.values()))
    elif isinstance(value, Tensor):
        if value.size == 0:
            raise ValueError("The input data can not be empty.")
    elif value is not None and not isinstance(value, (int, float, str)):
        raise TypeError("The types of input data must be Tensors, None, int, float or str, or tuples, lists and dicts of them, but got "
                        f"type {type(value).__name__}.")
