"""Layer and batch normalisation, and their gradients.

    z = (x - mean) * rstd          rstd = 1 / sqrt(variance + epsilon), variance divided by the number of elements
    y = z * gamma + beta

Layer normalisation takes mean and variance over the trailing axes of each example; batch normalisation takes them over
all axes but the channels (axis 1).  With g = gamma * ct, averages E taken over the same axes as the mean, and sums S over
the axes along which gamma is broadcast:

    x'     = rstd * (g - E[g] - z * E[g * z])
    gamma' = S[ct * z]
    beta'  = S[ct]

(Ioffe and Szegedy 2015, "Batch Normalization"; Ba, Kiros and Hinton 2016, "Layer Normalization".)  Statistics are in the
dtype that arithmetic is done in: float32 for the two-byte floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import DType, F32, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node

Array = Any

__all__ = ["BatchNorm", "BatchNormGradient", "BatchNormInference", "LayerNorm", "LayerNormGradient"]


class _Normalization(Op):
    """What layer and batch normalisation share: their operands are x, gamma and beta-like tensors and statistics."""

    pack = "norm"

    def statistics_type(self, x: TensorType) -> TensorType:
        """The type of mean and rstd."""
        raise NotImplementedError

    def scale_type(self, x: TensorType) -> TensorType:
        """The type of gamma and beta."""
        raise NotImplementedError

    def averaged(self, rank: int) -> tuple[int, ...]:
        """The axes of x that mean and variance are taken over."""
        raise NotImplementedError

    def summed(self, rank: int) -> tuple[int, ...]:
        """The axes of x along which gamma and beta are broadcast."""
        raise NotImplementedError

    def check(self, **operands: tuple[TensorType, TensorType]) -> None:
        """Each operand, given with the type it must have."""
        for name, (got, expected) in operands.items():
            if got is not expected:
                raise mistake(self, name, f"of type {expected}", got)

    def along(self, statistic: Array, x: Array) -> Array:
        """A NumPy array of statistics or of gamma, shaped to broadcast with x."""
        raise NotImplementedError

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        statistics = cls.statistics_operands
        for s in cls.samples:
            yield cls(**s.attributes), tuple(
                t.with_dtype(dtype.compute if i in statistics else dtype)
                for i, t in enumerate(s.operands) if isinstance(t, TensorType))

    statistics_operands: tuple[int, ...] = ()
    """Positions of the operands that are statistics."""


class _LayerNormalization(_Normalization):
    begin: int

    def statistics_type(self, x: TensorType) -> TensorType:
        return tensor(x.dtype.compute, (*x.shape[:self.begin], *(1,) * (x.rank - self.begin)))

    def scale_type(self, x: TensorType) -> TensorType:
        return x.with_shape(x.shape[self.begin:])

    def averaged(self, rank: int) -> tuple[int, ...]:
        return tuple(range(self.begin, rank))

    def summed(self, rank: int) -> tuple[int, ...]:
        return tuple(range(self.begin))

    def along(self, statistic: Array, x: Array) -> Array:
        return statistic

    def check_x(self, x: TensorType) -> None:
        if not isinstance(x, TensorType) or not x.dtype.is_float:
            raise mistake(self, "x", "a tensor of floating point numbers", x, TypeError)
        if not 0 <= self.begin < x.rank:
            raise mistake(self, "begin", f"in 0..{x.rank - 1} for {x}", self.begin)


class _BatchNormalization(_Normalization):
    def statistics_type(self, x: TensorType) -> TensorType:
        return tensor(x.dtype.compute, (x.shape[1],))

    def scale_type(self, x: TensorType) -> TensorType:
        return x.with_shape((x.shape[1],))

    def averaged(self, rank: int) -> tuple[int, ...]:
        return tuple(axis for axis in range(rank) if axis != 1)

    summed = averaged

    def along(self, statistic: Array, x: Array) -> Array:
        return statistic.reshape(1, -1, *(1,) * (x.ndim - 2))

    def check_x(self, x: TensorType) -> None:
        if not isinstance(x, TensorType) or not x.dtype.is_float:
            raise mistake(self, "x", "a tensor of floating point numbers", x, TypeError)
        if x.rank < 2:
            raise mistake(self, "x", "of shape [batch, channels, ...]", x)


@operation
class LayerNorm(_LayerNormalization):
    """Normalisation of `x` over its axes from `begin` on, scaled by gamma and shifted by beta.

    operands x      T[s], T a floating point type
             gamma  T[s from begin]
             beta   T[s from begin]
    result   y      T[s]
             mean   T[s up to begin, then 1s], in the compute dtype of T
             rstd   of mean's type: 1 / sqrt(variance + epsilon), the variance divided by the number of elements
    gradient layer_norm_gradient(x, gamma, mean, rstd, ct); mean gives ct/n to each element, rstd gives -rstd^2 z ct/n
    errors   ValueError: begin not in 0..rank-1, gamma or beta not of the shape of the trailing axes; TypeError: x not
             floating point
    """

    begin: int
    epsilon: float = 1e-5
    samples = (
        sample(tensor(F32, (4, 7)), tensor(F32, (7,)), tensor(F32, (7,)), begin=1),
        sample(tensor(F32, (2, 3, 5)), tensor(F32, (5,)), tensor(F32, (5,)), begin=2, epsilon=1e-7),
        sample(tensor(F32, (2, 3, 5)), tensor(F32, (3, 5)), tensor(F32, (3, 5)), begin=1, epsilon=1e-12),
        sample(tensor(F32, (40, 33)), tensor(F32, (33,)), tensor(F32, (33,)), begin=1, domain=(90.0, 110.0),
               note="mean far larger than the deviation"),
        sample(tensor(F32, (0, 4)), tensor(F32, (4,)), tensor(F32, (4,)), begin=1),
    )

    def infer(self, x: TensorType, gamma: TensorType, beta: TensorType) -> tuple[Type, ...]:
        self.check_x(x)
        scale = self.scale_type(x)
        self.check(gamma=(gamma, scale), beta=(beta, scale))
        statistics = self.statistics_type(x)
        return x, statistics, statistics

    def reference(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, ...]:
        axes = self.averaged(x.ndim)
        mean = x.mean(axis=axes, keepdims=True, dtype=x.dtype)
        centered = x - mean
        rstd = 1 / np.sqrt((centered * centered).mean(axis=axes, keepdims=True) + x.dtype.type(self.epsilon))
        return centered * rstd * gamma + beta, mean, rstd

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        x, gamma, _ = node.operands
        y_ct, mean_ct, rstd_ct = cotangents
        _, mean, rstd = node.results
        fused = (None, None, None) if y_ct is None else b.emit(
            LayerNormGradient(self.begin), x, gamma, mean, rstd, y_ct)
        return _with_statistics(b, self, x, (mean, rstd), fused, mean_ct, None, rstd_ct)


@operation
class LayerNormGradient(_LayerNormalization):
    """The gradient of layer_norm from its statistics.

    operands x      T[s]
             gamma  T[s from begin]
             mean   T[s up to begin, then 1s], in the compute dtype of T
             rstd   of mean's type
             ct     T[s], the cotangent of y
    result   x'     T[s]: rstd * (g - E[g] - z * E[g * z]), g = gamma * ct, z = (x - mean) * rstd
             gamma' T[s from begin]: sum of ct * z over the leading axes
             beta'  T[s from begin]: sum of ct over the leading axes
    gradient unfused: of x', gamma', beta' as functions of all five operands
    errors   ValueError: begin not in 0..rank-1, an operand's type does not fit x; TypeError: x not floating point
    """

    begin: int
    statistics_operands = (2, 3)
    samples = (
        sample(tensor(F32, (4, 7)), tensor(F32, (7,)), tensor(F32, (4, 1)), tensor(F32, (4, 1)), tensor(F32, (4, 7)),
               begin=1),
        sample(tensor(F32, (70, 3, 5)), tensor(F32, (3, 5)), tensor(F32, (70, 1, 1)), tensor(F32, (70, 1, 1)),
               tensor(F32, (70, 3, 5)), begin=1, note="more rows than a block of the sums holds"),
        sample(tensor(F32, (0, 4)), tensor(F32, (4,)), tensor(F32, (0, 1)), tensor(F32, (0, 1)), tensor(F32, (0, 4)),
               begin=1),
    )

    def infer(self, x: TensorType, gamma: TensorType, mean: TensorType, rstd: TensorType, ct: TensorType) -> tuple[Type, ...]:
        self.check_x(x)
        statistics = self.statistics_type(x)
        self.check(gamma=(gamma, self.scale_type(x)), mean=(mean, statistics), rstd=(rstd, statistics), ct=(ct, x))
        return x, gamma, gamma

    def reference(self, x: Array, gamma: Array, mean: Array, rstd: Array, ct: Array) -> tuple[Array, ...]:
        return _gradient_reference(self, x, gamma, mean, rstd, ct)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return _gradient_vjp(b, self, node, cotangents)


@operation
class BatchNorm(_BatchNormalization):
    """Normalisation of each channel of `x` over the batch, scaled by gamma and shifted by beta; for training.

    operands x         T[n, c, ...], T a floating point type
             gamma     T[c]
             beta      T[c]
    result   y         T[n, c, ...]
             mean      [c] in the compute dtype of T
             variance  of mean's type, divided by the number m of elements of a channel (running averages take
                       variance * m / (m - 1))
             rstd      of mean's type: 1 / sqrt(variance + epsilon)
    gradient batch_norm_gradient(x, gamma, mean, rstd, ct); mean, variance and rstd give ct/m, 2 (x - mean) ct/m and
             -rstd^2 z ct/m to each element
    errors   ValueError: x of rank below 2, gamma or beta not of shape [c]; TypeError: x not floating point
    """

    epsilon: float = 1e-5
    samples = (
        sample(tensor(F32, (3, 2, 4, 5)), tensor(F32, (2,)), tensor(F32, (2,))),
        sample(tensor(F32, (7, 19)), tensor(F32, (19,)), tensor(F32, (19,))),
        sample(tensor(F32, (4, 3, 6)), tensor(F32, (3,)), tensor(F32, (3,)), domain=(90.0, 110.0),
               note="mean far larger than the deviation"),
    )

    def infer(self, x: TensorType, gamma: TensorType, beta: TensorType) -> tuple[Type, ...]:
        self.check_x(x)
        scale = self.scale_type(x)
        self.check(gamma=(gamma, scale), beta=(beta, scale))
        statistics = self.statistics_type(x)
        return x, statistics, statistics, statistics

    def reference(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, ...]:
        axes = self.averaged(x.ndim)
        mean = x.mean(axis=axes, dtype=x.dtype)
        centered = x - self.along(mean, x)
        variance = (centered * centered).mean(axis=axes)
        rstd = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))
        y = centered * self.along(rstd, x) * self.along(gamma, x) + self.along(beta, x)
        return y, mean, variance, rstd

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        x, gamma, _ = node.operands
        y_ct, mean_ct, variance_ct, rstd_ct = cotangents
        _, mean, _, rstd = node.results
        fused = (None, None, None) if y_ct is None else b.emit(BatchNormGradient(), x, gamma, mean, rstd, y_ct)
        return _with_statistics(b, self, x, (mean, rstd), fused, mean_ct, variance_ct, rstd_ct)


@operation
class BatchNormGradient(_BatchNormalization):
    """The gradient of batch_norm from its statistics.

    operands x      T[n, c, ...]
             gamma  T[c]
             mean   [c] in the compute dtype of T
             rstd   of mean's type
             ct     T[n, c, ...], the cotangent of y
    result   x'     T[n, c, ...]: rstd * gamma * (ct - E[ct] - z * E[ct * z]), z = (x - mean) * rstd
             gamma' T[c]: sum of ct * z over all axes but the channels
             beta'  T[c]: sum of ct over all axes but the channels
    gradient unfused: of x', gamma', beta' as functions of all five operands
    errors   ValueError: x of rank below 2, an operand's type does not fit x; TypeError: x not floating point
    """

    statistics_operands = (2, 3)
    samples = (
        sample(tensor(F32, (3, 2, 4, 5)), tensor(F32, (2,)), tensor(F32, (2,)), tensor(F32, (2,)), tensor(F32, (3, 2, 4, 5))),
        sample(tensor(F32, (7, 19)), tensor(F32, (19,)), tensor(F32, (19,)), tensor(F32, (19,)), tensor(F32, (7, 19))),
    )

    def infer(self, x: TensorType, gamma: TensorType, mean: TensorType, rstd: TensorType, ct: TensorType) -> tuple[Type, ...]:
        self.check_x(x)
        statistics = self.statistics_type(x)
        self.check(gamma=(gamma, self.scale_type(x)), mean=(mean, statistics), rstd=(rstd, statistics), ct=(ct, x))
        return x, gamma, gamma

    def reference(self, x: Array, gamma: Array, mean: Array, rstd: Array, ct: Array) -> tuple[Array, ...]:
        return _gradient_reference(self, x, gamma, mean, rstd, ct)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return _gradient_vjp(b, self, node, cotangents)


@operation
class BatchNormInference(_BatchNormalization):
    """Normalisation of each channel of `x` by a given mean and variance, scaled by gamma and shifted by beta.

    operands x         T[n, c, ...], T a floating point type
             gamma     T[c]
             beta      T[c]
             mean      [c] in the compute dtype of T
             variance  of mean's type
    result   T[n, c, ...]: (x - mean) / sqrt(variance + epsilon) * gamma + beta
    gradient unfused, to all operands
    errors   ValueError: x of rank below 2, an operand's type does not fit x; TypeError: x not floating point
    """

    epsilon: float = 1e-5
    statistics_operands = (3, 4)
    samples = (
        sample(tensor(F32, (3, 2, 4, 5)), tensor(F32, (2,)), tensor(F32, (2,)), tensor(F32, (2,)), tensor(F32, (2,)),
               domain=((-2.0, 2.0),) * 4 + ((0.5, 2.0),)),
        sample(tensor(F32, (7, 19)), tensor(F32, (19,)), tensor(F32, (19,)), tensor(F32, (19,)), tensor(F32, (19,)),
               domain=((-2.0, 2.0),) * 4 + ((0.5, 2.0),)),
    )

    def infer(self, x: TensorType, gamma: TensorType, beta: TensorType, mean: TensorType, variance: TensorType) -> Type:
        self.check_x(x)
        scale, statistics = self.scale_type(x), self.statistics_type(x)
        self.check(gamma=(gamma, scale), beta=(beta, scale), mean=(mean, statistics), variance=(variance, statistics))
        return x

    def reference(self, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array) -> Array:
        rstd = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))
        z = (x - self.along(mean, x)) * self.along(rstd, x)
        return z * self.along(gamma, x) + self.along(beta, x)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        x, gamma, beta, mean, variance = node.operands
        like = _Along(b, self, x.type)  # type: ignore[arg-type]
        rstd = b.rsqrt(b.add(variance, b.constant(self.epsilon, variance.type.dtype)))  # type: ignore[union-attr]
        ct, centered, scale = like.wide(cotangents[0]), b.sub(like.wide(x), like.spread(mean)), like.spread(rstd)
        z = b.mul(centered, scale)
        z_ct = b.mul(ct, like.spread(gamma))
        x_ct = b.mul(z_ct, scale)
        mean_ct = b.neg(like.statistic(x_ct))
        cube = b.mul(b.mul(rstd, rstd), rstd)
        variance_ct = b.mul(b.mul(like.statistic(b.mul(z_ct, centered)), cube), b.constant(-0.5, cube.type.dtype))
        return (like.narrow(x_ct), like.narrow(like.scale(b.mul(ct, z))), like.narrow(like.scale(ct)), mean_ct, variance_ct)


class _Along:
    """Spreads statistics and scales over x, and takes sums over x back to their shapes, in the compute dtype."""

    def __init__(self, b: Builder, op: _Normalization, x: TensorType):
        self.b, self.op, self.x = b, op, x
        self.count = math.prod(x.sizes[axis] for axis in op.averaged(x.rank))

    def wide(self, value: Atom) -> Atom:
        """`value` in the compute dtype."""
        compute = self.x.dtype.compute
        return value if value.type.dtype is compute else self.b.cast(value, to=compute)  # type: ignore[union-attr]

    def narrow(self, value: Atom) -> Atom:
        """`value` in the dtype of x."""
        return value if value.type.dtype is self.x.dtype else self.b.cast(value, to=self.x.dtype)  # type: ignore[union-attr]

    def spread(self, value: Atom) -> Atom:
        """A statistic, gamma or beta, of a shape that broadcasts with x."""
        value, have = self.wide(value), value.type
        assert isinstance(have, TensorType)
        if isinstance(self.op, _BatchNormalization) and self.x.rank > 2:
            shape = (have.shape[0], *(1,) * (self.x.rank - 2))
            return self.b.reshape(value, to=tensor(self.x.dtype.compute, shape))
        return value

    def statistic(self, value: Atom) -> Atom:
        """The sum of `value`, of x's shape, that a statistic takes: over the averaged axes."""
        layer = isinstance(self.op, _LayerNormalization)
        return self.b.sum(value, axes=self.op.averaged(self.x.rank), keepdims=layer)

    def mean(self, value: Atom) -> Atom:
        """The average of `value` over the averaged axes, with 1s in their place."""
        total = self.b.sum(value, axes=self.op.averaged(self.x.rank), keepdims=True)
        return self.b.div(total, self.b.constant(float(self.count), self.x.dtype.compute))

    def scale(self, value: Atom) -> Atom:
        """The sum of `value`, of x's shape, that gamma or beta takes: over the axes it is broadcast along."""
        axes = self.op.summed(self.x.rank)
        return self.b.sum(value, axes=axes, keepdims=False) if axes else value


