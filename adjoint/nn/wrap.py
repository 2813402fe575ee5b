"""Cells around a network: its loss, and a training step."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, number
from adjoint.nn.grad_reducer import DistributedGradReducer, broadcast_parameters
from adjoint.nn.optim import Optimizer
from adjoint.ops.arithmetic import identity
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.precision import cast_floats
from adjoint.runtime.gradients.grad import GradOperation, differentiate, full
from adjoint.runtime.process.parallel_context import get_auto_parallel_context, is_data_parallel, parameters_are_broadcast
from adjoint.runtime.tensor.parameter import ParameterTuple
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["TrainOneStepCell", "WithEvalCell", "WithLossCell"]


def _callable(owner: str, **given: Any) -> None:
    for argument, value in given.items():
        if not callable(value):
            raise TypeError(f"For '{owner}', the argument '{argument}' must be a Cell or a function, "
                            f"but got {value!r} of type {type(value).__name__}.")


class WithLossCell(Cell):
    """loss_fn(backbone(data), label)"""

    def __init__(self, backbone: Cell, loss_fn: Any):
        super().__init__(auto_prefix=False)
        _callable("WithLossCell", backbone=backbone, loss_fn=loss_fn)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        return self._backbone


class WithEvalCell(Cell):
    """(loss, output, label)

    add_cast_fp32  the network computes in half precision: the loss is taken of output and label in Float32, which are returned too
    """

    def __init__(self, network: Cell, loss_fn: Any, add_cast_fp32: bool = False):
        super().__init__(auto_prefix=False)
        _callable("WithEvalCell", network=network, loss_fn=loss_fn)
        self._network, self._loss_fn = network, loss_fn
        self.add_cast_fp32 = boolean(self, "add_cast_fp32", add_cast_fp32)

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs, label = cast_floats(outputs, F32), cast_floats(label, F32)
        return self._loss_fn(outputs, label), outputs, label


class TrainOneStepCell(Cell):
    """One training step: loss and gradients of `network`, and the optimiser's update; returns the loss.

    sens         what the gradient of the loss begins with; default 1
    return_grad  return (loss, {parameter name: gradient})

    In a data parallel program (`set_auto_parallel_context`) the gradients are those of all processes, by a `DistributedGradReducer`, and
    all begin with the parameters of the first one, as long as `parameter_broadcast` is not set to False.  The loss is this process's.
    """

    def __init__(self, network: Cell, optimizer: Any, sens: float | None = None, return_grad: bool = False):
        super().__init__(auto_prefix=False)
        _callable("TrainOneStepCell", network=network)
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"For 'TrainOneStepCell', the argument 'optimizer' must be an Optimizer, but got {optimizer!r} "
                            f"of type {type(optimizer).__name__}.")
        self.network = network
        self.optimizer = optimizer
        self.weights = ParameterTuple(optimizer.parameters)
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.sens = 1.0 if sens is None else number(self, "sens", sens)
        self.return_grad = boolean(self, "return_grad", return_grad)
        # Replaces the gradients of this process by those that the optimiser gets.
        self.reducer_flag, self.grad_reducer = is_data_parallel(), identity
        if self.reducer_flag:
            mean, degree = get_auto_parallel_context("gradients_mean"), get_auto_parallel_context("device_num")
            self.grad_reducer = DistributedGradReducer(self.weights, mean, degree)
        if parameters_are_broadcast():
            broadcast_parameters(self.weights)

    def construct(self, *inputs: Any) -> Any:
        loss, _, grads = differentiate(self.network, inputs, {}, (), self.weights, sens_of=None if self.sens == 1.0 else self._sens_like)
        grads = self._reduced(tuple(grads))
        self.optimizer(grads)
        if self.return_grad:
            return loss, {p.name: g for p, g in zip(self.weights, grads, strict=True)}
        return loss

    def _reduced(self, grads: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the gradients reduced over all processes, if there are several."""
        return self.grad_reducer(grads) if self.reducer_flag else grads

    def _sens_like(self, loss: Any) -> list[Tensor]:
        return [full(constant(self.sens, x.dtype), x.type) for x in leaves(loss, Tensor)]
