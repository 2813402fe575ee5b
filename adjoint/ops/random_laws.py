"""Random tensors of laws with parameters: gamma, Poisson, Cauchy, the log of a normal law, candidates; and numbers drawn in place.

As in `random_numbers`, a draw depends only on the seed and on how many draws were made before it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.random import SIGNIFICAND, RandomInteger
from adjoint.ir.ops.rejection import Candidates, RandomGamma, RandomPoisson
from adjoint.ir.types import BOOL, F16, F32, F64, I32, I64, U64, DType, tensor
from adjoint.ops.arguments import (
    check_memory,
    flag,
    float_only,
    float_tensor,
    integer,
    number,
    operand,
    real,
    seed_argument,
    sizes_argument,
    whole,
    wrong,
)
from adjoint.ops.arithmetic import where
from adjoint.ops.creation import full_like
from adjoint.ops.generated import exp, expm1, log, log1p, tan
from adjoint.ops.random_numbers import standard_normal, uniform
from adjoint.runtime.tensor.generator import Generator, stream_of
from adjoint.runtime.tensor.random import drawn_from
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor

__all__ = ["log_uniform_candidate_sampler", "random_", "random_gamma", "random_poisson", "uniform_", "uniform_candidate_sampler"]


def _sizes(op: str, shape: Any, parameter: Tensor) -> tuple[int, ...]:
    """Return the shape of numbers for each element of a parameter, of a shape that is given as a vector."""
    given = operand(op, shape, "shape")
    if given.dtype not in (I32, I64):
        raise wrong(op, "shape", "a Tensor of Int32 or Int64", given, TypeError)
    if given.ndim != 1:
        raise wrong(op, "shape", "of 1 dimension", given)
    sizes = (*sizes_argument(op, "shape", given, least=1), *parameter.shape)
    check_memory(op, "the result", 4.0 * math.prod(sizes))
    return sizes


def random_gamma(shape: Any, alpha: Any, seed: int | None = None) -> Tensor:
    """Return numbers of the gamma distribution, with the density x^(alpha - 1) exp(-x) / gamma(alpha), in the dtype of `alpha`.

    shape  a vector of sizes, Int32 or Int64: so many numbers for each element of `alpha`, [*shape, *alpha.shape]
    alpha  a Tensor of floats; NaN where it is negative

    There is no gradient by `alpha`.
    """
    return drawn_gamma("RandomGamma", shape, alpha, seed_argument("RandomGamma", seed))


def drawn_gamma(op: str, shape: Any, alpha: Any, seed: int | None) -> Tensor:
    a = float_tensor(op, alpha, "alpha")
    return apply(made(RandomGamma, tensor(a.dtype, _sizes(op, shape, a))), next_key(seed), a)


def random_poisson(shape: Any, rate: Any, seed: int | None = None, dtype: DType = F32) -> Tensor:
    """Return numbers of the Poisson distribution, with the probabilities rate^n exp(-rate) / n!.

    shape  a vector of sizes, Int32 or Int64: so many numbers for each element of `rate`, [*shape, *rate.shape]
    rate   a Tensor or a number; 0 where it is not positive
    dtype  Int64, Int32, Float16, Float32 or Float64
    """
    return drawn_poisson("RandomPoisson", shape, rate, seed_argument("RandomPoisson", seed), poisson_dtype(dtype))


def poisson_dtype(dtype: Any) -> DType:
    if not isinstance(dtype, DType) or dtype not in (I64, I32, F16, F32, F64):
        raise wrong("RandomPoisson", "dtype", "Int64, Int32, Float16, Float32 or Float64", dtype, TypeError)
    return dtype


def drawn_poisson(op: str, shape: Any, rate: Any, seed: int | None, dtype: DType) -> Tensor:
    r = operand(op, rate, "rate") if isinstance(rate, Tensor) else as_tensor(number(op, "rate", rate))
    if r.dtype in (I32, I64):
        r = apply(made(Cast, F64), r)
    return apply(made(RandomPoisson, tensor(dtype, _sizes(op, shape, float_tensor(op, r, "rate")))), next_key(seed), r)


# Methods of Tensor ---------------------------------------------------------------------------------------------------


def cauchy(input: Any, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Return numbers with the density sigma / (pi * ((x - median)^2 + sigma^2)) in the shape and dtype of a tensor."""
    x = operand("Cauchy", input)
    center, spread = float_only("Cauchy", "median", median), float_only("Cauchy", "sigma", sigma)
    if not x.ndim or not x.size:
        raise wrong("Cauchy", "input", "of at least 1 dimension and 1 element", x)
    # The quantile of a uniform number.
    return (tan((uniform(x.shape, 0.0, 1.0) - 0.5) * math.pi) * spread + center).astype(x.dtype, copy=False)


