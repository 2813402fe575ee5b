"""Operators as objects that networks consist of: products, activations, normalization, dropout."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from adjoint.ir.op import made
from adjoint.ir.ops import normalize, random
from adjoint.ir.ops.conversion import Cast as CastOp
from adjoint.ir.types import F32, I32, U8
from adjoint.ops import activations, arithmetic, linear, normalization, random_numbers, reduction, shapes
from adjoint.ops.arguments import (
    axis_argument,
    channels_first,
    check_memory,
    choice,
    flag,
    integer,
    number,
    operand,
    real,
    seed_argument,
    sizes_argument,
    wrong,
)
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "GELU", "GLU", "LRN", "BatchMatMul", "BatchNorm", "BiasAdd", "CeLU", "Dense", "Dropout", "Dropout2D", "Dropout3D", "DropoutDoMask",
    "DropoutGenMask", "Elu", "FastGeLU", "FastGelu", "GeLU", "Gelu", "HShrink", "HSigmoid", "HSwish", "LayerNorm", "LogSoftmax",
    "MatMul", "Mish", "PReLU", "ReLU", "ReLU6", "RmsNorm", "SeLU", "SoftShrink", "Softmax", "Softplus", "Softsign", "StandardLaplace",
]

# Products --------------------------------------------------------------------------------------------


class MatMul(Primitive):
    """The product of two matrices, either transposed first; `mat2` has the dtype of `input`."""

    rank = 2

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False):
        given = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        super().__init__(None, **{name: flag(type(self).__name__, name, value) for name, value in given.items()})

    def __call__(self, input: Any, mat2: Any) -> Tensor:
        a, b = operand(self.name, input), operand(self.name, mat2, "mat2")
        if a.ndim != b.ndim or a.ndim < 2 or (self.rank == 2 and a.ndim != 2):
            raise wrong(self.name, "input", f"matrices of {self.rank} dimensions, as 'mat2'", (a.shape, b.shape))
        if a.dtype is not b.dtype:
            raise wrong(self.name, "mat2", f"of the dtype of 'input', {a.dtype}", b, TypeError)
        return linear.product(self.name, a, b, ta=self.transpose_a, tb=self.transpose_b)


class BatchMatMul(MatMul):
    """The products of two stacks of matrices, either transposed first."""

    rank = 3

    def __call__(self, x: Any, y: Any) -> Tensor:
        a, b = operand("BatchMatMul", x, "x"), operand("BatchMatMul", y, "y")
        if a.ndim < 2 or b.ndim < 2:
            raise wrong("BatchMatMul", "x", "of at least 2 dimensions, as 'y'", (a.shape, b.shape))
        if a.dtype is not b.dtype:
            raise wrong("BatchMatMul", "y", f"of the dtype of 'x', {a.dtype}", b, TypeError)
        return linear.product("BatchMatMul", a, b, ta=self.transpose_a, tb=self.transpose_b)


class Dense(Plain):
    """The product of `input` [..., n] and the transpose of `weight` [m, n], plus `bias` [m], if there is one."""

    def __call__(self, input: Any, weight: Any, bias: Any = None) -> Tensor:
        return linear.dense(input, weight, bias)


class BiasAdd(Primitive):
    """A bias for each channel added: along axis 1, or the last of four for "NHWC"."""

    def __init__(self, data_format: str = "NCHW"):
        super().__init__(data_format=choice("BiasAdd", "data_format", data_format, ("nchw", "nhwc", "ncdhw")).upper())

    def __call__(self, input_x: Any, bias: Any) -> Tensor:
        if self.data_format != "NHWC":
            return linear.bias_add(input_x, bias)
        x = operand("BiasAdd", input_x, "input_x")
        if x.ndim != 4:
            raise wrong("BiasAdd", "input_x", "of 4 dimensions where 'data_format' is 'NHWC'", x)
        return shapes.transpose(linear.bias_add(shapes.transpose(x, (0, 3, 1, 2)), bias), (0, 2, 3, 1))


# Layers --------------------------------------------------------------------------------------------------------------


class ReLU(Plain):
    """The element, or 0 where it is negative."""

    def __call__(self, input: Any) -> Tensor:
        return activations.relu(input)


ReLU6 = plain("ReLU6", activations.relu6)


class Elu(Primitive):
    """x, or alpha * (exp(x) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0):
        super().__init__(alpha=real("Elu", "alpha", alpha))

    def __call__(self, input_x: Any) -> Tensor:
        return activations.elu(input_x, self.alpha)


