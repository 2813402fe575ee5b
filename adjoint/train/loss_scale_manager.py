"""How a Model scales the loss, which keeps half-precision gradients from vanishing or overflowing."""

from __future__ import annotations

from typing import Any

from adjoint.nn.checks import boolean, number, positive
from adjoint.nn.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell
from adjoint.runtime.cells.cell import Cell

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager:
    """Base class: a subclass defines these methods."""

    def get_loss_scale(self) -> Any:
        """Return the loss scale."""
        raise self._missing("get_loss_scale")

    def update_loss_scale(self, overflow: bool) -> None:
        """Choose the next loss scale; `overflow`: whether a gradient of the last step was not finite."""
        raise self._missing("update_loss_scale")

    def get_update_cell(self) -> Cell | None:
        """Return the cell that changes the scale in each step; None if gradients are not checked."""
        raise self._missing("get_update_cell")

    def get_drop_overflow_update(self) -> bool:
        """Return whether a step whose gradients are not finite leaves the parameters unchanged."""
        return True

    def _missing(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"For '{type(self).__name__}', the method '{method}' is not defined.")


class FixedLossScaleManager(LossScaleManager):
    """One scale for all steps.

    loss_scale            at least 1
    drop_overflow_update  skip steps whose gradients are not finite, and divide gradients by the scale; False: every step is made, and
                          the optimiser divides, by its own `loss_scale`, which must be this one
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True):
        if number("FixedLossScaleManager", "loss_scale", loss_scale) < 1:
            raise ValueError(f"The argument 'loss_scale' must be >= 1, but got {loss_scale}.")
        self._loss_scale = loss_scale
        self._drop_overflow_update = boolean("FixedLossScaleManager", "drop_overflow_update", drop_overflow_update)

    def get_loss_scale(self) -> float:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Change nothing."""

    def get_update_cell(self) -> FixedLossScaleUpdateCell | None:
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """Divide the scale by `scale_factor`, down to 1, after a step whose gradients are not finite; multiply it by the factor after
    `scale_window` finite steps.  Raise RuntimeError after more than 1000 overflowing steps in a row."""

    _MOST_OVERFLOWS = 1000

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000):
        name = "DynamicLossScaleManager"
        if number(name, "init_loss_scale", init_loss_scale) < 1.0:
            raise ValueError(f"The argument 'init_loss_scale' must be >= 1, but got {init_loss_scale}.")
        if number(name, "scale_factor", scale_factor) <= 0:
            raise ValueError(f"The argument 'scale_factor' must be > 0, but got {scale_factor}.")
        self.loss_scale = init_loss_scale
        self.scale_factor = scale_factor
        self.scale_window = positive(name, "scale_window", scale_window)
        self.cur_iter, self.last_overflow_iter, self.bad_step = 1, 0, 0

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def update_loss_scale(self, overflow: bool) -> None:
        if overflow:
            self.loss_scale = max(self.loss_scale / self.scale_factor, 1)
            self.last_overflow_iter = self.cur_iter
            self.bad_step += 1
        else:
            if (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
                self.loss_scale *= self.scale_factor
            self.bad_step = 0
        if self.bad_step > self._MOST_OVERFLOWS:
            raise RuntimeError(f"The gradients of {self.bad_step} steps in a row are not finite, with a loss scale that went down to "
                               f"{self.loss_scale}: look for the first operation that gives NaN or infinity.")
        self.cur_iter += 1

    def get_update_cell(self) -> DynamicLossScaleUpdateCell:
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)

    def state_dict(self) -> dict[str, Any]:
        return {"loss_scale": self.loss_scale, "cur_iter": self.cur_iter, "last_overflow_iter": self.last_overflow_iter,
                "bad_step": self.bad_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
