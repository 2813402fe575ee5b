"""The tape: a path that is walked again finds its adjoint; numbers are no part of it; what is written later does no harm."""

from __future__ import annotations

import contextlib
import operator
import threading
import weakref

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.runtime.gradients import adjoints, tape
from adjoint.runtime.gradients.trie import trie
from adjoint.runtime.process.tracer import state


def T(*values):  # short, since it stands in every line
    return Tensor(np.array(values, np.float32))


@pytest.fixture
def built(monkeypatch):
    """Counts adjoints that are built."""
    count = []
    original = adjoints._built
    monkeypatch.setattr(adjoints, "_built", lambda *arguments: count.append(1) or original(*arguments))
    return count


def test_the_second_pass_builds_nothing(built):
    gradient = ms.grad(lambda x: (x * x).sum())
    for i in range(5):
        gradient(T(i, 1))
    assert len(built) == 1


def test_numbers_are_no_part_of_the_path(built):
    """A decaying learning rate, say: the same program with other numbers."""
    f = lambda x, rate: (x * rate).sum()  # noqa: E731
    for i in range(5):
        assert ms.grad(f)(T(1), 0.1 / (i + 1)).asnumpy()[0] == np.float32(0.1 / (i + 1))
    assert len(built) == 1


def test_an_instruction_stays_the_same_when_the_interpreter_specialises_it(built):
    """CPython does so after some rounds, and then stands elsewhere in the code while an index, a property or a call is computed."""
    def f(x):
        total = x.T[0].sum()
        for i in range(3):
            total = total + (x[i, :2] * x[0]).sum()
        return total + sum(row.mean() for row in x)

    gradient = ms.grad(f)
    for _ in range(40):
        gradient(Tensor(np.ones((3, 2), np.float32)))
    assert len(built) == 1


def test_what_has_no_operands_is_a_constant(built):
    """Whether the function that makes it runs itself, as in the first calls, or as one sequence of kernels."""
    gradient = ms.grad(lambda x: (x * ops.eye(2) + ops.ones((2, 2)) * 3).sum())
    for _ in range(8):
        gradient(T(1, 2))
    assert len(built) == 1


def test_another_shape_or_branch_is_another_path(built):
    def f(x, squared):
        return x * x if squared else x * 3

    gradient = ms.grad(f)
    for x, squared, expected in ((T(2), True, 4), (T(2), False, 3), (T(2, 2), True, 4), (T(5), True, 10)):
        assert gradient(x, squared).asnumpy()[0] == expected
    assert len(built) == 3


def test_filled_and_emptied_hook_slots(built):
    """Filling a slot is another path, emptying it finds the old one again."""
    cell = nn.ReLU()
    gradient = ms.grad(lambda x: cell(x * 2))
    gradient(T(1))
    handle = cell.register_backward_hook(lambda cell, gi, go: gi[0] * 10)
    assert gradient(T(1)).asnumpy() == [20]
    handle.remove()
    assert gradient(T(1)).asnumpy() == [2]
    handle = cell.register_backward_hook(lambda cell, gi, go: gi[0] * 7)
    assert gradient(T(1)).asnumpy() == [14]
    assert len(built) == 2


class _Pick(nn.Cell):
    """One of three tensors, by the value of an attribute: the results of the cell differ, nothing else does."""

    which = 0

    def construct(self, *given):
        return given[self.which]


_double = nn.ReLU()
_double.register_backward_hook(lambda cell, gi, go: gi[0] * 2)
_hooked, _pick = ops.HookBackward(lambda g: (g[0] * 2,)), _Pick()


