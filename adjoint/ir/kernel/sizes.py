"""Sizes that are recorded: follow what an op's `lower` computes of the sizes of its operands, and what it asks about them.

    n // 16              a new size, and a step of the record
    n > 168              the answer for the present number, and a condition of the record
    range(n), f"{n}"     the present number itself, and the condition that it is this one

So the kernel that is described for some sizes is the kernel for all sizes for which the same conditions hold, and the record computes
the sizes that it is launched with.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = ["Size", "SizeRecord", "Sizing"]


class Size:
    """Stands for an int whose use is being recorded by a `SizeRecord`; Python code uses it as an int.

    It has no hash, so that no table can keep it, and no type that holds it.  Once its record has ended it behaves like the number.
    """

    __slots__ = ("index", "number", "record")

    __class__ = int  # pyright: ignore[reportAssignmentType] - for `isinstance`
    __hash__ = None  # pyright: ignore[reportAssignmentType] - see above

    def __init__(self, record: SizeRecord, index: int, number: int):
        self.record, self.index, self.number = record, index, number

    def plain(self) -> int:
        """Return the number itself, and record the condition that the size has this value."""
        self.record.ask(operator.eq, self, self.number)
        return self.number

    def __neg__(self) -> Any:
        return self.record.compute(operator.sub, 0, self)

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Any:
        return -self if self.record.ask(operator.lt, self, 0) else self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __bool__(self) -> bool:
        return self.record.ask(operator.ne, self, 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain(), name)


def _computed(function: Callable[[Any, Any], Any], *, reflected: bool = False) -> Any:
    def method(self: Size, other: Any) -> Any:
        if not isinstance(other, int):
            pair = (other, self.plain()) if reflected else (self.plain(), other)
            return function(*pair)
        return self.record.compute(function, other, self) if reflected else self.record.compute(function, self, other)

    return method


def _asked(function: Callable[[Any, Any], bool]) -> Any:
    def method(self: Size, other: Any) -> Any:
        return self.record.ask(function, self, other) if isinstance(other, (int, float)) else NotImplemented

    return method


def _by_number(name: str) -> Any:
    def method(self: Size, *others: Any) -> Any:
        return getattr(self.plain(), name)(*[other.plain() if type(other) is Size else other for other in others])

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Size, f"__{_name}__", _computed(getattr(operator, _name)))
    setattr(Size, f"__r{_name}__", _computed(getattr(operator, _name), reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Size, f"__{_name}__", _asked(getattr(operator, _name)))
for _name in ("truediv", "pow", "and", "or", "xor", "lshift", "rshift"):
    setattr(Size, f"__{_name}__", _by_number(f"__{_name}__"))
    setattr(Size, f"__r{_name}__", _by_number(f"__r{_name}__"))
for _name in ("rdivmod", "index", "int", "float", "round", "trunc", "floor", "ceil", "invert", "str", "repr", "format"):
    setattr(Size, f"__{_name}__", _by_number(f"__{_name}__"))


_Step = tuple[Callable[[Any, Any], Any], int, int, bool | None]
"""A step of a record: a function, the indices of its two arguments, and the answer that it must give; None if it computes a number."""


class SizeRecord:
    """Records what is computed from some numbers, and which questions about them decide something.

    sizes  objects to use in place of the numbers

    The given numbers have the indices 0, 1, ..., computed ones follow; constants have -1, -2, ...
    """

    def __init__(self, numbers: Sequence[int]):
        self.sizes: Final[list[Any]] = [Size(self, index, number) for index, number in enumerate(numbers)]
        self._given = self._count = len(numbers)
        self._steps: dict[tuple[Any, ...], Any] = {}
        self._constants: dict[tuple[type, Any], int] = {}
        self._open = True

    def compute(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """Return `function(a, b)` as a recorded number, and record that it is computed so.  At least one of the two is recorded."""
        if not self._open:
            return function(self._after(a), self._after(b))
        key = function, self._index(a), self._index(b)
        if key not in self._steps:
            self._steps[key] = Size(self, self._count, function(_number(a), _number(b)))
            self._count += 1
        return self._steps[key]

    def ask(self, function: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
        """Return the answer `function(a, b)`, and record as a condition that other sizes must give the same answer."""
        if not self._open:
            return function(self._after(a), self._after(b))
        key = function, self._index(a), self._index(b)
        if key not in self._steps:
            self._steps[key] = function(_number(a), _number(b))
        return self._steps[key]

    def end(self, wanted: Sequence[Any]) -> Sizing:
        """End the record, and return a `Sizing` that computes some of its numbers from other values of the given ones.

        wanted  these numbers
        """
        results = [self._index(each) for each in wanted]
        self._open = False
        given, constants = self._given, len(self._constants)

        def at(index: int) -> int:
            # The constants come after the given numbers.
            return index if 0 <= index < given else given - 1 - index if index < 0 else index + constants

        steps = tuple((function, at(a), at(b), None if type(made) is Size else made) for (function, a, b), made in self._steps.items())
        return Sizing(tuple(constant for _, constant in self._constants), steps, tuple(map(at, results)))

    def _index(self, number: Any) -> int:
        if type(number) is Size:
            if number.record is self:
                return number.index
            number = number.number  # of a record that has ended: a constant
        return self._constants.setdefault((type(number), number), -1 - len(self._constants))

    def _after(self, number: Any) -> Any:
        """Return the number of a size of this record, which has ended; anything else, such as a size of another record, unchanged."""
        return number.number if type(number) is Size and number.record is self else number


def _number(number: Any) -> Any:
    return number.number if type(number) is Size else number


class Sizing:
    """Computes numbers from given sizes, after checking that these meet the recorded conditions."""

    __slots__ = ("_constants", "_results", "_steps")

    def __init__(self, constants: tuple[Any, ...], steps: tuple[_Step, ...], results: tuple[int, ...]):
        self._constants, self._steps, self._results = constants, steps, results

    @property
    def length(self) -> int:
        """Return the number of steps (computations and conditions)."""
        return len(self._steps)

    def numbers(self, given: Sequence[int]) -> list[int] | None:
        """Return the numbers that are computed from the given sizes; None if these do not meet a condition."""
        values = [*given, *self._constants]
        try:
            for function, a, b, answer in self._steps:
                found = function(values[a], values[b])
                if answer is None:
                    values.append(found)
                elif found is not answer:
                    return None
        except ZeroDivisionError:
            return None
        return [values[index] for index in self._results]
