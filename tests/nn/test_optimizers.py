"""Optimisers: equal to MindSpore's step by step, in place if nothing else uses the memory, and with visible states."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.nn import SGD, Adam, Momentum

STEPS = 3


def pair() -> tuple[Parameter, Parameter]:
    """Return a weight, and one whose name excludes it from weight decay."""
    return Parameter(Tensor([1.0, -2.0, 0.5]), name="w"), Parameter(Tensor([0.25, -0.75]), name="bn.beta")


def gradients(step: int) -> dict[str, np.ndarray]:
    return {
        "w": np.array([0.1, -0.2, 0.3], np.float32) * np.float32(step + 1),
        "bn.beta": np.array([0.5, -0.5], np.float32) / np.float32(step + 1),
    }


class Falling(nn.Cell):
    """A schedule: a tenth divided by the number of the step."""

    def construct(self, step: Tensor) -> Tensor:
        return 0.1 / (step + 1)


def after(make: str) -> list[float]:
    """Return the numbers of both parameters after three steps."""
    w, b = pair()
    optimizer = eval(make, {**globals(), "w": w, "b": b})
    for step in range(STEPS):
        made = gradients(step)
        optimizer(tuple(Tensor(made[p.name]) for p in optimizer.parameters))
    return [*w.tolist(), *b.tolist()]


# Recorded from MindSpore 2.10.0: w and b after three steps.
RECORDED = [
    ('SGD([w,b], 0.1)', [0.9400001, -1.8800001, 0.32, 0.1583333, -0.6583334]),
    ('SGD([w,b], 0.1, 0.9)', [0.9049, -1.8098, 0.2147, 0.0503333, -0.5503333]),
    ('SGD([w,b], 0.1, 0.9, 0.5)', [0.9389, -1.8778, 0.3167, 0.0824167, -0.5824167]),
    ('SGD([w,b], 0.1, 0.9, 0.0, 0.0, True)', [0.85441, -1.70882, 0.06323, -0.0213667, -0.4786333]),
    ('SGD([w,b], 0.1, weight_decay=0.1)', [0.910698, -1.821396, 0.3063465, 0.1583333, -0.6583334]),
    ('SGD([w,b], 0.1, 0.9, weight_decay=0.1)', [0.849858, -1.6997161, 0.1886265, 0.0503333, -0.5503333]),
    ('SGD([w,b], 0.1, weight_decay=0.1, loss_scale=4.0)', [0.9553987, -1.9107975, 0.4404488, 0.2270833, -0.7270833]),
    ('SGD([w,b], 0.1, 0.0, 0.5)', [0.9400001, -1.8800001, 0.32, 0.1583333, -0.6583334]),
    ('Momentum([w,b], 0.1, 0.9)', [0.9049, -1.8098, 0.2147, 0.0503333, -0.5503333]),
    ('Momentum([w,b], 0.1, 0.9, weight_decay=0.1)', [0.849858, -1.6997161, 0.1886265, 0.0503333, -0.5503333]),
    ('Momentum([w,b], 0.1, 0.9, 0.1, 4.0)', [0.9207488, -1.8414975, 0.4012988, 0.2000833, -0.7000834]),
    ('Adam([w,b])', [0.9970769, -1.9970767, 0.4970768, 0.2471947, -0.7471947]),
    ('Adam([w,b], 0.1)', [0.7076832, -1.7076828, 0.2076828, -0.0305327, -0.4694672]),
    ('Adam([w,b], 0.1, use_nesterov=True)', [0.5191216, -1.5191212, 0.019121, -0.1540382, -0.3459618]),
    ('Adam([w,b], 0.1, weight_decay=0.1)', [0.7016796, -1.7019351, 0.2058293, -0.0305327, -0.4694672]),
    ('Adam([w,b], 0.1, weight_decay=0.1, loss_scale=4.0)', [0.699506, -1.6995656, 0.2024115, -0.0305323, -0.4694678]),
    ('Adam([w,b], 0.1, 0.5, 0.8, 1e-2)', [0.7260151, -1.7102851, 0.204522, -0.0022832, -0.4977168]),
    ('Adam([w,b], 0.1, use_amsgrad=True)', [0.7076832, -1.7076828, 0.2076828, -0.0305327, -0.4694672]),
    ('Adam([w,b], 0.1, use_amsgrad=True, use_nesterov=True)', [0.7076832, -1.7076828, 0.2076828, -0.0305327, -0.4694672]),
    ('Adam([w,b], 0.1, 0.5, 0.8, 1e-2, weight_decay=0.1, loss_scale=4.0, use_amsgrad=True)',
     [0.7316813, -1.7141559, 0.2233207, 0.0290585, -0.5290585]),
    ('SGD([w,b], Tensor([0.1,0.2,0.3]))', [0.86, -1.72, 0.08, 0.1, -0.6]),
    ('SGD([w,b], Falling())', [0.97, -1.9400001, 0.41, 0.1819444, -0.6819444]),
    ('Momentum([{"params":[w],"lr":0.5,"weight_decay":0.1},{"params":[b]}], 0.1, 0.9, 0.2)',
     [0.27025, -0.5404999, -1.0176876, 0.0270413, -0.4718974]),
    ('Momentum([{"params":[b],"weight_decay":0.1},{"params":[w]}], 0.1, 0.9)', [0.9049, -1.8098, 0.2147, 0.0385731, -0.5107626]),
    ('SGD([{"params":[w],"lr":[0.5,0.25,0.125]},{"params":[b],"lr":[1.0,1.0,1.0]}], 0.1)',
     [0.8625, -1.7249999, 0.0875, -0.6666667, 0.1666667]),
    ('SGD([{"params":[w],"lr":Falling()},{"params":[b]}], 0.1)', [0.97, -1.9400001, 0.41, 0.1583333, -0.6583333]),
    ('SGD([w,b], Tensor(0.1))', [0.9400001, -1.8800001, 0.32, 0.1583333, -0.6583334]),
    ('SGD([{"params":[w]},{"params":[b],"lr":0.5},{"order_params":[b,w]}], 0.1)', [0.9400001, -1.8800001, 0.32, -0.2083333, -0.2916667]),
    ('Adam([{"params":[w,b],"lr":0.3}])', [0.1230496, -1.1230488, -0.3769515, -0.5915982, 0.0915982]),
    ('SGD([w,b], 0.1, weight_decay=1)', [0.6729, -1.3457999, 0.1962, 0.1583333, -0.6583334]),
    ('SGD([w,b], 1)', [0.4, -0.8, -1.3000001, -0.6666667, 0.1666667]),
    ('nn.AdamWeightDecay([w,b])', [0.9879956, -1.9879947, 0.4879943, 0.2385546, -0.7385546]),
    ('nn.AdamWeightDecay([w,b], 0.1)', [-0.2004338, -0.7994671, -0.7005659, -0.8945419, 0.3945418]),
    ('nn.AdamWeightDecay([w,b], 0.1, 0.5, 0.8, 1e-2, 0.1)', [0.6413237, -1.593276, 0.1311222, -0.0529089, -0.4470911]),
    ('nn.AdamWeightDecay([{"params":[w],"weight_decay":0.1,"lr":0.5},{"params":[b]}], 0.1, weight_decay=0.2)',
     [-4.888154, 4.0312424, -5.3174596, -0.8887995, 0.4182036]),
    ('nn.AdamWeightDecay([w,b], nn.ExponentialDecayLR(0.1, 0.5, 2), weight_decay=0.1)',
     [0.1401215, -1.1181263, -0.3490272, -0.5624147, 0.0624147]),
    ('SGD([w,b], nn.WarmUpLR(0.1, 2))', [0.96, -1.9200001, 0.38, 0.2208333, -0.7208334]),
    ('Adam([w,b], nn.CosineDecayLR(0.01, 0.1, 2))', [0.8373356, -1.8373355, 0.3373353, 0.0899989, -0.5899988]),
    ('SGD([w,b], nn.exponential_decay_lr(0.1, 0.5, 3, 1, 1))', [0.9725, -1.9450001, 0.4175, 0.1833333, -0.6833333]),
    ('SGD((p for p in [w,b]), 0.1)', [0.9400001, -1.8800001, 0.32, 0.1583333, -0.6583334]),
]


@pytest.mark.parametrize(("make", "expected"), RECORDED, ids=[make for make, _ in RECORDED])
def test_three_steps_as_mindspore_makes_them(make: str, expected: list[float]) -> None:
    np.testing.assert_allclose(after(make), expected, rtol=2e-5, atol=2e-6)


# Recorded from MindSpore 2.10.0: w after a step with a gradient in half precision.
IN_HALF = {
    "SGD([w], 0.1, 0.9)": [0.990002453327179, -1.980004906654358, 0.19999998807907104],
    "Momentum([w], 0.1, 0.9)": [0.990002453327179, -1.980004906654358, 0.19999998807907104],
    "Adam([w], 0.1, use_amsgrad=True)": [0.9000003337860107, -1.9000000953674316, 0.4000000059604645],
    "nn.AdamWeightDecay([w], 0.1)": [0.6838701367378235, -1.683820128440857, 0.1837734580039978],
}


@pytest.mark.parametrize("make", IN_HALF)
def test_a_gradient_comes_to_the_dtype_of_its_parameter(make: str) -> None:
    for graph in (False, True):
        w = Parameter(Tensor([1.0, -2.0, 0.5]), name="w")
        optimizer = eval(make, {**globals(), "w": w})

        def step(gradient: Tensor, take: Any = optimizer) -> Any:
            return take((gradient,))

        (ms.jit(step) if graph else step)(Tensor([0.1, -0.2, 3.0], ms.float16))
        assert w.dtype is ms.float32
        np.testing.assert_allclose(w.asnumpy(), IN_HALF[make], rtol=1e-6)


def momentum_by_hand(nesterov: bool, decay: float, scale: float) -> list[float]:
    values, moments = {p.name: p.asnumpy().astype(np.float64) for p in pair()}, dict.fromkeys(("w", "bn.beta"), 0.0)
    for step in range(STEPS):
        for name, gradient in gradients(step).items():
            g = gradient / scale + (decay * values[name] if name == "w" else 0.0)
            moments[name] = 0.9 * moments[name] + g
            values[name] = values[name] - 0.1 * (g + 0.9 * moments[name] if nesterov else moments[name])
    return [*values["w"], *values["bn.beta"]]


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_by_its_formula(nesterov: bool) -> None:
    """Nesterov's as in MindSpore's manual; its CPU kernel ignores `use_nesterov`."""
    got = after(f"Momentum([w, b], 0.1, 0.9, 0.1, 4.0, {nesterov})")
    np.testing.assert_allclose(got, momentum_by_hand(nesterov, 0.1, 4.0), rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 3.0, 1000.0])
def test_a_loss_scale_is_taken_from_the_gradient_alone(scale: float) -> None:
    """Exactly: the decay uses the unscaled parameter, and a decay of 0 adds nothing."""
    w, b = pair()
    optimizer = SGD([w, b], 0.1, weight_decay=0.1, loss_scale=scale)
    before, made = [w.asnumpy().copy(), b.asnumpy().copy()], gradients(0)
    optimizer(tuple(Tensor(made[p.name]) for p in (w, b)))
    one, rate, decay = np.float32(1.0 / scale), np.float32(0.1), np.float32(0.1)
    np.testing.assert_array_equal(w.asnumpy(), before[0] - rate * (made["w"] * one + before[0] * decay))
    np.testing.assert_array_equal(b.asnumpy(), before[1] - rate * (made["bn.beta"] * one))


def test_scalars_of_half_precision_keep_their_bits() -> None:
    """An epsilon of 1e-8 is 0 in half precision, and 0 / 0 is NaN."""
    p = Parameter(Tensor([1.0, -1.0], ms.float16), name="p")
    Adam([p], 0.1)((Tensor([0.0, 0.0], ms.float16),))
    assert p.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("dtype", [ms.float64, ms.float16])
@pytest.mark.parametrize("make", ["SGD([p], 0.1)", "SGD([p], 0.1, 0.9)", "Momentum([p], 0.1, 0.9)", "Adam([p], 0.1)"])
def test_parameters_of_other_dtypes(make: str, dtype: Any) -> None:
    """States have the parameter's dtype; one step moves against the gradient by about the learning rate."""
    p = Parameter(Tensor([1.0, -1.0], dtype), name="p")
    optimizer = eval(make, {**globals(), "p": p})
    optimizer((Tensor([1.0, -1.0], dtype),))
    assert p.dtype is dtype
    np.testing.assert_allclose(p.asnumpy().astype(np.float64), [0.9, -0.9], rtol=1e-3)


