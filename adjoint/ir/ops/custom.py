"""The op of `ops.Custom`: functions of the user's own in Python or C, which are called on arrays (`adjoint/ops/primitives/custom.py`).

The functions are kept here by number.  An op holds its function, so that a graph or an adjoint can run after the object that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from adjoint.ir.op import NotDifferentiable, Op, mistyped, operation, sample
from adjoint.ir.ops.elementwise import F32_23
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import BF16, F16, TensorType, Type

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node, Region
    from adjoint.ir.ops.elementwise import Array, Cotangents

__all__ = ["Custom", "ForeignFunction"]

_functions: WeakValueDictionary[int, ForeignFunction] = WeakValueDictionary()
_numbers = count()


class ForeignFunction:
    """A function of the user's own, as an op calls it.

    title    what messages call it
    compute  takes an array of its own for each operand, the types of the operands, and those of the results; returns an array, or a tuple
    raw      True: arrays are as tensors are stored, bfloat16 as uint16; False: bfloat16 is float32
    pull     emits the gradient; None if the user has given none
    number   its number
    """

    def __init__(self, title: str, compute: Callable[[Sequence[Array], Sequence[Type], Sequence[Type]], Any],
                 pull: Callable[..., Cotangents] | None, *, raw: bool = False):
        self.title, self.compute, self.pull, self.raw = title, compute, pull, raw
        self.number = next(_numbers)
        _functions[self.number] = self


_IDENTITY = ForeignFunction("the identity", lambda arrays, _types, _results: tuple(arrays), lambda _op, _b, _node, *cts: cts)
"""Number 0, for samples."""


@operation
class Custom(Op):
    """What a function of the user's own computes: `y: f32[3] = custom(x, function=4, operands=[f32[3]])`.

    operands   any tensors, of the types that the attribute lists
    function   the number of the function in this process; 0 is the identity
    result     of the types at the binders
    gradient   that of the function's `bprop`
    errors     ValueError, TypeError: other operands; RuntimeError: the function is gone, or returns something else than it should
    """

    function: int
    operands: tuple[Type, ...]
    results: tuple[Type, ...]
    variadic: ClassVar[bool] = True
    in_python = True
    samples = (sample(F32_23, function=0, operands=(F32_23,), results=(F32_23,)),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "foreign", _functions.get(self.function))

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of the operands, for messages."""
        return tuple(f"input {i + 1}" for i in range(len(self.operands)))

    @property
    def given(self) -> dict[str, Any]:
        """The attributes that `bprop` gets by name: none."""
        return {}

    def result_types(self, operands: Sequence[Type], regions: Sequence[Region]) -> tuple[Type, ...]:
        if len(operands) != len(self.operands):
            raise TypeError(f"For 'Custom', the operands must be {len(self.operands)} tensors, but got {len(operands)}.")
        for name, expected, got in zip(self.takes, self.operands, operands, strict=True):
            if got is not expected:
                assert isinstance(expected, TensorType)
                raise mistyped(self, name, expected, got)
        return self.results

    def reference(self, *operands: Array) -> Any:
        foreign = self._foreign()
        given = [_given(x, t, foreign.raw) for x, t in zip(operands, self.operands, strict=True)]
        returned = foreign.compute(given, self.operands, self.results)
        found = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(found) != len(self.results):
            raise RuntimeError(f"For 'Custom', {foreign.title} must return {len(self.results)} arrays, as 'out_shape' and 'out_dtype' "
                               f"say, but it returned {len(found)}.")
        made = tuple([self._checked(foreign, x, t) for x, t in zip(found, self.results, strict=True)])
        return made[0] if len(made) == 1 else made

    def _checked(self, foreign: ForeignFunction, x: Any, type_: Type) -> Array:
        """Return a result in the dtype it is computed in; RuntimeError if it is not of its type."""
        assert isinstance(type_, TensorType)
        array = np.asarray(x)
        dtype = np.dtype(np.float32) if type_.dtype is BF16 and not foreign.raw else type_.dtype.array
        if array.dtype != dtype or array.shape != type_.sizes:
            raise RuntimeError(f"For 'Custom', {foreign.title} must return an array of shape {list(type_.sizes)} and dtype {dtype}, as "
                               f"'out_shape' and 'out_dtype' say, but it returned one of shape {list(array.shape)} and dtype "
                               f"{array.dtype}.")
        return to_compute(array, type_.dtype) if foreign.raw else array.astype(type_.dtype.compute.array, copy=False)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        foreign = self._foreign()
        if foreign.pull is None:
            raise NotDifferentiable(f"`Custom` has no gradient of {foreign.title}: give it the argument `bprop=`, a function of the "
                                    "inputs, the result and its gradient that returns a gradient for each input")
        return foreign.pull(self, b, node, *cotangents)

    def _foreign(self) -> ForeignFunction:
        foreign: ForeignFunction | None = self.foreign  # pyright: ignore[reportAttributeAccessIssue] - set by `__post_init__`
        if foreign is None:
            raise RuntimeError(f"For 'Custom', the function number {self.function} is gone, or is one of another process: make the "
                               "operator again.")
        return foreign


def _given(x: Array, type_: Type, raw: bool) -> Array:
    """Return an operand as an array that the function may write."""
    assert isinstance(type_, TensorType)
    if raw or type_.dtype is F16:
        x = from_compute(x, type_.dtype)
    return np.array(x, order="C")
