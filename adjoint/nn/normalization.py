"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from adjoint.communication.management import create_group, get_rank, members
from adjoint.ir.ops.collective import WORLD
from adjoint.ir.types import F16, F32, DType
from adjoint.nn.checks import boolean, floating, integer, number, positive, positive_number, tensor_argument
from adjoint.nn.linear import first_values
from adjoint.ops import creation, normalization, reduction
from adjoint.ops.arguments import channels_first
from adjoint.ops.arithmetic import maximum, sqrt, square, where
from adjoint.ops.primitives.network import LRN as LrnOperator
from adjoint.ops.primitives.network import LayerNorm as LayerNormOperator
from adjoint.ops.shapes import reshape
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "ClipByNorm", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LRN", "LayerNorm", "SyncBatchNorm",
]


class _BatchNorm(Cell):
    """(x - mean) / sqrt(variance + eps) * gamma + beta for each channel (Ioffe and Szegedy 2015).

    momentum              share of the old running statistics in the new: momentum * old + (1 - momentum) * batch's
    use_batch_statistics  True: those of the batch, always; False: the running ones; None: the batch's in training

    The running statistics move wherever those of the batch are used.
    """

    ranks: tuple[int, ...] = ()
    keeps_parameters = True

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", moving_mean_init: Any = "zeros", moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None, data_format: str = "NCHW", dtype: DType = F32,
    ):
        super().__init__()
        self.num_features = positive(self, "num_features", num_features)
        self.eps, self.momentum = number(self, "eps", eps), number(self, "momentum", momentum)
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'momentum' must be in [0, 1], but got {momentum}.")
        if not eps > 0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'eps' must be greater than 0, but got {eps}.")
        if use_batch_statistics is not None:
            boolean(self, "use_batch_statistics", use_batch_statistics)
        self.use_batch_statistics = use_batch_statistics
        self.data_format = channels_first(type(self).__name__, data_format)
        layer, shape, trained = type(self).__name__, (self.num_features,), boolean(self, "affine", affine)
        mean = first_values(layer, "moving_mean_init", moving_mean_init, shape, dtype)
        variance = first_values(layer, "moving_var_init", moving_var_init, shape, dtype)
        self.moving_mean = Parameter(mean, "mean", requires_grad=False)
        self.moving_variance = Parameter(variance, "variance", requires_grad=False)
        self.gamma = Parameter(first_values(layer, "gamma_init", gamma_init, shape, dtype), "gamma", requires_grad=trained)
        self.beta = Parameter(first_values(layer, "beta_init", beta_init, shape, dtype), "beta", requires_grad=trained)

    def construct(self, x: Tensor) -> Tensor:
        floating(self, "x", x, self.ranks)
        if x.shape[1] != self.num_features:
            raise ValueError(f"For '{type(self).__name__}', the second dimension of 'x' must be num_features={self.num_features}, "
                             f"but got shape {x.shape}.")
        gamma, beta = self.gamma, self.beta
        if gamma.dtype is not x.dtype:
            gamma, beta = gamma.astype(x.dtype), beta.astype(x.dtype)
        batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        if not batch:
            return normalization.batch_norm(x, self.moving_mean, self.moving_variance, gamma, beta, eps=self.eps)
        return self._by_batch(x, gamma, beta)

    def _by_batch(self, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        """Return the input normalised with the statistics of the batch, which the running ones move towards."""
        return normalization.batch_normalized(
            x, self.moving_mean, self.moving_variance, gamma, beta, self.eps, self.momentum, 1.0 - self.momentum)[0]

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, beta={self.beta}, "
                f"moving_mean={self.moving_mean}, moving_variance={self.moving_variance}")


class BatchNorm1d(_BatchNorm):
    __doc__ = "Batch normalisation of [n, c] or [n, c, l]: " + (_BatchNorm.__doc__ or "")
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = "Batch normalisation of [n, c, h, w]: " + (_BatchNorm.__doc__ or "")
    ranks = (4,)


