"""Gradient functions of the public API: `grad`, `value_and_grad`, `GradOperation`, `get_grad`.

All of them run the function once on the tape, close the region that it recorded, and run its adjoint (see `tape`, `adjoints`).
The *leaves* are what a gradient is taken with respect to: arguments by position, and Parameters.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from operator import is_not
from typing import Any

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.op import made
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.types import BOOL
from adjoint.runtime.cells.boundary import are_tensors
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.nested_gradients import gradients_like
from adjoint.runtime.gradients.adjoints import gradients
from adjoint.runtime.gradients.argument_copy import ArgumentCopy
from adjoint.runtime.gradients.tape import Tape, new_tape
from adjoint.runtime.process import graph_mode
from adjoint.runtime.process.jitted import MARK, parsed_function
from adjoint.runtime.process.tracer import check_gradients, not_recording, set_tracer, state
from adjoint.runtime.tensor.filled import full, zeros
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple, training
from adjoint.runtime.tensor.run_time_checks import called
from adjoint.runtime.tensor.structure import RESULTS, arranged, leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply, constant, wrap

__all__ = [
    "GradOperation", "check_position", "checked_sens", "differentiate", "differentiated", "function_identity", "get_grad", "grad",
    "positions_of", "value_and_grad", "with_parameters",
]


def _check_function(name: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"For '{name}', the argument 'fn' must be a function or a Cell, but got {fn!r} of type {type(fn).__name__}.")


def function_identity(fn: Any) -> Any:
    """Return the key under which recordings of `fn` are looked up: its code object, or for a Cell its class."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, Cell):
        return type(fn)
    inner = parsed_function(getattr(fn, "__func__", fn))
    return getattr(inner, "__code__", None) or type(inner)


class _Leaf:
    """One argument by which a gradient is taken: a copy with new tensors in it, and the tape's slots (numbers) of these tensors.

    tape   the tape that records the function
    value  the argument as the caller passed it
    """

    def __init__(self, tape: Tape, value: Any):
        self.slots: list[int] = []
        self.copy: ArgumentCopy | None = None
        self.given = value
        self.flat = type(value) if type(value) in (tuple, list) and are_tensors(value) else None
        """The class of the argument if it is a flat tuple or list of tensors; else None."""
        if isinstance(value, Tensor):
            self.value = self._named(tape, value)
        elif self.flat is tuple:  # immutable
            self.value = tuple([self._named(tape, x) for x in value])
        else:
            self.copy = ArgumentCopy(value, lambda leaf: self._named(tape, leaf) if isinstance(leaf, Tensor) else leaf)
            self.value, self.given = self.copy.value, self.copy.given

    def _named(self, tape: Tape, leaf: Tensor) -> Tensor:
        alias = tape.leaf(leaf)
        self.slots.append(tape.slots[id(alias)])
        return alias

    def structured(self, found: dict[int, Tensor]) -> Any:
        if isinstance(self.given, Tensor):
            return found[self.slots[0]]
        by_slot = [found[slot] for slot in self.slots]
        return gradients_like(self.given, by_slot) if self.flat is None else self.flat(by_slot)


gradient_followers: list[Callable[[Sequence[Parameter], Sequence[Tensor]], None]] = []
"""Functions that are called with Parameters and their gradients when these have been taken, also in a graph that is being made."""


