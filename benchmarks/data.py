"""Speed of pipelines like those of courses, by this package or by MindSpore: python benchmarks/data.py [PYTHON_WITH_MINDSPORE]

Rows a second, and microseconds of processor time a row, of all threads together: on a busy machine the latter says more.  Each round
measures all pipelines in a process of each library, one after the other, so that both meet the same load; the best round counts.
Files of the size of MNIST and CIFAR-10 are made up in a temporary directory.  No workers are asked for: MindSpore's engine has threads of
its own, ours works when a row is asked for.
"""

from __future__ import annotations

import importlib
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 3


def write_files(place: Path) -> None:
    """60000 images like MNIST's and 50000 like CIFAR-10's."""
    random = np.random.default_rng(0)
    for name, magic, shape in (("images-idx3", 2051, (60000, 28, 28)), ("labels-idx1", 2049, (60000,))):
        head = struct.pack(f">{1 + len(shape)}i", magic, *shape)
        (place / f"train-{name}-ubyte").write_bytes(head + random.integers(0, 10, shape, np.uint8).tobytes())
    for number in range(1, 6):
        random.integers(0, 10, (10000, 3073), np.uint8).tofile(place / f"data_batch_{number}.bin")


class Source:
    """A user's samples with an index."""

    def __init__(self) -> None:
        self.images = np.random.default_rng(0).random((20000, 3, 32, 32), np.float32)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        return self.images[index], index % 10


def pipelines(library: str, place: str) -> dict[str, tuple[int, Callable[[], Any]]]:
    """For each pipeline its number of rows, and what makes it."""
    framework, ds = importlib.import_module(library), importlib.import_module(f"{library}.dataset")
    vision, transforms = (importlib.import_module(f"{library}.dataset.{name}") for name in ("vision", "transforms"))
    scaled = [vision.Rescale(1 / 255, 0.0), vision.Normalize([0.1307], [0.3081]), vision.HWC2CHW()]
    coloured = [vision.Rescale(1 / 255, 0.0), vision.Normalize([0.49, 0.48, 0.45], [0.25, 0.24, 0.26]), vision.HWC2CHW()]
    augmented = [vision.RandomCrop((32, 32), (4, 4, 4, 4)), vision.RandomHorizontalFlip(0.5)]

    def digits() -> Any:
        return ds.MnistDataset(place, "train").map(transforms.TypeCast(framework.int32), "label")

    def things() -> Any:
        return ds.Cifar10Dataset(place, "train").map(transforms.TypeCast(framework.int32), "label")

    to_32, to_64, flip = vision.Resize(32), vision.Resize((64, 64)), augmented[1]
    return {
        "MNIST: rescale, normalise": (60000, lambda: digits().map(scaled, "image").batch(64)),
        "MNIST: resize to 32, shuffle": (25600, lambda: digits().map([to_32, *scaled], "image").shuffle(1000).batch(32).take(800)),
        "MNIST: a Python function": (25600, lambda: digits().map(lambda x: x.astype(np.float32) / 255, "image").batch(64).take(400)),
        "CIFAR-10: crop, flip, normalise": (50000, lambda: things().map([*augmented, *coloured], "image").batch(128)),
        "CIFAR-10: resize to 64, flip": (6400, lambda: things().map([to_64, flip, *coloured], "image").batch(64).take(100)),
        "a source of the user's": (20000, lambda: ds.GeneratorDataset(Source(), ["image", "label"]).batch(64)),
    }


def measure(library: str, place: str) -> None:
    """Print seconds and processor seconds a row of each pipeline, tensors and all, of a second epoch: the first one reads the files."""
    for name, (rows, make) in pipelines(library, place).items():
        iterator = make().create_dict_iterator(num_epochs=2)
        list(iterator)
        begin, used = time.perf_counter(), time.process_time()
        for _ in iterator:
            pass
        print(json.dumps([name, (time.perf_counter() - begin) / rows, (time.process_time() - used) / rows]), flush=True)


def main(other: str | None) -> None:
    libraries = {"adjoint": sys.executable, **({"mindspore": other} if other else {})}
    best: dict[tuple[str, str], tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        write_files(Path(place))
        for _ in range(ROUNDS):
            for library, python in libraries.items():
                done = subprocess.run([python, __file__, "--measure", library, place], stdout=subprocess.PIPE, text=True, check=True)
                for name, seconds, used in map(json.loads, done.stdout.splitlines()):
                    before = best.get((name, library), (seconds, used))
                    best[name, library] = min(seconds, before[0]), min(used, before[1])
    for name in dict.fromkeys(name for name, _ in best):
        found = [best[name, library] for library in libraries]
        line = "  ".join(f"{1 / seconds:8.0f}/s {used * 1e6:7.1f} us" for seconds, used in found)
        gain = f"  {found[1][0] / found[0][0]:5.2f} {found[1][1] / found[0][1]:5.2f}" if other else ""
        print(f"{name:32} {line}{gain}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:4])
    else:
        main(sys.argv[1] if sys.argv[1:] else None)
