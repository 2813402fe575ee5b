"""Tensors as operands of NumPy: its functions compute with their numbers, but operators are left to the tensor.

`np.exp(x)` and `np.sum(x)` compute with NumPy on the tensor's numbers: the result is an array, and no gradient flows through it.
`np.squeeze`, `np.transpose`, `np.swapaxes` and `np.moveaxis`, which only order axes, give tensors.  An operator between an array and a
tensor, `array + x`, is the tensor's operator: the result is a tensor, like that of `x + array`.  NumPy functions that write, such as
`np.put(x, ...)` and `np.add(..., out=x)`, raise TypeError for a tensor: they would write to a copy of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.runtime.tensor.structure import mapped

__all__ = ["called_function", "called_ufunc"]

_OPERATORS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: lambda a, x: x.__radd__(a), np.subtract: lambda a, x: x.__rsub__(a), np.multiply: lambda a, x: x.__rmul__(a),
    np.true_divide: lambda a, x: x.__rtruediv__(a), np.floor_divide: lambda a, x: x.__rfloordiv__(a),
    np.remainder: lambda a, x: x.__rmod__(a), np.power: lambda a, x: x.__rpow__(a), np.matmul: lambda a, x: x.__rmatmul__(a),
    np.bitwise_and: lambda a, x: x.__rand__(a), np.bitwise_or: lambda a, x: x.__ror__(a), np.bitwise_xor: lambda a, x: x.__rxor__(a),
    np.less: lambda a, x: x.__gt__(a), np.less_equal: lambda a, x: x.__ge__(a), np.greater: lambda a, x: x.__lt__(a),
    np.greater_equal: lambda a, x: x.__le__(a), np.equal: lambda a, x: x.__eq__(a), np.not_equal: lambda a, x: x.__ne__(a),
}
"""The ufuncs that Python's operators between an array and a tensor call, and the tensor's operator for each."""

_WRITERS = frozenset((np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask))
"""NumPy functions that write to their first operand."""


def called_ufunc(tensor: type[Any], ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a NumPy ufunc (a function of elements, such as `np.exp`) for operands of which some are Tensors, and return its result.

    tensor    the class Tensor
    method    how the ufunc is called: "__call__", "reduce", "at", ...
    operands  the positional arguments
    options   the keyword arguments
    """
    if method == "__call__" and not options and ufunc in _OPERATORS:
        first, second = operands
        if isinstance(first, (np.ndarray, np.generic)) and isinstance(second, tensor):
            return _OPERATORS[ufunc](first, second)
    _check_target(tensor, ufunc.__name__, (operands[:1] if method == "at" else (), options.get("out")))
    return getattr(ufunc, method)(*_arrays(tensor, operands), **_arrays(tensor, options))


def called_function(tensor: type[Any], function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a NumPy function that is no ufunc with the numbers of tensors in place of the tensors, and return its result.

    A function that only orders the axes of its one array is the method of the tensor, so that its result is a tensor with a gradient.

    tensor    the class Tensor
    operands  the positional arguments
    options   the keyword arguments
    """
    _check_target(tensor, function.__name__, (operands[:1] if function in _WRITERS else (), options.get("out")))
    of_tensor = _OF_AXES.get(function)
    if of_tensor is not None and isinstance(operands[0] if operands else options["a"], tensor):
        return of_tensor(*operands, **options)
    return function(*_arrays(tensor, operands), **_arrays(tensor, options))


_OF_AXES: dict[Any, Callable[..., Any]] = {
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.transpose: lambda a, axes=None: a.transpose(axes),
    np.swapaxes: lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    np.moveaxis: lambda a, source, destination: a.moveaxis(source, destination),
}
"""The method of a tensor for each function that only orders axes, with NumPy's arguments."""


def _check_target(tensor: type[Any], name: str, target: Any) -> None:
    """Raise TypeError if a NumPy function would write to a Tensor, since it would write to a copy of the numbers.

    target  the object that is written to, or a tuple of such objects
    """
    if isinstance(target, tensor):
        raise TypeError(f"For 'numpy.{name}', what is written to must be an array, but got a Tensor of shape {target.shape}: "
                        "write to `x.asnumpy().copy()`, or to the tensor with `x[...] = value`.")
    for item in target if isinstance(target, tuple) else ():
        _check_target(tensor, name, item)


def _arrays(tensor: type[Any], given: Any) -> Any:
    return mapped(given, lambda leaf: leaf.asnumpy() if isinstance(leaf, tensor) else leaf)
