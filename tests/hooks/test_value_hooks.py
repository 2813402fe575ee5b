"""Hooks on values: `Tensor.register_hook`, `Parameter.register_hook`, `HookBackward`, `InsertGradientOf`."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops
from tests.hooks.events import Log, Square, T, Weighted, plain


def test_a_value_hook_sees_the_total_gradient():
    """A hook registered between uses sees the sum over all of them: y * 3 before, y * 5 after."""
    log = Log()

    def f(x):
        y = x * 2
        z = y * 3
        y.register_hook(log.tensor("y", lambda g: g * 10))
        return z + y * 5

    assert plain(ms.grad(f)(T(1))) == [160]
    assert log == [("y", [8])]


def test_several_hooks_on_one_value_run_in_order():
    log = Log()

    def f(x):
        y = x * 2
        y.register_hook(log.tensor("first", lambda g: g + 1))
        y.register_hook(log.tensor("second", lambda g: g * 10))
        return y * 3

    assert plain(ms.grad(f)(T(1))) == [80]
    assert log == [("first", [3]), ("second", [4])]


def test_over_values_the_reverse_of_the_forward():
    log = Log()

    def f(x):
        a = x * 2
        b = a * 3
        c = b * 4
        for name, value in (("a", a), ("b", b), ("c", c)):
            value.register_hook(log.tensor(name))
        return c

    ms.grad(f)(T(1))
    assert [event[0] for event in log] == ["c", "b", "a"]


def test_none_means_unchanged_and_wrong_returns_are_errors():
    def run(returned):
        def f(x):
            y = x * 2
            y.register_hook(lambda grad: returned)
            return y

        return ms.grad(f)(T(1))

    assert plain(run(None)) == [2]
    for wrong, name in (((T(1),), "tuple"), (1, "int"), ([T(1)], "list"), (np.ones(1, np.float32), "ndarray")):
        with pytest.raises(RuntimeError, match=f"Tensor hook should be return Tensor, but get type: {name}."):
            run(wrong)
    with pytest.raises(ValueError, match="is not consistent with the expected"):
        run(T(1, 2))
    with pytest.raises(ValueError, match="is not consistent with the expected"):
        run(Tensor([1]))
    assert plain(run(None)) == [2]


def test_no_cotangent_no_call():
    """Not called for an unused value, behind stop_gradient, and for one of several results of which only another is used."""
    log = Log()

    def f(x):
        unused = x * 2
        unused.register_hook(log.tensor("unused"))
        cut = x * 3
        cut.register_hook(log.tensor("cut"))
        return ops.stop_gradient(cut) + x

    ms.grad(f)(T(1))
    assert log == []

    def g(x):
        a, b = ops.split(x, 1)
        a.register_hook(log.tensor("a"))
        b.register_hook(log.tensor("b"))
        return a * 3

    assert plain(ms.grad(g)(T(1, 2))) == [3, 0]
    assert log == [("a", [3])]


def test_a_zero_is_a_gradient():
    log = Log()

    def f(x):
        y = x * 2
        y.register_hook(log.tensor("y"))
        return y * 0

    ms.grad(f)(T(1))
    assert log == [("y", [0])]


def test_remove_before_the_backward_pass():
    log = Log()

    def f(x):
        y = x * 2
        handle = y.register_hook(log.tensor("y"))
        z = y * 3
        handle.remove()
        handle.remove()
        return z

    ms.grad(f)(T(1))
    assert log == []


def test_a_handle_is_a_context_manager():
    x, log = T(1), Log()
    with x.register_hook(log.tensor("x")):
        ms.grad(lambda x: x * 2)(x)
    ms.grad(lambda x: x * 2)(x)
    assert log == [("x", [2])]


def test_on_an_input_it_works_for_every_later_gradient():
    x, log = T(3), Log()
    gradient = ms.grad(lambda x: x * x)
    gradient(x)
    handle = x.register_hook(log.tensor("x", lambda g: g * 10))
    assert x.hooks() and plain(gradient(x)) == [60]
    assert plain(gradient(x)) == [60]
    handle.remove()
    assert plain(gradient(x)) == [6]
    assert log == [("x", [6]), ("x", [6])]


def test_on_a_parameter_once_with_the_sum_only_when_asked_for():
    cell, log = Weighted(), Log()
    cell.w.register_hook(log.tensor("w", lambda g: g * 100))
    f = lambda x: cell(x) + cell(x * 2)  # noqa: E731
    ms.grad(f)(T(1))
    assert log.take() == []
    assert plain(ms.grad(f, None, ParameterTuple([cell.w]))(T(1))) == ([300],)
    assert log.take() == [("w", [3])]
    cell.w.requires_grad = False
    ms.grad(f, None, ParameterTuple([cell.w]))(T(1))
    assert log.take() == []


def test_among_parameters_the_reverse_of_first_read():
    log = Log()
    a, b = Parameter(T(2), name="a"), Parameter(T(3), name="b")
    a.register_hook(log.tensor("a"))
    b.register_hook(log.tensor("b"))
    ms.grad(lambda x: x * b * a, None, [a, b])(T(1))
    assert [event[0] for event in log.take()] == ["a", "b"]
    ms.grad(lambda x: x * a * b, None, [a, b])(T(1))
    assert [event[0] for event in log.take()] == ["b", "a"]


def test_what_takes_no_gradient_takes_no_hook():
    frozen = Parameter(T(1), name="frozen", requires_grad=False)
    with pytest.raises(RuntimeError, match="The tensor requires grad is false"):
        frozen.register_hook(print)
    with pytest.raises(RuntimeError, match="The tensor requires grad is false"):
        ms.grad(lambda x: ops.stop_gradient(x).register_hook(print))(T(1))


class Stops(nn.Cell):
    def construct(self, x):
        return ops.stop_gradient(x * 2), x


class Hooks(nn.Cell):
    def construct(self, x):
        x.register_hook(print)
        return x * 1


STOPS, HOOKS = Stops(), Hooks()
FROZEN = Parameter(T(1), name="frozen", requires_grad=False)


def hooked_directly(x):
    y = ops.stop_gradient(x * 2)
    y.register_hook(print)
    return y * x


def hooked_in_a_tuple(x):
    y = ops.stop_gradient((x, x * 2))[1]
    y.register_hook(print)
    return y * x


def hooked_behind_a_cell(x):
    y, _ = STOPS(x)
    y.register_hook(print)
    return y * x


def hooked_inside_of_a_cell(x):
    return HOOKS(ops.stop_gradient(x)) * x


def hooked_behind_a_branch(x):
    y = x
    if x.sum() > 0:
        y = ops.stop_gradient(x)
    y.register_hook(print)
    return y * x


def hooked_behind_a_loop(x):
    y = x
    while y.sum() < 5:
        y = ops.stop_gradient(y + 1)
    y.register_hook(print)
    return y * x


def frozen_parameter_in_a_cell(x):
    return HOOKS(FROZEN) * x


@pytest.mark.parametrize("f", [
    hooked_directly, hooked_in_a_tuple, hooked_behind_a_cell, hooked_inside_of_a_cell, hooked_behind_a_branch, hooked_behind_a_loop,
    frozen_parameter_in_a_cell])
def test_a_hook_behind_stop_gradient_is_refused_in_every_mode(f):
    """It would never run: also under another name of the value, and with or without a gradient."""
    for run in (f, ms.grad(f), ms.jit(f), ms.grad(ms.jit(f)), ms.jit(lambda x: ms.grad(f)(x))):
        with pytest.raises(RuntimeError, match="The tensor requires grad is false, which can not register tensor hook"):
            run(T(3))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        with pytest.raises(RuntimeError, match="The tensor requires grad is false"):
            ms.grad(f)(T(3))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("f", [hooked_behind_a_branch, lambda x: HOOKS(STOPS(x)[1]) * x, lambda x: HOOKS(ops.stop_gradient(x) * x)])
def test_a_hook_beside_stop_gradient_runs(f, capsys):
    """On a path without it, on the result of a cell that is not stopped, and on values computed from that."""
    for run in (ms.grad(f), ms.grad(ms.jit(f)), ms.jit(lambda x: ms.grad(f)(x))):
        run(T(-3))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and len(set(lines)) == 1


def test_an_error_names_the_value():
    """The name is that in the user's line."""
    def f(x):
        product = x * 2
        product.register_hook(lambda grad: 3)
        return product

    with pytest.raises(RuntimeError, match=r"on value 'product', forward at .*test_value_hooks.py"):
        ms.grad(f)(T(1))


