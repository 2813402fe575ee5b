"""A cell, and a function that is differentiated, may write into its arguments.

What the program computes does not depend on whether a gradient is taken, on hooks, or on the mode; the gradient is that of what it
computes.  All numbers are worked out by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, context, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend.changes.aliases import Aliases
from tests.hooks.events import Log, T, plain


class Writes(nn.Cell):
    """Makes its argument ten times as large, in one of the ways there are, and returns it."""

    def __init__(self, way: str):
        super().__init__()
        self.way = way

    def construct(self, x):
        if self.way == "assign_value":
            x.assign_value(x * 10)
        elif self.way == "item":
            x[:] = x * 10
        elif self.way == "assign":
            ops.assign(x, x * 10)
        elif self.way == "copy_":
            x.copy_(x * 10)
        else:
            x.add_(x * 9)
        return x


WAYS = ("assign_value", "item", "assign", "copy_", "add_")


class Net(nn.Cell):
    """A cell writes into y = 2 x; `uses` says what is made of y and of what the cell returns."""

    def __init__(self, cell: nn.Cell, uses: str):
        super().__init__()
        self.cell, self.uses = cell, uses

    def construct(self, x):
        y = x * 2
        z = self.cell(y)
        if self.uses == "argument":
            return y * y
        if self.uses == "result":
            return z * 3
        return y * 3 + z


EXPECTED = {"argument": ([400, 1600], [800, 1600]), "result": ([60, 120], [60, 60]), "both": ([80, 160], [80, 80])}

SEEN = {
    "argument": [],
    "result": [("cell", ([30, 30],), ([3, 3],))],
    "both": [("cell", ([40, 40],), ([1, 1],))],
}
"""What the cell's backward hook sees.  What is written leaves the cell beside its results: it has no entry of its own, and is part of
grad_input.  Where no result has a gradient the hook is silent."""


def run_in(mode: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return ms.jit(function) if mode == "jit" else function


@pytest.fixture(params=["eager", "jit", "graph"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "graph":
        context.set_context(mode=context.GRAPH_MODE)
    yield request.param
    context.set_context(mode=context.PYNATIVE_MODE)


@pytest.mark.parametrize("hooked", [False, True], ids=["bare", "hooked"])
@pytest.mark.parametrize("uses", list(EXPECTED))
@pytest.mark.parametrize("way", WAYS)
def test_a_cell_that_writes_its_argument(way: str, uses: str, hooked: bool, mode: str):
    cell, log = Writes(way), Log()
    if hooked:
        cell.register_backward_hook(log.backward("cell"))
    net = Net(cell, uses)
    value, gradient = EXPECTED[uses]
    assert plain(run_in(mode, net)(T(1, 2))) == value
    for differentiated in (run_in(mode, ms.value_and_grad(net)), ms.value_and_grad(run_in(mode, net))):
        assert [plain(x) for x in differentiated(T(1, 2))] == [value, gradient]
        assert log.take() == (SEEN[uses] if hooked else [])


@pytest.mark.parametrize("way", WAYS)
def test_the_argument_of_what_is_differentiated(way: str, mode: str):
    """f(x) = (10 x)^2, and the caller's tensor is 10 x afterwards."""
    cell = Writes(way)

    def f(x):
        cell(x)
        return x * x

    def pulled(x):
        return ms.vjp(f, x)[1](T(1, 1))[0]

    for make, expected in (
        (lambda: run_in(mode, f), [100, 400]),
        (lambda: run_in(mode, ms.grad(f)), [200, 400]),
        (lambda: ms.grad(run_in(mode, f)), [200, 400]),
        (lambda: ms.grad(run_in(mode, ms.grad(f))), [200, 200]),
        (lambda: pulled, [200, 400]),
    ):
        x = T(1, 2)
        assert plain(make()(x)) == expected
        assert plain(x) == [10, 20]


def test_hooks_on_a_value_that_is_written(mode: str):
    """A hook belongs to the value that there was when it was registered: y before the write, y2 after it."""
    log = Log()

    def f(x):
        y = x * 2
        y.register_hook(log.tensor("y", lambda g: g * 10))
        z = y * 3
        y[0] = 5.0
        y.register_hook(log.tensor("y2", lambda g: g * 10))
        return z + y * 7

    assert plain(run_in(mode, ms.grad(f))(T(1, 2))) == [60, 1460]
    assert log == [("y2", [7, 7]), ("y", [3, 73])]


def test_hooks_on_a_constant_that_is_written(mode: str):
    """The constant takes no gradient: its hooks are silent.  What is written to it does, and has hooks of its own."""
    log = Log()

    def f(x):
        y = ops.ones((2,)) * 3
        y.register_hook(log.tensor("before", lambda g: g * 10))
        y[0] = x
        y.register_hook(log.tensor("after", lambda g: g * 2))
        return y * 7

    assert plain(run_in(mode, ms.grad(f))(T(1))) == [14]
    assert log == [("after", [7, 7])]


