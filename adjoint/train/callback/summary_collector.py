"""Write losses, learning rates, metrics and parameters for TensorBoard."""

from __future__ import annotations

import os
import re
from typing import Any

from adjoint.nn.checks import boolean, positive
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import Callback, RunContext, loss_of
from adjoint.train.summary_record import writer_of

__all__ = ["SummaryCollector"]

_ACCEPTED = ("collect_graph", "collect_train_lineage", "collect_eval_lineage", "collect_input_data", "collect_dataset_graph",
             "collect_landscape")
"""Settings for what MindSpore's collector also writes, for its own viewer."""


class SummaryCollector(Callback):
    """Write training curves to files that `tensorboard --logdir SUMMARY_DIR` shows; needs tensorboardX.

    summary_dir             the directory of the files
    collect_freq            write at the first step, and at each step whose number this divides
    collect_specified_data  a dict that selects what is written: "collect_metric": the loss, the learning rate and results of evaluations,
                            default True; "histogram_regular": histograms of the parameters whose names this regular expression
                            finds, default the first five
    keep_default_action     False: write only what the dict selects
    custom_lineage_data     a dict of numbers and strings, written once

    `num_process`, `collect_tensor_freq`, `max_file_size`, `export_options` and the other keys of the dict (graphs, lineage, input data,
    landscapes) are accepted: they are for MindSpore's own viewer.  Raise ImportError without tensorboardX, with how to install it.
    """

    sees_evaluation_in_fit = False

    def __init__(
        self, summary_dir: str, collect_freq: int = 10, num_process: int = 32, collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True, custom_lineage_data: dict[str, Any] | None = None, collect_tensor_freq: int | None = None,
        max_file_size: int | None = None, export_options: dict[str, Any] | None = None,
    ):
        name = "SummaryCollector"
        if not isinstance(summary_dir, (str, os.PathLike)):
            raise TypeError(f"For '{name}', the argument 'summary_dir' must be the name of a directory, but got {summary_dir!r} "
                            f"of type {type(summary_dir).__name__}.")
        self._folder = os.fspath(summary_dir)
        self._frequency = positive(name, "collect_freq", collect_freq)
        for argument, value in (("num_process", num_process), ("collect_tensor_freq", collect_tensor_freq),
                                ("max_file_size", max_file_size)):
            if value is not None:
                positive(name, argument, value)
        asked = collect_specified_data or {}
        unknown = set(asked) - {"collect_metric", "histogram_regular", *_ACCEPTED}
        if unknown:
            raise ValueError(f"For '{name}', the keys of 'collect_specified_data' must be among 'collect_metric', 'histogram_regular' and "
                             f"{list(_ACCEPTED)}, but got {sorted(unknown)}.")
        default = boolean(name, "keep_default_action", keep_default_action)
        self._metrics = boolean(name, "collect_metric", asked.get("collect_metric", default))
        self._histograms = default or "histogram_regular" in asked
        self._chosen = asked.get("histogram_regular")
        self._custom = dict(custom_lineage_data or {})
        self._writer: Any = None

    def __enter__(self) -> SummaryCollector:
        self._writer = writer_of("SummaryCollector", self._folder)
        for key, value in self._custom.items():
            self._writer.add_text(key, str(value))
        return self

    def __exit__(self, *raised: Any) -> None:
        self._writer.close()

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        step = run.cur_step_num
        if step != 1 and step % self._frequency:
            return
        if self._metrics:
            loss = loss_of(run.net_outputs)
            self._scalar("loss/auto", loss_of(loss) if isinstance(loss, Tensor) else loss, step)
            rate = run.optimizer.get_lr() if run.optimizer is not None else None
            for i, value in enumerate(rate if isinstance(rate, tuple) else (rate,) if rate is not None else ()):
                self._scalar(f"learning_rate/{i}" if isinstance(rate, tuple) else "learning_rate/auto", value.item(), step)
        if self._histograms:
            parameters = run.network.trainable_params()
            chosen = parameters[:5] if self._chosen is None else [p for p in parameters if re.search(self._chosen, p.name)]
            for parameter in chosen:
                self._writer.add_histogram(f"{parameter.name}/auto", parameter.asnumpy(), step)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        for name, value in (run.get("eval_results") or {}).items() if self._metrics else ():
            self._scalar(name, value, run.cur_step_num)

    def _scalar(self, name: str, value: Any, step: int) -> None:
        if isinstance(value, (int, float)) or getattr(value, "shape", None) == ():
            self._writer.add_scalar(name, float(value), step)
