"""LeNet-5 learns digits through `Model`, with a pipeline, callbacks, a metric and checkpoints, and a hook measures its gradients.

    adjoint run examples/lenet_model.py [--graph] [--epochs 5]
"""

import argparse
import tempfile
from pathlib import Path

import mindspore as ms
import mindspore.nn as nn
from digits import digits
from mindspore.common.initializer import Normal
from mindspore.train import Accuracy, Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint


class LeNet5(nn.Cell):
    """Two convolutions with pooling, three dense layers (LeCun et al. 1998): images [n, 1, 32, 32] to logits [n, 10]."""

    def __init__(self, num_class=10, num_channel=1):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 5 * 5, 120, weight_init=Normal(0.05))
        self.fc2 = nn.Dense(120, 84, weight_init=Normal(0.1))
        self.fc3 = nn.Dense(84, num_class, weight_init=Normal(0.1))

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


class GradientNorms(Callback):
    """Print, behind each epoch, the mean norm of the gradient that enters each layer from behind."""

    def __init__(self, net, names):
        super().__init__()
        self.norms = {name: [] for name in names}
        for name in names:
            getattr(net, name).register_backward_hook(self.hook(self.norms[name]))

    @staticmethod
    def hook(norms):
        def measure(cell, grad_input, grad_output):
            norms.append(float(grad_output[0].norm()))

        return measure

    def on_train_epoch_end(self, run_context):
        print("gradients:", ", ".join(f"{name} {sum(norms) / len(norms):.5f}" for name, norms in self.norms.items()))
        for norms in self.norms.values():
            norms.clear()


def main():
    parser = argparse.ArgumentParser(description="LeNet-5 on digits")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)

    train_data, test_data = digits("train", size=32), digits("test", size=32, batch_size=60)
    net = LeNet5()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, nn.Adam(net.trainable_params(), learning_rate=0.002), metrics={"accuracy": Accuracy()})

    with tempfile.TemporaryDirectory() as directory:
        steps = train_data.get_dataset_size()
        keep = ModelCheckpoint("lenet", directory, CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=2))
        model.train(args.epochs, train_data, callbacks=[GradientNorms(net, ["conv1", "conv2", "fc1", "fc3"]), LossMonitor(steps), keep])
        trained = model.eval(test_data)

        saved = sorted(path.name for path in Path(directory).glob("*.ckpt"))
        print("checkpoints:", *saved)
        fresh = LeNet5()
        ms.load_param_into_net(fresh, ms.load_checkpoint(str(Path(directory, saved[-1]))))
    loaded = Model(fresh, loss, metrics={"accuracy"}).eval(test_data)
    print("the checkpoint scores the same:", loaded == trained)
    print(f"accuracy: {trained['accuracy']:.4f}")


if __name__ == "__main__":
    main()
