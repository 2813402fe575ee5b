"""Builds the models of a collection, and runs them: a process that `tools/compare_models.py` asks.

    python working.py ours|exact|theirs COLLECTION CHECKOUT FOLDER

`theirs` runs in MindSpore, the others in this package; `exact` computes in Float64.  Each line of the input is a JSON object; each
answer is a line of JSON that begins with MARK, and says the error if there was one.

    {"families": true}               the names of the models, by family
    {"size": NAME}                   how many numbers the model's parameters have
    {"run": NAME, "mode": "eager"}   results, loss and gradients are written to FOLDER; `rounded`: the number of a change of all parameters
                                     by about 2**-23 of them
    {"time": NAME, "mode": "eager"}  the seconds of the shortest of some steps, each a value with its gradients; the first is left out,
                                     since it compiles.  The same question again times the same model further
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

MARK = "answer: "


def main() -> None:
    side, collection, checkout, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    sys.path[:0] = [str(checkout), str(Path(__file__).resolve().parent)]
    if side != "theirs":
        from adjoint import compat

        compat.install()
    import known

    without_chance()
    models = known.COLLECTIONS[collection](checkout)
    timed = Timed(models)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = timed.answer(asked) if "time" in asked else answered(models, asked, folder, exact=side == "exact")
        except Exception as raised:
            answer = {"error": f"{type(raised).__name__}: {str(raised).strip().partition(chr(10))[0]}"}
        print(MARK + json.dumps({"asked": asked, **answer}), flush=True)


def without_chance() -> None:
    """Let dropout pass everything: the two frameworks draw different numbers."""
    from mindspore import nn, ops

    def kept(self: Any, x: Any) -> Any:
        return x

    def all_kept(input: Any, *arguments: Any, **named: Any) -> Any:
        return input

    nn.Dropout.construct, ops.dropout = kept, all_kept  # a graph of MindSpore's takes no lambda of a line that does something else


def answered(models: Any, asked: dict[str, Any], folder: Path, *, exact: bool) -> dict[str, Any]:
    if "families" in asked:
        return {"families": models.families()}
    if "size" in asked:
        return {"size": sum(int(np.prod(each.shape)) for each in models.build(asked["size"]).get_parameters())}
    rounded = asked.get("rounded", 0)
    file = folder / file_of(asked["run"], asked["mode"], rounded)
    return run(models.task(asked["run"]), asked["mode"], file, exact, rounded)


def file_of(model: str, mode: str, rounded: int = 0) -> str:
    return f"{model.replace('/', '-')}.{mode}{rounded or ''}.npz"


def run(task: Any, mode: str, file: Path, exact: bool, rounded: int) -> dict[str, Any]:
    """Write results, loss and gradients of a model; return what went wrong."""
    import mindspore as ms

    set_mode(mode)
    fill(task.network)
    if exact:
        for each in task.network.get_parameters():
            if each.dtype == ms.float32:
                each.set_dtype(ms.float64)
                if rounded:
                    apart = np.random.default_rng([rounded, zlib.crc32(each.name.encode())]).standard_normal(each.shape)
                    each.set_data(ms.Tensor(each.asnumpy() * (1.0 + 2.0**-23 * apart)))
    inputs = inputs_of(task, exact)
    told: dict[str, Any] = {}
    found: dict[str, Any] = {}
    try:
        task.network.set_train(False)
        found |= {f"result/{number}": result for number, result in enumerate(leaves(task.network(*inputs)))}
    except Exception as raised:
        told["forward error"] = f"{type(raised).__name__}: {str(raised).strip().partition(chr(10))[0]}"
    try:
        loss, gradients = step_of(task, mode)(*inputs)
        found["loss"] = loss.asnumpy()
        weights = task.network.trainable_params()
        found |= {f"gradient/{each.name}": gradient.asnumpy() for each, gradient in zip(weights, gradients, strict=True)}
    except Exception as raised:
        told["step error"] = f"{type(raised).__name__}: {str(raised).strip().partition(chr(10))[0]}"
    np.savez(file, **found)
    return told


class Timed:
    """Times the steps of a model; it keeps the last one, whose step is compiled."""

    STEPS, ENOUGH = 5, 4.0
    """So many steps, or for so many seconds."""

    def __init__(self, models: Any):
        self._models = models
        self._kept: tuple[tuple[str, str], Any, list[Any]] | None = None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        key = asked["time"], asked["mode"]
        if self._kept is None or self._kept[0] != key:
            self._kept = None
            task = self._models.task(asked["time"])
            set_mode(asked["mode"])
            fill(task.network)
            step, inputs = step_of(task, asked["mode"]), inputs_of(task, False)
            seconds(step, inputs)
            self._kept = key, step, inputs
        _, step, inputs = self._kept
        until = time.perf_counter() + self.ENOUGH
        best = seconds(step, inputs)
        for _ in range(self.STEPS - 1):
            if time.perf_counter() > until:
                break
            best = min(best, seconds(step, inputs))
        return {"seconds": best}


def set_mode(mode: str) -> None:
    import mindspore as ms

    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)


def step_of(task: Any, mode: str) -> Any:
    """Return the function that takes the inputs and returns the loss with its gradients by all parameters that are trained."""
    import mindspore as ms

    network, loss_of = task.network, task.loss  # a graph of MindSpore's takes Cells and functions from outside, not what holds them

    def forward(*arguments: Any) -> Any:
        return loss_of(network(*arguments))

    network.set_train(True)
    taken = ms.value_and_grad(forward, None, network.trainable_params())
    return ms.jit(taken) if mode == "graph" else taken


def inputs_of(task: Any, exact: bool) -> list[Any]:
    return [tensor(each, exact) if isinstance(each, np.ndarray) else each for each in task.inputs]


def tensor(array: np.ndarray[Any, Any], exact: bool) -> Any:
    from mindspore import Tensor

    return Tensor(array.astype(np.float64) if exact and array.dtype == np.float32 else array)


def seconds(step: Any, inputs: list[Any]) -> float:
    start = time.perf_counter()
    for _ in leaves(step(*inputs)):
        pass
    return time.perf_counter() - start


def fill(network: Any) -> None:
    """Set all floating point parameters to numbers that depend on their names: those that are all the same vary a little around it."""
    from mindspore import Tensor

    for each in network.get_parameters():
        before = each.asnumpy()
        if not np.issubdtype(before.dtype, np.floating):
            continue
        drawn = np.random.default_rng(zlib.crc32(each.name.encode())).standard_normal(before.shape, np.float32)
        if (before == before.flat[0]).all():
            after = (before.flat[0] if before.size > 1 else 0.5) + 0.02 * np.abs(drawn)  # one number alone may have been drawn
        else:
            after = drawn / np.sqrt(max(1, before[0].size)) if before.ndim > 1 else 0.02 * drawn
        each.set_data(Tensor(after.astype(before.dtype)))


def leaves(result: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays of a nested result, in order."""
    if isinstance(result, (tuple, list)):
        for each in result:
            yield from leaves(each)
    elif isinstance(result, dict):
        for each in result.values():
            yield from leaves(each)
    elif hasattr(result, "asnumpy"):
        yield result.asnumpy()


if __name__ == "__main__":
    main()
