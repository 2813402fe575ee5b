"""Patterns over nodes, written as the expressions that they match.

    mul(x, 1.0)            a node of op `mul` whose second operand is the number 1 of a floating-point dtype
    neg(neg(x))            a node on the result of another node
    cast(cast(x), to=t)    an attribute; t is bound to its value

A letter matches any operand; the same letter twice matches the same operand twice.  `1` is an integer and `1.0` a floating-point number;
`-0.0` differs from `0.0`; `true` and `false` are bools.  A number matches a literal, or a literal that is broadcast to a shape.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, Literal, Node, Value
from adjoint.ir.op import Op, registry
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.types import BOOL, TensorType, Type, scalar

__all__ = ["FALSE", "TRUE", "Bindings", "Definitions", "Emit", "Rewrite", "Rules", "number", "same_atom"]

Bindings = dict[str, Any]
"""For each letter of a pattern: the atom or attribute that it matches."""
Definitions = Mapping[Value, Node]
"""For each value: the node that defines it."""
Emit = Callable[[Op, Sequence[Atom]], Atom]
"""A function that appends a node with the given op and operands, and returns the node's only result."""

TRUE = Literal(True, scalar(BOOL))
FALSE = Literal(False, scalar(BOOL))


def number(atom: Atom, made: Definitions) -> bool | int | float | complex | None:
    """Return the number that all elements of `atom` have; None if it is not known.

    made  for each value, the node that computes it
    """
    while isinstance(atom, Value):
        node = made.get(atom)
        if node is None or not isinstance(node.op, Broadcast):
            return None
        atom = node.operands[0]
    return atom.value


def same_atom(one: Atom, two: Atom) -> bool:
    """Return True if two atoms are the same; -0.0 and 0.0 differ, and two NaNs are the same."""
    if isinstance(one, Literal) and isinstance(two, Literal):
        return one.type is two.type and _same_number(one.value, two.value)
    return one is two


def _same_number(one: complex, two: complex) -> bool:
    if isinstance(one, complex) or isinstance(two, complex):
        first, second = complex(one), complex(two)
        return _same_number(first.real, second.real) and _same_number(first.imag, second.imag)
    return (math.isnan(one) and math.isnan(two)) or (one == two and math.copysign(1, one) == math.copysign(1, two))


@dataclass(frozen=True)
class Rewrite:
    """A rule of algebra: replace a node that matches `pattern` by the expression `replacement`, both text such as `mul(x, 1.0)`.

    where  a further condition, called with what the letters of the pattern match; it may add letters for the replacement
    why    the reason for the condition, or the reason why the rule is exact
    """

    pattern: str
    replacement: str
    where: Callable[[Bindings], bool] | None = None
    why: str = ""

    @property
    def root(self) -> str:
        """The name of the outermost op of the pattern (`mul` for `mul(x, 1.0)`), by which rules are looked up."""
        return self.pattern.partition("(")[0]  # all rules are looked up at the start, few are ever parsed

    def apply(self, emit: Emit, op: Op, operands: Sequence[Atom], type_: Type, made: Definitions) -> Atom | None:
        """Try the rule on `op(operands)`, whose result has the type `type_`; return what replaces the result, or None if the rule does not
        match.

        emit  emits a node, and returns its result
        made  for each value, the node that computes it

        A replacement of another type does not match: `mul(x, 1.0)` is not x if the 1 has a larger shape.
        """
        bindings: Bindings = {}
        call = _parsed(self.pattern)
        assert isinstance(call, ast.Call)
        if not _match_call(call, op, operands, made, bindings) or (self.where and not self.where(bindings)):
            return None
        found = _built(_parsed(self.replacement), emit, bindings)
        return found if found.type is type_ else None