class CeLU(Primitive):
    """x, or alpha * (exp(x / alpha) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0):
        super().__init__(alpha=real("CeLU", "alpha", alpha))

    def __call__(self, x: Any) -> Tensor:
        return activations.celu(x, self.alpha)


class HShrink(Primitive):
    """x, or 0 where |x| <= lambd."""

    def __init__(self, lambd: float = 0.5):
        super().__init__(lambd=real("HShrink", "lambd", lambd))

    def __call__(self, input: Any) -> Tensor:
        return activations.hardshrink(input, self.lambd)


class SoftShrink(Primitive):
    """x moved toward 0 by `lambd`, or 0 where |x| is less."""

    def __init__(self, lambd: float = 0.5):
        super().__init__(lambd=real("SoftShrink", "lambd", lambd))

    def __call__(self, input: Any) -> Tensor:
        return activations.softshrink(input, self.lambd)


SeLU = plain("SeLU", activations.selu)
PReLU = plain("PReLU", activations.prelu)


class GeLU(Plain):
    """x * P(X <= x), approximated by a tanh."""

    def __call__(self, input: Any) -> Tensor:
        return activations.gelu(input, "tanh")


class Gelu(GeLU):
    """`GeLU`."""


class GELU(GeLU):
    """`GeLU`."""


FastGeLU = plain("FastGeLU", activations.fast_gelu)
FastGelu = plain("FastGelu", activations.fast_gelu)
Mish = plain("Mish", activations.mish)
HSwish = plain("HSwish", activations.hardswish)
HSigmoid = plain("HSigmoid", activations.hardsigmoid)


class Softplus(Plain):
    """log(1 + exp(x))."""

    def __call__(self, input_x: Any) -> Tensor:
        return activations.softplus(input_x)


Softsign = plain("Softsign", activations.softsign)


class Softmax(Primitive):
    """Softmax along one axis."""

    def __init__(self, axis: Any = -1):
        super().__init__(axis=sizes_argument("Softmax", "axis", axis, least=None))
        if len(self.axis) != 1:
            raise wrong("Softmax", "axis", "one axis", axis)

    def __call__(self, input: Any) -> Tensor:
        return activations.softmax(input, self.axis[0])


class LogSoftmax(Primitive):
    """The logarithm of softmax along one axis."""

    def __init__(self, axis: int = -1):
        super().__init__(axis=integer("LogSoftmax", "axis", axis))

    def __call__(self, logits: Any) -> Tensor:
        return activations.log_softmax(logits, self.axis)


class BatchNorm(Primitive):
    """The input [n, c, ...] normalised channel by channel.

    Returns five tensors: the result, then mean and variance, twice: those of the batch while training, else the ones given.
    While training the given mean and variance are moved towards the batch's by `momentum`.
    """

    def __init__(self, is_training: bool = False, epsilon: float = 1e-05, momentum: float = 0.1, data_format: str = "NCHW"):
        super().__init__(is_training=flag("BatchNorm", "is_training", is_training), epsilon=real("BatchNorm", "epsilon", epsilon),
                         momentum=real("BatchNorm", "momentum", momentum), data_format=channels_first("BatchNorm", data_format))

    def __call__(self, input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> tuple[Tensor, ...]:
        op = "BatchNorm"
        x, gamma, beta = operand(op, input_x, "input_x"), operand(op, scale, "scale"), operand(op, bias, "bias")
        center, spread = operand(op, mean, "mean"), operand(op, variance, "variance")
        normalization.check_channels(op, x, scale=gamma, bias=beta, mean=center, variance=spread)
        if not self.is_training:
            wide = normalization.beside(x, gamma)
            y = apply(made(normalize.BatchNormInference, self.epsilon), wide, gamma, beta, center, spread)
            return y.astype(x.dtype, copy=False), center, spread, center, spread
        y, batch_mean, batch_variance = normalization.batch_normalized(
            x, center, spread, gamma, beta, self.epsilon, 1.0 - self.momentum, self.momentum)
        return y, batch_mean, batch_variance, batch_mean, batch_variance


class LayerNorm(Primitive):
    """The input normalised over its axes from `begin_norm_axis` on, with its mean and variance.

    `begin_params_axis` says from where on gamma and beta have the input's sizes; it must be begin_norm_axis.
    """

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-07):
        super().__init__(begin_norm_axis=integer("LayerNorm", "begin_norm_axis", begin_norm_axis),
                         begin_params_axis=integer("LayerNorm", "begin_params_axis", begin_params_axis),
                         epsilon=real("LayerNorm", "epsilon", epsilon))

    def __call__(self, input_x: Any, gamma: Any, beta: Any) -> tuple[Tensor, Tensor, Tensor]:
        x = operand("LayerNorm", input_x, "input_x")
        begin = axis_argument("LayerNorm", self.begin_norm_axis, x.ndim, "begin_norm_axis")
        if axis_argument("LayerNorm", self.begin_params_axis, x.ndim, "begin_params_axis") != begin:
            raise wrong("LayerNorm", "begin_params_axis", f"begin_norm_axis, {self.begin_norm_axis}", self.begin_params_axis)
        y, mean, inverse = normalization.normalized(
            x, operand("LayerNorm", gamma, "gamma"), operand("LayerNorm", beta, "beta"), begin, self.epsilon)
        return y, mean, arithmetic.reciprocal(arithmetic.square(inverse)) - self.epsilon


class LRN(Primitive):
    """Local response normalisation across channels; see `lrn`."""

    def __init__(
        self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, norm_region: str = "ACROSS_CHANNELS"
    ):
        super().__init__(**normalization.lrn_settings(depth_radius, bias, alpha, beta, norm_region))

    def __call__(self, x: Any) -> Tensor:
        return normalization.lrn(x, **self.attrs)


class Dropout(Primitive):
    """Each element kept with probability `keep_prob` and divided by it, or else 0; and which were kept, as ones and zeros."""

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0):
        super().__init__(keep_prob=number("Dropout", "keep_prob", keep_prob), Seed0=integer("Dropout", "Seed0", Seed0),
                         Seed1=integer("Dropout", "Seed1", Seed1))
        if not 0.0 < self.keep_prob <= 1.0:
            raise wrong("Dropout", "keep_prob", "in (0, 1]", keep_prob)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        op, key = made(random.Dropout, float(self.keep_prob)), next_key(combined_seed(self.Seed0, self.Seed1))
        y, kept = apply(op, operand("Dropout", x, "x"), key)
        return y, apply(made(CastOp, y.dtype), kept)


class RmsNorm(Primitive):
    """A Tensor divided by the root of its mean square over trailing axes, times `gamma`; and 1 over that root: see `rms_norm`."""

    def __init__(self, epsilon: float = 1e-06):
        super().__init__(epsilon=real("RmsNorm", "epsilon", epsilon))

    def __call__(self, x: Any, gamma: Any) -> tuple[Tensor, Tensor]:
        return normalization.rms_norm(x, gamma, self.epsilon)


class DropoutGenMask(Primitive):
    """A random bit for each element of a shape, 1 with the probability `keep_prob`; for `DropoutDoMask`.

    Eight bits are a number of UInt8, the first one its lowest bit; the mask is as long as 128 bits go into, [16 * ceil(elements / 128)].
    """

    def __init__(self, Seed0: int = 0, Seed1: int = 0):
        super().__init__(Seed0=integer("DropoutGenMask", "Seed0", Seed0), Seed1=integer("DropoutGenMask", "Seed1", Seed1))

    def __call__(self, shape: Any, keep_prob: Any) -> Tensor:
        op = "DropoutGenMask"
        sizes, share = sizes_argument(op, "shape", shape), _kept_share(op, keep_prob)
        count = 16 * -(-math.prod(sizes) // 128)
        check_memory(op, "the random numbers", 32.0 * count)
        drawn = random_numbers.drawn_uniform((count, 8), F32, combined_seed(self.Seed0, self.Seed1))
        return arithmetic.cast(reduction.sum(arithmetic.cast(drawn < share, I32) * Tensor(_BITS, I32), -1), U8)


class DropoutDoMask(Plain):
    """The elements whose bit in a mask of `DropoutGenMask` is 1, divided by `keep_prob`; 0 for the others."""

    def __call__(self, input_x: Any, mask: Any, keep_prob: Any) -> Tensor:
        op = "DropoutDoMask"
        x, bits, share = operand(op, input_x, "input_x"), operand(op, mask, "mask"), _kept_share(op, keep_prob)
        if not x.dtype.is_float:
            raise wrong(op, "input_x", "a Tensor of a floating point type", x, TypeError)
        if bits.dtype is not U8:
            raise wrong(op, "mask", "a Tensor of UInt8", bits, TypeError)
        if bits.ndim != 1 or bits.size * 8 < x.size:
            raise wrong(op, "mask", f"of 1 dimension, with a bit for each of {x.size} elements", bits)
        kept = arithmetic.bitwise_and(shapes.expand_dims(arithmetic.cast(bits, I32), -1), Tensor(_BITS, I32)) != 0
        scaled = x / (arithmetic.cast(share, x.dtype) if isinstance(share, Tensor) else share)
        return arithmetic.where(shapes.reshape(shapes.reshape(kept, (-1,))[: x.size], x.shape), scaled, constant(0.0, x.dtype))


_BITS = (1, 2, 4, 8, 16, 32, 64, 128)


def _kept_share(op: str, keep_prob: Any) -> Any:
    """Return the share of elements that a dropout keeps, a number or a Tensor of one element."""
    if isinstance(keep_prob, Tensor):
        if keep_prob.size != 1 or not keep_prob.dtype.is_float:
            raise wrong(op, "keep_prob", "a number or a Tensor of one floating point number", keep_prob)
        return shapes.reshape(keep_prob, ())
    if not 0.0 <= (share := real(op, "keep_prob", keep_prob)) <= 1.0:
        raise wrong(op, "keep_prob", "in [0, 1]", share)
    return share


class _DropoutOfChannels(Primitive):
    """Each channel kept with probability `keep_prob` and divided by it, or else 0; and which elements were kept, as bools."""

    axes: ClassVar[int]

    def __init__(self, keep_prob: float = 0.5):
        name = type(self).__name__
        super().__init__(keep_prob=real(name, "keep_prob", keep_prob))
        if not 0.0 <= self.keep_prob <= 1.0:
            raise wrong(name, "keep_prob", "in [0, 1]", keep_prob)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        given = operand(self.name, x, "x")
        if given.ndim != self.axes + 2:
            raise wrong(self.name, "x", f"of {self.axes + 2} dimensions", given)
        if not given.dtype.is_float:
            raise wrong(self.name, "x", "a Tensor of a floating point type", given, TypeError)
        y, kept = activations.channels_dropped(given, self.keep_prob, self.axes)
        return y, shapes.broadcast_to(kept, given.shape)


class Dropout2D(_DropoutOfChannels):
    __doc__ = "Of images [n, c, h, w]: " + (_DropoutOfChannels.__doc__ or "")
    axes = 2


class Dropout3D(_DropoutOfChannels):
    __doc__ = "Of volumes [n, c, d, h, w]: " + (_DropoutOfChannels.__doc__ or "")
    axes = 3


def combined_seed(first: int, second: int) -> int | None:
    """Two seeds as one; None when both are 0."""
    return ((first & 0x7FFFFFFF) << 32 | (second & 0xFFFFFFFF)) or None


class GLU(Primitive):
    """The first half along an axis times the sigmoid of the second."""

    def __init__(self, axis: int = -1):
        super().__init__(axis=integer("GLU", "axis", axis))

    def __call__(self, x: Any) -> Tensor:
        return activations.glu(operand("GLU", x, "x"), self.axis)


class StandardLaplace(Primitive):
    """Numbers with the density exp(-|x|) / 2; `seed` and `seed2` 0: the global seed."""

    def __init__(self, seed: int = 0, seed2: int = 0):
        super().__init__(seed=integer("StandardLaplace", "seed", seed), seed2=integer("StandardLaplace", "seed2", seed2))
        for name in ("seed", "seed2"):
            seed_argument("StandardLaplace", self.attrs[name])

    def __call__(self, shape: Any) -> Tensor:
        own = self.seed or self.seed2
        return random_numbers.standard_laplace(shape, (self.seed * 1000003 + self.seed2) % 2**63 if own else None)
