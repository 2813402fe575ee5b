"""Passes and pipelines: transforms from module to module, their text form, and observers that are called between passes.

    p = Pipeline.parse("inline,grad{wrt=[x, @w]},simplify,cse,dce")
    after = p.run(module, observers=[verifying, Timing()])

A pass is a frozen dataclass.  Its fields are its options, written `name{option=value}` in text; a field without a text form has
`repr=False`.  The input and the output of a pass verify.  Observers between the passes check that, dump modules, compare them or measure
time.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import re
import time
import typing
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, ClassVar

from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import UNKNOWN, CompileError
from adjoint.foundation.files import write_file
from adjoint.ir.core import Function, Module, walk
from adjoint.ir.ops.control import Call
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.passes import PASSES, errors

__all__ = ["PassDiffs", "Dump", "Observer", "Pass", "Pipeline", "Timing", "chosen", "passes", "unused", "verifying", "with_replaced"]


class Pass:
    """The base class of passes, which transform modules of the IR.  A subclass is a frozen dataclass whose fields are the options; it sets
    `name`, under which pipelines find it, and overrides `on_function` or `on_module`.
    """

    name: ClassVar[str] = ""
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    """Declared for type checkers only: every pass is a dataclass, and so has its fields here."""

    def on_module(self, module: Module) -> Module:
        """Return the transformed module.  By default each function is transformed on its own, by `on_function`."""
        functions = {symbol: self.on_function(function, module) for symbol, function in module.functions.items()}
        return Module(module.params, module.hosts, functions)

    def on_function(self, function: Function, module: Module) -> Function:
        """Return the transformed function of `module`, under the same symbol."""
        raise NotImplementedError(f"{type(self).__name__}.on_function")

    def __init_subclass__(cls, /, **options: Any):
        super().__init_subclass__(**options)
        if cls.name:
            _passes[cls.name] = cls

    def __str__(self) -> str:
        changed = [
            f"{f.name}={_option_text(value)}"
            for f in dataclasses.fields(self)
            if f.repr and (value := getattr(self, f.name)) != f.default
        ]
        return f"{self.name}{{{', '.join(changed)}}}" if changed else self.name


_passes: dict[str, type[Pass]] = {}

Observer = Callable[[int, Pass | None, Module, Module], None]
"""A function called around passes: once before the first as `f(0, None, module, module)`, then after each as `f(position, pass, before,
after)`.
"""


def passes() -> dict[str, type[Pass]]:
    """Return all passes: for each name, as written in the text of a pipeline, the class."""
    for name in PASSES:
        _found(name)
    return dict(_passes)


def _found(name: str) -> type[Pass] | None:
    """Return the pass with a name; None if there is none."""
    if name not in _passes and name in PASSES:
        importlib.import_module(f"adjoint.passes.{PASSES[name]}")
    return _passes.get(name)


@dataclass(frozen=True)
class Pipeline:
    """Applies several passes to a module, one after the other (`run`)."""

    passes: tuple[Pass, ...]

    @staticmethod
    def parse(text: str) -> Pipeline:
        """Make a pipeline from a text such as `grad{wrt=[x, @w]},simplify,cse,dce`.  CompileError E140 if the text is invalid."""
        return Pipeline(tuple(_Reader(text).pipeline()))

    def run(self, module: Module, observers: Sequence[Observer] = ()) -> Module:
        """Apply all passes, and return the resulting module.

        observers  functions that are called before the first pass and after each one
        """
        for observe in observers:
            observe(0, None, module, module)
        for position, step in enumerate(self.passes, 1):
            before, module = module, step.on_module(module)
            for observe in observers:
                observe(position, step, before, module)
        return module

    def __str__(self) -> str:
        return ",".join(map(str, self.passes))


def with_replaced(module: Module, symbol: str, *functions: Function) -> Module:
    """Return a module with `functions` in place of the function `symbol`.  If that function is still called, it is kept after them."""
    others = [function for name, function in module.functions.items() if name != symbol]
    called = any(symbol in _referred(function) for function in (*functions, *others))
    kept: dict[str, Function] = {}
    for name, function in module.functions.items():
        if name == symbol:
            kept.update((new.symbol, new) for new in functions)
        if name != symbol or called:
            kept[name] = function
    return Module(module.params, module.hosts, kept)


def _referred(function: Function) -> set[str | None]:
    """Return the symbols of the functions that a function calls, and of its own pullback; None is among them if it has no pullback."""
    return {function.vjp, *(node.op.symbol for node in walk(function.body) if isinstance(node.op, Call))}


def unused(module: Module, symbol: str) -> str:
    """Return a symbol that the module does not use yet, for a new function: `symbol` itself, or `symbol` followed by a number."""
    declared = {*module.params, *module.hosts, *module.functions}
    numbered = (f"{symbol}.{i}" for i in count(1))
    return next(name for name in chain([symbol], numbered) if name not in declared)


def chosen(module: Module, symbol: str) -> Function:
    """Find a function of a module; CompileError if there is none.

    symbol  its symbol, with or without `@`; "" for the module's first function
    """
    if not module.functions:
        raise _mistake("the module has no function", "")
    if not symbol:
        return next(iter(module.functions.values()))
    found = module.functions.get(symbol.removeprefix("@"))
    if found is None:
        raise _mistake(f"there is no function @{symbol.removeprefix('@')}", ", ".join(f"@{s}" for s in module.functions))
    return found


# observers


def verifying(position: int, step: Pass | None, before: Module, after: Module) -> None:
    """An observer of passes: verifies the module after each.  CompileError, with a note that names the pass, if the module is wrong."""
    try:
        verify_module(after)
    except CompileError as error:
        error.add_note(f"found {f'after the pass {step}' if step else 'before the first pass'}")
        raise


@dataclass
class Timing:
    """An observer of passes that measures how long each takes; give an instance to `Pipeline.run`.

    seconds  the measurements: a pair (pass, seconds) for each pass, in order
    """

    seconds: list[tuple[str, float]] = field(default_factory=list)
    _since: float = 0.0

    def __call__(self, position: int, step: Pass | None, before: Module, after: Module) -> None:
        now = time.perf_counter()
        if step is not None:
            self.seconds.append((str(step), now - self._since))
        self._since = now


@dataclass(frozen=True)
class Dump:
    """An observer of passes that writes the module after each as text into `folder`: `00-parse.ir`, `01-grad.ir`, ...

    locations  True if the text shows the locations of nodes
    """

    folder: Path
    locations: bool = True

    def __call__(self, position: int, step: Pass | None, before: Module, after: Module) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{position:02}-{step.name if step else 'parse'}.ir"
        write_file(str(self.folder / name), [print_module(after, self.locations).encode()])


@dataclass
class PassDiffs:
    """An observer of passes that records how each changes the module's text; give an instance to `Pipeline.run`.

    locations  True if the text shows the locations of nodes
    texts      the record: a pair (pass, unified diff) for each pass, in order
    """

    locations: bool = False
    texts: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, position: int, step: Pass | None, before: Module, after: Module) -> None:
        if step is None:
            return
        old, new = (print_module(m, self.locations).splitlines(keepends=True) for m in (before, after))
        self.texts.append((str(step), "".join(difflib.unified_diff(old, new, "before", f"after {step}"))))


# the text form

_TOKEN = re.compile(r"\s*([\w.@:'-]+|\"[^\"\n]*\"|[{}\[\],=]|$)")


def _mistake(label: str, known: str) -> CompileError:
    return errors.NOT_A_PIPELINE.at(UNKNOWN, label, help=f"there are: {known}" if known else "")


class _Reader:
    """Parses the text of a pipeline, such as `name{option=value, option=[a, b]},name`, into passes."""

    def __init__(self, text: str):
        self._text = text
        self._at = 0

    def pipeline(self) -> Iterable[Pass]:
        while self._peek():
            yield self._pass()
            if self._peek():
                self._expect(",")

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise _mistake(f"unexpected `{self._text[self._at :].strip()[:1]}` in `{self._text}`", "")
        return match[1]

    def _next(self) -> str:
        token = self._peek()
        match = _TOKEN.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return token

    def _expect(self, token: str) -> None:
        got = self._next()
        if got != token:
            raise _mistake(f"expected `{token}`, got `{got or 'the end'}` in `{self._text}`", "")

    def _pass(self) -> Pass:
        name = self._next()
        cls = _found(name)
        if cls is None:
            raise _mistake(f"there is no pass called `{name}`", ", ".join(sorted(passes())))
        options: dict[str, Any] = {}
        if self._peek() == "{":
            self._next()
            hints = typing.get_type_hints(cls)
            while self._peek() != "}":
                option = self._next()
                known = [f.name for f in dataclasses.fields(cls) if f.repr]
                if option not in known:
                    raise _mistake(f"the pass {name} has no option `{option}`", ", ".join(known))
                self._expect("=")
                options[option] = self._value(hints[option], f"{name}.{option}")
                if self._peek() != "}":
                    self._expect(",")
            self._next()
        return cls(**options)

    def _value(self, hint: Any, of: str) -> Any:
        if typing.get_origin(hint) is tuple:
            inner = typing.get_args(hint)[0]
            items: list[Any] = []
            self._expect("[")
            while self._peek() != "]":
                items.append(self._value(inner, of))
                if self._peek() != "]":
                    self._expect(",")
            self._next()
            return tuple(items)
        word = self._next().strip('"')
        if hint is bool and word in ("true", "false"):
            return word == "true"
        if hint is int and re.fullmatch(r"-?\d+", word):
            return int(word)
        if hint is str:
            return word
        raise _mistake(f"`{word}` is not a valid value of the option {of}", "")


def _option_text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"[{', '.join(map(_option_text, value))}]"
        case _:
            return str(value)
