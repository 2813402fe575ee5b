"""Print the tree of `ir.kernel.c_ast` as readable C: one printer, one table of precedences.

Parentheses are those that C needs, and a few more where compilers warn: around sums in shifts, around anything mixed
into `&`, `^`, `|`, around these before `?`, around comparisons in comparisons and `&&` in `||`.  A line is broken before
its 120th column, at its loosest operators.  The printer remembers which names it has printed, so that unused declarations are left out.

Text from elsewhere (variable names, paths of source files) passes through `identifier`, `comment` or `string`, after which it cannot end
the comment, the string or the statement that contains it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from math import copysign, isinf, isnan
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from adjoint.ir.kernel.c_ast import (
    BITWISE,
    COMPARISONS,
    Assign,
    Binary,
    Block,
    Call,
    CastTo,
    Comment,
    Conditional,
    Declare,
    DeclareArray,
    DeclarePointer,
    Expr,
    Expression,
    For,
    Function,
    If,
    Increment,
    Index,
    Integer,
    Name,
    Real,
    Return,
    Statement,
    String,
    Unary,
    While,
)
from adjoint.ir.types import BOOL, F32, I32, I64, U32, U64, DType

__all__ = ["WIDTH", "DirectText", "FunctionText", "Printer", "comment", "direct_text", "function_text", "heading", "string"]

WIDTH: Final = 118
"""The longest line of C that is printed, in columns."""

BINARY: Final = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10, ">=": 10,
    "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4,
}  # fmt: skip
"""For each binary operator of C its precedence: a higher number binds more tightly.  All are left-associative."""
PRIMARY: Final = 16
POSTFIX: Final = 15
PREFIX: Final = 14
CONDITIONAL: Final = 3
ANY: Final = 0


INDEPENDENT: Final = "ADJOINT_INDEPENDENT"
"""The macro in front of a loop whose rounds do not depend on each other; `emit.unit_text` defines it."""
COMPOUND: Final = frozenset({"*", "/", "+", "-", "&", "|", "^"})
"""Operators for which `x = x + y` is written `x += y`."""


def _operands_in_parentheses(operator: str) -> frozenset[int]:
    """Return the precedences of operands that need no parentheses next to this operator, but get them, since compilers warn otherwise."""
    if operator in ("<<", ">>"):
        return frozenset({12, 13})
    if operator in BITWISE:
        return frozenset(range(6, 14)) - {BINARY[operator]}
    if operator in COMPARISONS:
        return frozenset({9, 10})
    if operator == "?":
        return frozenset({6, 7, 8})
    return frozenset({5}) if operator == "||" else frozenset()


_CLEARER: Final = {operator: _operands_in_parentheses(operator) for operator in (*BINARY, "?")}


# ---- text that comes from elsewhere --------------------------------------------------------------------------------------


def comment(text: str) -> list[str]:
    """Return the lines of a comment with this text; no text can end the comment early."""
    lines = [_harmless(line) for line in text.splitlines()] or [""]
    if len(lines) == 1:
        return [f"/* {lines[0]} */"]
    return [f"/* {lines[0]}", *(f"   {line}".rstrip() for line in lines[1:-1]), f"   {lines[-1]} */"]


def _harmless(line: str) -> str:
    line = "".join(c if c.isprintable() else " " for c in line).rstrip(" \\")
    line = re.sub(r"\*(?=/)", "* ", line).replace("??", "? ?")
    return re.sub(r"/(?=\*)", "/ ", line)


_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "?": "\\?"}


def string(text: str) -> str:
    """Return `text` as a C string literal in UTF-8."""
    escaped = "".join(
        _ESCAPES.get(c) or (c if " " <= c <= "~" else "".join(f"\\{byte:03o}" for byte in c.encode("utf-8", "replace")))
        for c in text
    )
    return f'"{escaped}"'


# ---- literals ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _real(value: float, sign: float, single: bool) -> str:
    """Return a C literal for a number: the shortest decimal that reads back as `value`.

    sign    the sign of the number, which tells 0.0 from -0.0 as keys of the cache
    single  True for a float, False for a double
    """
    if isnan(value):
        return "NAN"
    if single:
        try:
            value = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            value = copysign(float("inf"), value)
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    if not single:
        text = repr(value)
        return text if "." in text or "e" in text else text + ".0"
    attempts = (f"{value:.{digits}g}" for digits in (6, 7, 8, 9))
    text = next(text for text in attempts if struct.unpack("f", struct.pack("f", float(text)))[0] == value)
    return (text if "." in text or "e" in text else text + ".0") + "f"


def _integer(value: int, dtype: DType) -> str:
    if dtype is BOOL:
        return "true" if value else "false"
    if -(1 << 31) < value < 1 << 31:
        return str(value)
    if value == -(1 << 63):
        return "INT64_MIN"
    if value == -(1 << 31):
        return "INT32_MIN"
    return _sized(value, dtype)


def _sized(value: int, dtype: DType) -> str:
    """Return a C literal for an integer whose C type is exactly that of `dtype`, where that matters: left of a shift, beyond `int`."""
    if dtype is I64 or dtype is U32 or dtype is U64:
        sign = "-" if value < 0 else ""
        return f"{sign}{dtype.c_name.removesuffix('_t').upper()}_C({abs(value)})"
    return str(value)


def value_type(dtype: DType) -> str:
    """Return the C type of a value of `dtype` in a variable, not in memory."""
    return "bool" if dtype is BOOL else dtype.c_name


# ---- the printer ---------------------------------------------------------------------------------------------------------


class Printer:
    """Prints statements of C into `lines`.

    names   every name and every function that was printed so far
    places  for each printed statement that computes a step of a fused kernel: the index of its line, and the step
    """

    def __init__(self, steps: Mapping[Statement, int] = MappingProxyType({})) -> None:
        self.steps = steps
        self.places: list[tuple[int, int]] = []
        self.lines: list[str] = []
        self.names: set[str] = set()
        self.indent = 0

    # Expressions: text and precedence.

    def expression(self, e: Expr) -> tuple[str, int]:
        return _EXPRESSIONS[type(e)](self, e)

    def _operand(self, e: Expr, at_least: int) -> str:
        text, precedence = _EXPRESSIONS[type(e)](self, e)
        return text if precedence >= at_least else f"({text})"

    def _name(self, e: Name) -> tuple[str, int]:
        self.names.add(e.name)
        return e.name, PRIMARY

    def _integer(self, e: Integer) -> tuple[str, int]:
        return _integer(e.value, e.dtype), PREFIX if e.value < 0 else PRIMARY

    def _real(self, e: Real) -> tuple[str, int]:
        text = _real(e.value, copysign(1.0, e.value), e.dtype is F32)
        return text, PREFIX if text[0] == "-" else PRIMARY

    def _string(self, e: String) -> tuple[str, int]:
        return string(e.text), PRIMARY

    def _unary(self, e: Unary) -> tuple[str, int]:
        text, precedence = self.expression(e.operand)
        if precedence < PREFIX or (precedence == PREFIX and e.operator == text[0]):
            text = f"({text})"
        return e.operator + text, PREFIX

    def _sides(self, e: Binary) -> tuple[str, str]:
        """Return both operands of a binary expression as text, in parentheses where needed."""
        operator, precedence = e.operator, BINARY[e.operator]
        left, left_precedence = self.expression(e.left)
        right, right_precedence = self.expression(e.right)
        clearer = _CLEARER[operator]
        if left_precedence < precedence or left_precedence in clearer or (left[0] == "!" and operator in COMPARISONS):
            left = f"({left})"
        elif operator == "<<" and isinstance(e.left, Integer):
            left = _sized(e.left.value, e.left.dtype)
        together = operator == "+" and e.dtype is I64 and right_precedence == precedence  # integers: the order of a sum makes no difference
        if (right_precedence <= precedence and not together) or right_precedence in clearer or (right[0] == "-" and operator in "+-"):
            right = f"({right})"
        return left, right

    def _binary(self, e: Binary) -> tuple[str, int]:
        left, right = self._sides(e)
        return f"{left} {e.operator} {right}", BINARY[e.operator]

    def _index(self, e: Index) -> tuple[str, int]:
        return f"{self._operand(e.base, POSTFIX)}[{self.expression(e.index)[0]}]", POSTFIX

    def _call(self, e: Call) -> tuple[str, int]:
        self.names.add(e.function)
        return f"{e.function}({', '.join([self.expression(a)[0] for a in e.arguments])})", POSTFIX

    def _conditional(self, e: Conditional) -> tuple[str, int]:
        condition, precedence = self.expression(e.condition)
        if precedence <= CONDITIONAL or precedence in _CLEARER["?"]:
            condition = f"({condition})"
        then = self._operand(e.then, CONDITIONAL + 1)
        return f"{condition} ? {then} : {self._operand(e.otherwise, CONDITIONAL)}", CONDITIONAL

    def _cast(self, e: CastTo) -> tuple[str, int]:
        return f"({value_type(e.dtype)}){self._operand(e.operand, PREFIX)}", PREFIX

    # Expressions that are too long for one line.

    def _broken(self, e: Expr, column: int, tail: int) -> str:
        """Return an expression as text, broken over several lines if needed.

        e       the expression
        column  the column in which it begins
        tail    how many more columns follow it on its last line
        """
        flat, _ = self.expression(e)
        if column + len(flat) + tail <= WIDTH:
            return flat
        self.indent += 4
        text = self._lines_of(e, flat, column)
        self.indent -= 4
        return text

    def _lines_of(self, e: Expr, flat: str, column: int) -> str:
        inner = self.indent
        new_line = "\n" + " " * inner
        match e:
            case Binary(operator=operator, left=left, right=right):
                precedence, terms = BINARY[operator], [(operator, right)]
                while isinstance(left, Binary) and BINARY[left.operator] == precedence and precedence not in _CLEARER[operator]:
                    terms.append((left.operator, left.right))
                    left = left.left
                text = self._part(left, operator, precedence, column)
                for term_operator, term in reversed(terms):
                    start = inner + len(term_operator) + 1
                    text += f"{new_line}{term_operator} {self._part(term, term_operator, precedence + 1, start)}"
                return text
            case Conditional(condition=condition, then=then, otherwise=otherwise):
                return (
                    f"{self._part(condition, '?', CONDITIONAL + 1, column)}"
                    f"{new_line}? {self._part(then, ':', CONDITIONAL + 1, inner + 2)}"
                    f"{new_line}: {self._part(otherwise, ':', CONDITIONAL, inner + 2)}"
                )
            case Call(function=function, arguments=arguments):
                return f"{function}({self._arguments(arguments, inner)})"
            case CastTo(operand=operand, dtype=dtype):
                start = f"({value_type(dtype)})"
                return start + self._part(operand, "", PREFIX, column + len(start))
            case Unary(operator=operator, operand=operand) if operator != "&":
                return operator + self._part(operand, "", POSTFIX, column + 1)
            case _:
                return flat

    def _part(self, e: Expr, operator: str, at_least: int, column: int) -> str:
        flat, precedence = self.expression(e)
        clearer = _CLEARER.get(operator, frozenset[int]())
        negative = flat[0] == "-" and operator in ("+", "-") and at_least > BINARY[operator]
        if precedence < at_least or precedence in clearer or negative:
            return f"({self._broken(e, column + 1, 2)})"
        return self._broken(e, column, 1)

    def _arguments(self, arguments: Iterable[Expr], inner: int) -> str:
        """Return the arguments of a call as text, over as few lines as possible.

        inner  the column in which further lines begin
        """
        text, line = "", ""
        for argument in arguments:
            part = self._broken(argument, inner, 2)
            if line and inner + len(line) + len(part) + 4 > WIDTH:
                text += f"\n{' ' * inner}{line},"
                line = part
            else:
                line = f"{line}, {part}" if line else part
        return f"{text}\n{' ' * inner}{line}"

    # Statements.

    def _line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def _value(self, start: str, e: Expr, end: str) -> None:
        """Append a line made of `start`, an expression and `end`; it is broken into several if it is too long."""
        text, _ = self.expression(e)
        if self.indent + len(start) + len(text) + len(end) > WIDTH:
            text = self._broken(e, self.indent + len(start), len(end))
        self.lines.append(f"{' ' * self.indent}{start}{text}{end}")

    def statements(self, body: Iterable[Statement]) -> None:
        for statement in body:
            if statement in self.steps:
                self.places.append((len(self.lines), self.steps[statement]))
            _STATEMENTS[type(statement)](self, statement)

    def _body(self, body: Iterable[Statement]) -> None:
        self.indent += 4
        self.statements(body)
        self.indent -= 4

    def _declare(self, s: Declare) -> None:
        self._value(f"{'const ' if s.constant else ''}{value_type(s.dtype)} {s.name} = ", s.value, ";")

    def _declare_array(self, s: DeclareArray) -> None:
        self._line(f"{s.dtype.c_name} {s.name}[{s.length}]{' = {0}' if s.zeroed else ''};")

    def _declare_pointer(self, s: DeclarePointer) -> None:
        self._value(f"{pointer_type(s)}{s.name} = ", s.value, ";")

    def _assign(self, s: Assign) -> None:
        target, _ = self.expression(s.target)
        match s.value:
            case Binary(operator=operator, left=left, right=right) if operator in COMPOUND and self.expression(left)[0] == target:
                self._value(f"{target} {operator}= ", right, ";")
            case value:
                self._value(f"{target} = ", value, ";")

    def _increment(self, s: Increment) -> None:
        target, _ = self.expression(s.target)
        if isinstance(s.value, Integer) and s.value.value == 1:
            self._line(f"{target}++;")
        else:
            self._value(f"{target} += ", s.value, ";")

    def _for(self, s: For) -> None:
        name = s.variable
        start, stop = self.expression(s.start)[0], self._operand(s.stop, BINARY["<"] + 1)
        step = f"{name}++" if s.step == 1 else f"{name} += {s.step}"
        if s.independent:
            self._line(INDEPENDENT)
        self._line(f"for (int64_t {name} = {start}; {name} < {stop}; {step}) {{")
        self._body(s.body)
        self._line("}")

    def _while(self, s: While) -> None:
        self._value("while (", s.condition, ") {")
        self._body(s.body)
        self._line("}")

    def _if(self, s: If, start: str = "if (") -> None:
        self._value(start, s.condition, ") {")
        self._body(s.body)
        match s.otherwise:
            case ():
                self._line("}")
            case (If() as other,):
                self._if(other, "} else if (")
            case _:
                self._line("} else {")
                self._body(s.otherwise)
                self._line("}")

    def _return(self, s: Return) -> None:
        self._value("return ", s.value, ";")

    def _expression(self, s: Expression) -> None:
        self._value("", s.value, ";")

    def _comment(self, s: Comment) -> None:
        for line in comment(s.text):
            self._line(line)

    def _block(self, s: Block) -> None:
        self._line("{")
        self._body(s.body)
        self._line("}")


_EXPRESSIONS: Final[dict[type, Callable[[Printer, Any], tuple[str, int]]]] = {
    Name: Printer._name,
    Integer: Printer._integer,
    Real: Printer._real,
    String: Printer._string,
    Unary: Printer._unary,
    Binary: Printer._binary,
    Index: Printer._index,
    Call: Printer._call,
    Conditional: Printer._conditional,
    CastTo: Printer._cast,
}

_STATEMENTS: Final[dict[type, Callable[[Printer, Any], None]]] = {
    Declare: Printer._declare,
    DeclareArray: Printer._declare_array,
    DeclarePointer: Printer._declare_pointer,
    Assign: Printer._assign,
    Increment: Printer._increment,
    For: Printer._for,
    While: Printer._while,
    If: Printer._if,
    Return: Printer._return,
    Expression: Printer._expression,
    Comment: Printer._comment,
    Block: Printer._block,
}


def pointer_type(s: DeclarePointer) -> str:
    """Return the C text of a pointer's declaration up to where its name begins, such as `const float *restrict `."""
    return f"{'const ' if s.constant else ''}{s.dtype.c_name} *{'restrict ' if s.alone else ''}"


