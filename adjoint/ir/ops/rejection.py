"""Random numbers of laws that are drawn by trying: gamma, Poisson, and classes as candidates.

A number takes as many tries as it needs.  Try t of element i is made of the words of the blocks of Philox (see `random`) with the numbers
i + t 2^48, so that a number depends on seed, stream and its position alone, as others do.

    gamma      d v with d = a - 1/3, v = (1 + x / sqrt(9 d))^3, x normal, taken where log u < x^2 / 2 + d - d v + d log v; below a = 1 that
               of a + 1 times u^(1 / a) (Marsaglia and Tsang 2000, "A simple method for generating gamma variables")
    Poisson    below a rate of 10 the first number whose cumulative probability exceeds u; else by transformed rejection
               (Hoermann 1993, "The transformed rejection method for generating Poisson random variables", PTRS)
    classes    floor(u n), or floor(exp(u log(n + 1))) - 1, until there are as many as wanted
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.ops.random import KEY, MULTIPLIERS, ROUNDS, WEYL, check_key, key_sample, philox
from adjoint.ir.ops.special_values import log_gamma
from adjoint.ir.types import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = ["Candidates", "RandomGamma", "RandomPoisson"]

TRIES = 200
"""Tries of an element after which the last one is taken: of gamma each fails with a probability below 0.05, of Poisson below 0.15."""
STRIDE = 48
"""Bits of a block's number below those of the try."""


# Words -----------------------------------------------------------------------------------------------------------------


def _block_of(k: Kernel, key: Buffer, block: Expr) -> list[Expr]:
    """Return the four words of one block."""

    def half(value: Any, place: int) -> Any:
        return k.cast(value >> 32 if place else value, U32)

    seed = [k.local(half(key[0], place), f"key{place}") for place in range(2)]
    number = k.let(k.cast(block, U64), "block")
    word = [k.local(half(value, place % 2), f"word{place}") for place, value in enumerate((number, number, key[1], key[1]))]
    with k.loop(0, ROUNDS, "round"):
        product = [k.let(k.cast(word[2 * place], U64) * MULTIPLIERS[place], f"product{place}") for place in range(2)]
        first = k.let(half(product[1], 1) ^ word[1] ^ seed[0], "first_word")
        third = k.let(half(product[0], 1) ^ word[3] ^ seed[1], "third_word")
        for place, value in enumerate((first, half(product[1], 0), third, half(product[0], 0))):
            k.set(word[place], value)
        for place in range(2):
            k.increment(seed[place], WEYL[place])
    return word


def _fraction(k: Kernel, low: Expr, high: Expr) -> Expr:
    """Return two words as a number in (0, 1), a multiple of 2^-53 and a half."""
    wide = k.cast(low, U64) | k.cast(high, U64) << 32
    return (k.cast(k.cast(wide >> 11, I64), F64) + 0.5) * 2.0**-53


