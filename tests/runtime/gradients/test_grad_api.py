"""Gradients as users ask for them: all forms of grad, value_and_grad, GradOperation and get_grad, and their mistakes."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.ops import GradOperation
from adjoint.runtime.tensor.structure import leaves, mapped

pytestmark = pytest.mark.usefixtures("without_fusion")

X, Y = Tensor([2.0, 3.0]), Tensor([5.0, 7.0])


class Net(nn.Cell):
    """x * w * y + b"""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([10.0, 20.0]), name="w")
        self.b = Parameter(Tensor([1.0, 1.0]), name="b")
        self.frozen = Parameter(Tensor([4.0]), name="frozen", requires_grad=False)

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x * self.w * y + self.b


def product(x: Tensor, y: Tensor) -> Tensor:
    return x * x * y


def lists(found: Any) -> Any:
    """Return gradients with their numbers in lists."""
    return mapped(found, lambda leaf: leaf.tolist() if isinstance(leaf, Tensor) else leaf)


DX, DY = [20.0, 42.0], [4.0, 9.0]
NX, NY, NW, NB = [50.0, 140.0], [20.0, 60.0], [10.0, 21.0], [1.0, 1.0]


# -- grad and value_and_grad --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("position", "expected"), [(0, DX), (1, DY), ((0,), DX), ((1,), DY), ((0, 1), (DX, DY)), ((1, 0), (DY, DX))])
def test_positions(position: Any, expected: Any) -> None:
    assert lists(ms.grad(product, position)(X, Y)) == expected
    value, found = ms.value_and_grad(product, position)(X, Y)
    assert lists(found) == expected and value.tolist() == [20.0, 63.0]


def test_weights_in_every_form() -> None:
    net = Net()
    w, b = net.w, net.b
    for weights, expected in ((w, NW), ([w], (NW,)), ((w, b), (NW, NB)), (ParameterTuple([b, w]), (NB, NW)),
        (net.trainable_params(), (NW, NB))):
        assert lists(ms.grad(net, None, weights)(X, Y)) == expected
        assert lists(ms.grad(net, 0, weights)(X, Y)) == (NX, expected)
        assert lists(ms.grad(net, (0, 1), weights)(X, Y)) == ((NX, NY), expected)
        assert lists(ms.value_and_grad(net, None, weights)(X, Y)[1]) == expected
    assert lists(ms.grad(net, 0, [net.frozen, w])(X, Y)) == (NX, ([0.0], NW))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_one_position_in_a_tuple_is_that_position(mode: int) -> None:
    """As in MindSpore; weights in a list, and the arguments of `get_all`, stay tuples of one."""
    ms.set_context(mode=mode)
    net = Net()

    def with_aux(x: Tensor, y: Tensor) -> Any:
        return product(x, y), x + 1

    @ms.jit
    def parsed(x: Tensor, y: Tensor) -> Any:
        return ms.grad(product, (0,))(x, y), ms.value_and_grad(product, (1,))(x, y)[1], ms.grad(net, (0,), [net.w])(x, y)

    assert lists(ms.grad(net, (0,))(X, Y)) == NX
    assert lists(ms.grad(net, (0,), net.w)(X, Y)) == (NX, NW)
    assert lists(ms.grad(net, (1,), [net.w])(X, Y)) == (NY, (NW,))
    assert lists(ms.value_and_grad(net, (0,), (net.w, net.b))(X, Y)[1]) == (NX, (NW, NB))
    assert lists(ms.grad(with_aux, (0,), has_aux=True)(X, Y)) == (DX, ([3.0, 4.0],))
    assert lists(ms.value_and_grad(with_aux, (0,), has_aux=True)(X, Y)) == (([20.0, 63.0], [3.0, 4.0]), DX)
    assert lists(ms.grad(product, (1,), return_ids=True)(X, Y)) == (1, DY)
    assert lists(ms.grad(net, (0,), [net.w], return_ids=True)(X, Y)) == ((0, NX), (("w", NW),))
    assert lists(parsed(X, Y)) == (DX, DY, (NX, (NW,)))
    assert lists(GradOperation(get_all=True)(lambda x: x * x)(X)) == ([4.0, 6.0],)


def test_aux() -> None:
    def f(x: Tensor) -> tuple[Any, ...]:
        return (x * x).sum(), x * 2, "note"

    value, (aux, note) = ms.grad(f, has_aux=True)(X)
    assert value.tolist() == [4.0, 6.0] and aux.tolist() == [4.0, 6.0] and note == "note"
    result, found = ms.value_and_grad(f, has_aux=True)(X)
    assert result[0].tolist() == 13.0 and result[2] == "note" and found.tolist() == [4.0, 6.0]
    two = ms.grad(lambda x: (x * 3, x * 100), has_aux=True)(X)
    assert lists(two) == ([3.0, 3.0], ([200.0, 300.0],))


def test_results_are_summed() -> None:
    """The gradient of a function with several results is that of their sum; results that are not tensors are ignored."""
    assert ms.grad(lambda x: (x * 3, [x * 4, {"y": x}], 7, None))(X).tolist() == [8.0, 8.0]


def test_ids() -> None:
    net = Net()
    found = ms.grad(net, 0, net.w, return_ids=True)(X, Y)
    assert found[0][0] == 0 and found[1][0] == "w"
    assert ms.get_grad(found, 0).tolist() == NX and ms.get_grad(found, net.w).tolist() == NW
    found = ms.grad(net, (0, 1), net.trainable_params(), return_ids=True)(X, Y)
    assert [ms.get_grad(found, i).tolist() for i in (0, 1, net.w, net.b)] == [NX, NY, NW, NB]
    assert ms.get_grad(ms.grad(product, 1, return_ids=True)(X, Y), 1).tolist() == DY
    assert ms.get_grad(ms.grad(net, None, [net.w, net.b], return_ids=True)(X, Y), net.b).tolist() == NB
    for missing in (5, net.frozen):
        with pytest.raises(RuntimeError, match="get_grad"):
            ms.get_grad(found, missing)
    for wrong in ("w", 1.5, None, True):
        with pytest.raises(TypeError, match="get_grad"):
            ms.get_grad(found, wrong)


# -- nested arguments -----------------------------------------------------------------------------------------------------
class Pair(NamedTuple):
    """Two things with names."""

    u: Any
    v: Any


class Settings(dict[str, Any]):
    """A dict with an attribute and an `__init__` of its own."""

    def __init__(self, label: str, **values: Any):
        super().__init__(**values)
        self.label = label


A, B = Tensor(2.0), Tensor(5.0)


def used(t: Any) -> Any:
    """u * u * v, for any object that has them."""
    if isinstance(t, dict):
        return t["u"] * t["u"] * t["v"]
    return t.u * t.u * t.v if isinstance(t, Pair) else t[0] * t[0] * t[1]


def moved(x: OrderedDict[str, Any]) -> OrderedDict[str, Any]:
    x.move_to_end(next(iter(x)))
    return x


NESTED: list[tuple[Any, Callable[[Any], Any], Any]] = [
    ({"u": A, "v": B}, used, {"u": 20.0, "v": 4.0}),
    ({"v": B, "u": A}, used, {"v": 4.0, "u": 20.0}),
    ([A, B], used, [20.0, 4.0]),
    ((A, B), used, (20.0, 4.0)),
    (Pair(A, B), used, Pair(20.0, 4.0)),
    (OrderedDict(v=B, u=A), used, OrderedDict(v=4.0, u=20.0)),
    (moved(OrderedDict(v=B, u=A)), used, OrderedDict(u=20.0, v=4.0)),
    (deque([A, B], 7), used, deque([20.0, 4.0], 7)),
    (defaultdict(list, u=A, v=B), used, defaultdict(list, u=20.0, v=4.0)),
    ((A, {"w": B}), lambda t: t[0] * t[0] * t[1]["w"], (20.0, {"w": 4.0})),
    ({"d": {"w": [A, (B,)]}}, lambda t: used((t["d"]["w"][0], t["d"]["w"][1][0])), {"d": {"w": [20.0, (4.0,)]}}),
    ([{"u": A, "v": B}, Pair(A, [B])], lambda t: used(t[0]) + used((t[1].u, t[1].v[0])), [{"u": 20.0, "v": 4.0}, Pair(20.0, [4.0])]),
    ({"u": A, "v": B}, lambda t: t["u"] * 3, {"u": 3.0, "v": 0.0}),
    ((A, A), used, (8.0, 4.0)),
    ((A, (), [], {}), lambda t: t[0] * 3, (3.0, (), [], {})),
    # Beside tensors: a number has 0 of its kind, as in MindSpore's graphs, anything else None.
    ((A, 3, 2.5, True, None, "s", B), lambda t: t[0] * t[0] * t[6] * t[1], (60.0, 0, 0.0, False, None, None, 12.0)),
    ({"u": A, "v": B, "name": "n", "power": 3}, used, {"u": 20.0, "v": 4.0, "name": None, "power": 0}),
    ([A, np.float32(3), 1j], lambda t: t[0] * 3, [3.0, np.float32(0), 0j]),
    # Of integers: as MindSpore has it.
    ((A, Tensor(3)), lambda t: t[0] * t[1], (3.0, 2)),
    (ms.mutable({"u": A, "v": [B, 3]}), lambda t: t["u"] * t["v"][0] * t["v"][1], {"u": 15.0, "v": [6.0, 0]}),
]


@pytest.mark.parametrize("mode", ["eager", "jit", "inside", "GRAPH_MODE"])
@pytest.mark.parametrize("case", range(len(NESTED)))
def test_gradients_have_the_structure_of_the_argument(case: int, mode: str) -> None:
    given, f, expected = NESTED[case]
    if mode == "inside":
        if isinstance(given, (deque, defaultdict)) or type(given).__module__ == "adjoint.runtime.tensor.mutable":
            pytest.skip("a constant of the graph, or numbers that are known when it runs: see below")
        found = [ms.jit(lambda t: ms.grad(f)(t))(given)]
    else:
        f = ms.jit(f) if mode == "jit" else f
        ms.set_context(mode=ms.GRAPH_MODE if mode == "GRAPH_MODE" else ms.PYNATIVE_MODE)
        found = [ms.grad(f)(given), ms.value_and_grad(f)(given)[1], GradOperation()(f)(given), GradOperation(get_all=True)(f)(given)[0],
                 ms.get_grad(ms.grad(f, return_ids=True)(given), 0)]
        if all(isinstance(leaf, Tensor) for leaf in leaves(given)):
            value, pull = ms.vjp(f, given)
            found += [pull(ops.ones_like(value))[0]]
            directions = mapped(given, lambda x: ops.ones_like(x) * 10)
            along = ms.jvp(f, (given,), (directions,))[1]
            assert along.tolist() == sum(leaves(expected, float)) * 10
    for gradient in found:
        assert repr(lists(gradient)) == repr(expected) and type(gradient) is type(expected)


def test_the_argument_is_what_it_was() -> None:
    """The function gets containers of the same classes, and the caller's do not change."""
    given = Settings("first", u=A, v=[B], note="n")

    def f(t: Any) -> Any:
        assert type(t) is Settings and t.label == "first" and t["note"] == "n" and type(t["v"]) is list
        return t["u"] * t["v"][0]

    found = ms.grad(f)(given)
    assert lists(dict(found)) == {"u": 5.0, "v": [2.0], "note": None}
    assert given["u"] is A and given["v"][0] is B