@pytest.mark.parametrize(("use", "by_a", "by_t"), [
    (lambda a, t: a * t, 1, 1), (lambda a, t: t * a, 1, 1), (lambda a, t: a * ops.addn([a * 0, t]), 1, 1),
    (lambda a, t: a * _double(t), 1, 2), (lambda a, t: a * _hooked(t), 1, 2), (lambda a, t: a * ops.stop_gradient(t), 1, 0),
    (lambda a, t: a * ms.grad(lambda s: s * s * 0.5)(t), 1, 1),
], ids=["second operand", "first operand", "one of several", "cell", "hook", "behind stop_gradient", "gradient inside"])
def test_a_step_knows_each_of_its_operands(use, by_a, by_t):
    """The same instruction on another value is another path."""
    def f(a, b, c, flag):
        t = b if flag else c
        return use(a, t)

    a, b, c = T(2), T(3), T(5)
    for flag in (True, False, False, True):
        found = [float(g.asnumpy()[0]) for g in ms.grad(f, (0, 1, 2))(a, b, c, flag)]
        assert found == [by_a * (3 if flag else 5), by_t * 2 * flag, by_t * 2 * (not flag)]


def test_a_step_knows_the_results_of_a_cell():
    for which in (0, 1, 2, 1):
        _pick.which = which
        found = [float(g.asnumpy()[0]) for g in ms.grad(lambda *given: _pick(*given) * 7, (0, 1, 2))(T(2), T(3), T(5))]
        assert found == [7 * (i == which) for i in range(3)]


def test_a_step_knows_the_types_of_constants():
    f = lambda a, constant: (a * constant).sum()  # noqa: E731
    for constant, expected in ((T(3), [3, 3]), (T(3, 4), [3, 4]), (Tensor([[3.0], [4.0]]), [7, 7]), (T(3), [3, 3])):
        assert ms.grad(f)(T(1, 1), constant).tolist() == expected


def test_a_step_knows_which_constants_are_one_tensor():
    """The same tensor twice and two tensors of one type are two paths: their operands have other slots."""
    x, scale, offset = Tensor([[0.0, 1.0, 4.0, 9.0]]), T(1, 2, 3, 4), T(5, 5, 5, 5)

    def f(x, scale, offset):
        y = ops.layer_norm(x, (4,), scale, offset)
        return (y * y).sum()

    expected = ms.grad(lambda x: f(x, scale, offset))(x).asnumpy()
    for second in (scale, offset, scale, offset):
        found = ms.grad(f)(x, scale, second).asnumpy()
        assert np.array_equal(found, expected) == (second is offset)


def test_a_path_makes_its_nodes_once_and_keeps_no_tensor():
    made, nodes = [], []

    def f(x, y):
        z = ops.tanh(x) * y
        made.append(weakref.ref(z))
        nodes.append(state.tracer.path().nodes(trie.root))
        return z

    for _ in range(2):
        ms.grad(f)(T(1), T(2))
    assert [node.op.name for node in nodes[0]] == ["tanh", "mul"]
    assert all(map(operator.is_, *nodes))
    assert not any(z() for z in made)


def _boom(*_):
    raise ValueError("boom")


_relu, _pre, _inner = nn.ReLU(), nn.ReLU(), nn.SequentialCell(nn.ReLU(), nn.ReLU())
_relu.register_backward_hook(_boom)
_pre.register_backward_pre_hook(_boom)
_inner[1].register_backward_hook(_boom)
_value, _grad = ops.HookBackward(_boom), ops.InsertGradientOf(_boom)


def _failing(x):
    x.register_hook(_boom)
    return x


