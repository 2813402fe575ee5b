"""Hooks of gradients that are part of a graph's function: the same calls as in eager mode, between launches of the whole step.

The last part says which graphs are expanded.  Where the user's code could change what comes after it, a graph runs along its path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.core import walk
from adjoint.ir.ops.control import Differentiated
from adjoint.runtime.graphs.running.optimised import quiet_plan, reason
from adjoint.runtime.inspection.stages import plan_of
from tests.hooks.events import T
from tests.hooks.training import LABELS, Layers, Training, X, eager, log_of


class Ruled(nn.Cell):
    """x * x with its own bprop."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (x * dout * 3,)


class Net(Layers):
    """Layers with every kind of hook that runs in the backward pass."""

    def __init__(self):
        super().__init__()
        self.ruled = Ruled()
        self.seen = ops.HookBackward(lambda gradients: gradients[0] * 2)
        self.clip = ops.InsertGradientOf(lambda gradient: ops.clamp(gradient, -1.0, 1.0))
        for cell in (self.first, self.act, self.second, self.ruled):
            cell.register_backward_hook(lambda cell, grad_input, grad_output: None)
        self.act.register_backward_pre_hook(lambda cell, grad_output: (grad_output[0] + 1,))
        self.act.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 0.5,))

    def construct(self, x):
        return self.second(self.ruled(self.clip(self.act(self.seen(self.first(x))))))


def is_expanded(function: Callable[..., Any], *given: Tensor) -> bool:
    """True if a graph of the function computes all its gradients in its own launches."""
    plan = quiet_plan(ms.jit(function).graph_of(*given).graph)
    return not any(isinstance(node.op, Differentiated) for node in walk(plan.function.body))


def both(change: Callable[[Training, int], Any], net: Callable[[], nn.Cell] = Net) -> list[Any]:
    """Return the log of eager mode, which is that of a graph; `change` is called before each step."""
    expected = log_of(eager, lambda: Training(net()), change)
    assert log_of(ms.jit, lambda: Training(net()), change) == expected
    return expected


def test_a_training_step_calls_the_hooks_of_eager_mode() -> None:
    events = both(lambda training, number: None)
    assert [kind for kind, *_ in events].count("cell") == 5 * 6
    training = Training(Net())
    assert is_expanded(lambda x, labels: training.step(x, labels), X, LABELS)


def test_a_hook_that_changes_hooks_while_the_step_runs() -> None:
    """Of cells that are still to come, of its own cell, of a parameter, and of the cell that is removed next."""

    def change(training: Training, number: int) -> None:
        net = training.net
        if number == 1:
            handles = [net.first.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0], ) * len(grad_input))]

            def meddles(cell: Any, grad_input: Any, grad_output: Any) -> None:
                handles.pop().remove() if handles else None
                net.first.register_backward_hook(lambda cell, grad_input, grad_output: None)
                net.second.register_backward_hook(lambda cell, grad_input, grad_output: None)
                net.first.weight.register_hook(lambda gradient: gradient * 2)

            net.second.register_backward_hook(meddles)

    both(change)


def test_a_hook_that_writes_a_parameter() -> None:
    """The gradient is that of the old value, the update begins with the new one."""

    def change(training: Training, number: int) -> None:
        weight = training.net.first.weight
        if number == 1:
            training.net.act.register_backward_hook(lambda cell, grad_input, grad_output: weight.set_data(weight * 0.5) and None)

    both(change)


def test_a_hook_that_raises() -> None:
    """Nothing is written, and the next step runs as if nothing had happened."""
    armed = [False]

    def raises(cell: Any, grad_input: Any, grad_output: Any) -> None:
        if armed[0]:
            raise ValueError("boom")

    def change(training: Training, number: int) -> None:
        if not number:
            training.net.act.register_backward_hook(raises)
        armed[0] = number == 2

    assert ("raised", "boom") in both(change)


MEDDLING: list[Callable[[Tensor], Any]] = []


def meddles(gradient: Tensor) -> Any:
    """The hook of a value in parsed code: it does what the test has put there."""
    return [act(gradient) for act in MEDDLING][-1] if MEDDLING else None


class Valued(Net):
    """A network that registers a hook on a value."""

    def construct(self, x):
        y = self.act(self.first(x))
        y.register_hook(meddles)
        return self.second(y)


def raise_boom(gradient: Tensor) -> None:
    raise ValueError("boom")


@pytest.mark.parametrize("act", [
    lambda net, gradient: gradient * 2,
    lambda net, gradient: raise_boom(gradient),
    lambda net, gradient: net.first.weight.set_data(net.first.weight * 0.5) and None,
    lambda net, gradient: net.first.register_backward_hook(lambda cell, grad_input, grad_output: None) and None,
    lambda net, gradient: net.first.register_forward_hook(lambda cell, args, output: output * 2) and None,
    lambda net, gradient: net.first.weight.register_hook(lambda gradient: gradient * 2) and None,
], ids=["changes its gradient", "raises", "writes a weight", "a backward hook", "a forward hook", "a weight's hook"])
def test_what_a_hook_on_a_value_does(act: Callable[[Any, Tensor], Any]) -> None:
    """In the third of five steps, as in eager mode."""

    def change(training: Training, number: int) -> None:
        MEDDLING[:] = [lambda gradient: act(training.net, gradient)] if number == 2 else []

    training = Training(Valued())
    assert is_expanded(lambda x, labels: training.step(x, labels), X, LABELS)
    both(change, Valued)
    MEDDLING.clear()


