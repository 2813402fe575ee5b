"""Random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3").

Philox is a function from a key and a counter to four 32-bit words; it has no state.  The key is the seed, the counter is
(block, stream): a stream belongs to one random node of a program, a block to 4 words of its result.  So a number depends
on seed, stream and its position alone, in any order of computation and on any number of threads; and the same numbers are
drawn again from the same `key`, an operand u64[2] of (seed, stream).

    words     word w (0..3) of blocks 16 g .. 16 g + 15 is at 64 g + 16 w .. 64 g + 16 w + 15: sixteen lanes side by side
    uniform   the upper bits of a word (of two for f64), as many as the significand holds, as a fraction: [0, 1)
    normal    Box and Muller: u, v uniform give sqrt(-2 log u) cos(2 pi v) and sqrt(-2 log u) sin(2 pi v)
    integer   two words as a 64-bit number modulo the range; its bias is below range / 2^64
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Effect, Op, mistake, operation, sample
from adjoint.ir.ops.batching import repeated
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.types import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64, Dim, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel, LocalArray

Array = Any

__all__ = [
    "Draw", "Dropout", "DropoutGradient", "DropoutKept", "RandomBits", "RandomInteger", "RandomNormal", "RandomUniform", "check_key",
    "key_sample",
]

LANES = 16
"""The number of blocks whose words lie side by side."""
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
"""The two numbers that are added to the halves of the key in each round of Philox."""
WORD = np.uint64(0xFFFFFFFF)
"""The largest word: 32 bits that are all 1."""

KEY = tensor(U64, (2,))


def philox(counter: Sequence[Array], key: tuple[int, int]) -> list[Array]:
    """Return four words for each counter of four words, all of them 32 bits in u64 arrays."""
    half = np.uint64(32)
    c0, c1, c2, c3 = counter
    for number in range(ROUNDS):
        k0, k1 = (np.uint64((part + number * step) % 2**32) for part, step in zip(key, WEYL, strict=True))
        p0, p1 = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ k0, p1 & WORD, (p0 >> half) ^ c3 ^ k1, p0 & WORD
    return [c0, c1, c2, c3]


def words(key: Array, count: int) -> Array:
    """Return the first `count` words of a stream: u32[count].  `key` u64[2] is (seed, stream)."""
    groups = -(-count // (4 * LANES))
    seed, stream = int(key[0]), int(key[1])
    block = np.arange(groups * LANES, dtype=np.uint64)
    counter = block & WORD, block >> np.uint64(32), np.full_like(block, stream % 2**32), np.full_like(block, stream >> 32)
    lanes = np.stack(philox(counter, (seed % 2**32, seed >> 32))).reshape(4, groups, LANES)
    return lanes.transpose(1, 0, 2).reshape(-1)[:count].astype(np.uint32)


def pairs(key: Array, count: int) -> tuple[Array, Array]:
    """Return words 0 and 2 with words 1 and 3 of each block, so that each of `count` elements gets a pair: two u32[count]."""
    groups = -(-count // (2 * LANES))
    lanes = words(key, groups * 4 * LANES).reshape(groups, 2, 2, LANES)
    return lanes[:, :, 0].reshape(-1)[:count], lanes[:, :, 1].reshape(-1)[:count]


def wide_words(key: Array, count: int) -> Array:
    """Return the first `count` 64-bit words of a stream: word 0 with word 1 above it, word 2 with word 3: u64[count]."""
    low, high = pairs(key, count)
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


GROUP = 4 * LANES
"""The number of words that are drawn together."""
WORK = 256
"""The number of groups of words that a thread must get to be worth waking."""


@contextmanager
def _groups(k: Kernel, key: Buffer, count: int, per_group: int) -> Iterator[tuple[LocalArray, Expr, Expr]]:
    """Begin a stage over groups of words: yield the words, the index of the first of `per_group` results, and how many there are."""
    n = k.size(count, "n")
    with k.stage(-(-count // per_group), WORK, "group") as group:
        word = k.array(U32, GROUP, "word")
        _draw(k, key, group, word)
        first = k.let(group * per_group, "first")
        yield word, first, k.let(k.minimum_of(n - first, per_group), "count")


def _draw(k: Kernel, key: Buffer, group: Expr, word: LocalArray) -> None:
    """Append the C code that draws the words of a group, in the order of `words`, into the array `word`."""

    def half(value: Any, place: int) -> Any:
        return k.cast(value >> 32 if place else value, U32)

    seed = [k.local(half(key[0], place), f"key{place}") for place in range(2)]
    with k.loop(0, LANES, "l") as lane:
        block = k.let(k.cast(group * LANES + lane, U64), "block")
        for place, value in enumerate((block, block, key[1], key[1])):
            k.set(word[lane + place * LANES], half(value, place % 2))
    with k.loop(0, ROUNDS, "round"):
        with k.loop(0, LANES, "l") as lane:
            product = [
                k.let(k.cast(word[lane + 2 * place * LANES], U64) * MULTIPLIERS[place], f"product{place}") for place in range(2)]
            first = k.let(half(product[1], 1) ^ word[lane + LANES] ^ seed[0], "first_word")
            third = k.let(half(product[0], 1) ^ word[lane + 3 * LANES] ^ seed[1], "third_word")
            for place, value in enumerate((first, half(product[1], 0), third, half(product[0], 0))):
                k.set(word[lane + place * LANES], value)
        for place in range(2):
            k.increment(seed[place], WEYL[place])


@contextmanager
def _pairs(k: Kernel, word: LocalArray) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Emit a loop over the words of a group in pairs: yield the index of the first of them, and both."""
    with k.loop(0, 2, "half") as part, k.loop(0, LANES, "l") as lane:
        place = part * (2 * LANES) + lane
        yield place, word[place], word[place + LANES]


