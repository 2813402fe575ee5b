"""Text out: modules and functions as the language that `parse` reads.

    print(parse(print(m))) == print(m)          for every module m, with and without locations

A value's name is its hint as it stands, if that is still free in its function, else `hint.1`, `hint.2` and so on, with the
`'` of a cotangent kept at the end.  Attributes that have their default value are left out.  Locations stand in the right
margin.  What is printed is a `Listing` of tokens, so that a terminal can colour it and the verifier can draw into it without
reading the text again.
"""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.foundation.diagnostics import UNKNOWN, At, Derived, Loc
from adjoint.ir.attributes import attributes_of
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value
from adjoint.ir.types import BF16, DTYPES, F16, F32, I64, DType, Poly, Type, scalar

__all__ = [
    "KEYWORDS", "Listing", "Token", "is_reserved", "listing", "literal_text", "location_text", "print_function", "print_module", "quoted",
    "rounded", "unquoted",
]

MARGIN: Final = 75
"""The column, from 0, at which locations are printed; in a longer line, two spaces after its end."""

KEYWORDS: Final = frozenset(
    {
        "at", "attention", "batch", "by", "carry", "cell", "do", "else", "false", "for", "func", "fused", "gradient", "host", "if", "in",
        "inf", "nan", "none", "of", "param", "range", "record", "residuals", "return", "sens", "stack", "tangent", "test", "trace", "true",
        "tuple", "unknown", "unrolled", "vjp", "while", "with", "yield", *DTYPES,
    }
)
"""Keywords of the language, which are no names of values."""

_NAME = re.compile(r"[^\W\d]\w*(\.[0-9]+|')*")
_LITERAL_LIKE = re.compile(r"(inf|nan)_\w+")
_NAME_PARTS = re.compile(r"(.*?)(?:\.[0-9]+)?('*)", re.DOTALL)
_SYMBOL = re.compile(r"\w[\w.']*")
_PLAIN_FILE = re.compile(r"[A-Za-z0-9_./<>+~@-]+")


class Token(NamedTuple):
    """A piece of printed text, with its kind for colouring.

    kind  keyword, op, value, type, symbol, attribute, literal, string, location, punctuation or space
    """

    kind: str
    text: str


class Listing:
    """Printed IR: lines of tokens, and the line of each node.

    lines    one list of tokens a line, without line ends
    line_of  the line, from 0, on which a node, a region or a function begins
    names    the name of each value; of one in several functions, that in the last
    """

    def __init__(self) -> None:
        self.lines: list[list[Token]] = []
        self.line_of: dict[Node | Region | Function, int] = {}
        self.names: dict[Value, str] = {}

    def line_texts(self) -> list[str]:
        return ["".join(token.text for token in line) for line in self.lines]

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.line_texts())


def print_module(module: Module, locations: bool = True) -> str:
    """Return the module as text; `locations`: whether to show locations in the right margin."""
    return listing(module, locations).text


def print_function(function: Function, locations: bool = True) -> str:
    """Return one function as text."""
    return listing(function, locations).text


def listing(of: Module | Function, locations: bool = True) -> Listing:
    """Return a module or function as a Listing."""
    made = Listing()
    match of:
        case Function():
            _FunctionPrinter(made, locations).function(of)
        case Module():
            for symbol, type_ in of.params.items():
                made.lines.append(_line("param ", _symbol(symbol), " : ", _type(type_)))
            for symbol, host in of.hosts.items():
                line = _line("host ", _symbol(symbol), " = ", Token("string", quoted(host.reference)))
                made.lines.append(_with_location(line, host.loc, locations))
            for function in of.functions.values():
                if made.lines:
                    made.lines.append([])
                _FunctionPrinter(made, locations).function(function)
    return made


