"""What layers, losses, optimizers and initialisers provide to subclasses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.common.initializer import Initializer, Normal, initializer


class OwnDense(nn.Dense):
    def construct(self, x: Tensor) -> Tensor:
        return self.bias_add(self.matmul(x, self.weight), self.bias)


class OwnConvolution(nn.Conv2d):
    def construct(self, x: Tensor) -> Tensor:
        return self.bias_add(self.conv2d(x, self.weight), self.bias)


class OwnNormalisation(nn.LayerNorm):
    def construct(self, input_x: Tensor) -> Tensor:
        return self.layer_norm(input_x, self.gamma, self.beta)[0]


CASES = {
    "dense": (nn.Dense, OwnDense, (3, 2), {}, (4, 3)),
    "same": (nn.Conv2d, OwnConvolution, (2, 4, 3), {"has_bias": True, "stride": 2, "group": 2}, (1, 2, 5, 6)),
    "padded": (nn.Conv2d, OwnConvolution, (2, 3, (3, 2)), {"has_bias": True, "pad_mode": "pad", "padding": (1, 2, 0, 1), "dilation": 2},
               (1, 2, 7, 6)),
    "norm": (nn.LayerNorm, OwnNormalisation, ((3,),), {}, (4, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_operators_of_a_layer_give_what_the_layer_gives(name: str) -> None:
    base, own, given, options, shape = CASES[name]
    x = Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    first, second = base(*given, **options), own(*given, **options)
    for mine, theirs in zip(second.get_parameters(), first.get_parameters(), strict=True):
        mine.set_data(theirs)
    np.testing.assert_allclose(first(x).asnumpy(), second(x).asnumpy(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ms.jit(second)(x).asnumpy(), second(x).asnumpy(), rtol=0, atol=0)


def test_a_loss_of_ones_own() -> None:
    class Loss(nn.LossBase):
        def construct(self, logits: Tensor, labels: Tensor) -> Any:
            squares = ops.square(logits - labels)
            if self.reduce and self.average:
                squares = self.reduce_mean(squares, self.get_axis(squares))
            elif self.reduce:
                squares = self.reduce_sum(squares, self.get_axis(squares))
            return squares

    x, y = Tensor([[1.0, 2.0]]), Tensor([[0.0, 0.0]])
    assert Loss()(x, y).item() == 2.5 and Loss("sum")(x, y).item() == 5.0 and Loss("none")(x, y).tolist() == [[1.0, 4.0]]
    assert (Loss("none").reduce, Loss("sum").average, Loss().average) == (False, False, True)


def test_what_an_optimizer_says_of_its_learning_rate() -> None:
    weight = ms.Parameter(Tensor([1.0]), name="w")
    plain, scheduled = nn.SGD([weight], 0.1), nn.SGD([weight], nn.ExponentialDecayLR(0.1, 0.9, 4))
    assert isinstance(plain.learning_rate, ms.Parameter) and (plain.dynamic_lr, plain.is_group_lr) == (False, False)
    assert isinstance(scheduled.learning_rate, nn.ExponentialDecayLR) and scheduled.dynamic_lr
    assert nn.SGD([{"params": [weight], "lr": 0.2}], 0.1).is_group_lr


def test_an_initialiser_of_ones_own() -> None:
    class Counting(Initializer):
        def __init__(self, first: float = 0.0):
            super().__init__(first=first)
            self.first = first

        def _initialize(self, arr: np.ndarray[Any, Any]) -> None:
            arr[...] = self.first + np.arange(arr.size).reshape(arr.shape)

    assert initializer(Counting(1.0), (2, 2), ms.float32).asnumpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert nn.Dense(2, 1, weight_init=Counting()).weight.asnumpy().tolist() == [[0.0, 1.0]]
    array = np.zeros((2, 3), np.float32)
    Normal(0.1)._initialize(array)
    assert np.abs(array).min() > 0
    with pytest.raises(TypeError, match="needs a method '_initialize'"):
        initializer(type("Empty", (Initializer,), {})(), (2,), ms.float32)
