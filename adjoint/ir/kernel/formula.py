"""The formulas that users write for operators of their own: a small part of C, parsed into a tree.

    x * x * y * k                             one expression: an element of the result, from one element of each operand

    double total = 0;                         statements: a row of the result, from a row of each operand
    for (int i = 0; i < n; i++)
        total += x[i] * x[i];
    for (int i = 0; i < n; i++)
        out[i] = x[i] / sqrt(total + eps);

What is not in these lists does not exist: no pointer, no type but the five below, no function but those of `formula_writer`, no `while`,
no assignment to the counter of a loop.  So a formula ends, and touches nothing but its operands.  `formula_writer` turns the tree into
that of `c_ast`; the text itself never reaches a compiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import At, SourceText
from adjoint.ir.errors import FORMULA

__all__ = [
    "Application", "Assigned", "IfElse", "Choice", "Counted", "Element", "Formula", "Infix", "Local", "Numeral", "Part", "Prefix",
    "Sentence", "Variable", "parse_expression", "parse_statements",
]

TYPES: Final = ("double", "float", "int", "int64_t", "long", "bool")
"""The types that a local variable may have."""

DEPTH: Final = 100
"""How deep parentheses and blocks may be nested."""


class Formula(NamedTuple):
    """The text of a formula, for messages.

    operator  the name of the operator
    text      what the user has written
    """

    operator: str
    text: str

    def complain(self, place: tuple[int, int], label: str, help: str = "") -> NoReturn:
        """Raise CompileError for a mistake, with a caret below the place.

        place  the first character, and the one after the last, counted from the beginning of the text
        """
        begin, end = place
        line = self.text.count("\n", 0, begin) + 1
        before = self.text.rfind("\n", 0, begin) + 1
        name = f"<the argument 'c' of operator '{self.operator}'>"
        last = min(end, len(self.text) if (stop := self.text.find("\n", begin)) < 0 else stop)
        at = At(name, line, begin - before + 1, max(last - before, begin - before + 1) + 1)
        raise FORMULA.at(at, label, SourceText(name, self.text), help=help)


@dataclass(frozen=True, slots=True, eq=False)
class Numeral:
    """A literal; an int has no point and no exponent."""

    place: tuple[int, int]
    value: int | float | bool


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """The name of an operand, an attribute, a size or a local variable."""

    place: tuple[int, int]
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element of a row: `x[i]`."""

    place: tuple[int, int]
    name: str
    index: Part


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """`-x` or `!x`."""

    place: tuple[int, int]
    operator: str
    operand: Part


@dataclass(frozen=True, slots=True, eq=False)
class Infix:
    """Two parts and the operator between them, whose place is `place`."""

    place: tuple[int, int]
    operator: str
    left: Part
    right: Part


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """`condition ? then : otherwise`"""

    place: tuple[int, int]
    condition: Part
    then: Part
    otherwise: Part


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    """A call of a mathematical function."""

    place: tuple[int, int]
    function: str
    arguments: tuple[Part, ...]


