"""Layers give MindSpore's values and gradients, texts and kinds of exceptions: what was recorded from it in tests/oracle."""

from __future__ import annotations

from typing import Any

import pytest
from asked import agree, answers, evaluated, recorded

TOLERANCES = {
    **dict.fromkeys(("cells", "layers", "layouts", "losses", "picking", "everyday", "matrices", "steps", "schedules"), 2e-5),
    "sequences": 2e-4,
}
"""MindSpore's tanh is up to 5e-5 beside the number, 1 for one of 0.99996, and steps repeat it."""
ANSWERS = [
    pytest.param(expression, wanted, tolerance, id=expression)
    for name, tolerance in TOLERANCES.items() for section in recorded(name).values() for expression, wanted in section.items()
]


@pytest.mark.parametrize(("expression", "wanted", "tolerance"), ANSWERS)
def test_answers(expression: str, wanted: Any, tolerance: float) -> None:
    if isinstance(wanted, dict) and "error" in wanted:
        with pytest.raises(Exception, match=r"""^["']?For '""") as caught:
            evaluated(expression)
        assert wanted["error"] in [kind.__name__ for kind in type(caught.value).__mro__]
    else:
        got = answers.brief(evaluated(expression))
        assert agree(wanted, got, tolerance), got
