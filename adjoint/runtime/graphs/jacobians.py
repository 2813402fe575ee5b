"""Jacobians and Hessians: all rows at once, by `vmap` over the pullback of a function, or all columns, by `vmap` over its derivative.

    y, pull = vjp(f, x)         J = vmap(pull)(the basis of y)        J[i] = pull(e_i)
    y, dy = jvp(f, x, dx)       J = vmap(dy)(the basis of x)          J[:, j] = dy(e_j)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.op import made
from adjoint.ir.ops.comparison import Equal
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.ops.shape import Reshape
from adjoint.ir.types import I64, tensor
from adjoint.runtime.cells.nested_gradients import gradients_like
from adjoint.runtime.gradients.grad import check_position, grad, positions_of
from adjoint.runtime.gradients.products import check_tensors, direction_of, inputs_of, linear, pushed, ran
from adjoint.runtime.graphs.transformations import transformed
from adjoint.runtime.graphs.vmap import _row, _rows, moved, one_after_the_other, vmap
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.structure import RESULTS, leaves, mapped, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["hessian", "hvp", "jacfwd", "jacrev"]


def jacrev(fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `fn` by its rows: one pullback, mapped over the elements of each output.

    fn             a function or Cell of tensors, which returns a tensor or several
    grad_position  the position of the argument to differentiate by, or a tuple of them
    has_aux        True if only the first item of the result is differentiated
    result         for an output [s] and an argument [t] a tensor [s, t]; for a nested argument its structure, with one tensor for each; a
                   tuple of these for several positions; for several outputs a tuple of these, for nested ones their structure.  With
                   `has_aux` a tuple of this and the other items of the result

    TypeError if a position is not an int, `has_aux` not a bool, an argument not a tensor, an output not floating point; ValueError for a
    negative position, one that is given twice, or one that the call does not have.
    """
    return transformed(_jacobian("jacrev", fn, grad_position, has_aux, _by_rows), fn)