def test_states_are_parameters_with_names() -> None:
    """Names and shapes as in MindSpore; plain SGD has unused states, so that its checkpoints have the same names."""
    listed = lambda make: [(p.name, p.shape) for p in eval(make, {**globals(), "w": w, "b": b}).get_parameters()]  # noqa: E731
    w, b = pair()
    own = [("w", (3,)), ("bn.beta", (2,))]
    begin = [("global_step", (1,)), ("learning_rate", ()), *own]

    def states(*kinds: str) -> list[tuple[str, tuple[int, ...]]]:
        return [(f"{kind}.{name}", shape) for kind in kinds for name, shape in own]

    assert listed("SGD([w, b])") == [*begin, ("momentum", ()), *states("accum", "stat")]
    assert listed("SGD([w, b], 0.1, 0.9)") == [*begin, ("momentum", ()), *states("accum", "stat")]
    assert listed("Momentum([w, b], 0.1, 0.9)") == [*begin, ("momentum", ()), *states("moments")]
    assert listed("Adam([w, b])") == [*begin, ("beta1_power", ()), ("beta2_power", ()), *states("moment1", "moment2")]
    assert ("learning_rate", (2,)) in listed("SGD([w, b], [0.1, 0.2])")
    groups = 'SGD([{"params": [w], "lr": 0.5}, {"params": [b]}])'
    assert listed(groups)[:3] == [("global_step", (1,)), ("learning_rate_group_0", ()), ("learning_rate", ())]


