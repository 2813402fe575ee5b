"""Complex numbers: tensors, conversion, promotion, arithmetic and gradients, in eager mode and in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.ops.complex_arithmetic import complex_product, complex_quotient

Z = np.array([1 + 2j, -0.5 - 1j, 3 - 4j], np.complex64)
W = np.array([2 - 1j, 1j, -1 + 0.5j], np.complex64)
R = np.array([1.0, -2.0, 3.0], np.float32)
X, ONE = Tensor([1.0, 2.0]), Tensor([1], ms.int32)


def test_tensors_of_complex_numbers_are_made_and_shown() -> None:
    z = Tensor(Z)
    assert z.dtype is ms.complex64 is ms.cfloat and Tensor([1 + 2j]).dtype is Tensor(1j).dtype is ms.complex128 is ms.cdouble
    assert (z.itemsize, z.nbytes, str(z.dtype), repr(z.dtype)) == (8, 24, "Complex64", "mindspore.complex64")
    assert str(z) == str(Z) and repr(z) == "Tensor(shape=[3], dtype=Complex64, value= [1+2j, -0.5-1j, 3-4j])"
    assert repr(Tensor(complex(-0.0, -0.5))) == "Tensor(shape=[], dtype=Complex128, value= -0-0.5j)"
    assert repr(Tensor(Z[:, None])) == "Tensor(shape=[3, 1], dtype=Complex64, value=\n[[1+2j],\n [-0.5-1j],\n [3-4j]])"
    assert np.array_equal(z.asnumpy(), Z) and z.tolist() == Z.tolist() and z[1].item() == Z[1]
    assert Tensor([1.0], ms.complex64).item() == 1 and Tensor([1 + 2j], ms.float32).item() == 1.0
    assert z.is_complex() and ops.is_complex(z) and not ops.is_complex(Tensor(R)) and not ops.is_floating_point(z)


@pytest.mark.parametrize("dtype", [ms.float32, ms.float64, ms.float16, ms.int32, ms.bool_, ms.complex128], ids=str)
def test_a_cast_to_another_kind_takes_the_real_part(dtype: Any) -> None:
    expected = Z.astype(np.complex128) if dtype is ms.complex128 else Z.real.astype(dtype.array)
    assert np.array_equal(Tensor(Z).astype(dtype).asnumpy(), expected)
    assert not Tensor(1j).astype(ms.bool_)  # as in MindSpore


@pytest.mark.parametrize(("other", "dtype"), [
    (Tensor(R), ms.complex64), (Tensor(R, ms.float64), ms.complex128), (Tensor([1, 2, 3]), ms.complex64), (Tensor([True, False, True]),
    ms.complex64), (Tensor(R, ms.float16), ms.complex64), (2, ms.complex64), (2.5, ms.complex64), (1j, ms.complex64),
    (Tensor(Z, ms.complex128), ms.complex128), (np.complex64(2j), ms.complex64),
], ids=str)
def test_promotion(other: Any, dtype: Any) -> None:
    number = other.asnumpy() if isinstance(other, Tensor) else other
    for found, expected in ((Tensor(Z) * other, Z * number), (other + Tensor(Z), number + Z), (other - Tensor(Z), number - Z)):
        assert found.dtype is dtype
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def test_a_complex_number_makes_real_tensors_complex() -> None:
    assert (Tensor(R) * 1j).dtype is (1j + Tensor([1, 2])).dtype is (Tensor([True]) * 1j).dtype is ms.complex64
    assert (Tensor(R, ms.float64) + 1j).dtype is ms.complex128
    assert np.array_equal((Tensor(R) * 1j).asnumpy(), R * 1j)


def bits(x: Any) -> bytes:
    return (x.asnumpy() if isinstance(x, Tensor) else np.ascontiguousarray(x)).tobytes()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_and_quotients_have_stated_bits(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (Tensor((rng.normal(size=1003) + 1j * rng.normal(size=1003)).astype(dtype)) for _ in range(2))
    assert bits(a * b) == bits(complex_product(a.asnumpy(), b.asnumpy()))
    assert bits(a / b) == bits(complex_quotient(a.asnumpy(), b.asnumpy()))
    graph = ms.jit(lambda a, b: (a * b + (1 - 2j)) / b - a.conj() * ops.real(b))
    assert bits(graph(a, b)) == bits((a * b + (1 - 2j)) / b - a.conj() * ops.real(b))


def test_infinite_quotients() -> None:
    with np.errstate(all="ignore"):
        for a, b in ((1 + 1j, 0j), (1, complex(np.inf, 0)), (0j, 0j), (complex(np.inf, 1), 1j), (1e300 + 1e300j, 1e300 + 1e300j)):
            found, expected = (Tensor(complex(a)) / Tensor(complex(b))).item(), np.complex128(a) / np.complex128(b)
            assert np.array_equal([found.real, found.imag], [expected.real, expected.imag], equal_nan=True), (a, b)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers_of_two_have_the_infinities_of_the_exponential(dtype: Any) -> None:
    infinite = [complex(x, y) for x in (np.inf, -np.inf) for y in (np.inf, -np.inf, np.nan, 0.0)]
    z = Tensor(np.array(infinite, dtype))
    found, expected = ops.exp2(z).asnumpy(), ops.exp(z).asnumpy()
    for part, wanted in ((found.real, expected.real), (found.imag, expected.imag)):
        assert np.array_equal(part, wanted, equal_nan=True)
    assert found[0].real == np.inf and found[4] == 0


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_multiply_with_conjugates(jit: bool) -> None:
    def made(f: Any) -> Any:
        return ms.grad(ms.jit(f) if jit else f, (0, 1))(Tensor(Z), Tensor(W))

    dz, dw = made(lambda z, w: z * w)
    assert np.array_equal(dz.asnumpy(), W.conj()) and np.array_equal(dw.asnumpy(), Z.conj())
    dz, dw = made(lambda z, w: z / w)
    np.testing.assert_allclose(dz.asnumpy(), (1 / W).conj(), rtol=1e-6)
    np.testing.assert_allclose(dw.asnumpy(), (-Z / W**2).conj(), rtol=1e-6)
    dz, dw = made(lambda z, w: ops.real(z * w.conj()).sum())
    assert np.array_equal(dz.asnumpy(), W) and np.array_equal(dw.asnumpy(), Z)
    dz, dw = made(lambda z, w: ops.imag(z) + w.astype(ms.float32))
    assert np.array_equal(dz.asnumpy(), [1j] * 3) and np.array_equal(dw.asnumpy(), [1] * 3)


def test_parts() -> None:
    z = Tensor(Z)
    assert np.array_equal(ops.real(z).asnumpy(), Z.real) and np.array_equal(z.imag().asnumpy(), Z.imag)
    assert np.array_equal(ops.conj(z).asnumpy(), Z.conj()) and ops.conj(Tensor(R)) is not None
    assert np.array_equal(ops.Complex()(ops.real(z), ops.imag(z)).asnumpy(), Z)
    assert ops.isreal(Tensor([1 + 0j, 1j])).tolist() == [True, False]
    with pytest.raises(TypeError, match="Float32 or Float64"):
        ops.Complex()(Tensor([1]), Tensor([1]))


@pytest.mark.parametrize("mode", [lambda f: f, ms.jit, ms.vmap], ids=["eager", "jit", "vmap"])
def test_a_sign_has_a_gradient_across_its_direction(mode: Any) -> None:
    def turned(z: Any) -> Any:
        return ops.real(mode(ops.sgn)(z) * Tensor([2 - 1j, 1j, -1 + 0.5j, 1.0])).sum()

    z, h = np.array([1 + 2j, -0.5 - 1j, 3 - 4j, 0]), 1e-6
    found = ms.grad(turned)(Tensor(z)).asnumpy()
    for i, unit in ((i, unit) for i in range(3) for unit in (1, 1j)):
        e = np.zeros(4, complex)
        e[i] = unit * h
        slope = float(turned(Tensor(z + e)) - turned(Tensor(z - e))) / (2 * h)
        assert abs((found[i] * np.conj(unit)).real - slope) < 1e-8
        moved = ms.jvp(turned, Tensor(z), Tensor(e / h))[1]
        assert abs(float(moved) - slope) < 1e-8
    assert found[3] == 0 and not ms.grad(lambda x: ops.sign(x).sum())(Tensor(R)).asnumpy().any()


def test_gradient_of_a_conversion_is_the_real_part() -> None:
    sens = Tensor(np.array([1 + 1j, 2 - 1j, 0.5j], np.complex64))
    (found,) = ops.GradOperation(get_all=True, sens_param=True)(lambda r: r.astype(ms.complex64))(Tensor(R), sens)
    assert found.dtype is ms.float32 and found.tolist() == [1.0, 2.0, 0.0]


def test_no_product_is_fused_with_a_sum() -> None:
    # gcc 12 fuses products into a difference and a sum that lie side by side, whatever its flags say.
    rng = np.random.default_rng(1)
    a, b, c, d = (Tensor(rng.normal(size=1003).astype(np.float32)) for _ in range(4))
    z, w = ops.Complex()(a, b), ops.Complex()(c, d)
    for f in (lambda a, b, c, d: ops.Complex()(a * c - b * d, a * d + b * c),
              lambda a, b, c, d: ops.Complex()(a * c, b * c) + ops.conj(w),
              lambda a, b, c, d: ops.conj(z * a) + w * b - ops.conj(w * z) * z,
              lambda a, b, c, d: ops.Complex()(a * c + d, b * c - a) * ops.Complex()(a, a)):
        assert bits(ms.jit(f)(a, b, c, d)) == bits(f(a, b, c, d))


# In every mode -----------------------------------------------------------------------------------------------------------


def energy(z: Any) -> Any:
    return ops.real(ops.exp(z) * z.conj()).sum()


def by_energy(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The gradient of `energy`: conj(exp(z)) z + exp(z)."""
    return np.conj(np.exp(z)) * z + np.exp(z)