def test_a_function_that_changes_its_arguments() -> None:
    """The caller sees the change, as without a gradient; the gradient has the structure of the given argument."""
    def f(t: Any) -> Any:
        y = t["x"] * t["x"]
        t["seen"].append(t["x"])
        t["y"], t["pair"][0] = y, t["pair"][1]
        if t["fail"]:
            raise KeyError("told")
        return y

    def arguments(fail: bool) -> Any:
        return {"x": A, "seen": [1], "pair": [A, B], "fail": fail}

    plain, given, failed = arguments(False), arguments(False), arguments(True)
    f(plain)
    inner = given["seen"]
    assert lists(ms.grad(f)(given)) == {"x": 4.0, "seen": [0], "pair": [0.0, 0.0], "fail": False}
    assert lists(given) == lists(plain) and list(given) == list(plain) and given["seen"] is inner
    assert given["x"] is A and inner[1] is A and given["pair"] == [B, B]
    with pytest.raises(KeyError, match="told"):
        ms.grad(f)(failed)
    assert failed["seen"] == [1, A] and failed["y"].tolist() == 4.0
    mixed = [A, B]
    _, pull = ms.vjp(lambda t: t.pop() * t[0], mixed)
    assert mixed == [A] and lists(pull(Tensor(1.0))) == ([5.0, 2.0],)
    with pytest.raises(CompileError, match="changes a list or dict that it is given"):
        ms.jit(lambda x: ms.grad(lambda t: t.pop() * t[0])([x, x])[0])(A)