def test_the_learning_rate_can_be_assigned() -> None:
    w, b = pair()
    optimizer = SGD([w], 1.0)
    ops.assign(optimizer.learning_rate, Tensor(0.25))
    optimizer((Tensor([4.0, 4.0, 4.0]),))
    assert w.tolist() == [0.0, -3.0, -0.5]
    assert float(optimizer.get_lr()) == 0.25
    optimizer.learning_rate.set_data(Tensor(0.0))
    optimizer((Tensor([4.0, 4.0, 4.0]),))
    assert w.tolist() == [0.0, -3.0, -0.5]
    grouped = SGD([{"params": [w], "lr": 0.5}, {"params": [b]}], 0.25)
    assert [float(x) for x in grouped.get_lr()] == [0.5, 0.25]


def test_groups_have_a_learning_rate_for_each_parameter() -> None:
    """Recorded from MindSpore 2.10.0."""
    a, b, c = (Parameter(Tensor([1.0]), name=name) for name in "abc")
    ordered = SGD([{"params": [a], "lr": 0.5}, {"params": [b, c]}, {"order_params": [c, b, a]}], 0.25)
    assert [float(x) for x in ordered.get_lr()] == [0.25, 0.25, 0.5]
    assert float(SGD([{"params": [a]}, {"params": [b, c]}], 0.25).get_lr()) == 0.25


