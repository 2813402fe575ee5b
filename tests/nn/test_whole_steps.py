"""In eager mode a whole step of an optimiser is one procedure: the same bits as op by op, and never stale."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import Parameter, Tensor, amp, jit, mint, nn, ops
from adjoint.nn.optim import traced_steps
from adjoint.nn.optim.traced_steps import TracedSteps
from adjoint.runtime.execution.library_traces import Untraceable
from adjoint.runtime.execution.procedures import traced

SHAPES = ((4, 3), (3,), (70, 300), ())


def parameters(dtype: Any = np.float32) -> list[Parameter]:
    random = np.random.default_rng(1)
    names = ("weight", "beta", "other", "gamma")
    return [Parameter(Tensor(random.standard_normal(s).astype(dtype)), name=n) for s, n in zip(SHAPES, names, strict=True)]


def gradients(turn: int = 0, dtype: Any = np.float32) -> tuple[Tensor, ...]:
    random = np.random.default_rng(100 + turn)
    return tuple(Tensor(random.standard_normal(s).astype(dtype)) for s in SHAPES)


def bits(optimizer: nn.Optimizer) -> dict[str, bytes]:
    return {p.name: p.asnumpy().tobytes() for p in optimizer.get_parameters()}


def procedures(optimizer: nn.Optimizer) -> int:
    assert optimizer._whole is not None
    return sum(known is not None for known in optimizer._whole._known.values())


class Falls(nn.Cell):
    """A rate or a decay of each step."""

    def construct(self, step: Tensor) -> Tensor:
        return 0.1 / (step.astype("float32") + 1.0)


OPTIMIZERS: dict[str, Callable[[list[Parameter]], nn.Optimizer]] = {
    "SGD": lambda p: nn.SGD(p, 0.1),
    "SGD momentum": lambda p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01, loss_scale=2.0),
    "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
    "Momentum nesterov": lambda p: nn.Momentum(p, 0.1, 0.9, weight_decay=0.01, loss_scale=128.0, use_nesterov=True),
    "Momentum with rates": lambda p: nn.Momentum(p, [0.5 / (i + 1) for i in range(20)], 0.9),
    "Momentum with a schedule": lambda p: nn.Momentum(p, nn.ExponentialDecayLR(0.1, 0.9, 4), 0.9, weight_decay=Falls()),
    "Momentum with a function": lambda p: nn.Momentum(p, lambda step: 0.1 / (step.item() + 1), 0.9),
    "groups": lambda p: nn.Adam([{"params": p[:1], "lr": 0.5, "weight_decay": 0.1}, {"params": p[1:2], "lr": Falls()},
                                 {"params": p[2:]}, {"order_params": p}], 0.01),
    "Adam": lambda p: nn.Adam(p, 0.01, weight_decay=0.01),
    "Adam amsgrad": lambda p: nn.Adam(p, 0.01, use_amsgrad=True),
    "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.01),
    "RMSProp": lambda p: nn.RMSProp(p, 0.01, centered=True),
    "Adagrad": lambda p: nn.Adagrad(p),
    "AdaMax": lambda p: nn.AdaMax(p),
    "FTRL": lambda p: nn.FTRL(p),
    "Lamb": lambda p: nn.Lamb(p, 0.01, weight_decay=0.01),
    "LARS": lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9, weight_decay=0.01)),
    "mint SGD": lambda p: mint.optim.SGD(p, 0.1, momentum=0.9, maximize=True),
    "mint Adam": lambda p: mint.optim.Adam(p, 0.01, weight_decay=0.1, amsgrad=True),
    "mint AdamW": lambda p: mint.optim.AdamW(p, 0.01),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_the_bits_are_those_of_the_step_op_by_op(name: str, dtype: Any) -> None:
    """`construct` takes the step op by op."""
    one, other = OPTIMIZERS[name](parameters(dtype)), OPTIMIZERS[name](parameters(dtype))
    for turn in range(5):
        assert one(gradients(turn, dtype)) == (True,) * len(SHAPES)
        other.construct(gradients(turn, dtype))
        assert bits(one) == bits(other)
    assert procedures(one.opt if name == "LARS" else one) == 1


def test_gradients_of_another_dtype() -> None:
    one, other = nn.Adam(parameters()), nn.Adam(parameters())
    for turn in range(4):
        for dtype in (np.float32, np.float16):
            one(gradients(turn, dtype))
            other.construct(gradients(turn, dtype))
    assert bits(one) == bits(other) and procedures(one) == 2


def test_parameters_are_updated_in_place() -> None:
    optimizer = nn.Adam(parameters())
    for _ in range(2):
        optimizer(gradients())
    before = [id(p.memory) for p in (*optimizer.parameters, *optimizer.moment1, *optimizer.moment2)]
    optimizer(gradients())
    assert [id(p.memory) for p in (*optimizer.parameters, *optimizer.moment1, *optimizer.moment2)] == before


@pytest.mark.parametrize("way", ["view", "dlpack", "reshape", "copy", "value", "clone"])
def test_others_keep_the_old_numbers(way: str) -> None:
    optimizer, other = nn.Momentum(parameters(), 0.1, 0.9), nn.Momentum(parameters(), 0.1, 0.9)
    for turn in range(3):
        weight = optimizer.parameters[0]
        held: Any = {"view": weight.asnumpy, "dlpack": lambda w=weight: np.from_dlpack(w), "reshape": lambda w=weight: w.reshape(-1),
                     "copy": lambda w=weight: copy.copy(w), "value": weight.value, "clone": weight.clone}[way]()
        before = np.array(held)
        optimizer(gradients(turn))
        other.construct(gradients(turn))
        assert np.array_equal(np.array(held), before)
    assert bits(optimizer) == bits(other) and procedures(optimizer) == 1


def test_two_parameters_of_one_memory() -> None:
    def made() -> nn.Optimizer:
        first = Parameter(Tensor(np.ones(3, np.float32)), name="first")
        return nn.SGD([first, Parameter(first, name="second")], 0.5)

    one, other = made(), made()
    for turn in range(3):
        given = tuple(Tensor(np.full(3, i + turn, np.float32)) for i in range(2))
        one(given)
        other.construct(given)
    assert one.parameters[0].asnumpy().tolist() == [-0.5] * 3 and one.parameters[1].asnumpy().tolist() == [-2] * 3
    assert bits(one) == bits(other)


def test_a_parameter_as_gradient() -> None:
    """The second update sees what the first one made of its gradient: such a step is taken op by op."""
    def made() -> nn.Optimizer:
        return nn.SGD([Parameter(Tensor(np.full(3, v, np.float32)), name=f"p{v}") for v in (1, 2)], 0.5)

    one, other = made(), made()
    for _ in range(3):
        one(tuple(reversed(one.parameters)))
        other.construct(tuple(reversed(other.parameters)))
    assert bits(one) == bits(other) and procedures(one) == 0


def test_the_gradients_of_a_step_are_left_as_they_are() -> None:
    optimizer, given = nn.Adam(parameters()), gradients()
    before = [x.asnumpy().tobytes() for x in given]
    for _ in range(3):
        optimizer(given)
    assert [x.asnumpy().tobytes() for x in given] == before


# -- changes between steps -----------------------------------------------------------------------------------------------------
def _frozen(optimizer: nn.Optimizer) -> None:
    optimizer.parameters[0].requires_grad = False


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a number": lambda o: setattr(o, "beta1", 0.5),
    "a flag": lambda o: setattr(o, "use_nesterov", True),
    "the loss scale": lambda o: setattr(o, "loss_scale", 4.0),
    "in the __dict__": lambda o: o.__dict__.update(eps=0.5),
    "a parameter of the optimiser's": lambda o: setattr(o, "beta1_power", Parameter(Tensor(np.float32(0.25)), name="beta1_power")),
    "the rate": lambda o: o.learning_rate.set_data(Tensor(np.float32(0.75))),
    "a dtype": lambda o: o.parameters[2].set_dtype(Tensor(np.float64(0)).dtype) and o.moment1[2].set_dtype(Tensor(np.float64(0)).dtype)
    and o.moment2[2].set_dtype(Tensor(np.float64(0)).dtype),
    "a name": lambda o: setattr(o.parameters[0], "name", "gamma.weight"),
    "values": lambda o: o.parameters[0].set_data(Tensor(np.zeros(SHAPES[0], np.float32))),
    "the training flag": lambda o: o.set_train(),
    "frozen": _frozen,
    "a step of its own": lambda o: setattr(o, "step", lambda *_: None),
    "a hook": lambda o: o.register_forward_pre_hook(lambda cell, args: (tuple(g * 2 for g in args[0]),)),
    "nothing": lambda o: None,
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_change_between_steps_counts(change: str) -> None:
    one, other = (nn.Adam(parameters(), 0.01, weight_decay=0.1) for _ in range(2))
    assert other._whole is not None
    other._whole = None  # op by op
    for turn in range(8):
        if turn == 4:
            CHANGES[change](one)
            CHANGES[change](other)
        one(gradients(turn))
        other(gradients(turn))
        assert bits(one) == bits(other), turn


def test_a_method_of_the_class_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer, called = nn.SGD(parameters(), 0.1), []
    for _ in range(3):
        optimizer(gradients())
    original = nn.SGD.step
    monkeypatch.setattr(nn.SGD, "step", lambda self, index, *rest: (called.append(index), original(self, index, *rest))[1])
    optimizer(gradients())
    assert called == [0, 1, 2, 3]


def test_a_step_of_the_user_s_own_runs_as_it_is() -> None:
    seen: list[int] = []

    class Own(nn.SGD):
        def step(self, index: int, *rest: Any) -> None:
            seen.append(index)
            super().step(index, *rest)

    optimizer = Own(parameters(), 0.1)
    for _ in range(3):
        optimizer(gradients())
    assert seen == [0, 1, 2, 3] * 3


def test_a_schedule_runs_once_for_each_step() -> None:
    seen: list[int] = []

    def rate(step: Tensor) -> float:
        seen.append(int(step.item()))
        return 0.1

    optimizer = nn.SGD(parameters(), rate)
    for _ in range(5):
        optimizer(gradients())
    assert seen == [0, 1, 2, 3, 4] and procedures(optimizer) == 1


def test_after_the_last_rate() -> None:
    """The step raises, and changes nothing."""
    optimizer = nn.Adam(parameters(), [0.1, 0.1, 0.1])
    for _ in range(3):
        optimizer(gradients())
    before = bits(optimizer)
    with pytest.raises(RuntimeError, match="this is step 4"):
        optimizer(gradients())
    assert bits(optimizer) == before


def test_wrong_gradients_are_refused_every_time() -> None:
    optimizer = nn.SGD(parameters(), 0.1)
    for _ in range(3):
        with pytest.raises(ValueError, match="must have shape"):
            optimizer(tuple(reversed(gradients())))
    for _ in range(3):
        optimizer(gradients())
    assert procedures(optimizer) == 1
    with pytest.raises(TypeError, match="must be a Tensor"):
        optimizer((*gradients()[:3], None))
    with pytest.raises(ValueError, match="one gradient for each"):
        optimizer(gradients()[:2])


def test_an_attribute_that_changes_all_the_time() -> None:
    """The step is traced so many times, and then taken op by op."""
    one, other = nn.Adam(parameters()), nn.Adam(parameters())
    for turn in range(2 * traced_steps._MOST):
        for optimizer in (one, other):
            optimizer.beta1 = 0.5 + turn / 100
        one(gradients(turn))
        other.construct(gradients(turn))
    assert bits(one) == bits(other)
    assert one._whole is not None and one._whole._traced == traced_steps._MOST


LOOPS: dict[str, Callable[[nn.Optimizer], Callable[[tuple[Tensor, ...]], Any]]] = {
    "clipped": lambda o: lambda g: o(ops.clip_by_global_norm(g, 0.5)),
    "clipped by value": lambda o: lambda g: o(ops.clip_by_value(list(g), -0.1, 0.1)),
    "scaled": lambda o: lambda g: o(amp.StaticLossScaler(128.0).unscale(g)),
    "averaged": lambda o: lambda g: o(tuple(x / 4 for x in g)),
    "a list": lambda o: lambda g: o(list(g)),
}


@pytest.mark.parametrize("loop", list(LOOPS))
def test_what_is_done_with_gradients_before_keeps_the_procedure(loop: str) -> None:
    one, other, graph = (nn.Adam(parameters(), 0.01) for _ in range(3))
    other._whole = None
    step, by_op, jitted = LOOPS[loop](one), LOOPS[loop](other), jit(LOOPS[loop](graph))
    for turn in range(4):
        step(gradients(turn))
        by_op(gradients(turn))
        jitted(gradients(turn))
        assert bits(one) == bits(other) == bits(graph)
    assert procedures(one) == 1


def test_steps_that_a_loss_scaler_leaves_out() -> None:
    """Gradients that are not finite are skipped, as in a loop with a dynamic loss scale."""
    one, other = nn.Momentum(parameters(), 0.1, 0.9), nn.Momentum(parameters(), 0.1, 0.9)
    other._whole = None
    for optimizer in (one, other):
        scaler = amp.DynamicLossScaler(1024.0, 2, 3)
        for turn in range(6):
            scaled = tuple(g * (np.inf if turn == 2 else 1.0) for g in gradients(turn))
            finite = amp.all_finite(scaled)
            scaler.adjust(finite)
            if finite:
                optimizer(scaler.unscale(scaled))
    assert bits(one) == bits(other) and procedures(one) == 1
    assert np.isfinite(one.parameters[0].asnumpy()).all() and int(one.global_step.asnumpy()[0]) == 5


# -- lives -----------------------------------------------------------------------------------------------------------------------
def test_copies_have_procedures_of_their_own() -> None:
    optimizer = nn.Momentum(parameters(), 0.1, 0.9)
    for _ in range(3):
        optimizer(gradients())
    before = bits(optimizer)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert isinstance(other._whole, TracedSteps) and other._whole is not optimizer._whole
        for _ in range(3):
            other(gradients())
        assert bits(optimizer) == before != bits(other)


def test_an_optimiser_is_freed_with_the_last_reference() -> None:
    optimizer = nn.Momentum(parameters(), 0.1, 0.9)
    for _ in range(3):
        optimizer(gradients())
    moment, gone = weakref.ref(optimizer.moments[0]), weakref.ref(optimizer)
    gc.collect()
    gc.disable()
    try:
        del optimizer
        assert gone() is None and moment() is None
    finally:
        gc.enable()


def test_threads_train_at_a_time() -> None:
    def trained() -> dict[str, bytes]:
        optimizer = nn.Adam(parameters(), 0.01)
        for turn in range(10):
            optimizer(gradients(turn))
        return bits(optimizer)

    results: list[dict[str, bytes]] = []
    workers = [threading.Thread(target=lambda: results.append(trained())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [trained()] * 4


# -- procedures ------------------------------------------------------------------------------------------------------------------
def test_code_that_needs_numbers_is_no_procedure() -> None:
    x = Parameter(Tensor(np.ones(3, np.float32)), name="x")

    def refuses(code: Callable[[Any], Any]) -> None:
        with pytest.raises(Untraceable):
            traced(code, [x.type])

    refuses(lambda given: given[0].asnumpy())
    refuses(lambda given: x.asnumpy())
    refuses(lambda given: x.overwrite(given[0] * x.sum().item()))
    refuses(lambda given: given[0].overwrite(x))
    refuses(lambda given: x.register_hook(lambda g: g))
    refuses(lambda given: ops.dropout(given[0], 0.5))
    assert x.asnumpy().tolist() == [1, 1, 1]


def test_a_procedure_reads_what_it_has_written() -> None:
    x = Parameter(Tensor(np.array([1, 2], np.float32)), name="x")

    def code(given: Any) -> None:
        x.overwrite(x * 2)
        x.overwrite(x + given[0])

    procedure = traced(code, [x.type])
    for expected in ([12, 24], [34, 68]):
        procedure.run([Tensor(np.array([10, 20], np.float32))])
        assert x.asnumpy().tolist() == expected


def test_a_write_of_the_argument_keeps_the_argument() -> None:
    """The tensor that is written does not share the argument's memory with a later update in place."""
    x = Parameter(Tensor(np.array([1, 2], np.float32)), name="x")
    procedure = traced(lambda given: x.overwrite(given[0]), [x.type])
    given = Tensor(np.array([10, 20], np.float32))
    procedure.run([given])
    optimizer = nn.SGD([x], 1.0)
    for _ in range(3):
        optimizer((Tensor(np.ones(2, np.float32)),))
    assert given.asnumpy().tolist() == [10, 20] and x.asnumpy().tolist() == [7, 17]