def test_together_with_a_cells_hooks():
    """y's hook, then the cell's, then its input's."""
    cell, log = Square(), Log()
    cell.register_backward_pre_hook(log.backward_pre("bpre"))
    cell.register_backward_hook(log.backward("bwd"))

    def f(x):
        a = x * 2
        a.register_hook(log.tensor("a"))
        y = cell(a)
        y.register_hook(log.tensor("y"))
        return y * 3

    ms.grad(f)(T(1))
    assert [event[0] for event in log] == ["y", "bpre", "bwd", "a"]


def test_the_result_of_the_function_gets_the_sens():
    log = Log()

    def f(x):
        y = x * 2
        y.register_hook(log.tensor("y"))
        return y

    ms.ops.GradOperation(sens_param=True)(f)(T(1), T(5))
    assert log == [("y", [5])]


def test_second_order_of_value_hooks():
    """A hook * 10 on x * x in x * x * x at 2: first order 84, second order 120, called with 2 and then 1."""
    log = Log()

    def f(x):
        y = x * x
        y.register_hook(log.tensor("y", lambda g: g * 10))
        return y * x

    first = ms.grad(f)
    assert plain(first(T(2))) == [84]
    assert log.take() == [("y", [2])]
    assert plain(ms.grad(first)(T(2))) == [120]
    assert log.take() == [("y", [2]), ("y", [1])]


