"""The calls that are compared: the right call of every public entry, and the same with operands and arguments changed.

A call is `{"text", "of", "given", "kind"}`: an expression, the list it is of (`spaces`), the operands changed (`variations`), and what was
changed of the right call.  The kinds are `right`, `dtype`, `shape`, `value`, `number`, `argument` and `wrong`.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import inspect
import random
from collections.abc import Iterator
from typing import Any

import array_calls
import good_calls
import mint_calls
import record_transforms
import spaces
from variations import COMPLEX, DTYPES, NUMBERS, SHAPES, VALUES, WRONG

from adjoint import Tensor

Call = dict[str, Any]

ONCE = ("ms.set_", "ms.save_", "ms.load_", "ms.jit", "ms.get_auto", "ms.Jit", "net.", "ops.AllReduce", "ops.AllGather", "ops.ReduceScatter",
        "ops.Broadcast", "ops.Reduce(", "ops.AlltoAll", "ops.Barrier", "ops.GetNext", "ops.register_queue", "ops.unregister_queue",
        "ms.reset", "ops.Print")
"""Entries that change settings, or need other processes: their right call alone is asked."""

WORDS = {
    "reduction": ("none", "mean", "sum", "other"), "pad_mode": ("same", "valid", "pad", "other"), "approximate": ("none", "tanh", "other"),
    "mode": ("constant", "reflect", "replicate", "circular", "nearest", "bilinear", "linear", "bicubic", "area", "other"),
    "padding_mode": ("constant", "reflect", "replicate"), "weight_init": ("ones", "zeros", "other"), "indexing": ("xy", "ij", "other"),
    "rounding_mode": ("floor", "trunc", "other"), "data_format": ("NCHW", "NHWC", "other"), "activation": ("relu", "gelu", "other"),
    "nonlinearity": ("tanh", "relu", "other"), "coordinate_transformation_mode": ("align_corners", "half_pixel", "other"),
}
"""What words to try for arguments of a name."""

NUMBERS_TRIED: dict[type, tuple[Any, ...]] = {
    bool: (True, False), int: (-3, -2, -1, 0, 1, 2, 3, 7), float: (-1.0, 0.0, 0.3, 1.0, 2.0, float("nan")),
}


def ordered() -> list[Call]:
    """Every call once: the right ones first, the others in an order of their own, the same each time."""
    found = list(calls())
    varied = [call for call in found if call["kind"] != "right"]
    random.Random(4).shuffle(varied)
    return [call for call in found if call["kind"] == "right"] + varied


def calls() -> Iterator[Call]:
    """Every call once, by the names of what is called."""
    seen: set[tuple[str, str]] = set()
    for call in _all():
        key = (call["text"], str(call["given"]))
        if key not in seen:
            seen.add(key)
            yield call


def _all() -> Iterator[Call]:
    others = {"numpy": array_calls.expressions(), "mint": mint_calls.expressions(), "data": record_transforms.expressions(),
              "metrics": [text.strip() for line in spaces.METRICS.strip().splitlines() for text in line.split("; ")]}
    for area in good_calls.CALLS.values():
        for text in area:
            yield from _varied(text, "entries", good_calls.values())
    for text in _methods():  # the functions that they are have the variations
        yield {"text": text, "of": "entries", "given": {}, "kind": "right"}
    for name, texts in others.items():
        for text in texts:
            yield {"text": text, "of": name, "given": {}, "kind": "right"}


def _methods() -> Iterator[str]:
    """The functions of a tensor as its methods."""
    for text in good_calls.CALLS["functions"]:
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.args:
            first, name = tree.args[0], tree.func.attr
            if isinstance(first, ast.Name) and isinstance(good_calls.values().get(first.id), Tensor) and hasattr(Tensor, name):
                yield ast.unparse(ast.Call(ast.Attribute(first, name, ast.Load()), tree.args[1:], tree.keywords))


def _varied(text: str, of: str, values: dict[str, Any]) -> Iterator[Call]:
    yield {"text": text, "of": of, "given": {}, "kind": "right"}
    if text.startswith(ONCE):
        return
    tree = ast.parse(text, mode="eval").body
    tensors = list(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(values.get(n.id), Tensor)))
    floats = [name for name in tensors if str(values[name].dtype).startswith(("Float", "BFloat"))]
    kinds = {"dtype": DTYPES + COMPLEX, "shape": SHAPES, "value": VALUES, "number": NUMBERS, "wrong": WRONG}
    for kind, ways in kinds.items():
        for way in ways:
            if len(floats) > 1 and kind not in ("number", "wrong"):
                yield {"text": text, "of": of, "given": dict.fromkeys(floats, way), "kind": kind}
            for name in floats if kind == "value" else tensors:
                if text.startswith(f"{name}.") and kind in ("number", "wrong"):
                    continue  # its own methods
                yield {"text": text, "of": of, "given": {name: way}, "kind": kind}
    for changed in _arguments(tree, values):
        yield {"text": ast.unparse(changed), "of": of, "given": {}, "kind": "argument"}


def _arguments(tree: ast.expr, values: dict[str, Any]) -> Iterator[ast.expr]:
    """The call with each of its constants changed, and with each argument that has a default given."""
    for place, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Constant) and node.value is not None:
            for value in NUMBERS_TRIED.get(type(node.value), ("other",)):
                yield _with(tree, place, ast.Constant(value) if value == value else ast.parse("float('nan')", mode="eval").body)
        if isinstance(node, ast.Tuple) and all(isinstance(item, ast.Constant) for item in node.elts):
            for written in ("()", "0", "1", "(0,)", "(1,)", "(0, 1)", "(1, 0)", "(-1,)", "(2, 2)", "[0, 1]", "(0, 0)"):
                yield _with(tree, place, ast.parse(written, mode="eval").body)
        if not isinstance(node, ast.Call):
            continue
        given = {keyword.arg for keyword in node.keywords}
        with contextlib.suppress(Exception):
            parameters = list(inspect.signature(eval(ast.unparse(node.func), dict(values))).parameters.values())
            for parameter in parameters[len(node.args):]:
                if parameter.name not in given and parameter.default is not parameter.empty:
                    for written in _tried(parameter):
                        more = ast.keyword(parameter.name, ast.parse(written, mode="eval").body)
                        yield _with(tree, place, ast.Call(node.func, node.args, [*node.keywords, more]))


def _tried(parameter: inspect.Parameter) -> tuple[str, ...]:
    default, name = parameter.default, parameter.name
    if name in WORDS:
        return tuple(map(repr, WORDS[name]))
    if name == "dtype":
        return ("ms.float16", "ms.float64", "ms.int32", "ms.bool_", "ms.bfloat16", "float", "'text'")
    if isinstance(default, str):
        return ("'other'",)
    if name in ("axis", "dim", "dims"):
        return ("None", "0", "1", "-1", "-2", "2", "(0,)", "(0, 1)", "()", "(0, 0)", "1.0")
    if default is None:
        return ("None", "1", "0", "2.5", "True", "row", "x", "(1, 1)")
    tried = NUMBERS_TRIED.get(type(default), ("other",))
    if isinstance(default, tuple):
        return ("0", "1", "(0,)", "(1, 1)", "(1, 2)", "()")
    return tuple("float('nan')" if value != value else repr(value) for value in tried)


def _with(tree: ast.expr, place: int, replacement: ast.expr) -> ast.expr:
    """A copy of an expression with the node in a place of `ast.walk` replaced."""
    made = copy.deepcopy(tree)
    target = list(ast.walk(made))[place]
    if target is made:
        return replacement

    class Replacing(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return replacement if node is target else self.generic_visit(node)

    return Replacing().visit(made)
