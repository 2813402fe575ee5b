"""Pooling, convolution and resizing over windows that are not on a regular grid, against plain loops over them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, nn, ops
from adjoint.ops import operations as P


def _starts(share: float, size: int, kernel: int, count: int) -> list[int]:
    step = (size - kernel) / (count - 1) if count > 1 else 0.0
    return [int((i + share) * step) - int(share * step) for i in range(count - 1)] + [size - kernel]


@pytest.mark.parametrize(("kernel", "output", "sizes"), [((2, 3), (4, 2), (7, 8)), ((1, 2, 3), (3, 1, 2), (4, 4, 5))])
def test_windows_of_one_size_at_random_places(kernel: Any, output: Any, sizes: Any) -> None:
    """The share of the width is before that of the height in images, and in volumes they are in the order of the axes."""
    rng = np.random.default_rng(3)
    x, shares = rng.normal(size=(2, 2, *sizes)), rng.uniform(size=(2, 2, len(sizes)))
    rule = ops.fractional_max_pool2d if len(sizes) == 2 else ops.fractional_max_pool3d
    got, places = (t.asnumpy() for t in rule(Tensor(x), kernel, output, None, True, Tensor(shares)))
    for lead in np.ndindex(2, 2):
        plane = x[lead]
        own = shares[lead][::-1] if len(sizes) == 2 else shares[lead]
        starts = [_starts(*geometry) for geometry in zip(own, sizes, kernel, output, strict=True)]
        for window in np.ndindex(*output):
            part = plane[tuple(slice(s[i], s[i] + k) for s, i, k in zip(starts, window, kernel, strict=True))]
            assert got[lead][window] == part.max() == plane.reshape(-1)[places[lead][window]]
    cell = (nn.FractionalMaxPool2d if len(sizes) == 2 else nn.FractionalMaxPool3d)(kernel, output, _random_samples=Tensor(shares))
    gradient = adjoint.grad(lambda x: (cell(x) * 2).sum())(Tensor(x)).asnumpy()
    expected = np.zeros((2, 2, int(np.prod(sizes))))
    for lead in np.ndindex(2, 2):
        np.add.at(expected[lead], places[lead].reshape(-1), 2.0)
    assert (gradient.reshape(expected.shape) == expected).all()


@pytest.mark.parametrize(("pseudo", "overlapping"), [*itertools.product((False, True), (False, True))])
def test_windows_between_random_places(pseudo: bool, overlapping: bool) -> None:
    adjoint.set_seed(4)
    x = np.arange(2 * 9 * 11 * 2).reshape(2, 9, 11, 2) - 200
    for kind, reduce in ((P.FractionalMaxPool, np.max), (P.FractionalAvgPool, lambda part: np.trunc(part.mean()))):
        y, rows, columns = (t.asnumpy() for t in kind([1.0, 1.4, 2.0, 1.0], pseudo, overlapping)(Tensor(x)))
        assert (rows[0], rows[-1], len(rows)) == (0, 9, 7)
        assert (columns[0], columns[-1], len(columns)) == (0, 11, 6)
        assert set(np.diff(rows)) == {1, 2}
        assert set(np.diff(columns)) == {2, 3}
        for n, r, c, channel in np.ndindex(y.shape):
            part = x[n, rows[r]:rows[r + 1] + overlapping, columns[c]:columns[c + 1] + overlapping, channel]
            assert y[n, r, c, channel] == reduce(part)
    total = adjoint.grad(lambda x: P.FractionalAvgPool([1.0, 1.4, 2.0, 1.0], pseudo, overlapping)(x)[0].sum())(Tensor(x * 1.0)).sum()
    np.testing.assert_allclose(total.asnumpy(), y.size)


def test_deformable_convolution() -> None:
    """Without offsets it is a convolution with what the masks leave; with whole offsets that of a moved image; by halves, of means."""
    rng = np.random.default_rng(5)
    x, weight, bias = Tensor(rng.normal(size=(2, 4, 6, 7))), Tensor(rng.normal(size=(6, 2, 2, 3))), Tensor(rng.normal(size=6))
    offsets = np.zeros((2, 2, 3, 2, 3, 3, 4))
    offsets[:, :, 2] = 1.0

    def run(offsets: Any) -> Any:
        flat = np.moveaxis(offsets, 2, 1).reshape(2, 36, 3, 4)  # right, down, factor; then the two sets of offsets
        return ops.deformable_conv2d(x, weight, Tensor(flat), (2, 3), (1, 1, 2, 2), (1, 0, 2, 1), bias, (1, 1, 2, 1), 2, 2).asnumpy()

    def expected(image: Any) -> Any:
        return ops.conv2d(Tensor(image), weight, bias, (2, 2), "pad", (1, 0, 2, 1), (2, 1), 2).asnumpy()

    np.testing.assert_allclose(run(offsets), expected(x.asnumpy()), rtol=1e-12)
    offsets[:, :, 1] = 1.0
    below = np.concatenate([x.asnumpy()[:, :, 1:], np.zeros((2, 4, 1, 7))], 2)
    moved = expected(below)
    np.testing.assert_allclose(run(offsets)[:, :, 1:], moved[:, :, 1:], rtol=1e-12)  # row 0 reads above the image, which moves in
    offsets[:, 0, 1] = 0.5
    offsets[:, 1, 1] = 0.0
    image = x.asnumpy().copy()
    image[:, :2] = (image[:, :2] + below[:, :2]) / 2
    np.testing.assert_allclose(run(offsets)[:, :, 1:], expected(image)[:, :, 1:], rtol=1e-12)


def test_areas_and_kernels() -> None:
    image = Tensor(np.array([[[[9.0], [5.0], [2.0], [1.0]], [[6.0], [1.0], [9.0], [7.0]]]], np.float32))
    size = Tensor([1, 3], adjoint.int32)
    np.testing.assert_allclose(P.ResizeArea()(image, size).asnumpy().reshape(3), [
        (15 + 6 / 3) / 2 * 3 / 4, (6 * 2 + 11 * 2) / 3 / 2 * 3 / 4, (11 / 3 + 8) / 2 * 3 / 4], rtol=1e-6)
    # The numbers of MindSpore 2.10.
    size, scale, moved = Tensor([2, 3], adjoint.int32), Tensor([1.2, 0.5]), Tensor([0.0, 0.3])
    for kernel, rows in {
        "lanczos5": [[8.961569, 2.5597255, 0], [4.877445, 5.254755, 0]], "gaussian": [[6.9744925, 3.3622816, 0], [5.263064, 5.280124, 0]],
        "box": [[9, 3.5, 0], [6, 5, 0]], "keyscubic": [[8.170517, 2.6225803, 0], [4.9626656, 5.445635, 0]],
        "mitchellcubic": [[7.5453768, 2.9928024, 0], [5.113929, 5.3075538, 0]],
    }.items():
        got = P.ScaleAndTranslate(kernel)(image, size, scale, moved).asnumpy().reshape(2, 3)
        np.testing.assert_allclose(got, rows, rtol=2e-6, err_msg=kernel)


def test_random_parts_of_images() -> None:
    adjoint.set_seed(6)
    size, boxes = Tensor([64, 48, 3], adjoint.int32), Tensor([[[0.5, 0.5, 0.75, 0.75], [0.1, 0.1, 0.2, 0.3]]])
    found = set()
    for _ in range(20):
        begin, extent, box = (t.asnumpy() for t in P.SampleDistortedBoundingBoxV2()(size, boxes, Tensor([1.0])))
        (y, x, _), (height, width, channels) = begin, extent
        found.add((int(y), int(x)))
        assert channels == -1
        assert 0 <= y <= y + height <= 64
        assert 0 <= x <= x + width <= 48
        assert height * width >= 0.05 * 64 * 48
        assert abs(width - height) <= 0.34 * height + 1
        assert any(y <= a and x <= b and y + height >= c and x + width >= d for a, b, c, d in ((32, 24, 48, 36), (6, 4, 12, 14)))
        np.testing.assert_allclose(box[0, 0], [y / 64, x / 48, (y + height) / 64, (x + width) / 48], rtol=1e-6)
    assert len(found) > 5
    begin, extent, _ = P.SampleDistortedBoundingBoxV2(aspect_ratio_range=(9.0, 9.0), area_range=(0.9, 1.0))(size, boxes, Tensor([1.0]))
    assert (begin.tolist(), extent.tolist()) == ([0, 0, 0], [64, 48, -1])  # no part is so wide and so large: the whole image
