"""The timed workloads in adjoint; the same names as in `workloads_torch.py`."""

from __future__ import annotations

import sys

import nets_adjoint as nets
import numpy as np
from timing import serve

import adjoint as ms
from adjoint import Tensor, ops


def cases():
    generator = np.random.default_rng(1)
    a, b = Tensor(np.arange(4, dtype=np.float32)), Tensor(np.ones(4, np.float32))
    x, y = Tensor(np.float32(2)), Tensor(np.float32(3))
    gradient = ms.grad(lambda x, y: (x * y) * y, (0, 1))
    found = {"add of 4 elements": lambda: a + b, "gradient of (x*y)*y": lambda: gradient(x, y)}
    found["LeNet-5 step, batch 32"] = nets.step_of(nets.LeNet(), nets.images(32))
    hooked = nets.LeNet()
    for cell in hooked.cells():
        cell.register_backward_hook(lambda cell, grad_input, grad_output: None)
    found["LeNet-5 step, batch 32, 12 hooks"] = nets.step_of(hooked, nets.images(32))
    for batch in (1, 128):
        found[f"MLP step, batch {batch}"] = nets.step_of(nets.mlp(), generator.standard_normal((batch, 784)).astype(np.float32))
    for n in (32, 64, 128, 256, 512, 1024):
        p, q = (Tensor(generator.standard_normal((n, n)).astype(np.float32)) for _ in range(2))
        found[f"matmul n={n}"] = lambda p=p, q=q: ops.matmul(p, q)
    return found


if __name__ == "__main__":
    ms.set_context(num_threads=int(sys.argv[1]))
    serve(cases())
