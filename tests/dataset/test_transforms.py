"""Transforms of numbers, images and strings: values, dtypes and exception types as recorded from MindSpore 2.10."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint.dataset import text, transforms, vision
from adjoint.dataset.vision import Border, Inter

ORACLE = Path(__file__).parents[1] / "oracle"
RECORDER = runpy.run_path(str(ORACLE / "record_transforms.py"))
ANSWERS: dict[str, Any] = json.loads((ORACLE / "transforms.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("expression", ANSWERS)
def test_mindspores_answer(expression: str) -> None:
    names = {"ms": ms, "T": transforms, "V": vision, "text": text, "Inter": Inter, "Border": Border, **RECORDER["arrays"]()}
    got = RECORDER["answered"](expression, names)
    assert json.loads(json.dumps(got)) == ANSWERS[expression]


def test_every_expression_was_asked() -> None:
    assert RECORDER["expressions"]() == list(ANSWERS)