def test_more_steps_than_rates() -> None:
    w, _ = pair()
    optimizer = SGD([w], [0.5])
    optimizer((w,))
    with pytest.raises(RuntimeError, match=r"SGD.*1 rates.*step 2"):
        optimizer((w,))


def test_training_can_go_on_from_saved_states() -> None:
    """Everything that a step depends on is in the listed parameters."""
    def optimizer(p: Parameter) -> Adam:
        return Adam([p], [0.3, 0.2, 0.1, 0.05])

    w, _ = pair()
    first = optimizer(w)
    for step in range(2):
        first((Tensor(gradients(step)["w"]),))
    kept = {p.name: p.asnumpy().copy() for p in first.get_parameters()}
    other = Parameter(Tensor([0.0, 0.0, 0.0]), name="w")
    second = optimizer(other)
    for p in second.get_parameters():
        p.set_data(Tensor(kept[p.name]))
    for step in range(2, 4):
        first((Tensor(gradients(step)["w"]),))
        second((Tensor(gradients(step)["w"]),))
    assert other.tolist() == w.tolist()
    assert second.global_step.tolist() == [4]


def test_a_step_is_in_place_only_where_nobody_looks() -> None:
    w, _ = pair()
    source = Tensor([1.0, 2.0, 3.0])
    w.set_data(source)
    optimizer = Momentum([w], 0.5, 0.9)
    view = w.asnumpy()
    optimizer((Tensor([2.0, 2.0, 2.0]),))
    assert view.tolist() == source.tolist() == [1.0, 2.0, 3.0]
    assert w.tolist() == [0.0, 1.0, 2.0]
    alias = w.value()
    shaped = w.reshape((3, 1))
    optimizer((Tensor([0.0, 0.0, 0.0]),))
    assert alias.tolist() == [0.0, 1.0, 2.0] and shaped.tolist() == [[0.0], [1.0], [2.0]]
    del view, alias, shaped
    memory = id(w.memory)
    optimizer((Tensor([0.0, 0.0, 0.0]),))
    assert id(w.memory) == memory


