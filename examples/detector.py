"""Find rectangles in pictures: a detector, whose loss compares as many boxes as there are in a batch.

Each picture has one to five rectangles of noise. The network says for each cell of an 8 x 8 grid whether the centre of a rectangle is in
it, and where its edges are. The loss compares boxes in the cells that have one, `found[has_box]`: another number for each batch. Boxes that
overlap a better one are dropped, so that the answer has a size that values decide, too. A hook shows which cells the gradient of a batch
reaches.

    adjoint run examples/detector.py [--graph] [--epochs 300]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, ops

SIZE, GRID = 32, 8
CELL = SIZE // GRID


def pictures(count, draw):
    """Pictures [count, 1, SIZE, SIZE], and for each cell left, top, right, bottom and 1, or zeros: [count, GRID, GRID, 5]."""
    images = draw.normal(0, 0.1, (count, 1, SIZE, SIZE)).astype(np.float32)
    boxes = np.zeros((count, GRID, GRID, 5), np.float32)
    for image, cells in zip(images, boxes):
        for _ in range(draw.integers(1, 6)):
            width, height = draw.integers(5, 12, 2)
            left, top = draw.integers(0, SIZE - width), draw.integers(0, SIZE - height)
            image[0, top : top + height, left : left + width] = draw.normal(1, 0.2, (height, width))
            cells[(top + height // 2) // CELL, (left + width // 2) // CELL] = left, top, left + width, top + height, 1
    boxes[..., :4] /= SIZE
    return Tensor(images), Tensor(boxes)


class Detector(nn.Cell):
    """For each cell of the grid the edges of a box, as parts of the picture, and a score: [count, GRID, GRID, 5]."""

    def __init__(self):
        super().__init__()
        layers = []
        for before, after, stride in ((1, 16, 2), (16, 32, 2), (32, 32, 1)):
            layers += [nn.Conv2d(before, after, 3, stride=stride), nn.BatchNorm2d(after), nn.ReLU()]
        self.body = nn.SequentialCell(*layers, nn.Conv2d(32, 32, 5), nn.ReLU())
        self.head = nn.Conv2d(32, 5, 1)
        across, down = np.meshgrid(np.arange(GRID), np.arange(GRID))
        self.centres = Tensor(((np.stack([across, down, across, down], -1) + 0.5) / GRID).astype(np.float32))

    def construct(self, x):
        y = self.head(self.body(x)).transpose(0, 2, 3, 1)
        return ops.cat((self.centres + y[..., :4], y[..., 4:]), -1)


def overlap(a, b):
    """The area that boxes share, divided by the area that they cover together; boxes [.., 4] that broadcast."""
    low, high = ops.maximum(a[..., :2], b[..., :2]), ops.minimum(a[..., 2:], b[..., 2:])
    shared = ops.relu(high - low).prod(-1)
    return shared / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - shared + 1e-6)


class Loss(nn.Cell):
    """The mean distance of edges and the missing overlap in cells that have a box, and the cross entropy of all scores."""

    def construct(self, found, wanted):
        has_box = wanted[..., 4] > 0.5
        ours, theirs = found[has_box][:, :4], wanted[has_box][:, :4]
        scores, ones = found[..., 4], ops.ones_like(found[..., 4])
        entropy = ops.binary_cross_entropy_with_logits(scores, wanted[..., 4], ones, ones * 5)
        return (ours - theirs).abs().sum() / ours.shape[0] + (1 - overlap(ours, theirs)).mean() + entropy


class Answer(nn.Cell):
    """The boxes of one picture [n, 4], the best first, without those that overlap a better one by half."""

    def construct(self, found):
        scores, order = ops.sort(found[..., 4].reshape(-1), descending=True)
        boxes = found[..., :4].reshape(-1, 4)[order]
        alike = ops.triu(overlap(boxes[:, None], boxes[None]), 1) > 0.5
        keep = scores > 0
        for i in range(GRID * GRID):
            keep = ops.logical_and(keep, ops.logical_not(ops.logical_and(alike[i], keep[i])))
        return boxes[keep]


def main():
    parser = argparse.ArgumentParser(description="A detector of rectangles")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=300, help="batches of 16 new pictures")
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)
    draw = np.random.default_rng(1)

    net, answer = Detector(), Answer()
    with_loss = nn.WithLossCell(net, Loss())
    step = nn.TrainOneStepCell(with_loss, nn.Adam(net.trainable_params(), learning_rate=2e-3))
    step.set_train()
    for number in range(1, args.epochs + 1):
        image, wanted = pictures(16, draw)
        value = step(image, wanted)
        if number in (1, args.epochs // 2, args.epochs):
            print(f"batch {number}: {int(wanted[..., 4].sum())} boxes, loss {float(value):.2f}")

    reached = []
    hook = net.head.register_backward_hook(lambda cell, grad_input, grad_output: reached.append((grad_output[0][:, :4] != 0).any(1).sum()))
    ms.grad(with_loss, None, net.trainable_params())(image, wanted)
    hook.remove()
    print(f"gradient of edges reaches {int(reached[0])} cells of {16 * GRID * GRID}")

    net.set_train(False)
    images, wanted = pictures(50, draw)
    hits = boxes = answers = 0
    for found, cells in zip(net(images), wanted.asnumpy()):
        rectangles, given = cells[cells[..., 4] > 0][:, :4], answer(found)
        boxes, answers = boxes + len(rectangles), answers + given.shape[0]
        if given.shape[0]:
            hits += int((overlap(Tensor(rectangles)[:, None], given[None]).asnumpy().max(1) > 0.5).sum())
    print(f"{answers} boxes for {boxes} rectangles")
    print(f"rectangles found: {hits / boxes:.3f}")


if __name__ == "__main__":
    main()
