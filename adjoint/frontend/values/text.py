"""Text with values of the graph in it, such as an f-string of a tensor."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN
from adjoint.frontend import errors

__all__ = ["RunTimeText", "formatted", "interpolated", "joined"]


@dataclass(frozen=True, eq=False)
class RunTimeText:
    """Represents a string that contains values which are known only when the graph runs.  The user's code may print it, raise it as a
    message and join it with `+`; other uses raise CompileError.

    pieces  strings, and a tuple for each value: (value, conversion, format spec) as in an f-string, or (value, "%", "%.3f") for the
            operator `%`
    """

    pieces: tuple[Any, ...]

    def _unknown(self, *_: Any) -> NoReturn:
        raise errors.VALUE_NEEDED.at(
            UNKNOWN, "the contents of a string that contains a tensor are not known while parsing",
            help="compare the tensor; such a string can only be printed, joined by `+`, or be the message of `raise` or `assert`")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _unknown
    __contains__ = __iter__ = __len__ = __getitem__ = __mul__ = __rmul__ = __mod__ = __format__ = _unknown

    def __getattr__(self, name: str) -> Any:
        if hasattr(str, name) and not name.startswith("__"):
            self._unknown()
        raise AttributeError(f"'str' object has no attribute {name!r}")

    def with_values(self, real: Callable[[Any], Any]) -> str:
        """Return the finished string, in which `real(value)` replaces each value."""
        return "".join(piece if isinstance(piece, str) else _formatted(real(piece[0]), piece[1], piece[2]) for piece in self.pieces)

    def mapped(self, change: Callable[[Any], Any]) -> RunTimeText:
        """Return a RunTimeText in which `change(value)` replaces each value.  Conversions and formats stay the same."""
        return RunTimeText(tuple([piece if isinstance(piece, str) else (change(piece[0]), *piece[1:]) for piece in self.pieces]))

    def __str__(self) -> str:
        return self.with_values(lambda value: value)

    def __add__(self, other: Any) -> RunTimeText:
        return RunTimeText((*self.pieces, *_pieces(other)))

    def __radd__(self, other: Any) -> RunTimeText:
        return RunTimeText((*_pieces(other), *self.pieces))


def formatted(text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RunTimeText:
    """Return the result of `text.format(*args, **kwargs)` as a RunTimeText (text with places for values of the graph)."""
    formatter, pieces, place = string.Formatter(), [], 0
    for literal, field, spec, conversion in formatter.parse(text):
        pieces.append(literal)
        if field is not None:
            if not field or field[0] in ".[":
                field, place = f"{place}{field}", place + 1
            pieces.append((formatter.get_field(field, args, kwargs)[0], conversion or "", (spec or "").format(*args, **kwargs)))
    return RunTimeText(tuple(pieces))


_PLACE = re.compile(r"%(?:\((\w+)\))?([-#0 +]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa%])")


def interpolated(text: str, values: Any) -> RunTimeText:
    """Return the result of `text % values` as a RunTimeText (text with places for values of the graph)."""
    pieces: list[Any] = []
    left = list(values) if isinstance(values, tuple) else [values]
    end = 0
    for place in _PLACE.finditer(text):
        pieces.append(text[end : place.start()])
        end = place.end()
        if place[2] == "%":
            pieces.append("%")
        elif place[1] is not None:
            if not isinstance(values, Mapping):
                raise TypeError("format requires a mapping")
            pieces.append((values[place[1]], "%", f"%{place[2]}"))
        elif left:
            pieces.append((left.pop(0), "%", f"%{place[2]}"))
        else:
            raise TypeError("not enough arguments for format string")
    if left and not isinstance(values, dict):
        raise TypeError("not all arguments converted during string formatting")
    return RunTimeText((*pieces, text[end:]))


def joined(text: str, parts: Iterable[Any]) -> RunTimeText:
    """Return the result of `text.join(parts)` as a RunTimeText (text with places for values of the graph)."""
    pieces: list[Any] = []
    for i, part in enumerate(parts):
        if not isinstance(part, (str, RunTimeText)):
            raise TypeError(f"sequence item {i}: expected str instance, {type(part).__name__} found")
        pieces += [*([text] if i else []), *_pieces(part)]
    return RunTimeText(tuple(pieces))


def _pieces(text: Any) -> tuple[Any, ...]:
    if isinstance(text, RunTimeText):
        return text.pieces
    if isinstance(text, str):
        return (text,)
    raise TypeError(f"can only concatenate str, not {type(text).__name__!r}, to str")


def _formatted(value: Any, conversion: str, spec: str) -> str:
    if conversion == "%":
        # a value in a message may be a placeholder, which is not a number
        return spec % (value,) if spec[-1] in "sra" or hasattr(type(value), "__float__") else format(value)
    converted = {"": lambda x: x, "s": str, "r": repr, "a": ascii}[conversion](value)
    return format(converted, spec)
