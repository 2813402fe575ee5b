"""Make the function and the Primitive of an op from the `public` of its class (`ir/public.py`).

They are written as Python and compiled, so that their signatures, and Python's own errors for missing and unknown arguments, are those of
functions written by hand:

    def power(x, exponent=2.0):
        op = Power(real("Power", "exponent", exponent))
        return apply(op, operand(op, x, "x"))

The functions of most ops have the same text, but for the op: it is compiled once.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.ir.op import Op
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.public import Public
from adjoint.ir.types import BOOL, DType
from adjoint.ops.arguments import flag, float_tensor, floating, operand, real, sizes_argument, truth, whole, wrong
from adjoint.ops.primitive import Primitive, plain
from adjoint.runtime.tensor.operators import binary, together
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["Names", "Parameters", "function_of_op", "parameters", "published"]


class Names(NamedTuple):
    """The public names of an op with what each stands for.

    A method whose name ends in `_` stands for the function whose result is written into the tensor.
    """

    functions: dict[str, Callable[..., Any]]
    primitives: dict[str, type[Primitive]]
    methods: dict[str, Callable[..., Any]]

    def add(self, names: Names) -> None:
        """Add the names of another op; raise TypeError for one that there is already."""
        twice = [name for present, further in zip(self, names, strict=True) for name in further if name in present]
        if twice:
            raise TypeError(f"two ops, or two `public` of one, have the name {twice[0]!r}")
        self.functions.update(names.functions)
        self.primitives.update(names.primitives)
        self.methods.update(names.methods)


class Parameters(NamedTuple):
    """The parameters of a function that applies an op.

    operands    names of those that are operands
    attributes  for each other one the field of the op's class that it sets
    written     the attributes with their defaults, as in a `def`: "*, exponent=2.0"
    """

    operands: tuple[str, ...]
    attributes: dict[str, dataclasses.Field[Any]]
    written: str


def published(kind: type[Op]) -> Names:
    """Make what an op's class describes in `public`; raise TypeError for a signature that does not fit the op."""
    names = Names({}, {}, {})
    for public in kind.publics():
        function = function_of_op(kind, public)
        names.add(Names(
            dict.fromkeys(public.function_names, function),
            {name: _primitive(name, kind, public, function) for name in public.primitive_names(kind)},
            dict.fromkeys(public.method_names, function)))
    return names


def parameters(kind: type[Op], public: Public) -> Parameters:
    """Return what the parameters in a signature stand for; raise TypeError for one that does not fit the op."""
    if not kind.attributes():
        # By hand: it is done for most ops whenever the package is imported.
        return Parameters(tuple(public.signature[:-1].partition("(")[2].split(", ")), {}, "")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    attributes = [fields[name] for name in kind.attributes()]
    try:
        (function,) = ast.parse(f"def {public.signature}: ...").body
    except SyntaxError:
        function = None
    if not isinstance(function, ast.FunctionDef):
        raise _misfit(kind, public)
    given = function.args
    count = len(given.args) + len(given.kwonlyargs) - len(attributes)
    if count < 0 or given.posonlyargs or given.vararg or given.kwarg or len(given.defaults) > len(given.args) - count:
        raise _misfit(kind, public)
    operands = tuple(parameter.arg for parameter in given.args[:count])
    others = [parameter.arg for parameter in (*given.args[count:], *given.kwonlyargs)]
    given.args = given.args[count:]
    return Parameters(operands, dict(zip(others, attributes, strict=True)), ast.unparse(given))


def _misfit(kind: type[Op], public: Public) -> TypeError:
    attributes = ", ".join(kind.attributes())
    return TypeError(f"op {kind.name}: the signature {public.signature!r} must have a name, a parameter without a default for each operand"
                     + (f", and then one for each attribute: {attributes}" if attributes else ""))


def function_of_op(kind: type[Op], public: Public) -> Callable[..., Any]:
    """Make the function that applies an op; TypeError for a signature that does not fit the op."""
    operands, attributes, _ = parameters(kind, public)
    names = _operand_names(kind)
    if len(names) != len(operands) or not all(map(str.isidentifier, (public.name, *operands))):
        raise _misfit(kind, public)
    pair = issubclass(kind, Elementwise) and len(operands) == 2
    brought = "together" if kind.by_program else public.operands or ("promoted" if pair else "tensors")
    lines = [f"def made({public.signature.partition('(')[2]}:"]
    if attributes:
        lines.append(f"    _op = _kind({_checked(kind, attributes)})")
    values = ", ".join(_ALREADY.get(brought, "{0}").format(name, brought=_BROUGHT[brought].format(name)) for name in operands)
    lines.append(f"    return {_APPLIED.get(brought, '_apply')}(_op, {values})")
    function = _maker("_kind" if attributes else "_op", *lines)(kind if attributes else kind())
    function.__name__ = function.__qualname__ = name = public.name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__doc__ = _documented(kind.documentation(), dict(zip(names, operands, strict=True)), brought)
    return function


def _primitive(name: str, kind: type[Op], public: Public, function: Callable[..., Any]) -> type[Primitive]:
    operands, attributes, written = parameters(kind, public)
    if not attributes:
        return plain(name, function)
    made = _maker(
        "_function",
        "class made(_Primitive):",
        f"    def __init__(self, {written}):",
        f"        _Primitive.__init__(self, None, {_checked(kind, attributes, named=True)})",
        f"    def __call__(self, {', '.join(operands)}):",
        f"        return _function({', '.join((*operands, *(f'{attribute}=self.{attribute}' for attribute in attributes)))})",
    )(function)
    made.__name__ = made.__qualname__ = name
    made.__doc__, made.__module__ = function.__doc__, "adjoint.ops.operations"
    return made


