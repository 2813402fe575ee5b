"""A net that knows the digits 0 to 4 learns 5 to 9 by a new last layer alone: its other layers come from a checkpoint and are frozen.

Hooks show which layers the gradient still reaches: it is not computed any further than somebody needs it.

    adjoint run examples/transfer_learning.py [--graph] [--epochs 4]
"""

import argparse
import tempfile
from pathlib import Path

import mindspore as ms
import mindspore.nn as nn
from digits import digits
from mindspore.train import LossMonitor, Model

LAYERS = ("conv1", "conv2", "head")


class Net(nn.Cell):
    """Two convolutions and a head of one dense layer: images [n, 1, 8, 8] to logits [n, num_classes]."""

    def __init__(self, num_classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, pad_mode="same", has_bias=True)
        self.conv2 = nn.Conv2d(16, 32, 3, pad_mode="same", has_bias=True)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()
        self.head = nn.Dense(32 * 2 * 2, num_classes)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.head(self.flatten(x))


def watch(net):
    """Count the gradients that come to each layer from behind; return the counts and the handles of the hooks."""
    counts = dict.fromkeys(LAYERS, 0)

    def hook(name):
        def count(cell, grad_input, grad_output):
            counts[name] += 1

        return count

    return counts, [getattr(net, name).register_backward_hook(hook(name)) for name in LAYERS]


def train(net, epochs, keep):
    """Train what is trainable of the net on five labels, those that `keep` is true of; return the accuracy on the test digits."""
    train_data, test_data = (
        digits(usage, keep=keep, batch_size=size).map(lambda label: label % 5, "label") for usage, size in (("train", 32), ("test", 30)))
    loss = nn.CrossEntropyLoss()
    model = Model(net, loss, nn.Adam(net.trainable_params(), learning_rate=0.005), metrics={"accuracy"})
    counts, handles = watch(net)
    model.train(epochs, train_data, callbacks=LossMonitor(train_data.get_dataset_size()))
    for handle in handles:
        handle.remove()
    print("gradients that reached", ", ".join(f"{name}: {count}" for name, count in counts.items()))
    return model.eval(test_data)["accuracy"]


def main():
    parser = argparse.ArgumentParser(description="Transfer learning on digits")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)

    print("0 to 4, all layers")
    net = Net()
    print(f"accuracy on 0 to 4: {train(net, args.epochs, lambda label: label < 5):.4f}")

    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, "known.ckpt"))
        ms.save_checkpoint(net, path)
        known = ms.load_checkpoint(path)
    for name in list(known):
        if name.startswith("head."):
            del known[name]

    print("5 to 9, the head alone")
    net = Net()
    missing, _ = ms.load_param_into_net(net, known)
    print("not in the checkpoint:", *missing)
    for param in net.get_parameters():
        param.requires_grad = param.name.startswith("head.")
    frozen = {param.name: param.asnumpy().copy() for param in net.get_parameters() if not param.requires_grad}
    accuracy = train(net, args.epochs, lambda label: label >= 5)
    same = all((param.asnumpy() == frozen[param.name]).all() for param in net.get_parameters() if param.name in frozen)
    print("frozen layers as they were:", same)
    print(f"accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
