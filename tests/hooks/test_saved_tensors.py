"""`saved_tensors_hooks`: what is packed and unpacked, when, and that it is the same in every mode."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS, Program

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.ops.arithmetic import Add, Mul
from adjoint.ir.ops.transcendental import Exp, Sin
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.types import F32, tensor
from adjoint.passes.reads import read_by_gradient
from adjoint.passes.schedule import GRADIENT
from adjoint.runtime.gradients.trace import trace
from adjoint.runtime.tensor.structure import leaves
from tests.outcomes import kept, mode, same

X, Y = [1.0, 2.0], [5.0, 6.0]
events: list[Any] = []


@pytest.fixture(autouse=True)
def _no_events() -> None:
    events.clear()


def pack(x: Tensor) -> np.ndarray:
    events.append(("pack", *x.asnumpy().ravel().tolist()))
    return x.asnumpy().copy()


def unpack(packed: np.ndarray) -> Tensor:
    events.append(("unpack", *packed.ravel().tolist()))
    return Tensor(packed)


def halved(packed: np.ndarray) -> Tensor:
    return Tensor((packed / 2).astype(packed.dtype))


def packing(function: Callable[..., Any], unpack_hook: Callable[[Any], Any] = unpack) -> Callable[..., Any]:
    def inside(*args: Any) -> Any:
        with ms.saved_tensors_hooks(pack, unpack_hook):
            return function(*args)

    return inside


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    with mode(ms.GRAPH_MODE):
        yield


def gradients(function: Callable[..., Any], *args: Any, weights: Any = None) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield the gradients and the events in each mode, of a first and of a later call."""
    positions = tuple(range(len(args)))

    def of(called: Callable[..., Any]) -> Callable[..., Any]:
        return ms.grad(called, positions, weights)

    within = of(function)
    jitted = ms.jit(lambda *given: within(*given))
    for name, call in (("eager", of(function)), ("of a graph", of(ms.jit(function) if not isinstance(function, nn.Cell) else function)),
                       ("in a graph", jitted), ("graph mode", None)):
        for _ in range(3):
            events.clear()
            if call is None:
                with graph_mode():
                    found = of(function)(*map(Tensor, args))
            else:
                found = call(*map(Tensor, args))
            yield name, [x.asnumpy().tolist() for x in leaves(found, Tensor)], list(events)


def check(function: Callable[..., Any], args: tuple[Any, ...], expected: Any, happened: list[Any], weights: Any = None) -> None:
    for name, found, seen in gradients(function, *args, weights=weights):
        assert (name, found, seen) == (name, expected, happened)


# what is packed ----------------------------------------------------------------------------------------------------------------


def test_a_product_reads_both_operands() -> None:
    check(packing(lambda x, y: x * y), (X, Y), [Y, X], [("pack", *X), ("pack", *Y), ("unpack", *X), ("unpack", *Y)])


def test_one_tensor_that_is_read_twice_is_packed_twice() -> None:
    check(packing(lambda x: x * x), (X,), [[2.0, 4.0]], [("pack", *X)] * 2 + [("unpack", *X)] * 2)


def test_what_the_gradient_does_not_read_is_not_packed() -> None:
    check(packing(lambda x: (x + x) * 2.0 - x.reshape((2, 1)).sum()), (X,), [[2.0, 2.0]], [])


def test_what_no_gradient_is_asked_of_is_not_packed() -> None:
    other = Tensor(Y)
    check(packing(lambda x: x * other), (X,), [Y], [("pack", *Y), ("unpack", *Y)])


def test_a_result_that_the_gradient_reads() -> None:
    (result,) = [np.exp(np.float32([0.5])).tolist()]
    check(packing(ops.exp), ([0.5],), [result], [("pack", *result), ("unpack", *result)])


