"""A small ResNet with BatchNorm learns digits, and hooks compare the gradients before and behind each residual block.

    adjoint run examples/resnet_digits.py [--graph] [--epochs 4]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
from digits import digits
from mindspore import ops
from mindspore.train import Callback, LossMonitor, Model


def conv3x3(in_channels, out_channels, stride=1):
    return nn.Conv2d(in_channels, out_channels, 3, stride=stride, pad_mode="same", weight_init="HeNormal")


class ResidualBlock(nn.Cell):
    """Two convolutions beside a shortcut, which is the identity where the shape stays (He et al. 2015)."""

    def __init__(self, in_channels, out_channels, stride=1):
        super().__init__()
        self.conv1 = conv3x3(in_channels, out_channels, stride)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = conv3x3(out_channels, out_channels)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU()
        self.down_sample = None
        if stride != 1 or in_channels != out_channels:
            self.down_sample = nn.SequentialCell(
                nn.Conv2d(in_channels, out_channels, 1, stride=stride, weight_init="HeNormal"), nn.BatchNorm2d(out_channels))

    def construct(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        return self.relu(out + identity)


class ResNet(nn.Cell):
    """A stem and one residual block for each number of channels: images [n, 1, h, w] to logits [n, num_classes]."""

    def __init__(self, channels=(8, 16, 32), num_classes=10):
        super().__init__()
        self.conv1 = conv3x3(1, channels[0])
        self.bn1 = nn.BatchNorm2d(channels[0])
        self.relu = nn.ReLU()
        self.blocks = nn.SequentialCell([
            ResidualBlock(before, after, stride=1 if i == 0 else 2)
            for i, (before, after) in enumerate(zip((channels[0], *channels), channels))])
        self.mean = ops.ReduceMean(keep_dims=False)
        self.fc = nn.Dense(channels[-1], num_classes)

    def construct(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.blocks(x)
        return self.fc(self.mean(x, (2, 3)))


class GradientFlow(Callback):
    """Print, behind each epoch, how the norm of the gradient changes on its way back through each block."""

    def __init__(self, blocks):
        super().__init__()
        self.ratios = [[] for _ in blocks]
        for block, ratios in zip(blocks, self.ratios):
            block.register_backward_hook(self.hook(ratios))

    @staticmethod
    def hook(ratios):
        def compare(cell, grad_input, grad_output):
            ratios.append(float(grad_input[0].norm() / grad_output[0].norm()))

        return compare

    def on_train_epoch_end(self, run_context):
        print("gradient before a block / behind it:", *(f"{sum(ratios) / len(ratios):.3f}" for ratios in self.ratios))
        for ratios in self.ratios:
            ratios.clear()


def main():
    parser = argparse.ArgumentParser(description="A ResNet on digits")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)

    train_data, test_data = digits("train"), digits("test", batch_size=60)
    net = ResNet()
    steps = train_data.get_dataset_size()
    rates = nn.cosine_decay_lr(0.001, 0.1, args.epochs * steps, steps, args.epochs)
    decayed = [p for p in net.trainable_params() if "bn" not in p.name and "bias" not in p.name]
    others = [p for p in net.trainable_params() if "bn" in p.name or "bias" in p.name]
    optimizer = nn.Momentum([{"params": decayed, "weight_decay": 1e-4}, {"params": others}, {"order_params": net.trainable_params()}],
                            learning_rate=rates, momentum=0.9)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, optimizer, metrics={"Top_1_Accuracy": nn.Top1CategoricalAccuracy(), "loss": nn.Loss()})
    model.fit(args.epochs, train_data, test_data, callbacks=[GradientFlow(net.blocks), LossMonitor(steps)])
    scores = model.eval(test_data)

    mean = net.bn1.moving_mean.asnumpy()
    print("running mean of the stem:", *(f"{value:.4f}" for value in mean))
    print(f"accuracy: {scores['Top_1_Accuracy']:.4f}")


if __name__ == "__main__":
    main()