@functools.cache
def _maker(free: str, *lines: str) -> Callable[[Any], Any]:
    """Compile a definition of `made`, once for all ops with the same text; return a function of the value of its free name."""
    text = "\n    ".join([f"def maker({free}):", *lines, "return made"])
    # In the directory of this package: tracebacks, and messages that show the line of the user, leave it out.
    defined: dict[str, Any] = {}
    exec(compile(text, os.path.join(os.path.dirname(__file__), "<made by publish.py>"), "exec"), _SPACE, defined)
    return defined["maker"]


# Arguments --------------------------------------------------------------------------------------------------------------

_BROUGHT = {
    "tensors": "_operand(_op, {0}, '{0}')",
    "floats": "_inexact_tensor(_op, {0}, '{0}')",
    "to floats": "_floating(_operand(_op, {0}, '{0}'))",
    "to bools": "_truth(_op, '{0}', {0})",
    "promoted": "{0}",
    "together": "{0}",
}
"""For each kind of operand how it is given to the op."""

_ALREADY = {
    "tensors": "{0} if {0}.__class__ is _Tensor else {brought}",
    "floats": "{0} if {0}.__class__ is _Tensor and {0}.type.dtype.is_inexact else {brought}",
    "to floats": "{0} if {0}.__class__ is _Tensor and {0}.type.dtype.is_inexact else {brought}",
    "to bools": "{0} if {0}.__class__ is _Tensor and {0}.type.dtype is _BOOL else {brought}",
}
"""For those kinds the same without a call where the operand is what it should be, as nearly always."""

_APPLIED = {"promoted": "_binary", "together": "_together"}
"""What applies the op, where it brings the operands to one dtype itself."""


def _text(op: str, argument: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise wrong(op, argument, "a str", value, TypeError)


def _dtype(op: str, argument: str, value: Any) -> DType:
    if isinstance(value, DType):
        return value
    raise wrong(op, argument, "a dtype such as float32", value if not isinstance(value, str) else repr(value), TypeError)


def _whole_numbers(op: str, argument: str, value: Any) -> tuple[int, ...]:
    return tuple(whole(op, argument, size) for size in sizes_argument(op, argument, value, least=None))


def _inexact_tensor(op: Op | str, x: Any, argument: str) -> Tensor:
    """Return `x` if it is a Tensor of a floating point or complex type, of which the op takes those that it takes; else raise TypeError."""
    found = operand(op, x, argument)
    return found if found.dtype.is_complex else float_tensor(op, found, argument)


_CHECKS: dict[str, Callable[[str, str, Any], Any]] = {
    "bool": flag, "int": whole, "float": real, "str": _text, "DType": _dtype, "tuple[int, ...]": _whole_numbers,
}
"""For each type with which an attribute may be annotated the check of its argument; the op itself checks others."""


def _checked(kind: type[Op], attributes: dict[str, dataclasses.Field[Any]], *, named: bool = False) -> str:
    """Return the arguments of a call that makes the op, or with `named` its Primitive."""
    written: list[str] = []
    for name, field in attributes.items():
        type_ = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
        value = f"_checks[{type_!r}]({kind.__name__!r}, {name!r}, {name})" if type_ in _CHECKS else name
        written.append(f"{name}={value}" if named else value)
    return ", ".join(written)


_SPACE: dict[str, Any] = {
    "__name__": "adjoint.ops", "_Primitive": Primitive, "_Tensor": Tensor, "_BOOL": BOOL, "_apply": apply, "_binary": binary,
    "_together": together, "_operand": operand,
    "_inexact_tensor": _inexact_tensor, "_floating": floating, "_truth": truth, "_checks": _CHECKS,
}
"""The globals of functions; a parameter may have any name that does not begin with `_`."""


# Documentation ----------------------------------------------------------------------------------------------------------

_SENTENCES = {
    "to floats": "\n\nIntegers and bools become Float32.",
    "to bools": "\n\nNumbers other than 0 are true.",
    "promoted": "\n\nThe operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.",
}
_GRADIENT = re.compile(r"\ngradient  .*(?:\n {2,}.*)*")


def _documented(text: str, renamed: dict[str, str], brought: str) -> str:
    """Return the docstring of a function: the prose of the op's, what the operands may be, and the gradient, with the operands renamed."""
    prose = text.rpartition("\n\n")[0] or text
    found = _GRADIENT.search(text)
    gradient = found[0] if found else ""
    if re.search(r"\bct\b", gradient):
        gradient += "\nct        the gradient of the result"
    words = re.compile(rf"\b({'|'.join(renamed)})\b")
    shown = words.sub(lambda name: renamed[name[1]], f"{prose}{_SENTENCES.get(brought, '')}\n{gradient}")
    return "Return the " + shown[4:] if shown.startswith("The ") else shown


def _operand_names(kind: type[Op]) -> tuple[str, ...]:
    """Return the names that an op's class gives its operands."""
    if issubclass(kind, Elementwise) or kind.by_program:
        return kind.takes  # pyright: ignore[reportAttributeAccessIssue] - ops of programs have it
    code = kind.infer.__code__
    return code.co_varnames[1 : code.co_argcount]
