"""Unrolled nodes in a standalone C file: the statements that compute with a few numbers.

    /* pid.py:8: total = state[0] + 0.01 * error */          const float total = state[0] + 0.01f * error;
    s: f32[1] = slice(state, start=[0], ...)                 c[0] = total;
    m: f32 = mul(0.01_f32, error)
    total: f32 = add(r, m)

The statements are those of the node's kernel, one for each number that is computed.  For people who read them, some of them become one: a
number that is used once, by a statement of the same line of Python, is written where it is used.  In a type that C computes with as it is,
that changes no bits.  Numbers have the names of the values in the program.

A node whose kernel no other one in the file has is written where it is.  Where several have it, such as the equal steps of a program, it is
a function, and so are all in a function that would become too long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from textwrap import wrap
from typing import Final, NamedTuple

from adjoint.codegen.c_print import WIDTH, Printer, comment, heading
from adjoint.codegen.user_names import TAKEN, free, local_name
from adjoint.foundation.diagnostics import Derived, Loc, source_line, user_place
from adjoint.ir.core import Literal, Node, tensor_type
from adjoint.ir.kernel import Kernel
from adjoint.ir.kernel.c_ast import (
    Assign,
    Binary,
    Call,
    CastTo,
    Conditional,
    Declare,
    Expr,
    Index,
    Integer,
    Name,
    Real,
    Return,
    Unary,
    literal,
)
from adjoint.ir.kernel.conversion import stored
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.unrolled import unrolled_cost
from adjoint.ir.types import BOOL, F32, F64, I32, I64, U32, U64

__all__ = ["IN_PLACE", "ArithmeticFunction", "BodyWriter", "arithmetic_function", "operations", "signature_lines"]

IN_PLACE: Final = 256
"""The limit for the operations of C that are written into a function in the place of calls: some hundred lines.  With more, a list of calls
is easier to read."""
_TOGETHER: Final = 16
"""A number that takes as many operations of C has a statement of its own: one of two or three lines."""
_AS_THEY_ARE: Final = frozenset({BOOL, F32, F64, I32, I64, U32, U64})
"""The types of numbers that may be written where they are used: in an expression C computes narrower integers as `int`."""


def operations(node: Node) -> int:
    """Return how many operations of C compute an unrolled node."""
    costs = [unrolled_cost(inner) for inner in node.regions[0].nodes]
    return sum(cost.operations for cost in costs if cost is not None)


def signature_lines(name: str, operands: Sequence[str], results: Sequence[str]) -> list[str]:
    """Return the lines of a comment that shows the types of arguments and results."""
    return wrap(f"{name}({', '.join(operands)}) -> {', '.join(results)}", WIDTH - 3, break_long_words=False, break_on_hyphens=False)


class BodyWriter:
    """Writes the lines of a C function.

    taken   the names that mean something in the function
    lines   what is written so far
    indent  the column in which a line begins
    read    the functions, elements and numbers that arithmetic reads, as they are in C
    """

    def __init__(self, taken: Iterable[str]):
        self.taken = {*TAKEN, *taken}
        self.lines: list[str] = []
        self.indent = 4
        self.read: set[str] = set()
        self._line_shown: tuple[str, str, int] | None = None

    def free(self, name: str) -> str:
        """Return a name that means nothing in the function yet, and take it."""
        name = free(name, self.taken)
        self.taken.add(name)
        return name

    def numbered(self, name: str) -> str:
        """Return `name`, or one like it with another number at its end, that means nothing in the function yet, and take it."""
        base = re.sub(r"_\d+$", "", name)
        found = next(each for each in chain([name], (f"{base}_{number}" for number in count(1))) if each == free(each, self.taken))
        self.taken.add(found)
        return found

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append(" " * self.indent + text)

    def call(self, text: str) -> None:
        """Append a call, over several lines if it is long."""
        for i, line in enumerate(wrap(text, WIDTH - self.indent - 4, break_long_words=False, break_on_hyphens=False)):
            self.line(f"    {line}" if i else line)

    def remark(self, text: str) -> None:
        """Append a comment."""
        for line in comment(text):
            self.line(line)

    def forget_place(self) -> None:
        """Let the next comment name its Python line, be it that of the comment before or not."""
        self._line_shown = None

    def place(self, loc: Loc) -> None:
        """Append a comment with the Python line of a location, if it is another than that of the comment before."""
        found = _line_of(loc)
        if found is None or found == self._line_shown:
            return
        self._line_shown = found
        kind, file, number = found
        place = user_place(loc)
        source = " ".join(source_line(place).split()) if place is not None else ""
        text = f"{kind}{os.path.basename(file)}:{number}{f': {source}' if source else ''}"
        limit = WIDTH - self.indent - 6
        if self.lines and not self.lines[-1].endswith("{"):
            self.lines.append("")
        self.remark(text if len(text) <= limit else f"{text[: limit - 4]} ...")

    def arithmetic(self, node: Node, operands: Sequence[str | Literal], results: Sequence[str]) -> None:
        """Write the statements that compute an unrolled node.

        operands  for each operand a C expression that points to it, or the number that it is
        results   for each result a C expression that points to it
        """
        for loc, statement in _Statements(node, operands, results, self.numbered).written():
            if loc is not None:
                self.place(loc)
            printer = Printer()
            printer.indent = self.indent
            printer.statements([statement])
            self.lines += printer.lines
            self.read |= printer.names


def _line_of(loc: Loc) -> tuple[str, str, int] | None:
    """Return ("gradient of " or "", file, line) of a location, for a comment; None if the user's line is not known."""
    place = user_place(loc)
    return None if place is None else ("gradient of " if isinstance(loc, Derived) and loc.kind == "grad" else "", place.file, place.line)


