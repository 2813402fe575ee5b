"""Random tensors.

A draw depends only on the seed (`set_seed`, or the operator's own) and on how many draws were made before it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast, Select
from adjoint.ir.ops.cumulative import CumSum
from adjoint.ir.ops.indexing import Gather, Iota
from adjoint.ir.ops.random import RandomInteger, RandomNormal, RandomUniform
from adjoint.ir.ops.sort import SearchSorted
from adjoint.ir.types import BOOL, F32, F64, I16, I32, I64, DType, broadcast_shapes, tensor
from adjoint.ops.activations import softmax
from adjoint.ops.arguments import (
    check_memory,
    dimension,
    dtype_or,
    flag,
    float_only,
    float_tensor,
    integer,
    number,
    operand,
    real_operand,
    seed_argument,
    sizes_argument,
    wrong,
)
from adjoint.ops.arithmetic import abs, cast, equal, less, log, maximum, minimum, sign, stop_gradient, where
from adjoint.ops.ordering import sort
from adjoint.ops.parts import framed, stack
from adjoint.ops.picking import index_select
from adjoint.ops.reduction import argmax
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "bernoulli", "choice_with_mask", "gumbel_softmax", "laplace", "multinomial", "multinomial_with_replacement", "normal", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "random_categorical", "randperm", "rrelu", "shuffle",
    "standard_laplace", "standard_normal", "uniform",
]

_SELECT = Select()


def drawn_uniform(sizes: tuple[int, ...], dtype: DType, seed: int | None) -> Tensor:
    """Return uniformly random numbers in [0, 1), drawn with a seed, or None for the global one."""
    return _uniform_of(sizes, dtype, next_key(seed))


def _uniform_of(sizes: tuple[int, ...], dtype: DType, key: Tensor) -> Tensor:
    return apply(made(RandomUniform, tensor(dtype, sizes)), key)


def _normal(sizes: tuple[int, ...], dtype: DType, seed: int | None) -> Tensor:
    return apply(made(RandomNormal, tensor(dtype, sizes)), next_key(seed))


def _sizes(op: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    return sizes_argument(op, "size", size[0] if len(size) == 1 else size) if size else (1,)


def _float_dtype(op: str, dtype: Any, default: DType = F32) -> DType:
    chosen = dtype_or(op, dtype, default)
    if not chosen.is_float:
        raise wrong(op, "dtype", "a floating point type", chosen)
    return chosen


def rand(*size: Any, dtype: DType | None = None, seed: int | None = None) -> Tensor:
    """Uniformly random numbers in [0, 1)."""
    return drawn_uniform(_sizes("Rand", size), _float_dtype("Rand", dtype), seed_argument("Rand", seed))


def rand_like(input: Any, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Uniformly random numbers in [0, 1) in the shape and dtype of a tensor."""
    x = operand("RandLike", input)
    return drawn_uniform(x.shape, _float_dtype("RandLike", dtype, x.dtype), seed_argument("RandLike", seed))


def randn(*size: Any, dtype: DType | None = None, seed: int | None = None) -> Tensor:
    """Normally distributed numbers of mean 0 and deviation 1."""
    return _normal(_sizes("RandN", size), _float_dtype("RandN", dtype), seed_argument("RandN", seed))


