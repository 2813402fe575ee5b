"""What the names of calls mean, by the list that a call is of.  Read by both interpreters: everything is under `mindspore`."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_calls
import good_calls
import mint_calls
import numpy as np
import record_transforms

METRICS = """
fed(train.Accuracy(), scores, classes); fed(train.Accuracy('multilabel'), chosen, chosen); fed(train.Accuracy('other'), scores, classes)
fed(train.Precision(), scores, classes); train.Precision(); fed(train.Recall(), scores, classes)
fed(train.Recall('multilabel'), chosen, chosen); fed(train.F1(), scores, classes); fed(train.Fbeta(0.5), scores, classes)
fed(train.Fbeta(0), scores, classes); fed(train.MAE(), scores, chosen); fed(train.MSE(), scores, chosen); fed(train.MAE(), scores, classes)
fed(train.Loss(), loss); fed(train.Loss(), scores); fed(train.Loss()); fed(train.Top1CategoricalAccuracy(), scores, classes)
fed(train.Top5CategoricalAccuracy(), scores, classes); fed(train.TopKCategoricalAccuracy(2), scores, classes)
fed(train.TopKCategoricalAccuracy(0), scores, classes); fed(train.ConfusionMatrix(3), classes, classes)
fed(train.ConfusionMatrix(3, 'true'), classes, classes); fed(train.ConfusionMatrix(3, 'all', 0.4), classes, classes)
fed(train.ConfusionMatrixMetric(), chosen, chosen); fed(train.ConfusionMatrixMetric(True, 'accuracy'), chosen, chosen)
fed(train.ConfusionMatrixMetric(metric_name='F1 score', calculation_method=True), chosen, chosen)
fed(train.Perplexity(), scores, classes); fed(train.Perplexity(0), scores, classes); fed(train.CosineSimilarity(), scores, None)
fed(train.CosineSimilarity('dot', 'mean', False), scores, None); fed(train.Dice(), chosen, chosen); fed(train.Dice(1.0), scores, chosen)
fed(train.ROC(pos_label=1), flat_scores, flat_truth); fed(train.ROC(3), scores, classes); fed(train.Accuracy())
train.auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.75, 1.0])); train.auc(np.array([0.0, 0.5]), np.array([1.0])); train.names()
fed(train.Accuracy(), scores); fed(train.Accuracy(), scores, scores); fed(train.MAE(), scores, 'text'); fed(train.MAE(), None, None)
train.get_metric_fn('accuracy', 'classification'); train.get_metric_fn('other'); train.get_metrics({'accuracy', 'loss'})
train.get_metrics({'a': 5}); train.rearrange_inputs(len); fed(train.Accuracy(), wrong, classes); fed(train.Perplexity(), scores, scores)
fed(train.Precision(), wrong, classes); fed(train.Recall(), classes, scores); fed(train.TopKCategoricalAccuracy('a'), scores, classes)
"""


def fed(metric: Any, *given: Any) -> Any:
    """The value of a metric that was updated twice."""
    metric.clear()
    if given:
        metric.update(*given) if given[-1] is not None else metric.update(given[0])
        metric.update(*given) if given[-1] is not None else metric.update(given[0])
    return metric.eval()


def metrics(ms: Any) -> dict[str, Any]:
    """Scores of four samples in three classes, right classes, and choices among them."""
    scores = np.array([[0.2, 0.5, 0.3], [0.3, 0.1, 0.6], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8]], np.float32)
    return {
        "train": ms.train, "np": np, "fed": fed, "scores": ms.Tensor(scores), "classes": ms.Tensor([1, 0, 0, 2], ms.int32),
        "chosen": ms.Tensor([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]], ms.int32), "loss": ms.Tensor(0.7),
        "flat_scores": ms.Tensor(scores[:, 0]), "flat_truth": ms.Tensor([0, 1, 1, 0], ms.int32), "wrong": ms.Tensor([0.5, 0.2]),
    }


def arrays(ms: Any) -> dict[str, Any]:
    return array_calls.space(ms.numpy, ms.Tensor)


def mint(ms: Any) -> dict[str, Any]:
    def filled(layer: Any) -> Any:
        for parameter in layer.get_parameters():
            numbers = np.cos(np.arange(parameter.size) * 0.7 + parameter.size).astype(np.float32)
            parameter.set_data(ms.Tensor(numbers.reshape(parameter.shape)))
        return layer.set_train()

    def stepped(optimizer: Any, **options: Any) -> Any:
        parameter = ms.Parameter(ms.Tensor([1.0, -2.0, 0.5]), name="parameter")
        chosen = optimizer([parameter], **options)
        for step in range(3):
            chosen((ms.ops.cos(parameter.value() * (step + 1)),))
        return parameter.value()

    import mindspore.mint.optim as optim

    floats = {**mint_calls.VALUES, **mint_calls.CONSTANTS}
    return {
        "mint": ms.mint, "F": ms.mint.nn.functional, "nn": ms.mint.nn, "optim": optim, "filled": filled,
        "resting": lambda layer: layer.set_train(False), "stepped": stepped,
        **{name: ms.Tensor(value.astype(np.float32)) for name, value in floats.items()},
        **{name: ms.Tensor(value) for name, value in mint_calls.INTEGERS.items()},
    }


def data(ms: Any) -> dict[str, Any]:
    from mindspore.dataset import text, transforms, vision

    names = {"ms": ms, "np": np, "T": transforms, "V": vision, "text": text, "Inter": vision.Inter, "Border": vision.Border}
    return {**names, **record_transforms.arrays()}


SPACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "entries": lambda ms: good_calls.values(), "numpy": arrays, "mint": mint, "data": data, "metrics": metrics,
}
