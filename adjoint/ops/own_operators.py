"""`operator`: operators of the user's own, from a signature, a definition in NumPy, and perhaps C and a gradient.

    @adjoint.operator("sqmul(x, y, *, k=1.0)", c="x * x * y * k", bprop=sqmul_bprop)
    def sqmul(x, y, *, k):
        return x * x * y * k

It makes an op, that is a class of `ir/ops/defined.py`, and of that the function with this signature.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.kernel.formula import TYPES, Formula, parse_expression, parse_statements
from adjoint.ir.kernel.formula_writer import CONSTANTS, FUNCTIONS, NeedsFloats, costs
from adjoint.ir.op import Op, Sample, family, operation, registry, sample, withdraw
from adjoint.ir.ops.defined import Defined, DefinedElementwise, DefinedInNumPy, DefinedRows
from adjoint.ir.print import is_reserved
from adjoint.ir.public import Public
from adjoint.ir.types import BOOL, F32, FLOATS, I64, Type, tensor
from adjoint.ops.own_gradients import pulled_by
from adjoint.ops.publish import function_of_op
from adjoint.runtime.tensor.conversion import dtype_of_array
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["operands_sample", "operator", "operator_class"]

KINDS: Final = {"bool": bool, "int": int, "float": float, "str": str, "tuple[int, ...]": tuple}
"""The types that an attribute may have."""


def operator(
    signature: str,
    *,
    c: str | None = None,
    bprop: Callable[..., Any] | None = None,
    row: bool = False,
    infer: Callable[..., Any] | None = None,
    samples: Sequence[Any] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Make an operator of a function on NumPy arrays, as a decorator; return a function on Tensors.

        def cube_bprop(x, out, dout):
            return 3 * x * x * dout

        @adjoint.operator("cube(x)", c="x * x * x", bprop=cube_bprop)
        def cube(x):
            return x * x * x

    The operator runs in eager mode, in graphs and in IR text.  Tensors and numbers are brought to one dtype, and shapes broadcast, as for
    the operators of the library.  A name that is defined again, as in a notebook, means the new operator from then on.

    signature  the name, then the operands; parameters with a default or after `*` are attributes: numbers that are known when the operator
               is called.  Their type is that of the default, or an annotation: `scaled(x, *, times: int)`; otherwise it is float
    c          an expression of C for one element, in the names of operands and attributes: it is compiled, and fuses with its neighbours.
               With `row=True` statements over one row, the last axis: `x[i]` is an element of an operand, `out[i]` one of the result,
               and `n` the length of the row.  None: the definition in NumPy computes the operator.  If the expression divides, calls a
               function of floats or has a number with a point, integers become Float32
    bprop      the gradient: takes the operands, the result and its gradient as Tensors, and the attributes by name; returns a gradient
               for each operand, or None for one without.  It calls operators on Tensors, and may not use their numbers in Python.  Where
               operands were broadcast, gradients are summed
    row        True: `c` is statements over a row.  Operands have the same rows; one of a single axis is given whole to each row.  The
               lengths of the rows may differ if there is `infer`: `n_x` is that of operand x, `n_out` that of the result
    infer      for `row=True`, or without `c`: takes the shapes of the operands, and the attributes by name; returns the shape of the
               result, or (shape, dtype).  By default the result has the shape that the operands broadcast to
    samples    operands for `adjoint.testing.check_operator`: tuples of a shape or an array for each operand, and perhaps a dict of
               attributes at the end, or `adjoint.testing.sample(...)`

    TypeError or ValueError for an argument that does not fit; CompileError with a caret for a mistake in `c`.
    """
    parts = _signature(signature, row)
    name = parts.name
    if c is not None and not isinstance(c, str):
        raise _wrong(name, "c", "a str", c)
    check_flag(name, "row", row)
    for argument, given in (("bprop", bprop), ("infer", infer)):
        if given is not None and not callable(given):
            raise _wrong(name, argument, "a function", given)
    if row and c is None:
        raise _wrong(name, "c", "statements over a row, since 'row' is True", c, ValueError)
    if infer is not None and c is not None and not row:
        raise ValueError(f"For '{name}', the argument 'infer' is for statements over a row, or without `c`: an expression for one element "
                         "gives the shape that the operands broadcast to.")
    if bprop is not None:
        _check_parameters(name, "bprop", bprop, [*parts.operands, "out", "dout"], parts.attributes)
    if infer is not None:
        _check_parameters(name, "infer", infer, parts.operands, parts.attributes)

    def made(definition: Callable[..., Any]) -> Callable[..., Tensor]:
        if not callable(definition):
            raise _wrong(name, "definition", "a function on NumPy arrays", definition)
        _check_parameters(name, "definition", definition, parts.operands, parts.attributes)
        kind = family(_class(parts, definition, c, bprop, row, infer))
        _try(kind)
        kind.samples = tuple(_samples(kind, samples))
        if (old := registry().get(name)) is not None:
            withdraw(old)
        operation(kind)
        function = function_of_op(kind, Public(signature, methods="", primitives=""))
        function.__doc__ = definition.__doc__
        function.__module__ = getattr(definition, "__module__", function.__module__)
        function.__wrapped_operator__ = kind  # pyright: ignore[reportFunctionMemberAccess] - it is read by `operator_class`
        return function

    return made


