"""`mindspore._checkparam`: checks of arguments that programs call; each returns what it was given, or raises.

Numbers are compared by one of the relations below.  A bool is no number, a NumPy scalar is no int; not a number and infinity are refused
where a float is compared.  TypeError for another type, ValueError for another value.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from adjoint.common.dtype import TensorType
from adjoint.ir.types import DType

__all__ = [
    "EQ", "GE", "GT", "IN", "INC_BOTH", "INC_LEFT", "INC_NEITHER", "INC_RIGHT", "LE", "LT", "NE", "NOT_IN", "Rel", "Validator",
    "args_type_check", "check", "check_bool", "check_element_type_of_dict", "check_element_type_of_iterable", "check_equal_int",
    "check_file_name_by_regular", "check_float", "check_float_range", "check_hook_fn", "check_int", "check_int_range", "check_is_float",
    "check_is_int", "check_is_number", "check_isinstance", "check_negative_float", "check_negative_int", "check_non_negative_float",
    "check_non_negative_int", "check_non_negative_int_sequence", "check_non_positive_float", "check_non_positive_int", "check_number",
    "check_number_range", "check_positive_float", "check_positive_float_sequence", "check_positive_int", "check_positive_int_sequence",
    "check_size_and_element_type_of_tuple", "check_str_and_none_by_regular", "check_str_by_regular", "check_string", "check_subclass",
    "check_tensor_dtype_valid", "check_tensors_dtypes_same_and_valid", "check_type_name", "check_types_same_and_valid",
    "check_value_type", "is_stub_tensor", "once", "triple", "twice",
]

EQ, NE, LT, LE, GT, GE = 1, 2, 3, 4, 5, 6
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = 7, 8, 9, 10
IN, NOT_IN = 11, 12

_RELATIONS: dict[int, tuple[str, Callable[[Any, Any], bool]]] = {
    EQ: ("equal to", operator.eq), NE: ("other than", operator.ne), LT: ("below", operator.lt), LE: ("at most", operator.le),
    GT: ("above", operator.gt), GE: ("at least", operator.ge), IN: ("one of", lambda value, known: value in known),
    NOT_IN: ("none of", lambda value, known: value not in known),
}
_RANGES: dict[int, tuple[str, str, int, int]] = {
    INC_NEITHER: ("(", ")", GT, LT), INC_LEFT: ("[", ")", GE, LT), INC_RIGHT: ("(", "]", GT, LE), INC_BOTH: ("[", "]", GE, LE),
}
"""For each kind of range the brackets, and the relations of a value to the two ends."""


def _wrong(kind: type[Exception], prim_name: str | None, arg_name: str | None, expected: str, got: Any) -> Exception:
    place = f"For {prim_name!r}, the" if prim_name else "The"
    return kind(f"{place} argument {arg_name or 'value'!r} must be {expected}, but got {got!r} of type {type(got).__name__}.")


def _checked_type(value: Any, kind: type, arg_name: str | None, prim_name: str | None, expected: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(TypeError, prim_name, arg_name, expected, value)


def check(arg_name: str, arg_value: Any, value_name: str, value: Any, rel: int = EQ, prim_name: str | None = None,
          excp_cls: type[Exception] = ValueError) -> Any:
    """Return a value that stands in a relation to another one, which has a name of its own; raise `excp_cls` for another value."""
    words, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise _wrong(excp_cls, prim_name, arg_name, f"{words} {value_name}, which is {value!r}", arg_value)
    return arg_value


def _check_number(kind: type, arg_value: Any, value: Any, rel: int, arg_name: str | None, prim_name: str | None) -> Any:
    words, holds = _RELATIONS[rel]
    expected = f"{'an int' if kind is int else 'a float'} {words} {value!r}"
    _checked_type(arg_value, kind, arg_name, prim_name, expected)
    if kind is float and not math.isfinite(arg_value):
        raise _wrong(ValueError, prim_name, arg_name, "finite", arg_value)
    if not holds(arg_value, value):
        raise _wrong(ValueError, prim_name, arg_name, expected, arg_value)
    return arg_value


def check_int(arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """Return an int that stands in a relation to `value`."""
    return _check_number(int, arg_value, value, rel, arg_name, prim_name)


def check_float(arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """Return a finite float that stands in a relation to `value`."""
    return _check_number(float, arg_value, value, rel, arg_name, prim_name)


def _of_sign(kind: type, rel: int, name: str) -> Callable[..., Any]:
    def checked(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
        return _check_number(kind, arg_value, kind(0), rel, arg_name, prim_name)

    checked.__name__ = checked.__qualname__ = name
    checked.__doc__ = f"Return {'an int' if kind is int else 'a finite float'} that is {_RELATIONS[rel][0]} 0."
    return checked


check_positive_int, check_positive_float = _of_sign(int, GT, "check_positive_int"), _of_sign(float, GT, "check_positive_float")
check_negative_int, check_negative_float = _of_sign(int, LT, "check_negative_int"), _of_sign(float, LT, "check_negative_float")
check_non_positive_int = _of_sign(int, LE, "check_non_positive_int")
check_non_positive_float = _of_sign(float, LE, "check_non_positive_float")
check_non_negative_int = _of_sign(int, GE, "check_non_negative_int")
check_non_negative_float = _of_sign(float, GE, "check_non_negative_float")


def check_equal_int(arg_value: Any, value: int, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """Return an int that is equal to `value`."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_number(arg_name: str, arg_value: Any, value: Any, rel: int, prim_name: str | None) -> Any:
    """Return a number of any type that stands in a relation to `value`."""
    words, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise _wrong(ValueError, prim_name, arg_name, f"{words} {value!r}", arg_value)
    return arg_value


