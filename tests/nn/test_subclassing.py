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


class OwnSoftmax(nn.Softmax):
    def construct(self, input: Tensor) -> Tensor:
        return self.softmax(input)


class OwnLogSoftmax(nn.LogSoftmax):
    def construct(self, x: Tensor) -> Tensor:
        return self.log_softmax(x)


class OwnGroups(nn.GroupNorm):
    def construct(self, x: Tensor) -> Tensor:
        return self._cal_output(x)


CASES = {
    "groups": (nn.GroupNorm, OwnGroups, (2, 4), {}, (3, 4, 5, 6)),
    "softmax": (nn.Softmax, OwnSoftmax, (0,), {}, (4, 3)),
    "log_softmax": (nn.LogSoftmax, OwnLogSoftmax, (), {}, (4, 3)),
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


@pytest.mark.parametrize("settings", [{}, {"use_nesterov": True}, {"use_amsgrad": True}], ids=str)
def test_a_subclass_of_adam_takes_its_step_from_its_own_construct(settings: dict[str, Any]) -> None:
    class Own(nn.Adam):
        """Adam that counts, decays and scales in its own `construct`, and keeps its moments where Adam does."""

        def construct(self, gradients: Any) -> Any:
            gradients = self.scale_grad(self.decay_weight(self.flatten_gradients(gradients)))
            if not self.use_offload:
                gradients = self.gradients_centralization(gradients)
            gradients = self._grad_sparse_indices_deduplicate(gradients)
            rate = self.get_lr()
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            self.beta1_power *= self.beta1
            self.beta2_power *= self.beta2
            powers: tuple[Any, Any] = self.beta1_power, self.beta2_power
            return self._apply_adam(self._parameters, *powers, self.moment1, self.moment2, rate, gradients)

    gradients = Tensor([[0.5, -1.0], [2.0, 0.25]]), Tensor([1.0, -0.125])
    found: list[list[Any]] = []
    for kind in (nn.Adam, Own):
        net = nn.Dense(2, 2, "ones", "zeros")
        optimizer = kind(net.trainable_params(), 0.1, **settings)
        for _ in range(3):
            optimizer(gradients)
        found.append([each.asnumpy() for each in (*net.get_parameters(), *optimizer.moment1, *optimizer.moment2, optimizer.beta1_power)])
    for plain, own in zip(*found, strict=True):
        assert np.array_equal(plain, own)


def test_a_subclass_of_an_optimizer_maps_from_the_last_parameter_on() -> None:
    class Down(nn.Optimizer):
        def construct(self, gradients: Any) -> Any:
            step = ops.partial(lambda rate, gradient, parameter: ops.assign(parameter, parameter - rate * gradient), self.get_lr())
            return self.hyper_map_reverse(step, gradients, self._parameters), self.map_reverse(ops.neg, gradients)

    net = nn.Dense(2, 2, "ones", "zeros")
    made, negative = Down(0.5, net.trainable_params())((Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([1.0, -1.0])))
    assert [parameter.tolist() for parameter in net.get_parameters()] == [[[0.0, 1.0], [1.0, -1.0]], [-0.5, 0.5]]
    assert made[1].tolist() == [-0.5, 0.5] and negative[1].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_function_of_a_convolution_of_mint_gives_what_the_layer_gives(axes: int) -> None:
    kind: Any = getattr(ms.mint.nn, f"Conv{axes}d")

    class Own(kind):
        def construct(self, x: Tensor) -> Tensor:
            function = getattr(self, f"conv{axes}d")
            return function(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    x = Tensor(np.random.default_rng(0).standard_normal((1, 4, *(5, 6, 7)[:axes])).astype(np.float32))
    layer, own = kind(4, 2, 3, 2, 1, groups=2), Own(4, 2, 3, 2, 1, groups=2)
    ms.load_param_into_net(own, layer.parameters_dict())
    for each in (own, ms.jit(own)):
        np.testing.assert_array_equal(each(x).asnumpy(), layer(x).asnumpy())


@pytest.mark.parametrize("options", [{"p": 0.25}, {"keep_prob": 0.75}])
def test_the_operator_of_a_dropout_keeps_as_many_elements(options: dict[str, float]) -> None:
    layer = nn.Dropout(**options)
    kept = layer.dropout.shard(((1, 1),))(Tensor(np.ones((100, 100), np.float32)))[0].asnumpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1) / np.float32(0.75)} and 0.7 < (kept > 0).mean() < 0.8
    assert layer.dropout.keep_prob == 0.75
