"""What MindSpore answered (tests/oracle), and what we answer to the same expressions.

The expressions are evaluated with the names that `answers.py` gave them there; `compat` lets its `mindspore` be adjoint.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

from adjoint import compat

ORACLE = Path(__file__).parent.parent / "oracle"

compat.install()
sys.path.insert(0, str(ORACLE))
answers = importlib.import_module("answers")
dtype_ends = importlib.import_module("dtype_ends")
sys.path.remove(str(ORACLE))


def recorded(name: str) -> dict[str, Any]:
    """A file of facts, without the version it was asked of."""
    facts = json.loads((ORACLE / f"{name}.json").read_text(encoding="utf-8"))
    return {key: value for key, value in facts.items() if key != "mindspore"}


def evaluated(expression: str) -> Any:
    """The object that an expression makes."""
    return eval(expression, answers.space())


def answered(expression: str) -> Any:
    """What an expression makes, written as the facts are."""
    return answers.encoded(evaluated(expression))


def agree(wanted: Any, got: Any, tolerance: float = 1e-5) -> bool:
    """Whether two answers are the same but for rounding: numbers within `tolerance`, relative or absolute."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and wanted.keys() == got.keys() and all(agree(wanted[k], got[k], tolerance) for k in wanted)
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) and all(agree(a, b, tolerance) for a, b in zip(wanted, got, strict=True))
    try:
        first, second = float(wanted), float(got)
    except (TypeError, ValueError):
        return wanted == got
    if math.isnan(first) or math.isinf(first):
        return str(first) == str(second)
    return math.isclose(first, second, rel_tol=tolerance, abs_tol=tolerance)
