"""Text in: the language that `print` writes, read by a grammar (`grammar.lark`) and turned into Builder calls.

Every error in a text is a `CompileError` with a code, the location, and a way to fix it; see `errors`.  The parser checks
names, symbols, attributes, counts, and every written type against the inferred one; `verify` checks what a Builder cannot
see, such as a stack used twice.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import adjoint.ir.ops as _ops  # registers the ops that texts name
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import UNKNOWN, At, CompileError, Derived, Loc, Note, SourceText, Unknown
from adjoint.ir import errors
from adjoint.ir.attributes import attributes_of, coerced, described
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Host, Literal, Module, Node, Region, Value
from adjoint.ir.op import Op, registry
from adjoint.ir.print import KEYWORDS, is_reserved, rounded, unquoted
from adjoint.ir.types import (
    BOOL,
    DTYPES,
    I64,
    Dim,
    DType,
    Poly,
    TensorType,
    Type,
    scalar,
    stack_of,
    symbol,
    tensor,
    trace_of,
    tuple_of,
)
from adjoint.ir.verify import symbol_kind

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

    Item = Token | Tree[Token]
    Binders = list[tuple[Token, Type]]

__all__ = ["parse_module", "parse_types"]

assert _ops


def parse_module(text: str, name: str = "<text>") -> Module:
    """Return the module of a text; `name` is the file that messages show.  CompileError E100 to E115."""
    source = SourceText(name, text)
    with _nesting_limited(source):
        return _ModuleReader(source).module(_parsed(source, "module"))


def parse_types(text: str, name: str = "<types>") -> tuple[Type, ...]:
    """Return types separated by commas, `f32[b, 4], bool`.  CompileError E100 to E114."""
    source = SourceText(name, text)
    with _nesting_limited(source):
        reader = _ModuleReader(source)
        return tuple(reader.type(item) for item in _parsed(source, "argument_types").children)


@contextmanager
def _nesting_limited(source: SourceText) -> Any:
    try:
        yield
    except RecursionError:
        raise errors.TOO_DEEP.at(At(source.name, 1, 1), "somewhere in this text", source) from None


@functools.cache
def _grammar() -> Lark:
    from lark import Lark  # imported when the first text is parsed: most programs never do

    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start=["module", "argument_types"], propagate_positions=True)


def _parsed(source: SourceText, start: str) -> Tree[Token]:
    grammar = _grammar()
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken  # see above

    try:
        return grammar.parse(source.text, start=start)
    except UnexpectedToken as error:
        raise _unexpected_token(error, source) from None
    except UnexpectedCharacters as error:
        loc = At(source.name, error.line, error.column)
        label = "this string does not end on its line" if error.char == '"' else f"{error.char!r} cannot start a word here"
        raise errors.CHARACTER.at(loc, label, source) from None
    except UnexpectedInput as error:
        raise errors.SYNTAX.at(At(source.name, 1, 1), str(error), source) from None


_WORDS: Final = {
    "NAME": "a name", "SYMBOL": "a symbol such as @w", "BANG": "an op", "LITERAL": "a literal such as 0.5_f32",
    "DTYPE": "a type", "STACK": "a type", "TUPLE": "a type", "INT": "an integer", "FLOAT": "a number", "STRING": "a string",
    "PLACE": "a place such as net.py:3:4", "KIND": "a place such as net.py:3:4", "UNKNOWN": "a place such as net.py:3:4",
    "NONE": "`none`", "RETURN": "`return`", "YIELD": "`yield`", "IF": "an op", "FOR": "an op", "WHILE": "an op", "CELL": "an op",
    "FUSED": "an op", "ATTENTION": "an op", "UNROLLED": "an op", "BATCH": "an op", "GRADIENT": "an op", "RECORD": "an op",
    "TANGENT": "an op", "TRACE": "a type",
}


def _unexpected_token(error: Any, source: SourceText) -> CompileError:
    token: Token = error.token
    expected = set(error.accepts or error.expected)
    terminals = {t.name: t.pattern.value for t in _grammar().terminals}
    words = sorted({_WORDS.get(name) or f"`{terminals.get(name, name)}`" for name in expected - {"$END"}})
    if "$END" in expected:
        words.append("the end")
    wanted = f"expected {_alternatives(words)}"
    if token.type == "$END":
        lines = source.text.rstrip().split("\n")
        return errors.SYNTAX.at(
            At(source.name, len(lines), len(lines[-1]) + 1), f"the text ends too early: {wanted}", source
        )
    loc = At(source.name, token.line or 1, token.column or 1, token.end_column or 0)
    if "DTYPE" in expected and str(token)[0].isalpha():
        help_ = _similar(str(token), [*DTYPES, "stack", "trace", "tuple"]) or _LONG_NAMES.get(str(token).lower(), "")
        return errors.UNKNOWN_TYPE.at(loc, f"`{token}` is not a type", source, help=help_)
    help_ = ""
    if "NAME" in expected and str(token) in KEYWORDS:
        help_ = f"`{token}` is a keyword; call the value `{token}.1`"
    return errors.SYNTAX.at(loc, wanted, source, help=help_)


_LONG_NAMES: Final = {d.long_name.lower(): f"it is written {d.name} here" for d in DTYPES.values()}


def _alternatives(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _similar(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else ""


@dataclass(frozen=True)
class _Signature:
    """The types of a function's parameters and results.  All are read before any body, since a call may come before the function."""

    params: tuple[Type, ...]
    results: tuple[Type, ...]


