"""The texts of tensors, parameters, dtypes and cells."""

# pyright: reportMissingImports=false

import math
from typing import Any

import mindspore as ms
from answers import outcomes, steady
from mindspore import nn

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool_", *INTEGERS, *FLOATS, "complex64")

# Sizes around those where the texts break lines (12 floats or bools, 24 integers) and where they leave out the middle.
EDGES = (
    *((n,) for n in (6, 7, 12, 13, 14, 24, 25, 48, 49)),
    *((1, n) for n in (5, 6, 7, 8, 13, 25)),
    *((n, 1) for n in (5, 6, 7, 8)),
    *((7, 7), (2, 3, 7), (2, 7, 3), (7, 2, 3), (8, 2, 2, 2)),
)

TENSORS = (
    *(f"Tensor(np.arange({math.prod(shape)}).reshape{shape}, ms.{d})" for shape in EDGES for d in ("int32", "float32")),
    *(f"Tensor(np.arange({math.prod(shape)}).reshape{shape} % 3 == 0)" for shape in EDGES),
    *(f"Tensor(1, ms.{d})" for d in DTYPES),
    *(f"Tensor([1, 0, 3], ms.{d})" for d in DTYPES),
    *(f"Tensor([], ms.{d})" for d in ("bool_", "int32", "float32")),
    *(f"Tensor([-1.5, 0.1, 1e-3], ms.{d})" for d in FLOATS),
    "Tensor(-7, ms.int8)",
    "Tensor(255, ms.uint8)",
    "Tensor(0.1, ms.float32)",
    "Tensor(-0.0, ms.float32)",
    "Tensor(1e10, ms.float32)",
    "Tensor(1e-10, ms.float32)",
    "Tensor(123456.789, ms.float32)",
    "Tensor(123456789.0, ms.float32)",
    "Tensor(0.1, ms.float64)",
    "Tensor(1e300, ms.float64)",
    "Tensor(nan, ms.float32)",
    "Tensor(inf, ms.float32)",
    "Tensor(-inf, ms.float32)",
    "Tensor(True)",
    "Tensor(False)",
    "Tensor([True, False])",
    "Tensor([[True], [False]])",
    "Tensor([[]], ms.float32)",
    "Tensor(np.zeros((0, 3)), ms.float32)",
    "Tensor(np.zeros((2, 0, 3)), ms.int32)",
    "Tensor([nan, inf, -inf, 1.0, -0.0], ms.float32)",
    "Tensor([nan, nan], ms.float32)",
    "Tensor([0.1, 1000000.0], ms.float32)",
    "Tensor([1e-10, 1e10], ms.float32)",
    "Tensor([1e30], ms.float32)",
    "Tensor([1.4100001, 1.5999999, 6.6], ms.float32)",
    "Tensor([0.333333333333, 2.0], ms.float32)",
    "Tensor([0.333333333333, 2.0], ms.float64)",
    "Tensor([1.0, 2.0, 3.0], ms.float32)",
    "Tensor([1.0, -2.0, 30.0], ms.float32)",
    "Tensor([-1, 20, -300], ms.int64)",
    "Tensor([9223372036854775807, -9223372036854775808], ms.int64)",
    "Tensor([18446744073709551615], ms.uint64)",
    "Tensor([65504.0, 6e-8], ms.float16)",
    "Tensor([16777216.0, 16777217.0], ms.float32)",
    "Tensor([0.0001, 0.00001], ms.float32)",
    "Tensor([100000.0, 1.5], ms.float32)",
    "Tensor([99999999.0, 1.5], ms.float32)",
    "Tensor([1 + 2j, -0.5j], ms.complex64)",
    "Tensor([[1.0, 2.0], [3.0, 4.0]], ms.float32)",
    "Tensor([[1.0, -20.5], [300.25, nan]], ms.float32)",
    "Tensor([[1, 20], [-300, 4]], ms.int32)",
    "Tensor(np.arange(12).reshape(2, 2, 3), ms.float32)",
    "Tensor(np.arange(12).reshape(2, 2, 3), ms.int32)",
    "Tensor(np.ones((1, 2, 1, 1)), ms.float32)",
    "Tensor(np.arange(16).reshape(2, 2, 2, 2), ms.float32)",
    "Tensor(np.arange(16).reshape(2, 2, 2, 2), ms.int64)",
    "Tensor(np.arange(32).reshape(2, 2, 2, 2, 2), ms.int32)",
    "Tensor(np.arange(25), ms.int32)",
    "Tensor(np.arange(25), ms.float32)",
    "Tensor(np.arange(60).reshape(2, 30), ms.int32)",
    "Tensor(np.arange(60).reshape(2, 30) / 7, ms.float32)",
    "Tensor(np.arange(1000), ms.int32)",
    "Tensor(np.arange(1001), ms.int32)",
    "Tensor(np.arange(1001), ms.float32)",
    "Tensor(np.arange(2000) % 2 == 0)",
    "Tensor(np.arange(1200).reshape(30, 40), ms.int32)",
    "Tensor(np.arange(1200).reshape(30, 40) / 7, ms.float32)",
    "Tensor(np.arange(1200).reshape(3, 400), ms.float32)",
    "Tensor(np.arange(1200).reshape(400, 3), ms.float32)",
    "Tensor(np.arange(1728).reshape(12, 12, 12), ms.int32)",
    "Tensor(np.arange(10000).reshape(10, 10, 10, 10), ms.float32)",
)
CONTAINERS = (
    "(Tensor([1.0], ms.float32),)",
    "(Tensor(1.0, ms.float32), Tensor(2, ms.int32))",
    "(Tensor([[1.0, 2.0]], ms.float32), Tensor([[3], [4]], ms.int32))",
    "((Tensor([1.0], ms.float32), Tensor([2.0], ms.float32)), (Tensor([3.0], ms.float32),))",
    "[Tensor([1.0], ms.float32), None]",
    "{'a': Tensor([1.0], ms.float32)}",
    "(Tensor(np.ones((2, 2)), ms.float32), 3, 'text', True)",
)
PARAMETERS = (
    "Parameter(Tensor([1.0, 2.0], ms.float32), name='w')",
    "Parameter(Tensor(1.0, ms.float32), name='w')",
    "Parameter(Tensor([[1, 2], [3, 4]], ms.int32), name='w')",
    "Parameter(Tensor([1.0], ms.float32), name='w', requires_grad=False)",
    "Parameter(Tensor([1.0], ms.float32), name='w', layerwise_parallel=True)",
    "Parameter(np.ones((2, 3), np.float32), name='w')",
    "Parameter([1.0, 2.0], name='w')",
    "Parameter(3, name='w')",
    "Parameter(2.5, name='w')",
    "(Parameter(Tensor([1.0], ms.float32), name='w'),)",
    "[Parameter(Tensor([1.0], ms.float32), name='w')]",
    "ms.ParameterTuple([Parameter(Tensor([1.0], ms.float32), name='w')])",
    "net.w",
    "net.trainable_params()",
    "net.parameters_dict()",
)
NAMES = (
    *(f"ms.{d}" for d in DTYPES),
    *("ms.complex128", "ms.string", "ms.tensor_type", "ms.number", "ms.type_none", "ms.int_", "ms.uint", "ms.float_"),
    "ms.dtype.TensorType(ms.float32)",
    "[ms.float32, ms.int32]",
    "ms.float32 == ms.float32",
    "ms.float32 == 'Float32'",
    "ms.dtype_to_nptype(ms.float32)",
    "ms.dtype_to_nptype(ms.bfloat16)",
    "ms.dtype_to_nptype(ms.bool_)",
    "ms.pytype_to_dtype(float)",
    "type(Tensor([1.0]))",
    "type(ms.float32)",
    "Tensor([1.0]).shape",
    "ms.PYNATIVE_MODE",
    "ms.GRAPH_MODE",
)
CELLS = (
    "net",
    "nn.ReLU()",
    "nn.Tanh()",
    "nn.Sigmoid()",
    "nn.GELU()",
    "nn.GELU(False)",
    "nn.LeakyReLU(0.1)",
    "nn.ELU()",
    "nn.Softmax()",
    "nn.LogSoftmax()",
    "nn.Identity()",
    "nn.Flatten()",
    "nn.Dropout(p=0.3)",
    "nn.Dense(4, 3)",
    "nn.Dense(4, 3, has_bias=False)",
    "nn.Dense(4, 3, activation='relu')",
    "nn.Dense(4, 3, 'ones', 'zeros')",
    "nn.Conv2d(3, 4, 5)",
    "nn.Conv2d(3, 4, (5, 3), 2, 'pad', 1, has_bias=True)",
    "nn.Conv2d(3, 4, (5, 3), 2, 'pad', 1, 1, 1, True, 'zeros', 'zeros')",
    "nn.Conv2d(3, 4, 3, weight_init='ones', pad_mode='valid')",
    "nn.BatchNorm1d(3)",
    "nn.BatchNorm2d(3)",
    "nn.LayerNorm([3])",
    "nn.GroupNorm(2, 4)",
    "nn.Embedding(4, 3)",
    "nn.MaxPool2d(2, 2)",
    "nn.AvgPool2d(3, 1, 'same')",
    "nn.MSELoss()",
    "nn.L1Loss('sum')",
    "nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')",
    "nn.CrossEntropyLoss()",
    "nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())",
    "nn.SequentialCell([nn.Dense(2, 3), nn.SequentialCell(nn.ReLU(), nn.Dense(3, 1))])",
    "nn.SequentialCell()",
    "nn.CellList([nn.Dense(2, 3), nn.ReLU()])",
    "nn.CellList()",
    "nn.WithLossCell(nn.Dense(2, 1), nn.MSELoss())",
    "nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params()))",
    "nn.SGD(net.trainable_params())",
    "nn.Momentum(net.trainable_params(), 0.1, 0.9)",
    "nn.Adam(net.trainable_params())",
    "nn.Cell()",
    "ops.Add()",
    "ops.ReLU()",
    "ops.ReduceSum(keep_dims=True)",
    "ops.Softmax(1)",
    "ops.Conv2D(4, 3)",
    "ops.MatMul(transpose_b=True)",
    "ops.GradOperation()",
    "ops.HookBackward(print)",
)
CONVERSIONS = (
    "f'{Tensor(1.5, ms.float32)}'",
    "f'{Tensor([1.5], ms.float32)}'",
    "f'{Tensor(1.5, ms.float32):.3f}'",
    "format(Tensor(1.5, ms.float32), '.3f')",
    "'%s' % Tensor([1.5], ms.float32)",
    "'%.2f' % Tensor(1.5, ms.float32)",
    "str(Tensor([1.0, 2.0], ms.float32).asnumpy())",
    "repr(Tensor([1.0, 2.0], ms.float32).asnumpy())",
    "hash(Tensor(1.0)) == hash(Tensor(1.0))",
    "len(Tensor([1.0, 2.0]))",
    "float(Tensor(1.5))",
    "float(Tensor([1.5]))",
    "int(Tensor(1.5))",
    "bool(Tensor(0.0))",
    "bool(Tensor([1.0]))",
    "Tensor([1, 2]).tolist()",
    "Tensor(1.5).item()",
    "Tensor([[1, 2], [3, 4]])[1, 0].item()",
    "list(Tensor([1, 2]))",
    "Tensor([1.0]) == None",
    "Tensor([1.0]) is None",
    "3 in Tensor([1, 3])",
    "Tensor([1, 2]) == Tensor([1, 3])",
    "Tensor([1, 2]) == 'text'",
)
NESTED = """class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 2)
        self.act = nn.ReLU()
        self.w = ms.Parameter(ms.Tensor([1.0]), name="w")

class Tree(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.blocks = nn.CellList([Block(), Block()])
        self.head = nn.SequentialCell(nn.Flatten(), nn.Dense(2, 1))
"""


def texts(value: Any) -> dict[str, str]:
    return {"str": steady(str(value)), "repr": steady(repr(value))}


def record() -> dict[str, Any]:
    scope: dict[str, Any] = {"nn": nn, "ms": ms, "__name__": __name__}
    exec(NESTED, scope)
    return {
        "tensors": outcomes(TENSORS, texts),
        "containers": outcomes(CONTAINERS, texts),
        "parameters": outcomes(PARAMETERS, texts),
        "names": outcomes(NAMES, texts),
        "cells": outcomes(CELLS, texts),
        "tree": {"source": NESTED.splitlines(), "repr of Tree()": texts(scope["Tree"]())["repr"]},
        "conversions": outcomes(CONVERSIONS),
    }
