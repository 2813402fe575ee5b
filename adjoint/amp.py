"""Mixed precision: `auto_mixed_precision` and related functions, and loss scales, which keep half-precision gradients from
vanishing or overflowing.

    loss, grads = value_and_grad(lambda x: scaler.scale(forward(x)), None, optimizer.parameters)(x)
    grads, finite = scaler.unscale(grads), all_finite(grads)
    if finite:
        optimizer(grads)
    scaler.adjust(finite)
"""

from __future__ import annotations

from typing import Any

from adjoint.foundation import lazy
from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.types import F32, I32
from adjoint.ops.arguments import integer, number, operand, wrong
from adjoint.ops.arithmetic import isfinite, logical_and, maximum, reciprocal, where
from adjoint.ops.state import assign
from adjoint.runtime.inspection.training import in_use, unscaled
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "all_finite"]


def all_finite(inputs: Any) -> Tensor:
    """Return a bool Tensor: whether every number is finite, in a tensor or in all tensors of a tuple or list."""
    given = [inputs] if isinstance(inputs, Tensor) else inputs
    if not isinstance(given, (tuple, list)) or not given:
        raise wrong("all_finite", "inputs", "a Tensor, or a tuple or list of them", inputs, TypeError)
    found: Tensor | None = None
    for item in given:
        finite = all_finite(item) if isinstance(item, (tuple, list)) else isfinite(operand("all_finite", item, "inputs")).all()
        found = finite if found is None else logical_and(found, finite)
    assert found is not None
    return found


class LossScaler:
    """Base class of loss scalers: losses are multiplied by the Parameter `scale_value`, and gradients divided by it."""

    def __init__(self, scale_value: float):
        name = type(self).__name__
        if not number(name, "scale_value", scale_value) >= 1.0:
            raise wrong(name, "scale_value", "at least 1", scale_value)
        self.scale_value = Parameter(Tensor(scale_value, F32), name="scale_value")

    def scale(self, inputs: Any) -> Any:
        """Multiply a tensor, or each tensor of a tuple or list, by the scale; each keeps its dtype."""
        in_use(self, "scale_value")
        with finite_ok():  # a scaled loss that overflows does no harm: the gradients tell
            return self._times(self.scale_value, inputs)

    def unscale(self, inputs: Any) -> Any:
        """Divide a tensor, or each tensor of a tuple or list, by the scale; each keeps its dtype."""
        unscaled()
        return self._times(reciprocal(self.scale_value), inputs)

    def adjust(self, grads_finite: Any) -> bool:
        """Choose the next scale; return whether this scaler changes its scale at all."""
        raise NotImplementedError(f"{type(self).__name__} has no 'adjust'.")

    def _times(self, factor: Tensor, inputs: Any) -> Any:
        name = type(self).__name__
        multiplied = lambda x: operand(name, x, "inputs") * factor.astype(x.dtype)  # noqa: E731
        return mapped(inputs, multiplied) if isinstance(inputs, (tuple, list)) else multiplied(inputs)


class StaticLossScaler(LossScaler):
    """Use one scale for all steps."""

    def adjust(self, grads_finite: Any) -> bool:
        return False


class DynamicLossScaler(LossScaler):
    """Divide the scale by `scale_factor`, down to 1, after a step whose gradients are not finite; multiply it by the factor after
    `scale_window` finite steps."""

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int):
        super().__init__(scale_value)
        for argument, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if not 0 < integer("DynamicLossScaler", argument, value) < 2**31:
                raise wrong("DynamicLossScaler", argument, "more than 0 and of 32 bits", value)
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.counter = Parameter(Tensor(0, I32), name="counter")

    def adjust(self, grads_finite: Any) -> bool:
        """Choose the next scale; `grads_finite` is a bool, or a bool Tensor such as `all_finite` returns."""
        finite = Tensor(grads_finite) if isinstance(grads_finite, bool) else operand("DynamicLossScaler", grads_finite, "grads_finite")
        with finite_ok():
            larger = self.scale_value * self.scale_factor
        smaller = maximum(self.scale_value / self.scale_factor, 1.0)
        due = logical_and(self.counter == self.scale_window - 1, isfinite(larger))
        assign(self.scale_value, where(finite, where(due, larger, self.scale_value), smaller))
        assign(self.counter, where(finite, (self.counter + 1) % self.scale_window, 0).astype(I32))
        return True


LOADED_WHEN_USED = dict.fromkeys(
    ("DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "auto_mixed_precision", "build_train_network",
     "custom_mixed_precision", "get_black_list", "get_white_list"), "adjoint.train.amp")
"""Names whose modules are loaded at first use."""


def __getattr__(name: str) -> Any:
    if name in LOADED_WHEN_USED:
        return lazy.load(globals(), name)
    raise missing_name(__name__, name, globals())