# Pairs of functions that differ in their lines alone: the instructions stand at the same offsets.
_PAIRS = {
    "enter": (lambda x: _relu(x),
              lambda x: _relu(x)),
    "enter within a cell of the library": (lambda x: _inner(x),
                                           lambda x: _inner(x)),
    "outputs": (lambda x: _pre(x),
                lambda x: _pre(x)),
    "hook": (lambda x: _value(x),
             lambda x: _value(x)),
    "gradient": (lambda x: _grad(x),
                 lambda x: _grad(x)),
    "attach": (lambda x: _failing(x * 2),
               lambda x: _failing(x * 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", _PAIRS)
def test_the_error_of_a_hook_names_the_line_of_the_path_that_was_walked(kind):
    """Two functions whose instructions stand at the same offsets are two paths."""
    pair = _PAIRS[kind]
    assert pair[0].__code__.co_code == pair[1].__code__.co_code
    gradient = ms.grad(lambda x, which: pair[which](x * 2))
    for which in (0, 1, 0):
        with pytest.raises(ValueError, match="boom") as raised:
            gradient(T(1), which)
        assert raised.value.__notes__[-1].endswith(f", forward at {__file__}:{pair[which].__code__.co_firstlineno}")


def test_locations_of_branches_on_different_lines():
    """Equal ops on two lines are two paths, whatever frames of the library stand between."""

    def f(x, first):
        if first:
            y = ops.mse_loss(x / 2, x)
        else:
            y = ops.mse_loss(x / 3, x)
        return y

    start = f.__code__.co_firstlineno
    for first, line in ((True, start + 2), (False, start + 4)):
        running = state.tracer = tape.Tape()
        try:
            begun = running.begin("f", None)
            f(running.leaf(T(1)), first)
            assert {node.loc.line for node in running.path().nodes(begun)} == {line}
        finally:
            state.tracer = None


def test_a_parameter_assigned_inside():
    """The gradient is that of the values at the time of their use."""
    p = Parameter(T(2), name="p")

    def f(x):
        y = x * p
        ops.assign(p, T(100))
        return y + x * p

    assert ms.grad(f)(T(3)).asnumpy() == [102]
    assert p.asnumpy() == [100]
    p.set_data(T(2))
    first, second = ms.grad(lambda x: f(x), 0, [p])(T(3))
    assert first.asnumpy() == [102] and second[0].asnumpy() == [3]


def test_nested_gradients():
    cube = lambda x: x * x * x  # noqa: E731
    first = ms.grad(cube)
    second = ms.grad(first)
    third = ms.grad(second)
    fourth = ms.grad(third)
    x = T(2)
    assert [float(g(x).asnumpy()[0]) for g in (first, second, third, fourth)] == [12, 12, 6, 0]


def test_nested_gradient_of_parameters():
    """The inner gradient of a weight is differentiated by the input outside."""
    dense = nn.Dense(1, 1, weight_init=Tensor([[3.0]]), has_bias=False)

    def inner(x):
        return ms.grad(lambda y: (dense(y) * dense(y)).sum(), None, dense.weight)(x).sum()

    # d/dw (w x)^2 = 2 w x^2; d/dx of that = 4 w x
    assert ms.grad(inner)(Tensor([[2.0]])).asnumpy() == [[24]]


def test_a_gradient_taken_inside_is_a_value():
    def f(x):
        g = ms.grad(lambda y: y * y * x)(x)
        return g * x

    # g = 2 y x at y = x, with x outside: f = 2 x^3
    assert ms.grad(f)(T(2)).asnumpy() == [24]


def test_an_error_inside_leaves_no_trace():
    def f(x, fail):
        y = x * 2
        if fail:
            raise RuntimeError("user")
        return y

    gradient = ms.grad(f)
    with pytest.raises(RuntimeError, match="user"):
        gradient(T(1), True)
    assert gradient(T(1), False).asnumpy() == [2]
    assert ms.runtime.process.tracer.state.tracer is None


def test_an_error_that_is_caught_inside_a_cell():
    class Failing(nn.Cell):
        def construct(self, x):
            x * 5
            raise ValueError("inside")

    failing = Failing()

    def f(x):
        with contextlib.suppress(ValueError):
            failing(x)
        return x * 3

    assert ms.grad(f)(T(1)).asnumpy() == [3]


def test_threads_have_tapes_of_their_own():
    dense = nn.Dense(8, 8)
    x = Tensor(np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32))
    gradient = ms.grad(lambda x: ops.tanh(dense(x)).sum(), None, dense.trainable_params())
    expected = [g.asnumpy().tobytes() for g in gradient(x)]
    wrong = []

    def run():
        for _ in range(30):
            if [g.asnumpy().tobytes() for g in gradient(x)] != expected:
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_same_bits_for_any_number_of_threads():
    generator = np.random.default_rng(1)
    x = Tensor(generator.standard_normal((64, 1, 28, 28)).astype(np.float32))
    ms.set_seed(3)
    net = nn.SequentialCell(nn.Conv2d(1, 8, 3, has_bias=True), nn.Tanh(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(8 * 14 * 14, 10))

    def run(threads):
        ms.set_context(num_threads=threads)
        value, grads = ms.value_and_grad(lambda x: (net(x) * net(x)).sum(), 0, net.trainable_params())(x)
        return [value.asnumpy().tobytes(), grads[0].asnumpy().tobytes(), *(g.asnumpy().tobytes() for g in grads[1])]

    before = ms.get_context("num_threads")
    try:
        assert run(1) == run(2) == run(3) == run(5)
    finally:
        ms.set_context(num_threads=before)


def test_unused_and_integer_inputs():
    x, y, n = T(1), T(2), Tensor([3])
    gx, gy = ms.grad(lambda x, y: x * 2, (0, 1))(x, y)
    assert gx.asnumpy() == [2] and gy.asnumpy() == [0]
    gn = ms.grad(lambda n: n * n, 0)(n)
    assert gn.asnumpy() == [6] and gn.dtype == ms.int64


def test_results_of_a_gradient_are_independent():
    """Two gradients that are one value are still two tensors: writing into one does not change the other."""
    a, b = ms.grad(lambda x, y: x + y, (0, 1))(T(1), T(2))
    array = a.asnumpy()
    array[0] = 7
    assert b.asnumpy() == [1]
    assert ms.grad(lambda x, y: x + y, (0, 1))(T(1), T(2))[0].asnumpy() == [1]


def test_casts_to_integers_comparisons_and_argmax_let_no_gradient_through():
    x = T(1.5, 2.5)
    assert ms.grad(lambda x: ops.cast(x, ms.int32) * 2)(x).asnumpy().tolist() == [0, 0]
    assert ms.grad(lambda x: ops.cast(ops.cast(x, ms.int32), ms.float32) * x)(x).asnumpy().tolist() == [1, 2]
    assert ms.grad(lambda x: (x > 2).astype(ms.float32) * x)(x).asnumpy().tolist() == [0, 1]
    assert ms.grad(lambda x: ops.argmax(x) * 1 + x)(x).asnumpy().tolist() == [1, 1]
    n = Tensor([1, 2], ms.int32)
    assert ms.grad(lambda n: ops.cast(n, ms.float32) * 2.75)(n).asnumpy().tolist() == [2, 2]


class Keeps(nn.Cell):
    """Keeps its argument under the name it has inside."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def construct(self, x):
        self.seen.append(x)
        return x[0] * 1.0


def test_a_write_is_seen_by_the_names_that_are_left(monkeypatch):
    """A buffer that a cell reads between writes costs as much at the last write as at the first; kept names follow."""
    written = []
    overwritten = tape.Tape._overwritten
    monkeypatch.setattr(tape.Tape, "_overwritten", lambda self, x, new: written.append(x) or overwritten(self, x, new))
    cell = Keeps()

    def f(x, kept):
        y = x * 2.0
        for i in range(20):
            last = cell(y)
            if not kept:
                cell.seen.clear()
            y[0] = float(i)
        assert all(name.tolist() == y.tolist() for name in cell.seen)
        return last + y.sum()

    assert ms.grad(f)(T(1, 1), False).tolist() == [0, 2]
    assert len(written) == 20
    assert ms.grad(f)(T(1, 1), True).tolist() == [0, 2]
    assert len(cell.seen) == 20 and len(written) == 20 + sum(range(2, 22))
