"""Run each subsystem and print what it gave, for `tests/test_optimised_python.py`: it compares `python`, `python -O` and `python -OO`.

`python -O` drops the `assert` statements of the package and of the user's program, `-OO` the docstrings too.  Of the corpus every
24th program is run, and none that asserts; the functions below use asserts, docstrings and `__debug__`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hook_events import recorded
from programs import PROGRAMS, Program

import adjoint as ms
from adjoint import Tensor, nn
from adjoint.cli import main
from tests.outcomes import bits, compiled

ROOT = Path(__file__).parents[1]


def described(value: Any) -> Any:
    """Return a value as text: a tensor by its bits, an exception by its message."""
    match value:
        case Tensor():
            return [str(value.dtype), str(value.shape), hashlib.sha256(bits(value)).hexdigest()]
        case tuple() | list():
            return [type(value).__name__, *map(described, value)]
        case dict():
            return {str(key): described(item) for key, item in value.items()}
        case bytes():
            return hashlib.sha256(value).hexdigest()
    return repr(value)


def outcome(call: Callable[[], Any]) -> list[Any]:
    """Return what a call returned or raised, and what it printed."""
    printed = io.StringIO()
    ms.set_seed(7)
    with contextlib.redirect_stdout(printed):
        try:
            result = described(call())
        except (Exception, SystemExit) as error:
            result = [type(error).__name__, str(error)]
    return [result, printed.getvalue()]


def of_program(program: Program, graph: bool) -> Any:
    """Return what two calls give, what two gradients give, the parameters afterwards, and all calls of hooks."""
    with recorded() as events:
        fn = program.make()
        called = compiled(fn) if graph else fn
        weights = fn.trainable_params() if isinstance(fn, nn.Cell) else []
        calls = [called, called]
        if program.wrt is not None:
            calls += [ms.value_and_grad(called, program.wrt or None, weights or None)] * 2
        found = []
        for call in calls:
            arguments, keywords = program.arguments()
            found.append(outcome(lambda call=call, arguments=arguments, keywords=keywords: call(*arguments, **keywords)))
        parameters = dict(fn.parameters_and_names()) if isinstance(fn, nn.Cell) else {}
        return [found, described(parameters), described(list(events))]


def asserted(x: Tensor) -> Tensor:
    assert x.sum() > 100, "a sum that is too small"
    return x + 1


def asserted_number(x: Tensor) -> Tensor:
    assert x.shape == (7,), f"another shape: {x.shape}"
    return x + 2


def debugging(x: Tensor) -> Tensor:
    if __debug__:
        x = x + 100
    return x


def of_docstring(x: Tensor) -> Tensor:
    """Three."""

    def inner(y: Tensor) -> Tensor:
        """Five."""
        return y

    return inner(x) * (2 if inner.__doc__ else 3) + (5 if of_docstring.__doc__ else 7)


class Undocumented(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        assert self.checked(x)
        return x * 2

    def checked(self, x: Tensor) -> bool:
        print("checked")
        return True


def of_programs() -> Iterator[tuple[str, Any]]:
    for name, program in list(PROGRAMS.items())[::24]:
        if "assert " not in program.text:
            yield f"{name}, eager", of_program(program, graph=False)
            yield f"{name}, graph", of_program(program, graph=True)


def own_results() -> Iterator[tuple[str, Any, Any]]:
    """Return what each function above does in eager mode and in a graph."""
    x = Tensor([1.0, 2.0])
    for function in (asserted, asserted_number, debugging, of_docstring, Undocumented()):
        name = getattr(function, "__name__", type(function).__name__)
        yield name, *(outcome(lambda call=call: call(x)) for call in (function, compiled(function)))


SCRIPT = """
import numpy as np
import mindspore as ms
from mindspore import nn

net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 1))
for cell in net:
    cell.register_backward_hook(lambda cell, gi, go: print(cell.cls_name, go))
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params()))
rows = [(np.full((3,), i, np.float32), np.ones((1,), np.float32)) for i in range(6)]
model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params()))
model.train(2, ms.dataset.GeneratorDataset(rows, ["x", "y"]).batch(2), ms.train.LossMonitor())
print(step(ms.Tensor(rows[1][0][None]), ms.Tensor(rows[1][1][None])))
"""


def of_commands() -> Iterator[tuple[str, Any]]:
    lenet = str(ROOT / "examples" / "lenet_digits.py") + ":LeNet5"
    steering = str(ROOT / "examples" / "steering.py") + ":cost"
    for stage in ("parsed", "adjoint", "optimised"):
        arguments = ["dump-ir", lenet, "--args", "f32[4, 1, 32, 32]", "--stage", stage]
        yield f"command dump-ir {stage}", outcome(lambda arguments=arguments: main(arguments))
    yield "command dump-ir c", outcome(
        lambda: main(["dump-ir", steering, "--args", "f32[20], f32[20], f32[20, 20]", "--stage", "c", "--standalone"]))
    yield "command explain", outcome(lambda: main(["explain", "E208"]))
    yield "command doctor", outcome(lambda: main(["doctor"]))[0]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(SCRIPT)
        for options in ([], ["--check-finite"]):
            yield f"command run {options}", outcome(lambda options=options: main(["run", *options, str(script)]))


if __name__ == "__main__":
    print(json.dumps([dict([*of_programs(), *of_commands()]), {name: ways for name, *ways in own_results()}]))