@pytest.mark.parametrize("gradient", [ms.grad(energy), ms.grad(ms.jit(energy)), ms.jit(ms.grad(energy))], ids=["eager", "jit", "inside"])
def test_gradients_are_the_same_in_every_mode(gradient: Any) -> None:
    assert bits(gradient(Tensor(Z))) == bits(ms.grad(energy)(Tensor(Z)))
    np.testing.assert_allclose(gradient(Tensor(Z)).asnumpy(), by_energy(Z), rtol=1e-5)


def test_modes_give_the_same_bits() -> None:
    report = str(ms.compare(energy, Tensor(Z)))
    assert "all modes agree" in report


def test_gradients_of_gradients() -> None:
    z, h = Z.astype(np.complex128), 1e-6
    way = W.astype(np.complex128)
    found = ms.grad(lambda z: ops.real(ms.grad(energy)(z) * Tensor(way)).sum())(Tensor(z)).asnumpy()

    def at(z: Any) -> Any:
        return (by_energy(z) * way).real.sum()

    for i in range(3):
        for unit in (1.0, 1j):
            e = np.zeros(3, np.complex128)
            e[i] = unit * h
            slope = (at(z + e) - at(z - e)) / (2 * h)
            np.testing.assert_allclose((found[i] * np.conj(unit)).real, slope, rtol=1e-6)


