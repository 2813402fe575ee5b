"""`jit_stats`, the log and the warning: each way of a call, each reason for it, and each cause of a graph is provoked here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, jit_stats, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.jit import graphs_of_calls
from adjoint.runtime.graphs.jit_stats import JitStats
from adjoint.runtime.graphs.reports import ways
from adjoint.runtime.inspection.stages import plan_of

CALLS = 8
"""After so many calls all functions of calls are made."""


@pytest.fixture(autouse=True)
def compile_at_once() -> Iterator[None]:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)


def ones(*shape: int) -> Tensor:
    return Tensor(np.ones(shape, np.float32))


def called(function: Any, *calls: Callable[[], Any]) -> JitStats:
    """Return the statistics of a function after some calls of it."""
    jit_stats(function)
    for call in calls:
        call()
    return jit_stats(function)


class Net(nn.Cell):
    """A layer whose result is summed; hooks are registered on the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(3, 2)

    def construct(self, x: Tensor) -> Tensor:
        return self.layer(x).sum()


def hooked(hook: Callable[..., Any], calls: int, **options: Any) -> JitStats:
    net = Net()
    net.layer.register_forward_hook(hook, **options)
    return called(net, *[lambda: jit(net)(ones(2, 3))] * calls)


# -- ways and reasons ------------------------------------------------------------------------------------------------------
def whole() -> JitStats:
    run = jit(lambda x: (x * 2).sum())
    return called(run, *[lambda: run(ones(3))] * CALLS)


def looked() -> JitStats:
    return hooked(lambda cell, inputs, output: None, 1)


def gradient() -> JitStats:
    run = jit(lambda x: (x * 2).sum())
    return called(run, *[lambda: ms.grad(run)(ones(3))] * CALLS)


def with_a_hook_on_a_value(x: Tensor) -> Tensor:
    y = x * 2
    y.register_hook(lambda grad: grad)
    return y.sum()


def as_parsed() -> JitStats:
    run = jit(with_a_hook_on_a_value)
    return called(run, lambda: run(ones(3)))


def new_size() -> JitStats:
    run = jit(lambda x: (x * 2).sum())
    return called(run, *[lambda n=n: run(ones(n, 3)) for n in (2, 3, 4)])


def recorded() -> JitStats:
    run = jit(lambda x: (x * 2).sum())
    return called(run, *[lambda: ms.grad(lambda x: run(x) * 2)(ones(3))] * CALLS)


def two_parts() -> JitStats:
    first, second = Net(), Net()
    for net in (first, second):
        net.layer.register_forward_hook(lambda cell, inputs, output: None)

    def body(x: Tensor) -> Any:
        a = ms.grad(lambda x: first(x))(x)
        return a, ms.grad(lambda x: second(ops.tanh(second.layer(x) @ Tensor(np.ones((2, 3), np.float32)))) + second(x * x))(x)

    run = jit(body)
    return called(run, *[lambda: run(ones(2, 3))] * CALLS)


def often_left() -> JitStats:
    return hooked(lambda cell, inputs, output: output * 2, CALLS)


def left() -> JitStats:
    return hooked(lambda cell, inputs, output: output * 2, CALLS)


def written() -> JitStats:
    def body(x: Tensor) -> Tensor:
        x[0] = 1.0
        return x * 2

    run = jit(body)
    return called(run, lambda: run(ones(3)))


OUTSIDE = ones(3)


def shared() -> JitStats:
    def body(x: Tensor) -> Tensor:
        OUTSIDE[0] = x[0]
        return x * 2

    run = jit(body)
    return called(run, lambda: run(ones(3)))


def result() -> JitStats:
    run = jit(lambda x: {1, x.sum()} and [frozenset({1}), x * 2])
    return called(run, *[lambda: run(ones(3))] * CALLS)


