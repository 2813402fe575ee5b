"""Functions of more than one step whose steps would leave the range of the dtype, while the answer does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, grad, ops


def halves(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float16))


def singles(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


VALUES: dict[str, tuple[Callable[[], Tensor], Any]] = {
    "norm of halves": (lambda: ops.norm(halves(300, 400)), 500.0),
    "norm of large numbers": (lambda: ops.norm(singles(3e20, 4e20)), 5e20),
    "norm of small numbers": (lambda: ops.norm(singles(3e-27, 4e-27)), 5e-27),
    "norm of order 3": (lambda: ops.norm(singles(3e-20, 4e-20), 3), 91 ** (1 / 3) * 1e-20),
    "std of halves": (lambda: ops.std(halves(0, 1000)), 500.0),
    "std of small numbers": (lambda: ops.std(singles(1e-27, 3e-27)), 1e-27),
    "var of many halves": (lambda: ops.var(halves(*[0, 60] * 50)), 900.0),
    "cosine similarity of halves": (lambda: ops.cosine_similarity(halves(300, 400), halves(300, 400), 0), 1.0),
    "cosine similarity of large numbers": (lambda: ops.cosine_similarity(singles(3e20, 4e20), singles(4e20, 3e20), 0), 0.96),
    "clipping halves": (lambda: ops.clip_by_global_norm([halves(300, 400)], 1.0)[0], [0.6, 0.8]),
    "softplus without a threshold": (lambda: ops.softplus(singles(100, 800), threshold=math.inf), [100.0, 800.0]),
    "logsigmoid": (lambda: ops.logsigmoid(singles(-1000, 1000)), [-1000.0, 0.0]),
    "logsumexp": (lambda: ops.logsumexp(singles(1000, 1000), 0), 1000 + math.log(2)),
    "sinh": (lambda: ops.sinh(singles(89, -89)), [2.2448064e38, -2.2448064e38]),
    "cosh": (lambda: ops.cosh(singles(89)), [2.2448064e38]),
    "sinh of halves": (lambda: ops.sinh(halves(11.5, -11.5)), [49357.0, -49357.0]),
    "sinh of doubles": (lambda: ops.sinh(Tensor(np.array([710.0]))), [1.1169973830808557e308]),
    "erfc": (lambda: ops.erfc(singles(5, 9)), [1.5374597944280349e-12, 4.1370317465138103e-37]),
    "log2 of a power": (lambda: ops.log2(singles(2.0**-149, 2.0**127)), [-149.0, 127.0]),
    "exp2 to a subnormal": (lambda: ops.exp2(singles(-149, 127)), [2.0**-149, 2.0**127]),
}

SLOPES: dict[str, tuple[Callable[[Tensor], Tensor], Tensor, Any]] = {
    "sinh": (ops.sinh, singles(89, -89), [2.2448064e38] * 2),
    "cosh": (ops.cosh, singles(89, -89), [2.2448064e38, -2.2448064e38]),
    "sinh of halves": (ops.sinh, halves(11.5), [49357.0]),
    "atan of halves": (ops.atan, halves(300, -300, 0.5), [1 / 90001, 1 / 90001, 0.8]),
    "atan2 of large numbers": (lambda x: ops.atan2(x, 1e20), singles(1e20), [5e-21]),
    "atan2 of small numbers": (lambda x: ops.atan2(1e-30, x), singles(1e-30), [-5e29]),
    "norm of small numbers": (ops.norm, singles(3e-27, 4e-27), [0.6, 0.8]),
    "std of small numbers": (ops.std, singles(1e-27, 3e-27), [-0.5, 0.5]),
    "logsigmoid": (ops.logsigmoid, singles(-1000, 1000), [1.0, 0.0]),
    "softplus": (lambda x: ops.softplus(x, threshold=math.inf), singles(-800, 800), [0.0, 1.0]),
    "logsumexp": (lambda x: ops.logsumexp(x, 0), singles(1000, 1000), [0.5, 0.5]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    compute, wanted = VALUES[name]
    got = compute()
    assert got.asnumpy().astype(float) == pytest.approx(np.array(wanted), rel=2e-3 if got.itemsize == 2 else 1e-6, abs=0)


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str) -> None:
    function, x, wanted = SLOPES[name]
    slope = grad(lambda x: function(x).sum())(x)
    assert slope.dtype is x.dtype
    half = x.itemsize == 2
    assert slope.asnumpy().astype(float) == pytest.approx(np.array(wanted), rel=2e-3 if half else 1e-6, abs=2.0**-24 if half else 0)