def _fractions_of(key: Array, blocks: Array) -> tuple[Array, Array]:
    """Return both fractions of each block: two f64[n]."""
    (seed_high, seed), (high, low) = (divmod(int(part), 2**32) for part in key)
    blocks = blocks.astype(np.uint64)
    counter = blocks & np.uint64(2**32 - 1), blocks >> np.uint64(32), np.full_like(blocks, low), np.full_like(blocks, high)
    w = philox(counter, (seed, seed_high))
    return tuple(((low | high << np.uint64(32)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
                 for low, high in ((w[0], w[1]), (w[2], w[3])))


class _ByElement(Op):
    """Numbers drawn with parameters, those of the last axes of the result."""

    kinds: tuple[DType, ...]
    """The dtypes of the result."""

    def _check(self, to: Any, key: TensorType, parameter: TensorType, name: str) -> TensorType:
        check_key(self, key)
        if not isinstance(to, TensorType) or to.dtype not in self.kinds:
            raise mistake(self, "to", f"a tensor type of one of {', '.join(d.name for d in self.kinds)}", to, TypeError)
        if not isinstance(parameter, TensorType) or not parameter.dtype.is_float:
            raise mistake(self, name, "a tensor of floating point numbers", parameter, TypeError)
        if to.sizes[len(to.sizes) - parameter.rank:] != parameter.sizes or to.rank < parameter.rank:
            raise mistake(self, "to", f"of a shape that ends in that of '{name}', {parameter.sizes}", to)
        return to


@operation
class RandomGamma(_ByElement):
    """Random numbers of the gamma distribution, with the density x^(alpha - 1) exp(-x) / gamma(alpha).

    operands key    u64[2]: seed and stream
             alpha  T[s], T a floating point type; NaN where it is negative or NaN
    result   of type `to`, T[n, s]: numbers for each element of `alpha`
    gradient an error: it would take the derivative of the distribution by alpha
    errors   TypeError: `to` not of the dtype of alpha; ValueError: key not u64[2], a shape that does not end in that of alpha
    source   Marsaglia and Tsang 2000
    """

    to: TensorType
    kinds = (F16, BF16, F32, F64)
    samples = (
        sample(KEY, tensor(F32, (2,)), to=tensor(F32, (40, 2)), **key_sample(7, 3, {1: [0.3, 4.5]})),
        sample(KEY, tensor(F64, (3, 1)), to=tensor(F64, (5, 3, 1)), **key_sample(7, 3, {1: [[1.0], [0.1], [90.0]]})),
        sample(KEY, tensor(F32, (5,)), to=tensor(F32, (5,)), **key_sample(7, 3, {1: [0.0, -1.0, np.nan, np.inf, 1e30]})),
        sample(KEY, tensor(F32), to=tensor(F32), **key_sample(7, 3, {1: 2.0})),
        sample(KEY, tensor(F32, (3,)), to=tensor(F32, (0, 3)), **key_sample(7, 3, {1: [1.0, 2.0, 3.0]})),
    )

    def infer(self, key: TensorType, alpha: TensorType) -> TensorType:
        to = self._check(self.to, key, alpha, "alpha")
        if to.dtype is not alpha.dtype:
            raise mistake(self, "to", f"of the dtype of 'alpha', {alpha.dtype}", to, TypeError)
        return to

    def reference(self, key: Array, alpha: Array) -> Array:
        a = np.broadcast_to(alpha, self.to.sizes).reshape(-1).astype(np.float64)
        out = np.where(a == np.inf, np.inf, np.where(a == 0, 0.0, np.nan))
        left = np.flatnonzero((a > 0) & (a < np.inf))
        for number in range(TRIES):
            if not left.size:
                break
            shape = np.where(a[left] < 1, a[left] + 1, a[left])
            first, turn = _fractions_of(key, left + (2 * number << STRIDE))
            taken, boost = _fractions_of(key, left + ((2 * number + 1) << STRIDE))
            x = np.sqrt(-2 * np.log(first)) * np.cos(turn * (2 * np.pi))
            d = shape - 1 / 3
            root = 1 + x / np.sqrt(9 * d)
            v = root * root * root
            fine = (v > 0) & (np.log(taken) < 0.5 * x * x + d - d * v + d * np.log(np.where(v > 0, v, 1.0)))
            scale = np.where(a[left] < 1, np.exp(np.log(boost) / a[left]), 1.0)
            out[left] = d * v * scale
            left = left[~fine]
        return out.astype(alpha.dtype).reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, alpha: Buffer, out: Buffer) -> None:
        n, each = k.size(out.count, "n"), k.size(alpha.count, "each")
        with k.stage(n, 64, "i") as i:
            a = k.let(k.cast(alpha[i % each], F64), "a")
            at_zero = k.select(k.equal(a, 0.0), 0.0, k.literal(math.nan, F64))
            found = k.local(k.select(k.equal(a, math.inf), math.inf, at_zero), "found", F64)
            small = k.let(k.less(a, 1.0), "small")
            d = k.let(k.select(small, a + 1.0, a) - 1 / 3, "d")
            number = k.local(k.select(k.both(k.greater(a, 0.0), k.less(a, math.inf)), k.literal(0, I64), TRIES), "number", I64)
            with k.loop_while(k.less(number, TRIES)):
                word = _block_of(k, key, i + (number * 2 << STRIDE))
                radius = k.call("sqrt", -2.0 * k.call("log", _fraction(k, word[0], word[1])))
                x = k.local(radius * k.call("cos", _fraction(k, word[2], word[3]) * float(2 * np.pi)), "x")
                word = _block_of(k, key, i + (number * 2 + 1 << STRIDE))
                root = k.let(1.0 + x / k.call("sqrt", 9.0 * d), "root")
                v = k.let(root * root * root, "v")
                scale = k.local(1.0, "scale", F64)
                with k.when(small):
                    k.set(scale, k.call("exp", k.call("log", _fraction(k, word[2], word[3])) / a))
                k.set(found, d * v * scale)
                bound = 0.5 * x * x + d - d * v + d * k.call("log", k.select(k.greater(v, 0.0), v, 1.0))
                fine = k.both(k.greater(v, 0.0), k.less(k.call("log", _fraction(k, word[0], word[1])), bound))
                k.set(number, k.select(fine, k.literal(TRIES, I64), number + 1))
            k.store(out, i, k.cast(found, out.dtype.compute))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        raise NotDifferentiable("random_gamma has no gradient by alpha: MindSpore has none either")


def _limits(dtype: DType) -> tuple[float, float] | None:
    """Return the range of an integer dtype, in Float64 that it holds."""
    return {I32: (0.0, 2.0**31 - 1), I64: (0.0, 2.0**63 - 1024)}.get(dtype)


@operation
class RandomPoisson(_ByElement):
    """Random numbers of the Poisson distribution, with the probabilities rate^n exp(-rate) / n!.

    operands key   u64[2]: seed and stream
             rate  T[s], T a floating point type; the number is 0 where it is not above 0, and the largest of an integer dtype where it
                   is beyond
    result   of type `to`, R[n, s]: numbers for each element of `rate`, R a floating point type, i32 or i64
    gradient none: whole numbers
    errors   TypeError: `to` or rate of another dtype; ValueError: key not u64[2], a shape that does not end in that of rate
    source   Hoermann 1993
    """

    to: TensorType
    cuts = "random whole numbers are constants"
    kinds = (F16, BF16, F32, F64, I32, I64)
    samples = (
        sample(KEY, tensor(F32, (2,)), to=tensor(I64, (40, 2)), **key_sample(7, 3, {1: [0.7, 45.5]})),
        sample(KEY, tensor(F64, (3, 1)), to=tensor(F32, (5, 3, 1)), **key_sample(7, 3, {1: [[9.99], [10.0], [1e6]]})),
        sample(KEY, tensor(F32, (5,)), to=tensor(I32, (5,)), **key_sample(7, 3, {1: [0.0, -1.0, np.nan, np.inf, 1e30]})),
        sample(KEY, tensor(F32), to=tensor(F64), **key_sample(7, 3, {1: 2.0})),
        sample(KEY, tensor(F32, (3,)), to=tensor(F32, (0, 3)), **key_sample(7, 3, {1: [1.0, 2.0, 3.0]})),
    )

    def infer(self, key: TensorType, rate: TensorType) -> TensorType:
        return self._check(self.to, key, rate, "rate")

    def reference(self, key: Array, rate: Array) -> Array:
        m = np.broadcast_to(rate, self.to.sizes).reshape(-1).astype(np.float64)
        out = np.where(m == np.inf, np.inf, 0.0)
        small = np.flatnonzero((m > 0) & (m < 10))
        drawn = _fractions_of(key, small)[0]
        term = np.exp(-m[small])
        total, count = term.copy(), np.zeros(small.size)
        for number in range(1, TRIES):
            going = drawn > total
            count += going
            term = term * m[small] / number
            total = np.where(going, total + term, total)
        out[small] = count
        left = np.flatnonzero((m >= 10) & (m < np.inf))
        for number in range(TRIES):
            if not left.size:
                break
            r = m[left]
            first, second = _fractions_of(key, left + (number << STRIDE))
            u = first - 0.5
            b = 0.931 + 2.53 * np.sqrt(r)
            a = -0.059 + 0.02483 * b
            us = 0.5 - np.abs(u)
            n = np.floor((2 * a / us + b) * u + r + 0.43)
            ratio = np.log(second * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
            likely = n * np.log(r) - r - log_gamma(np.maximum(n, 0) + 1)
            fine = ((us >= 0.07) & (second <= 0.9277 - 3.6224 / (b - 2))) | (
                (n >= 0) & ((us >= 0.013) | (second <= us)) & (ratio <= likely))
            out[left] = np.maximum(n, 0)
            left = left[~fine]
        limits = _limits(self.to.dtype)
        return (out if limits is None else np.clip(out, *limits)).astype(self.to.dtype.array).reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, rate: Buffer, out: Buffer) -> None:
        n, each = k.size(out.count, "n"), k.size(rate.count, "each")
        with k.stage(n, 64, "i") as i:
            r = k.let(k.cast(rate[i % each], F64), "r")
            found = k.local(k.select(k.equal(r, math.inf), math.inf, k.literal(0.0, F64)), "found", F64)
            with k.when(k.both(k.greater(r, 0.0), k.less(r, 10.0))):
                word = _block_of(k, key, i)
                drawn = k.let(_fraction(k, word[0], word[1]), "drawn")
                term = k.local(k.call("exp", -r), "term")
                total, number = k.local(term, "total"), k.local(1.0, "number", F64)
                with k.loop_while(k.both(k.greater(drawn, total), k.less(number, float(TRIES)))):
                    k.set(term, term * r / number)
                    k.increment(total, term)
                    k.increment(number, 1.0)
                k.set(found, number - 1.0)
            number = k.local(k.select(k.both(k.greater_equal(r, 10.0), k.less(r, math.inf)), k.literal(0, I64), TRIES), "tried", I64)
            b = k.let(0.931 + 2.53 * k.call("sqrt", k.select(k.greater(r, 10.0), r, 10.0)), "b")
            a = k.let(-0.059 + 0.02483 * b, "a")
            with k.loop_while(k.less(number, TRIES)):
                word = _block_of(k, key, i + (number << STRIDE))
                u = k.let(_fraction(k, word[0], word[1]) - 0.5, "u")
                v = k.let(_fraction(k, word[2], word[3]), "v")
                us = k.let(0.5 - k.call("fabs", u), "us")
                count = k.let(k.call("floor", (2.0 * a / us + b) * u + r + 0.43), "count")
                k.set(found, k.maximum_of(count, 0.0))
                fine = k.local(k.both(k.greater_equal(us, 0.07), k.less_equal(v, 0.9277 - 3.6224 / (b - 2.0))), "fine")
                able = k.both(k.greater_equal(count, 0.0), k.either(k.greater_equal(us, 0.013), k.less_equal(v, us)))
                with k.when(k.both(k.negation(fine), able)):
                    ratio = k.call("log", v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
                    likely = count * k.call("log", r) - r - k.call("adjoint_lgamma_f64", count + 1.0)
                    k.set(fine, k.less_equal(ratio, likely))
                k.set(number, k.select(fine, k.literal(TRIES, I64), number + 1))
            limits = _limits(out.dtype)
            k.store(out, i, k.cast(found if limits is None else k.minimum_of(found, limits[1]), out.dtype.compute))


@operation
class Candidates(Op):
    """Random classes below `classes`, as candidates in training: `count` of them.

    operands key     u64[2]: seed and stream
             hits    i64[m]: classes that are not drawn, where enough others are left
    result   drawn   i64[count]
             tries   i64[]: how many classes were drawn for these
    gradient none: whole numbers
    errors   ValueError: key not u64[2]; `classes` or `count` below 1, more different ones than there are; TypeError: hits not i64

    count      how many to draw
    classes    how many there are
    different  True to draw no class twice
    falling    True for a probability log((class + 2) / (class + 1)) / log(classes + 1); else all are equally likely
    """

    count: int
    classes: int
    different: bool
    falling: bool
    cuts = "random whole numbers are constants"
    samples = (
        sample(KEY, tensor(I64, (0,)), count=20, classes=50, different=True, falling=False, **key_sample(7, 3, {1: []})),
        sample(KEY, tensor(I64, (0,)), count=20, classes=50, different=False, falling=True, **key_sample(7, 3, {1: []})),
        sample(KEY, tensor(I64, (3,)), count=3, classes=5, different=True, falling=True, **key_sample(7, 3, {1: [1, 4, 70]})),
        sample(KEY, tensor(I64, (2,)), count=4, classes=5, different=True, falling=False, **key_sample(7, 3, {1: [1, 4]})),
    )

    def infer(self, key: TensorType, hits: TensorType) -> tuple[Type, ...]:
        check_key(self, key)
        if not isinstance(hits, TensorType) or hits.dtype is not I64 or hits.rank != 1:
            raise mistake(self, "hits", "a vector of Int64", hits, TypeError)
        if self.classes < 1:
            raise mistake(self, "classes", "at least 1", self.classes)
        if self.count < 1 or (self.different and self.count > self.classes):
            raise mistake(self, "count", f"in 1..{self.classes}" if self.different else "at least 1", self.count)
        return tensor(I64, (self.count,)), tensor(I64)

    def reference(self, key: Array, hits: Array) -> tuple[Array, ...]:
        taken = np.zeros(self.classes, bool)
        taken[hits[(hits >= 0) & (hits < self.classes)]] = True
        if self.classes - taken.sum() < (self.count if self.different else 1):
            taken[:] = False
        found: list[int] = []
        number = 0
        while len(found) < self.count:
            u = float(_fractions_of(key, np.array([number]))[0][0])
            drawn = int(np.exp(u * np.log(self.classes + 1.0))) - 1 if self.falling else int(u * self.classes)
            drawn = min(max(drawn, 0), self.classes - 1)
            number += 1
            if not taken[drawn]:
                found.append(drawn)
                taken[drawn] = self.different
        return np.array(found, np.int64), np.array(number, np.int64)

    def lower(self, k: Kernel, key: Buffer, hits: Buffer, drawn: Buffer, tries: Buffer) -> None:
        classes, count, hit_count = k.size(self.classes, "classes"), k.size(self.count, "count"), k.size(hits.count, "hit_count")
        taken = k.scratch(BOOL, self.classes, "taken")
        with k.stage(1, 1, "unit"):
            with k.loop(0, classes, "j") as j:
                k.store(taken, j, False)
            left = k.local(classes, "left")
            with k.loop(0, hit_count, "j") as j:
                hit = k.let(hits[j], "hit")
                with k.when(k.both(k.greater_equal(hit, 0), k.less(hit, classes))), k.when(k.negation(taken[hit])):
                    k.store(taken, hit, True)
                    k.increment(left, -1)
            with k.when(k.less(left, count if self.different else 1)), k.loop(0, classes, "j") as j:
                k.store(taken, j, False)
            number, found = k.local(0, "number", I64), k.local(0, "found", I64)
            with k.loop_while(k.less(found, count)):
                word = _block_of(k, key, number)
                u = k.let(_fraction(k, word[0], word[1]), "u")
                wide = k.cast(classes, F64)
                if self.falling:
                    drawn_class = k.cast(k.call("exp", u * k.call("log", wide + 1.0)), I64) - 1
                else:
                    drawn_class = k.cast(u * wide, I64)
                chosen = k.let(k.maximum_of(k.minimum_of(drawn_class, classes - 1), 0), "chosen")
                k.increment(number, 1)
                with k.when(k.negation(taken[chosen])):
                    k.store(drawn, found, chosen)
                    k.increment(found, 1)
                    if self.different:
                        k.store(taken, chosen, True)
            k.store(tries, 0, number)