def test_the_exception_names_hook_cell_and_line() -> None:
    training = Training(Net())

    def raises(cell: Any, grad_input: Any, grad_output: Any) -> None:
        raise ValueError("boom")

    training.net.act.register_backward_hook(raises)
    for _ in range(2):
        with pytest.raises(ValueError, match="boom") as caught:
            ms.jit(training.step)(X, LABELS)
        (note,) = caught.value.__notes__
        assert "raises" in note
        assert "'act'" in note
        assert "test_expanded.py:" in note


def test_tensors_that_a_hook_keeps_stay_as_they_are() -> None:
    training, kept, bits = Training(Net()), list[Tensor](), list[bytes]()

    def keep(cell: Any, grad_input: Any, grad_output: Any) -> None:
        kept.extend((*grad_input, *grad_output))
        bits.extend(x.asnumpy().tobytes() for x in (*grad_input, *grad_output))
        grad_input[0].overwrite(grad_input[0] * 0)  # of no effect on what is computed
        kept.pop(-2)
        bits.pop(-2)

    training.net.act.register_backward_hook(keep)
    step, other = ms.jit(training.step), Training(Net())
    other.net.act.register_backward_hook(keep)
    for _ in range(3):
        assert step(X, LABELS).asnumpy() == other.step(X, LABELS).asnumpy()
    assert [x.asnumpy().tobytes() for x in kept] == bits


def test_a_forward_hook_that_another_hook_adds_to_a_later_cell() -> None:
    """It returns another dtype, for which the graph was not made."""

    def run(wrapped: Callable[..., Any]) -> list[Any]:
        first, second = nn.Tanh(), nn.Sigmoid()
        added = list[Any]()

        def add(cell: Any, grad_input: Any, grad_output: Any) -> None:
            if not added:
                added.append(second.register_forward_hook(lambda cell, args, output: output.astype(ms.float64) * 2))

        first.register_backward_hook(add)

        def two(x: Tensor) -> Any:
            by_first = ms.grad(lambda x: first(x).sum())(x)
            return by_first, ms.grad(lambda x: second(x).sum())(x)

        assert not is_expanded(two, X)
        return [y.asnumpy().tobytes() for _ in range(3) for y in wrapped(two)(X)]

    assert run(ms.jit) == run(eager)


class Whole(nn.Cell):
    """A cell whose construct takes the gradient."""

    def __init__(self, net: nn.Cell):
        super().__init__()
        self.net = net

    def construct(self, x):
        return ms.grad(lambda x: self.net(x).sum())(x)


@pytest.mark.parametrize("known", [False, True], ids=["no hooks before", "had hooks before"])
def test_a_forward_hook_that_is_added_while_its_cell_runs(known: bool) -> None:
    """It counts as in eager mode."""

    def run(compiled: bool) -> list[Any]:
        net = nn.Tanh()
        whole, added = Whole(net), list[Any]()
        if known:
            whole.register_forward_hook(lambda cell, args, output: output).remove()

        def add(cell: Any, grad_input: Any, grad_output: Any) -> None:
            if not added:
                added.append(whole.register_forward_hook(lambda cell, args, output: output * 2))

        net.register_backward_hook(add)

        def call(x: Tensor) -> Tensor:
            return whole(x) + 1

        step = ms.jit(call) if compiled else call
        return [step(X).asnumpy().tobytes() for _ in range(3)]

    assert run(True) == run(False)


def hooked(cell: nn.Cell) -> nn.Cell:
    cell.register_backward_hook(lambda cell, grad_input, grad_output: None)
    return cell


TANH, PLAIN, W = hooked(nn.Tanh()), nn.Sigmoid(), Parameter(T(2.0), name="w")
GRAD = ms.grad(lambda x: TANH(x).sum())


def printed_at_the_end(x: Tensor) -> Tensor:
    y = GRAD(x)
    print(y.shape)
    return y


def printed_in_between(x: Tensor) -> Tensor:
    y = GRAD(PLAIN(x))
    print(y.shape)
    return PLAIN(y)