def moves(t: Any) -> Any:
    t[1] = t[0]
    return t[0][0] * 2


def appends_a_tuple(t: Any) -> Any:
    t.append((t[0][0], Pair(t[2], t[0])))
    return t[0][0] * 2


def appends_a_list(t: Any) -> Any:
    made = [t[1], t[0]]
    made.append({"itself": made, "row": deque([t[2]])})
    t[2].append(made)
    return t[0][0] * 2


@pytest.mark.parametrize("f", [moves, appends_a_tuple, appends_a_list, lambda t: t.pop(1) * t[0][0]])
def test_what_a_function_leaves_in_its_arguments_is_the_callers_own(f: Callable[[Any], Any]) -> None:
    """At any depth, a tensor, tuple or list of the argument is the caller's object and not a copy, as without a gradient."""
    def left(call: Callable[[Any], Any]) -> Any:
        x, y, z, w = (A.copy() for _ in range(4))
        pair, row = (x, y), [w]
        given = [pair, z, row]
        known = {id(part): name for name, part in {"x": x, "y": y, "z": z, "w": w, "row": row, "pair": pair}.items()}

        def named(part: Any) -> Any:
            if id(part) not in known and isinstance(part, (tuple, list, dict, deque)):
                known[id(part)] = type(part).__name__
                held = part.values() if isinstance(part, dict) else part
                return type(part).__name__, [named(p) for p in held]
            return known.get(id(part), "copy")

        call(given)
        return [*map(named, given)], [*map(named, row)]

    expected = left(f)
    assert "copy" not in repr(expected)
    assert left(ms.grad(f)) == left(lambda t: ms.vjp(f, t)) == expected