def check_number_range(arg_value: Any, lower_limit: Any, upper_limit: Any, rel: int, value_type: type, arg_name: str | None = None,
                       prim_name: str | None = None) -> Any:
    """Return a number of a type that lies in a range; the relation says which ends belong to it.  Not a number is accepted."""
    left, right, lower, upper = _RANGES[rel]
    expected = f"of type {value_type.__name__}, in the range {left}{lower_limit!r}, {upper_limit!r}{right}"
    _checked_type(arg_value, value_type, arg_name, prim_name, expected)
    outside = not (_RELATIONS[lower][1](arg_value, lower_limit) and _RELATIONS[upper][1](arg_value, upper_limit))
    if outside and arg_value == arg_value:
        raise _wrong(ValueError, prim_name, arg_name, expected, arg_value)
    return arg_value


def check_int_range(arg_value: Any, lower_limit: int, upper_limit: int, rel: int, arg_name: str | None = None,
                    prim_name: str | None = None) -> int:
    """Return an int that lies in a range."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value: Any, lower_limit: float, upper_limit: float, rel: int, arg_name: str | None = None,
                      prim_name: str | None = None) -> float:
    """Return a float that lies in a range."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_is_number(arg_value: Any, arg_type: type, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Return a finite number of a type."""
    _checked_type(arg_value, arg_type, arg_name, prim_name, f"of type {arg_type.__name__}")
    if isinstance(arg_value, float) and not math.isfinite(arg_value):
        raise _wrong(ValueError, prim_name, arg_name, "finite", arg_value)
    return arg_value


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """Return an int."""
    return check_is_number(arg_value, int, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """Return a finite float."""
    return check_is_number(arg_value, float, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """Return a bool."""
    if not isinstance(arg_value, bool):
        raise _wrong(TypeError, prim_name, arg_name, "a bool", arg_value)
    return arg_value


def check_string(arg_value: Any, valid_values: Sequence[str], arg_name: str | None = None, prim_name: str | None = None) -> str:
    """Return one of some strings; ValueError for any other value."""
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        raise _wrong(ValueError, prim_name, arg_name, f"one of {list(valid_values)}", arg_value)
    return arg_value


def _matching(pattern: str, flags: int) -> Callable[..., bool]:
    def matched(target: str, reg: str | None = None, flag: int = flags, prim_name: str | None = None) -> bool:
        if not isinstance(target, str):
            raise _wrong(TypeError, prim_name, None, "a str", target)
        if re.match(reg or pattern, target, flag) is None:
            raise _wrong(ValueError, prim_name, None, f"a str that the regular expression {reg or pattern!r} matches", target)
        return True

    return matched


def check_str_by_regular(target: str, reg: str | None = None, flag: int = re.ASCII, prim_name: str | None = None) -> bool:
    """Return True if a regular expression matches a text: by default letters, digits, underscores and points; ValueError if not."""
    return _matching(r"^\w[0-9a-zA-Z_.]*$", re.ASCII)(target, reg, flag, prim_name)


def check_str_and_none_by_regular(target: str, reg: str | None = None, flag: int = re.ASCII, prim_name: str | None = None) -> bool:
    """Return True if a regular expression matches a text: by default letters, digits, `_.-`, or nothing; ValueError if not."""
    return _matching(r"^[0-9a-zA-Z_.\-]*$", re.ASCII)(target, reg, flag, prim_name)


def check_file_name_by_regular(target: str, reg: str | None = None, prim_name: str | None = None) -> bool:
    """Return True if a regular expression matches a path: by default letters, digits and the characters `@_-.:/` and backslash."""
    return _matching(r"^[0-9a-zA-Z@_\-.:/\\]+$", 0)(target, reg, 0, prim_name)


def _named(kinds: Iterable[Any]) -> str:
    names = [kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds]
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """Return a value of one of some Python types.  A bool is of type int only if bool is one of the types."""
    types = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    if not isinstance(arg_value, types) or (isinstance(arg_value, bool) and bool not in types):
        raise _wrong(TypeError, prim_name, arg_name, f"of type {_named(types)}", arg_value)
    return arg_value


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """Return an instance of a class, or of one of a tuple of classes; ValueError for another value."""
    if not isinstance(arg_value, classes):
        raise _wrong(ValueError, None, arg_name, f"an instance of {classes!r}", arg_value)
    return arg_value


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None) -> Any:
    """Return a type, or a dtype, that is one of some."""
    known = list(valid_types) if isinstance(valid_types, Iterable) else [valid_types]
    if arg_type not in known:
        raise _wrong(TypeError, prim_name, arg_name, _named(known), arg_type)
    return arg_type


def _below(kind: Any, above: Any) -> bool:
    """Return whether a type is another one, a subclass of it, or a dtype or kind of tensors that it includes."""
    if kind == above:
        return True
    if isinstance(kind, type):
        return isinstance(above, type) and issubclass(kind, above)
    named = getattr(above, "name", "")
    if isinstance(kind, TensorType):
        return named == "Tensor"
    if not isinstance(kind, DType):
        return False
    return named == "Number" or named == {"f": "Float", "i": "Int", "u": "UInt", "b": "Bool"}[kind.kind]


def check_subclass(arg_name: str, type_: Any, template_types: Any, prim_name: str | None, addition_error_info: str | None = None) -> None:
    """Raise TypeError if a type, or a dtype, is below none of some.

    `number` is above all dtypes, `tensor_type` above all kinds of tensors.
    """
    known = list(template_types) if isinstance(template_types, Iterable) else [template_types]
    if not any(_below(type_, above) for above in known):
        raise _wrong(TypeError, prim_name, arg_name, _named(known) + (f" {addition_error_info}" if addition_error_info else ""), type_)


def check_tensor_dtype_valid(arg_name: str, arg_type: Any, valid_dtypes: Any, prim_name: str | None) -> None:
    """Raise TypeError if `arg_type` is not the kind of tensors, `TensorType`, of one of some dtypes."""
    known = list(valid_dtypes) if isinstance(valid_dtypes, Iterable) else [valid_dtypes]
    check_subclass(arg_name, arg_type, [TensorType(each) for each in known], prim_name)


def check_tensors_dtypes_same_and_valid(args: dict[str, Any], valid_dtypes: Any, prim_name: str | None) -> None:
    """Raise TypeError if some kinds of tensors, by name, are not all of one dtype, which is one of some."""
    for name, kind in args.items():
        check_tensor_dtype_valid(name, kind, valid_dtypes, prim_name)
    _check_same(args, prim_name)


def check_types_same_and_valid(args: dict[str, Any], valid_values: Any, prim_name: str | None) -> None:
    """Raise TypeError if some types, by name, are not all the same, which is one of some."""
    for name, kind in args.items():
        check_subclass(name, kind, valid_values, prim_name)
    _check_same(args, prim_name)


def _check_same(args: dict[str, Any], prim_name: str | None) -> None:
    first, *others = args
    for name in others:
        if args[name] != args[first]:
            raise _wrong(TypeError, prim_name, name, f"of the type of {first!r}, which is {args[first]}", args[name])


def _sequence(kind: type, rel: int) -> Callable[..., Any]:
    def checked(sequence: Iterable[Any], arg_name: str | None = None, prim_name: str | None = None) -> Any:
        for place, each in enumerate(sequence):
            _check_number(kind, each, kind(0), rel, f"{arg_name or 'value'}[{place}]", prim_name)
        return sequence

    return checked


def check_positive_int_sequence(sequence: Iterable[Any], arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Return a sequence of ints above 0."""
    return _sequence(int, GT)(sequence, arg_name, prim_name)


def check_non_negative_int_sequence(sequence: Iterable[Any], arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Return a sequence of ints of at least 0."""
    return _sequence(int, GE)(sequence, arg_name, prim_name)


def check_positive_float_sequence(sequence: Iterable[Any], arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Return a sequence of floats above 0."""
    return _sequence(float, GT)(sequence, arg_name, prim_name)


def check_element_type_of_iterable(arg_name: str, arg_value: Any, valid_types: Iterable[type], prim_name: str | None = None) -> None:
    """Raise TypeError if a value is no list or tuple of elements of some types."""
    check_value_type(arg_name, arg_value, (list, tuple), prim_name)
    for each in arg_value:
        check_value_type(arg_name, each, valid_types, prim_name)


def check_element_type_of_dict(arg_name: str, arg_value: Any, key_types: Iterable[type], value_types: Iterable[type],
                               prim_name: str | None = None) -> None:
    """Raise TypeError if a value is no dict with keys and values of some types."""
    check_value_type(arg_name, arg_value, (dict,), prim_name)
    for key, value in arg_value.items():
        check_value_type(arg_name, key, key_types, prim_name)
        check_value_type(arg_name, value, value_types, prim_name)


def check_size_and_element_type_of_tuple(arg_name: str, arg_value: Any, expect_size: int, expect_element_type: type,
                                         prim_name: str | None = None) -> None:
    """Raise an error if a value is no tuple of a size with elements of one type."""
    check_value_type(arg_name, arg_value, (tuple,), prim_name)
    check_equal_int(len(arg_value), expect_size, f"{arg_name} size", prim_name)
    for each in arg_value:
        check_value_type(arg_name, each, expect_element_type, prim_name)


def check_hook_fn(hook_fn: Any) -> None:
    """Raise TypeError if a value cannot be called."""
    if not callable(hook_fn):
        raise _wrong(TypeError, None, "hook_fn", "a function", hook_fn)


def is_stub_tensor(tensor: Any) -> bool:
    """Return False: a tensor has its values when an operator returns it."""
    return False


def args_type_check(*type_args: Any, **type_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: the arguments of a function must be instances of the given types, by position or by name; None passes.

    TypeError when the function is called with another value.
    """

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(fn)
        expected = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(fn)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in expected and value is not None and not isinstance(value, expected[name]):
                    kinds = expected[name] if isinstance(expected[name], tuple) else (expected[name],)
                    raise _wrong(TypeError, fn.__name__, name, f"of type {_named(kinds)}", value)
            return fn(*args, **kwargs)

        return checked

    return decorated


def _repeated(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def expanded(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple):
            return (value,) * count
        if len(value) != count:
            raise TypeError(f"A tuple of {count} must be given, or one value that is repeated, but got {value!r}.")
        return value

    return expanded


once, twice, triple = _repeated(1), _repeated(2), _repeated(3)

Rel = SimpleNamespace(**{name: globals()[name] for name in __all__ if name.isupper()})
"""The relations as attributes, as programs for MindSpore 1 read them."""
Validator = SimpleNamespace(**{
    **vars(Rel), **{name: globals()[name] for name in __all__ if name.startswith("check") or name == "args_type_check"}})
"""The checks as attributes, as programs for MindSpore 1 call them, and the relations: programs that try this name first, and take the
module of MindSpore 2 without it, read both.
"""
