"""What MindSpore's `Model`, callbacks, metrics and mixed precision do in the programs of `training.py`."""

# pyright: reportMissingImports=false

from typing import Any

import training
from answers import failure
from mindspore import dataset

training.batches = lambda x, y, size: dataset.NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(size)


def answer(name: str) -> Any:
    try:
        return training.plain(training.PROGRAMS[name]())
    except Exception as problem:
        return {**failure(problem), "text": str(problem).partition("\n")[0]}


def record() -> dict[str, Any]:
    return {"answers": {name: answer(name) for name in training.PROGRAMS}}
