"""The explorer's page as a file: it holds its program as data, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from made_up_page import HOSTILE, made_up

from adjoint.explorer.page import page


def test_the_program_is_data_that_cannot_become_markup() -> None:
    program = made_up(hostile=True) | {"arguments": "\ud800 \u2028 &lt;"}
    text = page(program)
    data = re.search(r'<script type="application/json" id="program">(.*?)</script>', text, re.DOTALL)
    assert data is not None and not re.search(r"[<>&]|[^\x00-\x7f]", data[1])
    assert json.loads(data[1]) == json.loads(json.dumps(program))
    assert HOSTILE not in text and "&lt;/script&gt;" in text  # in the title
    text.encode()


def test_a_number_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        page(made_up() | {"notes": [float("nan")]})


def test_its_policy_allows_its_own_style_and_scripts_only() -> None:
    text = page(made_up())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and policy[1].startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        code = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        assert len(code) == 1 and f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(code[0].encode()).digest()).decode()}'" in policy[1]
    assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}  # the name of a language


def test_the_page_holds_the_licence_of_what_it_includes() -> None:
    assert "Copyright (c) 2012-2014 Chris Pettitt" in page(made_up()) and "Permission is hereby granted, free of charge" in page(made_up())
