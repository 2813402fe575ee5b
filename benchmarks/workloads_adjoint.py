"""The timed workloads in adjoint; the same names as in `workloads_torch.py`."""

from __future__ import annotations

import sys

import nets_adjoint as nets
import numpy as np
from timing import serve

import adjoint as ms
from adjoint import Tensor, nn, ops


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
    left, right = (Tensor(generator.standard_normal(shape).astype(np.float32)) for shape in ((1024, 64), (64, 1024)))
    found["matmul 1024 x 1024, k=64"] = lambda: ops.matmul(left, right)
    turned, columns = (Tensor(generator.standard_normal((1024, n)).astype(np.float32)) for n in (1024, 64))
    of_transposed = ops.MatMul(transpose_a=True)
    found["matmul 1024 x 64, k=1024, a transposed"] = lambda: of_transposed(turned, columns)
    images, filters = (Tensor(generator.standard_normal(shape).astype(np.float32)) for shape in ((8, 64, 56, 56), (64, 64, 3, 3)))
    convolution = ms.grad(lambda x, w: ops.conv2d(x, w, pad_mode="pad", padding=1), (0, 1))
    found["convolution 8x64x56x56, 3x3"] = lambda: ops.conv2d(images, filters, pad_mode="pad", padding=1)
    found["convolution 8x64x56x56, 3x3, with both gradients"] = lambda: convolution(images, filters)
    many = Tensor(generator.standard_normal(100000).astype(np.float32))
    for function in (ops.exp, ops.sigmoid, ops.tanh):
        found[f"{function.__name__} of 100000 floats"] = lambda function=function: function(many)
    square = Tensor(generator.standard_normal((4096, 4096)).astype(np.float32))
    found["sum over rows, 4096 x 4096"] = lambda: square.sum(0)
    row, weight = (Tensor(generator.standard_normal(shape).astype(np.float32)) for shape in ((1, 784), (256, 784)))
    found["one row by a transposed matrix, 784 x 256"] = lambda: ops.matmul(row, weight.T)
    rows, cotangent = (Tensor(generator.standard_normal((4096, 1024)).astype(np.float32)) for _ in range(2))
    softmax = ms.grad(lambda x: (ops.softmax(x, -1) * cotangent).sum())
    found["gradient of softmax, 4096 x 1024"] = lambda: softmax(rows)
    layer = nn.LayerNorm((1024,))
    norm = ms.grad(lambda x: (layer(x) * cotangent).sum(), 0, layer.trainable_params())
    found["gradients of layer norm, 4096 x 1024"] = lambda: norm(rows)
    return found


if __name__ == "__main__":
    ms.set_context(num_threads=int(sys.argv[1]))
    serve(cases(), int(sys.argv[1]))
