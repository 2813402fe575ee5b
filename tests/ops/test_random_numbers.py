"""Random tensors: repeated from a seed, of the distributions they claim, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, mint, ops
from adjoint.ops import operations as P

GENERATOR = adjoint.Generator()
DRAWS: dict[str, Any] = {
    "rand": lambda: ops.rand(3, 4), "randn": lambda: ops.randn((3, 4)), "randint": lambda: ops.randint(0, 99, (3, 4)),
    "standard_normal": lambda: ops.standard_normal((3, 4)), "normal": lambda: ops.normal((3, 4), 1.0, 2.0),
    "uniform": lambda: ops.uniform((3, 4), -1.0, 1.0), "randperm": lambda: ops.randperm(20),
    "bernoulli": lambda: ops.bernoulli(ops.ones((50,)), 0.5),
    "dropout": lambda: ops.dropout(ops.ones((50,)), 0.5), "StandardNormal": lambda: P.StandardNormal()((3, 4)),
    "UniformReal": lambda: P.UniformReal()((3, 4)), "multinomial": lambda: ops.multinomial(ops.ones((9,)), 20),
    "rand_like": lambda: ops.rand_like(ops.ones((3, 4))), "shuffle": lambda: ops.shuffle(ops.arange(20)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_what_follows_it(name: str) -> None:
    draw = DRAWS[name]
    adjoint.set_seed(5)
    first, second = draw().tolist(), draw().tolist()
    adjoint.set_seed(5)
    assert draw().tolist() == first != second == draw().tolist()
    adjoint.set_seed(6)
    assert draw().tolist() != first


def test_an_operators_own_seed_takes_the_global_seeds_place() -> None:
    adjoint.set_seed(1)
    first = ops.rand(8, seed=3).tolist()
    adjoint.set_seed(2)
    assert ops.rand(8, seed=3).tolist() == first


def test_a_generator_repeats_its_own_draws_and_leaves_the_others_alone() -> None:
    """Programs that resume keep the state of each Generator, and expect `get_seed` and NumPy's stream to stay as they are."""
    adjoint.set_seed(1)
    first = mint.rand(4).tolist()
    generator = adjoint.Generator()
    draws = [mint.randn(3, generator=generator).tolist() for _ in range(2)]
    state = generator.get_state()
    last = [mint.randperm(9, generator=generator).tolist(), Tensor(np.zeros(4, np.float32)).uniform_(generator=generator).tolist()]
    generator.set_state(state)
    assert [mint.randperm(9, generator=generator).tolist(), ops.zeros(4).uniform_(generator=generator).tolist()] == last
    generator.manual_seed(0)
    assert [mint.randn(3, generator=generator).tolist() for _ in range(2)] == draws
    second = mint.rand(4).tolist()
    assert adjoint.manual_seed(1) is adjoint.default_generator and adjoint.get_seed() == 1 == adjoint.initial_seed()
    assert [mint.rand(4).tolist() for _ in range(2)] == [first, second]
    state = adjoint.get_rng_state()
    assert (state.dtype, state.shape) == (adjoint.uint8, (16,))
    third, graph = mint.rand(4).tolist(), adjoint.jit(lambda: mint.rand(4))
    adjoint.set_rng_state(state)
    assert graph().tolist() == third
    assert adjoint.seed() == adjoint.initial_seed() < 2**32 and adjoint.get_seed() == 1
    adjoint.manual_seed(-1)
    assert adjoint.initial_seed() == -1 and mint.rand(2).shape == (2,)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: adjoint.manual_seed(1.5), TypeError, "must be an int, but got 1.5"),
    (lambda: adjoint.manual_seed(2**64), RuntimeError, "64 bits"),
    (lambda: adjoint.set_rng_state(ops.zeros(16)), RuntimeError, "UInt8 tensor of 16 elements, but got Float32"),
    (lambda: adjoint.set_rng_state(3), RuntimeError, "but got 3 of type int"),
    (lambda: mint.rand(2, generator=3), TypeError, "'generator' must be a Generator or None, but got 3"),
    (adjoint.jit(lambda: mint.rand(2, generator=GENERATOR)), TypeError, "None in a graph"),
    (adjoint.jit(lambda: adjoint.manual_seed(2)), adjoint.CompileError, "`manual_seed` would be called once"),
])
def test_states_of_random_numbers_are_checked(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_moments() -> None:
    adjoint.set_seed(11)
    n = 40000
    for draw, mean, deviation in (
        (ops.randn(n), 0, 1), (ops.normal((n,), 3.0, Tensor([0.5])), 3, 0.5), (ops.rand(n), 0.5, 12**-0.5),
        (ops.uniform((n,), Tensor([-2.0]), Tensor([4.0])), 1, 6 * 12**-0.5), (ops.bernoulli(ops.zeros((n,)), 0.3), 0.3, 0.21**0.5),
        (ops.randint(2, 5, (n,)).astype(adjoint.float32), 3, (2 / 3) ** 0.5), (ops.dropout(ops.ones((n,)), 0.25), 1, (1 / 3) ** 0.5),
        (P.UniformInt()((n,), 0, 2).astype(adjoint.float32), 0.5, 0.5),
    ):
        x = draw.asnumpy()
        assert abs(x.mean() - mean) < 5 * deviation / n**0.5
        assert abs(x.std() - deviation) < 0.03 * deviation


def test_laws_that_are_drawn_by_trying() -> None:
    """Shapes below and above those at which the methods change, against the moments of the laws."""
    adjoint.set_seed(12)
    count = Tensor([20000], adjoint.int32)
    rates = np.array([0.4, 3.0, 9.5, 10.5, 900.0])
    for draw in (ops.random_gamma(count, Tensor(rates)), ops.random_poisson(count, Tensor(rates), dtype=adjoint.int64)):
        x = draw.asnumpy().astype(np.float64)
        assert (abs(x.mean(0) - rates) < 5 * (rates / 20000) ** 0.5).all()
        assert (abs(x.var(0) / rates - 1) < 0.08).all()
    few = ops.random_poisson(count, 2.0).asnumpy()
    assert abs(np.mean(few == 1) - 2 * math.exp(-2)) < 0.02


def test_candidates_and_how_often_they_are_expected() -> None:
    adjoint.set_seed(13)
    true = Tensor([[0], [3]], adjoint.int64)
    drawn, expected, _ = ops.log_uniform_candidate_sampler(true, 1, 20000, False, 9)
    found = np.bincount(drawn.asnumpy(), minlength=9)
    shares = np.log1p(1 / (np.arange(9) + 1.0)) / np.log(10)
    assert (abs(found / 20000 - shares) < 0.02).all()
    np.testing.assert_allclose(expected.asnumpy()[:, 0], 20000 * shares[[0, 3]], rtol=1e-5)
    drawn, expected, of_drawn = ops.uniform_candidate_sampler(true, 1, 4, True, 6, remove_accidental_hits=True)
    assert sorted(drawn.tolist()) == [1, 2, 4, 5]
    assert of_drawn.tolist() == [expected.tolist()[0][0]] * 4
    drawn, _, _ = ops.uniform_candidate_sampler(true, 1, 5, True, 5, remove_accidental_hits=True)
    assert sorted(drawn.tolist()) == [0, 1, 2, 3, 4]  # too few others: the true ones are drawn too


def test_drawing_in_place() -> None:
    adjoint.set_seed(14)
    for dtype, low, high in ((adjoint.float16, 0, 2048), (adjoint.uint8, 0, 255), (adjoint.bool_, False, True)):
        x = ops.zeros((20000,), dtype)
        assert x.random_() is x
        assert (x.asnumpy().min(), x.asnumpy().max()) == (low, high)
    assert set(ops.random_(ops.zeros((200,)), -2, 3).tolist()) == {-2, -1, 0, 1, 2}
    with pytest.raises(ValueError, match="For 'random_', the argument 'from_' must be at least -128"):
        ops.zeros((2,), adjoint.int8).random_(0, 129)
    x = ops.zeros((2,))
    assert x.log_normal() is not x  # as in MindSpore: these two give other tensors
    assert x.tolist() == [0, 0]


def test_permutations_and_choices() -> None:
    assert sorted(ops.randperm(50).tolist()) == list(range(50))
    assert ops.randperm(0).shape == (0,)
    # As MindSpore's: seed and offset alone say which order.
    assert ops.randperm(50, 7).tolist() == ops.randperm(50, 7).tolist() != ops.randperm(50, 7, 1).tolist()
    assert ops.randperm(50, offset=2).tolist() == ops.randperm(50, 0, 2).tolist() != ops.randperm(50, 2).tolist()
    with pytest.raises(ValueError, match="offset"):
        ops.randperm(5, 1, -1)
    weights = Tensor([0.0, 1.0, 3.0, 0.0])
    drawn = ops.multinomial(weights, 4000, seed=1).asnumpy()
    assert set(drawn.tolist()) == {1, 2}
    assert abs((drawn == 2).mean() - 0.75) < 0.03
    assert sorted(ops.multinomial(Tensor([1.0, 1.0, 1.0]), 3, replacement=False).tolist()) == [0, 1, 2]


def test_draws_with_replacement() -> None:
    weights = np.random.default_rng(0).random((3, 50)).astype(np.float32)
    weights[0, [0, 7, 49]] = 0
    drawn = ops.multinomial(Tensor(weights), 200_000, seed=5)
    assert drawn.dtype is adjoint.int32 and drawn.shape == (3, 200_000)
    for row, places in zip(weights, drawn.asnumpy(), strict=True):
        share = row / row.sum()
        found = np.bincount(places, minlength=50) / places.size
        assert np.all(np.abs(found - share) <= 5 * np.sqrt(share * (1 - share) / places.size))
    # Memory goes with weights and draws, not with their product, which is 16 TB of numbers here.
    many = ops.multinomial(ops.ones((2_000_000,)), 2_000_000, seed=5).asnumpy()
    assert many.min() < 20 and many.max() > 2_000_000 - 20 and abs(many.mean() / 1e6 - 1) < 0.003


@pytest.mark.parametrize("weights", [[0.0, 0.0, 0.0], [1.0, -1.0, 1.0], [1.0, math.nan, 1.0], [1.0, math.inf, 1.0]])
def test_draws_by_weights_that_are_none(weights: list[float]) -> None:
    """As MindSpore's, every draw is a place."""
    assert set(ops.multinomial(Tensor(weights), 20).tolist()) <= {0, 1, 2}


def test_draws_from_nothing() -> None:
    with pytest.raises(ValueError, match=r"Multinomial.*input.*at least 1 element"):
        ops.multinomial(Tensor(np.zeros((2, 0), np.float32)), 3)


def test_dtypes() -> None:
    assert ops.rand(2).dtype is ops.randn(2).dtype is ops.uniform((2,), 0.0, 1.0).dtype is adjoint.float32
    assert ops.randint(0, 2, (2,)).dtype is ops.randperm(2).dtype is adjoint.int64
    assert P.UniformInt()((2,), 0, 5).dtype is adjoint.int32
    assert ops.rand(2, dtype=adjoint.float16).dtype is ops.rand_like(ops.ones((2,), adjoint.float16)).dtype is adjoint.float16
    assert ops.rand().shape == (1,)
    with pytest.raises(ValueError, match="floating"):
        ops.rand(2, dtype=adjoint.int32)


def test_dropout_gives_the_gradient_to_what_it_kept() -> None:
    x = Tensor(np.arange(1, 101, dtype=np.float32))
    kept: list[Any] = []

    def function(x: Tensor) -> Tensor:
        y = ops.dropout(x, 0.5)
        kept.append(y)
        return y.sum()

    gradient = adjoint.grad(function)(x).asnumpy()
    assert np.array_equal(gradient, np.where(kept[0].asnumpy() == 0, 0, 2))
    assert ops.dropout(x, 0.5, training=False).tolist() == ops.dropout(x, 0.0).tolist() == x.tolist()
    y, mask = P.Dropout(keep_prob=0.5)(x)
    assert np.array_equal(y.asnumpy(), x.asnumpy() * mask.asnumpy() * 2)


def test_dropout_of_everything_is_zeros() -> None:
    x = Tensor([1.0, -2.0, math.inf, -math.inf, math.nan])
    for dtype in (adjoint.float32, adjoint.float16, adjoint.bfloat16):
        y = ops.dropout(x.astype(dtype), 1.0)
        assert y.dtype == dtype and y.tolist() == [0.0] * 5
    assert adjoint.grad(lambda x: (ops.dropout(x, 1.0) * math.inf).sum())(x).tolist() == [0.0] * 5


def test_parameters_of_a_distribution_receive_gradients() -> None:
    adjoint.set_seed(3)
    drawn = ops.standard_normal((5,)).asnumpy()
    adjoint.set_seed(3)
    mean, deviation = adjoint.grad(lambda m, s: ops.normal((5,), m, s).sum(), (0, 1))(Tensor([1.0]), Tensor([2.0]))
    assert mean.tolist() == [5.0]
    np.testing.assert_allclose(deviation.asnumpy(), [drawn.sum()], rtol=1e-5)


def test_limits_of_integers_are_single_numbers() -> None:
    assert P.UniformInt()((4,), Tensor([3]), Tensor(4)).tolist() == [3, 3, 3, 3]
    with pytest.raises(ValueError, match="For 'Uniform', the argument 'maxval' must be a Tensor of one element"):
        P.UniformInt()((2,), 0, Tensor([1, 2]))
