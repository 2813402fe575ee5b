"""Text with values in it that are known when the graph runs: an f-string of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from adjoint.diagnostics import UNKNOWN
from adjoint.frontend import errors

__all__ = ["RunTimeText"]


@dataclass(frozen=True, eq=False)
class RunTimeText:
    """Pieces: text, or (value, conversion, format spec) as in an f-string.

    It can be printed, be the message of `raise` and `assert`, and be joined with other text by `+`.
    """

    pieces: tuple[Any, ...]

    def _unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise errors.VALUE_NEEDED.at(UNKNOWN, "what a text with a tensor in it says is not known while parsing",
                                     help="it can be printed, joined by `+`, and be the message of `raise` and `assert`; compare the tensor")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _unknown  # type: ignore[assignment]
    __contains__ = __iter__ = __len__ = __getitem__ = __mul__ = __rmul__ = __mod__ = __format__ = _unknown

    def __getattr__(self, name: str) -> Any:
        if hasattr(str, name) and not name.startswith("__"):
            self._unknown()
        raise AttributeError(f"'str' object has no attribute {name!r}")

    def with_values(self, real: Callable[[Any], Any]) -> str:
        """The text, each value replaced by what `real` says it is."""
        return "".join(piece if isinstance(piece, str) else _formatted(real(piece[0]), piece[1], piece[2]) for piece in self.pieces)

    def __str__(self) -> str:
        return self.with_values(lambda value: value)

    def __add__(self, other: Any) -> RunTimeText:
        return RunTimeText((*self.pieces, *_pieces(other)))

    def __radd__(self, other: Any) -> RunTimeText:
        return RunTimeText((*_pieces(other), *self.pieces))


def _pieces(text: Any) -> tuple[Any, ...]:
    if isinstance(text, RunTimeText):
        return text.pieces
    if isinstance(text, str):
        return (text,)
    raise TypeError(f"can only concatenate str, not {type(text).__name__!r}, to str")


def _formatted(value: Any, conversion: str, spec: str) -> str:
    converted = {"": lambda x: x, "s": str, "r": repr, "a": ascii}[conversion](value)
    return format(converted, spec)
