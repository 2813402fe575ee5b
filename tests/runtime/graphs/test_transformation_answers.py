"""Transformations against what JAX and PyTorch answer to the same calls: `tests/oracle/record_transformations.py` records them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import Tensor, ops
from tests.oracle.transformation_calls import FILE, answers

DIFFERENT = {("jax", "vmap of jacrev: kink"), ("jax", "jacfwd of vmap: kink")}
"""The slope of `abs` at 0 is 0, as MindSpore and PyTorch have it; JAX has 1."""


def test_the_answers_of_jax_and_pytorch() -> None:
    names: dict[str, Any] = {name: getattr(ops, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "stack")}
    names |= {name: getattr(ms, name) for name in ("vmap", "jacrev", "jacfwd", "hessian")}

    def vjp(f: Any, x: Tensor) -> Any:
        result, pull = ms.vjp(f, x)
        return pull(ops.ones_like(result))

    names |= {"vjp": vjp, "jvp": lambda f, x, v: ms.jvp(f, x, v)[1]}
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    wrong: list[str] = []
    for call, ours in answers(names, Tensor, lambda x: (x[0] if isinstance(x, tuple) else x).asnumpy()):
        for who, part in recorded.items():
            theirs = np.array(part[call])
            if (who, call) in DIFFERENT:
                continue
            if np.shape(ours) != theirs.shape or not np.allclose(ours, theirs, rtol=2e-5, atol=2e-5):
                wrong.append(f"{call}: {ours}, but {who} gives {part[call]}")
    assert not wrong, "\n".join(wrong)
    assert sum(len(part) - 1 for part in recorded.values()) >= 300, "nothing is recorded"
