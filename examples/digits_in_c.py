"""LeNet-5 is written and debugged here, and learns the digits in C: `digits_in_c.c` calls the exported training step.

    ADJOINT_CPU=baseline python examples/digits_in_c.py [EPOCHS]

writes `out/digits_in_c/`: the network as C, and the digits in the order of the training.  Then both train from the same first weights,
and print the same losses: in C the bits are those of the kernels for any processor, which ADJOINT_CPU=baseline chooses here.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from lenet_digits import LeNet5, digits, say

import adjoint as ms
from adjoint import Tensor, nn

OUT, C = Path("out") / "digits_in_c", Path(__file__).with_suffix(".c")
BATCH = 32


def main(epochs=3):
    ms.set_seed(1)
    (images, labels), (test_images, test_labels) = digits()
    net, loss = LeNet5(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)
    value_and_gradients = ms.value_and_grad(lambda images, labels: loss(net(images), labels), None, optimizer.parameters)

    def step(images, labels):
        value, gradients = value_and_gradients(images, labels)
        optimizer(gradients)
        return value

    first = Tensor(images[:BATCH]), Tensor(labels[:BATCH])
    ms.export(step, *first, file_name=str(OUT / "lenet"), also={"predict": (net, Tensor(test_images[:1]))}, force=True)
    shuffle = np.random.default_rng(2)
    order = np.concatenate([shuffle.permutation(len(labels))[: len(labels) // BATCH * BATCH] for _ in range(epochs)])
    written(OUT / "train.bin", images[order], labels[order])
    written(OUT / "test.bin", test_images, test_labels)

    lines, train = [], ms.jit(step)
    for epoch in np.array_split(order, epochs):
        losses = [train(Tensor(images[chosen]), Tensor(labels[chosen])).asnumpy() for chosen in epoch.reshape(-1, BATCH)]
        lines.append(f"loss {np.sum(losses, dtype=np.float64) / len(losses):.9f}")
    right = int((net.set_train(False)(Tensor(test_images)).asnumpy().argmax(1) == test_labels).sum())
    lines.append(f"{right} of {len(test_labels)} digits right")
    say("\n".join(["in Python:", *lines]))

    if shutil.which("cc") is None:
        say("there is no C compiler to train with")
        return
    sources = [str(path) for path in (C, OUT / "lenet.c", OUT / "lenet_weights.c")]
    subprocess.run(["cc", "-std=c99", "-O2", f"-I{OUT}", *sources, "-o", str(OUT / "digits")], check=True)
    done = subprocess.run([OUT / "digits", OUT / "train.bin", OUT / "test.bin", str(epochs)], capture_output=True, text=True, check=True)
    say(f"in C:\n{done.stdout.rstrip()}")
    say(f"the same: {done.stdout.splitlines() == lines}")


def written(path, images, labels):
    """Write digits as C reads them: the label, then 8 x 8 pixels of 0..16, a byte each."""
    pixels = ((images[:, 0, ::4, ::4] + 1) * 8).astype(np.uint8).reshape(len(labels), 64)
    path.write_bytes(np.concatenate([labels.astype(np.uint8)[:, None], pixels], 1).tobytes())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