def operator_class(function: Any) -> type[Op]:
    """Return the class of the op of an operator: of a function that `operator` has made, of an op's name, or of the class itself.

    TypeError for anything else.
    """
    kind = getattr(function, "__wrapped_operator__", function)
    if isinstance(kind, str) and kind in registry():
        return registry()[kind]
    if isinstance(kind, type) and issubclass(kind, Op):
        return kind
    raise TypeError(f"expected an operator that `adjoint.operator` has made, or the name of an op, but got {function!r}")


# -- the signature ---------------------------------------------------------------------------------------------------------
class _Attribute(NamedTuple):
    """A parameter that is an attribute: its name, its type as text, and its default; `...` if it must be given."""

    name: str
    type: str
    default: Any


class _Signature(NamedTuple):
    """The name of an operator, the names of its operands, and its attributes."""

    name: str
    operands: tuple[str, ...]
    attributes: tuple[_Attribute, ...]


_FORM: Final = "a name and parameters, such as 'sqmul(x, y, *, k=1.0)'"
_TAKEN: Final = {"out", "dout", *FUNCTIONS, *CONSTANTS, *TYPES}


def _signature(signature: Any, row: bool) -> _Signature:
    """Take a signature apart; ValueError if it cannot be that of an operator."""
    if not isinstance(signature, str):
        raise _wrong("operator", "signature", _FORM, signature)
    try:
        (function,) = ast.parse(f"def {signature}: ...").body
    except (SyntaxError, ValueError):
        function = None
    if not isinstance(function, ast.FunctionDef) or function.returns is not None or not signature.rstrip().endswith(")"):
        raise _wrong("operator", "signature", _FORM, repr(signature), ValueError)
    name, given = function.name, function.args
    _check_name(name)
    if given.posonlyargs or given.vararg or given.kwarg:
        raise _wrong(name, "signature", f"{_FORM}, without `/`, `*args` and `**kwargs`", repr(signature), ValueError)
    count = len(given.args) - len(given.defaults)
    defaults = [*given.defaults, *given.kw_defaults]
    operands = tuple([parameter.arg for parameter in given.args[:count]])
    attributes = tuple([_attribute(name, parameter, default)
                        for parameter, default in zip([*given.args[count:], *given.kwonlyargs], defaults, strict=True)])
    if not operands:
        raise _wrong(name, "signature", f"{_FORM}, with at least one operand", repr(signature), ValueError)
    for parameter in (*operands, *[attribute.name for attribute in attributes]):
        if parameter in _TAKEN or parameter.startswith(("_", "adjoint_")) or (row and (parameter == "n" or parameter.startswith("n_"))):
            raise ValueError(f"For '{name}', no operand or attribute may be called '{parameter}', which has a meaning of its own in "
                             "formulas: choose another name.")
    return _Signature(name, operands, attributes)