def _wide(k: Kernel, word: LocalArray) -> LocalArray:
    """Return the words of a group as half as many 64-bit words."""
    wide = k.array(U64, GROUP // 2, "wide")
    with k.loop(0, 2, "half") as part, k.loop(0, LANES, "l") as lane:
        low = part * (2 * LANES) + lane
        k.set(wide[part * LANES + lane], k.cast(word[low], U64) | k.cast(word[low + LANES], U64) << 32)
    return wide


@operation
class Draw(Op):
    """The key of the next random draw: `key: u64[2] = draw!(seed=3)`.

    seed     takes the global seed's place, if it is not 0
    result   u64[2]: seed and stream; each draw has a stream of its own
    gradient none flows: there is no operand
    errors   ValueError: seed not in [0, 2^64)
    """

    seed: int = 0

    name: ClassVar[str] = "draw!"
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self) -> TensorType:
        if not 0 <= self.seed < 2**64:
            raise mistake(self, "seed", "in [0, 2^64)", self.seed)
        return KEY

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return ()


class _Random(Op):
    """A tensor of type `to`, drawn from a key."""

    to: TensorType
    pack = "random"
    kinds: tuple[DType, ...]
    """The dtypes of the result."""

    def infer(self, key: TensorType) -> TensorType:
        check_key(self, key)
        if not isinstance(self.to, TensorType) or self.to.dtype not in self.kinds:
            raise mistake(self, "to", f"a tensor type of one of {', '.join(d.name for d in self.kinds)}", self.to, TypeError)
        return self.to

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        if dtype in cls.kinds:
            attributes = {name: value for name, value in cls.samples[0].attributes.items() if name != "to"}
            yield cls(to=tensor(dtype, (64,)), **attributes), (KEY,)


def check_key(op: Op, key: TensorType) -> None:
    if key is not KEY:
        raise mistake(op, "key", f"of type {KEY}: seed and stream", key)


def key_sample(seed: int, stream: int = 0, values: Mapping[int, Any] | None = None) -> dict[str, Any]:
    """Return what a sample whose first operand is a key is given, with the values of other operands."""
    return {"values": {0: np.array([seed, stream], np.uint64), **(values or {})}}


