"""Metrics: measure the quality of a network over all batches of an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.train.metrics.accuracy import Accuracy, Top1CategoricalAccuracy, Top5CategoricalAccuracy, TopKCategoricalAccuracy
from adjoint.train.metrics.bleu import BleuScore
from adjoint.train.metrics.confusion_matrix import ConfusionMatrix, ConfusionMatrixMetric
from adjoint.train.metrics.error import MAE, MSE, Loss, Perplexity
from adjoint.train.metrics.metric import Metric, rearrange_inputs
from adjoint.train.metrics.precision import F1, Fbeta, Precision, Recall
from adjoint.train.metrics.roc import ROC, auc
from adjoint.train.metrics.similarity import CosineSimilarity, Dice
from adjoint.train.metrics.surfaces import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance

__all__ = [
    "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta", "HausdorffDistance",
    "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "Perplexity", "Precision", "ROC", "Recall", "RootMeanSquareDistance",
    "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc", "get_metric_fn", "names", "rearrange_inputs",
]

_METRICS: dict[str, Callable[..., Any]] = {
    "F1": F1, "acc": Accuracy, "accuracy": Accuracy, "auc": auc, "bleu_score": BleuScore, "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric, "cosine_similarity": CosineSimilarity, "dice": Dice,
    "hausdorff_distance": HausdorffDistance, "loss": Loss, "mae": MAE, "mean_surface_distance": MeanSurfaceDistance, "mse": MSE,
    "perplexity": Perplexity, "precision": Precision, "recall": Recall, "roc": ROC, "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy, "topk": TopKCategoricalAccuracy,
}


def names() -> list[str]:
    """Return the names that `get_metric_fn` knows."""
    return sorted(_METRICS)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """Return the metric of this name, made with these arguments; raise KeyError for an unknown name."""
    if name not in _METRICS:
        raise KeyError(f"For 'get_metric_fn', unsupported metric {name}: there are {names()}.")
    return _METRICS[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """Return metrics by name, from a dict of metrics or a set of names; an empty dict for None.  Raise TypeError for anything else."""
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError(f"For 'get_metrics', if 'metrics' is dict, the key in 'metrics' must be string and value in 'metrics' must "
                                f"be Metric, but got key:{type(name)}, value:{type(metric)}.")
        return metrics
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in sorted(metrics)}
    raise TypeError(f"For 'get_metrics', the argument 'metrics' must be None, dict or set, but got {metrics}.")
