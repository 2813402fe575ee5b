"""Parameters: tensors that a network owns and an optimiser writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adjoint.ir.types import DType
from adjoint.runtime.tensor import Tensor, as_tensor

__all__ = ["Parameter", "ParameterTuple"]


class Parameter(Tensor):
    """A tensor with a name that takes part in training.

    default_input  its first value: Tensor, number, list, NumPy array
    name           as `parameters_and_names` shows it; a Cell gives the attribute's name when there is none
    requires_grad  whether `trainable_params` lists it and gradients are taken for it
    """

    __slots__ = ()

    def __init__(
        self, default_input: Any, name: str | None = None, requires_grad: bool = True, layerwise_parallel: bool = False,
        parallel_optimizer: bool = True, storage_format: str = "", device: str | None = None,
    ):
        source = as_tensor(default_input)
        self.type, self.memory = source.type, source.copy().memory if isinstance(default_input, Parameter) else source.memory
        self.name = _checked_name(name) if name is not None else "Parameter"
        if not isinstance(requires_grad, bool):
            raise TypeError(f"For 'Parameter', the argument 'requires_grad' must be a bool, but got {requires_grad!r}.")
        self.requires_grad = requires_grad
        self.layerwise_parallel, self.parallel_optimizer = layerwise_parallel, parallel_optimizer

    @property
    def is_default_name(self) -> bool:
        return self.name == "Parameter"

    def __repr__(self) -> str:
        return (f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
                f"requires_grad={self.requires_grad})")

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        return self.clone()

    def clone(self, init: str | Tensor = "same") -> Parameter:
        """A parameter of the same name and options; with the same numbers ("same"), or those of `init`."""
        from adjoint.runtime.initializer import initializer  # initialisers need tensors

        data = Tensor(self.asnumpy().copy(), self.dtype) if isinstance(init, str) and init == "same" else (
            init if isinstance(init, Tensor) else initializer(init, self.shape, self.dtype))
        return Parameter(data, self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)

    @property
    def data(self) -> Parameter:
        return self

    def value(self) -> Tensor:
        """The numbers as a Tensor of their own."""
        return Tensor(self)

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """The parameter: its data is there from the start."""
        return self

    def set_dtype(self, dtype: DType) -> Parameter:
        self.set_data(self.astype(dtype))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (Tensor(self), self.name, self.requires_grad)


def _rebuilt(data: Tensor, name: str, requires_grad: bool) -> Parameter:
    return Parameter(data, name, requires_grad)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"The type of the Parameter's name should be 'string' or 'None', but got {type(name).__name__}.")
    if not name.strip():
        raise ValueError("The Parameter's name must not be an empty string.")
    return name


class ParameterTuple(tuple[Parameter, ...]):
    """Parameters in order, from any iterable; TypeError for an item that is none, ValueError for a name used twice."""

    def __new__(cls, iterable: Iterable[Parameter]) -> ParameterTuple:
        items = tuple(iterable)
        seen: dict[str, Parameter] = {}
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(f"For 'ParameterTuple', every item must be a Parameter, but got {item!r} of type {type(item).__name__}.")
            if item.name in seen and seen[item.name] is not item:
                raise ValueError(f"The name of the Parameter is {item.name!r}, which is used twice. "
                                 "Please set a unique name for each Parameter.")
            seen[item.name] = item
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: str | Tensor = "same") -> ParameterTuple:
        """Copies whose names begin with `prefix.`"""
        copies = [parameter.clone(init) for parameter in self]
        for copy in copies:
            copy.name = f"{prefix}.{copy.name}"
        return ParameterTuple(copies)
