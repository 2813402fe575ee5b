"""Small calls in eager mode: what a warm call does in Python, counted by the functions that it enters, the launch included."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, mint, ops
from adjoint.mint.nn import functional

X, Y = Tensor(np.linspace(-2, 2, 12, dtype=np.float32)), Tensor(np.linspace(0, 3, 12, dtype=np.float32))
SPACE: dict[str, Any] = {
    "x": X, "y": Y, "m": X.reshape(3, 4), "j": Tensor(np.arange(12, dtype=np.int32)), "b": X > 0, "labels": Tensor([0, 3, 1]),
    "ops": ops, "mint": mint, "F": functional, "rows": Tensor([0, 2, 1]), "integers": Tensor(np.arange(12).reshape(3, 4)),
}

MOST = {
    # an operator with its launch, or with what looks up the plan
    "x + y": 2, "x * y": 2, "x - y": 3, "x % y": 3, "x / y": 4, "x / 3": 4, "x > y": 3, "-x": 3, "j & j": 4, "j | j": 4, "j ^ 3": 4,
    "b & b": 4,
    # a conversion: the method, `apply` and the launch
    "x.int()": 3, "x.half()": 3, "x.double()": 3, "b.float()": 3, "j.float()": 3, "x.float()": 1, "x.astype(ms.int32)": 6,
    # a function that is one op
    "ops.floor(x)": 3, "ops.exp(x)": 3, "ops.sigmoid(x)": 3, "ops.exp2(x)": 3, "ops.nextafter(x, y)": 3, "ops.logical_or(b, b)": 3,
    "ops.logical_not(b)": 3,
    # a function of several ops: one look-up, the call that was made for these types, the launch; a key for each number
    "F.relu(x)": 3, "F.relu6(x)": 3, "F.silu(x)": 3, "F.hardtanh(x)": 3, "F.softmax(m, -1)": 3, "F.nll_loss(m, labels)": 3,
    "F.pad(m, (1, 2))": 4, "mint.dot(x, y)": 3, "x[1:]": 5, "m[1:, :-1]": 7, "x.sum()": 3, "mint.index_add(m, 0, rows, m)": 3,
    "F.kl_div(x, y)": 3, "mint.clamp(x, -1.0, 1.0)": 5, "mint.gcd(j, j)": 3, "ops.lcm(j, j)": 3,
    # an operator whose result has a size that values decide: its launch, the number that it has found, and memory of that size
    "x[b]": 13, "ops.masked_select(x, b)": 17, "ops.nonzero(b)": 16, "ops.unique(j)": 20, "mint.bincount(labels)": 13,
}
"""For each call the largest number of Python functions that it enters, without comprehensions."""


@pytest.fixture(autouse=True)
def _kernels_are_waited_for() -> Iterator[None]:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)


def entered(code: Any, space: dict[str, Any]) -> list[str]:
    """Return the names of the functions that a warm call enters."""
    for _ in range(5):
        eval(code, space)
    names: list[str] = []
    sys.setprofile(lambda frame, event, argument: names.append(frame.f_code.co_name) if event == "call" else None)
    try:
        eval(code, space)
    finally:
        sys.setprofile(None)
    return [name for name in names if not re.fullmatch(r"<listcomp>|<module>", name)]


def test_a_small_call_does_little_in_python() -> None:
    space = {**SPACE, "ms": ms}
    more = {call: names for call, most in MOST.items() if len(names := entered(compile(call, "<call>", "eval"), space)) > most}
    assert not more


def test_operators_of_bools_and_integers_keep_their_dtypes() -> None:
    """A bool beside a bool is logical, every other pair is bitwise in the common dtype."""
    bools, integers = Tensor([True, False]), Tensor(np.array([5, 6], np.int32))
    for given, expected in {
        "b & b": (ms.bool_, [True, False]), "b | True": (ms.bool_, [True, True]), "b & 3": (ms.int64, [1, 0]), "3 & b": (ms.int64, [1, 0]),
        "j & b": (ms.int32, [1, 0]), "b ^ j": (ms.int32, [4, 6]), "j | 8": (ms.int32, [13, 14]), "8 | j": (ms.int32, [13, 14]),
        "j & (2 ** 40)": (ms.int32, [0, 0]), "j ^ True": (ms.int32, [4, 7]),
    }.items():
        found = eval(given, {"b": bools, "j": integers})
        assert (found.dtype, found.asnumpy().tolist()) == expected, given


def test_a_mask_selects_the_same_with_and_without_a_tape() -> None:
    x, mask = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)), Tensor([[True, False, True], [False, False, True]])
    assert x[mask].asnumpy().tolist() == [0.0, 2.0, 5.0]
    assert ms.grad(lambda x: (x[mask] * x[mask]).sum())(x).asnumpy().tolist() == [[0.0, 0.0, 4.0], [0.0, 0.0, 10.0]]
    assert x[Tensor(np.zeros((2, 3), bool))].shape == (0,)
    assert Tensor(np.array([1.5, 2.5], np.float32)).astype(ms.bfloat16)[Tensor([False, True])].dtype is ms.bfloat16
    assert Tensor(2.0)[Tensor(True)].asnumpy().tolist() == [2.0]