def test_a_write_inside_a_cell_ends_the_hooks_on_the_argument_outside(mode: str):
    """7 takes the first element's place: its gradient ends there."""
    log = Log()

    class Seven(nn.Cell):
        def construct(self, x):
            x[0] = 7.0
            return x

    cell = Seven()

    def f(x):
        y = x * 2
        y.register_hook(log.tensor("before"))
        cell(y)
        y.register_hook(log.tensor("after"))
        return y * 3

    value, gradient = run_in(mode, ms.value_and_grad(f))(T(1, 2))
    assert plain(value) == [21, 12] and plain(gradient) == [0, 6]
    assert log == [("after", [3, 3]), ("before", [0, 3])]


def test_hooks_and_a_cell_that_writes_what_it_returns():
    """Forward hooks see the argument as it is by then; what is written to the result is written to the argument."""
    cell, log = Writes("item"), Log()
    cell.register_forward_pre_hook(log.forward_pre("fpre"))
    cell.register_forward_hook(log.forward("fwd"))
    cell.register_backward_pre_hook(log.backward_pre("bpre"))
    cell.register_backward_hook(log.backward("bwd"))

    def f(x):
        y = x * 2
        z = cell(y)
        z[0] = 1.0
        return y * z

    assert plain(f(T(1, 2))) == [1, 1600]
    assert log.take() == [("fpre", ([2, 4],)), ("fwd", ([20, 40],), [20, 40])]
    # y and z are one tensor: 2 * 40 comes to it, and is kept by the element that was not written.
    value, gradient = ms.value_and_grad(f)(T(1, 2))
    assert plain(value) == [1, 1600] and plain(gradient) == [0, 1600]
    assert log == [("fpre", ([2, 4],)), ("fwd", ([20, 40],), [20, 40]), ("bpre", ([0, 80],)), ("bwd", ([0, 800],), ([0, 80],))]


class Twice(nn.Cell):
    def construct(self, a, b):
        a[0] = 7.0
        return a * b


def test_an_argument_that_is_given_twice(mode: str):
    """Both names are the one tensor: (49, 16) * (7, 4).  A graph, in which they would be two, says so."""
    cell = Twice()

    def f(x):
        y = x * 2
        return cell(y, y) * y

    if mode == "eager":
        assert plain(f(T(1, 2))) == [343, 64]
        value, gradient = ms.value_and_grad(f)(T(1, 2))
        assert plain(value) == [343, 64] and plain(gradient) == [0, 96]
        return
    for function in (run_in(mode, f), run_in(mode, ms.grad(f))):
        with pytest.raises(CompileError, match="given twice"):
            function(T(1, 2))
    x = T(1, 2)
    with pytest.raises(CompileError, match="given twice"):
        ms.jit(lambda a, b: cell(a, b))(x, x)
    assert plain(x) == [1, 2]


class Ruled(nn.Cell):
    def construct(self, x):
        x[0] = 5.0
        return x * 2

    def bprop(self, x, out, dout):
        return dout * 100


def test_a_bprop_says_nothing_of_what_is_written(mode: str):
    cell = Ruled()

    def f(x):
        y = x * 3
        return cell(y) + y

    with pytest.raises((RuntimeError, CompileError), match=r"writes its argument in place|is written in place"):
        run_in(mode, ms.grad(f))(T(1, 2))
    assert plain(ms.grad(lambda x: x * x)(T(1, 2))) == [2, 4]


def test_hooks_of_operators_give_tensors_of_their_own(mode: str):
    """What is written to the result does not reach the operand, in a gradient or not."""
    nothing = lambda g: None  # noqa: E731
    for mark in (ops.HookBackward(nothing), ops.InsertGradientOf(nothing)):

        def f(x, mark=mark):
            y = x * 2
            z = mark(y)
            z[0] = 9.0
            return y * z

        assert plain(run_in(mode, f)(T(1, 2))) == [18, 16]
        assert plain(run_in(mode, ms.grad(f))(T(1, 2))) == [18, 16]


def test_forward_hooks_may_give_what_they_were_given():
    """In a graph it is not known whether a hook gives a tensor that it was given: a write to it is refused, never lost."""
    before, after = Writes("item"), nn.ReLU()
    before.register_forward_pre_hook(lambda cell, args: None)
    after.register_forward_hook(lambda cell, args, output: args[0])
    for cell, expected in ((before, [18, 80]), (after, [18, 8])):

        def f(x, cell=cell):
            y = x * 2
            z = cell(y)
            z[0] = 9.0
            return y + z

        assert plain(f(T(1, 2))) == expected
        with pytest.raises(CompileError, match="may be the same object"):
            ms.jit(f)(T(1, 2))


