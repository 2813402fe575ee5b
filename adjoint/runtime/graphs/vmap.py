"""`vmap`: a function of one example becomes a function of a batch of examples.

    vmap(fn)(xs)        means        stack([fn(x) for x in xs])

The function is parsed once, for the types of one example, into the region of a node `batch`; `passes/batch.py` makes of it nodes that
compute all examples at once.  A function that cannot be parsed, or that changes something outside of it, is called for one example after
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.op import made
from adjoint.ir.ops.shape import Concat, Reshape, Slice, Transpose
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.transformations import transformed
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.random import load_streams, streams_state
from adjoint.runtime.tensor.structure import RESULTS, items, leaves, mapped, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["one_after_the_other", "vmap"]

RANDOMNESS = ("same", "different", "error")

_FOR_ANY_WAY = ("E148", "E149")
"""The codes of mistakes that calling the function for one example after the other would hide, or find again."""


def vmap(
    fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, randomness: str = "same", chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that calls `fn` for each example of a batch: its arguments and results have one axis more.

    It means the loop over the examples, and gives its numbers; the examples are computed at once where that is possible.

    fn          a function or Cell of one example; it returns tensors or numbers, or tuples, lists or dicts of them.  A CellList is an
                ensemble: each of its Cells is called with one example, or all with the same arguments
    in_axes     the axis of the examples in each argument, None for an argument that is the same for all: one for all arguments, or a tuple
                or list with one for each, nested as the arguments are, with dicts of the same keys for dicts
    out_axes    the axis of the examples in each result, None for a result that is the same for all: as `in_axes`
    randomness  "same": all examples draw the same random numbers, as in MindSpore; "different": those of the loop; "error": none may draw
    chunk_size  how many examples are computed at once, which bounds the memory; None for all

    The arguments of the result are positional.

    RuntimeError if an axis is not an int or None or does not exist, if there is none in `in_axes` or `out_axes`, if the numbers of examples
    differ, if there are not as many axes as arguments or results, if the results of examples differ in structure or shape, or if random
    numbers are drawn that may not be; TypeError if `fn` cannot be called, or an argument is given by name; ValueError for another
    `randomness` or a `chunk_size` below 1.  CompileError if `fn` writes a Parameter with a value that depends on the example (E148), or
    gives a size that does (E149).
    """
    if not callable(fn):
        raise TypeError(f"For 'vmap', the argument 'fn' must be a function or a Cell, but got {fn!r} of type {type(fn).__name__}.")
    cells = [*fn] if isinstance(fn, Cell) and fn.is_list else None  # pyright: ignore[reportGeneralTypeIssues] - such a Cell is iterable
    _check_axes("in_axes", in_axes, may_be_none=cells is not None)
    _check_axes("out_axes", out_axes)
    if not isinstance(randomness, str) or randomness not in RANDOMNESS:
        raise ValueError(f"For 'vmap', the argument 'randomness' must be one of {', '.join(map(repr, RANDOMNESS))}, "
                         f"but got {randomness!r}.")
    if chunk_size is not None and (not isinstance(chunk_size, int) or isinstance(chunk_size, bool) or chunk_size < 1):
        raise ValueError(f"For 'vmap', the argument 'chunk_size' must be an int of at least 1 or None, but got {chunk_size!r}.")

    # It refers to nothing that is made anew for each call of `vmap`, so that all share their graphs.
    def vmapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(f"For 'vmap', the arguments must be positional, since 'in_axes' has one axis for each, but got "
                            f"{', '.join(map(repr, kwargs))} by name.")
        return _Mapped(fn, in_axes, out_axes, randomness, chunk_size, cells).call(args)

    refused = "each example draws other random numbers" if randomness == "different" else ""
    return transformed(vmapped, fn.construct if isinstance(fn, Cell) else fn, final=_FOR_ANY_WAY, refused=refused)


def _check_axes(name: str, axes: Any, may_be_none: bool = False) -> None:
    found = _flat(axes)
    for axis in found:
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise RuntimeError(f"For 'vmap', an axis in '{name}' must be an int or None, but got {axis!r} of type {type(axis).__name__}.")
    if not may_be_none and all(axis is None for axis in found):
        raise RuntimeError(f"For 'vmap', '{name}' must have an axis, but got {axes!r}: each example would be the same.")


def _flat(axes: Any) -> list[Any]:
    parts = axes.values() if isinstance(axes, dict) else axes
    return [inner for axis in parts for inner in _flat(axis)] if isinstance(axes, (tuple, list, dict)) else [axes]


