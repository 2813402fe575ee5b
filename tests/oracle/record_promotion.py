"""The dtype of the result of each operator, for all pairs of dtypes and for Python numbers."""

# pyright: reportMissingImports=false

import operator
from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from dtype_ends import FLOATS, INTEGERS, ends
from mindspore import Tensor, ops

DTYPES = ("bool", *INTEGERS, *FLOATS)
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "==": operator.eq,
}
NUMBERS: dict[str, Any] = {"True": True, "2": 2, "1.5": 1.5}
EDGES = (7, -7, 3, -3)
SCALAR_OPERATORS = OPERATORS | {
    "<=": operator.le,
    "maximum": ops.maximum,
    "minimum": ops.minimum,
    "fmod": ops.fmod,
}
LIMITS = (
    "-1", "2", "127", "-129", "255", "256", "300", "70000", "2**31", "2**40", "-2**63", "2**63", "2**64",
    "1e6", "1e40", "1e-50", "inf", "nan",
)
"""Numbers at the ends of dtypes and beyond, as Python text."""
TOO_LARGE = {
    "uint8": (-1, 256, 300),
    "int8": (128, -129),
    "int32": (2**31, 2**40),
    "float16": (1e6, 70000),
    "bool": (2,),
}


def tensor(dtype: str, shape: tuple[int, ...] = (2,)) -> Tensor:
    return Tensor(np.ones(shape), dtype=getattr(ms, "bool_" if dtype == "bool" else dtype))


def answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result; an exception as its type and the first line of its text that says something."""
    try:
        return function(*arguments)
    except Exception as problem:
        said = [line for line in str(problem).splitlines() if line.strip("- ")]
        return f"{type(problem).__name__}: {said[0] if said else ''}"


def numbers_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result as its dtype and its numbers; an exception as its type."""
    result = answer(function, *arguments)
    if isinstance(result, str):
        return result.partition(":")[0]
    array = (result.float() if result.dtype == ms.bfloat16 else result).asnumpy()
    return " ".join([str(result.dtype).lower(), *map(str, array.tolist())])


def limits() -> dict[str, dict[str, str]]:
    """The answers by operator and number, then by dtype; `"256 / {}"`: the number stands left of the tensor."""
    rows: dict[str, dict[str, str]] = {}
    for symbol, function in SCALAR_OPERATORS.items():
        for text in LIMITS:
            number = eval(text, {"inf": float("inf"), "nan": float("nan")})
            rows[f"{{}} {symbol} {text}"] = {d: numbers_of(function, ends(d), number) for d in DTYPES}
            rows[f"{text} {symbol} {{}}"] = {d: numbers_of(function, number, ends(d)) for d in DTYPES}
    return rows


def dtype_of(function: Callable[..., Any], *arguments: Any) -> str:
    result = answer(function, *arguments)
    if isinstance(result, str):
        return result
    result.asnumpy() if result.dtype != ms.bfloat16 else result.float().asnumpy()
    return str(result.dtype).lower()


def value_of(function: Callable[..., Any], *arguments: Any) -> Any:
    result = answer(function, *arguments)
    return result if isinstance(result, str) else [str(result.dtype).lower(), *map(str, result.asnumpy().tolist())]


def pairs(function: Callable[..., Any], shape: tuple[int, ...]) -> dict[str, dict[str, str]]:
    return {a: {b: dtype_of(function, tensor(a, shape), tensor(b)) for b in DTYPES} for a in DTYPES}


def numbers(function: Callable[..., Any]) -> dict[str, dict[str, str]]:
    left = {n: {d: dtype_of(function, number, tensor(d)) for d in DTYPES} for n, number in NUMBERS.items()}
    right = {n: {d: dtype_of(function, tensor(d), number) for d in DTYPES} for n, number in NUMBERS.items()}
    return {f"{n} {{}}": row for n, row in left.items()} | {f"{{}} {n}": row for n, row in right.items()}


def edges(function: Callable[..., Any], dtype: str) -> Any:
    pairs = [(a, b) for a in EDGES for b in EDGES if abs(a) > abs(b)]
    left, right = (Tensor(list(side), dtype=getattr(ms, dtype)) for side in zip(*pairs, strict=True))
    return value_of(function, left, right)


def record() -> dict[str, Any]:
    signed = ("int8", "int32", "int64", "float32", "float64")
    divisions = {symbol: OPERATORS[symbol] for symbol in ("/", "//", "%")}
    zero = {"int32": ("0", "1", "-1"), "float32": ("0", "1", "-1")}
    return {
        **{f"tensor {symbol} tensor": pairs(function, (2,)) for symbol, function in OPERATORS.items()},
        **{f"number {symbol} tensor": numbers(function) for symbol, function in OPERATORS.items()},
        "0-d tensor + 1-d tensor": pairs(operator.add, ()),
        "tensor + numpy": {
            "numpy.bool_(True)": {d: dtype_of(operator.add, tensor(d), np.bool_(True)) for d in DTYPES},
            "numpy.int64(2)": {d: dtype_of(operator.add, tensor(d), np.int64(2)) for d in DTYPES},
            "numpy.float32(1.5)": {d: dtype_of(operator.add, tensor(d), np.float32(1.5)) for d in DTYPES},
            "numpy.float64(1.5)": {d: dtype_of(operator.add, tensor(d), np.float64(1.5)) for d in DTYPES},
            "numpy.ones(2)": {d: dtype_of(operator.add, tensor(d), np.ones(2)) for d in DTYPES},
        },
        "numerators and denominators": [[a, b] for a in EDGES for b in EDGES if abs(a) > abs(b)],
        "division": {f"{d} {s}": edges(function, d) for s, function in divisions.items() for d in signed},
        "division by zero": {
            f"{d} {v} {s} 0": value_of(
                function, Tensor([float(v)], dtype=getattr(ms, d)), Tensor([0], dtype=getattr(ms, d))
            )
            for s, function in divisions.items()
            for d, values in zero.items()
            for v in values
        },
        "overflow": {
            "int8 100 + 100": value_of(operator.add, Tensor([100], ms.int8), Tensor([100], ms.int8)),
            "uint8 1 - 2": value_of(operator.sub, Tensor([1], ms.uint8), Tensor([2], ms.uint8)),
            "int32 2147483647 + 1": value_of(operator.add, Tensor([2**31 - 1], ms.int32), Tensor([1], ms.int32)),
            "int32 2 ** -1": value_of(operator.pow, Tensor([2], ms.int32), Tensor([-1], ms.int32)),
            "int32 2 ** 31": value_of(operator.pow, Tensor([2], ms.int32), Tensor([31], ms.int32)),
            "- uint8 1": value_of(operator.neg, Tensor([1], ms.uint8)),
            "- bool": value_of(operator.neg, Tensor([True])),
        },
        "limits": limits(),
        "number out of range": {
            f"{d} + {n}": value_of(operator.add, tensor(d), n) for d, numbers in TOO_LARGE.items() for n in numbers
        },
    }