def test_second_order_through_a_dict() -> None:
    cube = lambda t: t["u"] * t["u"] * t["u"] * t["v"]  # noqa: E731
    slope = lambda x, y: ms.grad(cube)({"u": x, "v": y})["u"]  # noqa: E731
    for f in (slope, ms.jit(slope)):
        assert lists(ms.grad(f, (0, 1))(A, B)) == (60.0, 12.0)
    whole = ms.grad(lambda t: ms.grad(cube)(t)["u"])
    assert lists(whole({"u": A, "v": B})) == {"u": 60.0, "v": 12.0}


def test_cotangents_of_dicts_are_taken_by_their_keys() -> None:
    f = lambda x: {"p": x * 2, "q": [x * 3]}  # noqa: E731
    by_key = {"q": [Tensor(10.0)], "p": Tensor(1.0)}
    for g in (f, ms.jit(f)):
        assert ms.vjp(g, A)[1](by_key)[0].tolist() == GradOperation(sens_param=True)(g)(A, by_key).tolist() == 32.0
        assert ms.vjp(g, A)[1](Tensor(1.0), Tensor(10.0))[0].tolist() == 32.0
    with pytest.raises(ValueError, match=r"the cotangents must .* has the key 'r', which is not among 'p', 'q'"):
        ms.vjp(f, A)[1]({"p": A, "r": [A]})
    with pytest.raises(ValueError, match="'sens' does not fit the outputs: it has the key 'r'"):
        GradOperation(sens_param=True)(f)(A, {"p": A, "r": [A]})
    along = ms.jvp(lambda t: {"s": t["u"] * t["v"], "n": 3}, {"u": A, "v": B}, {"v": Tensor(1.0), "u": Tensor(10.0)})[1]
    assert lists(along) == {"s": 52.0, "n": 0}


