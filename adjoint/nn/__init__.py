"""Layers, losses, optimisers and training wrappers, in MindSpore's names."""

from typing import TYPE_CHECKING, Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.nn.index import LAYERS, OPTIMIZERS

if TYPE_CHECKING:
    from adjoint.nn import (
        activation,
        attention,
        combined,
        container,
        convolution,
        dropout,
        dynamic_lr,
        embedding,
        images,
        learning_rate_schedule,
        linear,
        loss,
        loss_scale,
        margin_loss,
        math,
        normalization,
        optim,
        padding,
        patches,
        pooling,
        recurrent,
        resizing,
        sparse,
        unpooling,
        wrap,
    )
    from adjoint.nn.activation import *  # noqa: F403
    from adjoint.nn.attention import *  # noqa: F403
    from adjoint.nn.combined import *  # noqa: F403
    from adjoint.nn.container import *  # noqa: F403
    from adjoint.nn.convolution import *  # noqa: F403
    from adjoint.nn.dropout import *  # noqa: F403
    from adjoint.nn.dynamic_lr import *  # noqa: F403
    from adjoint.nn.embedding import *  # noqa: F403
    from adjoint.nn.grad_reducer import DistributedGradReducer
    from adjoint.nn.images import *  # noqa: F403
    from adjoint.nn.learning_rate_schedule import *  # noqa: F403
    from adjoint.nn.linear import *  # noqa: F403
    from adjoint.nn.loss import *  # noqa: F403
    from adjoint.nn.loss_scale import *  # noqa: F403
    from adjoint.nn.margin_loss import *  # noqa: F403
    from adjoint.nn.math import *  # noqa: F403
    from adjoint.nn.normalization import *  # noqa: F403
    from adjoint.nn.optim import *  # noqa: F403
    from adjoint.nn.padding import *  # noqa: F403
    from adjoint.nn.patches import *  # noqa: F403
    from adjoint.nn.pooling import *  # noqa: F403
    from adjoint.nn.recurrent import *  # noqa: F403
    from adjoint.nn.resizing import *  # noqa: F403
    from adjoint.nn.sparse import *  # noqa: F403
    from adjoint.nn.unpooling import *  # noqa: F403
    from adjoint.nn.wrap import *  # noqa: F403
    from adjoint.runtime.cells.cell import Cell

__all__ = ["Cell", "DistributedGradReducer"]
if TYPE_CHECKING:
    __all__ += activation.__all__
    __all__ += attention.__all__
    __all__ += combined.__all__
    __all__ += container.__all__
    __all__ += convolution.__all__
    __all__ += dropout.__all__
    __all__ += dynamic_lr.__all__
    __all__ += embedding.__all__
    __all__ += images.__all__
    __all__ += learning_rate_schedule.__all__
    __all__ += linear.__all__
    __all__ += loss.__all__
    __all__ += loss_scale.__all__
    __all__ += margin_loss.__all__
    __all__ += math.__all__
    __all__ += normalization.__all__
    __all__ += optim.__all__
    __all__ += padding.__all__
    __all__ += patches.__all__
    __all__ += pooling.__all__
    __all__ += recurrent.__all__
    __all__ += resizing.__all__
    __all__ += sparse.__all__
    __all__ += unpooling.__all__
    __all__ += wrap.__all__
else:
    __all__ += " ".join(["Optimizer", *LAYERS.values(), *OPTIMIZERS.values()]).split()

_THOR = "the layer of the same name without Thor: only MindSpore's optimizer `thor`, which is not here, uses what it keeps"
INSTEAD = {
    "AdamW": "`nn.AdamWeightDecay`", "GraphCell": "the Cell itself: there are no files of graphs, and `jit` makes a graph of it",
    "OcclusionSensitivity": "a loop that sets a window of the image to one value and calls the network",
    **dict.fromkeys(("Conv2dThor", "DenseThor", "EmbeddingLookupThor", "EmbeddingThor"), _THOR),
    "thor": "`nn.Lamb` or `nn.LARS`: an optimizer of second order is not here",
}
"""What to write instead of layers of MindSpore's that are missing here."""


LOADED_WHEN_USED = {
    **lazy.homes(__name__, LAYERS), **lazy.homes("adjoint.nn.optim", OPTIMIZERS), "Optimizer": "adjoint.nn.optim.optimizer",
    "Cell": "adjoint.runtime.cells.cell", "DistributedGradReducer": "adjoint.nn.grad_reducer",
    **dict.fromkeys(
        ("Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
         "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "Perplexity", "Precision", "ROC", "Recall",
         "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc",
         "get_metric_fn", "names", "rearrange_inputs"), "adjoint.train.metrics"),
    **dict.fromkeys(("Dropout2dExt", "LayerNormExt", "PReLUExt"), "adjoint.mint.nn.older"), "probability": "adjoint.nn.probability"}
"""The modules of all names, of metrics and layers that are also available here, and of distributions."""


def __getattr__(name: str) -> Any:
    found = lazy.found(globals(), name)
    if found is None:
        raise missing_name(__name__, name, globals())
    return found


def __dir__() -> list[str]:
    return lazy.listed(globals())
