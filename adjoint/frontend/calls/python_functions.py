"""From syntax trees back to Python.  A function defined in the code that becomes the graph is compiled to a Python function, which can be
called when the graph runs.  Wrong arguments raise Python's own errors.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable
from types import CellType
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.tree.scope import names_of
from adjoint.frontend.values.frame import Closure, Frame

__all__ = ["as_python", "names_around", "python_function", "refused"]


def python_function(node: ast.Lambda | ast.FunctionDef, frame: Frame, names: dict[str, Any], signature: inspect.Signature) -> Any:
    """Compile the syntax tree of a function to a Python function.  Its tracebacks show the lines of the user's file.

    node       the function in the syntax tree
    frame      the call in which it was defined: gives its file and global variables
    names      the values of the variables of enclosing functions that it reads
    signature  gives its default values
    """
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
    """Raise the TypeError that Python raises for arguments that do not fit a function.

    An empty function with the same parameters is called, so that the text is Python's own.

    node       the function in the syntax tree
    frame      gives its file and global variables
    signature  gives its default values
    name       its name in the message
    """
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
    """Remove the default expressions from a definition: their values are already computed, and are set afterwards."""
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)


def _empty_function(name: str, arguments: ast.arguments) -> ast.FunctionDef:
    """Return the syntax tree of a function with an empty body.

    name       the name of the function
    arguments  its parameters in the syntax tree

    It comes from Python's parser, since its fields differ between versions of Python.
    """
    (made,) = ast.parse(f"def {name}(): pass").body
    assert isinstance(made, ast.FunctionDef)
    made.args = arguments
    return made


def as_python(function: Any, is_late: Callable[[Any], bool], variable: Callable[[CellType], Any]) -> Any:
    """Return a function, such as a hook, in a form that Python can call when the graph runs.

    A function defined in the code that becomes the graph is compiled to a Python function, and so are the functions that it uses.  Any
    other function is returned itself.

    is_late   returns whether a value is known only when the graph runs
    variable  returns the value of a closure variable, from its Python cell

    CompileError if the function uses a value that the graph computes, or assigns a variable of an enclosing function.
    """
    if isinstance(function, functools.partial):
        return functools.partial(as_python(function.func, is_late, variable), *function.args, **function.keywords)
    if not isinstance(function, Closure):
        return function
    node, frame = function.__node__, function.__frame__
    names = names_around(function, f"the hook `{function.__name__}`", variable)
    for name, value in names.items():
        if is_late(value):
            raise errors.UNSUPPORTED.at(frame.source.at(node), f"the hook uses `{name}`, a tensor that the graph computes",
                                        help="compute it inside the hook, or use tensor operations instead of a hook")
    inside = {name: as_python(value, is_late, variable) for name, value in names.items()}
    return python_function(node, frame, inside, function.__signature__)


def names_around(function: Closure, what: str, variable: Callable[[CellType], Any]) -> dict[str, Any]:
    """Return the variables of enclosing functions that a function reads, by name, with their present values.

    function  a function defined in the code that becomes the graph
    what      describes it in an error message
    variable  returns the value of a closure variable, from its Python cell

    CompileError if the function declares a `nonlocal` name.
    """
    node, frame = function.__node__, function.__frame__
    own, nonlocals, _, _ = names_of(node)
    if nonlocals:
        raise errors.UNSUPPORTED.at(frame.source.at(node), f"{what} assigns to a variable of the enclosing function",
                                    help="store the value in a list or an object created outside the graph")
    found: dict[str, Any] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id not in own and inner.id not in found:
            at: Frame | None = frame
            while at is not None:
                if inner.id in at.names:
                    found[inner.id] = at.names[inner.id]
                    break
                if inner.id in at.cells:
                    found[inner.id] = variable(at.cells[inner.id])
                    break
                at = at.outer
    return found
