"""Parameters of distributions and bijectors: numbers, arrays, Tensors or Parameters that are kept, or None if each call gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.ir.types import BF16, BOOL, F16, F32, F64, DType, broadcast_shapes
from adjoint.ops import shapes
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FLOATS", "Parameterised", "above_zero", "float_dtype", "number_dtype"]

FLOATS = (F16, F32, F64, BF16)


class Parameterised(Cell):
    """A cell with named parameters that broadcast with each other.

    `batch_shape` is the shape of all parameters broadcast; () if none is kept.
    """

    def __init__(self, name: Any, dtype: DType | None, given: Mapping[str, Any]):
        super().__init__()
        if not isinstance(name, str):
            raise TypeError(f"For '{type(self).__name__}', the argument 'name' must be a str, "
                            f"but got {name!r} of type {type(name).__name__}.")
        self._title: str = name
        self._dtype, self._given = dtype, dict(given)
        self.parameter_type = dtype if dtype in FLOATS else F32
        self.parameter_names: list[str] = []
        self.default_parameters: list[Tensor | None] = []
        self._kept = {key: np.shape(_array(value)) for key, value in self._numbers(self._given).items() if value is not None}
        self._batch_shape = self._broadcast(*self._kept.values())

    @staticmethod
    def _numbers(given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of what a class was made with: under `param_dict`, if it has the other arguments as well."""
        return given.get("param_dict") or {}

    def _broadcast(self, *sizes: tuple[int, ...]) -> tuple[int, ...]:
        try:
            return broadcast_shapes(*sizes) if sizes else ()
        except ValueError:
            raise ValueError(f"For '{type(self).__name__}', the parameters must have shapes that broadcast, but got "
                             f"{', '.join(map(str, sizes))}.") from None

    @property
    def name(self) -> str:
        return self._title

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the object was made with."""
        return self._given

    @property
    def batch_shape(self) -> Any:
        return self._batch_shape

    @property
    def is_scalar_batch(self) -> bool:
        """True if all parameters that are kept are numbers."""
        return not any(self._kept.values())

    def _add_parameter(self, value: Any, name: str) -> Tensor | None:
        """Return a parameter as a Tensor of the type of all parameters, in the order in which they are added; None stays None.

        A Parameter is kept as it is, so that it is trained.
        """
        self.parameter_names.append(name)
        kept = value if value is None or isinstance(value, Parameter) else self._as_tensor(name, value)
        self.default_parameters.append(kept)
        return kept

    def _as_tensor(self, name: str, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return value.astype(self.parameter_type, copy=False)
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"For '{type(self).__name__}', the argument '{name}' must be a number, an array of numbers or a Tensor, "
                            f"but got {value!r} of type {type(value).__name__}.")
        return Tensor(array, self.parameter_type)

    def _check_value(self, value: Any, name: str) -> Tensor:
        """Return an argument in the type of the parameters; raise TypeError unless it is a Tensor."""
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{type(self).__name__}', the argument '{name}' must be a Tensor, "
                            f"but got {value!r} of type {type(value).__name__}.")
        return value.astype(self.parameter_type, copy=False)

    def _check_param_type(self, *arguments: Any) -> Any:
        """Return the parameters, those that a call gives before those that are kept, broadcast: one Tensor, or a list of several."""
        chosen: list[Tensor] = []
        for name, given, kept in zip(self.parameter_names, arguments, self.default_parameters, strict=True):
            if given is None and kept is None:
                raise TypeError(f"For '{type(self).__name__}', the parameter '{name}' must be a Tensor: it was not given when the object "
                                "was made, so each call must give it, but got None.")
            chosen.append(self._check_value(kept if given is None else given, name))
        if len(chosen) == 1:
            return chosen[0]
        sizes = self._broadcast(*(x.shape for x in chosen))
        return [x if x.shape == sizes else shapes.broadcast_to(x, sizes) for x in chosen]

    def _shown(self, /, **titles: Tensor | None) -> str:
        """Return the parameters for `repr`: the numbers, or the shape of many."""
        if not self.is_scalar_batch:
            return f"batch_shape = {self._batch_shape}"
        return ", ".join(f"{title.replace('_', ' ')} = {value}" for title, value in titles.items())


def _array(value: Any) -> Any:
    return value if isinstance(value, Tensor) else np.asarray(value)


def float_dtype(owner: str, dtype: Any, argument: str = "dtype") -> DType:
    """Check the dtype of a distribution of real numbers."""
    if not isinstance(dtype, DType) or dtype not in FLOATS:
        raise TypeError(f"For '{owner}', the argument '{argument}' must be a floating point type, but got {dtype!r}.")
    return dtype


def number_dtype(owner: str, dtype: Any) -> DType:
    """Check the dtype of a distribution of whole numbers, which may be a floating point type too."""
    if not isinstance(dtype, DType) or dtype is BOOL or not (dtype.is_integer or dtype in FLOATS):
        raise TypeError(f"For '{owner}', the argument 'dtype' must be a type of numbers, but got {dtype!r}.")
    return dtype


def above_zero(owner: str, name: str, x: Tensor | None, below: float = math.inf) -> None:
    """Raise ValueError if a parameter that is kept has a number that is not above 0, or not below a limit."""
    if x is None:
        return
    expected = "greater than 0" if below == math.inf else f"greater than 0 and less than {below:g}"

    def check(x: Tensor) -> None:
        numbers = x.asnumpy()
        if (numbers <= 0).any() or (numbers >= below).any():
            raise ValueError(f"For '{owner}', the argument '{name}' must be {expected}, but got {numbers.tolist()}.")

    # NaN passes, as everywhere: it shows in the results.
    checked_on_host(check, x, conditions=lambda: [((x <= 0).logical_or(x >= below).logical_not(), TRUE)])
