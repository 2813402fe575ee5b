"""Results of `mindspore.numpy` and the exceptions it raises, for the calls in `array_calls.py`."""

# pyright: reportMissingImports=false

from typing import Any

import array_calls
import mindspore.numpy as mnp
from answers import encoded, failure
from mindspore import Tensor


def outcome(expression: str) -> Any:
    try:
        return encoded(eval(expression, array_calls.space(mnp, Tensor)))
    except Exception as problem:
        return {"error": failure(problem)["error"]}


def record() -> dict[str, Any]:
    return {"calls": {expression: outcome(expression) for expression in array_calls.expressions()}}