class _Statements:
    """The statements of an unrolled node's kernel, in terms of the function that they are written into.

    operands, results  as for `BodyWriter.arithmetic`
    free               returns a name that means nothing in the function, and takes it
    """

    def __init__(self, node: Node, operands: Sequence[str | Literal], results: Sequence[str], free: Callable[[str], str]):
        (region,) = node.regions
        values = [*region.params, *(value for inner in region.nodes for value in inner.results)]
        kernel = Kernel(values=[local_name(value.hint) for value in values])
        atoms = [*node.operands, *node.results]
        buffers = [kernel.operand(tensor_type(x), "memory", written=at >= len(operands)) for at, x in enumerate(atoms)]
        kernel_op(node).lower(kernel, *buffers)
        ((_, body),) = kernel.stages()
        self._memory = {buffer.name: given for buffer, given in zip(buffers, (*operands, *results), strict=True)}
        self._free = free
        self._known: dict[str, Expr] = {}
        self._body: list[Declare | Assign] = []
        self._locs = {statement: region.nodes[step].loc for statement, step in kernel.steps.items()}
        self._users: dict[str, list[Declare | Assign]] = {}
        for statement in reversed(body):
            if isinstance(statement, Assign) or (isinstance(statement, Declare) and statement.name in self._users):
                self._body.insert(0, statement)
                for name in _names_in(statement.value):
                    self._users.setdefault(name, []).append(statement)
            else:  # a number that nothing uses, as of a product of which one element is taken; `return 0` at the end
                assert isinstance(statement, (Declare, Return)), "a kernel without loops computes numbers and stores them"

    def written(self) -> Iterator[tuple[Loc | None, Declare | Assign]]:
        """Yield the statements, each with the location of the node that it computes; None for one that only reads or copies an operand."""
        for statement in self._body:
            loc, value = self._locs.get(statement), self._in_function(statement.value)
            if isinstance(statement, Assign):
                yield loc, Assign(self._in_function(statement.target), value)
            elif self._is_written_where_used(statement, value):
                self._known[statement.name] = value
            else:
                name = self._free(statement.name)
                self._known[statement.name] = Name(name, statement.dtype)
                yield loc, replace(statement, name=name, value=value)

    def _is_written_where_used(self, statement: Declare, value: Expr) -> bool:
        """Return True for a number that has no name in the function.

        value  what it is there
        """
        if isinstance(statement.value, Index):  # an element of an operand; one that C only tests for 0 is a bool in a local
            return not isinstance(value, Name) or statement.dtype is not BOOL
        users = self._users[statement.name]
        if len(users) != 1 or statement.dtype not in _AS_THEY_ARE or _size(value) >= _TOGETHER:
            return False
        made, used = (self._locs.get(each) for each in (statement, users[0]))
        return made is not None and used is not None and _line_of(made) == _line_of(used)

    def _in_function(self, e: Expr) -> Expr:
        """Return an expression of the kernel in terms of the function."""
        match e:
            case Name(name):
                return self._known[name]
            case Index(Name(pointer), Integer(place), dtype):
                given = self._memory[pointer]
                if isinstance(given, Literal):
                    return stored(literal(given.value, dtype), dtype)
                return Name(given[1:] if given.startswith("&") else f"{given}[{place}]", dtype)
            case Binary():
                return replace(e, left=self._in_function(e.left), right=self._in_function(e.right))
            case Unary() | CastTo():
                return replace(e, operand=self._in_function(e.operand))
            case Conditional():
                return replace(e, condition=self._in_function(e.condition), then=self._in_function(e.then),
                               otherwise=self._in_function(e.otherwise))
            case Call():
                return replace(e, arguments=tuple([self._in_function(each) for each in e.arguments]))
            case _:
                assert isinstance(e, (Integer, Real)), e
                return e