def test_a_number_that_is_known_when_the_graph_runs_has_no_gradient() -> None:
    f = ms.jit(lambda x: ms.grad(lambda t: t[0] * t["n" if False else 1])((x, int(x.sum()), bool(x.sum()), float(x.sum()))))
    assert lists(f(A)) == (2.0, 0, False, 0.0)


def test_an_argument_that_holds_itself() -> None:
    endless: list[Any] = [A]
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        ms.grad(lambda t: t[0])(endless)


def test_other_arguments() -> None:
    """Numbers, None, strings, keywords and defaults pass through to the function."""
    def f(x: Tensor, power: int, *rest: Any, scale: float = 1.0, name: str | None = None) -> Tensor:
        assert name in (None, "n") and rest in ((), (None,))
        return x**power * scale

    assert ms.grad(f)(X, 2).tolist() == [4.0, 6.0]
    assert ms.grad(f)(X, 2, None, scale=10.0, name="n").tolist() == [40.0, 60.0]
    assert ms.grad(f)(X, 2, scale=Tensor(3.0)).tolist() == [12.0, 18.0]


def test_what_can_be_differentiated() -> None:
    class Callable:
        def __call__(self, x: Tensor) -> Tensor:
            return x * 3

        def method(self, x: Tensor) -> Tensor:
            return x * 4

    for fn, expected in ((Callable(), 3.0), (Callable().method, 4.0), (functools.partial(product, y=Tensor([1.0, 1.0])), None),
        (ops.sin, None),
                         (ops.ReLU(), 1.0), (nn.ReLU(), 1.0)):
        found = ms.grad(fn)(X).tolist()
        assert expected is None or found == [expected] * 2
    assert ms.grad(lambda x: x)(X).tolist() == [1.0, 1.0]
    assert ms.grad(lambda x: Y)(X).tolist() == [0.0, 0.0]
    assert ms.grad(product, 0)(X, X).tolist() == [8.0, 18.0]


def test_gradients_of_integers_and_empty_tensors() -> None:
    assert ms.grad(lambda x: x * 2)(Tensor([1, 2])).tolist() == [2, 2]
    assert ms.grad(lambda x: x * 2.0)(Tensor(np.zeros((0, 3), np.float32))).shape == (0, 3)
    assert ms.grad(lambda x: x * x)(Tensor(3.0)).tolist() == 6.0


# -- GradOperation ------------------------------------------------------------------------------------------------------
def test_grad_operation_in_every_form() -> None:
    net = Net()
    weights = ParameterTuple([net.w, net.b])
    sens = Tensor([10.0, 100.0])
    times = lambda gradient: (np.array(gradient) * [10, 100]).tolist()  # noqa: E731
    assert lists(GradOperation()(net)(X, Y)) == NX
    assert lists(GradOperation(get_all=True)(net)(X, Y)) == (NX, NY)
    assert lists(GradOperation(get_by_list=True)(net, weights)(X, Y)) == (NW, NB)
    assert lists(GradOperation(get_by_list=True)(net)(X, Y)) == (NW, NB)
    assert lists(GradOperation(get_by_list=True)(net, net.w)(X, Y)) == NW
    assert lists(GradOperation(get_all=True, get_by_list=True)(net, weights)(X, Y)) == ((NX, NY), (NW, NB))
    for given in (lambda g: g(X, Y, sens), lambda g: g(X, Y, sens=sens), lambda g: g(X, y=Y, sens=sens)):
        assert lists(given(GradOperation(sens_param=True)(net))) == times(NX)
    assert lists(GradOperation(get_all=True, sens_param=True)(net)(X, Y, sens)) == (times(NX), times(NY))
    assert lists(GradOperation(True, True, True)(net, weights)(X, Y, sens)) == ((times(NX), times(NY)), (times(NW), times(NB)))
    assert lists(GradOperation(get_by_list=True, sens_param=True)(net, weights)(X, Y, sens)) == (times(NW), times(NB))


