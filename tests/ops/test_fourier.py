"""Fourier transforms: their numbers in all modes are those of NumPy and of sums, and do not depend on what is computed together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.ir.ops.fourier import LARGEST_PRIME, computed_length, rows_of
from adjoint.numpy import fft as numpys
from adjoint.scipy import fft as cosine

Array = Any

LENGTHS = (*range(1, 34), 47, 53, 59, 64, 81, 94, 100, 106, 121, 127, 128, 129, 130, 144, 150, 211, 243, 256, 300, 343, 509, 625, 1000,
           1009, 1024, 2018, 2209, 4096, 7919, 10007)
"""Every short one; primes and twice primes on both sides of LARGEST_PRIME; one sum and two, up to several blocks of columns."""


def drawn(*shape: int, dtype: Any = np.float64) -> Array:
    rng = np.random.default_rng(len(shape) + sum(shape))
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.astype(dtype)


def wrong(value: Any) -> tuple[Any]:
    """Return an argument of a type that the signature excludes."""
    return (value,)


def assert_near(got: Tensor, expected: Array, units: float = 4.0) -> None:
    """The norm of the error is so many units of the precision for each factor of the length at most."""
    found = got.asnumpy()
    assert found.shape == expected.shape
    scale = np.linalg.norm(expected.ravel()) or 1.0
    assert np.linalg.norm((found - expected).ravel()) <= units * np.finfo(found.dtype).eps * scale


@pytest.mark.parametrize(("dtype", "wide"), [(np.complex64, np.complex128), (np.complex128, np.complex128)], ids=["c64", "c128"])
def test_every_kind_of_length(dtype: Any, wide: Any) -> None:
    real = np.float32 if dtype is np.complex64 else np.float64
    for n in LENGTHS:
        units = 12.0 if computed_length(n) != n or computed_length(max(1, n // 2)) != max(1, n // 2) else 6.0
        x, r = drawn(2, n, dtype=dtype), drawn(2, n, dtype=real)
        half = drawn(2, n // 2 + 1, dtype=dtype)
        assert_near(ops.fft(Tensor(x)), np.fft.fft(x.astype(wide)), units)
        assert_near(ops.ifft(Tensor(x)), np.fft.ifft(x.astype(wide)), units)
        assert_near(ops.rfft(Tensor(r)), np.fft.rfft(r.astype(np.float64)), units)
        assert_near(ops.irfft(Tensor(half), n), np.fft.irfft(half.astype(wide), n), units)


def test_the_error_is_that_of_numpy() -> None:
    # Against sums with exact angles, in longer floats: the errors of both are a few units of the precision.
    for n in (64, 101, 360, 997):
        x = drawn(n, dtype=np.complex128)
        angles = np.longdouble(-2) * (np.outer(np.arange(n), np.arange(n)) % n) / n * np.longdouble("3.14159265358979323846264338327950288")
        exact = (np.cos(angles) * x.real - np.sin(angles) * x.imag).sum(1) + 1j * (np.sin(angles) * x.real + np.cos(angles) * x.imag).sum(1)
        ours, theirs = (np.linalg.norm(found - exact) / np.linalg.norm(exact) for found in (ops.fft(Tensor(x)).asnumpy(), np.fft.fft(x)))
        assert ours <= 2 * theirs + 2**-53


def test_a_line_has_the_same_bits_whatever_is_computed_with_it() -> None:
    for n in (12, 100, 150, 1009):
        for dtype in (np.complex64, np.float32):
            lines = drawn(37, n, dtype=dtype)
            transform = ops.fft if dtype is np.complex64 else ops.rfft
            together = transform(Tensor(lines)).asnumpy()
            columns = transform(Tensor(lines.T.copy()), None, 0).asnumpy()
            blocks = transform(Tensor(np.stack([lines[:5].T, lines[5:10].T])), None, 1).asnumpy()
            for i in (0, 4, 36):
                assert transform(Tensor(lines[i])).asnumpy().tobytes() == together[i].tobytes() == columns[:, i].tobytes()
            assert blocks[1, :, 4].tobytes() == together[9].tobytes()


def test_all_modes_have_the_same_bits() -> None:
    @ms.jit
    def both(x: Tensor) -> Any:
        return ops.fft(x), ops.irfft(ops.rfft(x) * 2.0, x.shape[-1])

    for n in (6, 7, 9, 100, 106, 300):  # from the third on one graph for any length
        x = Tensor(drawn(3, n, dtype=np.float32))
        expected = ops.fft(x), ops.irfft(ops.rfft(x) * 2.0, n)
        for got, wanted in zip(both(x), expected, strict=True):
            assert got.asnumpy().tobytes() == wanted.asnumpy().tobytes()


def test_each_function_is_numpys() -> None:
    x = drawn(3, 4, 5)
    z = drawn(3, 4, 5, dtype=np.complex128)
    norm: Any
    for norm, n, dim in itertools.product((None, "ortho", "forward"), (None, 1, 3, 7), (-1, 0)):
        for name, given in itertools.product(("fft", "ifft", "irfft", "hfft"), (x, z)):
            assert_near(getattr(ops, name)(Tensor(given), n, dim, norm), getattr(np.fft, name)(given, n, dim, norm))
        for name in ("rfft", "ihfft"):
            assert_near(getattr(ops, name)(Tensor(x), n, dim, norm), getattr(np.fft, name)(x, n, dim, norm))
    forms = ((None, (-2, -1)), ((2, 7), (0, 2)), ((3, 3), (2, 0)), (None, (1,)))
    for norm, (s, dim) in itertools.product((None, "ortho", "forward"), forms):
        for name, given in (("fft", x), ("ifft", z), ("irfft", z), ("rfft", x)):
            expected = getattr(np.fft, f"{name}n")(given, s, dim, norm)
            assert_near(getattr(ops, f"{name}2")(Tensor(given), s, dim, norm), expected)
            assert_near(getattr(ops, f"{name}n")(Tensor(given), s, dim, norm), expected)
        # The forward transform of the others, and a real one of half a spectrum along the last axis; and back.
        wide = ops.hfftn(Tensor(z), s, dim, norm)
        assert_near(ops.hfft2(Tensor(z), s, dim, norm), wide.asnumpy())
        back: Any = {None: "forward", "forward": "backward"}.get(norm, norm)
        assert_near(wide, np.fft.irfftn(z.conj(), s, dim, back))
        assert_near(ops.ihfftn(Tensor(x), s, dim, norm), np.fft.rfftn(x, s, dim, back).conj())
        assert_near(ops.ihfft2(Tensor(x), s, dim, norm), np.fft.rfftn(x, s, dim, back).conj())
    assert_near(ops.fftn(Tensor(z)), np.fft.fftn(z))
    assert_near(ops.irfftn(Tensor(z), (6, 4)), np.fft.irfftn(z, (6, 4), (1, 2)))


def test_numpys_names_of_arguments() -> None:
    z, x = Tensor(drawn(2, 3, dtype=np.complex64)), Tensor(drawn(2, 3, dtype=np.float32))
    for name in numpys.__all__:
        ours, theirs = getattr(ops, name), getattr(numpys, name)
        given = x if name.startswith(("rfft", "ihfft")) else z
        if name.endswith("freq"):
            assert theirs(n=4, d=0.5).asnumpy().tobytes() == ours(4, 0.5).asnumpy().tobytes()
        elif name.endswith("shift"):
            assert theirs(x=x, axes=0).asnumpy().tobytes() == ours(x, 0).asnumpy().tobytes()
        elif name.endswith(("2", "n")):
            found, expected = theirs(a=given, s=(2, 2), axes=(1, 0), norm="ortho"), ours(given, (2, 2), (1, 0), "ortho")
            assert found.asnumpy().tobytes() == expected.asnumpy().tobytes()
        else:
            assert theirs(a=given, n=4, axis=0, norm="forward").asnumpy().tobytes() == ours(given, 4, 0, "forward").asnumpy().tobytes()
    with pytest.raises(ValueError, match="'axis' must be in"):
        numpys.fft(x, axis=2)
    with pytest.raises(TypeError, match="'a' must be a Tensor"):
        numpys.fft2(3)


def test_frequencies_and_shifts() -> None:
    for n in (1, 2, 5, 6):
        assert_near(ops.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), 1.0)
        assert_near(ops.rfftfreq(n, 0.5), np.fft.rfftfreq(n, 0.5), 1.0)
        x = drawn(n, 3)
        for dim in (None, 0, (1, 0), -1):
            assert np.array_equal(ops.fftshift(Tensor(x), dim).asnumpy(), np.fft.fftshift(x, dim))
            assert np.array_equal(ops.ifftshift(Tensor(x), dim).asnumpy(), np.fft.ifftshift(x, dim))
    assert ops.fftfreq(3, 1.0, ms.float16).dtype == ms.float16


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.int16, ms.int32, ms.int64], ids=str)
def test_other_dtypes_become_single(dtype: Any) -> None:
    x = Tensor([[1, -2, 3], [4, 0, -1]], dtype)
    assert_near(ops.fft(x), np.fft.fft(np.array([[1.0, -2, 3], [4, 0, -1]])))
    assert ops.fft(x).dtype == ops.rfft(x).dtype == ms.complex64
    assert ops.irfft(x).dtype == ms.float32


def test_a_complex_half() -> None:
    # MindSpore takes complex numbers in rfft too: the first half of the whole transform.
    z = drawn(2, 6, dtype=np.complex128)
    assert_near(ops.rfft(Tensor(z)), np.fft.fft(z)[:, :4])
    assert_near(ops.ihfft(Tensor(z)), np.fft.ifft(z)[:, :4])


def test_gradients() -> None:
    x, a, b = drawn(2, 7), drawn(2, 5), drawn(5, 2).T.copy()
    number = ops.Complex()
    weights = Tensor(drawn(2, 7, dtype=np.complex128))
    ms.check_gradients(lambda x: ops.real(ops.fft(x) * weights).sum(), Tensor(x))
    ms.check_gradients(lambda x: (ops.view_as_real(ops.rfft2(x, (3, 6))) ** 3).sum(), Tensor(x))
    ms.check_gradients(lambda a, b: (ops.irfft(number(a, b), 7) ** 3).sum(), Tensor(a), Tensor(b))
    ms.check_gradients(lambda a, b: (ops.hfftn(number(a, b), (3, 6)) ** 3).sum(), Tensor(a), Tensor(b))
    ms.check_gradients(lambda x: (ops.view_as_real(ops.stft(x, 4, return_complex=True)) ** 3).sum(), Tensor(drawn(9)))
    ms.check_gradients(lambda x: (cosine.dctn(x) ** 3).sum(), Tensor(x))


def test_a_batch_of_examples() -> None:
    x = drawn(4, 3, 10, dtype=np.float32)
    for transform in (ops.rfft, ops.fft2, lambda x: ops.fft(x, None, 0)):
        loop = np.stack([transform(Tensor(example)).asnumpy() for example in x])
        assert ms.vmap(transform)(Tensor(x)).asnumpy().tobytes() == loop.tobytes()


def test_fft_with_size() -> None:
    x, z = drawn(2, 3, 4, dtype=np.float32), drawn(2, 3, 4, dtype=np.complex64)
    axes = (1, 2)
    for inverse, real, onesided, given, expected in (
        (False, False, True, z, np.fft.fftn(z, axes=axes)),
        (True, False, True, z, np.fft.ifftn(z, axes=axes)),
        (False, True, True, x, np.fft.rfftn(x, axes=axes)),
        (False, True, False, x, np.fft.fftn(x, axes=axes)),
        (True, True, True, z, np.fft.irfftn(z, axes=axes)),
        (True, True, False, z, np.fft.ifftn(z, axes=axes).real),
    ):
        assert_near(ops.FFTWithSize(2, inverse, real, "backward", onesided)(Tensor(given)), expected)
    assert_near(ops.FFTWithSize(1, True, True, signal_sizes=(5,))(Tensor(z)), np.fft.irfft(z, 5))
    with pytest.raises(TypeError, match="'x' must be a Tensor of a complex type"):
        ops.FFTWithSize(1, False, False)(Tensor(x))
    with pytest.raises(RuntimeError, match="'signal_ndim' must be in 1"):
        ops.FFTWithSize(4, False, True)(Tensor(x))


@pytest.mark.parametrize("pad_mode", ["REFLECT", "CONSTANT", "SYMMETRIC"])
def test_frames(pad_mode: str) -> None:
    x, window = drawn(2, 21), drawn(5)
    for n_fft, center in ((8, True), (7, True), (8, False)):
        hop, inside = 3, np.zeros(n_fft)
        inside[(n_fft - 5) // 2 :][:5] = window
        mode: Any = pad_mode.lower()
        wide = np.pad(x, ((0, 0), (n_fft // 2,) * 2), mode=mode) if center else x
        starts = range(0, wide.shape[1] - n_fft + 1, hop)
        expected = np.stack([np.fft.fft(wide[:, at : at + n_fft] * inside) for at in starts], -1)
        given = Tensor(x), n_fft, hop, 5, Tensor(window), center, pad_mode
        assert_near(ops.stft(*given, return_complex=True), expected[:, : n_fft // 2 + 1])
        assert_near(ops.stft(*given, onesided=False, return_complex=True), expected)
        assert_near(ops.stft(*given, normalized=True)[..., 1], expected[:, : n_fft // 2 + 1].imag / np.sqrt(n_fft), 8.0)
    assert_near(ops.STFT(8, 3, 5, False, True, True)(Tensor(x), Tensor(window)),
                ops.stft(Tensor(x), 8, 3, 5, Tensor(window), False, return_complex=True).asnumpy())


def test_cosines() -> None:
    for n in (1, 2, 5, 8, 130):
        x = drawn(3, n)
        k, j = np.arange(n)[:, None], np.arange(n)
        matrix = np.sqrt(np.where(k == 0, 1, 2) / n) * np.cos(np.pi * (k * (2 * j + 1) % (4 * n)) / (2 * n))
        assert_near(cosine.dct(Tensor(x)), x @ matrix.T, 8.0)
        assert_near(cosine.idct(cosine.dct(Tensor(x))), x, 8.0)
        assert_near(cosine.idctn(cosine.dctn(Tensor(x))), x, 16.0)
        assert_near(cosine.dct(Tensor(x + 2j * x)), (x + 2j * x) @ matrix.T, 8.0)
    assert cosine.dct(Tensor(drawn(2, 3)), n=4, axis=0).shape == (4, 3)
    with pytest.raises(ValueError, match="'type' must be 2"):
        cosine.dct(Tensor([1.0]), type=3)
    with pytest.raises(ValueError, match="'norm' must be 'ortho' or None"):
        cosine.idctn(Tensor([1.0]), norm="forward")


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda x: ops.fft(x, 0), ValueError, "'n' must be at least 1, but got 0"),
    (lambda x: ops.fft(x, *wrong(2.0)), TypeError, "'n' must be an int"),
    (lambda x: ops.fft(x, dim=2), ValueError, "'dim' must be in"),
    (lambda x: ops.fft(x, norm="x"), ValueError, "'norm' must be one of"),
    (lambda x: ops.fft(x, None, -1, *wrong(1)), TypeError, "'norm' must be one of"),
    (lambda x: ops.fft(x.bool()), TypeError, "'input' must be a Tensor of floats"),
    (lambda x: ops.fft(x[0, 0]), ValueError, "'input' must be of at least 1 dimension"),
    (lambda x: ops.rfft(x[:, :0]), ValueError, "at least 1 element along the axis"),
    (lambda x: ops.irfft(x[:, :1]), ValueError, "'input' must be of at least 2 elements along axis 1"),
    (lambda x: ops.fft2(x, (2,)), ValueError, "'s' must be as many sizes"),
    (lambda x: ops.fft2(x, *wrong(3)), TypeError, "'s' must be a tuple of ints"),
    (lambda x: ops.fft2(x, dim=(0, 0)), ValueError, "'dim' must be axes without repetition"),
    (lambda x: ops.fft2(x, None, *wrong(0)), TypeError, "'dim' must be a tuple of ints"),
    (lambda x: ops.fftn(x, (2, 2, 2)), ValueError, "'s' must be at most 2 sizes"),
    (lambda x: ops.fftfreq(0), ValueError, "'n' must be at least 1"),
    (lambda x: ops.fftfreq(3, 1), TypeError, "'d' must be a float"),
    (lambda x: ops.stft(x, 2, 0), ValueError, "'hop_length' must be at least 1"),
    (lambda x: ops.stft(x, 9, center=False), ValueError, "'n_fft' must be in 1..3"),
    (lambda x: ops.stft(ops.fft(x), 2, 1, onesided=True), ValueError, "'onesided' must be False"),
])
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(Tensor(drawn(2, 3, dtype=np.float32)))


def test_lengths_that_are_computed() -> None:
    for n in range(1, 1500):
        m = computed_length(n)
        assert m % rows_of(m) == 0
        if m != n:
            assert 2 * n - 1 <= m <= 4 * n
            assert computed_length(m) == m
            assert any(n % p == 0 for p in range(LARGEST_PRIME + 1, n + 1) if all(p % d for d in range(2, int(p**0.5) + 1)))