def test_a_value_hook_that_raises():
    boom = ValueError("boom")

    def raising(grad):
        raise boom

    def f(x, hooked):
        y = x * 2
        if hooked:
            y.register_hook(raising)
        return y

    with pytest.raises(ValueError) as raised:
        ms.grad(f)(T(1), True)
    assert raised.value is boom
    assert "raising" in boom.__notes__[0] and "test_value_hooks.py" in boom.__notes__[0]
    assert plain(ms.grad(f)(T(1), False)) == [2]


# HookBackward --------------------------------------------------------------------------------------------------------
def test_hook_backward_is_the_identity_and_sees_a_tuple():
    log = Log()
    hook = ops.HookBackward(lambda grad: log.append(plain(grad)))
    assert plain(hook(T(5))) == [5]
    assert log == []

    def f(x, y):
        return hook(x * y) * y

    assert plain(ms.grad(f, (0, 1))(T(1), T(2))) == ([4], [4])
    assert log == [([2],)]


def test_hook_backward_doubles():
    hook = ops.HookBackward(lambda grad: grad[0] * 2)
    assert plain(ms.grad(lambda x, y: hook(x * y) * y, (0, 1))(T(1), T(2))) == ([8], [6])


def test_hook_backward_of_several_values():
    """Gradients of unused results are zeros, not None."""
    log = Log()

    def fn(grad):
        log.append(plain(grad))
        return grad[0] * 10, grad[1] * 100

    hook = ops.HookBackward(fn)

    def f(x, y):
        a, _ = hook(x, y)
        return a * 3

    assert plain(ms.grad(f, (0, 1))(T(1), T(1))) == ([30], [0])
    assert log == [([3], [0])]


def test_hook_backward_sees_its_own_results_only():
    log = Log()
    hook = ops.HookBackward(lambda grad: log.append(plain(grad)))

    def f(x):
        y = x * 2
        return hook(y) * 3 + y * 5

    assert plain(ms.grad(f)(T(1))) == [16]
    assert log == [([3],)]


def test_hook_backward_once_a_use_last_use_first():
    log = Log()
    hook = ops.HookBackward(lambda grad: log.append(plain(grad)))
    ms.grad(lambda x: hook(x) * 2 + hook(x * 5) * 3)(T(1))
    assert log == [([3],), ([2],)]


def test_hook_backward_where_nothing_flows():
    log = Log()
    hook = ops.HookBackward(lambda grad: log.append(plain(grad)))
    ms.grad(lambda x: x + hook(T(3)))(T(1))
    ms.grad(lambda x: x + ops.stop_gradient(hook(x)))(T(1))
    assert log == []
    ms.grad(lambda x: hook(x) * 0)(T(1))
    assert log == [([0],)]


def test_hook_backward_wrong_returns():
    def run(returned, two=False):
        hook = ops.HookBackward(lambda grad: returned)
        if two:
            return ms.grad(lambda x, y: hook(x, y)[0] + 1, (0, 1))(T(1), T(1))
        return ms.grad(lambda x: hook(x) * 2)(T(1))

    for wrong, name in (([T(1)], "list"), (1, "int"), ((T(1), T(1)), "tuple")):
        with pytest.raises(TypeError, match=f"The output type of function: .*lambda.* should be a tensor but got {name}"):
            run(wrong)
    for wrong in (T(1), [T(1), T(1)], (T(1),)):
        with pytest.raises(TypeError, match="The output gradient should be a tuple!"):
            run(wrong, two=True)
    with pytest.raises(ValueError, match="The tuple size of output gradient should be 2, but it is 3"):
        run((T(1), T(1), T(1)), two=True)
    with pytest.raises(ValueError, match="is not consistent with the expected"):
        run(T(1, 2))
    assert plain(run((T(7),))) == [7]
    assert plain(run(None)) == [2]


def test_hook_backward_takes_functions_and_tensors():
    for wrong in (1, None, "hook"):
        with pytest.raises(TypeError):
            ops.HookBackward(wrong)
    hook = ops.HookBackward(lambda grad: None)
    for wrong in (1, (T(1),), "text", None):
        with pytest.raises(TypeError, match="HookBackward"):
            hook(wrong)


