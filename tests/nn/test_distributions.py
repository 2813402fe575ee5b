"""Distributions and bijectors against what they mean: densities are integrated, probabilities are differences, bijectors are inverted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn
from adjoint.nn.probability import bijector, distribution

Array = np.ndarray[Any, Any]

REAL: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], float, float]] = {
    "Normal": ((1.0, 2.0), (0.5, 1.5), -24.0, 26.0), "Uniform": ((0.0, 2.0), (-1.0, 5.0), 0.0, 2.0),
    "Logistic": ((1.0, 2.0), (), -100.0, 100.0), "Gumbel": ((1.0, 2.0), (0.5, 1.5), -8.0, 90.0),
    "Exponential": ((0.7,), (1.3,), 0.0, 80.0), "Gamma": (([2.5], [3.0]), (1.5, 2.5), 0.0, 30.0),
    "Beta": (([3.5], [3.0]), (1.5, 2.5), 0.0, 1.0), "LogNormal": ((0.2, 0.4), (0.5, 1.5), 0.0, 60.0),
    "Cauchy": ((0.5, 2.0), (), -50.0, 50.0), "Laplace": ((0.5, 2.0), (), -80.0, 81.0),
    "StudentT": ((7.0, 0.5, 2.0), (), -400.0, 401.0), "HalfNormal": ((0.0, 2.0), (), 0.0, 30.0),
}
"""Parameters of a distribution, those of another one to compare it with, and where nearly all of its probability is."""
WHOLE: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], int]] = {
    "Bernoulli": ((0.3,), (0.6,), 2), "Geometric": ((0.3,), (0.6,), 120), "Categorical": (([0.2, 0.3, 0.5],), ([0.1, 0.5, 0.4],), 3),
    "Poisson": (([2.5],), (), 60),
}


def doubled(name: str, parameters: tuple[Any, ...]) -> distribution.Distribution:
    return getattr(distribution, name)(*parameters, dtype=ms.float64)


def numbers(x: Tensor) -> Array:
    return x.asnumpy().astype(np.float64).reshape(-1)


def agree(found: Tensor, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(numbers(found), expected, tolerance, tolerance)


def information(name: str, law: distribution.Distribution, other: tuple[Any, ...], p: Array, log_p: Array, x: Tensor,
                total: Callable[[Array], Any]) -> None:
    """Compare entropy and divergence with what their definitions give."""
    own = np.where(p > 0, log_p, 0.0)
    if name not in ("Laplace", "StudentT", "HalfNormal", "Poisson"):
        agree(law.entropy(), -total(p * own), 2e-5)
    if other:
        kept = tuple([q] if name in ("Gamma", "Beta") else q for q in other)
        theirs = np.where(p > 0, numbers(doubled(name, kept).log_prob(x)), 0.0)
        given = [Tensor(q, ms.float64) for q in other]
        agree(law.kl_loss(name, *given), total(p * (own - theirs)), 1e-4)
        agree(law.cross_entropy(name, *given), -total(p * theirs), 1e-4)


@pytest.mark.parametrize("name", REAL)
def test_a_density_is_what_the_other_functions_are_the_integrals_of(name: str) -> None:
    parameters, other, low, high = REAL[name]
    law = doubled(name, parameters)
    edges = np.linspace(low, high, 20_001)
    middle, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    x = Tensor(middle, ms.float64)
    p, log_p = numbers(law.prob(x)), numbers(law.log_prob(x))

    def total(f: Array) -> Any:
        return f.sum() * width

    if name != "Cauchy":
        np.testing.assert_allclose(total(p), 1.0, 2e-5)
    if name not in ("Laplace", "StudentT", "HalfNormal"):
        if name == "Beta":
            with pytest.raises(NotImplementedError, match="For 'Beta', cdf is not defined"):
                law.cdf(x)
        else:
            at = Tensor(edges[::2_000], ms.float64)
            start = numbers(law.cdf(Tensor([low], ms.float64)))
            summed = start + np.concatenate([[0.0], np.cumsum(p) * width])[::2_000]
            agree(law.cdf(at), summed, 2e-5)
            agree(law.survival_function(at), 1 - summed, 2e-5)
            inner = Tensor(edges[200:19_800:2_000], ms.float64)
            agree(law.log_cdf(inner), np.log(numbers(law.cdf(inner))))
            agree(law.log_survival(inner), np.log(numbers(law.survival_function(inner))))
        if name != "Cauchy":
            mean = total(p * middle)
            agree(law.mean(), mean, 1e-4)
            agree(law.var(), total(p * (middle - mean) ** 2), 1e-4)
            agree(law.sd(), math.sqrt(total(p * (middle - mean) ** 2)), 1e-4)
        if name != "Uniform":
            agree(law.mode(), middle[p.argmax()], 2 * width)
    if name != "Cauchy":  # its tails are too long for sums; `test_recorded_numbers` has it
        information(name, law, other, p, log_p, x, total)


@pytest.mark.parametrize("name", WHOLE)
def test_probabilities_of_whole_numbers_add_up(name: str) -> None:
    parameters, other, count = WHOLE[name]
    law = doubled(name, parameters)
    k = np.arange(float(count))
    x = Tensor(k, ms.float64)
    p, log_p = numbers(law.prob(x)), numbers(law.log_prob(x))
    agree(law.cdf(x), p.cumsum())
    agree(law.survival_function(x), 1 - p.cumsum())
    assert numbers(law.cdf(x - 0.5))[0] == 0 == numbers(law.cdf(Tensor([-7.0], ms.float64)))[0]
    mean = (p * k).sum()
    agree(law.mean(), mean)
    agree(law.var(), (p * (k - mean) ** 2).sum())
    agree(law.mode(), k[p.argmax()])
    information(name, law, other, p, log_p, x, np.sum)


def test_recorded_numbers() -> None:
    """Of MindSpore 2.10: shapes, kinds of results, and what integrals above do not cover."""
    cauchy = distribution.Cauchy(1.0, 2.0)
    assert [round(float(v), 5) for v in (cauchy.entropy(), cauchy.kl_loss("Cauchy", Tensor(0.5), Tensor(1.5)))] == [3.22417, 0.04082]
    np.testing.assert_allclose(numbers(cauchy.cdf(Tensor([-2.0, 1.5]))), [0.187167, 0.577979], 1e-5)
    rows = distribution.Categorical([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    assert rows.mean().shape == (2, 1) and rows.mode().asnumpy().tolist() == [2, 0] and rows.mode().dtype is ms.int32
    np.testing.assert_allclose(rows.prob(Tensor([[0, 1], [2, 7], [1, -1]])).asnumpy(), [[0.2, 0.3], [0.5, np.nan], [0.3, np.nan]], 1e-6)
    assert rows.sample((3, 4)).shape == (3, 4, 2) and (rows.batch_shape, rows.broadcast_shape) == ((2, 3), (2,))
    assert numbers(distribution.Geometric(0.3).prob(Tensor([3.5])))[0] == pytest.approx(0.1029)
    assert numbers(distribution.Poisson([3.0]).log_prob(Tensor([2.5])))[0] == pytest.approx(-1.454443, rel=2e-6)
    assert numbers(distribution.HalfNormal(1.0, 2.0).prob(Tensor([-1.0, 0.0])))[1] == pytest.approx(0.352065)
    assert np.isinf(numbers(distribution.Uniform(0.0, 1.0).kl_loss("Uniform", Tensor(0.5), Tensor(2.0)))).all()


def test_values_at_the_ends_and_their_gradients() -> None:
    """Densities at 0, where a logarithm is infinite, and outside; the gradient there is that of the side which is inside."""
    one = Tensor([0.0, 1.0])
    agree(distribution.Beta([1.0], [1.0]).log_prob(one), [0, 0])
    agree(distribution.Gamma([1.0], [2.0]).prob(one), [2, 2 * math.exp(-2)])
    outside = Tensor([-1.0, 0.0, 2.0])
    for law, slope in ((distribution.Exponential(0.5), [0, -0.5, -0.5]), (distribution.Poisson([1.0]), [0, 0.577216, -0.922784])):
        def total(x: Tensor, law: distribution.Distribution = law) -> Tensor:
            return law.log_prob(x).sum()

        assert numbers(law.prob(outside))[0] == 0
        agree(ms.grad(total)(outside), slope, 1e-5)
    far = distribution.Logistic(0.0, 1.0)
    agree(ms.grad(lambda x: far.log_prob(x).sum())(Tensor([-200.0, 0.0, 200.0])), [1, 0, -1])
    # In the tail, where 1 - cdf is 0.
    agree(distribution.Normal(0.0, 1.0).log_survival(Tensor([9.0])), [-43.628149], 1e-6)


class Sampled(nn.Cell):
    """Draws and scores, with a mean that is trained."""

    def __init__(self, mean: Parameter):
        super().__init__()
        self.law = distribution.Normal(mean, 2.0)

    def construct(self, x: Tensor) -> Tensor:
        return self.law.log_prob(x).mean() + self.law.kl_loss("Normal", Tensor(0.0), Tensor(1.0)) + self.law("sample", (3,)).sum()


def test_in_graphs_with_a_parameter() -> None:
    """Bits and random numbers are those of eager mode; samples pass the gradient on."""
    outcomes: list[Any] = []
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        ms.set_context(mode=mode)
        ms.set_seed(3)
        cell = Sampled(Parameter(Tensor(0.5), name="center"))
        assert [p.name for p in cell.get_parameters()] == ["law._place"]
        value, slope = ms.value_and_grad(cell, None, cell.trainable_params())(Tensor([1.0, 2.0, 4.0]))
        outcomes.append((value.asnumpy().tolist(), slope[0].asnumpy().tolist()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1] == pytest.approx((7 / 3 - 0.5) / 4 + 0.5 + 3)


@pytest.mark.parametrize("name", [name for name in {**REAL, **WHOLE} if name not in ("Laplace", "StudentT", "HalfNormal")])
def test_samples_have_the_mean_and_the_variance(name: str) -> None:
    ms.set_seed(11)
    law = getattr(distribution, name)(*{**REAL, **WHOLE}[name][0])
    drawn = law.sample((20_000,))
    assert drawn.dtype is law.dtype and drawn.shape == (20_000, *law.broadcast_shape)
    again = law.sample((20_000,))
    assert (drawn.asnumpy() != again.asnumpy()).any() and law.sample((0, 2)).shape == (0, 2, *law.broadcast_shape)
    if name == "Cauchy":
        agree(law.cdf(Tensor(np.median(drawn.asnumpy()))), [0.5], 0.02)
        return
    deviation = float(numbers(law.sd())[0])
    assert abs(numbers(drawn).mean() - numbers(law.mean())[0]) < 4 * deviation / math.sqrt(20_000)
    assert numbers(drawn).std() == pytest.approx(deviation, rel=0.06)


BIJECTORS = (bijector.Exp(), bijector.PowerTransform(2.0), bijector.PowerTransform([0.5]), bijector.ScalarAffine(2.0, 3.0),
             bijector.ScalarAffine(-2.0, 3.0), bijector.Softplus(2.0), bijector.GumbelCDF(1.0, 2.0),
             bijector.Invert(bijector.GumbelCDF(1.0, 2.0)))


@pytest.mark.parametrize("function", BIJECTORS, ids=lambda b: b.name)
def test_bijectors_have_an_inverse_and_the_slope_that_they_say(function: bijector.Bijector) -> None:
    x = Tensor([0.2, 0.7], ms.float64)
    y = function.forward(x)
    agree(function("inverse", y), numbers(x))
    slope = numbers(ms.grad(lambda x: function.forward(x).sum())(x))
    agree(function.forward_log_jacobian(x) + x * 0, np.log(np.abs(slope)))
    agree(function.inverse_log_jacobian(y) + x * 0, -np.log(np.abs(slope)))
    falls = function.falls()
    assert bool((slope < 0).all()) == (falls is not None and bool(falls.asnumpy().all()))


def test_a_transformed_distribution_follows_the_bijector() -> None:
    affine = bijector.ScalarAffine(-2.0, 3.0)(distribution.Normal(1.0, 2.0))
    assert isinstance(affine, distribution.TransformedDistribution) and affine.is_linear_transformation
    same, x = distribution.Normal(1.0, 4.0), Tensor([1.0, 2.0, -5.0])
    for name in ("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival"):
        agree(getattr(affine, name)(x), numbers(getattr(same, name)(x)), 1e-5)
    assert float(affine.mean()) == 1.0
    curved = distribution.TransformedDistribution(bijector.Exp(), distribution.Normal(), name="curved")
    x = Tensor([0.5, 2.0])
    agree(curved.log_prob(x, Tensor(0.2), Tensor(0.4)), numbers(distribution.LogNormal(0.2, 0.4).log_prob(x)))
    with pytest.raises(ValueError, match="the mean is known only of linear bijectors, but got 'Exp'"):
        curved.mean(Tensor(0.2), Tensor(0.4))


class Doubled(distribution.Distribution):
    """A user's own: what it does not define is derived."""

    def __init__(self, a: Any = None, seed: int | None = None, dtype: Any = ms.float32, name: str = "Doubled"):
        super().__init__(seed, dtype, name, {"a": a, "param_dict": {"a": a}})
        self.a = self._add_parameter(a, "a")

    def _log_prob(self, value: Any, a: Any = None) -> Tensor:
        return -self._check_value(value, "value") * self._check_param_type(a)

    def _var(self, a: Any = None) -> Tensor:
        return self._check_param_type(a) * 2


