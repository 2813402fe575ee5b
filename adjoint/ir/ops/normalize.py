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

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, mistyped, operation, sample
from adjoint.ir.ops import batched_norms, batching
from adjoint.ir.ops.groups import COLUMNS, Columns, Rows, reference_mean, reference_sum
from adjoint.ir.types import F32, I64, Dim, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = ["BatchNorm", "BatchNormGradient", "BatchNormInference", "LayerNorm", "LayerNormGradient"]


WORK = 16384
"""The elements that a thread must get to be worth waking."""
ROWS = 32
"""The number of rows whose contributions to gamma' and beta' one thread adds, in order."""


class _Normalization(Op):
    """The base of layer and batch normalisation, with operands x, gamma and beta-like tensors, and statistics."""

    pack = "norm"

    def statistics_type(self, x: TensorType) -> TensorType:
        """Return the type of mean and rstd."""
        raise NotImplementedError(f"{type(self).__name__}.statistics_type")

    def scale_type(self, x: TensorType) -> TensorType:
        """Return the type of gamma and beta."""
        raise NotImplementedError(f"{type(self).__name__}.scale_type")

    def averaged(self, rank: int) -> tuple[int, ...]:
        """Return the axes of x over which mean and variance are taken."""
        raise NotImplementedError(f"{type(self).__name__}.averaged")

    def summed(self, rank: int) -> tuple[int, ...]:
        """Return the axes of x along which gamma and beta are broadcast."""
        raise NotImplementedError(f"{type(self).__name__}.summed")

    def check(self, /, **operands: tuple[TensorType, TensorType]) -> None:
        """Check each operand, given with the type that it must have."""
        for name, (got, expected) in operands.items():
            if got is not expected:
                raise mistyped(self, name, expected, got)

    def along(self, statistic: Array, x: Array) -> Array:
        """Return a NumPy array of statistics or of gamma, reshaped to broadcast with x."""
        raise NotImplementedError(f"{type(self).__name__}.along")

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        statistics = cls.statistics_operands
        for s in cls.samples[:2]:
            yield cls(**s.attributes), tuple(
                t.with_dtype(dtype.compute if i in statistics else dtype)
                for i, t in enumerate(s.operands) if isinstance(t, TensorType))

    statistics_operands: ClassVar[tuple[int, ...]] = ()
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
        mean = reference_mean(x, axes, keepdims=True)
        centered = x - mean
        rstd = 1 / np.sqrt(reference_mean(centered * centered, axes, keepdims=True) + x.dtype.type(self.epsilon))
        return centered * rstd * gamma + beta, mean, rstd

    def lower(
        self, k: Kernel, x: Buffer, gamma: Buffer, beta: Buffer, y: Buffer, mean: Buffer, rstd: Buffer
    ) -> None:
        dtype, length = x.dtype.compute, gamma.count
        n = k.size(length, "n")
        k.describe(x, "rows, n")
        with k.stage(mean.count, max(1, WORK // max(1, length)), "row") as row:
            group = Rows(k, k.let(row * n, "first"), n, length)
            group.fetch_next(x)
            count = k.let(k.cast(n, dtype), "count")
            average = k.let(group.sum(dtype, lambda i: x[i])() / count, "average")
            squares = group.sum(dtype, lambda i: (x[i] - average) * (x[i] - average), "squares")
            scale = k.let(1.0 / k.call("sqrt", squares() / count + self.epsilon), "scale")
            k.store(mean, row, average)
            k.store(rstd, row, scale)
            with k.loop(0, n, "j") as j:
                i = group.first + j
                k.store(y, i, (x[i] - average) * scale * gamma[j] + beta[j])

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        return batched_norms.layer_norm(dataclasses.replace(self, begin=self.begin + 1), b, node, operands, mapped, size)

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
    batch = batched_norms.layer_norm_gradient
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

    def lower(
        self, k: Kernel, x: Buffer, gamma: Buffer, mean: Buffer, rstd: Buffer, ct: Buffer, x_ct: Buffer, gamma_ct: Buffer,
        beta_ct: Buffer,
    ) -> None:
        dtype, length, height = x.dtype.compute, gamma.count, mean.count
        blocks = -(-height // ROWS)
        n, rows, parts = k.size(length, "n"), k.size(height, "rows"), k.size(blocks, "parts")
        gamma_part = k.scratch(dtype, blocks * length, "gamma_part")
        beta_part = k.scratch(dtype, blocks * length, "beta_part")
        k.describe(x, "rows, n")
        with k.stage(blocks, max(1, WORK // max(1, length * ROWS)), "part") as part:
            with k.loop(0, n, "j") as j:
                k.store(gamma_part, part * n + j, 0.0)
                k.store(beta_part, part * n + j, 0.0)
            last = k.let(k.minimum_of(rows, part * ROWS + ROWS), "last")
            with k.loop(part * ROWS, last, "row") as row:
                first = k.let(row * n, "first")
                Rows(k, first, n, length).fetch_next(x, ct)
                average, scale = k.let(mean[row], "average"), k.let(rstd[row], "scale")

                def terms(j: Any) -> tuple[Any, Any]:
                    g = ct[first + j] * gamma[j]
                    return g, g * ((x[first + j] - average) * scale)

                sums = Rows(k, k.literal(0, I64), n, length).sums(dtype, terms, ("g_sum", "gz_sum"))
                count = k.let(k.cast(n, dtype), "count")
                g_mean, gz_mean = k.let(sums[0]() / count, "g_mean"), k.let(sums[1]() / count, "gz_mean")
                with k.loop(0, n, "j") as j:
                    c = k.let(ct[first + j], "c")
                    z = k.let((x[first + j] - average) * scale, "z")
                    k.store(x_ct, first + j, scale * (c * gamma[j] - g_mean - z * gz_mean))
                    k.increment(gamma_part[part * n + j], c * z)
                    k.increment(beta_part[part * n + j], c)
        with _columns(k, length, n, blocks, parts) as group:
            gammas, betas = group.sums(dtype, lambda i: (gamma_part[i], beta_part[i]), ("gamma_sum", "beta_sum"))

            def finish(c: Any) -> None:
                k.store(gamma_ct, group.first + c, gammas())
                k.store(beta_ct, group.first + c, betas())

            group.across(finish)

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
    batch = batched_norms.in_channels
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
        mean = reference_mean(x, axes)
        centered = x - self.along(mean, x)
        variance = reference_mean(centered * centered, axes)
        rstd = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))
        y = centered * self.along(rstd, x) * self.along(gamma, x) + self.along(beta, x)
        return y, mean, variance, rstd

    def lower(
        self, k: Kernel, x: Buffer, gamma: Buffer, beta: Buffer, y: Buffer, mean: Buffer, variance: Buffer, rstd: Buffer
    ) -> None:
        dtype, batch, channels, inner = x.dtype.compute, x.shape[0], x.shape[1], math.prod(x.shape[2:])
        m = k.size(batch * inner, "m")

        def statistics(channel: Any, average: Any, squares: Any) -> tuple[Any, Any]:
            spread = k.let(squares / k.cast(m, dtype), "spread")
            scale = k.let(1.0 / k.call("sqrt", spread + self.epsilon), "scale")
            for out, value in ((mean, average), (variance, spread), (rstd, scale)):
                k.store(out, channel, value)
            return average, scale

        if inner == 1:
            c = k.size(channels, "c")
            k.describe(x, "m, c")
            with _columns(k, channels, c, batch, m) as group:
                totals = group.sum(dtype, lambda i: x[i])
                means = group.value(dtype, lambda: totals() / k.cast(m, dtype), "means")
                squares = group.sum(dtype, lambda i: (x[i] - means()) * (x[i] - means()), "squares")
                scale = k.array(dtype, COLUMNS, "scales")
                group.across(lambda i: k.set(scale[i], statistics(group.first + i, means(), squares())[1]))

                def normalize(i: Any) -> None:
                    column = group.first + group.column
                    k.store(y, i, (x[i] - means()) * scale[group.column] * gamma[column] + beta[column])

                group.each(normalize)
            return
        n, c, hw = k.size(batch, "n"), k.size(channels, "c"), k.size(inner, "hw")
        k.describe(x, "n, c, hw")
        averages, deviations = k.scratch(dtype, batch * channels, "averages"), k.scratch(dtype, batch * channels, "deviations")
        with k.stage(batch * channels, _grain(inner), "plane") as plane:
            group = Rows(k, k.let(plane * hw, "first"), hw, inner)
            average = k.let(group.sum(dtype, lambda i: x[i])() / k.cast(hw, dtype), "average")
            squares = group.sum(dtype, lambda i: (x[i] - average) * (x[i] - average), "squares")
            k.store(averages, plane, average)
            k.store(deviations, plane, squares())
        with _columns(k, channels, c, batch, n) as group:
            k.comment("squares about the mean of all planes: Chan, Golub and LeVeque 1979")
            totals = group.sum(dtype, lambda i: averages[i])
            means = group.value(dtype, lambda: totals() / k.cast(n, dtype), "means")

            def apart(i: Any) -> Any:
                distance = k.let(averages[i] - means(), "distance")
                return deviations[i] + distance * distance * k.cast(hw, dtype)

            squares = group.sum(dtype, apart, "squares")
            group.across(lambda i: statistics(group.first + i, means(), squares()))
        _planes(k, x, y, mean, rstd, gamma, beta, (batch * channels, inner), c, hw)

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
    batch = batched_norms.in_channels
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

    def lower(
        self, k: Kernel, x: Buffer, gamma: Buffer, mean: Buffer, rstd: Buffer, ct: Buffer, x_ct: Buffer, gamma_ct: Buffer,
        beta_ct: Buffer,
    ) -> None:
        dtype, batch, channels, inner = x.dtype.compute, x.shape[0], x.shape[1], math.prod(x.shape[2:])
        n, c = k.size(batch, "n"), k.size(channels, "c")
        if inner == 1:
            k.describe(x, "n, c")
            with _columns(k, channels, c, batch, n) as group:
                m = k.let(k.cast(n, dtype), "m")

                def z(i: Any) -> Any:
                    column = group.first + group.column
                    return (x[i] - mean[column]) * rstd[column]

                gammas, betas = group.sums(dtype, lambda i: (ct[i] * z(i), ct[i]), ("gamma_sum", "beta_sum"))

                def finish(column: Any) -> None:
                    k.store(gamma_ct, group.first + column, gammas())
                    k.store(beta_ct, group.first + column, betas())

                def element(i: Any) -> None:
                    column = group.first + group.column
                    k.store(x_ct, i, rstd[column] * gamma[column] * (ct[i] - betas() / m - z(i) * (gammas() / m)))

                group.across(finish)
                group.each(element)
            return
        hw = k.size(inner, "hw")
        k.describe(x, "n, c, hw")
        gamma_part, beta_part = (k.scratch(dtype, batch * channels, name) for name in ("gamma_part", "beta_part"))
        gamma_sum, beta_sum = (k.scratch(dtype, channels, name) for name in ("gamma_sum", "beta_sum"))
        with k.stage(batch * channels, _grain(inner), "plane") as plane:
            average, scale = k.let(mean[plane % c], "average"), k.let(rstd[plane % c], "scale")
            group = Rows(k, k.let(plane * hw, "first"), hw, inner)
            gammas, betas = group.sums(
                dtype, lambda i: (ct[i] * ((x[i] - average) * scale), ct[i]), ("gamma_total", "beta_total"))
            k.store(gamma_part, plane, gammas())
            k.store(beta_part, plane, betas())
        with _columns(k, channels, c, batch, n) as group:
            gammas, betas = group.sums(dtype, lambda i: (gamma_part[i], beta_part[i]), ("gamma_total", "beta_total"))

            def store(i: Any) -> None:
                for total, sums, out in ((gammas, gamma_sum, gamma_ct), (betas, beta_sum, beta_ct)):
                    k.store(sums, group.first + i, total())
                    k.store(out, group.first + i, total())

            group.across(store)
        with k.stage(batch * channels, _grain(inner), "plane") as plane:
            channel = k.let(plane % c, "channel")
            average, scale = k.let(mean[channel], "average"), k.let(rstd[channel], "scale")
            m = k.let(k.cast(n * hw, dtype), "m")
            factor = k.let(scale * gamma[channel], "factor")
            beta_mean, gamma_mean = k.let(beta_sum[channel] / m, "beta_mean"), k.let(gamma_sum[channel] / m, "gamma_mean")
            with k.loop(plane * hw, plane * hw + hw, "i") as i:
                k.store(x_ct, i, factor * (ct[i] - beta_mean - (x[i] - average) * scale * gamma_mean))

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

    def lower(
        self, k: Kernel, x: Buffer, gamma: Buffer, beta: Buffer, mean: Buffer, variance: Buffer, y: Buffer
    ) -> None:
        dtype, batch, channels, inner = x.dtype.compute, x.shape[0], x.shape[1], math.prod(x.shape[2:])
        c = k.size(channels, "c")
        rstd = k.scratch(dtype, channels, "rstd")
        with k.stage(channels, WORK, "channel") as channel:
            k.store(rstd, channel, 1.0 / k.call("sqrt", variance[channel] + self.epsilon))
        if inner == 1:
            k.describe(x, "n, c")
            with k.stage(batch, _grain(channels), "row") as row, k.loop(0, c, "channel") as channel:
                i = row * c + channel
                k.store(y, i, (x[i] - mean[channel]) * rstd[channel] * gamma[channel] + beta[channel])
            return
        k.describe(x, "n, c, hw")
        _planes(k, x, y, mean, rstd, gamma, beta, (batch * channels, inner), c, k.size(inner, "hw"))

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        if any(mapped[1:]):
            return batched_norms.in_channels(self, b, node, operands, mapped, size)
        x, *others = operands
        return [batching.split(b, b.emit(self, batching.merged(b, x), *others), size, tensor_type(node.result))]

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        x, gamma, _, mean, variance = node.operands
        like = _Along(b, self, tensor_type(x))
        rstd = b.rsqrt(b.add(variance, b.constant(self.epsilon, tensor_type(variance).dtype)))
        ct, centered, scale = like.wide(cotangents[0]), b.sub(like.wide(x), like.spread(mean)), like.spread(rstd)
        z = b.mul(centered, scale)
        z_ct = b.mul(ct, like.spread(gamma))
        x_ct = b.mul(z_ct, scale)
        mean_ct = b.neg(like.statistic(x_ct))
        cube = b.mul(b.mul(rstd, rstd), rstd)
        variance_ct = b.mul(b.mul(like.statistic(b.mul(z_ct, centered)), cube), b.constant(-0.5, cube.type.dtype))
        return (like.narrow(x_ct), like.narrow(like.scale(b.mul(ct, z))), like.narrow(like.scale(ct)), mean_ct, variance_ct)


def _grain(elements: int) -> int:
    """Return how many units a thread must get to be worth waking.

    elements  the number of elements in a unit
    """
    return max(1, WORK // max(1, elements))


@contextmanager
def _columns(k: Kernel, columns: int, stride: Expr, rows: int, n: Expr) -> Iterator[Columns]:
    """Begin a stage over the columns of a matrix [rows, columns], COLUMNS at a time; `stride` and `n` are its sizes."""
    with k.stage(-(-columns // COLUMNS), _grain(rows * COLUMNS), "block") as block:
        first = k.let(block * COLUMNS, "first")
        yield Columns(k, first, n, stride, k.let(k.minimum_of(stride - first, COLUMNS), "width"), rows)


def _planes(
    k: Kernel, x: Buffer, y: Buffer, mean: Buffer, rstd: Buffer, gamma: Buffer, beta: Buffer, sizes: tuple[int, int], c: Expr,
    hw: Expr,
) -> None:
    """Begin a stage that normalises plane after plane of [n, c, hw]; `sizes` is how many planes of how many elements."""
    with k.stage(sizes[0], _grain(sizes[1]), "plane") as plane:
        channel = k.let(plane % c, "channel")
        average, scale = k.let(mean[channel], "average"), k.let(rstd[channel], "scale")
        factor, shift = k.let(gamma[channel], "factor"), k.let(beta[channel], "shift")
        with k.loop(plane * hw, plane * hw + hw, "i") as i:
            k.store(y, i, (x[i] - average) * scale * factor + shift)


class _Along:
    """Broadcasts statistics and scales to x, and reduces sums over x back to their shapes, in the compute dtype."""

    def __init__(self, b: Builder, op: _Normalization, x: TensorType):
        self.b, self.op, self.x = b, op, x
        self.count = math.prod(x.sizes[axis] for axis in op.averaged(x.rank))

    def wide(self, value: Atom) -> Atom:
        """Return `value` in the compute dtype."""
        compute = self.x.dtype.compute
        return value if tensor_type(value).dtype is compute else self.b.cast(value, to=compute)

    def narrow(self, value: Atom) -> Atom:
        """Return `value` in the dtype of x."""
        return value if tensor_type(value).dtype is self.x.dtype else self.b.cast(value, to=self.x.dtype)

    def spread(self, value: Atom) -> Atom:
        """Return a statistic, gamma or beta, reshaped to broadcast with x."""
        value, have = self.wide(value), tensor_type(value)
        if isinstance(self.op, _BatchNormalization) and self.x.rank > 2:
            shape = (have.shape[0], *(1,) * (self.x.rank - 2))
            return self.b.reshape(value, to=tensor(self.x.dtype.compute, shape))
        return value

    def statistic(self, value: Atom) -> Atom:
        """Return the sum of `value`, of x's shape, over the averaged axes, in the shape of a statistic."""
        layer = isinstance(self.op, _LayerNormalization)
        return self.b.sum(value, axes=self.op.averaged(self.x.rank), keepdims=layer)

    def mean(self, value: Atom) -> Atom:
        """Return the average of `value` over the averaged axes, which stay with size 1."""
        total = self.b.sum(value, axes=self.op.averaged(self.x.rank), keepdims=True)
        return self.b.div(total, self.b.constant(float(self.count), self.x.dtype.compute))

    def scale(self, value: Atom) -> Atom:
        """Return the sum of `value`, of x's shape, over the axes along which gamma or beta is broadcast."""
        axes = self.op.summed(self.x.rank)
        return self.b.sum(value, axes=axes, keepdims=False) if axes else value


def _with_statistics(
    b: Builder, op: _Normalization, x: Atom, statistics: tuple[Atom, Atom], fused: Sequence[Atom | None],
    mean_ct: Atom | None, variance_ct: Atom | None, rstd_ct: Atom | None,
) -> Sequence[Atom | None]:
    """Return the cotangents of x, gamma and beta: those of `fused`, plus the part of x's that comes from the statistics' cotangents."""
    x_ct, *rest = fused
    if mean_ct is None and variance_ct is None and rstd_ct is None:
        return x_ct, *rest
    like = _Along(b, op, tensor_type(x))
    mean, rstd = map(like.spread, statistics)
    share = b.constant(1.0 / like.count if like.count else 0.0, like.x.dtype.compute)
    centered = b.sub(like.wide(x), mean)
    parts = [] if x_ct is None else [like.wide(x_ct)]
    if mean_ct is not None:
        parts.append(b.broadcast(b.mul(like.spread(mean_ct), share), to=like.x.with_dtype(like.x.dtype.compute)))
    slope: Atom | None = None  # by the variance: the derivative of rstd by it is -rstd^3 / 2
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
    x_ct = rstd * (g - reference_mean(g, averaged, keepdims=True) - z * reference_mean(g * z, averaged, keepdims=True))
    return x_ct, reference_sum(ct * z, summed), reference_sum(ct, summed)


def _gradient_vjp(b: Builder, op: _Normalization, node: Node, cotangents: Sequence[Atom | None]) -> Sequence[Atom | None]:
    """Return the cotangents for the function (x, gamma, mean, rstd, ct) -> (x', gamma', beta') with cotangents v, p, q.

    With w = rstd * v, through x' alone:
        g receives w - E[w] - z * E[w * z],  z receives -(w * E[g * z] + g * E[w * z]),  rstd receives sum(v * x') / rstd
    gamma' gives ct * p to z and z * p to ct, beta' gives q to ct; then z = (x - mean) * rstd, g = gamma * ct.
    """
    x_, gamma_, mean_, rstd_, ct_ = node.operands
    v, p, q = cotangents
    like = _Along(b, op, tensor_type(x_))
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