def test_what_is_computed_by_constants_or_without_gradient_is_not_packed() -> None:
    def function(x: Tensor) -> Tensor:
        constant = ops.exp(Tensor([1.0, 1.0]))
        with ms._no_grad():
            also = x * x
        return x + constant + also

    check(packing(function), (X,), [[1.0, 1.0]], [])


def test_unpacking_goes_backwards() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return ops.square(x * y) + x

    product = [5.0, 12.0]
    check(packing(function), (X, Y), [[51.0, 145.0], [10.0, 48.0]],
          [("pack", *X), ("pack", *Y), ("pack", *product), ("unpack", *product), ("unpack", *X), ("unpack", *Y)])


@pytest.mark.parametrize("op, count, active, expected", [
    (Mul(), 2, (True, True), (0, 1)), (Mul(), 2, (True, False), (1,)), (Add(), 2, (True, True), ()), (Exp(), 1, (True,), (1,)),
    (Sin(), 1, (True,), (0,)), (Sin(), 1, (False,), ()),
], ids=str)
def test_what_the_gradient_of_an_op_reads(op: Any, count: int, active: tuple[bool, ...], expected: tuple[int, ...]) -> None:
    assert read_by_gradient(op, (tensor(F32, (2, 3)),) * count, active) == expected


# what is unpacked --------------------------------------------------------------------------------------------------------------


def test_the_gradient_reads_what_is_unpacked() -> None:
    check(packing(lambda x, y: x * y, halved), (X, Y), [[2.5, 3.0], [0.5, 1.0]], [("pack", *X), ("pack", *Y)])


def test_any_object_may_be_packed() -> None:
    def function(x: Tensor) -> Tensor:
        with ms.saved_tensors_hooks(lambda x: None, lambda packed: Tensor([9.0, 9.0])):
            return x * Tensor(Y)

    check(function, (X,), [[9.0, 9.0]], [])


def test_a_branch_and_a_loop() -> None:
    def function(x: Tensor) -> Tensor:
        y = x
        while y.sum() < 20.0:
            y = y * x if y.sum() > 4.0 else y * y
        return y

    check(packing(function), (X,), [[5.0, 80.0]],
          [("pack", *each) for each in (X, X, [1.0, 4.0], X, [1.0, 8.0], X, [1.0, 16.0], X)]
          + [("unpack", *each) for each in ([1.0, 16.0], X, [1.0, 8.0], X, [1.0, 4.0], X, X, X)])


def test_contexts_nest() -> None:
    def function(x: Tensor) -> Tensor:
        y = Tensor(Y)
        with ms.saved_tensors_hooks(lambda x: events.append("outer pack") or x, lambda x: events.append("outer unpack") or x):
            product = x * y
            with ms.saved_tensors_hooks(lambda x: events.append("inner pack") or x, lambda x: events.append("inner unpack") or x):
                product = product * y
            return product * y

    check(function, (X,), [[125.0, 216.0]],
          ["outer pack", "inner pack", "outer pack", "outer unpack", "inner unpack", "outer unpack"])


def test_around_the_gradient() -> None:
    with ms.saved_tensors_hooks(pack, unpack):
        ms.grad(lambda x: x * Tensor(Y))(Tensor(X))
        ms.jit(ms.grad(lambda x: x * Tensor(Y)))(Tensor(X))
    assert events == [("pack", *Y), ("unpack", *Y)] * 2
    ms.grad(lambda x: x * Tensor(Y))(Tensor(X))
    assert len(events) == 4


def test_second_order() -> None:
    for function in (ms.grad(ms.grad(packing(lambda x: x * x * x))), ms.jit(ms.grad(ms.grad(packing(lambda x: x * x * x))))):
        events.clear()
        assert function(Tensor(X)).asnumpy().tolist() == [6.0, 12.0]
        assert [event[0] for event in events] == ["pack"] * 4 + ["unpack"] * 6