def differentiate(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    weights: Sequence[Parameter],
    sens: Any = None,
    has_aux: bool = False,
    sens_of: Callable[[Any], Any] | None = None,
    valued: bool = True,
    followed: bool = True,
) -> tuple[Any, list[Any], list[Tensor]]:
    """Run `fn` and its adjoint; return its result, the gradients of the arguments at `positions`, and those of the weights.

    args, kwargs  the arguments of the call
    positions  the positions of arguments, counted in the order of the call: keyword arguments come after positional ones
    weights    the Parameters to differentiate by
    sens       cotangents of the results, in the same nested structure; None: ones
    has_aux    True if only the first item of the result is differentiated
    sens_of    computes the cotangents from the result instead; None to use `sens`
    valued     False if the caller does not need the result, which may then be None
    followed   False if `gradient_followers` are not called
    """
    if gradient_followers and followed:
        found = differentiate(fn, args, kwargs, positions, weights, sens, has_aux, sens_of, valued, followed=False)
        for follow in gradient_followers:
            follow(weights, found[2])
        return found
    check_gradients()
    tracer = state.tracer
    if tracer is not None and tracer.emits is True:
        return tracer.differentiate(fn, args, kwargs, positions, weights, sens=sens, has_aux=has_aux, sens_of=sens_of)
    may_be_graph = graph_mode.mode or (not isinstance(fn, Cell) and hasattr(fn, MARK))
    if may_be_graph and tracer is None and sens is None and sens_of is None and not state.eager:
        found = graph_mode.gradient(fn, args, kwargs, positions, weights, has_aux, valued)
        if found is not None:
            return found
    fn = graph_mode.of_function(fn)
    outer: Tape | None = tracer  # pyright: ignore[reportAssignmentType] - what records is a Tape
    tape = outer if outer is not None else new_tape()
    depth = tape.depth
    try:
        state.tracer = tape
        if sens is not None:
            sens = replaced(sens, map(tape.present, leaves(sens, Tensor)), Tensor)  # `fn` may write them
        run = recorded(tape, fn, args, kwargs, positions, weights)
        if sens_of is not None:
            with not_recording():
                sens = sens_of(run.result)
        outputs, cotangents = _outputs(tape, run.result, sens, has_aux)
        if tape.depth == 1:
            state.tracer = None
        found = dict(zip(run.wanted, gradients(tape, run.start, outputs, run.wanted, cotangents), strict=True))
        result = with_parameters(tape, run.result) if tape.renamed_parameter else run.result
        return result, *run.structured(found)
    finally:
        tape.depth = depth
        if state.tracer is not outer:
            set_tracer(outer)
            state.tracer = outer


def with_parameters(tape: Tape, result: Any) -> Any:
    """Return the result of a differentiated function with the Parameters themselves in it.

    Cells give new tensor objects to a Parameter that passes through them; the caller gets the Parameter instead.  Inside of another
    gradient the new objects stay: the outer gradient goes through them.
    """
    if tape.depth > 1:
        return result
    tensors = leaves(result, Tensor)
    themselves = [tape.parameter_of(x) for x in tensors]
    return replaced(result, themselves, Tensor) if any(map(is_not, themselves, tensors)) else result


class Recorded:
    """Facts about a function that has run on the tape (the recording), kept until its gradient is computed.

    weights  the Parameters among the values to differentiate with respect to
    start    the recorded event at which its recording begins
    leaves   the arguments to differentiate with respect to
    watched  the slots (value numbers) of the weights on the tape; None for one that gets zeros
    wanted   the slots of all these arguments and weights
    result   the value that it returned
    """

    __slots__ = ("leaves", "result", "start", "wanted", "watched", "weights")

    def __init__(self, weights: Sequence[Parameter]):
        self.weights = weights
        self.start: Any = None
        self.leaves: list[_Leaf] = []
        self.watched: list[int | None] = []
        self.wanted: list[int] = []
        self.result: Any = None

    def structured(self, found: dict[int, Tensor]) -> tuple[list[Any], list[Tensor]]:
        """Return the gradients for the caller: a list with that of each argument, in the argument's structure, and a list with those of the
        weights.

        found  the gradient for each slot (value number) of the tape
        """
        by_position = [leaf.structured(found) for leaf in self.leaves]
        by_weight = [found[s] if s is not None else zeros(p.type) for s, p in zip(self.watched, self.weights, strict=True)]
        return by_position, by_weight


def recorded(
    tape: Tape, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int], weights: Sequence[Parameter]
) -> Recorded:
    """Run `fn` on the tape (the recording of this thread's operations), as one more nested gradient; return what is needed to differentiate
    it.

    args, kwargs  the arguments of the call
    positions     the arguments by which the gradient is taken; keyword arguments are counted after positional ones
    weights       the Parameters by which it is taken
    """
    given = [*args, *kwargs.values()] if kwargs else list(args)
    run = Recorded(weights)
    identity = function_identity(fn)
    run.start = tape.begin((id(identity), len(given)), identity)
    for position in positions:
        leaf = _Leaf(tape, given[position])
        given[position] = leaf.value
        run.leaves.append(leaf)
    run.watched = [tape.watch(p) if p.requires_grad else None for p in weights]
    changes = training.changes
    try:
        if kwargs:
            run.result = fn(*given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True)))
        else:
            run.result = fn(*given)
    finally:
        for leaf in run.leaves:
            if leaf.copy is not None:
                leaf.copy.write_back()
    if training.changes != changes:
        run.watched = tape.trained(weights, run.watched)
    run.wanted = list(dict.fromkeys([s for leaf in run.leaves for s in leaf.slots] + [s for s in run.watched if s is not None]))
    return run


