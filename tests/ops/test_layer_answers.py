"""Layers give MindSpore's values and gradients, texts and kinds of exceptions: what was recorded from it in tests/oracle/layers.json."""

from __future__ import annotations

from typing import Any

import pytest
from asked import agree, answers, evaluated, recorded

ANSWERS = [
    pytest.param(expression, wanted, id=expression) for section in recorded("layers").values() for expression, wanted in section.items()
]


@pytest.mark.parametrize(("expression", "wanted"), ANSWERS)
def test_answers(expression: str, wanted: Any) -> None:
    if isinstance(wanted, dict) and "error" in wanted:
        with pytest.raises(Exception, match=r"^For '") as caught:
            evaluated(expression)
        assert wanted["error"] in [kind.__name__ for kind in type(caught.value).__mro__]
    else:
        got = answers.brief(evaluated(expression))
        assert agree(wanted, got, 2e-5), got