def _with_statistics(
    b: Builder, op: _Normalization, x: Atom, statistics: tuple[Atom, Atom], fused: Sequence[Atom | None],
    mean_ct: Atom | None, variance_ct: Atom | None, rstd_ct: Atom | None,
) -> Sequence[Atom | None]:
    """Cotangents of x, gamma, beta: those of `fused`, to x's added what the statistics' cotangents give it."""
    x_ct, *rest = fused
    if mean_ct is None and variance_ct is None and rstd_ct is None:
        return x_ct, *rest
    like = _Along(b, op, x.type)  # type: ignore[arg-type]
    mean, rstd = map(like.spread, statistics)
    share = b.constant(1.0 / like.count if like.count else 0.0, like.x.dtype.compute)
    centered = b.sub(like.wide(x), mean)
    parts = [] if x_ct is None else [like.wide(x_ct)]
    if mean_ct is not None:
        parts.append(b.broadcast(b.mul(like.spread(mean_ct), share), to=like.x.with_dtype(like.x.dtype.compute)))
    slope: Atom | None = None  # of the variance: the derivative of rstd by it is -rstd^3 / 2
    if variance_ct is not None:
        slope = b.mul(like.spread(variance_ct), b.constant(2.0, like.x.dtype.compute))
    if rstd_ct is not None:
        from_rstd = b.neg(b.mul(like.spread(rstd_ct), b.mul(b.mul(rstd, rstd), rstd)))
        slope = from_rstd if slope is None else b.add(slope, from_rstd)
    if slope is not None:
        parts.append(b.mul(centered, b.mul(slope, share)))
    total = parts[0]
    for part in parts[1:]:
        total = b.add(total, part)
    return like.narrow(total), *rest


