"""LARS: gradients scaled by the norms of their parameters, then the step of the wrapped optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

W, B = np.array([[3.0, -4.0], [0.5, 1.5]], np.float32), np.array([1.0, -2.0], np.float32)
GRADIENTS = [(W[::-1] * np.float32(0.1 * step), B * np.float32(0.3 / step)) for step in (1, 2, 3)]


def pair(dtype: Any = np.float32) -> list[Parameter]:
    return [Parameter(Tensor(W.astype(dtype)), name="dense.weight"), Parameter(Tensor(B.astype(dtype)), name="dense.bias")]


def scaled(
    p: Any, g: Any, decay: float = 0.0, rate: float = 1.0, epsilon: float = 1e-5, coefficient: float = 0.001, clip: bool = False
) -> Any:
    """Return the gradient that LARS passes on, in float64."""
    p, g = p.astype(np.float64), g.astype(np.float64)
    length = np.linalg.norm(p)
    scale = coefficient * length / (np.linalg.norm(g) + decay * length + epsilon)
    return (min(scale / rate, 1.0) if clip else scale) * (g + decay * p)


def test_the_operator_gives_the_numbers_of_the_manual() -> None:
    weight = Tensor(np.array([[0.5, 0.8, 0.2], [0.6, 0.4, 0.2]], np.float32))
    gradient = Tensor(np.array([[0.4, 0.4, 0.5], [0.2, 0.4, 0.3]], np.float32))
    found = ops.LARSUpdate()(weight, gradient, (weight * weight).sum(), (gradient * gradient).sum(), 0.0, 1.0)
    np.testing.assert_allclose(  # as MindSpore's manual prints it
        found.asnumpy(), [[0.0005265, 0.0005265, 0.00065813], [0.00026325, 0.0005265, 0.00039488]], rtol=2e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("rate", [0.0, 0.01, 10.0])
@pytest.mark.parametrize("clip", [False, True])
def test_the_operator(dtype: Any, rate: float, clip: bool) -> None:
    p, g = W.astype(dtype), GRADIENTS[0][0].astype(dtype)
    of_p, of_g = [Tensor(np.array((x.astype(np.float64) ** 2).sum(), dtype)) for x in (p, g)]
    found = ops.LARSUpdate(0.01, 0.5, clip)(Tensor(p), Tensor(g), of_p, of_g, 0.1, Tensor(rate, Tensor(p).dtype))
    expected = scaled(p, g, 0.1, rate or 1e-30, 0.01, 0.5, clip)
    assert found.asnumpy().dtype == dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol={np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-12}[dtype])


@pytest.mark.parametrize("weight, gradient, decay", [(0.0, 1.0, 0.1), (1.0, 0.0, 0.0), (0.0, 0.0, 0.1)])
@pytest.mark.parametrize("clip", [False, True])
def test_lengths_of_zero_give_zeros(weight: float, gradient: float, decay: float, clip: bool) -> None:
    """Also without an epsilon, and with a learning rate of 0: no parameter becomes NaN."""
    p, g = Tensor([weight, weight]), Tensor([gradient, gradient])
    for rate in (0.0, 0.1):
        found = ops.LARSUpdate(0.0, 0.5, clip)(p, g, (p * p).sum(), (g * g).sum(), decay, rate).asnumpy()
        # Where nothing is left to clip to, a rate of 0 takes the gradient as it is.
        assert np.isfinite(found).all() and (found == (0.0 if not clip or rate else gradient)).all()


def test_what_the_operator_refuses() -> None:
    p, one = Tensor([1.0, 2.0]), Tensor(1.0)
    half, short = p.astype(ms.float16), Tensor([1.0])
    wrong: Any
    arguments: Any
    for wrong, error, named in (
        ((p, short, one, one, 0.0, 1.0), ValueError, "gradient"), ((p, half, one, one, 0.0, 1.0), TypeError, "gradient"),
        ((p, p, 1.0, one, 0.0, 1.0), TypeError, "norm_weight"), ((p, p, one, one.astype(half.dtype), 0.0, 1.0), TypeError, "norm_gradient"),
        ((p, p, one, p, 0.0, 1.0), ValueError, "norm_gradient"), ((p, p, one, one, "0", 1.0), TypeError, "weight_decay"),
    ):
        with pytest.raises(error, match=f"LARSUpdate.*{named}"):
            ops.LARSUpdate()(*wrong)
    for arguments, named in (((1,), "epsilon"), ((0.1, 1), "hyperpara"), ((0.1, 0.1, 1), "use_clip")):
        with pytest.raises(TypeError, match=named):
            ops.LARSUpdate(*arguments)


def stepped(optimizer: Any) -> list[np.ndarray]:
    """Return the parameters after three steps."""
    for made in GRADIENTS:
        optimizer(tuple(Tensor(g) for g in made))
    return [p.asnumpy().copy() for p in optimizer.parameters]


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("loss_scale", [1.0, 4.0])
def test_it_scales_and_decays_what_the_filter_lets_through(clip: bool, loss_scale: float) -> None:
    made = nn.LARS(nn.Momentum(pair(), 0.1, 0.9, 0.2, loss_scale), 1e-3, 0.05, clip)
    (w, b), moments = (x.astype(np.float64) for x in (W, B)), [0.0, 0.0]
    for g, h in GRADIENTS:
        g, h = scaled(w, g / loss_scale, 0.2, 0.1, 1e-3, 0.05, clip), h / loss_scale
        moments = [0.9 * moments[0] + g, 0.9 * moments[1] + h]
        w, b = w - 0.1 * moments[0], b - 0.1 * moments[1]
    for found, expected in zip(stepped(made), (w, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-6)
    assert made.global_step.asnumpy() == 3 and made.lars_flag == (True, False)


def test_groups_and_schedules_count_for_it() -> None:
    class Falling(nn.Cell):
        def construct(self, step: Tensor) -> Tensor:
            return 0.1 / (step + 1)

    w, b = pair()
    groups = [{"params": [w], "weight_decay": Falling()}, {"params": [b], "weight_decay": 0.3}]
    made = nn.LARS(nn.SGD(groups, [0.5, 0.25, 0.125]), coefficient=0.01, use_clip=True, lars_filter=lambda p: True)
    expected = [x.astype(np.float64) for x in (W, B)]
    for step, (rate, both) in enumerate(zip((0.5, 0.25, 0.125), GRADIENTS, strict=True)):
        assert [float(rate) for rate in made.get_weight_decay()] == pytest.approx([0.1 / (step + 1), 0.3]) and made.get_lr() == rate
        expected = [x - rate * scaled(x, g, decay, rate, 1e-5, 0.01, True)
                    for x, g, decay in zip(expected, both, (0.1 / (step + 1), 0.3), strict=True)]
        made(tuple(Tensor(g) for g in both))
    for found, x in zip((w, b), expected, strict=True):
        np.testing.assert_allclose(found.asnumpy(), x, rtol=2e-6)


def test_halves_do_not_overflow() -> None:
    """A norm beyond the square root of Float16's largest number."""
    p = Parameter(Tensor(np.full(1000, 100.0, np.float16)), name="w")
    made = nn.LARS(nn.SGD([p], 1.0), 0.0, 0.5)
    made((Tensor(np.ones(1000, np.float16)),))
    assert p.dtype is ms.float16 and (p.asnumpy() == 50).all()  # the step is half the parameter's length


