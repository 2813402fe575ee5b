"""Operators of Python on values in the code that becomes the graph.

Special methods of the user's classes, such as `__add__`, are run on their syntax trees like all user functions.
"""

from __future__ import annotations

import ast
import inspect
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend.changes import purity
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.world import World

__all__ = ["BINARY", "COMPARE", "IN_PLACE", "UNARY", "Operators", "ZeroDivisor"]

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}
IN_PLACE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv, ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod, ast.Pow: operator.ipow, ast.MatMult: operator.imatmul, ast.BitAnd: operator.iand, ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor, ast.LShift: operator.ilshift, ast.RShift: operator.irshift,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()", "matmul": "@", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=",
    "ifloordiv": "//=", "imod": "%=", "ipow": "**=", "imatmul": "@=", "iand": "&=", "ior": "|=", "ixor": "^=", "ilshift": "<<=",
    "irshift": ">>=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}
"""For the name of an operator's function in the module `operator`: the operator as Python's error messages show it."""
_MIRRORED = {"__eq__": "__eq__", "__ne__": "__ne__", "__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}


class ZeroDivisor(ZeroDivisionError, ValueError):
    """The exception for a division by zero in a graph.  Python raises ZeroDivisionError and MindSpore's graphs raise ValueError: code that
    catches either of them catches this one.
    """

    @classmethod
    def of(cls, operation: Callable[..., Any], mistake: ZeroDivisionError) -> ZeroDivisionError:
        """Return the exception to raise instead of `mistake`.

        If MindSpore has an error for this operator, it is a ZeroDivisor with MindSpore's text added to Python's; otherwise it is `mistake`
        itself.

        operation  the operator, as a function of the module `operator`
        mistake    the exception that Python has raised
        """
        text = _BY_ZERO.get(operation.__name__.removeprefix("i").strip("_"))
        return cls(f"{mistake}: {text}") if text else mistake


ZeroDivisor.__module__, ZeroDivisor.__name__, ZeroDivisor.__qualname__ = "builtins", "ZeroDivisionError", "ZeroDivisionError"

_QUOTIENT = "The divisor could not be zero. But the divisor is zero now."
_BY_ZERO = {"truediv": _QUOTIENT, "floordiv": _QUOTIENT, "mod": "Cannot perform modulo operation on zero."}

Attempt = tuple[Any, str, Any]
"""One method that may compute an operator, as a tuple: the object, the name of the method of its class, and the argument."""


class Operators:
    """Applies operators to values for expressions, comparisons and augmented assignments.

    It follows Python's rules for special and reflected methods.  Those that a user has defined are run on their syntax trees, so that they
    become part of the graph.

    world         the interface to the runtime, which makes the nodes
    objects, run  the parts of the `Lowerer` that it uses
    """

    def __init__(self, world: World, objects: Objects, run: Runner):
        self.world, self.objects, self.run = world, objects, run

    def special(self, x: Any, name: str) -> types.FunctionType | None:
        """Return the method `name` of the class of `x` (such as `__add__`) if a user has defined it, so that it must become part of the
        graph.

        None if there is no such method, or if Python, NumPy or this library defines it.
        """
        return None if self.world.is_dynamic(x) else self.special_of(type(x), name)

    def special_of(self, kind: type, name: str) -> types.FunctionType | None:
        """Return the method `name` of the class `kind` (such as `__add__`) if a user has defined it, so that it must become part of the
        graph.

        None if there is no such method, or if Python, NumPy or this library defines it.
        """
        if kind.__module__ == "builtins":
            return None
        method = getattr(kind, name, None)
        if not isinstance(method, types.FunctionType) or method.__code__.co_filename.startswith("<") or inspect.isgeneratorfunction(method):
            return None
        if self.world.is_library(method) or purity.is_of_pure_module(method) or purity.is_standard(method):
            return None
        self.world.read_attribute(kind, name)
        return method

    def called_special(self, x: Any, name: str, args: tuple[Any, ...], otherwise: Callable[[], Any]) -> Any:
        """Return the result of the special method `name` of `x` with `args`, if the method is the user's; otherwise return `otherwise()`.
        """
        method = self.special(x, name)
        return otherwise() if method is None else self.run.call(method, (x, *args), {})

    def unary(self, operation: Callable[[Any], Any], x: Any) -> Any:
        """Return the result of a unary operator.

        operation  the operator as a function: `operator.neg`, `operator.pos` or `operator.invert`
        """
        return self.called_special(x, f"__{operation.__name__}__", (), lambda: operation(x))

    def binary(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """Return the result of an arithmetic operator, as Python computes it: by the method of `a`, or else by the reflected method of `b`.

        operation  the operator as a function, such as `operator.add`

        TypeError if both methods return NotImplemented.
        """
        return self._first(operation, a, b, _arithmetic(operation.__name__.strip("_"), a, b))

    def in_place(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """Return the result of the operator of an augmented assignment such as `a += b`, computed by the in-place method of `a` or else by
        the ordinary operator.  The caller assigns it.

        operation  the operator as a function, such as `operator.iadd`
        """
        word = operation.__name__.removeprefix("i").strip("_")
        return self._first(operation, a, b, [(a, f"__i{word}__", b), *_arithmetic(word, a, b)])

    def compare(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """Return the result of a comparison, as Python computes it: by the method of `a`, or else by the mirrored method of `b`.

        operation  the comparison as a function, such as `operator.lt`

        A class that defines only `__eq__` gets its opposite for `!=`.
        """
        name = f"__{operation.__name__}__"
        if operation is operator.ne and any(self.special(x, "__eq__") and type(x).__ne__ is object.__ne__ for x in (a, b)):
            return self.opposite(self.compare(operator.eq, a, b))
        attempts = [(a, name, b), (b, _MIRRORED[name], a)]
        return self._first(operation, a, b, attempts[::-1] if _is_narrower(b, a) else attempts)

    def opposite(self, x: Any) -> Any:
        """Return `not x`: a Python bool if it is known while the graph is made, otherwise an object for a bool that the graph computes."""
        truth = self.world.truth(x)
        return not truth if isinstance(truth, bool) else self.world.number("bool", x).negated()

    def _first(self, operation: Callable[[Any, Any], Any], a: Any, b: Any, attempts: Sequence[Attempt]) -> Any:
        """Try special methods in turn, and return the result of the first one that does not return NotImplemented.

        operation  the operator as a function, for an operator without methods of the user's: then Python applies it to `a` and `b`
        attempts   the methods to try, in order, each with its object and its argument

        TypeError if all methods return NotImplemented.
        """
        methods = [self.special(x, name) for x, name, _ in attempts]
        if not any(methods):
            try:
                return operation(a if operation in IN_PLACE.values() else self.objects.steady(a), self.objects.steady(b))
            except ZeroDivisionError as mistake:
                raise ZeroDivisor.of(operation, mistake) from None
        for method, (x, name, other) in zip(methods, attempts, strict=True):
            if method is not None:
                found = self.run.call(method, (x, other), {})
            else:
                found = getattr(type(x), name, _declines)(x, other)
            if found is not NotImplemented:
                return found
        if operation in (operator.eq, operator.ne):
            return (a is b) is (operation is operator.eq)
        symbol = _SYMBOLS[operation.__name__.strip("_")]
        kinds = f"'{type(a).__name__}' and '{type(b).__name__}'"
        if operation in COMPARE.values():
            raise TypeError(f"'{symbol}' not supported between instances of {kinds}")
        raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds}")


def _arithmetic(word: str, a: Any, b: Any) -> list[Attempt]:
    """Return the methods that Python tries for an arithmetic operator, in order.

    word  the operator's name, such as "add"

    Operands of the same class have one attempt.  The reflected method of a subclass comes first if the subclass defines it.
    """
    reflected = f"__r{word}__"
    attempts = [(a, f"__{word}__", b), (b, reflected, a)]
    if type(a) is type(b):
        return attempts[:1]
    own = getattr(type(b), reflected, None) is not getattr(type(a), reflected, None)
    return attempts[::-1] if own and _is_narrower(b, a) else attempts


def _is_narrower(x: Any, other: Any) -> bool:
    return type(x) is not type(other) and issubclass(type(x), type(other))


def _declines(x: Any, other: Any) -> Any:
    del x, other
    return NotImplemented