@operation
class RandomBits(_Random):
    """Uniformly distributed random 32-bit words.

    operands key  u64[2]: seed and stream
    result   of type `to`, u32[s]
    gradient none: constant
    errors   TypeError: `to` not of u32; ValueError: key not u64[2]
    """

    to: TensorType
    cuts = "random numbers are constants"
    kinds = (U32,)
    samples = (
        sample(KEY, to=tensor(U32, (3, 50)), **key_sample(2**63 + 5, 2**40 + 1)),
        sample(KEY, to=tensor(U32, (1000,)), **key_sample(0)),
        sample(KEY, to=tensor(U32, (0, 3)), **key_sample(0)),
        sample(KEY, to=tensor(U32), **key_sample(1)),
    )

    def reference(self, key: Array) -> Array:
        return words(key, self.to.count).reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, out: Buffer) -> None:
        with _groups(k, key, out.count, GROUP) as (word, first, count), k.loop(0, count, "j") as j:
            k.store(out, first + j, word[j])


@operation
class RandomUniform(_Random):
    """Uniformly distributed random numbers in [0, 1).

    operands key  u64[2]: seed and stream
    result   of type `to`, T[s] of a floating point type: multiples of 2^-24 for f32, 2^-53 for f64, 2^-11 for f16, 2^-8
             for bf16, all equally likely
    gradient none: constant
    errors   TypeError: `to` not floating point; ValueError: key not u64[2]
    """

    to: TensorType
    cuts = "random numbers are constants"
    kinds = (F16, BF16, F32, F64)
    samples = (
        sample(KEY, to=tensor(F32, (3, 50)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F64, (3, 50)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F16, (70,)), **key_sample(7, 3)),
        sample(KEY, to=tensor(BF16, (70,)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F32, (0, 3)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F32), **key_sample(7, 3)),
    )

    def reference(self, key: Array) -> Array:
        dtype, count = self.to.dtype, self.to.count
        if dtype is F64:
            drawn = (wide_words(key, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        else:
            bits = SIGNIFICAND[dtype]
            drawn = (words(key, count) >> np.uint32(32 - bits)).astype(np.float32) * np.float32(2.0**-bits)
        return drawn.reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, out: Buffer) -> None:
        if out.dtype is F64:
            with _groups(k, key, out.count, GROUP // 2) as (word, first, count):
                wide = _wide(k, word)
                with k.loop(0, count, "j") as j:
                    k.store(out, first + j, k.cast(k.cast(wide[j] >> 11, I64), F64) * 2.0**-53)
            return
        bits = SIGNIFICAND[out.dtype]
        with _groups(k, key, out.count, GROUP) as (word, first, count), k.loop(0, count, "j") as j:
            k.store(out, first + j, k.cast(k.cast(word[j] >> (32 - bits), I32), F32) * 2.0**-bits)


SIGNIFICAND = {F16: 11, BF16: 8, F32: 24}
"""Bits of a word that a fraction of the dtype can hold."""


@operation
class RandomNormal(_Random):
    """Normally distributed random numbers with mean 0 and standard deviation 1.

    operands key  u64[2]: seed and stream
    result   of type `to`, T[s] of a floating point type; within 6.7 (f64: 9.4) deviations of zero
    gradient none: constant
    errors   TypeError: `to` not floating point; ValueError: key not u64[2]
    source   Box and Muller 1958
    """

    to: TensorType
    cuts = "random numbers are constants"
    kinds = (F16, BF16, F32, F64)
    samples = (
        sample(KEY, to=tensor(F32, (3, 50)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F64, (3, 50)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F16, (70,)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F32, (0, 3)), **key_sample(7, 3)),
        sample(KEY, to=tensor(F32), **key_sample(7, 3)),
    )

    def reference(self, key: Array) -> Array:
        count = self.to.count
        if self.to.dtype is F64:
            groups = -(-count // (2 * LANES))
            lanes = wide_words(key, groups * 2 * LANES).reshape(groups, 2, LANES)
            first = ((lanes[:, 0] >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
            turn = (lanes[:, 1] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        else:
            groups = -(-count // (4 * LANES))
            first_words, turn_words = pairs(key, groups * 2 * LANES)
            first = (first_words.astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-32)
            turn = (turn_words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
            first, turn = (a.reshape(groups * 2, LANES) for a in (first, turn))
        radius = np.sqrt(-2 * np.log(first))
        angle = turn * turn.dtype.type(2 * np.pi)
        drawn = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return drawn.reshape(-1)[:count].reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, out: Buffer) -> None:
        dtype = out.dtype.compute
        per_group = GROUP // 2 if dtype is F64 else GROUP
        with _groups(k, key, out.count, per_group) as (word, first, count):
            drawn = k.array(dtype, per_group, "drawn")

            def pair(place: Any, uniform: Any, turn: Any) -> None:
                radius = k.let(k.call("sqrt", -2.0 * k.call("log", uniform)), "radius")
                angle = k.let(turn * float(2 * np.pi), "angle")
                k.set(drawn[place], radius * k.call("cos", angle))
                k.set(drawn[place + LANES], radius * k.call("sin", angle))

            if dtype is F64:
                wide = _wide(k, word)
                with k.loop(0, LANES, "l") as lane:
                    fractions = [k.cast(k.cast(wide[lane + place] >> 11, I64), F64) for place in (0, LANES)]
                    pair(lane, k.let((fractions[0] + 0.5) * 2.0**-53, "uniform"), fractions[1] * 2.0**-53)
            else:
                with _pairs(k, word) as (place, one, other):
                    uniform = k.let((k.cast(one, F32) + 0.5) * 2.0**-32, "uniform")
                    pair(place, uniform, k.cast(k.cast(other >> 8, I32), F32) * 2.0**-24)
            with k.loop(0, count, "j") as j:
                k.store(out, first + j, drawn[j])


def _signed(value: int) -> int:
    """Return the signed 64-bit integer with the same bits."""
    return (value + 2**63) % 2**64 - 2**63


@operation
class RandomInteger(_Random):
    """Uniformly distributed random integers, at least `low` and less than `high`.

    operands key  u64[2]: seed and stream
    result   of type `to`, I[s] of an integer type
    gradient none: constant
    errors   TypeError: `to` not of integers; ValueError: key not u64[2], no integer from low to high, or one that the
             dtype does not hold
    """

    to: TensorType
    low: int
    high: int
    cuts = "random numbers are constants"
    kinds = (I32, I64, U32, U64)
    samples = (
        sample(KEY, to=tensor(I32, (3, 50)), low=-3, high=10, **key_sample(7, 3)),
        sample(KEY, to=tensor(I64, (3, 50)), low=-(2**63), high=2**63 - 1, **key_sample(7, 3)),
        sample(KEY, to=tensor(I32, (0, 3)), low=-3, high=10, **key_sample(7, 3)),
        sample(KEY, to=tensor(I32), low=-3, high=10, **key_sample(7, 3)),
    )

    def infer(self, key: TensorType) -> TensorType:
        to = super().infer(key)
        bounds = np.iinfo(to.dtype.array)
        if not bounds.min <= self.low < self.high <= int(bounds.max) + 1:
            raise mistake(self, "low", f"below high, and both in the range of {to.dtype}", (self.low, self.high))
        return to

    def reference(self, key: Array) -> Array:
        drawn = wide_words(key, self.to.count)
        if self.high - self.low < 2**64:
            drawn = drawn % np.uint64(self.high - self.low)
        lowest = np.uint64(self.low % 2**64)
        return (drawn + lowest).astype(self.to.dtype.array).reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, out: Buffer) -> None:
        span = self.high - self.low
        lowest = k.cast(k.size(_signed(self.low), "low"), U64)
        with _groups(k, key, out.count, GROUP // 2) as (word, first, count):
            wide = _wide(k, word)
            with k.loop(0, count, "j") as j:
                drawn = wide[j]
                if span < 2**64:
                    drawn = drawn % k.cast(k.size(_signed(span), "span"), U64)
                k.store(out, first + j, k.cast(drawn + lowest, out.dtype))


@operation
class Dropout(Op):
    """Each element of `x` kept with probability `keep` and divided by it, else replaced by zero.

    operands x    T[s], T a floating point type
             key  u64[2]: seed and stream
    result   y     T[s]: x * (1 / keep) where kept, 0 elsewhere
             kept  bool[s]
    gradient dropout_gradient(kept, ct), to x
    errors   ValueError: keep not in (0, 1], key not u64[2]; TypeError: x not floating point
    """

    keep: float
    pack = "random"
    samples = (
        sample(tensor(F32, (3, 50)), KEY, keep=0.6, values={1: np.array([7, 3], np.uint64)}),
        sample(tensor(F32, (100,)), KEY, keep=1.0, values={1: np.array([7, 3], np.uint64)}),
        sample(tensor(F32, (0, 3)), KEY, keep=0.5, values={1: np.array([7, 3], np.uint64)}),
    )

    def infer(self, x: TensorType, key: TensorType) -> tuple[Type, ...]:
        if not isinstance(x, TensorType) or not x.dtype.is_float:
            raise mistake(self, "x", "a tensor of floating point numbers", x, TypeError)
        check_key(self, key)
        if not 0.0 < self.keep <= 1.0:
            raise mistake(self, "keep", "in (0, 1]", self.keep)
        return x, x.with_dtype(BOOL)

    def reference(self, x: Array, key: Array) -> tuple[Array, ...]:
        kept = (words(key, x.size).astype(np.uint64) < np.uint64(self.threshold)).reshape(x.shape)
        return np.where(kept, x * x.dtype.type(1.0 / self.keep), 0), kept

    @property
    def threshold(self) -> int:
        """Return the number below which a word keeps its element: 1..2^32."""
        return _threshold(self.keep)

    def lower(self, k: Kernel, x: Buffer, key: Buffer, y: Buffer, kept: Buffer) -> None:
        highest = _highest(k, self.keep)
        with _groups(k, key, x.count, GROUP) as (word, first, count), k.loop(0, count, "j") as j:
            keep = k.let(k.less_equal(word[j], highest), "keep")
            k.store(kept, first + j, keep)
            k.store(y, first + j, k.select(keep, x[first + j] * (1.0 / self.keep), 0))

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        if mapped[1]:
            return None
        kept = b.emit(DropoutKept(self.keep, tensor_type(node.operands[0]).with_dtype(BOOL)), operands[1])
        return [b.emit(DropoutGradient(self.keep), kept, operands[0]), repeated(b, kept, size)]

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return (None if cotangents[0] is None else b.emit(DropoutGradient(self.keep), node.results[1], cotangents[0])), None


def _threshold(keep: float) -> int:
    return max(1, round(keep * 2**32))


def _highest(k: Kernel, keep: float) -> Expr:
    """Return the largest word that keeps its element."""
    return k.cast(k.size(_threshold(keep) - 1, "highest"), U32)


@operation
class DropoutKept(_Random):
    """Which elements `dropout` keeps: its second result. With it, the first is `dropout_gradient(kept, x)`, to the bit.

    operands key  u64[2]: seed and stream
    result   of type `to`, bool[s]: True with probability `keep`
    gradient none: constant
    errors   TypeError: `to` not of bool; ValueError: keep not in (0, 1], key not u64[2]
    """

    keep: float
    to: TensorType
    cuts = "random numbers are constants"
    kinds = (BOOL,)
    samples = (
        sample(KEY, keep=0.6, to=tensor(BOOL, (3, 50)), **key_sample(7, 3)),
        sample(KEY, keep=1.0, to=tensor(BOOL, (100,)), **key_sample(7, 3)),
        sample(KEY, keep=0.5, to=tensor(BOOL, (0, 3)), **key_sample(7, 3)),
    )

    def infer(self, key: TensorType) -> TensorType:
        if not 0.0 < self.keep <= 1.0:
            raise mistake(self, "keep", "in (0, 1]", self.keep)
        return super().infer(key)

    def reference(self, key: Array) -> Array:
        return (words(key, self.to.count).astype(np.uint64) < np.uint64(_threshold(self.keep))).reshape(self.to.sizes)

    def lower(self, k: Kernel, key: Buffer, kept: Buffer) -> None:
        highest = _highest(k, self.keep)
        with _groups(k, key, kept.count, GROUP) as (word, first, count), k.loop(0, count, "j") as j:
            k.store(kept, first + j, k.less_equal(word[j], highest))

    def of_elements(self, k: Kernel, key: Buffer, first: Expr, count: Expr, kept: Buffer, place: Expr) -> None:
        """Emit which of `count` elements from `first` on are kept, into `kept` from `place` on, inside of a stage."""
        highest = _highest(k, self.keep)
        with k.loop(first / GROUP, (first + count + (GROUP - 1)) / GROUP, "group") as group:
            word = k.array(U32, GROUP, "word")
            _draw(k, key, group, word)
            begin = k.let(k.maximum_of(group * GROUP, first), "begin_kept")
            end = k.let(k.minimum_of((group + 1) * GROUP, first + count), "end_kept")
            with k.loop(begin, end, "e") as e:
                k.store(kept, place + (e - first), k.less_equal(word[e - group * GROUP], highest))


@operation
class DropoutGradient(Elementwise):
    """The gradient of dropout: `ct` divided by `keep` where its element was kept, 0 elsewhere.

    operands kept  bool[r]
             ct    T[s], T a floating point type; the shapes broadcast
    result   T[broadcast]
    gradient dropout_gradient(kept, v), to ct, summed over the axes along which it was broadcast
    errors   ValueError: keep not in (0, 1], shapes do not broadcast; TypeError: ct not floating point, kept not bool
    """

    keep: float
    takes = ("kept", "ct")
    pack = "random"
    samples = (
        sample(tensor(BOOL, (3, 50)), tensor(F32, (3, 50)), keep=0.6),
        sample(tensor(BOOL, (0, 3)), tensor(F32, (0, 3)), keep=0.6),
        sample(tensor(BOOL), tensor(F32), keep=0.6),
        sample(tensor(BOOL, (3, 3)), tensor(F32, (3,)), keep=0.6),
    )

    def infer(self, *operands: Any) -> TensorType:
        kept, ct = operands
        if not isinstance(ct, TensorType) or not ct.dtype.is_float:
            raise mistake(self, "ct", "a tensor of floating point numbers", ct, TypeError)
        if not isinstance(kept, TensorType) or kept.dtype is not BOOL:
            raise mistake(self, "kept", "a tensor of Bool", kept, TypeError)
        if not 0.0 < self.keep <= 1.0:
            raise mistake(self, "keep", "in (0, 1]", self.keep)
        return tensor(ct.dtype, self.broadcast(operands))

    def reference(self, kept: Array, ct: Array) -> Array:
        return np.where(kept, ct * ct.dtype.type(1.0 / self.keep), ct.dtype.type(0))

    def lower(self, k: Kernel, kept: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (kept, ct), out)

    def scalar(self, k: Kernel, kept: Expr, ct: Expr) -> Expr:
        return k.select(kept, ct * (1.0 / self.keep), k.literal(0, ct.dtype))

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        if dtype in cls.accepts:
            yield cls(keep=0.6), (tensor(BOOL, (4, 8)), tensor(dtype, (4, 8)))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        kept, ct = node.operands
        return None, b.unbroadcast(b.emit(self, kept, cotangents[0]), to=ct.type)
