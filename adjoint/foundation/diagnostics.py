"""Locations in the user's program, and messages that show a mistake at one.

A `Loc` tells where a node was written.  A `Derived` location refers to the locations that it was made from, so that a line of an adjoint
leads back to the user's line.  A `Diagnostic` is a mistake as data: code, title, place, notes, help; `render` shows it with the source line
and a caret.  This module knows nothing of the compiler.
"""

from __future__ import annotations

import difflib
import dis
import functools
import importlib
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, NoReturn, TypeVar

from adjoint.foundation.dataclass import dataclass, field

__all__ = [
    "At", "CompileError", "Derived", "Diagnostic", "InternalError", "Loc", "MissingMember", "Note", "SourceText", "UNKNOWN", "Unknown",
    "Within", "beginning", "check_flag", "compile_error", "float_of", "integer_text", "is_of_python", "is_ours", "missing_name",
    "missing_text", "name_error", "noted", "placed", "printed_as", "source_line", "user_place", "warn", "way_out",
    "within",
]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


class _Files(dict[str, bool]):
    """A memoised dict: for each file name, True if the file is part of this package or of Python's import system, False if it is the user's
    or another.
    """

    def __missing__(self, name: str) -> bool:
        ours = self[name] = name.startswith((_PACKAGE, "<frozen "))
        return ours


is_ours = _Files()


@dataclass(frozen=True, slots=True)
class Within:
    """What a node was made in, besides its line; part of the node's location, but neither printed nor compared.

    cell       the path of the innermost cell, such as `layer1.0.conv`; "" outside of cells
    finite_ok  True inside of `watch.finite_ok()`
    training   the optimisers and loss scalers that the graph of the node uses: pairs of a weak reference and the name of the attribute with
        the number of steps or the scale.  All nodes of a graph share the list, which grows while the graph is made
    callers  the place where the function in which it was made was called inside of that cell, and the callers of the function around;
        None in the outermost function
    """

    cell: str = ""
    finite_ok: bool = False
    training: Sequence[tuple[Any, str]] = ()
    callers: tuple[Loc, Any] | None = None


ANYWHERE = Within()


@dataclass(frozen=True, slots=True)
class At:
    """A location: a place in a file.

    line    from 1
    column  from 1
    end     the column after the last character; 0 if not known
    within  the cell around; it is not printed, and not compared
    """

    file: str
    line: int
    column: int
    end: int = 0
    within: Within = field(default=ANYWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Derived:
    """A location that is derived from others: `grad[sum](net.py:24:16)` is the gradient of the `sum` at that place.

    kind     how it was derived: `grad`, `inline`, ...
    of       the locations that it was made from
    subject  the name of the op, or ""
    """

    kind: str
    of: tuple[Loc, ...]
    subject: str = ""

    def __str__(self) -> str:
        subject = f"[{self.subject}]" if self.subject else ""
        return f"{self.kind}{subject}({', '.join(str(place) for place in self.of)})"


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown location: of code without one, or of a node from an IR text without locations.

    written  the place in that text; it is not printed, and not compared
    source   the text
    within   the cell around; it is not printed, and not compared
    """

    written: At | None = field(default=None, compare=False)
    source: SourceText | None = field(default=None, compare=False, repr=False)
    within: Within = field(default=ANYWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return "unknown"


Loc = At | Derived | Unknown
UNKNOWN = Unknown()


def user_place(loc: Loc) -> At | None:
    """Return the innermost place that `loc` leads back to, in a file or in an IR text; None if there is none."""
    found = innermost(loc)
    return found.written if isinstance(found, Unknown) else found


def within(loc: Loc, made_in: Within) -> Loc:
    """Return a location of the same place, for a node that is made in `made_in`.  A derived location keeps those that it has."""
    match loc:
        case At():
            return At(loc.file, loc.line, loc.column, loc.end, made_in)
        case Unknown():
            return Unknown(loc.written, loc.source, made_in)
        case _:
            return loc


def innermost(loc: Loc) -> At | Unknown:
    """Return the innermost location that `loc` leads back to, preferably one with a place."""
    if not isinstance(loc, Derived):
        return loc
    return next((found for found in map(innermost, loc.of) if user_place(found) is not None), UNKNOWN)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text that is not a file on disk, such as an IR text in a string, whose lines messages can show."""

    name: str
    text: str

    def line(self, number: int) -> str:
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""


@dataclass(frozen=True, slots=True)
class Note:
    """An additional remark of a diagnostic, optionally with a place."""

    text: str
    loc: Loc = UNKNOWN


@dataclass(frozen=True)
class Diagnostic:
    """A mistake, as data.

    code    its stable code, such as `E101`, which `adjoint explain CODE` explains
    title   what is wrong, in a few words
    label   the remark next to the caret
    loc     the place of the mistake
    notes   additional remarks and places
    help    what to do instead
    source  the text in which it was found, if that is not a file on disk
    """

    code: str
    title: str
    label: str = ""
    loc: Loc = UNKNOWN
    notes: tuple[Note, ...] = ()
    help: str = ""
    source: SourceText | None = field(default=None, compare=False)

    def render(self) -> str:
        """Return the diagnostic as text, with the source line and a caret if the place is known."""
        lines = [f"error[{self.code}]: {self.title}"]
        place = user_place(self.loc)
        if place is not None:
            lines += [f"  --> {place}", *self._excerpt(self.loc, self.label)]
        elif self.label:
            lines.append(f"  {self.label}")
        for note in self.notes:
            lines.append(f"note: {note.text}")
            place, own = user_place(note.loc), user_place(self.loc)
            if place is not None:
                lines += [] if own is not None and own.file == place.file else [f"  --> {place}"]
                lines += self._excerpt(note.loc, "")
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)

    def _excerpt(self, loc: Loc, label: str) -> list[str]:
        place = user_place(loc)
        assert place is not None
        source = self.source or getattr(innermost(loc), "source", None)
        text = (source.line(place.line) if source else source_line(place)).rstrip("\n")
        if not text:
            return [f"   | {label}"] if label else []
        gutter = " " * max(3, len(str(place.line)) + 1)
        width = max(1, (place.end or place.column + 1) - place.column)
        pad = "".join("\t" if c == "\t" else " " for c in text[: place.column - 1]).ljust(place.column - 1)
        return [f"{gutter}|", f"{place.line:<{len(gutter)}}| {text}", f"{gutter}| {pad}{'^' * width} {label}".rstrip()]


