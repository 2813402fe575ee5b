"""Changes made by special methods and descriptors that Python itself calls while a function is parsed are errors, and are undone."""

from __future__ import annotations

import copy
import enum
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, jit
from adjoint.foundation.diagnostics import CompileError

X = Tensor(np.array([1.0, 2.0], np.float32))
LIST = [3, 1, 2]


class Watched(type):
    def __instancecheck__(cls, x):
        LIST.append(1)
        return True


class Called(metaclass=Watched):
    """Each method that Python itself calls changes the object, or a global list."""

    count = 0

    def _next(self, *_):
        self.count += 1
        return self.count

    __int__ = __index__ = __hash__ = __floor__ = __round__ = __copy__ = _next

    def __float__(self):
        return float(self._next())

    def __str__(self):
        return "a" * self._next()

    def __format__(self, spec):
        return str(self)

    def __eq__(self, other):
        return self._next() % 2 == 0

    def __lt__(self, other):
        return self._next() % 2 == 0

    def __reversed__(self):
        return iter([self._next()])

    def __getattr__(self, name):
        return Called.of_class()

    @classmethod
    def of_class(cls):
        LIST.append(1)
        return len(LIST)


class AsArray:
    def __array__(self, dtype=None, copy=None):
        LIST.append(1)
        return np.zeros(2, np.float32)


class Descriptor:
    def __get__(self, holder, kind):
        LIST.append(1)
        return len(LIST)

    def __set__(self, holder, value):
        LIST.append(1)


class Described:
    number = Descriptor()


class Found(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        LIST.append(1)
        return cls.ONE


@functools.wraps(math.sqrt)
def wrapped(x):
    LIST.append(1)
    return x


BY_PYTHON: dict[str, Callable[[Any], Any]] = {
    "float": lambda c: float(c),
    "int": lambda c: int(c),
    "hash": lambda c: hash(c),
    "str": lambda c: len(str(c)),
    "round": lambda c: round(c),
    "floor": lambda c: math.floor(c),
    "sqrt": lambda c: math.sqrt(c),
    "copy": lambda c: copy.copy(c),
    "f-string": lambda c: len(f"{c}"),
    "percent": lambda c: len("%s" % c),  # noqa: UP031 - it is meant
    "index": lambda c: (0, 1, 2, 3)[c],
    "range": lambda c: len(range(c)),
    "reversed": lambda c: next(iter([*reversed(c)])),
    "sorted": lambda c: len(sorted([c, c])),
    "sort": lambda c: [c, c].sort() or 1,
    "max": lambda c: max([c, c]).count,
    "count": lambda c: [c].count(1),
    "in": lambda c: 1 in [c],
    "key": lambda c: len({c: 1}),
    "set": lambda c: len({c}),
    "array": lambda c: len(np.asarray(AsArray())),
    "tensor": lambda c: len(Tensor(AsArray())),
    "attribute": lambda c: c.anything,
    "getattr": lambda c: getattr(c, "anything"),  # noqa: B009 - it is meant
    "isinstance": lambda c: isinstance(3, Called),
    "descriptor": lambda c: Described().number,
    "descriptor set": lambda c: setattr(Described(), "number", 3) or 1,
    "enum": lambda c: Found(7).value,
    "wraps": lambda c: wrapped(2),
}


@pytest.mark.parametrize("name", BY_PYTHON)
def test_changes_by_methods_that_python_calls_are_refused_and_taken_back(name: str) -> None:
    counting, before = Called(), [*LIST]
    run = jit(lambda x: x * BY_PYTHON[name](counting))
    for _ in range(2):
        with pytest.raises(CompileError) as caught:
            run(X)
        found: Any = caught.value.diagnostic
        assert found.code == "E217" and found.loc.file == __file__ and found.loc.column > 1, str(caught.value)
        assert counting.count == 0 and before == LIST


class Buffered:
    """Its state is in arrays: one of its own, one in a list of its own, one in a list of arrays that are objects."""

    def __init__(self) -> None:
        self.own = np.zeros(2)
        self.rows = [np.zeros(2)]
        self.cells = np.array([np.zeros(2), None], dtype=object)

    def __float__(self) -> float:
        self.own[0] += 1
        return float(self.own[0])

    def __index__(self) -> int:
        self.rows[0][0] += 1
        return int(self.rows[0][0])

    def __hash__(self) -> int:
        self.cells[0][0] += 1
        return int(self.cells[0][0])


@pytest.mark.parametrize("call", [float, hash, lambda b: len(range(b))], ids=["own", "in an array", "in a list"])
def test_an_array_inside_of_an_object_that_its_method_changes(call: Callable[[Any], Any]) -> None:
    buffered = Buffered()
    for _ in range(2):
        with pytest.raises(CompileError, match="E217"):
            jit(lambda x: x * call(buffered))(X)
    assert buffered.own.tolist() == buffered.rows[0].tolist() == buffered.cells[0].tolist() == [0.0, 0.0]
