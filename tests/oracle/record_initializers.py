"""Distributions of the initialisers and of the layers' default weights; names, shapes and order of the parameters."""

# pyright: reportMissingImports=false

import inspect
import math
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.common import initializer as init

SHAPES = {"dense (400, 300)": (400, 300), "conv (96, 64, 5, 5)": (96, 64, 5, 5)}

# What is asked, and what it is expected to be: a family of distributions, and the formula of its one scale,
# the bound of a uniform distribution or the standard deviation of a normal one before it is cut off at two of them.
FORMULAS = {
    "Normal()": ("normal", "0.01"),
    "Normal(0.5, 2.0)": ("normal", "0.5"),
    "Uniform()": ("uniform", "0.07"),
    "Uniform(0.5)": ("uniform", "0.5"),
    # The interval [a, b] is one of values, not of standard deviations: the default [-2, 2] cuts nothing off at 0.01.
    "TruncatedNormal()": ("normal", "0.01"),
    "TruncatedNormal(0.02)": ("normal", "0.02"),
    "TruncatedNormal(1.0)": ("truncated normal", "1"),
    "TruncatedNormal(0.01, 0.0, -0.02, 0.02)": ("truncated normal", "0.01"),
    "TruncatedNormal(1.0, 0.0, -0.01, 0.01)": ("uniform", "0.01"),
    "XavierUniform()": ("uniform", "sqrt(6 / (fan_in + fan_out))"),
    "XavierUniform(2)": ("uniform", "2 * sqrt(6 / (fan_in + fan_out))"),
    "XavierNormal()": ("normal", "sqrt(2 / (fan_in + fan_out))"),
    "HeNormal()": ("normal", "sqrt(2 / fan_in)"),
    "HeNormal(mode='fan_out')": ("normal", "sqrt(2 / fan_out)"),
    "HeUniform()": ("uniform", "sqrt(6 / fan_in)"),
    "HeUniform(sqrt(5))": ("uniform", "sqrt(1 / fan_in)"),
    "HeUniform(mode='fan_out')": ("uniform", "sqrt(6 / fan_out)"),
    "HeUniform(nonlinearity='relu')": ("uniform", "sqrt(6 / fan_in)"),
    "HeUniform(nonlinearity='tanh')": ("uniform", "5 / 3 * sqrt(3 / fan_in)"),
    "HeUniform(nonlinearity='sigmoid')": ("uniform", "sqrt(3 / fan_in)"),
    "HeUniform(nonlinearity='linear')": ("uniform", "sqrt(3 / fan_in)"),
    "HeUniform(0.5)": ("uniform", "sqrt(2 / 1.25) * sqrt(3 / fan_in)"),
    "Constant(3)": ("constant", "3"),
    "Zero()": ("constant", "0"),
    "One()": ("constant", "1"),
}
STRINGS = (
    *(
        "normal",
        "uniform",
        "zeros",
        "ones",
        "zero",
        "one",
        "constant",
        "identity",
        "truncatednormal",
        "truncatedNormal",
    ),
    *("truncated_normal", "TruncatedNormal", "xavier_uniform", "xavieruniform", "XavierUniform", "xavier_normal"),
    *("he_normal", "he_uniform", "HeUniform", "heuniform", "Zeros", "ONES", "dirac", "orthogonal"),
)
DEFAULTS = {
    "nn.Dense(100, 5000)": {"weight": ("uniform", "1 / sqrt(fan_in)"), "bias": ("uniform", "1 / sqrt(fan_in)")},
    "nn.Conv2d(10, 5000, 3, has_bias=True)": {
        "weight": ("uniform", "1 / sqrt(fan_in)"),
        "bias": ("uniform", "1 / sqrt(fan_in)"),
    },
    "nn.Conv2d(10, 5000, (2, 3), group=2, has_bias=True)": {
        "weight": ("uniform", "1 / sqrt(fan_in)"),
        "bias": ("uniform", "1 / sqrt(fan_in)"),
    },
    "nn.Embedding(400, 300)": {"embedding_table": ("normal", "0.01")},
    "nn.BatchNorm2d(3)": {
        "mean": ("constant", "0"),
        "variance": ("constant", "1"),
        "gamma": ("constant", "1"),
        "beta": ("constant", "0"),
    },
    "nn.LayerNorm([3])": {"gamma": ("constant", "1"), "beta": ("constant", "0")},
}
LAYERS = (
    "nn.Dense(400, 300)",
    "nn.Dense(400, 300, has_bias=False)",
    "nn.Dense(4, 3, 'ones', 'zeros')",
    "nn.Dense(4, 3, activation='relu')",
    "nn.Conv2d(64, 96, 5)",
    "nn.Conv2d(64, 96, 5, has_bias=True)",
    "nn.Conv2d(64, 96, (3, 5), group=2, has_bias=True)",
    "nn.Conv1d(64, 96, 5, has_bias=True)",
    "nn.Embedding(400, 300)",
    "nn.Embedding(4, 3, padding_idx=1)",
    "nn.BatchNorm1d(3)",
    "nn.BatchNorm2d(3, gamma_init='zeros', moving_var_init=2.0)",
    "nn.LayerNorm([2, 3])",
    "nn.GroupNorm(2, 4)",
    "nn.PReLU()",
    "nn.Dropout(p=0.5)",
    "nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))",
    "nn.SequentialCell([nn.Dense(2, 3), nn.BatchNorm1d(3)])",
    "nn.CellList([nn.Dense(2, 3), nn.Dense(2, 3)])",
    "Net()",
    "Outer()",
    "nn.WithLossCell(Net(), nn.MSELoss())",
    "nn.TrainOneStepCell(Net(), nn.SGD(Net().trainable_params()))",
    "nn.SGD(Net().trainable_params(), 0.1)",
    "nn.SGD(Net().trainable_params(), 0.1, momentum=0.9)",
    "nn.Momentum(Net().trainable_params(), 0.1, 0.9)",
    "nn.Momentum(Net().trainable_params(), ms.Tensor([0.1, 0.01]), 0.9)",
    "nn.Adam(Net().trainable_params())",
    "nn.AdamWeightDecay(Net().trainable_params())",
)


