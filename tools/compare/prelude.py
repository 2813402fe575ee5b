"""What examples use and do not define: a small network, and a data set that fits it.  Read by both interpreters."""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn


class LeNet5(nn.Cell):
    """A network for images of 32 by 32 pixels, in ten classes."""

    def __init__(self, num_class: int = 10, num_channel: int = 1, include_top: bool = True):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.include_top = include_top
        self.fc1 = nn.Dense(16 * 5 * 5, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, num_class)

    def construct(self, x: Any) -> Any:
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.flatten(self.max_pool2d(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x))))) if self.include_top else x


def create_dataset(num_data: int = 64, batch_size: int = 32, **_: Any) -> Any:
    """Return batches of such images, with their classes."""
    numbers = np.random.default_rng(1)
    rows = [(numbers.normal(size=(1, 32, 32)).astype(np.float32), np.int32(numbers.integers(10))) for _ in range(num_data)]
    return ds.GeneratorDataset(rows, ["data", "label"], shuffle=False).batch(batch_size)


NAMES = {"LeNet5": LeNet5, "create_dataset": create_dataset, "mindspore": ms, "ms": ms, "np": np, "nn": nn, "ops": ms.ops, "ds": ds,
         "Tensor": ms.Tensor}