def test_without_a_gradient_nothing_is_packed() -> None:
    for function in (packing(ops.exp), ms.jit(packing(ops.exp))):
        function(Tensor(X))
    assert events == []


def test_what_a_pullback_reads() -> None:
    _, pull = ms.vjp(packing(lambda x: x * Tensor(Y)), Tensor(X))
    assert events == [("pack", *Y)]
    pull(Tensor(X))
    pull(Tensor(X))
    assert events == [("pack", *Y), ("unpack", *Y), ("unpack", *Y)]


def test_examples_of_a_batch_are_packed_one_by_one() -> None:
    found = ms.vmap(ms.grad(packing(lambda x: (x * x).sum())))(Tensor([X, Y]))
    assert found.asnumpy().tolist() == [[2.0, 4.0], [10.0, 12.0]]
    assert events == [("pack", *X)] * 2 + [("unpack", *X)] * 2 + [("pack", *Y)] * 2 + [("unpack", *Y)] * 2


# cells and functions -----------------------------------------------------------------------------------------------------------


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(Y), name="weight")

    def construct(self, x: Tensor) -> Tensor:
        return ops.square(x * self.weight)


SEEN = [("pack", *X), ("pack", *Y), ("pack", 5.0, 12.0), ("unpack", 5.0, 12.0), ("unpack", *X), ("unpack", *Y)]


def test_hooks_of_a_cell() -> None:
    net = Net()
    net.register_saved_tensors_hooks(lambda x: 1 / 0, unpack)
    net.register_saved_tensors_hooks(pack, unpack)  # the last ones count
    check(net, (X,), [[50.0, 144.0], [10.0, 48.0]], SEEN, weights=net.trainable_params())
    events.clear()
    net(Tensor(X))
    assert events == []


def test_hooks_of_a_cell_inside_of_another_that_is_a_graph_already() -> None:
    class Outer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def construct(self, x: Tensor) -> Tensor:
            return self.net(x * 1.0)

    outer = Outer()
    step = ms.jit(ms.grad(outer, 0, outer.trainable_params()))
    for _ in range(3):
        step(Tensor(X))
    assert events == []
    outer.net.register_saved_tensors_hooks(pack, unpack)
    for _ in range(2):
        events.clear()
        step(Tensor(X))
        assert events == SEEN


def test_a_copy_of_a_cell_has_its_hooks() -> None:
    net = Net()
    net.register_saved_tensors_hooks(pack, unpack)
    ms.grad(copy.deepcopy(net))(Tensor(X))
    assert [event[0] for event in events] == ["pack"] * 2 + ["unpack"] * 2


