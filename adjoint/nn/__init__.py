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
from adjoint.nn.linear import Dense, Dropout, Embedding, Flatten, MatMul
from adjoint.nn.loss import L1Loss, LossBase, MSELoss, SoftmaxCrossEntropyWithLogits
from adjoint.nn.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from adjoint.nn.optim import SGD, Adam, Momentum, Optimizer
from adjoint.nn.pooling import AvgPool2d, MaxPool2d
from adjoint.nn.wrap import TrainOneStepCell, WithEvalCell, WithLossCell
from adjoint.runtime.cell import Cell

__all__ = [
    "ELU", "GELU", "SGD", "Adam", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Cell", "CellList", "Conv2d", "Dense", "Dropout", "Embedding",
    "Flatten", "HSigmoid", "HSwish", "Identity", "L1Loss", "LayerNorm", "LeakyReLU", "LogSoftmax", "LossBase", "MSELoss", "MatMul",
    "MaxPool2d", "Momentum", "Optimizer", "PReLU", "ReLU", "ReLU6", "SequentialCell", "SiLU", "Sigmoid", "Softmax",
    "SoftmaxCrossEntropyWithLogits", "Softplus", "Tanh", "TrainOneStepCell", "WithEvalCell", "WithLossCell", "get_activation",
]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