def log_normal(input: Any, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Return numbers whose logarithms are normally distributed, with mean and deviation, in the shape and dtype of a tensor of floats."""
    op = "LogNormalReverse"
    x, center, spread = float_tensor(op, input), float_only(op, "mean", mean), float_only(op, "std", std)
    return exp(standard_normal(x.shape) * spread + center).astype(x.dtype, copy=False)


def uniform_(input: Any, from_: Any = 0, to: Any = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill a tensor of floats with uniformly random numbers from `from_` to `to`, exclusive; return it."""
    x = float_tensor("uniform_", input)
    low, high = real("uniform_", "from_", from_), real("uniform_", "to", to)
    with drawn_from(stream_of("uniform_", generator)):
        x.overwrite(uniform(x.shape, low, high, None, x.dtype))
    return x


def random_(input: Any, from_: Any = 0, to: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with uniformly random whole numbers from `from_` to `to`, exclusive; return it.

    to  None: up to the largest number of an integer dtype; for floats up to 2^p, below which they hold all whole numbers
    """
    op = "random_"
    x, low = operand(op, input), integer(op, "from_", from_)
    if x.dtype.is_float:
        least, end, usual = -(2**63), 2**63, 2 ** {**SIGNIFICAND, F64: 53}[x.dtype] + 1
    else:
        bounds = np.iinfo(np.uint8 if x.dtype is BOOL else x.dtype.array)
        least, end = int(bounds.min), 2 if x.dtype is BOOL else int(bounds.max) + 1
        usual = end
    high = usual if to is None else integer(op, "to", to)
    if not least <= low < high <= end:
        raise wrong(op, "from_", f"at least {least}, and below 'to', which is at most {end}", (low, high))
    with drawn_from(stream_of(op, generator)):
        drawn = apply(RandomInteger(tensor(U64 if x.dtype is U64 else I64, x.shape), low, high), next_key())
    x.overwrite(drawn.astype(x.dtype, copy=False))
    return x


# Candidates ----------------------------------------------------------------------------------------------------------


def uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0, remove_accidental_hits: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `num_sampled` classes below `range_max`, all equally likely; how often each true class, and each of those, is expected.

    true_classes            [n, num_true], Int32 or Int64: the dtype of the classes that are returned; the expectations are Float32
    unique                  True to draw no class twice
    remove_accidental_hits  True, with `unique`, to draw none of `true_classes`, if enough others are left
    """
    op = "UniformCandidateSampler"
    settings = candidate_settings(op, num_true, num_sampled, unique, range_max, seed)
    return candidates(op, true_classes, *settings, remove=flag(op, "remove_accidental_hits", remove_accidental_hits))


def log_uniform_candidate_sampler(
    true_classes: Any, num_true: int = 1, num_sampled: int = 5, unique: bool = True, range_max: int = 5, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `num_sampled` classes below `range_max`, low ones the more likely; how often each true class, and each of those, is expected.

    A class is drawn with the probability log((class + 2) / (class + 1)) / log(range_max + 1).

    true_classes  [n, num_true], Int64; the expectations are Float32
    unique        True to draw no class twice
    """
    op = "LogUniformCandidateSampler"
    return candidates(op, true_classes, *candidate_settings(op, num_true, num_sampled, unique, range_max, seed), falling=True)


def candidate_settings(op: str, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any) -> tuple[int, int, bool, int, int]:
    """Return the checked settings of a sampler."""
    given = {"num_true": num_true, "num_sampled": num_sampled, "range_max": range_max}
    numbers = {name: whole(op, name, value) for name, value in given.items()}
    for name, value in numbers.items():
        if value < 1:
            raise wrong(op, name, "at least 1", value)
    different, own = flag(op, "unique", unique), seed_argument(op, integer(op, "seed", seed))
    if different and num_sampled > range_max:
        raise wrong(op, "num_sampled", f"at most 'range_max', {range_max}", num_sampled)
    check_memory(op, "the classes", float(numbers["range_max"]))
    return numbers["num_true"], numbers["num_sampled"], different, numbers["range_max"], own or 0


def candidates(op: str, true_classes: Any, true: int, count: int, different: bool, classes: int, seed: int, *, falling: bool = False,
               remove: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return what a sampler of checked settings draws."""
    x = operand(op, true_classes, "true_classes")
    allowed = (I64,) if falling else (I32, I64)
    if x.dtype not in allowed:
        raise wrong(op, "true_classes", f"a Tensor of {' or '.join(d.long_name for d in allowed)}", x, TypeError)
    if x.ndim != 2 or x.shape[1] != true:
        raise wrong(op, "true_classes", f"of 2 dimensions, with {true} classes in each row", x)
    wide = x.astype(I64, copy=False)
    hits = wide.reshape((-1,)) if remove and different else wide.reshape((-1,))[:0]
    drawn, tries = apply(made(Candidates, count, classes, different, falling), next_key(seed), hits)

    def expected(of: Tensor) -> Tensor:
        if falling:
            place = of.astype(F32)
            share = log((place + 2.0) / (place + 1.0)) / math.log(classes + 1.0)
        else:
            share = full_like(of, 1.0 / classes, dtype=F32)
        if not different:
            return share * float(count)
        # Without a draw in vain it is as if classes could be drawn twice.
        return where(tries == count, share * float(count), -expm1(log1p(-share) * tries.astype(F32)))

    return drawn.astype(x.dtype, copy=False), expected(wide), expected(drawn)