def test_grad_operation_leaves_out_what_is_no_tensor() -> None:
    assert lists(GradOperation(get_all=True)(lambda x, n, y: x * n * y)(X, 2, Y)) == ([10.0, 14.0], [4.0, 6.0])


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_grad_operation_of_no_tensor_is_an_empty_tuple(mode: int) -> None:
    """As in MindSpore 2.10.0; the function runs all the same."""
    product = lambda x, y: x * y  # noqa: E731
    ms.set_context(mode=mode)
    for run in (lambda f: f, ms.jit):
        assert run(lambda: GradOperation()(product)(1, 2))() == run(lambda: GradOperation()(lambda: X)())() == ()
        assert run(lambda: GradOperation(get_all=True)(product)(1.0, 2))() == run(lambda x: GradOperation()(product)(3, x))(X) == ()
    with pytest.raises(ZeroDivisionError):
        GradOperation()(lambda x: x / 0)(1)


def test_the_sens_of_several_results() -> None:
    f = lambda x: (x * 2, x * 3)  # noqa: E731
    assert GradOperation(sens_param=True)(f)(X, (Tensor([1.0, 1.0]), Tensor([10.0, 10.0]))).tolist() == [32.0, 32.0]


def test_second_order() -> None:
    cube = lambda x: x * x * x  # noqa: E731
    assert ms.grad(ms.grad(cube))(X).tolist() == [12.0, 18.0]
    assert GradOperation()(GradOperation()(cube))(X).tolist() == [12.0, 18.0]
    assert lists(GradOperation(get_all=True)(GradOperation(sens_param=True)(cube))(X, Y)) == ([60.0, 126.0], [12.0, 27.0])
    value, found = ms.value_and_grad(ms.value_and_grad(cube))(X)
    assert lists(value) == ([8.0, 27.0], [12.0, 27.0]) and found.tolist() == [24.0, 45.0]


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_grad_with_a_sens(mode: int) -> None:
    """The cotangent is the last positional argument, or `sens`; if there are auxiliary results, it is only for the differentiated part."""
    ms.set_context(mode=mode)
    square, sens = lambda x: x * x, Tensor([10.0, 1.0])
    both = lambda x, y: x * y  # noqa: E731
    assert ms.grad(square, sens_param=True)(X, sens).tolist() == [40.0, 6.0]
    assert ms.grad(square, sens_param=True)(X, sens=sens).tolist() == [40.0, 6.0]
    assert lists(ms.grad(both, (0, 1), sens_param=True)(X, Y, sens)) == ([50.0, 7.0], [20.0, 3.0])
    assert lists(ms.value_and_grad(both, 1, sens_param=True)(X, Y, sens)) == ([10.0, 21.0], [20.0, 3.0])
    several = ms.grad(lambda x: (x * x, x), sens_param=True)(X, (sens, Tensor([1.0, 2.0])))
    assert several.tolist() == [41.0, 8.0]
    assert lists(ms.grad(lambda x: (x * x, x + 1), has_aux=True, sens_param=True)(X, sens)) == ([40.0, 6.0], ([3.0, 4.0],))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("sens", [
    Tensor(2.0), Tensor([2.0]), Tensor([2.0, 2.0], ms.float64), Tensor([2.0, 2.0], ms.float16), Tensor([2, 2]), Tensor(2)], ids=str)