@dataclass(frozen=True)
class _Examples:
    """The arguments of a call, with the examples along the first axis.

    args  the arguments
    axes  for each tensor in them, in order: the axis of the examples, None if it is the same for all
    size  the number of examples
    """

    args: tuple[Any, ...]
    axes: tuple[int | None, ...]
    size: int

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors with examples, each with these along its first axis."""
        found = leaves(self.args, Tensor)
        return [moved(x, axis, 0) for x, axis in zip(found, self.axes, strict=True) if axis is not None]

    def arguments(self, examples: Sequence[Tensor]) -> tuple[Any, ...]:
        """Return the arguments for one example of each of `tensors`, or for several with their axis first."""
        left = iter(examples)
        found = leaves(self.args, Tensor)
        return replaced(self.args, [x if axis is None else next(left) for x, axis in zip(found, self.axes, strict=True)], Tensor)


def one_after_the_other(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `vmap(fn)`, which calls the function for one example after the other."""
    return lambda *args: _Mapped(fn, 0, 0, "different", None).call(args)


class _Mapped:
    """A function of a batch, made of a function of one example; the arguments are those of `vmap`.

    cells  the Cells of an ensemble, one for each example; None if the function is the same for all
    """

    def __init__(self, fn: Callable[..., Any], in_axes: Any, out_axes: Any, randomness: str, chunk_size: int | None,
                 cells: Sequence[Cell] | None = None):
        self._fn, self._in_axes, self._out_axes = fn, in_axes, out_axes
        self._randomness, self._chunk_size, self._cells = randomness, chunk_size, cells

    def call(self, args: tuple[Any, ...]) -> Any:
        """Call the function for all examples: at once while a graph is made, otherwise one after the other."""
        graph, examples = emitter(), self._examples(args)
        if graph is None or self._randomness == "different" or self._cells is not None:
            return self._out(*self._one_after_the_other(examples), examples.size)
        tensors, size = examples.tensors, self._chunk_size or max(examples.size, 1)
        ends = range(0, examples.size, size)
        chunks = [[_rows(x, begin, min(begin + size, examples.size)) for x in tensors] for begin in ends] if len(ends) > 1 else [tensors]
        parts = [graph.batch(self._fn, chunk, examples.arguments, self._randomness == "error") for chunk in chunks]
        found = [leaves(part, Tensor, RESULTS) for part, _ in parts]
        whole = [xs[0] if len(xs) == 1 else apply(made(Concat, 0), *xs) for xs in zip(*found, strict=True)]
        (result, depends), *_ = parts
        return self._out(replaced(result, whole, Tensor), depends, examples.size)

    def _one_after_the_other(self, examples: _Examples) -> tuple[Any, list[bool]]:
        """Call the function for one example after the other; return its results with the examples along the first axis, and for each tensor
        whether it depends on the example."""
        if not examples.size:
            raise RuntimeError("For 'vmap', there must be an example, since the function runs for one after the other, but there is none.")
        tensors, graph = examples.tensors, emitter()
        streams = streams_state()
        found: list[Any] = []
        rows: list[list[Tensor]] = []
        for index in range(examples.size):
            if index and self._randomness == "same" and graph is None:
                load_streams(streams)
            fn = self._fn if self._cells is None else self._cells[index]
            args = examples.arguments([_row(x, index) for x in tensors])
            result = fn(*args) if graph is None else graph.call(fn, args, {})
            found.append(mapped(result, lambda leaf: Tensor(leaf) if isinstance(leaf, (bool, int, float)) else leaf))
            # Values are taken at once, since the next example may write a Parameter that this one has returned.
            rows.append([_as_row(x) for x in _like_first(found[0], found[-1], index)])
        if self._randomness == "error" and graph is None and streams != streams_state():
            raise RuntimeError("For 'vmap', the function draws random numbers, but 'randomness' is 'error'.")
        whole = [apply(made(Concat, 0), *xs) for xs in zip(*rows, strict=True)]
        return replaced(found[0], whole, Tensor), [True] * len(whole)

    # -- axes ------------------------------------------------------------------------------------------------------------------
    def _examples(self, args: tuple[Any, ...]) -> _Examples:
        axes = tuple(_axes_of(args, self._in_axes))
        sizes = [x.shape[axis] for x, axis in zip(leaves(args, Tensor), axes, strict=True) if axis is not None]
        if self._cells is not None:
            count = len(self._cells)
            if any(size != count for size in sizes):
                raise ValueError(f"For 'vmap', a CellList must have as many Cells as there are examples, {sizes[0]}, but it has {count}.")
            return _Examples(args, axes, count)
        if not sizes:
            raise RuntimeError("For 'vmap', there must be a tensor with an axis of examples among the arguments, but there is none.")
        for size in sizes:
            if size != sizes[0]:
                raise RuntimeError(f"For 'vmap', all arguments must have as many examples, but got {sizes[0]} and {size}.")
        return _Examples(args, axes, sizes[0])

    def _out(self, result: Any, depends: Sequence[bool], size: int) -> Any:
        """Return the result with the axis of the examples where `out_axes` wants it.

        result   tensors with the examples along their first axis
        depends  for each of them whether it depends on the example
        """
        axes = _spread(result, self._out_axes, "out_axes", "results")
        found = leaves(result, Tensor, RESULTS)
        new: list[Tensor] = []
        for x, axis, does in zip(found, axes, depends, strict=True):
            if axis is None:
                if does:
                    raise RuntimeError("For 'vmap', a result with None in 'out_axes' must be the same for all examples, but it depends on "
                                       "the example: give its axis.")
                new.append(_row(x, 0))
            else:
                new.append(moved(x, 0, _checked(axis, len(x.shape), "out_axes")))
        return replaced(result, new, Tensor)


