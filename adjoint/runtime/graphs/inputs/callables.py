"""What graphs need to know of a callable (a function, a method or a cell): how it is called on symbolic arguments, its name, its
arguments'.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import Loc, user_place
from adjoint.ir.core import symbol_like
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.process.location import definition
from adjoint.runtime.tensor.structure import Gap, leaves

__all__ = ["cell_on", "definition_of", "function_on", "method_on", "names_of", "parameters_of", "symbol_of", "title_of",
           "weak_function_on"]


# -- how a lowering calls it: the subject first, then the lowering and the arguments -------------------------------------------
def function_on(function: Any, lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call(function, args, kwargs)


def method_on(function: Any, reference: Callable[[], Cell | None], lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call(function, (reference(), *args), kwargs)


def weak_function_on(reference: Callable[[], Any], lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call(reference(), args, kwargs)


def cell_on(reference: Callable[[], Cell | None], lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return lowering.call_cell(reference(), args, kwargs)


# -- names --------------------------------------------------------------------------------------------------------------
def definition_of(named: Any) -> Loc:
    """Return the location in the user's source of the definition of a function, or of a Cell's construct.

    named  the function or Cell
    """
    return definition(named.construct if isinstance(named, Cell) else inspect.unwrap(named))


def symbol_of(named: Any) -> str:
    name = type(named).__name__ if isinstance(named, Cell) else getattr(named, "__name__", "f")
    return symbol_like(name, "f")


def title_of(named: Any) -> str:
    """Return the name of the function or Cell, with the line of its definition: `step (net.py:12)`.

    named  the function or Cell
    """
    name = type(named).__name__ if isinstance(named, Cell) else getattr(named, "__qualname__", "f").rpartition("<locals>.")[2]
    place = user_place(definition_of(named))
    return name if place is None else f"{name} ({place.file}:{place.line})"


def parameters_of(named: Any) -> list[str]:
    """Return the names of the parameters that a call can pass by position, without `self`; an empty list if they are not known.

    named  the function or Cell that is called; a Cell has the parameters of its `construct`
    """
    function = named.construct if isinstance(named, Cell) else named
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    return names[1:] if names[:1] == ["self"] else names


def names_of(named: Any, template: Template) -> list[str]:
    """Return a name for each tensor among the arguments of a call, made from the function's parameters, for the text of the IR.

    named     the function or Cell
    template  the structure of the arguments
    """
    function = named.construct if isinstance(named, Cell) else named
    try:
        code = inspect.unwrap(getattr(function, "__func__", function)).__code__
    except AttributeError:
        return []
    parameters = list(code.co_varnames[: code.co_argcount])
    args, kwargs = template.build([Gap(i) for i in range(len(template.types))])
    if isinstance(named, Cell) or (parameters[:1] == ["self"] and len(args) < len(parameters)):
        parameters = parameters[1:]
    if code.co_flags & inspect.CO_VARARGS:
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        parameters += [f"{rest}_{i}" for i in range(len(args) - len(parameters))]
    names: dict[int, str] = {}
    for name, value in [*zip(parameters, args, strict=False), *kwargs.items()]:
        gaps = leaves(value, Gap)
        names.update({gap.index: name if len(gaps) == 1 else f"{name}_{i}" for i, gap in enumerate(gaps)})
    return [names.get(i, "x") for i in range(len(template.types))]
