"""A cell's own `bprop`: the arguments it is called with, and the check of its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from adjoint.foundation.diagnostics import Loc
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.host import Bprop
from adjoint.ir.ops.shape import Broadcast, Reshape
from adjoint.ir.ops.sums import Sum
from adjoint.ir.types import TensorType
from adjoint.runtime.cells.boundary import are_tensors, shown
from adjoint.runtime.cells.nested_gradients import Unlike, gradients_like, paired
from adjoint.runtime.hooks.firing import noting
from adjoint.runtime.hooks.handles import Hooked, subject_of
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.structure import GAPS, Gap, emptied, items, leaves, refilled
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["Rule", "WithBprop"]


class WithBprop(Hooked, Protocol):
    """The attributes of a Cell that are used to call its `bprop` (a Protocol).

    takes_absent  True if `bprop` gets None, not zeros, for a result to which no gradient flows
    """

    takes_absent: bool

    @property
    def bprop(self) -> Callable[..., Any] | None: ...
    @property
    def construct(self) -> Callable[..., Any]: ...


class Rule:
    """Calls a cell's own `bprop` for one call of the cell, when the gradient is computed.

    `bprop` computes the gradients of all tensors in the arguments, nested ones too.  It is called with the arguments of construct in the
    order of its parameters (defaults filled in), then with construct's result, then with the cotangent of the result, in the same
    structure: zeros where nothing flows, 0 for a number, None for any other value.

    cell           the cell
    args, kwargs   the arguments of its call; the tensors in them are not kept
    shown          the indices of the tensors among the arguments that backward hooks see
    shown_results  the same for the result; empty before `returned` is called
    """

    shown_results: Sequence[int] = ()

    def __init__(self, cell: WithBprop, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.cell, self.shown = cell, shown(args)
        self._args, self._kwargs = emptied((args, kwargs), Tensor) if kwargs else (emptied(args, Tensor), kwargs)
        self._output: Any = None

    def returned(self, output: Any) -> None:
        """Store the result of construct, which `bprop` gets later.  Call it after construct, before the gradient is computed."""
        self._output, self.shown_results = emptied(output, Tensor), shown(output)

    def forward(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Call the cell's construct again, without its hooks, and return the tensors in its result, at any depth.

        inputs  other tensors for those in the arguments, in order
        """
        args, kwargs = refilled((self._args, self._kwargs), inputs)
        return leaves(self.cell.construct(*args, **kwargs), Tensor)

    def parameters(self) -> list[str]:
        """Return the names of construct's parameters, if each stands for one tensor of the call; otherwise an empty list."""
        try:
            bound = inspect.signature(self.cell.construct).bind(*self._args, **self._kwargs).arguments
        except (TypeError, ValueError):
            return []
        return [*bound] if all(isinstance(x, Gap) for x in bound.values()) else []

    def __call__(self, op: Bprop, given: Sequence[Tensor], types: Sequence[TensorType], loc: Loc) -> list[Tensor]:
        """Call `bprop`, and return the gradients of the tensors in the arguments, at any depth.

        op     the op of the node
        given  the operands of the node: arguments, results, cotangents
        types  the types of the gradients
        loc    the location of the cell's call, for messages
        """
        inputs, outputs = given[: op.inputs], given[op.inputs : op.inputs + op.outputs]
        cotangents = iter(given[op.inputs + op.outputs :])
        absent = self.cell.takes_absent
        douts = [next(cotangents) if here else None if absent else zeros(x.type) for x, here in zip(outputs, op.present, strict=True)]
        arguments = _by_parameter(self.cell.construct, self._args, self._kwargs)
        output = refilled(self._output, outputs)
        bprop = self.cell.bprop
        assert bprop is not None
        subject = subject_of(self.cell)
        where = f"bprop of {subject}"
        with noting(bprop, subject, loc):
            try:
                returned = bprop(*[refilled(x, inputs) for x in arguments], output, gradients_like(output, douts))
            except TypeError:
                _check_parameters(bprop, len(arguments), where)
                raise
        found = _by_place(returned, arguments, where)
        return [_fitted(found.get(i), type_, where) for i, type_ in enumerate(types)]


class _TooFewParameters(TypeError, RuntimeError):
    """Raised if a `bprop` has fewer than two parameters, so that it cannot take the output and its cotangent.  It is a TypeError, which
    Python raises, and a RuntimeError, which MindSpore's graphs raise.
    """


_TooFewParameters.__module__, _TooFewParameters.__name__, _TooFewParameters.__qualname__ = "builtins", "TypeError", "TypeError"


