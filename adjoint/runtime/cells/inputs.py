"""The inputs that a Cell declares (`set_inputs`), and the check of a call against them.

    net.set_inputs(Tensor(shape=[3, None], dtype=float32), 2)

A dimension of None accepts any size.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from adjoint.runtime.process import graph_mode
from adjoint.runtime.tensor.description import Description
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["check_call", "declared"]


_SPECIFIED, _TOTAL = "arg_specified_infos", "total_arg_length"


def declared(construct: Callable[..., Any], inputs: tuple[Any, ...], by_name: dict[str, Any]) -> Any:
    """Check the inputs that `set_inputs(*inputs, **by_name)` is given; return them in the form in which the Cell stores them.

    ValueError for positional and named inputs at once and for a name that construct does not have; in graph mode TypeError for a
    number of inputs that construct does not take.
    """
    if inputs and by_name:
        raise ValueError(f"For Cell, set_inputs should only set inputs or kwargs(inputs: {inputs}, kwargs: {by_name})!")
    parameters = list(inspect.signature(construct).parameters.values())
    variable = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    if by_name:
        if variable:
            raise TypeError("Dynamic arguments is not accepted for VAR_POSITIONAL or VAR_KEYWORD parameters!")
        names = [p.name for p in parameters]
        for name in by_name:
            if name not in names:
                raise ValueError(f"For dict mode, valid key is {names}, but got {name}!")
        return {_SPECIFIED: [[names.index(name), value] for name, value in by_name.items()], _TOTAL: len(names)}
    if graph_mode.mode and not variable:
        needed = sum(p.default is p.empty for p in parameters)
        if len(inputs) < needed:
            raise TypeError(f"For 'Cell', the function construct requires {needed} positional argument, but got {len(inputs)}. When "
                            "using set_inputs, please make sure that all networks and loss functions are configured with set_inputs.")
        if len(inputs) > len(parameters):
            raise TypeError(f"For 'Cell', the function construct requires {needed} positional argument and {len(parameters) - needed} "
                            f"default argument, total {len(parameters)}, but got {len(inputs)}.")
    return inputs


def check_call(construct: Callable[..., Any], said: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check the arguments of a call against the inputs that `set_inputs` has declared; ValueError or TypeError if they do not fit.

    said  the declared inputs, as `declared` returns them
    """
    try:
        bound = inspect.signature(construct).bind(*args, **kwargs)
    except TypeError:
        return  # the call itself raises the error
    given = list(bound.arguments.values())
    if isinstance(said, dict):
        names = list(inspect.signature(construct).parameters)
        for index, expected in said[_SPECIFIED]:
            if names[index] in bound.arguments:
                _check(index + 1, expected, bound.arguments[names[index]])
        return
    if len(said) != len(given):
        raise ValueError(f"For set_inputs, the length of input must be equal to expected one, but got expected: {len(said)} "
                         f"and input: {len(given)}!")
    for position, (expected, got) in enumerate(zip(said, given, strict=True), 1):
        _check(position, expected, got)


_WHERE = "For set_inputs or tuple(list) in set_inputs, "


def _check(position: int, expected: Any, got: Any) -> None:
    if isinstance(expected, (tuple, list)):
        if not isinstance(got, (tuple, list)):
            raise TypeError(f"{_WHERE}the {position}th should be a {type(expected).__name__}, but got {type(got).__name__}!")
        if len(expected) != len(got):
            raise ValueError(f"{_WHERE}the {position}th should have {len(expected)} items, but got {len(got)}!")
        for inner, value in zip(expected, got, strict=True):
            _check(position, inner, value)
    elif isinstance(expected, Tensor):
        if not isinstance(got, Tensor):
            raise TypeError(f"{_WHERE}the {position}th should be mutable one, but got static!")
        if expected.dtype is not got.dtype:
            raise TypeError(f"{_WHERE}the {position}th type should be Tensor[{expected.dtype.long_name}], "
                            f"but got Tensor[{got.dtype.long_name}]!")
        if Description.fits(expected, got.shape):
            return
        if expected.ndim != got.ndim:
            raise ValueError(f"{_WHERE}the dims of {position}th input must be the same as expected, "
                             f"but got expected: {expected.ndim}, and input: {got.ndim}!")
        of_any_size = isinstance(expected, Description)
        for size, other in zip(expected.shape, got.shape, strict=True):
            if size != other and not (of_any_size and size == -1):
                raise ValueError(f"{_WHERE}the shape of {position}th input must be the same as expected, "
                                 f"but got expected: {size}, and input: {other}!")
    elif isinstance(got, Tensor):
        raise TypeError(f"{_WHERE}the {position}th should be static one, but got mutable!")
    elif type(expected) is not type(got) or expected != got:
        raise ValueError(f"{_WHERE}the {position}th should be {expected!r}, but got {got!r}!")
