"""Functions that are made anew in each call: they share graphs where nobody can see it, and mean what they mean in eager mode."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, grad, jit, nn, ops
from adjoint.foundation import made

X = Tensor(np.array([1.0, -2.0, 0.5], np.float32))
W = Parameter(Tensor(np.array([2.0, 3.0, -1.0], np.float32)), name="made_anew")
NET = nn.Dense(3, 2)
SEEN: list[Any] = []
RATE = 0.5


@pytest.fixture(autouse=True)
def compile_at_once() -> Iterator[None]:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)
    ms.set_context(mode=ms.PYNATIVE_MODE)


def tensor(i: int) -> Tensor:
    return Tensor(np.array([i, 2.0, -0.0], np.float32))


# -- functions of the number of a call: each makes a function anew and returns it, with the arguments of its call ---------------------
def no_variable(i: int) -> Any:
    return lambda z: z * 2 + RATE


def one_tensor(i: int) -> Any:
    y = tensor(i)
    return lambda z: z * y


def a_number(i: int) -> Any:
    rate = i * 0.25
    return lambda z: z * rate + i


def a_default(i: int) -> Any:
    around = tensor(i)
    return lambda z, y=around, *, scale=i % 3: z * y + scale


def a_given_default(i: int) -> Any:
    around, given = tensor(i), tensor(i + 1)
    inner = lambda z, y=around: z - y  # noqa: E731
    return lambda z: inner(z, y=given)


def parameter_and_cell(i: int) -> Any:
    y, w, net = tensor(i), W, NET
    return lambda z: net(z * w).sum() * y


def structure(i: int) -> Any:
    held = {"a": [tensor(i), (tensor(i + 1), "text")], "b": None}
    return lambda z: z * held["a"][0] + held["a"][1][0]


def a_branch(i: int) -> Any:
    y = tensor(i)

    def chosen(z: Any) -> Any:
        if (z * y).sum() > 2:
            z = z * y
        while z.sum() < y.sum():
            z = z + 1
        return z, y

    return chosen


def function_around(i: int) -> Any:
    y = tensor(i)

    def scaled(z: Any) -> Any:
        return z * y

    def twice(z: Any) -> Any:
        return scaled(scaled(z))

    return lambda z: twice(z) + scaled(z)


def jitted_around(i: int) -> Any:
    y = tensor(i)
    inner = jit(lambda z: z * y)
    return lambda z: inner(z) + y


def gradient_around(i: int) -> Any:
    y = tensor(i)

    def loss(z: Any) -> Any:
        return (z * z * y).sum()

    slope = ms.value_and_grad(loss)
    return lambda z: slope(z)


def named_around(i: int) -> Any:
    def inner(z: Any) -> Any:
        return z

    slope = grad(inner)
    return lambda z: (z, inner.__name__, inner.__qualname__, slope.__name__)


def inner_function(i: int) -> Any:
    y = tensor(i)

    def outer(z: Any) -> Any:
        def inner(a: Any) -> Any:
            return a * y

        return [inner(part) for part in (z, z + 1)]

    return outer


def several(i: int) -> Any:
    y = tensor(i)
    return lambda *zs, by=2: sum(zs) * y * by


SHARED = {
    each.__name__: each for each in (
        no_variable, one_tensor, a_number, a_default, a_given_default, parameter_and_cell, structure, a_branch, function_around,
        jitted_around, gradient_around, named_around, inner_function, several)
}


# -- the same, where each function must have graphs of its own -------------------------------------------------------------------------
def assigned(i: int) -> Any:
    count = i

    def counting(z: Any) -> Any:
        nonlocal count
        count += 1
        return z * count

    return counting


def returned(i: int) -> Any:
    y = tensor(i)
    held = {"y": y}

    def scaled(z: Any) -> Any:
        return z * y

    return lambda z: (z, scaled, held) if i else (z,)


def noted(i: int) -> Any:
    y = tensor(i)
    seen = SEEN

    def hook(gradient: Any) -> Any:
        seen.append(y.asnumpy().tolist())
        return gradient * y

    def hooked(z: Any) -> Any:
        z = z * 2
        z.register_hook(hook)
        return (z * y).sum()

    return grad(hooked)


def compared(i: int) -> Any:
    def one(z: Any) -> Any:
        return z

    def other(z: Any) -> Any:
        return z

    known = one if i % 2 else other
    return lambda z: z * (2 if known is one else 3)


def listed(i: int) -> Any:
    def one(z: Any) -> Any:
        return z

    def other(z: Any) -> Any:
        return z

    functions = [one]
    known = one if i % 2 else other
    return lambda z: z * (2 if known in functions else 3)


def unbound(i: int) -> Any:
    def early(z: Any) -> Any:
        return z * late

    if i % 2:
        late = tensor(i)
    return early


def new_object(i: int) -> Any:
    y = tensor(i)
    slope = ops.GradOperation(get_all=True)(lambda z: (z * z * y).sum())
    return lambda z: slope(z)


def contains_itself(i: int) -> Any:
    held: list[Any] = [i, 2]
    held.append(held)
    return lambda z: z * held[2][0]


def own_attributes(i: int) -> Any:
    def f(z: Any) -> Any:
        return z * f.rate  # pyright: ignore[reportFunctionMemberAccess] - set below

    f.rate = i  # pyright: ignore[reportFunctionMemberAccess]
    return f


def recursive(i: int) -> Any:
    def power(z: Any, n: int = 3) -> Any:
        return z if n == 0 else power(z, n - 1) * z

    return power


def of_names(i: int) -> Any:
    y = tensor(i)
    return lambda z, **more: z * y + sum(more.values())


def packed(i: int) -> Any:
    def scaled(z: Any) -> Any:
        with ms.saved_tensors_hooks(lambda kept: kept * i, lambda kept: kept):
            return z * z

    return scaled


OWN = {
    each.__name__: each for each in (
        assigned, returned, noted, compared, listed, unbound, new_object, contains_itself, own_attributes, recursive, of_names, packed)
}


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives: numbers by their bits, or its exception."""
    try:
        return plain(call())
    except Exception as raised:
        return type(raised).__mro__[-3:], "late" in str(raised)


def plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        return str(x.dtype), x.shape, x.asnumpy().tobytes()
    if isinstance(x, (tuple, list)):
        return type(x), [plain(part) for part in x]
    if isinstance(x, dict):
        return {name: plain(part) for name, part in x.items()}
    return plain(x(X)) if callable(x) else repr(x)


def sum_of(function: Any) -> Any:
    """Return a function with one result, to be differentiated."""
    return lambda z: sum(part.sum() for part in tensors(function(z)))


def shared_sum_of(function: Any) -> Any:
    """Return the same, of a code that only functions have which may share graphs."""
    return lambda z: sum(part.sum() for part in tensors(function(z)))


def tensors(x: Any) -> list[Tensor]:
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in tensors(part)]
    return [x] if isinstance(x, Tensor) else []


def in_graph_mode(call: Callable[[], Any]) -> Any:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return call()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


WAYS: dict[str, Callable[[Any], Any]] = {
    "jit": lambda make: lambda i: jit(make(i))(X),
    "called twice": lambda make: lambda i: [*map(jit(make(i)), (X, X + 1))],
    "under a tape": lambda make: lambda i: grad(sum_of(jit(make(i))))(X),
}


@pytest.mark.parametrize("make", [*SHARED.values(), *OWN.values()], ids=[*SHARED, *OWN])
@pytest.mark.parametrize("way", WAYS)
def test_what_they_give(way: str, make: Callable[[int], Any]) -> None:
    call = WAYS[way](make)
    eager: Any = {"jit": lambda i: make(i)(X), "called twice": lambda i: [*map(make(i), (X, X + 1))],
                  "under a tape": lambda i: grad(sum_of(make(i)))(X)}[way]
    for i in (1, 2, 3, 4, 5, 2, 6):
        SEEN.clear()
        expected = outcome(functools.partial(eager, i)), [*SEEN]
        SEEN.clear()
        assert (outcome(functools.partial(call, i)), [*SEEN]) == expected, i