class Net(nn.Cell):
    """A parameter of its own, set before and after the layers, one without a name and one frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.first = ms.Parameter(ms.Tensor([1.0]), name="named")
        self.dense = nn.Dense(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.scale = ms.Parameter(ms.Tensor([1.0]))
        self.frozen = ms.Parameter(ms.Tensor([1.0]), requires_grad=False)


class Outer(nn.Cell):
    """One cell inside another, and one layer that is reached by two names."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.SequentialCell(Net(), nn.Dense(3, 1))
        self.last = self.blocks[1]
        self.items = nn.CellList([nn.Dense(1, 1)])


SPACE = {**vars(init), "nn": nn, "ms": ms, "sqrt": math.sqrt, "Net": Net, "Outer": Outer}


def measured(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Moments and range; the family is told by the kurtosis, which is 1.8 for uniform and 3 for normal values."""
    values = values.astype(np.float64).ravel()
    mean, deviation = values.mean(), values.std()
    if deviation == 0:
        return {"family": "constant", "value": mean}
    if values.size < 1000:
        return {"family": "random"}
    kurtosis = ((values - mean) ** 4).mean() / deviation**4
    family = "uniform" if kurtosis < 1.9 else "truncated normal" if kurtosis < 2.7 else "normal"
    facts = {"mean": mean, "deviation": deviation, "low": values.min(), "high": values.max()}
    return {"family": family} | {name: float(f"{number:.4g}") for name, number in facts.items()}


def fans(shape: tuple[int, ...]) -> dict[str, int]:
    field = math.prod(shape[2:])
    return {"fan_in": shape[1] * field, "fan_out": shape[0] * field}


def checked(values: Any, family: str, formula: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """The facts of `values`, after a check that they have the family and the scale; `shape` gives the fans."""
    facts = measured(values)
    scale = eval(formula, SPACE, fans(shape)) if len(shape) > 1 else eval(formula, SPACE)
    if facts["family"] == "constant":
        found = facts["value"]
    elif facts["family"] == "uniform":
        found = facts["high"]
    else:
        found = facts["deviation"] / (0.8796 if facts["family"] == "truncated normal" else 1)
    if facts["family"] != family or not math.isclose(found, scale, rel_tol=0.02):
        raise AssertionError(f"{shape}: not {family} of scale {formula} = {scale}: {facts}")
    return {"scale": formula, **facts}


def filled(expression: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """What an initialiser fills an array of `shape` with."""
    values = init.initializer(eval(expression, SPACE), shape, ms.float32).init_data().asnumpy()
    return checked(values, *FORMULAS[expression], shape)


def defaults(expression: str) -> dict[str, Any]:
    """What a layer's parameters hold when no initialiser is given; all fans are those of the first, its weight."""
    found = list(eval(expression, SPACE).get_parameters())
    if [p.name for p in found] != list(DEFAULTS[expression]):
        raise AssertionError(f"{expression}: {[p.name for p in found]}")
    return {p.name: checked(p.asnumpy(), *DEFAULTS[expression][p.name], found[0].shape) for p in found}


def named(text: str) -> str:
    try:
        return type(init.initializer(text, (2, 2), ms.float32).init).__name__
    except (TypeError, ValueError) as problem:
        return f"{type(problem).__name__}: {problem}"


def parameters(expression: str) -> list[dict[str, Any]]:
    """The parameters in their order; what two seeds make different is random."""
    made: list[list[ms.Parameter]] = []
    for seed in (1, 2):
        ms.set_seed(seed)
        made.append(list(eval(expression, SPACE).get_parameters()))
    return [
        {"name": p.name, "shape": list(p.shape), "dtype": str(p.dtype), "requires_grad": p.requires_grad}
        | (
            measured(p.asnumpy())
            if p.size >= 1000 or np.array_equal(p.asnumpy(), q.asnumpy())
            else {"family": "random"}
        )
        for p, q in zip(*made, strict=True)
    ]


def record() -> dict[str, Any]:
    ms.set_seed(0)
    return {
        "initialisers": {f"{e} of {n}": filled(e, shape) for n, shape in SHAPES.items() for e in FORMULAS},
        "Identity() of (2, 3)": init.initializer(init.Identity(), (2, 3)).init_data().asnumpy().tolist(),
        "names": {text: named(text) for text in STRINGS},
        "defaults of layers": {expression: defaults(expression) for expression in DEFAULTS},
        "parameters of cells": {expression: parameters(expression) for expression in LAYERS},
        "Net": inspect.getsource(Net).splitlines(),
        "Outer": inspect.getsource(Outer).splitlines(),
    }