def _check_parameters(bprop: Any, inputs: int, where: str) -> None:
    """Raise TypeError, with MindSpore's text, if `bprop` cannot take this many inputs, the output and its cotangent.

    where  a description of the bprop, for the message
    """
    signature = inspect.signature(bprop)
    try:
        signature.bind(*[None] * (inputs + 2))
    except TypeError:
        count = len(signature.parameters)
        if count < 2:
            raise _TooFewParameters("The function 'bprop' of Primitive or Cell requires at least 2 params 'out' and 'dout', "
                                    f"but got only {count}. ({where})") from None
        raise TypeError("The params of function 'bprop' of Primitive or Cell requires the forward inputs as well as the 'out' and "
                        f"'dout': {inputs + 2} here, but it takes {count}. ({where})") from None


def _by_parameter(construct: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments of a call in the order of construct's parameters, defaults filled in."""
    code = getattr(getattr(construct, "__func__", None), "__code__", None)
    if code is not None and not kwargs and code.co_argcount == len(args) + 1 and not (code.co_kwonlyargcount or code.co_flags & _VARIADIC):
        return list(args)  # fast path: no keywords, no defaults
    bound = inspect.signature(construct).bind(*args, **kwargs)
    bound.apply_defaults()
    return [*bound.args, *bound.kwargs.values()]


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _by_place(returned: Any, arguments: Sequence[Any], where: str) -> dict[int, Any]:
    """Return, for the index of each tensor in the arguments, the gradient that bprop returned for it.

    bprop may return one entry for each argument, in its structure; or for each argument that holds tensors; or for each tensor.  A single
    entry needs no tuple, and surplus entries are ignored.

    returned   the result of bprop
    arguments  the arguments, with a Gap (a numbered placeholder) for each tensor
    where      a description of the bprop, for messages

    TypeError for None and for another structure, RuntimeError for an empty tuple, ValueError for another number of entries.
    """
    if returned is None:
        raise TypeError(f"The python function output is none. ({where})")
    entries = returned if isinstance(returned, (tuple, list)) else (returned,)
    if len(entries) >= len(arguments) and arguments == GAPS[: len(arguments)] and are_tensors(entries):
        return dict(enumerate(entries))  # fast path: only tensors
    places, holding = leaves(arguments, Gap), [x for x in arguments if leaves(x, Gap)]
    if not len(entries) and places:
        raise RuntimeError(f"Hook fn grad output is empty! ({where})")
    # Entries may be left out for the last arguments, if these hold no tensors.
    chosen = holding if leaves(arguments[len(entries):], Gap) else arguments
    if chosen is holding and len(entries) not in (len(holding), len(places)):
        raise ValueError(f"The {where} must return a gradient for each of its {len(arguments)} inputs, but got {len(entries)}.")
    try:
        return {place.index: own for x, entry in zip(chosen, entries, strict=False) for place, own in paired(x, entry, Gap)}
    except Unlike as unlike:
        if len(entries) == len(places) and all(items(entry) is None for entry in entries):
            return {place.index: entry for place, entry in zip(places, entries, strict=True)}
        raise TypeError(f"The {where} must return gradients in the structure of its inputs: {unlike.expected} is needed, "
                        f"but got {unlike.got}.") from None


def _fitted(entry: Any, type_: TensorType, where: str) -> Tensor:
    """Convert a gradient that bprop returned to the input's type.

    None becomes zeros, a number that number for each element.  A larger gradient is summed over the axes along which the input broadcasts
    to it.  TypeError if it is not a tensor or a number, RuntimeError if the input does not broadcast to it.

    entry  what bprop returned for one tensor
    where  a description of the bprop, for messages
    """
    if entry is None:
        return zeros(type_)
    if isinstance(entry, (bool, int, float)):
        return apply(Broadcast(to=type_), Tensor(entry, type_.dtype))
    if not isinstance(entry, Tensor):
        raise TypeError(f"The gradients that {where} returns must be tensors, but got {entry!r} of type {type(entry).__name__}.")
    if entry.dtype is not type_.dtype:
        entry = apply(Cast(type_.dtype), entry)
    if entry.type is type_:
        return entry
    have, wanted = entry.shape, type_.sizes
    try:
        together = np.broadcast_shapes(have, wanted)
    except ValueError:
        together = None
    if together == have:
        return _unbroadcast(entry, type_)
    raise RuntimeError(
        "For grad interface or custom function, grad tensor should be broadcast to expected shape, but got "
        f"[const vector]{{{', '.join(map(str, have))}}} vs [const vector]{{{', '.join(map(str, wanted))}}} ({where})")


def _unbroadcast(gradient: Tensor, type_: TensorType) -> Tensor:
    """Sum a gradient over the axes along which an input of `type_` was broadcast, so that it gets the input's shape."""
    lead = gradient.ndim - type_.rank
    axes = (*range(lead), *(lead + i for i, size in enumerate(type_.sizes) if size == 1 and gradient.shape[lead + i] != 1))
    summed = apply(Sum(axes, False), gradient) if axes else gradient
    return summed if summed.type is type_ else apply(Reshape(type_), summed)
