"""Layers made of other layers: with normalisation and activation, and one layer for each step in time."""

from __future__ import annotations

from typing import Any

from adjoint.nn.activation import LeakyReLU, get_activation
from adjoint.nn.checks import boolean, integer, number, tensor_argument
from adjoint.nn.convolution import Conv2d
from adjoint.nn.linear import Dense
from adjoint.nn.normalization import BatchNorm1d, BatchNorm2d
from adjoint.ops.parts import stack, unstack
from adjoint.ops.primitive import Primitive
from adjoint.ops.shapes import reshape, transpose
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Conv2dBnAct", "DenseBnAct", "TimeDistributed"]


def _check_numbers(owner: Cell, momentum: float, eps: float, alpha: float) -> None:
    """Check arguments of layers that may be left out."""
    for argument, value in (("momentum", momentum), ("eps", eps), ("alpha", alpha)):
        number(owner, argument, value)


def _activation(owner: Cell, activation: Any, alpha: float) -> Any:
    """Return an activation given by its name, as a Cell, as a Primitive, or as None."""
    if isinstance(activation, str):
        return LeakyReLU(alpha) if activation == "leakyrelu" else get_activation(activation, type(owner).__name__)
    if activation is not None and not isinstance(activation, (Cell, Primitive)):
        raise TypeError(f"For '{type(owner).__name__}', the argument 'activation' must be a str, a Cell or a Primitive, "
                        f"but got {activation!r} of type {type(activation).__name__}.")
    return activation


class _Finished(Cell):
    """Base of layers that end with an optional batch normalisation and an optional activation."""

    def _finish(
        self, norm: Any, channels: int, has_bn: bool, momentum: float, eps: float, activation: Any, alpha: float, after_fake: bool,
    ) -> None:
        """Check and keep what comes after the layer; `norm` is the class of its batch normalisation."""
        _check_numbers(self, momentum, eps, alpha)
        self.has_bn, self.after_fake = boolean(self, "has_bn", has_bn), boolean(self, "after_fake", after_fake)
        if has_bn:
            self.batchnorm = norm(channels, eps, momentum)
        self.has_act, self.activation = activation is not None, _activation(self, activation, alpha)

    def _finished(self, x: Tensor) -> Tensor:
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x


class Conv2dBnAct(_Finished):
    """A `Conv2d`, then a `BatchNorm2d` if `has_bn`, then an activation.

    activation  a name, a Cell, a Primitive, or None; `alpha` is the slope of "leakyrelu"
    after_fake  has no meaning: nothing is quantised

    The rest is as for `Conv2d` and `BatchNorm2d`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, int] = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = "normal", bias_init: Any = "zeros", has_bn: bool = False, momentum: float = 0.997,
        eps: float = 1e-5, activation: Any = None, alpha: float = 0.2, after_fake: bool = True,
    ):
        super().__init__()
        self.conv = Conv2d(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init, bias_init)
        self._finish(BatchNorm2d, out_channels, has_bn, momentum, eps, activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        return self._finished(self.conv(x))


class DenseBnAct(_Finished):
    """A `Dense`, then a `BatchNorm1d` if `has_bn`, then an activation.

    activation  a name, a Cell, a Primitive, or None; `alpha` is the slope of "leakyrelu"
    after_fake  has no meaning: nothing is quantised

    The rest is as for `Dense` and `BatchNorm1d`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = "normal", bias_init: Any = "zeros", has_bias: bool = True,
        has_bn: bool = False, momentum: float = 0.9, eps: float = 1e-5, activation: Any = None, alpha: float = 0.2, after_fake: bool = True,
    ):
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self._finish(BatchNorm1d, out_channels, has_bn, momentum, eps, activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        return self._finished(self.dense(x))


class TimeDistributed(Cell):
    """Calls a layer for each step in time, and stacks the results along the same axis.

    time_axis          the axis of the steps
    reshape_with_axis  an axis that is merged with the time, so that the layer is called once; the time then comes beside this axis
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None):
        super().__init__()
        if not isinstance(layer, (Cell, Primitive)):
            raise TypeError(f"For 'TimeDistributed', the argument 'layer' must be a Cell or a Primitive, but got {layer!r} "
                            f"of type {type(layer).__name__}.")
        self.layer, self.time_axis = layer, integer(self, "time_axis", time_axis)
        self.reshape_with_axis = None if reshape_with_axis is None else integer(self, "reshape_with_axis", reshape_with_axis)

    def construct(self, inputs: Tensor) -> Tensor:
        rank = tensor_argument(self, "inputs", inputs).ndim
        if rank < 3:
            raise ValueError(f"For 'TimeDistributed', the argument 'inputs' must have at least 3 dimensions, but got shape {inputs.shape}.")
        time = self.time_axis % rank
        if self.reshape_with_axis is None:
            results = [self.layer(x) for x in unstack(inputs, time)]
            self._check(results[0], time <= tensor_argument(self, "layer", results[0]).ndim, f"at least {time} dimensions, for 'time_axis'")
            return stack(results, time)
        return self._at_once(inputs, time, self.reshape_with_axis % rank)

    def _at_once(self, inputs: Tensor, time: int, other: int) -> Tensor:
        """Merge the axis of the time with another one, and call the layer with both as one."""
        last = inputs.ndim - 1
        beside = last - 1 if other == last else other + 1 if time > other else other - 1
        first, second = min(beside, time), max(beside, time)
        axes = list(range(inputs.ndim))
        moved = transpose(inputs, (*axes[:first], second, *axes[first:second], *axes[second + 1 :]))
        place = min(beside, other)
        merged = reshape(moved, (*moved.shape[:place], -1, *moved.shape[place + 2 :]))
        result = self.layer(merged)
        shape = tensor_argument(self, "layer", result).shape
        self._check(result, place < len(shape) and merged.shape[place] == shape[place],
                    f"{merged.shape[place]} as its dimension {place}, for 'reshape_with_axis'")
        return reshape(result, (*shape[:place], *moved.shape[place : place + 2], *shape[place + 1 :]))

    def _check(self, result: Tensor, fits: bool, expected: str) -> None:
        if not fits:
            raise ValueError(f"For 'TimeDistributed', the result of the argument 'layer' must have {expected}, "
                             f"but got shape {result.shape}.")