def _inside(e: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression."""
    match e:
        case Binary(left=left, right=right):
            return left, right
        case Unary(operand=operand) | CastTo(operand=operand):
            return (operand,)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return condition, then, otherwise
        case Call(arguments=arguments):
            return arguments
        case _:
            return ()


def _names_in(e: Expr) -> Iterator[str]:
    """Yield the names of the numbers in an expression, each as often as it is there."""
    if isinstance(e, Name):
        yield e.name
    for each in _inside(e):
        yield from _names_in(each)


def _size(e: Expr) -> int:
    """Return how many operations an expression has."""
    parts = _inside(e)
    return bool(parts) + sum(map(_size, parts))


class ArithmeticFunction(NamedTuple):
    """A C function that computes an unrolled node.

    operands  the positions of the operands that it takes
    read      what it reads, as `BodyWriter.read`: the functions that it calls are among it
    """

    name: str
    text: str
    operands: list[int]
    read: set[str]


def arithmetic_function(node: Node, name: str, numbers: Sequence[Literal | None]) -> ArithmeticFunction:
    """Return a C function that computes an unrolled node.

    name     its name
    numbers  for each operand the number that it always is; None for one that may be a parameter of the function
    """
    writer = BodyWriter([name])
    params = [given or writer.numbered(local_name(param.hint)) for param, given in zip(node.regions[0].params, numbers, strict=True)]
    results = [writer.numbered(local_name(value.hint)) for value in node.results]
    writer.arithmetic(node, params, results)
    names = {each.partition("[")[0] for each in writer.read}
    taken = [at for at, x in enumerate(params) if x in names]
    operands = [(tensor_type(node.operands[at]), params[at]) for at in taken]
    made = [(tensor_type(atom), x) for atom, x in zip(node.results, results, strict=True)]
    title = comment("\n".join(signature_lines(name, *([f"{x}: {type_}" for type_, x in pairs] for pairs in (operands, made)))))
    parameters = [*((f"const {type_.dtype.c_name} *", x) for type_, x in operands), *((f"{type_.dtype.c_name} *", x) for type_, x in made)]
    text = "\n".join([*title, f"{heading(f'static void {name}', parameters)} {{", *writer.lines, "}\n"])
    return ArithmeticFunction(name, text, taken, writer.read)
