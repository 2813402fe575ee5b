"""A network learns scikit-learn's 1,797 scanned digits in several processes, each with its share of every batch.

    mpirun -n 2 python examples/train_mpi.py [EPOCHS]

The gradients are averaged over the processes behind each step: the network is the same in all of them, to the bit, and learns what it would
learn in one process.  `python examples/train_mpi.py` runs it in one.  A run that is interrupted goes on when it is started again.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import adjoint as ms
from adjoint import nn
from adjoint.communication import get_group_size, get_rank, init
from adjoint.dataset import NumpySlicesDataset
from adjoint.train import Accuracy, Callback, ContinueRun, Model

BATCH = 32
"""Digits in a step, over all processes."""


def digits():
    """Images [n, 64] in -1..1 and labels [n]: a fixed split into 1,437 for training and 360 for testing."""
    data = load_digits()
    images, labels = data.data.astype(np.float32) / 8 - 1, data.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:1437], order[1437:]
    return (images[train], labels[train]), (images[test], labels[test])


class Report(Callback):
    """Shows the accuracy on the test digits behind each epoch; one process speaks for all."""

    def on_train_epoch_end(self, run_context):
        run = run_context.original_args()
        if get_rank() == 0:
            print(f"epoch {run.cur_epoch_num}: {run.eval_results['accuracy']:.1%} of the test digits right", flush=True)


def main(epochs=8):
    init()
    rank, size = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(1)
    train, test = digits()
    # The processes shuffle alike, by the seed, and take turns in taking rows.
    data = NumpySlicesDataset(train, num_shards=size, shard_id=rank, shuffle=True).batch(BATCH // size, drop_remainder=True)
    net = nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 10))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, nn.Momentum(net.trainable_params(), 0.05, 0.9), metrics={"accuracy": Accuracy()})
    Path("out").mkdir(exist_ok=True)
    valid = NumpySlicesDataset(test, shuffle=False).batch(360)
    model.fit(epochs, data, valid, callbacks=[Report(), ContinueRun(f"out/train_mpi_{size}_{epochs}")])
    accuracy = model.eval(valid)["accuracy"]
    digest = hashlib.sha256(b"".join(p.asnumpy().tobytes() for p in net.get_parameters())).hexdigest()[:12]
    print(f"rank {rank} of {size}: {accuracy:.1%} of {len(test[1])} test digits right, parameters {digest}\n", end="", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