class BatchNorm3d(Cell):
    """Batch normalisation of [n, c, d, h, w], which is that of [n, c, d * h, w].

    bn2d  the `BatchNorm2d` that does it and has the parameters
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", moving_mean_init: Any = "zeros", moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None, dtype: DType = F32,
    ):
        super().__init__()
        self.bn2d = BatchNorm2d(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
                                use_batch_statistics, "NCHW", dtype)

    def construct(self, x: Tensor) -> Tensor:
        n, c, d, h, w = floating(self, "x", x, 5).shape
        return reshape(self.bn2d(reshape(x, (n, c, d * h, w))), x.shape)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of [n, c], [n, c, l], [n, c, h, w] or [n, c, d, h, w] for training on many processes.

    process_groups  lists of ranks, each a group whose batches are taken together, and no rank in two; None: all ranks are one group

    The statistics are those of the batches of the group, also where these have different sizes, and gradients flow through them to all.
    All processes of a group call the layer in the same order.  A process that is alone, or in no group, has those of its own batch.

    Errors: ValueError for groups that are no lists, or a rank that is none or in two groups.
    """

    ranks = (2, 3, 4, 5)

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", moving_mean_init: Any = "zeros", moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None, process_groups: list[list[int]] | None = None, dtype: DType = F32,
    ):
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
                         use_batch_statistics, "NCHW", dtype)
        if process_groups is not None and (
                not isinstance(process_groups, list) or not all(isinstance(group, list) for group in process_groups)):
            raise ValueError(f"For 'SyncBatchNorm', the argument 'process_groups' must be a list of lists of ranks, or None, "
                             f"but got {process_groups!r}.")
        self.process_groups = process_groups
        ranks = members("SyncBatchNorm", WORLD)
        self.group_name = WORLD if process_groups is None and len(ranks) > 1 else self._own_group(process_groups or [], len(ranks))

    @staticmethod
    def _own_group(groups: list[list[int]], count: int) -> str | None:
        """Return the name of the group of this process, made here; None where it is alone."""
        seen: set[int] = set()
        for rank in [rank for group in groups for rank in group]:
            if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < count or rank in seen:
                raise ValueError(f"For 'SyncBatchNorm', each rank in 'process_groups' must be an int in [0, {count}) and stand there once, "
                                 f"since there are {count} processes, but got {rank!r} in {groups!r}.")
            seen.add(rank)
        own = next((group for group in groups if get_rank() in group), [])
        if len(own) < 2:
            return None
        name = "sync_batch_norm_" + "_".join(map(str, own))
        create_group(name, own)
        return name

    def _by_batch(self, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        if self.group_name is None:
            return super()._by_batch(x, gamma, beta)
        return normalization.batch_normalized_together(x, self.moving_mean, self.moving_variance, gamma, beta, self.eps, self.momentum,
                                                       1.0 - self.momentum, self.group_name)


class _InstanceNorm(Cell):
    """Each channel of each example normalised by its own mean and variance, then scaled and shifted (Ulyanov et al. 2016).

    moving_mean, moving_variance  stand in MindSpore's checkpoints; nothing reads them and they stay as they are
    """

    rank: ClassVar[int]
    keeps_parameters = True

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", dtype: DType = F32,
    ):
        super().__init__()
        name = type(self).__name__
        self.num_features = positive(self, "num_features", num_features)
        self.eps, self.momentum = positive_number(self, "eps", eps), number(self, "momentum", momentum)
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"For '{name}', the argument 'momentum' must be in [0, 1], but got {momentum}.")
        shape, trained = (self.num_features,), boolean(self, "affine", affine)
        self.moving_mean = Parameter(creation.zeros(shape, dtype), "mean", requires_grad=False)
        self.moving_variance = Parameter(creation.ones(shape, dtype), "variance", requires_grad=False)
        self.gamma = Parameter(first_values(name, "gamma_init", gamma_init, shape, dtype), "gamma", requires_grad=trained)
        self.beta = Parameter(first_values(name, "beta_init", beta_init, shape, dtype), "beta", requires_grad=trained)

    def construct(self, x: Tensor) -> Tensor:
        if floating(self, "x", x, self.rank).shape[1] != self.num_features:
            raise ValueError(f"For '{type(self).__name__}', the second dimension of 'x' must be num_features={self.num_features}, "
                             f"but got shape {x.shape}.")
        return normalization.instance_normalized(x, self.gamma.astype(x.dtype, copy=False), self.beta.astype(x.dtype, copy=False), self.eps)

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, beta={self.beta}, "
                f"moving_mean={self.moving_mean}, moving_variance={self.moving_variance}")


