"""Every error has a page, and a golden file that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjoint.codegen import errors as _codegen  # noqa: F401 - adds its mistakes
from adjoint.frontend import errors as _frontend  # noqa: F401 - adds its own
from adjoint.ir import errors
from adjoint.ir.errors import MISTAKES
from adjoint.passes import errors as _passes  # noqa: F401 - adds the mistakes of passes

GOLDEN = Path(__file__).parent.parent / "golden" / "errors"

ONLY_FROM_PASSES = {"E120", "E121", "E122", "E123", "E125", "E126", "E127"}
"""What no text can hold: `test_verify` shows it."""
TOO_LARGE = {"E112"}
"""What takes a huge text: `test_text` shows it."""
ONLY_FROM_OPERATORS = {"E170", "E171"}
"""What the definition of an operator holds: `tests/ops/test_own_operators.py` shows it."""


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_page_explains(mistake: errors.Mistake) -> None:
    assert re.fullmatch(r"E(1[0-7]|2[0-3])\d", mistake.code)
    assert mistake.page.startswith(f"{mistake.code}: {mistake.title}\n\n")
    assert len(mistake.explanation.split()) >= 15
    assert mistake.explanation.strip().endswith((".", "}", "]", "`", "visible", "is"))


def test_a_golden_file_shows_each() -> None:
    shown = {code for path in GOLDEN.glob("*.err") for code in re.findall(r"error\[(E[12]\d\d)\]", path.read_text(encoding="utf-8"))}
    assert set(MISTAKES) - shown == ONLY_FROM_PASSES | TOO_LARGE | ONLY_FROM_OPERATORS
