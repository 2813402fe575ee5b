"""An LSTM learns to tell lines of code from comments by their words alone, and a hook shows how far back its gradient reaches.

The lines are those of Python's own standard library. Punctuation is left out, which would make it easy.

    adjoint run examples/lstm_text.py [--graph] [--epochs 4]
"""

import argparse
import inspect
import random
import re

import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor
from mindspore.dataset import text, transforms

LENGTH = 10  # words of a line; shorter ones are padded


def lines():
    """Return lines of code and of comments of four modules, as many of each, with the labels 0 and 1."""
    code, comments = set(), set()
    for module in (argparse, inspect, random, re):
        for line in inspect.getsource(module).splitlines():
            if len(re.findall("[a-z]+", line)) >= 4:
                (comments if line.lstrip().startswith("#") else code if re.search(r"[=(].*[:)\]]$", line) else set()).add(line)
    code, comments = sorted(code), sorted(comments)
    shuffle = random.Random(0)
    shuffle.shuffle(code)
    shuffle.shuffle(comments)
    number = min(len(code), len(comments))
    return [line for pair in zip(code[:number], comments[:number]) for line in pair], np.arange(2 * number, dtype=np.int32) % 2


def words(line):
    """Split a line into its words, in small letters."""
    return np.array(re.findall("[a-z]+", str(line).lower()))


def with_length(row):
    """Return the row of words and how many there are."""
    return row, np.int32(len(row))


def pipelines(batch_size=32):
    """Return batches of words Int32 [n, LENGTH], lengths [n] and labels [n], to train and to test by, and the vocabulary."""
    texts, labels = lines()
    border = len(texts) * 4 // 5
    source = ds.NumpySlicesDataset((texts[:border], labels[:border]), ["text", "label"], shuffle=True)
    held_out = ds.NumpySlicesDataset((texts[border:], labels[border:]), ["text", "label"], shuffle=False)
    read = ds.NumpySlicesDataset((texts[:border],), ["text"], shuffle=False).map(words, "text")
    vocab = text.Vocab.from_dataset(read, "text", freq_range=(2, None), special_tokens=["<pad>", "<unk>"])

    def batches(data, size, rest):
        data = data.map([words, text.Truncate(LENGTH), text.Lookup(vocab, "<unk>"), with_length], "text", ["text", "length"])
        data = data.map(transforms.PadEnd([LENGTH], vocab.tokens_to_ids("<pad>")), "text")
        return data.project(["text", "length", "label"]).batch(size, drop_remainder=not rest)

    return batches(source, batch_size, False), batches(held_out, len(texts) - border, True), vocab


class Classifier(nn.Cell):
    """The last state of an LSTM over embedded words: words [n, t] and lengths [n] to logits [n, 2]."""

    def __init__(self, vocab_size, embedding_size=16, hidden_size=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        self.lstm = nn.LSTM(embedding_size, hidden_size, batch_first=True)
        self.dense = nn.Dense(hidden_size, 2)

    def construct(self, x, length):
        _, (hidden, _) = self.lstm(self.embedding(x), seq_length=length)
        return self.dense(hidden[-1])


def main():
    parser = argparse.ArgumentParser(description="An LSTM on lines of text")
    parser.add_argument("--graph", action="store_true", help="compile the training step and the network")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    ms.set_seed(1)

    train_data, test_data, vocab = pipelines()
    net, loss_fn = Classifier(len(vocab.vocab())), nn.CrossEntropyLoss()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.005)
    reach = []

    def measure(cell, grad_input, grad_output):
        """Keep the norm of the gradient by the word at each position, counted from the first."""
        reach.append(np.linalg.norm(grad_output[0].asnumpy(), axis=(0, 2)))

    net.embedding.register_backward_hook(measure)

    def forward(x, length, label):
        return loss_fn(net(x, length), label)

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)

    def train_step(x, length, label):
        loss, grads = grad_fn(x, length, label)
        optimizer(grads)
        return loss

    def correct(x, length, label):
        return (net(x, length).argmax(1) == label).astype(ms.float32).mean()

    if args.graph:
        train_step, correct = ms.jit(train_step), ms.jit(correct)

    print(f"{train_data.get_dataset_size()} batches, {len(vocab.vocab())} words")
    for epoch in range(args.epochs):
        net.set_train()
        losses = [float(train_step(*row)) for row in train_data.create_tuple_iterator(num_epochs=1)]
        net.set_train(False)
        (accuracy,) = [float(correct(*row)) for row in test_data.create_tuple_iterator(num_epochs=1)]
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, accuracy {accuracy:.3f}")
        print("  gradient by word 1, 2, ...:", *(f"{norm:.4f}" for norm in np.mean(reach, axis=0)))
        reach.clear()

    line = "    # the state of the generator is a tuple"
    ids = vocab.tokens_to_ids(words(line).tolist())
    known = [max(i, vocab.tokens_to_ids("<unk>")) for i in ids][:LENGTH]
    logits = net(Tensor([known + [0] * (LENGTH - len(known))], ms.int32), Tensor([len(known)], ms.int32))
    print(f"{line.strip()!r} is", ("code", "a comment")[int(logits.argmax(1)[0])])
    print(f"accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