def placed(loc: Loc) -> str:
    """Return a place with its source line and a caret, as diagnostics show it; empty if the place is not known."""
    return Diagnostic("", "", "", loc).render().partition("\n")[2]


def noted(raised: BaseException, loc: Loc) -> None:
    """Add a note with the line of the user's program at `loc` to an exception.  Later calls for the same exception add nothing: the first
    is the innermost place.
    """
    text = placed(loc)
    if text and not any(note.startswith("  --> ") for note in getattr(raised, "__notes__", ())):
        raised.add_note(text)


class CompileError(Exception):
    """A mistake in the user's program or text; `diagnostic` holds it as data.

    kinds  the built-in exceptions of which it is also an instance, so that an `except` for one of them catches it
    """

    kinds: tuple[type[Exception], ...] = ()

    def __init__(self, diagnostic: Diagnostic):
        super().__init__(diagnostic.render())
        self.diagnostic = diagnostic

    def __reduce__(self) -> tuple[Any, ...]:
        return _mistake_again, (self.kinds, self.diagnostic), self.__dict__


class InternalError(Exception):
    """An error in the compiler itself, never the user's.  The message asks for a report, and contains what the report needs."""

    def __init__(self, message: str):
        super().__init__(f"{message}\nThis is a fault in adjoint, please report it.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _fault_again, self.args, self.__dict__


CompileError.__module__ = InternalError.__module__ = "adjoint"

_of_kinds: dict[tuple[type[Exception], ...], type[CompileError]] = {(): CompileError}


def compile_error(kinds: tuple[type[Exception], ...]) -> type[CompileError]:
    """Return a subclass of CompileError that also derives from these exception types.  It is printed as CompileError."""
    known = _of_kinds.get(kinds)
    if known is None:
        known = _of_kinds[kinds] = printed_as(CompileError)(type(CompileError.__name__, (CompileError, *kinds), {"kinds": kinds}))
    return known


def _mistake_again(kinds: tuple[type[Exception], ...], diagnostic: Diagnostic) -> CompileError:
    return compile_error(kinds)(diagnostic)


def _fault_again(message: str) -> InternalError:
    fault = InternalError("")
    fault.args = (message,)
    return fault


_Raised = TypeVar("_Raised", bound=type[BaseException])


def printed_as(kind: type[BaseException]) -> Callable[[_Raised], _Raised]:
    """Return a decorator for exception classes with several bases.  They are printed under the name of `kind`, and pickled under their own.
    """

    def named(own: _Raised) -> _Raised:
        if not issubclass(own, CompileError | InternalError):
            place = own.__module__, own.__qualname__
            own.__reduce__ = lambda self: (_exception_again, (*place, self.args), self.__dict__)
        own.__module__, own.__qualname__, own.__name__ = kind.__module__, kind.__qualname__, kind.__name__
        return own

    return named


def _exception_again(module: str, name: str, args: tuple[Any, ...]) -> BaseException:
    return getattr(importlib.import_module(module), name)(*args)


def source_line(place: At) -> str:
    """Return a line of a file or notebook cell, or "".  `linecache` alone would also search `sys.path`."""
    there = place.file.startswith("<") or place.file in linecache.cache or os.path.exists(place.file)
    return linecache.getline(place.file, place.line) if there else ""


def beginning(file: str, line: int) -> At:
    """Return the place after a line's indentation; column 1 if the text is not known."""
    text = linecache.getline(file, line).rstrip()
    return At(file, line, len(text) - len(text.lstrip()) + 1)


def is_of_python(file: str) -> bool:
    """Return True if a file belongs to the standard library.  On some systems packages are installed in its directory: False for these."""
    return file.startswith(_STANDARD_LIBRARY) and f"-packages{os.sep}" not in file


def warn(message: str) -> None:
    """Issue a UserWarning at the innermost running line that is outside of this package and the standard library.

    If there is no such line, the warning has no place.
    """
    frame = sys._getframe(1)
    while is_ours[frame.f_code.co_filename] or is_of_python(frame.f_code.co_filename):
        if frame.f_back is None:
            warnings.warn(message, stacklevel=sys.getrecursionlimit())
            return
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"), registry)


def check_flag(entry: str, argument: str, value: object) -> None:
    """Raise TypeError if a value is not a bool.

    entry     the public function that the message names
    argument  its argument that has the value
    """
    if not isinstance(value, bool):
        raise TypeError(f"For '{entry}', the argument '{argument}' must be a bool, but got {value!r} of type {type(value).__name__}.")


def float_of(entry: str, argument: str, value: Any) -> float:
    """Return a number as a float.  ValueError if an int is too large for a float.

    entry     the public function that the message names
    argument  its argument that has the value
    """
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"For '{entry}', the argument '{argument}' must be a number that a float can hold, "
                         f"but got an int {integer_text(int(value))}.") from None


