"""Layers, losses, optimisers and training wrappers, in MindSpore's names."""

from typing import Any

from adjoint.diagnostics import missing_name
from adjoint.nn.activation import (
    ELU,
    GELU,
    HSigmoid,
    HSwish,
    Identity,
    LeakyReLU,
    LogSoftmax,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    get_activation,
)
from adjoint.nn.container import CellList, SequentialCell
from adjoint.nn.convolution import Conv2d
from adjoint.nn.dynamic_lr import (
    cosine_decay_lr,
    exponential_decay_lr,
    inverse_decay_lr,
    natural_exp_decay_lr,
    piecewise_constant_lr,
    polynomial_decay_lr,
    warmup_lr,
)
from adjoint.nn.learning_rate_schedule import (
    CosineDecayLR,
    ExponentialDecayLR,
    InverseDecayLR,
    NaturalExpDecayLR,
    PolynomialDecayLR,
    WarmUpLR,
)
from adjoint.nn.linear import Dense, Dropout, Embedding, Flatten, MatMul
from adjoint.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LossBase,
    MarginRankingLoss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
    SoftmaxCrossEntropyWithLogits,
)
from adjoint.nn.normalization import BatchNorm1d, BatchNorm2d, ClipByNorm, LayerNorm
from adjoint.nn.optim import SGD, Adam, AdamWeightDecay, Momentum, Optimizer
from adjoint.nn.pooling import AvgPool2d, MaxPool2d
from adjoint.nn.wrap import TrainOneStepCell, WithEvalCell, WithLossCell
from adjoint.runtime.cell import Cell

__all__ = [
    "Adam", "AdamWeightDecay", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "Cell", "CellList",
    "ClipByNorm", "Conv2d", "CosineDecayLR", "CosineEmbeddingLoss", "CrossEntropyLoss", "Dense", "Dropout", "ELU", "Embedding",
    "ExponentialDecayLR", "Flatten", "GELU", "HSigmoid", "HSwish", "HuberLoss", "Identity", "InverseDecayLR", "KLDivLoss", "L1Loss",
    "LayerNorm", "LeakyReLU", "LogSoftmax", "LossBase", "MSELoss", "MarginRankingLoss", "MatMul", "MaxPool2d", "Momentum",
    "NLLLoss", "NaturalExpDecayLR", "Optimizer", "PReLU", "PolynomialDecayLR", "ReLU", "ReLU6", "SGD", "SequentialCell", "SiLU",
    "Sigmoid", "SmoothL1Loss", "Softmax", "SoftmaxCrossEntropyWithLogits", "Softplus", "Tanh", "TrainOneStepCell", "WarmUpLR",
    "WithEvalCell", "WithLossCell", "cosine_decay_lr", "exponential_decay_lr", "get_activation", "inverse_decay_lr",
    "natural_exp_decay_lr", "piecewise_constant_lr", "polynomial_decay_lr", "warmup_lr",
]

_RECURRENT = "a Cell of your own, with `nn.Dense` for the gates and a loop over the steps in `construct`"
_SCALE = "a Cell that multiplies the loss by a Tensor, and the optimizer's `loss_scale`"
INSTEAD = {
    **dict.fromkeys(("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"), _RECURRENT),
    **dict.fromkeys(("DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"), _SCALE),
    "ForwardValueAndGrad": "`ms.value_and_grad`",
    "AdamW": "`nn.AdamWeightDecay`",
    "Conv1d": "`ops.conv1d`, with the weight as a Parameter of your Cell",
    "GroupNorm": "`ops.group_norm`, with gamma and beta as Parameters of your Cell",
    "AdaptiveAvgPool2d": "the function `ops.adaptive_avg_pool2d`", "AvgPool1d": "the function `ops.avg_pool1d`",
    "CELU": "the function `ops.celu`", "GLU": "the function `ops.glu`", "HShrink": "the function `ops.hardshrink`",
    "Hardtanh": "the function `ops.hardtanh`", "LogSigmoid": "the function `ops.logsigmoid`", "Mish": "the function `ops.mish`",
    "SeLU": "the function `ops.selu`", "SoftShrink": "the function `ops.softshrink`", "Softmin": "the function `ops.softmin`",
    "Softsign": "the function `ops.softsign`", "Tanhshrink": "the function `ops.tanhshrink`", "Threshold": "the function `ops.threshold`",
}
"""What to write for layers of MindSpore's that are not here."""


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
