"""Calls of transformations as formulas, which JAX, PyTorch and this library compute with functions of their own.

A formula is a Python expression in x (and y); `FORMULAS` gives it with its operands.  `CALLS` says how a transformation is called, by
names that each framework defines: `f` is the function, `xs` are three examples of x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FILE", "answers"]

FILE = Path(__file__).with_name("transformations.json")

FORMULAS: dict[str, str] = {
    "elementwise": "sin(x) * x + exp(x)",
    "broadcast": "x[:, None] * x + x",
    "product": "(x[:, None] * w).sum(0)",
    "scalar": "(x * x * x).sum()",
    "mixed": "x[0] * x[1] * x[2] + cos(x[0])",
    "quotient": "x / (1.0 + x * x)",
    "root": "sqrt(1.0 + (x * x).sum())",
    "logarithm": "log(1.0 + x * x) * x[1]",
    "hyperbolic": "tanh(x[::1] * 2.0).sum() * x",
    "matrix": "w @ x",
    "quadratic": "(x * (w @ x)).sum()",
    "maximum": "x.max() * x",
    "kink": "abs(x) * x[2]",
    "powers": "x ** 3 - 2.0 * x ** 2",
    "constant": "x * 0.0 + 1.0",
}

CALLS: dict[str, str] = {
    "vmap": "vmap(f)(xs)",
    "vmap, last axis": "vmap(f, 1, -1)(xs.T)",
    "vmap of vmap": "vmap(vmap(f))(stack([xs, xs * 2.0]))",
    "jacrev": "jacrev(f)(x)",
    "jacfwd": "jacfwd(f)(x)",
    "hessian": "hessian(f)(x)",
    "vjp": "vjp(f, x)",
    "jvp": "jvp(f, x, x * 0.5 + 1.0)",
    "vmap of jacrev": "vmap(jacrev(f))(xs)",
    "jacfwd of vmap": "jacfwd(vmap(f))(xs)",
}

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75], [-0.5, 0.0, 3.0]], np.float32)
W = np.array([[1.0, 0.5, -1.0], [0.25, -2.0, 1.5], [0.75, 1.0, 0.125]], np.float32)


def answers(names: Mapping[str, Any], tensor: Any, array: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of each call and its result, as nested lists of numbers.

    names   what formulas and calls are written with: sin, vmap and so on; `vjp(f, x)` is the product of the pullback with ones of the
            result, `jvp(f, x, v)` the tangent
    tensor  makes a tensor of an array, and `array` an array of a tensor
    """
    for formula, text in FORMULAS.items():
        space = {**names, "w": tensor(W), "x": tensor(X[0]), "xs": tensor(X)}
        space["f"] = eval(f"lambda x: {text}", space)
        for call, how in CALLS.items():
            yield f"{call}: {formula}", np.asarray(array(eval(how, space)), np.float64).tolist()