def test_a_sens_comes_to_the_type_of_the_output(mode: int, sens: Tensor) -> None:
    """As in MindSpore's GRAPH_MODE: it is cast and broadcast."""
    ms.set_context(mode=mode)
    square = lambda x: x * x  # noqa: E731
    for found in (GradOperation(sens_param=True)(square)(X, sens=sens), GradOperation(sens_param=True)(square)(X, sens),
        ms.jit(lambda x, s: GradOperation(sens_param=True)(square)(x, s))(X, sens)):
        assert found.dtype is ms.float32 and found.tolist() == [8.0, 12.0]
    second = ms.grad(lambda x: GradOperation(sens_param=True)(square)(x, sens=sens).sum())(X)
    assert second.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_arguments_by_keyword_stand_behind_the_others(mode: int) -> None:
    """In the order of the call, whatever the order in the function."""
    ms.set_context(mode=mode)
    f = lambda x, y: x * y * y  # noqa: E731
    assert ms.grad(f)(x=X, y=Y).tolist() == [25.0, 49.0]
    assert ms.grad(f, 1)(X, y=Y).tolist() == [20.0, 42.0]
    assert lists(GradOperation(get_all=True)(f)(X, y=Y)) == ([25.0, 49.0], [20.0, 42.0])
    assert lists(GradOperation(get_all=True)(f)(y=Y, x=X)) == ([20.0, 42.0], [25.0, 49.0])
    assert GradOperation(sens_param=True)(f)(x=X, y=Y, sens=Tensor([2.0, 1.0])).tolist() == [50.0, 49.0]
    assert lists(GradOperation(get_all=True)(lambda x, *, by: x * by)(X, by=Y)) == ([5.0, 7.0], [2.0, 3.0])


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_gradients_in_a_parsed_function_take_keywords(mode: int) -> None:
    ms.set_context(mode=mode)
    @ms.jit
    def f(x: Tensor, y: Tensor) -> Any:
        return ms.grad(lambda a, b: a * b * b, 1, sens_param=True)(x, b=y, sens=x)

    assert f(X, Y).tolist() == [40.0, 126.0]


# -- mistakes -----------------------------------------------------------------------------------------------------------
identity = lambda x: x  # noqa: E731
MISTAKES: list[tuple[str, type[Exception]]] = [
    ("ms.grad(3)", TypeError), ("ms.grad(None)", TypeError), ("ms.grad('text')", TypeError), ("ms.grad(X)", TypeError),
    ("ms.grad(identity, 'a')", TypeError), ("ms.grad(identity, 1.5)", TypeError), ("ms.grad(identity, [0])", TypeError),
    ("ms.grad(identity, True)", TypeError), ("ms.grad(identity, (0, 'a'))", TypeError), ("ms.grad(identity, -1)", ValueError),
    ("ms.grad(identity, (0, 0))", ValueError), ("ms.grad(identity, ())", RuntimeError), ("ms.grad(identity, None)", ValueError),
    ("ms.grad(identity, 0, 'a')", TypeError), ("ms.grad(identity, 0, [X])", TypeError), ("ms.grad(identity, 0, 3)", TypeError),
    ("ms.grad(identity, 0, X)", TypeError), ("ms.grad(identity, has_aux=1)", TypeError), ("ms.grad(identity, return_ids='a')", TypeError),
    ("ms.grad(identity, 3)(X)", RuntimeError), ("ms.grad(identity)('text')", TypeError), ("ms.grad(identity)(3)", TypeError),
    ("ms.grad(identity, sens_param=1)", TypeError), ("ms.grad(identity, sens_param=True)()", TypeError),
    ("ms.grad(identity, sens_param=True)(X)", TypeError), ("ms.grad(identity, sens_param=True)(X, 2.0)", TypeError),
    ("ms.grad(identity, sens_param=True)(X, Tensor([1.0, 2.0, 3.0]))", ValueError),
    ("ms.grad(lambda: X)()", RuntimeError), ("ms.grad(lambda x: 3)(X)", TypeError), ("ms.grad(lambda x: None)(X)", TypeError),
    ("ms.value_and_grad(3)", TypeError), ("ms.value_and_grad(identity, 'a')", TypeError), ("ms.value_and_grad(identity, None)", ValueError),
    ("ms.value_and_grad(identity, has_aux=True)(X)", ValueError), ("ms.get_grad(3, 0)", TypeError),
    ("GradOperation(get_all=1)", TypeError), ("GradOperation(get_by_list='a')", TypeError), ("GradOperation(sens_param=None)", TypeError),
    ("GradOperation()(3)", TypeError), ("GradOperation(get_by_list=True)(identity)", TypeError),
    ("GradOperation(get_by_list=True)(identity, 'a')", TypeError), ("GradOperation(get_by_list=True)(identity, [3])", TypeError),
    ("GradOperation(sens_param=True)(lambda: X)()", TypeError),
    ("GradOperation(sens_param=True)(identity)(X, 'text')", TypeError), ("GradOperation(sens_param=True)(identity)(X, 2.0)", TypeError),
    ("GradOperation(sens_param=True)(identity)(X, Tensor([1.0, 2.0, 3.0]))", ValueError),
    ("GradOperation(sens_param=True)(identity)(X, Tensor([[1, 1], [1, 1]]))", ValueError),
    ("GradOperation(sens_param=True)(lambda x: (x, x))(X, (X,))", ValueError),
]


