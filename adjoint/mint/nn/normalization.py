"""Normalisation layers, with trained weight and bias that scale and shift."""

from __future__ import annotations

from typing import Any, ClassVar

from adjoint.ir.types import F32, I64, DType
from adjoint.mint.nn import functional
from adjoint.nn.checks import boolean, number, positive, positive_number
from adjoint.ops.creation import ones, zeros
from adjoint.ops.state import assign, assign_add
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm"]


class _Scaled(Cell):
    keeps_parameters = True

    def _scale(self, shape: tuple[int, ...], scaled: bool, shifted: bool, dtype: DType | None) -> None:
        """Create the parameters weight, of ones, and bias, of zeros; None for one that is not wanted."""
        kind = F32 if dtype is None else dtype
        self.weight = Parameter(ones(shape, kind), name="weight") if scaled else None
        self.bias = Parameter(zeros(shape, kind), name="bias") if shifted else None

    def _in_dtype(self, input: Tensor) -> tuple[Tensor | None, Tensor | None]:
        weight, bias = (None if p is None else p.astype(input.dtype, copy=False) for p in (self.weight, self.bias))
        return weight, bias


class _BatchNorm(_Scaled):
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel (Ioffe and Szegedy 2015).

    momentum             share of the batch's statistics in the new running ones; None: these are the means of all batches so far
    affine               whether there are weight and bias
    track_running_stats  whether there are running statistics, which are used outside of training; without, those of the batch are always
                         used
    """

    ranks: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, dtype: DType | None = None,
    ):
        super().__init__()
        self.num_features, self.eps = positive(self, "num_features", num_features), positive_number(self, "eps", eps)
        self.momentum = None if momentum is None else number(self, "momentum", momentum)
        self.affine = boolean(self, "affine", affine)
        self.track_running_stats = boolean(self, "track_running_stats", track_running_stats)
        shape, kind = (self.num_features,), F32 if dtype is None else dtype
        self._scale(shape, affine, affine, dtype)
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            self.running_mean = Parameter(zeros(shape, kind), name="running_mean", requires_grad=False)
            self.running_var = Parameter(ones(shape, kind), name="running_var", requires_grad=False)
            self.num_batches_tracked = Parameter(Tensor(0, I64), name="num_batches_tracked", requires_grad=False)

    def reset_running_stats(self) -> None:
        """Set the running mean to zeros, the running variance to ones and the number of batches to 0, if there are running statistics."""
        for kept, start in ((self.running_mean, zeros), (self.running_var, ones), (self.num_batches_tracked, zeros)):
            if kept is not None:
                assign(kept, start(kept.shape, kept.dtype))

    def reset_parameters(self) -> None:
        """Set weight to ones and bias to zeros, and reset the running statistics."""
        self.reset_running_stats()
        for kept, start in ((self.weight, ones), (self.bias, zeros)):
            if kept is not None:
                assign(kept, start(kept.shape, kept.dtype))

    def construct(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks or input.shape[1] != self.num_features:
            raise ValueError(f"For '{type(self).__name__}', the input must have {' or '.join(map(str, self.ranks))} dimensions, "
                             f"the second of num_features={self.num_features}, but got shape {input.shape}.")
        if self.training and self.num_batches_tracked is not None:
            assign_add(self.num_batches_tracked, Tensor(1, I64))
        weight, bias = self._in_dtype(input)
        if self.momentum is None and self.training and self.num_batches_tracked is not None:
            return self._averaged(input, weight, bias, self.num_batches_tracked)
        momentum = 0.0 if self.momentum is None else self.momentum
        return functional.batch_norm(input, self.running_mean, self.running_var, weight, bias,
                                     self.training or not self.track_running_stats, momentum, self.eps)

    def _averaged(self, input: Tensor, weight: Tensor | None, bias: Tensor | None, batches: Parameter) -> Tensor:
        """Normalise in training, and keep the means of the statistics of all batches so far."""
        kept: list[Any] = [self.running_mean, self.running_var]
        before = [statistic.copy() for statistic in kept]
        out = functional.batch_norm(input, kept[0], kept[1], weight, bias, True, 1.0, self.eps)  # the statistics of this batch
        for statistic, mean in zip(kept, before, strict=True):
            assign(statistic, mean + (statistic - mean) / batches.astype(mean.dtype))
        return out

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    __doc__ = "Batch normalisation of [n, c] or [n, c, l]: " + (_BatchNorm.__doc__ or "")
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = "Batch normalisation of [n, c, h, w]: " + (_BatchNorm.__doc__ or "")
    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    __doc__ = "Batch normalisation of [n, c, d, h, w]: " + (_BatchNorm.__doc__ or "")
    ranks = (5,)


class GroupNorm(_Scaled):
    """Normalises groups of channels of [n, c, ...], then scales and shifts each channel (Wu and He 2018)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: DType | None = None):
        super().__init__()
        self.num_groups, self.num_channels = positive(self, "num_groups", num_groups), positive(self, "num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueError(f"For 'GroupNorm', the argument 'num_channels' must be a multiple of num_groups={num_groups}, "
                             f"but got {num_channels}.")
        self.eps, self.affine = positive_number(self, "eps", eps), boolean(self, "affine", affine)
        self._scale((self.num_channels,), affine, affine, dtype)

    def construct(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, *self._in_dtype(input), self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}, affine={self.affine}"


class LayerNorm(_Scaled):
    """Normalises over the last axes, of the sizes `normalized_shape` (Ba, Kiros and Hinton 2016)."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, dtype: DType | None = None
    ):
        super().__init__()
        sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape = tuple(positive(self, "normalized_shape", size) for size in sizes)
        self.eps, self.elementwise_affine = positive_number(self, "eps", eps), boolean(self, "elementwise_affine", elementwise_affine)
        self._scale(self.normalized_shape, elementwise_affine, elementwise_affine and boolean(self, "bias", bias), dtype)

    def construct(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, *self._in_dtype(input), self.eps)

    def extend_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
