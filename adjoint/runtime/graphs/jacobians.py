"""Jacobians and Hessians: all rows at once, by `vmap` over the pullback of a function.

    y, pull = vjp(f, x)         J = vmap(pull)(the basis of y)        J[i] = pull(e_i)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.op import made
from adjoint.ir.ops.comparison import Equal
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.ops.shape import Reshape
from adjoint.ir.types import I64, tensor
from adjoint.runtime.gradients.grad import check_position, grad, positions_of
from adjoint.runtime.gradients.products import ran
from adjoint.runtime.graphs.transformations import transformed
from adjoint.runtime.graphs.vmap import one_after_the_other, vmap
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.structure import RESULTS, items, leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["hessian", "hvp", "jacfwd", "jacrev"]


def jacrev(fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `fn` by its rows: one pullback, mapped over the elements of each output.

    fn             a function or Cell of tensors, which returns a tensor or several
    grad_position  the position of the argument to differentiate by, or a tuple of them
    has_aux        True if only the first item of the result is differentiated
    result         for an output [s] and an argument [t] a tensor [s, t]; a tuple of them for several positions; a tuple of these for
                   several outputs.  With `has_aux` a tuple of this and the other items of the result

    TypeError if a position is not an int, `has_aux` not a bool, an argument not a tensor, an output not floating point; ValueError for a
    negative position, one that is given twice, or one that the call does not have.
    """
    return _jacobian("jacrev", fn, grad_position, has_aux)


def jacfwd(fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `fn`, as MindSpore's `jacfwd` does in forward mode.

    It is computed as by `jacrev`, in reverse mode: the numbers are those of the pullback.  See `jacrev` for the arguments and errors.
    """
    return _jacobian("jacfwd", fn, grad_position, has_aux)


def hessian(fn: Callable[..., Any], grad_position: Any = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `fn`: the Jacobian of its gradient.

    fn             a function or Cell of tensors, which returns one number, a tensor of one element
    grad_position  the position of the argument to differentiate by, or a tuple of them
    result         for an argument [t] a tensor [t, t]; for several positions a tuple for each, with one tensor for each

    The errors are those of `jacrev` and `grad`.
    """
    check_position("hessian", grad_position)
    return _jacobian("hessian", grad(fn, grad_position), grad_position, has_aux=False)


def hvp(fn: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """Return the gradient of `fn`, and the product of its Hessian with a vector, without the Hessian.

    fn      a function or Cell of tensors, which returns a tensor of one element
    inputs  the argument to differentiate by, or a tuple of all arguments
    v       a vector: a tensor of the type of the argument, or a tuple of them
    result  (gradient, product), each in the structure of `inputs`

    TypeError if something is not a tensor; ValueError for a vector of another number, shape or dtype.
    """
    args, vectors = (x if isinstance(x, tuple) else (x,) for x in (inputs, v))
    for what, given in (("inputs", args), ("v", vectors)):
        for x in given:
            if not isinstance(x, Tensor):
                raise TypeError(f"For 'hvp', the argument '{what}' must be a Tensor or a tuple of them, but got {type(x).__name__}.")
    if [x.type for x in args] != [x.type for x in vectors]:
        raise ValueError(f"For 'hvp', the argument 'v' must have the types of the inputs, {', '.join(str(x.type) for x in args)}, "
                         f"but got {', '.join(str(x.type) for x in vectors)}.")
    positions = tuple(range(len(args)))
    result, _, pull = ran(grad(fn, positions), args, positions, (), False)
    by_input, _ = pull(list(vectors))
    gradient = result if isinstance(result, tuple) else (result,)
    return (gradient, tuple(by_input)) if isinstance(inputs, tuple) else (gradient[0], by_input[0])


def _jacobian(name: str, fn: Callable[..., Any], grad_position: Any, has_aux: bool) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"For '{name}', the argument 'fn' must be a function or a Cell, but got {fn!r} of type {type(fn).__name__}.")
    check_position(name, grad_position)
    check_flag(name, "has_aux", has_aux)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return _computed(name, fn, grad_position, has_aux, args, kwargs)

    return transformed(jacobian, fn)


def _computed(name: str, fn: Callable[..., Any], grad_position: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    count = len(args) + len(kwargs)
    for place in grad_position if isinstance(grad_position, tuple) else (grad_position,):
        if place >= count:
            raise ValueError(f"For '{name}', the argument 'grad_position' must be less than {count}, the number of arguments of the call, "
                             f"but got {grad_position}.")
    positions = positions_of(name, fn, grad_position, args, kwargs)
    function, given = fn, args
    if kwargs:
        function, given = _by_position(fn, len(args), tuple(kwargs)), (*args, *kwargs.values())
    result, outputs, pull = ran(function, given, positions, (), has_aux)
    alone = isinstance(grad_position, int) or len(grad_position) == 1
    found = [_rows(name, outputs, index, pull, alone) for index in range(len(outputs))]
    first = result[0] if has_aux else result
    parts = items(first) if isinstance(first, RESULTS) else None
    jacobian = found[0] if parts is None else tuple(found)
    return (jacobian, result[1] if len(result) == 2 else tuple(result[1:])) if has_aux else jacobian


def _by_position(fn: Callable[..., Any], count: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of positional arguments alone; those after the first `count` are keyword arguments of `fn`."""

    def function(*given: Any) -> Any:
        return fn(*given[:count], **dict(zip(names, given[count:], strict=True)))

    return function


def _rows(name: str, outputs: list[Tensor], index: int, pull: Callable[..., Any], alone: bool) -> Any:
    """Return the derivatives of one output by each argument, the axes of the output first."""
    y = outputs[index]
    if not y.dtype.is_float:
        raise TypeError(f"For '{name}', the outputs must be floating point, but got {y.dtype}.")

    def row(ct: Tensor) -> Any:
        by_input, _ = pull([ct if other == index else zeros(x.type) for other, x in enumerate(outputs)])
        return tuple(by_input)

    mapped = vmap(row) if emitter() is not None else one_after_the_other(row)
    by_input = mapped(basis(y))
    tensors = leaves(by_input, Tensor)
    shaped = [apply(made(Reshape, x.type.with_shape((*y.type.shape, *x.type.shape[1:]))), x) for x in tensors]
    whole = replaced(by_input, shaped, Tensor)
    return whole[0] if alone else whole


def basis(y: Tensor) -> Tensor:
    """Return for each element of a tensor [s], of which there are n, one tensor with 1 at its place and 0 elsewhere: [n, s]."""
    count = math.prod(y.shape)
    square = tensor(I64, (count, count))
    ones = apply(made(Equal), apply(made(Iota, square, 0)), apply(made(Iota, square, 1)))
    return apply(made(Reshape, y.type.with_shape((count, *y.shape))), apply(made(Cast, y.dtype), ones))