class _Names:
    """Chooses a unique name for each value of one function."""

    def __init__(self) -> None:
        self.of: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._next: dict[tuple[str, str], int] = {}

    def define(self, values: Sequence[Value]) -> None:
        hints = [_name_like(value.hint) for value in values]
        numbered = len(hints) > 1 and len(set(hints)) == 1
        for position, (value, hint) in enumerate(zip(values, hints, strict=True)):
            if value not in self.of:
                self.of[value] = self._free(_versioned(hint, position) if numbered else hint)

    def _free(self, hint: str) -> str:
        name = hint
        while name in self._taken or is_reserved(name):
            stem, primes = _parts(hint)
            number = self._next.get((stem, primes), 1)
            self._next[stem, primes] = number + 1
            name = f"{stem}.{number}{primes}"
        self._taken.add(name)
        return name

    def __getitem__(self, value: Value) -> str:
        # The verifier reports a value that is used but not defined; `?` keeps the text from being valid.
        return self.of.get(value) or f"?{value.hint}"


def is_reserved(name: str) -> bool:
    """Return True for a word that no value may have as its name."""
    return name in KEYWORDS or _LITERAL_LIKE.fullmatch(name) is not None


def _name_like(hint: str) -> str:
    """Return `hint` if it is a valid name, else a name made from it."""
    if _NAME.fullmatch(hint):
        return hint
    name = re.sub(r"\W", "_", hint)
    return name if _NAME.fullmatch(name) else f"v_{name}" if name else "v"


def _parts(name: str) -> tuple[str, str]:
    """Return a name without its version, and its primes: `h` and `'` for `h.1'`."""
    match = _NAME_PARTS.fullmatch(name)
    assert match is not None
    return match[1], match[2]


def _versioned(name: str, number: int) -> str:
    stem, primes = _parts(name)
    return f"{stem}.{number}{primes}"


Printable = Token | str
"""A token, or a string: a keyword when it holds letters, else punctuation."""


@cache  # keywords and punctuation: there are few
def _token(piece: str) -> Token:
    return Token("keyword" if any(c.isalpha() for c in piece) else "punctuation" if piece.strip() else "space", piece)


def _line(*pieces: Printable) -> list[Token]:
    return [_token(piece) if piece.__class__ is str else piece for piece in pieces]  # pyright: ignore[reportReturnType] - else a Token


def _listed(items: Iterable[Iterable[Printable]]) -> list[Printable]:
    """Return items separated by commas."""
    pieces: list[Printable] = []
    for item in items:
        if pieces:
            pieces.append(", ")
        pieces.extend(item)
    return pieces


def _type(type_: Type) -> Token:
    return Token("type", str(type_))


def _symbol(symbol: str) -> Token:
    return Token("symbol", "@" + (symbol if _SYMBOL.fullmatch(symbol) else quoted(symbol)))


def _with_location(line: list[Token], loc: Loc, locations: bool) -> list[Token]:
    if not locations or loc == UNKNOWN:
        return line
    width = sum(len(token.text) for token in line)
    return [*line, Token("space", " " * max(2, MARGIN - width)), Token("location", f"at {location_text(loc)}")]


