"""A variational autoencoder learns to draw digits, and hooks show how its two losses pull at what the encoder says.

The code of an image is drawn from a normal distribution whose mean and width the encoder gives: the mean plus the width times noise, so
that the gradient passes the draw (Kingma and Welling 2013).

    adjoint run examples/variational_autoencoder.py [--graph] [--epochs 10]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from digits import digits
from mindspore import Tensor, ops


class VAE(nn.Cell):
    """Images [n, 1, 8, 8] to logits of their points [n, 64], and the mean and log variance [n, codes] of their codes."""

    def __init__(self, hidden=64, codes=8):
        super().__init__()
        self.flatten = nn.Flatten()
        self.encoder = nn.SequentialCell(nn.Dense(64, hidden), nn.ReLU())
        self.mean = nn.Dense(hidden, codes)
        self.log_variance = nn.Dense(hidden, codes)
        self.decoder = nn.SequentialCell(nn.Dense(codes, hidden), nn.ReLU(), nn.Dense(hidden, 64))

    def encode(self, x):
        hidden = self.encoder(self.flatten(x))
        return self.mean(hidden), self.log_variance(hidden)

    def construct(self, x):
        mean, log_variance = self.encode(x)
        code = mean
        if self.training:
            code = mean + ops.exp(log_variance / 2) * ops.standard_normal(mean.shape)
        return self.decoder(code), mean, log_variance


class Loss(nn.LossBase):
    """The cross entropy of the points, summed over an image, and the divergence of its code from a standard normal one."""

    def __init__(self):
        super().__init__("mean")
        self.entropy = nn.BCEWithLogitsLoss(reduction="none")

    def construct(self, outputs, x):
        logits, mean, log_variance = outputs
        entropy = self.entropy(logits, x.reshape(logits.shape)).sum(1)
        divergence = -0.5 * (1 + log_variance - mean**2 - ops.exp(log_variance)).sum(1)
        return self.get_loss(entropy + divergence)


class NetWithLoss(nn.Cell):
    """The loss of a batch of images."""

    def __init__(self, net, loss_fn):
        super().__init__(auto_prefix=False)
        self.net = net
        self.loss_fn = loss_fn

    def construct(self, x):
        return self.loss_fn(self.net(x), x)


def main():
    parser = argparse.ArgumentParser(description="A variational autoencoder of digits")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)

    train_data, test_data = digits("train"), digits("test", batch_size=360)
    test_images = next(test_data.create_dict_iterator(num_epochs=1))["image"]
    net, loss_fn = VAE(), Loss()
    pulls = {"mean": [], "log_variance": []}

    def hook(norms):
        def measure(cell, grad_input, grad_output):
            norms.append(np.linalg.norm(grad_output[0].asnumpy(), axis=1).mean())

        return measure

    for name, norms in pulls.items():
        getattr(net, name).register_backward_hook(hook(norms))

    step = nn.TrainOneStepCell(NetWithLoss(net, loss_fn), nn.Adam(net.trainable_params(), learning_rate=0.003))
    for epoch in range(args.epochs):
        step.set_train()
        losses = [float(step(row["image"])) for row in train_data.create_dict_iterator(num_epochs=1)]
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}; gradient by",
              ", ".join(f"{name} {np.mean(norms):.5f}" for name, norms in pulls.items()))
        for norms in pulls.values():
            norms.clear()

    step.set_train(False)
    logits, mean, _ = net(test_images)
    drawn = ops.sigmoid(logits).asnumpy()
    points = test_images.asnumpy().reshape(360, 64)
    print("a digit, and what its code gives back")
    for before, after in zip(points[0].reshape(8, 8), drawn[0].reshape(8, 8)):
        print("   ", *("".join(" .:*#"[min(int(value * 5), 4)] * 2 for value in row) for row in (before, after)), sep="    ")

    # On digits that were not seen: 0 is what their mean image would explain, 1 is all.
    explained = 1 - ((drawn - points) ** 2).sum() / ((points - points.mean(0)) ** 2).sum()
    middle = ops.sigmoid(net.decoder(Tensor(np.zeros((1, mean.shape[1])), ms.float32)))
    print(f"the code 0 draws points of {float(middle.mean()):.3f} on average, the digits have {points.mean():.3f}")
    print(f"variance explained: {explained:.4f}")


if __name__ == "__main__":
    main()
