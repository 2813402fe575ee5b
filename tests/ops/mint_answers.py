"""Calls functions and layers of `adjoint.mint` in a process without a compiler, as `array_answers.py` does, and writes what they give.

python mint_answers.py > answers.json     "calls": for each expression "result", "gradients" by the arrays in Float64, and "graph";
                                          "kinks": the "gradients" for each kind of hard values and each expression that has kinks
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, mint

sys.path.insert(0, str(Path(__file__).parent.parent / "oracle"))
mint_calls = importlib.import_module("mint_calls")


PRECISION = [ms.float32]
"""The dtype of the arrays, the last one."""


def filled(layer: Any) -> Any:
    """The layer, in training, with numbers in its trained parameters that do not depend on chance; floats in the dtype of the arrays."""
    for parameter in layer.get_parameters():
        values = parameter.asnumpy()
        if parameter.requires_grad:
            values = np.cos(np.arange(parameter.size) * 0.7 + parameter.size).reshape(parameter.shape)
        if parameter.dtype.is_float:
            parameter.set_dtype(PRECISION[-1])
            parameter.set_data(Tensor(values, PRECISION[-1]))
    return layer.set_train()


def resting(layer: Any) -> Any:
    return layer.set_train(False)


def stepped(optimizer: Any, **options: Any) -> Tensor:
    """A parameter after three steps along the cosine of its multiples."""
    parameter = ms.Parameter(Tensor([1.0, -2.0, 0.5], ms.float32), name="beta")
    chosen = optimizer([parameter], **options)
    for step in range(3):
        chosen((ms.ops.cos(parameter * (step + 1)),))
    return Tensor(parameter.asnumpy())


FUNCTIONS = {"mint": mint, "F": mint.nn.functional, "nn": mint.nn, "optim": mint.optim, "filled": filled, "resting": resting,
             "stepped": stepped}


def constants(dtype: Any) -> dict[str, Tensor]:
    found = {name: Tensor(v, dtype) for name, v in mint_calls.CONSTANTS.items()}
    return found | {name: Tensor(v) for name, v in mint_calls.INTEGERS.items()}


def arrays(dtype: Any, values: dict[str, Any] = mint_calls.VALUES) -> list[Tensor]:
    return [Tensor(v, dtype) for v in values.values()]


def encoded(value: Any) -> Any:
    if isinstance(value, Tensor):
        return {str(value.dtype).lower(): numbers(value), "shape": list(value.shape)}
    if isinstance(value, (tuple, list)):
        return {"tuple": [encoded(item) for item in value]}
    return value


def numbers(value: Tensor) -> Any:
    text = json.dumps(value.asnumpy().tolist())
    return json.loads(text, parse_constant=lambda word: {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[word])


def floats(value: Any) -> list[Tensor]:
    """The results that a gradient flows through."""
    if isinstance(value, (tuple, list)):
        return [x for item in value for x in floats(item)]
    return [value] if isinstance(value, Tensor) and value.dtype.is_float else []


def loss(value: Any) -> Tensor:
    """The sum of the sines of all results."""
    total = Tensor(0.0, ms.float32)
    for x in floats(value):
        total = total + ms.ops.sum(ms.ops.sin(x))
    return total


def gradients(expression: str, values: dict[str, Any] = mint_calls.VALUES) -> Any:
    names = list(mint_calls.VALUES)
    fixed = FUNCTIONS | constants(ms.float64)

    def f(*values: Tensor) -> Tensor:
        return loss(eval(expression, {**fixed, **dict(zip(names, values, strict=True))}))

    PRECISION.append(ms.float64)
    try:
        found = ms.grad(f, tuple(range(len(names))))(*arrays(ms.float64, values))
    finally:
        PRECISION.pop()
    return {name: numbers(g.reshape(-1)) for name, g in zip(names, found, strict=True)}


def in_graphs(expressions: list[str], values: dict[str, Any] = mint_calls.VALUES) -> dict[str, bool | str]:
    """Whether value and gradients in a graph have the bits of eager ones, for each expression; or the exception."""
    given = ", ".join([*mint_calls.VALUES, *mint_calls.CONSTANTS, *mint_calls.INTEGERS])
    text = "from adjoint import mint\nfrom adjoint.mint.nn import functional as F\nfrom mint_answers import loss\n" + "".join(
        f"def f{i}({given}):\n    return loss({e})\n" for i, e in enumerate(expressions))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"mint_expressions_{len(expressions)}.py").write_text(text, encoding="utf-8")
        sys.path[:0] = [folder, str(Path(__file__).parent)]
        module = importlib.import_module(f"mint_expressions_{len(expressions)}")
        return {e: has_the_same_bits(getattr(module, f"f{i}"), values) for i, e in enumerate(expressions)}


def has_the_same_bits(function: Any, values: dict[str, Any]) -> bool | str:
    operands = [*arrays(ms.float32, values), *constants(ms.float32).values()]
    gradient = ms.value_and_grad(function, tuple(range(len(mint_calls.VALUES))))
    try:
        (one, eager), (other, graph) = gradient(*operands), ms.jit(gradient)(*operands)
    except Exception as problem:
        return repr(problem)
    return [g.asnumpy().tobytes() for g in (one, *eager)] == [g.asnumpy().tobytes() for g in (other, *graph)]


def answer(expression: str) -> Any:
    try:
        result = eval(expression, {**FUNCTIONS, **constants(ms.float32), **dict(zip(mint_calls.VALUES, arrays(ms.float32), strict=True))})
        return {"result": encoded(result), "gradients": gradients(expression) if floats(result) else None}
    except Exception as problem:
        return {"result": repr(problem), "gradients": None}


def gradients_at(expression: str, values: dict[str, Any]) -> Any:
    try:
        return gradients(expression, values)
    except Exception as problem:
        return repr(problem)


def at_kinks() -> dict[str, Any]:
    """For each kind of hard values the gradients of each expression that has kinks; of some of them, whether graphs have the same bits."""
    found = {kind: {e: {"gradients": gradients_at(e, values)} for e in mint_calls.at_kinks()}
             for kind, values in mint_calls.HARD_VALUES.items()}
    for e, same in in_graphs(mint_calls.calls(mint_calls.AT_KINKS), mint_calls.HARD_VALUES["ties"]).items():
        found["ties"][e]["graph"] = same
    return found


if __name__ == "__main__":
    calls = mint_calls.expressions()
    functions = [e for e in calls if e.startswith(("mint.", "F."))]
    graphs = in_graphs(functions)
    json.dump({"calls": {e: {**answer(e), "graph": graphs.get(e, True)} for e in calls}, "kinks": at_kinks()}, sys.stdout)