class _FunctionPrinter:
    """Prints one function: appends its tokens to a Listing."""

    def __init__(self, to: Listing, locations: bool):
        self._listing = to
        self._locations = locations
        self._names = _Names()

    def function(self, function: Function) -> None:
        self._names.define(function.params)
        types = function.result_types
        result = [_type(types[0])] if len(types) == 1 else ["(", *_listed([_type(t)] for t in types), ")"]
        rule = [" vjp ", _symbol(function.vjp)] if function.vjp is not None else []
        self._listing.line_of[function] = self._listing.line_of[function.body] = len(self._listing.lines)
        header = ["func ", _symbol(function.symbol), "(", *self._binders(function.params), ") -> ", *result, *rule, " {"]
        self._write(0, header, function.loc)
        self._block(function.body, "return", 1)
        self._write(0, ["}"])
        self._listing.names.update(self._names.of)

    def _block(self, region: Region, last: str, depth: int) -> None:
        for node in region.nodes:
            self._node(node, depth)
        atoms = _listed([self._atom(atom)] for atom in region.results)
        self._write(depth, [last, *([" "] if atoms else []), *atoms])

    def _node(self, node: Node, depth: int) -> None:
        self._listing.line_of[node] = len(self._listing.lines)
        self._names.define(node.results)
        results = [*self._binders(node.results), " = "] if node.results else []
        form = _FORMS.get(node.op.name)
        if form is not None and len(node.regions) == form.regions:
            form.print(self, node, results, depth)
        else:
            self._write(depth, [*results, *self._applied(node)], node.loc)

    def _applied(self, node: Node) -> list[Printable]:
        """Return the tokens of a node without its results: `op @symbol(operands, attributes)`."""
        op = node.op
        arguments: list[list[Printable]] = [[self._atom(atom)] for atom in node.operands]
        for attribute in attributes_of(type(op)).values():
            value = getattr(op, attribute.name)
            if attribute.name not in ("symbol", "results") and not attribute.is_default(value):
                arguments.append([Token("attribute", attribute.name), "=", *_attribute(value, attribute.annotation)])
        pieces: list[Printable] = [Token("op", op.name)]
        if "symbol" in attributes_of(type(op)):
            pieces += [" ", _symbol(op.symbol)]
            if not arguments:
                return pieces
        return [*pieces, "(", *_listed(arguments), ")"]

    def _if(self, node: Node, results: list[Printable], depth: int) -> None:
        taken, other = node.regions
        self._open(depth, [*results, "if ", self._atom(node.operands[0]), " {"], taken, node.loc)
        self._block(taken, "yield", depth + 1)
        self._open(depth, ["} else {"], other, other.loc)
        self._block(other, "yield", depth + 1)
        self._write(depth, ["}"])

    def _for(self, node: Node, results: list[Printable], depth: int) -> None:
        (body,) = node.regions
        index, *carried = body.params
        self._names.define([index])
        bounds = _listed([self._bound(atom)] for atom in node.operands[:3])
        head = ["for ", self._value(index), " in range(", *bounds, ")", *self._carry(carried, node.operands[3:]), " {"]
        self._open(depth, [*results, *head], body, node.loc)
        self._block(body, "yield", depth + 1)
        self._write(depth, ["}"])

    def _while(self, node: Node, results: list[Printable], depth: int) -> None:
        test, body = node.regions
        head = ["while", *self._carry(test.params, node.operands), " test {"]
        self._open(depth, [*results, *head], test, node.loc)
        self._block(test, "yield", depth + 1)
        self._open(depth, ["} do {"], body, body.loc)
        self._block(body, "yield", depth + 1)
        self._write(depth, ["}"])

    def _cell(self, node: Node, results: list[Printable], depth: int) -> None:
        (body,) = node.regions
        cell: Any = node.op
        head: list[Printable] = ["cell ", Token("string", quoted(cell.title))]
        head += [" with ", _symbol(cell.symbol)] if cell.symbol else []
        head += [" vjp ", _symbol(cell.rule)] if cell.rule else []
        head += [" residuals ", Token("literal", str(cell.residuals))] if cell.residuals else []
        self._open(depth, [*results, *head, *self._carry(body.params, node.operands), " {"], body, node.loc)
        self._block(body, "yield", depth + 1)
        self._write(depth, ["}"])

    def _fused(self, node: Node, results: list[Printable], depth: int) -> None:
        (body,) = node.regions
        self._open(depth, [*results, node.op.name, *self._carry(body.params, node.operands), " {"], body, node.loc)
        self._block(body, "yield", depth + 1)
        self._write(depth, ["}"])

    def _gradient(self, node: Node, results: list[Printable], depth: int) -> None:
        (body,) = node.regions
        op: Any = node.op
        operands, sens = node.operands[: len(body.params)], node.operands[len(body.params) :]
        head: list[Printable] = [f"{op.name} ", Token("attribute", "of"), "=", Token("literal", str(op.of))]
        if op.by:
            head += [" ", Token("attribute", "by"), "=[", *_listed([_symbol(symbol)] for symbol in op.by), "]"]
        head += [" sens " if op.name == "gradient" else " with ", "(", *_listed([self._atom(atom)] for atom in sens), ")"] if sens else []
        self._open(depth, [*results, *head, *self._carry(body.params, operands), " {"], body, node.loc)
        self._block(body, "yield", depth + 1)
        self._write(depth, ["}"])

    def _carry(self, params: Sequence[Value], operands: Sequence[Atom]) -> list[Printable]:
        self._names.define(params)
        bindings = [
            [self._value(param), ": ", _type(param.type), " = ", self._atom(operand)]
            for param, operand in zip(params, operands, strict=False)  # the verifier reports a wrong count
        ]
        return [" carry (", *_listed(bindings), ")"] if bindings else []

    def _binders(self, values: Sequence[Value]) -> list[Printable]:
        return _listed([self._value(value), ": ", _type(value.type)] for value in values)

    def _value(self, value: Value) -> Token:
        return Token("value", self._names[value])

    def _atom(self, atom: Atom) -> Token:
        match atom:
            case Value():
                return self._value(atom)
            case Literal():
                return Token("literal", literal_text(atom))
            case _:  # reported by the verifier
                return Token("punctuation", f"?{atom!r}")

    def _bound(self, atom: Atom) -> Token:
        if isinstance(atom, Literal) and atom.type is scalar(I64):
            return Token("literal", str(int(atom.value.real)))
        return self._atom(atom)

    def _open(self, depth: int, pieces: Sequence[Printable], region: Region, loc: Loc) -> None:
        self._listing.line_of[region] = len(self._listing.lines)
        self._write(depth, pieces, loc)

    def _write(self, depth: int, pieces: Sequence[Printable], loc: Loc = UNKNOWN) -> None:
        line = _line(*(["  " * depth] if depth else []), *pieces)
        self._listing.lines.append(_with_location(line, loc, self._locations))


