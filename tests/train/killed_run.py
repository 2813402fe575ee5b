"""Train in child processes that are killed at random moments, until a run is done; compare it with one that was not disturbed.

python killed_run.py FOLDER KILLS prints as JSON how often a child was killed, how many runs came to their end, whether each has the bits of
the undisturbed one, and which unfinished files are left.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ms
from adjoint import nn
from adjoint.train import CheckpointConfig, ContinueRun, EarlyStopping, LambdaCallback, Model, ModelCheckpoint

folder, kills = Path(sys.argv[1]), int(sys.argv[2])
rows, classes = np.random.RandomState(1).randn(24, 3).astype("f4"), np.random.RandomState(2).randint(0, 2, 24).astype("i4")


def train(name: str, first_step_done: Callable[[Any], None] = lambda run_context: None) -> None:
    """Train a small network; its parameters, and the optimiser's, are in NAME.done.ckpt when it is done."""
    ms.set_seed(4)
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dropout(p=0.5), nn.Dense(4, 2))
    model = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.05), metrics={"acc"})
    data = ms.dataset.NumpySlicesDataset((rows, classes), shuffle=True).batch(4)
    model.fit(4, data, [(rows, classes)], callbacks=[
        EarlyStopping("acc", patience=9), LambdaCallback(on_train_step_end=first_step_done),
        ModelCheckpoint("net", folder / name, CheckpointConfig(3, keep_checkpoint_max=2)),
        ContinueRun(folder / name, save_steps=1)])
    ms.save_checkpoint(model.train_network, str(folder / f"{name}.done"))


def child(name: str, last: int, warm: bool) -> bool:
    """Train in a child process that is killed at its call of this number; return whether it came to its end.

    warm  calls are counted from its first step on: before it kernels are loaded, which takes most of them
    """
    process = os.fork()
    if process == 0:
        count = 0

        def counted(*event: Any) -> None:
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)

        def begin(run_context: Any) -> None:
            if count == 0:
                sys.setprofile(counted)

        os.dup2(2, 1)
        if not warm:
            sys.setprofile(counted)
        train(name, begin)
        sys.setprofile(None)
        (folder / f"{name}.calls").write_text(str(count))
        os._exit(0)
    _, status = os.waitpid(process, 0)
    assert status in (0, signal.SIGKILL), status
    return status == 0


calls = []
for warm in (False, True):
    child("undisturbed", 0, warm)
    calls.append(int((folder / "undisturbed.calls").read_text()))
wanted = (folder / "undisturbed.done.ckpt").read_bytes()
chance = random.Random(7)
killed, same = 0, []
while killed < kills:
    name = f"run{len(same)}"
    done = False
    while killed < kills and not done:
        warm = chance.random() < 0.75
        done = child(name, chance.randrange(1, calls[warm] // (3 if warm else 1)), warm)
        killed += not done
    if not done:
        child(name, 0, False)
    same.append((folder / f"{name}.done.ckpt").read_bytes() == wanted)
left = [path.name for path in folder.rglob("*.tmp") if path.parent == folder]
print(json.dumps({"kills": killed, "runs": len(same), "same": same, "left": left}))