class FunctionText(NamedTuple):
    """A C function as text, with what it contains.

    names   the names that it uses, functions included
    places  for each statement that computes a step of a fused kernel: the number of its line, from 0, and the step
    """

    text: str
    names: set[str]
    places: list[tuple[int, int]]


class DirectText(NamedTuple):
    """A C function as text that takes its operands and sizes as parameters of their own, then the range of its units.

    names     the names that it uses, functions included
    operands  the positions of the operands that it takes, in order
    sizes     the positions of the sizes that it takes, in the size array
    ranged    whether the first unit and the one after the last are its last parameters
    fails     whether it returns a status; otherwise it returns nothing
    """

    text: str
    names: set[str]
    operands: tuple[int, ...]
    sizes: tuple[int, ...]
    ranged: bool
    fails: bool


def direct_text(function: Function) -> DirectText:
    """Return the C text of a function in the form that people write: for files whose functions call it by name.

    Its pointers are not `restrict`, though they point to memory of their own.  Where such a function is inlined and its loops are
    unrolled, gcc 12 at -O3 and clang 14 at -O2 read a product's result before it is written, as in the gradient of a recurrent layer;
    clang 22 does not.
    """
    *statements, last = function.body
    assert isinstance(last, Return)
    fails = _returns(statements)
    body: tuple[Statement, ...] = function.body if fails else tuple(statements)
    while True:
        printer = Printer()
        printer.indent = 4
        printer.statements(body)
        kept = _used(body, printer.names)
        if kept == body:
            break
        body = kept
    needed = [declaration for declaration in function.prologue if declaration.name in printer.names]
    pointers = [(pointer_type(replace(x, alone=False)), x) for x in needed if isinstance(x, DeclarePointer)]
    sizes = [(f"{value_type(x.dtype)} ", x) for x in needed if isinstance(x, Declare)]
    bounds = [(kind, name) for kind, name in function.parameters if name in RANGE]
    ranged = any(name in printer.names for _, name in bounds)
    parameters = [*((kind, x.name) for kind, x in (*pointers, *sizes)), *(bounds if ranged else ())]
    unused = [f"    (void){name};" for _, name in bounds if ranged and name not in printer.names]
    start = heading(f"static {'int' if fails else 'void'} {function.name}", parameters or [("void", "")])
    text = "\n".join([f"{start} {{", *unused, *printer.lines, "}\n"])
    return DirectText(text, printer.names, tuple(_position(x) for _, x in pointers), tuple(_position(x) for _, x in sizes), ranged, fails)


