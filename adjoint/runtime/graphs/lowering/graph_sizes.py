"""Sizes of tensors while a function is made into a graph for any size.

`x.shape[0]` is then a polynomial over named sizes.  Python may compute with it, and put it into the shape of another tensor.  A comparison
has a result only if it is the same for all sizes from `LEAST` on; otherwise CompileError is raised, and each size gets its own graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from adjoint.frontend import errors
from adjoint.ir.types import Dim, Poly, TensorType, substituted
from adjoint.runtime.graphs.inputs.outline import OutlineSlot
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import emitter

__all__ = ["LEAST", "GraphSize", "shape_of", "size_of", "with_numbers"]

LEAST = 2
"""Every named size is at least this: 0 and 1 have rules of their own, as in broadcasting."""


def _unknown(*_: Any) -> NoReturn:
    graph = emitter()
    loc = user_location() if graph is None else graph.loc
    raise errors.VALUE_NEEDED.at(loc, "the size of a tensor decides something while parsing", help="parse it for each size")


class GraphSize(Poly):
    """A size of a tensor that differs between calls of a graph, as parsed code (the user's code of the graph) sees it: an int that is not
    known.

    It is a polynomial over named sizes.  `isinstance` takes it for an int.  A question that depends on the size raises CompileError, and
    each size then gets its own graph.
    """

    __slots__ = ()

    __class__ = int  # pyright: ignore[reportAssignmentType] - for `isinstance`

    def plain(self) -> Poly:
        return Poly(self.terms)

    def as_run_time_number(self) -> Any:
        """Return the size as a number that is known when the graph runs."""
        graph = emitter()
        return _unknown() if graph is None else graph.number_of_size(self)

    # -- arithmetic -------------------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Any:
        return _computed(Poly.__add__, self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _computed(Poly.__sub__, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _computed(Poly.__rsub__, self, other)

    def __mul__(self, other: Any) -> Any:
        return _computed(Poly.__mul__, self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> GraphSize:
        return self

    def __floordiv__(self, other: Any) -> Any:
        if type(other) is not int or other <= 0 or any(count % other for _, count in self.terms):
            _unknown()
        return _sized(Poly(tuple((names, count // other) for names, count in self.terms)))

    def __mod__(self, other: Any) -> Any:
        if type(other) is not int or other <= 0 or any(count % other for _, count in self.terms):
            _unknown()
        return 0

    def __truediv__(self, other: Any) -> Any:
        return self.as_run_time_number() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.as_run_time_number()

    # -- questions --------------------------------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, float, Poly)):
            return NotImplemented
        least, most = _bounds(self, other)
        if least == most == 0:
            return True
        if least > 0 or most < 0:
            return False
        _unknown()

    def __ne__(self, other: object) -> bool:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __lt__(self, other: Any) -> bool:
        least, most = _bounds(self, other)
        return True if most < 0 else False if least >= 0 else _unknown()

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        least, most = _bounds(self, other)
        return True if least > 0 else False if most <= 0 else _unknown()

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        raise TypeError("the size of a tensor is not known while parsing: it has no hash")

    def __repr__(self) -> str:
        _unknown()

    def __format__(self, spec: str) -> str:
        _unknown()

    __str__ = __repr__
    __index__ = __int__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _unknown
    __rfloordiv__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __abs__ = __invert__ = _unknown
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _unknown

    def __getattr__(self, name: str) -> Any:
        if hasattr(int, name) and not name.startswith("__"):
            _unknown()
        raise AttributeError(name)


def _sized(dim: Dim) -> Any:
    return GraphSize(dim.terms) if isinstance(dim, Poly) else dim


def _computed(compute: Callable[..., Dim], size: GraphSize, other: Any) -> Any:
    if not isinstance(other, (int, Poly)):
        if isinstance(other, float):
            _unknown()
        return NotImplemented
    return _sized(compute(size, int(other) if type(other) is bool else other))


def _bounds(size: GraphSize, other: Any) -> tuple[float, float]:
    """Return a lower and an upper bound of `size - other`, over all values that the named sizes can have."""
    if not isinstance(other, (int, Poly)):
        _unknown()
    difference = Poly.__sub__(size, int(other) if type(other) is bool else other)
    if not isinstance(difference, Poly):
        return difference, difference
    least = most = 0.0
    for names, count in difference.terms:
        if not names:
            least, most = least + count, most + count
        elif count > 0:
            least, most = least + count * LEAST ** len(names), float("inf")
        else:
            least, most = float("-inf"), most + count * LEAST ** len(names)
    return least, most


def with_numbers(sizes: Mapping[str, int], leaf: Any) -> Any:
    """Return a leaf of the outline of a result with numbers in place of named sizes.

    sizes  the numbers
    """
    if isinstance(leaf, GraphSize):
        return leaf.plain().substituted(sizes)
    if isinstance(leaf, OutlineSlot):
        return replace(leaf, type=substituted(leaf.type, sizes))
    return leaf


def shape_of(type_: TensorType) -> tuple[Any, ...]:
    """Return the shape of a tensor of the graph as parsed code (the user's code of the graph) sees it: ints, with a `GraphSize` for each
    size that is not known.
    """
    return type_.shape if type_.is_static else tuple(map(_sized, type_.shape))


def size_of(type_: TensorType) -> Any:
    """Return the number of elements of a tensor of the graph as parsed code (the user's code of the graph) sees it: an int, or a
    `GraphSize` if it is not known.
    """
    if type_.is_static:
        return type_.count
    count: Any = 1
    for size in shape_of(type_):
        count = size * count
    return count
