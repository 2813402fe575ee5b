"""`vmap` against the loop over the examples that it means: numbers, gradients and calls of hooks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import CompileError, Parameter, Tensor, grad, hessian, hvp, jacfwd, jacrev, jit, jit_stats, nn, ops, vmap
from adjoint.foundation.made import counted
from adjoint.runtime.tensor.structure import leaves


def examples(seed: int = 0, *shape: int) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape or (5, 3)).astype(np.float32))


WEIGHT = np.random.default_rng(1).standard_normal((3, 3)).astype(np.float32)


def product(x: Tensor) -> Tensor:
    return ops.tanh(x @ Tensor(WEIGHT))


def several(x: Tensor) -> Any:
    return {"sum": x.sum(), "parts": (x * 2, [x[0], 3.0])}


def branch(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return ops.log(x.sum()) + x
    return ops.exp(x)


def newton(x: Tensor) -> Any:
    y, rounds = ops.abs(x) + 0.5, 0
    while ops.abs(y * y - 2.0).max() > 1e-4:
        y = y - (y * y - 2.0) / (2.0 * y)
        rounds = rounds + 1
    return y, rounds


def loop(x: Tensor) -> Tensor:
    for _ in range(3):
        x = ops.sin(x @ Tensor(WEIGHT))
    return x.sum()


def grows(x: Tensor) -> Tensor:
    x = ops.abs(x) + 0.1
    while x.sum() < 10.0:
        x = x * 1.5 + 0.1
    return x.sum()


def written(x: Tensor) -> Tensor:
    y = x * 1
    y[0] = x.sum()
    return y * y


def ordered(x: Tensor) -> Any:
    values, places = ops.topk(x, 2)
    return values.sum(), places, ops.cumsum(x, 0), ops.softmax(x, -1)


def own_jacobian(x: Tensor) -> Tensor:
    return jacrev(product)(x)


def branch_sum(x: Tensor) -> Tensor:
    return branch(x).sum()


WHOLE = [product, several, branch, newton, loop, grows, written, ordered, own_jacobian, grad(loop), grad(branch_sum), grad(grows)]


def same(one: Any, other: Any) -> None:
    here, there = leaves(one, Tensor), leaves(other, Tensor)
    assert len(here) == len(there) > 0
    for x, y in zip(here, there, strict=True):
        assert x.type is y.type
        assert x.asnumpy().tobytes() == y.asnumpy().tobytes()


@pytest.mark.parametrize("fn", WHOLE)
def test_it_is_the_loop_over_the_examples(fn: Callable[..., Any]) -> None:
    x = examples()
    mapped = vmap(fn)
    jit_stats(mapped)
    found = mapped(x)
    same(found, vmap(fn, randomness="different")(x))
    assert "one by one" not in jit_stats(mapped).ways
    same(jit(lambda x: vmap(fn)(x))(x), found)  # inside of another graph
    same(vmap(fn, chunk_size=2)(x), found)


def test_gradients_go_through_it() -> None:
    x = examples()
    for fn in (product, loop, branch, written):
        def total(x: Tensor, fn: Any = fn) -> Tensor:
            return vmap(fn)(x).sum()

        def literal(x: Tensor, fn: Any = fn) -> Tensor:
            return ops.stack([fn(x[i]) for i in range(5)]).sum()

        wanted = grad(literal)(x).asnumpy()
        for taken in (grad(total), jit(grad(total)), grad(jit(total))):
            np.testing.assert_allclose(taken(x).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


class Layers(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(3, 4), nn.Dense(4, 2)

    def construct(self, x: Tensor) -> Tensor:
        return self.second(ops.relu(self.first(x)))


def test_gradients_of_each_example_by_weights() -> None:
    net, x = Layers(), examples()
    taken = grad(lambda x: net(x).sum(), None, net.trainable_params())
    same(vmap(taken)(x), vmap(taken, randomness="different")(x))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_hooks_are_called_for_each_example(mode: int) -> None:
    net, x, events = Layers(), examples(), list[Any]()

    def seen(kind: str) -> Any:
        return lambda cell, *values: events.append((kind, [v.asnumpy().tobytes() for v in leaves(values, Tensor)]))

    def loss(x: Tensor) -> Tensor:
        return net(x).sum()

    ms.set_context(mode=mode)
    try:
        mapped, literal = vmap(grad(loss)), vmap(grad(loss), randomness="different")
        same(mapped(x), literal(x))
        handles = [net.first.register_forward_pre_hook(seen("before")), net.first.register_forward_hook(seen("forward")),
                   net.first.register_backward_pre_hook(seen("gradient of the result")), net.first.register_backward_hook(seen("backward"))]
        wanted = literal(x)
        expected, events[:] = list(events), []
        same(mapped(x), wanted)
        for kind in ("before", "forward", "gradient of the result", "backward"):
            assert [e for e in events if e[0] == kind] == [e for e in expected if e[0] == kind]
            assert sum(e[0] == kind for e in events) == 5
        for handle in handles:
            handle.remove()
        events.clear()
        mapped(x)
        assert not events
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_callbacks_on_values_and_rules_of_cells() -> None:
    x, events = examples(), list[bytes]()

    def doubled(gradient: Any) -> Any:
        (gradient,) = gradient if isinstance(gradient, tuple) else (gradient,)
        events.append(gradient.asnumpy().tobytes())
        return gradient * 2

    hook = ops.HookBackward(doubled)

    class Ruled(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * x

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Any:
            return (dout * x * 5,)

    ruled = Ruled()

    def with_operator(x: Tensor) -> Tensor:
        return (hook(x) * x).sum()

    def with_callback(x: Tensor) -> Tensor:
        y = x * 3
        y.register_hook(doubled)
        return (y * x).sum()

    def with_rule(x: Tensor) -> Tensor:
        return ruled(x).sum()

    for fn in (with_operator, with_callback, with_rule):
        events.clear()
        wanted = vmap(grad(fn), randomness="different")(x)
        expected, events[:] = list(events), []
        same(vmap(grad(fn))(x), wanted)
        assert events == expected


def test_examples_that_do_not_get_to_a_hook_do_not_call_it() -> None:
    """The gradient of a batch calls a hook in a branch or a loop for the examples that take it, as often as they do."""
    events: list[float] = []
    hook = ops.HookBackward(lambda gradient: events.append(gradient[0].item()))

    def branch(x: Tensor) -> Tensor:
        return hook(x) * 2 if x > 0 else x

    def loop(x: Tensor) -> Tensor:
        while x < 4:
            x = hook(x) * 2
        return x

    for fn, calls in ((branch, [2.0, 2.0]), (loop, [2.0, 2.0, 4.0])):
        grad(lambda x, fn=fn: vmap(fn)(x).sum())(Tensor([1.0, -1.0 if fn is branch else 5.0, 3.0]))
        assert sorted(events) == calls
        events.clear()


def test_functions_that_cannot_be_parsed_run_one_by_one() -> None:
    calls: list[Any] = []

    def keeps(x: Tensor) -> Tensor:
        calls.append(x.shape)
        return x * 2

    mapped, x = vmap(keeps), examples()
    jit_stats(mapped)
    np.testing.assert_array_equal(mapped(x).asnumpy(), 2 * x.asnumpy())
    assert calls == [(3,)] * 5
    (way,) = jit_stats(mapped).graphs[-1].ways
    assert way.way == "one by one" and "E217" in way.why
    chosen = vmap(lambda x: (x[x > 0] ** 2).sum())  # how many are chosen depends on the example
    positive = np.maximum(x.asnumpy(), 0)
    np.testing.assert_allclose(chosen(x).asnumpy(), (positive**2).sum(1), rtol=1e-6)
    np.testing.assert_allclose(grad(lambda x: chosen(x).sum())(x).asnumpy(), 2 * positive, rtol=1e-6)


def test_many_mapped_functions_are_no_reason_for_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    """All of them are one function of the library."""
    for count in range(10):
        vmap(functools.partial(ops.mul, float(count)))(examples())
    assert "has been made into a graph" not in capfd.readouterr().err


def test_hooks_are_called_once_where_no_graph_can_be_made() -> None:
    """A function that cannot be parsed with what hooks are assumed to return runs one by one from the beginning."""
    events: list[Any] = []

    class Seen(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            y = double(x)
            events.append(None)  # what is outside of a graph may not change for each example
            return y

    double = nn.Identity()
    double.register_forward_hook(lambda cell, inputs, output: events.append(output.shape))
    vmap(Seen())(examples())
    assert events == [(3,), None] * 5


def test_results_have_the_value_they_are_returned_with() -> None:
    """A Parameter that a later example writes has been returned by the earlier ones with its value at that time."""

    class Counts(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.count = Parameter(Tensor(0.0), requires_grad=False)

        def construct(self, x: Tensor) -> Any:
            ops.assign(self.count, self.count + 1.0)
            return x, self.count

    for randomness in ("same", "different"):
        assert vmap(Counts(), randomness=randomness)(examples())[1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_functions_made_again_lower_nothing() -> None:
    def go(x: Tensor) -> Any:
        return vmap(grad(lambda x: (x * x).sum()))(x), hessian(lambda x: (x * x).sum())(x)

    x = examples()
    for _ in range(5):  # functions that cannot share graphs do not keep others from it
        vmap(lambda x: (print(end=""), x)[1])(x)
    for _ in range(2):
        go(x)
    before = counted()["lowerings"]
    for _ in range(2):
        go(x)
    assert counted()["lowerings"] == before


def test_an_ensemble() -> None:
    cells = nn.CellList([nn.Dense(3, 2), nn.Dense(3, 2)])
    x, y = examples(), examples(0, 2, 4, 3)
    np.testing.assert_array_equal(vmap(cells, in_axes=None)(x).asnumpy(), np.stack([cell(x).asnumpy() for cell in cells]))
    np.testing.assert_array_equal(vmap(cells)(y).asnumpy(), np.stack([cell(each).asnumpy() for cell, each in zip(cells, y, strict=True)]))
    with pytest.raises(ValueError, match="as many Cells as there are examples, 5, but it has 2"):
        vmap(cells)(x)


def test_cotangents_of_uses_in_masked_regions_are_added_in_their_order() -> None:
    """A value that a branch or loop of some examples uses several times has one sum of cotangents, as on the path of each example."""
    def branch(x: Any, y: Any) -> Any:
        a = y * 1.1
        if x > 0:
            x = ops.sin(x * a) * a * ops.tanh(a)
        return x * a + ops.cos(a * x)

    def loop(x: Any, y: Any) -> Any:
        a, m = y * 1.1, 0
        while x > 0 and m < 3:
            m += 1
            for _ in range(2):
                x = x * a - ops.exp(a * 0.1) * 1.7 * ops.sin(a)
                if y > 0.2:
                    x = x * ops.sin(a) + a
        return x * a * ops.cos(a)

    rng = np.random.default_rng(0)
    x, y = (Tensor(rng.standard_normal(64).astype(np.float32)) for _ in range(2))
    def twice(x: Any, y: Any) -> Any:
        s, k = x, 0
        while ops.abs(s) < 3 and k < 5:
            k += 1
            if s > y:
                t = s * y
                for _ in range(2):
                    t = t + ops.sin(y * t) * y
                s = s + t * s
            else:
                s = s * 1.5 + y * y
        return s * y

    def renamed(x: Any, y: Any) -> Any:
        a = y * 1.1
        b = a if x > 0 else x * 2
        return ops.sin(b * 3) + ops.tanh(a * 5) + b * ops.cos(b * 7)

    for function in (branch, loop, twice, renamed):
        expected = grad(lambda x, y, f=function: [f(x[i], y[i]) for i in range(64)], (0, 1))(x, y)
        batch = grad(lambda x, y, f=function: vmap(f)(x, y), (0, 1))
        for found in (batch(x, y), jit(batch)(x, y)):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_a_gradient_inside_is_summed_along_the_path_where_a_value_has_two_names() -> None:
    """A branch that returns a value from outside, which is used later too, gives it a second name, whose sum the graph has apart."""
    def function(x: Any, y: Any) -> Any:
        a = y * 1.1
        b = a if x > 0 else x * 2
        return ops.sin(b * 3) + ops.tanh(a * 5) + b * ops.cos(b * 7)

    rng = np.random.default_rng(0)
    x, y = (Tensor(rng.standard_normal(64).astype(np.float32)) for _ in range(2))
    gradient = grad(function, (0, 1))
    expected = [gradient(x[i], y[i]) for i in range(64)]
    for found in (vmap(gradient)(x, y), jit(vmap(gradient))(x, y)):
        for one, others in zip(found, zip(*expected, strict=True), strict=True):
            np.testing.assert_array_equal(one.asnumpy(), [other.asnumpy() for other in others])


def test_a_loop_begins_with_a_value_that_its_rounds_use() -> None:
    """In the first round, one value has two names, and each example has one sum for it, in the order of all its uses."""
    def fixed_point(x: Any, y: Any) -> Any:
        a, b, rounds = x, y, 0
        while rounds < 4 and (a * a).sum() < 3:
            rounds += 1
            a, b = ops.sin(b) * a + x * b, a - 0.3 * x * a
        return a * b

    def twice(x: Any, y: Any) -> Any:
        a, b = x, x
        while (a * b).sum() < 2:
            a, b = a + 0.5 + y * b, ops.cos(a) * b + 0.3
        return ops.sin(a) + b

    rng = np.random.default_rng(0)
    x, y = (Tensor(rng.standard_normal((32, 3)).astype(np.float32)) for _ in range(2))
    for function in (fixed_point, twice):
        expected = grad(lambda x, y, function=function: sum((function(x[i], y[i]) ** 2).sum() for i in range(32)), (0, 1))(x, y)
        batched = grad(lambda x, y, function=function: (vmap(function)(x, y) ** 2).sum(), (0, 1))
        for found in (batched(x, y), jit(batched)(x, y)):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_a_result_of_a_branch_that_is_a_value_from_outside_is_safe_where_it_is_not_taken() -> None:
    """In a branch for some examples, a branch that returns a value from outside has the value of an example that takes the outer one."""
    def function(x: Any, y: Any) -> Any:
        z = x * 1
        if x > 0:
            w = z if y > 0 else z * 2
            return ops.log(w) + ops.sqrt(w) * w
        return z

    x, y = Tensor(np.array([1, 0, -1, 2], np.float32)), Tensor(np.array([-1, 1, 1, 1], np.float32))
    expected = [grad(function)(x[i], y[i]).asnumpy() for i in range(4)]
    for found in (grad(lambda x, y: vmap(function)(x, y).sum())(x, y), vmap(grad(function))(x, y)):
        assert np.isfinite(found.asnumpy()).all()
        np.testing.assert_array_equal(found.asnumpy(), expected)


def test_a_value_that_a_masked_loop_only_begins_with_is_undefined() -> None:
    """A loop that returns from inside begins with values that nothing uses; so does one inside of it, in examples that do not get there."""
    def function(x: Any, y: Any) -> Any:
        k = 0
        while y <= 1 and k < 3:
            k += 1
            m = 0
            while m < 3:
                m += 1
                if x.sum() > 0:
                    return x * y, y
            x = x + 1
        return x * 2, y

    x, y = Tensor(np.array([[1, 2], [-3, 1], [-4, 0.5]], np.float32)), Tensor(np.array([0.5, -1, 2], np.float32))
    expected = grad(lambda x, y: [function(x[i], y[i]) for i in range(3)], (0, 1))(x, y)
    found = grad(lambda x, y: vmap(function)(x, y), (0, 1))(x, y)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def handed_on(a: Tensor, b: Tensor) -> Tensor:
    c, i = a, 0
    while i < a.sum():
        if c.sum() > 0.5:
            c = b
        i = i + 1
    return (ops.exp(c) * b + c).sum()


def test_where_the_last_bits_are_not_those_of_the_loop() -> None:
    """The exceptions that docs/transformations.md lists; tests/passes/test_batch.py has the operators."""
    a, b = examples(0, 64, 3), examples(1, 64, 3)
    by_each = [grad(handed_on, (0, 1))(x, y) for x, y in zip(a, b, strict=True)]
    wanted = [np.stack([x.asnumpy() for x in column]) for column in zip(*by_each, strict=True)]
    inside = vmap(grad(handed_on, (0, 1)))(a, b)
    assert [x.asnumpy().tobytes() for x in inside] == [x.tobytes() for x in wanted]
    outside = grad(lambda a, b: vmap(handed_on)(a, b).sum(), (0, 1))(a, b)
    for found, expected in zip(outside, wanted, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=0, atol=4 * np.finfo(np.float32).eps * np.abs(expected).max())

    base, exponents = ops.abs(examples(2, 64)) + 0.1, Tensor(np.tile(np.float32([3.0, -1.0, 0.5, 4.0]), 16))
    powers = np.array([float(x**y) for x, y in zip(base, exponents, strict=True)], np.float32)
    np.testing.assert_allclose(vmap(lambda x, y: x**y)(base, exponents).asnumpy(), powers, rtol=np.finfo(np.float32).eps)


def test_axes() -> None:
    x, y = examples(0, 2, 3), examples(1, 3)

    def add(a: Any, b: Any) -> Any:
        return a + b

    assert vmap(add, (0, None))(x, y).shape == (2, 3)
    assert vmap(add, (-1, 0), 1)(x, y).shape == (2, 3)
    assert vmap(lambda a, b: (a, b * 2), (0, None), (1, None))(x, y)[1].shape == (3,)
    assert vmap(lambda pair, b: pair[0] + pair[1] + b, ((0, None), None))((x, y), 2.0).shape == (2, 3)
    assert vmap(vmap(add, (0, None)), (None, 0))(y, x).shape == (2, 3, 3)
    found = vmap(lambda d: {"sum": d["a"] + d["b"], "a": d["a"]}, ({"b": None, "a": 0},), {"a": 1, "sum": 0})({"a": x, "b": y})
    assert {key: part.shape for key, part in found.items()} == {"sum": (2, 3), "a": (3, 2)}


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: vmap(3), TypeError, "'fn' must be a function or a Cell"),
    (lambda x: vmap(ops.sin, 1.5), RuntimeError, "'in_axes' must be an int or None, but got 1.5"),
    (lambda x: vmap(ops.sin, None), RuntimeError, "'in_axes' must have an axis"),
    (lambda x: vmap(ops.sin, 0, (None,)), RuntimeError, "'out_axes' must have an axis"),
    (lambda x: vmap(ops.sin, 2)(x), RuntimeError, r"must be in \[-2, 2\) for a tensor of 2 dimensions, but got 2"),
    (lambda x: vmap(ops.sin, 0, 4)(x), RuntimeError, r"'out_axes' must be in \[-2, 2\)"),
    (lambda x: vmap(ops.add)(x, x[0]), RuntimeError, "as many examples, but got 5 and 3"),
    (lambda x: vmap(ops.add, (0,))(x, x), RuntimeError, "for each of the 2 arguments"),
    (lambda x: vmap(lambda a: (a, a), 0, (0, 1, 0))(x), RuntimeError, "for each of the 2 results"),
    (lambda x: vmap(ops.add)(x, 2.0), RuntimeError, "must be a Tensor, but got 2.0"),
    (lambda x: vmap(ops.sin, 0, (None, 0))(x), RuntimeError, "for each of the 1 results"),
    (lambda x: vmap(lambda a: (a, a), 0, (0, None))(x), RuntimeError, "it depends on the example"),
    (lambda x: vmap(ops.sin, randomness="other"), ValueError, "'randomness' must be one of"),
    (lambda x: vmap(ops.sin, chunk_size=0), ValueError, "'chunk_size' must be an int of at least 1"),
    (lambda x: vmap(lambda a: a + ops.rand(3), randomness="error")(x), RuntimeError, "draws random numbers"),
    (lambda x: vmap(lambda a: a[a > 0])(x), RuntimeError, "the same structure, shapes and dtypes, but got"),
    (lambda x: vmap(lambda d: d, ({"a": 0},))({"b": x}), RuntimeError, "must have the keys of a dict among the arguments"),
    (lambda x: vmap(ops.sin)(x.sum()), RuntimeError, "must have at least 1 dimension"),
    (lambda x: vmap(ops.sin)(x=x), TypeError, "must be positional, .* but got 'x' by name"),
])
def test_mistakes(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(examples())


@pytest.mark.parametrize("other", [
    lambda a: {"u": a, "w": a}, lambda a: {"u": a}, lambda a: {"u": a, "v": None}, lambda a: {"u": a, "v": (a,)}, lambda a: (a, a),
    lambda a: None, lambda a: {"u": a, "v": a[:2]}, lambda a: {"u": a, "v": "text"},
], ids=["key", "fewer", "None", "nested", "tuple", "nothing", "shape", "text"])
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_results_of_another_structure(other: Callable[[Any], Any], wrap: Callable[..., Any]) -> None:
    """An example whose result has other containers, keys or shapes than that of the first one is named."""
    def function(a: Tensor) -> Any:
        return {"u": a, "v": a * 2} if a[0] > 0 else other(a)

    with pytest.raises(RuntimeError, match=r"must have the same structure.*\{'u': Float32 \(3,\), 'v': Float32 \(3,\)\} for example 0 "
                                           "and .* for example 2: return the same containers"):
        wrap(vmap(function))(Tensor(np.array([[1, 2, 3], [2, 0, 1], [-1, 1, 0]], np.float32)))


def test_keys_in_another_order() -> None:
    """A dict with the same keys in another order has the same structure: its values are found by their keys."""
    def function(a: Tensor) -> Any:
        return {"u": a, "v": a * 2} if a[0] > 0 else {"v": a * 3, "u": a}

    x = Tensor(np.array([[1, 2, 3], [-1, 1, 0]], np.float32))
    found = vmap(function)(x)
    assert (found["u"] == x).all() and found["v"].asnumpy().tolist() == [[2, 4, 6], [-3, 3, 0]]


def test_a_parameter_that_is_written() -> None:
    total = Parameter(Tensor(np.zeros(3, np.float32)), name="total")

    def counts(x: Tensor) -> Tensor:
        ops.assign_add(total, Tensor(np.ones(3, np.float32)))
        return x + total

    x = examples()
    found = vmap(counts)(x)
    np.testing.assert_array_equal(found.asnumpy(), x.asnumpy() + np.arange(1, 6, dtype=np.float32)[:, None])
    assert total.asnumpy().tolist() == [5, 5, 5]

    def keeps(x: Tensor) -> Tensor:
        ops.assign(total, x)
        return x

    with pytest.raises(CompileError, match="E148"):
        vmap(keeps)(x)


def test_random_numbers() -> None:
    def noisy(x: Tensor) -> Tensor:
        return x * 0 + ops.rand(3)

    x = examples()
    same_for_all = vmap(noisy)(x).asnumpy()
    assert (same_for_all == same_for_all[0]).all()
    net = nn.SequentialCell(nn.Dropout(p=0.5), nn.Dropout(p=0.5))
    net.set_train()
    handle = net.register_forward_hook(lambda cell, inputs, output: None)
    for _ in range(2):  # with a hook, in a loop; without
        masks = vmap(net)(ops.ones((5, 40))).asnumpy()
        assert (masks == masks[0]).all() and 0 < (masks == 0).sum() < masks.size
        handle.remove()
    seen: list[Any] = []

    def in_a_branch(x: Tensor) -> Tensor:  # an example draws what it draws alone; in a graph, where it cannot, that is an error
        if x.sum() > 0:
            y = net(ops.ones(40))
            y.register_hook(seen.append)
            return x.sum() * y
        return x.sum() * ops.rand(40)

    with pytest.raises(CompileError, match="E152"):
        jit(lambda x: vmap(in_a_branch)(x))(x)
    drawn = vmap(in_a_branch)(x).asnumpy() != 0
    positive = x.asnumpy().sum(1) > 0
    assert 0 < positive.sum() < 5 and (drawn[positive] == drawn[positive][0]).all() and not drawn[positive].all()
    ms.set_seed(3)
    different = vmap(noisy, randomness="different")(x).asnumpy()
    ms.set_seed(3)
    np.testing.assert_array_equal(different, np.stack([noisy(row).asnumpy() for row in x]))


# Jacobians.


def energy(x: Tensor) -> Tensor:
    return (ops.sin(x) * x * x).sum() + x[0] * x[1] * x[2]


def test_jacobians_and_hessians() -> None:
    x = examples(0, 3)
    values = x.asnumpy().astype(np.float64)
    wanted = np.array([[(1 - np.tanh(values @ WEIGHT)[j] ** 2) * WEIGHT[i, j] for i in range(3)] for j in range(3)])
    for taken in (jacrev(product), jacfwd(product), jit(jacrev(product))):
        np.testing.assert_allclose(taken(x).asnumpy(), wanted, rtol=1e-5)
    second = np.diag(2 * np.sin(values) + 4 * values * np.cos(values) - values**2 * np.sin(values))
    for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        second[i, j] = second[j, i] = values[k]
    for taken in (hessian(energy), jacfwd(jacrev(energy)), jacrev(grad(energy)), jit(hessian(energy))):
        np.testing.assert_allclose(taken(x).asnumpy(), second, rtol=1e-4, atol=1e-5)
    gradient, along = hvp(energy, x, x)
    np.testing.assert_allclose(gradient.asnumpy(), grad(energy)(x).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(along.asnumpy(), second @ values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", [lambda taken: taken, jit], ids=["eager", "graph"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_jacobians_of_nothing_are_empty(shape: tuple[int, ...], form: Callable[..., Any]) -> None:
    """Of functions of no elements, and of results without any, beside others."""
    nothing, x = Tensor(np.zeros(shape, np.float32)), examples(0, 3)
    for taken in (jacrev, jacfwd):
        assert form(taken(lambda x: ops.sin(x) * x))(nothing).shape == (*shape, *shape)
        assert [part.shape for part in form(taken(lambda x: (x[:0], x * 2)))(x)] == [(0, 3), (3, 3)]
        assert [part.shape for part in form(taken(lambda x, y: x.sum() * y, (0, 1)))(nothing, x)] == [(3, *shape), (3, 3)]
    assert form(hessian(lambda x: ops.sin(x).sum()))(nothing).shape == (*shape, *shape)


def test_structures_of_jacobians() -> None:
    x, y = examples(0, 3), examples(1, 2)

    def two(x: Tensor, y: Tensor) -> Any:
        return x * x, y.sum() * x.sum()

    by_both = jacrev(two, (0, 1))(x, y)
    assert [[part.shape for part in each] for each in by_both] == [[(3, 3), (3, 2)], [(3,), (2,)]]
    assert [part.shape for part in jacrev(two)(x, y=y)] == [(3, 3), (3,)]
    jacobian, other = jacrev(two, 0, True)(x, y)
    assert jacobian.shape == (3, 3) and other.shape == ()
    second = hessian(two, (0, 1))(x, y)
    assert [[[part.shape for part in row] for row in rows] for rows in second] == [
        [[(3, 3, 3), (3, 3, 2)], [(3, 2, 3), (3, 2, 2)]], [[(3, 3), (3, 2)], [(2, 3), (2, 2)]]]
    np.testing.assert_array_equal(second[0][0][0].asnumpy(), np.array([np.diag(2 * row) for row in np.eye(3)]))
    for call, error in ((lambda: jacrev(two, 2)(x, y), ValueError), (lambda: jacrev(two, "x"), TypeError), (lambda: jacrev(3), TypeError),
                        (lambda: jacrev(lambda x: x > 0)(x), TypeError), (lambda: hvp(energy, x, y), ValueError)):
        with pytest.raises(error):
            call()


def test_hooks_in_a_jacobian_are_called_for_each_row() -> None:
    events: list[bytes] = []

    def seen(gradient: Any) -> None:
        events.append(gradient[0].asnumpy().tobytes())

    hook = ops.HookBackward(seen)
    x = examples(0, 3)
    found = jacrev(lambda x: hook(x) * x)(x)
    assert len(events) == 3
    np.testing.assert_allclose(found.asnumpy(), np.diag(2 * x.asnumpy()), rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("function", [lambda x: x * -0.0, lambda x: ops.relu(x * -0.0) * -1.0, lambda x: x if x.sum() > 1.5 else x * -0.0])
def test_zeros_in_a_gradient_of_a_batch_have_the_signs_of_the_loop(count: int, function: Callable[..., Any]) -> None:
    x = Tensor(np.array([[1.0, -1.0], [2.0, 0.5]], np.float32)[:count])
    expected = ms.grad(lambda x: [function(x[i]) for i in range(count)])(x)
    for batch in (lambda x: ms.vmap(function)(x), ms.jit(lambda x: ms.vmap(function)(x))):
        found = ms.grad(batch)(x)
        assert found.asnumpy().tobytes() == expected.asnumpy().tobytes()
    found = ms.jit(lambda x: ms.grad(lambda x: ms.vmap(function)(x))(x))(x)
    assert found.asnumpy().tobytes() == expected.asnumpy().tobytes()