class InstanceNorm1d(_InstanceNorm):
    __doc__ = "Instance normalisation of [n, c, l]: " + (_InstanceNorm.__doc__ or "")
    rank = 3


class InstanceNorm2d(_InstanceNorm):
    __doc__ = "Instance normalisation of [n, c, h, w]: " + (_InstanceNorm.__doc__ or "")
    rank = 4


class InstanceNorm3d(_InstanceNorm):
    __doc__ = "Instance normalisation of [n, c, d, h, w]: " + (_InstanceNorm.__doc__ or "")
    rank = 5


class GroupNorm(Cell):
    """Groups of channels of [n, c, ...] normalised, then scaled and shifted channel by channel (Wu and He 2018).

    num_groups    into how many groups the channels are cut
    num_channels  c, a multiple of that
    affine        whether gamma and beta are trained
    """

    keeps_parameters = True

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", dtype: DType = F32,
    ):
        super().__init__()
        self.num_groups, self.num_channels = positive(self, "num_groups", num_groups), positive(self, "num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueError(f"For 'GroupNorm', the argument 'num_channels' must be a multiple of num_groups={num_groups}, "
                             f"but got {num_channels}.")
        self.eps, self.affine = positive_number(self, "eps", eps), boolean(self, "affine", affine)
        shape = (self.num_channels,)
        self.gamma = Parameter(first_values("GroupNorm", "gamma_init", gamma_init, shape, dtype), "gamma", requires_grad=affine)
        self.beta = Parameter(first_values("GroupNorm", "beta_init", beta_init, shape, dtype), "beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        if floating(self, "x", x).ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"For 'GroupNorm', the second dimension of 'x' must be num_channels={self.num_channels}, "
                             f"but got shape {x.shape}.")
        return normalization.group_norm(
            x, self.num_groups, self.gamma.astype(x.dtype, copy=False), self.beta.astype(x.dtype, copy=False), self.eps)

    def _cal_output(self, x: Tensor) -> Tensor:
        """Return the normalised tensor, for a subclass with a construct of its own."""
        return GroupNorm.construct(self, x)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class LayerNorm(Cell):
    """Normalisation over the trailing axes, scaled by gamma and shifted by beta (Ba, Kiros and Hinton 2016).

    normalized_shape   shape of gamma and beta
    begin_norm_axis    the first axis that is normalised over
    begin_params_axis  the first axis of gamma and beta

    `layer_norm` is the operator with these arguments, for a subclass with a construct of its own.
    """

    def __init__(
        self, normalized_shape: Sequence[int], begin_norm_axis: int = -1, begin_params_axis: int = -1, gamma_init: Any = "ones",
        beta_init: Any = "zeros", epsilon: float = 1e-7, dtype: DType = F32,
    ):
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise TypeError(f"For 'LayerNorm', the argument 'normalized_shape' must be a tuple or a list, but got {normalized_shape!r} "
                            f"of type {type(normalized_shape).__name__}.")
        if not normalized_shape:
            raise ValueError("For 'LayerNorm', the argument 'normalized_shape' must not be empty.")
        self.normalized_shape = normalized_shape
        self.begin_norm_axis = integer(self, "begin_norm_axis", begin_norm_axis)
        self.begin_params_axis = integer(self, "begin_params_axis", begin_params_axis)
        self.epsilon = number(self, "epsilon", epsilon)
        if not epsilon > 0:
            raise ValueError(f"For 'LayerNorm', the argument 'epsilon' must be greater than 0, but got {epsilon}.")
        shape = tuple(positive(self, "normalized_shape", n) for n in normalized_shape)
        self.gamma = Parameter(first_values("LayerNorm", "gamma_init", gamma_init, shape, dtype), name="gamma")
        self.beta = Parameter(first_values("LayerNorm", "beta_init", beta_init, shape, dtype), name="beta")
        self.layer_norm = LayerNormOperator(self.begin_norm_axis, self.begin_params_axis, self.epsilon)

    def construct(self, input_x: Tensor) -> Tensor:
        x = floating(self, "input_x", input_x)
        for name, axis in (("begin_norm_axis", self.begin_norm_axis), ("begin_params_axis", self.begin_params_axis)):
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"For 'LayerNorm', the argument '{name}' must be in [{-x.ndim}, {x.ndim}), but got {axis}.")
        begin, params = self.begin_norm_axis % x.ndim, self.begin_params_axis % x.ndim
        gamma, beta = self.gamma, self.beta
        if gamma.dtype is not x.dtype:
            gamma, beta = gamma.astype(x.dtype), beta.astype(x.dtype)
        if params == begin and x.shape[begin:] == gamma.shape:
            return normalization.normalized(x, gamma, beta, begin, self.epsilon)[0]
        if x.shape[params:] != gamma.shape:
            raise ValueError(f"For 'LayerNorm', gamma and beta must have the shape {x.shape[params:]} of 'input_x' from axis {params} on, "
                             f"but got {gamma.shape}.")
        # Parameters over other axes than are normalised: normalise plainly, then scale with broadcasting.
        over = x.shape[begin:]
        plain = normalization.normalized(x, creation.ones(over, x.dtype), creation.zeros(over, x.dtype), begin, self.epsilon)[0]
        return plain * gamma + beta

    def extend_repr(self) -> str:
        return (f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
                f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma}, beta={self.beta}")


