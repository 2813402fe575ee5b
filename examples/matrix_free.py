"""Solvers that need products with a Hessian, never the Hessian: conjugate gradients and power iteration on `hvp`.

A logistic regression is fitted by Newton's method, whose steps conjugate gradients find; power iteration finds the largest curvature at
the end. Both are compared with `hessian`. A hook shows how quickly the gradient vanishes.

    adjoint run examples/matrix_free.py [--graph] [--epochs 6]
"""

import argparse

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops


def conjugate_gradients(product, b, tolerance=1e-5, rounds=100):
    """Return x with A x = b and the number of rounds, for a positive definite A that is known by its product with a vector."""
    x, rest = ops.zeros_like(b), b
    way, size = b, (b * b).sum()
    enough, done = tolerance**2 * size, 0
    while size > enough and done < rounds:
        along = product(way)
        length = size / (way * along).sum()
        x, rest = x + length * way, rest - length * along
        before, size = size, (rest * rest).sum()
        way = rest + size / before * way
        done += 1
    return x, done


def largest_eigenvalue(product, v, tolerance=1e-5, rounds=500):
    """Return the eigenvalue of the largest size, of a symmetric A that is known by its product with a vector, and the number of rounds."""
    value, done, change = ops.zeros(()), 0, 1.0
    while change > tolerance and done < rounds:
        v = v / ops.norm(v)
        along = product(v)
        before, value = value, (v * along).sum()
        change = ops.abs(value - before) / ops.abs(value)
        v = along
        done += 1
    return value, done


def main():
    parser = argparse.ArgumentParser(description="Newton's method without a matrix")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)

    noise = np.random.default_rng(4)
    x = (noise.standard_normal((200, 12)) * np.geomspace(0.3, 2, 12)).astype(np.float32)
    truth = noise.standard_normal(12)
    y = (noise.random(200) < 1 / (1 + np.exp(-x @ truth))).astype(np.float32)
    x, y = Tensor(x), Tensor(y)

    def energy(w):
        score = x @ w
        return (ops.softplus(score) - y * score).mean() + 0.005 * (w * w).sum()

    def curvature(w):
        return lambda v: ms.hvp(energy, w, v)[1]

    w = ops.zeros(12)
    for epoch in range(args.epochs):
        gradient = ms.grad(energy)(w)
        step, rounds = conjugate_gradients(curvature(w), gradient)
        print(f"step {epoch}: energy {float(energy(w)):.5f}, gradient {float(ops.norm(gradient)):.6f}, rounds {rounds}")
        w = w - step

    seen = []
    hook = ops.HookBackward(lambda gradient: seen.append(float(ops.norm(gradient[0]))))
    ms.grad(lambda w: energy(hook(w)))(w)
    print(f"gradient behind the hook: {'below 0.00001' if seen[0] < 1e-5 else seen[0]}")
    largest, rounds = largest_eigenvalue(curvature(w), ops.ones(12))
    exact = np.linalg.eigvalsh(ms.hessian(energy)(w).asnumpy())[-1]
    print(f"largest curvature {float(largest):.5f}, by the Hessian {exact:.5f}")
    print(f"ratio of the two: {float(largest) / exact:.3f}")


if __name__ == "__main__":
    main()
