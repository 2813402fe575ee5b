"""Derivatives in forward mode as a program sees them: `jvp`, `linearize`, `Jvp`, columns of Jacobians; eagerly and in graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, grad, hessian, hvp, jacfwd, jacrev, jit, jit_stats, jvp, linearize, nn, ops, vjp, vmap
from adjoint.ir.core import walk
from adjoint.ir.ops.control import Tangent
from adjoint.ir.ops.stack import Stack
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.tensor.structure import leaves

POINT = np.array([0.3, 0.9, 1.4])
WAY = np.array([1.0, -1.0, 0.5])


def newton(x: Tensor) -> Tensor:
    y = ops.abs(x) + 0.5
    while ops.abs(y * y - x).max() > 1e-9:
        y = y - (y * y - x) / (2.0 * y)
    return y


def branches(x: Tensor) -> Tensor:
    for i in range(3):
        if x.sum() > i:
            x = ops.sin(x) * x[0]
        else:
            x = x * 2
    return x


class Layers(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.random.default_rng(2).standard_normal((3, 2))), name="weight")

    def construct(self, x: Tensor) -> dict[str, Any]:
        y = ops.tanh(x @ self.weight)
        return {"out": y, "both": (y.sum(), [x * x])}


def numbers(found: Any) -> list[np.ndarray[Any, Any]]:
    return [x.asnumpy() for x in leaves(found, Tensor)]


def close(one: Any, other: Any, tolerance: float = 1e-9) -> None:
    here, there = numbers(one), numbers(other)
    assert len(here) == len(there) > 0
    for x, y in zip(here, there, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("fn", [newton, branches, Layers()], ids=["while", "branches", "structure"])
def test_against_differences_and_reverse_mode(fn: Callable[..., Any]) -> None:
    x, v = Tensor(POINT), Tensor(WAY)
    y, along = jvp(fn, x, v)
    close(y, fn(x))
    step = 1e-6
    ahead, behind = (numbers(fn(Tensor(POINT + sign * step * WAY))) for sign in (1, -1))
    for found, a, b in zip(numbers(along), ahead, behind, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * step), rtol=1e-6, atol=1e-6)
    if isinstance(y, Tensor):
        close(jacfwd(fn)(x), jacrev(fn)(x))
        second = hessian(lambda x: (fn(x) ** 2).sum())(x)
        close(second, jacrev(grad(lambda x: (fn(x) ** 2).sum()))(x), 1e-7)
        close(second @ v, hvp(lambda x: (fn(x) ** 2).sum(), x, v)[1], 1e-7)
    taken = jit(lambda x, v: jvp(fn, x, v))
    jit_stats(taken)
    for _ in range(2):
        close(taken(x, v), (y, along))
    assert set(jit_stats(taken).ways) <= {"one function", "in pieces"}
    assert not any(isinstance(node.op, (Stack, Tangent)) for node in walk(parsed(taken, x, v).graph.function.body))


def test_the_function_runs_once_and_its_tangents_again() -> None:
    assert ms.linearize is ops.linearize is ops.functional.linearize
    calls: list[int] = []

    def fn(x: Tensor) -> Any:
        calls.append(1)
        return ops.sin(x) * x, x > 1

    x, v = Tensor(POINT), Tensor(WAY)
    _, push = linearize(fn, x)
    for way in (v, v * 2):
        close(push(way), jvp(fn, x, way)[1])
    assert len(calls) == 3
    y, push, aux = linearize(lambda x, y: (x["a"] * y, 7), ({"a": x}, 2.0), has_aux=True)
    close(y, x * 2)
    close(push({"a": v}, v), v * 2)
    assert aux == 7
    close(jit(lambda x, v: linearize(branches, x)[1](v))(x, v), jvp(branches, x, v)[1])


def test_cells() -> None:
    x, v = Tensor(POINT), Tensor(WAY)
    fn = lambda x, y: ops.sin(x) * y  # noqa: E731
    close(nn.Jvp(fn)(x, x, (v, v)), jvp(fn, (x, x), (v, v)))
    close(nn.Vjp(fn)(x, x, v)[1], vjp(fn, x, x)[1](v))
    assert isinstance(nn.Vjp(branches)(x, v)[1], Tensor)
    close(jit(nn.Jvp(branches))(x, v), jvp(branches, x, v))


def test_many_directions() -> None:
    x, many = Tensor(POINT), Tensor(np.random.default_rng(3).standard_normal((4, 3)))
    jacobian = jacrev(branches)(x)
    for fn in (lambda many: vmap(lambda v: jvp(branches, x, v)[1])(many), lambda many: vmap(linearize(branches, x)[1])(many)):
        close(fn(many), many @ jacobian.T)
        close(jit(fn)(many), many @ jacobian.T)
    pulled = lambda many: vmap(vjp(branches, x)[1])(many)[0]  # noqa: E731
    close(pulled(many), many @ jacobian)
    close(jit(pulled)(many), many @ jacobian)


class Ruled(nn.Cell):
    """x * x with another gradient, 5 x."""

    def construct(self, x: Tensor) -> Tensor:
        return x * x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Any:
        return (dout * x * 5,)


def test_a_bprop_is_transposed() -> None:
    rule = Ruled()
    fn = lambda x: ops.sin(rule(x)) * x  # noqa: E731
    x, v = Tensor(POINT), Tensor(WAY)
    wanted = (np.sin(POINT**2) + np.cos(POINT**2) * 5 * POINT**2) * WAY
    for taken in (jvp(fn, x, v)[1], jit(lambda x, v: jvp(fn, x, v)[1])(x, v), linearize(fn, x)[1](v), jacfwd(fn)(x) @ v, jacrev(fn)(x) @ v,
                  jit(jacfwd(fn))(x) @ v, jit(lambda x: linearize(fn, x)[1](v))(x)):
        np.testing.assert_allclose(taken.asnumpy(), wanted, rtol=1e-9)


def test_hooks_on_gradients_are_passed_by() -> None:
    """A tangent is no gradient: no hook sees it.  A gradient inside of the derivative calls its hooks, and so does one around it."""
    events: list[str] = []

    def doubled(gradient: Any) -> Any:
        events.append("doubled")
        return gradient[0] * 2

    hook, cell = ops.HookBackward(doubled), nn.Tanh()
    cell.register_backward_hook(lambda *_: events.append("cell"))
    fn = lambda x: hook(x * x) * cell(x)  # noqa: E731
    plain = lambda x: x * x * ops.tanh(x)  # noqa: E731
    x, v = Tensor(POINT), Tensor(WAY)
    wanted = jvp(plain, x, v)
    for taken in (jvp(fn, x, v), jit(lambda x, v: jvp(fn, x, v))(x, v), (fn(x), linearize(fn, x)[1](v)), (fn(x), jacfwd(fn)(x) @ v)):
        close(taken, wanted)
    assert events == []
    for run in (hvp, jit(lambda fn, x, v: hvp(fn, x, v))):
        run(lambda x: fn(x).sum(), x, v)
        assert sorted(events) == ["cell", "doubled"]
        events.clear()
    around = grad(lambda x: jvp(fn, x, v)[1].sum())
    close(around(x), jit(around)(x))
    assert events.count("doubled") == 2


def test_nested_arguments() -> None:
    """The Hessian by a dict is a dict of dicts; products with it have the structure of the arguments."""
    p, x = {"w": Tensor(POINT), "b": [Tensor(np.array(2.0))]}, Tensor(WAY)

    def loss(p: Any, x: Tensor) -> Tensor:
        return (p["w"] * p["w"] * p["b"][0] * x).sum()

    for taken in (hessian(loss), jit(hessian(loss))):
        second = taken(p, x)
        close(second, {"w": {"w": Tensor(np.diag(4.0 * WAY)), "b": [Tensor(2 * POINT * WAY)]},
                       "b": [{"w": Tensor(2 * POINT * WAY), "b": [Tensor(np.array(0.0))]}]})
    gradient, product = hvp(loss, (p, x), (p, x))
    close(gradient, ({"w": Tensor(4 * POINT * WAY), "b": [Tensor((POINT**2 * WAY).sum())]}, Tensor(2 * POINT**2)))
    close(product[0]["w"], Tensor(12 * POINT * WAY))
    found = jacfwd(lambda x: {"square": x * x, "sum": (x.sum(), 3)})(x)
    close(found, jacrev(lambda x: {"square": x * x, "sum": (x.sum(), 3)})(x))
    assert list(found) == ["square", "sum"] and found["sum"][1] == 0


def test_parameters_and_what_has_no_derivative() -> None:
    predict, parameters = ms.functional(Layers())
    x, v = Tensor(POINT), Tensor(WAY)
    ways = {name: ops.ones_like(p) for name, p in parameters.items()}
    found, along = jvp(lambda p: predict(p, x)["out"], (parameters,), (ways,))
    close(along, (1 - found * found) * float(POINT.sum()))
    rounded = lambda x: ops.stop_gradient(x) * ops.round(x) * x  # noqa: E731
    close(jvp(rounded, x, v)[1], v * ops.round(x) * x)
    assert jvp(ops.argmax, x, v)[1].tolist() == 0


def triples(z: Tensor) -> Tensor:
    z.mul_(3.0)
    return z * z


def triples_around(x: Tensor) -> Any:
    y = x * 1.0

    def squared(z: Tensor) -> Tensor:
        y.mul_(3.0)
        return z * z * 9.0

    return jvp(squared, x, y)[1]


@pytest.mark.parametrize("way", [lambda fn: fn, jit], ids=["eager", "jit"])
def test_a_direction_is_what_it_was_at_the_call(way: Callable[[Any], Any]) -> None:
    """The function may write the tensor that gives the direction, or the cotangent: the derivative is along the numbers from before."""
    held = Parameter(Tensor(POINT), name="held")

    def triples_held(z: Tensor) -> Tensor:
        held.mul_(3.0)
        return z * z * 9.0

    calls: list[Callable[[Tensor], Any]] = [
        lambda x: jvp(triples, x, x)[1], triples_around, lambda x: grad(triples, sens_param=True)(x, x),
        lambda x: hvp(lambda z: triples(z).sum(), x, x)[1] * x / 3.0, lambda x: jvp(triples_held, x, held)[1],
        lambda x: grad(triples_held, sens_param=True)(x, held)]
    for call in calls:
        held.set_data(Tensor(POINT))
        close(way(call)(Tensor(POINT)), Tensor(18 * POINT * POINT))
    for call in calls[:3]:
        close(grad(lambda x, call=call: way(call)(x * 1.0))(Tensor(POINT)), Tensor(36 * POINT))


def reads_and_writes(held: Parameter) -> Callable[[Tensor], Tensor]:
    def fn(x: Tensor) -> Tensor:
        y = x * x * held
        held.mul_(2.0)
        y = y * held * x
        if x.sum() > 0:
            y = y * held
            held.add_(x[0])
        return y * y.sum()

    return fn


class CountsUp(nn.Cell):
    """Reads a parameter, writes it, and reads it again, as layers with running statistics do."""

    def __init__(self, held: Parameter):
        super().__init__()
        self.held = held

    def construct(self, x: Tensor) -> Tensor:
        y = x * self.held * x
        self.held = self.held * 2.0
        return y * self.held


@pytest.mark.parametrize("fn", [reads_and_writes, CountsUp], ids=["function", "cell"])
@pytest.mark.parametrize("along", [
    lambda fn, x: jvp(fn, x, x)[1], lambda fn, x: linearize(fn, x)[1](x), lambda fn, x: hvp(lambda z: fn(z).sum(), x, x)[1],
    lambda fn, x: jacfwd(fn)(x).sum(0), lambda fn, x: jvp(lambda z: fn(z) * fn(z), x, x)[1],
], ids=["jvp", "linearize", "hvp", "jacfwd", "twice"])
def test_a_parameter_that_is_written_after_it_was_read(along: Callable[..., Tensor], fn: Callable[[Parameter], Any]) -> None:
    """Tangents are computed with the numbers that the function has read, in a graph too, and under a gradient."""

    def answers(way: Callable[[Any], Any]) -> list[Any]:
        found: list[Any] = []
        for around in (way, lambda call: grad(way(call)), lambda call: way(grad(call))):
            held = Parameter(Tensor(POINT + 0.5), name="held")
            taken, differentiated = fn(held), around
            call = differentiated(lambda x, taken=taken, held=held: along(taken, x) * held)
            found += [call(Tensor(POINT)), held.value()]
        return found

    for eager, graph in zip(answers(lambda call: call), answers(jit), strict=True):
        close(graph, eager)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: linearize(3, x), TypeError, "For 'linearize', the argument 'fn' must be a function or a Cell"),
    (lambda x: linearize(ops.sin, 3), TypeError, "For 'linearize', the argument 'inputs' must be a Tensor, or a tuple, list or dict"),
    (lambda x: linearize(ops.sin, x)[1](x[0]), ValueError, r"shape of its input, \(3,\), but got \(\)"),
    (lambda x: linearize(ops.sin, x)[1](x, x), ValueError, "as many vectors as there are inputs, 1, but got 2"),
    (lambda x: hvp(ops.sum, (x, 3.0), (x, x)), TypeError, "For 'hvp', the inputs must be Tensors, or tuples, lists or dicts of them"),
    (lambda x: hvp(ops.sum, {"a": x}, {"b": x}), ValueError, "must have the structure of what they are for"),
    (lambda x: nn.Jvp(3), TypeError, "For 'Jvp', the argument 'fn' must be"),
    (lambda x: nn.Jvp(ops.sin)(x), TypeError, "the inputs and then the vector, but got 1"),
    (lambda x: nn.Vjp(ops.sin)(x), TypeError, "the inputs and then the cotangent, but got 1"),
])
def test_mistakes(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(Tensor(POINT))
