"""Cells around a network: its loss, and a training step."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, cell_argument, number, positive, tensor_argument
from adjoint.nn.grad_reducer import DistributedGradReducer, broadcast_parameters
from adjoint.nn.optim import Optimizer
from adjoint.ops.arithmetic import identity
from adjoint.ops.state import assign
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.precision import cast_floats
from adjoint.runtime.gradients.grad import GradOperation, differentiate, full
from adjoint.runtime.gradients.products import jvp, vjp
from adjoint.runtime.process.parallel_context import get_auto_parallel_context, is_data_parallel, parameters_are_broadcast
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "ForwardValueAndGrad", "GradAccumulationCell", "Jvp", "MicroBatchInterleaved", "ParameterUpdate", "PipelineCell", "TrainOneStepCell",
    "VirtualDatasetCellTriple", "Vjp", "WithEvalCell", "WithGradCell", "WithLossCell",
]


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


class WithGradCell(Cell):
    """The gradients of loss_fn(network(data), label) by the trainable Parameters of `network`, as a tuple.

    loss_fn  None: the network gives the loss itself
    sens     the cotangent of the loss; default ones
    """

    def __init__(self, network: Cell, loss_fn: Any = None, sens: Any = None):
        super().__init__(auto_prefix=False)
        cell_argument(self, "network", network)
        if sens is not None:
            for part in sens if isinstance(sens, tuple) and sens else (sens,):
                tensor_argument(self, "sens", part)
        self.network, self.loss_fn, self.sens = network, loss_fn, sens
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        given = inputs if self.sens is None else (*inputs, self.sens)
        return self.grad(self.network_with_loss, self.weights)(*given)


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


class Jvp(Cell):
    """(fn(*inputs), its derivative along v), called with the inputs and then v: `Jvp(net)(x, y, (v, w))`, or `Jvp(net)(x, v)`.

    fn  a Cell or a function.  Vectors and errors are those of `jvp`
    """

    def __init__(self, fn: Any):
        super().__init__()
        _callable("Jvp", fn=fn)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        if len(args) < 2:
            raise TypeError(f"For 'Jvp', the arguments must be the inputs and then the vector, but got {len(args)}.")
        return jvp(self.fn, args[:-1], args[-1] if len(args) > 2 else (args[-1],))


class Vjp(Cell):
    """(fn(*inputs), the gradients of the inputs), called with the inputs and then the cotangent of the output: `Vjp(net)(x, y, v)`.

    The gradient of one input is a tensor, those of several a tuple.

    fn  a Cell or a function.  Cotangents and errors are those of `vjp`: a tuple for several outputs
    """

    def __init__(self, fn: Any):
        super().__init__()
        _callable("Vjp", fn=fn)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        if len(args) < 2:
            raise TypeError(f"For 'Vjp', the arguments must be the inputs and then the cotangent, but got {len(args)}.")
        output, pull = vjp(self.fn, *args[:-1])
        gradients = pull(args[-1])
        return output, gradients[0] if len(args) == 2 else gradients


class ForwardValueAndGrad(Cell):
    """(result, gradients) of a network or function, which runs once.

    weights      the parameters of `get_by_list`
    get_all      gradients of all arguments, as a tuple; else of the first one
    get_by_list  gradients of the parameters instead; with `get_all` both, (arguments, parameters)
    sens_param   the last argument is what the gradient of the result begins with; default 1
    """

    def __init__(
        self, network: Any, weights: Any = None, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False,
    ):
        super().__init__(auto_prefix=False)
        if not isinstance(network, (Cell, FunctionType, MethodType)):
            raise TypeError(f"For 'ForwardValueAndGrad', the argument 'network' must be a Cell or a function, but got {network!r} "
                            f"of type {type(network).__name__}.")
        self.get_all, self.get_by_list = boolean(self, "get_all", get_all), boolean(self, "get_by_list", get_by_list)
        self.sens_param = boolean(self, "sens_param", sens_param)
        if not isinstance(weights, (tuple, list)) and (get_by_list or weights is not None):
            raise TypeError("For 'ForwardValueAndGrad', the argument 'weights' must be Parameters in a tuple or list, as 'get_by_list' "
                            f"needs them, but got {weights!r} of type {type(weights).__name__}.")
        self.network = network
        self.weights = ParameterTuple(weights or ()) if get_by_list else ()

    def construct(self, *inputs: Any) -> Any:
        sens, inputs = (inputs[-1], inputs[:-1]) if self.sens_param else (None, inputs)
        if self.get_all:
            positions = tuple(i for i, value in enumerate(inputs) if isinstance(value, Tensor))
        else:
            positions = () if self.get_by_list else (0,)
        if not inputs and positions:
            raise ValueError("For 'ForwardValueAndGrad', the gradient of the first argument is taken, but there is none"
                             f"{' before that for sens_param' if self.sens_param else ''}.")
        result, of_inputs, of_weights = differentiate(self.network, inputs, {}, positions, self.weights, sens)
        gradients = tuple(of_inputs) if self.get_all or self.get_by_list else of_inputs[0]
        if self.get_by_list:
            gradients = (gradients, tuple(of_weights)) if self.get_all else tuple(of_weights)
        return result, gradients


def _part(owner: Cell, inputs: tuple[Tensor, ...], i: int, count: int) -> tuple[Tensor, ...]:
    """Return part `i` of `count` of each input along its first axis."""
    parts = ()
    for x in inputs:
        size = x.shape[0] if tensor_argument(owner, "inputs", x).ndim else 1
        if size % count or not x.ndim:
            raise ValueError(f"For '{type(owner).__name__}', the first dimension of each of the 'inputs' must be divisible by {count}, "
                             f"but got shape {x.shape}.")
        parts += (x[size // count * i : size // count * (i + 1)],)
    return parts


class GradAccumulationCell(Cell):
    """The sum of a network's results for `micro_size` parts of a batch, so that gradients of the parts are added.

    Needs less memory where the network is called with fewer samples at a time.  The first axis of each input is split.
    """

    def __init__(self, network: Cell, micro_size: int):
        super().__init__(auto_prefix=False)
        self.network, self.micro_size = cell_argument(self, "network", network), positive(self, "micro_size", micro_size)

    def construct(self, *inputs: Any) -> Any:
        total = self.network(*_part(self, inputs, 0, self.micro_size))
        for i in range(1, self.micro_size):
            total = total + self.network(*_part(self, inputs, i, self.micro_size))
        return total


class MicroBatchInterleaved(Cell):
    """The sum of a network's results for `interleave_num` parts of a batch.

    MindSpore computes one part while devices exchange another; on the CPU it is as `GradAccumulationCell`.
    """

    def __init__(self, network: Cell, interleave_num: int = 2):
        super().__init__(auto_prefix=False)
        self.network, self.interleave_num = cell_argument(self, "network", network), positive(self, "interleave_num", interleave_num)

    def construct(self, *inputs: Any) -> Any:
        total = 0.0
        for i in range(self.interleave_num):
            total = total + self.network(*_part(self, inputs, i, self.interleave_num))
        return total


class PipelineCell(GradAccumulationCell):
    """The sum of a network's results for `micro_size` parts of a batch.

    MindSpore computes the parts in stages on several devices, which `stage_config` and `segment_config` tell apart; on the CPU they have no
    effect.
    """

    def __init__(self, network: Cell, micro_size: int, stage_config: dict[str, int] | None = None,
                 segment_config: dict[str, int] | None = None):
        super().__init__(network, micro_size)


class VirtualDatasetCellTriple(Cell):
    """Calls a network with three inputs.  MindSpore splits them over devices; on the CPU they stay whole."""

    def __init__(self, backbone: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = cell_argument(self, "backbone", backbone)

    def construct(self, a: Any, b: Any, c: Any) -> Any:
        return self._backbone(a, b, c)


class ParameterUpdate(Cell):
    """Writes what it is called with to a parameter, and returns it."""

    def __init__(self, param: Parameter):
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(f"For 'ParameterUpdate', the argument 'param' must be a Parameter, but got {param!r} "
                            f"of type {type(param).__name__}.")
        self._param = param

    def construct(self, x: Tensor) -> Tensor:
        assign(self._param, tensor_argument(self, "x", x))
        return x
