"""Declared arguments: `enable_dynamic` states which sizes of a jitted function's arguments change.

    @enable_dynamic(x=Tensor(shape=[None, 3], dtype=float32))
    @jit
    def scaled(x): ...

Graphs for any size are made without a declaration, too, so it is only checked.  The check is made whenever a new graph is made.  That is
enough: each graph serves one type of each argument, so a call that contradicts the declaration finds no graph.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.ir.types import TensorType
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.process.jitted import parsed_function
from adjoint.runtime.tensor.description import Description
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["check_declared", "enable_dynamic"]

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

_DECLARED = "__adjoint_dynamic__"
"""The name of the attribute in which a function keeps what `enable_dynamic` was given: the declared arguments, by name."""


def enable_dynamic(**kwargs: Any) -> Callable[[AnyFunction], AnyFunction]:
    """Declare arguments of a jitted function whose sizes change.

    kwargs  by the name of the parameter a Tensor, or a tuple or list of Tensors, of which at least one has a size of None:
            `Tensor(shape=[None, 3], dtype=float32)`; with `shape=None` the number of axes may change, too

    The result is a decorator for a function or method, jitted or to be jitted; it returns the function itself.  A call whose arguments do
    not fit raises TypeError for another dtype or an argument that is not a tensor, ValueError for another shape.  Sizes may change without
    a declaration as well.

    ValueError if nothing is declared, if the decorated object is not a function, or if a name is not a parameter; TypeError for a
    declaration that is not a tensor or has no size of None.
    """
    if not kwargs:
        raise ValueError("For 'enable_dynamic', at least one argument must be declared, such as x=Tensor(shape=[None, 3], dtype=float32).")
    for name, said in kwargs.items():
        _check_declaration(name, said)
        if not _changes(said):
            raise TypeError(f"For 'enable_dynamic', the argument '{name}' must have a size of None, but got {said!r}.")

    def declare(function: AnyFunction) -> AnyFunction:
        target = parsed_function(getattr(function, "__func__", function))
        if not isinstance(target, types.FunctionType):
            raise ValueError(f"For 'enable_dynamic', the argument must be a function or method, but got {function!r}.")
        names = _names(inspect.signature(target))
        for name in kwargs:
            if name not in names:
                raise ValueError(f"For 'enable_dynamic', '{name}' must be a parameter of {target.__qualname__}, which has {names}.")
        setattr(target, _DECLARED, kwargs)
        return function

    return declare


def _check_declaration(name: str, said: Any) -> None:
    if isinstance(said, (tuple, list)):
        for part in said:
            _check_declaration(name, part)
    elif not isinstance(said, Tensor):
        raise TypeError(f"For 'enable_dynamic', the argument '{name}' must be a Tensor, or a tuple or list of Tensors, "
                        f"but got {said!r} of type {type(said).__name__}.")


def _changes(said: Any) -> bool:
    return any(map(_changes, said)) if isinstance(said, (tuple, list)) else isinstance(said, Description)


def _names(signature: inspect.Signature) -> list[str]:
    return [name for name in signature.parameters if name != "self"]


def check_declared(function: Any, arguments: Template) -> None:
    """Check the arguments of a call against the declaration that `enable_dynamic` made for a function, if there is one.

    TypeError or ValueError if they do not fit.

    arguments  the template of the arguments: their structure with the types of the tensors
    """
    function = parsed_function(function)
    said = getattr(function, _DECLARED, None)
    if said is None:
        return
    signature = inspect.signature(function)
    parameters = [p for name, p in signature.parameters.items() if name != "self"]
    args, kwargs = arguments.build(arguments.types)
    try:
        bound = signature.replace(parameters=parameters).bind(*args, **kwargs)
    except TypeError:
        return  # the call itself raises the error
    for name, expected in said.items():
        if name in bound.arguments:
            _check(name, expected, bound.arguments[name])


def _check(name: str, expected: Any, got: Any) -> None:
    """Check one argument against its declaration; raise TypeError or ValueError if it does not fit.

    expected  the declaration: a Tensor with its shape, or a tuple or list of these
    got       the argument, with the types of tensors in place of the tensors
    """
    if isinstance(expected, (tuple, list)):
        if type(got) is not type(expected) or len(got) != len(expected):
            raise TypeError(f"For 'enable_dynamic', the argument '{name}' must be a {type(expected).__name__} of {len(expected)} tensors, "
                            f"as it is declared, but got {got!r}.")
        for inner, value in zip(expected, got, strict=True):
            _check(name, inner, value)
        return
    declared = f"Tensor(shape={[*expected.shape]}, dtype={expected.dtype})"
    if not isinstance(got, TensorType):
        raise TypeError(f"For 'enable_dynamic', the argument '{name}' must be a tensor as it is declared, {declared}, but got {got!r}.")
    shown = f"Tensor(shape={[*got.shape]}, dtype={got.dtype})"
    if got.dtype is not expected.dtype:
        raise TypeError(f"For 'enable_dynamic', the argument '{name}' is declared as {declared}, but got {shown}, of another dtype.")
    if not Description.fits(expected, got.shape):
        raise ValueError(f"For 'enable_dynamic', the argument '{name}' is declared as {declared}, but got {shown}, of another shape.")
