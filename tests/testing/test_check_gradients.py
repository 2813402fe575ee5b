"""`check_gradients` finds each mistake that is planted, names the rule that makes it, and lets right gradients pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.op import registry

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_numbers_each_time() -> None:
    global rng
    rng = np.random.default_rng(0)
    ms.set_seed(0)


def numbers(*shape: int) -> Tensor:
    return Tensor(rng.normal(size=shape).astype(np.float32))


class Affine(nn.Cell):
    """A layer with a bprop of its own, in which a mistake can be planted."""

    def __init__(self, mistake: str):
        super().__init__()
        self.mistake = mistake
        self.saved: Any = None

    def construct(self, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        if self.saved is None or self.mistake != "stale":
            self.saved = x
        return ops.tanh(x @ w + b)

    def bprop(self, x: Tensor, w: Tensor, b: Tensor, out: Tensor, dout: Tensor) -> Any:
        inner = dout * (1 - out * out)
        dx, dw, db = inner @ w.T, x.T @ inner, inner.sum(0)
        match self.mistake:
            case "sign":
                dw = -dw
            case "factor":
                dx = dx * 2
            case "transposed":
                dw = dw.T
            case "reduction":
                db = inner[0]
            case "argument":
                dx = inner @ w
            case "stale":
                dw = self.saved.T @ inner
        return dx, dw, db


BPROP_LINE = Affine.bprop.__code__.co_firstlineno


class Layer(nn.Cell):
    def __init__(self, mistake: str):
        super().__init__()
        self.w, self.b, self.affine = Parameter(numbers(4, 4)), Parameter(numbers(4)), Affine(mistake)

    def construct(self, x: Tensor) -> Tensor:
        return self.affine(x, self.w, self.b)


def network(mistake: str) -> nn.Cell:
    """Return 20 layers; the thirteenth has the mistake."""
    return nn.SequentialCell(*[nn.SequentialCell(nn.Dense(4, 4), nn.LayerNorm((4,))) if i % 2 else Layer(mistake if i == 12 else "")
                               for i in range(20)])


MISTAKES = {
    "sign": "for 'w' it gives", "factor": "it is 2 times the right one", "transposed": "it is the transpose of the right one",
    "reduction": "for 'b' it gives", "argument": "for 'x' it gives", "stale": "for 'w' it gives",
}


@pytest.mark.parametrize("form", [lambda net: net, ms.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_names_the_bprop_with_a_mistake_among_20_layers(mistake: str, form: Callable[[nn.Cell], Any]) -> None:
    report = ms.check_gradients(form(network(mistake)), numbers(3, 4))
    (cause,) = report.causes
    assert not report and cause.kind == "bprop" and "cell '12.affine'" in cause.text and MISTAKES[mistake] in cause.text
    assert cause.place is not None and (cause.place.file, cause.place.line) == (__file__, BPROP_LINE)
    assert f"{BPROP_LINE} |     def bprop(self, x: Tensor" in str(report)
    with pytest.raises(AssertionError, match=r"Affine\.bprop at .* is wrong"):
        report.raise_if_wrong()


def test_the_network_without_a_mistake_passes() -> None:
    report = ms.check_gradients(network(""), numbers(3, 4))
    report.raise_if_wrong()
    assert report.ok and not report.causes and not report.left_out and len(report.checks) == 2


def test_a_mismatch_has_its_input_element_and_both_numbers() -> None:
    affine = Affine("sign")
    report = ms.check_gradients(lambda p, x: affine(x, p["w"], p["b"]), {"w": numbers(4, 2), "b": numbers(2)}, numbers(3, 4), order=1)
    (wrong,) = report.mismatches
    assert (wrong.order, wrong.name, wrong.element) == (1, "p['w']", (0, 0))
    assert wrong.gradient == pytest.approx(-wrong.difference, rel=1e-4) and wrong.ratio == pytest.approx(-1, rel=1e-4)


def test_names_the_operator_whose_gradient_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    tanh = registry()["tanh"]
    right = tanh.vjp
    monkeypatch.setattr(tanh, "vjp", lambda self, b, node, ct: [b.neg(x) for x in right(self, b, node, ct)])
    report = ms.check_gradients(lambda x: ops.tanh(ops.sin(x) * 2).sum(), numbers(3))
    (cause,) = report.causes
    assert (cause.kind, cause.name) == ("operator", "tanh") and "it has the opposite sign" in cause.text
    assert cause.place is not None and cause.place.file == __file__


def test_names_the_bprop_of_an_operator_of_the_users_own() -> None:
    def cubed_bprop(x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
        return 2 * x * x * dout

    cubed = ms.operator("cubed_wrongly(x)", bprop=cubed_bprop)(lambda x: x * x * x)
    (cause,) = ms.check_gradients(cubed, numbers(3)).causes
    assert "cubed_bprop" in cause.text and "it is 0.6667 times the right one" in cause.text
    assert cause.place is not None and cause.place.line == cubed_bprop.__code__.co_firstlineno


class Halved(ms._Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * x


def test_names_the_backward_of_a_function() -> None:
    (cause,) = ms.check_gradients(lambda x: Halved.apply(x), numbers(3)).causes
    assert cause.text.startswith("Halved.backward at") and "it is 0.5 times the right one" in cause.text


def clip(gradient: Tensor) -> Tensor:
    return ops.clamp(gradient, -0.1, 0.1)


def hooked_cell(x: Tensor) -> Tensor:
    dense = nn.Dense(3, 2)
    dense.register_backward_hook(lambda cell, grad_input, grad_output: (clip(grad_input[0]),))
    return dense(x)


def hooked_value(x: Tensor) -> Tensor:
    y = x * 20
    y.register_hook(clip)
    return y * 3


HOOKED = {"value": hooked_value, "value, jit": ms.jit(hooked_value), "operator": lambda x: ops.HookBackward(lambda g: g[0] * 2)(x)}


@pytest.mark.parametrize("fn", HOOKED.values(), ids=HOOKED)
def test_names_a_hook_that_changes_gradients(fn: Any) -> None:
    report = ms.check_gradients(fn, numbers(2, 3))
    (cause,) = report.causes
    assert not report.ok and cause.kind == "hook" and "changes the gradient at [0, 0] from" in cause.text
    assert cause.place is not None and cause.place.file == __file__


def test_names_a_cells_hook() -> None:
    dense = nn.Dense(3, 2)
    dense.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))
    (cause,) = ms.check_gradients(dense, numbers(2, 3)).causes
    assert cause.kind == "hook"


def test_hooks_that_only_look_change_nothing() -> None:
    seen: list[Any] = []
    dense = nn.Dense(3, 2)
    dense.register_backward_hook(lambda cell, grad_input, grad_output: seen.append(grad_output))
    assert ms.check_gradients(dense, numbers(2, 3)).ok and seen


KINKS = {
    "relu": (lambda x: ops.relu(x), [0.0, 1.0, -1.0], "a kink of `relu` at [0]"),
    "abs": (lambda x: ops.sin(x).abs().sum(), [1.0, 0.0], "a kink of `abs` at [1]"),
    "max": (lambda x: x.max(), [1.0, 1.0, -1.0], "a tie of `reduce_max`"),
    "maximum": (lambda x: ops.maximum(x * 2, x + 1), [0.5, 1.0], "a tie of `maximum` at [1]"),
}


@pytest.mark.parametrize(("fn", "at", "cause"), KINKS.values(), ids=KINKS)
def test_names_kinks_and_ties(fn: Any, at: list[float], cause: str) -> None:
    report = ms.check_gradients(fn, Tensor(at))
    assert report.ok and f"from {cause} in {__file__}" in str(report)
    assert len(report.kinks) == 1 and report.kinks[0].left != pytest.approx(report.kinks[0].right)


RIGHT = {
    "cut": (lambda x: x * ops.stop_gradient(x) + ops.floor(x) + (x > 0) * x, lambda: [numbers(4)]),
    "branch": (ms.jit(lambda x: x * x if x.sum() > 0 else x), lambda: [numbers(3)]),
    "nested": (lambda p, x: {"y": p["w"] @ x[0], "n": 3}, lambda: [{"w": numbers(2, 2)}, [numbers(2, 2), 3]]),
    "integer labels": (nn.CrossEntropyLoss(), lambda: [numbers(3, 4), Tensor([0, 1, 3], ms.int32)]),
    "convolution": (nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2)), lambda: [numbers(1, 1, 4, 4)]),
    "recurrent": (nn.GRU(2, 3), lambda: [numbers(1, 3, 2)]),
    "empty": (lambda x: x * x, lambda: [Tensor(np.zeros((0, 3), np.float32))]),
    "scalar": (lambda x: ops.exp(x), lambda: [Tensor(0.5)]),
    "constant": (lambda x: Tensor([1.0, 2.0]), lambda: [numbers(3)]),
    "float64": (lambda x: ops.exp(x) / (1 + ops.exp(x)), lambda: [Tensor(rng.normal(size=3))]),
    "float16": (lambda x: ops.tanh(x) * x, lambda: [numbers(5).astype(ms.float16)]),
    "bfloat16": (lambda x: ops.tanh(x) * x, lambda: [numbers(5).astype(ms.bfloat16)]),
    "small": (lambda x: (x * 1e-6).mean(), lambda: [numbers(100)]),
    "written": (lambda x: ops.tensor_scatter_elements(x * 2, Tensor([0]), x[1:2] * 3), lambda: [numbers(3)]),
}


@pytest.mark.parametrize(("fn", "inputs"), RIGHT.values(), ids=RIGHT)
def test_right_gradients_pass(fn: Any, inputs: Callable[[], list[Any]]) -> None:
    ms.check_gradients(fn, *inputs()).raise_if_wrong()


def test_random_draws_repeat_and_parameters_are_restored() -> None:
    norm = nn.BatchNorm1d(3)
    net = nn.SequentialCell(norm, nn.Dropout(p=0.5)).set_train()
    before, state = norm.moving_mean.asnumpy(), ms.get_rng_state().asnumpy()
    ms.check_gradients(net, numbers(4, 3)).raise_if_wrong()
    np.testing.assert_array_equal(norm.moving_mean.asnumpy(), before)
    np.testing.assert_array_equal(ms.get_rng_state().asnumpy(), state)


def test_parameters_that_a_function_reads_are_found() -> None:
    w, v = Parameter(numbers(3), name="w"), Parameter(numbers(3), name="v")
    frozen = Parameter(numbers(3), name="frozen", requires_grad=False)
    report = ms.check_gradients(lambda x: x * w * frozen + v * w, numbers(3))
    assert report.ok and report.checks[0].startswith("order 1: 3 gradients of 9 elements")


def test_parameters_that_each_call_makes_are_constants() -> None:
    report = ms.check_gradients(lambda x: nn.Dense(3, 2, "ones", "zeros")(x), numbers(2, 3))
    assert report.ok and report.checks[0].startswith("order 1: 1 gradient of 6 elements")


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(numbers(3))

    def construct(self, x: Tensor) -> Tensor:
        return x * self.w

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
        return dout * self.w


class Cubed(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * x * x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
        return Tensor(3 * x.asnumpy() ** 2) * dout


def test_a_bprop_leaves_out_a_parameter() -> None:
    (cause,) = ms.check_gradients(Scaled(), numbers(3)).causes
    assert "construct reads 'w', which is not an argument, so that its gradient stays zero" in cause.text


def test_what_is_computed_by_numpy_is_noted() -> None:
    first = ms.check_gradients(lambda x: x * Tensor(x.asnumpy() * 2), numbers(3), order=1)
    assert "operand 2 of `mul` at" in first.left_out[0] and "(NumPy, `_no_grad`)" in first.left_out[0]
    cubed = Cubed()
    second = ms.check_gradients(lambda x: cubed(x), numbers(3))
    assert "order 2: the gradient of 'x' depends on the inputs" in second.left_out[0]


def test_a_gradient_that_is_not_finite_is_named() -> None:
    report = ms.check_gradients(lambda x: ops.sqrt((x * x).sum()), Tensor([0.0, 0.0]))
    assert np.isnan(report.mismatches[0].gradient) and "The gradient of the operator `sqrt` is not finite: it gives inf" in str(report)


BAD: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "no function": (3, (numbers(2),), {}, TypeError, "'fn' must be a function or a Cell, but got 3"),
    "order": (ops.relu, (numbers(2),), {"order": 3}, ValueError, "'order' must be 1 or 2, but got 3"),
    "order type": (ops.relu, (numbers(2),), {"order": "x"}, TypeError, "'order' must be an int"),
    "rtol": (ops.relu, (numbers(2),), {"rtol": -1.0}, ValueError, "'rtol' must be 0 or more, but got -1.0"),
    "integers": (lambda x: x * 2.0, (Tensor([1, 2]),), {}, TypeError, "a floating-point Tensor among the inputs, .* but got Int64"),
    "no inputs": (lambda: Tensor(1.0), (), {}, TypeError, "but got no Tensor"),
    "no results": (lambda x: 3, (numbers(2),), {}, TypeError, "at least one floating-point Tensor, but it returned 3 of type int"),
    "integer results": (lambda x: x.argmax(), (numbers(2),), {}, TypeError, "but it returned a Tensor of Int64"),
    "draws": (lambda x: x * random.random(), (numbers(2),), {}, ValueError, "result 1 of two calls differs"),
    "not finite": (ops.log, (Tensor([1.0, -1.0]),), {}, ValueError, r"result 1 is nan at \[1\]: `watch.check_finite`"),
}


@pytest.mark.parametrize(("fn", "inputs", "options", "kind", "text"), BAD.values(), ids=BAD)
def test_bad_input_has_a_clear_answer(fn: Any, inputs: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        ms.check_gradients(fn, *inputs, **options)


def test_inside_of_a_gradient_it_is_refused() -> None:
    with pytest.raises(RuntimeError, match="outside of gradients"):
        ms.grad(lambda x: x * ms.check_gradients(ops.relu, x).ok)(numbers(2))