@pytest.mark.parametrize("make", [*SHARED.values(), *OWN.values()], ids=[*SHARED, *OWN])
def test_gradients_in_graph_mode(make: Callable[[int], Any]) -> None:
    for i in (1, 2, 3, 4, 2):
        function = make(i)
        if function.__name__ in ("gradient", "<lambda>") and make in (gradient_around, new_object, noted):
            return  # no gradient of these
        expected = outcome(lambda f=function: grad(sum_of(f))(X))
        assert in_graph_mode(lambda i=i: outcome(lambda: grad(sum_of(make(i)))(X))) == expected, i


WITH_DEFAULTS = ("a_default", "a_given_default", "several")
"""Where these are closed over by others they are known by the object."""


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("what", ["results", "gradients"])
def test_graphs_are_made_once(what: str, make: Callable[[int], Any]) -> None:
    """After some calls nothing is made: the graphs are those of the code."""
    def call(i: int) -> None:
        if what == "results" and make is not a_given_default:
            jit(make(i))(X)
        elif make is not gradient_around and make.__name__ not in WITH_DEFAULTS:
            in_graph_mode(lambda: grad(shared_sum_of(make(i)))(X))

    before = made.counted()
    for i in range(16):
        if i == 10:
            before = made.counted()
        call(i)
    assert dict(made.counted() - before) == {}


@pytest.mark.parametrize("place", ["in a function", "in a module"])
@pytest.mark.parametrize("name", ["vmap", "jacrev", "jacfwd", "hessian"])
def test_derivatives_and_batches_of_a_lambda_in_a_loop(tmp_path: Path, name: str, place: str) -> None:
    """Where the module itself makes a lambda, its code is not that of a nested function."""
    counts: list[Any] = []
    variables = {"ms": ms, "x": X, "transformation": getattr(ms, name), "count": lambda: counts.append(made.counted())}
    text = "for i in range(12):\n    transformation(lambda y: (y * y * y).sum() * 0.5 + y.max())(x)\n    count()\n"
    if place == "in a function":
        text = "def run():\n    " + text.replace("\n", "\n    ") + "\nrun()\n"
    path = tmp_path / "program.py"
    path.write_text(text)
    exec(compile(text, str(path), "exec"), variables)
    assert dict(counts[-1] - counts[7]) == {}


def test_functions_share_again_some_time_after_a_hook_is_removed() -> None:
    net = nn.Dense(3, 3)
    handle = net.register_backward_hook(lambda cell, given, sent: None)

    def call() -> None:
        ms.vmap(ms.grad(lambda x: net(x).sum()))(X.reshape(1, 3))

    for _ in range(8):
        call()
    handle.remove()
    for _ in range(24):
        call()
    before = made.counted()
    call()
    assert dict(made.counted() - before) == {}


def test_what_a_call_needs_to_raise() -> None:
    """A wrong call of such a function raises what it raises in eager mode, and the next one is right."""
    def make(i: int) -> Any:
        y = tensor(i)
        return jit(lambda z: z * y)

    for i in range(3):
        make(i)(X)
    for wrong in (lambda: make(4)(), lambda: make(4)(X, y=X), lambda: make(4)(X, X)):
        with pytest.raises(TypeError):
            wrong()
    assert plain(make(5)(X)) == plain(X * tensor(5))


def test_functions_that_live_side_by_side_have_graphs_of_their_own() -> None:
    def scaled(by: Tensor) -> Any:
        return jit(lambda z: z * by)

    kept = [scaled(tensor(i)) for i in range(4)]
    for i, function in enumerate(kept):
        assert plain(function(X)) == plain(X * tensor(i))
        assert len(ms.jit_stats(function).graphs) == 1