Part: TypeAlias = Numeral | Variable | Element | Prefix | Infix | Choice | Application
"""An expression, as a tree."""


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A local variable with its first value: `double total = 0;`"""

    place: tuple[int, int]
    type: str
    name: str
    value: Part


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """`target = value;`, or with `operator` "+" `target += value;`"""

    place: tuple[int, int]
    target: Variable | Element
    operator: str
    value: Part


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """`for (int variable = start; variable < stop; variable += step)`"""

    place: tuple[int, int]
    variable: str
    start: Part
    stop: Part
    step: int
    body: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, eq=False)
class IfElse:
    """`if (condition)`, with an `else` unless `otherwise` is empty."""

    place: tuple[int, int]
    condition: Part
    body: tuple[Sentence, ...]
    otherwise: tuple[Sentence, ...]


Sentence: TypeAlias = Local | Assigned | Counted | IfElse
"""A statement, as a tree."""


def parse_expression(formula: Formula) -> Part:
    """Parse a formula that is one expression; CompileError if it is not."""
    reader = _Reader(formula)
    found = reader.expression()
    if (token := reader.token).text:
        more = "an expression for one element takes no `;` and no statements: those need `row=True`" if token.text in (";", "=") else \
            _INSTEAD.get(token.text, "")
        formula.complain(token.place, f"expected the end of the expression, but got `{token.text}`", more)
    return found


def parse_statements(formula: Formula) -> tuple[Sentence, ...]:
    """Parse a formula that is a list of statements; CompileError if it is not."""
    reader = _Reader(formula)
    found: list[Sentence] = []
    while reader.token.text:
        found += reader.statement()
    if not found:
        formula.complain((0, 1), "expected statements, such as `out[i] = ...;` in a loop over the row")
    return tuple(found)


# -- tokens ----------------------------------------------------------------------------------------------------------------
class _Token(NamedTuple):
    """A word of the text: "name", "number" or "sign"; the end has no text."""

    kind: str
    text: str
    place: tuple[int, int]


_TOKEN: Final = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?[fFlL]?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|\+\+|--|&&|\|\||<=|>=|==|!=|<<|>>|[-+*/]=|[-+*/%<>!=?:;,()\[\]{}])",
    re.DOTALL,
)

_INSTEAD: Final = {
    "**": "a power is `pow(x, 2)`, or `x * x`", "^": "a power is `pow(x, 2)`, or `x * x`",
    "and": "write `&&`", "or": "write `||`", "not": "write `!`", "True": "write `true`", "False": "write `false`",
    ".": "functions have no module: `exp(x)`", "if": "a choice between two values is `condition ? a : b`",
    "while": "a loop is `for (int i = 0; i < n; i++)`, which ends", "return": "the result is written by `out[i] = ...;`",
    "#": "a remark is `/* ... */` or `// ...`", "&": "both conditions hold: `a && b`", "|": "one of the conditions holds: `a || b`",
    "<<": "multiply by a power of two", ">>": "multiply by a power of two",
}
"""For what users may write and formulas do not have, what to write instead."""


def _tokens(formula: Formula) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(formula.text):
        match = _TOKEN.match(formula.text, at)
        if match is None:
            sign = formula.text[at]
            formula.complain((at, at + 1), f"`{sign}` does not exist in a formula", _INSTEAD.get(sign, ""))
        if match.lastgroup != "space":
            found.append(_Token(match.lastgroup or "", match.group(), match.span()))
        at = match.end()
    return [*found, _Token("end", "", (len(formula.text), len(formula.text) + 1))]


# -- the parser ------------------------------------------------------------------------------------------------------------
_LEVELS: Final = {"||": 2, "&&": 3, "==": 4, "!=": 4, "<": 5, "<=": 5, ">": 5, ">=": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7}
"""For each operator between two parts its precedence: a higher number binds more tightly.  All are left-associative."""
_COMPARED: Final = (4, 5)
_UNARY: Final = 8


class _Reader:
    """Reads one formula; a method for each construct.

    token  the next token
    """

    def __init__(self, formula: Formula):
        self.formula = formula
        self._tokens = _tokens(formula)
        self._at = self._depth = 0

    @property
    def token(self) -> _Token:
        return self._tokens[self._at]

    def next(self) -> _Token:
        token = self.token
        self._at += token.kind != "end"
        return token

    def expect(self, text: str, after: str) -> _Token:
        if self.token.text != text:
            self.formula.complain(self.token.place, f"expected `{text}` {after}, but got {_shown(self.token)}",
                                  _INSTEAD.get(self.token.text, ""))
        return self.next()

    def deeper(self, place: tuple[int, int]) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            self.formula.complain(place, f"it is nested more than {DEPTH} deep")

    # -- expressions
    def expression(self, least: int = 1) -> Part:
        """Read an expression whose operators bind at least as tightly as `least`."""
        self.deeper(self.token.place)
        left = self._operand()
        compared = 0
        while (level := _LEVELS.get(self.token.text, 0)) >= least and level:
            sign = self.next()
            if level in _COMPARED and compared == level:
                self.formula.complain(sign.place, "a comparison is compared, which C does not do as in mathematics",
                                      "write `a < b && b < c`")
            compared = level
            left = Infix(sign.place, sign.text, left, self.expression(level + 1))
        if least <= 1 and self.token.text == "?":
            sign = self.next()
            then = self.expression()
            self.expect(":", "between the two values of a choice")
            left = Choice(sign.place, left, then, self.expression())
        self._depth -= 1
        return left

    def _operand(self) -> Part:
        token = self.next()
        match token.kind, token.text:
            case "sign", "-" | "!":
                return Prefix(token.place, token.text, self.expression(_UNARY))
            case "sign", "+":
                return self.expression(_UNARY)
            case "sign", "(":
                if self.token.text in TYPES:
                    self.formula.complain(self.token.place, "a formula does not convert: the operands bring their dtype",
                                          "cast the operand before the call, by `x.astype(...)`")
                found = self.expression()
                self.expect(")", "after the part in parentheses")
                return found
            case "number", text:
                return Numeral(token.place, _number(text))
            case "name", "true" | "false":
                return Numeral(token.place, token.text == "true")
            case "name", name if name not in _INSTEAD and name not in TYPES:
                if self.token.text == "(":
                    return Application(token.place, name, self._arguments())
                if self.token.text == "[":
                    self.next()
                    index = self.expression()
                    last = self.expect("]", "after the index")
                    return Element((token.place[0], last.place[1]), name, index)
                return Variable(token.place, name)
            case _:
                return self.formula.complain(token.place, f"expected an operand, a number or a function, but got {_shown(token)}",
                                             _INSTEAD.get(token.text, ""))

    def _arguments(self) -> tuple[Part, ...]:
        self.next()
        found: list[Part] = []
        while self.token.text != ")":
            if found:
                self.expect(",", "between two arguments")
            found.append(self.expression())
        self.next()
        return tuple(found)

    # -- statements
    def statement(self) -> Sequence[Sentence]:
        """Read one statement; a block is several."""
        token = self.token
        self.deeper(token.place)
        match token.text:
            case "{":
                self.next()
                found: list[Sentence] = []
                while self.token.text != "}":
                    if not self.token.text:
                        self.formula.complain(token.place, "this block does not end")
                    found += self.statement()
                self.next()
            case ";":
                self.next()
                found = []
            case "for":
                found = [self._counted()]
            case "if":
                found = [self._branch()]
            case text if text in TYPES:
                found = [self._local()]
            case _:
                found = [self._assignment()]
        self._depth -= 1
        return found

    def _name(self, what: str) -> _Token:
        token = self.next()
        if token.kind != "name" or token.text in TYPES or token.text in _INSTEAD:
            self.formula.complain(token.place, f"expected the name of {what}, but got {_shown(token)}")
        return token

    def _local(self) -> Local:
        type_ = self.next()
        name = self._name("a local variable")
        self.expect("=", "and a first value after the name of a local variable")
        value = self.expression()
        self.expect(";", "after the value")
        return Local(name.place, "int" if type_.text in ("int64_t", "long") else type_.text, name.text, value)

    def _assignment(self) -> Assigned:
        target = self._operand()
        if not isinstance(target, (Variable, Element)):
            self.formula.complain(target.place, "expected a statement: a local variable, an assignment, `for` or `if`")
        sign = self.next()
        if sign.text not in ("=", "+=", "-=", "*=", "/="):
            self.formula.complain(sign.place, f"expected `=`, `+=`, `-=`, `*=` or `/=`, but got {_shown(sign)}")
        value = self.expression()
        self.expect(";", "after the value")
        return Assigned(target.place, target, sign.text[:-1], value)

    def _counted(self) -> Counted:
        form = "in `for (int i = 0; i < n; i++)`, the only form of a loop"
        place = self.next().place
        self.expect("(", form)
        self.expect("int", form)
        counter = self._name("the counter")
        self.expect("=", form)
        start = self.expression()
        self.expect(";", form)
        self.expect(counter.text, form)
        self.expect("<", form)
        stop = self.expression(6)
        self.expect(";", form)
        self.expect(counter.text, form)
        step = 1
        if self.token.text == "+=":
            self.next()
            number = self.next()
            if not number.text.isdecimal() or not 0 < int(number.text) < 2**31:
                self.formula.complain(number.place, f"expected a number of steps above 0, but got {_shown(number)}")
            step = int(number.text)
        else:
            self.expect("++", form)
        self.expect(")", form)
        return Counted(place, counter.text, start, stop, step, tuple(self.statement()))

    def _branch(self) -> IfElse:
        place = self.next().place
        self.expect("(", "before the condition")
        condition = self.expression()
        self.expect(")", "after the condition")
        body, otherwise = tuple(self.statement()), ()
        if self.token.text == "else":
            self.next()
            otherwise = tuple(self.statement())
        return IfElse(place, condition, body, otherwise)


def _number(text: str) -> int | float:
    """Return the number of a literal; its suffix, such as that of `1.0f`, has no meaning: it takes the dtype of what it stands beside."""
    text = text.rstrip("fFlL")
    return int(text) if text.isdecimal() else float(text)


def _shown(token: _Token) -> str:
    return f"`{token.text}`" if token.text else "the end of the text"