def test_the_gradient_may_be_the_parameter_itself() -> None:
    w, _ = pair()
    Momentum([w], 0.5, 0.9)((w,))
    assert w.tolist() == [0.5, -1.0, 0.25]


def test_a_step_inside_a_gradient_leaves_the_gradient_alone() -> None:
    w = Parameter(Tensor([3.0]), name="w")
    optimizer = SGD([w], 1.0)

    def f(x: Tensor) -> Tensor:
        y = x * w
        optimizer((Tensor([1.0]),))
        return y + x * w

    assert ms.grad(f)(Tensor([1.0])).tolist() == [5.0]
    assert w.tolist() == [2.0]


def test_what_is_wrong_with_gradients() -> None:
    w, b = pair()
    optimizer = SGD([w, b], 0.1)
    good = (Tensor([0.0, 0.0, 0.0]), Tensor([0.0, 0.0]))
    for bad, kind in (
        ((good[0],), ValueError), ((good[1], good[0]), ValueError), ((good[0], None), TypeError), (3, ValueError),
        ((good[0], Tensor([0, 0])), ValueError),
    ):
        with pytest.raises(kind, match="SGD"):
            optimizer(bad)
    assert optimizer(good) == (True, True)
    assert optimizer.global_step.tolist() == [1]


def test_names_of_an_optimiser_that_a_cell_holds() -> None:
    """All its Parameters get the prefix, the network's too, as in MindSpore: checkpoints have these names."""
    class Trained(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Dense(2, 1)
            self.optimizer = Momentum(self.net.trainable_params(), 0.1, 0.9)

    names = [p.name for p in Trained().get_parameters()]
    assert names[:2] == ["optimizer.net.weight", "optimizer.net.bias"]
    assert {"optimizer.momentum", "optimizer.global_step", "optimizer.moments.net.weight"} < set(names)


def test_a_copy_trains_for_itself() -> None:
    class Trained(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Dense(2, 1, "ones", "zeros")
            self.optimizer = SGD(self.net.trainable_params(), 1.0)

    first = Trained()
    second = copy.deepcopy(first)
    second.optimizer((Tensor([[1.0, 1.0]]), Tensor([1.0])))
    assert second.net.weight.tolist() == [[0.0, 0.0]]
    assert first.net.weight.tolist() == [[1.0, 1.0]]
    assert first.optimizer.global_step.tolist() == [0] and second.optimizer.global_step.tolist() == [1]


def test_an_optimizer_of_ones_own() -> None:
    class Signs(nn.Optimizer):
        def __init__(self, params: Any):
            super().__init__(0.5, params)

        def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
            ops.assign(parameter, parameter - learning_rate * ops.sign(gradient))

    w, _ = pair()
    Signs([w])((Tensor([3.0, -0.1, 0.0]),))
    assert w.tolist() == [0.5, -1.5, 0.5]


@pytest.mark.parametrize("shape", [(2, 16), (3, 32, 2), (2, 3), (4,)])
@pytest.mark.parametrize("make", [
    "SGD({}, 0.5, weight_decay=0.25, loss_scale=4.0)", "Momentum({}, 0.5, 0.9, weight_decay=0.25)", "Adam({}, weight_decay=0.25)",
    "nn.AdaMax({}, weight_decay=0.25)", "nn.Adagrad({}, weight_decay=0.25)", "nn.FTRL({}, weight_decay=0.25)",
    "nn.RMSProp({}, weight_decay=0.25)", "nn.Lamb({}, 0.5, weight_decay=0.25)",
])
def test_groups_may_ask_for_gradients_without_their_means(make: str, shape: tuple[int, ...]) -> None:
    """Means of rows are taken after the weight decay was added, but for Lamb's; rows of other lengths than 16, 32, .. keep theirs."""
    draw = np.random.default_rng(7)
    first, drawn = draw.normal(size=shape).astype(np.float32), [draw.normal(size=shape).astype(np.float32) for _ in range(3)]
    asked, plain = (Parameter(Tensor(first), name="w") for _ in range(2))
    optimizer = eval(make.format('[{"params": [asked], "grad_centralization": True}]'), {**globals(), "asked": asked})
    alone = make if "Lamb" in make else make.replace("0.25", "0.0")
    apart = eval(alone.format("[plain]"), {**globals(), "plain": plain})
    scale, decay = optimizer.loss_scale, 0.0 if "Lamb" in make else 0.25
    for gradient in drawn:
        taken = gradient * scale + plain.asnumpy() * decay * scale
        if len(shape) > 1 and shape[1] % 16 == 0:
            taken = taken - taken.mean(axis=tuple(range(1, len(shape))), keepdims=True)
        optimizer((Tensor(gradient * scale),))
        apart((Tensor(taken),))
        np.testing.assert_allclose(asked.asnumpy(), plain.asnumpy(), rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(optimizer.gradients_centralization((Tensor(drawn[0]),))[0].asnumpy(),
                               drawn[0] - drawn[0].mean(axis=tuple(range(1, len(shape))), keepdims=True)
                               if len(shape) > 1 and shape[1] % 16 == 0 else drawn[0], atol=1e-6)
    with pytest.raises(TypeError, match=r"grad_centralization.*1"):
        SGD([{"params": [asked], "grad_centralization": 1}], 0.1)


def test_a_weight_decay_of_each_step() -> None:
    """As in MindSpore 2.10.0: a Cell is called with the number of steps taken."""
    class Rising(nn.Cell):
        def construct(self, step: Tensor) -> Tensor:
            return 0.1 * (step + 1)

    for make in (lambda w, b: SGD([w, b], 0.1, weight_decay=Rising(), loss_scale=4.0),
                 lambda w, b: SGD([{"params": [w], "weight_decay": Rising()}, {"params": [b]}], 0.1, loss_scale=4.0)):
        w, b = pair()
        optimizer = make(w, b)
        wanted = {p.name: p.asnumpy().astype(np.float64) for p in (w, b)}
        for step in range(STEPS):
            made = gradients(step)
            decay = float(np.ravel(optimizer.get_weight_decay()[0] if optimizer.is_group else optimizer.get_weight_decay())[0])
            assert decay == pytest.approx(0.1 * (step + 1))
            optimizer(tuple(Tensor(made[p.name]) for p in (w, b)))
            for name, g in made.items():
                wanted[name] -= 0.1 * (g / 4.0 + (decay * wanted[name] if name == "w" else 0.0))
        for p in (w, b):
            np.testing.assert_allclose(p.asnumpy(), wanted[p.name], rtol=1e-5)


def test_what_an_optimizer_of_mindspores_style_calls() -> None:
    """One written as in MindSpore's manual: its own `construct` with the base's methods."""
    class Descent(nn.Optimizer):
        def construct(self, gradients: Any) -> Any:
            gradients = self.flatten_gradients(gradients)
            gradients = self.scale_grad(self.gradients_centralization(self.decay_weight(gradients)))
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                ops.assign(parameter, parameter - self.get_lr() * gradient)
            return True

    results = []
    for make in (lambda w, b: Descent(0.1, [w, b], 0.1, 4.0), lambda w, b: SGD([w, b], 0.1, weight_decay=0.1, loss_scale=4.0)):
        w, b = pair()
        make(w, b)(tuple(Tensor(gradients(0)[p.name]) for p in (w, b)))
        results.append([*w.tolist(), *b.tolist()])
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_settings_can_be_asked_for() -> None:
    w, b = pair()
    plain = SGD([w, b], 0.5, weight_decay=0.25)
    assert plain.get_lr_parameter(w) is plain.learning_rate and plain.get_lr_parameter([b, w]) == [plain.learning_rate] * 2
    assert float(plain.get_weight_decay()) == 0.25
    grouped = SGD([{"params": [w], "lr": 0.5, "weight_decay": 0.125}, {"params": [b], "lr": [0.1, 0.2]}], 0.3)
    assert float(grouped.get_lr_parameter(w)) == 0.5
    assert grouped.get_lr_parameter(b).shape == (2,)
    assert [float(x) for x in grouped.get_weight_decay()] == [0.125, 0.0]
    with pytest.raises(TypeError, match=r"get_lr_parameter.*3"):
        plain.get_lr_parameter(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"get_lr_parameter.*of the optimizer"):
        plain.get_lr_parameter(Parameter(Tensor([1.0]), name="other"))


@pytest.mark.parametrize(("make", "said"), [
    ("Adam([w], use_lazy=True)", "Adam.*use_lazy.*leave it out"), ("Adam([w], use_offload=True)", "Adam.*use_offload.*leave it out"),
    ('nn.AdamWeightDecay([{"params": [w], "grad_centralization": True}])', "AdamWeightDecay.*grad_centralization.*g.mean"),
    ("SGD([w], Tensor([[0.1]]))", "SGD.*learning_rate.*1 with a rate for each step.*(1, 1)"),
])
def test_what_is_not_supported_says_the_way_out(make: str, said: str) -> None:
    w, _ = pair()
    with pytest.raises(ValueError, match=said):
        eval(make, {**globals(), "w": w})


def test_lamb() -> None:
    """Adam's direction, scaled to the norm of the parameter (You et al. 2019): MindSpore has no CPU kernel to compare with."""
    weight, zero = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32), np.zeros(2, np.float32)
    held = [ms.Parameter(Tensor(weight), name="weight"), ms.Parameter(Tensor(zero), name="zero")]
    optimizer = nn.Lamb(held, 0.1, 0.8, 0.9, 1e-3, 0.05)
    m, v = np.zeros_like(weight), np.zeros_like(weight)
    for step in (1, 2):
        gradient = np.array([[0.5, 1.0], [-1.0, 2.0]], np.float32) * step
        optimizer((Tensor(gradient), Tensor(zero)))
        m, v = 0.8 * m + 0.2 * gradient, 0.9 * v + 0.1 * gradient**2
        way = m / (1 - 0.8**step) / (np.sqrt(v / (1 - 0.9**step)) + 1e-3) + 0.05 * weight
        weight = weight - 0.1 * np.linalg.norm(weight) / np.linalg.norm(way) * way
    np.testing.assert_allclose(held[0].asnumpy(), weight, rtol=1e-5)
    assert held[1].tolist() == [0.0, 0.0]


_follow = ops.MultitypeFuncGraph("follow")


@_follow.register("Tensor", "Tensor", "Tensor", "Tensor")
def _(rate, parameter, moment, gradient):
    moment = ops.assign(moment, moment * 0.5 + gradient)
    return ops.assign_sub(parameter, rate * moment)


class Following(nn.Optimizer):
    """An optimiser derived from MindSpore's base class: its own construct, with `get_lr`, `hyper_map` and a `target`."""

    def __init__(self, params, learning_rate):
        super().__init__(learning_rate, params)
        self.moments = self._parameters.clone(prefix="moments", init="zeros")

    def construct(self, gradients):
        gradients = self._grad_sparse_indices_deduplicate(self.scale_grad(self.flatten_gradients(gradients)))
        rate = self.get_lr()
        return self.hyper_map(ops.partial(_follow, rate), self._parameters, self.moments, gradients)

    @nn.Optimizer.target.setter
    def target(self, value):
        self._set_base_target(value)


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "jit"])
def test_an_optimiser_with_a_construct_of_its_own_counts_steps_by_get_lr(graph: bool) -> None:
    weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    optimizer = Following([weight], [1.0, 0.5, 0.25])
    step = ms.jit(optimizer.construct) if graph else optimizer
    expected, moment = np.array([1.0, 2.0], np.float32), 0.0
    for rate in (1.0, 0.5, 0.25):
        moment = moment * 0.5 + 1.0
        expected = expected - rate * moment
        step((Tensor([1.0, 1.0]),))
        np.testing.assert_array_equal(weight.asnumpy(), expected)
    assert optimizer.global_step.asnumpy() == 3
    assert (optimizer.decay_flags, optimizer.exec_weight_decay, optimizer.need_scale, optimizer.param_length) == ((True,), False, False, 1)
    assert isinstance(optimizer.weight_decay, Tensor) and optimizer.weight_decay == 0.0
    groups = nn.SGD([{"params": [pair()[0]], "weight_decay": 0.5}, {"params": [pair()[1]]}], weight_decay=0.25)
    assert [float(decay) for decay in groups.weight_decay] == [0.5, 0.25] and groups.decay_flags == (True, True)
    with pytest.raises(RuntimeError, match="3 rates"):
        step((Tensor([1.0, 1.0]),))
    optimizer.target = "CPU"
    with pytest.raises(ValueError, match="must be 'CPU'"):
        optimizer.target = "GPU"
    with pytest.raises(NotImplementedError):
        nn.SGD([weight]).target = "CPU"


