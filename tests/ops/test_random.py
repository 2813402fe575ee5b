"""Random numbers: the generator gives the published values, and what is made of its words is distributed as it says."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.ir.ops.random import Dropout, RandomInteger, RandomNormal, RandomUniform, philox, words
from adjoint.ir.types import BF16, F16, F32, F64, I32, DType, tensor

KEY = np.array([2024, 3], np.uint64)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, int], expected: tuple[int, ...]) -> None:
    """The values that the authors of Philox publish for testing an implementation."""
    drawn = philox([np.array([word], np.uint64) for word in counter], key)
    assert tuple(int(word[0]) for word in drawn) == expected


def test_a_word_depends_on_its_place_alone() -> None:
    """A longer tensor begins with the numbers of a shorter one, and streams and seeds differ."""
    long = words(KEY, 1000)
    assert (words(KEY, 77) == long[:77]).all()
    for other in ([2024, 4], [2025, 3], [2024, 3 + 2**32], [2024 + 2**32, 3]):
        assert (words(np.array(other, np.uint64), 1000) != long).mean() > 0.99


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64])
def test_uniform_is_in_the_unit_interval(dtype: DType) -> None:
    drawn = RandomUniform(tensor(dtype, (100_000,))).reference(KEY)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert abs(drawn.mean() - 0.5) < 0.01
    assert abs(drawn.var() - 1 / 12) < 0.002


@pytest.mark.parametrize("dtype", [F32, F64])
def test_normal_has_the_moments(dtype: DType) -> None:
    drawn = RandomNormal(tensor(dtype, (200_000,))).reference(KEY)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert abs((drawn.astype(np.float64) ** power).mean() - moment) < 0.06


def test_integers_are_all_as_likely() -> None:
    drawn = RandomInteger(tensor(I32, (100_000,)), -3, 7).reference(KEY)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == list(range(-3, 7))
    assert abs(counts / 10_000 - 1).max() < 0.05


def test_dropout_keeps_its_share_and_the_mean() -> None:
    y, kept = Dropout(0.8).reference(np.ones(100_000, np.float32), KEY)
    assert abs(kept.mean() - 0.8) < 0.01
    assert abs(y.mean() - 1.0) < 0.01
    assert set(np.unique(y)) == {np.float32(0), np.float32(1.25)}