def test_second_order_and_nested_cells():
    """Two cells deep, twice: y = 100 * 2 x; f = y * y, f' = 80000 x, f'' = 80000"""
    inner = Writes("assign")

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def construct(self, x):
            self.inner(x)
            return self.inner(x)

    outer = Outer()

    def f(x):
        y = x * 2
        outer(y)
        return y * y

    assert plain(f(T(1, 2))) == [40000, 160000]
    assert plain(ms.grad(f)(T(1, 2))) == [80000, 160000]
    assert plain(ms.grad(ms.grad(f))(T(1, 2))) == [80000, 80000]


def test_a_parameter_that_a_cell_is_given_and_writes():
    p = ms.Parameter(T(3), name="p")
    cell = Writes("assign_value")

    def f(x):
        return cell(p) * x + p

    assert plain(f(T(2))) == [90]
    p.set_data(T(3))
    (by_x, by_p) = ms.grad(f, 0, [p])(T(2))
    assert plain(by_x) == [30] and plain(by_p[0]) == [30]
    assert plain(p) == [30] and isinstance(p, ms.Parameter)


def test_another_dtype_and_shape():
    def f(x):
        y = x * 2
        resized(y)
        return y.sum()

    class Resized(nn.Cell):
        def construct(self, x):
            x.set_data(ops.concat((x, x)))

    resized = Resized()
    assert plain(f(T(1, 2))) == 12.0
    value, gradient = ms.value_and_grad(f)(T(1, 2))
    assert plain(value) == 12.0 and plain(gradient) == [4, 4]


def test_the_tensor_is_free_after_the_gradient():
    x = Tensor([1.0, 2.0])
    ms.grad(Writes("item"))(x)
    view = x.asnumpy()
    x[0] = 5.0
    assert plain(x) == [5, 20] and view[0] == 10


class Gives(nn.Cell):
    """Returns its parameter itself."""

    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(T(2), name="w")

    def construct(self, x):
        return self.w


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_what_a_cell_gives_of_its_own_is_written_or_refused(mode: str):
    """A write to a parameter that a cell returned is one to the parameter; a graph says that it does not know."""
    cell, writes = Gives(), Writes("item")

    def item(x):
        y = cell(x)
        y[0] = 20.0
        return x * y

    for f in (item, lambda x: x * writes(cell(x))):
        cell.w.set_data(T(2))
        if mode == "eager":
            assert plain(f(T(3))) == [60] and plain(cell.w) == [20]
            cell.w.set_data(T(2))
            assert plain(ms.grad(f)(T(3))) == [20] and plain(cell.w) == [20]
        else:
            with pytest.raises(CompileError, match="a tensor from outside"):
                run_in(mode, f)(T(3))
            assert plain(cell.w) == [2]
    assert plain(run_in(mode, lambda x: x * (cell(x) * 1))(T(3))) == [plain(cell.w)[0] * 3]


def test_set_data_of_what_a_graph_did_not_make(mode: str):
    """Numbers are written when the graph runs; the type stays, since the graph was made for it."""
    for target in (ms.Parameter(T(2), name="w"), T(2)):
        for way in ("set_data", "assign_value"):

            def f(x, target=target, way=way):
                getattr(target, way)(x * 3)
                return target * x

            target.set_data(T(2))
            assert plain(run_in(mode, f)(T(3))) == [27] and plain(target) == [9]
            target.set_data(T(2))
            assert plain(run_in(mode, ms.grad(f))(T(3))) == [18] and plain(target) == [9]
    if mode == "jit":
        with pytest.raises(ValueError, match=r"keeps its shape \(1,\) and dtype Float32, but got shape \(2,\).* outside of 'jit'"):
            ms.jit(lambda x: target.set_data(ops.concat((x, x))))(T(3))


def test_a_step_of_an_optimizer_looks_at_no_names(monkeypatch: pytest.MonkeyPatch):
    """Its parameters are no other objects: the time to make its graph grows with their number, not with the square of it."""
    walks: list[int] = []
    reachable = Aliases._reachable

    def noted(aliases: Aliases) -> Any:
        walks.append(1)
        return reachable(aliases)

    monkeypatch.setattr(Aliases, "_reachable", noted)
    net = nn.SequentialCell([layer for _ in range(3) for layer in (nn.Dense(2, 2, 0.5), nn.Tanh())])
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)

    @ms.jit
    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    step(T([[1, 2]]))
    assert not walks

    @ms.jit
    def either(x, y, c):
        a, b = x * 1, y * 1
        z = a if c else b
        z[0] = 1
        return a, b

    with pytest.raises(CompileError, match="E215"):
        either(T([1, 2]), T([3, 4]), T([1]).sum() > 0)
    assert walks