def integer_text(number: int) -> str:
    """Return an int as text for a message.  A very long one is given by its number of bits, since Python refuses to print thousands of
    digits.
    """
    return str(number) if abs(number) < 2**128 else f"of {number.bit_length()} bits"


def missing_name(module: str, name: str, present: Mapping[str, Any]) -> Exception:
    """Return the exception for a name that a module lacks: AttributeError, or ImportError inside of `from module import name`.

    present  the globals of the module
    The module's `__getattr__` calls this function.  The message says that the name is not part of adjoint, and what to write instead: the
    entry of the module's `INSTEAD`, or similar names from `__all__`.
    """
    message = missing_text(module, name, present["__all__"], present.get("INSTEAD", {}).get(name))
    return name_error(message, name, sys._getframe(2))


def missing_text(module: str, name: str, names: Iterable[str], instead: str | None) -> str:
    """Return the message for a name that `module` lacks.

    names    the names from which similar ones are suggested
    instead  what to write instead, or None
    """
    if instead is not None:
        return f"adjoint has no {name!r} in {module!r}. Instead: {instead}."
    close = _similar(name, tuple(names))
    hint = f" Close to it are: {', '.join(close)}." if close else ""
    return f"adjoint has no {name!r} in {module!r}.{hint}"


def way_out(instead: Mapping[str, str], member: str) -> str:
    """Return the sentence of a message that says what to write instead of a member of MindSpore's class; empty if there is nothing.

    instead  by the name of the member, what to write
    """
    return f" Instead: {instead[member]}." if member in instead else ""


class MissingMember:
    """Takes the place of a member of MindSpore's that a class lacks: reading it raises an AttributeError that says what to write instead.

        set_ = MissingMember("`x.assign_value(y)`")     in the class

    So `hasattr` is False, and an attribute of that name can be set.  A class with a `__getattr__` raises the error there, by `way_out`.
    """

    def __init__(self, instead: str):
        self.instead, self.name = instead, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        subject = f"type object '{owner.__name__}'" if instance is None else f"'{owner.__name__}' object"
        raise AttributeError(f"{subject} has no attribute '{self.name}'. Instead: {self.instead}.", name=self.name, obj=instance)


@functools.lru_cache(maxsize=256)  # programs ask again and again whether there is a name, as by `hasattr`
def _similar(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(candidate.lower(), []).append(candidate)
    return tuple([spelling for close in difflib.get_close_matches(name.lower(), folded, 3, 0.6) for spelling in folded[close]])


def name_error(message: str, name: str, frame: FrameType) -> Exception:
    """Return an ImportError if `frame` is inside of `from module import name`, otherwise an AttributeError."""
    importing = frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]
    return ImportError(message, name=name) if importing else AttributeError(message, name=name)
