"""Operators built from others: gradients, functions mapped over tuples, gradient clipping."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.sums import SumOfSquares
from adjoint.ir.types import F32, F64, DType
from adjoint.ops import arithmetic, creation, parts, reduction
from adjoint.ops.arguments import flag, floating, number, real, single, tensors_argument, wrong
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.grad import GradOperation
from adjoint.runtime.tensor.kinds import KINDS, NamedKind, accepts, named_kind
from adjoint.runtime.tensor.run_time_checks import TRUE, called, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["GradOperation", "HyperMap", "Map", "MultitypeFuncGraph", "add_flags", "clip_by_global_norm", "clip_by_norm", "partial"]


class MultitypeFuncGraph:
    """A function with a body for each combination of argument types.

        scale = MultitypeFuncGraph("scale")

        @scale.register("Number", "Tensor")
        def _(factor, x):
            return factor * x

    Types are named "Tensor", "Number", "Bool", "Int", "Float", "String", "Tuple", "List", "Function", "None", "Float32",
    "Tensor[Float32]", or given as dtypes (of numbers: Python's are Bool, Int64 and Float64), as `TensorType(float32)`, `tensor_type`,
    `number` and their like, or as Python types.  The first body whose types fit is called; raise ValueError if there is none.
    """

    def __init__(self, name: str, read_value: bool = False):
        if not isinstance(name, str):
            raise wrong("MultitypeFuncGraph", "name", "a str", name, TypeError)
        self.name = name
        self.entries: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []

    def register(self, *types: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Make the decorated function the body for these types."""
        kinds = tuple(named_kind(given) if isinstance(given, str) else given for given in types)
        for kind, given in zip(kinds, types, strict=True):
            if not isinstance(kind, (NamedKind, DType, type)):
                expected = f"one of {list(KINDS)}, a dtype, or the name of one"
                raise wrong("MultitypeFuncGraph", "types", expected, repr(given), ValueError if isinstance(given, str) else TypeError)

        def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((kinds, function))
            return function

        return decorated

    def __call__(self, *arguments: Any) -> Any:
        for types, function in self.entries:
            if len(types) == len(arguments) and all(accepts(t, a) for a, t in zip(arguments, types, strict=True)):
                return called(function, *arguments)
        got = ", ".join(type(a).__name__ for a in arguments)
        have = ", ".join(f"({', '.join(map(_spelled, types))})" for types, _ in self.entries) or "none"
        raise ValueError(f"For 'MultitypeFuncGraph' {self.name!r}, no body is registered for arguments of types ({got}). "
                         f"There are: {have}.")

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r})"


def _spelled(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


class HyperMap:
    """Maps a function over the items of tuples and lists in parallel, at any depth; returns tuples.  For other values it is one call.

    ops      the function; None: it is the first argument of the call
    reverse  begin with the last items
    """

    deep = True

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False):
        if ops is not None and not callable(ops):
            raise wrong(type(self).__name__, "ops", "a function", ops, TypeError)
        self.ops, self.reverse = ops, flag(type(self).__name__, "reverse", reverse)

    def __call__(self, *arguments: Any) -> Any:
        function, items = (self.ops, arguments) if self.ops is not None else ((*arguments, None)[0], arguments[1:])
        if function is None or isinstance(function, (tuple, list, Tensor)):
            raise wrong(type(self).__name__, "ops", "a function, or one as the first argument of the call", function, TypeError)
        if not self.deep and not any(isinstance(x, (tuple, list)) for x in items):
            raise wrong(type(self).__name__, "args", "tuples or lists", [type(x).__name__ for x in items], TypeError)
        return self._mapped(function, items)

    def _mapped(self, function: Any, items: Sequence[Any]) -> Any:
        if not all(isinstance(x, (tuple, list)) for x in items):
            return called(function, *items)
        if len({len(x) for x in items}) > 1:
            raise wrong(type(self).__name__, "args", "tuples of one length", [len(x) for x in items])
        places = range(len(items[0]))
        rows = {i: self._entry(function, [x[i] for x in items]) for i in (reversed(places) if self.reverse else places)}
        return tuple(rows[i] for i in places)

    def _entry(self, function: Any, items: Sequence[Any]) -> Any:
        return self._mapped(function, items) if self.deep else called(function, *items)


class Map(HyperMap):
    """Maps a function over the items of tuples and lists in parallel."""

    deep = False


def zeros_like(x: Any) -> Any:
    """Return zeros like a tensor, a number, or tuples and lists of these at any depth; None stays None.

    `ops.zeros_like` is for tensors alone.
    """
    return _filled_like("ZerosLike", x, 0, creation.zeros_like)