class _NamedLikeSettings(nn.Cell):
    """Learns Parameters that have the names of an optimizer's own attributes."""

    NAMES = ("eps", "weight_decay", "loss_scale", "use_nesterov")

    def __init__(self) -> None:
        super().__init__()
        for name in self.NAMES:
            setattr(self, name, Parameter(Tensor([1.0, -2.0]), name=name))

    def construct(self, x: Tensor) -> Tensor:
        total = x
        for name in self.NAMES:
            total = total * getattr(self, name)
        return total.sum()


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("make", [
    lambda params: nn.Adam(params, 0.1, weight_decay=0.1, use_nesterov=True), lambda params: nn.AdamWeightDecay(params, 0.1),
    lambda params: nn.Momentum(params, 0.1, 0.9, 0.1), lambda params: nn.SGD(params, 0.1, 0.9, loss_scale=2.0),
    lambda params: nn.Lamb(params, 0.1), lambda params: nn.RMSProp(params, 0.1),
])
def test_a_parameter_may_have_the_name_of_a_setting(make: Any, mode: int) -> None:
    def trained(renamed: bool) -> list[list[float]]:
        net = _NamedLikeSettings()
        for place, parameter in enumerate(net.trainable_params()):
            if renamed:
                parameter.name = f"w{place}"
        step = nn.TrainOneStepCell(net, make(net.trainable_params()))
        for _ in range(STEPS):
            step(Tensor([1.0, 2.0]))
        return [parameter.tolist() for parameter in net.trainable_params()]

    ms.set_context(mode=mode)
    try:
        assert trained(renamed=False) == trained(renamed=True)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
