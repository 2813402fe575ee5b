"""Expressions: Python's own operators compute each from the values of its parts; operators of tensors emit nodes.

Where a tensor decides (`a if c else b`, `a and b`, `not a`, a chain of comparisons), the graph gets an `if`.  An exception that an operator
raises keeps its type, and the user's line is added as a note.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.foundation.diagnostics import noted
from adjoint.frontend.calls.functions import Functions
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.code.comprehensions import Comprehensions
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.operations.access import MemberAccess
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.names import Names
from adjoint.frontend.operations.operators import BINARY, UNARY, Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.text import RunTimeText, interpolated

__all__ = ["Expressions"]

_JOINED = frozenset({list, set, dict, collections.deque, bytearray})
"""Container types whose operators, such as `+` and `|`, are Python's own and create a new container."""


class Expressions:
    """Evaluates the expressions of the code that becomes the graph.  All other parts reach it through `Runner.value`.

    stack, objects, operators, iterators, decisions, conditions, names, access, functions, comprehensions, run  the parts of the `Lowerer`
        that it uses
    """

    def __init__(
        self, stack: CallStack, objects: Objects, operators: Operators, iterators: Iterators, decisions: Decisions,
        conditions: Conditions, names: Names, access: MemberAccess, functions: Functions, comprehensions: Comprehensions, run: Runner,
    ):
        self.stack, self.objects, self.operators, self.iterators = stack, objects, operators, iterators
        self.decisions, self.conditions, self.names, self.access = decisions, conditions, names, access
        self.functions, self.comprehensions, self.run = functions, comprehensions, run

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression of the syntax tree and return its value.  CompileError if a graph cannot contain such an expression."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.names.read(name, node)
            case ast.Attribute(value=holder, attr=name):
                return self.access.attribute(self.value(holder), name, node)
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left=left, op=op, right=right):
                first, second = self.value(left), self.value(right)
                self.objects.used(first, second)
                with self.stack.here(node):
                    if isinstance(first, str) and isinstance(op, ast.Mod) and self.objects.is_late(second):
                        return interpolated(first, second)
                    found = self.operators.binary(BINARY[type(op)], first, second)
                # operators of Python's containers create a new container: `a | b`, `a + b`, `a * 2`
                return self.objects.born(found) if type(first) in _JOINED and type(found) in _JOINED and found is not second else found
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.conditions.negated(self.conditions.tested(operand), node)
            case ast.UnaryOp(op=op, operand=operand):
                given = self.value(operand)
                self.objects.used(given)
                with self.stack.here(node):
                    return self.operators.unary(UNARY[type(op)], given)
            case ast.Compare():
                return self.conditions.compared(node)
            case ast.BoolOp(op=op, values=values):
                return self.conditions.either(values, isinstance(op, ast.Or), node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.decisions.choice(self.conditions.tested(test), lambda: self.value(body), lambda: self.value(orelse), node)
            case ast.Subscript(value=held, slice=key):
                container, index = self.value(held), self.value(key)
                return self.access.item(container, index, node)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(None if part is None else self.value(part) for part in (lower, upper, step)))
            case ast.Tuple(elts=items):
                return tuple(self.items(items))
            case ast.List(elts=items):
                return self.objects.born(list(self.items(items)))
            case ast.Set(elts=items):
                return self.objects.born({self._key(item, place) for place in items for item in self.items([place])})
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values)
            case ast.ListComp(elt=elt, generators=generators):
                return self.objects.born([self.value(elt) for _ in self.comprehensions.rounds(generators, node)])
            case ast.GeneratorExp(elt=elt, generators=generators):
                return self.comprehensions.generator(elt, generators, node)
            case ast.SetComp(elt=elt, generators=generators):
                return self.objects.born({self._key(self.value(elt), elt) for _ in self.comprehensions.rounds(generators, node)})
            case ast.DictComp(key=key, value=value, generators=generators):
                rounds = self.comprehensions.rounds(generators, node)
                return self.objects.born({self._key(self.value(key), key): self.value(value) for _ in rounds})
            case ast.JoinedStr(values=parts):
                return self._text(parts)
            case ast.Lambda():
                return self.functions.define(node)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                found = self.value(value)
                self.names.bind(name, found, self.names.walrus_frame())
                return found
            case ast.Starred():
                raise self.stack.unsupported(node, "a starred expression is not allowed here", "unpack it in a call, a tuple or a list")
            case _:
                instead = _INSTEAD.get(type(node), "write it differently")
                raise self.stack.unsupported(node, f"`{type(node).__name__.lower()}` is not supported in a graph", instead)

    def items(self, nodes: Sequence[ast.expr]) -> Iterator[Any]:
        """Yield the values of the elements of a tuple or a list, or of the positional arguments of a call.  An element with a star is
        unpacked.

        nodes  the elements in the syntax tree
        """
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.iterators.iterated(self.value(node.value), node)
            else:
                yield self.value(node)

    def _dict(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                given = self.value(value)
                self.objects.used(given)
                made.update(given)
            else:
                made[self._key(self.value(key), key)] = self.value(value)
        return self.objects.born(made)

    def _key(self, key: Any, node: ast.AST) -> Any:
        """Return the key of a dict, or the element of a set, unchanged.  CompileError for a number that the graph computes, since its hash
        is not known.

        node  the key in the syntax tree, for error messages
        """
        self.objects.check_key(key, self.stack.loc_of(node))
        return key

    def _text(self, parts: Sequence[ast.expr]) -> Any:
        """Evaluate an f-string.  Return a string, or a RunTimeText (text with places for values of the graph) if one of the values is known
        only when the graph runs.

        parts  the literal and formatted parts in the syntax tree
        """
        pieces: list[Any] = []
        for part in parts:
            if isinstance(part, ast.FormattedValue):
                value = self.value(part.value)
                self.objects.shown(value)
                spec = "" if part.format_spec is None else self.value(part.format_spec)
                conversion = {-1: "", ord("s"): "s", ord("r"): "r", ord("a"): "a"}[part.conversion]
                pieces.append((value, conversion, spec))
            else:
                assert isinstance(part, ast.Constant)
                pieces.append(part.value)
        text = RunTimeText(tuple(pieces))
        return text if any(self.objects.is_late(piece[0]) for piece in pieces if isinstance(piece, tuple)) else str(text)

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args = tuple(self.items(node.args))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            given = self.value(keyword.value)
            if keyword.arg is None:
                self.objects.used(given)
                kwargs.update(given)
            elif keyword.arg in kwargs:
                repeated = TypeError(f"got multiple values for keyword argument '{keyword.arg}'")
                noted(repeated, self.stack.loc_of(node))
                raise repeated
            else:
                kwargs[keyword.arg] = given
        with self.stack.here(node):
            self.stack.called_as = ast.unparse(node.func)
            return self.run.call(function, args, kwargs)


_INSTEAD: dict[type[ast.expr], str] = {
    ast.Await: "call an ordinary function", ast.Yield: "return a list", ast.YieldFrom: "return a list",
}