def _gradient_reference(
    op: _Normalization, x: Array, gamma: Array, mean: Array, rstd: Array, ct: Array
) -> tuple[Array, ...]:
    averaged, summed = op.averaged(x.ndim), op.summed(x.ndim)
    rstd = op.along(rstd, x)
    z = (x - op.along(mean, x)) * rstd
    g = ct * op.along(gamma, x)
    x_ct = rstd * (g - g.mean(axis=averaged, keepdims=True) - z * (g * z).mean(axis=averaged, keepdims=True))
    return x_ct, (ct * z).sum(axis=summed), ct.sum(axis=summed)


def _gradient_vjp(b: Builder, op: _Normalization, node: Node, cotangents: Sequence[Atom | None]) -> Sequence[Atom | None]:
    """For the function (x, gamma, mean, rstd, ct) -> (x', gamma', beta') with cotangents v, p, q.

    With w = rstd * v, through x' alone:
        g receives w - E[w] - z * E[w * z],  z receives -(w * E[g * z] + g * E[w * z]),  rstd receives sum(v * x') / rstd
    gamma' gives ct * p to z and z * p to ct, beta' gives q to ct; then z = (x - mean) * rstd, g = gamma * ct.
    """
    x_, gamma_, mean_, rstd_, ct_ = node.operands
    v, p, q = cotangents
    like = _Along(b, op, x_.type)  # type: ignore[arg-type]
    wide = like.x.with_dtype(like.x.dtype.compute)
    x, ct, gamma, mean, rstd = like.wide(x_), like.wide(ct_), *map(like.spread, (gamma_, mean_, rstd_))
    centered = b.sub(x, mean)
    z = b.mul(centered, rstd)
    from_z: list[Atom] = []
    from_ct: list[Atom] = []
    gamma_ct = rstd_direct = None
    if v is not None:
        v = like.wide(v)
        g, w = b.mul(ct, gamma), b.mul(v, rstd)
        gz, wz = like.mean(b.mul(g, z)), like.mean(b.mul(w, z))
        g_ct = b.sub(b.sub(w, like.mean(w)), b.mul(z, wz))
        from_z.append(b.neg(b.add(b.mul(w, gz), b.mul(g, wz))))
        rstd_direct = b.mul(v, b.sub(b.sub(g, like.mean(g)), b.mul(z, gz)))
        from_ct.append(b.mul(g_ct, gamma))
        gamma_ct = like.narrow(like.scale(b.mul(g_ct, ct)))
    if p is not None:
        p = like.spread(p)
        from_z.append(b.mul(ct, p))
        from_ct.append(b.mul(z, p))
    if q is not None:
        from_ct.append(b.broadcast(like.spread(q), to=wide))
    ct_ct = _added(b, from_ct)
    if not from_z:
        return None, None, None, None, like.narrow(ct_ct)
    z_ct = _added(b, from_z)
    x_ct = b.mul(z_ct, rstd)
    through_z = b.mul(z_ct, centered)
    rstd_ct = like.statistic(through_z if rstd_direct is None else b.add(through_z, rstd_direct))
    return like.narrow(x_ct), gamma_ct, b.neg(like.statistic(x_ct)), rstd_ct, like.narrow(ct_ct)


def _added(b: Builder, parts: Sequence[Atom]) -> Atom:
    total = parts[0]
    for part in parts[1:]:
        total = b.add(total, part)
    return total