class LRN(Cell):
    """Local response normalisation of [n, c, h, w] across channels; see `ops.lrn`."""

    def __init__(
        self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, norm_region: str = "ACROSS_CHANNELS"
    ):
        super().__init__()
        self.lrn_op = LrnOperator(depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x: Tensor) -> Tensor:
        return self.lrn_op(input_x)


class ClipByNorm(Cell):
    """x, shortened to the length `clip_norm` where it is longer; the result is Float32.

    axis  the axes over which the length is taken, an int or several; None: all

    `clip_norm` is a Tensor of Float16 or Float32 that broadcasts to the shape of x.
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None):
        super().__init__()
        if axis is not None and not isinstance(axis, (tuple, list)):
            integer(self, "axis", axis)
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Tensor) -> Tensor:
        given, limit = (_half_or_single(self, name, value).astype(F32) for name, value in (("x", x), ("clip_norm", clip_norm)))
        return shortened(given, limit, self.axis)


def shortened(x: Tensor, limit: Tensor, axis: Any) -> Tensor:
    """`x`, shortened to the length `limit` where it is longer; the length is taken over the axes."""
    total, bound = reduction.sum(square(x), axis, True), square(limit)
    # The root is not taken of a sum of 0, where it has no gradient.
    return where(total > bound, x * limit / sqrt(maximum(total, bound)), x)


def _half_or_single(owner: Cell, argument: str, value: Any) -> Tensor:
    x = tensor_argument(owner, argument, value)
    if x.dtype not in (F16, F32):
        raise TypeError(f"For '{type(owner).__name__}', the argument '{argument}' must be a Tensor of Float16 or Float32, "
                        f"but got {x.dtype}.")
    return x