class _Form(NamedTuple):
    """How an op with regions is printed: how many it has, and the method that does it."""

    regions: int
    print: Callable[[_FunctionPrinter, Node, list[Printable], int], None]


_FORMS: Final = {
    "if": _Form(2, _FunctionPrinter._if),
    "for": _Form(1, _FunctionPrinter._for),
    "while": _Form(2, _FunctionPrinter._while),
    "cell": _Form(1, _FunctionPrinter._cell),
    "fused": _Form(1, _FunctionPrinter._fused),
    "attention": _Form(1, _FunctionPrinter._fused),
    "unrolled": _Form(1, _FunctionPrinter._fused),
    "batch": _Form(1, _FunctionPrinter._fused),
    "gradient": _Form(1, _FunctionPrinter._gradient),
    "record": _Form(1, _FunctionPrinter._gradient),
    "tangent": _Form(1, _FunctionPrinter._gradient),
}


def _attribute(value: Any, annotation: Any) -> list[Printable]:
    """Return the value of an attribute as tokens; the annotation distinguishes an integral float from an integer."""
    match value:
        case bool() | np.bool_():
            return [Token("literal", "true" if bool(value) else "false")]
        case int() | np.integer() if _is_real(annotation):
            return [Token("literal", float.__repr__(float(value)))]
        case int() | np.integer():
            return [Token("literal", str(int(value)))]
        case float() | np.floating():
            return [Token("literal", float.__repr__(float(value)))]
        case str():
            return [Token("string", quoted(value))]
        case Poly():
            return ["(", Token("type", str(value)), ")"]
        case DType():
            return [Token("type", value.name)]
        case Type():
            return [_type(value)]
        case tuple() | list():
            inner = getattr(annotation, "__args__", (Any,))[0]
            return ["[", *_listed(_attribute(item, inner) for item in value), "]"]
        case None:
            return ["none"]
        case _:
            raise TypeError(f"an attribute cannot be {value!r}: kinds are int, float, bool, str, types, and tuples of these")