def differentiated(result: Any, has_aux: bool) -> list[Tensor]:
    """Return the tensors in a result that are differentiated: those in tuples, lists and dicts at any depth, as in MindSpore.

    has_aux  True if only the first item of the result is differentiated

    ValueError if `has_aux` is True and the result is not a tuple of at least two values; TypeError if there are no tensors.
    """
    if has_aux:
        if not isinstance(result, tuple) or len(result) < 2:
            raise ValueError("When 'has_aux' is True, the function must return a tuple of at least two values: what is "
                             f"differentiated, and what is only passed on; but got {type(result).__name__}.")
        result = result[0]
    tensors = leaves(result, Tensor, RESULTS)
    if not tensors:
        raise TypeError("A gradient is taken of a function that returns at least one Tensor, "
                        f"but it returned {result!r} of type {type(result).__name__}.")
    return tensors


def checked_sens(result: Any, has_aux: bool, sens: Any) -> list[Tensor]:
    """Check sensitivities (the cotangents that a caller gives) against the outputs that they are for, and return them in the outputs'
    order.

    Each gets its output's dtype and shape; dicts are matched by key.

    result   the value that the function returned
    has_aux  True if only the first item of the result is differentiated
    sens     the sensitivities, in the same nested structure

    TypeError if one is not a tensor; ValueError if their number is wrong, for a key that the result does not have, and for a shape that
    does not broadcast.
    """
    tensors = differentiated(result, has_aux)
    try:
        given = leaves(arranged(sens, result[0] if has_aux else result), Tensor, RESULTS)
    except ValueError as wrong:
        raise ValueError(f"The sensitivity 'sens' does not fit the outputs: it {wrong}.") from None
    if not given:
        raise TypeError("The sensitivity 'sens' must be a Tensor, or a tuple of Tensors, "
                        f"but got {sens!r} of type {type(sens).__name__}.")
    if len(given) != len(tensors):
        raise ValueError(f"The sensitivity 'sens' must have one tensor for each of the {len(tensors)} outputs, but got {len(given)}.")
    return [s if s.type is x.type else _like(x, s) for x, s in zip(tensors, given, strict=True)]


def _like(x: Tensor, sens: Tensor) -> Tensor:
    """Return a sensitivity converted to the dtype and the shape of its output."""
    brought = sens.astype(x.dtype, copy=False)
    try:
        return brought if brought.shape == x.shape else apply(made(Broadcast, x.type), brought)
    except ValueError:
        raise ValueError(f"The sensitivity 'sens' must broadcast to the shape of the output, {x.shape}, but got {sens.shape}.") from None


def _outputs(tape: Tape, result: Any, sens: Any, has_aux: bool) -> tuple[list[int], list[Tensor]]:
    """Return the slots (value numbers on the tape) of those results that depend on what is differentiated by, and a cotangent for each.

    sens     the cotangents as the caller gave them; None for ones
    has_aux  True if only the first item of the result is differentiated
    """
    tensors = differentiated(result, has_aux)
    given = [None] * len(tensors) if sens is None else checked_sens(result, has_aux, sens)
    slots: list[int] = []
    cotangents: list[Tensor] = []
    for x, s in zip(tensors, given, strict=True):
        slot = tape.slot_of(x)
        if slot is None or x.dtype is BOOL:
            continue
        slots.append(slot)
        # A new tensor each: the tape identifies values by object.
        cotangents.append(ones(x) if s is None else wrap(s.type, s.memory) if tape.depth == 1 else s)
    return slots, cotangents


def ones(x: Tensor) -> Tensor:
    """Return a tensor of ones with the dtype and shape of `x`."""
    return full(constant(1, x.dtype), x.type)


def _weights(name: str, weights: Any) -> tuple[tuple[Parameter, ...], bool]:
    """Return the weights as a tuple, and True if a single one was passed, not in a list.  The tuple is empty for None.

    name  the public function, for the error message
    """
    if weights is None:
        return (), False
    if isinstance(weights, Parameter):
        return (weights,), True
    if isinstance(weights, (tuple, list)) and all(isinstance(p, Parameter) for p in weights):
        return tuple(weights), False
    raise TypeError(f"For '{name}', the argument 'weights' must be a Parameter, a ParameterTuple or a list of Parameters, "
                    f"but got {weights!r} of type {type(weights).__name__}.")


