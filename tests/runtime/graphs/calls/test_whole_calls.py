"""A graph that is one straight piece is called by one function after its first runs; the call is still that of eager mode."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ms
from adjoint import CompileError, Parameter, Tensor, jit, jit_stats, nn, ops
from adjoint.foundation.budget import budget
from adjoint.runtime.execution import call_functions
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.guards.places import OwnAttribute

RUNS = 6
"""More than a graph needs to be called by one function."""

RATE = 2.0

pytestmark = pytest.mark.usefixtures("without_fusion")


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls that did not go by such a function.

    A period of the budget begins, which clears these functions, so that none begins in the test.
    """
    budget.limit = budget.limit
    seen: list[int] = []
    run = BoundPlan.run_fitting

    def counted(self: Any, arguments: Any, run_: Any) -> Any:
        seen.append(len(arguments))
        return run(self, arguments, run_)

    monkeypatch.setattr(BoundPlan, "run_fitting", counted)
    return seen


def floats(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


def warm(function: Any, *args: Any) -> Any:
    for _ in range(RUNS):
        result = function(*args)
    return result


def test_results_in_tuples_and_lists(general: list[int]) -> None:
    @jit
    def function(x: Tensor, y: Tensor) -> Any:
        return x * y, [x - y, (y,)], x

    x, y = floats(1, -0.0, 3), floats(2, 5, float("nan"))
    warm(function, x, y)
    general.clear()
    product, [difference, (same,)], again = function(x, y)
    assert not general
    assert product.asnumpy().tobytes() == (x * y).asnumpy().tobytes() and difference.asnumpy().tobytes() == (x - y).asnumpy().tobytes()
    assert same is y and again is x


def test_results_with_names_and_constants(general: list[int]) -> None:
    name = "a'\"\\\n{x}"
    function = jit(lambda x, y: {name: x + y, "of": [{"n": 3, "": None}, True, (name, {})], "minus": (x - y, -2)})
    x, y = floats(1, 2), floats(3, 4)
    expected = function(x, y)
    warm(function, x, y)
    general.clear()
    first, second = function(x, y), function(x, y)
    assert not general
    for result in (expected, first):
        assert [*result] == [name, "of", "minus"] and result["of"] == [{"n": 3, "": None}, True, (name, {})]
        assert list(result[name].asnumpy()) == [4, 6] and list(result["minus"][0].asnumpy()) == [-2, -2] and result["minus"][1] == -2
    assert first["of"] is not second["of"] and first["of"][0] is not second["of"][0]


class Part(NamedTuple):
    value: Any
    rate: float = 0.5


class Reversed(Part):
    """Iterates over something else than it holds."""

    def __iter__(self) -> Any:
        return iter((self.rate,))


@pytest.mark.parametrize("kind", [Part, Reversed])
def test_named_tuples_are_arguments_and_results(general: list[int], kind: Any) -> None:
    function = jit(lambda part: kind(part.value * part.rate, 0.25))
    x = floats(1, 2)
    warm(function, kind(x))
    general.clear()
    result = function(kind(x))
    assert not general and type(result) is kind
    assert result[0].asnumpy().tolist() == [0.5, 1] and result[1] == 0.25
    with pytest.raises(AttributeError):
        function((x, 0.5))


@pytest.mark.parametrize("what", ["grad", "value_and_grad"])
def test_named_tuples_of_losses_need_no_tape(what: str) -> None:
    def losses(x: Tensor) -> Part:
        return Part((x * x).sum(), 0.5)

    run, x = jit(losses), floats(1, 2)
    jit_stats(run)
    found, expected = getattr(ms, what)(run)(x), getattr(ms, what)(losses)(x)
    assert repr(found) == repr(expected)
    assert jit_stats(run).ways == {"joint gradient": 1}


def test_a_function_without_a_result_runs_once_for_each_call(general: list[int]) -> None:
    total = Parameter(floats(0), name="total")

    @jit
    def function(x: Tensor) -> None:
        ops.assign_add(total, x)

    warm(function, floats(1))
    general.clear()
    assert function(floats(1)) is None and float(total) == RUNS + 1
    assert function(x=floats(1)) is None and float(total) == RUNS + 2 and not general


def test_arguments_in_structures_and_by_name(general: list[int]) -> None:
    @jit
    def function(x: Tensor, scale: float, weights: Any, /, *, bias: Tensor, options: Any = None) -> Any:
        first, (second,) = weights["pair"]
        return x * scale + first * second, bias if options is None else bias * options[0]

    def call(scale: float = 2.0, **more: Any) -> Any:
        return function(x, scale, {"pair": (x, [y])}, bias=y, **more)

    x, y = floats(1, 2), floats(3, 4)
    warm(call)
    general.clear()
    product, same = call()
    assert not general and list(product.asnumpy()) == [5, 12] and same is y
    for scale, more, expected in ((3.0, {}, [6, 14]), (2, {}, [5, 12]), (True, {}, [4, 10]), (2.0, {"options": (2,)}, [5, 12])):
        result = call(scale, **more)
        assert list(result[0].asnumpy()) == expected and general, "another number, another kind of number and another structure"
        general.clear()
    assert list(function(x, 2.0, {"pair": [x, [y]]}, bias=y)[0].asnumpy()) == [5, 12] and general


@pytest.mark.parametrize("number", [0.0, -0.0, float("nan"), 1e300])
def test_numbers_that_are_compared_with_their_sign(number: float) -> None:
    function = jit(lambda x, scale: x * scale)
    for value in (number, 0.0, -0.0):
        warm(function, x := floats(1, -2), value)
        assert function(x, value).asnumpy().tobytes() == (x * value).asnumpy().tobytes()


def test_numbers_of_numpy_are_compared_by_value(general: list[int]) -> None:
    function, x = jit(lambda x, scale: x * Tensor(scale)), floats(1, -2)
    kept = np.array([3.0, 4.0], np.float32)
    values: list[Any] = [kept, kept.astype(np.float64), kept[::-1], np.array([-0.0, 0.0]), np.float64(0.0), np.float64(-0.0), np.int64(3)]
    for value in values:
        warm(function, x, value)
    general.clear()
    for value in values:
        result, expected = function(x, value.copy()), x * Tensor(value)
        assert result.type is expected.type and result.asnumpy().tobytes() == expected.asnumpy().tobytes(), repr(value)
    assert not general
    kept[0] = 5.0
    assert list(function(x, kept).asnumpy()) == [5, -8] and general, "the same object with another number"


def test_a_tensor_is_kept_in_an_attribute(general: list[int]) -> None:
    """In the order of the program, as the object that is returned, and not if the call fails before."""
    class Kept:
        last: Any = None

    @jit
    def keeping(x: Tensor, i: Tensor, kept: Kept) -> Any:
        kept.last = y = x * 2.0
        z = ops.gather(y, i, 0) + 1.0
        kept.last = z
        return y, z

    x, kept, index = floats(1, 2), Kept(), Tensor(np.array([1], np.int32))
    warm(keeping, x, index, kept)
    general.clear()
    y, z = keeping(x, index, kept)
    assert not general and kept.last is z and list(y.asnumpy()) == [2, 4] and list(z.asnumpy()) == [5]
    with pytest.raises(IndexError):
        keeping(x + 1.0, Tensor(np.array([2], np.int32)), kept)
    assert list(kept.last.asnumpy()) == [4, 6]


def test_a_print_is_part_of_the_call(general: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    @jit
    def shown(x: Tensor, n: Tensor) -> Tensor:
        y = x * 2.0
        print("y is", y, int(n))
        return y + 1.0

    warm(shown, floats(1, 2), Tensor(3))
    general.clear()
    capsys.readouterr()
    assert list(shown(floats(3, 4), Tensor(5)).asnumpy()) == [7, 9]
    assert capsys.readouterr().out == "y is [6. 8.] 5\n" and not general


class Scaling:
    def __init__(self, factor: float):
        self.factor = factor

    @jit
    def scaled(self, x: Tensor, by: Any = None) -> Tensor:
        return x * self.factor if by is None else x * by


def test_objects_are_arguments_by_identity(general: list[int]) -> None:
    """The `self` of a method, a Parameter, a function; a graph keeps none of them alive."""
    x, weight = floats(1, 2), Parameter(floats(3, 4), name="weight")
    first, second = Scaling(2.0), Scaling(3.0)
    apply = jit(lambda function, x: function(x))
    for _ in range(RUNS):
        for results in (first.scaled(x), second.scaled(x), first.scaled(x, weight), apply(ops.relu, x), apply(ops.neg, x)):
            assert results.shape == (2,)
    general.clear()
    assert list(first.scaled(x).asnumpy()) == [2, 4] and list(second.scaled(x).asnumpy()) == [3, 6]
    assert list(first.scaled(x, weight).asnumpy()) == [3, 8]
    assert list(apply(ops.neg, x).asnumpy()) == [-1, -2] and list(apply(ops.relu, x).asnumpy()) == [1, 2]
    assert not general
    weight.set_data(floats(5, 6))
    assert list(first.scaled(x, weight).asnumpy()) == [5, 12], "its numbers are no constants"
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None
    assert list(Scaling(7.0).scaled(x).asnumpy()) == [7, 14] and general, "another object, perhaps at the same address"


def test_arguments_that_take_turns(general: list[int]) -> None:
    """Numbers, flags and sizes that change from call to call need no look-up once each has had its graph."""
    function = jit(lambda x, n, flag: x * n if flag else x - n)
    given = [(floats(*range(size)), n, flag) for size in (2, 3) for n, flag in ((2, True), (2, False), (0.0, True), (-0.0, True))]
    for _ in range(RUNS):
        for args in given:
            function(*args)
    general.clear()
    for x, n, flag in given:
        expected = x * n if flag else x - n
        assert function(x, n, flag).asnumpy().tobytes() == expected.asnumpy().tobytes()
    assert not general
    assert function(given[0][0], True, True).dtype is ms.float32 and general


def test_results_that_are_numbers_or_arguments(general: list[int]) -> None:
    function = jit(lambda x, s, n: (s.item(), [n.item(), s.item() > 0.5], x, x.shape))
    same = jit(lambda x: x)
    x, s, n = floats(1, 2), Tensor(0.75, ms.float32), Tensor(-7, ms.int64)
    warm(function, x, s, n)
    warm(same, x)
    general.clear()
    number, (whole, large), again, shape = function(x, s, n)
    assert (number, whole, large, shape) == (0.75, -7, True, (2,)) and [type(n) for n in (number, whole, large)] == [float, int, bool]
    assert again is x and same(x) is x and not general


def test_a_graph_of_several_pieces_is_called_by_one_function(general: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        print("before", x * 2)
        return x + 1

    x = floats(1, 2)
    warm(function, x)
    capsys.readouterr()
    general.clear()
    assert list(function(x).asnumpy()) == [2, 3] and not general
    assert capsys.readouterr().out == "before [2. 4.]\n"
    assert [*ms.grad(function)(x).asnumpy()] == [1, 1] and general


def test_a_function_of_plain_parameters_takes_its_arguments_as_python_does(general: list[int]) -> None:
    @jit
    def difference(x: Tensor, y: Tensor) -> Tensor:
        return x - y

    x, y = floats(5, 6), floats(1, 2)
    warm(difference, x, y)
    general.clear()
    for result in (difference(x, y=y), difference(y=y, x=x), difference(*(x, y))):
        assert list(result.asnumpy()) == [4, 4]
    assert not general, "arguments by name are those of the same graph"
    plain = difference.__wrapped__
    for args, kwargs in (((x,), {}), ((x, y, x), {}), ((x,), {"z": y}), ((x, y), {"y": y})):
        with pytest.raises(TypeError) as expected:
            plain(*args, **kwargs)
        with pytest.raises(TypeError) as raised:
            difference(*args, **kwargs)
        assert str(raised.value) == str(expected.value)
    named = jit(lambda id, tracing, call, graphs, made: id + tracing * call - graphs / made)
    for _ in range(RUNS):
        assert list(named(y, made=x, call=x, tracing=y, graphs=x).asnumpy()) == [5, 13], "names that the library may use itself"


@pytest.mark.parametrize("pieces", [1, 2])
def test_what_a_graph_depends_on_is_looked_at(general: list[int], pieces: int) -> None:
    global RATE

    @jit
    def function(x: Tensor) -> Tensor:
        if pieces == 2:
            print(x)
        return x * RATE

    x = floats(1, 2)
    warm(function, x)
    general.clear()
    for rate in (3.0, 2.0):
        RATE = rate
        assert list(function(x).asnumpy()) == [rate, 2 * rate]
    assert len(general) == 1, "another graph is looked for, and the first runs again by its function"


def test_arguments_of_another_kind() -> None:
    @jit
    def function(x: Any, y: Any) -> Any:
        return x + y

    x = floats(1, 2)
    warm(function, x, x)
    assert list(function(floats(1, 2, 3), floats(1, 1, 1)).asnumpy()) == [2, 3, 4]
    assert list(function(x, 1.5).asnumpy()) == [2.5, 3.5]
    assert list(function(x, y=x).asnumpy()) == [2, 4]
    assert list(function(Parameter(x, name="x"), x).asnumpy()) == [2, 4]
    with pytest.raises(TypeError, match="argument"):
        function(x)
    assert list(function(x, x).asnumpy()) == [2, 4]

    @jit
    def total(*parts: Any, twice: bool = False) -> Any:
        found = sum(parts[0][1:], parts[0][0])
        return found * 2 if twice else found

    warm(total, (x, x))
    assert list(total((x, x, x)).asnumpy()) == [3, 6] and list(total((x,)).asnumpy()) == [1, 2]
    assert list(total((x, x), twice=True).asnumpy()) == [4, 8]

    @jit
    def scaled(x: Any, rate: Any) -> Any:
        return x * rate

    numbers = Tensor(np.array([1, 2], np.int32))
    for rate in range(RUNS):
        warm(scaled, numbers, rate + 0.5)
    assert scaled(numbers, 3).dtype == ms.int32 and scaled(numbers, 3.0).dtype == ms.float32, "an int is no input float"


def test_a_call_that_is_recorded(general: list[int]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return x * x * x

    x = floats(2)
    warm(function, x)
    general.clear()
    for _ in range(2):
        assert float(ms.grad(function)(x)) == 12 and float(ms.grad(ms.grad(function))(x)) == 12
    assert general
    around = ms.grad(lambda x, y: (function(x) * y).sum(), (0, 1))
    around(x, x)
    general.clear()
    by_x, by_y = around(x, floats(3))
    assert float(by_x) == 36 and float(by_y) == 8 and not general, "a recorded call is one function, too"
    assert [float(g) for g in around(x, floats(5))] == [60, 8]
    by_x, by_y = around(floats(1, 2), floats(1, 1))
    assert list(by_x.asnumpy()) == [3, 12] and general, "a call of another size"


@pytest.mark.parametrize("pieces", [1, 2])
def test_a_hook_on_an_argument_of_a_gradient(general: list[int], pieces: int) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        if pieces == 2:
            print(x)
        return ms.grad(lambda x: (x * x).sum())(x)

    x = floats(1, 2)
    warm(function, x)
    general.clear()
    warm(function, x)
    assert not general
    handle = x.register_hook(lambda gradient: gradient * 10)
    assert list(function(x).asnumpy()) == [20, 40]
    handle.remove()
    assert list(function(x).asnumpy()) == [2, 4]


def test_a_backward_hook_of_a_cell(general: list[int]) -> None:
    """Each call has its own functions for the nodes that call Python."""
    seen: list[Any] = []
    net = nn.SequentialCell(nn.Tanh(), nn.ReLU())
    net[0].register_backward_hook(lambda cell, grad_input, grad_output: seen.append((cell is net[0], grad_output[0].asnumpy().tolist())))
    function = jit(lambda x: ms.grad(net)(x))
    x = floats(1, 2)
    expected = warm(function, x).asnumpy().tolist()
    general.clear()
    seen.clear()
    assert function(x).asnumpy().tolist() == expected and seen == [(True, [1, 1])] and not general


def test_another_thread_that_records(general: list[int]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return ops.exp(x)

    x = floats(0, 1)
    expected = warm(function, x).asnumpy().tobytes()
    results: list[Any] = []
    inside, done = threading.Event(), threading.Event()

    def recorded(x: Tensor) -> Tensor:
        inside.set()
        done.wait(60)
        return function(x).sum()

    thread = threading.Thread(target=lambda: results.append(ms.grad(recorded)(x)))
    thread.start()
    inside.wait(60)
    assert function(x).asnumpy().tobytes() == expected
    done.set()
    thread.join()
    assert results[0].asnumpy().tobytes() == expected


class Counter(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.total = Parameter(floats(0, 0), name="total")

    def construct(self, x: Tensor) -> Tensor:
        self.total += x
        return self.total * 2


def test_state_is_written_in_place_unless_it_is_held() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    cell, x = Counter(), floats(1, 2)
    warm(cell, x)
    held = cell.total.value()
    before = held.asnumpy().copy()
    assert list(cell(x).asnumpy()) == [2 * (RUNS + 1), 4 * (RUNS + 1)]
    assert held.asnumpy().tobytes() == before.tobytes()
    assert list(cell.total.asnumpy()) == [RUNS + 1, 2 * (RUNS + 1)]


class Count(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.n, self.share = 0, 1.0

    @jit
    def construct(self, x: Tensor) -> Tensor:
        self.n += 1
        self.share = self.share * 0.5
        y = ops.inverse(x) * self.n
        self.n = self.n + 10
        return y


def test_numbers_that_python_holds_are_part_of_the_call(general: list[int]) -> None:
    """Those that are written before an operator which fails are written, those after it are not."""
    cell, x = Count(), Tensor(np.eye(2, dtype=np.float32))
    warm(cell, x)
    general.clear()
    assert cell(x).asnumpy()[1, 1] == 11 * RUNS + 1 and not general
    assert cell.n == 11 * (RUNS + 1) and cell.share == 0.5 ** (RUNS + 1) and type(cell.n) is int
    with pytest.raises(Exception, match=r"singular|inver"):
        cell(Tensor(np.zeros((2, 2), np.float32)))
    assert cell.n == 11 * (RUNS + 1) + 1 and cell.share == 0.5 ** (RUNS + 2)
    cell.n = 2.5
    assert cell(x).asnumpy()[0, 0] == 3.5 and cell.n == 13.5, "a number of another type, by another graph"


def test_a_counter_needs_no_kernel_and_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python counts, around one launch, and what a graph writes itself does not make it compare its guards anew."""
    texts: list[str] = []
    function_of = call_functions.function_of

    def noted(header: str, body: Any, *rest: Any) -> Any:
        texts.append("\n".join([header, *body]))
        return function_of(header, body, *rest)

    monkeypatch.setattr(call_functions, "function_of", noted)

    class Counting(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.n, self.rate = 0, 2.0

        @jit
        def construct(self, x: Tensor) -> Tensor:
            self.n += 1
            return x * self.rate

    cell, x = Counting(), floats(1, 2)
    warm(cell, x)
    text = texts[-1]
    assert text.startswith("function") and text.count("(kernel, ") == 1 and "adjoint_run" not in text and "state" not in text
    compared: list[Any] = []
    holds = OwnAttribute.holds
    monkeypatch.setattr(OwnAttribute, "holds", lambda self, watched: compared.append(self.name) or holds(self, watched))
    for _ in range(3):
        cell(x)
    assert not compared and cell.n == RUNS + 3
    cell.rate = 3.0
    assert list(cell(x).asnumpy()) == [3, 6] and compared, "a write from outside"
    cell.n = 2**31
    assert list(cell(x).asnumpy()) == [3, 6] and cell.n == 2**31 + 1, "an int of another size, by another graph"
    cell.n = True
    cell(x)
    assert cell.n == 2 and type(cell.n) is int


class Counting(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def construct(self, x: Tensor) -> Tensor:
        self.n += 1
        return x * 2


COUNT = 0


def counting() -> tuple[Any, Any]:
    """Return a function that counts in a global and in a variable of the function around, and what returns both."""
    n = 0

    def function(x: Tensor) -> Tensor:
        global COUNT
        nonlocal n
        n += 1
        COUNT += 1
        return x * 2

    return function, lambda: (n, COUNT)


def calls_while_another_thread_lowers(counted: Any, function: Any, x: Tensor) -> int:
    """Return how often a jitted function has been called while a thread makes graphs of it."""
    done, seen = threading.Event(), 0
    thread = threading.Thread(target=lambda: ([parsed(function, x) for _ in range(40)], done.set()))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        while not done.is_set():
            counted(x)
            seen += 1
    finally:
        sys.setswitchinterval(before)
        thread.join()
    return seen


def test_no_count_is_lost_while_another_thread_lowers(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a function is lowered the places that it counts in hold symbols, and are restored at the end."""
    cell, x = Counting(), floats(1, 2)
    counted = jit(cell)
    warm(counted, x)
    assert calls_while_another_thread_lowers(counted, cell, x) == cell.n - RUNS
    monkeypatch.setattr(sys.modules[__name__], "COUNT", 0)
    function, counts = counting()
    counted = jit(function)
    warm(counted, x)
    seen = calls_while_another_thread_lowers(counted, function, x)
    assert counts() == (RUNS + seen, RUNS + seen)


def test_a_counter_is_seen_by_graphs_that_read_it() -> None:
    cell, x = Counting(), floats(1, 2)
    counted, read = jit(cell), jit(lambda x: x * cell.n)
    warm(counted, x)
    for _ in range(RUNS):
        counted(x)
        assert list(read(x).asnumpy()) == [cell.n, 2 * cell.n]
    seen: list[int] = []

    class Watching(Counting):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "n":
                seen.append(value)
            super().__setattr__(name, value)

    cell.__class__ = Watching
    with pytest.raises(CompileError, match="E217"):  # the class is another one by now: its `__setattr__` is the user's
        counted(x)
    assert not seen and cell.n == 2 * RUNS


def test_failures_name_the_line() -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return ops.inverse(x)

    warm(function, Tensor(np.eye(2, dtype=np.float32)))
    singular = Tensor(np.zeros((2, 2), np.float32))
    with pytest.raises(Exception, match=r"singular|inver") as expected:
        ops.inverse(singular)
    for _ in range(2):
        with pytest.raises(type(expected.value), match=r"singular|inver") as caught:
            function(singular)
        assert "return ops.inverse(x)" in "".join(caught.value.__notes__)


def test_a_period_of_the_budget_ends(general: list[int]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return x + 1

    x = floats(1)
    warm(function, x)
    general.clear()
    for cache in budget.caches:
        cache.begin_period()
    function(x)
    assert len(general) == 1, "the use is marked by the slow path"
    function(x)
    assert len(general) == 1
