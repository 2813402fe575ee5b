"""Recipes: what `lower` does with sizes is recorded, and the kernel for other sizes follows without lowering.

Each op's samples are recorded, and the kernels that the recipes make for other sizes are compared with those that `lower` makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from toy_ops import toy

from adjoint.codegen import recipes
from adjoint.codegen.emit import PLAIN_WORK, lower
from adjoint.codegen.recipes import form_of, kernel_of, recorded
from adjoint.foundation.budget import Budget, Table
from adjoint.ir.kernel import Buffer, Kernel
from adjoint.ir.kernel.sizes import SizeRecord
from adjoint.ir.op import Op, registry
from adjoint.ir.types import F32, F64, I32, I64, TensorType, tensor

GROWTH = (1, 30, 2000)
"""By how much the sizes of a sample grow."""
MOST = 10**8
"""Bytes of the operands that are tried."""


def samples(kind: type[Op]) -> Iterator[tuple[Op, list[TensorType]]]:
    for sample in kind.samples:
        types = [type_ for type_ in sample.operands if isinstance(type_, TensorType)]
        if kind.lower is not Op.lower and len(types) == len(sample.operands):
            yield kind(**sample.attributes), types


def grown(op: Op, types: list[TensorType]) -> Iterator[tuple[list[TensorType], Any]]:
    """Operand and result types in which one size, wherever it stands, has become another one."""
    for size in sorted({size for type_ in types for size in type_.sizes}):
        for other in (0, 1, *(size + growth for growth in GROWTH)):
            changed = [tensor(type_.dtype, [other if each == size else each for each in type_.sizes]) for type_ in types]
            if other == size or sum(type_.nbytes for type_ in changed) > MOST:
                continue
            try:
                yield changed, op.result_types(changed, ())
            except (TypeError, ValueError):  # the op cannot have this size
                continue


LOWERED = [name for name, kind in sorted(registry().items()) if any(True for _ in samples(kind))]


@pytest.mark.parametrize("name", LOWERED)
def test_a_recipe_makes_the_kernel_that_lower_makes(name: str) -> None:
    for op, types in samples(registry()[name]):
        results: Any = op.result_types(types, ())
        for work in (0, PLAIN_WORK) if lower(op, types, results).two_forms else (0,):
            recipe = recorded(op, types, results, work)
            assert recipe.kernel == recipe.for_sizes(form_of(op, types, results)[1]) == lower(op, types, results, plain_work=work)
            for others, their_results in grown(op, types):
                form, sizes = form_of(op, others, their_results)
                assert form == form_of(op, types, results)[0]
                made = recipe.for_sizes(sizes)
                assert made is None or made == lower(op, others, their_results, plain_work=work), (op, others)


BATCHES: dict[str, tuple[dict[str, Any], Callable[[int], list[tuple[int, ...]]]]] = {
    "add": ({}, lambda n: [(n, 10), (10,)]),
    "tanh": ({}, lambda n: [(n, 10)]),
    "matmul": ({}, lambda n: [(n, 784), (784, 256)]),
    "convolution": ({}, lambda n: [(n, 6, 14, 14), (16, 6, 5, 5)]),
    "max_pool": ({"kernel": (2, 2), "stride": (2, 2)}, lambda n: [(n, 6, 28, 28)]),
    "sum": ({"axes": (0,)}, lambda n: [(n, 10)]),
    "softmax": ({"axis": 1}, lambda n: [(n, 10)]),
    "transpose": ({"permutation": (1, 0)}, lambda n: [(n, 10)]),
    "slice": ({"start": (3, 0), "stop": (7, 10), "step": (1, 1)}, lambda n: [(n, 10)]),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_of_another_size_needs_no_lowering(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered: list[Op] = []

    def counted(op: Op, *args: Any, **named: Any) -> Any:
        lowered.append(op)
        return lower(op, *args, **named)

    monkeypatch.setattr(recipes, "families", Table("recipes of this test", Budget()))
    monkeypatch.setattr(recipes, "lower", counted)
    attributes, shapes = BATCHES[name]
    op = registry()[name](**attributes)
    for n in (32, 24, 30, 29, 17):
        types = [tensor(F32, shape) for shape in shapes(n)]
        results: Any = op.result_types(types, ())
        assert kernel_of(op, types, results) == lower(op, types, results)
    assert len(lowered) == 2  # the first as it is, the second with recorded sizes


def test_forms_that_differ_in_little_have_recipes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """In numbers that Python calls equal, in the dtype of an operand, in that of a result, and in whether the kernel is plain."""
    monkeypatch.setattr(recipes, "families", Table("recipes of this test", Budget()))
    numbers = (0.0, -0.0, 0, False)
    ops = [(registry()["one_hot"](depth=3, axis=1, to=to, on=on, off=0.0), dtype)
           for on in numbers for to in (F32, F64) for dtype in (I32, I64)]
    for n in (4, 5, 6, 7):
        for op, dtype in ops:
            types = [tensor(dtype, (n,))]
            results: Any = op.result_types(types, ())
            assert kernel_of(op, types, results) == lower(op, types, results), (n, op)
        product, types = registry()["matmul"](), [tensor(F32, (200 + n, 300)), tensor(F32, (300, 200))]
        results = product.result_types(types, ())
        for work in (0, PLAIN_WORK):
            assert kernel_of(product, types, results, work) == lower(product, types, results, plain_work=work)


# -- what is recorded ------------------------------------------------------------------------------------------------------
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "computed": lambda n: (n * 3 + 2) // 4 - n % 5,
    "computed from the right": lambda n: 100 - (7 * (3 + n)) // 2 + 1000 // n + 17 % n,
    "signs": lambda n: -n + abs(n - 8) + (+n),
    "divmod": lambda n: sum(divmod(n, 3)) + sum(divmod(100, n)),
    "least": lambda n: min(n, 8) + max(n, 4),
    "condition": lambda n: n * 2 if n > 8 else n,
    "chain": lambda n: 1 if 3 < n <= 9 else 2,
    "equality": lambda n: 1 if n == 8 else 2 if n != 9 else 3,
    "truth": lambda n: 1 if n - 8 else 2,
    "infinity": lambda n: n if n < math.inf else 0,
    "a loop": lambda n: sum(range(n)),
    "an index": lambda n: (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120)[n],
    "a text": lambda n: len(f"{n}{n!r}{n!s}{n:4d}"),
    "a float": lambda n: int(float(n) * 1.5 + n / 3 + 3 / n),
    "a power": lambda n: n**2 + 2**n,
    "bits": lambda n: (n & 3) + (n | 4) + (n ^ 1) + (n << 2) + (n >> 1) + (12 & n) + (1 << n) + n.bit_length() + ~n,
    "rounded": lambda n: round(n, -1) + math.ceil(n) + math.floor(n) + math.trunc(n),
    "a product": lambda n: math.prod((n, 3, n)) + math.gcd(n, 6) + math.isqrt(n),
    "is it an int": lambda n: n if isinstance(n, int) else -1,
    "in a tuple": lambda n: 1 if n in (3, 8) else 2,
    "halved as long as it goes": lambda n: _halvings(n),
}


def _halvings(n: Any) -> int:
    count = 0
    while n > 1:
        n, count = n // 2, count + 1
    return count


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_follows_from_a_size(name: str) -> None:
    """Another number gives what Python computes of it, or it is known that the answers would be others."""
    question = QUESTIONS[name]
    for first in (8, 5, 11):
        record = SizeRecord([first])
        sizing = record.end([question(record.sizes[0])])
        assert sizing.numbers([first]) == [question(first)]
        for other in range(1, 12):
            assert sizing.numbers([other]) in (None, [question(other)])


def test_which_answers_are_needed() -> None:
    """What is only computed is no condition; a condition that was not asked is none."""
    for question, holds in (("computed", range(1, 100)), ("condition", range(9, 100)), ("a loop", [11]), ("equality", range(12, 99))):
        record = SizeRecord([11])
        sizing = record.end([QUESTIONS[question](record.sizes[0])])
        assert all(sizing.numbers([n]) == [QUESTIONS[question](n)] for n in holds), question
    assert sizing.numbers([8]) is sizing.numbers([9]) is None
    record = SizeRecord([12, 4])
    sizing = record.end([record.sizes[0] // record.sizes[1], 5])
    assert sizing.numbers([9, 2]) == [4, 5] and sizing.numbers([9, 0]) is None


def test_sizes_are_kept_in_no_table() -> None:
    (n,) = SizeRecord([8]).sizes
    for use in (lambda: {8: "eight"}.get(n), lambda: {n}, lambda: hash(n), lambda: hash((n, 1))):
        with pytest.raises(TypeError):
            use()
    known = tensor(F32, (n, 3))
    assert known.shape[0] is n and known.rank == 2 and known.count == 24
    assert tensor(F32, (8, 3)) is not known and all(type(size) is int for size in tensor(F32, (8, 3)).shape)


def test_a_record_that_has_ended_says_the_numbers() -> None:
    first, second = SizeRecord([8]), SizeRecord([5])
    (n,), (m,) = first.sizes, second.sizes
    assert first.end([n + 1]).numbers([3]) == [4]
    assert n + 1 == 9 and n > 7 and type(n * 2) is int
    sizing = second.end([n + m, m * n, n - m])
    assert sizing.numbers([6]) == [14, 48, 2]


@toy("secretive")
class Secretive(Op):
    """An op whose `lower` looks its size up in a table."""

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        factor = {4: 1.0, 5: 2.0}.get(x.count, 3.0)
        with k.stage(k.size(x.count), 100) as i:
            k.store(out, i, x[i] * factor)


def test_an_op_that_cannot_be_recorded_is_lowered() -> None:
    for n in (4, 5, 6, 4, 5):
        x = tensor(F32, (n,))
        assert kernel_of(Secretive(), [x], [x]) == lower(Secretive(), [x], [x])
