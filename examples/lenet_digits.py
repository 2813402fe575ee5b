"""LeNet-5 learns scikit-learn's 1,797 scanned digits in eager mode, and hooks report the norms of its gradients.

Every operator is an emitted C kernel, the gradient an adjoint graph of the same IR.  Afterwards the adjoint of the
network and a plot of the gradient norms lie in `out/`.

    python examples/lenet_digits.py [EPOCHS]
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

import adjoint as ms
from adjoint import Tensor, nn

OUT = Path("out")
LAYERS = ("conv1", "conv2", "fc1", "fc2", "fc3")


class LeNet5(nn.Cell):
    """Two convolutions with pooling, three dense layers (LeCun et al. 1998)."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


def digits():
    """Images [n, 1, 32, 32] in -1..1, labels [n]: a fixed split into 1,437 for training and 360 for testing."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = np.kron(data.images, np.ones((1, 4, 4))).astype(np.float32)[:, None] / 8 - 1
    labels = data.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:1437], order[1437:]
    return (images[train], labels[train]), (images[test], labels[test])


def watch(net, norms):
    """A backward hook on each layer: the norm of the gradient that flows into it from behind."""

    def hook(cell, grad_input, grad_output):
        norms[cell.title].append(float(np.linalg.norm(grad_output[0].asnumpy())))

    return [getattr(net, name).register_backward_hook(hook) for name in LAYERS]


def main(epochs=20, batch=32):
    console = Console()
    ms.set_seed(1)
    (images, labels), (test_images, test_labels) = digits()
    net, loss_fn = LeNet5(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), optimizer)
    norms = {name: [] for name in LAYERS}
    handles = watch(net, norms)

    say(f"LeNet-5 learns {len(labels)} digits in {epochs} epochs: loss, accuracy on {len(test_labels)} other digits, "
        "and the mean norm of the gradient behind each layer\n")
    say(f"{'epoch':>7} {'loss':>8} {'test':>7} " + " ".join(f"{name:>8}" for name in LAYERS))
    shuffle, begin = np.random.default_rng(2), time.perf_counter()
    for epoch in range(epochs):
        order = shuffle.permutation(len(labels))
        batches = [order[i : i + batch] for i in range(0, len(order) - batch + 1, batch)]
        net.set_train()
        first, losses = len(norms["fc3"]), []
        for chosen in track(batches, f"epoch {epoch + 1}/{epochs}", console=console, transient=True, disable=not console.is_terminal):
            losses.append(float(step(Tensor(images[chosen]), Tensor(labels[chosen]))))
        net.set_train(False)
        predicted = net(Tensor(test_images)).asnumpy().argmax(1)
        accuracy = (predicted == test_labels).mean()
        say(f"{f'{epoch + 1}/{epochs}':>7} {np.mean(losses):8.4f} {accuracy:7.1%} "
            + " ".join(f"{np.mean(norms[name][first:]):8.4f}" for name in LAYERS))
    seconds = time.perf_counter() - begin
    for handle in handles:
        handle.remove()
    say(f"\n{accuracy:.1%} of {len(test_labels)} test digits right after {seconds:.1f} s of training")

    OUT.mkdir(exist_ok=True)
    written = [dump(OUT / "lenet_adjoint.ir"), plot(norms, OUT / "gradient_norms.png")]
    for what, path in written:
        say(f"{what}: {path}")
    return accuracy


def say(line):
    """Show a line at once, also where the output is no terminal."""
    print(line, flush=True)


def dump(path):
    """The adjoint of the network, as the command prints it."""
    command = [sys.executable, "-m", "adjoint", "dump-ir", f"{__file__}:LeNet5", "--args", "f32[32, 1, 32, 32]", "--stage", "adjoint"]
    path.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return "adjoint of the network", path


def plot(norms, path):
    """Gradient norms over the steps, one line a layer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for name, values in norms.items():
        smooth = np.convolve(values, np.ones(20) / 20, mode="valid")
        axes.plot(smooth, label=name)
    axes.set(xlabel="step", ylabel="norm of the gradient (mean of 20 steps)", yscale="log",
             title="LeNet-5 on digits, seen by backward hooks")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    return "gradient norms over the steps", path


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