@pytest.mark.parametrize(("expression", "kind"), MISTAKES, ids=[e for e, _ in MISTAKES])
def test_mistakes(expression: str, kind: type[Exception]) -> None:
    """The message names the entry, and the next gradient is right."""
    with pytest.raises(kind) as caught:
        eval(expression)
    assert type(caught.value) is kind
    assert any(name in str(caught.value) for name in ("grad", "GradOperation", "has_aux", "sens")), caught.value
    assert ms.grad(identity)(X).tolist() == [1.0, 1.0] and ms.runtime.process.tracer.state.tracer is None


@pytest.mark.parametrize(("call", "kind"), [
    (lambda: ms.grad(identity)(), TypeError), (lambda: ms.grad(identity)(X, X), TypeError),
        (lambda: ms.grad(identity)(X, wrong=1), TypeError),
    (lambda: ms.grad(lambda x: 1 / 0)(X), ZeroDivisionError), (lambda: ms.grad(lambda x: undefined)(X), NameError),  # noqa: F821
    (lambda: ms.grad(lambda x: x + Tensor([1.0, 2.0, 3.0]))(X), ValueError), (lambda: ms.grad(), TypeError),
        (lambda: ms.grad(identity, wrong=1), TypeError),
], ids=range(8))
def test_mistakes_that_are_pythons(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        call()
    assert ms.grad(identity)(X).tolist() == [1.0, 1.0] and ms.runtime.process.tracer.state.tracer is None


def test_an_exception_of_the_function_passes_through() -> None:
    boom = KeyError("mine")

    def f(x: Tensor) -> Tensor:
        raise boom

    with pytest.raises(KeyError) as caught:
        ms.value_and_grad(f)(X)
    assert caught.value is boom


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_frozen_parameters(mode: int) -> None:
    """Frozen weights have zeros; the gradient by an argument is computed even if it is frozen (decision 0006)."""
    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor([3.0]), name="w", requires_grad=False)

        def construct(self, x: Tensor) -> Tensor:
            return x * self.w

    ms.set_context(mode=mode)
    net = Scaled()
    by_weight, by_argument = ms.grad(net, None, net.w), ms.grad(lambda w: w * w)
    assert by_weight(Tensor([5.0])).tolist() == [0.0]
    net.w.requires_grad = True
    assert by_weight(Tensor([5.0])).tolist() == [5.0]
    net.w.requires_grad = False
    assert by_weight(Tensor([5.0])).tolist() == [0.0] and by_argument(net.w).tolist() == [6.0]