def test_second_order_of_hook_backward():
    hook = ops.HookBackward(lambda grad: grad[0] * 10)
    first = ms.grad(lambda x: hook(x * x) * x)
    assert plain(first(T(2))) == [84]
    assert plain(ms.grad(first)(T(2))) == [120]


def test_insert_gradient_of():
    log = Log()
    clip = ops.InsertGradientOf(log.tensor("g", lambda g: g * 10))
    assert plain(ms.grad(lambda x: clip(x * 2) * 3)(T(1))) == [60]
    assert log == [("g", [3])]
    unchanged = ops.InsertGradientOf(lambda g: None)
    assert plain(ms.grad(lambda x: unchanged(x * 2) * 3)(T(1))) == [6]
    with pytest.raises(TypeError):
        ops.InsertGradientOf(3)


class Branching(nn.Cell):
    """Python control flow: hooks in a branch not taken and in a loop of no iterations are not called."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    def construct(self, x, rounds):
        y = x
        if plain(x)[0] > 0:
            y = x * 2
            y.register_hook(self.log.tensor("taken"))
        for i in range(rounds):
            y = y * 3
            y.register_hook(self.log.tensor(f"round {i}"))
        return y


def test_hooks_in_branches_and_loops():
    log = Log()
    net = Branching(log)
    assert plain(ms.grad(net)(T(1), 2)) == [18]
    assert log.take() == [("round 1", [1]), ("round 0", [3]), ("taken", [9])]
    assert plain(ms.grad(net)(T(-1), 0)) == [1]
    assert log.take() == []
    assert plain(ms.grad(net)(T(1), 0)) == [2]
    assert log.take() == [("taken", [1])]


def test_a_gradient_changed_in_place_is_the_hooks_own():
    """Only the returned value counts, for hooks of every kind; also if the gradient is differentiated again."""
    kept = []

    def change(gradient):
        gradient = gradient[0] if isinstance(gradient, tuple) else gradient
        gradient.add_(100.0)
        kept.append(gradient)

    def tensor(y):
        y.register_hook(change)
        return y

    def pre(y):
        cell = nn.ReLU()
        cell.register_backward_pre_hook(lambda cell, grad_output: change(grad_output))
        return cell(y)

    def backward(y):
        cell = nn.ReLU()
        cell.register_backward_hook(lambda cell, grad_input, grad_output: change(grad_input))
        cell.register_backward_hook(lambda cell, grad_input, grad_output: change(grad_output))
        return cell(y)

    for through in (tensor, pre, backward, ops.HookBackward(change), ops.InsertGradientOf(change)):
        f = lambda x, through=through: through(x * 2) * x * x  # noqa: E731
        kept.clear()
        assert plain(ms.grad(f)(T(2, 3))) == [24, 54], through
        assert all(plain(g) == [104, 109] for g in kept) and kept
        assert plain(ms.grad(ms.grad(f))(T(2, 3))) == [24, 36], through


@pytest.mark.parametrize("identity", [ops.HookBackward, ops.InsertGradientOf])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_a_hook_on_what_an_identity_gives_is_none_of_the_operands(identity, compiled):
    """Also without a gradient: x does not get a hook that would change its later gradients."""
    log = Log()
    behind, hook = identity(lambda grad: None), log.tensor("y", lambda g: g * 10)

    def forward(x):
        y = behind(x)
        y.register_hook(hook)
        return y * 3

    x = T(1)
    assert plain((ms.jit(forward) if compiled else forward)(x)) == [3]
    assert plain(ms.grad(lambda x: x * 2)(x)) == [2]
    assert log == []
    assert plain(ms.grad(forward)(x)) == [30]
    assert log == [("y", [3])]


def test_a_gradient_by_a_tensor_that_is_written_after_its_hook_is_registered():
    """The hook is one of the object in eager mode, and of one value of it in a graph: a gradient inside by another value is refused."""
    def inner(x, write, register_last):
        x = x * 1
        if not register_last:
            x.register_hook(lambda gradient: gradient * 0.5)
        if write:
            x[1] += 2.0
        if register_last:
            x.register_hook(lambda gradient: gradient * 0.5)
        return ms.grad(lambda z: z * z)(x)

    for write, register_last in ((False, False), (False, True), (True, True)):
        expected = plain(inner(T(1, 2), write, register_last))
        assert plain(ms.jit(inner)(T(1, 2), write, register_last)) == expected == ([1, 4] if write else [1, 2])
    assert plain(inner(T(1, 2), True, False)) == [1, 4]
    with pytest.raises(ms.CompileError, match="register the hook after the write") as caught:
        ms.jit(inner)(T(1, 2), True, False)
    assert caught.value.diagnostic.code == "E202"
