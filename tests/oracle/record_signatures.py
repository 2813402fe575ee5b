"""Signatures: what can be called, and with which arguments, names and defaults."""

# pyright: reportMissingImports=false

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import mindspore as ms
from mindspore import nn, ops
from mindspore.common import initializer
from mindspore.common.initializer import Initializer
from mindspore.ops import Primitive

MACHINE = re.compile(r" at 0x[0-9a-f]+|(?<=') from '[^']*'")  # addresses and places of files


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under MindSpore's decorators, which do not set `__wrapped__`."""
    function = inspect.unwrap(function)
    parameters = list(inspect.signature(function).parameters.values())
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        for cell in getattr(function, "__closure__", None) or ():
            inner = cell.cell_contents
            if inspect.isfunction(inner) and inner.__name__ == function.__name__:
                return wrapped(inner)
            if inspect.isfunction(inner) and function.__name__ not in inner.__name__ and "deco" in function.__name__:
                return wrapped(inner)
    return function


def signature(function: Callable[..., Any]) -> str | None:
    try:
        return MACHINE.sub("", str(inspect.signature(wrapped(function))))
    except (TypeError, ValueError):
        return None


def overloads(name: str, doc: str) -> list[str]:
    """The signatures that a docstring states: on its first line, and by `.. method::` for each overload."""
    pattern = rf"^(?:\.\. (?:py:)?method:: )?(?:Tensor\.)?({re.escape(name)}\(.*\)(?: -> .+)?)$"
    return list(dict.fromkeys(re.findall(pattern, doc, re.MULTILINE)))


def inputs(doc: str) -> list[str]:
    """The inputs of a primitive as its page states them: `name (type)`."""
    section = re.search(r"^ *Inputs:\n(.*?)(?=^ *[A-Z][\w ]+:$|\Z)", doc, re.DOTALL | re.MULTILINE)
    return re.findall(r"^ *- \*\*(.+?)\*\*(?: |$)", section[1], re.MULTILINE) if section else []


def member(owner: type, name: str) -> dict[str, Any] | None:
    attribute = inspect.getattr_static(owner, name)
    if isinstance(attribute, property):
        return {"kind": "property", "writable": attribute.fset is not None}
    if isinstance(attribute, staticmethod | classmethod):
        return {"kind": type(attribute).__name__, "signatures": [signature(attribute.__func__)]}
    if inspect.isfunction(attribute):
        return {"kind": "method", "signatures": [f"{name}{signature(attribute)}"]}
    if callable(attribute):
        return {"kind": "method", "signatures": overloads(name, attribute.__doc__ or "")}
    return {"kind": "attribute"}


def members(owner: type) -> dict[str, Any]:
    return {name: member(owner, name) for name in sorted(dir(owner)) if not name.startswith("_")}


def public(module: Any) -> dict[str, Any]:
    """What `__all__` names; MindSpore's also lists the characters of its version number."""
    listed = getattr(module, "__all__", None) or [name for name in dir(module) if inspect.isclass(getattr(module, name))]
    names = sorted({name for name in listed if not name.startswith("_")})
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def functions(module: Any) -> dict[str, str | None]:
    return {name: signature(item) for name, item in public(module).items() if inspect.isfunction(item)}


def classes(module: Any, base: type) -> dict[str, type]:
    return {name: item for name, item in public(module).items() if inspect.isclass(item) and issubclass(item, base)}


def primitive(kind: type) -> dict[str, Any]:
    facts = {"init": signature(kind.__init__), "inputs": inputs(kind.__doc__ or "")}
    call = signature(kind.__call__)
    return facts if call == "(self, *args)" else facts | {"call": call}


def layer(kind: type) -> dict[str, Any]:
    return {"init": signature(kind.__init__), "construct": signature(kind.construct)}


PLACES = (
    "numpy", "mint", "mint.nn", "mint.nn.functional", "mint.optim", "mint.linalg", "mint.special", "mint.distributed", "train", "amp",
    "communication", "dataset", "dataset.transforms", "dataset.vision", "dataset.text",
)
"""Public modules of which the signatures are recorded by name alone."""


def of_place(module: Any) -> dict[str, str | None]:
    """The signatures of functions, and of what makes the instances of classes."""
    found: dict[str, str | None] = {}
    for name, item in public(module).items():
        if inspect.isclass(item):
            found[name] = signature(item.__init__)
        elif callable(item):
            found[name] = signature(item)
    return {name: text for name, text in found.items() if text not in (None, "(self, /, *args, **kwargs)", "(*args, **kwargs)")}


def context_options() -> dict[str, str]:
    """Option names and the types that are accepted for them."""
    tree = ast.parse(inspect.getsource(ms.context))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "set_context":
            calls = [d for d in node.decorator_list if isinstance(d, ast.Call) and d.keywords]
            return {str(k.arg): ast.unparse(k.value) for call in calls for k in call.keywords}
    return {}


def record() -> dict[str, Any]:
    unlisted = {name: signature(getattr(ms, name)) for name in ("grad", "value_and_grad", "get_grad", "jvp", "vjp")}
    return {
        "mindspore.functions": dict(sorted((functions(ms) | unlisted).items())),
        "mindspore.classes": {
            "Parameter": signature(ms.Parameter.__init__),
            "ParameterTuple": signature(ms.ParameterTuple.__new__),
            "Tensor": signature(ms.tensor),
            "ops.GradOperation": signature(ops.GradOperation.__init__),
            "ops.GradOperation.__call__": signature(ops.GradOperation.__call__),
        },
        "set_context": context_options(),
        "mindspore.nn.cells": {name: layer(kind) for name, kind in classes(nn, nn.Cell).items()},
        "mindspore.nn.functions": functions(nn),
        "mindspore.ops.functions": functions(ops),
        "mindspore.ops.primitives": {name: primitive(kind) for name, kind in classes(ops, Primitive).items()},
        "mindspore.common.initializer": {
            "initializer": signature(initializer.initializer),
            **{name: signature(kind.__init__) for name, kind in classes(initializer, Initializer).items()},
        },
        **{f"mindspore.{place}": of_place(importlib.import_module(f"mindspore.{place}")) for place in PLACES},
        "Tensor.members": members(ms.Tensor),
        "Parameter.members": {n: m for n, m in members(ms.Parameter).items() if not hasattr(ms.Tensor, n)},
        "Cell.members": members(nn.Cell),
        "mindspore.names": sorted({name for name in dir(ms) if not name.startswith("_")}),
    }