@dataclass
class _ModuleReader:
    """Reads the declarations of a module; its fields are filled while it reads."""

    source: SourceText
    params: dict[str, TensorType] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    signatures: dict[str, _Signature] = field(default_factory=dict)
    _declared: dict[str, At] = field(default_factory=dict)

    def module(self, tree: Any) -> Module:
        functions: dict[str, Function] = {}
        for item in tree.children:
            self._declare(item)
        for item in tree.children:
            if item.data == "func":
                function = _FunctionReader(self).function(item)
                functions[function.symbol] = function
        return Module(self.params, self.hosts, functions)

    def _declare(self, item: Any) -> None:
        name = self.symbol(item.children[0])
        place = self.place(item.children[0])
        if name in self._declared:
            first = Note("it was declared here first", self._declared[name])
            raise errors.DUPLICATE_SYMBOL.at(place, f"`@{name}` is declared again", self.source, notes=(first,))
        self._declared[name] = place
        match item.data:
            case "param":
                type_ = self.type(item.children[1])
                if not isinstance(type_, TensorType):
                    raise errors.WRONG_TYPE.at(self.place(item.children[1]), "a parameter is a tensor", self.source)
                self.params[name] = type_
            case "host":
                self.hosts[name] = Host(self.string(item.children[1]), self.location(item.children[2], item))
            case _:
                _, binders, types, *_ = item.children
                taken = tuple(self.type(binder.children[1]) for binder in binders.children)
                self.signatures[name] = _Signature(taken, tuple(self.type(t) for t in types.children))

    def place(self, item: Item) -> At:
        """Return the location in the text of a token or of a tree of tokens."""
        where: Any = getattr(item, "meta", item)
        line, column = getattr(where, "line", 1), getattr(where, "column", 1)
        end = where.end_column if getattr(where, "end_line", 0) == line else 0
        return At(self.source.name, line, column, end)

    def symbol(self, token: Token) -> str:
        return self.string(token, 1) if token.startswith('@"') else token[1:]

    def declared(self, token: Token, kind: str) -> str:
        """Return the symbol at `token`, which must be declared as `kind`: param, host or function."""
        name = self.symbol(token)
        known = {"param": self.params, "host": self.hosts, "function": self.signatures}[kind]
        if name not in known:
            if name in self._declared:
                note = Note("it is declared here", self._declared[name])
                raise errors.UNKNOWN_SYMBOL.at(self.place(token), f"`@{name}` is not a {kind}", self.source, notes=(note,))
            declaration = {"param": f"param @{name} : f32[3]", "host": f'host @{name} = "module:name"'}.get(kind)
            help_ = _similar(name, known) or (f"declare it: {declaration}" if declaration else "")
            raise errors.UNKNOWN_SYMBOL.at(self.place(token), f"there is no {kind} `@{name}`", self.source, help=help_)
        return name

    def string(self, token: Token, start: int = 0) -> str:
        try:
            return unquoted(token[start:])
        except ValueError as error:
            raise errors.SYNTAX.at(self.place(token), str(error), self.source) from None

    def integer(self, token: Token) -> int:
        try:
            return int(token)
        except ValueError:
            raise errors.BAD_LITERAL.at(self.place(token), "the number has too many digits", self.source) from None

    def type(self, item: Any) -> Type:
        match item.data:
            case "stack":
                return stack_of(self.type(item.children[0]))
            case "tuple":
                return tuple_of(self.type(child) for child in item.children)
            case "trace":
                return trace_of(*((self.type(child) for child in types.children) for types in item.children))
            case _:
                dtype, dims = item.children
                return tensor(DTYPES[str(dtype)], self._shape(dims))

    def _shape(self, dims: Any) -> tuple[Dim, ...]:
        if dims is None:
            return ()
        shape = tuple(self.dim(dim) for dim in dims.children)
        for dim, item in zip(shape, dims.children, strict=True):
            if isinstance(dim, int) and not 0 <= dim < 2**63:
                raise errors.BAD_DIMENSION.at(self.place(item), "a dimension is in 0..2**63 - 1", self.source)
        return shape

    def dim(self, item: Any) -> Dim:
        if not hasattr(item, "data"):
            return self.integer(item) if item.type == "INT" else symbol(str(item))
        first, second = (self.dim(child) for child in item.children)
        match item.data:
            case "sum":
                return first + second
            case "difference":
                return first - second
            case _:
                if _terms(first) * _terms(second) > 10_000:
                    raise errors.BAD_DIMENSION.at(self.place(item), "the polynomial is too large", self.source)
                return first * second

    def location(self, item: Any, where: Item) -> Loc:
        """Return the location that a node has in the user's program, as its `loc` says.

        item   the syntax tree of the `loc`; None if there is none: the location is then unknown, but for the place in the IR text
        where  what this place is
        """
        return Unknown(self.place(where), self.source) if item is None else self._place_told(item.children[0])

    def _place_told(self, item: Any) -> Loc:
        if hasattr(item, "data"):
            kind, *of = item.children
            name, _, subject = kind.rstrip("]").partition("[")
            return Derived(name, tuple(self._place_told(place) for place in of), subject)
        if item.type == "UNKNOWN":
            return UNKNOWN
        file, line, column = item.rsplit(":", 2)
        if file.startswith('"'):
            try:
                file = unquoted(file)
            except ValueError as error:
                raise errors.SYNTAX.at(self.place(item), str(error), self.source) from None
        if max(len(line), len(column)) > 18:
            raise errors.BAD_LITERAL.at(self.place(item), "the number has too many digits", self.source)
        return At(file, int(line), int(column))