def _axes_of(args: tuple[Any, ...], axes: Any) -> Iterator[int | None]:
    """Yield for each tensor of the arguments the axis of the examples, not negative; RuntimeError if it does not exist."""
    found = leaves(args, Tensor)
    spread = _spread(args, axes, "in_axes", "arguments")
    for x, axis in zip(found, spread, strict=True):
        yield None if axis is None else _checked(axis, len(x.shape), "in_axes")


def _spread(value: Any, axes: Any, name: str, noun: str) -> list[int | None]:
    """Return the axis for each tensor of a nested structure; an axis counts for all tensors of its part."""
    parts = items(value) if isinstance(value, RESULTS) else None
    if isinstance(axes, dict):
        if not isinstance(value, dict) or value.keys() != axes.keys():
            raise RuntimeError(f"For 'vmap', a dict in '{name}' must have the keys of a dict among the {noun}, but got {axes!r}.")
        return [axis for key, part in value.items() for axis in _spread(part, axes[key], name, noun)]
    if isinstance(axes, (tuple, list)):
        if parts is None and len(axes) == 1:
            return _spread(value, axes[0], name, noun)
        if parts is None or len(parts) != len(axes):
            count = 1 if parts is None else len(parts)
            raise RuntimeError(f"For 'vmap', '{name}' must have an axis for each of the {count} {noun}, but got {axes!r}.")
        return [axis for part, inner in zip(parts, axes, strict=True) for axis in _spread(part, inner, name, noun)]
    if parts is not None:
        return [axis for part in parts for axis in _spread(part, axes, name, noun)]
    if isinstance(value, Tensor):
        return [axes]
    if axes is not None and name == "in_axes":
        raise RuntimeError(f"For 'vmap', an argument with the axis {axes} in 'in_axes' must be a Tensor, but got {value!r} of type "
                           f"{type(value).__name__}: make it a Tensor, or give None for its axis.")
    return []


def _checked(axis: int, rank: int, name: str) -> int:
    if not rank:
        raise RuntimeError(f"For 'vmap', a tensor with an axis in '{name}' must have at least 1 dimension, but got one without: give None "
                           "for its axis.")
    if not -rank <= axis < rank:
        raise RuntimeError(f"For 'vmap', an axis in '{name}' must be in [{-rank}, {rank}) for a tensor of {rank} dimensions, "
                           f"but got {axis}.")
    return axis % rank


# -- tensors -----------------------------------------------------------------------------------------------------------------------
def moved(x: Tensor, axis: int, to: int) -> Tensor:
    """Return a tensor whose axis `axis` is at the place `to`, with the others in their order."""
    if axis == to:
        return x
    order = [other for other in range(len(x.shape)) if other != axis]
    order.insert(to, axis)
    return apply(made(Transpose, tuple(order)), x)


def _rows(x: Tensor, begin: int, end: int) -> Tensor:
    shape = x.shape
    return apply(made(Slice, (begin, *(0,) * (len(shape) - 1)), (end, *shape[1:]), (1,) * len(shape)), x)


def _row(x: Tensor, index: int) -> Tensor:
    return apply(made(Reshape, x.type.with_shape(x.type.shape[1:])), _rows(x, index, index + 1))


def _like_first(first: Any, result: Any, index: int) -> list[Tensor]:
    """Return the tensors in the result of an example, in the order of those of the first one, whose dicts may have another order.

    RuntimeError if the structures, shapes, dtypes or other objects in them differ.
    """
    found: list[Tensor] = []
    if not _gathered(first, result, found):
        raise RuntimeError("For 'vmap', the results of all examples must have the same structure, shapes and dtypes, but got "
                           f"{_outline(first)} for example 0 and {_outline(result)} for example {index}: return the same containers, keys "
                           "and shapes for each, such as zeros for what one lacks.")
    return found


def _gathered(first: Any, other: Any, found: list[Tensor]) -> bool:
    """Append the tensors of a structure, in the order of another one; return False if the structures differ."""
    if isinstance(first, Tensor) and isinstance(other, Tensor):
        found.append(other)
        return first.dtype == other.dtype and first.shape == other.shape
    kind = type(first)
    if kind is not type(other):
        return False
    if issubclass(kind, dict):
        return first.keys() == other.keys() and all(_gathered(part, other[key], found) for key, part in first.items())
    if issubclass(kind, RESULTS):
        return len(first) == len(other) and all(_gathered(*parts, found) for parts in zip(first, other, strict=True))
    return not isinstance(first, (str, bytes)) or first == other


def _outline(value: Any) -> str:
    """Return the text of a result for an error: each tensor is its dtype and shape."""
    if isinstance(value, Tensor):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_outline(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(_outline, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    return repr(value)


def _as_row(x: Tensor) -> Tensor:
    return apply(made(Reshape, x.type.with_shape((1, *x.type.shape))), x)
