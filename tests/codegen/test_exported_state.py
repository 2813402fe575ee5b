"""What Python keeps from call to call, in exported C: it changes as in Python, or the export says why it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.test_export import InC, needs_gcc, ran

import adjoint as ms
from adjoint import CompileError, Tensor, nn, ops

SIGNAL = (1.5, 2.5, 1.5, 0.5, 1.5, 3.0, -1.0)


class Keeping(nn.Cell):
    """A Cell with state, whose construct is the function given."""

    def __init__(self, construct: Callable[[Any, Any], Any], **state: Any):
        super().__init__()
        self.compute = construct
        for name, value in state.items():
            setattr(self, name, value)

    def construct(self, x: Any) -> Any:
        return self.compute(self, x)


def every_fourth(self: Any, x: Any) -> Any:
    self.n += 1
    if self.n >= 4:
        self.n = 0
    return x * self.n


def counts_down(self: Any, x: Any) -> Any:
    if self.n > 0:
        self.n -= 1
    else:
        self.n = 3
    return x * self.n


def decays(self: Any, x: Any) -> Any:
    self.rate = self.rate * 0.5
    if x > 2.0:
        self.rate = 1.0
    return x * self.rate


def first_sample(self: Any, x: Any) -> Any:
    if not self.started:
        self.started = Tensor(True)
        self.y = x
    self.y = 0.5 * x + 0.5 * self.y
    return self.y


def trigger(self: Any, x: Any) -> Any:
    if x > 2.0:
        self.on = Tensor(True)
    elif x < 1.0:
        self.on = Tensor(False)
    return x * 2 if self.on else x


STATES: dict[str, Callable[[], Any]] = {
    "every fourth": lambda: Keeping(every_fourth, n=0),
    "counts down": lambda: Keeping(counts_down, n=2),
    "decays": lambda: Keeping(decays, rate=1.0),
    "first sample": lambda: Keeping(first_sample, started=Tensor(False), y=Tensor(0.0)),
    "trigger": lambda: Keeping(trigger, on=Tensor(False)),
}


@needs_gcc
@pytest.mark.parametrize("name", STATES)
def test_state_changes_as_in_python(tmp_path: Path, name: str) -> None:
    cell = STATES[name]()
    ms.export(cell, Tensor(1.0), file_name=str(tmp_path / "net"))
    assert "equal" in ran(tmp_path, "net")
    program, found = InC(tmp_path, "net"), np.empty((), np.float32)
    program("init")
    for number in SIGNAL:
        assert program("forward", [np.float32(number)], [found]) == 0
        assert found == cell(Tensor(number)).asnumpy()


def test_conditions_are_written_where_they_are_asked(tmp_path: Path) -> None:
    ms.export(STATES["trigger"](), Tensor(1.0), file_name=str(tmp_path / "net"))
    text = (tmp_path / "net.c").read_text()
    assert "x[0] > 2.0f" in text and "x[0] < 1.0f" in text and "_bool(" not in text


@needs_gcc
def test_a_function_that_only_writes_shares_the_state(tmp_path: Path) -> None:
    cell = Keeping(every_fourth, n=2)

    def clear(x: Any) -> Any:
        cell.n = 0
        return x

    ms.export(clear, Tensor(1.0), file_name=str(tmp_path / "net"), also={"step": (cell, Tensor(1.0))})
    assert "equal" in ran(tmp_path, "net")
    program, found = InC(tmp_path, "net"), np.empty((), np.float32)
    program("init")
    assert cell.n == 2, "an export changes nothing here"
    for number, cleared in zip(SIGNAL, (False, True) * 4, strict=False):
        if cleared:
            assert program("clear", [np.float32(0)], [found]) == 0
            clear(Tensor(0.0))
        assert program("step", [np.float32(number)], [found]) == 0
        assert found == cell(Tensor(number)).asnumpy()


def flag(self: Any, x: Any) -> Any:
    if not self.started:
        self.started = True
        return x * 0
    return x


def nothing_yet(self: Any, x: Any) -> Any:
    if self.previous is None:
        self.previous = x
    self.previous = 0.5 * x + 0.5 * self.previous
    return self.previous


def hysteresis(self: Any, x: Any) -> Any:
    if x > 2.0:
        self.on = True
    elif x < 1.0:
        self.on = False
    return x * 2 if self.on else x


def sine(self: Any, x: Any) -> Any:
    y = x * math.sin(self.t)
    self.t += 0.1
    return y


def mode(self: Any, x: Any) -> Any:
    self.mode = "slow" if self.mode == "fast" else "fast"
    return x * 2 if self.mode == "fast" else x


def place(self: Any, x: Any) -> Any:
    self.values[self.i] = float(self.i) * 2
    self.i = (self.i + 1) % 3
    return x + self.values[0] + self.values[1]


@pytest.mark.parametrize(("cell", "said", "instead"), [
    (Keeping(flag, started=False), r"started`, False, decides", r"Tensor\(False\)"),
    (Keeping(nothing_yet, previous=None), r"previous`, None, decides", "a Tensor or a number"),
    (Keeping(hysteresis, on=False), r"on`, False, decides", r"Tensor\(False\)"),
    (Keeping(sine, t=0.0), r"t`, 0\.0, decides", r"ops\.sin"),
    (Keeping(mode, mode="slow"), r"mode`, 'slow', decides", "a Tensor or a number"),
    (Keeping(place, values=[0.0] * 3, i=0), r"i`, 0, decides", "numbers are state in C where"),
], ids=lambda given: given.compute.__name__ if isinstance(given, Keeping) else "")
def test_a_constant_that_a_call_changes_is_refused(tmp_path: Path, cell: Any, said: str, instead: str) -> None:
    with pytest.raises(CompileError, match=f"(?s){said}.*a call changes it.*{instead}"):
        ms.export(cell, Tensor(1.0), file_name=str(tmp_path / "net"))
    assert not [*tmp_path.iterdir()]


def test_a_constant_that_another_function_changes_is_refused(tmp_path: Path) -> None:
    cell = Keeping(lambda self, x: x * 2 if self.on else x, on=False)

    def begin(x: Any) -> Any:
        cell.on = True
        return x

    with pytest.raises(CompileError, match=r"on`, False, decides"):
        ms.export(cell, Tensor(1.0), file_name=str(tmp_path / "net"), also={"begin": (begin, Tensor(1.0))})


def test_functions_that_write_different_kinds_are_refused(tmp_path: Path) -> None:
    cell = Keeping(every_fourth, n=2)

    def clear(x: Any) -> Any:
        cell.n = 0.0  # pyright: ignore[reportAttributeAccessIssue]
        return x

    with pytest.raises(ValueError, match=r"n' is i64 in one function and f64 in another"):
        ms.export(cell, Tensor(1.0), file_name=str(tmp_path / "net"), also={"clear": (clear, Tensor(1.0))})


@needs_gcc
def test_a_tensor_made_inside_is_a_constant_of_all_batches(tmp_path: Path) -> None:
    def layer(x: Any) -> Any:
        return x @ Tensor([[1.0, 2.0], [3.0, 4.0]])

    def share(x: Any) -> Any:
        return x * Tensor([1.0 / x.shape[0], 1.0])

    rows = Tensor(np.ones((3, 2), np.float32))
    ms.export(layer, rows, file_name=str(tmp_path / "net"), max_batch=3)
    assert "equal" in ran(tmp_path, "net")
    with pytest.raises(CompileError, match="other numbers for another batch"):
        ms.export(share, rows, file_name=str(tmp_path / "share"), max_batch=3)


@pytest.mark.parametrize(("function", "inputs", "said"), [
    (lambda x: x * 2, (np.ones(3, np.float32),), r"NumPy array of shape \(3,\).*pass `Tensor"),
    (lambda x: (x.sum(), x.shape[0]), (Tensor([1.0, 2.0]),), "a result of 'forward' is 2, a constant"),
    (lambda x: {"kind": "a", "value": x}, (Tensor([1.0]),), "a result of 'forward' is 'a', a constant"),
])
def test_nothing_is_left_out_without_a_word(tmp_path: Path, function: Any, inputs: tuple[Any, ...], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        ms.export(function, *inputs, file_name=str(tmp_path / "net"))


@pytest.mark.parametrize(("function", "called", "instead"), [
    (lambda x: x * int(x), "int", r"`ops\.trunc\(x\)\.astype\(ms\.int32\)`"),
    (lambda x: x * round(float(x)), "round", r"`ops\.round\(x\)`"),
])
def test_a_function_of_python_names_the_operator(tmp_path: Path, function: Any, called: str, instead: str) -> None:
    with pytest.raises(CompileError, match=f"(?s)`{called}` is called here, in Python.*{instead}"):
        ms.export(function, Tensor(1.5), file_name=str(tmp_path / "net"))


def test_results_may_be_nested_or_none(tmp_path: Path) -> None:
    ms.export(lambda x: [ops.exp(x), {"a": x}, None], Tensor([1.0]), file_name=str(tmp_path / "net"))
    assert "float *" in (tmp_path / "net.h").read_text()


def test_a_gradient_through_a_parameter_is_refused(tmp_path: Path) -> None:
    class Through(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(Tensor(0.5), name="w")

        def construct(self, x: Any) -> Any:
            self.w = ops.tanh(x) * 1
            return ops.tanh(self.w)

    with pytest.raises(CompileError, match="E145") as raised:
        ms.export(ms.grad(Through()), Tensor(1.0), file_name=str(tmp_path / "net"))
    assert "the gradient goes through @w" in str(raised.value) and "keep the value in a variable" in str(raised.value)
