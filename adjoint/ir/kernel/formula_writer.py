"""Write a user's formula (`formula`) as the C of a kernel, and check what it means on the way.

A Python number (a literal, an attribute) takes the dtype of what it stands beside, as in NumPy; numbers among themselves are computed in
Python.  A comparison is a bool, and counts as 0 or 1 in arithmetic.

In a row, an index is proved to be inside of it where it is the counter of a loop over that row, plus or minus a number.  Other indices are
checked when the kernel runs.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np

from adjoint.ir.kernel.c_ast import COMPARISONS, Expr, binary
from adjoint.ir.kernel.formula import (
    Application,
    Assigned,
    Choice,
    Counted,
    Element,
    Formula,
    IfElse,
    Infix,
    Local,
    Numeral,
    Part,
    Prefix,
    Sentence,
    Variable,
)
from adjoint.ir.kernel.kernel import Kernel
from adjoint.ir.kernel.operands import Buffer
from adjoint.ir.types import BOOL, F64, I64, DType

__all__ = ["FUNCTIONS", "FormulaWriter", "NeedsFloats", "Row", "costs", "fills"]

Written: TypeAlias = Expr | int | float | bool
"""A value of a formula: an expression of C, or a number that is known."""


class _Known(NamedTuple):
    """A mathematical function: how many arguments it takes, and what computes it from known numbers."""

    arity: int
    compute: Callable[..., Any]


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


FUNCTIONS: Final[Mapping[str, _Known]] = {
    **{name: _Known(1, getattr(np, name)) for name in (
        "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
        "sinh", "cosh", "tanh", "isnan", "isinf", "isfinite", "signbit")},
    "abs": _Known(1, np.abs), "asin": _Known(1, np.arcsin), "acos": _Known(1, np.arccos), "atan": _Known(1, np.arctan),
    "asinh": _Known(1, np.arcsinh), "acosh": _Known(1, np.arccosh), "atanh": _Known(1, np.arctanh),
    "erf": _Known(1, math.erf), "erfc": _Known(1, math.erfc), "lgamma": _Known(1, _lgamma),
    "atan2": _Known(2, np.arctan2), "pow": _Known(2, np.power), "fmod": _Known(2, np.fmod), "copysign": _Known(2, np.copysign),
    "fmin": _Known(2, np.fmin), "fmax": _Known(2, np.fmax),
}
"""The functions of C that a formula may call."""

CONSTANTS: Final = {"M_PI": math.pi, "M_E": math.e, "INFINITY": math.inf, "NAN": math.nan}
"""The names of numbers that a formula may use."""

_TESTS: Final = ("isnan", "isinf", "isfinite", "signbit")
_OF_INTEGERS: Final = ("abs", "fmin", "fmax")
"""Functions that integers may be given to as they are."""
_FOR: Final = {"min": "fmin", "max": "fmax", "maximum": "fmax", "minimum": "fmin", "round": "rint", "arctan": "atan", "arcsin": "asin",
               "arccos": "acos", "power": "pow", "gamma": "lgamma"}
_ANY_SIZE: Final = ""


class NeedsFloats(Exception):
    """Raised if a formula cannot be computed in integers: it divides, calls a function of floats, or has a number with a point."""


class Row(NamedTuple):
    """One row of an operand or of the result.

    buffer  the whole operand
    base    the index of the first element of the row
    length  the number of elements of the row
    size    the name of the length in the formula; two rows with one name have the same length
    result  True if the formula may write it
    """

    buffer: Buffer
    base: Expr
    length: Expr
    size: str
    result: bool = False


class _Counter(NamedTuple):
    """What is known of the counter of a loop: `low <= counter < size + beyond`; `size` is "" if no length bounds it."""

    low: int | None
    size: str
    beyond: int


class FormulaWriter:
    """Writes one formula into a kernel.

    k        the kernel, in which a stage is open
    formula  the text, for messages
    dtype    the dtype in which elements are computed
    names    what each name stands for: an element as an expression, an attribute as a number, a length as an expression, or a Row
    about    a line for messages that lists what may be used
    """

    def __init__(self, k: Kernel, formula: Formula, dtype: DType, names: Mapping[str, Written | Row], about: str):
        self.k, self.formula, self.dtype, self.about = k, formula, dtype, about
        self.checks = False
        """True if an index is checked when the kernel runs: then the kernel may return a status."""
        self._names: dict[str, Written | Row] = dict(names)
        self._locals: dict[str, Expr] = {}
        self._counters: dict[str, _Counter] = {}
        self._paths: list[Expr] = []
        """The conditions under which the part that is being written is evaluated at all."""

    # -- an expression
    def element(self, part: Part) -> Expr:
        """Return the formula of an element as an expression of C, in the dtype of the operands, or a bool for a condition."""
        value = self.value(part)
        return value if isinstance(value, Expr) and value.dtype is BOOL else self._as(value, self.dtype, part.place)

    def value(self, part: Part) -> Written:
        """Return the value of a part of the formula."""
        match part:
            case Numeral(_, value):
                return value
            case Variable():
                return self._variable(part)
            case Element():
                return self._element(part)
            case Prefix(place, "-", operand):
                value = self.value(operand)
                return -self._arithmetic(value, place) if isinstance(value, Expr) else -value
            case Prefix(_, _, operand):
                value = self._truth(operand)
                return self.k.negation(value) if isinstance(value, Expr) else not value
            case Infix(_, "&&" | "||"):
                return self._logic(part)
            case Infix():
                return self.combined(part.operator, self.value(part.left), self.value(part.right), part.place)
            case Choice():
                return self._choice(part)
            case Application():
                return self._applied(part)

    def combined(self, operator: str, a: Written, b: Written, place: tuple[int, int]) -> Written:
        """Return `a operator b` in their common dtype."""
        if operator in ("/", "%"):
            self._check_division(operator, a, b, place)
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            with np.errstate(all="ignore"):
                return _KNOWN[operator](a, b)
        a, b = self._together(a, b, place, compared=operator in COMPARISONS)
        return binary(operator, a, b)

    def _check_division(self, operator: str, a: Written, b: Written, place: tuple[int, int]) -> None:
        of_integers = all(_is_integer(x) for x in (a, b))
        if of_integers and not (isinstance(a, Expr) or isinstance(b, Expr)):
            self.formula.complain(place, f"a quotient of two integers is one thing in C and another in Python: {a} {operator} {b}",
                                  f"write {a}.0 {operator} {b}" if operator == "/" else "write the number itself")
        if of_integers and not self.dtype.is_float:
            raise NeedsFloats
        if of_integers and (isinstance(b, Expr) or b <= 0):
            self.formula.complain(place, "integers are divided only by a number above 0", "a fraction of two lengths is `1.0 * i / n`")
        if operator == "%" and not of_integers:
            self.formula.complain(place, "`%` is for integers", "the remainder of a division is `fmod(x, y)`")

    def _together(self, a: Written, b: Written, place: tuple[int, int], *, compared: bool = False) -> tuple[Expr, Expr]:
        """Return two values, at least one of them an expression, in the dtype in which C combines them."""
        kinds = [x.dtype for x in (a, b) if isinstance(x, Expr)]
        if compared and kinds == [BOOL, BOOL]:
            return a, b  # pyright: ignore[reportReturnType] - both are expressions
        if any(isinstance(x, float) for x in (a, b)) and not any(kind.is_float for kind in kinds):
            kinds.append(self._floats())
        kinds = [kind for kind in kinds if kind is not BOOL] or [self.dtype]
        dtype = max(kinds, key=lambda kind: (kind.is_float, kind.size))
        return self._as(a, dtype, place), self._as(b, dtype, place)

    def _floats(self) -> DType:
        if not self.dtype.is_float:
            raise NeedsFloats
        return self.dtype

    def _arithmetic(self, value: Expr, place: tuple[int, int]) -> Expr:
        return self._as(value, self.dtype, place) if value.dtype is BOOL else value

    def _as(self, value: Written, dtype: DType, place: tuple[int, int]) -> Expr:
        """Return a value as an expression of this dtype."""
        if isinstance(value, Expr):
            if value.dtype.is_float and not dtype.is_float and dtype is not BOOL:
                self.formula.complain(place, "a number with a fraction cannot become an integer here")
            return self.k.cast(value, dtype)
        if isinstance(value, float) and not dtype.is_float:
            raise NeedsFloats
        try:
            return self.k.literal(int(value) if isinstance(value, bool) and dtype is not BOOL else value, dtype)
        except (ValueError, OverflowError):
            self.formula.complain(place, f"{value} is out of the range of {dtype.long_name}, which the operands have")

    def _truth(self, part: Part) -> Expr | bool:
        """Return a part as a condition: whether it is not 0."""
        value = self.value(part)
        if not isinstance(value, Expr):
            return bool(value)
        return value if value.dtype is BOOL else self.k.not_equal(value, 0)

    def _logic(self, part: Infix) -> Written:
        left, either = self._truth(part.left), part.operator == "||"
        if not isinstance(left, Expr):
            return left if left is either else self._truth(part.right)
        right = self._lazily(self.k.negation(left) if either else left, part.right, self._truth)
        if not isinstance(right, Expr):
            return right if right is either else left
        return self.k.either(left, right) if either else self.k.both(left, right)

    def _choice(self, part: Choice) -> Written:
        condition = self._truth(part.condition)
        if not isinstance(condition, Expr):
            return self.value(part.then if condition else part.otherwise)
        then = self._lazily(condition, part.then, self.value)
        otherwise = self._lazily(self.k.negation(condition), part.otherwise, self.value)
        if not isinstance(then, Expr) and not isinstance(otherwise, Expr):
            dtype = self._floats() if isinstance(then, float) or isinstance(otherwise, float) else self.dtype
            then = self._as(then, dtype, part.place)
        a, b = self._together(then, otherwise, part.place, compared=True)
        return self.k.select(condition, a, b)

    def _lazily(self, condition: Expr, part: Part, write: Callable[[Part], Any]) -> Any:
        """Write a part that C evaluates under a condition only."""
        self._paths.append(condition)
        try:
            return write(part)
        finally:
            self._paths.pop()

    def _variable(self, part: Variable) -> Written:
        found = self._names.get(part.name, CONSTANTS.get(part.name))
        if found is None:
            self._unknown(part.place, part.name, [*self._names, *CONSTANTS])
        if isinstance(found, Row):
            self.formula.complain(part.place, f"`{part.name}` is a row", f"write `{part.name}[i]` for one of its elements")
        return found

    def _unknown(self, place: tuple[int, int], name: str, known: Sequence[str]) -> NoReturn:
        near = difflib.get_close_matches(name, known, 1)
        self.formula.complain(place, f"`{name}` is not known here", (f"do you mean `{near[0]}`? " if near else "") + self.about)

    # -- functions
    def _applied(self, part: Application) -> Written:
        known = FUNCTIONS.get(part.function)
        if known is None:
            near = _FOR.get(part.function) or next(iter(difflib.get_close_matches(part.function, FUNCTIONS, 1)), "")
            self.formula.complain(part.place, f"there is no function `{part.function}` in a formula",
                                  f"{f'do you mean `{near}`? ' if near else ''}The functions are {', '.join(FUNCTIONS)}.")
        if len(part.arguments) != known.arity:
            self.formula.complain(part.place, f"`{part.function}` takes {known.arity} argument{'s' * (known.arity > 1)}, "
                                              f"but {len(part.arguments)} are given")
        given = [self.value(argument) for argument in part.arguments]
        numbers = [float(x) for x in given if not isinstance(x, Expr)]
        if len(numbers) == len(given):
            with np.errstate(all="ignore"):
                found = known.compute(*numbers)
            return bool(found) if part.function in _TESTS else float(found)
        dtype = self._dtype_of_call(part, given)
        return self._called(part.function, [self._as(x, dtype, part.place) for x in given], given[1:])

    def _dtype_of_call(self, part: Application, given: Sequence[Written]) -> DType:
        """Return the dtype in which a function is computed."""
        kinds = [x.dtype for x in given if isinstance(x, Expr) and x.dtype is not BOOL]
        floats = [kind for kind in kinds if kind.is_float]
        if floats:
            return max(floats, key=lambda kind: kind.size)
        if part.function in _OF_INTEGERS and kinds and not any(isinstance(x, float) for x in given):
            return kinds[0]
        return self._floats()

    def _called(self, function: str, values: list[Expr], more: Sequence[Written]) -> Expr:
        k, x = self.k, values[0]
        match function:
            case "abs" | "fmin" | "fmax":
                return self._selected(function, *values)
            case "pow" if not isinstance(more[0], Expr) and more[0] == 2:
                x = self._once(x)
                return x * x
            case "lgamma":
                return k.cast(k.call("adjoint_lgamma_f64", k.cast(x, F64)), x.dtype)
            case _:
                return k.call(function, *values)

    def _selected(self, function: str, *values: Expr) -> Expr:
        """Return `abs`, or the smaller or larger of two numbers: the other one if one is NaN."""
        k, a = self.k, self._once(values[0])
        if function == "abs":
            return k.call("fabs", a) if a.dtype.is_float else k.select(k.less(a, 0), -a, a)
        b = self._once(values[1])
        first = k.less_equal(a, b) if function == "fmin" else k.greater_equal(a, b)
        return k.select(k.either(first, k.not_equal(b, b)) if a.dtype.is_float else first, a, b)

    def _once(self, x: Expr) -> Expr:
        """Return a value that is used twice as a constant of C, unless C may not evaluate it at all."""
        return x if self._paths else self.k.let(x, "t")

    # -- rows
    def statements(self, sentences: Sequence[Sentence]) -> None:
        """Write statements into the kernel."""
        for sentence in sentences:
            match sentence:
                case Local():
                    self._local(sentence)
                case Assigned():
                    self._assign(sentence)
                case Counted():
                    self._loop(sentence)
                case IfElse():
                    self._branch(sentence)

    def _block(self, sentences: Sequence[Sentence]) -> None:
        """Write statements whose local variables end with them."""
        names, locals_, counters = dict(self._names), dict(self._locals), dict(self._counters)
        self.statements(sentences)
        self._names, self._locals, self._counters = names, locals_, counters

    def _new_name(self, place: tuple[int, int], name: str) -> None:
        if name in self._names or name in FUNCTIONS or name in CONSTANTS:
            self.formula.complain(place, f"`{name}` has a meaning already", "choose another name")

    def _local(self, sentence: Local) -> None:
        self._new_name(sentence.place, sentence.name)
        dtype = {"double": F64, "float": self.dtype, "int": I64, "bool": BOOL}[sentence.type]
        value = self._truth(sentence.value) if dtype is BOOL else self.value(sentence.value)
        made = self.k.local(self._fitting(value, dtype, sentence.place), sentence.name)
        self._names[sentence.name] = self._locals[sentence.name] = made

    def _fitting(self, value: Written, dtype: DType, place: tuple[int, int]) -> Expr:
        if dtype is I64 and isinstance(value, float):
            self.formula.complain(place, "a number with a fraction cannot become an integer here")
        return self._as(value, dtype, place)

    def _assign(self, sentence: Assigned) -> None:
        target, place = sentence.target, sentence.place
        if isinstance(target, Variable):
            if target.name not in self._locals:
                why = "the counter of a loop is not written" if target.name in self._counters else "it is not a local variable"
                self.formula.complain(place, f"`{target.name}` cannot be written: {why}",
                                      "a local variable is defined by its type: `double total = 0;`")
            at: Expr = self._locals[target.name]
        else:
            row = self._row(target)
            if not row.result:
                self.formula.complain(place, f"`{target.name}` cannot be written: it is an operand", "write the result: `out[i] = ...;`")
            at = row.buffer[row.base + self._index(target, row)]
        value = self.value(sentence.value)
        if sentence.operator:
            value = self.combined(sentence.operator, at, value, place)
        dtype = at.dtype
        self.k.set(at, self._truth_of(value) if dtype is BOOL else self._fitting(value, dtype, place))

    def _truth_of(self, value: Written) -> Expr:
        if isinstance(value, Expr):
            return value if value.dtype is BOOL else self.k.not_equal(value, 0)
        return self.k.literal(bool(value), BOOL)

    def _loop(self, sentence: Counted) -> None:
        self._new_name(sentence.place, sentence.variable)
        start, stop = (self._integer(part) for part in (sentence.start, sentence.stop))
        names, counters = dict(self._names), dict(self._counters)
        with self.k.loop(start, stop, sentence.variable, sentence.step) as counter:
            self._names[sentence.variable] = counter
            self._counters[sentence.variable] = self._range(sentence)
            self._block(sentence.body)
        self._names, self._counters = names, counters

    def _branch(self, sentence: IfElse) -> None:
        condition = self._truth(sentence.condition)
        if not isinstance(condition, Expr):
            self._block(sentence.body if condition else sentence.otherwise)
            return
        with self.k.when(condition):
            self._block(sentence.body)
        if sentence.otherwise:
            with self.k.otherwise():
                self._block(sentence.otherwise)

    # -- indices
    def _row(self, part: Element) -> Row:
        found = self._names.get(part.name)
        if found is None:
            self._unknown(part.place, part.name, [*self._names])
        if not isinstance(found, Row):
            self.formula.complain(part.place, f"`{part.name}` has no elements here", self.about)
        return found

    def _element(self, part: Element) -> Expr:
        row = self._row(part)
        return row.buffer[row.base + self._index(part, row)]

    def _integer(self, part: Part) -> Expr:
        value = self.value(part)
        if not _is_integer(value) or isinstance(value, bool) or (isinstance(value, Expr) and value.dtype is not I64):
            self.formula.complain(part.place, "expected an integer: a counter, a length, or a number without a point")
        return value if isinstance(value, Expr) else self.k.literal(value, I64)

    def _index(self, part: Element, row: Row) -> Expr:
        """Return an index as an expression; where it is not proved to be inside of the row, the kernel checks it first."""
        index = self._integer(part.index)
        if self._is_inside(part.index, row.size):
            return index
        k, self.checks = self.k, True
        index = k.let(index, "index")
        outside = k.either(k.less(index, 0), k.greater_equal(index, row.length))
        for path in reversed(self._paths):
            outside = k.both(path, outside)
        with k.when(outside):
            k.fail(1)
        return index

    def _is_inside(self, index: Part, size: str) -> bool:
        name, offset = self._moved(index)
        if name is None:
            return size == ONE and offset == 0
        counter = self._counters.get(name)
        return counter is not None and counter.size == size and counter.low is not None and counter.low + offset >= 0 \
            and counter.beyond + offset <= 0

    def _range(self, sentence: Counted) -> _Counter:
        """Return what is known of the counter of a loop."""
        name, offset = self._moved(sentence.start)
        outer = self._counters.get(name) if name is not None else _Counter(0, _ANY_SIZE, 0)
        low = None if outer is None or outer.low is None else outer.low + offset
        name, offset = self._moved(sentence.stop)
        if name is None:
            return _Counter(low, _ANY_SIZE, 0)
        outer = self._counters.get(name)
        if outer is not None:  # `j < i + offset`, and `i < size + beyond`
            return _Counter(low, outer.size, outer.beyond + offset - 1)
        return _Counter(low, _ANY_SIZE if name in self._locals else name, offset)

    def _moved(self, part: Part) -> tuple[str | None, int]:
        """Return a counter or a length by name, and the number that is added to it; no name for a number; "" for anything else."""
        match part:
            case Numeral(_, int() as value) if not isinstance(value, bool):
                return None, value
            case Variable(_, name):
                return name, 0
            case Infix(_, "+" | "-" as sign, left, Numeral(_, int() as value)):
                name, offset = self._moved(left)
                return name, offset + value if sign == "+" else offset - value
            case Infix(_, "+", Numeral(_, int() as value), right):
                name, offset = self._moved(right)
                return name, offset + value
            case _:
                return "", 0


ONE: Final = "1"
"""The size of a row with one element, in place of a name."""

_KNOWN: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: float(np.float64(a) / np.float64(b)),
    "%": lambda a, b: a % b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}
"""What operators give for two numbers that are known."""


def _is_integer(x: Written) -> bool:
    return x.dtype.is_integer if isinstance(x, Expr) else isinstance(x, int)


def costs(part: Part) -> int:
    """Return the time for one element, in additions of float32: a function takes about 8."""
    match part:
        case Numeral() | Variable():
            return 0
        case Element(_, _, index):
            return costs(index)
        case Prefix(_, _, operand):
            return 1 + costs(operand)
        case Infix(_, _, left, right):
            return 1 + costs(left) + costs(right)
        case Choice(_, condition, then, otherwise):
            return 1 + costs(condition) + costs(then) + costs(otherwise)
        case Application(_, _, arguments):
            return 8 + sum(map(costs, arguments))


def fills(sentences: Sequence[Sentence], result: str, size: str) -> bool:
    """Return True if statements surely write each element of the result's row: in a loop over all of it, or the only one."""
    for sentence in sentences:
        match sentence:
            case Assigned(_, Element(_, name, Numeral(_, 0)), "") if name == result and size == ONE:
                return True
            case Counted(_, counter, Numeral(_, 0), Variable(_, stop), 1, body) if stop == size:
                if any(isinstance(each, Assigned) and isinstance(each.target, Element) and each.target.name == result
                       and not each.operator and isinstance(each.target.index, Variable) and each.target.index.name == counter
                       for each in body):
                    return True
            case _:
                pass
    return False