def jacfwd(fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `fn` by its columns: one derivative in forward mode, mapped over the elements of each
    argument.

    It is quicker than `jacrev` for a function of few numbers.  See `jacrev` for the arguments, the result and the errors.
    """
    return transformed(_jacobian("jacfwd", fn, grad_position, has_aux, _by_columns), fn)


def hessian(fn: Callable[..., Any], grad_position: Any = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `fn`: the Jacobian, by its columns, of the Jacobian by its rows, which is the gradient
    of a function of one number.

    fn             a function or Cell of tensors, which returns a tensor or several
    grad_position  the position of the argument to differentiate by, or a tuple of them
    result         for an output [s] and an argument [t] a tensor [s, t, t], which is [t, t] for a number; for several positions a tuple
                   for each, with one tensor for each; for a nested argument its structure, whose entries have this structure again; for
                   several outputs a tuple of these, for nested ones their structure

    The errors are those of `jacrev`.
    """
    gradient = _jacobian("hessian", fn, grad_position, False, _by_rows)
    return transformed(_jacobian("hessian", gradient, grad_position, False, _by_columns), fn)


def hvp(fn: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """Return the gradient of `fn`, and the product of its Hessian with a vector, without the Hessian.

    fn      a function or Cell of tensors, which returns a tensor of one element
    inputs  a tensor or a dict of them, or a tuple or list with all arguments, which may be nested
    v       a vector: tensors of the structure, shapes and dtypes of `inputs`
    result  (gradient, product), each in the structure of `inputs`

    TypeError if something is not a tensor, or a vector has another dtype; ValueError for a vector of another number, shape or structure.
    """
    args, positions = inputs_of("hvp", inputs)
    check_tensors("hvp", "inputs", args)
    vectors = direction_of("hvp", args, positions, v)
    gradient, _, along = pushed(grad(fn, tuple(positions)), args, positions, vectors, False)
    found = gradients_like(args, leaves(gradient, Tensor)), gradients_like(args, along)
    return found if isinstance(inputs, tuple) else tuple(map(list, found)) if isinstance(inputs, list) else (found[0][0], found[1][0])


_Parts = Callable[[str, Callable[..., Any], "tuple[Any, ...]", Sequence[int], bool], "tuple[Any, list[list[Any]]]"]
"""A function that computes Jacobians: it takes the public name, the function, its arguments, positions and `has_aux`.  It returns the
result of the function, and for each output and each position the derivatives, in the structure of the argument."""


def _jacobian(name: str, fn: Callable[..., Any], grad_position: Any, has_aux: bool, parts: _Parts) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"For '{name}', the argument 'fn' must be a function or a Cell, but got {fn!r} of type {type(fn).__name__}.")
    check_position(name, grad_position)
    check_flag(name, "has_aux", has_aux)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        count = len(args) + len(kwargs)
        for place in grad_position if isinstance(grad_position, tuple) else (grad_position,):
            if place >= count:
                raise ValueError(f"For '{name}', the argument 'grad_position' must be less than {count}, the number of arguments of the "
                                 f"call, but got {grad_position}.")
        positions = positions_of(name, fn, grad_position, args, kwargs)
        function, given = fn, args
        if kwargs:
            function, given = _by_position(fn, len(args), tuple(kwargs)), (*args, *kwargs.values())
        result, blocks = parts(name, function, given, positions, has_aux)
        alone = isinstance(grad_position, int) or len(grad_position) == 1
        found = [block[0] if alone else tuple(block) for block in blocks]
        first = result[0] if has_aux else result
        if isinstance(first, (tuple, list)) and not any(isinstance(item, RESULTS) for item in first):
            whole = tuple(found)
        else:
            whole = gradients_like(first, found, RESULTS)
        return (whole, result[1] if len(result) == 2 else tuple(result[1:])) if has_aux else whole

    return jacobian


def _by_position(fn: Callable[..., Any], count: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of positional arguments alone; those after the first `count` are keyword arguments of `fn`."""

    def function(*given: Any) -> Any:
        return fn(*given[:count], **dict(zip(names, given[count:], strict=True)))

    return function


def _by_rows(name: str, fn: Callable[..., Any], given: tuple[Any, ...], positions: Sequence[int], has_aux: bool,
             ) -> tuple[Any, list[list[Any]]]:
    """Compute Jacobians by their rows; the axes of an output come first."""
    result, outputs, pull = ran(fn, given, positions, (), has_aux)
    _check_outputs(name, outputs)
    blocks: list[list[Any]] = []
    for index, y in enumerate(outputs):

        def row(ct: Tensor, index: int = index) -> Any:
            by_input, _ = pull([ct if other == index else zeros(x.type) for other, x in enumerate(outputs)])
            return tuple(by_input)

        if y.shape == ():
            blocks.append(list(row(constant(1.0, y.type.dtype))))
            continue
        size = math.prod(y.shape)
        by_input = (vmap(row) if emitter() is not None else one_after_the_other(row))(basis(y, max(size, 1)))
        tensors = leaves(by_input, Tensor)
        if size == 0:  # one row was computed to learn what there is; none is wanted
            tensors = [_rows(x, 0, 0) for x in tensors]
        shaped = [apply(made(Reshape, x.type.with_shape((*y.type.shape, *x.type.shape[1:]))), x) for x in tensors]
        blocks.append(list(replaced(by_input, shaped, Tensor)))
    return result, blocks


def _by_columns(name: str, fn: Callable[..., Any], given: tuple[Any, ...], positions: Sequence[int], has_aux: bool,
             ) -> tuple[Any, list[list[Any]]]:
    """Compute Jacobians by their columns, all those of all arguments at once; the axes of an output come first."""
    inputs = [x for position in positions for x in leaves(given[position], Tensor)]
    sizes = [math.prod(x.shape) for x in inputs]
    begins = [sum(sizes[:index]) for index in range(len(sizes))]
    count = max(sum(sizes), 1)  # without elements one column is computed to learn what there is, and none is kept
    directions = [basis(x, count, begin) for x, begin in zip(inputs, begins, strict=True)]
    outputs: list[Tensor] = []
    result: Any = None
    graph = emitter()
    if graph is None:
        result, outputs, push = linear(fn, given, positions, has_aux)
        _check_outputs(name, outputs)
        along = one_after_the_other(lambda *tangents: tuple(push(tangents)))(*directions)
    elif (inner := graph.differentiable(fn, given, {}, positions, (), has_aux)).runs_along_a_path:
        # It runs once, and so do its hooks, not once for each column.
        result, outputs, push = graph.linear(inner)
        _check_outputs(name, outputs)
        along = vmap(lambda *tangents: tuple(push(tangents)))(*directions)
    else:

        def column(*tangents: Tensor) -> Any:
            nonlocal result
            result, found, along = graph.tangent(inner, tangents)
            _check_outputs(name, found)
            outputs.extend(found)
            result = mapped(result, lambda leaf: leaf.tensor() if getattr(leaf, "is_run_time_number", False) else leaf, within=RESULTS)
            return tuple(along), tuple(leaves(result, Tensor, RESULTS))

        # What does not depend on the direction is computed once, and is in each row.
        along, rows = vmap(column)(*directions)
        result = replaced(result, [_row(x, 0) for x in rows], Tensor)
    blocks: list[list[Any]] = []
    for y, columns in zip(outputs, along, strict=True):
        ours = [moved(_rows(columns, begin, begin + size), 0, len(y.shape)) for begin, size in zip(begins, sizes, strict=True)]
        types = [y.type.with_shape((*y.type.shape, *x.type.shape)) for x in inputs]
        left = iter([apply(made(Reshape, type_), part) for type_, part in zip(types, ours, strict=True)])
        blocks.append([gradients_like(given[position], left) for position in positions])
    return result, blocks


def _check_outputs(name: str, outputs: Sequence[Tensor]) -> None:
    for y in outputs:
        if not y.dtype.is_float:
            raise TypeError(f"For '{name}', the outputs must be floating point, but got {y.dtype}.")


def basis(y: Tensor, count: int | None = None, begin: int = 0) -> Tensor:
    """Return for each element of a tensor [s], of which there are n, one tensor with 1 at its place and 0 elsewhere: [n, s].

    count, begin  to return `count` tensors, of which the n after the first `begin` are these, and the others 0
    """
    size = math.prod(y.shape)
    count = size if count is None else count
    whole = tensor(I64, (count, size))
    place = apply(made(Iota, whole, 0))
    ones = apply(made(Equal), place - begin if begin else place, apply(made(Iota, whole, 1)))
    return apply(made(Reshape, y.type.with_shape((count, *y.shape))), apply(made(Cast, y.dtype), ones))