def printed_inside(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        print(x.shape)
        return TANH(x).sum()

    return ms.grad(loss)(x)


class Shown:
    """An object whose text is made by the user's code."""

    def __repr__(self) -> str:
        return "shown"


SHOWN = Shown()


def printed_by_the_users_code(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        print(SHOWN, x)
        return TANH(x).sum()

    return ms.grad(loss)(x)


def printed_in_full(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        y = TANH(x)
        print("y", y, {"shape": y.shape}, f"{y.sum():.3f}", end=";\n")
        return (y * y).sum()

    return ms.grad(loss)(x)


def printed_argument(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        print(x)  # a new tensor there, also if a Parameter is given
        return TANH(x).sum()

    return ms.grad(loss)(x)


def of_a_later_cell(x: Tensor) -> Tensor:
    return PLAIN(GRAD(x))


def of_two_gradients(x: Tensor) -> Tensor:
    return GRAD(x) + GRAD(x * 2)


def in_a_loop(x: Tensor) -> Tensor:
    while x.sum() < 3:
        x = x + GRAD(x) + 1
    return x


def in_a_branch(x: Tensor) -> Tensor:
    return GRAD(PLAIN(x)) if x.sum() < 3 else x


def of_the_second_order(x: Tensor) -> Tensor:
    return ms.grad(lambda x: GRAD(x).sum())(x)


def of_a_value(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(lambda gradient: gradient * 2)
        return y.sum()

    return ms.grad(loss)(x)


def of_values_of_cells(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        x.register_hook(lambda gradient: print("x", gradient))
        y = TANH(x * 2)
        y.register_hook(lambda gradient: ops.clamp(gradient, -1.0, 1.0))
        z = y * y
        y.register_hook(lambda gradient: print("y", gradient))
        return (z + y).sum()

    return ms.grad(loss)(x)


def of_a_value_until_it_is_removed(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        y = x * 2
        handle = y.register_hook(lambda gradient: gradient * 2)
        z = (x * y).sum()
        handle.remove()
        return z

    return ms.grad(loss)(x)


def of_a_value_made_before(x: Tensor) -> Tensor:
    y = x * 2

    def loss(x: Tensor) -> Tensor:
        y.register_hook(lambda gradient: gradient * 2)
        return (x * y).sum()

    return ms.grad(loss)(x) + ms.grad(lambda y: (y * y).sum())(y)


class Watching(nn.Cell):
    """Registers a hook on its argument."""

    def construct(self, x):
        x.register_hook(lambda gradient: gradient * 2)
        return x * 1


WATCHING = Watching()


def of_a_value_made_before_in_a_cell(x: Tensor) -> Tensor:
    y = x * 2
    return ms.grad(lambda x: (x * WATCHING(y)).sum())(x) + ms.grad(lambda y: (y * y).sum())(y)


def of_a_value_that_takes_no_gradient(x: Tensor) -> Tensor:
    def loss(x: Tensor) -> Tensor:
        y = PLAIN(ops.stop_gradient(x))
        y.register_hook(lambda gradient: gradient * 2)  # never called
        with ms._no_grad():
            z = x * 2
        z.register_hook(lambda gradient: gradient * 2)
        return (x * y * z).sum()

    return ms.grad(loss)(x)


def of_a_parameter_read_before(x: Tensor) -> Tensor:
    w = W + 0
    return GRAD(x) * w


def of_a_parameter_read_again(x: Tensor) -> Tensor:
    return GRAD(x * W) * W


EXPANDED = [printed_at_the_end, printed_inside, printed_in_full, in_a_branch, of_a_parameter_read_before, of_a_parameter_read_again,
            of_a_value, of_values_of_cells, of_a_value_that_takes_no_gradient]
ALONG_THE_PATH = [printed_in_between, printed_argument, printed_by_the_users_code, of_a_later_cell, of_two_gradients, in_a_loop,
                  of_the_second_order, of_a_value_until_it_is_removed, of_a_value_made_before, of_a_value_made_before_in_a_cell]


def test_the_plan_of_a_hook_that_waits_for_a_tape() -> None:
    def watched(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(lambda gradient: gradient * 2)
        return y

    assert plan_of(ms.jit(watched).graph_of(X)).startswith(
        "as parsed: it calls Python where only a tape or a run of its own knows what for\nplan @watched")


@pytest.mark.parametrize(("function", "why"), [
    (printed_by_the_users_code, "as parsed: apply! @print runs code of the user's while a gradient's forward pass runs"),
    (of_a_later_cell, "eagerly: cell comes after code of the user's that may change what it uses"),
    (of_a_value_until_it_is_removed, "as parsed: apply! @remove runs code of the user's while a gradient's forward pass runs"),
])
def test_the_plan_says_why_a_graph_does_not_run_as_a_whole(function: Callable[[Tensor], Tensor], why: str) -> None:
    first, *_ = plan_of(ms.jit(function).graph_of(X)).splitlines()
    assert first.startswith(f"{why} (")
    assert "test_expanded.py:" in first


@pytest.mark.parametrize("function", [*EXPANDED, *ALONG_THE_PATH])
def test_which_graphs_are_expanded(function: Callable[[Tensor], Tensor], capsys: pytest.CaptureFixture[str]) -> None:
    assert is_expanded(function, X) == (function in EXPANDED) == (reason(ms.jit(function).graph_of(X).graph) is None)
    graph = ms.jit(function)
    for _ in range(2):
        expected, printed = function(X).asnumpy().tobytes(), capsys.readouterr().out
        assert graph(X).asnumpy().tobytes() == expected
        assert capsys.readouterr().out == printed
