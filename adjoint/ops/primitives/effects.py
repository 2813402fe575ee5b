"""Operators as objects that draw random numbers, write, or print."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.types import BOOL, F16, F32, F64, I16, I32, I64, DType
from adjoint.ops import (
    arithmetic,
    creation,
    ordering,
    random_laws,
    random_numbers,
    state,
)
from adjoint.ops.arguments import check_memory, flag, float_only, integer, operand, sizes_argument, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.ops.primitives.network import combined_seed
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.run_time_checks import TRUE, Range, RangeCheck, checked_on_host, effect, needs_values
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "Assert", "Assign", "AssignAdd", "AssignSub", "Bernoulli", "Cauchy", "LogUniformCandidateSampler", "Multinomial",
    "MultinomialWithReplacement", "Print", "RandomCategorical", "RandomChoiceWithMask", "RandomGamma", "RandomPoisson", "RandomShuffle",
    "Randperm", "StandardNormal", "UniformCandidateSampler", "UniformInt", "UniformReal", "LogNormalReverse",
    "ParameterizedTruncatedNormal", "RandpermV2", "TruncatedNormal",
]

# Random numbers ------------------------------------------------------------------------------------------------------


class _Random(Primitive):
    """A random draw; seed and seed2, unless both are 0, replace the global seed."""

    def __init__(self, seed: int = 0, seed2: int = 0):
        name = type(self).__name__
        super().__init__(seed=integer(name, "seed", seed), seed2=integer(name, "seed2", seed2))
        if self.seed < 0 or self.seed2 < 0:
            raise wrong(name, "seed", "at least 0, as 'seed2'", (seed, seed2))


class StandardNormal(_Random):
    """Normally distributed numbers of mean 0 and deviation 1."""

    def __call__(self, shape: Any) -> Tensor:
        return random_numbers.standard_normal(shape, combined_seed(self.seed, self.seed2))


class UniformReal(_Random):
    """Uniformly random numbers in [0, 1)."""

    def __call__(self, shape: Any) -> Tensor:
        return random_numbers.uniform(shape, 0.0, 1.0, combined_seed(self.seed, self.seed2))


class UniformInt(_Random):
    """Uniformly random Int32 from `minval` up to and without `maxval`."""

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        return random_numbers.uniform(shape, minval, maxval, combined_seed(self.seed, self.seed2), I32)


class RandomChoiceWithMask(_Random):
    """The indices of `count` elements that are true, drawn without replacement, and which rows are of such elements."""

    def __init__(self, count: int = 256, seed: int = 0, seed2: int = 0):
        super().__init__(seed, seed2)
        seeds = dict(self.attrs)
        Primitive.__init__(self, None, count=integer("RandomChoiceWithMask", "count", count), **seeds)
        if self.count < 1:
            raise wrong("RandomChoiceWithMask", "count", "at least 1", count)

    def __call__(self, input_x: Any) -> tuple[Tensor, Tensor]:
        return random_numbers.chosen_with_mask("RandomChoiceWithMask", input_x, self.count, combined_seed(self.seed, self.seed2))


class RandomShuffle(_Random):
    """The slices along the first axis, in random order."""

    def __call__(self, x: Any) -> Tensor:
        return random_numbers.shuffle(x, combined_seed(self.seed, self.seed2))


class Multinomial(_Random):
    """Random indices along the last axis of [n] or [m, n], with probabilities proportional to its numbers; one may be drawn again."""

    def __init__(self, seed: int = 0, seed2: int = 0, dtype: DType = I32):
        super().__init__(seed, seed2)
        if not isinstance(dtype, DType) or dtype not in (I32, I64):
            raise wrong("Multinomial", "dtype", "Int32 or Int64", dtype, TypeError)
        Primitive.__init__(self, None, **dict(self.attrs), dtype=dtype)

    def __call__(self, x: Any, num_samples: int) -> Tensor:
        found = random_numbers.multinomial(x, num_samples, True, combined_seed(self.seed, self.seed2))
        return found.astype(self.dtype, copy=False)


class MultinomialWithReplacement(Primitive):
    """Random indices along the last axis; see `ops.multinomial_with_replacement`.  `seed` and `offset` are ints or Tensors of one."""

    def __init__(self, numsamples: int, replacement: bool = False):
        op = "MultinomialWithReplacement"
        super().__init__(numsamples=integer(op, "numsamples", numsamples), replacement=flag(op, "replacement", replacement))

    def __call__(self, x: Any, seed: Any, offset: Any) -> Tensor:
        numbers: list[Any] = []
        for argument, value in (("seed", seed), ("offset", offset)):
            if isinstance(value, Tensor) and (value.size != 1 or not value.dtype.is_integer):
                raise wrong(self.name, argument, "an int or a Tensor of one integer", value, TypeError)
            numbers.append(value.item() if isinstance(value, Tensor) else value)
        return random_numbers.multinomial_with_replacement(x, numbers[0], numbers[1], self.numsamples, self.replacement)


class RandomCategorical(Primitive):
    """Random indices along the last axis of [m, n], with probabilities proportional to exp(logits); see `ops.random_categorical`."""

    def __init__(self, dtype: DType = I64):
        super().__init__(dtype=dtype)
        if not isinstance(dtype, DType) or dtype not in (I16, I32, I64):
            raise wrong("RandomCategorical", "dtype", "Int16, Int32 or Int64", dtype, TypeError)

    def __call__(self, logits: Any, num_sample: int, seed: int = 0) -> Tensor:
        return random_numbers.random_categorical(logits, num_sample, seed, self.dtype)


class Bernoulli(Primitive):
    """1 with probability `p`, else 0, in the shape and dtype of a tensor.

    seed, offset  unless the seed is -1, they alone say which numbers: the same with every call
    """

    def __init__(self, seed: int = -1, offset: int = 0):
        super().__init__(seed=integer("Bernoulli", "seed", seed), offset=integer("Bernoulli", "offset", offset))
        if self.seed < -1:
            raise wrong("Bernoulli", "seed", "at least 0, or -1", seed)
        if self.offset < 0:
            raise wrong("Bernoulli", "offset", "at least 0", offset)

    def __call__(self, x: Any, p: Any = 0.5) -> Tensor:
        key = next_key() if self.seed == -1 else random_numbers.fixed_key(self.seed, self.offset)
        return random_numbers.tossed(operand("Bernoulli", x, "x"), p, key)


class Cauchy(Primitive):
    """Numbers with the density sigma / (pi * ((x - median)^2 + sigma^2)), Float32, in the shape `size`, a list of ints."""

    def __init__(self, size: Any, median: float = 0.0, sigma: float = 1.0):
        if not isinstance(size, list):
            raise wrong("Cauchy", "size", "a list of ints", size, TypeError)
        if not size:
            raise wrong("Cauchy", "size", "at least one int", size)
        super().__init__(size=sizes_argument("Cauchy", "size", size, least=1), median=float_only("Cauchy", "median", median),
                         sigma=float_only("Cauchy", "sigma", sigma))

    def __call__(self) -> Tensor:
        # The quantile of a uniform number.
        drawn = random_numbers.uniform(self.size, 0.0, 1.0)
        return arithmetic.tan((drawn - 0.5) * math.pi) * self.sigma + self.median


class LogNormalReverse(Primitive):
    """Numbers whose logarithms are normally distributed, in the shape and dtype of a tensor of floats: see `Tensor.log_normal`."""

    def __init__(self, mean: float = 1.0, std: float = 2.0):
        op = "LogNormalReverse"
        super().__init__(mean=float_only(op, "mean", mean), std=float_only(op, "std", std))

    def __call__(self, input: Any) -> Tensor:
        return random_laws.log_normal(input, self.mean, self.std)


class RandpermV2(Primitive):
    """The numbers 0..n-1 in random order: see `ops.randperm`.

    seed, offset  unless both are 0, they alone say which order
    n             an int, or a Tensor of one integer
    """

    def __init__(self, seed: int = 0, offset: int = 0, dtype: DType = I64):
        op = "RandpermV2"
        if not isinstance(dtype, DType):
            raise wrong(op, "dtype", "a dtype", dtype, TypeError)
        super().__init__(seed=integer(op, "seed", seed), offset=integer(op, "offset", offset), dtype=dtype)

    def __call__(self, n: Any) -> Tensor:
        if isinstance(n, Tensor):
            needs_values("RandpermV2", "it has as many elements as 'n' says")
            if not n.dtype.is_integer or n.size != 1:
                raise wrong("RandpermV2", "n", "an int, or a Tensor of one integer", n, TypeError)
            n = int(n)
        return random_numbers.randperm(n, self.seed, self.offset, self.dtype)


class TruncatedNormal(Primitive):
    """Normally distributed numbers of mean 0 and deviation 1, without those further than 2 from 0.

    dtype        Float16, Float32 or Float64
    seed, seed2  unless both are 0, they replace the global seed
    """

    def __init__(self, dtype: DType = F32, seed: int = 0, seed2: int = 0):
        op = "TruncatedNormal"
        if not isinstance(dtype, DType) or dtype not in (F16, F32, F64):
            raise wrong(op, "dtype", "float16, float32 or float64", dtype, TypeError)
        super().__init__(dtype=dtype, seed=integer(op, "seed", seed), seed2=integer(op, "seed2", seed2))
        if self.seed < 0 or self.seed2 < 0:
            raise wrong(op, "seed", "at least 0, as 'seed2'", (seed, seed2))

    def __call__(self, shape: Any) -> Tensor:
        sizes = sizes_argument(self.name, "shape", shape)
        share = random_numbers.drawn_uniform(sizes, F64, combined_seed(self.seed, self.seed2))
        return arithmetic.cast(_normal_quantile(share, -2.0, 2.0), self.dtype)


class ParameterizedTruncatedNormal(_Random):
    """Normally distributed numbers without those outside of an interval, of the dtype of `mean`.

    shape                    sizes, the first of which counts batches
    mean, stdevs, min, max   Tensors of Float16, Float32 or Float64: one number, or one for each batch.  RuntimeError for a deviation that
                             is not above 0, and for a `max` that is not above `min`
    """

    def __call__(self, shape: Any, mean: Any, stdevs: Any, min: Any, max: Any) -> Tensor:
        op = self.name
        sizes = sizes_argument(op, "shape", shape)
        if len(sizes) < 2:
            raise wrong(op, "shape", "at least 2 sizes", sizes)
        center, spread, low, high = (
            self._each(name, value, sizes) for name, value in (("mean", mean), ("stdevs", stdevs), ("min", min), ("max", max)))

        def above(name: str, expected: str) -> Callable[[Tensor], None]:
            def positive(given: Tensor) -> None:
                if not given.asnumpy().all():
                    raise wrong(op, name, expected, "others", RuntimeError)

            return positive

        for name, expected, fits in (("stdevs", "above 0", spread > 0), ("max", "above 'min'", high > low)):
            checked_on_host(above(name, expected), fits, conditions=lambda fits=fits: [(arithmetic.cast(fits, I64), TRUE)])
        share = random_numbers.drawn_uniform(sizes, F64, combined_seed(self.seed, self.seed2))
        found = center + spread * _normal_quantile(share, (low - center) / spread, (high - center) / spread)
        return arithmetic.cast(arithmetic.clamp(found, low, high), mean.dtype)

    def _each(self, name: str, value: Any, sizes: tuple[int, ...]) -> Tensor:
        """Return a number for each batch, in Float64, of a shape that broadcasts to the sizes."""
        x = operand(self.name, value, name)
        if x.dtype not in (F16, F32, F64):
            raise wrong(self.name, name, "a Tensor of Float16, Float32 or Float64", x, TypeError)
        if x.ndim > 1 or x.size not in (1, sizes[0]):
            raise wrong(self.name, name, f"one number, or {sizes[0]} in a vector", x)
        return arithmetic.cast(x, F64).reshape((-1, *(1,) * (len(sizes) - 1)))


def _normal_quantile(share: Tensor, low: Any, high: Any) -> Tensor:
    """Return the numbers below which a share of the normal distribution between two bounds lies."""
    first, last = ((1 + arithmetic.erf(arithmetic.cast(bound, F64) * 0.5**0.5)) / 2 for bound in (low, high))
    return 2**0.5 * arithmetic.erfinv(2 * (first + share * (last - first)) - 1)


class RandomGamma(_Random):
    """Numbers of the gamma distribution; see `ops.random_gamma`."""

    def __call__(self, shape: Any, alpha: Any) -> Tensor:
        return random_laws.drawn_gamma("RandomGamma", shape, alpha, combined_seed(self.seed, self.seed2))


class RandomPoisson(_Random):
    """Numbers of the Poisson distribution; see `ops.random_poisson`."""

    def __init__(self, seed: int = 0, seed2: int = 0, dtype: DType = I64):
        super().__init__(seed, seed2)
        Primitive.__init__(self, None, **dict(self.attrs), dtype=random_laws.poisson_dtype(dtype))

    def __call__(self, shape: Any, rate: Any) -> Tensor:
        return random_laws.drawn_poisson("RandomPoisson", shape, rate, combined_seed(self.seed, self.seed2), self.dtype)


class UniformCandidateSampler(Primitive):
    """Random classes, all equally likely, and how often classes are expected; see `ops.uniform_candidate_sampler`."""

    def __init__(
        self, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0, remove_accidental_hits: bool = False
    ):
        op = "UniformCandidateSampler"
        random_laws.candidate_settings(op, num_true, num_sampled, unique, range_max, seed)
        super().__init__(num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, seed=seed,
                         remove_accidental_hits=flag(op, "remove_accidental_hits", remove_accidental_hits))

    def __call__(self, true_classes: Any) -> tuple[Tensor, Tensor, Tensor]:
        return random_laws.uniform_candidate_sampler(true_classes, **self.attrs)


class LogUniformCandidateSampler(Primitive):
    """Random classes, low ones the more likely, and how often classes are expected; see `ops.log_uniform_candidate_sampler`."""

    def __init__(self, num_true: int = 1, num_sampled: int = 5, unique: bool = True, range_max: int = 5, seed: int = 0):
        random_laws.candidate_settings("LogUniformCandidateSampler", num_true, num_sampled, unique, range_max, seed)
        super().__init__(num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, seed=seed)

    def __call__(self, true_classes: Any) -> tuple[Tensor, Tensor, Tensor]:
        return random_laws.log_uniform_candidate_sampler(true_classes, **self.attrs)


class Randperm(Primitive):
    """The numbers 0..n-1 in random order, followed by `pad` up to the length `max_length`.

    n  a Tensor of one integer; ValueError when it is not in 0..max_length
    """

    def __init__(self, max_length: int = 1, pad: int = -1, dtype: DType = I32):
        length = integer("Randperm", "max_length", max_length)
        if length < 1:
            raise wrong("Randperm", "max_length", "at least 1", length)
        if not isinstance(dtype, DType):
            raise wrong("Randperm", "dtype", "a dtype", dtype, TypeError)
        check_memory("Randperm", "the numbers", 24.0 * length)
        super().__init__(max_length=length, pad=integer("Randperm", "pad", pad), dtype=dtype)

    def __call__(self, n: Any) -> Tensor:
        count = operand("Randperm", n, "n")
        if not count.dtype.is_integer or count.size != 1:
            raise wrong("Randperm", "n", "a Tensor of one integer", count, TypeError)
        count = arithmetic.cast(count.reshape(()), I64)
        checked_on_host(RangeCheck(Range(0, self.max_length), self._long), count)
        places = creation.arange(self.max_length)
        inside = places < count
        # Numbers in order of random keys; those from n on have the largest keys.
        keys = arithmetic.where(inside, random_numbers.drawn_uniform((self.max_length,), F64, None), 2.0)
        return arithmetic.cast(arithmetic.where(inside, arithmetic.cast(ordering.sort(keys)[1], I64), self.pad), self.dtype)

    def _long(self, count: Any, _: Range) -> None:
        if not 0 <= int(count) <= self.max_length:
            raise wrong("Randperm", "n", f"in 0..{self.max_length}, as 'max_length' is", int(count))


# State ---------------------------------------------------------------------------------------------------------------


Assign = plain("Assign", state.assign)
AssignAdd = plain("AssignAdd", state.assign_add)
AssignSub = plain("AssignSub", state.assign_sub)


class Print(Plain):
    """Prints its operands, one below the other, tensors with shape and dtype, and returns the first."""

    def __call__(self, *input_x: Any) -> Any:
        state.print_(*input_x)
        return input_x[0] if input_x else None


class Assert(Primitive):
    """Raises RuntimeError with the first numbers of some tensors, if a condition is not true; returns zeros of shape (1,), Int32.

    summarize  how many numbers of each tensor are shown; all, if it is negative
    """

    def __init__(self, summarize: int = 3):
        super().__init__(summarize=integer("Assert", "summarize", summarize))

    def __call__(self, condition: Any, input_data: Any) -> Tensor:
        if isinstance(condition, Tensor):
            if condition.dtype is not BOOL:
                raise wrong(self.name, "condition", "a bool or a Tensor of Bool", condition, TypeError)
            if condition.size != 1:
                raise wrong(self.name, "condition", "of one element", condition)
        else:
            flag(self.name, "condition", condition)
        shown = [input_data] if isinstance(input_data, Tensor) else input_data
        if not isinstance(shown, (tuple, list)):
            raise wrong(self.name, "input_data", "a Tensor, or a tuple or list of Tensors and numbers", input_data, TypeError)
        effect("assert", _assert, (self.summarize, condition, *shown))
        return creation.zeros((1,), I32)


def _assert(count: int, condition: Any, *items: Any) -> None:
    if bool(condition):
        return
    numbers = [np.asarray(item.asnumpy() if isinstance(item, Tensor) else item).reshape(-1) for item in items]
    rows = "; ".join(str(row if count < 0 else row[:count]) for row in numbers)
    raise RuntimeError(f"For 'Assert', the argument 'condition' must be True, but got False, with the data {rows or 'of nothing'}.")