class Rules:
    """A table of rules, in which those that may match a node are found by its op and by what computes its operands.

    rules  the rules; of several that match, the first is meant
    """

    def __init__(self, rules: Sequence[Rewrite]):
        self._by_root: dict[str, list[Rewrite]] = {}
        for rule in rules:
            self._by_root.setdefault(rule.root, []).append(rule)
        self._found: dict[tuple[str, ...], tuple[Rewrite, ...]] = {}

    def for_node(self, op: Op, operands: Sequence[Atom], made: Definitions) -> tuple[Rewrite, ...]:
        """Return the rules that may match `op(operands)`: all others differ from it in an op or have a number in another place.

        made  for each value, the node that computes it
        """
        if op.name not in self._by_root:
            return ()
        makers = tuple([_NUMBER if isinstance(atom, Literal) else made[atom].op.name if atom in made else "" for atom in operands])
        key = (op.name, *makers)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple([rule for rule in self._by_root[op.name] if _may_match(_parsed(rule.pattern), makers)])
        return found


_NUMBER = "number"
"""What stands for a literal where the name of an op stands for the result of a node."""


def _may_match(call: ast.expr, makers: Sequence[str]) -> bool:
    """Return False if no operands that are computed by the ops `makers` match the operands of a pattern."""
    assert isinstance(call, ast.Call)
    return len(call.args) == len(makers) and all(map(_may_be, call.args, makers))


def _may_be(pattern: ast.expr, maker: str) -> bool:
    match pattern:
        case ast.Constant() | ast.Name(id="true" | "false"):
            return maker in (_NUMBER, Broadcast.name)
        case ast.Call(func=ast.Name(id=name)):
            return maker == name
        case _:
            return True


_trees: dict[str, ast.expr] = {}


def _parsed(text: str) -> ast.expr:
    if text not in _trees:
        _trees[text] = _Numbers().visit(ast.parse(text, mode="eval").body)
    return _trees[text]


class _Numbers(ast.NodeTransformer):
    """A transformer of Python syntax trees that turns a number with a sign, such as `-1.0`, into one constant."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.Constant:
        return ast.Constant(ast.literal_eval(node))


def _match(pattern: ast.expr, atom: Atom, made: Definitions, bindings: Bindings) -> bool:
    match pattern:
        case ast.Name(id="true" | "false" as name):
            return number(atom, made) is (name == "true")
        case ast.Name(id=name):
            return same_atom(bindings.setdefault(name, atom), atom)
        case ast.Constant(value=wanted):
            assert isinstance(wanted, (int, float))
            found = number(atom, made)
            if found is None or not isinstance(atom.type, TensorType):
                return False
            fits = atom.type.dtype.is_float if isinstance(wanted, float) else atom.type.dtype.is_integer
            return fits and _same_number(found, wanted)
        case ast.Call():
            node = made.get(atom) if isinstance(atom, Value) else None
            return node is not None and _match_call(pattern, node.op, node.operands, made, bindings)
        case _:
            raise TypeError(f"not a pattern: {ast.unparse(pattern)}")


def _match_call(call: ast.Call, op: Op, operands: Sequence[Atom], made: Definitions, bindings: Bindings) -> bool:
    assert isinstance(call.func, ast.Name)
    if op.name != call.func.id or len(call.args) != len(operands):
        return False
    for keyword in call.keywords:
        assert keyword.arg is not None and isinstance(keyword.value, ast.Name)
        held = getattr(op, keyword.arg)
        if bindings.setdefault(keyword.value.id, held) != held:
            return False
    return all(_match(pattern, atom, made, bindings) for pattern, atom in zip(call.args, operands, strict=True))


def _built(pattern: ast.expr, emit: Emit, bindings: Bindings) -> Atom:
    """Emit the nodes of a replacement, and return its value.  If it turns out not to fit, these nodes are dead code.

    bindings  what each letter of the pattern has matched
    """
    match pattern:
        case ast.Name(id="true" | "false" as name):
            return Literal(name == "true", scalar(BOOL))
        case ast.Name(id=name):
            return bindings[name]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            attributes = {k.arg: bindings[k.value.id] for k in keywords if k.arg and isinstance(k.value, ast.Name)}
            return emit(registry()[name](**attributes), [_built(arg, emit, bindings) for arg in args])
        case _:
            raise TypeError(f"not a replacement: {ast.unparse(pattern)}")
