"""A net learns digits in half precision with gradients accumulated over small batches; a hook shows what the loss scale is for.

The loss is scaled so that small gradients do not vanish in Float16. A step whose gradients overflow changes no weight, only the scale.

    adjoint run examples/mixed_precision.py [--graph] [--epochs 4]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from digits import digits
from mindspore import ops
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision

ACCUMULATED = 4  # batches of a step


class Net(nn.Cell):
    """A convolution and two dense layers: images [n, 1, 8, 8] to logits [n, 10]."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, pad_mode="same")
        self.norm = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Dense(16 * 4 * 4, 64)
        self.fc2 = nn.Dense(64, 10)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.norm(self.conv(x))))
        return self.fc2(self.relu(self.fc1(self.flatten(x))))


class Accumulator:
    """Adds up gradients in Float32, and updates the weights with their mean behind each `count` batches."""

    def __init__(self, optimizer, count):
        self.optimizer = optimizer
        self.count = count
        self.inner_grads = optimizer.parameters.clone(prefix="accumulated_", init="zeros")
        self.counter = ms.Parameter(ms.Tensor(0, ms.int32), name="counter")
        self.assign_add = ops.AssignAdd()
        self.map_ = ops.HyperMap()

    def __call__(self, grads):
        """Add the gradients of a batch."""
        self.map_(ops.partial(self.assign_add), self.inner_grads, grads)
        self.assign_add(self.counter, ms.Tensor(1, ms.int32))
        if self.counter % self.count == 0:
            self.optimizer(self.map_(ops.partial(divide, self.count), self.inner_grads))
            self.map_(ops.partial(clear), self.inner_grads)


def divide(count, gradient):
    return gradient / count


def clear(gradient):
    return ops.assign(gradient, ops.zeros_like(gradient))


def main():
    parser = argparse.ArgumentParser(description="Mixed precision and gradient accumulation on digits")
    parser.add_argument("--graph", action="store_true", help="compile the training step")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    ms.set_seed(1)

    train_data, test_data = digits("train", batch_size=8), digits("test", batch_size=360)
    net = auto_mixed_precision(Net(), "O2")
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.1, momentum=0.9)
    accumulate = Accumulator(optimizer, ACCUMULATED)
    scaler = DynamicLossScaler(scale_value=2**20, scale_factor=2, scale_window=100)
    seen = []

    def measure(cell, grad_input, grad_output):
        """Keep the dtype, and which part of the gradient would be too small for all digits of Float16 without the scale."""
        gradient = grad_output[0].asnumpy().astype(np.float64)
        if np.isfinite(gradient).all():
            unscaled = abs(gradient / float(scaler.scale_value.asnumpy()))
            seen.append((str(grad_output[0].dtype), ((unscaled > 0) & (unscaled < 2**-14)).mean()))

    fc1 = next(cell for name, cell in net.cells_and_names() if name.endswith("fc1"))
    fc1.register_backward_hook(measure)

    def forward(x, label):
        return scaler.scale(loss_fn(net(x), label))

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)

    def train_step(x, label):
        loss, grads = grad_fn(x, label)
        grads = scaler.unscale(grads)
        finite = all_finite(grads)
        if finite:
            accumulate(grads)
        scaler.adjust(finite)
        return scaler.unscale((loss,))[0], finite

    if args.graph:
        train_step = ms.jit(train_step)

    for epoch in range(args.epochs):
        net.set_train()
        losses, skipped = [], 0
        for image, label in train_data.create_tuple_iterator(num_epochs=1):
            loss, finite = train_step(image, label)
            losses.append(float(loss))
            skipped += not bool(finite)
        net.set_train(False)
        image, label = next(test_data.create_tuple_iterator(num_epochs=1))
        accuracy = float((net(image).argmax(1) == label).astype(ms.float32).mean())
        dtypes = ", ".join(sorted({dtype for dtype, _ in seen}))
        small = np.mean([part for _, part in seen])
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, accuracy {accuracy:.3f}, scale {int(scaler.scale_value.asnumpy())}, "
              f"{skipped} of {len(losses)} batches overflowed")
        print(f"  gradients behind fc1 are {dtypes}; without the scale {small:.1%} of them would lose digits")
        seen.clear()
    print("weights:", *sorted({str(param.dtype) for param in net.trainable_params()}))
    print(f"accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