def test_a_cell_is_not_kept_alive() -> None:
    import weakref

    def step(net: Any) -> Any:
        return jit(lambda z: net(z))(X)

    references = []
    for _ in range(4):
        net = nn.Dense(3, 2)
        references.append(weakref.ref(net))
        step(net)
        del net
    assert [reference() for reference in references] == [None] * 4


def test_a_new_cell_in_each_call() -> None:
    def step(net: Any) -> Any:
        return jit(lambda z: net(z))

    for _ in range(24):
        net = nn.Dense(3, 2)
        assert plain(step(net)(X)) == plain(net(X))


def test_a_hook_that_is_registered_later() -> None:
    """A forward hook runs in each function of a code, from the time when it is registered."""
    net, called = nn.ReLU(), []

    def step(i: int) -> Any:
        y = tensor(i)
        return jit(lambda z: net(z * y))(X)

    for i in range(4):
        step(i)
    handle = net.register_forward_hook(lambda cell, inputs, output: called.append(1) or output * 2)
    assert plain(step(5)) == plain(ops.relu(X * tensor(5)) * 2) and called == [1]
    handle.remove()
    assert plain(step(6)) == plain(ops.relu(X * tensor(6))) and called == [1]


def test_many_threads() -> None:
    wrong: list[int] = []

    def run(number: int) -> None:
        for i in range(40):
            y = tensor(number * 100 + i)
            if plain(jit(lambda z, y=y: (z * y, y))(X)) != plain((X * y, y)):
                wrong.append(i)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Trainer:
    """A loop of training as manuals write it: its functions are made anew for each epoch."""

    def __init__(self) -> None:
        ms.set_seed(1)
        self.net = nn.SequentialCell([nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 1)])
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        self.loss = nn.MSELoss()

    def epoch(self, wrapped: Callable[[Any], Any]) -> list[Any]:
        net, loss, optimizer = self.net, self.loss, self.optimizer

        def forward(x: Any, y: Any) -> Any:
            logits = net(x)
            return loss(logits, y), logits

        slope = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

        def step(x: Any, y: Any) -> Any:
            (found, _), gradients = slope(x, y)
            optimizer(gradients)
            return found

        step = wrapped(step)
        return [plain(step(Tensor(np.full((2, 3), i, np.float32)), Tensor(np.ones((2, 1), np.float32)))) for i in range(3)]


def test_a_loop_of_training() -> None:
    eager, jitted = Trainer(), Trainer()
    before = made.counted()
    for i in range(6):
        if i == 3:
            before = made.counted()
        assert jitted.epoch(jit) == eager.epoch(lambda f: f)
    assert dict(made.counted() - before) == {}


class _Following(nn.Cell):
    """Moves Parameters towards others, as a target network does, by a method whose first argument is bound in the call."""

    def __init__(self, bind: Callable[..., Any]):
        super().__init__()
        self.bind, self.map, self.assign = bind, ops.HyperMap(), ops.Assign()
        self.behaviour, self.target = nn.Dense(3, 2), nn.Dense(3, 2)

    def moved(self, factor: float, behaviour: Tensor, target: Tensor) -> Tensor:
        return self.assign(target, factor * behaviour + (1 - factor) * target)

    def construct(self, x: Tensor) -> Tensor:
        move = self.bind(self.moved, 0.25)
        self.map(move, tuple(self.behaviour.get_parameters()), tuple(self.target.get_parameters()))
        return self.target(x)


@pytest.mark.parametrize("bind", [ops.partial, ops.Partial(), functools.partial, lambda *bound: ops.partial(ops.partial(*bound))])
def test_a_method_whose_arguments_are_bound_in_the_call(bind: Callable[..., Any]) -> None:
    followers = [_Following(bind), _Following(bind)]
    ms.load_param_into_net(followers[1], {name: value.clone() for name, value in followers[0].parameters_dict().items()})
    eager, step = followers[0], jit(followers[1])
    for _ in range(4):
        assert plain(step(X)) == plain(eager(X))
    assert len(ms.jit_stats(step).graphs) == 1
