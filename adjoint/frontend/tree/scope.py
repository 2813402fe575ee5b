"""Facts about statements: the names that they assign or read, and whether control can leave them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

__all__ = ["assigned_names", "changed_at", "declared", "jumps", "names_of", "reads_name"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned_names(body: Sequence[ast.AST]) -> list[str]:
    """Return the names that statements assign in their own scope, in order of first appearance.  Functions and comprehensions inside have
    scopes of their own.
    """
    names: dict[str, None] = {}
    for statement in body:
        _visit(statement, names)
    return list(names)


def _visit(node: ast.AST, names: dict[str, None]) -> None:
    """Add each name that the tree `node` assigns in its own scope (not in functions inside) as a key to `names`, which keeps their order.
    """
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            names[name] = None
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            names[name] = None
            return
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            names.update({(a.asname or a.name.partition(".")[0]): None for a in aliases})
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | \
                ast.MatchMapping(rest=str(name)):
            names[name] = None
        case _:
            pass
    if isinstance(node, ast.NamedExpr):
        _visit(node.target, names)
        _visit(node.value, names)
        return
    if isinstance(node, _SCOPES):
        # a comprehension has its own scope, but `:=` inside it binds in the scope around
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr) and not isinstance(node, (ast.Lambda, ast.FunctionDef)):
                _visit(inner.target, names)
        return
    for child in ast.iter_child_nodes(node):
        _visit(child, names)


def declared(body: Sequence[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """Return the names that `global` or `nonlocal` statements of this scope declare.

    kind  which of these statements
    """
    found: set[str] = set()
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            found.update(node.names)
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return found


class FunctionNames(NamedTuple):
    """Tells how a function uses its names, and where it yields.  `names_of` makes one for each function.

    own        its parameters and the names that it assigns
    nonlocals  the names that it declares `nonlocal`
    globals_   the names that it declares `global`
    yields     a `yield` or `yield from` in it, which makes it a generator; or None
    """

    own: frozenset[str]
    nonlocals: frozenset[str]
    globals_: frozenset[str]
    yields: ast.Yield | ast.YieldFrom | None


def names_of(node: ast.FunctionDef | ast.Lambda) -> FunctionNames:
    """Return the names of a function, sorted by kind.  They are computed once for each syntax tree, which may be run many times."""
    found = _known.get(node)
    if found is None:
        arguments = node.args
        names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
        body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
        names |= set(assigned_names(body))
        nonlocals, globals_ = declared(body, ast.Nonlocal), declared(body, ast.Global)
        yields = next((inner for inner in ast.walk(node) if isinstance(inner, (ast.Yield, ast.YieldFrom))), None)
        found = FunctionNames(frozenset(names - globals_ - nonlocals), frozenset(nonlocals), frozenset(globals_), yields)
        _known[node] = found
    return found


_known: WeakKeyDictionary[ast.AST, FunctionNames] = WeakKeyDictionary()


def jumps(body: Sequence[ast.stmt]) -> bool:
    """Return True if control can leave the statements by `return`, or by a `break` or `continue` of a loop around them."""

    def leaves(node: ast.AST, in_loop: bool) -> bool:
        match node:
            case ast.Return():
                return True
            case ast.Break() | ast.Continue():
                return not in_loop
            case ast.For() | ast.While():
                return any(leaves(s, True) for s in node.body) or any(leaves(s, in_loop) for s in node.orelse)
            case _ if isinstance(node, _SCOPES):
                return False
            case _:
                return any(leaves(child, in_loop) for child in ast.iter_child_nodes(node))

    return any(leaves(statement, False) for statement in body)


def changed_at(body: Sequence[ast.stmt], name: str) -> ast.AST | None:
    """Return the first statement that changes a variable or its value, for an error message; None if there is no such statement.

    It assigns `name` (a variable such as `x`, or an attribute such as `self.x`), assigns an item or attribute of its value, or calls a
    method of its value.
    """

    def is_it(node: ast.AST) -> bool:
        return (isinstance(node, ast.Name) and node.id == name) or ast.unparse(node) == name

    def changes(node: ast.AST) -> bool:
        match node:
            case ast.Assign(targets=targets):
                return any(changes(target) for target in targets)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
                return changes(target)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return any(changes(item) for item in items)
            case ast.Name():
                return is_it(node)
            case ast.Attribute(value=holder) | ast.Subscript(value=holder):
                return is_it(node) or is_it(holder)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder))):
                return is_it(holder)
            case _:
                return False

    return next((node for statement in body for node in _in_order(statement) if isinstance(node, ast.stmt) and changes(node)), None)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _in_order(child)


def reads_name(body: Sequence[ast.stmt], name: str) -> bool:
    """Return True if a variable of this name occurs in the statements, read or assigned."""
    return any(isinstance(node, ast.Name) and node.id == name for statement in body for node in ast.walk(statement))