def _terms(dim: Dim) -> int:
    return len(dim.terms) if isinstance(dim, Poly) else 1


class _FunctionReader:
    """Reads one function, with a Builder; keeps the names that are in scope."""

    def __init__(self, module: _ModuleReader):
        self._module = module
        self._source = module.source
        self._place = module.place
        self._known: dict[str, At] = {}
        """Every name of the function so far, in scope or not, and the location of its definition."""
        self._scopes: list[dict[str, Value]] = [{}]

    def function(self, tree: Any) -> Function:
        symbol_token, binders, _, rule, block = tree.children
        name = self._module.symbol(symbol_token)
        vjp = None if rule is None else self._module.declared(rule.children[0], "function")
        params = [self._param(token, type_) for token, type_ in self._binders(binders)]
        loc = self._module.location(block.children[0], symbol_token)
        region = self._region(block, params, last="RETURN")
        expected, returned = self._module.signatures[name].results, block.children[-1]
        if len(region.results) != len(expected):
            label = f"`@{name}` declares {len(expected)} results, but returns {len(region.results)}"
            raise errors.WRONG_COUNT.at(self._place(returned if returned.children else symbol_token), label, self._source)
        for token, atom, type_ in zip(returned.children, region.results, expected, strict=True):
            if atom.type is not type_:
                label = f"`{token}` is {atom.type}, but the function declares {type_}"
                raise errors.WRONG_TYPE.at(self._place(token), label, self._source)
        return Function(name, region, vjp, loc)

    # Regions and statements.

    def _region(self, block: Any, params: Sequence[Value], last: str = "YIELD") -> Region:
        """Return a block as a region; `params` are its parameters, already reserved; `last` is the keyword that ends it."""
        told, *statements, word, atoms = block.children
        if word.type != last:
            label = "a function ends with `return`" if last == "RETURN" else "a region within a function ends with `yield`"
            raise errors.SYNTAX.at(self._place(word), label, self._source)
        self._scopes.append({param.hint: param for param in params})
        b = Builder()
        for statement in statements:
            self._statement(b, statement)
        results = [self._atom(item) for item in atoms.children]
        self._scopes.pop()
        return b.finish(results, params, self._module.location(told, word))

    def _statement(self, b: Builder, tree: Any) -> None:
        results, rhs, *loc = tree.children
        binders = [] if results is None else self._binders(results)
        for token, _ in binders:
            self._reserve(token)
        if rhs.data == "apply":
            op, operands = self._applied(rhs, binders)
            regions, place = (), self._module.location(loc[0], rhs)
        else:
            op, operands, regions, place = _REGION_OPS[rhs.data](self, rhs)
        node = self._emitted(b, rhs, op, operands, regions, place)
        if len(node.results) != len(binders):
            label = f"`{op.name}` gives {_count(len(node.results), 'result')}, {_count(len(binders), 'name')} for them"
            raise errors.WRONG_COUNT.at(self._place(results or rhs), label, self._source)
        for (token, type_), value in zip(binders, node.results, strict=True):
            if value.type is not type_:
                label = f"`{op.name}` gives {value.type}, not {type_}"
                raise errors.WRONG_TYPE.at(self._place(token), label, self._source, help=f"write `{token}: {value.type}`")
            value.hint = str(token)
            self._scopes[-1][value.hint] = value

    def _emitted(
        self, b: Builder, where: Item, op: Op, operands: Sequence[Atom], regions: Sequence[Region], loc: Loc
    ) -> Node:
        self._check_count(where, op, operands)
        try:
            return b.emit_node(op, operands, regions=regions, loc=loc)
        except (TypeError, ValueError) as error:
            raise errors.WRONG_OPERANDS.at(self._place(where), str(error), self._source) from None
        except RecursionError:
            raise
        except Exception:  # an inference that trips over a wrong operand before it has said so: still the text's mistake
            types = ", ".join(str(atom.type) for atom in operands)
            raise errors.WRONG_OPERANDS.at(self._place(where), f"`{op.name}` does not take ({types})", self._source) from None

    def _check_count(self, where: Item, op: Op, operands: Sequence[Atom]) -> None:
        expected = _operand_count(type(op))
        if expected is not None and not expected[0] <= len(operands) <= expected[1]:
            takes = " to ".join(str(n) for n in sorted(set(expected)))
            label = f"`{op.name}` takes {takes} operands, got {len(operands)}"
            raise errors.WRONG_COUNT.at(self._place(where), label, self._source)

    def _if(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        condition, taken, other = tree.children
        atom = self._atom(condition)
        if atom.type is not scalar(BOOL):
            raise errors.WRONG_TYPE.at(self._place(condition), f"a condition must be a bool, but this is {atom.type}", self._source)
        regions = self._region(taken, ()), self._region(other, ())
        for token, first, second in zip(other.children[-1].children, regions[0].results, regions[1].results, strict=False):
            if first.type is not second.type:
                label = f"the other branch yields {first.type} here, and this one {second.type}"
                raise errors.WRONG_TYPE.at(self._place(token), label, self._source)
        return _op("if"), (atom,), regions, self._module.location(taken.children[0], tree)

    def _for(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        index, start, stop, step, carry, block = tree.children
        bounds = [self._atom(bound) for bound in (start, stop, step)]
        for item, atom in zip((start, stop, step), bounds, strict=True):
            if atom.type is not scalar(I64):
                raise errors.WRONG_TYPE.at(self._place(item), f"a bound must be i64, but this is {atom.type}", self._source)
        position = self._param(index, scalar(I64))
        params, initial = self._carried(carry)
        region = self._region(block, [position, *params])
        self._check_carried(block, params, region)
        return _op("for"), [*bounds, *initial], (region,), self._module.location(block.children[0], tree)

    def _while(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        carry, test, block = tree.children
        params, initial = self._carried(carry)
        tested = self._region(test, params)
        region = self._region(block, params)
        self._check_carried(block, params, region)
        return _op("while"), initial, (tested, region), self._module.location(test.children[0], tree)

    def _cell(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        title, slot, rule, residuals, carry, block = tree.children
        attributes: dict[str, Any] = {"title": self._module.string(title)}
        if slot is not None:
            attributes["symbol"] = self._module.declared(slot, "host")
        if rule is not None:
            attributes["rule"] = self._module.declared(rule.children[0], "host")
        if residuals is not None:
            attributes["residuals"] = self._module.integer(residuals)
        params, initial = self._carried(carry)
        loc = self._module.location(block.children[0], tree)
        return _op("cell", **attributes), initial, (self._region(block, params),), loc

    def _fused(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        carry, block = tree.children
        params, initial = self._carried(carry)
        loc = self._module.location(block.children[0], tree)
        return _op(tree.data), initial, (self._region(block, params),), loc

    def _batch(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        carry, block = tree.children
        params, initial = self._carried(carry, examples=True)
        loc = self._module.location(block.children[0], tree)
        return _op("batch"), initial, (self._region(block, params),), loc

    def _gradient(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        of, by, sens, carry, block = tree.children
        cotangents = [self._atom(token) for token in sens.children] if sens is not None else []
        attributes, initial, region, loc = self._differentiated(of, by, carry, block)
        if sens is not None:
            self._check_along(sens if sens.children else of, "cotangent", sens.children, cotangents, region.results[: attributes["of"]])
        return _op("gradient", **attributes), [*initial, *cotangents], (region,), loc

    def _tangent(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        of, along, carry, block = tree.children
        tangents = [self._atom(token) for token in along.children]
        attributes, initial, region, loc = self._differentiated(of, None, carry, block)
        self._check_along(along if along.children else of, "tangent", along.children, tangents, region.params)
        return _op("tangent", of=attributes["of"]), [*initial, *tangents], (region,), loc

    def _check_along(self, place: Any, noun: str, tokens: Sequence[Token], given: Sequence[Atom], values: Sequence[Atom]) -> None:
        """Raise an error unless a cotangent or tangent is given for each of some values, of its type."""
        if len(given) != len(values):
            label = f"{_count(len(values), 'value')} differentiated, {_count(len(given), noun)} given"
            raise errors.WRONG_COUNT.at(self._place(place), label, self._source)
        for token, atom, value in zip(tokens, given, values, strict=True):
            if atom.type is not value.type:
                label = f"`{token}` is {atom.type}, but it is the {noun} of a value of type {value.type}"
                raise errors.WRONG_TYPE.at(self._place(token), label, self._source)

    def _record(self, tree: Any) -> tuple[Op, Sequence[Atom], Sequence[Region], Loc]:
        attributes, initial, region, loc = self._differentiated(*tree.children)
        return _op("record", **attributes), initial, (region,), loc

    def _differentiated(self, of: Token, by: Any, carry: Any, block: Any) -> tuple[dict[str, Any], list[Atom], Region, Loc]:
        """Return the attributes, the arguments, the region and the location of a `gradient`, `record` or `tangent`."""
        symbols: list[str] = []
        for token in by.children if by is not None else ():
            name = self._module.declared(token, "param")
            if name in symbols:
                raise errors.WRONG_ATTRIBUTE.at(self._place(token), f"`@{name}` is given twice", self._source)
            symbols.append(name)
        params, initial = self._carried(carry)
        loc = self._module.location(block.children[0], of)
        region = self._region(block, params)
        count = self._module.integer(of)
        if not 1 <= count <= len(region.results):
            label = f"the region yields {_count(len(region.results), 'value')}, so `of` is in 1..{len(region.results)}"
            raise errors.WRONG_COUNT.at(self._place(of), label, self._source)
        weights = tuple(self._module.params[s] for s in symbols)
        return {"of": count, "by": tuple(symbols), "weights": weights}, initial, region, loc

    def _carried(self, carry: Any, *, examples: bool = False) -> tuple[list[Value], list[Atom]]:
        """Return the parameters and their initial values; with `examples`, each parameter is one example of a value."""
        initial = [self._atom(binding.children[2]) for binding in carry.children]
        params: list[Value] = []
        for binding, atom in zip(carry.children, initial, strict=True):
            token, item, _ = binding.children
            type_ = self._module.type(item)
            given = _example(atom.type) if examples else atom.type
            if given is not type_:
                of = "one example of its value" if examples and given is not None else "its initial value"
                label = f"`{token}` is {type_}, but {of} is {given or atom.type}"
                raise errors.WRONG_TYPE.at(self._place(binding), label, self._source)
            params.append(self._param(token, type_))
        return params, initial

    def _check_carried(self, block: Any, params: Sequence[Value], region: Region) -> None:
        yielded = block.children[-1]
        if len(region.results) != len(params):
            label = f"{_count(len(params), 'value')} carried, {len(region.results)} yielded"
            where = self._place(yielded if yielded.children else block)
            raise errors.WRONG_COUNT.at(where, label, self._source, help="yield the next value of each carried one")
        for token, param, atom in zip(yielded.children, params, region.results, strict=True):
            if param.type is not atom.type:
                label = f"`{param.hint}` is carried as {param.type}, but this is {atom.type}"
                raise errors.WRONG_TYPE.at(self._place(token), label, self._source)

    # Ops, operands and attributes.

    def _applied(self, tree: Any, binders: Binders) -> tuple[Op, list[Atom]]:
        (name,), *rest = tree.children[0].children, *tree.children[1:]
        symbol_token, args = rest if len(rest) == 2 else (None, rest[0])
        op_class = self._op_class(name)
        items = [] if args is None else args.children
        values = self._attributes(name, op_class, [item for item in items if hasattr(item, "data")])
        operands = [self._atom(item) for item in items if not hasattr(item, "data")]
        fields = attributes_of(op_class)
        if "symbol" in fields:
            if symbol_token is None:
                help_ = f"write `{name} @symbol(...)`"
                raise errors.MISSING_SYMBOL.at(self._place(name), f"`{name}` needs a symbol", self._source, help=help_)
            values["symbol"] = self._module.declared(symbol_token, symbol_kind(op_class))
        elif symbol_token is not None:
            raise errors.MISSING_SYMBOL.at(self._place(symbol_token), f"`{name}` takes no symbol", self._source)
        if "results" in fields:
            self._check_declared(tree, values.get("symbol", ""), symbol_kind(op_class), operands, binders)
            values["results"] = tuple(type_ for _, type_ in binders)
        try:
            return op_class(**values), operands
        except (TypeError, ValueError) as error:
            raise errors.WRONG_ATTRIBUTE.at(self._place(tree), str(error), self._source) from None

    def _op_class(self, token: Token) -> type[Op]:
        name = str(token)
        found = registry().get(name)
        if found is None or name in _REGION_OPS:
            other = name.removesuffix("!") if name.endswith("!") else name + "!"
            help_ = f"it is written `{other}`" if other in registry() else \
                f"{_similar(name, registry())} An operator of your own is defined first, by `adjoint.operator`".strip()
            raise errors.UNKNOWN_OP.at(self._place(token), f"there is no op `{name}`", self._source, help=help_)
        return found

    def _attributes(self, op: Token, op_class: type[Op], items: Sequence[Any]) -> dict[str, Any]:
        fields = {n: f for n, f in attributes_of(op_class).items() if n not in ("symbol", "results")}
        takes = f"attributes of `{op}`: {', '.join(fields) or 'none'}"
        values: dict[str, Any] = {}
        for item in items:
            token, constant = item.children
            name = str(token)
            if name not in fields:
                label = f"`{op}` has no attribute `{name}`"
                raise errors.WRONG_ATTRIBUTE.at(self._place(token), label, self._source, help=takes)
            if name in values:
                raise errors.WRONG_ATTRIBUTE.at(self._place(token), f"`{name}` is given twice", self._source)
            try:
                values[name] = coerced(self._constant(constant), fields[name].annotation)
            except ValueError:
                label = f"`{name}` is {described(fields[name].annotation)}"
                raise errors.WRONG_ATTRIBUTE.at(self._place(constant), label, self._source) from None
        missing = [n for n, f in fields.items() if f.required and n not in values]
        if missing:
            label = f"`{op}` needs {' and '.join(f'`{n}`' for n in missing)}"
            raise errors.WRONG_ATTRIBUTE.at(self._place(op), label, self._source, help=takes)
        return values

    def _check_declared(self, where: Item, name: str, kind: str, operands: Sequence[Atom], binders: Binders) -> None:
        """Check that the types at the binders of a `read` or a `call` are the declared types of its symbol."""
        if kind == "function" and name:
            signature = self._module.signatures[name]
            have = tuple(atom.type for atom in operands)
            if have != signature.params:
                label = f"`@{name}` takes ({_listed(signature.params)}), got ({_listed(have)})"
                raise errors.WRONG_OPERANDS.at(self._place(where), label, self._source)
            declared = signature.results
        elif kind == "param" and name:
            declared = (self._module.params[name],)
        else:
            return
        if len(declared) != len(binders):
            label = f"`@{name}` gives {_count(len(declared), 'result')}, {_count(len(binders), 'name')} for them"
            raise errors.WRONG_COUNT.at(self._place(where), label, self._source)
        for (token, type_), expected in zip(binders, declared, strict=True):
            if type_ is not expected:
                label = f"`@{name}` gives {expected}, not {type_}"
                raise errors.WRONG_TYPE.at(self._place(token), label, self._source)

    def _constant(self, item: Any) -> Any:
        """Return the value of an attribute as read from text; ValueError if an attribute cannot have such a value."""
        if hasattr(item, "data"):
            if item.data == "list":
                return tuple(self._constant(child) for child in item.children)
            return self._module.dim(item.children[0]) if item.data == "size" else self._module.type(item)
        match item.type:
            case "INT":
                return self._module.integer(item)
            case "FLOAT":
                return float(item)
            case "STRING":
                return self._module.string(item)
            case "NONE":
                return None
            case _ if item in ("true", "false"):
                return item == "true"
            case _:
                raise ValueError("a literal with a dtype is no attribute")

    # Names and atoms.

    def _binders(self, tree: Any) -> Binders:
        return [(binder.children[0], self._module.type(binder.children[1])) for binder in tree.children]

    def _param(self, token: Token, type_: Type) -> Value:
        self._reserve(token)
        return Value(type_, str(token))

    def _reserve(self, token: Token) -> None:
        """Record that a name is used, so that no later value of the function may have it."""
        name = str(token)
        if is_reserved(name):
            help_ = f"call the value `{name}.1`"
            raise errors.SYNTAX.at(self._place(token), f"`{name}` is a keyword", self._source, help=help_)
        if name in self._known:
            first = Note("it is defined here", self._known[name])
            help_ = f"call one of them `{name}.1`"
            raise errors.DUPLICATE_NAME.at(self._place(token), f"`{name}` is defined again", self._source, notes=(first,), help=help_)
        self._known[name] = self._place(token)

    def _atom(self, token: Token) -> Atom:
        match token.type:
            case "LITERAL":
                return self._literal(token)
            case "INT":
                return self._number(token, str(token), I64)
            case _:
                name = str(token)
                for scope in reversed(self._scopes):
                    if name in scope:
                        return scope[name]
                raise self._unknown_value(token)

    def _unknown_value(self, token: Token) -> CompileError:
        name = str(token)
        if name in self._known:
            note = Note(f"`{name}` is defined here, and visible only in this region", self._known[name])
            return errors.UNKNOWN_VALUE.at(
                self._place(token), f"`{name}` is not visible here", self._source, notes=(note,),
                help="a value of a region leaves it through `yield`; a value is defined before it is used",
            )
        visible = [known for scope in self._scopes for known in scope]
        return errors.UNKNOWN_VALUE.at(
            self._place(token), f"`{name}` is not defined", self._source, help=_similar(name, visible)
        )

    def _literal(self, token: Token) -> Literal:
        if token in ("true", "false"):
            return Literal(token == "true", scalar(BOOL))
        number, _, suffix = token.rpartition("_")
        dtype = DTYPES.get(suffix)
        if dtype is None or dtype is BOOL:
            known = [name for name in DTYPES if name != "bool"]
            label = f"`{suffix}` is not a dtype of numbers"
            raise errors.BAD_LITERAL.at(self._place(token), label, self._source, help=f"they are {', '.join(known)}")
        return self._number(token, number, dtype)

    def _number(self, token: Token, number: str, dtype: DType) -> Literal:
        try:
            value = complex(number) if dtype.is_complex else float(number) if dtype.is_float else int(number)
        except ValueError:
            label = f"`{number}` is not an integer" if len(number) < 100 else "the number has too many digits"
            raise errors.BAD_LITERAL.at(self._place(token), label, self._source) from None
        if isinstance(value, complex):
            value = complex(rounded(value.real, dtype.part), rounded(value.imag, dtype.part))
            fits = "inf" in number or not (math.isinf(value.real) or math.isinf(value.imag))
        elif dtype.is_float:
            value = rounded(value, dtype)
            fits = "inf" in number or value not in (float("inf"), -float("inf"))
        else:
            bits = 8 * dtype.size
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if dtype.kind == "i" else (0, 2**bits)
            fits = low <= value < high
        if not fits:
            raise errors.BAD_LITERAL.at(self._place(token), f"it is out of the range of {dtype.name}", self._source)
        return Literal(value, scalar(dtype))


_REGION_OPS: Final[dict[str, Callable[[_FunctionReader, Any], tuple[Op, Sequence[Atom], Sequence[Region], Loc]]]] = {
    "if": _FunctionReader._if,
    "for": _FunctionReader._for,
    "while": _FunctionReader._while,
    "cell": _FunctionReader._cell,
    "fused": _FunctionReader._fused,
    "attention": _FunctionReader._fused,
    "unrolled": _FunctionReader._fused,
    "batch": _FunctionReader._batch,
    "gradient": _FunctionReader._gradient,
    "record": _FunctionReader._record,
    "tangent": _FunctionReader._tangent,
}


def _example(type_: Type) -> Type | None:
    """Return the type of one example of a batch, whose examples are along the first axis; None if there is no such axis."""
    return type_.with_shape(type_.shape[1:]) if isinstance(type_, TensorType) and type_.rank else None


def _op(name: str, **attributes: Any) -> Op:
    return registry()[name](**attributes)


@functools.cache
def _operand_count(op_class: type[Op]) -> tuple[int, int] | None:
    """Return the least and the greatest number of operands, or None if there is no limit."""
    if op_class.variadic or op_class.infer is Op.infer:
        return None
    parameters = list(inspect.signature(op_class.infer).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.default is p.empty for p in parameters), len(parameters)


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(str(t) for t in types)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