def randn_like(input: Any, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Normally distributed numbers of mean 0 and deviation 1 in the shape and dtype of a tensor."""
    x = operand("RandNLike", input)
    return _normal(x.shape, _float_dtype("RandNLike", dtype, x.dtype), seed_argument("RandNLike", seed))


def randint(low: Any, high: Any, size: Any, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Return uniformly random integers from `low` to `high`, exclusive; Int64 by default."""
    return _integers("RandInt", low, high, sizes_argument("RandInt", "size", size), seed, dtype_or("RandInt", dtype, I64))


def randint_like(input: Any, low: Any, high: Any, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Return uniformly random integers from `low` to `high`, exclusive, in the shape of a tensor."""
    x = real_operand("RandIntLike", input)
    return _integers("RandIntLike", low, high, x.shape, seed, dtype_or("RandIntLike", dtype, x.dtype))


def _integers(op: str, low: Any, high: Any, sizes: tuple[int, ...], seed: Any, dtype: DType) -> Tensor:
    first, last = integer(op, "low", low), integer(op, "high", high)
    if first >= last:
        raise wrong(op, "high", f"more than low, {first}", last)
    drawn = apply(RandomInteger(tensor(I64, sizes), first, last), next_key(seed_argument(op, seed)))
    return drawn if dtype is I64 else apply(made(Cast, dtype), drawn)


def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Normally distributed Float32 numbers of mean 0 and deviation 1."""
    return _normal(sizes_argument("StandardNormal", "shape", shape), F32, seed_argument("StandardNormal", seed))


def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Normally distributed Float32 numbers; mean and deviation are numbers or Tensors that the shape is broadcast with."""
    drawn = _normal(_broadcast("Normal", shape, mean, stddev), F32, seed_argument("Normal", seed))
    return drawn * stddev + mean


def _broadcast(op: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of a draw: the requested one, broadcast with the parameters'."""
    sizes = sizes_argument(op, "shape", shape)
    try:
        return broadcast_shapes(sizes, *(p.shape for p in parameters if isinstance(p, Tensor)))
    except ValueError:
        raise wrong(op, "shape", "one that broadcasts with the parameters", sizes) from None


def uniform(shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: DType = F32) -> Tensor:
    """Return uniformly random numbers from `minval` to `maxval`, exclusive: Float32, or integers of an integer dtype."""
    chosen = dtype_or("Uniform", dtype, F32)
    sizes = _broadcast("Uniform", shape, minval, maxval)
    if not chosen.is_float:
        for name, value in (("minval", minval), ("maxval", maxval)):
            if isinstance(value, Tensor) and value.size != 1:
                raise wrong("Uniform", name, f"a Tensor of one element for integers of {chosen}", value)
        low, high = (v.item() if isinstance(v, Tensor) else v for v in (minval, maxval))
        return _integers("Uniform", low, high, sizes, seed, chosen)
    for name, value in (("minval", minval), ("maxval", maxval)):
        if not isinstance(value, Tensor):
            number("Uniform", name, value)
    drawn = drawn_uniform(sizes, F32, seed_argument("Uniform", seed))
    spread = maxval - minval
    return cast(drawn * spread + minval, chosen)


def bernoulli(input: Any, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability `p`, else 0, in the shape and dtype of a tensor; `p` is a number or a Tensor that broadcasts."""
    x = real_operand("Bernoulli", input)
    return tossed(x, p, next_key(seed_argument("Bernoulli", seed)))


def tossed(x: Tensor, p: Any, key: Tensor) -> Tensor:
    """Return `bernoulli`, drawn with a key."""
    if not isinstance(p, Tensor) and not 0 <= number("Bernoulli", "p", p) <= 1:
        raise wrong("Bernoulli", "p", "in [0, 1]", p)
    return cast(less(_uniform_of(x.shape, F32, key), p), x.dtype)


def randperm(n: Any, seed: int = 0, offset: int = 0, dtype: DType = I64) -> Tensor:
    """Return the numbers 0..n-1 in random order.

    seed, offset  unless both are 0, they alone say which order: the same with every call
    """
    count, first, second = integer("RandPerm", "n", n), integer("RandPerm", "seed", seed), integer("RandPerm", "offset", offset)
    for name, value in (("n", count), ("offset", second)):
        if value < 0:
            raise wrong("RandPerm", name, "at least 0", value)
    key = fixed_key(first, second) if first or second else next_key()
    return cast(drawn_permutation(count, key), dtype_or("RandPerm", dtype, I64))


def fixed_key(seed: int, offset: int) -> Tensor:
    """Return a key apart from those of the streams, whose draws are counted from 0."""
    return Tensor(np.array([seed % 2**64, offset % 2**63 | 1 << 63], np.uint64))


def drawn_permutation(count: int, key: Tensor) -> Tensor:
    """Return the numbers 0..count-1 in random order, drawn with a key."""
    return sort(apply(made(RandomUniform, tensor(F64, (count,))), key))[1]


def shuffle(x: Any, seed: int | None = None) -> Tensor:
    """Return the slices along the first axis in random order."""
    x = operand("Shuffle", x, "x")
    return index_select(x, 0, drawn_permutation(x.shape[0], next_key(seed_argument("Shuffle", seed)))) if x.ndim else x


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Return random indices (Int32) along the last axis, with probabilities proportional to its numbers; [n] or [m, n] -> [..,
    num_samples]."""
    x = real_operand("Multinomial", input)
    count, again = integer("Multinomial", "num_samples", num_samples), flag("Multinomial", "replacement", replacement)
    if x.ndim not in (1, 2) or x.dtype is BOOL:
        raise wrong("Multinomial", "input", "a Tensor of numbers, of 1 or 2 dimensions", x, TypeError)
    if not x.dtype.is_float:
        x = apply(made(Cast, F32), x)
    if count < 1 or (not again and count > x.shape[-1]):
        raise wrong("Multinomial", "num_samples", f"in 1..{x.shape[-1]}", count)
    if x.shape[-1] == 0:
        raise wrong("Multinomial", "input", "of at least 1 element along the last axis", x)
    own = seed_argument("Multinomial", seed)
    if not again:
        # The largest few of log p - log(-log u) (Gumbel).
        noise = -log(-log(drawn_uniform(x.shape, F32, own) * (1 - 2.0**-24) + 2.0**-25))
        return sort(log(x) + noise, -1, descending=True)[1][..., :count]
    return _drawn_again(x, count, next_key(own))


def _drawn_again(weights: Tensor, count: int, key: Tensor) -> Tensor:
    """Return `count` indices (Int32) along the last axis, with probabilities proportional to weights."""
    # A number drawn below the total selects the first index whose cumulative sum exceeds it.
    sums = apply(made(CumSum, weights.ndim - 1), apply(made(Cast, F64), weights))
    drawn = _uniform_of((*weights.shape[:-1], count), F64, key) * sums[..., -1:]
    return minimum(apply(made(SearchSorted, True), sums, drawn), constant(weights.shape[-1] - 1, I32))


def multinomial_with_replacement(x: Any, seed: Any, offset: Any, numsamples: int, replacement: bool = False) -> Tensor:
    """Return random indices (Int64) along the last axis, with probabilities proportional to its numbers; [n] or [m, n] -> [..,
    numsamples].

    seed, offset  unless they are -1 and 0, or both 0, they alone say which numbers: the same with every call
    replacement   has no effect: an index may be drawn again
    """
    op = "MultinomialWithReplacement"
    weights, count = float_tensor(op, x, "x"), integer(op, "numsamples", numsamples)
    first, second = integer(op, "seed", seed), integer(op, "offset", offset)
    flag(op, "replacement", replacement)
    if weights.ndim not in (1, 2) or not weights.shape[-1]:
        raise wrong(op, "x", "of 1 or 2 dimensions, with at least 1 element along the last one", weights)
    if count < 0:
        raise wrong(op, "numsamples", "at least 0", count)
    own = second or first not in (0, -1)
    return _drawn_again(weights, count, fixed_key(first, second) if own else next_key()).astype(I64)


def random_categorical(logits: Any, num_sample: int, seed: int = 0, dtype: DType = I64) -> Tensor:
    """Return random indices along the last axis of [m, n], with probabilities proportional to exp(logits): [m, num_sample].

    seed   the same numbers with every call, if it is not 0
    dtype  Int16, Int32 or Int64
    """
    op = "RandomCategorical"
    x, count, own = float_tensor(op, logits, "logits"), integer(op, "num_sample", num_sample), integer(op, "seed", seed)
    if not isinstance(dtype, DType) or dtype not in (I16, I32, I64):
        raise wrong(op, "dtype", "Int16, Int32 or Int64", dtype, TypeError)
    if x.ndim != 2 or not x.shape[1]:
        raise wrong(op, "logits", "of 2 dimensions, with at least 1 class", x)
    if count < 1:
        raise wrong(op, "num_sample", "at least 1", count)
    return _drawn_again(softmax(x, -1), count, fixed_key(own, 0) if own else next_key()).astype(dtype)


def choice_with_mask(input_x: Any, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the indices of `count` elements that are true, drawn without replacement, [count, rank] (Int32); and which rows are of such
    elements.

    Where fewer are true, the rows behind are zeros.
    """
    return chosen_with_mask("RandomChoiceWithMask", input_x, count, seed_argument("RandomChoiceWithMask", seed))


def chosen_with_mask(op: str, input_x: Any, count: Any, seed: int | None) -> tuple[Tensor, Tensor]:
    x, rows = operand(op, input_x, "input_x"), integer(op, "count", count)
    if x.dtype is not BOOL:
        raise wrong(op, "input_x", "a Tensor of Bool", x, TypeError)
    if not 1 <= x.ndim <= 5:
        raise wrong(op, "input_x", "of 1 to 5 dimensions", x)
    if rows < 1:
        raise wrong(op, "count", "at least 1", rows)
    check_memory(op, f"{rows} indices", 4 * rows * x.ndim)
    flat = reshape(x, (-1,))
    # The true elements come first, in the order of random numbers.
    drawn = drawn_uniform((x.size,), F32, seed)
    places = sort(apply(_SELECT, flat, drawn, constant(-1.0, F32)), 0, True)[1][: min(rows, x.size)]
    chosen = apply(made(Gather, 0), flat, places)
    places = apply(_SELECT, chosen, places.astype(I64), constant(0, I64))
    behind = ((0, rows - places.shape[0]),)
    places, chosen = framed(places, behind, 0), framed(chosen, behind, False)
    columns: list[Tensor] = []
    for size in reversed(x.shape):
        columns.append(places % max(1, size))
        places = places // max(1, size)
    return stack(columns[::-1], 1).astype(I32), chosen


def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Return numbers with the density exp(-|x|) / 2, Float32."""
    op = "StandardLaplace"
    sizes = sizes_argument(op, "shape", shape)
    check_memory(op, "the result", 4.0 * math.prod(sizes))
    # Uniform in (-1, 1): the sign, and the probability of a number that is farther from 0.
    x = 1.0 - 2.0 * drawn_uniform(sizes, F32, seed_argument(op, seed))
    return -sign(x) * log(maximum(1.0 - abs(x), 1e-30))


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Tensor:
    """Return numbers with the density exp(-|x - mean| / lambda_param) / (2 lambda_param), Float32; `mean` and `lambda_param` are Tensors of
    Float32 that broadcast with the shape."""
    op = "Laplace"
    center, spread = operand(op, mean, "mean"), operand(op, lambda_param, "lambda_param")
    for name, x in (("mean", center), ("lambda_param", spread)):
        if x.dtype is not F32:
            raise wrong(op, name, "a Tensor of Float32", x, TypeError)
    return standard_laplace(sizes_argument(op, "shape", shape), seed) * spread + center


def rrelu(input: Any, lower: Any = 1.0 / 8, upper: Any = 1.0 / 3) -> Tensor:
    """Return x where it is above 0, elsewhere x times a random slope from `lower` to `upper`."""
    op = "RReLU"
    x, low, high = float_tensor(op, input), number(op, "lower", lower), number(op, "upper", upper)
    if not float(low) <= float(high):
        raise wrong(op, "upper", f"at least 'lower', {low}", high)
    slope = drawn_uniform(x.shape, F32, None) * (float(high) - float(low)) + float(low)
    return where(x > 0, x, x * slope.astype(x.dtype, copy=False))


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Return softmax((logits + g) / tau) along an axis, g random numbers of the Gumbel distribution: samples of a relaxed choice.

    hard  True to return one at the largest element and zeros elsewhere, with the gradient of the relaxed choice
    """
    op = "GumbelSoftmax"
    x, heat, one_hot = float_tensor(op, logits, "logits"), float_only(op, "tau", tau), flag(op, "hard", hard)
    if not heat > 0:
        raise wrong(op, "tau", "above 0", heat)
    along = dimension(op, dim, x, "dim", "logits")
    drawn = drawn_uniform(x.shape, F32, None)
    noise = -log(-log(maximum(drawn, 1e-30)))
    relaxed = softmax((x + noise.astype(x.dtype, copy=False)) / heat, along)
    if not one_hot:
        return relaxed
    places = argmax(relaxed, along, True)
    chosen = equal(apply(made(Iota, tensor(I64, x.shape), along)), places).astype(x.dtype)
    return stop_gradient(chosen - relaxed) + relaxed
