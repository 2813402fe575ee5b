"""A small transformer learns to write words backwards, letter by letter, and a hook shows that no gradient comes from later letters.

The words are parts of names in Python's own standard library. A line is `start>trats.`, and each letter behind the mark is told from all
letters before it, by attention to the right place. The score is counted on words that the training did not see.

    adjoint run examples/transformer_text.py [--graph] [--epochs 4]
"""

import argparse
import inspect
import random
import re

import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, ops

LETTERS = " >.abcdefghijklmnopqrstuvwxyz"  # the first pads
SIZE = 5  # letters of a word
LENGTH = 2 * SIZE + 1  # letters of a line but the last


def lines():
    """Return lines `word>drow.` as Int32 [n, LENGTH + 1], of all parts of SIZE letters of the names in four modules, in a fixed order."""
    source = " ".join(inspect.getsource(module).lower() for module in (argparse, inspect, random, re))
    words = sorted({word[i : i + SIZE] for word in re.findall("[a-z]+", source) for i in range(len(word) - SIZE + 1)})
    random.Random(0).shuffle(words)
    return np.array([line_of(word) for word in words], np.int32)


def line_of(word):
    """Return the places in LETTERS of the letters of `word>drow.`."""
    return [LETTERS.index(letter) for letter in f"{word}>{word[::-1]}."]


class Transformer(nn.Cell):
    """Letters [n, t] to logits [n, t, letters] of the next ones; the attention of each is masked to itself and those before it."""

    def __init__(self, letters, length, width=48, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.places = ms.Parameter(Tensor(np.random.RandomState(0).randn(length, width) * 0.3, ms.float32), name="places")
        layer = nn.TransformerEncoderLayer(width, heads, dim_feedforward=2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm((width,)))
        self.dense = nn.Dense(width, letters)
        self.mask = Tensor(np.triu(np.ones((length, length), bool), 1))

    def construct(self, x):
        x = self.embedding(x) + self.places
        return self.dense(self.encoder(x, src_mask=self.mask))


def main():
    parser = argparse.ArgumentParser(description="A transformer on words")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)

    data = lines()
    border = len(data) * 9 // 10
    train_data = ds.NumpySlicesDataset(data[:border], ["line"], shuffle=True).batch(64, drop_remainder=True)
    held_out = data[border:]
    net = Transformer(len(LETTERS), LENGTH)
    loss_fn = nn.CrossEntropyLoss()
    steps = args.epochs * train_data.get_dataset_size()
    optimizer = nn.AdamWeightDecay(net.trainable_params(), nn.cosine_decay_lr(1e-4, 4e-3, steps, steps, 1), weight_decay=0.01)

    def forward(line):
        logits = net(line[:, :-1])[:, SIZE:]  # what stands before the mark cannot be told
        return loss_fn(logits.reshape(-1, len(LETTERS)), line[:, SIZE + 1 :].reshape(-1))

    step = ms.value_and_grad(forward, None, optimizer.parameters)
    print(f"{border} words to learn from, {len(held_out)} others")
    for epoch in range(args.epochs):
        net.set_train()
        losses = []
        for (line,) in train_data.create_tuple_iterator(num_epochs=1):
            loss, grads = step(line)
            optimizer(ops.clip_by_global_norm(grads, 1.0))
            losses.append(float(loss))
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    net.set_train(False)

    seen = []
    text = "hooks>skooh"
    with net.embedding.register_backward_hook(lambda cell, grad_input, grad_output: seen.append(grad_output[0])):
        ms.grad(lambda line: net(line)[:, SIZE + 1].max(), None, net.trainable_params())(Tensor([line_of("hooks")[:-1]], ms.int32))
    reach = np.abs(seen[0].asnumpy()[0]).max(1)
    reached = "".join(letter for letter, size in zip(text, reach) if size > 0)
    print(f"of {text!r}, the letter that comes behind {text[: SIZE + 2]!r} has a gradient by {reached!r}")

    predicted = net(Tensor(held_out[:, :-1])).argmax(2).asnumpy()[:, SIZE:]
    right = (predicted == held_out[:, SIZE + 1 :]).mean()
    for line, letters in list(zip(held_out, predicted))[:3]:
        print("  ", "".join(LETTERS[i] for i in line[: SIZE + 1]) + "".join(LETTERS[i] for i in letters))
    print(f"letters right: {right:.4f}")


if __name__ == "__main__":
    main()