def positions_of(name: str, fn: Any, grad_position: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """Return the positions of the arguments to differentiate by.  Raise an error if the call has no such argument, or no tensor there.

    name           the public function, for messages
    grad_position  the position or positions that the user asked for
    """
    places = (grad_position,) if isinstance(grad_position, int) else grad_position
    given = (*args, *kwargs.values()) if kwargs else args
    for place in places:
        if place >= len(given):
            try:
                inspect.signature(fn.construct if isinstance(fn, Cell) else fn).bind(*args, **kwargs)
            except ValueError:
                pass
            except TypeError as wrong:
                raise TypeError(f"For '{name}', the arguments do not fit the function: {wrong}.") from None
            raise RuntimeError(f"For '{name}', 'grad_position' is {grad_position}, "
                               f"but the function was called with {len(given)} arguments.")
        if not isinstance(given[place], Tensor) and not leaves(given[place], Tensor):
            raise TypeError(f"For '{name}', the argument at 'grad_position' {place} must be a Tensor, or hold one, "
                            f"but got {given[place]!r} of type {type(given[place]).__name__}.")
    return list(places)


def check_position(name: str, grad_position: Any) -> None:
    places = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for place in places:
        if isinstance(place, bool) or not isinstance(place, int):
            raise TypeError(f"For '{name}', the argument 'grad_position' must be int or tuple, but got {grad_position!r} "
                            f"of type {type(grad_position).__name__}.")
        if place < 0:
            raise ValueError(f"For '{name}', the argument 'grad_position' must be >= 0, but got {grad_position}.")
    if not places:
        raise RuntimeError(f"For '{name}', the argument 'grad_position' must not be empty: None stands for no gradient of an argument.")
    if len(set(places)) != len(places):
        raise ValueError(f"For '{name}', the argument 'grad_position' must not name a position twice, but got {grad_position}.")


def _checked_arguments(name: str, fn: Any, grad_position: Any, weights: Any, **flags: Any) -> None:
    _check_function(name, fn)
    if grad_position is None and weights is None:
        raise ValueError(f"For '{name}', 'grad_position' and 'weights' must not both be None.")
    if grad_position is not None:
        check_position(name, grad_position)
    _weights(name, weights)
    for argument, value in flags.items():
        check_flag(name, argument, value)


def _without_sens(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Split the arguments of a gradient function into (positional arguments, keyword arguments, cotangent).

    The cotangent is the keyword argument `sens`, or else the last positional argument.

    name  the public function, for the error message
    """
    if "sens" in kwargs:
        return args, {k: v for k, v in kwargs.items() if k != "sens"}, kwargs["sens"]
    if not args:
        raise TypeError(f"For '{name}' with 'sens_param', the sensitivity must be the last argument or given as 'sens'.")
    return args[:-1], kwargs, args[-1]


def _gradient_function(
    name: str, fn: Any, grad_position: Any, weights: Any, has_aux: bool, return_ids: bool, sens_param: bool, with_value: bool
) -> Callable[..., Any]:
    _checked_arguments(name, fn, grad_position, weights, has_aux=has_aux, return_ids=return_ids, sens_param=sens_param)
    if isinstance(grad_position, tuple) and len(grad_position) == 1:
        (grad_position,) = grad_position
    alone = isinstance(grad_position, int)

    @functools.wraps(fn, updated=()) if hasattr(fn, "__name__") else (lambda f: f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        sens = None
        if sens_param:
            args, kwargs, sens = _without_sens(name, args, kwargs)
        positions = [] if grad_position is None else positions_of(name, fn, grad_position, args, kwargs)
        asked, single = _weights(name, weights)
        result, inputs, params = differentiate(fn, args, kwargs, positions, asked, sens=sens, has_aux=has_aux,
                                               valued=with_value or has_aux)
        by_input: Any = None if grad_position is None else inputs[0] if alone else tuple(inputs)
        by_weight: Any = None if weights is None else params[0] if single else tuple(params)
        if return_ids:
            by_input = None if grad_position is None else (
                (grad_position, by_input) if alone else tuple(zip(grad_position, by_input, strict=True)))
            by_weight = by_weight if by_weight is None else (
                (asked[0].name, by_weight) if single else tuple((p.name, g) for p, g in zip(asked, by_weight, strict=True)))
        found = by_weight if grad_position is None else by_input if weights is None else (by_input, by_weight)
        if with_value:
            return result, found
        return (found, tuple(result[1:])) if has_aux else found

    return gradient


def grad(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None, has_aux: bool = False,
    return_ids: bool = False, sens_param: bool = False,
) -> Callable[..., Any]:
    """Return the function that computes the gradient of `fn`.

    fn             a function or Cell
    grad_position  the arguments: an int, or a tuple of one, for a single gradient; several for a tuple of gradients; None for the weights
                   only.  Keyword arguments are counted after positional ones, in the order of the call
    weights        a Parameter (one gradient), or several (a tuple of gradients)
    has_aux        `fn` returns (output to differentiate, aux ...); the gradient function returns (gradient, (aux ...))
    return_ids     each gradient is returned as (position or parameter name, gradient)
    sens_param     the gradient function takes the cotangent of the output as its last argument, or as `sens=`; it is converted to the dtype
                   and the shape of the output

    The gradient of a tuple, list or dict, nested in any way, has the same structure: 0 for a number, None for any other value that is not a
    tensor.

    With both arguments and weights the result is (gradients of arguments, gradients of weights).  TypeError or ValueError for bad
    arguments.
    """
    return _gradient_function("grad", fn, grad_position, weights, has_aux, return_ids, sens_param, with_value=False)


def value_and_grad(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None, has_aux: bool = False,
    return_ids: bool = False, sens_param: bool = False,
) -> Callable[..., Any]:
    """Return the function that computes the result of `fn` and its gradient, (result, gradient); arguments as for `grad`."""
    return _gradient_function("value_and_grad", fn, grad_position, weights, has_aux, return_ids, sens_param, with_value=True)


class GradOperation:
    """Makes gradient functions: `GradOperation(get_all=True)(net)(x, y)`.

    get_all      gradients of all tensor arguments, as a tuple; else of the first argument, and `()` if that is no tensor
    get_by_list  gradients of the parameters given with the function; with `get_all` both, (arguments, parameters)
    sens_param   the gradient function takes the cotangent of the output as its last argument, or as `sens=`

    TypeError when one of them is not a bool.
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False):
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise TypeError(f"For 'GradOperation', the '{name}' should be bool, "
                                f"but got {value!r} of type {type(value).__name__}.")
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        """Return the gradient function of `fn`; `get_by_list` needs `weights`, by default a Cell's trainable ones."""
        _check_function("GradOperation", fn)
        if self.get_by_list and weights is None and isinstance(fn, Cell):
            weights = ParameterTuple(fn.trainable_params())
        if self.get_by_list:
            if weights is None:
                raise TypeError("For 'GradOperation' with 'get_by_list', the argument 'weights' must be given "
                                f"for a function that is no Cell: {fn!r}.")
            _weights("GradOperation", weights)

        def gradient(*args: Any, **kwargs: Any) -> Any:
            sens = None
            if self.sens_param:
                args, kwargs, sens = _without_sens("GradOperation", args, kwargs)
            given = (*args, *kwargs.values())
            positions = [i for i, x in enumerate(given) if leaves(x, Tensor)]
            if not self.get_all:
                positions = [] if self.get_by_list else [i for i in positions if i == 0]
            if not positions and not self.get_by_list:
                called(graph_mode.of_function(fn), *args, **kwargs)
                return ()
            asked, single = _weights("GradOperation", weights) if self.get_by_list else ((), False)
            _, inputs, params = differentiate(fn, args, kwargs, positions, asked, sens=sens, valued=False)
            by_weight = params[0] if single else tuple(params)
            if self.get_all:
                return (tuple(inputs), by_weight) if self.get_by_list else tuple(inputs)
            return by_weight if self.get_by_list else inputs[0]

        return gradient


def get_grad(gradients: Any, identifier: int | Tensor) -> Tensor:
    """Find the gradient of one argument or parameter in what `grad(..., return_ids=True)` has returned.

    gradients   that result
    identifier  the position of the argument, or the Parameter

    RuntimeError if it is not among the gradients, TypeError if `identifier` is neither.
    """
    if isinstance(identifier, Parameter):
        wanted: Any = identifier.name
    elif isinstance(identifier, int) and not isinstance(identifier, bool):
        wanted = identifier
    else:
        raise TypeError(f"For 'get_grad', the argument 'identifier' must be an int or a Parameter, but got {identifier!r} "
                        f"of type {type(identifier).__name__}.")

    def search(found: Any) -> Tensor | None:
        if isinstance(found, tuple):
            if len(found) == 2 and isinstance(found[0], (int, str)):
                return found[1] if found[0] == wanted and type(found[0]) is type(wanted) else None
            for item in found:
                inner = search(item)
                if inner is not None:
                    return inner
        return None

    if not isinstance(gradients, tuple):
        raise TypeError(f"For 'get_grad', the argument 'gradients' must be what `grad` returns with return_ids=True, "
                        f"but got {type(gradients).__name__}.")
    result = search(gradients)
    if result is None:
        raise RuntimeError(f"For 'get_grad', no gradient of {wanted!r} is among the gradients.")
    return result
