"""Training steps with a scaled loss, which keeps half-precision gradients from vanishing or overflowing."""

from __future__ import annotations

from typing import Any

from adjoint.amp import all_finite
from adjoint.ir.types import BOOL, F32, I32
from adjoint.nn.checks import floating, number, positive, tensor_argument
from adjoint.nn.wrap import TrainOneStepCell
from adjoint.ops.arithmetic import logical_and, logical_not, logical_or, maximum, reciprocal, where
from adjoint.ops.collectives import AllReduce, ReduceOp
from adjoint.ops.shapes import broadcast_to
from adjoint.ops.state import assign
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.grad import differentiate
from adjoint.runtime.graphs.parsed import parsed
from adjoint.runtime.inspection.training import in_use, unscaled
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"]


class DynamicLossScaleUpdateCell(Cell):
    """Called with the Parameter of a loss scale and whether a step overflowed, writes the next scale and returns the latter.

    loss_scale_value  the first scale
    scale_factor      divides the scale, to 1 at least, when a step overflowed
    scale_window      after so many steps that did not, the scale is multiplied by the factor

    TypeError when the loss scale is not a Tensor of numbers or the other no Tensor of a bool, ValueError when that holds not just one;
    nothing is written then.
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int):
        super().__init__()
        name = "DynamicLossScaleUpdateCell"
        number(name, "loss_scale_value", loss_scale_value)
        self.loss_scale_value = loss_scale_value
        self.scale_factor = Tensor(number(name, "scale_factor", scale_factor), F32)
        self.scale_window = Tensor(positive(name, "scale_window", scale_window), I32)
        self.cur_iter = Parameter(Tensor(1, I32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(Tensor(0, I32), name="last_overflow_iterator_step")

    def get_loss_scale(self) -> float:
        """Return the first scale, as it was given."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        floating(self, "loss_scale", loss_scale, integers=True)
        if tensor_argument(self, "overflow", overflow, (0, 1)).dtype is not BOOL:
            raise TypeError("For 'DynamicLossScaleUpdateCell', the argument 'overflow' must be a Tensor of bools, "
                            f"but got {overflow.dtype}.")
        if overflow.size != 1:
            raise ValueError("For 'DynamicLossScaleUpdateCell', the argument 'overflow' must be of shape () or (1,), "
                             f"but got {overflow.shape}.")
        smaller = maximum(loss_scale * reciprocal(self.scale_factor), 1.0)
        grows = self.scale_window <= self.cur_iter - self.last_overflow_iter
        scale = where(overflow, smaller, loss_scale)
        with finite_ok():
            larger = scale * self.scale_factor
        scale = where(logical_and(grows, logical_not(overflow)), larger, scale)
        assign(self.last_overflow_iter, where(logical_or(overflow, grows), self.cur_iter, self.last_overflow_iter))
        assign(self.cur_iter, self.cur_iter + 1)
        assign(loss_scale, scale.astype(loss_scale.dtype))
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """Called like a `DynamicLossScaleUpdateCell`, leaves the scale unchanged."""

    def __init__(self, loss_scale_value: float):
        super().__init__()
        number("FixedLossScaleUpdateCell", "loss_scale_value", loss_scale_value)
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """Return the scale, as it was given."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One training step with a scaled loss; returns (loss, whether the step overflowed, the scale it was made with).

    scale_sense  a cell that chooses the scale in each step, such as `DynamicLossScaleUpdateCell`; or a Tensor, () or (1,), the scale until
                 `set_sense_scale` sets another

    The gradients are divided by the scale.  Where one of them is not finite, in a data parallel program that of any process, the parameters
    stay as they are.
    """

    def __init__(self, network: Cell, optimizer: Any, scale_sense: Any):
        super().__init__(network, optimizer)
        self.loss_scaling_manager = scale_sense if isinstance(scale_sense, Cell) else None
        if isinstance(scale_sense, Cell):
            if not callable(getattr(scale_sense, "get_loss_scale", None)):
                raise TypeError("For 'TrainOneStepWithLossScaleCell', a Cell given as 'scale_sense' must have a method 'get_loss_scale', "
                                f"as `DynamicLossScaleUpdateCell` has, but got a {type(scale_sense).__name__}.")
            first = Tensor(scale_sense.get_loss_scale(), F32)
        elif isinstance(scale_sense, Tensor):
            first = scale_sense
            if first.shape not in ((), (1,)):
                raise ValueError("For 'TrainOneStepWithLossScaleCell', the shape of 'scale_sense' must be (1,) or (), but got "
                                 f"{first.shape}.")
        else:
            raise TypeError("For 'TrainOneStepWithLossScaleCell', the 'scale_sense' must be Cell or Tensor, but got 'scale_sense' type: "
                            f"{type(scale_sense)}.")
        self.scale_sense = Parameter(first, name="scale_sense")
        self._of_any = AllReduce(ReduceOp.MAX)

    def construct(self, *inputs: Any) -> Any:
        in_use(self, "scale_sense")
        scale = self.scale_sense * 1.0  # as it is in this step
        loss, _, grads = differentiate(self.network, inputs, {}, (), self.weights, sens_of=lambda loss: _scales_like(loss, scale))
        unscaled()
        factor = reciprocal(scale.reshape(()))
        grads = self._reduced(tuple(g * factor.astype(g.dtype) for g in grads))
        overflow = self.get_overflow_status(None, grads)
        parsed(self._update, self.process_loss_scale(overflow), grads)
        return loss, overflow, scale

    def _update(self, overflow: Any, grads: tuple[Tensor, ...]) -> None:
        if not overflow:
            self.optimizer(grads)

    def set_sense_scale(self, sens: Tensor) -> None:
        """Set the scale; raise TypeError for what is not a Tensor."""
        if not isinstance(sens, Tensor):
            raise TypeError(f"For 'TrainOneStepWithLossScaleCell', the type of 'sens' must be Tensor, but got {type(sens)}")
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Any, Any]:
        """Return (False, `compute_input`), for a subclass's `construct`: there is no device flag to clear."""
        return False, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Return whether a number in `compute_output`, gradients, is not finite; `status` is what `start_overflow_check` returned.

        In a data parallel program it is True for all processes if it is for one.
        """
        overflow = logical_not(all_finite(compute_output))
        return self._of_any(overflow.astype(I32)) > 0 if self.reducer_flag else overflow

    def process_loss_scale(self, overflow: Any) -> Any:
        """Let the cell given as `scale_sense` choose the next scale; returns `overflow`."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow


def _scales_like(loss: Any, scale: Tensor) -> list[Tensor]:
    return [broadcast_to(scale.reshape(()).astype(x.dtype), x.shape) for x in leaves(loss, Tensor)]