RANGE: Final = ("begin", "end")
"""The parameters of every kernel that say which of its units it computes."""


def _position(declared: Declare | DeclarePointer) -> int:
    """Return the index from which a declaration of the prologue takes its value."""
    assert isinstance(declared.value, Index) and isinstance(declared.value.index, Integer)
    return declared.value.index.value


HINTS: Final = frozenset({"adjoint_fetch"})
"""Functions that only tell a processor what comes."""


def _used(body: tuple[Statement, ...], names: set[str]) -> tuple[Statement, ...]:
    """Return statements without hints for speed, and without declarations of locals that are not among the used names.

    `body` itself if it has neither.
    """
    kept: list[Statement] = []
    for statement in body:
        match statement:
            case Declare(name=name) if name not in names:
                continue
            case Expression(value=Call(function=function)) if function in HINTS:
                continue
            case If(body=inner, otherwise=other) if (fewer := (_used(inner, names), _used(other, names))) != (inner, other):
                kept.append(replace(statement, body=fewer[0], otherwise=fewer[1]))
            case For(body=inner, independent=hinted) if (less := _used(inner, names)) != inner or hinted:
                kept.append(replace(statement, body=less, independent=False))
            case While(body=inner) | Block(body=inner) if (less := _used(inner, names)) != inner:
                kept.append(replace(statement, body=less))
            case _:
                kept.append(statement)
    return body if len(kept) == len(body) and all(a is b for a, b in zip(kept, body, strict=True)) else tuple(kept)


