"""The timed workloads in PyTorch; the same names as in `workloads_adjoint.py`."""

from __future__ import annotations

import sys

import nets_torch as nets
import numpy as np
import torch
from timing import serve


def cases():
    generator = np.random.default_rng(1)
    a, b = torch.arange(4, dtype=torch.float32), torch.ones(4)
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    found = {"add of 4 elements": lambda: a + b, "gradient of (x*y)*y": lambda: torch.autograd.grad((x * y) * y, (x, y))}
    found["LeNet-5 step, batch 32"] = nets.step_of(nets.lenet(), nets.images(32))
    hooked = nets.lenet()
    for module in hooked:
        module.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    found["LeNet-5 step, batch 32, 12 hooks"] = nets.step_of(hooked, nets.images(32))
    for batch in (1, 128):
        found[f"MLP step, batch {batch}"] = nets.step_of(nets.mlp(), generator.standard_normal((batch, 784)).astype(np.float32))
    for n in (32, 64, 128, 256, 512, 1024):
        p, q = (torch.from_numpy(generator.standard_normal((n, n)).astype(np.float32)) for _ in range(2))
        found[f"matmul n={n}"] = lambda p=p, q=q: p @ q
    left, right = (torch.from_numpy(generator.standard_normal(shape).astype(np.float32)) for shape in ((1024, 64), (64, 1024)))
    found["matmul 1024 x 1024, k=64"] = lambda: left @ right
    turned, columns = (torch.from_numpy(generator.standard_normal((1024, n)).astype(np.float32)) for n in (1024, 64))
    found["matmul 1024 x 64, k=1024, a transposed"] = lambda: turned.T @ columns
    images, filters = (
        torch.from_numpy(generator.standard_normal(shape).astype(np.float32)) for shape in ((8, 64, 56, 56), (64, 64, 3, 3)))
    leaves, ones = (images.clone().requires_grad_(), filters.clone().requires_grad_()), torch.ones(8, 64, 56, 56)
    found["convolution 8x64x56x56, 3x3"] = lambda: torch.conv2d(images, filters, padding=1)
    found["convolution 8x64x56x56, 3x3, with both gradients"] = lambda: torch.autograd.grad(
        torch.conv2d(*leaves, padding=1), leaves, ones)
    many = torch.from_numpy(generator.standard_normal(100000).astype(np.float32))
    for function in (torch.exp, torch.sigmoid, torch.tanh):
        found[f"{function.__name__} of 100000 floats"] = lambda function=function: function(many)
    square = torch.from_numpy(generator.standard_normal((4096, 4096)).astype(np.float32))
    found["sum over rows, 4096 x 4096"] = lambda: square.sum(0)
    row, weight = (torch.from_numpy(generator.standard_normal(shape).astype(np.float32)) for shape in ((1, 784), (256, 784)))
    found["one row by a transposed matrix, 784 x 256"] = lambda: row @ weight.T
    rows, cotangent = (torch.from_numpy(generator.standard_normal((4096, 1024)).astype(np.float32)) for _ in range(2))
    rows.requires_grad = True
    found["gradient of softmax, 4096 x 1024"] = lambda: torch.autograd.grad((torch.softmax(rows, -1) * cotangent).sum(), rows)
    layer = torch.nn.LayerNorm(1024)
    found["gradients of layer norm, 4096 x 1024"] = lambda: torch.autograd.grad(
        (layer(rows) * cotangent).sum(), (rows, layer.weight, layer.bias))
    return found


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]))
    serve(cases(), int(sys.argv[1]))