def network() -> tuple[nn.Cell, Any]:
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1))
    for i, p in enumerate(net.trainable_params()):
        p.set_data(Tensor(np.linspace(-1, 1 + i, p.size, dtype=np.float32).reshape(p.shape)))
    return net, nn.LARS(nn.Adam(net.trainable_params(), nn.CosineDecayLR(0.01, 0.1, 4), weight_decay=0.1), use_clip=True)


def test_same_bits_in_every_mode() -> None:
    def trained(mode: str) -> list[bytes]:
        net, optimizer = network()
        gradients = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, optimizer.parameters)

        def step(x: Tensor, y: Tensor) -> Tensor:
            loss, made = gradients(x, y)
            optimizer(made)
            return loss

        run = ms.jit(step) if mode == "jit" else step
        if mode == "GRAPH_MODE":
            run = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
            ms.set_context(mode=ms.GRAPH_MODE)
        try:
            for _ in range(3):
                run(Tensor(W), Tensor(B[:, None]))
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        return [p.asnumpy().tobytes() for p in optimizer.get_parameters()]

    eager = trained("eager")
    assert trained("jit") == eager and trained("GRAPH_MODE") == eager


class Plain(nn.Optimizer):
    """An optimiser derived from MindSpore's base class, with its own construct."""

    def construct(self, gradients: Any) -> bool:
        rate = self.get_lr()
        for parameter, gradient in zip(self.parameters, self.scale_grad(self.decay_weight(gradients)), strict=True):
            ops.assign_sub(parameter, rate * gradient)
        return True


def test_an_optimiser_with_a_construct_of_its_own_and_lars_around_lars() -> None:
    wraps: list[Any] = [lambda opt: nn.LARS(opt, coefficient=0.05), lambda opt: nn.LARS(nn.LARS(opt, 0.0, 1.0), coefficient=0.05)]
    for wrap in wraps:
        expected = stepped(wrap(nn.SGD(pair(), [0.5, 0.25, 0.125], weight_decay=0.1, loss_scale=2.0)))
        made = wrap(Plain([0.5, 0.25, 0.125], pair(), 0.1, 2.0))
        for found, x in zip(stepped(made), expected, strict=True):
            np.testing.assert_allclose(found, x, rtol=1e-6)
        assert made.global_step.asnumpy() == 3


def test_what_it_refuses() -> None:
    opt = nn.SGD(pair())
    arguments: Any
    for arguments, named in (((nn.ReLU(),), "optimizer"), ((opt, 1), "epsilon"), ((opt, 0.1, 1), "coefficient"),
                             ((opt, 0.1, 0.1, 1), "use_clip"), ((opt, 0.1, 0.1, True, "bias"), "lars_filter")):
        with pytest.raises(TypeError, match=f"LARS.*{named}"):
            nn.LARS(*arguments)
    for arguments in ((opt, -1.0), (opt, 0.1, float("nan"))):
        with pytest.raises(ValueError, match="LARS"):
            nn.LARS(*arguments)
    w, b = pair()
    rates: Any = [{"params": [w], "lr": [0.1, 0.2]}, {"params": [b]}]
    with pytest.raises(ValueError, match="use_clip"):
        nn.LARS(nn.SGD(rates), use_clip=True)
    with pytest.raises(ValueError, match=r"LARS.*one gradient for each of the 2 parameters"):
        nn.LARS(opt)((Tensor(W),))