def _check_name(name: str) -> None:
    known = registry().get(name)
    if known is not None and not issubclass(known, Defined):
        raise ValueError(f"For 'operator', the name '{name}' is that of an op of the library: choose another one.")
    if name.startswith(("_", "adjoint_")) or is_reserved(name) or keyword.iskeyword(name):
        raise ValueError(f"For 'operator', the name '{name}' has a meaning of its own in the text of graphs: choose another one.")


def _attribute(name: str, parameter: ast.arg, default: ast.expr | None) -> _Attribute:
    """Return an attribute with its type: that of its annotation, or of its default; otherwise float."""
    try:
        value = ... if default is None else ast.literal_eval(default)
    except ValueError:
        value = None
    annotation = None if parameter.annotation is None else ast.unparse(parameter.annotation)
    if annotation is None:
        annotation = "float" if value is ... else next((text for text, kind in KINDS.items() if type(value) is kind), "")
    if annotation == "float" and type(value) is int:
        value = float(value)
    if annotation not in KINDS or (value is not ... and type(value) is not KINDS[annotation]):
        raise ValueError(f"For '{name}', the attribute '{parameter.arg}' must have a default of one of the types {', '.join(KINDS)}, or "
                         f"such an annotation, but got '{ast.unparse(parameter)}"
                         f"{'' if default is None else f' = {ast.unparse(default)}'}'.")
    return _Attribute(parameter.arg, annotation, value)


def _check_parameters(name: str, argument: str, function: Callable[..., Any], operands: Sequence[str],
                      attributes: Sequence[_Attribute]) -> None:
    """Raise ValueError if a function of the user cannot be called with the operands in order, and the attributes by name."""
    wanted = f"({', '.join([*operands, *(['*'] if attributes else []), *[each.name for each in attributes]])})"
    try:
        own = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a function of C, such as a ufunc of NumPy, does not say what it takes
    try:
        own.bind(*operands, **{each.name: None for each in attributes})
    except TypeError as reason:
        raise ValueError(f"For '{name}', the function '{argument}' must take {wanted}, but it takes {own}: {reason}.") from None
    positional = [p.name for p in own.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][: len(operands)]
    if argument != "bprop" and len(positional) == len(operands) and set(positional) == set(operands) and positional != [*operands]:
        raise ValueError(f"For '{name}', the function '{argument}' must take its operands in the order {wanted}, but it takes {own}.")


# -- the class -------------------------------------------------------------------------------------------------------------
def _class(parts: _Signature, definition: Callable[..., Any], c: str | None, bprop: Callable[..., Any] | None, row: bool,
           infer: Callable[..., Any] | None) -> type[Defined]:
    """Make the class of the op; its formula is parsed, but not tried."""
    base = DefinedInNumPy if c is None else DefinedRows if row else DefinedElementwise
    code = getattr(definition, "__code__", None)
    made: dict[str, Any] = {
        "__doc__": definition.__doc__ or f"The operator `{parts.name}` of the user's own.",
        "__module__": __name__,  # types of attributes are looked up there; the user's module may be none that Python knows
        "__annotations__": {each.name: each.type for each in parts.attributes},
        **{each.name: each.default for each in parts.attributes if each.default is not ...},
        "name": parts.name, "takes": parts.operands, "definition": staticmethod(definition),
        "place": f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code is not None else "",
    }
    if bprop is not None:
        made["pull"] = staticmethod(pulled_by(bprop))
    if infer is not None:
        made["inference"] = staticmethod(infer)
    if c is not None:
        formula = Formula(parts.name, c)
        tree = parse_statements(formula) if row else parse_expression(formula)
        made |= {"formula": formula, "tree": tree, "about": _about(parts, row, infer)}
    kind: Any = type(parts.name, (base,), made)
    return kind


def _about(parts: _Signature, row: bool, infer: Callable[..., Any] | None) -> str:
    """Return a line for messages that lists what a formula may use."""
    operands = f"The operand{'s are' if len(parts.operands) > 1 else ' is'} {', '.join(parts.operands)}"
    attributes = f"the attribute{'s are' if len(parts.attributes) > 1 else ' is'} {', '.join(each.name for each in parts.attributes)}"
    lengths = "the result is out, the length of a row is n" if infer is None else \
        f"the result is out, the lengths of rows are {', '.join(f'n_{name}' for name in parts.operands)} and n_out"
    return "; ".join([operands, *([attributes] if parts.attributes else []), *([lengths] if row else [])]) + "."


