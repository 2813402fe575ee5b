"""Trees back to Python: a function that parsed code defines, as one that Python calls when the graph runs; and Python's own words
for arguments that do not fit.
"""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from adjoint.frontend.frame import Frame

__all__ = ["python_function", "refused"]


def python_function(node: ast.Lambda | ast.FunctionDef, frame: Frame, names: dict[str, Any], signature: inspect.Signature) -> Any:
    """The tree of a function as Python's own function, its names from around bound, its lines true."""
    inner = copy.deepcopy(node)
    if isinstance(inner, ast.FunctionDef):
        inner.decorator_list = []
        body: list[ast.stmt] = [inner, ast.Return(ast.Name(inner.name, ast.Load()))]
    else:
        body = [ast.Return(inner)]
    around = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    maker = _empty_function("around", around)
    maker.body = body
    module = ast.fix_missing_locations(ast.copy_location(ast.Module([ast.copy_location(maker, node)], []), node))
    _without_defaults(inner)
    space: dict[str, Any] = {}
    exec(compile(module, frame.source.file, "exec"), frame.space, space)
    function = space["around"](**names)
    parameters = signature.parameters.values()
    function.__defaults__ = tuple(p.default for p in parameters if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY) or None
    function.__kwdefaults__ = {p.name: p.default for p in parameters if p.default is not p.empty and p.kind is p.KEYWORD_ONLY} or None
    return function


def refused(node: ast.Lambda | ast.FunctionDef, frame: Frame, signature: inspect.Signature, name: str, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> None:
    """Raise what Python raises for arguments that do not fit: by a function of the same parameters that does nothing."""
    empty = ast.copy_location(_empty_function("f", copy.deepcopy(node.args)), node)
    for argument in ast.walk(empty):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    function = python_function(ast.fix_missing_locations(empty), frame, {}, signature)
    function.__qualname__ = name
    try:
        function(*args, **kwargs)
    except TypeError as wrong:
        raise wrong.with_traceback(None) from None


def _without_defaults(node: ast.Lambda | ast.FunctionDef) -> None:
    """Defaults have been computed: they are put in afterwards."""
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)


def _empty_function(name: str, arguments: ast.arguments) -> ast.FunctionDef:
    """A definition that does nothing.  Made by Python's parser: which fields a definition has differs between its versions."""
    (made,) = ast.parse(f"def {name}(): pass").body
    assert isinstance(made, ast.FunctionDef)
    made.args = arguments
    return made
