"""Complex numbers: tensors, conversion, promotion, arithmetic and gradients, in eager mode and in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.ir.ops.complex_arithmetic import complex_product, complex_quotient

Z = np.array([1 + 2j, -0.5 - 1j, 3 - 4j], np.complex64)
W = np.array([2 - 1j, 1j, -1 + 0.5j], np.complex64)
R = np.array([1.0, -2.0, 3.0], np.float32)


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