def _is_real(annotation: Any) -> bool:
    """Return True if an attribute with this annotation holds floats, so that an integer in text is read as a float."""
    choices = typing.get_args(annotation)
    return annotation is float or (float in choices and int not in choices)


def literal_text(literal: Literal) -> str:
    """Return a literal with its dtype, `0.5_f32`: the shortest text that reads back as the same number of that dtype."""
    value, dtype = literal.value, literal.type.dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.is_complex:
        number = complex(value)
        parts = [_shortest(rounded(part, dtype.part), dtype.part) for part in (number.real, number.imag)]
        return f"{parts[0]}{'' if parts[1][0] == '-' else '+'}{parts[1]}j_{dtype.name}"
    assert not isinstance(value, complex)
    if not dtype.is_float:
        return f"{int(value) if math.isfinite(value) else value}_{dtype.name}"
    return f"{_shortest(rounded(float(value), dtype), dtype)}_{dtype.name}"


def rounded(value: float, dtype: DType) -> float:
    """Return `value` rounded to the nearest number of a float dtype, ties to even."""
    if dtype is BF16:
        return _rounded_to_bf16(value)
    if dtype is F16 or dtype is F32:
        with np.errstate(over="ignore"):
            return float(dtype.array.type(value))
    return value


def _rounded_to_bf16(value: float) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if np.isinf(single):
        return float(single)
    # Double rounding is wrong only if the first step produced a tie that the value is not; compare with the value itself.
    bits = int(single.view(np.uint32))
    rest, kept = bits & 0xFFFF, bits & 0xFFFF0000
    exact = float(single)
    beyond = abs(value) > abs(exact) if value != exact else kept & 0x10000
    if rest > 0x8000 or (rest == 0x8000 and beyond):
        kept += 0x10000
    return float(np.uint32(kept).view(np.float32))


def _shortest(value: float, dtype: DType) -> str:
    if math.isnan(value):
        return "nan"
    if dtype is BF16:
        candidates = (f"{value:.{digits}g}" for digits in range(1, 10))
        text = next(t for t in candidates if math.isinf(value) or rounded(float(t), dtype) == value)
        return float.__repr__(float(text))
    if dtype is F16 or dtype is F32:
        return float.__repr__(float(str(dtype.array.type(value))))
    return float.__repr__(value)


def quoted(text: str) -> str:
    """Return a string in double quotes, with quotes, backslashes, line ends and unprintable characters escaped."""

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        return _ESCAPES.get(character) or f"\\u{{{ord(character):x}}}"

    return '"' + re.sub(r'["\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff]', escape, text) + '"'


_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPED: Final = {escaped[1]: character for character, escaped in _ESCAPES.items()}


def unquoted(text: str) -> str:
    """Return the string that `quoted` escaped; ValueError for an unknown escape."""

    def plain(match: re.Match[str]) -> str:
        if match[2]:
            code = int(match[2], 16)
            if code <= 0x10FFFF:
                return chr(code)
        elif match[1] in _UNESCAPED:
            return _UNESCAPED[match[1]]
        raise ValueError(f"unknown escape {match[0]}")

    return re.sub(r"\\(u\{([0-9a-f]{1,6})\}|.)", plain, text[1:-1])


def location_text(loc: Loc) -> str:
    """Return a location as printed in the margin: `net.py:24:16`, `grad[sum](net.py:24:16)`."""
    match loc:
        case At(file=file, line=line, column=column):
            return f"{file if _PLAIN_FILE.fullmatch(file) else quoted(file)}:{line}:{column}"
        case Derived(kind=kind, of=of, subject=subject):
            name = re.sub(r"\W", "_", kind) or "from"
            about = "[" + re.sub(r"[^\w.!-]", "_", subject) + "]" if subject else ""
            return f"{name}{about}({', '.join(location_text(place) for place in of)})"
        case _:
            return "unknown"