def _returns(body: Iterable[Statement]) -> bool:
    """Return whether there is a `return` among these statements, at any depth."""
    for statement in body:
        match statement:
            case Return():
                return True
            case If(body=inner, otherwise=other) if _returns((*inner, *other)):
                return True
            case For(body=inner) | While(body=inner) | Block(body=inner) if _returns(inner):
                return True
            case _:
                pass
    return False


def function_text(function: Function, *, private: bool = False, steps: Mapping[Statement, int] = MappingProxyType({})) -> FunctionText:
    """Return the C text of a function.

    private  True if it is visible in its file only (`static`)
    steps    for each statement that computes a step of a fused kernel: the step

    The body is printed first: then it is known which declarations of the prologue it needs, and which parameters nobody uses.
    The pointers of the prologue become parameters of an inner function, because gcc believes `restrict` of parameters only
    (of a local that is read from memory it does not: each loop then begins with a comparison of all pointers, and with
    more than a few of them is not vectorised at all).
    """
    returned = "static int" if private else "int"
    body = Printer(steps)
    body.indent = 4
    body.statements(function.body)
    prologue = Printer()
    prologue.indent = 4
    prologue.names = body.names
    needed = [declaration for declaration in function.prologue if declaration.name in body.names]
    pointers = [declaration for declaration in needed if isinstance(declaration, DeclarePointer)]
    prologue.statements(declaration for declaration in needed if not isinstance(declaration, DeclarePointer))
    if not pointers:
        unused = [f"    (void){name};" for _, name in function.parameters if name not in body.names]
        lines = [f"{heading(f'{returned} {function.name}', function.parameters)} {{", *unused, *prologue.lines]
        if len(lines) > 1:
            lines.append("")
        return FunctionText("\n".join([*lines, *body.lines, "}\n"]), body.names, _places(lines, body))

    passed = [(declaration, name) for declaration, name in function.parameters if name in body.names]
    inner = f"{function.name}{INNER}"
    parameters = [*((pointer_type(pointer), pointer.name) for pointer in pointers), *passed]
    lines = [f"{heading(f'static int {inner}', parameters)} {{", *prologue.lines]
    if prologue.lines:
        lines.append("")
    call = Printer()
    call.indent = 4
    arguments = (*(pointer.value for pointer in pointers), *(Name(name, I64) for _, name in passed))
    call.statements([Return(Call(inner, arguments, I32))])
    unused = [f"    (void){name};" for _, name in function.parameters if name not in call.names]
    outer = [f"{heading(f'{returned} {function.name}', function.parameters)} {{", *unused, *call.lines]
    return FunctionText("\n".join([*lines, *body.lines, "}\n", *outer, "}\n"]), body.names | call.names, _places(lines, body))


def _places(before: Sequence[str], body: Printer) -> list[tuple[int, int]]:
    """Return the places (number of the line, step) of a body that is printed after other lines, each of which may hold line breaks.

    before  the lines before the body
    """
    starts = [*accumulate((line.count("\n") + 1 for line in (*before, *body.lines)), initial=0)]
    return [(starts[len(before) + index], step) for index, step in body.places]


INNER: Final = "_units"
"""Suffix of the name of an inner function."""


def heading(start: str, parameters: Sequence[tuple[str, str]]) -> str:
    """Return `start` followed by parameters in parentheses, over as few lines as possible.

    parameters  pairs (type, name)
    """
    parts = [f"{declaration}{'' if declaration.endswith(('*', ' ')) else ' '}{name}" for declaration, name in parameters]
    flat = f"{start}({', '.join(parts)})"
    if len(flat) + 2 <= WIDTH:
        return flat
    lines = [""]
    for part in parts:
        if lines[-1] and 4 + len(lines[-1]) + len(part) + 4 > WIDTH:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] += f", {part}" if lines[-1] else part
    return f"{start}(\n    " + "\n    ".join(lines) + ")"
