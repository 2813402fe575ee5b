"""Fixtures: settings are restored after a test, and small dataset files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.dataset import config
from dataset.small import write_idx


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    before = dict(config._settings)
    yield
    config._settings.clear()
    config._settings.update(before)


@pytest.fixture
def digits(tmp_path: Path) -> tuple[Path, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A directory like MNIST's with 12 images for training and 8 for testing; the images and labels of both."""
    random = np.random.default_rng(0)
    images, labels = random.integers(0, 256, (20, 28, 28), np.uint8), np.arange(20) % 10
    for name, part in (("train", slice(0, 12)), ("t10k", slice(12, 20))):
        write_idx(tmp_path / f"{name}-images-idx3-ubyte", images[part])
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte", labels[part])
    return tmp_path, images, labels