def ones_like(x: Any) -> Any:
    """Return ones like a tensor, a number, or tuples and lists of these at any depth; None stays None.

    `ops.ones_like` is for tensors alone.
    """
    return _filled_like("OnesLike", x, 1, creation.ones_like)


def _filled_like(op: str, x: Any, value: int, of_tensor: Callable[[Any], Tensor]) -> Any:
    if isinstance(x, Tensor):
        return of_tensor(x)
    if isinstance(x, (tuple, list)):
        items = [_filled_like(op, item, value, of_tensor) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    kind = getattr(x, "python_type", type(x))
    if x is not None and kind not in (bool, int, float):
        raise wrong(op, "x", "a Tensor, a number, or a tuple or list of these", x, TypeError)
    return None if x is None else kind(value)


def partial(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return the function with its first arguments, and some keyword arguments, bound."""
    if not callable(func):
        raise wrong("Partial", "func", "a function", func, TypeError)
    return functools.partial(func, *args, **kwargs)


def add_flags(fn: Any = None, **flags: Any) -> Any:
    """Give a Cell flags, as `Cell.add_flags` does, or keep them with a function; without `fn` a decorator.

    Flags that control MindSpore's graph compiler have no effect here.
    """
    if fn is None:
        return functools.partial(add_flags, **flags)
    if isinstance(fn, Cell):
        return fn.add_flags(**flags)
    if not callable(fn):
        raise wrong("add_flags", "fn", "a function or a Cell", fn, TypeError)
    try:
        fn._func_graph_flags = getattr(fn, "_func_graph_flags", {}) | flags  # pyright: ignore[reportFunctionMemberAccess] - now set
    except (AttributeError, TypeError):
        raise wrong("add_flags", "fn", "a function of Python's, which can keep flags", fn, TypeError) from None
    return fn


def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale a tensor, or the tensors of a tuple or list, so that their common length is at most `max_norm`; integers become Float32.

    norm_type  the p of (sum |x|**p)**(1/p), not 0; infinity for the largest |x|
    error_if_nonfinite  True: RuntimeError if the length is infinite or NaN
    """
    order = number("clip_by_norm", "norm_type", norm_type)
    if not order:
        raise wrong("clip_by_norm", "norm_type", "a number other than 0", norm_type)
    given = (x,) if isinstance(x, Tensor) else tensors_argument("clip_by_norm", "x", x)
    items = tuple(floating(item) for item in given)
    length = _length(items) if order == 2 else _common_norm(items, float(order))
    if flag("clip_by_norm", "error_if_nonfinite", error_if_nonfinite):
        checked_on_host(_check_finite, length, conditions=lambda: [(arithmetic.isfinite(length), TRUE)])
    limit = real("clip_by_norm", "max_norm", max_norm)
    factor = limit / arithmetic.maximum(length + 1e-6, limit)
    scaled = tuple((item * factor).astype(item.dtype, copy=False) for item in items)
    return scaled[0] if isinstance(x, Tensor) else type(x)(scaled)


def _common_norm(items: Sequence[Tensor], order: float) -> Tensor:
    """Return the norm of order `order` of all elements of some tensors, by the norm of the norms of each."""
    def norm_of(x: Tensor) -> Tensor:
        axes = tuple(range(x.ndim))
        if math.isinf(order):
            return (reduction.amax if order > 0 else reduction.amin)(abs(x), axes)
        return reduction.power_norm(x, order, axes, False)

    return norm_of(parts.stack([norm_of(single(item)) for item in items]))


def _check_finite(length: Tensor) -> None:
    if not abs(length.item()) < float("inf"):
        raise RuntimeError(f"For 'clip_by_norm', the length of the tensors is not finite: {length.item()}.")


def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """Scale tensors in a tuple or list by clip_norm / max(clip_norm, their common length)."""
    if use_norm is not None:
        raise wrong("clip_by_global_norm", "use_norm", "None", use_norm)
    tensors_argument("clip_by_global_norm", "x", x)
    limit = real("clip_by_global_norm", "clip_norm", clip_norm)
    if limit <= 0:
        raise wrong("clip_by_global_norm", "clip_norm", "more than 0", limit)
    factor = limit / arithmetic.maximum(_length(x), limit)
    return tuple((single(item) * factor).astype(item.dtype, copy=False) if item.dtype.is_float else item * factor for item in x)


def _length(items: Sequence[Tensor]) -> Tensor:
    total = _square_length(items[0])
    for item in items[1:]:
        total = total + _square_length(item)
    return arithmetic.root_of_sum(total)


def _square_length(x: Tensor) -> Tensor:
    """Return the sum of squares; of two-byte floats in Float32."""
    if not x.dtype.is_float:
        return reduction.sum(arithmetic.square(x))
    return apply(made(SumOfSquares, tuple(range(x.ndim)), False, F64 if x.dtype is F64 else F32), x)
