"""PSNR, SSIM and MSSSIM against MindSpore 2.10's answers (recorded in graph mode, where it computes them) and their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn

random = np.random.default_rng(0)
_place = np.arange(2 * 3 * 16 * 16, dtype=np.float32).reshape(2, 3, 16, 16)
ONE = Tensor(0.5 + 0.5 * np.sin(_place * 0.7))
OTHER = Tensor(0.5 + 0.4 * np.sin(_place * 0.7 + 0.3 * np.cos(_place)))


@pytest.mark.parametrize(("cell", "expected"), [
    (nn.PSNR(), [20.2329, 20.2506]),
    (nn.PSNR(255), [68.3637, 68.3814]),
    (nn.SSIM(), [0.950709, 0.949424]),
    (nn.SSIM(2.0, 4, 1.0, 0.02, 0.05), [0.949392, 0.94907]),
    (nn.MSSSIM(power_factors=(0.5, 0.3), filter_size=5), [0.96336, 0.962787]),
])
def test_recorded_answers(cell: nn.Cell, expected: list[float]) -> None:
    found = cell(ONE, OTHER)
    assert found.dtype is ms.float32
    np.testing.assert_allclose(found.asnumpy(), expected, 2e-5)
    np.testing.assert_array_equal(ms.jit(lambda a, b: cell(a, b))(ONE, OTHER).asnumpy(), found.asnumpy())
    slope = ms.grad(lambda a: cell(a, OTHER).sum())(ONE).asnumpy().astype(np.float64)
    direction = random.normal(size=slope.shape).astype(np.float32)
    step = 1e-2
    ends = [float(cell(Tensor(ONE.asnumpy() + sign * step * direction), OTHER).sum()) for sign in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx((slope * direction).sum(), rel=0.02)


def test_equal_images_and_empty_batches() -> None:
    assert np.isinf(nn.PSNR()(ONE, ONE).asnumpy()).all()
    for cell in (nn.SSIM(), nn.MSSSIM(power_factors=(0.5, 0.3), filter_size=5)):
        np.testing.assert_allclose(cell(ONE, ONE).asnumpy(), 1.0, 1e-6)
        assert cell(ONE[:0], ONE[:0]).shape == (0,)
    np.testing.assert_array_equal(nn.MSSSIM(power_factors=(0.5, 0.3), filter_size=5)(ONE, 1 - ONE).asnumpy(), 0)


def test_mistakes_name_the_layer_and_the_argument() -> None:
    for call, kind, text in (
        (lambda: nn.PSNR(0), ValueError, "For 'PSNR', the argument 'max_val' must be greater than 0, but got 0"),
        (lambda: nn.PSNR(True), TypeError, "For 'PSNR', the argument 'max_val' must be an int or a float, but got True"),
        (lambda: nn.SSIM(filter_sigma=1), TypeError, "For 'SSIM', the argument 'filter_sigma' must be a float, but got 1"),
        (lambda: nn.SSIM()(ONE[:, :, :5], OTHER[:, :, :5]), ValueError, "must be at least as high and as wide as 'filter_size', 11"),
        (lambda: nn.SSIM()(ONE, OTHER[:1]), ValueError, "the arguments 'img1' and 'img2' must have the same shape"),
        (lambda: nn.SSIM()(ONE, OTHER.astype(ms.float16)), TypeError, "must have the same dtype, but got Float32 and Float16"),
        (lambda: nn.SSIM()(ONE.astype(ms.int32), OTHER.astype(ms.int32)), TypeError, "must be of Float32 or Float16, but got Int32"),
        (lambda: nn.MSSSIM()(ONE, OTHER), ValueError, r"'filter_size', 11, times 2\^4, but got \(2, 3, 16, 16\)"),
        (lambda: nn.MSSSIM(power_factors=()), TypeError, "'power_factors' must be a tuple or list with at least one number"),
    ):
        with pytest.raises(kind, match=text):
            call()