def test_a_decorated_function() -> None:
    @ms.register_saved_tensors_hooks(pack, unpack)
    def function(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    check(function, (X, Y), [Y, X], [("pack", *X), ("pack", *Y), ("unpack", *X), ("unpack", *Y)])


def test_a_bprop_reads_arguments_and_results() -> None:
    class Own(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.square(x)

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor, ...]:
            return (dout * x + out,)

    own = Own()
    check(packing(lambda x: own(x), halved), (X,), [[1.0, 3.0]], [("pack", *X), ("pack", 1.0, 4.0)])


def test_jit_stats_say_that_the_function_runs() -> None:
    step = ms.jit(ms.grad(packing(lambda x: x * x)))
    ms.jit_stats(step)
    for _ in range(2):
        step(Tensor(X))
    (graph,) = ms.jit_stats(step).graphs
    assert [(way.way, way.count) for way in graph.ways] == [("eagerly", 2)]
    with pytest.raises(CompileError, match="E218"):
        ms.jit(ms.grad(packing(lambda x: x * x)), fullgraph=True)(Tensor(X))


def test_the_text_of_what_was_recorded() -> None:
    """The hooks are named, and the gradient shows where it reads what they unpack."""
    traced = trace(packing(ops.exp), [Tensor(X)]).module
    text = print_module(GRADIENT.run(traced))
    assert "pack! @exp.saved(e, e, places=[1])" in text and "unpack! @exp.saved(e)" in text
    assert 'host @exp.saved = "pack at ' in text
    assert print_module(parse_module(text)) == text


# errors ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hooks, argument", [((1, unpack), "pack_hook"), ((pack, None), "unpack_hook")], ids=["pack", "unpack"])
def test_a_hook_that_is_no_function(hooks: Any, argument: str) -> None:
    for made in (ms.saved_tensors_hooks, ms.register_saved_tensors_hooks, nn.Cell().register_saved_tensors_hooks):
        with pytest.raises(TypeError, match=f"the argument '{argument}' must be a function, but got"):
            made(*hooks)


@pytest.mark.parametrize("returned, kind, message", [
    (None, RuntimeError, "must return a Tensor, but got None of type NoneType"),
    (np.ones(2), RuntimeError, "of type ndarray"),
    (Tensor([1.0, 2.0, 3.0]), ValueError, r"of shape \(2,\), as the packed one, but got \(3,\)"),
    (Tensor([1.0, 2.0], ms.float16), TypeError, "of dtype Float32, as the packed one, but got Float16"),
], ids=["nothing", "an array", "another shape", "another dtype"])
def test_an_unpack_hook_that_returns_something_else(returned: Any, kind: type[Exception], message: str) -> None:
    function = packing(lambda x: x * Tensor(Y), lambda packed: returned)
    for call in (ms.grad(function), ms.jit(ms.grad(function))):
        with pytest.raises(kind, match=f"for what the gradient of mul reads, .*{message}"):
            call(Tensor(X))


def test_an_exception_of_a_hook_names_it_and_what_it_packs() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    def packs() -> Any:
        with ms.saved_tensors_hooks(fails, unpack):
            return ms.grad(lambda x: x * x)(Tensor(X))

    def unpacks() -> Any:
        with ms.saved_tensors_hooks(pack, fails):
            return ms.grad(lambda x: x * x)(Tensor(X))

    for run in (packs, unpacks):
        with pytest.raises(KeyError) as raised:
            run()
        assert "what the gradient of mul reads, forward at" in raised.value.__notes__[0]
        # Gradients are as before.
        assert ms.grad(lambda x: x * x)(Tensor(X)).asnumpy().tolist() == [2.0, 4.0]


def test_a_hook_changes_no_tensor_of_the_program() -> None:
    def writes(x: Tensor) -> Tensor:
        x.add_(1.0)
        return x

    y = Tensor(Y)
    with ms.saved_tensors_hooks(writes, lambda packed: packed):
        value, found = ms.value_and_grad(lambda x: x * y)(Tensor(X))
    assert (value.asnumpy().tolist(), found.asnumpy().tolist(), y.asnumpy().tolist()) == ([5.0, 12.0], [6.0, 7.0], Y)


# programs ----------------------------------------------------------------------------------------------------------------------


def through_numpy(packed: Any) -> Tensor:
    array, dtype = packed
    return Tensor(array, dtype)


@pytest.mark.parametrize("program", [p for p in PROGRAMS.values() if p.wrt is not None and p.raises is None],
                         ids=lambda program: program.name)
def test_packing_and_unpacking_changes_no_bit(program: Program) -> None:
    def found(hooks: contextlib.AbstractContextManager[Any]) -> Any:
        fn = program.make()
        arguments, keywords = program.arguments()
        weights = fn.trainable_params() if isinstance(fn, nn.Cell) else []
        ms.set_seed(7)
        with contextlib.redirect_stdout(io.StringIO()), hooks:
            return kept(ms.value_and_grad(fn, program.wrt or None, weights or None)(*arguments, **keywords))

    hooks = ms.saved_tensors_hooks(lambda x: (x.asnumpy().copy(), x.dtype), through_numpy)
    same(found(contextlib.nullcontext()), found(hooks), program.name)
