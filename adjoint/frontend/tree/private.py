"""Private names of classes: Python's compiler stores `self.__rate` in the body of a class `Net` as `self._Net__rate`.

The syntax tree of a file has the short names.  The trees of functions get the long ones here, since objects, closures and signatures have
these.
"""

from __future__ import annotations

import ast
import copy
from typing import TypeVar

__all__ = ["class_around", "with_private_names"]

_Tree = TypeVar("_Tree", bound=ast.AST)

_FIELDS: dict[type[ast.AST], str] = {
    ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.FunctionDef: "name", ast.AsyncFunctionDef: "name", ast.ClassDef: "name",
    ast.alias: "asname", ast.Global: "names", ast.Nonlocal: "names", ast.ExceptHandler: "name", ast.MatchAs: "name", ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}
"""Which field of a node holds a name, or names, that can be private.  The keywords of calls are written as they are."""


def class_around(qualified: str) -> str:
    """Return the name of the innermost class that a function is defined in, or "" if there is none.

    qualified  the qualified name in the function's code, such as "make.<locals>.Net.construct.<locals>.<lambda>"
    """
    parts = qualified.split(".")
    while len(parts) > 1:
        parts.pop()
        if parts[-1] != "<locals>":
            return parts[-1]
        parts.pop()
    return ""


def with_private_names(definition: _Tree, owner: str) -> _Tree:
    """Return the tree of a function with its private names as Python's compiler writes them; the tree itself if there are none.

    owner  the name of the class around the function, or ""

    The function keeps its own name, by which its class knows its code.
    """
    prefix = _prefix(owner)
    if not prefix or not any(_is_private(name) for node in ast.walk(definition) if node is not definition for name in _names(node)):
        return definition
    changed = copy.deepcopy(definition)
    _rename(changed, prefix, is_outermost=True)
    return changed


def _rename(node: ast.AST, prefix: str, is_outermost: bool = False) -> None:
    """Put a prefix before all private names in a tree; inside of a class, that of the class."""
    field = _FIELDS.get(type(node))
    if field is not None and not is_outermost:
        value = getattr(node, field)
        setattr(node, field, [_long(name, prefix) for name in value] if isinstance(value, list) else value and _long(value, prefix))
    if not isinstance(node, ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            _rename(child, prefix)
        return
    body = {id(statement) for statement in node.body}
    for child in ast.iter_child_nodes(node):
        _rename(child, _prefix(node.name) if id(child) in body else prefix)


def _names(node: ast.AST) -> list[str]:
    """Return the names in one node that can be private."""
    field = _FIELDS.get(type(node))
    value = None if field is None else getattr(node, field)
    return value if isinstance(value, list) else [value] if value else []


def _prefix(owner: str) -> str:
    """Return the prefix that Python gives to private names in a class: `_Net` in the classes `Net` and `_Net`, "" in the class `__`."""
    bare = owner.lstrip("_")
    return f"_{bare}" if bare else ""


def _long(name: str, prefix: str) -> str:
    return prefix + name if prefix and _is_private(name) else name


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")