def test_a_users_own_distribution() -> None:
    law = Doubled([2.0, 8.0])
    agree(law.prob(Tensor(1.0)), np.exp([-2.0, -8.0]))
    agree(law.sd(), [2.0, 4.0])
    assert (law.batch_shape, law.is_scalar_batch, law.parameters["a"]) == ((2,), False, [2.0, 8.0])
    with pytest.raises(NotImplementedError, match="For 'Doubled', survival_function is not defined"):
        law.log_survival(Tensor(1.0))


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: distribution.Normal(0.0, -1.0), ValueError,
     "For 'Normal', the argument 'sd' must be greater than 0, but got -1.0"),
    (lambda: distribution.Normal(0.0, 1.0, dtype=ms.int32), TypeError,
     "For 'Normal', the argument 'dtype' must be a floating point type"),
    (lambda: distribution.Normal("a", 1.0), TypeError,
     "For 'Normal', the argument 'mean' must be a number, an array of numbers or a Tensor"),
    (lambda: distribution.Normal(0.0, 1.0, seed=-1), ValueError,
     r"the argument 'seed' must be in \[0, 2\*\*63\), but got -1"),
    (lambda: distribution.Normal([0.0, 1.0], [1.0, 2.0, 3.0]), ValueError,
     r"shapes that broadcast, but got \(2,\), \(3,\)"),
    (lambda: distribution.Normal().mean(), TypeError,
     "For 'Normal', the parameter 'mean' must be a Tensor"),
    (lambda: distribution.Normal(0.0, 1.0).log_prob(1.0), TypeError,
     "For 'Normal', the argument 'value' must be a Tensor, but got 1.0"),
    (lambda: distribution.Normal(0.0, 1.0).kl_loss("Gamma", Tensor(0.0), Tensor(1.0)), ValueError,
     "must be 'Normal', but got 'Gamma'"),
    (lambda: distribution.Normal(0.0, 1.0).sample(2), TypeError,
     "For 'Normal', the argument 'shape' must be a tuple, but got 2"),
    (lambda: distribution.Normal(0.0, 1.0)("nothing"), NotImplementedError,
     "For 'Normal', nothing is not defined"),
    (lambda: distribution.Beta(2.0, 3.0), TypeError,
     "For 'Beta', the argument 'concentration1' must have at least one dimension"),
    (lambda: distribution.Bernoulli(1.0), ValueError,
     "the argument 'probs' must be greater than 0 and less than 1, but got 1.0"),
    (lambda: distribution.Categorical(0.5), ValueError,
     "For 'Categorical', the argument 'probs' must have at least 1 dimension"),
    (lambda: distribution.Categorical([0.2, 0.3]), ValueError,
     "must add up to 1 along the last axis, but got 0.5"),
    (lambda: distribution.Uniform(2.0, 1.0), ValueError,
     "For 'Uniform', the argument 'low' must be less than 'high', but got 2.0 and 1.0"),
    (lambda: distribution.Cauchy(0.0, 1.0).mean(), ValueError,
     "For 'Cauchy', there is no mean"),
    (lambda: distribution.TransformedDistribution(bijector.Exp(), distribution.Bernoulli(0.5)), TypeError,
     "'distribution.dtype' must be a"),
    (lambda: bijector.PowerTransform(-1.0), ValueError,
     "For 'PowerTransform', the argument 'power' must be at least 0, but got -1.0"),
    (lambda: bijector.ScalarAffine(1, 2), TypeError,
     "For 'ScalarAffine', the argument 'scale' must be of a floating point type, but got 1"),
    (lambda: bijector.Exp().forward(Tensor([1])), TypeError,
     "For 'Exp', the argument must be a Tensor of a floating point type"),
    (lambda: bijector.Invert(1), TypeError,  # pyright: ignore[reportArgumentType] - on purpose
     "For 'Invert', the argument 'bijector' must be a Bijector, but got 1"),
])
def test_mistakes_name_the_class_and_the_argument(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