def users_code() -> JitStats:
    class Around(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.register_backward_hook(lambda cell, grad_input, grad_output: None)

        def construct(self, x: Tensor) -> Tensor:
            print("value", x)
            return x * 2

    net = Around()
    return called(net, lambda: jit(net)(ones(3)))


def waiting() -> JitStats:
    weight = Parameter(ones(3), name="w")
    weight.register_hook(lambda grad: None)
    run = jit(lambda x: ms.grad(lambda x: (x * weight).sum())(x))
    return called(run, lambda: run(ones(3)))


def needs_tape() -> JitStats:
    run = jit(with_a_hook_on_a_value)
    return called(run, lambda: ms.grad(run)(ones(3)))


def always() -> JitStats:
    return hooked(lambda cell, inputs, output: None, 1, always_call=True)


def not_observable() -> JitStats:
    net = Net()
    net.layer.register_forward_hook(lambda cell, inputs, output: None)
    run = jit(lambda x: net(x) if x.sum() > 0 else net(x) * 2)
    return called(run, lambda: run(ones(2, 3)))


def recorded_with_hooks() -> JitStats:
    net = Net()
    net.layer.register_forward_hook(lambda cell, inputs, output: None)
    run = jit(lambda x: net(x))
    return called(run, lambda: ms.grad(lambda x: run(x) * 2)(ones(2, 3)))


def by_count() -> JitStats:
    run = jit(lambda x: x[x > 0].sum())
    return called(run, lambda: run(ones(3)), lambda: run(ones(3) * 0), lambda: ms.grad(lambda x: run(x) * 2)(ones(3)))


# -- causes ------------------------------------------------------------------------------------------------------------------
def arguments() -> JitStats:
    run = jit(lambda x, k, *more: x * k)
    return called(run, lambda: run(ones(3), 1), lambda: run(ones(3), 2), lambda: run(ones(3).astype(ms.float64), 2),
                  lambda: run(ones(3), 2, 3))


class Rated(nn.Cell):
    """Depends on an attribute, which may be a number or an object."""

    def __init__(self) -> None:
        super().__init__()
        self.rate: Any = 0.5

    def construct(self, x: Tensor) -> Tensor:
        return x * (self.rate if isinstance(self.rate, float) else self.rate.value)


class Rate:
    value = 2


def attributes() -> JitStats:
    net = Rated()

    def rated(rate: Any) -> None:
        net.rate = rate
        jit(net)(ones(3))

    return called(net, *[lambda rate=rate: rated(rate) for rate in (0.5, 0.6, 0.7, 0.8)])


def objects() -> JitStats:
    net = Rated()

    def rated() -> None:
        net.rate = Rate()
        net.rate.value = 3
        jit(net)(ones(3))

    return called(net, rated, rated)


def floats() -> JitStats:
    run = jit(lambda x, rate: x * rate)
    return called(run, *[lambda rate=rate: run(ones(3), rate) for rate in (0.5, 0.6, 0.7, 0.8)])


def sizes() -> JitStats:
    run = jit(lambda x: (x * 2).sum())
    return called(run, *[lambda n=n: run(ones(n, 3)) for n in (2, 3, 4, 4)])


def hook_results() -> JitStats:
    return hooked(lambda cell, inputs, output: output.astype(ms.float64), 1)


def dropped() -> JitStats:
    run = jit(lambda x: x * 2)
    run(ones(3))
    for graphs in graphs_of_calls(run) or ():
        graphs.evict(graphs.sizes()[0][0])
    return called(run, lambda: run(ones(3)))


def packed() -> JitStats:
    def packs(x: Tensor) -> Tensor:
        with ms.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            return (x * x).sum()

    run = jit(packs)
    return called(run, lambda: run(ones(3)))


def one_by_one() -> JitStats:
    seen: list[Any] = []

    def keeps(row: Tensor) -> Tensor:
        seen.append(row)
        return row * 2

    run = ms.vmap(keeps)
    return called(run, lambda: run(ones(2, 3)))


PROVOKED = [whole, looked, gradient, as_parsed, new_size, recorded, two_parts, often_left, left, written, shared, result, users_code,
            waiting, needs_tape, always, not_observable, recorded_with_hooks, by_count, arguments, attributes, objects, floats, sizes,
            hook_results, dropped, packed, one_by_one]


@pytest.fixture(scope="module")
def provoked() -> Iterator[list[JitStats]]:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield [each() for each in PROVOKED]
    ms.set_context(background_compile=before)


def test_each_way_reason_and_cause_is_provoked(provoked: list[JitStats]) -> None:
    found = [each for stats in provoked for graph in stats.graphs for each in graph.ways]
    assert {each.way for each in found} == {way.name for way in ways.WAYS}
    said = {each.why for each in found}
    missing = [reason.name for reason in ways.REASONS if not any(is_said(reason, why) for why in said)]
    unknown = [why for why in said if not any(is_said(reason, why) for reason in ways.REASONS)]
    assert (missing, unknown) == ([], [])
    assert {graph.cause for stats in provoked for graph in stats.graphs if graph.number} == {cause.name for cause in ways.CAUSES}


def is_said(reason: ways.Reason, why: str) -> bool:
    """Return whether a text is that of a reason."""
    begin, _, end = reason.said.partition("{}")
    return why.startswith(begin) and why.endswith(end) and (bool(begin or end) or "{}" in reason.said or not why)


def test_names_are_different() -> None:
    for entries in (ways.WAYS, ways.REASONS, ways.CAUSES):
        assert len({each.name for each in entries}) == len(entries)


@pytest.mark.parametrize(("make", "way", "why"), [
    (whole, "one function", ""), (looked, "with hooks that look", ""), (gradient, "joint gradient", ""),
    (written, "in pieces", "an argument is written in place"),
    (waiting, "as parsed", "a hook waits on an argument or a Parameter for its gradient"),
    (new_size, "new size", "these sizes have come for the first time"), (recorded, "on a tape", "a gradient is taken of what calls it"),
    (needs_tape, "on a tape", "its gradient cannot be a part of the graph: code of the user's runs in it"),
    (always, "eagerly", "a forward hook is to be called even if a Cell raises"),
    (not_observable, "along the path", "a forward hook runs in a branch, in a loop or beside another gradient"),
    (often_left, "eagerly", "its hooks have made calls leave the graph 3 times"),
    (recorded_with_hooks, "eagerly", "a gradient is taken of what calls it, and forward hooks run in it"),
    (packed, "eagerly", "hooks pack the tensors that gradients read, which only a tape knows"),
    (two_parts, "in two parts", "a forward hook runs in a branch, in a loop or beside another gradient"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_the_way_of_a_call(make: Callable[[], JitStats], way: str, why: str) -> None:
    assert (way, why) in {(each.way, each.why) for graph in make().graphs for each in graph.ways}


def look(cell: Any, inputs: Any, output: Any) -> None:
    """A forward hook that returns nothing."""


def watched_net() -> Net:
    net = Net()
    net.layer.register_forward_hook(look)
    return net


def in_a_branch() -> Callable[[Tensor], Tensor]:
    net = watched_net()
    return lambda x: net(x) if x.sum() > 0 else net(x) * 2


def printing_before_a_hook() -> Callable[[Tensor], Any]:
    net = watched_net()

    def body(x: Tensor) -> Any:
        print("begins")
        return ms.grad(lambda x: net(x))(x)

    return body


def in_two_gradients() -> Callable[[Tensor], Any]:
    first, second = watched_net(), watched_net()

    def body(x: Tensor) -> Any:
        a = ms.grad(lambda x: first(x))(x)
        return a, ms.grad(lambda x: second(ops.tanh(second.layer(x) @ Tensor(np.ones((2, 3), np.float32)))) + second(x * x))(x)

    return body


def with_a_waiting_hook() -> Callable[[Tensor], Any]:
    weight = Parameter(ones(2, 3), name="w")
    weight.register_hook(lambda grad: None)
    return lambda x: ms.grad(lambda x: (x * weight).sum())(x)


@pytest.mark.parametrize(("make", "way"), [
    (lambda: lambda x: (x * 2).sum(), ways.ONE_FUNCTION), (watched_net, ways.LOOKED), (in_a_branch, ways.PATH),
    (printing_before_a_hook, ways.EAGERLY), (in_two_gradients, ways.TWO_PARTS), (with_a_waiting_hook, ways.PARSED),
    (lambda: with_a_hook_on_a_value, ways.PARSED), (lambda: lambda x: x[x > 0].sum(), ways.COUNTED),
], ids=lambda value: getattr(value, "name", ""))
def test_the_plan_names_the_way_that_calls_take(make: Callable[[], Any], way: ways.Way) -> None:
    run = jit(function := make())
    said, _, _ = plan_of(parsed(function, ones(2, 3))).partition("\n")
    assert said.startswith("plan @" if way is ways.ONE_FUNCTION else way.name), said
    taken = {each.way: each.why for each in called(run, *[lambda: run(ones(2, 3))] * CALLS).graphs[0].ways}
    assert way.name in taken
    assert not taken[way.name] or said == f"{way.name}: {taken[way.name]}"


def test_the_hook_is_named_that_makes_calls_leave_the_graph() -> None:
    whys = [each.why for graph in left().graphs for each in graph.ways if each.way == "left the graph"]
    assert len(whys) == 1 and "test_jit_stats.py:" in whys[0] and "cell 'layer' (Dense)" in whys[0]


def test_what_differs_is_said() -> None:
    assert [(graph.cause, graph.detail) for graph in arguments().graphs] == [
        ("first call", ""), ("other value", "`k` is 2, was 1"), ("other types", "`x` is f64[3], was f32[3]"),
        ("other structure", "there are other positional arguments")]
    found = [(graph.cause, graph.detail) for graph in attributes().graphs]
    line = Rated.construct.__code__.co_firstlineno + 1
    assert found == [("first call", ""), ("something read", f"Rated.rate was 0.5, is 0.6 (read at {__file__}:{line})"),
                     ("changing attribute", f"Rated.rate was 0.6, is 0.7 (read at {__file__}:{line})")]


def test_values_are_remembered_where_the_budget_of_memory_takes_no_graph() -> None:
    net, causes = Rated(), [ways.FIRST, ways.READ, ways.READ_AGAIN]
    jit_stats(net)
    for rate, cause in zip((0.5, 0.6, 0.7), causes, strict=True):
        net.rate = rate
        jit(net)(ones(3))
        for graphs in graphs_of_calls(net) or ():
            graphs.evict(-1)
        assert jit_stats(net).graphs[-1].cause == cause.name


def test_calls_are_counted_from_the_first_question_and_again_from_a_reset() -> None:
    run = jit(lambda x: x * 2)
    run(ones(3))
    assert (jit_stats(run).calls, len(jit_stats(run).graphs)) == (0, 1)
    for _ in range(CALLS):
        run(ones(3))
    assert jit_stats(run, reset=True).calls == CALLS
    assert jit_stats(run).calls == 0
    run(ones(3))
    assert jit_stats(run).ways == {"one function": 1}


def test_each_call_is_counted_once_whatever_happens_in_it() -> None:
    calls = [0]

    def hook(cell: Any, inputs: Any, output: Any) -> Any:
        calls[0] += 1
        return output * 2 if calls[0] % 5 == 0 else None

    net = Net()
    net.layer.register_forward_hook(hook)
    jit_stats(net)
    for _ in range(40):
        jit(net)(ones(2, 3))
    assert jit_stats(net).calls == 40 == calls[0]


def test_threads_lose_no_counts() -> None:
    run = jit(lambda x: (x * 2).sum())
    run(ones(3))
    jit_stats(run)
    threads = [threading.Thread(target=lambda: [run(ones(3)) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert jit_stats(run).calls == 800


def test_methods_and_cells_have_their_own() -> None:
    class Two(nn.Cell):
        @jit
        def construct(self, x: Tensor) -> Tensor:
            return x * 2

        @jit
        def step(self, x: Tensor) -> Tensor:
            return x * 3

    first, second = Two(), Two()
    jit_stats(first), jit_stats(first.step), jit_stats(second)
    first(ones(3)), first(ones(3)), first.step(ones(3)), second(ones(3))
    assert [jit_stats(x).calls for x in (first, first.step, second, second.step)] == [2, 1, 1, 0]


def test_graph_mode_counts_cells_and_functions() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net = Net()
    jit_stats(net)
    net(ones(2, 3))

    def function(x: Tensor) -> Tensor:
        return net(x) * 2

    jit_stats(function)
    ms.grad(function)(ones(2, 3))
    assert (jit_stats(net).calls, jit_stats(function).ways) == (1, {"joint gradient": 1})


@pytest.mark.parametrize("given", [3, len, lambda x: x, Tensor])
def test_others_are_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="'fn' must run as a graph"):
        jit_stats(given)


def test_the_log_says_what_is_made_and_how_calls_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ADJOINT_LOG", "graphs")
    run = jit(lambda x: (x * 2).sum())
    for _ in range(CALLS):
        run(ones(3))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and "graph 1, " in lines[0] and lines[0].endswith("ms: first call")
    assert lines[1].endswith("call 1, graph 1: in pieces: the function of the call is made after some calls")
    assert lines[2].endswith("call 3, graph 1: one function")


def test_a_warning_says_why_there_are_many_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    run = jit(lambda x, k: x * len(k))
    for k in range(20):
        run(ones(3), f"mode {k}")
    found = [line for line in capsys.readouterr().err.splitlines() if "has been made into a graph" in line]
    assert len(found) == 1 and "9 times" in found[0] and "`k` is 'mode 8', was 'mode 7'" in found[0] and "Pass a Tensor" in found[0]


def test_fullgraph_runs_what_runs_whole() -> None:
    net = Net()
    net.layer.register_forward_hook(lambda cell, inputs, output: None)
    run = jit(lambda x: net(x) * 2, fullgraph=True)
    assert [float(run(ones(2, 3))) for _ in range(CALLS)] == [float(net(ones(2, 3)) * 2)] * CALLS


@pytest.mark.parametrize("calls", [1, CALLS])
def test_fullgraph_refuses_a_hook_that_changes_something(calls: int) -> None:
    changes = [False]
    net = Net()
    net.layer.register_forward_hook(lambda cell, inputs, output: output * 2 if changes[0] else None)
    run = jit(lambda x: net(x) * 2, fullgraph=True)
    for _ in range(calls - 1):
        run(ones(2, 3))
    changes[0] = True
    with pytest.raises(CompileError, match="returns another value, or changes what the graph was made for") as caught:
        run(ones(2, 3))
    assert caught.value.diagnostic.code == "E218"
    changes[0] = False
    assert float(run(ones(2, 3))) == float(net(ones(2, 3)) * 2)


def test_fullgraph_refuses_hooks_in_branches_before_anything_runs() -> None:
    seen: list[int] = []
    net = Net()
    net.layer.register_forward_hook(lambda cell, inputs, output: seen.append(1))

    @jit(fullgraph=True)
    def run(x: Tensor) -> Tensor:
        return net(x) if x.sum() > 0 else net(x) * 2

    with pytest.raises(CompileError, match="a forward hook runs in a branch, in a loop"):
        run(ones(2, 3))
    assert seen == []


def test_an_array_is_named_that_keeps_hooks_from_being_observed() -> None:
    net = Net()
    net.layer.register_forward_hook(lambda cell, inputs, output: None)
    array = np.ones((2, 3), np.float32)
    found = called(net, lambda: jit(net)(ones(2, 3)), lambda: jit(net)(Tensor.from_numpy(array)))
    ways_taken = [(each.way, each.why) for graph in found.graphs for each in graph.ways]
    assert sorted(ways_taken) == [("eagerly", "an argument shares its memory with a NumPy array"), ("with hooks that look", "")]