def _try(kind: type[Defined]) -> None:
    """Write the formula of an operator once, for what it depends on: whether it gives a bool, takes integers, and checks indices.

    CompileError for a mistake in the formula.
    """
    trial = {name: getattr(kind, name, _TRIAL[kind.__annotations__[name]]) for name in kind.fields}
    op = kind(**trial)
    if isinstance(op, DefinedElementwise):
        cost = 1 + costs(kind.tree)  # pyright: ignore[reportAttributeAccessIssue] - of formulas
        kind.cost = cost  # pyright: ignore[reportAttributeAccessIssue] - of elementwise ops
        if op.tried(F32).dtype is BOOL:
            kind.yields = BOOL  # pyright: ignore[reportAttributeAccessIssue] - of elementwise ops
        try:
            op.tried(I64)
        except NeedsFloats:
            kind.accepts = FLOATS
    elif isinstance(op, DefinedRows):
        kind.checks = op.tried()  # pyright: ignore[reportAttributeAccessIssue] - of rows


_TRIAL: Final = {"bool": True, "int": 1, "float": 1.0, "str": "", "tuple[int, ...]": ()}
"""For each type of an attribute the value with which a formula is tried if there is no default."""


# -- samples ---------------------------------------------------------------------------------------------------------------
def _samples(kind: type[Defined], given: Sequence[Any]) -> Iterable[Sample]:
    """Return the user's samples; without any, one in which all operands have one shape, if each attribute has a default."""
    if not isinstance(given, (list, tuple)):
        raise _wrong(kind.name, "samples", "a list of tuples with a shape or an array for each operand", given)
    if not given and all(hasattr(kind, name) for name in kind.fields):
        yield operands_sample(*[(3, 4)] * len(kind.takes))
    for each in given:
        if isinstance(each, Sample):
            yield each
            continue
        items = list(each) if isinstance(each, (list, tuple)) else [each]
        attributes = items.pop() if items and isinstance(items[-1], dict) else {}
        if len(items) != len(kind.takes):
            raise ValueError(f"For '{kind.name}', a tuple in the argument 'samples' must have a shape or an array for each of the operands "
                             f"{', '.join(kind.takes)}, and perhaps a dict of attributes, but got {each!r}.")
        unknown = [name for name in attributes if name not in kind.fields]
        if unknown:
            raise ValueError(f"For '{kind.name}', a dict in the argument 'samples' must hold attributes, "
                             f"{', '.join(kind.fields) or 'none'}, but got {unknown[0]!r}.")
        yield operands_sample(*items, **attributes)


def operands_sample(*operands: Any, domain: tuple[float, float] | Sequence[tuple[float, float]] = (-2.0, 2.0), smooth: bool = True,
                    **attributes: Any) -> Sample:
    """Return operands with which an operator is checked.

    operands    for each operand a shape, whose numbers are drawn, or an array.  Floats are tried in all dtypes of floats
    domain      the interval from which numbers are drawn, or one for each operand
    smooth      False where the gradient is not to be compared with finite differences: at a kink or a step
    attributes  the attributes of the operator
    """
    types: list[Any] = []
    values: dict[int, Any] = {}
    for i, item in enumerate(operands):
        if isinstance(item, Type):
            types.append(item)
        elif isinstance(item, tuple) and all(isinstance(n, int) for n in item):
            types.append(tensor(F32, item))
        else:
            array = item.asnumpy() if isinstance(item, Tensor) else np.asarray(item)
            types.append(tensor(F32 if array.dtype.kind == "f" else dtype_of_array(array), array.shape))
            values[i] = array
    return sample(*types, domain=domain, smooth=smooth, values=values, **attributes)


def _wrong(name: str, argument: str, expected: str, got: object, kind: type[Exception] = TypeError) -> Exception:
    shown = got if isinstance(got, str) or got is None else f"{got!r} of type {type(got).__name__}"
    return kind(f"For '{name}', the argument '{argument}' must be {expected}, but got {shown}.")