def test_tangents_cotangents_and_batches() -> None:
    z, w = Tensor(Z), Tensor(W)
    value, tangent = ms.jvp(lambda z: z * z + z.conj(), z, w)
    np.testing.assert_allclose(value.asnumpy(), Z * Z + Z.conj(), rtol=1e-6)
    np.testing.assert_allclose(tangent.asnumpy(), 2 * Z * W + W.conj(), rtol=1e-6)
    (pulled,) = ms.vjp(lambda z: z * z, z)[1](w)
    np.testing.assert_allclose(pulled.asnumpy(), W * (2 * Z).conj(), rtol=1e-6)
    rows = Tensor(np.stack([Z, W]))
    assert bits(ms.vmap(ms.grad(energy))(rows)) == bits(ops.stack([ms.grad(energy)(z), ms.grad(energy)(w)]))


class Oscillator(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.factor = Parameter(Tensor(W), name="factor")

    def construct(self, z: Any) -> Any:
        z = z * self.factor
        for _ in range(2):
            z = z + self.factor * 1j
        if ops.real(z).sum() > 100:
            z = z * 2
        return z


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_hooks_and_parameters(mode: int) -> None:
    ms.set_context(mode=mode)
    try:
        net, seen = Oscillator(), []
        net.register_forward_hook(lambda cell, inputs, output: seen.append(output.dtype))
        net.register_backward_hook(lambda cell, by_inputs, by_outputs: seen.append(by_outputs[0].dtype))
        net.factor.register_hook(lambda ct: ct * 1j)
        by_z, (by_factor,) = ms.grad(lambda z: ops.real(net(z)).sum(), 0, net.trainable_params())(Tensor(Z))
        assert seen == [ms.complex64, ms.complex64]
        assert np.array_equal(by_z.asnumpy(), W.conj())
        assert np.array_equal(by_factor.asnumpy(), (Z + 2j).conj() * 1j)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_loops_and_conditions_in_graphs() -> None:
    @ms.jit
    def grown(z: Any) -> Any:
        while ops.real(ops.abs(z)).sum() < 50:
            z = z * (1 + 1j)
        return z

    @ms.jit
    def doubled(z: Any) -> Any:
        return z * 2 if z[0] else z

    assert np.array_equal(grown(Tensor(Z)).asnumpy(), Z * -8j)
    assert np.array_equal(ms.grad(lambda z: ops.real(grown(z)).sum())(Tensor(Z)).asnumpy(), [8j] * 3)
    assert doubled(Tensor([2j])).tolist() == [4j] and doubled(Tensor([0j])).tolist() == [0j]
    with pytest.raises(ms.CompileError, match="a complex number is used as one of Python"):
        ms.jit(lambda z: z * z[0].item())(Tensor(Z))


def test_elements_and_fillings() -> None:
    z = Tensor(Z)
    z[0] = 5j
    assert z[0].item() == 5j and complex(z[0]) == 5j and f"{z[0]:.1f}" == "0.0+5.0j"
    assert ops.full((2,), 1 + 2j, dtype=ms.complex64).tolist() == [1 + 2j] * 2
    assert ops.full_like(z, 2j).tolist() == [2j] * 3 and ops.masked_fill(z, z == 5j, 1j)[0].item() == 1j
    assert ops.where(z == 5j, z, 1j).tolist() == [5j, 1j, 1j]
    with pytest.raises(TypeError, match="complex number, but a Float32 is needed"):
        Tensor(R)[0] = 1j


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_checkpoints(format: str, tmp_path: Any) -> None:
    net = Oscillator()
    ms.save_checkpoint(net, str(tmp_path / f"net.{format}"), format=format)
    (loaded,) = ms.load_checkpoint(str(tmp_path / f"net.{format}"), format=format).values()
    assert loaded.dtype is ms.complex64 and bits(loaded) == bits(net.factor)
    if format == "safetensors":
        wide = [{"name": "w", "data": Tensor([1j])}]
        with pytest.raises(Exception, match="the format lacks"):
            ms.save_checkpoint(wide, str(tmp_path / "wide.safetensors"), format=format)


def test_truth_and_counts_look_at_both_parts() -> None:
    z = Tensor([1j, 0j, 2.0])
    assert ops.logical_not(z).tolist() == [False, True, False] and ops.count_nonzero(z).item() == 2
    assert ops.any(z[:1]).item() and bool(z[0]) and ops.nonzero(z).tolist() == [[0], [2]]


def test_norms_and_products() -> None:
    z, w = Tensor(Z), Tensor(W)
    np.testing.assert_allclose(ops.norm(z).asnumpy(), np.linalg.norm(Z), rtol=1e-6)
    assert ops.norm(z).dtype is ops.abs(z).dtype is ms.complex64 and ops.ComplexAbs()(z).dtype is ms.float32
    np.testing.assert_allclose(ops.vecdot(z, w).asnumpy(), np.vdot(Z, W), rtol=1e-6)
    np.testing.assert_allclose(ops.einsum("i,j->ij", z, w).asnumpy(), np.outer(Z, W), rtol=1e-6)
    square = Tensor(np.outer(Z, W))
    for turned in (ops.adjoint(square), square.adjoint(), square.H, square.mH):
        assert np.array_equal(turned.asnumpy(), square.asnumpy().conj().T)
    assert square[0, 0].H.asnumpy() == square.asnumpy()[0, 0].conj()


def test_means_squares_and_writes_keep_the_imaginary_parts() -> None:
    assert ops.SegmentMean()(Tensor(Z), Tensor([0, 0, 1])).tolist() == [(Z[0] + Z[1]) / 2, Z[2]]
    assert ops.SquaredDifference()(Tensor(Z), Tensor(W)).tolist() == ((Z - W) * (Z - W).conj()).tolist()
    kept = Parameter(Tensor(Z), name="kept")
    assert ops.assign_add(kept, Tensor(R)).tolist() == (Z + R).tolist() and ops.assign(kept, Tensor(R)).tolist() == R.tolist()


@pytest.mark.parametrize("call", [
    lambda z: z < z, ops.max, ops.argmax, ops.sort, ops.floor, ops.round, ops.trunc, ops.relu, ops.softmax, ops.erf, ops.cov,
    ops.nan_to_num, lambda z: ops.maximum(z, z), lambda z: ops.clamp(z, 0, 1), lambda z: z // z, lambda z: z % z,
    lambda z: ops.searchsorted(z, z), lambda z: ops.topk(z, 1), lambda z: nn.SGD([Parameter(z)], 0.1),
    ms.numpy.unwrap, ops.var, ops.isposinf, lambda z: ops.copysign(z, 1),
])
def test_what_does_not_take_complex_numbers_says_so(call: Any) -> None:
    with pytest.raises(TypeError, match=r"must|Parameters of floating dtype"):
        call(Tensor(Z))


@pytest.mark.parametrize("call", [
    lambda z: ops.assign(Parameter(Tensor([1.0, 2.0]), name="w"), z), lambda z: ops.assign_add(Parameter(Tensor([1.0, 2.0]), name="w"), z),
    lambda z: ops.bernoulli(z, 0.5), lambda z: ops.multinomial(z, 1), lambda z: ops.binary_cross_entropy(z, z),
    lambda z: ops.rms_norm(z, z), lambda z: ops.bucketize(z, [0.0]), lambda z: ops.randint_like(z, 0, 9), lambda z: ops.mse_loss(X, z),
    lambda z: ops.select_scatter(X[None], z, 0, 0), lambda z: ops.masked_fill(X, X > 0, z[0]), lambda z: ops.nll_loss(X[None], ONE, z),
    lambda z: ops.ResizeArea()(ops.reshape(z, (1, 2, 1, 1)), Tensor([2, 2], ms.int32)), lambda z: ops.SegmentMax()(z, Tensor([0, 0])),
    lambda z: ops.unsorted_segment_min(z, Tensor([0, 0]), 1),
])
def test_what_takes_real_numbers_only_refuses_complex_ones(call: Any) -> None:
    with pytest.raises(TypeError, match="real numbers"):
        call(Tensor([1 + 2j, 0.5]))
